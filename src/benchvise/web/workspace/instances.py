"""The instances of actors as points: any metric over time, or over another one.

A plot has only so many places. When there are more instances than it can tell apart, one stands for
all that fall onto one place: that with the largest value, so that no spike is lost.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchvise.trace.analysis.actors import instances_of, latency, response
from benchvise.trace.analysis.distributions import minus
from benchvise.trace.analysis.model import NONE, Analysis, Floats, Ints
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import TraceQuery

METRICS = ("begin", "execution", "response", "latency", "period")
"""What may stand on an axis; all in ns."""

_FEW = 4000
"""So many are given one by one."""

_MOST = 20_000


def answer(loaded: LoadedTrace, query: TraceQuery) -> pa.Table:
    """``instances`` of the actors that begin in the span, in order of time.

    ``begin``, ``end``, ``ready`` in ns since the first event, the metrics in ns, NaN where one is
    not known. ``flags`` are those of the instance (0: it is complete), ``count`` how many the
    row stands for. The metadata say how many there are in all.
    """
    part = query.part(loaded)
    analysis = part.analysis
    x = query.choice("x", METRICS)
    y = query.choice("y", ("execution", "response", "latency", "period"))
    rows = instances_of(analysis, query.actors(part))
    metrics = {
        "begin": analysis.instances["begin"][rows] - analysis.whole.begin,
        "execution": analysis.instances["execution"][rows],
        "response": response(analysis)[rows],
        "latency": latency(analysis)[rows],
        "period": analysis.instances["period"][rows],
    }
    valued = np.flatnonzero((metrics[x] != NONE) & (metrics[y] != NONE))
    log = query.choice("scale", ("log", "linear")) == "log"
    width = query.whole("width", 800, 10, 4000)
    height = query.whole("height", 240, 10, 2000)
    places = (
        _places(metrics[x][valued], width, log=log and x != "begin"),
        _places(metrics[y][valued], height, log=log),
    )
    kept, count = _thinned(metrics[y][valued], places)
    chosen = valued[kept]
    columns = {name: _numbers(values[chosen]) for name, values in metrics.items()}
    return _table(analysis, rows[chosen], columns, count).replace_schema_metadata(
        {"instances": str(rows.size), "without": str(rows.size - valued.size)}
    )


def _places(values: Ints, count: int, *, log: bool) -> Ints:
    """Onto which of ``count`` places of an axis each value falls."""
    if values.size == 0:
        return values
    scaled = np.log(np.maximum(values, 1)) if log else values.astype(np.float64)
    low, high = float(scaled.min()), float(scaled.max())
    if high <= low:
        return np.zeros(values.size, dtype=np.int64)
    at: Ints = ((scaled - low) * ((count - 1) / (high - low))).astype(np.int64)
    return at


def _thinned(values: Ints, places: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Positions of the rows to show in their order, and how many each stands for."""
    if values.size <= _FEW:
        return np.arange(values.size), np.ones(values.size, dtype=np.int64)
    x, y = places
    while True:
        place = x * (int(y.max()) + 1) + y
        # The largest value of a place comes first, and `unique` takes the first of each.
        order = np.lexsort((-values, place))
        _, first, count = np.unique(place[order], return_index=True, return_counts=True)
        if first.size <= _MOST:
            break
        x, y = x >> 1, y >> 1
    kept = order[first]
    in_time = np.argsort(kept)
    return kept[in_time], count[in_time]


def _numbers(values: Ints) -> Floats:
    numbers: Floats = np.where(values == NONE, np.nan, values.astype(np.float64))
    return numbers


def _table(analysis: Analysis, rows: Ints, columns: dict[str, Floats], count: Ints) -> pa.Table:
    instances = analysis.instances
    ready = minus(instances["ready"][rows], np.full(rows.size, analysis.whole.begin))
    return pa.table(
        {
            "instance": pa.array(rows.astype(np.uint32)),
            "actor": pa.array(instances["actor"][rows].astype(np.uint32)),
            "cpu": pa.array(instances["cpu"][rows].astype(np.uint16)),
            "flags": pa.array(instances["flags"][rows].astype(np.uint8)),
            "count": pa.array(count.astype(np.uint32)),
            **{name: pa.array(values) for name, values in columns.items()},
            "end": pa.array(_numbers(instances["end"][rows] - analysis.whole.begin)),
            "ready": pa.array(_numbers(ready)),
        }
    )
