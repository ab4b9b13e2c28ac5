"""A capture on a timeline: its lines, then what was decoded of it.

``actor`` is the number of a text, -1 where there is none. ``state`` is one of
``benchvise.signal.levels.LineState`` for lines; for decoded rows 3, where several are one 4, and
5 where something is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from starlette.requests import Request

from benchvise.signal import levels
from benchvise.signal.capture import SignalLine
from benchvise.trace.tables import table_of
from benchvise.web.captures.served import CaptureView, ServedCapture
from benchvise.web.http import Query
from benchvise.web.readers.open_files import open_files
from benchvise.web.timeline import TimelinePart, parse_span, timeline_routes

if TYPE_CHECKING:
    from benchvise.trace.native import Table

DECODED, SEVERAL, FAULT = 3, 4, 5
_STATES = ("low", "high", "changes", "decoded", "several", "fault")
_MARKS = ("missed", "extra edge")
_MISSED, _EXTRA = range(2)
_NEIGHBOURS = 4


@dataclass(frozen=True, slots=True)
class CaptureInfo:
    """What a capture is, times in ns; ``texts`` are those of decoded rows, by number."""

    name: str
    duration: float
    tick: float
    sampled: bool
    texts: Sequence[str]
    states: Sequence[str]
    event_types: Sequence[str]
    tag: str


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """A row: a line, or what was decoded. What only traces have is None."""

    id: int
    cpu: None = field(default=None, init=False)
    tid: None = field(default=None, init=False)
    actor: None = field(default=None, init=False)
    busy: None = field(default=None, init=False)
    kind: Literal["line", "annotation"]
    name: str
    instances: int


@dataclass(frozen=True, slots=True)
class NothingThere:
    """A time of a decoded row at which nothing was decoded."""

    kind: str = field(default="annotation", init=False)
    name: str
    text: None = field(default=None, init=False)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """What was decoded: the ``number``-th ``of`` its row; times in ns."""

    kind: str = field(default="annotation", init=False)
    name: str
    text: str
    number: int
    of: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class LineLevel:
    """The level of a line, with the edges around it: ``number`` lie before it, ``of`` all.

    ``period`` is from its begin to the next edge of that kind, ``duty`` its share of that.
    """

    kind: str = field(default="line", init=False)
    name: str
    level: Literal["high", "low"]
    begin: float
    end: float
    number: int
    of: int
    period: float | None
    duty: float | None
    edges: Sequence[float]


@dataclass(frozen=True, slots=True)
class MeasuredLine:
    """A line within a range: ``frequency`` in Hz, ``high`` the share of time."""

    name: str
    edges: int
    frequency: float | None
    high: float


@dataclass(frozen=True, slots=True)
class MeasuredRange:
    """All lines from ``begin`` to ``end``, in ns."""

    begin: float
    end: float
    lines: Sequence[MeasuredLine]


@dataclass(frozen=True, slots=True)
class CaptureTimeline:
    """The ``TimelineSource`` of a capture."""

    served: ServedCapture

    @property
    def tag(self) -> str:
        """Changes with the file, and with how it is read and decoded."""
        return self.served.tag

    @property
    def row_count(self) -> int:
        """Lines and decoded rows."""
        return len(self.served.capture.lines) + len(self.served.decoded.rows)

    @property
    def info_headers(self) -> Mapping[str, str]:
        """None."""
        return {}

    def info(self) -> CaptureInfo:
        """What the capture is."""
        served = self.served
        return CaptureInfo(
            name=served.path.name,
            duration=served.duration,
            tick=served.tick,
            sampled=served.capture.clock.sampled,
            texts=served.decoded.texts,
            states=_STATES,
            event_types=_MARKS,
            tag=served.tag,
        )

    def rows(self) -> list[CaptureRow]:
        """The rows in the order in which they are shown."""
        lines, decoded = self.served.capture.lines, self.served.decoded.rows
        return [
            *(
                CaptureRow(number, "line", line.name, int(line.edges.size))
                for number, line in enumerate(lines)
            ),
            *(
                CaptureRow(number, "annotation", row.name, int(row.spans.begin.size))
                for number, row in enumerate(decoded, len(lines))
            ),
        ]

    def losses(self) -> Sequence[object]:
        """None: a capture has no gaps that its file tells of."""
        return ()

    def levels(self, part: TimelinePart) -> Table:
        """What is drawn of rows: ``row, begin, end, actor, state, count, ran``."""
        served = self.served
        begin, end, width = part.begin / served.tick, part.end / served.tick, part.width
        columns: list[tuple[npt.NDArray[Any], ...]] = []
        for row in part.rows:
            place = row - len(served.capture.lines)
            if place < 0:
                line = levels.items(
                    served.capture.lines[row], served.capture.ticks, begin, end, width
                )
                no_text = np.full(line.begin.size, -1)
                columns.append((line.begin, line.end, no_text, line.state, line.count))
            else:
                decoded = served.decoded.rows[place]
                span = levels.span_items(decoded.spans, begin, end, width)
                single = FAULT if decoded.faulty else DECODED
                state = np.where(span.text < 0, SEVERAL if single == DECODED else FAULT, single)
                columns.append((span.begin, span.end, span.text, state, span.count))
            columns[-1] = (np.full(columns[-1][0].size, row), *columns[-1])
        if not columns:
            columns = [(np.empty(0),) * 6]
        order, starts, ends, actor, state, count = map(np.concatenate, zip(*columns, strict=True))
        return table_of(
            {
                "row": order.astype(np.uint32),
                "begin": starts * served.tick,
                "end": ends * served.tick,
                "actor": actor.astype(np.int32),
                "state": state.astype(np.uint8),
                "count": np.minimum(count, 2**32 - 1).astype(np.uint32),
                "ran": (ends - starts) * served.tick,
            }
        )

    def events(self, part: TimelinePart) -> Table:
        """Stimuli without an answer and answers that none waited for: ``row, time, event, count,
        index``."""
        served = self.served
        begin, end, width = part.begin / served.tick, part.end / served.tick, part.width
        wanted = set(part.rows)
        by_row: list[tuple[int, npt.NDArray[np.int64], int]] = []
        edges, responses = served.view.edges, served.responses
        if edges is not None and responses is not None:
            tick_s = served.capture.clock.tick_s
            for edge, at, event in zip(
                edges, (responses.missed_at, responses.extra_at), (_MISSED, _EXTRA), strict=True
            ):
                row = served.capture.lines.index(served.capture.line(edge.line))
                if row in wanted and at.size:
                    by_row.append((row, np.rint(at / tick_s).astype(np.int64), event))
        columns: dict[str, list[npt.NDArray[Any]]] = {
            name: [] for name in ("row", "time", "event", "count", "index")
        }
        for row, ticks, event in sorted(by_row, key=lambda mark: mark[0]):
            none = np.zeros(ticks.size, dtype=np.int32)
            few = levels.span_items(levels.Spans(ticks, ticks + 1, none), begin, end, width)
            inside = few.begin >= begin
            columns["row"].append(np.full(int(inside.sum()), row))
            columns["time"].append(few.begin[inside] * served.tick)
            columns["event"].append(np.full(int(inside.sum()), event))
            columns["count"].append(few.count[inside])
            columns["index"].append(np.searchsorted(ticks, few.begin[inside]))
        types = {"row": "u4", "time": "f8", "event": "u2", "count": "u4", "index": "u8"}
        return table_of(
            {
                name: np.concatenate(parts or [np.empty(0)]).astype(types[name])
                for name, parts in columns.items()
            }
        )

    def overview(self, width: int) -> Table:
        """The mini-map: how many edges of all lines lie in each of ``width`` parts."""
        served = self.served
        capture = served.capture
        total = sum(levels.density(line.edges, capture.ticks, width) for line in capture.lines)
        return table_of({"events": np.asarray(total, dtype=np.float64)})

    def item(self, row: int, time: float) -> LineLevel | DecodedText | NothingThere:
        """Everything about what a row shows at ``t``."""
        served = self.served
        tick = time / served.tick
        place = row - len(served.capture.lines)
        if place < 0:
            return self._level(served.capture.lines[row], math.floor(tick))
        decoded = served.decoded.rows[place]
        spans = decoded.spans
        at = int(np.searchsorted(spans.begin, tick, side="right")) - 1
        if at < 0 or spans.end[at] <= tick:
            return NothingThere(decoded.name)
        begin, end = int(spans.begin[at]), int(spans.end[at])
        return DecodedText(
            name=decoded.name,
            text=served.decoded.texts[int(spans.text[at])],
            number=at,
            of=int(spans.begin.size),
            begin=begin * served.tick,
            end=end * served.tick,
        )

    def _level(self, line: SignalLine, tick: int) -> LineLevel:
        served = self.served
        edges = line.edges
        before = int(np.searchsorted(edges, tick, side="right"))
        begin = int(edges[before - 1]) if before else 0
        end = int(edges[before]) if before < edges.size else served.capture.ticks
        near = edges[max(0, before - _NEIGHBOURS) : before + _NEIGHBOURS] * served.tick
        # From this edge to the next of its kind.
        period = int(edges[before + 1] - edges[before - 1]) if 0 < before < edges.size - 1 else None
        return LineLevel(
            name=line.name,
            level="high" if (before % 2 == 1) ^ line.starts_high else "low",
            begin=begin * served.tick,
            end=end * served.tick,
            number=before,
            of=int(edges.size),
            period=None if period is None else period * served.tick,
            duty=None if period is None else (end - begin) / period,
            edges=near.tolist(),
        )


def measure(timeline: CaptureTimeline, query: Query) -> MeasuredRange:
    """Of each line, what lies between ``begin`` and ``end``: edges, frequency, share of high."""
    begin, end = parse_span(query)
    served = timeline.served
    capture = served.capture
    first = max(0, math.ceil(begin / served.tick))
    last = min(capture.ticks, math.floor(end / served.tick))
    inside = capture.cut(first, last).lines if first < last else ()
    tick_s = capture.clock.tick_s
    lines = [_measured(line, last - first, tick_s) for line in inside]
    return MeasuredRange(begin, end, lines)


def _measured(line: SignalLine, ticks: int, tick_s: float) -> MeasuredLine:
    bounds = np.concatenate(([0], line.edges, [ticks]))
    high = np.diff(bounds)[(0 if line.starts_high else 1) :: 2].sum() / ticks
    rising = line.of("rising")
    seconds = (int(rising[-1]) - int(rising[0])) * tick_s if rising.size > 1 else 0.0
    return MeasuredLine(
        name=line.name,
        edges=int(line.edges.size),
        frequency=(rising.size - 1) / seconds if seconds else None,
        high=float(high),
    )


def _find(request: Request) -> CaptureTimeline:
    """The capture that an address names. Raises NotFound, CaptureError, Busy."""
    view = CaptureView.of_segment(request.path_params["view"])
    return CaptureTimeline(open_files(request).capture(request.path_params["key"], view))


routes = timeline_routes("/api/captures/{key}/{view}", _find, {"measure": measure})
