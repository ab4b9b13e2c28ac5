"""The words of measuring: benchmark, parameter, series, sample, run.

Everything here is plain immutable data; nothing here measures, stores or prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from benchvise.documents import JsonObject, text_at, texts_at
from benchvise.text import NO_TEXT, Untrusted

Better = Literal["higher", "lower"]

_UNIT_LENGTH = 20


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a benchmark, as the probe describes it.

    ``type`` is ``size`` (bytes, with K/M/G suffix), ``integer``, ``choice`` or ``text`` (a path,
    an address). ``minimum`` and ``maximum`` bound sizes, integers and the length of a text in
    bytes; ``choices`` lists a choice's values.
    """

    name: str
    type: Literal["size", "integer", "choice", "text"]
    default: str
    summary: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A further figure of each batch, beside its value: ``key`` in a sample's ``detail``.

    ``better`` is empty where neither direction is. ``pool`` is how the batches make one figure.
    """

    key: str
    unit: str
    better: Literal["higher", "lower", ""]
    pool: Literal["median", "max", "min", "sum"]
    summary: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One measurable thing, ``family.name``, as the probe describes it.

    ``defaults`` are common parameters whose default is another for this benchmark. One that is
    ``driven_by`` the host describes itself (``benchvise.measure.hostside``) and takes only those
    common parameters that it has a default for.
    """

    id: str
    summary: str
    unit: str
    better: Better
    counted: str
    method: str
    pitfalls: str
    not_measured: str
    peer: str
    parameters: tuple[Parameter, ...]
    defaults: Mapping[str, str] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    driven_by: Literal["probe", "host"] = "probe"

    @property
    def family(self) -> str:
        """The part before the dot."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class MetricKind:
    """What a value is: its unit, which way is better, and what is counted."""

    unit: str
    better: Better
    counted: str


def measured_kind(begin: JsonObject, described: MetricKind) -> MetricKind:
    """The kind that a ``begin`` line names; where it says nothing of use, the one described."""
    unit, better = begin.get("unit"), begin.get("better")
    return MetricKind(
        unit if isinstance(unit, str) and len(unit) <= _UNIT_LENGTH else described.unit,
        "higher" if better == "higher" else "lower" if better == "lower" else described.better,
        text_at(begin, "counted") or described.counted,
    )


@dataclass(frozen=True, slots=True)
class SeriesSpec:
    """A benchmark with one set of parameters: what a series is measured with.

    ``params`` holds every parameter of the benchmark, defaults included, in the registry's
    order and in canonical spelling, so that two specs are equal when they measure the same.
    ``key`` is the short name that a person reads: only parameters that differ from the default.
    """

    benchmark: str
    params: tuple[tuple[str, str], ...]
    key: str

    @property
    def canonical(self) -> str:
        """A stable JSON text of benchmark and parameters, for matching series across runs."""
        return json.dumps([self.benchmark, dict(self.params)], sort_keys=True)


class SeriesStatus(StrEnum):
    """How far a series got."""

    PLANNED = "planned"
    MEASURED = "measured"
    NOT_AVAILABLE = "na"
    FAILED = "failed"


class RunStatus(StrEnum):
    """How far a run got."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Sample:
    """One batch: its value in the benchmark's unit, and the evidence taken around it.

    ``evidence`` is all else that the probe says of it (docs/probe-protocol.md).
    """

    index: int
    value: float
    evidence: JsonObject = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """What polluted this batch, if anything (``preempted``, ``migrated``, …)."""
        return texts_at(self.evidence, "flags")


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """All batches that one fresh probe process measured for a series."""

    index: int
    begin: JsonObject
    samples: tuple[Sample, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class SeriesRecord:
    """A series as measured: its spec, how to read its values, and its samples by process."""

    spec: SeriesSpec
    unit: str
    better: Better
    counted: str
    status: SeriesStatus
    reason: str
    processes: tuple[ProcessRecord, ...]

    @property
    def values(self) -> tuple[tuple[float, ...], ...]:
        """The sample values, one tuple a process; processes without samples are left out."""
        return tuple(tuple(s.value for s in p.samples) for p in self.processes if p.samples)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the probe said must be shown beside this result, each sentence once."""
        sentences = [text for p in self.processes for text in texts_at(p.begin, "caveats")]
        return tuple(dict.fromkeys(sentences))


@dataclass(frozen=True, slots=True)
class RunRemark:
    """What happened to the board around a run and must be known with the results it touches.

    ``rule`` is the word for it (``throttled``), ``families`` are those of the benchmarks that it
    touches (``memory``); none means all.
    """

    rule: str
    sentence: str
    families: tuple[str, ...] = ()

    def touches(self, benchmark: str) -> bool:
        """Whether a result of that benchmark may be affected."""
        return not self.families or benchmark.partition(".")[0] in self.families


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything measured on one board in one go.

    ``id`` is 12 hex digits. ``started`` and ``finished`` are ISO 8601 in UTC.
    ``host`` is the probe's description of the board. ``simulated`` is true for emulated boards.
    ``plan`` is what was to be measured; runs with the same ``group`` in it were measured in turn.
    ``tags`` and ``note`` are what users said of it afterwards.
    """

    id: str
    label: str
    board: str
    suite: str
    status: RunStatus
    reason: Untrusted
    started: str
    finished: str | None
    seed: int
    host: JsonObject
    tool_version: str
    simulated: bool
    series: tuple[SeriesRecord, ...]
    plan: JsonObject = field(default_factory=dict)
    remarks: tuple[RunRemark, ...] = ()
    tags: tuple[str, ...] = ()
    note: Untrusted = NO_TEXT

    def interleaved_with(self, other: RunRecord) -> bool:
        """Whether the two were measured process by process in turn, so that they pair up."""
        group = self.plan.get("group")
        return bool(group) and group == other.plan.get("group")
