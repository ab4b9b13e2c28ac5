"""What is computed for a browser that has left ends.

    browser ─ server: ``while_awaited`` looks whether it is still there, else hangs up
              └ reader: ``disconnect`` arrives ─→ ``ended_with`` ─→ ``Deserted`` in the thread

A thread cannot be ended from outside. It has an exception raised in it between two steps of Python:
what it holds is released as with any other exception, and a step that takes long is done first.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.web.http import Refused

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


async def ended_with(request: Request, executor: Executor, work: Callable[[], T]) -> T:
    """What the work gives, in a thread of the executor; ended where the request is.

    Raises:
        Refused: it was. Nobody reads that.
    """
    endable = _Endable(work)
    working = asyncio.ensure_future(asyncio.get_running_loop().run_in_executor(executor, endable))
    leaving = asyncio.ensure_future(_disconnected(request))
    either: set[asyncio.Future[Any]] = {working, leaving}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            endable.end()
        return await working
    except Deserted:
        raise Refused("nobody waits for the answer") from None
    finally:
        leaving.cancel()


def route_while_awaited(
    route: Route, executor: Executor, prepare: Callable[[Request], object] | None = None
) -> Route:
    """The route of a function, whose work ends when the browser leaves; what ``prepare`` does
    before that, as opening a file, goes on for others."""
    answer: Callable[[Request], Response] = route.endpoint

    async def endpoint(request: Request) -> Response:
        if prepare is not None:
            await asyncio.get_running_loop().run_in_executor(executor, prepare, request)
        return await ended_with(request, executor, lambda: answer(request))

    return Route(route.path, endpoint)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
