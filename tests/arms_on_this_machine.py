"""Changes what no file of the kernel shows, on this machine, and is killed meanwhile.

    unshare --net --mount python arms_on_this_machine.py ARM MOMENTS

Run in namespaces of its own, so that nobody else has the interface, the tables and the services.
What it looks at is asked of other tools (tc, nft, /proc/swaps, ps), never of the probe. Prints what
was seen as JSON; exits with 77 and the reason where this machine cannot have the arm.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from waiting import PATIENCE

from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.state import journal
from benchvise.state.intervention import intervening
from benchvise.state.knobs import Setting, find_knob
from benchvise.state.restore import RestoreOutcome, restore_sessions


@dataclass(frozen=True)
class MachineArm:
    """A setting, the value that it is to have, and how another tool sees what there is."""

    knob: str
    path: str
    value: str
    seen: Callable[[], str]


def tool(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(77 if print(f"{words[0]}: {done.stderr.strip()}") is None else 1)
    return done.stdout


def directory() -> Path:
    return Path(os.environ["BENCHVISE_STATE"]).parent


# -- the arms --------------------------------------------------------------------------------------


def qdisc() -> MachineArm:
    tool("ip", "link", "set", "lo", "up")
    tool("tc", "qdisc", "add", "dev", "lo", "root", "handle", "7:", "tbf", "rate", "300mbit",
         "burst", "64k", "latency", "50ms")  # fmt: skip
    return MachineArm(
        "net.qdisc", "/proc/net/dev/lo/qdisc", "default",
        lambda: tool("tc", "-d", "qdisc", "show", "dev", "lo"),
    )  # fmt: skip


def filters() -> MachineArm:
    rules = "table inet bans { chain in { type filter hook input priority 0; tcp dport 9 drop; }; }"
    tool("nft", rules)
    return MachineArm(
        "nft.table", "/proc/net/netlink/inet!bans", "dormant",
        lambda: tool("nft", "list", "ruleset"),
    )  # fmt: skip


def swap() -> MachineArm:
    area = directory() / "area"
    area.write_bytes(bytes(4 << 20))
    area.chmod(0o600)
    tool("mkswap", str(area))
    device = tool("losetup", "-f", "--show", str(area)).strip()
    tool("swapon", "-p", "7", device)
    return MachineArm(
        "swap.area", f"/proc/swaps/{device.replace('/', '!')}", "off",
        lambda: next((" ".join(line.split()[::4]) for line in
                      Path("/proc/swaps").read_text().splitlines() if device in line), "off"),
    )  # fmt: skip


SERVICE = """#!/bin/sh
case $1 in
start) setsid {directory}/beats < /dev/null > /dev/null 2>&1 & ;;
stop) pkill -x beats ;;
esac
"""


def beats() -> str:
    """The state of each process of the service, by another tool."""
    rows = tool("ps", "-C", "beats", "-o", "stat=", check=False).split()
    states = {row[0].replace("R", "S").replace("D", "S") for row in rows}
    return " ".join(sorted(states - {"Z"})) or "none"


def _program(begin: str = "") -> None:
    script = directory() / "beats"
    script.write_text(f"#!/bin/sh\n{begin}\nwhile :; do sleep 0.2; done\n")
    script.chmod(0o755)


def _ways(*words: str) -> str:
    lines = tool("ip", *words).splitlines()
    return "; ".join(" ".join(line.split()) for line in lines)


def route() -> MachineArm:
    """Two routes to one network, with what only the one of them has, in the words of ip(8)."""
    tool("ip", "link", "add", "way0", "type", "veth", "peer", "name", "way1")
    for end in ("way0", "way1"):
        tool("ip", "link", "set", end, "up")
    tool("ip", "addr", "add", "192.0.2.2/24", "dev", "way0")
    to = ["ip", "route", "add", "198.51.100.0/24"]
    tool(*to, "via", "192.0.2.1", "proto", "static", "metric", "5", "src", "192.0.2.2")
    tool(*to, "dev", "way0", "metric", "9", "mtu", "1200")
    value = "unreachable 198.51.100.0/24 metric 4; 198.51.100.0/24 via 192.0.2.9 dev way0 metric 7"
    path = "/proc/net/route/4,main,198.51.100.0!24"
    return MachineArm("net.route", path, value, lambda: _ways("route", "show", "198.51.100.0/24"))


def rule() -> MachineArm:
    tool("ip", "link", "set", "lo", "up")
    tool("ip", "rule", "add", "pref", "90", "to", "198.51.100.0/24", "blackhole")
    value = (
        "pref 0 from all lookup local; pref 70 from 192.0.2.0/24 lookup 7; "
        "pref 32766 from all lookup main; pref 32767 from all lookup default"
    )
    return MachineArm("net.rule", "/proc/net/route/4,rules,", value, lambda: _ways("rule"))


GROUPS = Path("/sys/fs/cgroup/cpu")
GROUP = GROUPS / "bvarm"


def group() -> MachineArm:
    """The quota of a group that another program could be in, of version 1."""
    if not (GROUPS / "cpu.shares").exists():
        sys.exit(77 if print("this kernel has no groups of version 1") is None else 1)
    GROUP.mkdir(exist_ok=True)
    quota = GROUP / "cpu.cfs_quota_us"
    quota.write_text("20000")
    return MachineArm("cgroup.other_cpu", str(quota), "-1", lambda: quota.read_text().strip())


def service() -> MachineArm:
    _program()
    _under_init()
    return MachineArm("service.state", "/proc/1/comm/S60beats", "stopped", beats)


def service_file() -> MachineArm:
    """The service tells what it has read when it started."""
    for name in ("own", "other"):
        (directory() / name).write_text(name)
    _program(f"cat {directory()}/own > {directory()}/read.part\n"
             f"mv {directory()}/read.part {directory()}/read")  # fmt: skip
    _under_init()
    files = ",".join(str(directory() / name).replace("/", "!") for name in ("own", "other"))

    def seen() -> str:
        points = Path("/proc/self/mountinfo").read_text().count(f" {directory()}/own ")
        return f"{beats()} {(directory() / 'read').read_text()} {points}"

    wait_until((directory() / "read").exists)
    return MachineArm("service.file", f"/proc/1/cmdline/S60beats,{files}", "other", seen)


def _under_init() -> None:
    """Starts the program as a service of a script."""
    scripts = directory() / "init.d"
    scripts.mkdir()
    (scripts / "S60beats").write_text(SERVICE.format(directory=directory()))
    (scripts / "S60beats").chmod(0o755)
    for place in ("/run/systemd", "/run/openrc", "/etc/service"):
        if Path(place).is_dir():
            tool("mount", "-t", "tmpfs", "none", place)
    if not Path("/etc/init.d").is_dir():
        sys.exit(77 if print("there is no /etc/init.d to cover") is None else 1)
    tool("mount", "--bind", str(scripts), "/etc/init.d")
    tool("/etc/init.d/S60beats", "start")
    wait_until(lambda: beats() == "S")


def program() -> MachineArm:
    _program()
    # Without the pipes of this script: one that is left paused would keep its reader waiting.
    silent = subprocess.DEVNULL
    subprocess.Popen([directory() / "beats"], start_new_session=True, stdout=silent, stderr=silent)
    wait_until(lambda: beats() == "S")
    return MachineArm("program.state", "/proc/loadavg/beats", "paused", beats)


def zram() -> MachineArm:
    """A device of its own, which nobody else uses."""
    control = Path("/sys/class/zram-control/hot_add")
    if not control.exists():
        sys.exit(77 if print("this kernel has no zram") is None else 1)
    number = control.read_text().strip()
    block = Path(f"/sys/block/zram{number}")
    (block / "comp_algorithm").write_text("lzo")
    (block / "disksize").write_text(str(8 << 20))
    tool("mkswap", f"/dev/zram{number}")
    tool("swapon", "-p", "3", f"/dev/zram{number}")

    def seen() -> str:
        areas = [line.split() for line in Path("/proc/swaps").read_text().splitlines()]
        used = [row[4] for row in areas if row[0].endswith(f"zram{number}")]
        chosen = (block / "comp_algorithm").read_text().partition("[")[2].partition("]")[0]
        return f"{chosen} {(block / 'disksize').read_text().strip()} {used}"

    return MachineArm("zram.algorithm", f"/proc/swaps/zram{number}/algorithm", "lzo-rle", seen)


ARMS = {
    name: arm
    for name, arm in globals().items()
    if name
    in (
        *("qdisc", "filters", "route", "rule", "group", "swap", "zram"),
        *("service", "service_file", "program"),
    )
}


def clear(name: str) -> None:
    """Takes away what is not gone with the namespaces."""
    if name == "group" and GROUP.exists():
        GROUP.rmdir()
    subprocess.run(["pkill", "-CONT", "-x", "beats"], check=False)
    subprocess.run(["pkill", "-x", "beats"], check=False)
    for line in Path("/proc/swaps").read_text().splitlines():
        device = line.split()[0]
        if name == "zram" and "zram" in device:
            tool("swapoff", device, check=False)
            number = device.rpartition("zram")[2]
            Path(f"/sys/block/zram{number}/reset").write_text("1")
            Path("/sys/class/zram-control/hot_remove").write_text(number)
    for line in tool("losetup", "-l", "-n", "-O", "NAME,BACK-FILE").splitlines():
        device, _, file = line.partition(" ")
        if file.strip().startswith(str(directory())):
            tool("swapoff", device, check=False)
            tool("losetup", "-d", device, check=False)


# -- setting and being killed ----------------------------------------------------------------------


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            sys.exit("what was started does not run")
        time.sleep(0.02)


def set_and_undo(arm: MachineArm, meanwhile: Callable[[], None] = lambda: None) -> None:
    setting = Setting(find_knob(arm.knob), arm.value, (arm.path,))
    with open_board("local") as board:
        channel = open_channel(board)
        with intervening("local", channel, lambda: open_channel(board), {}) as intervention:
            intervention.apply([setting])
            meanwhile()
            intervention.check_held()


def leave_mounts_of_others() -> None:
    """Options of mounts that other tests change are seen here too, as changes of this board."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in points:
        if "/pytest-of-" in point and not Path(point).is_relative_to(directory()):
            subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)


def kill_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(name: str, moments: int) -> None:
    leave_mounts_of_others()
    arm = ARMS[name]()
    before = arm.seen()
    during: list[str] = []
    begin = time.monotonic()
    set_and_undo(arm, lambda: during.append(arm.seen()))
    life = time.monotonic() - begin
    after = arm.seen()
    chance, left_due, seen_set = random.Random(4), 0, 0
    for moment in range(-1, moments):
        child = os.fork()
        if child == 0:  # the first one while everything is set
            set_and_undo(arm, kill_oneself if moment < 0 else lambda: None)
            os._exit(0)
        if moment >= 0:
            time.sleep(life * (moment + chance.random()) / moments)
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        seen_set += arm.seen() != before
        left_due += any(session.is_due for session in journal.sessions())
        for result in restore_sessions(None, force=False, keep=False):
            if result.outcome is not RestoreOutcome.DONE:
                sys.exit(f"moment {moment}: {result}")
        if arm.seen() != before:
            sys.exit(f"moment {moment}: {before!r} became {arm.seen()!r}")
    left = list(journal.state_directory().glob("*.jsonl"))
    told = {"before": before, "during": during[0], "after": after, "journals": len(left)}
    print(json.dumps({**told, "left due": left_due, "seen set": seen_set}))


if __name__ == "__main__":
    chosen = sys.argv[1]
    try:
        main(chosen, int(sys.argv[2]))
    finally:
        clear(chosen)
        shutil.rmtree(directory() / "init.d", ignore_errors=True)
