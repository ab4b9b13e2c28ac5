"""What is computed for a browser that has left ends.

    browser ─ server: ``while_awaited`` looks whether it is still there, else hangs up
              └ reader: ``disconnect`` arrives ─→ ``ended_with`` ─→ ``Deserted`` in the thread

Who asks what others wait for already waits with them: it ends when the last of them has left.

A thread cannot be ended from outside. It has an exception raised in it between two steps of Python:
what it holds is released as with any other exception, and a step that takes long is done first.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, ClassVar, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.web.http import Refused
from benchvise.web.readers.messages import PASSED_ON

_LOOK_SECONDS = 0.25
"""How often it is looked whether somebody still waits."""

T = TypeVar("T")


class Deserted(BaseException):
    """Nobody waits for the answer any more. No error: nothing that handles those may stop it."""


async def while_awaited(request: Request, answer: Coroutine[Any, Any, T]) -> T:
    """The answer; given up when the browser has left.

    Raises:
        Refused: it has. Nobody reads that.
    """
    answering = asyncio.ensure_future(answer)
    try:
        while not answering.done():
            await asyncio.wait([answering], timeout=_LOOK_SECONDS)
            if not answering.done() and await request.is_disconnected():
                raise Refused("nobody waits for the answer")
        return answering.result()
    finally:
        answering.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await answering


async def ended_with(
    request: Request, executor: Executor, work: Callable[[], T], version: Hashable = None
) -> T:
    """What the work gives, in a thread of the executor; ended where the request is, and all others
    for the same address and ``version`` of what it is about. None: it is this request's alone.

    Raises:
        Refused: it was. Nobody reads that.
    """
    shared: _SharedWork[T] = _SharedWork.of(request, executor, work, version)
    leaving = asyncio.ensure_future(_disconnected(request))
    either: set[asyncio.Future[Any]] = {shared.working, leaving}
    has_left = False
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not shared.working.done():
            has_left = True
            if not shared.leave():
                raise Refused("nobody waits for the answer")
        return await shared.working
    except Deserted:
        raise Refused("nobody waits for the answer") from None
    finally:
        leaving.cancel()
        if not has_left:
            shared.leave()


def route_while_awaited(
    route: Route, executor: Executor, prepare: Callable[[Request], Hashable] | None = None
) -> Route:
    """The route of a function, whose work ends when the browser leaves; what ``prepare`` does
    before that, as opening a file, goes on for others. It returns the version of what is asked."""
    answer: Callable[[Request], Response] = route.endpoint

    async def endpoint(request: Request) -> Response:
        version = None
        if prepare is not None:
            version = await asyncio.get_running_loop().run_in_executor(executor, prepare, request)
        return await ended_with(request, executor, lambda: answer(request), version)

    return Route(route.path, endpoint)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _SharedWork(Generic[T]):
    """Work for all who ask the same at a time. It is of one event loop."""

    _under_way: ClassVar[dict[Hashable, _SharedWork[Any]]] = {}

    def __init__(self, executor: Executor, work: Callable[[], T], key: Hashable) -> None:
        self._endable = _Endable(work)
        self._key = key
        self._waiting = 0
        running = asyncio.get_running_loop().run_in_executor(executor, self._endable)
        self.working: asyncio.Future[T] = asyncio.ensure_future(running)

    @classmethod
    def of(
        cls, request: Request, executor: Executor, work: Callable[[], T], version: Hashable
    ) -> _SharedWork[T]:
        """The work that is under way for such a request, or one that begins."""
        loop = asyncio.get_running_loop()
        about = object() if version is None else (version, _question(request))
        key = (loop, executor, about)
        shared = cls._under_way.get(key)
        if shared is None or shared.working.done():
            shared = cls._under_way[key] = cls(executor, work, key)
        shared._waiting += 1
        return shared

    def leave(self) -> bool:
        """One less waits. The last ends it, and forgets it; returns whether it was the last."""
        self._waiting -= 1
        if self._waiting != 0:
            return False
        if self._under_way.get(self._key) is self:
            del self._under_way[self._key]
        if not self.working.done():
            self._endable.end()
        return True


def _question(request: Request) -> Hashable:
    """All of a request on which its answer depends."""
    headers = tuple(request.headers.get(name, "") for name in PASSED_ON)
    return (request.method, request.url.path, request.url.query, headers)


class _Endable(Generic[T]):
    """Work that another thread can end while it is done."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._is_ended = False

    def __call__(self) -> T:
        """Does the work in this thread. Deserted where it was ended meanwhile, or before."""
        with self._lock:
            if self._is_ended:
                raise Deserted
            self._thread = threading.get_ident()
        try:
            return self._work()
        finally:
            with self._lock:
                # Not in what this thread does next.
                _raise_in(self._thread, None)
                self._thread = None

    def end(self) -> None:
        """Ends it where it is being done; else it does not begin."""
        with self._lock:
            self._is_ended = True
            if self._thread is not None:
                _raise_in(self._thread, Deserted)


def _raise_in(thread: int, exception: type[BaseException] | None) -> None:
    """Has an exception raised in a thread; None takes back what was not raised yet."""
    raised = ctypes.py_object() if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
