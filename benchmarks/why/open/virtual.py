"""Boards that QEMU simulates, for causes that are settings of a whole kernel.

Three cards are made: as the good board, with the decoys of the bad one, and with the plant. Who
measures a board boots it, and switches it off. They count instructions as time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.why import virtual_kinds, virtual_plants
from benchmarks.why.open.boards import Board
from benchmarks.why.open.case import Case
from benchmarks.why.open.decoys import Decoys
from benchmarks.why.open.effect import Effects, effects
from benchmarks.why.places import NotHere
from benchmarks.why.real import process_medians

NAMES = ("good", "clean", "bad")
_TURNS = 2
_PROCESSES = 3
"""Of each board in a turn."""
_BASE = "cryptomgr.notests=1"


@dataclass(frozen=True, slots=True)
class VirtualBoards:
    """The boards by name, and the environment that ``benchvise`` finds them in."""

    boards: Mapping[str, Board]
    environment: Mapping[str, str]

    def measured(self, command: str) -> Effects:
        """What plant and decoys do. NotHere when the command fails."""
        values: dict[str, list[float]] = {name: [] for name in NAMES}
        for turn in range(_TURNS):
            for name in sorted(NAMES, reverse=turn % 2 == 1):
                values[name] += self._medians(name, command)
        return effects(values)

    def switch_on(self) -> None:
        """Boots the two that are compared: whoever measures a board of a rig boots it, and switches
        it off. NotHere when one does not start."""
        _benchvise(["rig", "boot", "good", "bad"], {**os.environ, **self.environment})

    def _medians(self, name: str, command: str) -> list[float]:
        """The median of each process on a board."""
        run = ["run", f"rig:{name}", "--command", command, "--processes", str(_PROCESSES), "--json"]
        (record,) = json.loads(_benchvise(run, {**os.environ, **self.environment}))["data"]
        return process_medians(record)


@contextmanager
def virtual_boards(case: Case, decoys: Decoys) -> Iterator[VirtualBoards]:
    """Three boards with their cards written, switched on as they are needed. NotHere where this
    machine cannot have them."""
    with virtual_plants.rig([(name, "plain") for name in NAMES]) as environment:
        known = {**os.environ, **environment}
        for name in NAMES:
            image = virtual_plants.made(_image(case, decoys, name))
            _benchvise(["rig", "flash", name, image], known)
        rig = yaml.safe_load(Path(environment["BENCHVISE_RIG"]).read_text())
        yield VirtualBoards({name: _board(rig, name) for name in NAMES}, environment)


def _image(case: Case, decoys: Decoys, name: str) -> virtual_plants.Make:
    start = ["mount -t tracefs tracefs /sys/kernel/tracing", *decoys.sysctls(bad=name != "good")]
    append = [_BASE]
    if name == "bad":
        append += case.append.split()
        start += case.plant.strip().splitlines()
    return virtual_plants.image(f"open-{case.name}-{name}", " ".join(append), *start)


def _board(rig: Mapping[str, object], name: str) -> Board:
    targets = rig["targets"]
    assert isinstance(targets, dict)
    service = targets[name]["resources"]["NetworkService"]
    options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
    ssh = ["ssh", "-i", str(virtual_kinds.ssh_key()), "-p", str(service["port"])]
    words = [word for option in options for word in ("-o", option)]
    return Board(name, f"rig:{name}", (*ssh, *words, f"root@{service['address']}"))


def _benchvise(words: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchvise", *words],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise NotHere(f"benchvise {' '.join(words[:2])}: {said}")
    return done.stdout
