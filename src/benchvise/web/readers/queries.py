"""The query process: SQL over traces, for whoever may ask anything.

It opens traces, each once, and forks a child for each query, which gives up all rights but that to
compute and to answer: no file, no network, no program, no more memory than its share. The child is
killed when its time is over or nobody waits for it any more. What it dies of is the answer. What
each child would make anew, an empty database and what is told of the trace, is made before.

This process has one thread, or it could not fork. On macOS and Windows it answers one query and
ends: there a process that has loaded libraries cannot fork, or none can.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchvise.confinement import Confinement, confine, dies_with_us
from benchvise.errors import BenchviseError, TraceError
from benchvise.host_system import SIGKILL, supports
from benchvise.trace.loaded import LoadedTrace, load_opened
from benchvise.trace.manifest import Stat, signature
from benchvise.trace.opening import open_trace
from benchvise.trace.query import fresh_database
from benchvise.trace.query_limits import (
    cause_of_death,
    needs_more_than_there_is,
    nested_too_deeply,
)
from benchvise.web.http import Busy, JsonAnswer, error_document, status_of
from benchvise.web.readers.messages import (
    QueryRequest,
    ReaderAnswer,
    packed,
    receive_message,
)
from benchvise.web.readers.passing import ReaderControl
from benchvise.web.workspace.query import TraceQuery
from benchvise.web.workspace.sql import query_answer

_TRACES = 4
"""That stay open."""
_AT_ONCE = 4
"""Queries; more are told to try again."""
_GRACE_SECONDS = 2.0
"""After its time a query has so long to say so itself."""
_READ_SECONDS = 5.0
_OF_DUCKDB = tuple(
    map(Path, ("/proc/self/cgroup", "/sys/fs/cgroup", "/sys/devices/system/cpu/online"))
)
"""What it reads to see how many threads it may have; it dies where it may not."""
_REMEDY = "the terminal of `benchvise serve` says why: please report it"
_HEADERS = {"cache-control": "no-store", "content-type": "application/json"}


@dataclass
class _Child:
    """A query that runs."""

    pid: int
    handle: int
    connection: socket.socket
    request: QueryRequest
    until: float
    is_late: bool = False


class QueryProcess:
    """Takes the server's connections from ``control``, each with one query."""

    def __init__(self, control: ReaderControl) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, _Child] = {}
        self._traces: OrderedDict[Path, tuple[list[Stat], LoadedTrace]] = OrderedDict()
        self._database = fresh_database()
        _ = JsonAnswer({"text": "\u2026\U0001f50d"}).body  # Python reads codecs when they are used

    def serve(self) -> None:
        """Until the server ends."""
        self._control.say_ready()
        self._watch(self._control.channel, self._take)
        while True:
            for key, _ in self._selector.select(self._patience()):
                key.data()
            for child in list(self._children.values()):
                if time.monotonic() > child.until and not child.is_late:
                    child.is_late = True
                    os.kill(child.pid, SIGKILL)

    def _patience(self) -> float | None:
        waiting = [child.until for child in self._children.values() if not child.is_late]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def _watch(self, what: socket.socket | int, call: Callable[[], None]) -> None:
        self._selector.register(what, selectors.EVENT_READ, call)

    def _take(self) -> None:
        connection = self._control.next_connection()
        if connection is None:
            sys.exit(0)  # and the children do with us
        if (request := _received(connection)) is None:
            return
        try:
            if len(self._children) >= _AT_ONCE:
                raise Busy(f"{_AT_ONCE} queries are running", "try again in a moment")
            self._fork(connection, request, self._loaded(request.path))
        except BenchviseError as error:
            _send(connection, error)
            connection.close()
        except MemoryError:  # the queries of others go on
            self._traces.clear()
            _send(connection, needs_more_than_there_is(request.path.name))
            connection.close()

    def _loaded(self, path: Path) -> LoadedTrace:
        try:
            stats = signature(path)
        except OSError as error:
            raise TraceError(f"{path.name}: {error.strerror}") from error
        if path in self._traces and self._traces[path][0] == stats:
            self._traces.move_to_end(path)
            return self._traces[path][1]
        loaded = _load(path)
        self._traces[path] = (stats, loaded)
        if len(self._traces) > _TRACES:
            self._traces.popitem(last=False)
        return loaded

    def _fork(self, connection: socket.socket, request: QueryRequest, loaded: LoadedTrace) -> None:
        with_us = dies_with_us()
        pid = os.fork()
        if pid == 0:
            try:
                with_us()
                sys.stderr = os.fdopen(os.dup(2), "w")
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what a library cries when it dies
                _answer(connection, request, loaded, self._database)
            finally:
                os._exit(0)
        child = _Child(
            pid,
            os.pidfd_open(pid),
            connection,
            request,
            time.monotonic() + request.limits.seconds + _GRACE_SECONDS,
        )
        self._children[pid] = child
        self._watch(child.handle, lambda: self._ended(child))
        self._watch(connection, lambda: self._deserted(child))

    def _deserted(self, child: _Child) -> None:
        """Nobody waits for its answer, or has it already."""
        if child.pid not in self._children:
            return  # it ended in the same moment
        self._selector.unregister(child.connection)
        os.kill(child.pid, SIGKILL)

    def _ended(self, child: _Child) -> None:
        _, status = os.waitpid(child.pid, 0)
        del self._children[child.pid]
        self._selector.unregister(child.handle)
        os.close(child.handle)
        if child.connection in self._selector.get_map():
            self._selector.unregister(child.connection)
            if os.WIFSIGNALED(status):
                _send(child.connection, _cause_of(child, os.WTERMSIG(status)))
        child.connection.close()


def answer_one(control: ReaderControl) -> None:
    """Answers one query in this process and returns, for where none can be forked; the server
    starts another process for the next."""
    control.say_ready()
    connection = control.next_connection()
    if connection is None or (request := _received(connection)) is None:
        return
    try:
        loaded = _load(request.path)
        late = threading.Timer(
            request.limits.seconds + _GRACE_SECONDS, _give_up, (connection, request)
        )
        late.daemon = True
        late.start()
        _answer(connection, request, loaded, fresh_database())
    except BenchviseError as error:
        _send(connection, error)
    except MemoryError:
        _send(connection, needs_more_than_there_is(request.path.name))
    connection.close()


def _give_up(connection: socket.socket, request: QueryRequest) -> None:
    _send(connection, request.limits.too_long)
    connection.close()
    os._exit(0)


def _received(connection: socket.socket) -> QueryRequest | None:
    """What a connection asks; None, and it is closed, where it asks nothing."""
    connection.settimeout(_READ_SECONDS)
    try:
        request, _ = receive_message(connection, QueryRequest)
    except (OSError, EOFError, ValueError):
        connection.close()
        return None
    connection.settimeout(None)
    return request


def _load(path: Path) -> LoadedTrace:
    loaded = load_opened(open_trace(path, keep_later=True), path)
    _prepare(loaded)
    return loaded


def _prepare(loaded: LoadedTrace) -> None:
    """Has made what each query looks at."""
    _ = loaded.trace.description
    TraceQuery({}).part(loaded)


def _answer(
    connection: socket.socket,
    request: QueryRequest,
    loaded: LoadedTrace,
    database: duckdb.DuckDBPyConnection,
) -> None:
    confine(Confinement(_OF_DUCKDB, memory=request.limits.bytes_for_process))
    try:
        answer = JsonAnswer(
            query_answer(loaded, TraceQuery(request.query), request.sql, request.limits, database)
        )
        connection.sendall(packed(ReaderAnswer(200, _HEADERS), bytes(answer.body)))
    except BenchviseError as error:
        _send(connection, error)
    except MemoryError:
        _send(connection, request.limits.too_much)
    except RecursionError:
        _send(connection, nested_too_deeply())
    except Exception:  # noqa: BLE001 - else nobody says anything, and the server ends us all
        _send(connection, BenchviseError("the query broke what answers it", _REMEDY), 500)
        traceback.print_exc()
        sys.stderr.flush()


def _cause_of(child: _Child, signal_number: int) -> BenchviseError:
    """What a query died of."""
    if child.is_late:
        return child.request.limits.too_long
    return cause_of_death(signal_number, child.request.path.name, child.request.limits)


def _send(connection: socket.socket, error: BenchviseError, status: int | None = None) -> None:
    body = JsonAnswer(error_document(error)).body
    try:
        head = ReaderAnswer(status or status_of(error), _HEADERS)
        connection.sendall(packed(head, bytes(body)))
    except OSError:
        return  # nobody waits any more


def serve(control: ReaderControl) -> None:
    """Answers the queries of the server behind ``control``, until that ends."""
    if supports("linux"):
        QueryProcess(control).serve()
    else:
        answer_one(control)
