"""What ``benchvise rig`` does with boards: read their state, switch, turn, write, boot, console.

Each board is held for the action alone. Of many boards at once each has an outcome of its own: one
that fails neither delays nor fails the others.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from benchvise.documents import in_json
from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.environment import PREFIX, Rig, find_rig_file, load_rig
from benchvise.rig.hold import forks
from benchvise.rig.hold.client import HeldBoard
from benchvise.rig.hold.connection import EventObserver
from benchvise.rig.hold.messages import (
    BoardStatus,
    BootedBoard,
    CardSide,
    FlashedCard,
    PowerChange,
    PowerState,
)
from benchvise.rig.hold.network import statuses_of_addresses, statuses_of_places
from benchvise.rig.hold.together import all_at_once
from benchvise.rig.machine_turn import MachineTurn

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class BoardOutcome(Generic[T_co]):
    """What an action came to on one board: its result, or its error."""

    board: str
    result: T_co | None = None
    error: BenchviseError | None = None


@dataclass(frozen=True, slots=True)
class BoardResult(Generic[T]):
    """What ``--json`` shows of a board with which it went well: its name, and the result."""

    board: str
    result: T = field(metadata=in_json(inline=True))


@dataclass(frozen=True, slots=True)
class BoardFailure:
    """Why it did not go well with a board; ``fault`` is the kind of it, empty for no known one."""

    message: str
    remedy: str
    fault: str


@dataclass(frozen=True, slots=True)
class FailedBoard:
    """What ``--json`` shows of a board with which it did not go well.

    ``report`` is that of a boot that failed.
    """

    board: str
    error: BoardFailure
    report: BootReport | None = field(default=None, metadata=in_json(omit_default=True))


def outcome_document(outcome: BoardOutcome[T]) -> BoardResult[T] | FailedBoard:
    """As the commands' ``--json`` shows it."""
    if outcome.result is not None:
        return BoardResult(outcome.board, outcome.result)
    error = outcome.error
    if error is None:
        raise ValueError(f"{outcome.board}: neither a result nor an error")
    failure = BoardFailure(error.message, error.remedy, str(getattr(error, "fault", "")))
    return FailedBoard(outcome.board, failure, getattr(error, "report", None))


def load(rig_file: str | None) -> Rig:
    """The rig that is meant: of ``--rig``, of the environment, or the virtual bench that runs."""
    file = find_rig_file(rig_file)
    forks.start()  # while the file is read: both take as long as all the rest
    return load_rig(file)


def status(
    rig: Rig, names: Sequence[str], *, reach: bool = False
) -> list[BoardOutcome[BoardStatus]]:
    """Power, card and holder of boards, by default all; changes nothing and locks nothing.

    A process is started for boards with drivers alone whose devices are this user's to read; the
    coordinator is asked once for all others. With ``reach``, boards that nobody uses and that are
    reached over their network alone are asked whether they answer to SSH.
    """
    chosen = rig.select(names or ["all"])
    placed = [name for name in chosen if name in rig.places]
    outcomes: dict[str, BoardOutcome[BoardStatus]] = {}
    if placed:
        try:
            statuses = statuses_of_places(rig, placed, reach=reach)
            outcomes.update((name, BoardOutcome(name, status)) for name, status in statuses.items())
        except BenchviseError as error:
            outcomes.update((name, BoardOutcome(name, None, error)) for name in placed)
    left = [name for name in chosen if name not in outcomes]
    addressed = [name for name in left if not rig.targets[name].is_switched]
    try:
        statuses = statuses_of_addresses(rig, addressed, reach=reach)
        outcomes.update((name, BoardOutcome(name, status)) for name, status in statuses.items())
    except BenchviseError as error:
        outcomes.update((name, BoardOutcome(name, None, error)) for name in addressed)
    switched = [name for name in left if rig.targets[name].is_switched]
    outcomes.update((o.board, o) for o in _each(rig, switched, "", lambda held: held.status()))
    return [outcomes[name] for name in chosen]


def power(rig: Rig, names: Sequence[str], to: PowerChange) -> list[BoardOutcome[PowerState]]:
    """Switches boards on or off, or off and on again."""
    return _each(rig, names, f"rig power {to}", lambda held: held.switch_power(to))


def mux(rig: Rig, names: Sequence[str], to: MuxSide) -> list[BoardOutcome[CardSide]]:
    """Turns the cards of boards to this machine or to the boards."""
    return _each(rig, names, f"rig mux {to}", lambda held: held.turn_mux(to))


def flash(
    rig: Rig, names: Sequence[str], image: str, observe: EventObserver | None = None
) -> list[BoardOutcome[FlashedCard]]:
    """Writes an image to the cards of boards, which are off then.

    Boards on this machine are refused where another command measures it, unless it is waited for.
    """

    def write(held: HeldBoard) -> FlashedCard:
        held.switch_off_at_end(True)
        card = held.write_card(image)
        held.turn_mux(MuxSide.DUT)
        return card

    return _each(rig, names, "rig flash", write, observe, is_busy=True)


def boot(
    rig: Rig, names: Sequence[str], *, keep_on: bool = True, observe: EventObserver | None = None
) -> list[BoardOutcome[BootedBoard]]:
    """Boots boards from off to a shell; one that does not come there is switched off.

    Boards on this machine are refused where another command measures it, unless it is waited for.
    """

    def start(held: HeldBoard) -> BootedBoard:
        held.switch_off_at_end(True)
        try:
            booted = held.boot(logs_directory(held.name))
        except BenchviseError:
            with contextlib.suppress(BenchviseError):
                held.switch_power(PowerChange.OFF)
            raise
        if not keep_on:
            held.switch_power(PowerChange.OFF)
        held.switch_off_at_end(False)
        return booted

    return _each(rig, names, "rig boot", start, observe, is_busy=True)


def _each(
    rig: Rig,
    names: Sequence[str],
    purpose: str,
    act: Callable[[HeldBoard], T],
    observe: EventObserver | None = None,
    *,
    is_busy: bool = False,
) -> list[BoardOutcome[T]]:
    """The same for each board that is meant, all at once. What keeps this machine ``is_busy`` is
    done in turn with commands that measure it, by a board on it."""

    def hold(name: str) -> T:
        if not rig.targets[name].is_switched:
            raise UsageError(
                f"{name} is reached over its network alone: the rig file gives it no power switch, "
                "console or card",
                "give it a CardStrategy, with the drivers that it uses",
            )
        with HeldBoard(rig, name, purpose, observe) as held:
            return act(held)

    chosen = rig.select(names)
    outcomes: dict[str, BoardOutcome[T]] = {}
    with ExitStack() as stack:
        if is_busy:
            turn = MachineTurn(rig, stack, purpose, observe)
            refused = turn.take_for([f"{PREFIX}{name}" for name in chosen])
            for name, error in refused.items():
                board = name.removeprefix(PREFIX)
                outcomes[board] = BoardOutcome(board, None, error)
        done = all_at_once([name for name in chosen if name not in outcomes], hold)
        outcomes.update((name, BoardOutcome(name, result, error)) for name, result, error in done)
    return [outcomes[name] for name in chosen]


# -- the console of one board ----------------------------------------------------------------------

QUIT = b"\x1d"  # Ctrl-]
_READ_SECONDS = 0.03


def open_terminal(rig: Rig, name: str, output: BinaryIO | None = None) -> Path:
    """Connects the terminal with the board's console until Ctrl-] or the end of the input.

    The board's bytes go to ``output``, by default standard output. Returns the log's path. Raises
    RigError when the console cannot be used.
    """
    log = logs_directory(name) / "console.log"
    screen = output or sys.stdout.buffer
    with HeldBoard(rig, name, "rig console") as held:
        held.open_console(log)
        print(f"console of {name}; Ctrl-] quits", file=sys.stderr, flush=True)
        with _raw_terminal():
            descriptor = sys.stdin.fileno()
            listening = True
            while True:
                ready = select.select([descriptor], [], [], 0)[0] if listening else []
                if ready:
                    typed = os.read(descriptor, 1024)
                    if QUIT in typed:
                        break
                    if typed:
                        held.write_console(typed)
                    elif sys.stdin.isatty():
                        break
                    else:  # a script's input has ended: the board's last words are still shown
                        listening = False
                data = held.read_console(_READ_SECONDS if listening else 1.0)
                screen.write(data)
                screen.flush()
                if not listening and not data:
                    break
    return log


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Every key goes to the board, also Ctrl-C; as before afterwards."""
    if not sys.stdin.isatty():
        yield
        return
    # Whatever imports this module for the state of boards may run on a system without it.
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
