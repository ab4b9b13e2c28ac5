"""The document of a static site: many boards by what was measured on them, with ranks.

A metric is one series as any board measured it: the same benchmark, the same parameters, unit and
way of counting. A board shows of each metric what its newest run says that has samples of it.

A board's rank is one more than the number of boards that are shown to be better: those whose 95 %
interval lies wholly on the better side of its own. Boards whose intervals overlap share a rank, as
nothing shows who is first. What is unstable, or comes from an emulated board, has no rank.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from benchvise.measure.compare import LEAST_NOISE_FLOOR
from benchvise.report.data import Fact, RunData, SeriesData

FORMAT = 1
"""Raised when the meaning of a field changes."""

_SHARES = (0.4, 0.6, 0.8, 0.95)
"""From which share of the best a value is tinted deeper."""


@dataclass(frozen=True, slots=True)
class SiteMetric:
    """What is compared between boards: a series' benchmark and parameters, and how it counts."""

    id: str
    key: str
    benchmark: str
    unit: str
    better: str
    counted: str
    params: Mapping[str, str]
    boards: int = 0
    """How many boards have a value of it."""


@dataclass(frozen=True, slots=True)
class SiteValue:
    """A board's value of a metric, in its unit: the median and its 95 % interval.

    ``noise_floor`` is how far processes of the run differ, at least 1 %, null when there was only
    one process. ``rank`` is null where there is none, ``unranked`` says why. ``share`` is how near
    the median is to the best ranked one, from 0 to 1.
    """

    metric: str
    median: float
    low: float
    high: float
    n: int
    processes: int
    stable: bool
    noise_floor: float | None
    run: str
    causes: tuple[str, ...]
    rank: int | None = None
    ranked: int = 0
    unranked: str = ""
    share: float | None = None

    @property
    def tint(self) -> int:
        """From 1, far from the best, to 5; 0 without a rank."""
        return 0 if self.share is None else 1 + bisect_right(_SHARES, self.share)

    @property
    def half_width(self) -> float | None:
        """Half of the interval as a share of the median; None where that means nothing."""
        return (self.high - self.low) / 2 / self.median if self.median > 0 else None


@dataclass(frozen=True, slots=True)
class SiteGap:
    """A metric that a board could not measure, and why."""

    metric: str
    na: str


@dataclass(frozen=True, slots=True)
class SiteRun:
    """A run that the values of a board come from."""

    id: str
    label: str
    suite: str
    started: str
    status: str


@dataclass(frozen=True, slots=True)
class SiteBoard:
    """A board: its name, its page, what is known of it and its state, and its values."""

    id: str
    name: str
    simulated: bool
    runs: tuple[SiteRun, ...]
    facts: tuple[Fact, ...]
    values: tuple[SiteValue, ...]
    gaps: tuple[SiteGap, ...]

    @property
    def page(self) -> str:
        """Where its page is, from the first page of the site."""
        return f"boards/{self.id}.html"

    @property
    def state(self) -> str:
        """What a tooltip tells of it: a fact a line."""
        return "\n".join(f"{fact.name}: {fact.text}" for fact in self.facts)

    def fact(self, name: str) -> str:
        """A fact by its name; empty where it is not known."""
        return next((f.text for f in self.facts if f.name == name and f.known), "")


@dataclass(frozen=True, slots=True)
class Site:
    """Everything that the pages show beside the boards' own."""

    format: int
    title: str
    written: str
    version: str
    metrics: tuple[SiteMetric, ...]
    boards: tuple[SiteBoard, ...]

    def cells(self, board: SiteBoard) -> list[SiteValue | SiteGap | None]:
        """A row of the matrix: what the board has of each metric, None for nothing."""
        by_metric: dict[str, SiteValue | SiteGap] = {gap.metric: gap for gap in board.gaps}
        by_metric |= {value.metric: value for value in board.values}
        return [by_metric.get(metric.id) for metric in self.metrics]


@dataclass
class SiteBuilder:
    """Collects boards one after the other, so that only one board's samples are in memory."""

    _metrics: dict[str, SiteMetric] = field(default_factory=dict)
    _boards: list[SiteBoard] = field(default_factory=list)

    def add(self, name: str, runs: Sequence[RunData]) -> SiteBoard:
        """Adds a board with its runs, the newest first; returns it, without ranks so far."""
        values: dict[str, SiteValue] = {}
        gaps: dict[str, SiteGap] = {}
        for run in runs:
            for series in run.series:
                metric = self._metric(series)
                if series.summary is not None:
                    values.setdefault(metric, _value(metric, series, run))
                else:
                    gaps.setdefault(metric, SiteGap(metric, series.reason))
        board = SiteBoard(
            id=page_name(name),
            name=name,
            simulated=any(run.simulated for run in runs),
            runs=tuple(SiteRun(r.id, r.label, r.suite, r.started, r.status) for r in runs),
            facts=tuple(fact for fact in runs[0].facts if fact.name not in _OF_A_RUN),
            values=tuple(values.values()),
            gaps=tuple(gap for metric, gap in gaps.items() if metric not in values),
        )
        self._boards.append(board)
        return board

    def _metric(self, series: SeriesData) -> str:
        identity = json.dumps(
            [series.benchmark, series.params, series.unit, series.better, series.counted],
            sort_keys=True,
        )
        if series.summary is None:  # a series that was not measured may not know how it counts
            identity = self._like(series) or identity
        if identity not in self._metrics:
            self._metrics[identity] = SiteMetric(
                f"m{len(self._metrics)}",
                series.key,
                series.benchmark,
                series.unit,
                series.better,
                series.counted,
                series.params,
            )
        return self._metrics[identity].id

    def _like(self, series: SeriesData) -> str | None:
        """The metric of a measured series with the same parameters."""
        same = (
            identity
            for identity, metric in self._metrics.items()
            if metric.benchmark == series.benchmark and metric.params == series.params
        )
        return next(same, None)

    def site(self, title: str, written: str, version: str) -> Site:
        """The site of all boards that were added, with ranks; boards by name, metrics by key.

        Metrics that no board has a value of are left out.
        """
        measured: dict[str, list[tuple[SiteBoard, SiteValue]]] = {}
        for board in self._boards:
            for value in board.values:
                measured.setdefault(value.metric, []).append((board, value))
        metrics = sorted(
            (
                replace(metric, boards=len(measured[metric.id]))
                for metric in self._metrics.values()
                if metric.id in measured
            ),
            key=lambda metric: _natural(metric.key),
        )
        ranked: dict[str, dict[str, SiteValue]] = {board.id: {} for board in self._boards}
        for metric in metrics:
            for board_id, value in _with_ranks(measured[metric.id], metric.better):
                ranked[board_id][metric.id] = value
        boards = [
            replace(
                board,
                values=tuple(ranked[board.id].values()),
                gaps=tuple(gap for gap in board.gaps if gap.metric in measured),
            )
            for board in self._boards
        ]
        boards.sort(key=lambda board: _natural(board.name))
        return Site(FORMAT, title, written, version, tuple(metrics), tuple(boards))


_OF_A_RUN = frozenset({"Order seed", "Run", "Took", "Sampling"})
"""Facts that say nothing of a board."""


def _value(metric: str, series: SeriesData, run: RunData) -> SiteValue:
    summary = series.summary
    assert summary is not None  # noqa: S101 - the caller has looked
    spread = summary.process_spread
    return SiteValue(
        metric=metric,
        median=summary.median,
        low=summary.low,
        high=summary.high,
        n=summary.n,
        processes=summary.processes,
        stable=summary.stable,
        noise_floor=None if spread is None else max(LEAST_NOISE_FLOOR, spread),
        run=run.id,
        causes=summary.causes,
        unranked="from an emulated board" if run.simulated else "",
    )


def _with_ranks(
    values: Iterable[tuple[SiteBoard, SiteValue]], better: str
) -> Iterable[tuple[str, SiteValue]]:
    """Each board's value with its rank among those that can have one."""
    values = list(values)
    real = [value for _, value in values if value.stable and not value.unranked]
    lows, highs = sorted(v.low for v in real), sorted(v.high for v in real)
    medians = [value.median for value in real]
    best = None
    if medians:
        best = min(medians) if better == "lower" else max(medians)
    for board, value in values:
        if value.unranked or not value.stable:
            reason = value.unranked or "unstable"
            yield board.id, replace(value, unranked=reason)
            continue
        if better == "lower":
            ahead = bisect_left(highs, value.low)
        else:
            ahead = len(lows) - bisect_right(lows, value.high)
        share = None
        if best is not None and best > 0 and value.median > 0:
            share = best / value.median if better == "lower" else value.median / best
        yield board.id, replace(value, rank=ahead + 1, ranked=len(real), share=share)


def page_name(board: str) -> str:
    """A file name for a board's page that stays the same, and is no other board's."""
    readable = re.sub(r"[^a-z0-9]+", "-", board.lower()).strip("-")[:40]
    return f"{readable or 'board'}-{sha256(board.encode()).hexdigest()[:8]}"


_NUMBER = re.compile(r"(\d+)([KMGT]?)(?![a-z])")
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Sorts as people do: numbers by what they are, ``4K`` before ``64K`` before ``1M``."""
    parts: list[tuple[int, int, str]] = []
    at = 0
    for match in _NUMBER.finditer(text):
        parts += [(1, 0, text[at : match.start()].lower())] * (match.start() > at)
        parts.append((0, int(match[1][:18]) << _POWERS[match[2]], ""))
        at = match.end()
    return [*parts, (1, 0, text[at:].lower())]
