"""The two sides of a diagnosis as a user names them, opened: boards, runs, snapshots, images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.board import Board, open_board
from benchvise.errors import UsageError
from benchvise.flows import state
from benchvise.flows.boards import command_line, open_boards
from benchvise.flows.request import UserCommand
from benchvise.measure.suite import SuiteEntry, parse_bench
from benchvise.rig.environment import PREFIX, find_rig_file, is_rig, load_rig
from benchvise.rig.machine_turn import MachineTurn
from benchvise.store import Store
from benchvise.why.bench import PATIENCE_S, Bench
from benchvise.why.benches.live import LiveBench
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.benches.record import Record
from benchvise.why.benches.userland import opened_root
from benchvise.why.model import Side

if TYPE_CHECKING:
    from benchvise.rig.hold.connection import EventObserver


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared, and by what: enough to open it all again when it is resumed.

    ``good`` is a board, or what ``--good`` names: a board, a snapshot file or a run of the store.
    With ``boards`` both are images, and these are what they run on. ``good_root`` is a directory or
    an image with the good side's programs; ``good`` may be empty then.
    """

    good: str
    bad: str
    bench: str | None = None
    command: UserCommand | None = None
    rig: str | None = None
    patience_s: float = PATIENCE_S
    boards: tuple[str, ...] = ()
    good_root: str = ""

    def entry(self) -> SuiteEntry:
        """What is measured; UsageError when that is nothing, or two things."""
        if (self.bench is None) == (self.command is None):
            raise UsageError(
                "what is to be explained?" if self.bench is None else "two things to explain",
                "give one: --bench memory.copy, or --command CMD",
            )
        if self.command is not None:
            return self.command.entry()
        assert self.bench is not None  # noqa: S101 - one of the two
        return parse_bench(self.bench)

    def as_arguments(self) -> list[str]:
        """As on the command line."""
        two = bool(self.boards) or (bool(self.good) and _is_board(self.good))
        arguments = [self.good, self.bad] if two else [self.bad]
        arguments += ["--good", self.good] if self.good and not two else []
        arguments += ["--good-root", self.good_root] if self.good_root else []
        arguments += [word for name in self.boards for word in ("--board", name)]
        options = {"--bench": self.bench, "--rig": self.rig}
        if self.command is not None:
            options |= {"--command": self.command.line, "--match": self.command.match}
            options |= {"--better": self.command.better, "--unit": self.command.unit}
        return arguments + [w for name, value in options.items() if value for w in (name, value)]


def open_bench(
    sides: Sides, stack: ExitStack, store: str | None, observe: EventObserver | None = None
) -> Bench:
    """Opens both sides; ``stack`` closes them.

    Raises what opening boards raises, and UsageError for what is no side or nothing to measure.
    """
    entry = sides.entry()
    if sides.boards:
        return open_images(
            sides.good, sides.bad, sides.boards, entry, stack,
            rig_file=sides.rig, observe=observe,
        )  # fmt: skip
    record = None if not sides.good or _is_board(sides.good) else _record(sides.good, store)
    names = [sides.good, sides.bad] if sides.good and record is None else [sides.bad]
    root = stack.enter_context(opened_root(Path(sides.good_root))) if sides.good_root else None
    opened, failed = open_boards(names, stack, rig_file=sides.rig, observe=observe)
    if failed:
        raise failed[0][1]
    if len(opened) != len(names):
        raise UsageError("more than one board of the rig is named", "name them one by one")
    opened_sides: dict[Side, LiveBoard | Record] = {}
    simulated: set[Side] = set()
    order = (Side.GOOD, Side.BAD)[-len(names) :]
    for side, (board, prepared) in zip(order, opened, strict=True):
        live = LiveBoard(board, _reopener(board.name, sides.rig), entry,
                         patience_s=sides.patience_s)  # fmt: skip
        stack.callback(live.close)
        opened_sides[side] = live
        simulated |= {side} if prepared.simulated else set()
    if record is not None:
        opened_sides[Side.GOOD] = record
    if record is None and root is not None:
        simulated |= {Side.GOOD} if simulated else set()
    bench = LiveBench(opened_sides, simulated=frozenset(simulated), root=root)
    stack.callback(bench.close)
    return bench


def _record(reference: str, store: str | None) -> Record:
    """A snapshot file, or a run with the state that it was measured in."""
    if Path(reference).is_file():
        return Record(reference, state.read(Path(reference)))
    snapshot = state.resolve(reference, store)
    with Store.open(store) as results:
        run = results.load(reference)
    return Record(f"run {run.id}" + (f" ({run.label})" if run.label else ""), snapshot, run)


def _is_board(name: str) -> bool:
    """Whether a word names a board; a file or a run otherwise."""
    return not Path(name).is_file() and state.is_board(name)


def _reopener(name: str, rig_file: str | None) -> Callable[[], Board]:
    """How a board is reached once more: one of a rig is booted anew."""
    if not is_rig(name):
        return lambda: open_board(name)

    def boot() -> Board:
        from benchvise.rig.hold.board import open_board as open_in_rig  # labgrid takes its time

        return open_in_rig(name, rig_file)

    return boot


# -- images, for one board of a rig or for one each ------------------------------------------------


def open_images(
    good: str,
    bad: str,
    boards: Sequence[str],
    entry: SuiteEntry,
    stack: ExitStack,
    *,
    rig_file: str | None = None,
    observe: EventObserver | None = None,
) -> Bench:
    """A bench of two images; ``stack`` lets the boards go, switched off.

    ``boards`` are one of a rig for both, or two: the good image's and the bad one's. Raises
    UsageError for what is no image or no board of a rig, and what booting raises.
    """
    for image in (good, bad):
        if not Path(image).is_file():
            raise UsageError(
                f"'{image}' is no file, and --board is for two images",
                "name the good image and the bad one",
            )
    rig = load_rig(find_rig_file(rig_file))
    others = [name for name in boards if not is_rig(name)]
    names = [] if others else rig.select([name.removeprefix(PREFIX) for name in boards])
    if len(names) not in (1, 2):
        raise UsageError(
            f"--board {others[0]} is no board of a rig"
            if others
            else f"--board names {len(names)} boards",
            "name one board for both images, or two: the good image's and the bad one's",
        )
    from benchvise.rig.hold.board import BootSession  # labgrid takes its time
    from benchvise.why.benches.rig import RigBench

    MachineTurn(rig, stack, command_line(), observe).take_for([f"{PREFIX}{name}" for name in names])
    seats = []
    for name in names:
        seat = BootSession(rig, name, f"why {Path(good).name} {Path(bad).name}", observe)
        stack.callback(seat.close)
        seats.append(seat)
    bench = RigBench(
        {Side.GOOD: seats[0], Side.BAD: seats[-1]},
        {Side.GOOD: Path(good).resolve(), Side.BAD: Path(bad).resolve()},
        entry,
    )
    stack.callback(bench.close)
    return bench
