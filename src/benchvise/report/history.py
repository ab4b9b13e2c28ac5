"""One series over all runs that measured it: its values, and where they changed.

Runs of one board make a line. Within it the changes are looked for by ``measure.changepoints``;
what was measured in another way (another unit, other defaults, another way of counting) than in the
newest run is no part of the line, as it could not be told from a change.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, TypeAlias

from benchvise.measure.changepoints import ChangePoint, change_points
from benchvise.measure.model import Better, SeriesRecord
from benchvise.measure.validity import Summary
from benchvise.report.data import summary_or_reason
from benchvise.statistics.quantiles import median_of_sorted
from benchvise.store import Past
from benchvise.text import Untrusted

By = Literal["order", "time"]

MOST_BOARDS = 6
"""Lines in one picture; more cannot be told apart."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """The series in one run. ``ratio`` is its median to that of the run before on its board;
    ``left_out`` says why it is no part of the line."""

    run: str
    name: str
    board: str
    suite: str
    started: str
    kernel: str
    settings: Mapping[str, str]
    tags: tuple[str, ...]
    note: Untrusted
    simulated: bool
    summary: Summary | None
    ratio: float | None
    left_out: str


@dataclass(frozen=True, slots=True)
class HistoryLevel:
    """The median of the medians from the first to the last of these points."""

    first: int
    last: int
    median: float


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """A ``ChangePoint`` between the entry before and entry ``at`` of a board."""

    board: str
    at: int
    before: str
    after: str
    ratio: float
    low: float
    high: float
    p: float
    verdict: Literal["faster", "slower"]


@dataclass(frozen=True, slots=True)
class BoardHistory:
    """The runs of one board, the oldest first."""

    board: str
    simulated: bool
    entries: tuple[HistoryEntry, ...]
    levels: tuple[HistoryLevel, ...]
    changes: tuple[HistoryChange, ...]

    @property
    def line(self) -> tuple[HistoryEntry, ...]:
        """Those entries that make the line; levels and changes count these."""
        return tuple(entry for entry in self.entries if not entry.left_out)


@dataclass(frozen=True, slots=True)
class HistoryData:
    """A series over all runs, by board."""

    key: str
    unit: str
    better: Better
    counted: str
    boards: tuple[BoardHistory, ...]


SummaryOrReason: TypeAlias = tuple[Summary | None, str]


def _summary_of(past_run: Past) -> SummaryOrReason:
    return summary_or_reason(past_run.series)


def history_data(
    key: str, past: Sequence[Past], summary_of: Callable[[Past], SummaryOrReason] = _summary_of
) -> HistoryData:
    """The history of a series; ``past`` is the oldest run first, and not empty.

    ``summary_of`` says what is to be said of the series in a run, or why nothing is.
    """
    newest = next(
        (past_run.series for past_run in reversed(past) if past_run.series.values), past[-1].series
    )
    by_board: defaultdict[str, list[Past]] = defaultdict(list)
    for past_run in past:
        by_board[past_run.run.board].append(past_run)
    return HistoryData(
        key=key,
        unit=newest.unit,
        better=newest.better,
        counted=newest.counted,
        boards=tuple(_board(board, runs, newest, summary_of) for board, runs in by_board.items()),
    )


def _board(
    board: str,
    past: Sequence[Past],
    newest: SeriesRecord,
    summary_of: Callable[[Past], SummaryOrReason],
) -> BoardHistory:
    entries: list[HistoryEntry] = []
    before: float | None = None
    for past_run in past:
        entry = _entry(past_run, newest, before, summary_of(past_run))
        if not entry.left_out and entry.summary is not None:
            before = entry.summary.median
        entries.append(entry)
    line = [entry for entry in entries if not entry.left_out]
    medians = [entry.summary.median for entry in line if entry.summary is not None]
    points = change_points(medians)
    return BoardHistory(
        board=board,
        simulated=any(entry.simulated for entry in entries),
        entries=tuple(entries),
        levels=tuple(_levels(medians, points)),
        changes=tuple(_change(board, line, change, newest.better) for change in points),
    )


def _entry(
    past_run: Past, newest: SeriesRecord, before: float | None, summarized: SummaryOrReason
) -> HistoryEntry:
    summary, reason = summarized
    left_out = (
        reason or "not measured"
        if summary is None
        else difference_to_newest(past_run.series, newest)
    )
    if summary is not None and not left_out and summary.median <= 0:
        left_out = "a value of zero or less has no ratio"
    in_line = summary is not None and not left_out
    return HistoryEntry(
        run=past_run.run.id,
        name=(past_run.run.label or past_run.run.id),
        board=past_run.run.board,
        suite=past_run.run.suite,
        started=past_run.run.started,
        kernel=past_run.run.kernel,
        settings=dict(past_run.run.settings),
        tags=tuple(past_run.run.tags),
        note=past_run.run.note,
        simulated=past_run.run.simulated,
        summary=summary,
        ratio=summary.median / before if summary is not None and in_line and before else None,
        left_out=left_out,
    )


def difference_to_newest(series: SeriesRecord, newest: SeriesRecord) -> str:
    """Why a series is not what the newest one is; empty when it is the same."""
    for what, own, other in (
        ("unit", series.unit, newest.unit),
        ("direction", series.better, newest.better),
        ("way of counting", series.counted, newest.counted),
    ):
        if own != other:
            return f"another {what} than in the newest run: {own or 'none'}"
    own_params, new_params = dict(series.spec.params), dict(newest.spec.params)
    for name, value in own_params.items():
        if name in new_params and new_params[name] != value:
            return f"another {name} than in the newest run: {value}"
    return ""


def median_of(series: SeriesRecord) -> float | None:
    """The value of a run, as ``Summary.median``; None without samples that are all numbers."""
    values = [value for process in series.values for value in process]
    if not values or not all(map(math.isfinite, values)):
        return None
    return median_of_sorted(sorted(values))


def _levels(medians: Sequence[float], changes: Sequence[ChangePoint]) -> list[HistoryLevel]:
    ends = [0, *(change.at for change in changes), len(medians)]
    return [
        HistoryLevel(first, last - 1, median_of_sorted(sorted(medians[first:last])))
        for first, last in pairwise(ends)
        if last > first
    ]


def _change(
    board: str, line: Sequence[HistoryEntry], change: ChangePoint, better: Better
) -> HistoryChange:
    return HistoryChange(
        board=board,
        at=change.at,
        before=line[change.at - 1].run,
        after=line[change.at].run,
        ratio=change.ratio,
        low=change.low,
        high=change.high,
        p=change.p,
        verdict=verdict_of(change.ratio, better),
    )


def verdict_of(ratio: float, better: Better) -> Literal["faster", "slower"]:
    """What a change by this ratio is."""
    return "faster" if (ratio > 1) == (better == "higher") else "slower"


# -- the picture -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A run as drawn. ``order`` counts the runs of all boards, ``time`` is in ms since 1970."""

    order: int
    time: float
    name: str
    url: str
    median: float
    low: float
    high: float
    stable: bool
    n: int


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The runs of one board; ``style`` chooses colour and marker."""

    name: str
    style: int
    points: tuple[HistoryPoint, ...]
    levels: tuple[HistoryLevel, ...]
    changes: tuple[HistoryChange, ...]


@dataclass(frozen=True, slots=True)
class HistoryFigure:
    """All boards on common axes, along the order of their runs or their time."""

    id: str
    title: str
    unit: str
    better: Better
    by: By
    lines: tuple[HistoryLine, ...]


def history_figure(data: HistoryData, by: By, urls: Mapping[str, str]) -> HistoryFigure:
    """The picture of a history; ``urls`` are the addresses of the runs by their ids."""
    boards = [board for board in data.boards if board.line][:MOST_BOARDS]
    entries = sorted((e for board in boards for e in board.line), key=lambda entry: entry.started)
    orders = {entry.run: number for number, entry in enumerate(entries, 1)}
    return HistoryFigure(
        id="history",
        title=data.key,
        unit=data.unit,
        better=data.better,
        by=by,
        lines=tuple(
            HistoryLine(
                name=board.board,
                style=style,
                points=tuple(
                    _point(entry, entry.summary, orders[entry.run], urls[entry.run])
                    for entry in board.line
                    if entry.summary is not None
                ),
                levels=board.levels,
                changes=board.changes,
            )
            for style, board in enumerate(boards)
        ),
    )


def _point(entry: HistoryEntry, summary: Summary, order: int, url: str) -> HistoryPoint:
    return HistoryPoint(
        order=order,
        time=datetime.fromisoformat(entry.started).timestamp() * 1000,
        name=entry.name,
        url=url,
        median=summary.median,
        low=summary.low,
        high=summary.high,
        stable=summary.stable,
        n=summary.n,
    )
