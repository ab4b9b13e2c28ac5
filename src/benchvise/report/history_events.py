"""Events: changes of many series of many boards that belong together, and the state beside them.

A change point is that of one series of one board, and is found to within a run or two. Those of a
board that are no further apart make one change of the board. It lies between the two runs that most
of its series name, or, if nothing is known to have changed in the state between these, between
neighbouring ones between which something has.

Changes of several boards are one event when the same part of their state changed in the same way
within two weeks; or when they happened at the same time (each board's old state may have been
measured last before any new one was first) and nothing is known that tells them apart.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from benchvise.measure.changepoints import change_points
from benchvise.quantities import format_change
from benchvise.report.history import difference_to_newest, median_of, verdict_of
from benchvise.report.rendering import Cell, Column, Table
from benchvise.report.state_tables import value_text
from benchvise.state.diff import StateDiff
from benchvise.store import Past, PastRun
from benchvise.text import counted, enumerated, printable

REACH = 2
"""Runs by which change points of one change of a board may be apart."""

SAME_CHANGE = timedelta(days=14)
"""Time in which boards get the same new kernel or image."""

STATE_LIMIT = 12
"""Changes of the state that an event names."""

_NAMED = 2
_REACHED = ("ssh://", "rig:")
"""How names of boards begin that can be measured again; an imported run may have any."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """A part of a board's state that is not what it was; ``-`` stands for what is not there."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SeriesChange:
    """A change point of a series: as ``measure.changepoints.ChangePoint``, between two runs."""

    key: str
    before: str
    after: str
    ratio: float
    low: float
    high: float
    p: float
    verdict: Literal["faster", "slower"]


@dataclass(frozen=True, slots=True)
class BoardChange:
    """What changed on a board between the runs ``before`` and ``after``, with their times.

    ``state`` are the parts of its state that changed, None where that is not known: then
    ``state_missing`` says why.
    """

    board: str
    simulated: bool
    before: str
    after: str
    last_before: str
    first_after: str
    series: tuple[SeriesChange, ...]
    state: tuple[StateChange, ...] | None
    state_missing: str


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """Changes that belong together. ``state`` is what changed on all of these boards alike, and
    ``next_steps`` are commands that go on from here."""

    started: str
    headline: str
    state: tuple[StateChange, ...]
    boards: tuple[BoardChange, ...]
    next_steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryEvents:
    """The events of some boards, the newest first.

    ``runs`` is how many runs of each board were looked at, at most; ``left_out`` are boards that
    were not.
    """

    runs: int
    boards: tuple[str, ...]
    left_out: tuple[str, ...]
    series: int
    events: tuple[HistoryEvent, ...]


StateBetween = Callable[[PastRun, PastRun], tuple[tuple[StateChange, ...] | None, str]]
"""What changed in the state of a board from a run to a later one, or None and why not."""


def state_changes(before: PastRun, after: PastRun, diff: StateDiff | None) -> list[StateChange]:
    """What is known to differ: the settings of the run, Benchvise itself, the kernel, and all that
    the snapshots show."""
    changes = [
        StateChange(f"set {name}", *(run.settings.get(name, "-") for run in (before, after)))
        for name in {**before.settings, **after.settings}
    ]
    changes.append(StateChange("kernel", before.kernel or "-", after.kernel or "-"))
    changes.append(StateChange("benchvise", before.tool_version, after.tool_version))
    pairs = {(change.before, change.after) for change in changes}
    for difference in diff.differences if diff else ():
        label = f"{difference.item_id}.{difference.key}" if difference.key else difference.item_id
        sides = [
            "-" if entry is None or entry.missing else value_text(entry.value)
            for entry in (difference.a, difference.b)
        ]
        if tuple(sides) not in pairs:  # the kernel's release is told already
            changes.append(StateChange(label, *sides))
    return [change for change in changes if change.before != change.after]


# -- one board -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A change of a series, with the position of the run after it among those of its board."""

    at: int
    change: SeriesChange


def board_changes(past: Sequence[Past], state_between: StateBetween) -> list[BoardChange]:
    """The changes of one board; ``past`` are all series of its runs, the oldest run first."""
    runs = list({entry.run.number: entry.run for entry in past}.values())
    places = sorted(_places(past, runs), key=lambda place: place.at)
    changes = []
    while places:
        reach = places[0].at + REACH
        together = [place for place in places if place.at <= reach]
        places = places[len(together) :]
        changes.append(_board_change(runs, together, state_between))
    return changes


def _places(past: Sequence[Past], runs: Sequence[PastRun]) -> Iterator[_Place]:
    position = {run.number: at for at, run in enumerate(runs)}
    by_key: defaultdict[str, list[Past]] = defaultdict(list)
    for entry in past:
        by_key[entry.series.spec.key].append(entry)
    for key, entries in by_key.items():
        measured = [entry for entry in entries if entry.series.values]
        if not measured:
            continue
        newest = measured[-1].series
        line = [
            (entry.run, value)
            for entry in measured
            if (value := median_of(entry.series)) is not None
            and value > 0  # others have no ratio
            and not difference_to_newest(entry.series, newest)
        ]
        for point in change_points([value for _, value in line]):
            before, after = line[point.at - 1][0], line[point.at][0]
            change = SeriesChange(
                key=key,
                before=before.id,
                after=after.id,
                ratio=point.ratio,
                low=point.low,
                high=point.high,
                p=point.p,
                verdict=verdict_of(point.ratio, newest.better),
            )
            yield _Place(position[after.number], change)


def _board_change(
    runs: Sequence[PastRun], together: Sequence[_Place], state_between: StateBetween
) -> BoardChange:
    votes = Counter(place.at for place in together)
    at = max(votes, key=lambda position: (votes[position], -position))
    state, reason = state_between(runs[at - 1], runs[at])
    if not state:
        for near in (at - 1, at + 1):
            if 0 < near < len(runs) and (other := state_between(runs[near - 1], runs[near]))[0]:
                at, (state, reason) = near, other
                break
    by_size = sorted(
        (place.change for place in together), key=lambda change: -abs(math.log(change.ratio))
    )
    return BoardChange(
        board=runs[at].board,
        simulated=runs[at].simulated,
        before=runs[at - 1].id,
        after=runs[at].id,
        last_before=runs[at - 1].started,
        first_after=runs[at].started,
        series=tuple(by_size),
        state=state,
        state_missing=reason,
    )


# -- all boards ------------------------------------------------------------------------------------


def group_events(changes: Sequence[BoardChange]) -> list[HistoryEvent]:
    """The events that changes of boards make, the newest first."""
    groups: list[list[BoardChange]] = []
    for change in sorted(changes, key=lambda change: datetime.fromisoformat(change.first_after)):
        group = next((g for g in reversed(groups) if _belongs(change, g)), None)
        if group is None:
            groups.append([change])
        else:
            group.append(change)
    return [_event(group) for group in reversed(groups)]


def _belongs(change: BoardChange, group: Sequence[BoardChange]) -> bool:
    """Whether a change is one more of an event, which has at most one of each board."""
    first = group[0]
    if any(other.board == change.board for other in group):
        return False
    common = _common_state([change, *group])
    distance = datetime.fromisoformat(change.first_after) - datetime.fromisoformat(
        first.first_after
    )
    if common:
        return distance <= SAME_CHANGE
    is_same_time = all(
        datetime.fromisoformat(change.last_before) < datetime.fromisoformat(other.first_after)
        for other in group
    )
    return is_same_time and not (change.state and any(other.state for other in group))


def _common_state(boards: Sequence[BoardChange]) -> tuple[StateChange, ...]:
    """What changed alike on all boards of which something is known."""
    states = [board.state for board in boards if board.state]
    if not states or len(states) < len(boards):
        return ()
    return tuple(change for change in states[0] if all(change in state for state in states[1:]))


def _event(boards: Sequence[BoardChange]) -> HistoryEvent:
    state = _common_state(boards)
    if not state:
        state = next((board.state for board in boards if board.state), ())
    event = HistoryEvent(
        started=boards[0].first_after,
        headline="",
        state=state,
        boards=tuple(sorted(boards, key=lambda board: (-len(board.series), board.board))),
        next_steps=(),
    )
    return replace(event, headline=_headline(event), next_steps=tuple(_next_steps(event)))


def _headline(event: HistoryEvent) -> str:
    """``17 series of 4 boards at 2026-11-20: kernel 6.12.9 → 6.12.10``."""
    series = {change.key for board in event.boards for change in board.series}
    what = f"{len(series)} series of {counted(len(event.boards), 'board')} at {event.started[:10]}"
    if event.state:
        named = [f"{s.what} {s.before} → {s.after}" for s in event.state[:_NAMED]]
        more = len(event.state) - _NAMED
        return f"{what}: {', '.join(named)}{f' and {more} more' if more > 0 else ''}"
    if any(board.state is None for board in event.boards):
        return f"{what}: what changed is not known"
    return f"{what}: nothing is known to have changed in the state"


def _next_steps(event: HistoryEvent) -> Iterator[str]:
    """On the board with the most series of the event, and the series that changed most there."""
    board = event.boards[0]
    series, name = board.series[0].key, board.board
    if not all(map(_is_typed, (series, name))):
        return  # a name that cannot be typed: by hand
    if name == "local" or name.startswith(_REACHED):
        yield shlex.join(("benchvise", "why", "--good", board.before, name, "--bench", series))
    yield shlex.join(("benchvise", "compare", board.before, board.after))
    kernel = next((change for change in event.state if change.what == "kernel"), None)
    if kernel is not None and _is_typed(kernel.before) and _is_typed(kernel.after):
        sides = shlex.join(("--good", kernel.before, "--bad", kernel.after, "--bench", series))
        yield f"benchvise bisect {sides} --git DIR --build CMD"


def _is_typed(text: str) -> bool:
    """Whether it can be pasted into a shell as it is shown."""
    return bool(text) and not text.startswith("-") and printable(text, len(text)) == text


# -- as a table ------------------------------------------------------------------------------------

_COLUMNS = (
    Column("Series"),
    Column("Board"),
    Column("Change", right=True),
    Column("Ratio, 95 %", right=True),
    Column("Verdict"),
    Column("Before"),
    Column("After"),
)


def event_rows(event: HistoryEvent, limit: int | None) -> Table:
    """An event: the largest changes first, at most ``limit``; below, what changed in the state."""
    changes = [(board, change) for board in event.boards for change in board.series]
    changes.sort(key=lambda pair: -abs(math.log(pair[1].ratio)))
    remarks = [f"{s.what}: {s.before} → {s.after}" for s in event.state[:STATE_LIMIT]]
    if len(event.state) > STATE_LIMIT:
        remarks.append(f"{len(event.state) - STATE_LIMIT} more parts of the state changed")
    for board in event.boards:
        own = [change for change in board.state or () if change not in event.state]
        if own:
            named = [f"{s.what}: {s.before} → {s.after}" for s in own]
            remarks.append(f"{board.board} also: {enumerated(named, STATE_LIMIT, '; ')}")
    reasons = {board.state_missing: None for board in event.boards if board.state is None}
    remarks += [f"state not known: {reason}" for reason in reasons]
    if limit is not None and len(changes) > limit:
        remarks.append(f"{len(changes) - limit} more changes of series (--all)")
    return Table(
        event.headline,
        _COLUMNS,
        tuple(_row(board, change) for board, change in changes[:limit]),
        tuple(remarks),
        simulated=any(board.simulated for board in event.boards),
    )


def _row(board: BoardChange, change: SeriesChange) -> tuple[Cell, ...]:
    return (
        Cell(change.key, "strong"),
        Cell(board.board),
        Cell(format_change(change.ratio), "good" if change.verdict == "faster" else "bad"),
        Cell(f"{change.low:.3f} to {change.high:.3f}"),
        Cell(change.verdict),
        Cell(change.before, "muted"),
        Cell(change.after, "muted"),
    )
