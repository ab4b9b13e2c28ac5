"""Captures as pages ask for them: how one is read and decoded, what was decoded, which are open.

``CaptureView`` is what a page asks: its parameters are the query of ``/captures/KEY`` and, as one
segment, a part of the addresses below ``/api/captures/KEY/``. So an address says all, and answers
may be cached. What decoders say becomes rows of a timeline: spans that do not overlap, with texts.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np

from benchvise.errors import CaptureError, UsageError
from benchvise.signal.capture import MOST_EDGES, Capture, CaptureSummary, summarise
from benchvise.signal.decoders import Annotation, decode_by_row, parse_decoder
from benchvise.signal.infrared import Infrared, infrared
from benchvise.signal.levels import Spans
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.reading import open_capture
from benchvise.signal.response import Edge, Responses, parse_edges, responses
from benchvise.signal.serial_lines import SerialLines, serial_lines
from benchvise.signal.uart import SerialLine
from benchvise.web.http import Busy, Query

SERIAL = "serial"
INFRARED = "infrared"
PLAIN = "-"
"""The segment of a capture that is neither decoded nor read in a way of its own."""

_NAMES = ("decode", "threshold", "hysteresis", "rate", "from", "to", "window")
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class CaptureView:
    """``decode`` is ``serial``, ``infrared``, or a stack as ``sigrok-cli -P`` takes it, empty for
    none. ``threshold`` and ``hysteresis`` are in the unit of analogue values, ``rate`` in samples a
    second. ``stimulus`` and ``answer`` name edges, ``window`` is in seconds.
    """

    decode: str = ""
    threshold: float | None = None
    hysteresis: float | None = None
    rate: float | None = None
    stimulus: str = ""
    answer: str = ""
    window: float | None = None

    @classmethod
    def of_query(cls, parameters: Mapping[str, str]) -> CaptureView:
        """What a query asks for; UsageError for what is no number or too long."""
        query = Query(parameters)
        texts = {name: query.text(name, limit=_LONGEST) for name in _NAMES}
        return cls(
            texts["decode"],
            query.number("threshold"),
            query.number("hysteresis", positive=True),
            query.number("rate", positive=True),
            texts["from"],
            texts["to"],
            query.number("window", positive=True),
        )

    @classmethod
    def of_segment(cls, text: str) -> CaptureView:
        """What a segment of an address asks for."""
        return cls.of_query({} if text == PLAIN else dict(parse_qsl(text)))

    @property
    def segment(self) -> str:
        """As a part of an address."""
        parameters = {name: value for name, value in self.parameters().items() if value}
        return quote(urlencode(parameters), safe="") or PLAIN

    def parameters(self) -> dict[str, str]:
        """As a query, for forms and links."""
        values = (
            self.decode, self.threshold, self.hysteresis, self.rate,
            self.stimulus, self.answer, self.window,
        )  # fmt: skip
        return {
            name: "" if value is None else value if isinstance(value, str) else f"{value:g}"
            for name, value in zip(_NAMES, values, strict=True)
        }

    @property
    def reading(self) -> ReadOptions:
        """For reading the file."""
        rate = None if self.rate is None else Fraction(self.rate).limit_denominator(1_000_000)
        return ReadOptions((), self.threshold, self.hysteresis, rate)

    @property
    def response(self) -> tuple[str, str, float | None]:
        """All that response times depend on, but the edges of the lines."""
        return self.stimulus, self.answer, self.window

    @property
    def edges(self) -> tuple[Edge, Edge] | None:
        """Stimulus and answer; None where they are not both named."""
        return parse_edges(self.stimulus, self.answer)


# -- what was decoded ------------------------------------------------------------------------------


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
        rows = [_remote_row(capture, remote, texts), *_rows(remote.decoded, texts)]
        return DecodedCapture(
            tuple(rows), tuple(texts.numbers), infrared=remote, notes=remote.notes
        )
    stack = [parse_decoder(text) for text in how.split(",") if text]
    if not stack:
        raise UsageError("no decoder is named", "write uart:rx=RX:baudrate=9600, or spi:clk=CLK")
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


def _remote_row(capture: Capture, remote: Infrared, texts: _Texts) -> DecodedRow:
    """A span for each frame, with its code."""
    tick = capture.clock.tick_s
    return DecodedRow(
        f"{remote.line} frames",
        _spans(
            (
                round(frame.at / tick),
                round(frame.end / tick),
                texts.number(frame.code.text if frame.code else "unknown"),
            )
            for frame in remote.frames
        ),
    )


def byte_text(value: int) -> str:
    """``A``, or ``0D`` for what cannot be printed."""
    return chr(value) if 0x21 <= value <= 0x7E else f"{value:02X}"


def _rows(annotations: Iterable[Annotation], texts: _Texts) -> Iterator[DecodedRow]:
    """A row for each that a decoder has, or several where what it says there overlaps."""
    by_name: dict[str, list[tuple[int, int, int]]] = {}
    for annotation in annotations:
        spans = by_name.setdefault(f"{annotation.decoder} {annotation.row}".strip(), [])
        spans.append((annotation.begin, annotation.end, texts.number(f"{annotation.text}")))
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


# -- the captures that are open --------------------------------------------------------------------


MOST = 6
"""Captures that stay open, as long as they have no more edges than one may have."""
WAITING = 16
"""Requests that may wait while captures are opened and decoded: each takes a thread."""

Stat = tuple[int, int, int]
T = TypeVar("T")


class _Once(Generic[T]):
    """What is made when it is first asked for; while one thread makes it, the others wait. A
    failure is not kept."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[T] = []

    def get(self) -> T:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


@dataclass
class ServedCapture:
    """An open capture as it was asked for, with what is made of it when it is first wanted.

    Views of the same edges share it (``takes_over``), so that another window for response times
    decodes nothing again. It lives as long as one of the views that asked for it.
    """

    path: Path
    stat: Stat
    view: CaptureView
    capture: Capture
    _summary: _Once[CaptureSummary] = field(init=False)
    _decoded: _Once[DecodedCapture] = field(init=False)
    _responses: _Once[Responses | None] = field(init=False)

    def __post_init__(self) -> None:
        # Not this view itself: those that share what is made would keep it.
        capture, view = self.capture, self.view
        self._summary = _Once(lambda: summarise(capture))
        self._decoded = _Once(lambda: decode_rows(capture, view.decode))
        self._responses = _Once(lambda: _responses(capture, view))

    @property
    def tick(self) -> float:
        """Nanoseconds a tick."""
        return self.capture.clock.tick_s * 1e9

    @property
    def duration(self) -> float:
        """Nanoseconds from the first tick to the last."""
        return self.capture.ticks * self.tick

    @property
    def edges(self) -> int:
        """Of all lines."""
        return sum(line.edges.size for line in self.capture.lines)

    @property
    def decoded(self) -> DecodedCapture:
        """What was decoded. Raises CaptureError."""
        return self._decoded.get() if self.view.decode else NOTHING_DECODED

    @property
    def responses(self) -> Responses | None:
        """Response times, where both edges were named. Raises CaptureError."""
        return self._responses.get()

    @property
    def summary(self) -> CaptureSummary:
        """The capture and each of its lines."""
        return self._summary.get()

    @property
    def tag(self) -> str:
        """Changes whenever an answer about the capture may."""
        return hashlib.sha256(repr((self.stat, self.view)).encode()).hexdigest()[:24]

    def takes_over(self, other: ServedCapture) -> None:
        """Shares what is made of the same edges, as far as both views ask the same."""
        self._summary = other._summary
        if other.view.decode == self.view.decode:
            self._decoded = other._decoded
        if other.view.response == self.view.response:
            self._responses = other._responses


def _responses(capture: Capture, view: CaptureView) -> Responses | None:
    edges = view.edges
    return None if edges is None else responses(capture, *edges, view.window)


class ServedCaptures:
    """The captures that were asked for last; one that has changed is opened again."""

    def __init__(
        self, read: Callable[[Path, ReadOptions], Capture] = open_capture, most: int = MOST
    ) -> None:
        self._read = read
        self._most = most
        self._served: OrderedDict[tuple[Path, CaptureView], ServedCapture] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._waiting = 0

    def get(self, path: Path, view: CaptureView) -> ServedCapture:
        """The capture. Raises CaptureError for one that cannot be read, Busy when many wait."""
        stat = _stat(path)
        served = self._find(path, view, stat)
        if served is not None:
            return served
        with self._turn():
            served = self._find(path, view, stat)
            if served is None:
                served = self._open(path, view, stat)
                self._keep(served)
            return served

    def _find(self, path: Path, view: CaptureView, stat: Stat) -> ServedCapture | None:
        with self._lock:
            served = self._served.get((path, view))
            if served is None or served.stat != stat:
                return None
            self._served.move_to_end((path, view))
            return served

    def _open(self, path: Path, view: CaptureView, stat: Stat) -> ServedCapture:
        with self._lock:
            alike = [
                served
                for served in self._served.values()
                if (served.path, served.stat) == (path, stat)
                and served.view.reading == view.reading
            ]
        if alike:
            served = ServedCapture(path, stat, view, alike[-1].capture)
            for other in alike:
                served.takes_over(other)
            return served
        return ServedCapture(path, stat, view, self._read(path, view.reading))

    def _keep(self, served: ServedCapture) -> None:
        """Keeps it and releases the oldest, so that memory stays bounded."""
        with self._lock:
            self._served[served.path, served.view] = served
            while len(self._served) > 1 and (
                len(self._served) > self._most or self._edges() > MOST_EDGES
            ):
                self._served.popitem(last=False)

    def _edges(self) -> int:
        """Of all captures that are held, each once."""
        by_capture = {id(served.capture): served.edges for served in self._served.values()}
        return sum(by_capture.values())

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One at a time: what is opened may take all the memory that there is for it."""
        with self._lock:
            if self._waiting >= WAITING:
                raise Busy("other captures are being opened", "try again in a moment")
            self._waiting += 1
        try:
            with self._opening:
                yield
        finally:
            with self._lock:
                self._waiting -= 1


def _stat(path: Path) -> Stat:
    try:
        status = path.stat()
    except OSError as error:
        raise CaptureError(f"{path.name}: {error.strerror}", "was it moved?") from error
    return status.st_ino, status.st_size, status.st_mtime_ns
