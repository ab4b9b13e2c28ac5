"""The timeline: rows, what is drawn of them, marks of events, losses, the mini-map, one item.

Times are nanoseconds since the trace's first event. ``begin``, ``end`` and ``width`` (pixels) ask
for buckets of ``2**k`` ns, a pixel or a little less; crates/tracelevels says what stands for all of
a bucket. An answer holds for the trace's contents: its ``ETag`` does, and with ``v=`` the ``tag``
that ``info`` told it need not be asked for again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.levels import shift_of, states
from benchvise.web.answers import Json, arrow
from benchvise.web.context import context
from benchvise.web.http import Query
from benchvise.web.workspace.item import item_document
from benchvise.web.workspace.served import ServedTrace

_WIDEST = 1 << 14
_MOST_ROWS = 4096
_ROWS_LIMIT = 50_000
"""Characters of the list of rows: each may be named by itself."""
_MOST_CELLS = 1 << 20
"""Rows times pixels: so many items an answer has at most."""


def info(trace: ServedTrace, _query: Query) -> dict[str, Any]:
    """What the trace is, and what must be known of it."""
    loaded, outline = trace.loaded, trace.trace.outline
    return {
        "name": printable(trace.path.name),
        "format": outline["format"],
        "clock": outline["clock"],
        "environment": {
            printable(name): printable(value) for name, value in outline["environment"].items()
        },
        "origin": str(trace.origin),
        "duration": trace.whole.end - trace.origin,
        "events": trace.trace.events,
        "cpus": loaded.analysis.cpus,
        "actors": len(loaded.analysis.actors),
        "losses": len(trace.trace.losses),
        "damage": [printable(place["what"]) for place in trace.trace.damage],
        "remarks": [printable(text, 1000) for text in (*trace.trace.notes, *trace.trace.remarks)],
        "cautions": [printable(text, 1000) for text in loaded.cautions],
        "states": states(),
        "event_types": [printable(name) for name in outline["events"]],
        "tag": trace.tag,
    }


def rows(trace: ServedTrace, _query: Query) -> list[dict[str, Any]]:
    """The rows in the order in which they are shown."""
    return [
        {
            "id": row.id,
            "kind": row.kind,
            "name": printable(row.name),
            "cpu": row.cpu,
            "tid": row.tid,
            "actor": row.actor,
            "busy": row.busy,
            "instances": row.instances,
            "first": row.first,
            "last": row.last,
        }
        for row in trace.rows
    ]


def losses(trace: ServedTrace, _query: Query) -> list[dict[str, Any]]:
    """Where events are missing, as far as it lies within the trace."""
    duration = trace.whole.end - trace.origin
    return [
        {
            "begin": 0 if loss.begin is None else _within(loss.begin - trace.origin, duration),
            "end": duration if loss.end is None else _within(loss.end - trace.origin, duration),
            "cpu": loss.cpu,
            "count": loss.count,
            "kind": loss.what,
        }
        for loss in trace.loaded.analysis.losses
    ]


def levels(trace: ServedTrace, query: Query) -> pa.Table:
    """What is drawn of rows: ``row, begin, end, actor, state, count, ran``."""
    chosen, width = _chosen(trace, query)
    begin, end = _span(query)
    return trace.levels.items(chosen, begin, end, shift_of(begin, end, width))


def events(trace: ServedTrace, query: Query) -> pa.Table:
    """Marks of events: ``row, time, event, count, index``.

    The metadata's ``shown`` is ``rare`` when there are too many events to tell others than those
    of rare types.
    """
    chosen, width = _chosen(trace, query)
    begin, end = _span(query)
    marks, only_rare = trace.levels.marks(chosen, begin, end, shift_of(begin, end, width))
    return marks.replace_schema_metadata({"shown": "rare" if only_rare else "all"})


def overview(trace: ServedTrace, query: Query) -> pa.Table:
    """The mini-map: ``begin``, ``events`` of all CPUs, and ``cpu0``, ``cpu1``, …: shares of time.

    These are in order of the CPUs' numbers, which the metadata's ``cpus`` tells.
    """
    table = trace.levels.overview(query.whole("width", 1024, 1, _WIDEST))
    cpus = table["cpu"].to_numpy()
    numbers = np.unique(cpus)
    buckets = table.num_rows // max(1, numbers.size)
    busy = table["busy"].to_numpy().reshape(numbers.size, buckets).astype(np.float32)
    seen = table["events"].to_numpy().reshape(numbers.size, buckets)
    ran = [int(cpu) for cpu in numbers if cpu != _UNKNOWN_CPU]
    columns = {
        "begin": table["begin"].to_numpy()[:buckets],
        "events": seen.sum(axis=0, dtype=np.float64),
        **{f"cpu{at}": busy[at] for at in range(len(ran))},
    }
    metadata = {"cpus": ",".join(map(str, ran))}
    return pa.table(columns).replace_schema_metadata(metadata)


_UNKNOWN_CPU = 65535


def item(trace: ServedTrace, query: Query) -> dict[str, Any]:
    """Everything about what a row shows at ``t``."""
    row = query.whole("row", None, 0, len(trace.rows) - 1)
    return item_document(trace, trace.rows[row], _time(query, "t"))


# -- what is asked ---------------------------------------------------------------------------------


def _span(query: Query) -> tuple[int, int]:
    begin, end = _time(query, "begin"), _time(query, "end")
    if begin >= end:
        raise UsageError(f"nothing lies between {begin} and {end}", "let end be after begin")
    return begin, end


def _time(query: Query, name: str) -> int:
    time = query.nanoseconds(name)
    if time is None:
        raise UsageError(f"{name}= is no time", "say nanoseconds since the first event")
    return time


def _chosen(trace: ServedTrace, query: Query) -> tuple[list[int], int]:
    """The rows asked for, and how many pixels they are wide."""
    width = query.whole("width", None, 1, _WIDEST)
    count = trace.levels.row_count
    chosen: list[int] = []
    for part in query.text("rows", limit=_ROWS_LIMIT).split(","):
        first, dash, last = part.partition("-")
        if not _is_row(first) or (dash and not _is_row(last)):
            raise UsageError(f"rows={part[:40]}", "say numbers of rows: 1,2,5-60")
        chosen += range(int(first), min(int(last) if dash else int(first), count - 1) + 1)
        if len(chosen) > _MOST_ROWS or len(chosen) * width > _MOST_CELLS:
            raise UsageError("too many rows are asked for at once", "ask for fewer, or for a part")
    return chosen, width


def _is_row(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _within(time: int, duration: int) -> int:
    return min(max(time, 0), duration)


# -- how it is answered ----------------------------------------------------------------------------


def _route(name: str, answer: Callable[[ServedTrace, Query], Any]) -> Route:
    def respond(request: Request) -> Response:
        trace = context(request).trace(request.path_params["key"])
        query = Query(request.query_params)
        fresh = query.text("v") == trace.tag
        headers = {
            "ETag": f'"{trace.tag}"',
            "Cache-Control": f"private, {'max-age=31536000, immutable' if fresh else 'no-cache'}",
        }
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        content = answer(trace, query)
        if answer is info:
            # How long ago it was decoded: what came since is the timeline's.
            ago = (time.monotonic() - trace.since) * 1e3
            headers["Server-Timing"] = f"since-decoded;dur={ago:.0f}"
        if isinstance(content, pa.Table):
            return arrow(content, headers)
        return Json(content, headers=headers)

    return Route(f"/api/traces/{{key}}/{name}", respond)


routes = [
    _route(answer.__name__, answer)
    for answer in (info, rows, losses, levels, events, overview, item)
]
