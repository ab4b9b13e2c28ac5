"""A simulated board's snapshot, made by what makes those of real boards."""

from __future__ import annotations

from functools import cache

from benchmarks.why.board import SimBoard
from benchmarks.why.values import ROLES
from benchvise.board.messages import FileError, FileValue
from benchvise.state.answers import Answers
from benchvise.state.catalogue import load_catalogue
from benchvise.state.globs import ByPath
from benchvise.state.model import Snapshot, StateEntry
from benchvise.state.roles import DeviceNames
from benchvise.state.snapshot import entries_of

_NAMES = DeviceNames(
    roles=ROLES,
    block={"mmcblk0": "/devices/mmcblk0", "mmcblk0p2": "/devices/mmcblk0/mmcblk0p2"},
    nics={"eth0": "/devices/eth0"},
)


def take(board: SimBoard) -> Snapshot:
    """All that the catalogue asks, of the board as it is now."""
    return _taken(board.name, board.boot_id, board.is_root, tuple(sorted(board.files.items())))


@cache
def _globs() -> tuple[str, ...]:
    filled = (
        _NAMES.fill(read.path)
        for item in load_catalogue()
        for read in item.reads
        if read.source == "file"
    )
    return tuple(dict.fromkeys(path for path in filled if path is not None))


@cache
def _taken(name: str, boot_id: str, is_root: bool, files: tuple[tuple[str, str], ...]) -> Snapshot:
    board = SimBoard(name, dict(files), is_root=is_root)
    found: dict[str, FileValue | FileError] = board.read(_globs())
    answers = Answers(
        names=_NAMES,
        files=ByPath(found),
        facts={"process": {"": {"uid": 0 if is_root else 1000}}, "page_size": {"": 4096}},
    )
    settings: list[StateEntry] = []
    observations: list[StateEntry] = []
    for item in load_catalogue():
        for entry, volatile in sorted(entries_of(item, answers), key=lambda pair: pair[0].key):
            (observations if volatile else settings).append(entry)
    return Snapshot(
        board=name,
        taken="2024-01-01T00:00:00.000+00:00",
        boot_id=boot_id,
        privilege="root" if is_root else "user",
        settings=tuple(settings),
        observations=tuple(observations),
        seconds=1.5,
        roles=dict(ROLES),
    )
