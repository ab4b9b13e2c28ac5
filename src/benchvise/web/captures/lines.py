"""What the time line of a capture asks: the same questions as of a trace, below ``/api/captures/``.

Times are nanoseconds since the first sample. Rows are the lines of the capture, then what was
decoded; ``actor`` is the number of a text, -1 where there is none. ``state`` is one of
``benchvise.signal.levels.LineState`` for lines, and for decoded rows 3, where several are one 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.signal import levels
from benchvise.signal.capture import SignalLine
from benchvise.text import printable
from benchvise.web.answers import Json, arrow
from benchvise.web.captures.asked import Asked
from benchvise.web.captures.opened import Opened
from benchvise.web.context import context

SAID, SEVERAL, FAULT = 3, 4, 5
_STATES = ("low", "high", "changes", "decoded", "several", "fault")
_MARKS = ("missed", "extra edge")
_MISSED, _EXTRA = range(2)
_WIDEST = 1 << 14
_MOST_CELLS = 1 << 20
_NEIGHBOURS = 4


def info(opened: Opened, _query: Mapping[str, str]) -> dict[str, Any]:
    """What the capture is; ``texts`` are those of decoded rows, by number."""
    capture, found = opened.capture, opened.decoded
    return {
        "name": printable(opened.path.name),
        "duration": opened.duration,
        "tick": opened.tick,
        "sampled": capture.clock.sampled,
        "texts": [printable(text, 80) for text in found.texts],
        "states": _STATES,
        "event_types": _MARKS,
        "tag": opened.tag,
    }


def rows(opened: Opened, _query: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows in the order in which they are shown."""
    lines = [
        {"kind": "line", "name": printable(line.name, 80), "instances": int(line.edges.size)}
        for line in opened.capture.lines
    ]
    said = [
        {"kind": "annotation", "name": row.name, "instances": int(row.spans.begin.size)}
        for row in opened.decoded.rows
    ]
    return [
        {"id": number, "cpu": None, "tid": None, "actor": None, "busy": None, **row}
        for number, row in enumerate([*lines, *said])
    ]


def losses(_opened: Opened, _query: Mapping[str, str]) -> list[dict[str, Any]]:
    """None: a capture has no gaps that its file tells of."""
    return []


def items(opened: Opened, query: Mapping[str, str]) -> pa.Table:
    """What is drawn of rows: ``row, begin, end, actor, state, count, ran``, all of its length."""
    begin, end, width = _asked_for(opened, query)
    columns: list[tuple[npt.NDArray[Any], ...]] = []
    for row in _chosen(opened, query, width):
        place = row - len(opened.capture.lines)
        if place < 0:
            line = levels.items(opened.capture.lines[row], opened.capture.ticks, begin, end, width)
            nobody = np.full(line.begin.size, -1)
            columns.append((line.begin, line.end, nobody, line.state, line.count))
        else:
            shown = opened.decoded.rows[place]
            span = levels.span_items(shown.spans, begin, end, width)
            one = FAULT if shown.faulty else SAID
            state = np.where(span.text < 0, SEVERAL if one == SAID else FAULT, one)
            columns.append((span.begin, span.end, span.text, state, span.count))
        columns[-1] = (np.full(columns[-1][0].size, row), *columns[-1])
    if not columns:
        columns = [(np.empty(0),) * 6]
    order, starts, ends, actor, state, count = map(np.concatenate, zip(*columns, strict=True))
    return pa.table(
        {
            "row": order.astype(np.uint32),
            "begin": starts * opened.tick,
            "end": ends * opened.tick,
            "actor": actor.astype(np.int32),
            "state": state.astype(np.uint8),
            "count": np.minimum(count, 2**32 - 1).astype(np.uint32),
            "ran": (ends - starts) * opened.tick,
        }
    )


def marks(opened: Opened, query: Mapping[str, str]) -> pa.Table:
    """Stimuli without an answer and answers that none waited for: ``row, time, event, count,
    index``."""
    begin, end, width = _asked_for(opened, query)
    wanted = set(_chosen(opened, query, width))
    found: list[tuple[int, npt.NDArray[np.int64], int]] = []
    edges, seen = opened.asked.edges, opened.responses
    if edges is not None and seen is not None:
        tick_s = opened.capture.clock.tick_s
        for edge, at, event in zip(
            edges, (seen.missed_at, seen.extra_at), (_MISSED, _EXTRA), strict=True
        ):
            row = opened.capture.lines.index(opened.capture.line(edge.line))
            if row in wanted and at.size:
                found.append((row, np.rint(at / tick_s).astype(np.int64), event))
    columns: dict[str, list[npt.NDArray[Any]]] = {
        name: [] for name in ("row", "time", "event", "count", "index")
    }
    for row, ticks, event in sorted(found, key=lambda one: one[0]):
        none = np.zeros(ticks.size, dtype=np.int32)
        few = levels.span_items(levels.Spans(ticks, ticks + 1, none), begin, end, width)
        inside = few.begin >= begin
        columns["row"].append(np.full(int(inside.sum()), row))
        columns["time"].append(few.begin[inside] * opened.tick)
        columns["event"].append(np.full(int(inside.sum()), event))
        columns["count"].append(few.count[inside])
        columns["index"].append(np.searchsorted(ticks, few.begin[inside]))
    types = {"row": "u4", "time": "f8", "event": "u2", "count": "u4", "index": "u8"}
    return pa.table(
        {
            name: np.concatenate(parts or [np.empty(0)]).astype(types[name])
            for name, parts in columns.items()
        }
    )


def overview(opened: Opened, query: Mapping[str, str]) -> pa.Table:
    """The mini-map: how many edges of all lines lie in each of ``width`` parts."""
    width = _width(query, 1024)
    capture = opened.capture
    total = sum(levels.density(line.edges, capture.ticks, width) for line in capture.lines)
    return pa.table({"events": np.asarray(total, dtype=np.float64)})


def item(opened: Opened, query: Mapping[str, str]) -> dict[str, Any]:
    """Everything about what a row shows at ``t``."""
    tick = _time(query, "t") / opened.tick
    row = _row(opened, query.get("row", ""))
    place = row - len(opened.capture.lines)
    if place < 0:
        return _level(opened, opened.capture.lines[row], math.floor(tick))
    shown = opened.decoded.rows[place]
    spans = shown.spans
    at = int(np.searchsorted(spans.begin, tick, side="right")) - 1
    if at < 0 or spans.end[at] <= tick:
        return {"kind": "annotation", "name": shown.name, "text": None}
    begin, end = int(spans.begin[at]), int(spans.end[at])
    return {
        "kind": "annotation",
        "name": shown.name,
        "text": opened.decoded.texts[int(spans.text[at])],
        "number": at,
        "of": int(spans.begin.size),
        "begin": begin * opened.tick,
        "end": end * opened.tick,
    }


def _level(opened: Opened, line: SignalLine, tick: int) -> dict[str, Any]:
    """The level of a line at a tick, with the edges around it."""
    edges = line.edges
    before = int(np.searchsorted(edges, tick, side="right"))
    begin = int(edges[before - 1]) if before else 0
    end = int(edges[before]) if before < edges.size else opened.capture.ticks
    near = edges[max(0, before - _NEIGHBOURS) : before + _NEIGHBOURS] * opened.tick
    # From this edge to the next of its kind.
    period = int(edges[before + 1] - edges[before - 1]) if 0 < before < edges.size - 1 else None
    return {
        "kind": "line",
        "name": printable(line.name, 80),
        "level": "high" if (before % 2 == 1) ^ line.starts_high else "low",
        "begin": begin * opened.tick,
        "end": end * opened.tick,
        "number": before,
        "of": int(edges.size),
        "period": None if period is None else period * opened.tick,
        "duty": None if period is None else (end - begin) / period,
        "edges": near.tolist(),
    }


def measure(opened: Opened, query: Mapping[str, str]) -> dict[str, Any]:
    """Of each line, what lies between ``begin`` and ``end``: edges, frequency, share of high."""
    begin, end = _time(query, "begin"), _time(query, "end")
    if not begin < end:
        raise UsageError("nothing lies between these times", "let end be after begin")
    capture = opened.capture
    first = max(0, math.ceil(begin / opened.tick))
    last = min(capture.ticks, math.floor(end / opened.tick))
    inside = capture.cut(first, last).lines if first < last else ()
    tick_s = capture.clock.tick_s
    lines = [_measured(line, last - first, tick_s) for line in inside]
    return {"begin": begin, "end": end, "lines": lines}


def _measured(line: SignalLine, ticks: int, tick_s: float) -> dict[str, Any]:
    bounds = np.concatenate(([0], line.edges, [ticks]))
    high = np.diff(bounds)[(0 if line.starts_high else 1) :: 2].sum() / ticks
    rising = line.of("rising")
    seconds = (int(rising[-1]) - int(rising[0])) * tick_s if rising.size > 1 else 0.0
    return {
        "name": printable(line.name, 80),
        "edges": int(line.edges.size),
        "frequency": (rising.size - 1) / seconds if seconds else None,
        "high": float(high),
    }


# -- what is asked ---------------------------------------------------------------------------------


def _asked_for(opened: Opened, query: Mapping[str, str]) -> tuple[float, float, int]:
    """Begin and end in ticks, and into how many buckets the time is cut."""
    begin, end = _time(query, "begin"), _time(query, "end")
    if not begin < end:
        raise UsageError("nothing lies between these times", "let end be after begin")
    return begin / opened.tick, end / opened.tick, _width(query, None)


def _width(query: Mapping[str, str], default: int | None) -> int:
    text = query.get("width", "" if default is None else str(default))
    if not _is_number(text) or not 1 <= int(text) <= _WIDEST:
        raise UsageError(f"width={printable(text, 40)}", f"say a number from 1 to {_WIDEST}")
    return int(text)


def _time(query: Mapping[str, str], name: str) -> float:
    text = query.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) < 2**62:
        raise UsageError(f"{name}={printable(text, 40)} is no time", "say nanoseconds")
    return value


def _row(opened: Opened, text: str) -> int:
    known = len(opened.capture.lines) + len(opened.decoded.rows)
    if not _is_number(text) or int(text) >= known:
        raise UsageError(f"there is no row {printable(text, 40)}", f"say 0 to {known - 1}")
    return int(text)


def _chosen(opened: Opened, query: Mapping[str, str], width: int) -> list[int]:
    """The rows asked for: ``1,2,5-60``."""
    known = len(opened.capture.lines) + len(opened.decoded.rows)
    chosen: list[int] = []
    for part in query.get("rows", "").split(","):
        first, dash, last = part.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise UsageError(f"rows={printable(part, 40)}", "say numbers of rows: 1,2,5-60")
        chosen += range(int(first), min(int(last) if dash else int(first), known - 1) + 1)
        if len(chosen) * width > _MOST_CELLS:
            raise UsageError("too many rows are asked for at once", "ask for fewer, or for a part")
    return chosen


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


# -- how it is answered ----------------------------------------------------------------------------


def opened_of(request: Request, asked: Asked) -> Opened:
    """The capture that an address names. Raises NotFound, CaptureError, Busy."""
    shared = context(request)
    return shared.open_captures.get(shared.captures.find(request.path_params["key"]).path, asked)


def _route(name: str, answer: Callable[[Opened, Mapping[str, str]], Any]) -> Route:
    def respond(request: Request) -> Response:
        opened = opened_of(request, Asked.of_segment(request.path_params["how"]))
        fresh = request.query_params.get("v") == opened.tag
        headers = {
            "ETag": f'"{opened.tag}"',
            "Cache-Control": f"private, {'max-age=31536000, immutable' if fresh else 'no-cache'}",
        }
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        found = answer(opened, request.query_params)
        if isinstance(found, pa.Table):
            return arrow(found, headers)
        return Json(found, headers=headers)

    return Route(f"/api/captures/{{key}}/{{how}}/{name}", respond)


routes = [
    _route("info", info),
    _route("rows", rows),
    _route("losses", losses),
    _route("levels", items),
    _route("events", marks),
    _route("overview", overview),
    _route("item", item),
    _route("measure", measure),
]
