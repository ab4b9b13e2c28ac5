"""What `benchvise restore` does with each session of settings, and what it has to say of it."""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.errors import BoardUnreachable, SettingError, UsageError
from benchvise.state import journal
from benchvise.state.restore import Restored, RestoreOutcome, RestoreVerdict, SessionResult, restore

_FAILED = frozenset({RestoreOutcome.LEFT, RestoreOutcome.DAMAGED, RestoreOutcome.FAILED})


def restore_sessions(board: str | None, *, force: bool, keep: bool) -> list[SessionResult]:
    """Restores a board, or all; a result for each session that was due or is going on.

    UsageError when both ``force`` and ``keep`` are asked for, SettingError when the journals
    cannot be listed.
    """
    if force and keep:
        raise UsageError("--force and --keep exclude each other", "choose one")
    return list(restore(board, force=force, keep=keep))


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
