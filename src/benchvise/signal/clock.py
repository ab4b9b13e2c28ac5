"""What a clock line does: frequency, duty cycle, jitter, drift, pauses; and a radio's registers.

All results are of the whole capture. The frequency is that of the periods while the line runs; its
interval and that of the drift are those of ``clock_rate``. A gap is a period more than half as long
again as the median one: a *pause*, or, where all gaps are whole numbers of periods, *missing*
edges. Of PWM one edge is regular and the other carries the signal: periods are those of the edge
with less jitter. Period jitter and cycle-to-cycle jitter are those of JESD65B.

Data rates of the CC1100, CC1101 and CC2500: R = (256 + DRATE_M) * 2^DRATE_E / 2^28 * f_XOSC, with
DRATE_E in the low four bits of MDMCFG4 (register 0x10) and DRATE_M in MDMCFG3 (0x11): CC1101 data
sheet (SWRS061), section 12.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from benchvise.documents import computed, in_json
from benchvise.errors import CaptureError, UsageError
from benchvise.quantities import format_number, format_value
from benchvise.signal.capture import Capture, Polarity, SignalLine, Ticks
from benchvise.signal.clock_rate import LEAST_PERIODS, MeanPeriod, mean_period, sampled_line
from benchvise.signal.runts import without_runts
from benchvise.statistics.sample import Interval
from benchvise.text import counted

Floats = npt.NDArray[np.float64]

_LEAST_PERIODS = 4
_GAP = 1.5
_MOST_MISSING = 50
_MISSING_TOLERANCE = 0.2
_SLICES = 12
_REGULAR = 0.8
_DITHER = 0.75
"""Jitter in ticks below which sampling does not average out."""
_BLOCKS = 32
_ONE_TICK = 1.2
_TWO_LEVELS = 0.12
_LEAST_AT_LEVEL = 8
_WHOLE_GAPS = 0.9
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class ClockInterval:
    """The 95 % interval of a result, in its unit."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PeriodSpread:
    """The median of the periods' values and the range of them."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class ClockSlice:
    """A twelfth of the time from the first edge to the last: ``at`` in seconds, how many periods
    begin in it, and what is in them; None where there are none. ``paused`` is in seconds."""

    at: float
    periods: int
    frequency: float | None
    duty: PeriodSpread | None
    high: PeriodSpread | None
    paused: float


@dataclass(frozen=True, slots=True)
class ClockMetrics:
    """A clock line; frequencies in Hz, times in seconds.

    ``frequency`` is the mean while the line runs, ``interval`` its 95 % interval and ``error``
    that as a standard error; both None where ``no_interval`` says why there is none. What the
    sampling clock adds nobody knows. ``edge`` is the one whose periods are taken. ``duty`` is the
    share of time that the line is high from the first edge to the last, pauses included;
    ``period``, ``high`` and ``period_duty`` are of single periods, without gaps. ``jitter_rms`` and
    ``jitter_peak`` are those of the period (peak to peak), ``cycle_jitter`` the greatest change
    from one period to the next; below ``resolution`` nothing can be said of jitter. ``drift_ppm``
    is the change of the frequency from start to end by a straight line; None where there is no
    interval.
    """

    line: str
    periods: int
    frequency: float
    error: float | None
    duty: float
    jitter_rms: float
    jitter_peak: float
    cycle_jitter: float
    resolution: float
    drift_ppm: float | None
    pauses: tuple[tuple[float, float], ...]
    """When each began and how long it was."""
    interval: ClockInterval | None
    drift_interval: ClockInterval | None
    no_interval: str | None
    interval_allows: str | None
    """What the interval allows for that the capture cannot exclude; None of nothing."""
    edge: Polarity
    missing: int
    period: PeriodSpread
    high: PeriodSpread
    period_duty: PeriodSpread
    over_time: tuple[ClockSlice, ...]
    runts: tuple[tuple[float, float], ...]
    """When each began and how long it was; nothing else has a part of them."""

    @property
    def is_pwm(self) -> bool:
        """Whether the high time varies more than the period does, and than sampling explains."""
        spread = self.high.high - self.high.low
        return spread > 3 * self.resolution and spread > 2 * (self.period.high - self.period.low)

    @property
    def spread_of_frequency(self) -> float:
        """Half the range of the frequency over the capture, relative."""
        means = [part.frequency for part in self.over_time if part.frequency is not None]
        return (max(means) - min(means)) / 2 / self.frequency


@dataclass(frozen=True, slots=True)
class ClockReport(ClockMetrics):
    """A clock line beside its nominal frequency in Hz (None: not known), and what the registers of
    its radio say (None: not asked).

    ``tolerance`` is the relative error that clocks and measurement may have together.
    """

    nominal: float | None
    explained: RegisterComparison | None
    tolerance: float = field(metadata=in_json(hidden=True))

    @computed.before("explained")
    def off_ppm(self) -> float | None:
        """How far the frequency is from the nominal one."""
        return None if self.nominal is None else (self.frequency / self.nominal - 1) * 1e6


def clock_report(
    clock: ClockMetrics,
    nominal: float | None,
    explained: RegisterComparison | None,
    tolerance: float,
) -> ClockReport:
    """A measured clock with what it is compared with."""
    metrics = {item.name: getattr(clock, item.name) for item in fields(clock)}
    return ClockReport(**metrics, nominal=nominal, explained=explained, tolerance=tolerance)


def measure_clock(capture: Capture, line: str) -> ClockMetrics:
    """Metrics of a clock line; CaptureError when it has fewer than four periods."""
    clock_line = capture.line(line)
    rising = clock_line.of("rising")
    if rising.size <= _LEAST_PERIODS:
        raise CaptureError(
            f"{capture.path}: {clock_line.name} rises {counted(rising.size, 'time')}: too few "
            "for a frequency",
            "record longer, or name another line with --line",
        )
    tick = capture.clock.tick_s
    clock_line, runts = without_runts(clock_line)
    edge, edges = _regular_edges(clock_line)
    periods, high = np.diff(edges), _high_times(clock_line, edge)
    steps = _steps(periods)
    running, paused = steps == 1, steps == 0
    single = periods[running]
    neighbours = np.diff(periods)[running[1:] & running[:-1]]
    whole, times = _filled(edges, steps)
    rate, no_interval = _rate(whole, times, 1 + int(paused.sum()), tick)
    mean = float(whole.mean()) if rate is None else rate.period
    return ClockMetrics(
        line=clock_line.name,
        periods=int(periods.size),
        duty=float(high.sum() / (edges[-1] - edges[0])),
        jitter_rms=float(single.std()) * tick,
        jitter_peak=float(np.ptp(single)) * tick,
        cycle_jitter=float(np.abs(neighbours).max()) * tick if neighbours.size else 0.0,
        resolution=capture.clock.resolution_s,
        pauses=tuple(
            (float(edges[at]) * tick, float(periods[at]) * tick) for at in np.flatnonzero(paused)
        ),
        frequency=1 / (mean * tick),
        error=None if rate is None else rate.half_width / (_Z * mean**2 * tick),
        drift_ppm=None if rate is None else -rate.change * 1e6,
        interval=None if rate is None else _inverse(rate.interval, tick),
        drift_interval=None if rate is None else _as_drift(rate.change_interval),
        no_interval=no_interval,
        interval_allows=None if rate is None else _allowed(rate, int(whole.size), tick),
        edge=edge,
        missing=int((steps - 1)[steps > 1].sum()),
        period=_spread(single * tick),
        high=_spread(high[running] * tick),
        period_duty=_spread(high[running] / single),
        over_time=tuple(_slices(edges, steps, high, tick)),
        runts=tuple((float(at) * tick, float(length) * tick) for at, length in runts),
    )


def _inverse(period: Interval, tick: float) -> ClockInterval:
    """The frequency of a period in ticks."""
    return ClockInterval(1 / (period.high * tick), 1 / (period.low * tick))


def _as_drift(change: Interval) -> ClockInterval:
    """The drift in ppm of a relative change of the period."""
    return ClockInterval(-change.high * 1e6, -change.low * 1e6)


def _regular_edges(line: SignalLine) -> tuple[Polarity, Ticks]:
    """Of PWM one edge comes regularly and the other carries the signal: the one with less
    jitter; rising ones where both are alike."""
    rising, falling = line.of("rising"), line.of("falling")
    if falling.size > _LEAST_PERIODS and _jitter(falling) < _REGULAR * _jitter(rising):
        return "falling", falling
    return "rising", rising


def _jitter(edges: Ticks) -> float:
    """The middle half of the periods: pauses have no part in it, and a tick is nothing."""
    low, high = np.percentile(np.diff(edges), (10, 90))
    return max(2.0, float(high - low))


def _high_times(line: SignalLine, edge: Polarity) -> Ticks:
    """How long the line is high in each period that begins with such an edge."""
    edges, first = line.edges, line.first_rising
    if edge == "falling":
        first = 1 - first
    begins, middles = edges[first::2], edges[first + 1 :: 2]
    count = begins.size - 1
    if edge == "rising":
        return middles[:count] - begins[:count]
    return begins[1:] - middles[:count]


def _steps(periods: Ticks) -> npt.NDArray[np.int64]:
    """How many periods each lasts: 1 as a rule, more where edges are missing, 0 for a pause.

    Long ones that follow each other are a slower clock, and no gaps; unless many are missing here
    and there.
    """
    middle = float(np.median(periods))
    gaps = periods > _GAP * middle
    steps = np.ones(periods.size, dtype=np.int64)
    if not gaps.any():
        return steps
    single = periods[~gaps]
    mean, scatter = float(single.mean()), float(single.std())
    counts = np.rint(periods[gaps] / mean)
    allowed = np.maximum(4 * scatter * np.sqrt(counts), 2.5)
    off = np.abs(periods[gaps] - counts * mean)
    whole = (off <= allowed) & (allowed <= _MISSING_TOLERANCE * mean) & (counts <= _MOST_MISSING)
    beside = gaps & (np.append(gaps[1:], False) | np.append(False, gaps[:-1]))
    if 2 * beside.sum() > gaps.sum() and not _skips_at_random(gaps, counts, whole):
        return steps
    # A few of the pauses of a clock that is switched on and off look whole by chance.
    steps[gaps] = np.where(whole, counts, 0) if whole.mean() > _WHOLE_GAPS else 0
    return steps


def _skips_at_random(
    gaps: npt.NDArray[np.bool_], counts: Floats, whole: npt.NDArray[np.bool_]
) -> bool:
    """Whether so many periods are missing that gaps follow each other by chance: all are whole,
    some have two missing and more, and they take turns with single periods all the time."""
    share = float(gaps.mean())
    switches = float((gaps[1:] != gaps[:-1]).mean())
    return bool(
        whole.mean() > _WHOLE_GAPS
        and np.unique(counts).size > 1
        and switches >= share * (1 - share)
    )


def _filled(edges: Ticks, steps: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The periods without pauses, missing edges filled in, and the middle of each."""
    lengths = np.repeat(np.diff(edges) / np.maximum(steps, 1), steps)
    first = np.repeat(np.cumsum(steps) - steps, steps)
    begins = np.repeat(edges[:-1], steps) + (np.arange(lengths.size) - first) * lengths
    return lengths, begins + lengths / 2


def _rate(
    periods: Floats, times: Floats, stretches: int, tick: float
) -> tuple[MeanPeriod | None, str | None]:
    """The mean period in ticks with its interval, or why there is none."""
    if periods.size < LEAST_PERIODS:
        return None, f"fewer than {LEAST_PERIODS} periods"
    # Both ends of a stretch are known to a tick, whatever happens in between.
    ends = stretches / periods.size
    bend = 8.0 / float(periods.sum())
    if _is_sampled_line(periods, stretches):
        return sampled_line(periods, ends, bend), None
    if (rates := _two_rates(periods)) is not None:
        low, high = sorted(1 / (period * tick) for period in rates)
        return None, (
            f"the clock runs at two rates, {format_value(low, 'Hz')} and "
            f"{format_value(high, 'Hz')}: the frequency is the mean of this capture"
        )
    rate = mean_period(periods, times)
    if not rate.averages_out:
        return None, (
            "the frequency varies at every time scale (flicker noise): the frequency is the mean "
            "of this capture, another one may be elsewhere"
        )
    # Without jitter what is lost to sampling repeats itself in a pattern: it is no noise.
    return rate.at_least(ends, bend) if float(periods.std()) < _DITHER else rate, None


def _allowed(rate: MeanPeriod, periods: int, tick: float) -> str | None:
    """That the interval is one of flicker noise, and what it would be without."""
    if not rate.allows_flicker:
        return None
    half = (rate.averaging.high - rate.averaging.low) / 2 / (rate.period**2 * tick)
    return (
        f"{periods} periods do not tell jitter that averages out from flicker noise: the interval "
        f"is the one that a clock with flicker noise needs; ± {format_number(half)} Hz without"
    )


def _is_sampled_line(periods: Floats, stretches: int) -> bool:
    """Whether an ideal clock explains all edges, each seen up to a tick late."""
    if stretches > 1:
        return bool(np.ptp(periods) == 0)
    off = np.concatenate(([0.0], np.cumsum(periods - periods.mean())))
    numbers = np.linspace(-1.0, 1.0, off.size)
    return float(np.ptp(off - np.polyval(np.polyfit(numbers, off, 1), numbers))) <= _ONE_TICK


def _two_rates(periods: Floats) -> tuple[float, float] | None:
    """The periods of a clock that is switched between two, each for a while."""
    for size in sorted({1, 4, 16, max(1, periods.size // _BLOCKS)}):
        if periods.size < 8 * size:
            continue
        blocks = periods[: periods.size // size * size].reshape(-1, size).mean(axis=1)
        ordered = np.sort(blocks)
        counts = np.arange(1, ordered.size)
        sums = np.cumsum(ordered)[:-1]
        means = sums / counts, (ordered.sum() - sums) / (ordered.size - counts)
        between = counts * (ordered.size - counts) / ordered.size**2 * (means[1] - means[0]) ** 2
        at = int(np.argmax(between))
        upper = blocks > (ordered[at] + ordered[at + 1]) / 2
        share = float(upper.mean())
        switches = float((upper[1:] != upper[:-1]).mean())
        if (
            between[at] > (1 - _TWO_LEVELS) * float(blocks.var())
            and means[1][at] - means[0][at] > 2.5 / size
            and min(share, 1 - share) * periods.size >= _LEAST_AT_LEVEL
            and switches < share * (1 - share)
        ):
            return float(means[0][at]), float(means[1][at])
    return None


def _spread(values: Floats) -> PeriodSpread:
    return PeriodSpread(float(values.min()), float(np.median(values)), float(values.max()))


def _slices(
    edges: Ticks, steps: npt.NDArray[np.int64], high: Ticks, tick: float
) -> Iterator[ClockSlice]:
    """Twelve equal parts of the time from the first edge to the last."""
    bounds = np.linspace(edges[0], edges[-1], _SLICES + 1)
    places = np.searchsorted(edges[:-1], bounds)
    periods = np.diff(edges)
    for number, (first, last) in enumerate(pairwise(places.tolist())):
        running = steps[first:last] == 1
        some = bool(running.any())
        single, up = periods[first:last][running], high[first:last][running]
        yield ClockSlice(
            float(bounds[number]) * tick,
            int(last - first),
            float(1 / (single.mean() * tick)) if some else None,
            _spread(up / single) if some else None,
            _spread(up * tick) if some else None,
            float(periods[first:last][steps[first:last] == 0].sum()) * tick,
        )


# -- data rates of radios, and which register value explains one -----------------------------------

CRYSTALS = {"cc1100": 26e6, "cc1101": 26e6, "cc2500": 26e6}
"""The usual crystal of each, in Hz; 27 MHz is allowed too."""

_COMMON_CRYSTALS = (16e6, 20e6, 24e6, 25e6, 26e6, 27e6, 27.12e6, 30e6, 32e6, 38.4e6, 40e6, 48e6)


@dataclass(frozen=True, slots=True)
class DataRate:
    """A pair of registers and the rate that they set, in baud."""

    mdmcfg4: int
    mdmcfg3: int
    rate: float

    @property
    def exponent(self) -> int:
        """DRATE_E."""
        return self.mdmcfg4 & 15

    def __str__(self) -> str:
        return f"MDMCFG4 0x{self.mdmcfg4:02x}, MDMCFG3 0x{self.mdmcfg3:02x}"


@dataclass(frozen=True, slots=True)
class RegisterComparison:
    """What was set, what was measured, and which registers would give that.

    ``agrees`` is whether the rate set lies within the tolerance of the one measured.
    ``by_mantissa`` keeps MDMCFG4 as set and has the MDMCFG3 that fits, ``by_exponent`` keeps
    MDMCFG3, ``by_crystal`` keeps both and has another common crystal, in Hz; None where none fits
    within the tolerance. ``nearest`` is the best of all.
    """

    wanted: DataRate
    measured: float
    agrees: bool
    by_mantissa: DataRate | None
    by_exponent: DataRate | None
    by_crystal: float | None
    nearest: DataRate

    @computed.before("wanted")
    def off(self) -> float:
        """Measured to set, minus one."""
        return self.measured / self.wanted.rate - 1.0


def data_rate(mdmcfg4: int, mdmcfg3: int, crystal: float) -> DataRate:
    """The rate that two registers set; UsageError for what no register holds."""
    for name, value in (("MDMCFG4", mdmcfg4), ("MDMCFG3", mdmcfg3)):
        if not 0 <= value <= 255:
            raise UsageError(f"{name} {value} is no byte", "write it as 0x8a")
    rate = (256 + mdmcfg3) * 2.0 ** (mdmcfg4 & 15) / 2.0**28 * crystal
    return DataRate(mdmcfg4, mdmcfg3, rate)


def compare_registers(
    wanted: DataRate, measured: float, crystal: float, tolerance: float
) -> RegisterComparison:
    """Compares a measured rate in baud with what the registers should give.

    ``tolerance`` is relative: of the crystal, of the sampling clock, and of the measurement.
    """

    def fits(rate: DataRate) -> bool:
        return abs(measured / rate.rate - 1.0) <= tolerance

    high = wanted.mdmcfg4 & 0xF0
    mantissas = [data_rate(wanted.mdmcfg4, m, crystal) for m in range(256)]
    exponents = [data_rate(high | e, wanted.mdmcfg3, crystal) for e in range(16)]
    every = [data_rate(high | e, m, crystal) for e in range(16) for m in range(256)]

    def best(rates: list[DataRate]) -> DataRate:
        return min(rates, key=lambda rate: abs(measured / rate.rate - 1.0))

    def of_crystal(frequency: float) -> DataRate:
        return data_rate(wanted.mdmcfg4, wanted.mdmcfg3, frequency)

    others = [common for common in _COMMON_CRYSTALS if abs(common / crystal - 1.0) > tolerance]
    by_crystal = min(others, key=lambda one: abs(measured / of_crystal(one).rate - 1.0))
    by_mantissa, by_exponent = best(mantissas), best(exponents)
    return RegisterComparison(
        wanted,
        measured,
        fits(wanted),
        by_mantissa if fits(by_mantissa) else None,
        by_exponent if fits(by_exponent) else None,
        by_crystal if fits(of_crystal(by_crystal)) else None,
        best(every),
    )
