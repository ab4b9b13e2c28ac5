"""Which programs and libraries each process had where in memory, as LTTng-UST tells it.

The *state dump* of a process (``lttng_ust_statedump``) lists what is loaded; ``lttng_ust_dl`` and
``lttng_ust_lib`` tell what comes and goes afterwards. A process that another program is executed in
dumps again. Addresses that two modules may have had in turn are not attributed.

Source: lttng-ust(3), "State dump" and lttng-ust-dl(3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from benchvise.trace.analysis.model import Analysis, Ints, Rows
from benchvise.trace.symbol_files import ModuleFile, SymbolFiles

_DUMPED = ("lttng_ust_statedump:bin_info", "lttng_ust_statedump:soinfo")
_LOADED = ("lttng_ust_dl:dlopen", "lttng_ust_lib:load")
_UNLOADED = ("lttng_ust_dl:dlclose", "lttng_ust_lib:unload")
_BUILD_IDS = ("lttng_ust_statedump:build_id", "lttng_ust_dl:build_id", "lttng_ust_lib:build_id")
_DUMP_STARTS = "lttng_ust_statedump:start"

_MOST_MODULES = 4096
"""Of one process."""

_MOST_NAMED = 100_000
"""Addresses that are looked up; others are shown as numbers."""

_EVER, _NEVER = -(1 << 63), (1 << 63) - 1
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A file in memory from ``base`` on, from ``since`` to before ``until`` (ns)."""

    base: int
    file: ModuleFile
    since: int
    until: int = _NEVER

    def may_hold(self, address: int, first: int, last: int) -> bool:
        """Whether it had the address at any time of a span."""
        inside = self.base <= address < self.base + self.file.size
        return inside and self.since <= last and first < self.until


def context(rows: Rows, name: str) -> Ints:
    """A context of LTTng-UST (``vtid``, ``vpid``), 0 for events of a trace without it."""
    for column in (f"stream.{name}", name):
        if column in rows.table.column_names:
            return rows[column]
    return np.zeros(len(rows), dtype=np.int64)


class AddressNames:
    """The names of addresses of user space: ``function+0x12``, else ``module+0x1234``."""

    def __init__(self, analysis: Analysis, trace: Path) -> None:
        self._modules = _modules(analysis)
        self._files = SymbolFiles(trace)

    def coded(self, process: Ints, address: Ints, time: Ints) -> tuple[Ints, tuple[str, ...]]:
        """The name of each of the addresses of processes at times: its number, and all names."""
        processes, process_place = np.unique(process, return_inverse=True)
        addresses, address_place = np.unique(address, return_inverse=True)
        both = process_place.astype(np.int64) * max(addresses.size, 1) + address_place
        pairs, place = np.unique(both, return_inverse=True)
        first: Ints = np.full(pairs.size, _NEVER, dtype=np.int64)
        last: Ints = np.full(pairs.size, _EVER, dtype=np.int64)
        np.minimum.at(first, place, time)
        np.maximum.at(last, place, time)
        numbers: dict[str, int] = {}
        codes: Ints = np.empty(pairs.size, dtype=np.int64)
        for at, pair in enumerate(pairs.tolist()):
            of, where = divmod(pair, max(addresses.size, 1))
            number = int(addresses[where]) & _MASK
            name = f"0x{number:x}"
            if at < _MOST_NAMED:
                span = int(first[at]), int(last[at])
                name = self._name(int(processes[of]), number, *span) or name
            codes[at] = numbers.setdefault(name, len(numbers))
        return codes[place], tuple(numbers)

    def _name(self, process: int, address: int, first: int, last: int) -> str | None:
        holding = [
            module
            for module in self._modules.get(process, ())
            if module.may_hold(address, first, last)
        ]
        if len(holding) != 1:
            return None
        [module] = holding
        offset = address - module.base
        functions = self._files.functions(module.file)
        named = functions.name(offset) if functions else None
        if named is None:
            return f"{PurePosixPath(module.file.path).name}+0x{offset:x}"
        name, behind = named
        return f"{name}+0x{behind:x}" if behind else name


def _modules(analysis: Analysis) -> dict[int, list[LoadedModule]]:
    """The modules of each process, by its number; 0 where the trace has no context ``vpid``."""
    build_ids = _build_ids(analysis)
    dumps: dict[int, list[int]] = defaultdict(list)
    for process, rows, at in _rows(analysis, (_DUMP_STARTS,)):
        dumps[process].append(int(rows["time"][at]))
    for times in dumps.values():
        times.sort()
    modules: dict[int, dict[tuple[int, str], LoadedModule]] = defaultdict(dict)
    for names, dumped in ((_DUMPED, True), (_LOADED, False)):
        for process, rows, at in _rows(analysis, names):
            time = int(rows["time"][at])
            since, until = time, _NEVER
            if dumped and process:
                since, until = _reign(dumps[process], time)
            elif dumped:
                since = _EVER  # of which process it is, is not known
            module = _module(rows, at, build_ids, process, since, until)
            own = modules[process]
            key = (module.base, module.file.path)
            if key in own:
                before = own[key]
                since, until = min(before.since, since), max(before.until, until)
                own[key] = replace(before, since=since, until=until)
            elif len(own) < _MOST_MODULES:
                own[key] = module
    for process, rows, at in _rows(analysis, _UNLOADED):
        base, time = int(rows["baddr"][at]) & _MASK, int(rows["time"][at])
        for key, module in modules[process].items():
            if key[0] == base and module.since <= time < module.until:
                modules[process][key] = replace(module, until=time + 1)
    return {process: list(own.values()) for process, own in modules.items()}


def _reign(dumps: list[int], time: int) -> tuple[int, int]:
    """From when to when a dump at a time tells what is loaded: the first of a process also for what
    was before it, each until the next."""
    at = int(np.searchsorted(dumps, time, side="right"))
    since = _EVER if at <= 1 else dumps[at - 1]
    return since, dumps[at] if at < len(dumps) else _NEVER


def _module(
    rows: Rows,
    at: int,
    build_ids: dict[tuple[int, int], bytes],
    process: int,
    since: int,
    until: int,
) -> LoadedModule:
    columns = rows.table.column_names
    field = next(name for name in ("path", "sopath") if name in columns)
    base, size = int(rows["baddr"][at]) & _MASK, int(rows["memsz"][at]) & _MASK
    path = str(rows.table.column(field)[at] or "")
    file = ModuleFile(path, size, build_ids.get((process, base), b""))
    return LoadedModule(base, file, since, until)


def _build_ids(analysis: Analysis) -> dict[tuple[int, int], bytes]:
    by_base: dict[tuple[int, int], bytes] = {}
    for process, rows, at in _rows(analysis, _BUILD_IDS, "build_id"):
        value = rows.table.column("build_id")[at] or ()
        by_base[(process, int(rows["baddr"][at]) & _MASK)] = bytes(value)
    return by_base


def _rows(
    analysis: Analysis, names: tuple[str, ...], *required: str
) -> Iterator[tuple[int, Rows, int]]:
    """Process, table and row of the events of these names in order of time within each."""
    required = required or (() if names == (_DUMP_STARTS,) else ("baddr",))
    for name in names:
        table = analysis.events(name)
        if table is None or not set(required) <= set(table.column_names):
            continue
        rows = Rows(table)
        processes = context(rows, "vpid")
        for at in np.argsort(rows["time"], kind="stable").tolist():
            yield int(processes[at]), rows, at
