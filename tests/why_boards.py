"""Two sides for tests of a diagnosis: boards made of texts, and metrics on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from state_boards import PI, PI_LINKS, answers, snapshot

from benchvise.measure.model import SeriesSpec
from benchvise.state.model import Snapshot, StateEntry
from benchvise.why.model import Metric, Side, Suspect
from benchvise.why.suspects.find import SuspectSelection, find

CPUS = "/sys/devices/system/cpu"
THP = "/sys/kernel/mm/transparent_hugepage"
BOTH = {Side.GOOD: True, Side.BAD: True}
NEITHER = {Side.GOOD: False, Side.BAD: False}

BOARD: Mapping[str, str] = {
    **PI,
    f"{THP}/enabled": "always [madvise] never\n",
    f"{THP}/hugepages-32kB/enabled": "always inherit madvise [never]\n",
    f"{THP}/hugepages-64kB/enabled": "always inherit madvise [never]\n",
    "/proc/sys/vm/dirty_ratio": "20\n",
    "/proc/sys/vm/dirty_bytes": "0\n",
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/sys/vm/nr_hugepages": "0\n",
    "/proc/sys/kernel/randomize_va_space": "2\n",
    "/proc/sys/kernel/printk": "4\t4\t1\t7\n",
    "/proc/sys/kernel/watchdog": "1\n",
    "/proc/sys/kernel/soft_watchdog": "1\n",
    "/proc/sys/kernel/osrelease": "6.12.1\n",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "/proc/sys/net/ipv4/tcp_congestion_control": "cubic\n",
    "/proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic\n",
    "/proc/sys/net/core/rps_sock_flow_entries": "0\n",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "f\n",
    "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt": "0\n",
    "/sys/class/net/eth0/queues/rx-1/rps_cpus": "f\n",
    "/sys/class/net/eth0/queues/rx-1/rps_flow_cnt": "0\n",
    f"{CPUS}/present": "0-3\n",
    f"{CPUS}/possible": "0-3\n",
    f"{CPUS}/online": "0-3\n",
    **{
        f"{CPUS}/cpufreq/policy{policy}/{name}": value
        for policy in (0, 2)
        for name, value in {
            "scaling_governor": "schedutil\n",
            "scaling_available_governors": "ondemand performance schedutil\n",
            "scaling_min_freq": "600000\n",
            "scaling_max_freq": "1800000\n",
        }.items()
    },
    **{
        f"{CPUS}/cpu{cpu}/cpuidle/state{state}/disable": "0\n"
        for cpu in range(4)
        for state in range(3)
    },
}


def side(changes: Mapping[str, str | None] | None = None, **more: Any) -> Snapshot:
    """The board with some files changed; None takes a file away."""
    if not changes and not more:
        return _unchanged()
    texts = {**BOARD, **(changes or {})}
    facts = more.pop("facts", {})
    files = {path: text for path, text in texts.items() if text is not None}
    return snapshot(answers(files, PI_LINKS, facts), **more)


@cache
def _unchanged() -> Snapshot:
    return snapshot(answers(BOARD, PI_LINKS))


def with_value(given: Snapshot, name: str, value: Any) -> Snapshot:
    """The snapshot with another value for an entry, which is added where it is not there."""
    item, _, key = name.partition("/")
    kept = tuple(entry for entry in given.settings if entry.name != name)
    return replace(given, settings=(*kept, StateEntry(item, key, value=value, path=f"@{name}")))


def metric(benchmark: str = "command.time", command: str = "", **params: str) -> Metric:
    """A metric by its benchmark, or a user's command."""
    spec = SeriesSpec(benchmark, tuple(params.items()), benchmark)
    return Metric.of(spec, "B/s", "higher", command=command)


def found(
    changes: Mapping[str, str | None],
    benchmark: str = "command.time",
    *,
    good: Mapping[str, str | None] | None = None,
    may_set: Mapping[Side, bool] = BOTH,
    allowed: tuple[str, ...] = (),
) -> SuspectSelection:
    """What is found where the bad side has these files otherwise."""
    return find(side(good), side(changes), metric(benchmark), may_set=may_set, allowed=allowed)


def one(changes: Mapping[str, str | None], benchmark: str = "command.time", **more: Any) -> Suspect:
    """The only suspect there is."""
    (suspect,) = found(changes, benchmark, **more).suspects
    return suspect
