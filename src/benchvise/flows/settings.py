"""``benchvise run --set``: which settings are measured, on which boards, one after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.errors import SettingError, UsageError
from benchvise.state import journal, places
from benchvise.state import knobs as values
from benchvise.state.intervention import Intervention, applied
from benchvise.state.knobs import Setting, SettingRequest
from benchvise.state.places import Roles


@dataclass(frozen=True, slots=True)
class Reached:
    """A board to be set: its connection, and which device has which role there."""

    board: Board
    channel: ProbeChannel
    roles: Roles


@dataclass(frozen=True, slots=True)
class Combination:
    """Settings that hold during one run; none is a combination too.

    ``name`` tells the run from the others: what differs among them.
    """

    settings: tuple[Setting, ...] = ()
    name: str = ""

    @property
    def values(self) -> dict[str, str]:
        """Values by knob, for the run's plan."""
        return {setting.knob.name: setting.value for setting in self.settings}

    def label(self, label: str) -> str:
        """The run's label: what the user gave, and what tells it from the other runs."""
        return " ".join(filter(None, (label, self.name)))


def combinations(
    requests: Sequence[SettingRequest], boards: Sequence[Reached]
) -> list[Combination]:
    """Every combination of the values asked for, in their order; one without any when none is.

    UsageError when a board does not offer a value, or offers none to choose from; SettingError
    when it has no such setting.
    """
    axes = [[Setting(w.knob, value) for value in _values(w, boards)] for w in requests]
    varied = {axis[0].knob for axis in axes if len(axis) > 1}
    return [
        Combination(
            settings,
            " ".join(str(setting) for setting in settings if setting.knob in varied),
        )
        for settings in itertools.product(*axes)
    ]


@contextmanager
def applied_to_all(
    combination: Combination, boards: Sequence[Reached]
) -> Iterator[list[Intervention]]:
    """Within this context the boards have these settings; afterwards they are as before.

    Signals are held back in it: see ``benchvise.state.interrupts``.
    """
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                applied(reached.board, reached.channel, combination.settings, reached.roles)
            )
            for reached in boards
            if combination.settings
        ]


def restores_due() -> list[str]:
    """A line for each board that an interrupted run has left changed; never raises."""
    try:
        due = [session for session in journal.sessions() if session.is_due]
    except SettingError as error:
        return [str(error)]
    return [
        f"{session.file}: {session.damage}"
        if session.damage
        else f"{session.board}: {', '.join(sorted({c.knob for c in session.pending if c.new}))} "
        f"set by a run of {session.started[:16].replace('T', ' ')} UTC, not put back"
        for session in due
    ]


def _values(request: SettingRequest, boards: Sequence[Reached]) -> tuple[str, ...]:
    """The values of a request, which every board has to take."""
    chosen: tuple[str, ...] | None = None
    for reached in boards:
        name, knob = reached.board.name, request.knob
        readings = places.survey(reached.channel, [knob], reached.roles)
        there = [place for place in readings.values() if place.value is not None]
        if not there:
            places.expand(knob, reached.roles)  # says so if a role is what it lacks
            raise SettingError(
                f"{name}: {knob.name} cannot be set: "
                + "; ".join(f"{place.path} {place.value_text}" for place in readings.values()),
                "this board's kernel or hardware has no such setting, or root is needed",
            )
        offered = places.offered(reached.channel, there)
        if knob.choices:
            offered = tuple(word for word in offered if word in knob.choices) or knob.choices
        mine = request.values or offered
        if not mine:
            raise UsageError(
                f"{name} does not say which values there are for {knob.name}",
                f"name them: {knob.name}=A+B",
            )
        for value in mine if knob.kind == "choice" and offered else ():
            if value not in offered:
                raise UsageError(
                    f"{name} does not offer {knob.name}={value}",
                    f"choose one of {', '.join(offered)}",
                )
        if chosen is not None and chosen != mine:
            raise UsageError(
                f"the boards offer different values for {knob.name}",
                f"name those to measure: {knob.name}=A+B",
            )
        chosen = tuple(values.canonical(knob, value) for value in mine)
    return chosen or ()
