"""The data of a report: runs, facts about them, their series and comparisons as one JSON document.

The page's tables are rendered from this document, its charts from what ``figures`` takes out of
it, and it is written as ``data.json`` beside the page. Every text in it is cleaned and bounded;
values keep the units of the wire (``B/s``, ``ns``, ``Hz``) and are never rounded. What is missing
is ``null``.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from benchvise.documents import JsonObject, encode, in_json
from benchvise.measure.compare import Comparison, RunComparison, compare_runs
from benchvise.measure.equal_runs import EqualRuns
from benchvise.measure.histogram import PERCENTILES, Quantile, merged_histogram
from benchvise.measure.insights import Insight, insights
from benchvise.measure.metrics import CounterTable, pooled_figures
from benchvise.measure.model import RunRecord, RunRemark, Sample, SeriesRecord, SeriesStatus
from benchvise.measure.validity import Summary, summarise
from benchvise.quantities import finite, format_elapsed, format_size, format_time
from benchvise.report.sinks import json_text
from benchvise.state.diff import StateDiff
from benchvise.tails import TailDifference
from benchvise.text import Untrusted


@dataclass(frozen=True, slots=True)
class LatencyStep:
    """How many latencies lie from ``low`` to ``high`` ns, as a share of all."""

    low: int
    high: int
    share: float


@dataclass(frozen=True, slots=True)
class LatencyData:
    """All latencies of a series, of every batch: how many, their ends in ns, and their shape."""

    count: int
    minimum: int
    maximum: int
    quantiles: tuple[Quantile, ...]
    steps: tuple[LatencyStep, ...]


def latency_data(series: SeriesRecord) -> LatencyData | None:
    """None for a series whose benchmark keeps no histogram."""
    histogram = merged_histogram(series)
    if histogram is None:
        return None
    return LatencyData(
        count=histogram.count,
        minimum=histogram.minimum,
        maximum=histogram.maximum,
        quantiles=tuple(histogram.quantile(percent) for percent in PERCENTILES),
        steps=tuple(
            LatencyStep(low, high, count / histogram.count)
            for low, high, count in histogram.coarse()
        ),
    )


FORMAT = 1
"""Raised when the meaning of a field changes."""

NOTE_LIMIT = 4000
"""Characters of a note: all that the store takes."""

_CAVEATS = 8
_FLAGS = 8


@dataclass(frozen=True, slots=True)
class FigureData:
    """A further figure of a series over all its batches, in ``unit``."""

    key: str
    unit: str
    better: str
    pool: str
    summary: str
    value: float
    minimum: float
    maximum: float
    n: int


@dataclass(frozen=True, slots=True)
class SampleData:
    """One batch: which process measured it, its value, and what polluted it."""

    process: int
    value: float
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeriesData:
    """One series. ``name`` is its key without the benchmark; ``summary`` is null if unmeasured."""

    id: str
    key: str
    name: str
    benchmark: str
    family: str
    params: dict[str, str]
    unit: str
    better: str
    counted: str
    status: str
    reason: str
    caveats: tuple[str, ...]
    summary: Summary | None
    samples: tuple[SampleData, ...]
    figures: tuple[FigureData, ...]
    latencies: LatencyData | None
    missed: int = field(metadata=in_json(hidden=True))
    """Stimuli without a response, of response times of signals."""

    @property
    def chosen(self) -> list[tuple[str, str]]:
        """The parameters that the user chose: those that stand in the name."""
        named = set(self.name.split(", "))
        return [item for item in self.params.items() if "=".join(item) in named]


@dataclass(frozen=True, slots=True)
class RunData:
    """One run. ``name`` is the label, or the id where there is none.

    ``settings`` is what the board was set to for this run alone: values by knob.
    """

    id: str
    name: str
    label: str
    board: str
    suite: str
    status: str
    reason: Untrusted
    started: str
    finished: str | None
    seed: int
    tool_version: str
    simulated: bool
    settings: dict[str, str]
    facts: tuple[Fact, ...]
    caches: tuple[Cache, ...]
    remarks: tuple[RunRemark, ...]
    series: tuple[SeriesData, ...]
    insights: tuple[Insight, ...]
    tags: tuple[str, ...]
    note: Untrusted


@dataclass(frozen=True, slots=True)
class ChangeData:
    """A series in two runs; ``ratio`` is the other run's value to the base's."""

    key: str
    unit: str
    better: str
    verdict: str
    reason: str
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    effect: float | None
    noise_floor: float | None
    base: Summary | None
    other: Summary | None
    caveats: tuple[str, ...]
    tails: tuple[TailDifference, ...]
    """The rare late times of the other beside those of the base; empty for series that keep no
    single times."""


@dataclass(frozen=True, slots=True)
class ComparisonData:
    """A run compared with the base run; both are indexes into the document's runs."""

    id: str
    base: int
    other: int
    counts: dict[str, int]
    changes: tuple[ChangeData, ...]

    @property
    def tails(self) -> list[tuple[str, TailDifference]]:
        """How the rare late times differ, by the keys of the series."""
        return [(change.key, tail) for change in self.changes for tail in change.tails]


@dataclass(frozen=True, slots=True)
class ReportData:
    """The whole document. The first run is the base of all comparisons."""

    format: int
    runs: tuple[RunData, ...]
    comparisons: tuple[ComparisonData, ...]

    @property
    def simulated(self) -> bool:
        """Whether any number in the report comes from an emulated board."""
        return any(run.simulated for run in self.runs)


def report_data(runs: Sequence[RunRecord]) -> ReportData:
    """Collects what is to be shown of ``runs``; the first is the base of the comparisons."""
    if not runs:
        raise ValueError("a report needs at least one run")
    return assembled([one_run(run) for run in runs], [one_change(runs[0], run) for run in runs[1:]])


def assembled(runs: Sequence[RunData], changes: Sequence[ComparisonData]) -> ReportData:
    """The document of runs and of how each but the first compares with the first."""
    names = _names(runs)
    return ReportData(
        format=FORMAT,
        runs=tuple(
            replace(
                run,
                name=name,
                series=tuple(
                    replace(series, id=f"run{index}-series{number}")
                    for number, series in enumerate(run.series)
                ),
            )
            for index, (run, name) in enumerate(zip(runs, names, strict=True))
        ),
        comparisons=tuple(
            replace(change, id=f"comparison{index}", other=index)
            for index, change in enumerate(changes, 1)
        ),
    )


def run_data(run: RunRecord) -> RunData:
    """One run by itself: what ``--json`` prints of it."""
    return assembled([one_run(run)], []).runs[0]


@dataclass(frozen=True, slots=True)
class ComparisonDocument:
    """What ``--json`` prints of a comparison of two runs."""

    state: StateDiff | None
    """How the boards' settings differ; null when that is not known."""
    counters: Mapping[str, CounterTable]
    """What one iteration costs on both sides, by the key of the series."""
    equal_runs: tuple[EqualRuns, ...] | None
    """How far stored runs of one state differ in the series that changed most; null where the two
    were measured in turn, which makes that needless."""
    base: str
    other: str
    counts: Mapping[str, int]
    """How many series there are of each verdict."""
    changes: tuple[ChangeData, ...]


def comparison_data(
    result: RunComparison,
    counters: Mapping[str, CounterTable] | None = None,
    state: StateDiff | None = None,
    equal_runs: tuple[EqualRuns, ...] | None = None,
) -> ComparisonDocument:
    """One comparison: what ``--json`` prints of it.

    ``counters`` by the key of the series: what one iteration costs on both sides. ``state`` is how
    the boards' settings differ, null when that is not known. ``equal_runs``: what chance does.
    """
    return ComparisonDocument(
        equal_runs=equal_runs,
        state=state,
        counters=dict(counters or {}),
        base=result.a,
        other=result.b,
        counts={str(verdict): count for verdict, count in result.counts.items()},
        changes=tuple(_change(comparison, ()) for comparison in result.comparisons),
    )


def to_json(document: ReportData) -> str:
    """The document as strict JSON: whatever is not finite has become null before."""
    return json_text(encode(document), indent=1)


def _names(runs: Sequence[RunData]) -> list[str]:
    """Labels, with the id where a label is missing or taken twice."""
    labels = [run.label for run in runs]
    return [
        run.label
        if run.label and labels.count(run.label) == 1
        else " ".join(filter(None, (run.label, run.id)))
        for run in runs
    ]


def one_run(run: RunRecord) -> RunData:
    """What is to be shown of one run, by itself."""
    return RunData(
        id=run.id,
        name=(run.label or run.id),
        label=run.label,
        board=run.board,
        suite=run.suite,
        status=run.status,
        reason=run.reason,
        started=run.started,
        finished=run.finished if run.finished else None,
        seed=run.seed,
        tool_version=run.tool_version,
        simulated=run.simulated,
        settings=settings(run),
        facts=run_facts(run),
        caches=caches(run.host),
        remarks=run.remarks,
        series=tuple(
            _series(series, f"series{number}") for number, series in enumerate(run.series)
        ),
        insights=insights(run),
        tags=run.tags,
        note=run.note,
    )


def _series(series: SeriesRecord, identity: str) -> SeriesData:
    spec = series.spec
    summary, reason = summary_or_reason(series)
    return SeriesData(
        id=identity,
        key=spec.key,
        name=short_name(spec.key, spec.benchmark),
        benchmark=spec.benchmark,
        family=spec.benchmark.partition(".")[0],
        params=dict(spec.params),
        unit=series.unit,
        better=series.better,
        counted=series.counted,
        status=series.status,
        reason=reason,
        caveats=_caveats(series),
        summary=summary,
        samples=() if summary is None else _samples(series),
        figures=_figures(series),
        latencies=latency_data(series),
        missed=sum(_missed(process.begin) for process in series.processes),
    )


def _figures(series: SeriesRecord) -> tuple[FigureData, ...]:
    return tuple(
        FigureData(
            key=pooled.figure.key,
            unit=pooled.figure.unit,
            better=pooled.figure.better,
            pool=pooled.figure.pool,
            summary=pooled.figure.summary,
            value=pooled.value,
            minimum=pooled.minimum,
            maximum=pooled.maximum,
            n=pooled.n,
        )
        for pooled in pooled_figures(series)
    )


def short_name(key: str, benchmark: str) -> str:
    """The parameters in a series' key, without the benchmark that the heading names."""
    rest = key.removeprefix(benchmark).strip(" :,") if key != benchmark else ""
    return rest.replace(",", ", ") or "defaults"


def summary_or_reason(series: SeriesRecord) -> tuple[Summary | None, str]:
    """What can be said of a series' samples, or else why there is nothing to be said."""
    reason = series.reason
    if not series.values:
        return None, reason or _UNMEASURED[series.status]
    if not all(math.isfinite(value) for values in series.values for value in values):
        return None, "a sample is not a finite number"
    return summarise(series), reason


_UNMEASURED = {
    SeriesStatus.PLANNED: "the run ended before this was measured",
    SeriesStatus.MEASURED: "no samples were kept",
    SeriesStatus.NOT_AVAILABLE: "not possible on this board",
    SeriesStatus.FAILED: "measuring this failed",
}


def _samples(series: SeriesRecord) -> tuple[SampleData, ...]:
    """In the order of measuring: processes of one series may have been measured in any order."""
    batches = [(process, sample) for process in series.processes for sample in process.samples]
    batches.sort(key=lambda batch: _start(batch[1]))
    return tuple(
        SampleData(
            process=process.index,
            value=sample.value,
            flags=tuple(flag for flag in sample.flags[:_FLAGS]),
        )
        for process, sample in batches
    )


def _missed(begin: JsonObject) -> int:
    missed = begin.get("missed")
    return missed if isinstance(missed, int) else 0


def _start(sample: Sample) -> float:
    """When a batch began; batches whose start is unknown keep their place (the sort is stable)."""
    start = sample.evidence.get("start_ns")
    return float(start) if isinstance(start, int | float) and math.isfinite(start) else 0.0


def _caveats(*measured: SeriesRecord) -> tuple[str, ...]:
    sentences = [c for series in measured for c in series.caveats[:_CAVEATS]]
    return tuple(dict.fromkeys(sentences))


def one_change(base: RunRecord, other: RunRecord) -> ComparisonData:
    """How a run compares with its base, as if there were no others."""
    comparison = compare_runs(base, other)
    measured: defaultdict[str, list[SeriesRecord]] = defaultdict(list)
    for run in (base, other):
        for series in run.series:
            measured[series.spec.canonical].append(series)
    return ComparisonData(
        id="comparison1",
        base=0,
        other=1,
        counts={str(verdict): count for verdict, count in comparison.counts.items()},
        changes=tuple(_change(c, measured[c.spec.canonical]) for c in comparison.comparisons),
    )


def _change(comparison: Comparison, measured: Sequence[SeriesRecord]) -> ChangeData:
    return ChangeData(
        key=comparison.spec.key,
        unit=comparison.unit,
        better=comparison.better,
        verdict=str(comparison.verdict),
        reason=comparison.reason,
        ratio=finite(comparison.ratio),
        low=finite(comparison.low),
        high=finite(comparison.high),
        p=finite(comparison.p),
        effect=finite(comparison.effect),
        noise_floor=finite(comparison.noise_floor),
        base=comparison.a,
        other=comparison.b,
        caveats=_caveats(*measured),
        tails=comparison.tails,
    )


# -- what is worth knowing about where and how a run was measured ----------------------------------

_CHOSEN = re.compile(r"\[([a-z0-9_-]+)\]")
_CACHE_TYPES = {"Data": "d", "Instruction": "i", "Unified": ""}
_CACHE_COUNT = 16
_LARGEST_CACHE = 1 << 40


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a description; ``known`` is false when ``text`` says why there is no value."""

    name: str
    text: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache that holds data: ``L1d``, and its size in bytes."""

    name: str
    size: int


def run_facts(run: RunRecord) -> tuple[Fact, ...]:
    """The board first, then its state, then the run itself."""
    return tuple(_facts(run))


def _facts(run: RunRecord) -> Iterator[Fact]:
    host = run.host
    yield Fact("Board", run.board)
    yield from _host(host, ("board_model", "product"), "Model")
    yield from _host(host, ("cpu_model",), "CPU", always=True)
    yield from _host(host, ("machine",), "Architecture")
    yield from _host(host, ("cpus_online",), "CPUs online")
    memory = host.get("memory_bytes")
    if _is_size(memory):
        yield Fact("Memory", format_size(memory))
    held = caches(host)
    if held:
        yield Fact("Caches", ", ".join(f"{c.name} {format_size(c.size)}" for c in held))
    yield from _host(host, ("kernel",), "Kernel", always=True)
    yield from _host(host, ("hostname",), "Host name")
    yield from _host(host, ("governor",), "CPU governor", always=True)
    yield from _host(host, ("thp",), "Transparent huge pages")
    yield from _host(host, ("clocksource",), "Clock source")
    if run.suite:
        yield Fact("Suite", run.suite)
    changes = settings(run)
    if changes:
        yield Fact(
            "Set for this run", ", ".join(f"{knob}={value}" for knob, value in changes.items())
        )
    yield from _prepared(run)
    yield Fact("Sampling", _sampling(run))
    yield Fact("Order seed", str(run.seed))
    yield Fact("Started", format_time(run.started))
    yield Fact("Took", format_elapsed(run.started, run.finished))
    yield Fact("Run", run.id)
    if run.tags:
        yield Fact("Tags", ", ".join(run.tags))
    if run.note:
        yield Fact("Note", run.note.raw)
    yield Fact("Measured by", f"Benchvise {run.tool_version}")


def _prepared(run: RunRecord) -> Iterator[Fact]:
    """How a board of a rig came to where it was measured."""
    prepared = run.plan.get("prepared")
    if not isinstance(prepared, Mapping):
        return
    image, boot = prepared.get("image"), prepared.get("boot")
    if isinstance(image, Mapping):
        yield Fact("Image", f"{image.get('name', '?')} {str(image.get('sha256', ''))[:12]}")
    phases = boot.get("phases") if isinstance(boot, Mapping) else None
    if isinstance(phases, Mapping):
        times = [
            f"{name} {seconds:.1f} s"
            for name, seconds in phases.items()
            if isinstance(seconds, int | float) and seconds > 0
        ]
        yield Fact("Booted", ", ".join(times))


def settings(run: RunRecord) -> dict[str, str]:
    """What the board was set to for this run alone: values by knob."""
    values = run.plan.get("settings")
    if not isinstance(values, Mapping):
        return {}
    return {str(knob): str(value) for knob, value in values.items()}


def _host(
    host: JsonObject, keys: tuple[str, ...], name: str, *, always: bool = False
) -> Iterator[Fact]:
    """The first of ``keys`` that the board could read; its reason, if asked for, when none is."""
    reason = "the probe did not say"
    for key in keys:
        value = host.get(key)
        if isinstance(value, Mapping):
            reason = str(value.get("na", reason))
        elif value not in (None, ""):
            text = str(value)
            chosen = _CHOSEN.search(text)
            yield Fact(name, chosen[1] if chosen else text)
            return
    if always:
        yield Fact(name, f"not known: {reason}", known=False)


def _sampling(run: RunRecord) -> str:
    """``3 processes of 21 batches``, or the range when series differ."""
    processes = {len(s.processes) for s in run.series if s.processes}
    batches = {len(p.samples) for s in run.series for p in s.processes if p.samples}
    if not processes or not batches:
        return "nothing was measured"
    return f"{_count(processes, 'process', 'processes')} of {_count(batches, 'batch', 'batches')}"


def _count(counts: set[int], singular: str, plural: str) -> str:
    low, high = min(counts), max(counts)
    if low == high:
        return f"{low} {singular if low == 1 else plural}"
    return f"{low} to {high} {plural}"


def caches(host: JsonObject) -> tuple[Cache, ...]:
    """The caches that hold data, as the probe reported them, the nearest first."""
    reported = host.get("caches")
    if not isinstance(reported, list | tuple):
        return ()
    sizes: dict[str, int] = {}
    for entry in reported[:_CACHE_COUNT]:
        if not isinstance(entry, Mapping):
            continue
        level, size = entry.get("level"), entry.get("size")
        suffix = _CACHE_TYPES.get(str(entry.get("type", "Unified")), "i")
        if isinstance(level, int) and 0 < level < 10 and _is_size(size) and suffix != "i":
            sizes.setdefault(f"L{level}{suffix}", size)
    return tuple(Cache(name, size) for name, size in sorted(sizes.items(), key=lambda c: c[1]))


def _is_size(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST_CACHE
