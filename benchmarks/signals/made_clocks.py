"""Twelve kinds of clocks and PWM, and one held back: made edge by edge, with what is true of each.

Noise is named as D. W. Allan and IEEE 1139 name it: *white phase* moves each edge for itself,
*random walk of phase* (white frequency) adds up period by period, *flicker* has a frequency
spectrum of 1/f, made here as a sum of relaxations evenly spread in the logarithm of their time
(J. J. van der Ziel's picture of it). *Spread spectrum* is a triangle of 30 to 33 kHz of a few
tenths of a per cent, as PCI Express has it. What samples a line sees an edge at the next tick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class MadeClock:
    """A sampled line that starts low, and the truth of its clock.

    ``frequency`` is cycles over time while it runs, in Hz; ``drift_ppm`` the straight line through
    its frequency without noise, from start to end. Both None where there is no such number.
    """

    rate: int
    edges: npt.NDArray[np.int64]
    frequency: float | None
    drift_ppm: float | None
    duty: float | None = None
    """The median of the periods' true duty."""


def _sampled(
    rate: int,
    rises: Floats,
    falls: Floats,
    frequency: float | None,
    drift_ppm: float | None,
    duty: float | None = None,
) -> MadeClock:
    """Edges in periods of the sampling clock, seen at the next tick."""
    times = np.column_stack((rises, falls)).reshape(-1)
    ticks = np.ceil(times - times[0] + 10.0).astype(np.int64)
    if (np.diff(ticks) <= 0).any():
        raise ValueError("two edges at one sample: the noise is too large for the rate")
    return MadeClock(rate, ticks, frequency, drift_ppm, duty)


def _setting(random: np.random.Generator) -> tuple[int, int, float]:
    """Sample rate, number of periods, ticks a period: never a whole number."""
    periods = int(10 ** random.uniform(2.0, 4.2))
    return 100_000_000, periods, float(random.uniform(60.0, 400.0))


def _walk(random: np.random.Generator, steps: int, size: float) -> Floats:
    """A random walk that starts at zero."""
    return np.concatenate(([0.0], np.cumsum(random.normal(0.0, size, steps))))


def _half(rises: Floats, period: float) -> Floats:
    return rises + period / 2


def white_period(random: np.random.Generator) -> MadeClock:
    """Each period for itself, uniform."""
    rate, count, period = _setting(random)
    spread = random.uniform(0.01, 0.1) * period
    rises = np.concatenate(
        ([0.0], np.cumsum(period + random.uniform(-spread, spread, count)))
    ) + random.uniform(0, 1)
    return _sampled(rate, rises, _half(rises, period * 0.8), rate / period, 0.0)


def white_phase(random: np.random.Generator) -> MadeClock:
    """Each edge for itself."""
    rate, count, period = _setting(random)
    rises = period * np.arange(count + 1) + random.normal(0.0, random.uniform(0.7, 3.0), count + 1)
    return _sampled(rate, rises, _half(rises, period), rate / period, 0.0)


def phase_walk(random: np.random.Generator) -> MadeClock:
    """A random walk of phase whose steps hang together over some ten periods, and white phase."""
    rate, count, period = _setting(random)
    keeps = np.exp(-1.0 / random.uniform(1.0, 15.0))
    steps = np.empty(count)
    last = random.normal()
    kicks = random.normal(size=count)
    for place in range(count):
        last = keeps * last + np.sqrt(1 - keeps**2) * kicks[place]
        steps[place] = last
    rises = period * np.arange(count + 1)
    rises += np.concatenate(([0.0], np.cumsum(steps))) * random.uniform(0.002, 0.01) * period
    rises += random.normal(0.0, random.uniform(0.7, 2.0), count + 1)
    return _sampled(rate, rises, _half(rises, period), rate / period, 0.0)


def flicker(random: np.random.Generator) -> MadeClock:
    """Frequency noise of 1/f over six decades: most of it slower than the capture."""
    rate, count, period = _setting(random)
    shift = np.zeros(count)
    for decade in np.arange(0.5, 6.6, 0.5):
        keeps = np.exp(-(10.0**-decade))
        kicks = random.normal(size=count) * np.sqrt(1 - keeps**2)
        last = random.normal()
        for place in range(count):
            last = keeps * last + kicks[place]
            shift[place] += last
    periods = period * (1 + random.uniform(1e-4, 3e-3) * shift)
    rises = np.concatenate(([0.0], np.cumsum(periods)))
    rises += random.normal(0.0, 0.8, count + 1)
    return _sampled(rate, rises, _half(rises, period), rate / period, None)


def bursts(random: np.random.Generator) -> MadeClock:
    """Bursts of 8 to 200 periods with a rest of any length between them."""
    rate, _, period = _setting(random)
    size = random.uniform(0.002, 0.02) * period
    rises, at = [], 0.0
    for _ in range(int(random.integers(3, 60))):
        inside = int(random.integers(8, 200))
        rises.append(at + period * np.arange(inside + 1) + _walk(random, inside, size))
        at = rises[-1][-1] + period * random.uniform(3.0, 500.0)
    edges = np.concatenate(rises)
    edges += random.normal(0.0, 0.7, edges.size)
    return _sampled(rate, edges, _half(edges, period), rate / period, 0.0)


def gapped(random: np.random.Generator) -> MadeClock:
    """Every so many pulses some are swallowed, as a demultiplexer's clock has it."""
    rate, count, period = _setting(random)
    rises = period * np.arange(count + 1) + _walk(random, count, 0.003 * period)
    rises += random.normal(0.0, 0.8, count + 1)
    frame, gone = int(random.integers(6, 40)), int(random.integers(1, 4))
    kept = rises[np.arange(count + 1) % frame < frame - gone]
    return _sampled(rate, kept, _half(kept, period), rate / period, 0.0)


def spread_spectrum(random: np.random.Generator) -> MadeClock:
    """A triangle of frequency, down-spread, much faster than the capture is long."""
    rate, count, period = _setting(random)
    count = max(count, 4000)
    cycle = random.uniform(25.0, 70.0)
    phase = np.modf(np.arange(count) / cycle + random.uniform())[0]
    triangle = 4 * np.abs(phase - 0.5) - 1
    depth = random.uniform(1e-3, 5e-3) / 2
    periods = period * (1 + depth * triangle) + random.normal(0.0, 0.003 * period, count)
    rises = np.concatenate(([0.0], np.cumsum(periods))) + random.normal(0, 0.7, count + 1)
    return _sampled(rate, rises, _half(rises, period), rate / period, 0.0)


def temperature(random: np.random.Generator) -> MadeClock:
    """A warming oscillator: a straight line, or an exponential that ends within the capture."""
    rate, count, period = _setting(random)
    change = random.uniform(-300e-6, 300e-6)
    shape = np.arange(count) / count
    if random.uniform() < 0.5:
        slow = random.uniform(0.3, 2.0)
        shape = (1 - np.exp(-shape / slow)) / (1 - np.exp(-1 / slow))
    frequencies = (1 + change * shape) / period
    rises = np.concatenate(([0.0], np.cumsum(1 / frequencies)))
    rises += random.normal(0.0, random.uniform(0.7, 2.0), count + 1)
    rises += _walk(random, count, random.uniform(0.0005, 0.005) * period)
    mean = count / np.sum(1 / frequencies)
    line = np.polyfit(np.linspace(-0.5, 0.5, count), frequencies, 1)[0] / mean * 1e6
    return _sampled(rate, rises, _half(rises, period), rate * mean, float(line))


def missing_edges(random: np.random.Generator) -> MadeClock:
    """A few pulses in a hundred are not seen."""
    rate, count, period = _setting(random)
    rises = period * np.arange(count + 1) + _walk(random, count, 0.002 * period)
    rises += random.normal(0.0, 0.8, count + 1)
    kept = rises[random.uniform(size=count + 1) > random.uniform(0.005, 0.05)]
    return _sampled(rate, kept, _half(kept, period), rate / period, 0.0)


def _pwm(random: np.random.Generator, count: int, period: float) -> tuple[Floats, Floats, float]:
    """Rises, falls and the median duty of a PWM whose duty follows a slow sine."""
    rises = period * np.arange(count + 1) + random.normal(0.0, 0.8, count + 1)
    rises += _walk(random, count, random.uniform(0.0002, 0.002) * period)
    cycles = random.uniform(0.5, 30.0)
    duty = 0.5 + random.uniform(0.1, 0.4) * np.sin(
        2 * np.pi * cycles * np.arange(count + 1) / count + random.uniform(0, 6)
    )
    return rises, rises + duty * period, float(np.median(duty))


def pwm(random: np.random.Generator) -> MadeClock:
    """PWM with a modulated duty; in half of them the falling edge is the regular one."""
    rate, count, period = _setting(random)
    rises, falls, duty = _pwm(random, count, period)
    if random.uniform() < 0.5:  # the same, upside down: what follows is the level that varies
        rises, falls, duty = falls[:-1], rises[1:], 1 - duty
    return _sampled(rate, rises, falls, rate / period, 0.0, duty)


def pwm_pauses(random: np.random.Generator) -> MadeClock:
    """PWM that is switched off now and then, for any time."""
    rate, count, period = _setting(random)
    count = max(count, 300)
    rises, falls, duty = _pwm(random, count, period)
    for at in random.integers(20, count - 20, int(random.integers(1, 12))):
        rest = period * random.uniform(3.0, 300.0)
        rises[at:] += rest
        falls[at:] += rest
    return _sampled(rate, rises, falls, rate / period, 0.0, duty)


def two_rates(random: np.random.Generator) -> MadeClock:
    """A clock that is switched between two rates: it has no one frequency."""
    rate, count, period = _setting(random)
    turns = int(random.integers(1, 20))
    where = np.sort(random.integers(10, count - 10, turns))
    second = np.searchsorted(where, np.arange(count)) % 2
    periods = period * (1 + random.uniform(0.005, 0.5) * second)
    rises = np.concatenate(([0.0], np.cumsum(periods))) + random.normal(0, 0.8, count + 1)
    return _sampled(rate, rises, _half(rises, period), None, None)


KINDS: dict[str, Callable[[np.random.Generator], MadeClock]] = {
    "white period jitter": white_period,
    "white phase jitter": white_phase,
    "random walk of phase": phase_walk,
    "flicker": flicker,
    "bursts": bursts,
    "gapped clock": gapped,
    "spread spectrum": spread_spectrum,
    "drift by temperature": temperature,
    "missing edges": missing_edges,
    "PWM, modulated duty": pwm,
    "PWM with pauses": pwm_pauses,
    "two rates": two_rates,
}


def slow_sine(random: np.random.Generator) -> MadeClock:
    """An oscillator whose temperature swings: a sine of 0.3 to 3 cycles in the capture."""
    rate, count, period = _setting(random)
    size, cycles = random.uniform(20e-6, 300e-6), random.uniform(0.3, 3.0)
    phases = 2 * np.pi * (cycles * np.arange(count) / count + random.uniform())
    frequencies = (1 + size * np.sin(phases)) / period
    rises = np.concatenate(([0.0], np.cumsum(1 / frequencies)))
    rises += random.normal(0.0, random.uniform(0.7, 2.0), count + 1)
    rises += _walk(random, count, random.uniform(0.0005, 0.005) * period)
    mean = count / np.sum(1 / frequencies)
    line = np.polyfit(np.linspace(-0.5, 0.5, count), frequencies, 1)[0] / mean * 1e6
    return _sampled(rate, rises, _half(rises, period), rate * mean, float(line))


HELD_BACK: dict[str, Callable[[np.random.Generator], MadeClock]] = {"slow sine": slow_sine}
"""Made after the analysis was finished, and measured once: what it says of clocks nobody
thought of."""


def made(kind: str, seed: int) -> MadeClock:
    """One clock of a kind; the same for the same seed."""
    kinds = KINDS | HELD_BACK
    return kinds[kind](np.random.default_rng([list(kinds).index(kind), seed]))
