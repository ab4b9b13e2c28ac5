"""What the kernel tells of itself: command line, configuration, modules, scheduler, log."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
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


def command_line(text: str, names: DeviceNames) -> dict[str, str | bool | list[str]]:
    """Option to value, True for a word alone, a list for what is given more than once.

    The root device stands by its role; identifiers that differ from card to card are masked.
    """
    values: dict[str, str | bool | list[str]] = {}
    options, there, for_init = text.replace("\0", " ").partition(" -- ")
    for word in _WORD.findall(options):
        key, equals, value = word.partition("=")
        content: str | bool = _masked(key, value.strip('"'), names) if equals else True
        before = values.get(key)
        if isinstance(before, list):
            before.append(str(content))
        else:
            values[key] = content if before is None else [str(before), str(content)]
    if there:
        values["--"] = for_init.strip()
    return values


def _masked(key: str, value: str, names: DeviceNames) -> str:
    if key == "root" and (_ROOT_BY_ID.fullmatch(value) or value == "/dev/root"):
        return "root_part"
    return _MAC.sub("<mac>", _UUID.sub("<uuid>", names.text(value)))


def kernel_config(data: bytes) -> dict[str, str]:
    """Options that are set, without CONFIG_; what is not set is not there. Gzip or text."""
    return dict(_options(data))


@lru_cache(maxsize=4)  # several entries are read from it, before and after a run
def _options(data: bytes) -> dict[str, str]:
    text = _unpacked(data) if data.startswith(_GZIP) else data
    options = {}
    for line in text.decode("utf-8", "replace").splitlines():
        match = _OPTION.fullmatch(line.strip())
        if match is not None and match[2] != "n":
            options[match[1]] = match[2].strip('"')
    if not options:
        raise ValueError("no kernel configuration")
    return options


def _unpacked(data: bytes) -> bytes:
    unpack = zlib.decompressobj(wbits=31)
    try:
        text = unpack.decompress(data, CONFIG_LIMIT)
    except zlib.error as error:
        raise ValueError(f"not a gzip file: {error}") from error
    if not unpack.eof:
        raise ValueError("the file is cut, or too long")
    return text


def modules(text: str) -> dict[str, str]:
    """Module to its state (``Live``); sizes and counts of users are left out."""
    states = {}
    for line in text.splitlines():
        columns = line.split()
        if len(columns) >= 5:
            states[columns[0]] = columns[4]
    return states


def features(text: str) -> dict[str, bool]:
    """Features of the scheduler: name to whether it is on (off stands as ``NO_NAME``)."""
    return {word.removeprefix("NO_"): not word.startswith("NO_") for word in text.split()}


def preemption(text: str) -> str:
    """The preemption model that a kernel was built with, from its version string."""
    for word in ("PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"):
        if re.search(rf"\b{word}\b", text):
            return word
    return "none or voluntary"


def consoles(text: str) -> dict[str, str]:
    """Console to its flags: E enabled, C preferred, B boot console, p for messages."""
    flags = {}
    for line in text.splitlines():
        match = re.match(r"(\w+)\s+\S+\s+\((.*?)\)", line)
        if match is not None:
            flags[match[1]] = " ".join(match[2].split())
    return flags


def cgroups(text: str) -> dict[str, str]:
    """Controllers to the path of the group; numbers of sessions are masked."""
    controllers = {}
    for line in text.splitlines():
        parts = line.strip().split(":", 2)
        if len(parts) == 3:
            controllers[parts[1] or "v2"] = _SESSION.sub(r"\1*", parts[2])
    return controllers


def crypto(text: str) -> dict[str, str]:
    """Algorithm to the driver that wins: that of the highest priority."""
    best: dict[str, tuple[int, str]] = {}
    for block in text.split("\n\n"):
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
# One of them is in each line that the pattern matches: looked for first, as that takes a tenth.
_FIRMWARE_WORDS = (
    *("psci", "optee", "u-boot", "firmware", "scmi", "arm_ffa", "sbi ", "efi v", "dmi: "),
    *("fw", "rpi"),
)


def kernel_log(fact: object) -> dict[str, Any]:
    """What the log says, by class.

    ``until`` is the time of the newest line, in seconds since boot (None where lines have no
    times), ``lines`` their number. Each class that was met has its ``count``, the newest
    ``times``, and the ``first`` and ``last`` lines with their times in front.
    """
    classes: dict[str, dict[str, Any]] = {}
    until, count = None, 0
    for time, text in _log_lines(fact):
        count += 1
        until = time if time is not None else until
        finding = classify(text)
        if finding is not None:
            empty: dict[str, Any] = {"count": 0, "times": [], "first": [], "last": []}
            _add_line(classes.setdefault(finding.rule.log_class, empty), time, text)
    return {"until": until, "lines": count, "classes": classes}


def _add_line(entry: dict[str, Any], time: float | None, text: str) -> None:
    line = text[:_LINE_LENGTH] if time is None else f"[{time:.6f}] {text[:_LINE_LENGTH]}"
    entry["count"] += 1
    if time is not None:
        entry["times"] = [*entry["times"][-TIMES + 1 :], time]
    if len(entry["first"]) < LINES:
        entry["first"].append(line)
    entry["last"] = [*entry["last"][-LINES + 1 :], line]


def firmware_lines(fact: object) -> list[str]:
    """Lines of the log that name a version of firmware, without their times, each once."""
    versions = {text[:_LINE_LENGTH] for _, text in _log_lines(fact) if _names_firmware(text)}
    return sorted(versions)[:50]


def _names_firmware(text: str) -> bool:
    low = text.lower()
    return any(word in low for word in _FIRMWARE_WORDS) and _FIRMWARE.search(text) is not None


def _log_lines(fact: object) -> tuple[tuple[float | None, str], ...]:
    if not isinstance(fact, str):
        raise ValueError("not a text")
    return _timed_lines(fact)


@lru_cache(maxsize=2)  # the log is read for more than one entry, before and after a run
def _timed_lines(log: str) -> tuple[tuple[float | None, str], ...]:
    return tuple((line.time, line.text) for line in log_lines(log))
