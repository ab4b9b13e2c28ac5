"""Everything that can go wrong in a rig, each under its own name, on boards that stand in for real
ones: with a real bench, real labgrid, and the commands as they are.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rig_bench import Ran, TestBench, running

from benchvise.errors import UsageError
from benchvise.flows import rig as flow
from benchvise.rig import locks
from benchvise.rig.client import HeldBoard

GOOD = "good"

# What is wrong: what is on the card, what is injected; and what it has to be called.
CARDS = {
    "bad-block": ("card-verify-mismatch", {"bad-block": "65536"}),
    "write-error": ("card-write-error", {"write-error": "65536"}),
    "too-small": ("card-too-small", {"small-card": "65536"}),
    "no-card": ("card-missing", {}),
    "mux-stays": ("mux-stuck", {"mux-stuck": "1"}),
}
BOOTS = {
    "silent": ("no-output", "silent", {}),
    "drops": ("console-lossy", "boot", {"serial-drop": "0.02"}),
    "garbles": ("console-garbled", "boot", {"serial-garble": "0.02"}),
    "deaf": ("console-dead", "boot", {"console-dead": "1"}),
    "held": ("bootloader-prompt", "boot", {"hang-uboot": "1"}),
    "stands": ("bootloader-hang", "hang-early", {}),
    "blank": ("no-bootable-medium", "nothing", {}),
    "panics": ("kernel-panic", "panic", {}),
    "no-root": ("root-not-found", "no-root", {}),
    "loops": ("login-loop", "login-loop", {}),
    "hangs": ("hang", "hang", {}),
    "crawls": ("too-slow", "slow", {}),
    "no-power": ("relay-stuck", "boot", {"relay-stuck": "1"}),
}


@dataclass
class Batch:
    """All faults of one kind at once, each on a board of its own, beside one that is well."""

    rig: TestBench
    outcomes: dict[str, flow.Outcome]
    events: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def outcome(self, board: str) -> flow.Outcome:
        if board in self.skipped:
            pytest.skip(self.skipped[board])
        return self.outcomes[board]

    def last_event(self, board: str) -> int:
        return max(i for i, (name, _) in enumerate(self.events) if name == board)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBench]:
    names = [GOOD, *CARDS, *BOOTS]
    boards = [(name, "stand-in") for name in names]
    place = tmp_path_factory.mktemp("faults")
    with running(place, boards, shell={"login_timeout": 4}) as bench:
        yield bench.changed(
            "faults", {"no-card": {"VirtualSDMux": {"disk_path": str(place / "nowhere")}}}
        )


@pytest.fixture(scope="module")
def flashed(rig: TestBench) -> Batch:
    batch = Batch(rig, {})
    for board, (_, faults) in CARDS.items():
        for name, value in faults.items():
            try:
                rig.inject(board, name, value)
            except UsageError as refused:
                batch.skipped[board] = str(refused)
    boards = [GOOD, *(board for board in CARDS if board not in batch.skipped)]
    image = str(rig.image("boot"))
    loaded = flow.load(str(rig.rig_file))
    found = flow.flash(loaded, boards, image, lambda *event: batch.events.append(event))
    batch.outcomes = {outcome.board: outcome for outcome in found}
    return batch


@pytest.fixture(scope="module")
def booted(rig: TestBench, flashed: Batch) -> Batch:
    batch = Batch(rig, {})
    for board, (_, word, faults) in BOOTS.items():
        rig.put(board, word)
        for name, value in faults.items():
            rig.inject(board, name, value)
    loaded = flow.load(str(rig.rig_file))
    found = flow.boot(loaded, [GOOD, *BOOTS], observe=lambda *event: batch.events.append(event))
    batch.outcomes = {outcome.board: outcome for outcome in found}
    return batch


def shown(
    patch: pytest.MonkeyPatch, batch: Batch, verb: str, board: str, *words: str | Path
) -> tuple[Ran, Ran]:
    """What the command says of this board, to people and as JSON; it is not done once more."""
    outcome = batch.outcome(board)
    patch.setattr(flow, verb, lambda *_a, **_k: [outcome])
    plain = batch.rig.command("rig", verb, board, *words)
    return plain, batch.rig.command("rig", verb, board, *words, "--json")


def let_go(batch: Batch, board: str) -> None:
    """The board is off, and nobody holds it."""
    told = batch.rig.told()[board]
    assert (told["relay"], told["running"]) == (0, False)
    assert batch.rig.status(board)[board]["holder"] is None


def named(plain: Ran, as_json: Ran, board: str, fault: str, code: int) -> dict[str, Any]:
    """The fault's name is in both, with a sentence that names the board; returns the JSON."""
    assert (plain.code, as_json.code) == (code, code)
    assert plain.err.startswith(f"{fault}: ")
    said: dict[str, Any] = as_json.data[0]
    error = said["error"]
    assert error["fault"] == fault
    assert error["message"] in plain.err
    assert board in error["message"]
    assert error["remedy"]
    return said


@pytest.mark.parametrize("board", CARDS)
def test_a_card_that_cannot_be_written_is_named_for_what_it_is(
    flashed: Batch, board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = CARDS[board][0]
    plain, as_json = shown(monkeypatch, flashed, "flash", board, flashed.rig.image("boot"))
    named(plain, as_json, board, fault, 3 if fault == "mux-stuck" else 1)
    monkeypatch.undo()
    let_go(flashed, board)


@pytest.mark.parametrize("board", BOOTS)
def test_a_board_that_does_not_boot_is_named_for_how_and_keeps_its_console(
    booted: Batch, board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = BOOTS[board][0]
    plain, as_json = shown(monkeypatch, booted, "boot", board)
    said = named(plain, as_json, board, fault, 3)
    if fault not in ("console-dead", "relay-stuck"):
        log = Path(said["report"]["console"])
        assert bool(log.read_bytes()) is (fault != "no-output")
        assert str(log) in plain.out + plain.err
    monkeypatch.undo()
    let_go(booted, board)


def test_one_that_fails_neither_fails_nor_delays_the_others(flashed: Batch, booted: Batch) -> None:
    written = flashed.outcomes[GOOD]
    assert written.error is None
    assert written.found["size"] == 256 << 10
    assert flashed.last_event(GOOD) < flashed.last_event("bad-block")
    up = booted.outcomes[GOOD]
    assert up.error is None
    assert up.found["report"]["phases"]["network"] > 0
    assert booted.last_event(GOOD) < booted.last_event("crawls")
    assert booted.rig.told()[GOOD]["running"]
