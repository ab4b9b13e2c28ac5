"""What the events of a kernel trace say together, made part by part when it is first asked for.

A timeline needs no system calls, which are most of the events of many traces, so that the parts of
``crates/traceanalysis`` are made and kept apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from benchvise.trace.decoder import decoder

if TYPE_CHECKING:
    from benchvise.trace import native
    from benchvise.trace.opening import OpenTrace


def names() -> list[str]:
    """The names of all analysis tables."""
    module = decoder()
    return [*module.SCHEDULING, *module.SYSCALLS, *module.DEVICES]


class AnalysisTables(Mapping[str, pa.Table]):
    """Actors, their instances, fragments and waits, system calls, ...: by name.

    May be asked by many threads at once; while one makes a part, the others wait.
    """

    def __init__(self, trace: OpenTrace) -> None:
        module = decoder()
        parts: tuple[tuple[list[str], str, Callable[[], Mapping[str, pa.Table]]], ...] = (
            (module.SCHEDULING, "scheduling", self._scheduling),
            (module.SYSCALLS, "syscalls", self._syscalls),
            (module.DEVICES, "devices", self._devices),
        )
        self._trace = trace
        self._parts = {name: (part, make) for names, part, make in parts for name in names}
        self._made: dict[str, Mapping[str, pa.Table]] = {}
        self._lock = threading.RLock()

    def __getitem__(self, name: str) -> pa.Table:
        part, make = self._parts[name]
        if part not in self._made:
            with self._lock:
                if part not in self._made:
                    self._made[part] = self._trace.derived(part, make)
        return self._made[part][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def _scheduling(self) -> Mapping[str, pa.Table]:
        return self._events.scheduling()

    def _syscalls(self) -> Mapping[str, pa.Table]:
        return self._events.syscalls(self["actors"], self["fragments"])

    def _devices(self) -> Mapping[str, pa.Table]:
        return self._events.devices()

    @cached_property
    def _events(self) -> native.Decoded:
        return self._trace.decoded(decoder().ANALYSED_COLUMNS)
