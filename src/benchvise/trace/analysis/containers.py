"""In which cgroup or container threads ran, as far as a trace tells it.

The cgroup is where the last ``cgroup_attach_task`` put a process; a child is in that of its parent
when it is forked. Where no such event is recorded, LTTng's numbers of PID namespaces tell processes
of containers: those whose namespace is not that of the first process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from benchvise.trace.analysis.model import Analysis, Rows

if TYPE_CHECKING:
    from benchvise.trace.native import Table

_PATH_LIMIT = 200
"""Characters of a cgroup's path."""

_STATES = "lttng_statedump_process_state"
_FORK = "sched_process_fork"
_ATTACH = "cgroup_attach_task"


def containers(analysis: Analysis) -> dict[int, str]:
    """The cgroup or container by the thread's actor; actors of which none is known are left out."""
    by_thread = _cgroups(analysis) or _namespaces(analysis)
    if not by_thread:
        return {}
    by_actor: dict[int, str] = {}
    for actor in analysis.actors:
        if actor.kind != "task" or actor.tid is None:
            continue
        place = by_thread.get(actor.tid) or by_thread.get(actor.process or -1)
        if place is not None:
            by_actor[actor.id] = place
    return by_actor


def _cgroups(analysis: Analysis) -> dict[int, str]:
    attached = analysis.events(_ATTACH)
    if attached is None or not {"pid", "dst_path"} <= set(attached.column_names):
        return {}
    rows = Rows(attached)
    codes, texts = rows.texts("dst_path")
    paths = [text if len(text) <= _PATH_LIMIT else f"{text[: _PATH_LIMIT - 1]}…" for text in texts]
    moves = [
        (int(time), int(pid), paths[int(code)], None)
        for time, pid, code in zip(rows["time"], rows["pid"], codes, strict=True)
    ]
    forks = [(time, child, None, parent) for time, parent, child in _forks(analysis)]
    place: dict[int, str] = {}
    for _, thread, path, parent in sorted([*moves, *forks], key=lambda move: move[0]):
        inherited = place.get(parent) if parent is not None else path
        if inherited is not None:
            place[thread] = inherited
    return place


def _forks(analysis: Analysis) -> Iterator[tuple[int, int, int]]:
    """Time, parent and child of each fork."""
    table = analysis.events(_FORK)
    if table is None:
        return
    names = set(table.column_names)
    parent = "parent_tid" if "parent_tid" in names else "parent_pid"
    child = "child_tid" if "child_tid" in names else "child_pid"
    if not {parent, child} <= names:
        return
    rows = Rows(table)
    for time, old, new in zip(rows["time"], rows[parent], rows[child], strict=True):
        yield int(time), int(old), int(new)


def _namespaces(analysis: Analysis) -> dict[int, str]:
    """Processes in another PID namespace than most: that of the machine."""
    spaces: dict[int, int] = {}
    for event, thread, space in (
        (_STATES, "tid", "ns_inum"),
        (_FORK, "child_tid", "child_ns_inum"),
    ):
        table: Table | None = analysis.events(event)
        if table is None or not {thread, space} <= set(table.column_names):
            continue
        rows = Rows(table)
        threads, numbers = rows[thread], rows[space]
        spaces |= {int(tid): int(number) for tid, number in zip(threads, numbers, strict=True)}
    if not spaces:
        return {}
    numbers, counts = np.unique(list(spaces.values()), return_counts=True)
    machine = spaces.get(1, int(numbers[np.argmax(counts)]))
    return {
        thread: f"PID namespace {number}" for thread, number in spaces.items() if number != machine
    }
