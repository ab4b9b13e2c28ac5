"""What the charts of a page of runs draw, as one document.

Samples, changes between runs, bars, and what was read around each batch are here; ``curves`` and
``histograms`` have a file of their own. These types are the counterpart of
``web/src/base/document.ts``; the page embeds them as JSON.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from benchvise.documents import JsonObject
from benchvise.measure.model import Sample, SeriesRecord
from benchvise.quantities import number_or_none
from benchvise.report.curves import (
    GRID_BENCHMARK,
    CurveFigure,
    GridFigure,
    curve_figures,
    curved,
    grid_figures,
)
from benchvise.report.data import ComparisonData, ReportData, RunData, SeriesData
from benchvise.report.histograms import LatencyFigure, latency_figures
from benchvise.report.responses import ResponseFigure, responses_of_runs

FORMAT = 1
"""Raised when the meaning of a field changes; the page's script refuses any other."""

NO_FIGURES: Mapping[str, Any] = MappingProxyType(
    {"format": FORMAT, "curves": [], "latencies": [], "samples": [], "changes": []}
)
"""What the page's script reads of a page without charts of runs."""

# A chart of more samples is a blob; it shows every k-th, and says so.
_MOST_DRAWN = 1000


@dataclass(frozen=True, slots=True)
class SamplePoint:
    """One batch, as drawn."""

    process: int
    value: float
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SampleFigure:
    """The samples of one series; ``every`` is above one when only each k-th is drawn."""

    id: str
    name: str
    unit: str
    stable: bool
    median: float
    low: float
    high: float
    every: int
    samples: tuple[SamplePoint, ...]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A series' ratio of the other run to the base."""

    name: str
    verdict: str
    better: str
    ratio: float
    low: float
    high: float
    noise_floor: float
    caveat: bool


@dataclass(frozen=True, slots=True)
class ChangeFigure:
    """All ratios of one comparison, the largest change first."""

    id: str
    base: str
    other: str
    rows: tuple[ChangeRow, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that is drawn in one page."""

    format: int
    curves: tuple[CurveFigure, ...]
    latencies: tuple[LatencyFigure, ...]
    samples: tuple[SampleFigure, ...]
    changes: tuple[ChangeFigure, ...]
    bars: tuple[BarFigure, ...] = ()
    grids: tuple[GridFigure, ...] = ()
    responses: tuple[ResponseFigure, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """What the page's script reads."""
        return asdict(self)


def figures(data: ReportData) -> Figures:
    """The charts of a page: curves of one run, or of all runs laid over each other."""
    curves = curve_figures(data.runs)
    return Figures(
        format=FORMAT,
        curves=curves,
        latencies=latency_figures(data.runs),
        samples=tuple(
            sample_figure(series) for run in data.runs for series in run.series if series.summary
        ),
        changes=change_figures(data),
        bars=bar_figures(data.runs, curved(data.runs)),
        grids=grid_figures(data.runs),
        responses=responses_of_runs(data.runs),
    )


def response_figures_document(figures: Sequence[ResponseFigure]) -> dict[str, Any]:
    """What the script of a page of response times reads."""
    return {**NO_FIGURES, "responses": [asdict(figure) for figure in figures]}


def change_figures(data: ReportData) -> tuple[ChangeFigure, ...]:
    """How each run compares with the first."""
    return tuple(_changes(data, comparison) for comparison in data.comparisons)


# -- samples and changes ---------------------------------------------------------------------------


def sample_figure(series: SeriesData) -> SampleFigure:
    """The samples of a measured series."""
    summary = series.summary
    if summary is None:
        raise ValueError(f"{series.key}: nothing to draw")
    every = 1 + (len(series.samples) - 1) // _MOST_DRAWN
    return SampleFigure(
        id=series.id,
        name=series.key,
        unit=series.unit,
        stable=summary.stable,
        median=summary.median,
        low=summary.low,
        high=summary.high,
        every=every,
        samples=tuple(SamplePoint(s.process, s.value, s.flags) for s in series.samples[::every]),
    )


def _changes(data: ReportData, comparison: ComparisonData) -> ChangeFigure:
    rows = [
        ChangeRow(
            name=c.key,
            verdict=c.verdict,
            better=c.better,
            ratio=c.ratio,
            low=c.low,
            high=c.high,
            noise_floor=c.noise_floor or 0.0,
            caveat=bool(c.caveats),
        )
        for c in comparison.changes
        if c.ratio and c.low and c.high
    ]
    rows.sort(key=lambda row: -max(row.ratio, 1 / row.ratio))
    return ChangeFigure(
        comparison.id,
        data.runs[comparison.base].name,
        data.runs[comparison.other].name,
        tuple(rows),
    )


# -- bars: what is no curve, the runs next to each other -------------------------------------------

_Group: TypeAlias = tuple[str, str, str]  # benchmark, unit and direction

_MOST_ROWS = 24
"""Of one chart; the others are in the tables."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A series of one run. ``best`` is its best batch; ``style`` chooses the colour."""

    style: int
    run: str
    median: float
    low: float
    high: float
    best: float
    stable: bool
    caveat: bool
    n: int


@dataclass(frozen=True, slots=True)
class BarRow:
    """The same series in all runs that measured it."""

    name: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class BarFigure:
    """The series of one benchmark on one axis, which begins at zero.

    ``counted`` is empty where they do not all count the same.
    ``left_out`` says how many series are not drawn.
    """

    id: str
    title: str
    unit: str
    better: str
    counted: str
    simulated: bool
    rows: tuple[BarRow, ...]
    left_out: int

    @property
    def several(self) -> bool:
        """Whether a row has several bars."""
        return any(len(row.bars) > 1 for row in self.rows)


def bar_figures(runs: Sequence[RunData], drawn: Collection[str] = ()) -> tuple[BarFigure, ...]:
    """One chart a benchmark, but for those that are ``drawn`` in another way.

    Of several runs, what at least two of them measured; of a single one, benchmarks of at least
    two series, as there is nothing to compare within one.
    """
    rows: defaultdict[_Group, dict[tuple[str, str], list[Bar]]] = defaultdict(dict)
    first: dict[_Group, SeriesData] = {}
    for style, run in enumerate(runs):
        for series in run.series:
            if (
                series.summary is None
                or series.benchmark in drawn
                or series.benchmark == GRID_BENCHMARK
            ):
                continue
            if series.summary.minimum <= 0:  # a bar could not tell it from nothing
                continue
            group = (series.benchmark, series.unit, series.better)
            first.setdefault(group, series)
            row = rows[group].setdefault((series.name, series.counted), [])
            row.append(_bar(style, run, series))
    figures: list[BarFigure] = []
    for group, named in rows.items():
        several = {n: bars for n, bars in named.items() if len(runs) == 1 or len(bars) > 1}
        if len(several) + (len(runs) > 1) < 2:
            continue
        figures.append(_bar_figure(f"bars{len(figures)}", first[group], several, runs))
    return tuple(figures)


def _bar_figure(
    identity: str,
    first: SeriesData,
    named: dict[tuple[str, str], list[Bar]],
    runs: Sequence[RunData],
) -> BarFigure:
    rows = [BarRow(name, tuple(bars)) for (name, _), bars in named.items()]
    counted = {counted for _, counted in named}
    styles = {bar.style for row in rows for bar in row.bars}
    return BarFigure(
        id=identity,
        title=first.benchmark,
        unit=first.unit,
        better=first.better,
        counted=counted.pop() if len(counted) == 1 else "",
        simulated=any(runs[style].simulated for style in styles),
        rows=tuple(rows[:_MOST_ROWS]),
        left_out=max(0, len(rows) - _MOST_ROWS),
    )


def _bar(style: int, run: RunData, series: SeriesData) -> Bar:
    summary = series.summary
    if summary is None:
        raise ValueError(f"{series.key}: nothing to draw")
    return Bar(
        style=style,
        run=run.name,
        median=summary.median,
        low=summary.low,
        high=summary.high,
        best=summary.minimum if series.better == "lower" else summary.maximum,
        stable=summary.stable,
        caveat=bool(series.caveats),
        n=summary.n,
    )


# -- what was read around each batch: clock, temperature, waiting ----------------------------------

_FLAGS = 8
_NOT_READ = "the probe did not say"

MOST_SAMPLES = 2000
"""Drawn in one picture; of more, every k-th."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch in the order of measuring, with what was read around it; None where it could not be.

    ``at`` is in seconds since the run began, ``clock`` in Hz (the mean of before and after),
    ``temperature`` in degrees Celsius, ``waited`` the share of the time in which it had no CPU.
    """

    process: int
    index: int
    at: float | None
    value: float
    flags: tuple[str, ...]
    clock: float | None
    temperature: float | None
    waited: float | None


@dataclass(frozen=True, slots=True)
class Strip:
    """One thing that was read at each sample, as drawn."""

    name: str
    unit: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class EvidenceFigure:
    """The samples of a series, and below them what was read at each."""

    id: str
    samples: SampleFigure
    strips: tuple[Strip, ...]


def batches(series: SeriesRecord, host: JsonObject) -> tuple[Batch, ...]:
    """The batches of a series in the order of measuring; ``host`` knows when the run began."""
    began = number_or_none(host.get("time_monotonic_ns"))
    all_batches = [
        Batch(
            process=process.index,
            index=sample.index,
            at=_at(sample, began),
            value=sample.value,
            flags=tuple(flag for flag in sample.flags[:_FLAGS]),
            clock=_clock(sample),
            temperature=_temperature(sample),
            waited=_waited(sample),
        )
        for process in series.processes
        for sample in process.samples
        if math.isfinite(sample.value)
    ]
    return tuple(sorted(all_batches, key=lambda batch: batch.at if batch.at is not None else 0.0))


_STRIPS: tuple[tuple[str, str, Callable[[Batch], float | None]], ...] = (
    ("CPU clock", "Hz", lambda batch: batch.clock),
    ("temperature", "°C", lambda batch: batch.temperature),
    ("waited for the CPU", "%", lambda b: None if b.waited is None else 100.0 * b.waited),
)


def evidence_figure(series: SampleFigure, every_batch: Sequence[Batch]) -> EvidenceFigure:
    """The picture of a series; ``series`` says what its samples are."""
    every = 1 + (len(every_batch) - 1) // MOST_SAMPLES
    drawn_batches = every_batch[::every]
    strips = [Strip(name, unit, tuple(map(read, drawn_batches))) for name, unit, read in _STRIPS]
    return EvidenceFigure(
        id="evidence",
        samples=replace(
            series,
            every=every,
            samples=tuple(SamplePoint(b.process, b.value, b.flags) for b in drawn_batches),
        ),
        strips=tuple(strip for strip in strips if any(v is not None for v in strip.values)),
    )


def missing_evidence(series: SeriesRecord) -> dict[str, str]:
    """What was not read at any batch, with the reason that the probe gave."""
    fields = {"CPU clock": "clock_before_hz", "temperature": "temperature_mc"}
    samples = [sample for process in series.processes for sample in process.samples]
    reasons_by_name = {}
    for name, field in fields.items():
        read = [sample.evidence.get(field) for sample in samples]
        if read and all(number_or_none(value) is None for value in read):
            reasons = (v.get("na") for v in read if isinstance(v, Mapping))
            reasons_by_name[name] = next(filter(None, reasons), _NOT_READ)
    return reasons_by_name


def _at(sample: Sample, began: float | None) -> float | None:
    start = number_or_none(sample.evidence.get("start_ns"))
    return None if start is None or began is None else (start - began) / 1e9


def _clock(sample: Sample) -> float | None:
    read = [number_or_none(sample.evidence.get(f"clock_{when}_hz")) for when in ("before", "after")]
    clocks = [hz for hz in read if hz is not None and hz > 0]
    return sum(clocks) / len(clocks) if clocks else None


def _temperature(sample: Sample) -> float | None:
    millidegrees = number_or_none(sample.evidence.get("temperature_mc"))
    return None if millidegrees is None else millidegrees / 1000.0


def _waited(sample: Sample) -> float | None:
    waited = number_or_none(sample.evidence.get("wait_ns"))
    window = number_or_none(sample.evidence.get("window_ns"))
    return None if waited is None or not window or window < 0 else waited / window
