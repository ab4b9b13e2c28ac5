"""``benchvise signal infrared``: pulses, spaces and codes of a remote control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption, CommandRecord
from benchvise.quantities import format_value
from benchvise.signal.commands.options import LineOptions, format_seconds
from benchvise.signal.remote_codes import RemoteCode
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.text import Untrusted

if TYPE_CHECKING:
    from benchvise.signal.infrared import Infrared, InfraredFrame, InfraredSpan

_CODES_LISTED = 40
_BARS = 48


@dataclass(frozen=True, kw_only=True)
class InfraredOptions(LineOptions):
    """Which protocol, and how much is shown."""

    protocol: Annotated[
        str | None,
        CommandOption("--protocol", "NEC, RC-5, …", metavar="NAME", default_text="detected"),
    ] = None
    frames: Annotated[
        int,
        CommandOption("--frames", "Frames to show pulse by pulse.", metavar="N", minimum=0),
    ] = 1


def run(options: InfraredOptions) -> Infrared:
    """The frames of a remote control. CaptureError where there is none on the line."""
    from benchvise.signal.infrared import infrared

    capture = options.open()
    return infrared(capture, options.line or capture.busiest.name, options.protocol)


def _hex(value: int | None) -> str:
    return "-" if value is None else f"0x{value:02x}"


def _what(frame: InfraredFrame) -> str:
    """What stands beside address and command."""
    code = frame.code
    if code is None:
        return f"{(len(frame.spans) + 1) // 2} pulses"
    remarks = [code.detail] if code.detail else []
    if code.toggle is not None:
        remarks.append(f"toggle {int(code.toggle)}")
    remarks += code.faults
    if code.also_fits:
        remarks.append(f"also fits {', '.join(code.also_fits)}")
    if frame.glitches:
        remarks.append(f"{frame.glitches} glitches" if frame.glitches > 1 else "1 glitch")
    return "; ".join(remarks)


_CODE_COLUMNS: tuple[ColumnSpec[tuple[int, InfraredFrame]], ...] = (
    ColumnSpec("Frame", ValueUnit.COUNT, lambda row: row[0], "muted"),
    ColumnSpec(
        "At", ValueUnit.SECONDS, lambda row: row[1].at, text=lambda row: format_seconds(row[1].at)
    ),
    ColumnSpec(
        "Protocol",
        ValueUnit.TEXT,
        lambda row: row[1].code.protocol if row[1].code else "unknown",
        lambda row: "strong" if row[1].code and row[1].code.complete else "muted",
    ),
    ColumnSpec(
        "Address", ValueUnit.TEXT, lambda row: _hex(row[1].code.address if row[1].code else None)
    ),
    ColumnSpec(
        "Command", ValueUnit.TEXT, lambda row: _hex(row[1].code.command if row[1].code else None)
    ),
    ColumnSpec(
        "Key",
        ValueUnit.TEXT,
        lambda row: "" if not _whole(row[1]) else "held" if _repeated(row[1]) else "pressed",
    ),
    ColumnSpec("", ValueUnit.TEXT, lambda row: _what(row[1]), "muted", key="detail"),
)


def _whole(frame: InfraredFrame) -> bool:
    return frame.code is not None and frame.code.complete


def _repeated(frame: InfraredFrame) -> bool:
    return frame.code is not None and frame.code.repeat


_SPAN_COLUMNS: tuple[ColumnSpec[InfraredSpan], ...] = (
    ColumnSpec(
        "", ValueUnit.TEXT, lambda span: span.kind, lambda s: "strong" if s.pulse else "muted"
    ),
    ColumnSpec(
        "Length",
        ValueUnit.SECONDS,
        lambda span: span.seconds,
        text=lambda s: f"{s.seconds * 1e6:.0f} us",
    ),
    ColumnSpec(
        "",
        ValueUnit.TEXT,
        lambda span: ("█" if span.pulse else "·") * min(_BARS, max(1, round(span.seconds * 1e4))),
    ),
)

COLUMNS: tuple[ColumnSpec[tuple[int, InfraredSpan]], ...] = (
    ColumnSpec("Frame", ValueUnit.COUNT, lambda row: row[0]),
    ColumnSpec("At", ValueUnit.SECONDS, lambda row: row[1].at),
    ColumnSpec("Kind", ValueUnit.TEXT, lambda row: row[1].kind),
    ColumnSpec("Length", ValueUnit.SECONDS, lambda row: row[1].seconds),
)


def _spans(remote: Infrared) -> list[tuple[int, InfraredSpan]]:
    return [(number, span) for number, frame in enumerate(remote.frames, 1) for span in frame.spans]


def tables(remote: Infrared, frames: int) -> list[TableSpec[Any]]:
    """The codes, and the pulses and spaces of the first frames."""
    carrier = (
        f"carrier {format_value(remote.carrier_hz, 'Hz')}"
        if remote.carrier_hz
        else "no carrier: a receiver's output"
    )
    names = dict.fromkeys(
        frame.code.protocol for frame in remote.frames if frame.code and frame.code.complete
    )
    protocol = " and ".join(names) or "unknown protocol"
    pressed = sum(_whole(frame) and not _repeated(frame) for frame in remote.frames)
    title = f"{remote.line}: {protocol}, {len(remote.frames)} frames, {pressed} pressed, {carrier}"
    rows = list(enumerate(remote.frames, 1))
    codes = TableSpec(title, _CODE_COLUMNS, rows, remote.notes)
    return [
        codes.first(_CODES_LISTED, "more (--json)"),
        *(_frame_table(n, f) for n, f in enumerate(remote.frames[:frames], 1)),
    ]


def _frame_table(number: int, frame: InfraredFrame) -> TableSpec[InfraredSpan]:
    protocol = frame.code.protocol if frame.code else "unknown"
    title = f"Frame {number} at {format_seconds(frame.at)}: {protocol}"
    return TableSpec(title, _SPAN_COLUMNS, frame.spans)


@dataclass(frozen=True, slots=True)
class InfraredFrameDocument:
    """A frame as JSON: pulses and spaces with their seconds, and the code it carries."""

    at: float
    protocol: str | None
    spans: list[tuple[str, float]]
    code: RemoteCode | None
    glitches: int


@dataclass(frozen=True, slots=True)
class InfraredDocument:
    """A remote control as JSON."""

    line: str
    active_low: bool
    carrier_hz: float | None
    protocol: str | None
    frames: list[InfraredFrameDocument]
    decoded: list[Untrusted]
    notes: tuple[str, ...]


def document(remote: Infrared) -> InfraredDocument:
    """A remote control as JSON: frames pulse by pulse, and what was decoded."""
    return InfraredDocument(
        remote.line,
        remote.active_low,
        remote.carrier_hz,
        remote.protocol.name if remote.protocol else None,
        [
            InfraredFrameDocument(
                frame.at,
                frame.protocol.name if frame.protocol else None,
                [(span.kind, span.seconds) for span in frame.spans],
                frame.code,
                frame.glitches,
            )
            for frame in remote.frames
        ],
        [annotation.text for annotation in remote.decoded],
        remote.notes,
    )


INFRARED = CommandRecord(
    name="infrared",
    kind="signal-infrared",
    summary="Read a remote control: pulses and spaces, protocol and codes.",
    example="benchvise signal infrared remote.sr",
    options=InfraredOptions,
    run=run,
    document=document,
    tables=lambda remote, options: tables(remote, options.frames),
    columns=COLUMNS,
    rows=_spans,
)
