"""Tables of captures: lines, response times, clocks, serial lines, remote controls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from benchvise.quantities import ABSENT, format_number, format_range, format_value
from benchvise.report.tables import Cell, Column, Table
from benchvise.report.text import clean
from benchvise.signal.aligning import Change, Discrepancy
from benchvise.signal.capture import Capture
from benchvise.signal.clock import ClockFigures
from benchvise.signal.decoders import Annotation
from benchvise.signal.distribution import Difference, Distribution, Effect, histogram
from benchvise.signal.flow_control import Excess
from benchvise.signal.infrared import Infrared
from benchvise.signal.radio import Explained
from benchvise.signal.response import Responses
from benchvise.signal.uart import Fault, SerialLine

_BLOCKS = "▁▂▃▄▅▆▇█"
_SHOWN = 40
_BARS = 48
NOTHING = Cell(ABSENT, "muted")


def seconds(value: float | None) -> str:
    """A time in a handy unit."""
    return ABSENT if value is None else format_value(value * 1e9, "ns")


def count(value: int) -> Cell:
    """A number of things; none is muted."""
    return Cell(f"{value:,}".replace(",", " "), "plain" if value else "muted")


def _range(low: float, high: float) -> str:
    return format_range(low * 1e9, high * 1e9, "ns")


# -- what a capture holds --------------------------------------------------------------------------


def capture_rows(capture: Capture) -> list[Table]:
    """The file, and each of its lines."""
    rate = format_value(capture.clock.rate, "Hz")
    sampled = "samples a second" if capture.clock.sampled else "ticks a second, by events"
    head = (
        (Cell("format"), Cell(capture.form)),
        (Cell("length"), Cell(seconds(capture.seconds))),
        (Cell("clock"), Cell(f"{rate} {sampled}")),
        (Cell("error of an interval"), Cell(f"up to {seconds(capture.clock.resolution_s)}")),
    )
    columns = (
        Column("Line"),
        Column("Edges", right=True),
        Column("First edge", right=True),
        Column("Shortest level", right=True),
        Column("Rate", right=True),
        Column("High", right=True),
    )
    rows = []
    for line in capture.lines:
        lengths = np.diff(line.edges)
        rising = line.of("rising")
        span = int(rising[-1] - rising[0]) if rising.size > 1 else 0
        bounds = np.concatenate(([0], line.edges, [capture.ticks]))
        high = np.diff(bounds)[(0 if line.starts_high else 1) :: 2].sum() / capture.ticks
        rows.append(
            (
                Cell(clean(line.name), "strong" if line.edges.size else "muted"),
                count(int(line.edges.size)),
                Cell(seconds(capture.time(int(line.edges[0])))) if line.edges.size else NOTHING,
                Cell(seconds(capture.time(int(lengths.min())))) if lengths.size else NOTHING,
                Cell(format_value((rising.size - 1) / capture.time(span), "Hz"))
                if span
                else NOTHING,
                Cell(f"{100 * high:.1f} %"),
            )
        )
    return [
        Table(clean(capture.path.name), (Column(""), Column("")), head, ()),
        Table("Lines", columns, tuple(rows), capture.notes),
    ]


# -- response times --------------------------------------------------------------------------------


def response_rows(
    configurations: Sequence[tuple[str, Responses, Distribution, Difference | None]],
) -> Table:
    """A row for each configuration, the first as the reference of the others."""
    relative = len(configurations) > 1
    columns = (
        Column("Configuration"),
        Column("n", right=True),
        Column("Missed", right=True),
        Column("Extra", right=True),
        Column("Median", right=True),
        Column("95 % interval", right=True),
        Column("Min", right=True),
        Column("p95", right=True),
        Column("p99", right=True),
        Column("Max", right=True),
        *([Column("x first", right=True)] if relative else []),
        Column("Shape"),
    )
    rows: list[tuple[Cell, ...]] = []
    told: list[tuple[str, str]] = []
    for name, found, figures, against in configurations:
        by_share = {q.share: q for q in figures.quantiles}
        middle = by_share[0.5]
        cells = [
            Cell(clean(name), "strong"),
            count(figures.count),
            Cell(str(found.missed_at.size), "bad") if found.missed_at.size else count(0),
            Cell(str(found.extra_at.size), "bad") if found.extra_at.size else count(0),
            Cell(seconds(middle.value), "strong"),
            Cell(_range(middle.interval.low, middle.interval.high), "muted")
            if middle.interval
            else NOTHING,
            Cell(seconds(figures.low)),
            Cell(seconds(by_share[0.95].value)),
            Cell(seconds(by_share[0.99].value), "plain" if by_share[0.99].interval else "doubt"),
            Cell(seconds(figures.high)),
        ]
        if relative:
            cells.append(_ratio(against))
        cells.append(Cell(_sparkline(found), "muted"))
        rows.append(tuple(cells))
        told += [(clean(name), text) for text in _response_remarks(found, figures)]
    remarks = _by_name(told, len(configurations))
    if relative:
        remarks.append(
            "x first: ratio of the medians to the first row's; bold where it is shown "
            "(Mann-Whitney p < 0.01 and the 95 % interval excludes 1)"
        )
    return Table("Response times", columns, tuple(rows), tuple(remarks))


def _by_name(told: Sequence[tuple[str, str]], configurations: int) -> list[str]:
    """What is told of each by its name, once where it is told of all."""
    counts = Counter(text for _, text in told)
    shared = {text for text, count in counts.items() if count == configurations > 1}
    return [f"all: {text}" for text in counts if text in shared] + [
        f"{name}: {text}" for name, text in told if text not in shared
    ]


def _ratio(found: Difference | None) -> Cell:
    if found is None or found.ratio is None:
        return NOTHING
    return Cell(format_number(found.ratio.value), "strong" if found.shown else "muted")


def _response_remarks(found: Responses, figures: Distribution) -> list[str]:
    told = list(found.notes)
    if found.resolution_s is not None and found.resolution_s > 0.01 * figures.median.value:
        told.append(
            f"each time may be off by {seconds(found.resolution_s)}, "
            f"{100 * found.resolution_s / figures.median.value:.1f} % of the median"
        )
    if found.stray:
        told.append(f"{found.stray} edges of the answer came before the first stimulus")
    if figures.two_modes is not None:
        one, other = figures.two_modes
        told.append(
            f"two modes: {seconds(one.median)} ({100 * one.share:.0f} %) and "
            f"{seconds(other.median)} ({100 * other.share:.0f} %): the median is of neither"
        )
    if figures.drift is not None:
        told.append(f"it drifts by {100 * figures.drift.relative_change:+.1f} % from start to end")
    return told


def _sparkline(found: Responses) -> str:
    """The middle 98 % as a little histogram."""
    low, high = np.quantile(found.seconds, (0.01, 0.99))
    if low == high:
        return _BLOCKS[-1]
    counts, _ = np.histogram(found.seconds, bins=16, range=(float(low), float(high)))
    top = counts.max()
    return "".join(
        " " if n == 0 else _BLOCKS[min(7, int(8 * n / (top + 1)))] for n in counts
    ).rstrip()


def histogram_rows(name: str, found: Responses) -> Table:
    """A histogram, a bar a bin."""
    edges, counts = histogram(found.seconds, 24)
    top = max(1, int(counts.max()))
    rows = tuple(
        (
            Cell(_range(float(low), float(high))),
            count(int(number)),
            Cell("█" * round(_BARS * number / top) or ("▏" if number else "")),
        )
        for low, high, number in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    return Table(
        f"{clean(name)}: histogram",
        (Column("Response"), Column("Count", right=True), Column("")),
        rows,
        (),
    )


def effect_rows(effects: Sequence[Effect]) -> Table:
    """What each factor does, at each setting of the others."""
    rows = []
    for effect in effects:
        for where, found in effect.where:
            ratio = found.ratio
            rows.append(
                (
                    Cell(f"{clean(effect.factor)}: {clean(effect.level)} / {effect.reference}"),
                    Cell(clean(where)),
                    _ratio(found),
                    Cell(
                        f"{format_number(ratio.interval.low)} to "
                        f"{format_number(ratio.interval.high)}",
                        "muted",
                    )
                    if ratio
                    else NOTHING,
                    Cell(
                        "shown" if found.shown else "not shown", "plain" if found.shown else "muted"
                    ),
                )
            )
    columns = (
        Column("Factor"),
        Column("With"),
        Column("Ratio of medians", right=True),
        Column("95 % interval", right=True),
        Column(""),
    )
    return Table("What the factors do", columns, tuple(rows), ())


# -- clocks ----------------------------------------------------------------------------------------


def clock_rows(
    found: ClockFigures,
    nominal: float | None,
    off_ppm: float | None,
    explained: Explained | None,
    tolerance: float,
) -> Table:
    """Frequency, jitter, duty, drift; which registers would explain the rate."""
    digits = max(0, 1 - math.floor(math.log10(max(found.error, 1e-9))))
    rows = [
        ("frequency", f"{found.frequency:.{digits}f} Hz ± {format_number(found.error)} Hz"),
        ("period", seconds(found.period)),
        ("periods", str(found.periods)),
        ("duty cycle", f"{100 * found.duty:.2f} % high"),
        ("period jitter", f"{seconds(found.jitter_rms)} rms, {seconds(found.jitter_peak)} peak"),
        ("cycle to cycle", f"{seconds(found.cycle_jitter)} at most"),
        (
            "drift",
            f"{found.drift_ppm:+.0f} ppm from start to end"
            if found.drift_ppm is not None
            else "too short to tell",
        ),
    ]
    if nominal is not None and off_ppm is not None:
        rows.append(("nominal", f"{nominal:.6g} Hz: it is {off_ppm:+.1f} ppm off"))
    remarks = []
    if found.jitter_rms < found.resolution:
        remarks.append(
            f"jitter is below the resolution of the capture, {seconds(found.resolution)}: "
            "it says nothing of the clock"
        )
    remarks.append(
        "the sampling clock's own error comes on top of the ±: the file does not say it "
        "(50 ppm is usual, 0.5 % for an RC oscillator)"
    )
    for at, length in found.pauses[:5]:
        remarks.append(f"it pauses at {seconds(at)} for {seconds(length)}")
    if len(found.pauses) > 5:
        remarks.append(f"{len(found.pauses)} pauses in all")
    if explained is not None:
        remarks += _explanation(explained, tolerance)
    return Table(
        f"Clock on {clean(found.line)}",
        (Column("Figure"), Column("Value")),
        tuple((Cell(name), Cell(text)) for name, text in rows),
        tuple(remarks),
    )


def _explanation(found: Explained, tolerance: float) -> list[str]:
    said = [
        f"registers {found.wanted} set {found.wanted.rate:.1f} baud, measured "
        f"{found.measured:.1f} baud ({100 * found.off:+.2f} %, {1e6 * tolerance:.0f} ppm allowed)"
    ]
    if found.agrees:
        return [*said, "they agree"]
    if found.by_mantissa is not None:
        said.append(
            f"MDMCFG3 0x{found.by_mantissa.mdmcfg3:02x} in place of "
            f"0x{found.wanted.mdmcfg3:02x} would explain it ({found.by_mantissa.rate:.1f} baud)"
        )
    if found.by_exponent is not None:
        said.append(
            f"MDMCFG4 0x{found.by_exponent.mdmcfg4:02x} in place of "
            f"0x{found.wanted.mdmcfg4:02x} would explain it ({found.by_exponent.rate:.1f} baud)"
        )
    if found.by_mantissa is None and found.by_exponent is None:
        said.append(
            f"no single register explains it; nearest is {found.nearest} "
            f"({found.nearest.rate:.1f} baud)"
        )
    return said


# -- serial lines ----------------------------------------------------------------------------------


def serial_rows(
    lines: Sequence[SerialLine], skipped: Sequence[str], excesses: Sequence[Excess]
) -> Table:
    """A row for each serial line: rate, frame, bytes, faults."""
    columns = (
        Column("Line"),
        Column("Rate", right=True),
        Column("Nearest", right=True),
        Column("Frame"),
        Column("Bytes", right=True),
        Column("Frame errors", right=True),
        Column("Parity", right=True),
        Column("Breaks", right=True),
        Column("Glitches", right=True),
    )
    rows = []
    for one in lines:
        faults = one.faults()
        near = one.rate.standard
        rows.append(
            (
                Cell(clean(one.line), "strong"),
                Cell(f"{one.rate.measured:.0f}"),
                Cell(f"{near} {100 * one.rate.off:+.2f} %") if near else NOTHING,
                Cell(one.frame.name.partition(" ")[2]),
                count(len(one.data)),
                *(
                    Cell(str(faults[kind]), "bad") if faults[kind] else count(0)
                    for kind in (Fault.FRAME, Fault.PARITY, Fault.BREAK, Fault.GLITCH)
                ),
            )
        )
    told = [*map(clean, skipped), *map(_excess, excesses)]
    return Table("Serial lines", columns, tuple(rows), tuple(told))


def _excess(found: Excess) -> str:
    name = f"{clean(found.line)}, {clean(found.control)}"
    if not found.total:
        return f"{name}: no byte began while it said stop ({found.stops} times)"
    return (
        f"{name}: EXCESS BYTES: {found.total} began after it said stop, at {found.overrun} of "
        f"{found.stops} stops, up to {found.most} at one: lost where the receiver has no room"
    )


def byte_rows(capture: Capture, line: SerialLine, limit: int = _SHOWN) -> Table:
    """What was said, in rows of sixteen bytes, and where something was wrong."""
    events = sorted([*((byte.begin, byte.value) for byte in line.data)], key=lambda event: event[0])
    marks = sorted(line.marks, key=lambda mark: mark.begin)
    rows = []
    for place in range(0, min(len(events), 16 * limit), 16):
        part = events[place : place + 16]
        end = events[place + 16][0] if place + 16 < len(events) else capture.ticks
        wrong = [mark.fault for mark in marks if part[0][0] <= mark.begin < end]
        rows.append(
            (
                Cell(seconds(capture.time(part[0][0]))),
                Cell(" ".join(f"{value:02x}" for _, value in part)),
                Cell("".join(chr(v) if 32 <= v < 127 else "." for _, v in part)),
                Cell(", ".join(dict.fromkeys(map(str, wrong))), "bad"),
            )
        )
    more = len(events) - 16 * limit
    return Table(
        f"{clean(line.line)}: {line.frame.name}",
        (Column("At", right=True), Column("Bytes"), Column("Text"), Column("Wrong")),
        tuple(rows),
        (f"{more} more bytes (--bytes N, --json)",) if more > 0 else (),
    )


def discrepancy_rows(name: str, found: Sequence[Discrepancy], sent: int, got: int) -> Table:
    """What the host got otherwise than it was sent."""
    rows = tuple(
        (
            Cell(str(one.change), "bad"),
            Cell(str(one.sent_at)),
            Cell(str(one.received_at)),
            Cell(_bytes(one.sent)),
            Cell(_bytes(one.received)),
        )
        for one in found[:_SHOWN]
    )
    remarks = [f"{sent} bytes on the line, {got} in the log"]
    for change in Change:
        size = sum(max(len(one.sent), len(one.received)) for one in found if one.change is change)
        if size:
            places = sum(one.change is change for one in found)
            remarks.append(f"{size} bytes {change} at {places} places")
    if not found:
        remarks.append("the host got what was on the line, byte for byte")
    if len(found) > _SHOWN:
        remarks.append(f"{len(found) - _SHOWN} more places (--json)")
    columns = (
        Column(""),
        Column("Byte of the line", right=True),
        Column("of the log", right=True),
        Column("Line"),
        Column("Log"),
    )
    return Table(f"{clean(name)} beside the host's log", columns, rows, tuple(remarks))


def _bytes(data: bytes) -> str:
    return " ".join(f"{byte:02x}" for byte in data[:12]) + (" …" if len(data) > 12 else "")


# -- remote controls and other protocols -----------------------------------------------------------


def infrared_rows(found: Infrared, frames: int) -> list[Table]:
    """The codes, and the pulses and spaces of the first frames."""
    said = [one for one in found.decoded if ":" in one.text and not one.text.startswith("Bit")]
    carrier = (
        f"carrier {format_value(found.carrier_hz, 'Hz')}"
        if found.carrier_hz
        else "no carrier: a receiver's output"
    )
    name = found.protocol.name if found.protocol else "unknown protocol"
    tables = [
        Table(
            f"{clean(found.line)}: {name}, {len(found.frames)} frames, {carrier}",
            (Column("Decoded"),),
            tuple((Cell(clean(one.text)),) for one in said[:_SHOWN]),
            (
                *found.notes,
                *((f"{len(said) - _SHOWN} more (--json)",) if len(said) > _SHOWN else ()),
            ),
        )
    ]
    for number, frame in enumerate(found.frames[:frames]):
        rows = tuple(
            (
                Cell("pulse" if span.pulse else "space", "strong" if span.pulse else "muted"),
                Cell(f"{span.seconds * 1e6:.0f} us"),
                Cell(("█" if span.pulse else "·") * min(_BARS, max(1, round(span.seconds * 1e4)))),
            )
            for span in frame.spans
        )
        kind = frame.protocol.name if frame.protocol else "unknown"
        tables.append(
            Table(
                f"Frame {number + 1} at {seconds(frame.at)}: {kind}",
                (Column(""), Column("Length", right=True), Column("")),
                rows,
                (),
            )
        )
    return tables


def annotation_rows(capture: Capture, said: Sequence[Annotation], limit: int) -> Table:
    """What decoders say, in the order of time."""
    rows = tuple(
        (
            Cell(seconds(capture.time(one.begin))),
            Cell(seconds(capture.time(one.end - one.begin)), "muted"),
            Cell(clean(one.decoder), "muted"),
            Cell(clean(one.text)),
        )
        for one in sorted(said, key=lambda one: one.begin)[:limit]
    )
    more = len(said) - limit
    return Table(
        f"{clean(capture.path.name)}: {len(said)} annotations",
        (Column("At", right=True), Column("For", right=True), Column("By"), Column("Says")),
        rows,
        (f"{more} more (--limit N, --json)",) if more > 0 else (),
    )
