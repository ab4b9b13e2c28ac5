"""Suspects that no file of the kernel shows: services, programs, swap, disciplines, tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from why_boards import BOTH, found, metric, one, side, with_value

from benchvise.state.knobs import as_written, can_be_put_back, canonical, find_knob, present_value
from benchvise.why.explain.remedies import remedies
from benchvise.why.model import SettingMeans, Side, Suspect
from benchvise.why.provenance import DirectoryFiles, find_origins
from benchvise.why.suspects.find import find

SERVICES = "/proc/1/comm/"
TBF = "tbf 28000100000100000000000060343c02000000000000000000000000389c1d00aa6a000000000000"
"""Of `tc qdisc add … tbf rate 300mbit burst 64k latency 50ms`, as a kernel tells it."""


def towards(suspect: Suspect, side: Side = Side.GOOD) -> list[str]:
    assert isinstance(suspect.means, SettingMeans), suspect.untestable
    return [f"{s} {' '.join(s.paths)}" for s in suspect.means.towards(side)]


def now_of(suspect: Suspect) -> str:
    values = {Side.GOOD: suspect.good, Side.BAD: suspect.bad}
    every = remedies(suspect, origins=(), side_values=values)
    return next(remedy.text for remedy in every if remedy.system == "now")


def test_each_service_is_a_suspect_of_its_own() -> None:
    running = {f"{SERVICES}{name}": "running\n" for name in ("S60scand", "cron.service")}
    suspects = found(running, allowed=("service.*",)).suspects
    by_id = {suspect.id: suspect for suspect in suspects}
    scanner = by_id["service.state:S60scand"]
    assert towards(scanner) == [f"service.state=stopped {SERVICES}S60scand"]
    assert (scanner.good, scanner.bad) == ("not there", "running")
    assert now_of(scanner) == "/etc/init.d/S60scand stop"
    assert now_of(by_id["service.state:cron.service"]) == "systemctl stop cron.service"
    without = found(running).suspects
    assert {s.untestable.rpartition(" ")[2] for s in without} == {"service.state"}


def test_one_that_only_the_good_side_has_is_started() -> None:
    good = {f"{SERVICES}irqbalance": "running\n"}
    suspect = one({f"{SERVICES}irqbalance": None}, good=good, allowed=("all",))
    assert towards(suspect) == [f"service.state=running {SERVICES}irqbalance"]
    assert now_of(suspect) == "/etc/init.d/irqbalance start"


def test_the_program_of_a_service_is_no_other_suspect() -> None:
    changes = {
        f"{SERVICES}S60scand": "running\n",
        "/proc/loadavg/scand": "running\n",
        "/proc/loadavg/strays": "running\n",
    }
    names = {suspect.id for suspect in found(changes, allowed=("all",)).suspects}
    assert names == {"service.state:S60scand", "program.state:strays"}


def test_swap_disciplines_and_tables() -> None:
    changes = {
        "/proc/swaps/!dev!sda2": "7\n",
        "/proc/net/dev/eth0/qdisc": f"{TBF}\n",
        "/proc/net/dev/ifb0/qdisc": f"{TBF}\n",
        "/proc/net/netlink/inet!bans": "active\n",
    }
    by_id = {suspect.id: suspect for suspect in found(changes, allowed=("all",)).suspects}
    swap, ifb = by_id["swap.area:/dev/sda2"], by_id["net.qdisc:ifb0"]
    assert (swap.good, swap.bad) == ("off", "7")
    assert towards(swap, Side.BAD) == ["swap.area=7 /proc/swaps/!dev!sda2"]
    assert now_of(swap) == "swapoff /dev/sda2"
    assert towards(ifb) == ["net.qdisc=default /proc/net/dev/ifb0/qdisc"]
    assert (ifb.good, ifb.bad) == ("default", "tbf rate 37500000 B/s limit 1940536 B")
    assert now_of(ifb) == "tc qdisc del dev ifb0 root"
    assert by_id["net.qdisc:eth0"].members == ("net.tcp/default_nic qdisc",)
    table = by_id["nft.table:inet/bans"]
    assert towards(table) == ["nft.table=dormant /proc/net/netlink/inet!bans"]
    assert now_of(table) == "nft add table inet bans '{ flags dormant; }'"


def test_what_could_not_be_put_back_is_not_replaced() -> None:
    changes = {"/proc/net/dev/eth0/qdisc": "htb with more below it\n"}
    suspect = one(changes, allowed=("all",))
    assert suspect.means is None and "could not be put back" in suspect.untestable


def test_an_empty_file_of_a_control_group_stands_for_no_limit() -> None:
    cpus, disks = find_knob("cgroup.cpuset_cpus"), find_knob("cgroup.io_max")
    assert present_value(cpus, "", "\n") == "all" and can_be_put_back(cpus, "all")
    assert as_written(cpus, "all", "0") == "\n" and canonical(cpus, "0-1") == "0-1"
    limits = "8:0 rbps=max wbps=1048576 riops=max wiops=max"
    free = "8:0 rbps=max wbps=max riops=max wiops=max"
    assert can_be_put_back(disks, present_value(disks, "", f"{limits}\n"))
    assert as_written(disks, "none", limits) == free
    assert as_written(disks, limits, "none") == limits
    two = f"{limits} 179:0 rbps=1000 wbps=max riops=max wiops=max"
    assert can_be_put_back(disks, two) and as_written(disks, two, limits).startswith("179:0 rbps")


def test_limits_of_disks_of_version_1_are_taken_away_one_by_one() -> None:
    """They were read, and could not be tried."""
    knob = find_knob("cgroup.io_read_bps")
    two = present_value(knob, "", "7:0 1048576\n8:0 2000\n")
    assert can_be_put_back(knob, two) and can_be_put_back(knob, present_value(knob, "", ""))
    assert as_written(knob, "none", two) == "7:0 0"
    assert as_written(knob, "none", "8:0 2000") == "8:0 0"
    assert as_written(knob, two, "7:0 1048576") == "8:0 2000"


def test_a_limit_of_a_disk_is_taken_away_and_never_given_to_another_board() -> None:
    """Was: the same numbers were limited on the good side, where they mean another disk, and the
    cause counted as refuted when that opened no gap."""
    of_both = {
        "/proc/self/mountinfo": "35 24 0:32 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
        "/proc/self/cgroup": "5:blkio:/media\n0::/\n",
    }
    limit = "/sys/fs/cgroup/blkio/media/blkio.throttle.write_iops_device"
    good, bad = {**of_both, limit: "\n"}, {**of_both, limit: "7:3 400\n"}
    suspect = one(bad, good=good)
    assert towards(suspect) == ["cgroup.io_write_iops=none "]
    assert towards(suspect, Side.BAD) == []
    assert "mean others on another board" in suspect.not_on_good


@pytest.mark.parametrize(
    ("place", "text", "knob", "path", "value", "line"),
    [
        ("etc/nftables.conf", "#!/usr/sbin/nft -f\ntable inet bans {\n}\n", "nft.table",
         "/proc/net/netlink/inet!bans", "active", 2),
        ("etc/fstab", "/dev/sda1 / ext4 defaults 0 1\n/dev/sda2 none swap sw 0 0\n", "swap.area",
         "/proc/swaps/!dev!sda2", "7", 2),
        ("etc/rc.local", "#!/bin/sh\n/usr/sbin/beats &\n", "program.state",
         "/proc/loadavg/beats", "running", 2),
        ("etc/init.d/S60scand", "#!/bin/sh\nscand\n", "service.state", f"{SERVICES}S60scand",
         "running", 0),
    ],
)  # fmt: skip
def test_what_starts_it_is_named(
    tmp_path: Path, place: str, text: str, knob: str, path: str, value: str, line: int
) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    (tmp_path / "etc/inittab").write_text("::sysinit:/etc/init.d/rcS\n")
    wanted = find_knob(knob)
    off = wanted.absent
    changes: dict[str, str | None] = {path: f"{value}\n"}
    suspect = one(changes, good={}, may_set=BOTH, allowed=("all",))
    assert towards(suspect, Side.BAD) == [f"{knob}={value} {path}"] and off
    origin = find_origins(DirectoryFiles(tmp_path), suspect, Side.BAD)[0]
    assert (str(origin.file), origin.line) == (f"/{place}", line)


def test_what_has_no_arm_says_how_to_try_it() -> None:
    first = find_fixed("kernel.modules/usbcore.autosuspend", "2", "-1")
    assert now_of(first) == "modprobe -r usbcore && modprobe usbcore autosuspend=2"
    both = {"br_netfilter": "", "xt_owner": ""}, {"br_netfilter": "", "xt_limit": "", "xt_u32": ""}
    second = find_fixed("kernel.modules/modules", *both)
    assert now_of(second) == "modprobe -r xt_limit xt_u32 && modprobe -a xt_owner"
    assert "unloaded" in second.untestable
    third = find_fixed("kernel.security/apparmor", "N", "Y")
    assert now_of(third).startswith("aa-exec -p unconfined -- ")


def find_fixed(entry: str, good: object, bad: object) -> Suspect:
    better, worse = (with_value(side(), entry, value) for value in (good, bad))
    (suspect,) = find(better, worse, metric("command.time"), may_set=BOTH).suspects
    assert suspect.means is None
    return suspect
