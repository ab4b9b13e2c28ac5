"""What makes versions measurable on a board: a word in a command, a build of a commit, an image.

Builds are in ``flows.bisect_builds``: several boards may share one.
"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from benchvise.bisect.model import VersionUnusable
from benchvise.board import Board, open_board
from benchvise.board.channel import NotAvailable
from benchvise.errors import (
    BoardUnreachable,
    MeasurementError,
    ProbeError,
    UsageError,
)
from benchvise.flows.boards import command_line, open_boards
from benchvise.flows.request import UserCommand
from benchvise.measure.model import MetricKind
from benchvise.measure.suite import SuiteEntry, parse_bench
from benchvise.rig.environment import PREFIX, find_rig_file, is_rig, load_rig
from benchvise.rig.machine_turn import MachineTurn
from benchvise.why.benches.live_board import LiveBoard

if TYPE_CHECKING:
    from benchvise.rig.hold.board import BootSession
    from benchvise.rig.hold.connection import EventObserver

T = TypeVar("T")

PLACE = "{}"
"""What stands for the version in a command."""
TREE = "{tree}"
"""What stands for the directory of the build."""
BOARD = "{board}"
"""What stands for the board's name."""

_TRIES = 2  # of a boot, and of a process on a board that came back


@dataclass(frozen=True, slots=True)
class VersionMetric:
    """What is measured of each version: a benchmark, or a command in which it is named."""

    bench: str | None
    command: UserCommand | None

    def entry(self, version: str, board: str, tree: Path | None = None) -> SuiteEntry:
        """What is measured of that version on that board."""
        if self.command is None:
            assert self.bench is not None  # noqa: S101 - one of the two, checked before
            return parse_bench(self.bench)
        line = self.command.line.replace(PLACE, shlex.quote(version))
        line = line.replace(BOARD, shlex.quote(board))
        if tree is not None:
            line = line.replace(TREE, shlex.quote(str(tree)))
        return replace(self.command, line=line).entry()


class Maker(Protocol):
    """Makes versions ready to be measured."""

    @property
    def board(self) -> str:
        """The board's name."""

    @property
    def build_s(self) -> float:
        """Seconds of the last ``make`` that building took."""

    @property
    def tree(self) -> Path | None:
        """Where they are built, if they are."""

    def make(self, version: str) -> LiveBoard | None:
        """Makes the version ready; the board where it is another connection than before.

        Raises VersionUnusable and BoardUnreachable.
        """


@dataclass
class BoardBench:
    """The bench of a bisection (``bisect.model.VersionBench``) on one board.

    The first version is made ready when this is opened, which tells what is measured.
    """

    names: Sequence[str]
    metric: VersionMetric
    maker: Maker
    _live: LiveBoard | None = None
    _kind: MetricKind = field(init=False)

    def __post_init__(self) -> None:
        self.ready(0)
        live = self._board()
        spec = self._entry(0).specs(live.registry)
        live.spec = spec[0]
        _, self._kind = _explained(self.names[0], live.first)

    def key(self, version: int) -> str:
        """The key of the series that measures a version, as runs have it."""
        return self._entry(version).specs(self._board().registry)[0].key

    @property
    def unit(self) -> str:
        """The value's unit; empty where nobody said one."""
        return self._kind.unit

    @property
    def better(self) -> Literal["higher", "lower"]:
        """Which way the value is better."""
        return self._kind.better

    def ready(self, version: int) -> None:
        """Builds, writes or boots the version."""
        version_made = self.maker.make(self.names[version])
        if version_made is not None:
            batches = self._live.batches if self._live is not None else None
            self._live = version_made
            if batches is not None:
                version_made.batches = batches

    def measure(self, version: int) -> float:
        """The median of one fresh process of the version that is ready."""
        for attempt in range(_TRIES):
            try:
                return _explained(self.names[version], lambda: self._value(version))
            except (BoardUnreachable, ProbeError) as error:
                if attempt + 1 == _TRIES:
                    raise
                self._board().settle(error)
        raise AssertionError("the last try returns or raises")

    def _value(self, version: int) -> float:
        live = self._board()
        spec = self._entry(version).specs(live.registry)[0]
        return statistics.median(live.process(spec).values)

    def _entry(self, version: int) -> SuiteEntry:
        return self.metric.entry(self.names[version], self.maker.board, self.maker.tree)

    def _board(self) -> LiveBoard:
        assert self._live is not None  # noqa: S101 - the first version was made ready
        return self._live


def _explained(version: str, act: Callable[[], T]) -> T:
    """Runs a measurement; one that this version cannot do says so of the version."""
    try:
        return act()
    except (NotAvailable, MeasurementError, UsageError) as error:
        raise VersionUnusable(
            f"{version} cannot be measured: {error.message}", error.remedy
        ) from error


# -- versions that a command names -----------------------------------------------------------------


class CommandMaker:
    """Nothing is built: the command has the version in it."""

    tree: Path | None = None
    build_s = 0.0

    def __init__(self, live: LiveBoard) -> None:
        self.board = live.name
        self._live = live

    def make(self, version: str) -> LiveBoard | None:  # noqa: ARG002 - the command names it
        """The board."""
        return self._live


def open_live(
    board: str,
    rig: str | None,
    entry: Callable[[str], SuiteEntry],
    stack: ExitStack,
    observe: EventObserver,
) -> LiveBoard:
    """The board, held open by ``stack``; ``entry`` is what is measured on a board of that name.

    Raises what opening it raises.
    """
    opened, failed = open_boards([board], stack, rig_file=rig, observe=observe)
    if failed:
        raise failed[0][1]
    if len(opened) != 1:
        raise UsageError(f"{board} is more than one board", "name one")
    reached = opened[0][0]
    return live_board(reached, rig, entry(reached.name), stack)


def live_board(reached: Board, rig: str | None, entry: SuiteEntry, stack: ExitStack) -> LiveBoard:
    """A board that is open, measured process by process until ``stack`` closes it."""

    def reopen() -> object:
        if not is_rig(reached.name):
            return open_board(reached.name)
        from benchvise.rig.hold.board import open_board as open_in_rig  # labgrid takes its time

        return open_in_rig(reached.name, rig)

    live = LiveBoard(reached, reopen, entry)  # type: ignore[arg-type]
    stack.callback(live.close)
    return live


# -- images ----------------------------------------------------------------------------------------


class ImageMaker:
    """Writes images to the card of one board of a rig, and boots them."""

    tree: Path | None = None
    build_s = 0.0

    def __init__(self, session: BootSession, entry: SuiteEntry) -> None:
        self.board = session.name
        self._session = session
        self._entry = entry
        self._live: LiveBoard | None = None

    def make(self, version: str) -> LiveBoard | None:
        """The board, booted from that image."""
        from benchvise.rig.boot.verdict import BootError
        from benchvise.rig.faults import FlashError

        self.close()
        image = Path(version)
        for attempt in range(_TRIES):  # a board may fail once without its image being to blame
            try:
                board = self._session.boot(image)
                break
            except (BootError, FlashError) as error:
                if attempt + 1 == _TRIES:
                    raise VersionUnusable(
                        f"{version} does not boot: {error.message}", error.remedy
                    ) from error
        self._live = LiveBoard(board, lambda: self._session.boot(image), self._entry)
        self._live.first()
        return self._live

    def close(self) -> None:
        """Ends the connection to the board as it is booted now."""
        if self._live is not None:
            self._live.close()
            self._live = None


def open_session(
    board: str, rig: str | None, stack: ExitStack, observe: EventObserver
) -> BootSession:
    """One board of a rig, held until ``stack`` closes. Raises what holding it raises."""
    if not is_rig(board):
        raise UsageError(
            f"{board} is no board of a rig, and --images are written to cards", "name rig:NAME"
        )
    loaded = load_rig(find_rig_file(rig))
    names = loaded.select([board.removeprefix(PREFIX)])
    if len(names) != 1:
        raise UsageError(f"{board} is {len(names)} boards", "name one")
    from benchvise.rig.hold.board import BootSession  # labgrid takes its time

    MachineTurn(loaded, stack, command_line(), observe).take_for([f"{PREFIX}{names[0]}"])
    session = BootSession(loaded, names[0], "bisect", observe)
    stack.callback(session.close)
    return session
