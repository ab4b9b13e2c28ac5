"""What decoders say of a capture, as rows of a timeline: spans that do not overlap, with texts."""

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
from benchvise.web.captures.view import INFRARED, SERIAL

MOST_TEXTS = 20_000
"""Different texts that the browser is given; beyond, a click says what it is."""
MOST_ROWS = 40
_MORE = "…"


@dataclass(frozen=True, slots=True)
class DecodedRow:
    """Spans of one decoder that follow each other; ``faulty`` where it lists what is wrong."""

    name: str
    spans: Spans
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class DecodedCapture:
    """Rows, the texts that their spans' numbers mean, and what else is known: ``serial`` of serial
    lines, ``infrared`` of remote controls, ``annotations`` of any other decoder."""

    rows: tuple[DecodedRow, ...] = ()
    texts: tuple[str, ...] = ()
    serial: SerialLines | None = None
    infrared: Infrared | None = None
    annotations: tuple[Annotation, ...] = ()
    notes: tuple[str, ...] = ()


NOTHING_DECODED = DecodedCapture()


@dataclass
class _Texts:
    """Numbers of texts, in the order in which they first occur."""

    numbers: dict[str, int] = field(default_factory=dict)
    cut: bool = False

    def number(self, text: str) -> int:
        number = self.numbers.get(text)
        if number is not None:
            return number
        if len(self.numbers) >= MOST_TEXTS:
            self.cut = True
            return self.numbers.setdefault(_MORE, len(self.numbers))
        return self.numbers.setdefault(text, len(self.numbers))


def decode_rows(capture: Capture, how: str) -> DecodedCapture:
    """Decodes as ``CaptureView.decode`` says. Raises CaptureError and UsageError."""
    texts = _Texts()
    if how == SERIAL:
        serial = serial_lines(capture)
        rows = [row for line in serial.lines for row in _serial_rows(line, texts)]
        return DecodedCapture(
            tuple(rows), tuple(texts.numbers), serial=serial, notes=serial.skipped
        )
    if how == INFRARED:
        remote = infrared(capture, capture.busiest.name)
        rows = list(_rows(remote.decoded, texts))
        return DecodedCapture(
            tuple(rows), tuple(texts.numbers), infrared=remote, notes=remote.notes
        )
    stack = [parse_decoder(text) for text in how.split(",") if text]
    if not stack:
        raise UsageError("no decoder is named", "write uart:rx=0:baudrate=9600, or spi:clk=0")
    annotations = decode_by_row(capture, stack)
    rows = list(_rows(annotations, texts))
    notes = ("only some of the texts are shown: click on the others",) if texts.cut else ()
    return DecodedCapture(
        tuple(rows), tuple(texts.numbers), annotations=tuple(annotations), notes=notes
    )


def _serial_rows(line: SerialLine, texts: _Texts) -> Iterator[DecodedRow]:
    name = f"{line.line} {line.frame.name}"
    if line.data:
        yield DecodedRow(
            name,
            _spans((b.begin, b.end, texts.number(byte_text(b.value))) for b in line.data),
        )
    if line.marks:
        for lane in _lanes([(m.begin, m.end, texts.number(str(m.fault))) for m in line.marks]):
            yield DecodedRow(f"{line.line} faults", _spans(lane), faulty=True)


def byte_text(value: int) -> str:
    """``A``, or ``0D`` for what cannot be printed."""
    return chr(value) if 0x21 <= value <= 0x7E else f"{value:02X}"


def _rows(annotations: Iterable[Annotation], texts: _Texts) -> Iterator[DecodedRow]:
    """A row for each that a decoder has, or several where what it says there overlaps."""
    by_name: dict[str, list[tuple[int, int, int]]] = {}
    for annotation in annotations:
        spans = by_name.setdefault(f"{annotation.decoder} {annotation.row}".strip(), [])
        spans.append((annotation.begin, annotation.end, texts.number(annotation.text)))
    lanes = ((name, lane) for name, spans in by_name.items() for lane in _lanes(spans))
    for name, lane in islice(lanes, MOST_ROWS):
        yield DecodedRow(name, _spans(lane))


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
