"""Lanes: boards that share something that disturbs measurements; and how many lanes go on at once.

Boards of one lane are measured in turn, lanes at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.environment import PREFIX, Rig, is_rig
from benchvise.rig.sharing import shared_by

INTERLEAVED = 8
"""Boards of one lane that are open at the same time, and are measured process by process in turn:
more of them are too far apart in time to be compared in pairs."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Boards that are measured in turn, in blocks that are open together; ``shared`` is why."""

    blocks: tuple[tuple[str, ...], ...]
    shared: tuple[str, ...] = ()

    @property
    def boards(self) -> tuple[str, ...]:
        """All of them, in order."""
        return tuple(name for block in self.blocks for name in block)


def lanes_of(names: Sequence[str], rig: Rig | None) -> list[Lane]:
    """The boards by what they share, in the order of their first ones."""
    if len(names) == 1:
        return [Lane((tuple(names),))]
    return grouped(names, shared_by(names, rig), rig)


def in_turn(names: Sequence[str], rig: Rig | None) -> Lane:
    """All boards one after another, because that is wanted."""
    return Lane(_blocks(names, rig), ("--parallel none",))


def grouped(
    names: Sequence[str], shared: Mapping[str, frozenset[str]], rig: Rig | None = None
) -> list[Lane]:
    """Boards that share something, also through a third one, are one lane."""
    lane_of: dict[str, list[str]] = {}
    lanes: list[list[str]] = []
    for name in names:
        joined = [lane_of[thing] for thing in sorted(shared[name]) if thing in lane_of]
        lane = joined[0] if joined else []
        if not joined:
            lanes.append(lane)
        for other in joined[1:]:
            if other is not lane and other in lanes:
                lanes.remove(other)
                lane += other
                lane_of.update((t, lane) for t, had in list(lane_of.items()) if had is other)
        lane.append(name)
        lane_of.update((thing, lane) for thing in shared[name])
    order = {name: number for number, name in enumerate(names)}
    ordered = [sorted(lane, key=order.__getitem__) for lane in lanes]
    return [
        Lane(_blocks(lane, rig), _common([shared[name] for name in lane]))
        for lane in sorted(ordered, key=lambda lane: order[lane[0]])
    ]


def _blocks(names: Sequence[str], rig: Rig | None) -> tuple[tuple[str, ...], ...]:
    """As many as are open at the same time, and fit the power budget."""
    budget = None if rig is None else rig.options.budget_w
    blocks: list[list[str]] = []
    used = 0.0
    for name in names:
        watts = rig.targets[name.removeprefix(PREFIX)].watts if rig and is_rig(name) else 0.0
        is_full = not blocks or len(blocks[-1]) >= INTERLEAVED
        if is_full or (budget is not None and used + watts > budget):
            blocks.append([])
            used = 0.0
        blocks[-1].append(name)
        used += watts
    return tuple(map(tuple, blocks))


def _common(shared: Sequence[Iterable[str]]) -> tuple[str, ...]:
    """What more than one of them has."""
    things = [thing for those in shared for thing in those]
    return tuple(sorted({thing for thing in things if things.count(thing) > 1}))


# -- how many lanes at once ------------------------------------------------------------------------

_BOARD_BYTES = 32 << 20
"""What a board that is measured takes of this machine's memory: two clients of ssh, and a process
where it has a console."""

_LANES_A_CPU = 8


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The lanes of boards, how many of them go on at the same time, and what decides that."""

    lanes: tuple[Lane, ...]
    at_once: int
    reason: str

    def sentences(self) -> Iterator[str]:
        """Which boards are measured at once and which in turn, and why."""
        alone = [lane.boards[0] for lane in self.lanes if len(lane.boards) == 1]
        if len(self.lanes) > 1:
            yield f"{len(self.lanes)} lanes, {self.at_once} at once ({self.reason})"
            if alone:
                yield f"share nothing: {', '.join(alone)}"
        for lane in self.lanes:
            if len(lane.boards) > 1:
                yield f"in turn: {', '.join(lane.boards)} ({', '.join(lane.shared)})"


def plan_fleet(names: Sequence[str], rig: Rig | None, parallel: str) -> FleetPlan:
    """``parallel`` is ``auto``, ``none`` or how many lanes at once; UsageError for other words."""
    if parallel == "none" or len(names) == 1:
        check_parallel(parallel)
        return FleetPlan((in_turn(names, rig),), 1, "--parallel none")
    lanes = tuple(lanes_of(names, rig))
    wanted = check_parallel(parallel)
    if wanted is not None:
        return FleetPlan(lanes, min(wanted, len(lanes)), f"--parallel {wanted}")
    bounds = {
        "no board shares anything with another lane": len(lanes),
        f"{_LANES_A_CPU} for each CPU of this machine": _LANES_A_CPU * (os.cpu_count() or 1),
        "memory of this machine": max(1, _free_bytes() // 2 // _BOARD_BYTES),
    }
    reason = min(bounds, key=bounds.__getitem__)
    return FleetPlan(lanes, bounds[reason], reason)


def check_parallel(parallel: str) -> int | None:
    """The number that ``--parallel`` names; None for ``auto`` and ``none``. Else UsageError."""
    if parallel in ("auto", "none"):
        return None
    if parallel.isdecimal() and 1 <= int(parallel) <= 10_000:
        return int(parallel)
    raise UsageError(
        f"--parallel: '{parallel}' is no number of boards",
        "write auto, none, or how many boards that share nothing are measured at once",
    )


def _free_bytes() -> int:
    """Memory that can be had without swapping; none where the kernel does not say."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) << 10
    return 0
