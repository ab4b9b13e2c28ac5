"""Whether a command takes longer because it computes longer, or because it waits.

By what the probe counts in each trial, so also where the command could not be watched.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchvise.quantities import format_value
from benchvise.why.case import DiagnosisState
from benchvise.why.experiments.laboratory import DISTURBANCES, Laboratory
from benchvise.why.model import Finding, Grade, Metric, Side
from benchvise.why.wording import percent

_CPU_TIMES = ("user_ns", "sys_ns")
# CPU time beyond the wall time by more than clocks may be off: the command runs in parallel.
_PARALLEL = 1.02


def is_wall_time(metric: Metric) -> bool:
    """Whether the values of a metric are the wall times of a command."""
    return metric.benchmark == "command.time" and metric.params.get("metric", "wall") == "wall"


def waiting_or_computing(case: DiagnosisState, lab: Laboratory) -> Iterator[Finding]:
    """A sentence on what the difference in wall time is; none where the command was watched, which
    tells more, where it runs on several CPUs, or where its CPU time was not counted."""
    if case.measured is None or not case.measured.shown or not is_wall_time(lab.bench.metric):
        return
    if case.witness is not None and case.witness.parts:
        return
    wall = {side: case.measured.gap.of(side) / 1e9 for side in Side}
    cpu = {side: _cpu_seconds(lab, side) for side in Side}
    good, bad = cpu[Side.GOOD], cpu[Side.BAD]
    gap = wall[Side.BAD] - wall[Side.GOOD]
    if good is None or bad is None or gap <= 0.0:
        return
    if good > _PARALLEL * wall[Side.GOOD] or bad > _PARALLEL * wall[Side.BAD]:
        return
    computing = min(1.0, max(0.0, (bad - good) / gap))
    shares = percent(1.0 - computing), percent(computing)
    yield Finding(
        "waiting or computing",
        Grade.NOTES,
        f"{shares[0]} % of the gap is waiting{_also_for_a_cpu(lab)} and {shares[1]} % is CPU time",
        f"CPU time {format_value(good, 's')} of {format_value(wall[Side.GOOD], 's')} on good, "
        f"{format_value(bad, 's')} of {format_value(wall[Side.BAD], 's')} on bad",
    )


def _also_for_a_cpu(lab: Laboratory) -> str:
    """That waiting may be for a CPU, where other programs ran beside most trials."""
    disturbed = [bool(DISTURBANCES & set(trial.flags)) for trial in lab.trials]
    return " (for a CPU too: other programs ran)" if 2 * sum(disturbed) > len(disturbed) else ""


def _cpu_seconds(lab: Laboratory, side: Side) -> float | None:
    """The median CPU time of a run in the plain trials of a side; None where it was not counted."""
    times = [
        sum(trial.counters[name] for name in _CPU_TIMES) / 1e9
        for trial in lab.trials
        if trial.side is side and not trial.flipped and all(n in trial.counters for n in _CPU_TIMES)
    ]
    return median(times) if times else None
