"""How large a change may be on boards that share it: about the same ratio, rarely another one.

A change has a usual size, which is not known; that of each board scatters around it. So boards
learn the size together, and one that shows nothing while others show much does not have the change.
"""

from __future__ import annotations

from math import pi

import numpy as np

from benchvise.bisect.likelihood import CHANGE, WORSE
from benchvise.long_arrays import Floats

SIZES = np.exp(np.linspace(np.log(1e-5), np.log(3.0), 40))
"""(J) usual sizes of a change, as differences of logarithms."""

OWN = 0.35
"""Scale of the logarithm of a board's own size to the usual one: of a Student t distribution with
three degrees of freedom, so half of the boards are within a factor of 1.3, and 7 % have less than
half."""


def size_prior(scatter: float) -> Floats:
    """(J) how likely usual sizes are beforehand, where a sample scatters by so much: as that of one
    board alone."""
    shares = SIZES / (1.0 + (SIZES / (CHANGE * scatter)) ** 2)
    prior: Floats = shares / shares.sum()
    return prior


def size_kernels(count: int, spacing: float) -> Floats:
    """(J, count) the probability of a board's change, in steps of its grid from 0 on, by the usual
    size."""
    edges = (np.arange(count + 1) - 0.5) * spacing
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (np.log(np.maximum(edges, 0.0))[None, :] - np.log(SIZES)[:, None]) / OWN
        root = np.sqrt(3.0)
        below = 0.5 + (z / root / (1.0 + z * z / 3.0) + np.arctan(z / root)) / pi
    below[:, 0] = 0.0
    kernels: Floats = np.diff(below, axis=1)
    return kernels


def sized_likelihoods(before: Floats, after: Floats, spacing: float) -> Floats:
    """(Q, K, J) sums over both levels of (Q, K, G) likelihoods before and after a change."""
    count = before.shape[-1]
    length = 1 << (2 * count - 1).bit_length()
    spectrum = np.conj(np.fft.rfft(before, length)) * np.fft.rfft(after, length)
    by_step = np.fft.irfft(spectrum, length)
    worse = by_step[..., :count]
    better = np.concatenate([by_step[..., :1], by_step[..., :-count:-1]], axis=-1)
    mixed = WORSE * worse + (1.0 - WORSE) * better
    sized: Floats = np.maximum(mixed @ size_kernels(count, spacing).T, 1e-300)
    return sized
