"""Routes and rules that differ are settings: what is written, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from why_boards import BOTH, metric, side, with_value

from benchvise.state.knobs import find_knob, same
from benchvise.state.model import Snapshot
from benchvise.state.places import may_be_written
from benchvise.why.explain.system_remedies import of_settings
from benchvise.why.model import Remedy, SettingMeans, Side, Suspect
from benchvise.why.suspects.find import find

ROUTES, RULES = "net.routes/routes", "net.routes/rules"
TO = "203.0.113.0/24"
USUAL = ("0:\tfrom all lookup local", "32766:\tfrom all lookup main")


def _suspect(good: Snapshot, bad: Snapshot, allowed: tuple[str, ...] = ()) -> Suspect:
    found = find(good, bad, metric("command.time"), may_set=BOTH, allowed=allowed)
    (suspect,) = [s for s in found.suspects if s.item == "net.routes"]
    return suspect


def _of_routes(good: str, bad: str, name: str = ROUTES, to: str = TO) -> Suspect:
    usual = {"default": "via 192.0.2.1 dev eth0"}
    tables = [{**usual, to: way} if way else usual for way in (good, bad)]
    first, second = (with_value(side(), name, table) for table in tables)
    return _suspect(first, second)


def _written(suspect: Suspect, towards: Side) -> tuple[str, str]:
    assert isinstance(suspect.means, SettingMeans), suspect.untestable
    (setting,) = suspect.means.towards(towards)
    assert may_be_written(setting.knob.path, setting.paths[0])
    return setting.paths[0], setting.value


@pytest.mark.parametrize(
    ("good", "bad", "as_good", "as_bad"),
    [
        # what cloud images met: an address of the link that nobody has, or one that says so
        ("unreachable", "", f"unreachable {TO}", "none"),
        ("on", "blackhole metric 5", TO, f"blackhole {TO} metric 5"),
        ("dev eth0 mtu 1400", "dev eth0", f"{TO} dev eth0 mtu 1400", f"{TO} dev eth0"),
        (
            "via 192.0.2.1 dev eth0 metric 5, then via 192.0.2.9 dev eth0 metric 9",
            "via 192.0.2.9 dev eth0 metric 9 initcwnd 2",
            f"{TO} via 192.0.2.1 dev eth0 metric 5; {TO} via 192.0.2.9 dev eth0 metric 9",
            f"{TO} via 192.0.2.9 dev eth0 metric 9 initcwnd 2",
        ),
    ],
)  # fmt: skip
def test_routes_to_a_destination_are_made_as_on_the_other_side(
    good: str, bad: str, as_good: str, as_bad: str
) -> None:
    suspect = _of_routes(good, bad)
    path = "/proc/net/route/4,main,203.0.113.0!24"
    assert _written(suspect, Side.GOOD) == (path, as_good)
    assert _written(suspect, Side.BAD) == (path, as_bad)
    assert not suspect.untestable


def test_tables_and_ipv6_have_places_of_their_own() -> None:
    of_table = _of_routes("dev eth0", "unreachable", to=f"{TO} in table 77")
    assert _written(of_table, Side.GOOD)[0] == "/proc/net/route/4,77,203.0.113.0!24"
    of_six = _of_routes("dev eth0", "unreachable", "net.routes/routes of IPv6", "2001:db8::/32")
    assert _written(of_six, Side.GOOD)[0] == "/proc/net/route/6,main,2001:db8::!32"


@pytest.mark.parametrize(
    ("way", "to"),
    [
        ("nexthop via 192.0.2.7", TO),
        ("dev eth0 encap mpls 100", TO),
        ("dev eth0; 0.0.0.0/0 blackhole", TO),
        ("dev $(reboot)", TO),
        ("dev eth0", "../../sys"),
        ("dev eth0", f"{TO} in table ../x"),
    ],
)
def test_what_could_not_be_put_back_is_not_written(way: str, to: str) -> None:
    """Words of a board are not trusted: it must not choose what is written to the other one."""
    suspect = _of_routes("unreachable", way, to=to)
    assert suspect.means is None
    assert suspect.untestable


def test_a_route_leads_to_the_interface_that_has_its_role_here() -> None:
    good = with_value(side(), ROUTES, {TO: "dev end0 mtu 1400"})
    good = replace(good, roles={**good.roles, "default_nic": "end0"})
    bad = with_value(side(), ROUTES, {TO: "dev eth0"})
    bad = replace(bad, roles={**bad.roles, "default_nic": "eth0"})
    suspect = _suspect(good, bad)
    assert _written(suspect, Side.GOOD)[1] == f"{TO} dev eth0 mtu 1400"
    assert _written(suspect, Side.BAD)[1] == f"{TO} dev end0"


def test_who_made_a_route_is_no_difference_once_it_is_written() -> None:
    knob = find_knob("net.route")
    asked = f"{TO} via 192.0.2.1 dev eth0 metric 5"
    assert same(knob, f"{TO} via 192.0.2.1 dev eth0 proto static src 192.0.2.2 metric 5", asked)
    assert not same(knob, f"{asked} mtu 600", asked)
    assert not same(knob, "none", asked)


def test_the_network_of_an_address_has_the_route_that_the_kernel_makes() -> None:
    """Where somebody has replaced it, taking that away would cut the board off."""
    way = "dev eth0 advmss 128 mtu lock 552"
    good, bad = (with_value(side(), ROUTES, table) for table in ({}, {TO: way}))
    lines = (
        f"default via 203.0.113.1 dev eth0\n{TO} dev eth0 proto kernel scope link src 203.0.113.7"
    )
    entries = (replace(e, raw=lines) if e.name == ROUTES else e for e in good.settings)
    suspect = _suspect(replace(good, settings=tuple(entries)), bad)
    assert _written(suspect, Side.GOOD)[1] == f"{TO} dev eth0 scope link"


def _with_rules(*lines: str) -> Snapshot:
    value = [line.partition(":")[2].strip() for line in lines]
    board = with_value(side(), RULES, value)
    entries = (replace(e, raw="\n".join(lines)) if e.name == RULES else e for e in board.settings)
    return replace(board, settings=tuple(entries))


def test_rules_are_made_with_their_numbers_where_that_is_allowed() -> None:
    good, bad = _with_rules(*USUAL), _with_rules(*USUAL, "90:\tfrom all to 203.0.113.0/24 lookup 7")
    assert "--allow net.rule" in _suspect(good, bad).untestable
    suspect = _suspect(good, bad, ("net.rule",))
    usual = "pref 0 from all lookup local; pref 32766 from all lookup main"
    assert _written(suspect, Side.GOOD) == ("/proc/net/route/4,rules,", usual)
    assert _written(suspect, Side.BAD)[1] == f"{usual}; pref 90 from all to {TO} lookup 7"


def test_rules_whose_text_was_cut_are_not_written() -> None:
    good, bad = _with_rules(*USUAL), with_value(side(), RULES, ["from all lookup local"])
    assert _suspect(good, bad, ("net.rule",)).means is None


def test_the_remedy_is_a_line_of_ip() -> None:
    suspect = _of_routes("unreachable", "dev eth0", to=f"{TO} in table 77")
    assert isinstance(suspect.means, SettingMeans)
    now: Remedy = next(iter(of_settings(suspect.means.to_good, "")))
    flush = f"ip route flush exact {TO} table 77"
    assert now.text == f"{flush} && ip route append unreachable {TO} table 77"
