"""``benchvise rig virtual``: simulated boards, started and shown, and the images of their cards."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.rig.virtual import bench
from benchvise.rig.virtual.bench import RIG_FILE
from benchvise.rig.virtual.kinds import BENCH, KINDS, missing
from benchvise.rig.virtual.kinds import image as card_image
from benchvise.rig.virtual.messages import VirtualBoardStatus
from benchvise.text import Untrusted


@dataclass(frozen=True, slots=True)
class RunningBench:
    """A virtual bench that runs: where it is, and its boards as they are now."""

    directory: Path
    rig_file: Path
    boards: tuple[VirtualBoardStatus, ...]


def up(boards: str, directory: Path | None) -> RunningBench:
    """Starts a bench, or finds the one that runs; the images of its cards are built if need be.

    UsageError for boards that there are not, or programs that this machine lacks.
    """
    chosen = _chosen(boards)
    lacking = sorted({package for _, kind in chosen for package in missing(KINDS[kind])})
    if lacking:
        raise UsageError(
            f"the virtual bench requires packages that are not installed: {', '.join(lacking)}",
            f"apt-get install -y --no-install-recommends {' '.join(lacking)}",
        )
    images = {kind: card_image(KINDS[kind]) for _, kind in chosen}
    bench.up(directory, chosen, images=images)
    return status(directory)


def status(directory: Path | None) -> RunningBench:
    """The bench that runs; UsageError when none does."""
    now = bench.status(directory)
    if now is None:
        raise UsageError("no virtual bench runs", "start one: benchvise rig virtual up")
    place = directory or bench.default_directory()
    return RunningBench(place, place / RIG_FILE, now.boards)


def down(directory: Path | None) -> None:
    """Switches everything off and ends the bench; UsageError when none runs."""
    if not bench.down(directory):
        raise UsageError("no virtual bench runs", "there is nothing to stop")


def image(name: str, variant: str = "a") -> Path:
    """A card image for a board of the standard bench, or for a kind; built when it is not there."""
    kinds = dict(BENCH)
    kind = KINDS.get(kinds.get(name, name))
    if kind is None:
        raise UsageError(
            f"'{name}' is no simulated board and no kind of one",
            f"boards: {', '.join(kinds)}; kinds: {', '.join(KINDS)}",
        )
    return card_image(kind, variant=variant)


@dataclass(frozen=True, slots=True)
class VirtualBoardDocument:
    """What ``--json`` shows of a simulated board: what the bench says of it, and that in words."""

    status: VirtualBoardStatus = field(metadata=in_json(inline=True))
    power: str
    console: int
    """The TCP port of its console."""
    ssh: int
    """The TCP port of its SSH server."""
    faults: str
    """``name=value, …``, or ``-``."""


@dataclass(frozen=True, slots=True)
class VirtualBenchDocument:
    """What ``--json`` shows of a virtual bench that runs."""

    directory: Path
    rig_file: Path
    simulated: bool
    boards: tuple[VirtualBoardDocument, ...]


def bench_document(running: RunningBench) -> VirtualBenchDocument:
    """A bench as the commands' ``--json`` shows it."""
    boards = tuple(map(board_document, running.boards))
    return VirtualBenchDocument(running.directory, running.rig_file, True, boards)


def board_document(board: VirtualBoardStatus) -> VirtualBoardDocument:
    """A board as it is shown: with power and faults in words."""
    power = "on" if board.relay else "off"
    if board.relay and not board.running:
        power = f"on, but its machine has ended ({Untrusted(board.ended):60})"
    faults = ", ".join(f"{name}={value}" for name, value in board.faults.items())
    return VirtualBoardDocument(board, power, board.console_port, board.ssh_port, faults or "-")


def _chosen(boards: str) -> tuple[tuple[str, str], ...]:
    """The boards of ``--boards``: a number of the standard ones, or names with kinds."""
    if boards.isdecimal():
        count = int(boards)
        if not 1 <= count <= len(BENCH):
            raise UsageError(
                f"--boards {boards}: there are {len(BENCH)} standard boards",
                "name others with their kinds: NAME=KIND,NAME=KIND",
            )
        return tuple(BENCH[:count])
    pairs = []
    for pair in boards.split(","):
        name, equals, kind = pair.partition("=")
        if not equals or kind not in KINDS:
            raise UsageError(
                f"--boards: '{pair}' is not NAME=KIND",
                f"kinds: {', '.join(KINDS)}",
            )
        pairs.append((name, kind))
    return tuple(pairs)
