"""Calls of instrumented functions of programs, which LTTng-UST records (lttng-ust-cyg-profile(3)).

Compiled with ``-finstrument-functions``, each function tells its entry and its exit. Calls of a
thread (context ``vtid``) nest. An exit that does not fit the last entry ends what is in between:
``longjmp`` leaves functions without exit. Of the fast variant an exit does not say of which
function, so that times around such a leap are wrong there. Across lost events nothing is paired.
Without ``vtid`` nobody knows which exit is whose: functions then have counts only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchvise.trace.analysis.calls import USER_ENTRIES, BegunCalls, CallTable, nested
from benchvise.trace.analysis.loaded_modules import AddressNames, context
from benchvise.trace.analysis.model import Analysis, Bools, Ints, Rows

_EXITS = tuple(name.replace("func_entry", "func_exit") for name in USER_ENTRIES)

_ANY = 0
"""The address of an exit that does not tell it."""


@dataclass(frozen=True, slots=True)
class UserCalls:
    """Calls of instrumented functions. ``threads`` are names by thread numbers, as the programs
    tell them; ``counted`` are functions of which only the number of calls is known, with that."""

    table: CallTable | None
    threads: tuple[tuple[int, str], ...]
    counted: tuple[tuple[str, int], ...]


def user_calls(analysis: Analysis, trace: Path) -> UserCalls | None:
    """Every call that a program told, also those without an end; None where none was told.

    ``trace`` is where the trace lies: ``symbol_files`` says where names come from.
    """
    entries = [Rows(table) for name in USER_ENTRIES if (table := analysis.events(name)) is not None]
    if not any(len(rows) for rows in entries):
        return None
    exits = [Rows(table) for name in _EXITS if (table := analysis.events(name)) is not None]
    events = _CallEvents(entries, exits, analysis)
    entered = np.flatnonzero(events.enters)
    names = AddressNames(analysis, trace)
    function, texts = names.coded(
        events.process[entered], events.address[entered], events.time[entered]
    )
    if not events.thread.any():
        counts = np.bincount(function, minlength=len(texts)).tolist()
        return UserCalls(None, (), tuple(zip(texts, counts, strict=True)))
    depth, ends, latest = _paired(events, analysis.whole.end)
    ended: Bools = ends >= 0
    begin = events.time[entered]
    end = np.where(ended, events.time[ends], begin)
    begun = BegunCalls(
        function=function,
        key=events.key[entered],
        thread=events.thread[entered],
        cpu=events.cpu[entered],
        begin=begin,
        end=end,
        duration=end - begin,
        depth=depth,
        ended=ended,
        latest=latest,
        names=texts,
    ).ordered()
    threads = dict(pair for rows in entries for pair in _thread_names(rows))
    return UserCalls(nested(analysis, begun), tuple(threads.items()), ())


class _CallEvents:
    """Entries and exits of all threads in order of time. ``key`` tells the stacks apart: those of
    threads, and of a thread those before, within and behind each loss."""

    def __init__(self, entries: list[Rows], exits: list[Rows], analysis: Analysis) -> None:
        parts = [*entries, *exits]
        enters = np.repeat([at < len(entries) for at in range(len(parts))], [*map(len, parts)])
        time: Ints = np.concatenate([rows["time"] for rows in parts])
        order = np.argsort(time, kind="stable")
        self.enters: Bools = enters[order]
        self.time = time[order]

        def joined(columns: Iterator[Ints]) -> Ints:
            whole: Ints = np.concatenate(list(columns))[order]
            return whole

        self.cpu = joined(rows["cpu"] for rows in parts)
        self.thread = joined(context(rows, "vtid") for rows in parts)
        self.process = joined(context(rows, "vpid") for rows in parts)
        self.address = joined(
            rows["addr"]
            if "addr" in rows.table.column_names
            else np.full(len(rows), _ANY, dtype=np.int64)
            for rows in parts
        )
        edges = [
            edge for loss in analysis.losses for edge in (loss.begin, loss.end) if edge is not None
        ]
        part = np.searchsorted(np.sort(np.array(edges, dtype=np.int64)), self.time)
        threads = np.stack([self.process, self.thread, part])
        self.key: Ints = _numbered(threads)


def _numbered(columns: Ints) -> Ints:
    """One number for each combination of the values of columns."""
    numbers: Ints = np.zeros(columns.shape[1], dtype=np.int64)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * values.size + place, return_inverse=True)
    return numbers


def _paired(events: _CallEvents, last: int) -> tuple[Ints, Ints, Ints]:
    """Of each entry, in order of time: how deep it is, the place of its exit (-1 for none), and
    when it had ended at the latest."""
    size = events.time.size
    order = np.argsort(events.key, kind="stable")
    key, enters = events.key[order], events.enters[order]
    firsts = np.flatnonzero(np.diff(key, prepend=-1))
    level = np.cumsum(np.where(enters, 1, -1))
    before = np.where(firsts > 0, level[firsts - 1], 0)
    level -= np.repeat(before, np.diff(np.append(firsts, size)))
    depth: Ints = np.empty(size, dtype=np.int64)
    depth[order] = np.where(enters, level - 1, level)
    # Of one stack and depth, the next event behind an entry is its exit.
    by_depth = np.lexsort((depth, events.key))
    following = np.append(by_depth[1:], 0)
    same = (events.key[by_depth] == events.key[following]) & (depth[by_depth] == depth[following])
    same &= events.enters[by_depth] & ~events.enters[following]
    if size:
        same[-1] = False
    ends: Ints = np.full(size, -1, dtype=np.int64)
    ends[by_depth[same]] = following[same]
    latest: Ints = np.full(size, last, dtype=np.int64)
    leaves = events.address[ends]
    wrong = (ends >= 0) & (leaves != _ANY) & (leaves != events.address)
    for unfit in np.unique(events.key[wrong]).tolist():
        own = np.flatnonzero(events.key == unfit)
        depth[own], ends[own], latest[own] = _by_stack(events, own, last)
    # What is called first may be deep in what the trace does not tell.
    least: Ints = np.zeros(int(events.key.max()) + 1, dtype=np.int64)
    np.minimum.at(least, events.key, depth)
    depth -= least[events.key]
    return depth[events.enters], ends[events.enters], latest[events.enters]


def _by_stack(events: _CallEvents, own: Ints, last: int) -> tuple[Ints, Ints, Ints]:
    """The same of the events of one stack, one after the other: of events, not of entries."""
    depth: Ints = np.zeros(own.size, dtype=np.int64)
    ends: Ints = np.full(own.size, -1, dtype=np.int64)
    latest: Ints = np.full(own.size, last, dtype=np.int64)
    stack: list[tuple[int, int]] = []
    rows = zip(events.enters[own].tolist(), events.address[own].tolist(), own.tolist(), strict=True)
    for at, (enters, address, place) in enumerate(rows):
        if enters:
            depth[at] = len(stack)
            stack.append((at, address))
            continue
        fitting = len(stack) - 1
        while fitting >= 0 and address not in (_ANY, stack[fitting][1]):
            fitting -= 1
        if fitting >= 0:
            ends[stack[fitting][0]] = place
            left = [inner for inner, _ in stack[fitting + 1 :]]
            latest[left] = events.time[place]
            del stack[fitting:]
    return depth, ends, latest


def _thread_names(rows: Rows) -> Iterator[tuple[int, str]]:
    """Numbers and names of threads, where the context ``procname`` was recorded."""
    if "procname" not in rows.table.column_names or not len(rows):
        return
    codes, texts = rows.texts("procname")
    threads = context(rows, "vtid")
    _, at = np.unique(threads, return_index=True)
    for place in at.tolist():
        yield int(threads[place]), texts[codes[place]]
