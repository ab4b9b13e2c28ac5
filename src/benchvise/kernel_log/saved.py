"""A kernel log that somebody saved, in whatever form: its lines, in bounded memory.

Text is read line by line (``lines``); what the journal exports and what ``dmesg --json`` writes are
records of fields. Which it is shows its beginning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO

from benchvise.documents import JsonObject
from benchvise.kernel_log.devices import device_of
from benchvise.kernel_log.events import LogEvents
from benchvise.kernel_log.lines import (
    KERNEL_TAGS,
    LENGTH,
    LineOrigin,
    LogLine,
    begins_anew,
    kernel_line,
    parse_line,
)
from benchvise.kernel_log.rules import classify
from benchvise.quantities import number_or_none

BYTES = 32 << 20
"""Bytes of a log that are read."""

CHUNK = 1 << 16
"""Bytes that are read at a time; the first of them show what it is."""

RAW_LINE = 64 << 10
"""Bytes of a line that are kept; a record of the journal in JSON has a few thousand."""

_HEAD_LINES = 2000
_ENOUGH = 3
"""Lines with a stamp in a log's beginning, so that lines without one are not taken for its own."""

_ENDS = re.compile(rb"\r+\n|\r")
_LIKELY = re.compile(
    r"Linux version |Booting Linux on|Kernel command line:|^(?:NET|clocksource|workqueue|random"
    r"|rcu|printk|ACPI|PCI|usbcore|SCSI subsystem|Freeing unused kernel|Run /\S+ as init process)\b"
)


class NoLogError(Exception):
    """It is no log, or none that can be read as it is: the message says why, ``remedy`` what helps.

    FILE in it stands for the file's name.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class SavedLog:
    """What a saved log says: its events, the boots that its lines are of, and lines that were
    passed over as other programs wrote them. ``cut``: it has more than ``BYTES``."""

    events: LogEvents
    boots: int
    passed_over: int
    cut: bool


def read_saved(stream: IO[bytes]) -> SavedLog:
    """Reads a log up to ``BYTES``; NoLogError when it is none."""
    reader = _Reader(stream)
    events = LogEvents.of_lines(reader.lines())
    if not reader.kept:
        raise NoLogError("it is empty", _SAVE)
    if not reader.likely and not events.events:
        raise NoLogError("no line of it looks like one of a kernel log", _SAVE)
    return SavedLog(events, reader.boots, reader.passed_over, reader.cut)


_SAVE = "save one on the board: dmesg > log.txt, or journalctl -k > log.txt"


class _Reader:
    """The lines of a stream, with what is known of them once they were read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.kept = 0
        self.likely = 0
        self.passed_over = 0
        self.boots = 1
        self.cut = False
        self._boot = ""
        self._newest = 0.0

    def lines(self) -> Iterator[LogLine]:
        """The lines that the kernel wrote, as far as one can tell."""
        first = self._stream.read(CHUNK)
        check_text(first)
        raw_lines = self._raw_lines(first)
        read = _reader_of(first)
        parsed: Iterator[LogLine] = (
            line for line in read(raw_lines, self._note_boot) if line.text or line.origin > 0
        )
        head = list(islice(parsed, _HEAD_LINES))
        least = next(
            (
                origin
                for origin in (LineOrigin.KERNEL, LineOrigin.DATED)
                if sum(line.origin is origin for line in head) >= _ENOUGH
            ),
            LineOrigin.UNKNOWN,
        )
        for line in chain(head, parsed):
            self.kept += 1
            if not line.text or line.origin is LineOrigin.OTHER or line.origin < least:
                self.passed_over += 1
                continue
            named = line.origin is not LineOrigin.UNKNOWN or bool(device_of(line.text))
            self.likely += (
                line.origin is LineOrigin.KERNEL or named or bool(_LIKELY.search(line.text))
            )
            if not named and _is_guess(line.text):
                continue  # a sentence of somebody's mail may speak of errors, too
            if line.time is not None:
                self._note_time(line.time)
            yield line

    def _note_time(self, time: float) -> None:
        if not self._boot and begins_anew(self._newest, time):
            self.boots += 1
        self._newest = time

    def _note_boot(self, boot: str) -> None:
        if boot and self._boot and boot != self._boot:
            self.boots += 1
        self._boot = boot or self._boot

    def _raw_lines(self, chunk: bytes) -> Iterator[bytes]:
        """Lines without their ends, each cut at ``RAW_LINE``; a carriage return ends one, too."""
        rest, dropping, total = b"", False, len(chunk)
        while chunk:
            # A line feed belongs to the carriage returns before it, in whichever chunk it is.
            while chunk.endswith(b"\r") and (more := self._stream.read(1)):
                chunk = chunk.rstrip(b"\r") + b"\r" + more
                total += 1
            *whole, rest = (rest + _ENDS.sub(b"\n", chunk)).split(b"\n")
            for line in whole:
                if not dropping:
                    yield line[:RAW_LINE]
                dropping = False
            if len(rest) > RAW_LINE:
                if not dropping:
                    yield rest[:RAW_LINE]
                rest, dropping = b"", True
            if total >= BYTES:
                self.cut = bool(self._stream.read(1))
                break
            chunk = self._stream.read(CHUNK)
            total += len(chunk)
        if rest and not dropping:
            yield rest


def _is_guess(text: str) -> bool:
    match = classify(text)
    return match is not None and match.rule.log_class == "device error"


# -- what it is ------------------------------------------------------------------------------------

_NoteBoot = Callable[[str], None]
_Read = Callable[[Iterator[bytes], _NoteBoot], Iterator[LogLine]]

_PACKED = (
    (b"\x1f\x8b", "it is compressed (gzip)", "zcat FILE | benchvise health --log -"),
    (b"\xfd7zXZ\0", "it is compressed (xz)", "xzcat FILE | benchvise health --log -"),
    (b"\x28\xb5\x2f\xfd", "it is compressed (zstd)", "zstdcat FILE | benchvise health --log -"),
    (b"BZh", "it is compressed (bzip2)", "bzcat FILE | benchvise health --log -"),
    (b"PK\x03\x04", "it is a zip archive", "unzip -p FILE | benchvise health --log -"),
    (
        b"LPKSHHRH",
        "it is a file of the journal itself",
        "journalctl -k --file FILE | benchvise health --log -",
    ),
    (b"\xff\xfe", "it is UTF-16", "iconv -f UTF-16 FILE | benchvise health --log -"),
    (b"\xfe\xff", "it is UTF-16", "iconv -f UTF-16 FILE | benchvise health --log -"),
)
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x07\x1b\x1e")


def check_text(head: bytes) -> None:
    """Raises NoLogError for what is no text."""
    for magic, what, remedy in _PACKED:
        if head.startswith(magic):
            raise NoLogError(what, remedy)
    strange = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
    strange += head.decode("utf-8", "replace").count("\ufffd")
    if strange > 0.1 * len(head):
        raise NoLogError("it is no text", _SAVE)


def _reader_of(head: bytes) -> _Read:
    """How it is read, by its beginning."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n\x1e")
    if re.match(rb"\{|\[\s*\{", begin):
        return _from_json
    if re.search(rb"^__(?:CURSOR|REALTIME_TIMESTAMP)=", begin[:2000], re.MULTILINE):
        return _from_export
    return _from_text


def _from_text(raw_lines: Iterator[bytes], _note_boot: _NoteBoot) -> Iterator[LogLine]:
    for raw in raw_lines:
        yield parse_line(raw[: 4 * LENGTH].decode("utf-8", "replace"))


# -- records ---------------------------------------------------------------------------------------

_FIELD = re.compile(r'\s*"(\w{1,64})"\s*:\s*(.*?),?\s*$', re.DOTALL)


def _from_json(raw_lines: Iterator[bytes], note_boot: _NoteBoot) -> Iterator[LogLine]:
    """Records of one line each (``-o json``), or of a line a field (json-pretty, dmesg --json)."""
    fields: dict[str, object] = {}
    for raw in raw_lines:
        text = raw.decode("utf-8", "replace").strip("\x1e \t,")
        whole = _decoded(text) if text.startswith("{") and text.endswith("}") else None
        if isinstance(whole, dict):
            yield _record(whole, note_boot)
        elif text.startswith("}"):
            if fields:
                yield _record(fields, note_boot)
            fields = {}
        elif (field := _FIELD.match(text)) is not None and len(fields) < 200:
            fields[field[1]] = _decoded(field[2])


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _from_export(raw_lines: Iterator[bytes], note_boot: _NoteBoot) -> Iterator[LogLine]:
    """``-o export``: a line a field, an empty line after each record. What has controls in it is
    written as the name alone, then eight bytes of its length and the bytes themselves."""
    fields: dict[str, object] = {}
    binary = ""
    for raw in raw_lines:
        if binary:
            fields[binary] = raw[8:].decode("utf-8", "replace")
            binary = ""
        elif not raw:
            if fields:
                yield _record(fields, note_boot)
            fields = {}
        else:
            name, equals, value = raw.partition(b"=")
            if equals and len(fields) < 200:
                fields[name.decode("ascii", "replace")] = value.decode("utf-8", "replace")
            elif re.fullmatch(rb"[A-Z_]{1,64}", name):
                binary = name.decode("ascii")
    if fields:
        yield _record(fields, note_boot)


def _record(fields: JsonObject | Mapping[str, object], note_boot: _NoteBoot) -> LogLine:
    """A line of a record's fields; no text where another program wrote it."""
    note_boot(str(fields.get("_BOOT_ID") or ""))
    message = fields.get("MESSAGE", fields.get("msg"))
    if isinstance(message, list):  # bytes, where it is no UTF-8
        numbers = [byte for byte in message[: 4 * LENGTH] if isinstance(byte, int)]
        message = bytes(byte & 0xFF for byte in numbers).decode("utf-8", "replace")
    transport = fields.get("_TRANSPORT", "kernel")
    if transport != "kernel" and fields.get("SYSLOG_IDENTIFIER") not in KERNEL_TAGS:
        return LogLine(None, None, "", LineOrigin.OTHER)
    microseconds = _number(
        fields.get("_SOURCE_MONOTONIC_TIMESTAMP", fields.get("__MONOTONIC_TIMESTAMP"))
    )
    time = _number(fields.get("time")) if microseconds is None else microseconds / 1e6
    level = _number(fields.get("PRIORITY", fields.get("pri")))
    text = message if isinstance(message, str) else ""
    return kernel_line(text, time, None if level is None else int(level) & 7)


def _number(value: object) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,18}(?:\.\d{1,9})?\s*", value):
        return float(value)
    return number_or_none(value)
