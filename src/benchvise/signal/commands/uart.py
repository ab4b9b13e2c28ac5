"""``benchvise signal uart``: the serial lines of a capture, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption, CommandRecord
from benchvise.signal.commands.options import CaptureOptions
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.text import counted

if TYPE_CHECKING:
    from benchvise.signal.aligning import Discrepancy
    from benchvise.signal.capture import Capture
    from benchvise.signal.serial_lines import Excess, SerialLines
    from benchvise.signal.uart import SerialLine

_PLACES_LISTED = 40
_BYTES_A_ROW = 16
_BYTES_OF_PLACE = 12


@dataclass(frozen=True, kw_only=True)
class UartOptions(CaptureOptions):
    """Which lines, and what is known of them."""

    lines: Annotated[
        tuple[str, ...],
        CommandOption("--line", "Only this line, by name or number; repeatable.", metavar="LINE"),
    ] = ()
    baud: Annotated[
        float | None,
        CommandOption("--baud", "Baud rate.", metavar="N", minimum=1, default_text="detected"),
    ] = None
    frame: Annotated[
        str | None,
        CommandOption("--frame", "Bits, parity, stops.", metavar="8n1", default_text="detected"),
    ] = None
    inverted: Annotated[
        bool | None,
        CommandOption("--inverted/--not-inverted", "Idle level.", default_text="detected"),
    ] = None
    log: Annotated[
        Path | None,
        CommandOption(
            "--log", "What the host received of the first line, byte for byte.", metavar="FILE"
        ),
    ] = None
    rows: Annotated[
        int,
        CommandOption("--bytes", "Rows of sixteen bytes to show.", metavar="N", minimum=0),
    ] = 8


def run(options: UartOptions) -> SerialLines:
    """The serial lines of a capture beside the host's log. UsageError, CaptureError."""
    from benchvise.signal.serial_lines import serial_lines

    return serial_lines(
        options.open(),
        options.lines,
        baud=options.baud,
        frame=options.frame,
        inverted=options.inverted,
        log=options.log,
    )


# -- tables ----------------------------------------------------------------------------------------


def _faults(name: str, heading: str, fault: str) -> ColumnSpec[SerialLine]:
    def count(line: SerialLine) -> int:
        return sum(mark.fault == fault for mark in line.marks)

    return ColumnSpec(
        heading, ValueUnit.COUNT, count, lambda line: "bad" if count(line) else "muted", key=name
    )


def _nearest(line: SerialLine) -> str:
    return f"{line.rate.standard} {100 * line.rate.off:+.2f} %"


COLUMNS: tuple[ColumnSpec[SerialLine], ...] = (
    ColumnSpec("Line", ValueUnit.TEXT, lambda line: line.line, "strong"),
    ColumnSpec(
        "Rate",
        ValueUnit.BAUD,
        lambda line: line.rate.measured,
        text=lambda row: f"{row.rate.measured:.0f}",
    ),
    ColumnSpec("Nearest", ValueUnit.BAUD, lambda line: line.rate.standard, text=_nearest),
    ColumnSpec("Frame", ValueUnit.TEXT, lambda line: line.frame.name.partition(" ")[2]),
    ColumnSpec("Bytes", ValueUnit.COUNT, lambda line: len(line.data)),
    _faults("frame_errors", "Frame errors", "frame error"),
    _faults("parity_errors", "Parity", "parity error"),
    _faults("breaks", "Breaks", "break"),
    _faults("glitches", "Glitches", "glitch"),
)


def tables(serial: SerialLines, byte_rows: int = UartOptions.rows) -> list[TableSpec[Any]]:
    """The lines, their first bytes, and what the host's log has otherwise."""
    remarks = (
        *serial.skipped,
        *(_frames_remark(line) for line in serial.lines if line.also_fits),
        *map(_excess_remark, serial.excesses),
    )
    specs: list[TableSpec[Any]] = [TableSpec("Serial lines", COLUMNS, serial.lines, remarks)]
    if byte_rows:
        specs += [byte_table(serial.capture, line, byte_rows) for line in serial.lines]
    if serial.beside is not None:
        specs.append(_log_table(serial))
    return specs


def _frames_remark(line: SerialLine) -> str:
    from benchvise.signal.uart_frames import names

    others = names(line.also_fits, line.frame.baud)
    rates = any(frame.baud != line.frame.baud for frame in line.also_fits)
    options = "--baud and --frame set" if rates else "--frame sets"
    return f"{line.line}: other frames fit as well: {others}; {options} the one that was sent"


def _excess_remark(excess: Excess) -> str:
    name = f"{excess.line}, {excess.control}"
    if not excess.total:
        return f"{name}: no byte began while it said stop ({counted(excess.stops, 'time')})"
    return (
        f"{name}: EXCESS BYTES: {excess.total} began after it said stop, at {excess.overrun} of "
        f"{excess.stops} stops, up to {excess.most} at one: lost where the receiver has no room"
    )


@dataclass(frozen=True, slots=True)
class _ByteRow:
    at: float
    values: tuple[int, ...]
    faults: tuple[str, ...]


_BYTE_COLUMNS: tuple[ColumnSpec[_ByteRow], ...] = (
    ColumnSpec("At", ValueUnit.SECONDS, lambda row: row.at),
    ColumnSpec(
        "Bytes", ValueUnit.TEXT, lambda row: " ".join(f"{value:02x}" for value in row.values)
    ),
    ColumnSpec("Text", ValueUnit.TEXT, lambda row: _text(row.values)),
    ColumnSpec("Wrong", ValueUnit.TEXT, lambda row: ", ".join(dict.fromkeys(row.faults)), "bad"),
)


def _text(values: Sequence[int]) -> str:
    return "".join(chr(value) if 32 <= value < 127 else "." for value in values)


def byte_table(
    capture: Capture, line: SerialLine, rows: int = _PLACES_LISTED
) -> TableSpec[_ByteRow]:
    """The first bytes, sixteen a row, and where something was wrong."""
    more = len(line.data) - _BYTES_A_ROW * rows
    return TableSpec(
        f"{line.line}: {line.frame.name}",
        _BYTE_COLUMNS,
        tuple(_byte_rows(capture, line, rows)),
        (f"{counted(more, 'more byte')} (--bytes N, --json)",) if more > 0 else (),
    )


def _byte_rows(capture: Capture, line: SerialLine, rows: int) -> Iterator[_ByteRow]:
    data = sorted(line.data, key=lambda byte: byte.begin)
    marks = sorted(line.marks, key=lambda mark: mark.begin)
    for place in range(0, min(len(data), _BYTES_A_ROW * rows), _BYTES_A_ROW):
        part, rest = data[place : place + _BYTES_A_ROW], data[place + _BYTES_A_ROW :][:1]
        end = rest[0].begin if rest else capture.ticks
        yield _ByteRow(
            capture.time(part[0].begin),
            tuple(byte.value for byte in part),
            tuple(str(m.fault) for m in marks if part[0].begin <= m.begin < end),
        )


_LOG_COLUMNS: tuple[ColumnSpec[Discrepancy], ...] = (
    ColumnSpec("", ValueUnit.TEXT, lambda row: str(row.change), "bad"),
    ColumnSpec(
        "Byte of the line",
        ValueUnit.COUNT,
        lambda row: row.sent_at,
        text=lambda row: str(row.sent_at),
    ),
    ColumnSpec(
        "of the log",
        ValueUnit.COUNT,
        lambda row: row.received_at,
        text=lambda r: str(r.received_at),
    ),
    ColumnSpec("Line", ValueUnit.TEXT, lambda row: _hexadecimal(row.sent)),
    ColumnSpec("Log", ValueUnit.TEXT, lambda row: _hexadecimal(row.received)),
)


def _hexadecimal(data: bytes) -> str:
    text = " ".join(f"{byte:02x}" for byte in data[:_BYTES_OF_PLACE])
    return text + (" …" if len(data) > _BYTES_OF_PLACE else "")


def _log_table(serial: SerialLines) -> TableSpec[Discrepancy]:
    """What the host received otherwise than it was sent."""
    from benchvise.signal.aligning import ByteChange

    changes = serial.differences
    remarks = [f"{len(serial.lines[0].data)} bytes on the line, {serial.logged} in the log"]
    for kind in ByteChange:
        places = [row for row in changes if row.change is kind]
        if size := sum(max(len(row.sent), len(row.received)) for row in places):
            remarks.append(f"{size} bytes {kind} at {len(places)} places")
    if not changes:
        remarks.append("the host received what was on the line, byte for byte")
    for cause in serial.causes:
        remarks.append(f"{cause.word}: {'; '.join(cause.evidence)}")
        remarks.append(f"remedy: {cause.remedy}")
    return TableSpec(
        f"{serial.beside} beside the host's log",
        _LOG_COLUMNS,
        changes,
        tuple(remarks),
    ).first(_PLACES_LISTED, "more places (--json)")


def _document(serial: SerialLines) -> object:
    from benchvise.signal.serial_lines import serial_document

    return serial_document(serial)


UART = CommandRecord(
    name="uart",
    kind="signal-uart",
    summary="Decode serial lines: rate, frame, bytes, errors, glitches; compare a host's log.",
    example="benchvise signal uart capture.sr --line RX --log received.bin",
    options=UartOptions,
    run=run,
    document=_document,
    tables=lambda serial, options: tables(serial, options.rows),
    columns=COLUMNS,
    rows=lambda serial: serial.lines,
)
