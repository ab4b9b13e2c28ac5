"""Bringing several files to given values when the kernel ties them to each other.

A lower limit above the upper one is refused, a ratio resets its number of bytes and the other way
round, a governor brings its own files along. So there are several passes, each of which writes
only what is not yet right, in alternating order, until everything is or nothing moves any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchvise.state import knobs as values
from benchvise.state.model import Knob
from benchvise.state.places import BoardFiles, SettingPlace, literal, place_of

_PASSES = 6


@dataclass(frozen=True, slots=True)
class Goal:
    """A file, and the value that it is to have."""

    knob: Knob
    path: str
    value: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A goal that was not reached: what its file holds instead, and how the kernel refused."""

    goal: Goal
    place: SettingPlace
    error: str

    @property
    def is_gone(self) -> bool:
        """Whether there is no such file any more: its device or driver has gone."""
        return self.place.value is None and self.place.reason == "ENOENT"

    def __str__(self) -> str:
        refused = f", {self.error} when {self.goal.value} is written" if self.error else ""
        return f"{self.goal.knob.name} ({self.goal.path} {self.place.value_text}{refused})"


Written = Callable[[Goal, str | None], None]


def drive(
    files: BoardFiles, goals: Sequence[Goal], written: Written = lambda _goal, _now: None
) -> list[Missed]:
    """Writes files until each has its goal's value; returns the goals that were not reached.

    ``written`` hears of each write that changed something, with what the file holds since.
    """
    errors: dict[str, str] = {}
    order = list(goals)
    for _ in range(_PASSES):
        moved = False
        found = present(files, order)
        for goal in [goal for goal in order if not is_reached(goal, found[goal.path])]:
            # An earlier write may have brought this one along, or taken it away.
            before = present(files, [goal])[goal.path]
            if before.value is None or is_reached(goal, before):
                continue
            result = files.write(goal.path, goal.value)
            text = result.now
            now = None if text is None else values.present_value(goal.knob, goal.path, text)
            errors[goal.path] = result.error
            if now != before.value:
                moved = True
                written(goal, now)
        found = present(files, goals)
        missed = [goal for goal in goals if not is_reached(goal, found[goal.path])]
        if not missed or not moved:
            break
        order.reverse()
    return [Missed(goal, found[goal.path], errors.get(goal.path, "")) for goal in missed]


def present(files: BoardFiles, goals: Iterable[Goal]) -> dict[str, SettingPlace]:
    """What the goals' files hold now, by path."""
    wanted = {goal.path: goal.knob for goal in goals}
    found = files.read(literal(path) for path in wanted)
    return {
        path: place_of(knob, path, found.get(path) or found.get(literal(path)))
        for path, knob in wanted.items()
    }


def is_reached(goal: Goal, place: SettingPlace) -> bool:
    """Whether a file has its goal's value."""
    return place.value is not None and values.same(goal.knob, place.value, goal.value)
