"""The live state of a rig: power, card, who holds a board, and how far that one is.

Power and cards are read from the hardware now and then, as ``benchvise rig status`` does, which
locks nothing. A holder notes beside its lock what it does; notes are read much more often. They lie
where other users can write: of them only numbers and known words are taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from benchvise.quantities import format_time
from benchvise.rig import locks
from benchvise.rig.boot.patterns import PHASES
from benchvise.rig.environment import Rig
from benchvise.rig.hold import actions
from benchvise.rig.hold.actions import BoardOutcome
from benchvise.rig.hold.messages import BoardHolder, BoardStatus
from benchvise.rig.locks import Holder
from benchvise.text import printable
from benchvise.web.live import Publish, Source
from benchvise.web.rig import console
from benchvise.web.rig.control import ActionState

STATUS_SECONDS = 5.0
"""Between two readings of power and cards."""
POLL_SECONDS = 0.4
"""Between two readings of the notes."""

_OPERATIONS = {"flash": "flashing", "boot": "booting"}


def watching(rig: Rig, acted: Mapping[str, ActionState]) -> Source:
    """A source of ``boards`` (power, card, errors), ``holders`` (who does what, how far) and
    ``acted`` (what became of what pages did, by board).
    """

    def source(publish: Publish, stopped: threading.Event) -> None:
        keys: dict[str, str] = {}
        before: dict[str, HoldState | None] | None = None
        published: dict[str, ActionState] = {}
        next_reading = 0.0
        reading: Future[dict[str, BoardState]] | None = None
        # A reading may take seconds, in which the notes are still polled.
        with ThreadPoolExecutor(1, thread_name_prefix="rig status") as pool:
            while not stopped.is_set():
                if reading is None and time.monotonic() >= next_reading:
                    reading = pool.submit(board_states, rig)
                if reading is not None and reading.done():
                    states = reading.result()
                    reading, next_reading = None, time.monotonic() + STATUS_SECONDS
                    keys = {name: state.lock for name, state in states.items() if state.lock}
                    publish("boards", {"boards": states, "at": time.time()})
                now = {name: holding(locks.holder(key), name) for name, key in keys.items()}
                if keys and now != before:
                    if before is not None and any(before.get(n) and not now[n] for n in now):
                        next_reading = 0.0  # released: its power has probably changed
                    publish("holders", {"holders": now, "at": time.time()})
                    before = now
                if acted != published:
                    published = dict(acted)
                    publish("acted", {"boards": published})
                stopped.wait(POLL_SECONDS if keys else 0.05)

    return source


@dataclass(frozen=True, slots=True)
class ReadingError:
    """Why the state of a board could not be read."""

    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class BoardState:
    """What the hardware says of a board.

    ``power`` and ``card`` are a word, None where the board has none, or ``{"na": REASON}``;
    ``lock`` is its lock's key, ``elsewhere`` who has its place where no lock of this machine says
    so. ``waiting`` are those that wait for it on this machine, the next one first.
    """

    power: object
    card: object
    lock: str
    elsewhere: str | None
    error: ReadingError | None
    waiting: tuple[str, ...] = ()


def board_states(rig: Rig) -> dict[str, BoardState]:
    """The state of each board, by name."""
    return {outcome.board: _board_state(outcome) for outcome in actions.status(rig, [])}


def _board_state(outcome: BoardOutcome[BoardStatus]) -> BoardState:
    status, error = outcome.result, outcome.error
    failure = None if error is None else ReadingError(error.message, error.remedy)
    if status is None:
        return BoardState(None, None, "", None, failure)
    elsewhere = status.holder if not status.lock else None
    return BoardState(
        power=status.power,
        card=status.mux,
        lock=status.lock,
        elsewhere=None if elsewhere is None else _elsewhere(elsewhere),
        error=failure,
        waiting=tuple(printable(who.what, 120) for who in status.waiting),
    )


def _elsewhere(holder: BoardHolder) -> str:
    """Who has the place, and since when as far as the coordinator knows."""
    if holder.since is None:
        return holder.what
    taken = format_time(datetime.fromtimestamp(holder.since, UTC).isoformat())
    return f"{holder.what}, taken {taken} or before"


@dataclass(frozen=True, slots=True)
class NotedFlash:
    """How far the writing of a card is: bytes, bytes a second, seconds."""

    phase: Literal["write", "verify"]
    done: float | None
    total: float | None
    rate: float | None
    remaining_s: float | None


@dataclass(frozen=True, slots=True)
class HoldState:
    """Who holds a board, and how far it is with what takes long: seconds since 1970 and of a boot.

    ``line`` is the last one on the console of a board that boots; empty where its log is not kept
    by the user of this server. Any user can write a note: of its activity only numbers and known
    words are taken, each for itself.
    """

    what: str
    pid: int
    since: float
    leaving: bool
    doing: str | None
    doing_since: float | None
    flash: NotedFlash | None
    phases: Mapping[str, float]
    line: str


def holding(holder: Holder | None, board: str) -> HoldState | None:
    """What a holder of a board notes; None where nobody holds it."""
    if holder is None:
        return None
    operation, log = holder.doing.get("op"), holder.doing.get("log")
    return HoldState(
        what=printable(holder.what, 120),
        pid=holder.pid,
        since=holder.since,
        leaving=holder.leaving,
        doing=_OPERATIONS.get(operation) if isinstance(operation, str) else None,
        doing_since=_number(holder.doing.get("since")),
        flash=_flash(holder.doing.get("flash")),
        phases=_phases(holder.doing.get("phases")),
        line=console.last_line_of(board, log) if isinstance(log, str) else "",
    )


def booting() -> dict[str, HoldState]:
    """The boards that boot on this machine now, by name, whichever rig they are in.

    Any user can write a note, so a name is shown and found among logs, and no more.
    """
    boards = {}
    for holder in locks.holders():
        name = holder.doing.get("board")
        if holder.doing.get("op") != "boot" or not isinstance(name, str):
            continue
        name = printable(name, 120)
        state = holding(holder, name)
        if state is not None and state.doing_since is not None:
            boards[name] = state
    return dict(sorted(boards.items()))


def _flash(noted: object) -> NotedFlash | None:
    if not isinstance(noted, Mapping):
        return None
    numbers = (_number(noted.get(name)) for name in ("done", "total", "rate", "remaining_s"))
    return NotedFlash("verify" if noted.get("phase") == "verify" else "write", *numbers)


def _phases(noted: object) -> dict[str, float]:
    if not isinstance(noted, Mapping):
        return {}
    times = {phase: _number(noted.get(phase)) for phase in PHASES}
    return {phase: at for phase, at in times.items() if at is not None}


def _number(value: object) -> float | None:
    """A finite number, not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e18 else None
