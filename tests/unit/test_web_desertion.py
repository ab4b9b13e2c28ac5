"""What is computed for a browser that has left ends; nothing else does."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from waiting import PATIENCE

from benchvise.web.captures import timeline as capture_timeline
from benchvise.web.http import Refused
from benchvise.web.pages import captures, trace_compare
from benchvise.web.readers import process
from benchvise.web.readers.desertion import Deserted, _Endable, ended_with, while_awaited
from benchvise.web.readers.messages import ForwardedRequest, packed
from benchvise.web.readers.open_files import KnownFiles, OpenFiles
from benchvise.web.workspace import comparison, served
from benchvise.web.workspace import timeline as trace_timeline
from benchvise.web.workspace.served import ServedTraces


def request_that(receive: Callable[[], Awaitable[dict[str, Any]]]) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)


async def gone() -> dict[str, Any]:
    return {"type": "http.disconnect"}


async def here() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


def endless(begun: threading.Event, ended: threading.Event) -> None:
    """In Python, step by step, as what analyses do between arrays."""
    try:
        begun.set()
        while True:
            sum(range(100))
    finally:
        ended.set()


def test_a_thread_that_computes_for_nobody_is_ended_and_what_it_held_is_released() -> None:
    begun, ended = threading.Event(), threading.Event()
    lock = threading.Lock()

    def work() -> None:
        with lock:
            endless(begun, ended)

    endable = _Endable(work)
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(endable)
        assert begun.wait(PATIENCE)
        endable.end()
        assert isinstance(future.exception(PATIENCE), Deserted)
        assert ended.is_set()
        assert lock.acquire(timeout=PATIENCE)
        assert threads.submit(lambda: 42).result(PATIENCE) == 42


def test_what_was_ended_before_it_began_does_not_begin() -> None:
    endable = _Endable(lambda: pytest.fail("it begins"))
    endable.end()
    with pytest.raises(Deserted):
        endable()


def test_an_end_that_comes_late_hits_nothing_that_the_thread_does_next() -> None:
    """Whenever it comes: it ends the work, or nothing."""
    with ThreadPoolExecutor(1) as threads:
        for length in range(2_000):
            endable = _Endable(partial(sum, range(length % 50)))
            future = threads.submit(endable)
            after = threads.submit(lambda: [sum(range(20)) for _ in range(5)])
            endable.end()
            error = future.exception(PATIENCE)
            assert error is None or isinstance(error, Deserted)
            assert after.result(PATIENCE) == [190] * 5


def test_no_error_handling_stops_the_end() -> None:
    begun, again = threading.Event(), threading.Event()

    def work() -> None:
        try:
            endless(begun, threading.Event())
        except Exception:  # noqa: BLE001 - what is tested
            again.set()

    endable = _Endable(work)
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(endable)
        assert begun.wait(PATIENCE)
        endable.end()
        assert isinstance(future.exception(PATIENCE), Deserted)
    assert not again.is_set()


def test_work_goes_on_as_long_as_somebody_waits() -> None:
    with ThreadPoolExecutor(1) as threads:
        assert asyncio.run(ended_with(request_that(here), threads, lambda: 42)) == 42


class Visitors:
    """Those who ask one question, each of whom may leave; ``work`` lasts until ``done``."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.threads = threads
        self.begun = 0
        self.starts = threading.Semaphore(0)
        self.ended = threading.Event()
        self.done = threading.Event()

    async def have_begun(self, works: int) -> None:
        for _ in range(works):
            assert await asyncio.to_thread(self.starts.acquire, timeout=PATIENCE)

    def work(self) -> int:
        self.begun += 1
        try:
            self.starts.release()
            while not self.done.wait(0.001):
                pass
            return 42
        finally:
            self.ended.set()

    def ask(self, query: str = "", version: str | None = "v") -> tuple[Any, asyncio.Event]:
        """The answer that one waits for, and what makes this one leave."""
        leaves = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await leaves.wait()
            return {"type": "http.disconnect"}

        request = request_that(receive)
        request.scope["query_string"] = query.encode()
        answer = ended_with(request, self.threads, self.work, version)
        return asyncio.ensure_future(answer), leaves


def test_what_others_wait_for_goes_on_when_the_first_has_left() -> None:
    """It is computed once for all; when the last has left it ends."""

    async def asked(visitors: Visitors) -> None:
        first, leaves = visitors.ask()
        second, _ = visitors.ask()
        await visitors.have_begun(1)
        leaves.set()
        with pytest.raises(Refused, match="nobody waits"):
            await asyncio.wait_for(first, PATIENCE)
        assert not visitors.ended.is_set()
        late, leaves = visitors.ask()
        await asyncio.sleep(0.01)
        leaves.set()
        with pytest.raises(Refused):
            await late
        visitors.done.set()
        assert await asyncio.wait_for(second, PATIENCE) == 42
        assert visitors.begun == 1

    async def left(visitors: Visitors) -> None:
        askers = [visitors.ask() for _ in range(3)]
        await visitors.have_begun(1)
        for _, leaves in askers:
            leaves.set()
        answers = await asyncio.gather(*(answer for answer, _ in askers), return_exceptions=True)
        assert all(isinstance(answer, Refused) for answer in answers)
        assert await asyncio.to_thread(visitors.ended.wait, PATIENCE)
        # Who asks now begins it anew.
        again, _ = visitors.ask()
        visitors.done.set()
        assert await asyncio.wait_for(again, PATIENCE) == 42
        assert visitors.begun == 2

    for each in (asked, left):
        with ThreadPoolExecutor(2) as threads:
            asyncio.run(each(Visitors(threads)))


def test_other_questions_and_other_versions_are_worked_at_apart() -> None:
    async def asked(visitors: Visitors) -> None:
        words = [("", "v"), ("a=1", "v"), ("", "w"), ("", None), ("", None)]
        askers = [visitors.ask(*each)[0] for each in words]
        await visitors.have_begun(5)
        visitors.done.set()
        assert await asyncio.gather(*askers) == [42] * 5
        assert visitors.begun == 5

    with ThreadPoolExecutor(5) as threads:
        asyncio.run(asked(Visitors(threads)))


def test_errors_of_the_work_are_told() -> None:
    def fails() -> None:
        raise ValueError("its own")

    with ThreadPoolExecutor(1) as threads, pytest.raises(ValueError, match="its own"):
        asyncio.run(ended_with(request_that(here), threads, fails))


def test_the_server_hangs_up_on_a_reader_when_the_browser_has_left() -> None:
    async def asked() -> None:
        hung_up = asyncio.Event()

        async def forwarded() -> Response:
            try:
                await asyncio.Event().wait()
            finally:
                hung_up.set()
            raise AssertionError

        with pytest.raises(Refused, match="nobody waits"):
            await asyncio.wait_for(while_awaited(request_that(gone), forwarded()), PATIENCE)
        assert hung_up.is_set()

    asyncio.run(asked())


def test_the_server_waits_for_a_reader_as_long_as_the_browser_is_there() -> None:
    async def forwarded() -> int:
        await asyncio.sleep(0.6)  # it is looked for the browser meanwhile
        return 42

    assert asyncio.run(while_awaited(request_that(here), forwarded())) == 42


def test_a_reader_ends_what_the_server_waits_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it runs there: the connection of one request is closed while that is computed."""
    begun, ended = threading.Event(), threading.Event()
    threads = ThreadPoolExecutor(1)

    async def endpoint(request: Request) -> Response:
        await ended_with(request, threads, lambda: endless(begun, ended))
        raise AssertionError

    with threads:
        asyncio.run(left_while_computed([Route("/endless", endpoint)], "/endless", begun, ended))


async def left_while_computed(
    routes: Sequence[BaseRoute],
    path: str,
    begun: threading.Event,
    ended: threading.Event,
    query: str = "",
) -> None:
    """Asks, hangs up when it has begun, and waits until it has ended."""
    app = Starlette(routes=routes)
    app.state.open_files = OpenFiles()
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    answering = asyncio.ensure_future(process._answer(app, theirs))
    ours.sendall(packed(ForwardedRequest("GET", path, query, {})))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    assert not ended.is_set()
    ours.close()
    assert await asyncio.to_thread(ended.wait, PATIENCE)
    await asyncio.wait_for(answering, PATIENCE)


@pytest.mark.parametrize(
    ("routes", "path"),
    [
        (trace_timeline.routes, "/api/traces/one/rows"),
        (capture_timeline.routes, "/api/captures/one/-/rows"),
        (captures.routes, "/captures/one"),
        (captures.routes, "/captures/responses.json"),
    ],
)
def test_a_timeline_and_a_capture_end_that_nobody_waits_for(
    routes: Sequence[BaseRoute], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    class Endless:
        """Whatever is asked of it is never there."""

        def __getattr__(self, name: str) -> object:
            endless(begun, ended)
            return None

    class Source(Endless):
        tag = "t"

    monkeypatch.setattr(OpenFiles, "trace", lambda _files, _key: Source())
    monkeypatch.setattr(OpenFiles, "capture", lambda _files, _key, _view: Source())
    monkeypatch.setattr(KnownFiles, "find", lambda _files, _key: Endless())
    asyncio.run(left_while_computed(routes, path, begun, ended, query="file=one"))


def test_a_comparison_ends_that_nobody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both traces are opened first, which goes on: others will ask for them."""
    begun, ended = threading.Event(), threading.Event()
    opened: list[str] = []
    side = SimpleNamespace(tag="t", loaded=None)

    def opening(_files: OpenFiles, key: str) -> SimpleNamespace:
        opened.append(key)
        return side

    monkeypatch.setattr(OpenFiles, "trace", opening)
    monkeypatch.setattr(KnownFiles, "find", lambda _files, key: SimpleNamespace(path=key))
    monkeypatch.setattr(ServedTraces, "get", lambda _traces, _path: side)
    monkeypatch.setattr(comparison, "compare_traces", lambda _a, _b: endless(begun, ended))
    asking = left_while_computed(
        trace_compare.routes, "/traces/compare", begun, ended, query="a=one&b=two"
    )
    asyncio.run(asking)
    assert opened == ["one", "two"]


def test_traces_are_closed_while_one_is_being_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps it can be waited for by whoever finds it."""
    kept: list[str] = []

    class SlowToStart(threading.Thread):
        def start(self) -> None:
            closing.start()
            closing.join(0.1)  # it goes on first, where it is not held back
            super().start()

    def close() -> None:
        traces.close()
        kept.append("all")

    traces = ServedTraces()
    closing = threading.Thread(target=close)
    monkeypatch.setattr(served, "open_trace", lambda *_, **__: MagicMock(span=(0, 1), content="t"))
    monkeypatch.setattr(served, "threading", SimpleNamespace(Thread=SlowToStart))
    monkeypatch.setattr(traces, "_keep", lambda _served: kept.append("one"))
    traces._open(Path("t.dat"), [])
    closing.join()
    assert kept == ["one", "all"]
