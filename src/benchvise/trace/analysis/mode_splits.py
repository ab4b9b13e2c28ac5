"""Where many times fall into modes: parts of their distribution with a valley between.

The logarithms of the times are smoothed by a Gaussian kernel, with half the bandwidth that
Silverman recommends for one normal mode (B. W. Silverman, *Density Estimation for Statistics and
Data Analysis*, 1986, section 3.4.2). A valley divides them where the density falls below half of
the lower of the peaks beside it, and so few times lie in it as Poisson's law makes that likely with
a probability below 0.001 when the density there were three quarters of that peak. The least
likely valley divides first; each part is then smoothed anew with a bandwidth of its own, so that
rare modes far from the bulk are seen. The thresholds are our own, from simulation: of 1440 samples
of eight shapes with one mode (normal, uniform, exponential, Pareto, ...) two were divided.
"""

from __future__ import annotations

import math

import numpy as np

from benchvise.trace.analysis.model import Floats, Ints

LEAST = 5
"""Times of a mode."""

_MOST = 32
_CLOSEST = 0.01
"""Of a logarithm: times that differ by less than 1 % are as good as equal."""
_UNLIKELY = 0.001
_BANDWIDTH = 0.5 * 0.9
_MOST_CELLS = 1 << 16


def split_into_modes(values: Ints | Floats) -> list[int]:
    """Where modes begin in values (ns) in ascending order: ``[0]`` where there is only one."""
    logs = np.log(np.maximum(values, 1).astype(np.float64))
    begins: list[int] = []
    open_parts = [(0, int(logs.size))]
    while open_parts:
        begin, end = open_parts.pop()
        inside = None
        if len(begins) + len(open_parts) + 1 < _MOST:
            inside = _least_likely_valley(logs[begin:end])
        if inside is None:
            begins.append(begin)
        else:
            open_parts += [(begin, begin + inside), (begin + inside, end)]
    return sorted(begins)


def _least_likely_valley(logs: Floats) -> int | None:
    """How many of the ascending values lie below it; None where no valley divides them."""
    if logs.size < 2 * LEAST:
        return None
    quarter, three_quarters = np.quantile(logs, [0.25, 0.75])
    spreads = [float(logs.std()), float(three_quarters - quarter) / 1.34]
    bandwidth = max(
        _CLOSEST, _BANDWIDTH * min(filter(None, spreads), default=0.0) * logs.size**-0.2
    )
    low, width = float(logs[0]) - 4 * bandwidth, float(logs[-1] - logs[0]) + 8 * bandwidth
    cell = max(bandwidth / 3, width / _MOST_CELLS)
    density = _smoothed(np.floor((logs - low) / cell).astype(np.int64), cell, bandwidth)
    peaks = np.flatnonzero((density[1:-1] >= density[:-2]) & (density[1:-1] > density[2:])) + 1
    highest_below = np.maximum.accumulate(density)
    highest_above = np.maximum.accumulate(density[::-1])[::-1]
    least_likely: tuple[float, float, int] | None = None
    for first, last in zip(peaks[:-1].tolist(), peaks[1:].tolist(), strict=True):
        valley = first + int(np.argmin(density[first : last + 1]))
        half = min(highest_below[valley], highest_above[valley]) / 2
        if density[valley] > half:
            continue
        begin = valley - int(np.argmax(density[valley::-1] >= half))
        end = valley + int(np.argmax(density[valley:] >= half))
        edges = low + (np.array([begin, valley, end]) + 0.5) * cell
        inside, below, until = np.searchsorted(logs, edges).tolist()
        if min(below, logs.size - below) < LEAST:
            continue
        span = float(edges[2] - edges[0])
        chance = _poisson_at_most(until - inside, 1.5 * half * span)
        if chance < _UNLIKELY:
            this = (chance, -span, below)
            least_likely = this if least_likely is None else min(least_likely, this)
    return None if least_likely is None else least_likely[2]


def _smoothed(cells: Ints, cell: float, bandwidth: float) -> Floats:
    """The density in values a unit, by cell."""
    reach = math.ceil(4 * bandwidth / cell)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * cell / bandwidth) ** 2)
    counts = np.bincount(cells, minlength=int(cells[-1]) + reach + 1)
    smoothed: Floats = np.convolve(counts, kernel / kernel.sum(), "same") / cell
    return smoothed


def _poisson_at_most(count: int, mean: float) -> float:
    """The probability of at most so many where ``mean`` (above 0) are expected."""
    if count >= mean:
        return 1.0
    logs = (k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(count + 1))
    return math.fsum(math.exp(log) for log in logs)
