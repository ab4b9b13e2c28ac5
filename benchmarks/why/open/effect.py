"""What a plant does, measured on the boards themselves before ``why`` is asked."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.why.open.boards import Board
from benchmarks.why.places import NotHere
from benchmarks.why.real import PlantedEffect, effect_of

_TURNS = 3
_EACH = 3
_ROUNDS = 3
"""So many turns are measured again where the plant's effect is not yet beyond its floors."""
_TIMER = """
for i in $(seq "$1"); do
  begin=$EPOCHREALTIME
  sh -c "$2" > /dev/null 2>&1 < /dev/null || exit 97
  end=$EPOCHREALTIME
  echo $((${end//[!0-9]/} - ${begin//[!0-9]/}))
done
"""
_LEAST = math.log(1.05)
"""A smaller effect is not what somebody would ask about."""


@dataclass(frozen=True, slots=True)
class Effects:
    """What the plant does to the bad board, and what the decoys do without it."""

    plant: PlantedEffect
    decoys: PlantedEffect

    @property
    def counts(self) -> bool:
        """Whether the plant has to be named."""
        return self.plant.counts and self.plant.size > _LEAST

    @property
    def decoys_matter(self) -> bool:
        """Whether they are a cause of their own."""
        return self.decoys.counts and abs(self.decoys.size) > max(
            _LEAST, 0.1 * abs(self.plant.size)
        )


def measure(boards: Mapping[str, Board], command: str) -> Effects:
    """The command on the boards ``good``, ``clean`` (decoys only) and ``bad``, in turn, and more
    often where that does not decide. NotHere when it fails on one."""
    values: dict[str, list[float]] = {name: [] for name in ("good", "clean", "bad")}
    for name in values:
        seconds(boards[name], command, 1)  # what the first one finds cold
    for _ in range(_ROUNDS):
        for turn in range(_TURNS):
            for name in sorted(values, reverse=turn % 2 == 1):
                values[name] += seconds(boards[name], command, _EACH)
        if (found := effects(values)).counts:
            break
    return found


def effects(values: Mapping[str, list[float]]) -> Effects:
    """The same of values that are known."""
    return Effects(
        plant=effect_of(values["clean"], values["bad"]),
        decoys=effect_of(values["good"], values["clean"]),
    )


def seconds(board: Board, command: str, number: int) -> list[float]:
    """How long the command takes on a board, so often. NotHere when it fails."""
    line = shlex.join(["bash", "-c", _TIMER, "timer", str(number), command])
    done = board.run(line, timeout=600)
    if done.returncode:
        raise NotHere(f"{board.name}: the command fails (exit {done.returncode})")
    return [max(int(word), 1) / 1e6 for word in done.stdout.split()]
