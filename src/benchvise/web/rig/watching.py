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
from typing import Any

from benchvise.documents import encode
from benchvise.rig import locks
from benchvise.rig.boot.patterns import PHASES
from benchvise.rig.environment import Rig
from benchvise.rig.hold import actions
from benchvise.rig.hold.actions import BoardOutcome
from benchvise.rig.hold.messages import BoardStatus
from benchvise.rig.locks import Holder
from benchvise.text import printable
from benchvise.web.live import Publish, Source

STATUS_SECONDS = 5.0
"""Between two readings of power and cards."""
POLL_SECONDS = 0.4
"""Between two readings of the notes."""

_OPERATIONS = {"flash": "flashing", "boot": "booting"}


def watching(rig: Rig, acted: Mapping[str, Any]) -> Source:
    """A source of ``boards`` (power, card, errors), ``holders`` (who does what, how far) and
    ``acted`` (what became of what pages did, by board).
    """

    def source(publish: Publish, stopped: threading.Event) -> None:
        keys: dict[str, str] = {}
        before: dict[str, Any] | None = None
        published: dict[str, Any] = {}
        next_reading = 0.0
        reading: Future[dict[str, dict[str, Any]]] | None = None
        # A reading may take seconds, in which the notes are still polled.
        with ThreadPoolExecutor(1, thread_name_prefix="rig status") as pool:
            while not stopped.is_set():
                if reading is None and time.monotonic() >= next_reading:
                    reading = pool.submit(board_states, rig)
                if reading is not None and reading.done():
                    states = reading.result()
                    reading, next_reading = None, time.monotonic() + STATUS_SECONDS
                    keys = {name: s["lock"] for name, s in states.items() if s["lock"]}
                    publish("boards", {"boards": states, "at": time.time()})
                now = {name: holding(locks.holder(key)) for name, key in keys.items()}
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


def board_states(rig: Rig) -> dict[str, dict[str, Any]]:
    """What the hardware says of each board.

    ``power`` and ``card`` are a word, None where the board has none, or ``{"na": REASON}``;
    ``lock`` is its lock's key, ``elsewhere`` who has its place where no lock of this machine says
    so, and ``error`` why its state could not be read.
    """
    return {outcome.board: _board_state(outcome) for outcome in actions.status(rig, [])}


def _board_state(outcome: BoardOutcome[BoardStatus]) -> dict[str, Any]:
    status, error = outcome.result, outcome.error
    elsewhere = status.holder if status is not None and not status.lock else None
    return {
        "power": encode(status.power) if status is not None else None,
        "card": encode(status.mux) if status is not None else None,
        "lock": status.lock if status is not None else "",
        "elsewhere": elsewhere.what if elsewhere is not None else None,
        "error": None if error is None else {"message": error.message, "remedy": error.remedy},
    }


def holding(holder: Holder | None) -> dict[str, Any] | None:
    """Who holds a board: ``what``, ``pid``, ``since``, and how far it is with what takes long.

    Any user can write a note: of its activity only numbers and known words are taken, each for
    itself.
    """
    if holder is None:
        return None
    operation = holder.doing.get("op")
    return {
        "what": printable(holder.what, 120),
        "pid": holder.pid,
        "since": holder.since,
        "leaving": holder.leaving,
        "doing": _OPERATIONS.get(operation) if isinstance(operation, str) else None,
        "doing_since": _number(holder.doing.get("since")),
        "flash": _flash(holder.doing.get("flash")),
        "phases": _phases(holder.doing.get("phases")),
    }


def _flash(noted: object) -> dict[str, float | str | None] | None:
    if not isinstance(noted, Mapping):
        return None
    numbers = {name: _number(noted.get(name)) for name in ("done", "total", "rate", "remaining_s")}
    return {"phase": "verify" if noted.get("phase") == "verify" else "write", **numbers}


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
