"""``benchvise rig``: boards that are held, looked at, written, booted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchvise.errors import BenchviseError
from benchvise.flows.boards import RigObserver
from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.environment import Rig, find_rig_file, load_rig
from benchvise.rig.hold.client import HeldBoard, all_at_once


@dataclass(frozen=True, slots=True)
class BoardOutcome:
    """What became of one board: what it said, or its error."""

    board: str
    found: Mapping[str, Any] = field(default_factory=dict)
    error: BenchviseError | None = None

    def as_json(self) -> dict[str, Any]:
        """As the commands' ``--json`` shows it."""
        if self.error is None:
            return {"board": self.board, **self.found}
        fault = str(getattr(self.error, "fault", ""))
        said = {"message": self.error.message, "remedy": self.error.remedy, "fault": fault}
        report = getattr(self.error, "report", None)
        return {
            "board": self.board,
            "error": said,
            **({"report": report.as_json()} if report is not None else {}),
        }


def load(rig_file: str | None) -> Rig:
    """The rig that is meant."""
    return load_rig(find_rig_file(rig_file))


def status(rig: Rig, words: Sequence[str]) -> list[BoardOutcome]:
    """Power, card and holder of boards, asked of the rig; changes nothing and locks nothing."""
    return _each(rig, words or ["all"], "", lambda held: held.request("status"))


def power(rig: Rig, words: Sequence[str], to: str) -> list[BoardOutcome]:
    """Switches boards on or off, or off and on again."""
    return _each(rig, words, f"rig power {to}", lambda held: held.request("power", to=to))


def mux(rig: Rig, words: Sequence[str], to: str) -> list[BoardOutcome]:
    """Turns the cards of boards to this side or to theirs."""
    return _each(rig, words, f"rig mux {to}", lambda held: held.request("mux", to=to))


def flash(
    rig: Rig, words: Sequence[str], image: str, observe: RigObserver | None = None
) -> list[BoardOutcome]:
    """Writes an image to the cards of boards, which are off then."""

    def write(held: HeldBoard) -> Mapping[str, Any]:
        held.request("off_at_end", off=True)
        written = held.request("flash", image=image)
        held.request("mux", to="dut")
        return written

    return _each(rig, words, "rig flash", write, observe)


def boot(
    rig: Rig, words: Sequence[str], *, keep_on: bool = True, observe: RigObserver | None = None
) -> list[BoardOutcome]:
    """Boots boards from off to a shell; one that does not come there is switched off."""

    def start(held: HeldBoard) -> Mapping[str, Any]:
        held.request("off_at_end", off=True)
        directory = logs_directory(held.name)
        try:
            found = held.request("boot", directory=str(directory))
        except BenchviseError:
            with contextlib.suppress(BenchviseError):
                held.request("power", to="off")
            raise
        if not keep_on:
            held.request("power", to="off")
        held.request("off_at_end", off=False)
        return found

    return _each(rig, words, "rig boot", start, observe)


def _each(
    rig: Rig,
    words: Sequence[str],
    purpose: str,
    work: Callable[[HeldBoard], Mapping[str, Any]],
    observe: RigObserver | None = None,
) -> list[BoardOutcome]:
    """The same for each board that is meant, all at once."""

    def hold(name: str) -> Mapping[str, Any]:
        with HeldBoard(rig, name, purpose, observe) as held:
            return work(held)

    return [
        BoardOutcome(name, found or {}, error)
        for name, found, error in all_at_once(rig.select(words), hold)
    ]
