"""What is known of the two sides of a metric, as numbers; None where a side does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchvise.quantities import parse_cpus
from benchvise.state.model import Snapshot
from benchvise.why.bench import SideFacts
from benchvise.why.model import Metric, Side


@dataclass(frozen=True, slots=True)
class SidePair:
    """A metric, and what is known of its two sides."""

    metric: Metric
    facts: Mapping[Side, SideFacts]
    snapshots: Mapping[Side, Snapshot]

    def value(self, side: Side, item: str, key: str) -> Any:
        """The value of an entry of a side's snapshot; None where there is none."""
        return next(
            (
                entry.value
                for entry in self.snapshots[side].entries()
                if entry.item == item and entry.key == key and entry.missing is None
            ),
            None,
        )


def cpus(case: SidePair, side: Side, which: str = "online") -> frozenset[int] | None:
    """The CPUs that are ``online`` or ``present``."""
    listed = case.value(side, "cpu.present", which)
    if listed is None and which == "online":
        listed = case.facts[side].host.get("cpus_online")
    try:
        return frozenset(parse_cpus(str(listed))) or None
    except ValueError:
        return None


def cpu_count(case: SidePair, side: Side) -> int | None:
    """How many CPUs are online."""
    online = cpus(case, side)
    return None if online is None else len(online)


def word_size(case: SidePair, side: Side) -> int | None:
    """Bits of a word of the programs there, by its shell."""
    shell = case.value(side, "kernel.word_size", "/bin/sh")
    size = shell.get("class") if isinstance(shell, Mapping) else None
    return size if size in (32, 64) else None


def last_cache(case: SidePair, side: Side) -> int | None:
    """Bytes of the largest cache."""
    caches = case.facts[side].host.get("caches")
    sizes = [
        cache["size"]
        for cache in (caches if isinstance(caches, list) else ())
        if isinstance(cache, Mapping) and isinstance(cache.get("size"), int)
    ]
    return max(sizes, default=None)
