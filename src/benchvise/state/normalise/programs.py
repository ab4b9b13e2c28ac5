"""Programs of the board: libraries, services, threads, and what commands say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchvise.state.normalise.values import first_line
from benchvise.state.roles import DeviceNames

_POLICIES = ("other", "FIFO", "RR", "batch", "iso", "idle", "deadline", "ext")


def processes(given: object) -> dict[str, str]:
    """Names of processes that run."""
    return dict.fromkeys(_texts(given), "runs")


def irq_threads(given: object, names: DeviceNames) -> dict[str, str]:
    """Interrupt thread to policy and priority; the number of the interrupt is left out."""
    found = {}
    for entry in given if isinstance(given, Sequence) and not isinstance(given, str) else ():
        if isinstance(entry, Mapping):
            _, _, name = str(entry.get("name", "")).partition("-")
            policy = entry.get("policy")
            known = isinstance(policy, int) and policy < len(_POLICIES)
            word = _POLICIES[policy] if known else f"policy {policy}"  # type: ignore[index]
            found[names.text(name)] = f"{word} {entry.get('priority')}"
    return found


def libc_banner(given: str) -> str:
    """The C library as ``ldd --version`` calls it."""
    version = re.search(r"^Version (\S+)", given, re.MULTILINE)
    line = first_line(given)
    return f"{line} {version[1]}" if version is not None else line


_DIRECTORY = re.compile(r"^\s+(\S+)(?: \((.*)\))?$", re.MULTILINE)


def glibc_hwcaps(given: str) -> dict[str, str]:
    """Directories of libraries for better CPUs to whether this one has what they need."""
    _, there, rest = given.partition("glibc-hwcaps directories")
    if not there:
        raise ValueError("this loader does not list its directories")
    block = rest.partition("\n")[2].partition("\n\n")[0]
    return {name: note or "not supported" for name, note in _DIRECTORY.findall(block)}


def systemd_timers(given: str) -> list[str]:
    """The timers that wait."""
    return sorted({word for word in given.split() if word.endswith(".timer")})


_BLAME = re.compile(r"^\s*((?:[\d.]+(?:min|ms|s)\s+)+)(\S+)$", re.MULTILINE)
_SECONDS = {"min": 60.0, "s": 1.0, "ms": 0.001}


def systemd_blame(given: str) -> dict[str, float]:
    """Unit to the seconds that it took to start."""
    return {
        unit: round(sum(map(_seconds, times.split())), 3) for times, unit in _BLAME.findall(given)
    }


def _seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(min|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * _SECONDS[unit]


def _texts(given: object) -> list[str]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ValueError("not a list")
    return [entry for entry in given if isinstance(entry, str)]
