"""Names of the functions in stacks, of the kernel, of programs and of libraries.

Functions of programs are those of the files that the process had mapped then (``mappings``), whose
symbols ``trace.symbol_files`` finds; the kernel's are in the recording, or ``trace.kernel_symbols``
has them.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from benchvise.trace.analysis.flame.mappings import Mapping, Mappings
from benchvise.trace.analysis.model import Ints
from benchvise.trace.decoder import decoder
from benchvise.trace.kernel_symbols import KernelSymbols, running_build_id
from benchvise.trace.loaded import LoadedTrace
from benchvise.trace.made_symbols import MadeSymbols
from benchvise.trace.symbol_files import ModuleFile, SymbolFiles

_MASK = (1 << 64) - 1
_KERNEL = "kernel"
_MADE_BY_KERNEL = "[made by the kernel]"
"""Programs of BPF, trampolines: perf calls each a file of its own."""

_OF_NO_FILE = ("//anon", "[anon", "/memfd:", "/dev/zero", "/SYSV")
"""Begins of paths of memory that programs make code in."""

_MADE_AT_RUN_TIME = (
    "memory of no file: code that was made at run time; put the program's /tmp/perf-PID.map beside "
    "the trace"
)
_MOST_TEXTS = 1 << 20


@dataclass(frozen=True, slots=True)
class Frame:
    """A function, and the file (or ``kernel``) that it is of; ``module`` is empty for the name of a
    thread."""

    name: str
    module: str


@dataclass(frozen=True, slots=True)
class MissingSymbols:
    """A file of which functions have no names, why, and in how many places of stacks it stands."""

    module: str
    reason: str
    frames: int


class StackTexts:
    """The functions of single stacks as texts, with the file where it is no kernel's; an address
    that has no name stays one. Threads may share it."""

    def __init__(self, loaded: LoadedTrace) -> None:
        self._mappings = Mappings(loaded.analysis)
        self._names = FrameNames(loaded, self._mappings)
        self._texts: dict[tuple[str, int, int, int], str] = {}
        self._lock = threading.Lock()

    def __call__(
        self, column: str, process: int | None, thread: int, time: int, addresses: Sequence[int]
    ) -> list[str]:
        """Those of a column (``kernel_stack``, ``user_stack``, ``foreign_stack``) of an event."""
        with self._lock:
            owner = self._mappings.process(thread) if process is None else process
            epoch = self._mappings.epoch(owner, time) if column == "user_stack" else 0
            return [self._text(column, owner, epoch, address, time) for address in addresses]

    def _text(self, column: str, process: int, epoch: int, address: int, time: int) -> str:
        key = (column, process if column == "user_stack" else 0, epoch, address)
        if key not in self._texts:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            self._texts[key] = self._new_text(column, process, address, time)
        return self._texts[key]

    def _new_text(self, column: str, process: int, address: int, time: int) -> str:
        function = None
        if column == "kernel_stack":
            function = self._names.kernel_function(address)
        elif column == "user_stack":
            mapping = self._mappings.at(process, address, time)
            function = self._names.user_function(process, mapping, address)
        if function is None or not function.name:
            place = f"0x{address:x}"
            is_in_file = function is not None and not function.module.startswith("(")
            return f"{place} ({function.module})" if function and is_in_file else place
        of_kernel = function.module == _KERNEL
        return function.name if of_kernel else f"{function.name} ({function.module})"


class FrameNames:
    """Gives frames numbers, each function one."""

    def __init__(self, loaded: LoadedTrace, mappings: Mappings) -> None:
        self._loaded = loaded
        self._mappings = mappings
        self._codes: dict[Frame, int] = {}
        self._files = SymbolFiles(loaded.path)
        self._made = MadeSymbols(loaded.path)
        self._places: dict[tuple[str, bytes, int], tuple[Frame, str]] = {}
        self._missing: dict[tuple[str, str], int] = {}
        host = loaded.trace.outline["environment"].get("hostname")
        kernel = mappings.kernel.build_id if mappings.kernel else b""
        here = bool(kernel) and kernel == running_build_id()
        self._recorded_here = here and host == platform.node()

    def names(self) -> tuple[Frame, ...]:
        """The functions by their numbers."""
        return tuple(self._codes)

    def program_files(self) -> list[tuple[str, bytes, list[str]]]:
        """Path and build-id of each file that a program had in memory, and where copies may be."""
        programs = []
        for (path, build_id), inodes in self._mappings.files().items():
            modules = (
                ModuleFile(path, 0, build_id, inode if self._recorded_here else None)
                for inode in inodes
            )
            places = (str(place) for module in modules for place in self._files.candidates(module))
            programs.append((path, build_id, list(dict.fromkeys(places))))
        return programs

    def missing(self) -> tuple[MissingSymbols, ...]:
        """Of which files functions have no names, those with most frames first."""
        entries = [MissingSymbols(*key, count) for key, count in self._missing.items()]
        return tuple(sorted(entries, key=lambda one: (-one.frames, one.module)))

    def code(self, name: str, module: str) -> int:
        """The number of a function."""
        return self._codes.setdefault(Frame(name, module), len(self._codes))

    def threads(self, thread: Ints, time: Ints) -> Ints:
        """Frames with the names that threads had at times."""
        actors = {actor.tid: actor.name for actor in self._loaded.analysis.actors if actor.tid}
        tasks = dict(self._loaded.trace.description["tasks"]) | actors
        renamed = self._mappings.threads()
        codes: Ints = np.empty(thread.size, dtype=np.int64)
        numbers, place = np.unique(thread, return_inverse=True)
        for at, number in enumerate(numbers.tolist()):
            own = np.flatnonzero(place == at)
            times = np.array(renamed.get(number, []), dtype=np.int64)
            part = np.searchsorted(times, time[own], side="right")
            for which in np.unique(part).tolist():
                first = int(time[own[part == which][0]])
                name = self._mappings.name(number, first) or tasks.get(number, "")
                fallback = "swapper" if number == 0 else f":{number}"
                codes[own[part == which]] = self.code(name or fallback, "")
        return codes

    def kernel(self, addresses: Ints) -> Ints:
        """Frames of the kernel."""
        return self._each(addresses, self._kernel_name)

    def kernel_function(self, address: int) -> Frame | None:
        """The function of the kernel, or of a module of it; None where it has no name."""
        own = self._loaded.trace.source.symbol(address)
        if own is not None:
            return Frame(own.split("+0x")[0], _KERNEL)
        code = self._mappings.made_code.name(address)
        if code is not None:
            return Frame(code, _MADE_BY_KERNEL)
        function = self._symbols.name(address)
        if function is None:
            return None
        module = f"[{function[1]}]" if function[1] else _KERNEL
        return Frame(decoder().demangle(function[0]), module)

    @cached_property
    def _symbols(self) -> KernelSymbols:
        return KernelSymbols(self._mappings.kernel, self._loaded.path)

    def foreign(self, addresses: Ints) -> Ints:
        """Frames of guests and hypervisors, whose symbols nobody has."""
        reason = "guests, hypervisors and processes without mappings have no symbols here"
        return self._each(addresses, lambda _: ("[foreign]", "foreign", reason))

    def _each(self, addresses: Ints, named: Callable[[int], tuple[str, str, str]]) -> Ints:
        values, place, counts = np.unique(addresses, return_inverse=True, return_counts=True)
        codes: Ints = np.empty(values.size, dtype=np.int64)
        for at, value in enumerate(values.tolist()):
            name, module, reason = named(value & _MASK)
            codes[at] = self.code(name, module)
            if reason:
                key = (module, reason)
                self._missing[key] = self._missing.get(key, 0) + int(counts[at])
        return codes[place] if values.size else place.astype(np.int64)

    def _kernel_name(self, address: int) -> tuple[str, str, str]:
        function = self.kernel_function(address)
        if function is not None:
            return function.name, function.module, ""
        reason = self._symbols.reason or "no symbol of the kernel is there"
        return f"[{_KERNEL}]", _KERNEL, reason

    def user(self, process: Ints, addresses: Ints, time: Ints) -> Ints:
        """Frames of programs and libraries."""
        epoch: Ints = np.zeros(process.size, dtype=np.int64)
        numbers, of = np.unique(process, return_inverse=True)
        for at, number in enumerate(numbers.tolist()):
            own = np.flatnonzero(of == at)
            epoch[own] = self._mappings.epochs(number, time[own])
        order = np.lexsort((addresses, epoch, of))
        keys = np.stack([of[order], epoch[order], addresses[order]])
        change = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=-1) != 0, axis=0))
        if not change.size:
            return np.empty(0, dtype=np.int64)
        counts = np.diff(np.append(change, order.size))
        codes: Ints = np.empty(order.size, dtype=np.int64)
        codes_of: Ints = np.empty(change.size, dtype=np.int64)
        for at, place in enumerate(order[change].tolist()):
            address, moment = int(addresses[place]) & _MASK, int(time[place])
            owner = int(process[place])
            mapping = self._mappings.at(owner, address, moment)
            codes_of[at] = self._user_code(owner, mapping, address, int(counts[at]))
        codes[order] = np.repeat(codes_of, counts)
        return codes

    def _user_code(self, process: int, mapping: Mapping | None, address: int, count: int) -> int:
        """The function there; of a file whose functions have no names, all are one."""
        function, reason = self._in_program(process, mapping, address)
        name = function.name or f"[{function.module.strip('()')}]"
        if reason:
            key = (mapping.path if mapping else function.module, reason)
            self._missing[key] = self._missing.get(key, 0) + count
        return self.code(name, function.module)

    def user_function(self, process: int, mapping: Mapping | None, address: int) -> Frame:
        """The function of what is mapped at an address; its name is empty where it has none."""
        return self._in_program(process, mapping, address)[0]

    def _in_program(self, process: int, mapping: Mapping | None, address: int) -> tuple[Frame, str]:
        """The function, and why it has no name where it has none."""
        if mapping is None or mapping.path.startswith(_OF_NO_FILE):
            code = self._made.name(process, address)
            if code is not None:
                return Frame(code, f"perf-{process}.map"), ""
        if mapping is None:
            return Frame("", "(no file)"), "the recording tells no mapping there"
        offset = address - mapping.start + mapping.offset
        key = (mapping.path, mapping.build_id, offset)
        if key not in self._places:
            self._places[key] = self._named(mapping, offset)
        return self._places[key]

    def _named(self, mapping: Mapping, offset: int) -> tuple[Frame, str]:
        file = PurePosixPath(mapping.path).name or "(no file)"
        if mapping.path.startswith(_OF_NO_FILE):
            function, reason = None, _MADE_AT_RUN_TIME
        else:
            inode = mapping.inode if self._recorded_here else None
            symbols = self._files.symbols(ModuleFile(mapping.path, 0, mapping.build_id, inode))
            function, reason = symbols.name_in_file(offset), symbols.reason
        if function is not None:
            return Frame(function[0], file), ""
        return Frame("", file), reason or "its table of symbols has no function there"
