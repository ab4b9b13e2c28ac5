"""Histograms of the response times of signals.

One row a thing (an implementation, a board), and in it one histogram for each of its conditions
(idle, busy): the last part of a configuration's name, ``kernel module/idle``. Their counterpart in
the browser is ``web/src/base/responses.ts``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from benchvise.measure.kept_times import SIGNAL_RESPONSE
from benchvise.report.data import RunData
from benchvise.text import printable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchvise.signal.distribution import Distribution

    Times = npt.NDArray[np.float64]

MOST = 24
"""Configurations in one figure: more cannot be told apart."""

_BINS_A_DECADE = 100
_LEAST_BINS, _MOST_BINS = 40, 240
_FAR_SHARE = 0.01  # of the times to either side, which are drawn one by one
_MOST_FAR = 60
_PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class ConfigurationTimes:
    """The response times of one configuration in seconds, in order; ``missed`` had none."""

    name: str
    seconds: Times
    missed: int = 0


@dataclass(frozen=True, slots=True)
class ResponseStep:
    """The share of all times that lie from ``low`` to ``high``, in ns."""

    low: float
    high: float
    share: float


@dataclass(frozen=True, slots=True)
class ResponseLine:
    """One configuration; times in ns. ``low`` and ``high`` bound the median with 95 % confidence.

    ``steps`` are the bins that hold anything, ``far`` the times at both ends, one by one. ``ratio``
    is that of its median to the row's first, with its interval; None for the first, and where it
    is not known.
    """

    name: str
    condition: str
    style: int
    count: int
    missed: int
    median: float
    low: float | None
    high: float | None
    p05: float
    p95: float
    minimum: float
    maximum: float
    ratio: tuple[float, float, float] | None
    steps: tuple[ResponseStep, ...]
    far: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """What is compared with itself under several conditions."""

    name: str
    lines: tuple[ResponseLine, ...]


@dataclass(frozen=True, slots=True)
class ResponseFigure:
    """All configurations on one logarithmic axis; ``conditions`` in the order of their styles."""

    id: str
    conditions: tuple[str, ...]
    rows: tuple[ResponseRow, ...]

    @property
    def caption(self) -> str:
        """What a reader who sees no chart is told."""
        lines = sum(len(row.lines) for row in self.rows)
        return f"response times of {lines} configurations"


def response_figure(
    samples: Sequence[ConfigurationTimes], id_: str = "responses"
) -> ResponseFigure | None:
    """The figure of the first configurations; None without any times."""
    drawable = [sample for sample in samples if sample.seconds.size][:MOST]
    if not drawable:
        return None
    places = _places([sample.name for sample in drawable])
    conditions = tuple(dict.fromkeys(condition for _, condition in places))
    edges = _edges(drawable)
    rows: dict[str, list[ResponseLine]] = {}
    first: dict[str, Times] = {}
    for sample, (row, condition) in zip(drawable, places, strict=True):
        beside = first.setdefault(row, sample.seconds)
        rows.setdefault(row, []).append(
            _line(sample, condition, conditions.index(condition), edges, beside)
        )
    return ResponseFigure(
        id_,
        tuple(printable(condition, 40) for condition in conditions),
        tuple(ResponseRow(printable(name, 80), tuple(lines)) for name, lines in rows.items()),
    )


def responses_of_runs(runs: Sequence[RunData]) -> tuple[ResponseFigure, ...]:
    """The figure of the runs that hold response times of signals; none where there are none."""
    measured = [
        (run.name, series)
        for run in runs
        for series in run.series
        if series.benchmark == SIGNAL_RESPONSE and series.samples
    ]
    if not measured:
        return ()
    import numpy as np  # as captures had it, of which these are

    common = _common([name for name, _ in measured])
    samples = [
        ConfigurationTimes(
            name[common:],
            np.array([sample.value for sample in series.samples]) * 1e-9,
            series.missed,
        )
        for name, series in measured
    ]
    figure = response_figure(samples)
    return () if figure is None else (figure,)


def _common(names: Sequence[str]) -> int:
    """How many letters the first words take that all names have: the label they were kept under."""
    if len(names) < 2:
        return 0
    letters = zip(*names, strict=False)
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, letters))
    return names[0].rfind(" ", 0, same) + 1


def _places(names: Sequence[str]) -> list[tuple[str, str]]:
    """Row and condition of each name: its parts, or a name and another that goes on after it."""
    if any("/" in name for name in names):
        parted = [name.rpartition("/") for name in names]
        return [(row or condition, condition if row else _PLAIN) for row, _, condition in parted]
    places = []
    for name in names:
        longer = [
            other
            for other in names
            if other != name and name.startswith(other) and re.match(r"[ _.\-]", name[len(other) :])
        ]
        stem = max(longer, key=len, default=name)
        places.append((stem, name[len(stem) :].strip(" _.-") or _PLAIN))
    return places


def _edges(samples: Sequence[ConfigurationTimes]) -> Times:
    """Of bins of equal ratio from the shortest time of all to the longest."""
    low = min(float(sample.seconds.min()) for sample in samples)
    high = max(float(sample.seconds.max()) for sample in samples)
    if low <= 0 or high <= low:
        high, low = max(high, 1e-12) * 1.01, max(low, 1e-12) * 0.99
    bins = round(_BINS_A_DECADE * math.log10(high / low))
    import numpy as np

    edges = np.geomspace(low, high, min(max(bins, _LEAST_BINS), _MOST_BINS) + 1)
    edges[0], edges[-1] = low, high
    return edges


def _line(
    sample: ConfigurationTimes, condition: str, style: int, edges: Times, beside: Times
) -> ResponseLine:
    from benchvise.signal.distribution import distribution

    times = distribution(sample.seconds)
    interval = times.median.interval
    return ResponseLine(
        name=sample.name,
        condition=printable(condition, 40),
        style=style,
        count=times.count,
        missed=sample.missed,
        median=times.median.value * 1e9,
        low=None if interval is None else interval.low * 1e9,
        high=None if interval is None else interval.high * 1e9,
        p05=_at(times, 0.05),
        p95=_at(times, 0.95),
        minimum=times.low * 1e9,
        maximum=times.high * 1e9,
        ratio=None if beside is sample.seconds else _ratio(sample.seconds, beside),
        steps=tuple(_steps(sample.seconds, edges)),
        far=tuple(_far(sample.seconds)),
    )


def _at(times: Distribution, share: float) -> float:
    return next(q.value for q in times.quantiles if q.share == share) * 1e9


def _ratio(seconds: Times, beside: Times) -> tuple[float, float, float] | None:
    from benchvise.signal.distribution import difference

    ratio = difference(seconds, beside).ratio
    return None if ratio is None else (ratio.value, ratio.interval.low, ratio.interval.high)


def _steps(seconds: Times, edges: Times) -> Iterator[ResponseStep]:
    import numpy as np

    counts, _ = np.histogram(seconds, edges)
    for place in np.flatnonzero(counts):
        yield ResponseStep(
            float(edges[place]) * 1e9,
            float(edges[place + 1]) * 1e9,
            float(counts[place]) / seconds.size,
        )


def _far(seconds: Times) -> Iterator[float]:
    """The shortest and the longest times, which a histogram hardly shows."""
    import numpy as np

    few = min(_MOST_FAR, math.ceil(seconds.size * _FAR_SHARE))
    ordered = np.sort(seconds)
    ends = ordered if ordered.size <= 2 * few else np.concatenate((ordered[:few], ordered[-few:]))
    return (float(value) * 1e9 for value in ends)
