"""What a clock line does: frequency, duty cycle, jitter, drift, pauses; and a radio's registers.

The frequency is the slope of a straight line through the edges against their numbers, so that it
is known far better than a single period; period jitter and cycle-to-cycle jitter are those of
JESD65B. A pause is a period more than half as long again as the median one: the slope is fitted
within the longest stretch without one.

Data rates of the CC1100, CC1101 and CC2500: R = (256 + DRATE_M) * 2^DRATE_E / 2^28 * f_XOSC, with
DRATE_E in the low four bits of MDMCFG4 (register 0x10) and DRATE_M in MDMCFG3 (0x11): CC1101 data
sheet (SWRS061), section 12.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

from benchvise.documents import computed, in_json
from benchvise.errors import CaptureError, UsageError
from benchvise.signal.capture import Capture, Ticks

_LEAST_PERIODS = 4
_PAUSE = 1.5
_BLOCKS = 20
_DRIFT_PERIODS = 200


@dataclass(frozen=True, slots=True)
class ClockMetrics:
    """A clock line; frequencies in Hz, times in seconds.

    ``frequency`` has ``error``, the standard error of the fit and of the two ends' resolution;
    what the sampling clock adds to it nobody knows. ``duty`` is the share of time that it is high.
    ``jitter_rms`` and ``jitter_peak`` are those of the period (peak to peak), ``cycle_jitter`` the
    greatest change from one period to the next; below ``resolution`` nothing can be said of
    jitter. ``drift_ppm`` is the change of the frequency from start to end; None where the capture
    is too short to tell.
    """

    line: str
    periods: int
    frequency: float
    error: float
    duty: float
    jitter_rms: float
    jitter_peak: float
    cycle_jitter: float
    resolution: float
    drift_ppm: float | None
    pauses: tuple[tuple[float, float], ...]
    """When each began and how long it was."""


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
            f"{capture.path}: {clock_line.name} rises {rising.size} times: too few for a frequency",
            "record longer, or name another line with --line",
        )
    tick = capture.clock.tick_s
    periods = np.diff(rising) * tick
    middle = float(np.median(periods))
    breaks = np.flatnonzero(periods > _PAUSE * middle)
    stretch = _longest(rising, breaks)
    slope, error = _fit(stretch, capture)
    running = np.delete(periods, breaks)
    own = np.diff(stretch) * tick
    return ClockMetrics(
        line=clock_line.name,
        periods=int(periods.size),
        frequency=1.0 / slope,
        error=error / slope**2,
        duty=_duty(clock_line.of("falling"), stretch),
        jitter_rms=float(running.std()),
        jitter_peak=float(np.ptp(running)),
        cycle_jitter=float(np.abs(np.diff(own)).max()) if own.size > 1 else 0.0,
        resolution=capture.clock.resolution_s,
        drift_ppm=_drift_ppm(own),
        pauses=tuple((float(rising[at] * tick), float(periods[at])) for at in breaks),
    )


def _longest(edges: Ticks, breaks: npt.NDArray[np.intp]) -> Ticks:
    """The longest stretch of edges without a pause in it."""
    parts = np.split(edges, breaks + 1)
    return max(parts, key=len)


def _fit(edges: Ticks, capture: Capture) -> tuple[float, float]:
    """The period and its standard error, in seconds."""
    tick = capture.clock.tick_s
    numbers = np.arange(edges.size, dtype=np.float64)
    times = (edges - edges[0]) * tick
    if edges.size < 3:
        return float(times[-1] / max(1, edges.size - 1)), tick
    centred = numbers - numbers.mean()
    square = float((centred**2).sum())
    slope = float((centred * times).sum() / square)
    rest = times - times.mean() - slope * centred
    scatter = float(np.sqrt((rest**2).sum() / (edges.size - 2)))
    # What is lost to sampling repeats itself in a pattern and does not average out as noise does:
    # half a tick between the two ends is what remains.
    return slope, max(scatter / float(np.sqrt(square)), 0.5 * tick / (edges.size - 1))


def _duty(falling: Ticks, rising: Ticks) -> float:
    """The share of time that the line is high, over whole periods."""
    ends = np.searchsorted(falling, rising[:-1], side="right")
    ends = ends[ends < falling.size]
    high = (falling[ends] - rising[: ends.size]).sum()
    return float(high / (rising[-1] - rising[0]))


def _drift_ppm(periods: npt.NDArray[np.float64]) -> float | None:
    """The change of the frequency from start to end, by a line through block means."""
    if periods.size < _DRIFT_PERIODS:
        return None
    means = np.array([float(block.mean()) for block in np.array_split(periods, _BLOCKS)])
    slope = float(np.polyfit(np.arange(_BLOCKS), means, 1)[0])
    return -slope * (_BLOCKS - 1) / float(means.mean()) * 1e6


# -- data rates of radios, and which register value explains one -----------------------------------

CRYSTALS = {"cc1100": 26e6, "cc1101": 26e6, "cc2500": 26e6}
"""The usual crystal of each, in Hz; 27 MHz is allowed too."""


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
    MDMCFG3; None where none fits within the tolerance. ``nearest`` is the best of all.
    """

    wanted: DataRate
    measured: float
    agrees: bool
    by_mantissa: DataRate | None
    by_exponent: DataRate | None
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

    by_mantissa, by_exponent = best(mantissas), best(exponents)
    return RegisterComparison(
        wanted,
        measured,
        fits(wanted),
        by_mantissa if fits(by_mantissa) else None,
        by_exponent if fits(by_exponent) else None,
        best(every),
    )
