"""Ours and the reference tool on one history: the version that is named, and the samples taken."""

from __future__ import annotations

import importlib
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from benchmarks.bisect.histories import TURNS, History
from benchvise.bisect.choice import Costs, next_version
from benchvise.bisect.earlier import unmet_level, unmet_side
from benchvise.bisect.posterior import ChangePosterior

CONFIDENCE = 0.95
MOST = 3000
"""Samples after which a search is given up, as not found."""

_LEAST = 1e-4  # no change is too small to count
_AT_LEAST = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the right version was named, after how many samples, and the posterior then."""

    found: bool
    samples: int
    posterior: float


Look = tuple[float, bool]
"""What a search said in its middle: how likely its best version is, and whether that is right."""


def ours(history: History, earlier: int = 0, looks: list[Look] | None = None) -> Outcome:
    """The search as ``benchvise bisect`` makes it, where every sample costs the same.

    ``looks`` gets what it said after each sample.

    ``earlier`` is how many samples of either end the store has, as of ``--good-run`` and
    ``--bad-run``. They are not counted; what is measured of the ends to see that they hold is.
    """
    posterior = ChangePosterior(history.count)
    ends = (0, history.count - 1)
    runs: defaultdict[int, list[float]] = defaultdict(list)
    for turn in range(TURNS - 2 * earlier, TURNS):  # noise that no search comes to
        end = ends[turn % 2]
        runs[end].append(history.value(end, turn))
        posterior.add(end, runs[end][-1])
    fresh: defaultdict[int, list[float]] = defaultdict(list)
    check: int | None = None
    for turn in range(MOST):
        if check is None and runs:
            check = unmet_level(runs, fresh)
        version = next_version(posterior, Costs(), _LEAST) if check is None else check
        fresh[version].append(history.value(version, turn))
        posterior.add(version, history.value(version, turn))
        check = None
        if posterior.samples < _AT_LEAST or len(posterior.values) < 2:
            continue
        place, probability = posterior.best
        if looks is not None:
            looks.append((probability, place == history.place))
        if probability >= CONFIDENCE:
            check = unmet_side(runs, fresh, place, place)
        if probability >= CONFIDENCE and check is None:
            return Outcome(place == history.place, turn + 1, probability)
    return Outcome(found=False, samples=MOST, posterior=0.0)


def has_reference() -> bool:
    """Whether git-bayesect can be imported."""
    try:
        importlib.import_module("git_bayesect")
    except ImportError:
        return False
    return True


def reference(history: History) -> Outcome:
    """git-bayesect, until one place has the stated posterior.

    It counts from the bad version on. The good one can be measured and is no place.
    """
    weights = np.ones(history.count)
    weights[-1] = 0.0
    bisector = importlib.import_module("git_bayesect").Bisector(weights)
    last = history.count - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        for turn in range(min(MOST, TURNS)):
            index = bisector.select()
            value = history.value(last - index, turn)
            bisector.record(index, bool(value > history.effect / 2.0))
            shares = bisector.distribution
            best = int(np.argmax(shares))
            if shares[best] >= CONFIDENCE:
                return Outcome(last - best == history.place, turn + 1, float(shares[best]))
    return Outcome(found=False, samples=MOST, posterior=0.0)
