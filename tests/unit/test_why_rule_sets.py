"""Rules of packet filters that both sides have, and that are not the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from why_boards import metric
from why_suspects import difference, snapshot

from benchvise.state.model import Missing, Snapshot, StateEntry
from benchvise.text import Untrusted
from benchvise.why.model import SettingMeans, Side, Suspect
from benchvise.why.suspects.find import consent_for, find
from benchvise.why.suspects.rule_sets import POLICIES, rule_suspects, rules_of_good
from benchvise.why.untested import file_of_good

LIST = "net.filter/rule set of nftables"
TABLE, PATH = "net.filter/table inet!guard", "/proc/net/netlink/inet!guard"
NAMES = {Side.GOOD: "ssh://root@good", Side.BAD: "ssh://root@bad:2222"}


def board(*rules: str, state: str = "active") -> Snapshot:
    lines = ["table inet guard {", "chain input {", *rules, "}", "}", "table ip nat {", "}"]
    return snapshot({LIST: lines, TABLE: state}, {TABLE: PATH})


def test_the_rules_of_a_table_that_both_have_are_put_to_sleep() -> None:
    good, bad = board("ip saddr 192.0.2.1 drop"), board("ip saddr 192.0.2.1 drop", "limit rate 1")
    (suspect,) = rule_suspects(good, bad)
    assert suspect.id == "nft.table:inet/guard rules"
    assert suspect.bad.endswith("lines, limit rate 1")
    assert isinstance(suspect.means, SettingMeans)
    (setting,) = suspect.means.to_good
    assert (setting.knob.name, setting.value, setting.paths) == ("nft.table", "dormant", (PATH,))
    assert not suspect.means.to_bad and suspect.not_on_good


@pytest.mark.parametrize("state", ["active", "dormant"])
def test_rules_that_are_the_same_or_sleep_already_are_no_suspect(state: str) -> None:
    assert not list(
        rule_suspects(board("a"), board("a" if state == "active" else "b", state=state))
    )


@pytest.mark.parametrize(("late", "found"), [((False, True), True), ((True, True), False)])
def test_rules_that_one_side_could_not_list_in_time_differ(
    late: tuple[bool, bool], *, found: bool
) -> None:
    item, _, key = LIST.partition("/")
    missing = StateEntry(
        item, key, missing=Missing.UNREADABLE, reason=Untrusted("no answer within 1 s")
    )
    sides = [
        replace(side, settings=tuple(missing if e.name == LIST else e for e in side.settings))
        if is_late
        else side
        for side, is_late in zip((board("a"), board("b")), late, strict=True)
    ]
    suspects = list(rule_suspects(*sides))
    assert [s.id for s in suspects] == (["nft.table:inet/guard rules"] if found else [])
    assert all(s.good.startswith("4 lines") and "not listed in time" in s.bad for s in suspects)


def test_they_are_tried_with_consent_only() -> None:
    sides = board("a"), board("b")
    rules = []
    for allowed in ((), ("nft.table",)):
        selection = find(*sides, metric(), may_set=dict.fromkeys(Side, True), allowed=allowed)
        rules += [s for s in selection.suspects if s.id == "nft.table:inet/guard rules"]
    assert consent_for(rules[0]) == ("nft.table",) and rules[0].means is None
    assert rules[1].means is not None


def _set(key: str) -> Suspect:
    return difference(f"net.filter:{key}", "net.filter", "1", "2", key=key)


OF_IPSEC = difference(POLICIES.replace("/", ":"), "net.routes", "1", "2", key="policies of IPsec")


@pytest.mark.parametrize(
    ("suspect", "line"),
    [
        (
            _set("rule set of iptables"),
            "ssh ssh://root@bad:2222 iptables-save > iptables-save.before && "
            "ssh ssh://root@good iptables-save | ssh ssh://root@bad:2222 iptables-restore",
        ),
        (
            _set("rule set of nftables"),
            "ssh ssh://root@bad:2222 nft -s list ruleset > nft.before && { echo flush ruleset; "
            "ssh ssh://root@good nft -s list ruleset; } | ssh ssh://root@bad:2222 nft -f -",
        ),
        (OF_IPSEC, "ip xfrm policy flush  # first keep what `ip xfrm policy` prints"),
        (_set("bond0 bond mode"), ""),
    ],
)  # fmt: skip
def test_the_rules_of_the_good_side_are_taken_by_hand(suspect: Suspect, line: str) -> None:
    snapshots = {Side.GOOD: snapshot({POLICIES: []}), Side.BAD: snapshot({POLICIES: ["a"]})}
    assert rules_of_good(suspect, NAMES, snapshots) == line
    elsewhere = {**NAMES, Side.BAD: "serial:///dev/ttyUSB0"}
    assert "ssh" not in rules_of_good(suspect, elsewhere, snapshots)


FILE = difference("userland.file:/etc/pg/a.conf", "userland.file", "06d8f1fe9c73", "8225bca81af3")


@pytest.mark.parametrize(
    ("suspect", "line"),
    [
        (
            FILE,
            "ssh ssh://root@bad:2222 cp -p /etc/pg/a.conf /etc/pg/a.conf.before && "
            "ssh ssh://root@good cat /etc/pg/a.conf | ssh ssh://root@bad:2222 "
            "'cat > /etc/pg/a.conf'",
        ),
        (replace(FILE, good="not there"), ""),
        (replace(FILE, id="userland.file:/var/lib/pg/data/base/1"), ""),  # somebody's data
        (replace(FILE, id="userland.file:/etc/a; reboot"), ""),
        (replace(FILE, good="40 entries"), ""),
    ],
)
def test_a_file_of_the_good_side_is_put_there_by_hand(suspect: Suspect, line: str) -> None:
    assert file_of_good(suspect, NAMES) == line
