"""Routes by another gateway: of the same network one leads another way, of two it only differs."""

from __future__ import annotations

import pytest
from why_boards import BOTH, metric, side, with_value

from benchvise.why.suspects.find import find

ROUTES = "net.routes/routes"
TO = "203.0.113.0/24"


@pytest.mark.parametrize(
    ("good", "bad", "is_suspect"),
    [
        ("via 192.0.2.1 dev eth0", "via 192.0.2.9 dev eth0", True),  # a router that is gone
        ("via 192.0.2.1 dev eth0", "via 10.1.0.1 dev eth0", False),  # each its own network's
        ("via 192.0.2.1 dev eth0", "via 10.1.0.1 dev eth1", True),
        ("via fe80::1 dev eth0", "via fe80::9 dev eth0", False),  # made of the router's hardware
        ("via 2001:db8::1 dev eth0", "via 2001:db8::9 dev eth0", True),
    ],
)
def test_a_gateway_is_a_difference_within_its_network(
    good: str, bad: str, *, is_suspect: bool
) -> None:
    both = [
        with_value(side(), ROUTES, {"default": f"via {own} dev eth0", TO: way})
        for own, way in (("192.0.2.254", good), ("10.1.0.254", bad))
    ]
    found = find(both[0], both[1], metric("net.tcp"), may_set=BOTH)
    ids = [s.id for s in found.suspects if s.item == "net.routes"]
    assert ids == ([f"net.routes:{TO}"] if is_suspect else [])
    assert (ROUTES in found.excluded) is not is_suspect


def test_another_hardware_address_of_one_machine_is_a_difference() -> None:
    """projectcalico/vpp-dataplane#738: all that is sent to the old one is lost."""
    name = "net.routes/fixed neighbours"
    both = [
        with_value(side(), name, {"192.0.2.5": f"dev eth0 lladdr 02:00:00:00:{end}"})
        for end in ("00:01", "5e:05")
    ]
    found = find(both[0], both[1], metric("net.tcp"), may_set=BOTH)
    assert [s.id for s in found.suspects] == ["net.routes:192.0.2.5"]


def test_an_address_that_the_command_asks_is_more_than_a_name_of_the_board() -> None:
    name = "process.environment/variables"
    both = [with_value(side(), name, {"CACHE": f"http://{ip}/"}) for ip in ("10.1.0.1", "10.1.0.2")]
    for targets, ids in (((), []), (("10.1.0.2:80",), ["process.environment:CACHE"])):
        found = find(both[0], both[1], metric("command.time", "x"), may_set=BOTH, targets=targets)
        assert [s.id for s in found.suspects] == ids
