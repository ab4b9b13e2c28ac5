"""A side of a diagnosis that is a record: a snapshot, and what a run measured when it was taken."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchvise.documents import JsonObject, number_at, whole_at
from benchvise.errors import UsageError
from benchvise.measure.model import (
    MetricKind,
    ProcessRecord,
    RunRecord,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.state.model import Snapshot
from benchvise.why.explain.counters import of_samples
from benchvise.why.model import Finding, Grade, Side, Trial


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a side that is not there. ``run`` is None where only its state is."""

    name: str
    snapshot: Snapshot
    run: RunRecord | None = None

    def series(self, spec: SeriesSpec) -> SeriesRecord | None:
        """What the run measured of this; None without a run.

        UsageError when the run did not measure it.
        """
        if self.run is None:
            return None
        for series in self.run.series:
            if series.spec.canonical == spec.canonical and series.status is SeriesStatus.MEASURED:
                return series
        keys = ", ".join(series.spec.key for series in self.run.series[:8])
        raise UsageError(
            f"run {self.run.id} did not measure {spec.key}",
            f"it measured {keys}; measure the same there by `benchvise run`",
        )

    def trials(self, spec: SeriesSpec, kind: MetricKind, side: Side) -> tuple[Trial, ...]:
        """A trial for each process of the run, numbered from 1."""
        series = self.series(spec)
        if series is None:
            return ()
        if (series.unit, series.better) != (kind.unit, kind.better):
            raise UsageError(
                f"{self.name} measured {spec.key} in {series.unit or 'no unit'}, where "
                f"{series.better} is better; here {kind.unit or 'no unit'}, {kind.better}",
                "compare what is counted alike",
            )
        numbered = enumerate((p for p in series.processes if p.samples), 1)
        return tuple(_trial(number, side, process) for number, process in numbered)

    def findings(self) -> Iterator[Finding]:
        """What was noticed when it was recorded."""
        for remark in self.run.remarks if self.run is not None else ():
            yield Finding(remark.rule, Grade.WARNS, f"{self.name}, when it was recorded: "
                          f"{remark.sentence}")  # fmt: skip


def _trial(number: int, side: Side, process: ProcessRecord) -> Trial:
    values = tuple(sample.value for sample in process.samples)
    evidence = [sample.evidence for sample in process.samples]
    elapsed = [ns / 1e9 for item in evidence if (ns := whole_at(item, "elapsed_ns")) is not None]
    return Trial(
        number=number,
        side=side,
        flipped=(),
        value=statistics.median(values),
        values=values,
        started=0.0,
        seconds=round(sum(elapsed), 3),
        counters=of_samples(evidence),
        covariates=covariates(evidence),
        flags=tuple(dict.fromkeys(flag for sample in process.samples for flag in sample.flags)),
    )


def covariates(samples: Sequence[JsonObject]) -> dict[str, float]:
    """What else is known of the moment: ``clock_hz``, ``temperature_c``."""
    values_by_name: dict[str, float] = {}
    for name, key, unit in (
        ("clock_hz", "clock_before_hz", 1.0),
        ("temperature_c", "temperature_mc", 1e-3),
    ):
        values = [value * unit for s in samples if (value := number_at(s, key)) is not None]
        if values:
            values_by_name[name] = statistics.median(values)
    return values_by_name
