"""Memory that programs have allocated and not freed, as LTTng-UST's libc wrapper tells it.

Bytes that were asked for since the trace began: what was allocated before is not known, nor is
anything behind the first lost events. An allocation ends with the next event of its address in the
same process, since the wrapper tells a ``realloc`` when its old address may be another's already.

Source: liblttng-ust-libc-wrapper.so, lttng-ust(3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.loaded_modules import context
from benchvise.trace.analysis.model import Analysis, Bools, Ints, Rows

_PROVIDER = "lttng_ust_libc:"


@dataclass(frozen=True, slots=True)
class HeapSteps:
    """Bytes that a process has allocated: each value holds from ``time`` (ns) to the next one, the
    last until ``until``. ``process`` is 0 where the trace does not tell processes apart."""

    process: int
    time: Ints
    allocated: Ints
    until: int


@dataclass(frozen=True, slots=True)
class _HeapEvents:
    """Addresses that are allocated (``size`` bytes) or freed (0), in columns."""

    time: Ints
    process: Ints
    address: Ints
    size: Ints
    allocates: Bools


def has_heap(analysis: Analysis) -> bool:
    """Whether the trace tells of memory that is allocated."""
    names = ("malloc", "calloc", "realloc", "memalign", "posix_memalign")
    return any(_PROVIDER + name in analysis.event_names for name in names)


def heap_processes(analysis: Analysis) -> list[int]:
    """The processes that ``heap_steps`` tells of, by their numbers."""
    found = [np.unique(part.process) for part in _parts(analysis)]
    return np.unique(np.concatenate(found)).tolist() if found else []


def heap_steps(analysis: Analysis) -> Iterator[HeapSteps]:
    """The memory of each process over the trace, until events are lost."""
    parts = list(_parts(analysis))
    if not parts:
        return
    # Of one moment, what is freed precedes what is allocated: a realloc in place.
    whole = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("process", "address", "time", "allocates", "size")
    ]
    order = np.lexsort((whole[3], whole[2], whole[1], whole[0]))
    process, address, time, allocates, size = (column[order] for column in whole)
    same = (process[1:] == process[:-1]) & (address[1:] == address[:-1]) & allocates[:-1]
    ended = np.flatnonzero(same)
    change = np.concatenate([size[allocates], -size[ended]])
    when = np.concatenate([time[allocates], time[ended + 1]])
    whose = np.concatenate([process[allocates], process[ended]])
    last = analysis.whole.end + 1
    lost = [
        last,
        *(analysis.whole.begin if loss.begin is None else loss.begin for loss in analysis.losses),
    ]
    until = min(lost)
    for number in np.unique(process).tolist():
        own = (whose == number) & (when < until)
        times, place = np.unique(when[own], return_inverse=True)
        if times.size:
            total: Ints = np.zeros(times.size, dtype=np.int64)
            np.add.at(total, place, change[own])
            yield HeapSteps(int(number), times, np.cumsum(total), until)


def _parts(analysis: Analysis) -> Iterator[_HeapEvents]:
    """What each event type tells."""

    def rows(name: str) -> Rows | None:
        table = analysis.events(_PROVIDER + name)
        return Rows(table) if table is not None and table.num_rows else None

    for name, address in (
        ("malloc", "ptr"),
        ("calloc", "ptr"),
        ("memalign", "ptr"),
        ("posix_memalign", "out_ptr"),
        ("realloc", "ptr"),
    ):
        if own := rows(name):
            size = own["size"] * own["nmemb"] if name == "calloc" else own["size"]
            yield _events(own, own[address], size, allocates=True)
    if own := rows("realloc"):
        # One that fails leaves the old memory where it is.
        moved = np.where((own["ptr"] == 0) & (own["size"] != 0), 0, own["in_ptr"])
        yield _events(own, moved, np.zeros(len(own), dtype=np.int64), allocates=False)
    if own := rows("free"):
        yield _events(own, own["ptr"], np.zeros(len(own), dtype=np.int64), allocates=False)


def _events(rows: Rows, address: Ints, size: Ints, *, allocates: bool) -> _HeapEvents:
    kept = address != 0
    kind = np.full(int(kept.sum()), allocates, dtype=np.bool_)
    return _HeapEvents(
        rows["time"][kept], context(rows, "vpid")[kept], address[kept], size[kept], kind
    )
