"""Notes on traces, as the workspace asks for and changes them. The server never decodes a trace for
that: which recording a note belongs to is told by the files themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import TraceError, UsageError
from benchvise.local_users import user_name
from benchvise.store.trace_notes import TraceNote
from benchvise.trace.manifest import quick_digest
from benchvise.web.answers import shaped
from benchvise.web.context import context


@dataclass(frozen=True, slots=True)
class NoteList:
    """All notes on a trace in order of time."""

    notes: tuple[TraceNote, ...]


def notes(request: Request) -> Response:
    """``GET``: the notes on a trace."""
    return _listed(request, _recording(request))


async def add(request: Request) -> Response:
    """``POST {"begin", "end", "row", "text"}``: adds a note; answers with all of them."""
    posted = _Posted(await _object(request))

    def act() -> Response:
        recording = _recording(request)
        context(request).store.trace_notes.add(
            recording,
            posted.whole("begin"),
            posted.whole("end"),
            posted.text("text"),
            row=posted.text("row"),
            author=_author(request),
        )
        return _listed(request, recording)

    return await run_in_threadpool(act)


async def change(request: Request) -> Response:
    """The same with ``revision``, the one that was read: replaces a note."""
    posted = _Posted(await _object(request))

    def act() -> Response:
        recording = _recording(request)
        context(request).store.trace_notes.change(
            recording,
            request.path_params["note"],
            posted.whole("revision"),
            posted.whole("begin"),
            posted.whole("end"),
            posted.text("text"),
            row=posted.text("row"),
            author=_author(request),
        )
        return _listed(request, recording)

    return await run_in_threadpool(act)


def delete(request: Request) -> Response:
    """Deletes a note; answers with the others."""
    recording = _recording(request)
    context(request).store.trace_notes.delete(recording, request.path_params["note"])
    return _listed(request, recording)


@dataclass(frozen=True, slots=True)
class _Posted:
    """What was posted, each value read as what it has to be."""

    fields: Mapping[str, Any]

    def whole(self, name: str) -> int:
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"{name} is no whole number", "send nanoseconds, rounded")
        return value

    def text(self, name: str) -> str:
        value = self.fields.get(name, "")
        if not isinstance(value, str):
            raise UsageError(f"{name} is no text", "send a text")
        return value


async def _object(request: Request) -> Mapping[str, Any]:
    try:
        posted = json.loads(await request.body())
    except (ValueError, RecursionError):
        posted = None
    if not isinstance(posted, dict):
        raise UsageError("there is no note", 'send {"begin": 0, "end": 0, "text": "..."}')
    return posted


def _recording(request: Request) -> str:
    """What notes on the trace of the address belong to."""
    file = context(request).traces.find(request.path_params["key"])
    try:
        return quick_digest(file.path)
    except OSError as error:
        raise TraceError(f"{file.name}: {error.strerror}") from error


def _author(request: Request) -> str:
    """The user of this machine, or the address that the note comes from."""
    sender = request.state.visitor.sender
    return sender.address if sender.user is None else user_name(sender.user)


def _listed(request: Request, recording: str) -> Response:
    kept = context(request).store.trace_notes.of(recording)
    return shaped("trace-notes", NoteList(tuple(kept)))


routes = [
    Route("/traces/{key}/notes.json", notes),
    Route("/traces/{key}/notes", add, methods=["POST"]),
    Route("/traces/{key}/notes/{note}", change, methods=["POST"]),
    Route("/traces/{key}/notes/{note}/delete", delete, methods=["POST"]),
]
