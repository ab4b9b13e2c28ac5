"""The results of the open bench as a group of the published score."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.why import publish
from benchmarks.why.open import case as cases
from benchmarks.why.open import table
from benchmarks.why.open.result import EQUAL, CaseResult
from benchmarks.why.publish import BarScore, ClassScore, Coverage, PublishedRun


def save(group: str, results: Sequence[CaseResult], draw: str = "no seeds") -> None:
    """Keeps the results of a run in a group, beside those of cases that it did not run. ``draw``
    says by which seeds it was drawn."""
    kept = {result.name: result for result in publish.load()[group].cases}
    commit = publish.commit()
    kept |= {result.name: replace(result, commit=result.commit or commit) for result in results}
    known = len(cases.held_out() if group == publish.UNSEEN else cases.development())
    of_kinds = sorted(kept.values(), key=lambda one: (one.kind, one.name))
    publish.save(group, summarised(of_kinds, known, draw))


def summarised(results: Sequence[CaseResult], known: int, draw: str = "no seeds") -> PublishedRun:
    """The score of results, of so many ``known`` cases, drawn as ``draw`` says."""
    commits = dict.fromkeys(result.commit for result in results if result.commit)
    kinds = dict.fromkeys(result.kind for result in results)
    return PublishedRun(
        date=publish.today(),
        commit=", ".join(commits) or publish.commit(),
        seeds=draw,
        machine=publish.machine(),
        minutes=round(sum(result.minutes or 0.0 for result in results), 1),
        classes=tuple(_class(kind, [r for r in results if r.kind == kind]) for kind in kinds),
        bars=tuple(BarScore(b.name, b.wanted, b.seen, b.held) for b in table.bars(results)),
        cases=tuple(results),
        known=known,
    )


def _class(name: str, results: Sequence[CaseResult]) -> ClassScore:
    answered = [r for r in results if r.counts and r.verdict and not r.killed]
    ended = [*answered, *(r for r in results if r.killed)]
    counted = [r for r in answered if r.kind != EQUAL]
    hits = sum(r.is_first for r in counted)
    experiments = [r.experiments for r in answered if r.experiments is not None]
    return ClassScore(
        name=name,
        plants=len(results),
        counted=len(counted),
        hits=hits,
        misses=len(counted) - hits,
        false=sum(bool(r.false) for r in answered),
        right=sum(r.is_right for r in answered),
        restored=sum(bool(r.restored) for r in ended),
        experiments=statistics.median(experiments) if experiments else None,
        coverage=tuple(Coverage(what, 0, 0) for what in publish.INTERVALS),
    )
