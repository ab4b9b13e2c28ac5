"""When the processes of a command are looked at, and what is refused for it.

The board answers ``follow`` as the probe does, from a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from benchvise.board.channel import NotAvailable
from benchvise.board.messages import Message, ProcessMessage
from benchvise.measure.model import SeriesSpec
from benchvise.text import Untrusted
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.benches.processes import LONGEST_S, OtherChange, ProcessChecks
from benchvise.why.model import Arm, Layer, ProcessMeans, Side, Suspect

SPEC = SeriesSpec("command.time", (("run", "sort words"),), "command.time")
LANG = {"env.LANG": "C"}


def process(lang: str, group: str = "/") -> ProcessMessage:
    variables = {"LANG": lang}
    return ProcessMessage(Untrusted("/bin/sort"), variables, {}, {}, (f"0::{group}",), {}, (), ())


@dataclass
class Channel:
    """Gives one list of processes a request; an error is raised in place of one."""

    runs: list[Sequence[ProcessMessage] | Exception]
    words: list[Sequence[str]] = field(default_factory=list)
    is_open: bool = True

    def request(self, words: Sequence[str], **_options: Any) -> Iterator[Message]:
        self.words.append(words)
        run = self.runs.pop(0)
        if isinstance(run, Exception):
            raise run
        yield from run


@dataclass
class Board:
    channel: Channel
    boots: int = 0
    is_command: bool = True


def board(*runs: Sequence[ProcessMessage] | Exception) -> LiveBoard:
    return cast("LiveBoard", Board(Channel(list(runs))))


def words_of(board: LiveBoard) -> list[Sequence[str]]:
    return cast("Board", board).channel.words


def arm() -> Arm:
    means = ProcessMeans(LANG)
    return Arm(Side.BAD, (Suspect("LANG", "LANG", Layer.PROCESS, "item", "C", "de", means=means),))


def checked(checks: ProcessChecks, on: LiveBoard) -> None:
    checks.prepare(Side.BAD, on, SPEC, 0.1)
    checks.check(arm(), on, SPEC, LANG, 0.1)


PLAIN = [process("de")]


def test_each_suspect_is_looked_at_once() -> None:
    checks, there = ProcessChecks(), board(PLAIN, PLAIN, [process("C")])
    checked(checks, there)
    checked(checks, there)
    assert [words[-2:] == ["--as", "env.LANG=C"] for words in words_of(there)] == [
        False,
        False,
        True,
    ]
    assert checks.findings() == []


def test_what_does_not_reach_the_command_is_refused() -> None:
    with pytest.raises(ArmRefused, match="does not count") as refused:
        checked(ProcessChecks(), board(PLAIN, PLAIN, PLAIN))
    assert refused.value.suspects == ("LANG",)
    assert not isinstance(refused.value, OtherChange)


def test_a_change_by_somebody_else_is_told_from_one_by_the_arm() -> None:
    elsewhere = [process("C", "/session-4.scope")]
    checks = ProcessChecks()
    there = board(PLAIN, PLAIN, elsewhere, *[[process("de", "/session-4.scope")]] * 2, elsewhere)
    with pytest.raises(OtherChange):
        checked(checks, there)
    checks.forget(Side.BAD)
    checked(checks, there)


@pytest.mark.parametrize(
    ("runs", "usual_s"),
    [
        ([NotAvailable("this board does not let a process be followed")], 0.1),
        ([[], []], 0.1),
        ([], LONGEST_S + 1),
    ],
)
def test_what_cannot_be_looked_at_is_measured_all_the_same_and_noted(
    runs: list[Any], usual_s: float
) -> None:
    checks, there = ProcessChecks(), board(*runs)
    checks.prepare(Side.BAD, there, SPEC, usual_s)
    checks.check(arm(), there, SPEC, LANG, usual_s)
    (finding,) = checks.findings()
    assert finding.rule == "experiments not checked"


def test_a_board_that_booted_is_looked_at_anew() -> None:
    checks, there = ProcessChecks(), board(PLAIN, PLAIN, PLAIN, PLAIN)
    checks.prepare(Side.BAD, there, SPEC, 0.1)
    checks.prepare(Side.BAD, there, SPEC, 0.1)
    cast("Board", there).boots = 1
    checks.prepare(Side.BAD, there, SPEC, 0.1)
    assert len(words_of(there)) == 4
