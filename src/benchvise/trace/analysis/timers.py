"""Timers: how late they ran, how long their functions took, and how long CPUs did without ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.distributions import (
    Groups,
    TimeDistribution,
    distribution,
    minus,
    numbered,
)
from benchvise.trace.analysis.model import NONE, Analysis, Bools, Ints, Rows
from benchvise.trace.analysis.occupancy import clipped


@dataclass(frozen=True, slots=True)
class TimerMetrics:
    """All timers of one function. Times in ns.

    ``lateness`` is from the expiry that was asked for to the interrupt that ran it: less than 0
    when it ran within its slack; it is known of high-resolution timers only, on their own clock.
    ``late_jiffies`` is the same of timers of the wheel, which count jiffies. ``execution`` is the
    function's own time, ``period`` the time between two runs of one timer.
    """

    kind: str
    function: str
    timers: int
    count: int
    lateness: TimeDistribution | None
    late_jiffies: TimeDistribution | None
    execution: TimeDistribution | None
    period: TimeDistribution | None
    latest_at: int | None
    latest_cpu: int | None


@dataclass(frozen=True, slots=True)
class Tickless:
    """The periods without tick of one CPU. ``share`` is of the span, in those that were seen."""

    cpu: int
    count: int
    share: float
    length: TimeDistribution | None
    longest_at: int | None


@dataclass(frozen=True, slots=True)
class Timers:
    """The timers that ran in the span, the most frequent first, and the tick-less periods."""

    timers: tuple[TimerMetrics, ...]
    tickless: tuple[Tickless, ...]


def timers(analysis: Analysis) -> Timers:
    """Timers by kind and function, tick-less periods by CPU."""
    return Timers(tuple(_timers(analysis)), tuple(_tickless(analysis)))


def _timers(analysis: Analysis) -> list[TimerMetrics]:
    rows = Rows(analysis.tables["timers"])
    kept = np.flatnonzero(analysis.span.holds(rows["ran"]))
    kinds, kind_names = rows.texts("kind")
    names, function_names = rows.texts("name")
    addresses, function = np.unique(rows["function"], return_inverse=True)
    key = (kinds * len(addresses) + function) * len(function_names) + names
    numbers, group = numbered(key[kept])
    groups = Groups(group, numbers.size)
    durations = {
        "lateness": rows["lateness"],
        "late_jiffies": rows["late_jiffies"],
        "execution": minus(rows["ended"], rows["ran"]),
        "period": _periods(rows["address"], rows["ran"]),
    }
    ordered = {name: groups.sorted(values[kept]) for name, values in durations.items()}
    described = []
    for at in np.argsort(-groups.sizes, kind="stable"):
        rest, name = divmod(int(numbers[at]), len(function_names))
        kind, address = divmod(rest, len(addresses))
        mine = kept[groups.rows(at)]
        latest = mine[np.argmax(rows["lateness"][mine])]
        has_lateness = bool(rows["lateness"][latest] != NONE)
        described.append(
            TimerMetrics(
                kind=kind_names[kind],
                function=function_names[name] or _address(int(addresses[address])),
                timers=int(np.unique(rows["address"][mine]).size),
                count=int(groups.sizes[at]),
                **{key: distribution(values[at]) for key, values in ordered.items()},
                latest_at=int(rows["ran"][latest]) if has_lateness else None,
                latest_cpu=int(rows["cpu"][latest]) if has_lateness else None,
            )
        )
    return described


def _address(value: int) -> str:
    return "not known" if value in (0, NONE) else f"0x{value & ((1 << 64) - 1):x}"


def _periods(address: Ints, ran: Ints) -> Ints:
    """The time since the same timer ran before."""
    order = np.lexsort((ran, address))
    same = address[order][1:] == address[order][:-1]
    periods = np.full(ran.size, NONE, dtype=np.int64)
    periods[order[1:]] = np.where(same, np.diff(ran[order]), NONE)
    return periods


def _tickless(analysis: Analysis) -> list[Tickless]:
    rows = Rows(analysis.tables["ticks"])
    begin = rows["begin"]
    end = np.where(rows["end"] == NONE, analysis.whole.end, rows["end"])
    first, last = clipped(begin, end, analysis.span)
    described = []
    for cpu in np.unique(rows["cpu"]):
        here: Bools = (rows["cpu"] == cpu) & (last > first)
        whole = np.flatnonzero(here & (rows["end"] != NONE))
        length = (end - begin)[whole]
        described.append(
            Tickless(
                cpu=int(cpu),
                count=int(here.sum()),
                share=float((last - first)[here].sum()) / analysis.span.duration,
                length=distribution(np.sort(length)),
                longest_at=int(begin[whole[np.argmax(length)]]) if whole.size else None,
            )
        )
    return described
