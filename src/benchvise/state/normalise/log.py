"""Lines of the kernel log that explain a bad figure, by the classes of ``benchvise.kernel_log``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchvise.kernel_log import classify, log_lines

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
    for time, text in _lines(given):
        count += 1
        until = time if time is not None else until
        finding = classify(text)
        if finding is not None:
            empty: dict[str, Any] = {"count": 0, "times": [], "first": [], "last": []}
            _add(classes.setdefault(finding.rule.log_class, empty), time, text)
    return {"until": until, "lines": count, "classes": classes}


def _add(entry: dict[str, Any], time: float | None, text: str) -> None:
    shown = text[:_LINE_LENGTH] if time is None else f"[{time:.6f}] {text[:_LINE_LENGTH]}"
    entry["count"] += 1
    if time is not None:
        entry["times"] = [*entry["times"][-TIMES + 1 :], time]
    if len(entry["first"]) < LINES:
        entry["first"].append(shown)
    entry["last"] = [*entry["last"][-LINES + 1 :], shown]


def firmware_lines(given: object) -> list[str]:
    """Lines of the log that name a version of firmware, without their times, each once."""
    found = {text[:_LINE_LENGTH] for _, text in _lines(given) if _FIRMWARE.search(text)}
    return sorted(found)[:50]


def _lines(given: object) -> Iterator[tuple[float | None, str]]:
    if not isinstance(given, str):
        raise ValueError("not a text")
    for line in log_lines(given):
        yield line.time, line.text
