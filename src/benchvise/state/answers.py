"""Asking a board everything that the catalogue wants to know, in a few round trips."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import FileError, FileValue
from benchvise.documents import JsonObject, object_at, whole_at
from benchvise.state.commands import CommandAnswer, run_commands
from benchvise.state.globs import ByPath
from benchvise.state.model import Item, Read
from benchvise.state.normalise import fdt
from benchvise.state.roles import DeviceNames, find_roles

FDT = "/sys/firmware/fdt"
_LIVE_TREE = "/proc/device-tree"
_TREE_DEPTH = 9

Facts = Mapping[str, JsonObject]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a board said.

    ``files`` and ``links`` are by path, ``facts`` by name and subject (empty where there is
    none), ``commands`` by their line as filled in, ``trees`` hold what was put together from many
    files, by the path of the one that could not be read.
    """

    names: DeviceNames = field(default_factory=DeviceNames)
    files: ByPath[FileValue | FileError] = field(default_factory=ByPath)
    links: ByPath[str | FileError] = field(default_factory=ByPath)
    facts: Facts = field(default_factory=dict)
    commands: Mapping[str, CommandAnswer] = field(default_factory=dict)
    trees: Mapping[str, object] = field(default_factory=dict)
    board_time_ns: int | None = None
    host_time_ns: int | None = None

    @property
    def is_root(self) -> bool:
        """Whether the probe ran as root."""
        return whole_at(object_at(self.facts.get("process", {}), ""), "uid") == 0


def ask(
    board: Board, channel: ProbeChannel, items: Iterable[Item], paths: Sequence[str] = ()
) -> Answers:
    """Asks for what the items read; see ``find_roles`` for ``paths``. Only reads; raises what the
    channel and the board raise."""
    reads = [read for item in items for read in item.reads]
    facts, host_time_ns = _facts(channel)
    names = find_roles(channel, paths)
    wanted = {source: _filled(reads, source, names) for source in ("link", "command")}
    files = _files(channel, reads, names)
    return Answers(
        names=names,
        files=ByPath(files),
        links=ByPath(channel.links(wanted["link"])),
        facts=facts,
        commands=run_commands(board, wanted["command"]),
        trees=_live_tree(channel, files),
        board_time_ns=whole_at(object_at(facts.get("time", {}), ""), "monotonic_ns"),
        host_time_ns=host_time_ns,
    )


def _filled(reads: Iterable[Read], source: str, names: DeviceNames) -> list[str]:
    paths = (names.fill(read.path) for read in reads if read.source == source)
    return list(dict.fromkeys(path for path in paths if path is not None))


def _files(
    channel: ProbeChannel, reads: Sequence[Read], names: DeviceNames
) -> dict[str, FileValue | FileError]:
    """Each file once, also where several reads want it; long ones by requests of their own."""
    limits: dict[str, int] = {}
    for read in reads:
        path = names.fill(read.path) if read.source == "file" else None
        if path is not None and not names.is_automount(path):
            limits[path] = max(read.limit, limits.get(path, 0))
    files = channel.read(path for path, limit in limits.items() if limit == 0)
    for limit in sorted(set(limits.values()) - {0}):
        files |= channel.read((p for p, own in limits.items() if own == limit), limit=limit)
    return files


def _facts(channel: ProbeChannel) -> tuple[Facts, int | None]:
    """Facts of the same name and subject become a list; the host's time is that of ``time``."""
    values: defaultdict[str, defaultdict[str, list[object]]] = defaultdict(
        lambda: defaultdict(list)
    )
    host_time_ns = None
    for fact in channel.facts():
        values[fact.name][fact.subject].append(fact.value)
        if fact.name == "time":
            host_time_ns = time.monotonic_ns()
    return {name: _joined(name, subjects) for name, subjects in values.items()}, host_time_ns


def _joined(name: str, subjects: Mapping[str, list[object]]) -> JsonObject:
    if name == "qdisc":
        return {nic: values if nic else values[-1] for nic, values in subjects.items()}
    if name == "kernel_log" and "" not in subjects:
        pieces = [piece for values in subjects.values() for piece in values]
        return {"": "".join(piece for piece in pieces if isinstance(piece, str))}
    return {subject: values[-1] for subject, values in subjects.items()}


def _live_tree(channel: ProbeChannel, files: Mapping[str, FileValue | FileError]) -> JsonObject:
    """The device tree property by property, where root alone may read it as a whole."""
    if not isinstance(files.get(FDT), FileError):
        return {}
    globs = [_LIVE_TREE + "/*" * depth for depth in range(1, _TREE_DEPTH + 1)]
    properties = {
        path: value.value if isinstance(value.value, bytes) else value.value.encode()
        for path, value in channel.read(globs).items()
        if isinstance(value, FileValue)
    }
    return {FDT: fdt.flatten(fdt.from_files(properties, _LIVE_TREE))} if properties else {}
