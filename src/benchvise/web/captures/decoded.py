"""What decoders say of a capture, as rows of a time line: spans that do not overlap, with texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from benchvise.errors import UsageError
from benchvise.signal.capture import Capture
from benchvise.signal.decoders import Annotation, decode_by_row, parse_decoder
from benchvise.signal.infrared import Infrared, infrared
from benchvise.signal.levels import Spans
from benchvise.signal.serial_lines import SerialLines, serial_lines
from benchvise.signal.uart import SerialLine
from benchvise.text import printable
from benchvise.web.captures.asked import INFRARED, SERIAL

MOST_TEXTS = 20_000
"""Different texts that the browser is given; beyond, a click says what it is."""
MOST_ROWS = 40
_MORE = "…"


@dataclass(frozen=True, slots=True)
class Row:
    """Spans of one decoder that follow each other; ``faulty`` where it lists what is wrong."""

    name: str
    spans: Spans
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows, the texts that their spans' numbers mean, and what else is known: ``serial`` of serial
    lines, ``infrared`` of remote controls, ``said`` of any other decoder."""

    rows: tuple[Row, ...] = ()
    texts: tuple[str, ...] = ()
    serial: SerialLines | None = None
    infrared: Infrared | None = None
    said: tuple[Annotation, ...] = ()
    notes: tuple[str, ...] = ()


NOTHING_DECODED = Decoded()


@dataclass
class _Texts:
    """Numbers of texts, in the order in which they are first said."""

    numbers: dict[str, int] = field(default_factory=dict)
    cut: bool = False

    def number(self, text: str) -> int:
        found = self.numbers.get(text)
        if found is not None:
            return found
        if len(self.numbers) >= MOST_TEXTS:
            self.cut = True
            return self.numbers.setdefault(_MORE, len(self.numbers))
        return self.numbers.setdefault(text, len(self.numbers))


def decoded(capture: Capture, how: str) -> Decoded:
    """Decodes as ``how`` says: see ``Asked``. Raises CaptureError and UsageError."""
    texts = _Texts()
    if how == SERIAL:
        serial = serial_lines(capture)
        rows = [row for line in serial.lines for row in _serial_rows(line, texts)]
        return Decoded(tuple(rows), tuple(texts.numbers), serial=serial, notes=serial.skipped)
    if how == INFRARED:
        found = infrared(capture, capture.busiest.name)
        rows = list(_rows(found.decoded, texts))
        return Decoded(tuple(rows), tuple(texts.numbers), infrared=found, notes=found.notes)
    stack = [parse_decoder(text) for text in how.split(",") if text]
    if not stack:
        raise UsageError("no decoder is named", "write uart:rx=0:baudrate=9600, or spi:clk=0")
    said = decode_by_row(capture, stack)
    rows = list(_rows(said, texts))
    notes = ("only some of the texts are shown: click on the others",) if texts.cut else ()
    return Decoded(tuple(rows), tuple(texts.numbers), said=tuple(said), notes=notes)


def _serial_rows(line: SerialLine, texts: _Texts) -> Iterator[Row]:
    name = f"{line.line} {line.frame.name}"
    if line.data:
        yield Row(
            printable(name, 80),
            _spans((b.begin, b.end, texts.number(byte_text(b.value))) for b in line.data),
        )
    if line.marks:
        for lane in _lanes([(m.begin, m.end, texts.number(str(m.fault))) for m in line.marks]):
            yield Row(printable(f"{line.line} faults", 80), _spans(lane), faulty=True)


def byte_text(value: int) -> str:
    """``A``, or ``0D`` for what cannot be printed."""
    return chr(value) if 0x21 <= value <= 0x7E else f"{value:02X}"


def _rows(said: Iterable[Annotation], texts: _Texts) -> Iterator[Row]:
    """A row for each that a decoder has, or several where what it says there overlaps."""
    by_name: dict[str, list[tuple[int, int, int]]] = {}
    for one in said:
        spans = by_name.setdefault(f"{one.decoder} {one.row}".strip(), [])
        spans.append((one.begin, one.end, texts.number(one.text)))
    lanes = ((name, lane) for name, spans in by_name.items() for lane in _lanes(spans))
    for name, lane in islice(lanes, MOST_ROWS):
        yield Row(printable(name, 80), _spans(lane))


def _lanes(spans: Sequence[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    """The spans in as few rows as they need so that none overlaps another in its row."""
    lanes: list[list[tuple[int, int, int]]] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        free = next((lane for lane in lanes if lane[-1][1] <= span[0]), None)
        if free is None:
            if len(lanes) >= MOST_ROWS:
                continue
            lanes.append(free := [])
        free.append(span)
    return lanes


def _spans(spans: Iterable[tuple[int, int, int]]) -> Spans:
    columns = np.array([*spans], dtype=np.int64).reshape(-1, 3)
    # What has no length is seen as one tick.
    ends = np.maximum(columns[:, 1], columns[:, 0] + 1)
    following = np.append(columns[1:, 0], np.iinfo(np.int64).max)
    return Spans(
        columns[:, 0].copy(),
        np.minimum(ends, np.maximum(following, columns[:, 0] + 1)),
        columns[:, 2].astype(np.int32),
    )
