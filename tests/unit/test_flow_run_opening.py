"""Boards opened for measuring all at once: one that fails there fails alone."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from benchvise.errors import BenchviseError, BoardUnreachable, UsageError
from benchvise.flows import block
from benchvise.flows.boards import NamedBoards, Prepared
from benchvise.flows.request import RunRequest


@dataclass
class Fake:
    name: str
    closed: bool = False

    def close(self) -> None:
        self.closed = True


def opened(
    patch: pytest.MonkeyPatch, boards: list[Fake], errors: dict[str, BenchviseError]
) -> tuple[list[Any], list[tuple[str, BenchviseError]], list[str]]:
    """The sessions and failures of these boards, and what was closed before the stack was."""
    left: list[str] = []

    def session(_request: object, own: ExitStack, board: Fake, _prepared: object) -> str:
        own.callback(left.append, board.name)
        if board.name in errors:
            raise errors[board.name]
        return f"session of {board.name}"

    patch.setattr(block, "open_named", lambda *_a, **_k: ([(b, Prepared()) for b in boards], []))
    patch.setattr(block, "_open_session", session)
    with ExitStack() as stack:
        sessions, failed = block.open_sessions(RunRequest(boards=()), NamedBoards(()), stack, None)
        return sessions, failed, list(left)


def test_one_of_a_rig_that_fails_is_switched_off_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boards = [Fake("rig:one"), Fake("rig:two"), Fake("local")]
    error = BoardUnreachable("rig:two: no answer")
    sessions, failed, left = opened(monkeypatch, boards, {"rig:two": error})
    assert sessions == ["session of rig:one", "session of local"]
    assert failed == [("rig:two", error)]
    assert left == ["rig:two"]
    assert [board.closed for board in boards] == [False, True, False]


@pytest.mark.parametrize(
    ("names", "error"),
    [
        (["rig:one"], BoardUnreachable("no answer")),
        (["rig:one", "local"], UsageError("no such benchmark")),
    ],
)
def test_what_concerns_all_is_raised(
    names: list[str], error: BenchviseError, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(type(error)) as raised:
        opened(monkeypatch, [Fake(name) for name in names], {names[0]: error})
    assert raised.value is error


def test_when_all_of_a_rig_fail_the_first_reason_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    boards = [Fake("rig:one"), Fake("rig:two")]
    errors: dict[str, BenchviseError] = {b.name: BoardUnreachable(b.name) for b in boards}
    with pytest.raises(BoardUnreachable, match="rig:one"):
        opened(monkeypatch, boards, errors)
    assert all(board.closed for board in boards)
