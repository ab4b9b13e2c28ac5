"""What no file of the kernel shows is changed, and put back also after kill -9, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import skips
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]

# What another test adds to this machine meanwhile, be it a loop device, counts as changed too.
pytestmark = [
    skips.needs_root,
    pytest.mark.settings,
    *([pytest.mark.long] if skips.LONG else []),
]

MOMENTS = 20 if skips.LONG else 0
"""At which it is killed, besides one while everything is set."""

SCRIPT = Path(__file__).with_name("arms_on_this_machine.py")
NOT_HERE = 77

SEEN = {
    "qdisc": ("rate 300Mbit", "refcnt"),
    "filters": ("tcp dport 9 drop", "dormant"),
    "route": (
        "via 192.0.2.1 dev way0 proto static src 192.0.2.2 metric 5; 198.51.100.0/24 dev way0",
        "unreachable 198.51.100.0/24 metric 4",
    ),
    "rule": ("90: from all to 198.51.100.0/24 blackhole", "70: from 192.0.2.0/24 lookup 7"),
    "group": ("20000", "-1"),
    "swap": ("7", "off"),
    "zram": ("lzo 8388608 ['3']", "lzo-rle 8388608 ['3']"),
    "service": ("S", "none"),
    "service_file": ("S own 0", "S other 1"),
    "program": ("S", "T"),
}
"""Of each arm what another tool sees before and meanwhile."""

TOOLS = {
    "qdisc": ("ip", "tc"),
    "filters": ("nft",),
    "route": ("ip",),
    "rule": ("ip",),
    "group": (),
    "swap": ("mkswap", "losetup"),
    "zram": ("mkswap",),
    "service": ("pkill",),
    "service_file": ("pkill",),
    "program": ("pkill",),
}


@pytest.mark.parametrize("arm", SEEN)
def test_an_arm_is_made_held_and_undone_at_any_moment(arm: str, tmp_path: Path) -> None:
    skips.need_namespaces("--net", "--mount")
    for tool in ("unshare", *TOOLS[arm]):
        skips.need(tool)
    (tmp_path / "home").mkdir()
    environment = {
        **os.environ,
        "BENCHVISE_STATE": str(tmp_path / "state"),
        "BENCHVISE_BOARD_DIR": str(tmp_path / "home"),
    }
    words = ["unshare", "--net", "--mount", sys.executable, str(SCRIPT), arm, str(MOMENTS)]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=PATIENCE * 4, check=False
    )
    if done.returncode == NOT_HERE:
        skips.skip("board", done.stdout)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    before, meanwhile = SEEN[arm]
    assert before in told["before"] and meanwhile in told["during"] != told["before"]
    assert told["after"] == told["before"] and not told["journals"]
    assert told["left due"] and told["seen set"], "no moment was one at which anything was set"


NETWORK = (
    "ip link add way0 type veth && ip link set way0 up && ip link set veth0 up && "
    "ip addr add 192.0.2.2/24 dev way0 && ip route add 198.51.100.0/24 via 192.0.2.1 metric 5 && "
)


@pytest.mark.parametrize(
    ("client", "value", "error"),
    [
        ("198.51.100.7", "blackhole 198.51.100.0/24 metric 5", "EBUSY"),
        ("198.51.100.7", "198.51.100.0/24 via 192.0.2.9 dev way0 metric 5", "EBUSY"),
        ("198.51.100.7", "none", "EBUSY"),
        ("198.51.100.7", "198.51.100.0/24 via 192.0.2.1 dev way0 metric 5 mtu 900", ""),
        ("203.0.113.7", "blackhole 198.51.100.0/24 metric 5", ""),
        ("203.0.113.7", "0.0.0.0/0 via 192.0.2.1 dev way0", "EINVAL"),  # another destination
        ("203.0.113.7", "198.51.100.0/24 via 10.1.1.1 dev way0", "EIO"),  # a gateway of nobody
    ],
)
def test_a_route_that_leads_the_session_elsewhere_is_undone(
    static: Path, client: str, value: str, error: str
) -> None:
    """Else nobody could reach the board to put it back."""
    skips.need_namespaces("--net")
    skips.need("ip")
    path = "/proc/net/route/4,main,198.51.100.0!24"
    write = f'"{static}" write "{path}" "{value}"'
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", NETWORK + write],
        env={**os.environ, "SSH_CONNECTION": f"{client} 4711 192.0.2.2 22"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(done.stdout)
    before = "198.51.100.0/24 via 192.0.2.1 dev way0 metric 5"
    assert told["old"] == before
    assert (told.get("error", ""), told["now"]) == (error, before if error else value)
