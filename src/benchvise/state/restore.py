"""Restoring settings that interrupted sessions left on boards.

A journal is done with when everything of it is as before, and only then removed: this can be
stopped at any moment and begun again. What somebody else has set since is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.errors import BenchviseError, BoardUnreachable, SettingError, UsageError
from benchvise.state import interrupts, journal
from benchvise.state import knobs as values
from benchvise.state.board_note import BoardNote, BoardNotes, session_token
from benchvise.state.catalogue import knobs
from benchvise.state.intervention import read_boot_id
from benchvise.state.journal import Journal, JournalChange, JournalSession
from benchvise.state.places import (
    BoardFiles,
    Goal,
    SettingPlace,
    drive,
    is_reached,
    may_be_written,
    present,
)


@dataclass(frozen=True, slots=True)
class RestoreContact:
    """A board on which settings are restored; ``notes`` is None where nobody else reaches it."""

    files: BoardFiles
    notes: BoardNotes | None = None


Opener = Callable[[str], AbstractContextManager[RestoreContact]]


class RestoreVerdict(StrEnum):
    """What became of one change."""

    RESTORED = "restored"
    ALREADY = "already as before"
    REBOOTED = "as the board booted"
    KEPT = "kept as it is"
    GONE = "no longer there"
    FOREIGN = "changed by someone else since"
    FAILED = "failed"
    UNKNOWN = "no longer a setting of this version"


SETTLED = frozenset(
    {
        RestoreVerdict.RESTORED,
        RestoreVerdict.ALREADY,
        RestoreVerdict.REBOOTED,
        RestoreVerdict.KEPT,
        RestoreVerdict.GONE,
    }
)


class RestoreOutcome(StrEnum):
    """What became of one session's journal."""

    DONE = "done"
    LEFT = "not everything is put back"
    UNREACHABLE = "the board cannot be reached"
    ALIVE = "its run is going on"
    DAMAGED = "the journal is damaged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Restored:
    """One change as it was found (``found``) and left; ``reason`` says why it failed."""

    change: JournalChange
    found: str | None
    verdict: RestoreVerdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SessionResult:
    """One session's journal, what became of it, and why where that needs saying."""

    session: JournalSession
    outcome: RestoreOutcome
    reason: str = ""
    remedy: str = ""
    changes: tuple[Restored, ...] = ()


@dataclass
class _PendingChange:
    """A change not yet undone, with what is known about it on the board.

    ``goal`` is None for what this version would not write. Without a ``verdict`` it is due.
    """

    change: JournalChange
    goal: Goal | None
    place: SettingPlace | None = None
    verdict: RestoreVerdict | None = None
    reason: str = ""

    def holds(self, value: str | None) -> bool:
        """Whether the file has this value now."""
        return (
            value is not None
            and self.goal is not None
            and self.place is not None
            and is_reached(replace(self.goal, value=value), self.place)
        )


def restore(
    board: str | None,
    *,
    force: bool = False,
    keep: bool = False,
    reach: Opener | None = None,
) -> Iterator[SessionResult]:
    """Restores what is due on a board, or on all, the newest session first.

    With ``force`` also what somebody else has changed since; with ``keep`` that is accepted as it
    is and forgotten. Ctrl-C is held back while a board is being restored.
    """
    for session in reversed(journal.sessions()):
        if session.damage and board is None:
            yield SessionResult(
                session,
                RestoreOutcome.DAMAGED,
                session.damage,
                "read what it says, put that back by hand, and remove the file",
            )
        elif session.damage or (board is not None and session.board != board):
            continue
        elif session.alive:
            yield SessionResult(session, RestoreOutcome.ALIVE)
        else:
            with interrupts.deferred():
                result = _restore(session, force=force, keep=keep, reach=reach or _reach)
            if result.changes or result.outcome is not RestoreOutcome.DONE:
                yield result


def _restore(session: JournalSession, *, force: bool, keep: bool, reach: Opener) -> SessionResult:
    held = Journal.reopen(session)
    if held is None:
        return SessionResult(session, RestoreOutcome.ALIVE)
    try:
        if not session.is_due:  # killed before its first write, or after the last was undone
            held.finish()
            return SessionResult(session, RestoreOutcome.DONE)
        with reach(session.board) as contact:
            token = session_token(session.file)
            _refuse_of_others(session.board, contact, token)
            restored = _on_board(session, held, contact.files, force=force, keep=keep)
            settled = all(change.verdict in SETTLED for change in restored)
            if settled and contact.notes is not None:
                contact.notes.remove(token)
        if settled:
            held.finish()
            return SessionResult(session, RestoreOutcome.DONE, changes=restored)
        return SessionResult(session, RestoreOutcome.LEFT, changes=restored)
    except BoardUnreachable as error:
        return SessionResult(session, RestoreOutcome.UNREACHABLE, error.message, error.remedy)
    except BenchviseError as error:
        return SessionResult(session, RestoreOutcome.FAILED, error.message, error.remedy)
    finally:
        held.close()


def take_over(
    board: str, *, force: bool = False, keep: bool = False, reach: Opener | None = None
) -> SessionResult | None:
    """Restores what another user or host has set on a board, as the note there tells it.

    None when there is no note. A session whose probe still runs there is never touched.
    Raises BoardUnreachable, and other errors of opening the board.
    """
    with interrupts.deferred(), (reach or _reach)(board) as contact:
        note = None if contact.notes is None else contact.notes.find()
        if note is None or contact.notes is None:
            return None
        session = replace(note.session, board=board)
        refusal = note.refusal(board)
        if session.damage:
            return SessionResult(session, RestoreOutcome.DAMAGED, refusal.message, refusal.remedy)
        if note.alive:
            return SessionResult(session, RestoreOutcome.ALIVE, refusal.message, refusal.remedy)
        try:
            restored = _on_board(session, None, contact.files, force=force, keep=keep)
            if not all(change.verdict in SETTLED for change in restored):
                return SessionResult(session, RestoreOutcome.LEFT, changes=restored)
            contact.notes.remove(note.token)
        except BoardUnreachable as error:
            return SessionResult(session, RestoreOutcome.UNREACHABLE, error.message, error.remedy)
        except BenchviseError as error:
            return SessionResult(session, RestoreOutcome.FAILED, error.message, error.remedy)
        return SessionResult(session, RestoreOutcome.DONE, f"of {note.maker}", changes=restored)


def _refuse_of_others(board: str, contact: RestoreContact, token: str) -> None:
    """SettingError when the board's note is of another session: that has taken over since."""
    note: BoardNote | None = None if contact.notes is None else contact.notes.find()
    if note is None or note.token == token:
        return
    if note.session.damage or note.session.boot_id == read_boot_id(contact.files):
        raise note.refusal(board)


def _on_board(
    session: JournalSession, held: Journal | None, files: BoardFiles, *, force: bool, keep: bool
) -> tuple[Restored, ...]:
    """Restores on the board, and keeps in the journal, where there is one, what is undone."""
    boot_id = read_boot_id(files)
    rebooted = bool(boot_id and session.boot_id and boot_id != session.boot_id)
    if session.probe and not rebooted:
        files.end_other(*session.probe)  # it might still write what was asked of it last
    pending = _find(session.pending, files)
    if rebooted and not force:
        # Nothing that is set at run time outlives a boot: what is there now, the boot has made.
        for item in pending:
            item.verdict = (
                item.verdict if item.verdict is RestoreVerdict.ALREADY else RestoreVerdict.REBOOTED
            )
    elif not force:
        _judge(session, pending, RestoreVerdict.KEPT if keep else RestoreVerdict.FOREIGN)
    _put_back(pending, held, files)
    if held is not None:
        held.undone(item.change.number for item in pending if item.verdict in SETTLED)
    return tuple(
        Restored(
            item.change,
            None if item.place is None else item.place.value,
            item.verdict or RestoreVerdict.FAILED,
            item.reason,
        )
        for item in pending
    )


def _find(changes: Sequence[JournalChange], files: BoardFiles) -> list[_PendingChange]:
    """What the files hold now; a path that this version would not write is not touched."""
    catalogue = knobs()
    pending: list[_PendingChange] = []
    for change in changes:
        _, knob = catalogue.get(change.knob, (None, None))
        if knob is not None and may_be_written(knob.path, change.path):
            pending.append(_PendingChange(change, Goal(knob, change.path, change.old)))
        else:
            pending.append(_PendingChange(change, None, verdict=RestoreVerdict.UNKNOWN))
    places = present(files, [item.goal for item in pending if item.goal is not None])
    for item in pending:
        item.place = places.get(item.change.path)
        if item.holds(item.change.old):
            item.verdict = RestoreVerdict.ALREADY
    return pending


def _judge(
    session: JournalSession, pending: Sequence[_PendingChange], foreign: RestoreVerdict
) -> None:
    """Tells what is still as the session set it from what somebody else has set since."""
    for item in pending:
        change = item.change
        # Killed in the middle: what became of it was not written down, so it is taken for ours.
        outcome_unknown = (
            change.undoing
            or (not change.written and not session.applied)
            or (change.written and change.now is None)
        )
        ours = item.holds(change.new) or item.holds(change.now)
        is_there = item.place is not None and item.place.value is not None
        if item.verdict is None and is_there and not (ours or outcome_unknown):
            item.verdict = foreign
    left = {
        companion.name
        for item in pending
        if item.verdict is foreign and item.goal is not None
        for companion in values.companions(item.goal.knob)
    }
    for item in pending:
        # To write what is tied to it would change it again.
        if item.verdict is None and item.change.knob in left:
            item.verdict = foreign


def _put_back(pending: Sequence[_PendingChange], held: Journal | None, files: BoardFiles) -> None:
    """Writes what is due; what is right already may not suffer from that."""
    due = [item for item in pending if item.verdict is None]
    if not due:
        return
    if held is not None:
        held.undoing(item.change.number for item in due)
    touched = [item for item in pending if item.verdict in (None, RestoreVerdict.ALREADY)]
    goals = [item.goal for item in reversed(touched) if item.goal is not None]
    missed = {miss.goal.path: miss for miss in drive(files, goals)}
    for item in touched:
        miss = missed.get(item.change.path)
        if miss is None:
            item.verdict = item.verdict or RestoreVerdict.RESTORED
        elif miss.is_gone:
            item.verdict = RestoreVerdict.GONE
        else:
            item.verdict = RestoreVerdict.FAILED
            item.reason = f"{miss.error}, " * bool(miss.error) + miss.place.value_text


@contextmanager
def _reach(name: str) -> Iterator[RestoreContact]:
    with open_board(name) as board, open_channel(board) as channel:
        yield RestoreContact(channel, BoardNotes(board))


# -- what the command restores, and how it says so -------------------------------------------------

_FAILED = frozenset({RestoreOutcome.LEFT, RestoreOutcome.DAMAGED, RestoreOutcome.FAILED})


def restore_sessions(
    board: str | None, *, force: bool, keep: bool, others: bool = False
) -> list[SessionResult]:
    """Restores a board, or all; a result for each session that was due or is going on.

    With ``others`` also what another user or host has left on the board. UsageError when both
    ``force`` and ``keep`` are asked for, or ``others`` without a board, SettingError when the
    journals cannot be listed.
    """
    if force and keep:
        raise UsageError("--force and --keep exclude each other", "choose one")
    if others and board is None:
        raise UsageError("--take-over takes one board", "name the board")
    results = list(restore(board, force=force, keep=keep))
    if others and board is not None and all(r.outcome is RestoreOutcome.DONE for r in results):
        taken = take_over(board, force=force, keep=keep)
        results += [] if taken is None else [taken]
    return results


def others_due(board: str) -> list[str]:
    """The names of other boards that have something to be put back."""
    due = {session.board for session in journal.sessions() if session.is_due}
    return sorted(due - {board, ""})


def exit_code(results: list[SessionResult]) -> int:
    """3 when a board could not be reached, 1 when something is not put back for another reason."""
    outcomes = {result.outcome for result in results}
    if RestoreOutcome.UNREACHABLE in outcomes:
        return BoardUnreachable.exit_code
    return SettingError.exit_code if outcomes & _FAILED else 0


def advice(result: SessionResult) -> str:
    """What to do about a session of which something is left."""
    verdicts = {restored.verdict for restored in result.changes}
    if RestoreVerdict.FOREIGN in verdicts:
        board = result.session.board
        return f"benchvise restore {board} --force puts it back all the same, --keep leaves it so"
    if RestoreVerdict.UNKNOWN in verdicts:
        return f"put it back by hand, then remove {result.session.file}"
    return result.remedy


@dataclass(frozen=True, slots=True)
class RestoredSetting:
    """A setting of a session as ``--json`` shows it."""

    knob: str
    path: str
    before: str
    set: str | None
    found: str | None
    verdict: RestoreVerdict
    reason: str


@dataclass(frozen=True, slots=True)
class RestoredSession:
    """A session of settings as ``--json`` shows it, with what became of it."""

    board: str
    started: str
    journal: str
    outcome: RestoreOutcome
    reason: str
    remedy: str
    settings: tuple[RestoredSetting, ...]


def result_data(result: SessionResult) -> RestoredSession:
    """A result as ``--json`` shows it."""
    session = result.session
    return RestoredSession(
        board=session.board,
        started=session.started,
        journal=str(session.file),
        outcome=result.outcome,
        reason=result.reason,
        remedy=advice(result),
        settings=tuple(map(_setting_data, result.changes)),
    )


def _setting_data(restored: Restored) -> RestoredSetting:
    change = restored.change
    return RestoredSetting(
        knob=change.knob,
        path=change.path,
        before=change.old,
        set=change.new,
        found=restored.found,
        verdict=restored.verdict,
        reason=restored.reason,
    )
