"""What the tracers osnoise and timerlat measured in the span selected, and who interfered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchvise.documents import in_json
from benchvise.trace.analysis.noise import NOISE_EVENTS, CpuNoise, NoiseSource, osnoise
from benchvise.trace.analysis.noise import SAMPLE_EVENTS as NOISE_SAMPLES
from benchvise.trace.analysis.timerlat import SAMPLE_EVENTS as TIMERLAT_SAMPLES
from benchvise.trace.analysis.timerlat import ContextLatency, WorstActivation, timerlat
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

_EVENTS = (*NOISE_EVENTS, *NOISE_SAMPLES, *TIMERLAT_SAMPLES)
_MOST_SOURCES = 500
_WORST = 10


@dataclass(frozen=True, slots=True)
class NoiseAnswer:
    """Noise and latencies by CPU, who interfered, and the worst activations of timerlat taken
    apart. Times in ns, moments since the first event. ``more`` sources are left out."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    cpus: tuple[CpuNoise, ...]
    sources: tuple[NoiseSource, ...]
    more: int
    latencies: tuple[ContextLatency, ...]
    worst: tuple[WorstActivation, ...]
    has_noises: bool


def has_noise(loaded: LoadedTrace) -> bool:
    """Whether the trace holds anything of these tracers: not only describes it."""
    return any(event in loaded.trace.counts for event in _EVENTS)


def noise(loaded: LoadedTrace, query: TraceQuery) -> NoiseAnswer:
    """``noise``: of the entries of osnoise and timerlat, and of the noises that end in the
    span."""
    part = query.part(loaded)
    measured = osnoise(part.analysis)
    tasks = dict(part.trace.description["tasks"])
    latency = timerlat(part.analysis, part.trace.source.symbol, tasks, worst=_WORST)
    origin = part.analysis.whole.begin
    return NoiseAnswer(
        answered_part(part),
        tuple(
            replace(cpu, most_at=cpu.most_at - origin, longest_at=cpu.longest_at - origin)
            for cpu in measured.cpus
        ),
        tuple(
            replace(source, worst_at=source.worst_at - origin)
            for source in measured.sources[:_MOST_SOURCES]
        ),
        max(0, len(measured.sources) - _MOST_SOURCES),
        tuple(replace(row, worst_at=row.worst_at - origin) for row in latency.latencies),
        tuple(
            replace(worst, due=worst.due - origin, at=worst.at - origin) for worst in latency.worst
        ),
        latency.has_noises,
    )
