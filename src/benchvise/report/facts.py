"""What is worth knowing about where and how a run was measured, as name and text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from benchvise.measure.model import RunRecord
from benchvise.quantities import format_elapsed, format_size, format_time

_CHOSEN = re.compile(r"\[([a-z0-9_-]+)\]")
_CACHE_TYPES = {"Data": "d", "Instruction": "i", "Unified": ""}
_CACHE_COUNT = 16
_LARGEST_CACHE = 1 << 40


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a description; ``known`` is false when ``text`` says why there is no value."""

    name: str
    text: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache that holds data: ``L1d``, and its size in bytes."""

    name: str
    size: int


def run_facts(run: RunRecord) -> tuple[Fact, ...]:
    """The board first, then its state, then the run itself."""
    return tuple(_facts(run))


def _facts(run: RunRecord) -> Iterator[Fact]:
    host = run.host
    yield Fact("Board", run.board)
    yield from _host(host, ("board_model", "product"), "Model")
    yield from _host(host, ("cpu_model",), "CPU", always=True)
    yield from _host(host, ("machine",), "Architecture")
    yield from _host(host, ("cpus_online",), "CPUs online")
    memory = host.get("memory_bytes")
    if _is_size(memory):
        yield Fact("Memory", format_size(memory))
    held = caches(host)
    if held:
        yield Fact("Caches", ", ".join(f"{c.name} {format_size(c.size)}" for c in held))
    yield from _host(host, ("kernel",), "Kernel", always=True)
    yield from _host(host, ("hostname",), "Host name")
    yield from _host(host, ("governor",), "CPU governor", always=True)
    yield from _host(host, ("thp",), "Transparent huge pages")
    yield from _host(host, ("clocksource",), "Clock source")
    if run.suite:
        yield Fact("Suite", run.suite)
    changes = settings(run)
    if changes:
        yield Fact(
            "Set for this run", ", ".join(f"{knob}={value}" for knob, value in changes.items())
        )
    yield from _prepared(run)
    yield Fact("Sampling", _sampling(run))
    yield Fact("Order seed", str(run.seed))
    yield Fact("Started", format_time(run.started))
    yield Fact("Took", format_elapsed(run.started, run.finished))
    yield Fact("Run", run.id)
    if run.tags:
        yield Fact("Tags", ", ".join(run.tags))
    if run.note:
        yield Fact("Note", run.note)
    yield Fact("Measured by", f"Benchvise {run.tool_version}")


def _prepared(run: RunRecord) -> Iterator[Fact]:
    """How a board of a rig came to where it was measured."""
    prepared = run.plan.get("prepared")
    if not isinstance(prepared, Mapping):
        return
    image, boot = prepared.get("image"), prepared.get("boot")
    if isinstance(image, Mapping):
        yield Fact("Image", f"{image.get('name', '?')} {str(image.get('sha256', ''))[:12]}")
    phases = boot.get("phases") if isinstance(boot, Mapping) else None
    if isinstance(phases, Mapping):
        times = [
            f"{name} {seconds:.1f} s"
            for name, seconds in phases.items()
            if isinstance(seconds, int | float) and seconds > 0
        ]
        yield Fact("Booted", ", ".join(times))


def settings(run: RunRecord) -> dict[str, str]:
    """What the board was set to for this run alone: values by knob."""
    values = run.plan.get("settings")
    if not isinstance(values, Mapping):
        return {}
    return {str(knob): str(value) for knob, value in values.items()}


def _host(
    host: Mapping[str, Any], keys: tuple[str, ...], name: str, *, always: bool = False
) -> Iterator[Fact]:
    """The first of ``keys`` that the board could read; its reason, if asked for, when none is."""
    reason = "the probe did not say"
    for key in keys:
        value = host.get(key)
        if isinstance(value, Mapping):
            reason = str(value.get("na", reason))
        elif value not in (None, ""):
            text = str(value)
            chosen = _CHOSEN.search(text)
            yield Fact(name, chosen[1] if chosen else text)
            return
    if always:
        yield Fact(name, f"not known: {reason}", known=False)


def _sampling(run: RunRecord) -> str:
    """``3 processes of 21 batches``, or the range when series differ."""
    processes = {len(s.processes) for s in run.series if s.processes}
    batches = {len(p.samples) for s in run.series for p in s.processes if p.samples}
    if not processes or not batches:
        return "nothing was measured"
    return f"{_count(processes, 'process', 'processes')} of {_count(batches, 'batch', 'batches')}"


def _count(counts: set[int], singular: str, plural: str) -> str:
    low, high = min(counts), max(counts)
    if low == high:
        return f"{low} {singular if low == 1 else plural}"
    return f"{low} to {high} {plural}"


def caches(host: Mapping[str, Any]) -> tuple[Cache, ...]:
    """The caches that hold data, as the probe reported them, the nearest first."""
    reported = host.get("caches")
    if not isinstance(reported, list | tuple):
        return ()
    sizes: dict[str, int] = {}
    for entry in reported[:_CACHE_COUNT]:
        if not isinstance(entry, Mapping):
            continue
        level, size = entry.get("level"), entry.get("size")
        suffix = _CACHE_TYPES.get(str(entry.get("type", "Unified")), "i")
        if isinstance(level, int) and 0 < level < 10 and _is_size(size) and suffix != "i":
            sizes.setdefault(f"L{level}{suffix}", size)
    return tuple(Cache(name, size) for name, size in sorted(sizes.items(), key=lambda c: c[1]))


def _is_size(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST_CACHE
