"""What a system call waits for, by its name and by what it is about."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from benchvise.why.witness.model import Activity

WAITS_FOR_PROCESSES = frozenset(
    {
        *("wait4", "waitid", "vfork", "clone", "clone3"),
        *("read", "readv", "write", "writev", "recvfrom", "recvmsg", "recv", "splice"),
        *("poll", "ppoll", "select", "_newselect", "pselect6"),
        *("epoll_wait", "epoll_pwait", "epoll_pwait2"),
        *("futex", "futex_waitv", "rt_sigsuspend", "rt_sigtimedwait", "pause"),
    }
)
"""Calls that end when another process does something: who ended them is where the time went."""

CHILDREN = frozenset({"wait4", "waitid"})

TIMERS = frozenset({"nanosleep", "clock_nanosleep", "alarm", "pause"})
"""Calls that end when a time has passed."""

_LOCKS = frozenset({"flock", "futex", "futex_waitv", "semop", "semtimedop"})
_CONTROLS = frozenset({"fcntl", "fcntl64"})
_SYNCS = frozenset({"fsync", "fdatasync", "sync", "syncfs", "msync", "sync_file_range"})
_POLLS = re.compile(r"p?poll|_?(?:new)?select|pselect6|epoll_p?wait2?")
_SOCKETS = re.compile(r"connect|accept4?|(?:recv|send)(?:from|to|m?msg)?|shutdown")
NAME_CALLS = re.compile(
    r"open(?:at2?)?|creat|(?:un)?link(?:at)?|symlink(?:at)?|mkdir(?:at)?|rmdir|rename(?:at2?)?|"
    r"stat|lstat|statx|newfstatat|access|faccessat2?|readlink(?:at)?|truncate|execve"
)
_ADDRESS = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\]):(\d{1,5})(?!\d)")
_WIDTH = re.compile(r"_time(?:32|64)$")
_NAME_SERVICE = 53


def plain_name(call: str) -> str:
    """The name of a system call without what tells the width of its times."""
    return _WIDTH.sub("", call)


def named_call(call: str, architecture: str) -> str:
    """The name of a call that the probe knows by its number alone (``syscall 15``), by the
    architecture that the probe says it runs on; as it is where that has no such call."""
    match = _NUMBERED.fullmatch(call)
    return call if match is None else _names(architecture).get(int(match[1]), call)


_NUMBERED = re.compile(r"syscall (\d{1,9})", re.ASCII)
_TABLES = {"x86_64": "x86_64", "aarch64": "generic", "riscv64": "generic", "arm": "arm"}


@cache
def _names(architecture: str) -> Mapping[int, str]:
    tables = tomllib.loads((files(__package__) / "call_numbers.toml").read_text("utf-8"))
    table = next((t for prefix, t in _TABLES.items() if architecture.startswith(prefix)), "every")
    entries = ",".join((tables["every"], tables[table])).split(",")
    return {int(number): name for number, name in (entry.split() for entry in entries)}


FILE_CALLS = re.compile(r"open(?:at2?)?|execve(?:at)?")
"""Calls that open or execute a file."""


_OF_THE_KERNEL = re.compile(
    r"task:(?:swapper|kworker|ksoftirqd|kswapd|kcompactd|jbd2|ext4|f2fs|btrfs|xfs|nfs|rpciod|loop|"
    r"mmcqd|md\d|dm|bcache|ubi|mtd|usb-storage|scsi|irq/|flush|writeback)"
)
"""Tasks that end a wait for a disk."""


def waited_for(call: str, target: str, by: str = "") -> Activity:
    """What a call waits for. ``by`` is the handler or task that ended it, where that is known."""
    ports = [int(port) for port in _ADDRESS.findall(target)]
    if _NAME_SERVICE in ports:
        return Activity.RESOLVER
    if ports:
        return Activity.NETWORK
    if call in _LOCKS or call in _CONTROLS:
        return Activity.LOCK
    if call in TIMERS or (_POLLS.fullmatch(call) and not target):
        return Activity.TIMER
    if call in _SYNCS or by.startswith("softirq:BLOCK"):
        return Activity.DISK
    if call in CHILDREN:
        return Activity.PROCESS
    if _SOCKETS.fullmatch(call) or _POLLS.fullmatch(call):
        # an address is a number and a port: a path, a name, or nothing is on this board
        return Activity.PROCESS if target and target != "socket" else Activity.NETWORK
    if target.startswith("/") and not target.startswith(("/proc/", "/sys/", "/dev/")):
        # a pipe has a name like a file; who reads it ends the wait
        is_of_program = by.startswith("task:") and not _OF_THE_KERNEL.match(by)
        return Activity.PROCESS if is_of_program else Activity.DISK
    if not target.startswith("/") and NAME_CALLS.fullmatch(call):
        return Activity.DISK  # a name in the directory that the process is in
    if target in ("pipe", "socket") or target.startswith("/dev/"):
        return Activity.PROCESS if not target.startswith("/dev/") else Activity.OTHER
    return Activity.OTHER
