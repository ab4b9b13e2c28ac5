"""What the kernel tells of itself: command line, configuration, modules, scheduler, log."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

from benchvise.kernel_log import classify, log_lines
from benchvise.state.roles import DeviceNames

CONFIG_LIMIT = 4 << 20
"""Bytes of a kernel configuration; real ones have under 400 kB."""

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{8}-[0-9a-f]{2}\b", re.I)
_MAC = re.compile(r"\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b", re.IGNORECASE)
_OPTION = re.compile(r"CONFIG_(\w+)=(.*)")
_ROOT_BY_ID = re.compile(r"(?:PART)?(?:UUID|LABEL)=.*", re.IGNORECASE)
_SESSION = re.compile(r"\b(session-|user-|user@|run-[a-z]?)\d[\w-]*")
_GZIP = b"\x1f\x8b"


def command_line(given: str, names: DeviceNames) -> dict[str, str | bool | list[str]]:
    """Option to value, True for a word alone, a list for what is given more than once.

    The root device stands by its role; identifiers that differ from card to card are masked.
    """
    found: dict[str, str | bool | list[str]] = {}
    options, there, for_init = given.replace("\0", " ").partition(" -- ")
    for word in _WORD.findall(options):
        key, equals, value = word.partition("=")
        content: str | bool = _masked(key, value.strip('"'), names) if equals else True
        before = found.get(key)
        if isinstance(before, list):
            before.append(str(content))
        else:
            found[key] = content if before is None else [str(before), str(content)]
    if there:
        found["--"] = for_init.strip()
    return found


def _masked(key: str, value: str, names: DeviceNames) -> str:
    if key == "root" and (_ROOT_BY_ID.fullmatch(value) or value == "/dev/root"):
        return "root_part"
    return _MAC.sub("<mac>", _UUID.sub("<uuid>", names.text(value)))


def kernel_config(given: bytes) -> dict[str, str]:
    """Options that are set, without CONFIG_; what is not set is not there. Gzip or text."""
    text = _unpacked(given) if given.startswith(_GZIP) else given
    found = {}
    for line in text.decode("utf-8", "replace").splitlines():
        match = _OPTION.fullmatch(line.strip())
        if match is not None and match[2] != "n":
            found[match[1]] = match[2].strip('"')
    if not found:
        raise ValueError("no kernel configuration")
    return found


def _unpacked(given: bytes) -> bytes:
    unpack = zlib.decompressobj(wbits=31)
    try:
        text = unpack.decompress(given, CONFIG_LIMIT)
    except zlib.error as error:
        raise ValueError(f"not a gzip file: {error}") from error
    if not unpack.eof:
        raise ValueError("the file is cut, or too long")
    return text


def modules(given: str) -> dict[str, str]:
    """Module to its state (``Live``); sizes and counts of users are left out."""
    found = {}
    for line in given.splitlines():
        words = line.split()
        if len(words) >= 5:
            found[words[0]] = words[4]
    return found


def features(given: str) -> dict[str, bool]:
    """Features of the scheduler: name to whether it is on (off stands as ``NO_NAME``)."""
    return {word.removeprefix("NO_"): not word.startswith("NO_") for word in given.split()}


def preemption(given: str) -> str:
    """The preemption model that a kernel was built with, from its version string."""
    for word in ("PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"):
        if re.search(rf"\b{word}\b", given):
            return word
    return "none or voluntary"


def consoles(given: str) -> dict[str, str]:
    """Console to its flags: E enabled, C preferred, B boot console, p for messages."""
    found = {}
    for line in given.splitlines():
        match = re.match(r"(\w+)\s+\S+\s+\((.*?)\)", line)
        if match is not None:
            found[match[1]] = " ".join(match[2].split())
    return found


def cgroups(given: str) -> dict[str, str]:
    """Controllers to the path of the group; numbers of sessions are masked."""
    found = {}
    for line in given.splitlines():
        parts = line.strip().split(":", 2)
        if len(parts) == 3:
            found[parts[1] or "v2"] = _SESSION.sub(r"\1*", parts[2])
    return found


def crypto(given: str) -> dict[str, str]:
    """Algorithm to the driver that wins: that of the highest priority."""
    best: dict[str, tuple[int, str]] = {}
    for block in given.split("\n\n"):
        entry = dict(_entry(line) for line in block.splitlines() if ":" in line)
        if {"name", "driver", "priority"} <= entry.keys():
            offer = (int(entry["priority"]), entry["driver"])
            best[entry["name"]] = max(offer, best.get(entry["name"], offer))
    return {name: driver for name, (_, driver) in sorted(best.items())}


def _entry(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


# -- its log, by the classes of ``benchvise.kernel_log`` -------------------------------------------

TIMES = 100
"""Times of a class that are kept, the newest."""

LINES = 5
"""Lines of a class that are kept of the oldest and of the newest each."""

_LINE_LENGTH = 300

_FIRMWARE = re.compile(
    r"psci: psciv|psci: .*firmware|optee: revision|u-boot|raspberrypi-firmware .*attached|"
    r"\bscmi protocol|arm_ffa.*version|sbi specification|sbi implementation|\befi v\d|\bdmi: |"
    r"firmware (?:version|revision)|fw.?version|: loaded firmware|rpi.*bootloader",
    re.IGNORECASE,
)


def kernel_log(given: object) -> dict[str, Any]:
    """What the log says, by class.

    ``until`` is the time of the newest line, in seconds since boot (None where lines have no
    times), ``lines`` their number. Each class that was met has its ``count``, the newest
    ``times``, and the ``first`` and ``last`` lines with their times in front.
    """
    classes: dict[str, dict[str, Any]] = {}
    until, count = None, 0
    for time, text in _log_lines(given):
        count += 1
        until = time if time is not None else until
        finding = classify(text)
        if finding is not None:
            empty: dict[str, Any] = {"count": 0, "times": [], "first": [], "last": []}
            _add_line(classes.setdefault(finding.rule.log_class, empty), time, text)
    return {"until": until, "lines": count, "classes": classes}


def _add_line(entry: dict[str, Any], time: float | None, text: str) -> None:
    shown = text[:_LINE_LENGTH] if time is None else f"[{time:.6f}] {text[:_LINE_LENGTH]}"
    entry["count"] += 1
    if time is not None:
        entry["times"] = [*entry["times"][-TIMES + 1 :], time]
    if len(entry["first"]) < LINES:
        entry["first"].append(shown)
    entry["last"] = [*entry["last"][-LINES + 1 :], shown]


def firmware_lines(given: object) -> list[str]:
    """Lines of the log that name a version of firmware, without their times, each once."""
    found = {text[:_LINE_LENGTH] for _, text in _log_lines(given) if _FIRMWARE.search(text)}
    return sorted(found)[:50]


def _log_lines(given: object) -> Iterator[tuple[float | None, str]]:
    if not isinstance(given, str):
        raise ValueError("not a text")
    for line in log_lines(given):
        yield line.time, line.text
