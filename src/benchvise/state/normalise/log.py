"""Lines of the kernel log that explain a bad figure, by class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

CLASSES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "under-voltage": r"under-?voltage detected",
        "throttling": (
            r"clock throttled|temperature above threshold|throttled due to|thermal.*throttl|"
            r"critical temperature|over-?temperature|frequency capped"
        ),
        "MMC error": (
            r"\bmmc(?:blk)?\d+\S*:.*(?:error|time-?out|timed out|reset|crc|tuning|stuck|recovery|"
            r"retry|never left busy)"
        ),
        "ATA error": (
            r"\bata\d+(?:\.\d+)?:.*(?:resetting link|exception emask|failed command|limiting|"
            r"serror|hard reset failed|soft reset failed|configured for (?:udma/33|pio))"
        ),
        "NVMe error": r"\bnvme\d*.*(?:time-?out|reset|controller is down|i/o error|abort)",
        "USB error": (
            r"\busb \S+: (?:reset \S+speed|usb disconnect|device descriptor read|"
            r"device not accepting|cannot enable)|xhci.*(?:died|not responding)|over-?current|"
            r"uas_eh_"
        ),
        "I/O error": r"\bi/o error\b|critical (?:medium|target) error",
        "file system error": (
            r"ext4-fs (?:error|warning)|ext4-fs \(.*(?:error|abort)|btrfs (?:error|critical)|"
            r"f2fs-fs.*(?:error|inconsistent)|xfs.*(?:corruption|shutdown)|ubifs error|"
            r"remounting filesystem read-only"
        ),
        "RCU stall": r"rcu.*(?:detected (?:expedited )?stall|stalls? on cpu|kthread starved)",
        "real-time throttling": r"rt throttling activated",
        "slow timer interrupt": r"hrtimer: interrupt took",
        "clock source unstable": (
            r"clocksource.*(?:unstable|skewed)|marking (?:tsc|clocksource).*unstable"
        ),
        "out of memory": r"out of memory|invoked oom-killer|oom-kill:|page allocation failure",
        "NETDEV WATCHDOG": r"netdev watchdog|transmit queue \d+ timed out",
        "link lost": r"(?<!sata )\blink is down|\bnic link is down|: link down|carrier lost",
        "printk dropped": r"printk.*dropped|messages suppressed|callbacks suppressed",
        "PCI error": r"\baer:|pcie bus error",
        "lock-up or crash": (
            r"soft lockup|hard lockup|blocked for more than \d+ seconds|\bbug: |\boops: |"
            r"internal error: |kernel panic|unable to handle kernel"
        ),
        "memory error": r"\[hardware error\]|edac.*(?:\bce\b|\bue\b)|machine check",
        "perf slowed down": r"perf: interrupt took too long",
    }.items()
}

TIMES = 100
"""Times of a class that are kept, the newest."""

LINES = 5
"""Lines of a class that are kept of the oldest and of the newest each."""

_LINE_LENGTH = 300
_LINE = re.compile(r"(?:<\d+>)?(?:\[\s*(\d{1,9}\.\d{1,9})\])?(?:\[\s*[CT]\d+\])?\s?(.*)")

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
        for name, pattern in CLASSES.items():
            if pattern.search(text):
                _add(classes.setdefault(name, {"count": 0, "times": [], "first": [], "last": []}),
                     time, text)  # fmt: skip
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
    for line in given.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None and match[2]:
            yield (None if match[1] is None else float(match[1])), match[2]
