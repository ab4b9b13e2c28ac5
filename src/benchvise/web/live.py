"""Server-sent events: what happens, told to every page that watches, and bounded in every way.

A *topic* is watched by any number of pages and fed by one *source*, a function that runs in a
thread of its own from when the first page comes until the last one goes::

    def source(publish: Publish, stopped: threading.Event) -> None:
        while not stopped.wait(1.0):
            publish("status", {...})

    return hub.stream(request, "rig", source)

A page that comes later is first told the last message of each name, so that it has something to
show at once; names in ``transient`` are not repeated so. One that reads too slowly loses the oldest
messages and is told how many, by a message ``lost``.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import StreamingResponse

from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.report.sinks import json_text
from benchvise.web.http import Busy

Publish: TypeAlias = Callable[[str, object], None]
Source: TypeAlias = Callable[[Publish, threading.Event], None]

HEARTBEAT_SECONDS = 15.0
WAITING_MESSAGES = 500
WATCHERS = 256
LAST_MESSAGES = 64
"""Names whose last message a topic remembers."""


class Hub:
    """The live streams of one server."""

    def __init__(self, watchers: int = WATCHERS) -> None:
        self._limit = watchers
        self._topics: dict[str, _Topic] = {}
        self._watchers = 0

    def stream(
        self,
        request: Request,
        topic: str,
        source: Source,
        *,
        transient: frozenset[str] = frozenset(),
    ) -> StreamingResponse:
        """The answer that tells what ``source`` publishes; to be called by an async endpoint.

        Raises Busy when as many are watching as the server allows.
        """
        if self._watchers >= self._limit:
            raise Busy(f"{self._limit} pages are watching already", "close some of them")
        return StreamingResponse(
            self._tell(request, topic, source, transient),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def close(self) -> None:
        """Ends all sources and all streams."""
        for topic in list(self._topics.values()):
            topic.end()

    async def _tell(
        self, request: Request, name: str, source: Source, transient: frozenset[str]
    ) -> AsyncIterator[bytes]:
        topic = self._topics.get(name)
        if topic is None or topic.ended:
            topic = self._topics[name] = _Topic(transient)
        watcher = topic.join(source)
        self._watchers += 1
        try:
            yield b"retry: 2000\n\n"
            while not watcher.ended or watcher.waiting:
                messages = await watcher.next(HEARTBEAT_SECONDS)
                if messages or not watcher.ended:
                    yield messages or b": still here\n\n"
                if await request.is_disconnected():
                    return
        finally:
            self._watchers -= 1
            if topic.leave(watcher) and self._topics.get(name) is topic:
                del self._topics[name]


def message(name: str, data: object) -> bytes:
    """One event as it goes over the line: a document or typed result; JSON has no line breaks."""
    return f"event: {name}\ndata: {json_text(encode(data))}\n\n".encode()


@dataclass(eq=False)
class _Watcher:
    """One page. Its methods are for the loop's own thread, in the order in which things happen: a
    source that fails at once has ended before the page reads why."""

    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    waiting: deque[bytes] = field(default_factory=deque)
    ended: bool = False
    _lost: int = 0
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, text: bytes) -> None:
        if len(self.waiting) >= WAITING_MESSAGES:
            self.waiting.popleft()
            self._lost += 1
        self.waiting.append(text)
        self._woken.set()

    def end(self) -> None:
        self.ended = True
        self._woken.set()

    async def next(self, seconds: float) -> bytes:
        """All that waits; empty after some seconds of silence."""
        if not self.waiting:
            self._woken.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), seconds)
        messages = b"".join(self.waiting)
        if self._lost:
            messages = message("lost", {"messages": self._lost}) + messages
        self.waiting.clear()
        self._lost = 0
        return messages


class _Topic:
    """One source and those who watch it."""

    def __init__(self, transient: frozenset[str]) -> None:
        self.ended = False
        self._transient = transient
        self._stopped = threading.Event()
        self._watchers: set[_Watcher] = set()
        self._last: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def join(self, source: Source) -> _Watcher:
        watcher = _Watcher()
        with self._lock:
            for text in self._last.values():
                watcher.tell(text)
            self._watchers.add(watcher)
            watcher.ended = self.ended
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(source,), daemon=True)
                self._thread.start()
        return watcher

    def leave(self, watcher: _Watcher) -> bool:
        """Whether that was the last one."""
        with self._lock:
            self._watchers.discard(watcher)
            if self._watchers:
                return False
        self.end()
        return True

    def end(self) -> None:
        self._stopped.set()
        with self._lock:
            self.ended = True
            self._in_loops(_Watcher.end)

    def _run(self, source: Source) -> None:
        try:
            source(self._publish, self._stopped)
        except BenchviseError as error:
            self._publish("failed", {"message": error.message, "remedy": error.remedy})
        except Exception:
            self._publish("failed", {"message": "the source of this stream broke", "remedy": ""})
            raise
        finally:
            self.end()

    def _publish(self, name: str, data: object) -> None:
        text = message(name, data)
        with self._lock:
            if name not in self._transient and (
                name in self._last or len(self._last) < LAST_MESSAGES
            ):
                self._last[name] = text
            self._in_loops(lambda watcher: watcher.tell(text))

    def _in_loops(self, act: Callable[[_Watcher], None]) -> None:
        for watcher in self._watchers:
            with contextlib.suppress(RuntimeError):  # its loop is closed
                watcher.loop.call_soon_threadsafe(act, watcher)
