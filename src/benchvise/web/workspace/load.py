"""CPU load and context switches over time, in bins, for the foremost actors and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchvise.trace.analysis.series import OverTime, Series
from benchvise.trace.catalogue.record import TraceAnalysis
from benchvise.trace.catalogue.series import LOAD, SWITCHES, SeriesRequest
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import TraceQuery, head, since

_MOST_BINS = 2000
_MOST_ACTORS = 40


def load(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
    """``load``: shares of one CPU (of all CPUs together for ``everything``) in each bin."""
    return _over_time(LOAD, loaded, query)


def switches(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
    """``switches``: context switches a second in each bin; an actor's are those that left it."""
    return _over_time(SWITCHES, loaded, query)


def _over_time(
    analysis: TraceAnalysis[SeriesRequest, OverTime], loaded: LoadedTrace, query: TraceQuery
) -> dict[str, Any]:
    part = query.part(loaded)
    bins = query.whole("bins", 200, 1, _MOST_BINS)
    request = SeriesRequest(
        file=part.path, ids=query.ids(part), by_name=query.flag("by_name"), bins=bins
    )
    answer = analysis.analyse((part,), request)
    top = query.whole("top", 8, 1, _MOST_ACTORS)
    rest = answer.actors[top:]
    return {
        **head(part),
        "unit": answer.unit,
        "first": since(part, answer.begin),
        "width": answer.width,
        "everything": _series(part, answer.everything),
        "cpus": [_series(part, series) for series in answer.cpus],
        "actors": [_series(part, series) for series in answer.actors[:top]],
        "others": _others(rest) if rest else None,
    }


def _series(loaded: LoadedTrace, series: Series) -> dict[str, Any]:
    return {
        "name": series.name,
        "ids": list(series.ids),
        "whole": series.whole,
        "values": list(series.values),
        "peak": series.peak,
        "peak_at": since(loaded, series.peak_at),
    }


def _others(rest: Sequence[Series]) -> dict[str, Any]:
    """All that have no line of their own, together."""
    total = np.sum([series.values for series in rest], axis=0)
    return {
        "name": f"{len(rest)} others",
        "ids": [],
        "whole": sum(series.whole for series in rest),
        "values": [round(float(value), 6) for value in total],
    }
