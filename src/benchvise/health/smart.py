"""What disks say of themselves: SMART, by ``smartctl --json`` of the board."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from benchvise.board import Board
from benchvise.documents import JsonObject, array_at, object_at
from benchvise.errors import BoardUnusable
from benchvise.health.model import Disk
from benchvise.quantities import number_or_none
from benchvise.text import printable

SECONDS = 20.0
"""For one disk; one that sleeps takes ten to wake up, so it is left asleep (``-n standby``)."""

DISKS = 24
"""Disks that are asked; a board has fewer."""

BYTES = 1 << 20
"""Bytes of an answer that are looked at."""

MISSING = "no smartctl on the board: install smartmontools there"

_DISK = re.compile(r"sd[a-z]{1,2}|nvme\d{1,2}n\d{1,2}|hd[a-z]")
# It is in /usr/sbin, which is not in everybody's path.
_SCRIPT = (
    "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH; "
    'exec smartctl --json=c -n standby -i -H -A -l error "$1"'
)
_NOT_FOUND = 127

# Attributes of ATA disks that tell of their end, by number: what they are called here.
ATTRIBUTES: Mapping[int, str] = {
    5: "reallocated sectors",
    10: "spin-up retries",
    184: "end-to-end errors",
    187: "uncorrectable errors",
    188: "command time-outs",
    196: "reallocations",
    197: "pending sectors",
    198: "offline uncorrectable sectors",
    199: "CRC errors",
}
_WEAR = {
    177: "wear leveling",
    202: "life left",
    231: "life left",
    233: "media wearout",
    173: "wear",
}


def smart_disks(names: Sequence[str]) -> list[str]:
    """Those of the board's block devices that can have SMART values."""
    return sorted(name for name in names if _DISK.fullmatch(name))[:DISKS]


def ask_disks(board: Board, names: Sequence[str]) -> Iterator[Disk]:
    """What each disk says. Raises BoardUnreachable when contact is lost."""
    for name in names:
        try:
            result = board.run(["sh", "-c", _SCRIPT, "sh", f"/dev/{name}"], timeout=SECONDS)
        except BoardUnusable as error:
            yield Disk(name, missing=error.message)
            continue
        if result.returncode == _NOT_FOUND:
            yield Disk(name, missing=MISSING)
            continue
        yield parse(name, result.stdout[:BYTES])


def parse(name: str, output: bytes) -> Disk:
    """A disk from smartctl's JSON; whatever it holds, there is a disk, maybe without values."""
    try:
        document = json.loads(output)
    except (ValueError, RecursionError):
        return Disk(
            name, missing="smartctl there writes no JSON: install smartmontools 7.0 or newer"
        )
    if not isinstance(document, dict):
        return Disk(name, missing="smartctl there says nothing of it")
    values = dict(_ata(document)) | dict(_nvme(document)) | dict(_common(document))
    passed = _at(document, "smart_status", "passed")
    model = _at(document, "model_name") or _at(document, "scsi_model_name") or ""
    missing = "" if values or isinstance(passed, bool) else _reason(document)
    return Disk(
        device=name,
        model=printable(str(model), 60),
        passed=passed if isinstance(passed, bool) else None,
        values=values,
        missing=missing,
    )


def _at(document: object, *keys: str) -> object:
    """What stands in a document under nested keys; None where it has none."""
    for key in keys:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def _number(value: object) -> float | None:
    number = number_or_none(value)
    return number if number is not None and abs(number) < 1e18 else None


def _reason(document: JsonObject) -> str:
    """Why there is nothing: what smartctl says, made plain where it is a common one."""
    messages = array_at(object_at(document, "smartctl"), "messages")
    message = next((_at(message, "string") for message in messages), None)
    text = printable(message, 120) if isinstance(message, str) else ""
    if "permission denied" in text.lower():
        return "only root may ask the disk"
    if "standby" in text.lower():
        return "it is asleep and was left so"
    return text or "the disk has no SMART values (bridges of USB disks often hide them)"


def _ata(document: JsonObject) -> Iterator[tuple[str, float]]:
    for row in array_at(object_at(document, "ata_smart_attributes"), "table"):
        number = _at(row, "id")
        raw = _number(_at(row, "raw", "value"))
        if not isinstance(number, int) or raw is None:
            continue
        if number in ATTRIBUTES:
            yield ATTRIBUTES[number], _raw_count(number, int(raw), _at(row, "raw", "string"))
        left = _number(_at(row, "value"))
        if number in _WEAR and left is not None and 0 <= left <= 100:
            yield "life used, %", 100 - left
        if str(_at(row, "when_failed") or "") not in ("", "-"):
            yield f"failed: {printable(str(_at(row, 'name')), 30)}", 1.0


_COMMAND_TIMEOUT = 188


def _raw_count(number: int, raw: int, string: object) -> float:
    """The count in an attribute's raw value of 48 bits, which may hold several of 16 bits each.

    smartctl writes them as ``2 2 4`` (the last is the count) or ``4 (0 2)`` (the first is). Seagate
    keeps three in Command_Timeout: all, those over 5 s, those over 7.5 s; a smartctl that does not
    know the model writes them as one large number.
    """
    words = re.fullmatch(r"\d+ \d+ (\d{1,5})|(\d{1,5}) \(\d+ \d+\)", str(string or ""))
    if words is not None:
        return float(words[1] or words[2])
    return float(raw & (0xFFFF if number == _COMMAND_TIMEOUT else 0xFFFFFFFF))


def _nvme(document: JsonObject) -> Iterator[tuple[str, float]]:
    log = _at(document, "nvme_smart_health_information_log")
    for key, name in (
        ("critical_warning", "critical warning"),
        ("percentage_used", "life used, %"),
        ("media_errors", "media errors"),
        ("available_spare", "spare, %"),
        ("available_spare_threshold", "spare threshold, %"),
        ("unsafe_shutdowns", "unsafe shutdowns"),
        ("num_err_log_entries", "errors logged"),
        ("warning_temp_time", "minutes too warm"),
    ):
        value = _number(_at(log, key))
        if value is not None:
            yield name, value


def _common(document: JsonObject) -> Iterator[tuple[str, float]]:
    for keys, name in (
        (("power_on_time", "hours"), "hours on"),
        (("temperature", "current"), "temperature, °C"),
        (("ata_smart_error_log", "summary", "count"), "errors logged"),
    ):
        value = _number(_at(document, *keys))
        if value is not None:
            yield name, value
