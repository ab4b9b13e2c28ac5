"""The reader: answers what pages ask about traces and captures, as an application of its own.

It knows the files that a request comes with, and opens no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import traceback
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import BenchviseError, TraceError
from benchvise.web.answers import failure
from benchvise.web.http import Busy, no_such_page
from benchvise.web.pages import captures, trace_compare
from benchvise.web.readers.messages import (
    HEADERS,
    ForwardedRequest,
    ReaderAnswer,
    packed,
    read_message,
)
from benchvise.web.readers.open_files import OpenFiles, open_files
from benchvise.web.readers.passing import ReaderControl
from benchvise.web.workspace import timeline, views


def create_reader() -> Starlette:
    """The application of the reader."""
    app = Starlette(
        routes=[
            *trace_compare.routes,
            *captures.routes,
            *timeline.routes,
            *views.routes,
            Route("/prepare/{key}", _prepare),
        ],
        exception_handlers={
            BenchviseError: _failed,
            OSError: _unreadable,
            HTTPException: _refused,
            MemoryError: _too_much,
            Exception: _broken,
        },
    )
    app.state.open_files = OpenFiles()
    return app


def _prepare(request: Request) -> Response:
    """Begins to open a trace that will be asked for."""
    files = open_files(request)
    files.served_traces.prepare(files.traces.find(request.path_params["key"]).path)
    return Response(status_code=204)


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, BenchviseError)  # noqa: S101 - what it is registered for
    return failure(request, error)


def _unreadable(request: Request, error: Exception) -> Response:
    """A file that was deleted, or cannot be read any more, while it was open."""
    reason = getattr(error, "strerror", None) or str(error)
    return failure(request, TraceError(f"a file of this page cannot be read: {reason}"))


def _refused(request: Request, _error: Exception) -> Response:
    return failure(request, no_such_page(request))


def _too_much(request: Request, _error: Exception) -> Response:
    return failure(request, Busy("this needs more memory than there is", "ask for a shorter part"))


def _broken(request: Request, _error: Exception) -> Response:
    error = BenchviseError(
        "this page broke", "the terminal of `benchvise serve` says why: please report it"
    )
    return failure(request, error, 500)


# -- the server's requests -------------------------------------------------------------------------


def serve(control: ReaderControl) -> None:
    """Answers the requests of the server behind ``control``, until that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    # This kind of loop can wait for a socket to be readable on Windows too.
    with (
        contextlib.suppress(asyncio.CancelledError),
        asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner,
    ):
        runner.run(_serve(control))


async def _serve(control: ReaderControl) -> None:
    app = create_reader()
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    running: set[asyncio.Task[None]] = set()
    control.channel.setblocking(False)

    def take() -> None:
        try:
            connection = control.next_connection()
        except BlockingIOError:
            return
        if connection is None:
            loop.remove_reader(control.channel)
            ended.set_result(None)
            return
        task = loop.create_task(_answer(app, connection))
        running.add(task)
        task.add_done_callback(running.discard)

    loop.add_reader(control.channel, take)
    control.say_ready()
    await ended
    app.state.open_files.close()
    os._exit(0)  # whatever still computes for pages that are gone


async def _answer(app: Starlette, connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)
    try:
        request, body = await read_message(reader, ForwardedRequest)
        files: OpenFiles = app.state.open_files
        files.traces.learn(request.traces, all_of_them=request.knows_all)
        files.captures.learn(request.captures, all_of_them=request.knows_all)
        head, content = await _called(app, request, body, reader)
        writer.write(packed(head, content))
        await writer.drain()
    except (OSError, EOFError, ValueError):
        return  # the server does not wait any more
    finally:
        writer.close()


async def _called(
    app: Starlette, request: ForwardedRequest, body: bytes, connection: asyncio.StreamReader
) -> tuple[ReaderAnswer, bytes]:
    """What the application answers; it is told when the server hangs up meanwhile."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), text.encode()) for name, text in request.headers.items()],
        "client": None,
        "server": None,
    }
    pieces = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Mapping[str, Any]] = []

    async def receive() -> Mapping[str, Any]:
        if pieces:
            return pieces.pop()
        await connection.read()  # there is nothing more to come but the end
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    try:
        await app(scope, receive, send)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001 - answered by then, and to be seen on the terminal
        traceback.print_exc()
    headers = {name.decode().lower(): text.decode() for name, text in sent[0]["headers"]}
    kept = {name: text for name, text in headers.items() if name in HEADERS}
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return ReaderAnswer(sent[0]["status"], kept), content
