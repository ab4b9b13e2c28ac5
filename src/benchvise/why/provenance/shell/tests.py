"""What ``[ … ]`` says, as far as that can be known without running the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchvise.why.provenance.shell.text import UNKNOWN, matches

UNKNOWABLE = frozenset(
    {
        *("grep", "egrep", "fgrep", "zgrep", "awk", "sed", "cut", "tr", "head", "tail", "sort"),
        *("nproc", "uname", "hostname", "date", "id", "readlink", "basename", "dirname", "lsblk"),
        *("findmnt", "pgrep", "pidof", "mountpoint", "systemd-detect-virt", "wc", "read", "expr"),
        *("xargs", "getent", "dmesg", "lspci", "lsusb", "lscpu", "stat", "false", "ps"),
    }
)
"""Programs that a script asks something: how they end, and what they print, is not known."""

COMMON = frozenset(
    {
        *("true", ":", "sleep", "wait", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "touch", "chmod"),
        *("chown", "logger", "trap", "umask", "alias", "unset", "which", "type", "hash", "kill"),
        *("killall", "sync", "udevadm", "ebegin", "eend", "einfo", "ewarn", "eerror", "depend"),
        *("log_daemon_msg", "log_end_msg", "log_action_msg", "log_success_msg", "need", "after"),
        *("log_failure_msg", "log_warning_msg", "clear", "hwclock", "getty", "agetty", "login"),
        *("mknod", "mkfifo", "umount", "losetup", "shutdown", "reboot", "poweroff", "halt"),
        *("loadkeys", "setfont", "iptables", "nft", "dd", "gzip", "tar", "mktemp", "install"),
        *("before", "use", "provide", "keyword", "update-rc.d", "rc-update", "rc-service"),
        *("start-stop-daemon", "hostnamectl", "timedatectl", "localectl", "plymouth", "fsck"),
    }
)
"""Programs and functions that set none of what is looked for here: they are not read."""

ASKING = frozenset({"cmp", "diff", "systemctl", "ping", "blkid", "checkpath"})

# Commands that ask whether a program is there: it is.
_FILE_TESTS = frozenset(
    {*("-e", "-f", "-d", "-r", "-w", "-x", "-s"), *("-L", "-h", "-c", "-b", "-p", "-S")}
)
_CHANGING = ("/run/", "/tmp/", "/var/", "/dev/shm/")  # noqa: S108 - paths of a board
_NUMBERS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b, "-ne": lambda a, b: a != b, "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b, "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}  # fmt: skip
_DEEPEST = 20


def holds(words: Sequence[str], deepest: int = _DEEPEST) -> bool | None:
    """Whether a test holds; None where that is not known. Files of the kernel are there."""
    given = list(words)
    if deepest == 0:
        return None
    for sign in ("-o", "||"):
        if sign in given[1:-1]:
            at = given.index(sign, 1)
            one, other = holds(given[:at], deepest - 1), holds(given[at + 1 :], deepest - 1)
            return True if one or other else None if None in (one, other) else False
    for sign in ("-a", "&&"):
        if sign in given[1:-1]:
            at = given.index(sign, 1)
            one, other = holds(given[:at], deepest - 1), holds(given[at + 1 :], deepest - 1)
            return False if False in (one, other) else None if None in (one, other) else True
    if given[:1] == ["!"]:
        inner = holds(given[1:], deepest - 1)
        return None if inner is None else not inner
    return _single_test(given)


def _single_test(given: list[str]) -> bool | None:
    if len(given) == 2 and given[0] in _FILE_TESTS:
        if given[1].startswith(_CHANGING) or UNKNOWN in given[1].partition("/")[0]:
            return None
        return bool(given[1])
    if given == ["-n"] or given == ["-z"]:  # an unquoted variable without a value
        return given == ["-z"]
    if any(UNKNOWN in word for word in given):
        return None
    if len(given) == 2 and given[0] in ("-n", "-z"):
        return bool(given[1]) == (given[0] == "-n")
    if len(given) == 1:
        return bool(given[0])
    if len(given) == 3:
        one, sign, other = given
        if sign in ("=", "=="):
            return matches(one, other)
        if sign == "!=":
            return not matches(one, other)
        if sign in _NUMBERS and _is_number(one) and _is_number(other):
            return _NUMBERS[sign](int(one), int(other))
    return None


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdecimal() and len(text) < 20
