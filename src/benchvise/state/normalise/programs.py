"""Programs of the board: libraries, services, threads, and what commands say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchvise.state.normalise.values import first_line
from benchvise.state.roles import DeviceNames

_POLICIES = ("other", "FIFO", "RR", "batch", "iso", "idle", "deadline", "ext")


def processes(fact: object) -> dict[str, str]:
    """Names of processes that run."""
    return dict.fromkeys(_texts(fact), "runs")


def irq_threads(fact: object, names: DeviceNames) -> dict[str, str]:
    """Interrupt thread to policy and priority; the number of the interrupt is left out."""
    threads = {}
    for entry in fact if isinstance(fact, Sequence) and not isinstance(fact, str) else ():
        if isinstance(entry, Mapping):
            _, _, name = str(entry.get("name", "")).partition("-")
            policy = entry.get("policy")
            has_name = isinstance(policy, int) and policy < len(_POLICIES)
            word = _POLICIES[policy] if has_name else f"policy {policy}"  # type: ignore[index]
            threads[names.text(name)] = f"{word} {entry.get('priority')}"
    return threads


def libc_banner(text: str) -> str:
    """The C library as ``ldd --version`` calls it."""
    version = re.search(r"^Version (\S+)", text, re.MULTILINE)
    line = first_line(text)
    return f"{line} {version[1]}" if version is not None else line


_DIRECTORY = re.compile(r"^\s+(\S+)(?: \((.*)\))?$", re.MULTILINE)


def glibc_hwcaps(text: str) -> dict[str, str]:
    """Directories of libraries for better CPUs to whether this one has what they need."""
    _, there, rest = text.partition("glibc-hwcaps directories")
    if not there:
        raise ValueError("this loader does not list its directories")
    block = rest.partition("\n")[2].partition("\n\n")[0]
    return {name: note or "not supported" for name, note in _DIRECTORY.findall(block)}


def systemd_timers(text: str) -> list[str]:
    """The timers that wait."""
    return sorted({word for word in text.split() if word.endswith(".timer")})


_BLAME = re.compile(r"^\s*((?:[\d.]+(?:min|ms|s)\s+)+)(\S+)$", re.MULTILINE)
_SECONDS = {"min": 60.0, "s": 1.0, "ms": 0.001}


def systemd_blame(text: str) -> dict[str, float]:
    """Unit to the seconds that it took to start."""
    return {
        unit: round(sum(map(_seconds, times.split())), 3) for times, unit in _BLAME.findall(text)
    }


def _seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(min|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * _SECONDS[unit]


def _texts(fact: object) -> list[str]:
    if not isinstance(fact, Sequence) or isinstance(fact, str):
        raise ValueError("not a list")
    return [entry for entry in fact if isinstance(entry, str)]


_APPEND = ("append", "menu", "say", "label")


def boot_entries(text: str) -> dict[str, str]:
    """The keywords of extlinux.conf by their entry (``primary FDT``), each as it is written,
    without the words for the kernel and what is only shown."""
    entries: dict[str, str] = {}
    label = ""
    for line in text.splitlines():
        keyword, _, value = line.strip().partition(" ")
        if keyword.lower() == "label":
            label = value.strip()
        elif keyword and not keyword.startswith("#") and keyword.lower() not in _APPEND:
            entries[f"{label} {keyword}".strip()] = " ".join(value.split())
    return entries
