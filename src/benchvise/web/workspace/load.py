"""CPU load and context switches over time, in bins, for the foremost actors and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchvise.flows.trace_analyses import Loaded
from benchvise.text import printable
from benchvise.trace.analysis import series
from benchvise.trace.analysis.series import OverTime, Series
from benchvise.web.workspace.asking import Asking, head, since

_MOST_BINS = 2000
_MOST_ACTORS = 40


def load(loaded: Loaded, asking: Asking) -> dict[str, Any]:
    """``load``: shares of one CPU (of all CPUs together for ``everything``) in each bin."""
    part, bins, by_name = asking.part(loaded), _bins(asking), asking.flag("by_name")
    chosen = asking.actors(part)
    found = series.load(part.analysis.sliced(), chosen, bins, by_name=by_name)
    return _told(part, found, asking.whole("top", 8, 1, _MOST_ACTORS))


def switches(loaded: Loaded, asking: Asking) -> dict[str, Any]:
    """``switches``: context switches a second in each bin; an actor's are those that left it."""
    part, bins, by_name = asking.part(loaded), _bins(asking), asking.flag("by_name")
    chosen = asking.actors(part)
    found = series.switches(part.analysis.sliced(), chosen, bins, by_name=by_name)
    return _told(part, found, asking.whole("top", 8, 1, _MOST_ACTORS))


def _bins(asking: Asking) -> int:
    return asking.whole("bins", 200, 1, _MOST_BINS)


def _told(loaded: Loaded, found: OverTime, top: int) -> dict[str, Any]:
    rest = found.actors[top:]
    return {
        **head(loaded),
        "unit": found.unit,
        "first": since(loaded, found.begin),
        "width": found.width,
        "everything": _series(loaded, found.everything),
        "cpus": [_series(loaded, one) for one in found.cpus],
        "actors": [_series(loaded, one) for one in found.actors[:top]],
        "others": _others(rest) if rest else None,
    }


def _series(loaded: Loaded, one: Series) -> dict[str, Any]:
    return {
        "name": printable(one.name),
        "ids": list(one.ids),
        "whole": one.whole,
        "values": list(one.values),
        "peak": one.peak,
        "peak_at": since(loaded, one.peak_at),
    }


def _others(rest: Sequence[Series]) -> dict[str, Any]:
    """All that have no line of their own, together."""
    total = np.sum([one.values for one in rest], axis=0)
    return {
        "name": f"{len(rest)} others",
        "ids": [],
        "whole": sum(one.whole for one in rest),
        "values": [round(float(value), 6) for value in total],
    }
