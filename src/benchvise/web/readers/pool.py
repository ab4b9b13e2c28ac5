"""The server's end: two readers that are started when they are needed, and again when they died.

Each request has a connection of its own. When that breaks, the reader has died, of this request or
of another one. So it is asked once more, of a reader that has only it: if that dies too, it is of
this request, and the answer says of what. A reader ends when the server's end of its control socket
is closed, as it is by whatever ends the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from benchvise.errors import BenchviseError, TraceError, UsageError
from benchvise.host_system import signal_name
from benchvise.trace.query_limits import QueryLimits, became_shorter
from benchvise.web.file_index import IndexedFile
from benchvise.web.http import Busy
from benchvise.web.readers.messages import (
    HEADERS,
    PASSED_ON,
    ForwardedRequest,
    QueryRequest,
    ReaderAnswer,
    packed,
    read_message,
)
from benchvise.web.readers.passing import ReaderLink, start_reader

SECONDS = 30.0
"""After so long a question is given up, and the reader that still thinks about it is ended."""

_OPENING_SECONDS = 120.0
"""A query may wait so long, its own time included, for its trace to be opened."""

_END_SECONDS = 10.0
"""What is still to be kept beside traces may take so long at the end."""

_DYING_SECONDS = 5.0
"""A reader whose connection broke may take so long to be gone: its memory has to be given back."""

_SECRET = ("BENCHVISE_", "PG")


class ReaderDied(Exception):  # noqa: N818
    """A reader ended while it had the request; ``status`` as ``Popen.returncode`` has it."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class ReaderProcess:
    """One process of a program of this package, started at first use and after it has died."""

    def __init__(self, program: str, places: Callable[[], Sequence[Path]]) -> None:
        self._program = program
        self._places = places
        self._lock = threading.Lock()
        self._link: ReaderLink | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.is_closed = False
        """Whether it is started no more, as the server ends."""

    def connect(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        """A connection for one request, and the process behind it. Busy where it is closed."""
        with self._lock:
            if self.is_closed:
                raise _ending()
            for _ in range(2):
                link = self._running()
                with contextlib.suppress(OSError):  # it died just now
                    return link.connect(), link.process
                self._forget()
        raise BenchviseError(
            "the reader of traces and captures does not start", "its error stands above"
        )

    def another(self) -> ReaderProcess:
        """One more of the program."""
        return ReaderProcess(self._program, self._places)

    def start(self) -> None:
        """Starts it ahead of the first request."""
        with self._lock:
            self._running()

    def end(self, process: subprocess.Popen[bytes], patience: float = 0.0) -> int | None:
        """Ends it where it does not do so by itself; returns its status, None where it did not."""
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(patience)
        with self._lock:
            process.kill()
            process.wait()
            if self._link is not None and process is self._link.process:
                self._forget()
        return status

    def close(self) -> None:
        """Lets it end what it has begun to keep, and starts it no more."""
        with self._lock:
            self.is_closed = True
            if self._link is not None:
                self._link.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._link.process.wait(_END_SECONDS)
            self._forget()

    def _running(self) -> ReaderLink:
        if self._link is not None and self._link.process.poll() is not None:
            self._forget()
        if self._link is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="benchvise-reader-")
            self._link = start_reader(
                [
                    *(sys.executable, "-m", "benchvise.web.readers", self._program),
                    *(str(place.resolve()) for place in self._places()),
                ],
                {**_environment(), "TMPDIR": self._scratch.name},
            )
        return self._link

    def _forget(self) -> None:
        if self._link is not None:
            self._link.close()
            if self._link.process.poll() is None:
                self._link.process.kill()
                self._link.process.wait()
        if self._scratch is not None:
            self._scratch.cleanup()
        self._link = self._scratch = None


class Readers:
    """All readers of a server. ``places`` are the directories where files may be opened."""

    def __init__(self, places: Callable[[], Sequence[Path]]) -> None:
        self._reader = ReaderProcess("process", places)
        self._queries = ReaderProcess("queries", places)
        self._alone = asyncio.Semaphore()
        self._with_one: ReaderProcess | None = None
        """The one that has a single request."""

    def start(self) -> None:
        """Starts them ahead of the first request."""
        self._reader.start()
        self._queries.start()

    async def forward(
        self,
        request: Request,
        *,
        traces: Sequence[IndexedFile] = (),
        captures: Sequence[IndexedFile] = (),
        knows_all: bool = False,
    ) -> Response:
        """The reader's answer to a request that may name these files.

        Raises:
            Busy: it took too long.
            TraceError: the reader died of it.
        """
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        message = ForwardedRequest(
            request.method,
            request.url.path,
            request.url.query,
            headers,
            traces,
            captures,
            knows_all,
        )
        return await self._answer(self._reader, message, SECONDS, _names(traces, captures))

    async def query(
        self, file: IndexedFile, sql: str, query: Mapping[str, str], limits: QueryLimits
    ) -> Response:
        """The answer to one query over a trace.

        Raises:
            Busy: the trace was not open in time.
            TraceError: reading the trace ended the query process.
        """
        message = QueryRequest(file.path, sql, query, limits)
        return await self._answer(self._queries, message, _OPENING_SECONDS, file.name)

    async def _answer(
        self, program: ReaderProcess, message: object, seconds: float, name: str
    ) -> Response:
        """What the program says; where it died meanwhile, what one says that has only this.

        One that was closed did not die of what it was asked: the server ends.
        """
        with contextlib.suppress(ReaderDied):
            return await _answer_of(program, message, seconds)
        async with self._alone:
            if program.is_closed:
                raise _ending()
            alone = self._with_one = program.another()
            try:
                return await _answer_of(alone, message, seconds)
            except ReaderDied as died:
                raise (_ending() if program.is_closed else _cause(died, name)) from None
            finally:
                await run_in_threadpool(alone.close)
                self._with_one = None

    def prepare(self, file: IndexedFile) -> None:
        """Begins to open a trace that will be asked for."""
        message = ForwardedRequest("GET", f"/prepare/{file.key}", "", {}, [file])
        with contextlib.suppress(OSError):
            connection, _ = self._reader.connect()
            with connection:
                connection.sendall(packed(message))
                connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Ends them; what they are asked just now is answered with Busy."""
        for reader in (self._queries, self._reader, self._with_one):
            if reader is not None:
                reader.close()


async def _answer_of(program: ReaderProcess, message: object, seconds: float) -> Response:
    connection, process = await run_in_threadpool(program.connect)
    reader, writer = await asyncio.open_connection(sock=connection)
    try:
        writer.write(packed(message))
        answer, body = await asyncio.wait_for(read_message(reader, ReaderAnswer), seconds)
    except TimeoutError:
        await run_in_threadpool(program.end, process)
        raise Busy(
            f"this takes longer than {seconds:g} s", "choose a shorter range of time"
        ) from None
    except (OSError, EOFError, ValueError):
        status = await run_in_threadpool(program.end, process, _DYING_SECONDS)
        raise ReaderDied(status) from None
    finally:
        writer.close()
    headers = {name: text for name, text in answer.headers.items() if name in HEADERS}
    return Response(body, answer.status, headers)


def _environment() -> dict[str, str]:
    """What readers may know of ours: how to reach the store is no business of theirs."""
    return {name: text for name, text in os.environ.items() if not name.startswith(_SECRET)}


def _names(*files: Sequence[IndexedFile]) -> str:
    listed = [file.name for some in files for file in some]
    return listed[0] if len(listed) == 1 else "a file"


def _ending() -> Busy:
    return Busy("the workbench is being ended", "start it again: benchvise serve")


def _cause(died: ReaderDied, name: str) -> BenchviseError:
    """What a reader died of."""
    ended_by = signal_name(-(died.status or 0))
    if ended_by == "SIGBUS":
        return became_shorter(name)
    if ended_by in ("SIGKILL", "SIGABRT"):
        return UsageError(
            f"what is asked of {name} needs more memory than there is", "ask for a shorter part"
        )
    return TraceError(f"reading {name} broke the reader", "is it damaged? Please report it")
