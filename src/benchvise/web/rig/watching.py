"""The live state of a rig: power, card, who holds a board, and how far that one is.

Power and cards are asked of the hardware now and then, as ``benchvise rig status`` does, which
locks nothing. What a holder does it notes itself beside its lock, so that is looked at much more
often. Notes lie where other users can write: of them only figures and known words are taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from benchvise.flows import rig as flow
from benchvise.rig import locks
from benchvise.rig.boot.patterns import PHASES
from benchvise.rig.environment import Rig
from benchvise.rig.locks import Holder
from benchvise.text import printable
from benchvise.web.live import Publish, Source

ASK_SECONDS = 5.0
"""Between two looks at power and cards."""
LOOK_SECONDS = 0.4
"""Between two looks at the notes."""

_OPERATIONS = {"flash": "flashing", "boot": "booting", "bootloader": "stopping at the bootloader"}


def watching(rig: Rig, acted: Mapping[str, Any]) -> Source:
    """A source of ``boards`` (power, card, errors), ``holders`` (who does what, how far) and
    ``acted`` (what became of what pages did, by board).
    """

    def source(publish: Publish, stopped: threading.Event) -> None:
        keys: dict[str, str] = {}
        before: dict[str, Any] | None = None
        told: dict[str, Any] = {}
        ask_at = 0.0
        asked: Future[dict[str, dict[str, Any]]] | None = None
        # To ask may take seconds, in which the notes are still looked at.
        with ThreadPoolExecutor(1, thread_name_prefix="rig status") as asking:
            while not stopped.is_set():
                if asked is None and time.monotonic() >= ask_at:
                    asked = asking.submit(board_states, rig)
                if asked is not None and asked.done():
                    states = asked.result()
                    asked, ask_at = None, time.monotonic() + ASK_SECONDS
                    keys = {name: s["lock"] for name, s in states.items() if s["lock"]}
                    publish("boards", {"boards": states, "at": time.time()})
                now = {name: holding(locks.holder(key)) for name, key in keys.items()}
                if keys and now != before:
                    if before is not None and any(before.get(n) and not now[n] for n in now):
                        ask_at = 0.0  # it was let go: its power has changed as like as not
                    publish("holders", {"holders": now, "at": time.time()})
                    before = now
                if acted != told:
                    told = dict(acted)
                    publish("acted", {"boards": told})
                stopped.wait(LOOK_SECONDS if keys else 0.05)

    return source


def board_states(rig: Rig) -> dict[str, dict[str, Any]]:
    """What the hardware says of each board.

    ``power`` and ``card`` are a word, None where the board has none, or ``{"na": REASON}``;
    ``lock`` is its lock's key, and ``error`` is what kept the board from being asked.
    """
    found = {}
    for outcome in flow.status(rig, []):
        error = outcome.error
        said = outcome.found
        found[outcome.board] = {
            "power": _state(said.get("power")),
            "card": _state(said.get("mux")),
            "lock": str(said.get("lock", "")),
            "elsewhere": _elsewhere(said),
            "error": None
            if error is None
            else {"message": printable(error.message, 400), "remedy": printable(error.remedy, 400)},
        }
    return found


def holding(holder: Holder | None) -> dict[str, Any] | None:
    """Who holds a board: ``what``, ``pid``, ``since``, and how far it is with what takes long."""
    if holder is None:
        return None
    doing = holder.doing
    operation = doing.get("op")
    return {
        "what": printable(holder.what, 120),
        "pid": holder.pid,
        "since": holder.since,
        "leaving": holder.leaving,
        "doing": _OPERATIONS.get(operation) if isinstance(operation, str) else None,
        "doing_since": _number(doing.get("since")),
        "flash": _flash(doing.get("flash")),
        "phases": _phases(doing.get("phases")),
    }


def _state(said: object) -> object:
    if isinstance(said, Mapping):
        return {"na": printable(str(said.get("na", "")), 200)}
    return None if said is None else printable(str(said), 40)


def _elsewhere(said: Mapping[str, Any]) -> str | None:
    """Who has the place of a coordinator, where no lock of this machine tells."""
    holder = said.get("holder")
    if "lock" in said or not isinstance(holder, Mapping):
        return None
    return printable(str(holder.get("what", "")), 120)


def _flash(said: object) -> dict[str, Any] | None:
    if not isinstance(said, Mapping):
        return None
    figures = {name: _number(said.get(name)) for name in ("done", "total", "rate", "remaining_s")}
    return {"phase": "verify" if said.get("phase") == "verify" else "write", **figures}


def _phases(said: object) -> dict[str, float]:
    if not isinstance(said, Mapping):
        return {}
    found = {phase: _number(said.get(phase)) for phase in PHASES}
    return {phase: at for phase, at in found.items() if at is not None}


def _number(said: object) -> float | None:
    """A finite number, not negative."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return float(said) if 0 <= said < 1e18 else None
