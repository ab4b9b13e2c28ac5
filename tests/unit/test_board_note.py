"""Notes on a board of what is set on it: two users, each with journals of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakekernel import CATALOGUE, OTHER, RATIO, FakeKernel

from benchvise.board.local import LocalBoard
from benchvise.errors import SettingError
from benchvise.state import board_note, catalogue, journal
from benchvise.state.board_note import BoardNotes
from benchvise.state.intervention import BOOT_ID, Intervention
from benchvise.state.knobs import Setting, parse_setting_requests
from benchvise.state.restore import (
    RestoreContact,
    RestoreOutcome,
    RestoreVerdict,
    SessionResult,
    restore,
    take_over,
)


class User:
    """A user or host with its own journals, who reaches the board."""

    def __init__(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = tmp_path / name
        self.root = tmp_path / "board"
        self._monkeypatch = monkeypatch
        self.kernel = FakeKernel(self.root)

    def set(self, text: str) -> Intervention:
        """Makes a setting; it is undone after an error, as in an intervention's context."""
        self._monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(self.directory))
        made = Intervention(
            "fake", self.kernel, lambda: FakeKernel(self.root), {}, BoardNotes(LocalBoard())
        )
        (request,) = parse_setting_requests([text])
        try:
            made.apply([Setting(request.knob, request.values[0])])
        except BaseException as error:
            made.undo(after=error)
            raise
        return made

    def undo(self, made: Intervention) -> None:
        self._monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(self.directory))
        made.undo()

    def refusal(self, text: str = "t.other=2") -> str:
        with pytest.raises(SettingError) as caught:
            self.set(text)
        return str(caught.value)

    @contextmanager
    def _reach(self, _name: str) -> Iterator[RestoreContact]:
        yield RestoreContact(FakeKernel(self.root), BoardNotes(LocalBoard()))

    def restore(self) -> list[SessionResult]:
        self._monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(self.directory))
        return list(restore("fake", reach=self._reach))

    def take_over(self) -> SessionResult | None:
        self._monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(self.directory))
        return take_over("fake", reach=self._reach)


def killed(made: Intervention) -> None:
    """Its process is gone: nothing is undone, and its journal is not locked any more."""
    assert made._journal is not None
    made._journal.close()


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(catalogue, "load_catalogue", lambda: CATALOGUE)
    monkeypatch.setenv(board_note.DIRECTORY_VARIABLE, str(tmp_path / "notes"))
    return tmp_path / "notes"


@pytest.fixture
def ann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    return User("ann", tmp_path, monkeypatch)


@pytest.fixture
def bob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    return User("bob", tmp_path, monkeypatch)


def test_another_user_sets_nothing_meanwhile_and_afterwards_may(
    ann: User, bob: User, notes: Path
) -> None:
    made = ann.set("t.other=1")
    assert "t.other (was 60) was set by" in bob.refusal()
    assert bob.kernel.get(OTHER) == "1\n"
    ann.undo(made)
    assert not notes.exists() and bob.kernel.get(OTHER) == "60\n"
    bob.undo(bob.set("t.other=2"))
    assert ann.kernel.get(OTHER) == "60\n"
    assert not [*ann.directory.glob("*.jsonl"), *bob.directory.glob("*.jsonl")]


def test_the_one_refused_leaves_the_board_and_the_note_as_they_are(ann: User, bob: User) -> None:
    made = ann.set("t.other=1")
    bob.refusal("t.ratio=3")
    bob.refusal("t.ratio=3")
    assert bob.kernel.get(RATIO) == "20\n" and bob.restore() == []
    ann.undo(made)
    assert ann.kernel.get(OTHER) == "60\n"


def test_a_living_probe_says_that_it_goes_on(ann: User, bob: User) -> None:
    with subprocess.Popen(["sleep", "60"]) as probe:
        ann.kernel.place = (probe.pid, "sleep")
        made = ann.set("t.other=1")
        said = bob.refusal()
        assert f"wait until that has ended; its probe there is process {probe.pid}" in said
        result = bob.take_over()
        assert result is not None and result.outcome is RestoreOutcome.ALIVE
        assert bob.kernel.get(OTHER) == "1\n"
        probe.kill()
    killed(made)
    assert "benchvise restore local --take-over" in bob.refusal()


def test_what_a_killed_user_left_is_taken_over(ann: User, bob: User, notes: Path) -> None:
    killed(ann.set("t.other=1"))
    assert "--take-over" in bob.refusal()
    result = bob.take_over()
    assert result is not None and result.outcome is RestoreOutcome.DONE
    assert [change.verdict for change in result.changes] == [RestoreVerdict.RESTORED]
    assert bob.kernel.get(OTHER) == "60\n" and not notes.exists()
    bob.undo(bob.set("t.other=2"))
    (own,) = ann.restore()
    assert [change.verdict for change in own.changes] == [RestoreVerdict.ALREADY]
    assert not list(ann.directory.glob("*.jsonl"))


def test_what_somebody_has_set_by_hand_since_is_not_taken_over(ann: User, bob: User) -> None:
    killed(ann.set("t.other=1"))
    ann.kernel.set(OTHER, "77\n")
    result = bob.take_over()
    assert result is not None and result.outcome is RestoreOutcome.LEFT
    assert bob.kernel.get(OTHER) == "77\n"
    assert "--take-over" in bob.refusal(), "the note stays"


def test_its_own_user_restores_and_removes_the_note(ann: User, bob: User, notes: Path) -> None:
    killed(ann.set("t.other=1"))
    (result,) = ann.restore()
    assert result.outcome is RestoreOutcome.DONE and not notes.exists()
    bob.undo(bob.set("t.other=2"))


def test_who_was_taken_over_does_not_undo_what_the_other_has_set(ann: User, bob: User) -> None:
    killed(ann.set("t.other=1"))
    bob.take_over()
    made = bob.set("t.other=1")
    (result,) = ann.restore()
    assert result.outcome is RestoreOutcome.FAILED and ann.kernel.get(OTHER) == "1\n"
    bob.undo(made)
    assert ann.kernel.get(OTHER) == "60\n"


def test_a_note_does_not_outlive_a_boot(ann: User, bob: User) -> None:
    killed(ann.set("t.other=1"))
    ann.kernel.set(BOOT_ID, "boot-2\n")
    ann.kernel.set(OTHER, "60\n")
    bob.undo(bob.set("t.other=2"))


def test_a_leftover_of_ones_own_is_replaced(ann: User, bob: User, notes: Path) -> None:
    """Killed after everything was put back, before the note was removed."""
    made = ann.set("t.other=1")
    left = (notes / "note").read_text()
    ann.undo(made)
    notes.mkdir()
    (notes / "note").write_text(left)
    assert "--take-over" in bob.refusal()
    ann.undo(ann.set("t.other=2"))
    assert not notes.exists()


@pytest.mark.parametrize(
    "content", ["", "x", "benchvise-settings 1 t 0 -\n", "\0" * 99, "a b c d\n{"]
)
def test_a_note_that_cannot_be_read_refuses(bob: User, notes: Path, content: str) -> None:
    notes.mkdir()
    (notes / "note").write_text(content)
    assert f"remove {notes / 'note'} on the board" in bob.refusal()
    assert bob.kernel.get(OTHER) == "60\n"


def test_a_directory_that_others_may_write_is_not_believed(bob: User, notes: Path) -> None:
    notes.mkdir()
    notes.chmod(0o777)
    (notes / "note").write_text("benchvise-settings 1 t 0 -\n")
    made = bob.set("t.other=1")
    assert made.not_noted == f"{notes} may be written by others"
    bob.undo(made)
    assert bob.kernel.get(OTHER) == "60\n" and (notes / "note").exists()


def test_where_no_note_can_be_left_the_reason_is_told(
    bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(board_note.DIRECTORY_VARIABLE, str(tmp_path / "none" / "notes"))
    made = bob.set("t.other=1")
    assert "No such file or directory" in made.not_noted
    bob.undo(made)
    assert bob.kernel.get(OTHER) == "60\n"


def test_without_ln_a_note_comes_to_be_too(
    ann: User, bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "mkdir", "ls", "id", "cat", "mv", "rm", "rmdir"):
        (programs / name).symlink_to(
            f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}"
        )
    monkeypatch.setenv("PATH", str(programs))
    made = ann.set("t.other=1")
    assert made.not_noted == "" and "--take-over" in bob.refusal()
    ann.undo(made)


def test_a_note_whose_writer_is_killed_meanwhile_does_not_come_to_be(
    ann: User, notes: Path
) -> None:
    """Was: what had come until then was the note, which nobody could read: all were refused."""
    made = ann.set("t.other=1")
    text = (notes / "note").read_bytes()
    token = text.split()[2].decode()
    for directory, action in ((notes, "update"), (notes.with_name("new"), "claim")):
        for cut in range(0, len(text), 37):
            script = ["sh", "-c", board_note._SCRIPT, "sh", action, str(directory), token, ""]
            subprocess.run(script, input=text[:cut], check=True, capture_output=True)
            assert [path.read_bytes() for path in notes.iterdir()] == [text], cut
            assert not list(notes.with_name("new").glob("*")), cut
    ann.undo(made)
    assert not notes.exists()
