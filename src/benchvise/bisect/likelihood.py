"""How well levels and scatters explain what was measured, version by version.

The levels before and after a change, and the scatter, are not known: they are integrated out over a
grid. A sample is its version's level plus noise, which is normal or has the tails of a Student t
distribution (K. L. Lange, R. J. A. Little and J. M. G. Taylor, J. Am. Stat. Assoc. 84 (1989) 881),
and a few are strays that may lie anywhere (G. E. P. Box and G. C. Tiao, Biometrika 55 (1968) 119),
so that an outlier is no proof of a change. Beside the scatter of samples there may be one of
versions: a new build lies elsewhere in memory, so all of its samples are off by the same amount.
Which kind of noise it is, is one more unknown of the grid.

The grid follows the data: it is made anew when the scatter is known better than the grid is fine,
or when values come to lie outside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.long_arrays import Floats

STRAYS = 0.01
"""Share of samples that something else disturbed, beforehand: a job of the system, a retry."""


@dataclass(frozen=True, slots=True)
class NoiseKind:
    """Noise that there may be, and how likely it is beforehand (``share``): degrees of ``freedom``
    of a t distribution, None of a normal one, and the ``spread`` of versions in scatters of a
    sample."""

    freedom: float | None
    spread: float
    share: float


NOISES = (NoiseKind(None, 0.0, 0.80), NoiseKind(4.0, 0.0, 0.17), NoiseKind(None, 1.5, 0.03))

_STRAY_WIDTH = 5.0  # scale of the Cauchy distribution of strays, in scatters
_STRAY_LOG = math.log(STRAYS / (math.pi * _STRAY_WIDTH))
_USUAL_LOG = math.log(1.0 - STRAYS)

_SCALES = 5
_WIDEST = 1.2  # half the grid's width in logarithms of the scatter while nothing is known
_NARROWEST = 0.12
_MOST_LEVELS = 480
_MARGIN = 3.5  # scatters beyond the outermost level that the data suggest
_SMALLEST = 1e-5  # a scatter below this is that of a clock or of rounding
_LEAST_SPACING = 0.12  # of levels, in scatters: what 150 samples a side need


@dataclass(frozen=True, slots=True)
class NoiseGrid:
    """The unknowns: ``levels`` (G) evenly spaced, ``scatter`` and ``spread`` (Q) in pairs, each
    scatter with all ``NOISES`` in their order.

    ``log_prior`` (Q) is that of a pair. ``change`` (Q, G, G) is the density of the second level
    given the first, by its spacing, for changes either way; ``worse`` is the same where the second
    one is mostly the larger.
    """

    levels: Floats
    scatter: Floats
    spread: Floats
    log_prior: Floats
    change: Floats
    worse: Floats

    @property
    def spacing(self) -> float:
        """Between two levels."""
        return float(self.levels[1] - self.levels[0])


CHANGE = 2.0
"""Scale of the Cauchy distribution of a change, in scatters of one sample: half of all changes are
smaller. As in default Bayes factors (J. N. Rouder et al., Psychon. Bull. Rev. 16 (2009) 225), wider
by as much as a regression was seen before somebody bisects it."""

WORSE = 0.97
"""How likely a change is one to the worse, where the second version was said to be worse."""


def make_grid(low: float, high: float, scale: float, doubt: float, samples: int) -> NoiseGrid:
    """A grid for values from ``low`` to ``high`` with a scatter of about ``scale``.

    ``doubt`` is the standard deviation of the logarithm of that scatter.
    """
    half = min(max(2.5 * doubt, _NARROWEST), _WIDEST)
    scales = scale * np.exp(np.linspace(-half, half, _SCALES))
    spacing = max(1.5 / np.sqrt(max(samples, 1)), _LEAST_SPACING) * scale
    low, high = low - _MARGIN * scale, high + _MARGIN * scale
    count = min(int((high - low) / spacing) + 2, _MOST_LEVELS)
    levels = np.linspace(low, high, count)
    scatter = np.repeat(scales, len(NOISES))
    spread = scatter * np.tile([noise.spread for noise in NOISES], _SCALES)
    log_prior = np.tile(np.log([noise.share for noise in NOISES]), _SCALES) - np.log(_SCALES)
    step = levels[1] - levels[0]
    apart = levels[None, :] - levels[:, None]
    width = CHANGE * scatter[:, None, None]
    change = step / (np.pi * width * (1.0 + (apart / width) ** 2))
    sign = np.where(apart > 0, 2.0 * WORSE, np.where(apart < 0, 2.0 * (1.0 - WORSE), 1.0))
    return NoiseGrid(levels, scatter, spread, log_prior, change, change * sign)


def version_likelihood(grid: NoiseGrid, values: Sequence[float]) -> Floats:
    """The logarithm of the likelihood of one version's samples: (Q, G), by the version's level."""
    samples = np.asarray(values, dtype=np.float64)
    own = grid.scatter[:: len(NOISES)]
    z = (samples[:, None, None] - grid.levels[None, None, :]) / own[None, :, None]
    squares = z * z
    stray = _STRAY_LOG - np.log1p(squares / _STRAY_WIDTH**2)
    scaled = samples.size * np.log(own)[:, None]
    densities = {
        freedom: np.logaddexp(_usual(squares, freedom), stray).sum(axis=0) - scaled
        for freedom in {noise.freedom for noise in NOISES}
    }
    by_kind = np.stack([densities[noise.freedom] for noise in NOISES], axis=1)
    logs = by_kind.reshape(grid.scatter.size, grid.levels.size)
    for q in np.flatnonzero(grid.spread > 0.0):
        logs[q] = _spread_out(logs[q], grid, float(grid.spread[q]))
    return logs


def _usual(squares: Floats, freedom: float | None) -> Floats:
    """The logarithm of the density of samples that are no strays, by the squares of how many
    scatters they are off."""
    if freedom is None:
        normal: Floats = _USUAL_LOG - 0.5 * math.log(2.0 * math.pi) - 0.5 * squares
        return normal
    whole = math.lgamma((freedom + 1.0) / 2.0) - math.lgamma(freedom / 2.0)
    whole -= 0.5 * math.log(freedom * math.pi)
    tails: Floats = _USUAL_LOG + whole - 0.5 * (freedom + 1.0) * np.log1p(squares / freedom)
    return tails


def _spread_out(logs: Floats, grid: NoiseGrid, spread: float) -> Floats:
    """The likelihood by the level of a side, where this version is off by a normal amount."""
    reach = max(1, min(int(4.0 * spread / grid.spacing), logs.size - 1))
    steps = np.arange(-reach, reach + 1) * grid.spacing
    kernel = np.exp(-0.5 * (steps / spread) ** 2)
    top = logs.max()
    blurred = np.convolve(np.exp(logs - top), kernel / kernel.sum())[reach : reach + logs.size]
    spread_out: Floats = np.log(np.maximum(blurred, 1e-300)) + top
    return spread_out


def first_scale(values: Mapping[int, Sequence[float]]) -> float:
    """A first guess of the scatter: from values of the same version, else of all."""
    deviations: list[float] = []
    for samples in values.values():
        if len(samples) > 1:
            own = np.asarray(samples)
            factor = np.sqrt(own.size / (own.size - 1))
            deviations += list(np.abs(own - np.median(own)) * factor)
    everything = np.concatenate([np.asarray(samples) for samples in values.values()])
    rough = float(np.mean(deviations)) * 1.25 if deviations else float(np.ptp(everything)) / 4.0
    return max(rough, _SMALLEST)


def bounds(values: Mapping[int, Sequence[float]]) -> tuple[float, float]:
    """Between which levels lie can be: those of single outliers are left out."""
    everything = np.sort(np.concatenate([np.asarray(samples) for samples in values.values()]))
    cut = everything.size // 20
    return float(everything[cut]), float(everything[-1 - cut])
