"""The audit log: a JSON line for each request that changes anything, and for each one refused.

Two files, so that whoever is refused a million times cannot push out what was done. Texts that are
typed on consoles are not in it, as passwords are typed there too: only how long they were.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from starlette.requests import Request

from benchvise.bounded_log import BoundedLog
from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.local_users import user_name
from benchvise.report.sinks import json_text
from benchvise.text import printable
from benchvise.web.access import Means, Sender, Visitor

_TEXT_LIMIT = 400


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who asked for what, when, and what came of it.

    ``user`` is the name of the user of this machine, None for who is elsewhere; ``by`` what they
    proved themselves with, ``token`` the first digits of the SHA-256 of the token. ``status`` is
    that of the answer, None for what ends after it.
    """

    user: str | None
    address: str
    by: Means
    token: str
    action: str
    status: int | None
    outcome: str
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))


class AuditLog:
    """The log in a directory, which is made when the first line is."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def check(self) -> None:
        """BenchviseError when nothing can be logged, so that nothing is done either."""
        self._write("control", b"")

    def write(self, kind: Literal["control", "refused"], entry: AuditEntry) -> None:
        """Adds a line. BenchviseError when it cannot be written."""
        self._write(kind, f"{json_text(encode(entry), tight=True)}\n".encode())

    def _write(self, kind: str, line: bytes) -> None:
        directory = self._directory
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            log = BoundedLog(directory / f"{kind}.jsonl")
        except OSError as error:
            raise _unwritable(directory) from error
        try:
            log.write(line)
        finally:
            log.close()
        if log.lost:
            raise _unwritable(directory)


def entry_of(
    sender: Sender, visitor: Visitor | None, action: str, status: int | None, outcome: str
) -> AuditEntry:
    """An entry with its texts bounded; ``visitor`` is None for who proved nothing."""
    return AuditEntry(
        None if sender.user is None else user_name(sender.user),
        sender.address,
        "none" if visitor is None else visitor.by,
        "" if visitor is None else visitor.token_id,
        printable(action, _TEXT_LIMIT),
        status,
        printable(outcome, _TEXT_LIMIT),
    )


def action_of(request: Request) -> str:
    """A request as the log has it: without parameters, which may hold a token."""
    return f"{request.method} {request.scope['path']}"


def log_end(request: Request, outcome: str) -> None:
    """Logs what became of a request that was answered before its end."""
    log: AuditLog = request.app.state.audit
    visitor: Visitor = request.state.visitor
    action = f"end of {action_of(request)}"
    log.write("control", entry_of(visitor.sender, visitor, action, None, outcome))


def _unwritable(directory: Path) -> BenchviseError:
    return BenchviseError(
        f"the audit log in {directory} cannot be written, so nothing is done",
        "free space there, or see who may write it",
    )
