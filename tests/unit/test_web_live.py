"""Live streams: bounded, shared, and at an end when nobody watches."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.requests import Request
from waiting import PATIENCE

from benchvise.errors import TraceError
from benchvise.web import live
from benchvise.web.http import Busy
from benchvise.web.live import Hub, Publish


class Page:
    """A browser that watches."""

    def __init__(self, hub: Hub, topic: str, source: live.Source) -> None:
        self.gone = False

        async def receive() -> Any:
            if not self.gone:
                await asyncio.sleep(3600)
            return {"type": "http.disconnect"}

        request = Request({"type": "http", "method": "GET", "headers": []}, receive)
        body: Any = hub.stream(request, topic, source).body_iterator
        self.pieces: AsyncIterator[bytes] = body

    async def next(self) -> list[tuple[str, Any]]:
        """The messages that come together, heartbeats as none."""
        text = (await asyncio.wait_for(anext(self.pieces), PATIENCE)).decode()
        found = []
        for block in text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "event" in lines:
                found.append((lines["event"], json.loads(lines["data"])))
        return found

    async def message(self) -> tuple[str, Any]:
        while not (found := await self.next()):
            pass
        return found[0]

    async def close(self) -> None:
        await self.pieces.aclose()  # type: ignore[attr-defined]


def quiet(_publish: Publish, stopped: threading.Event) -> None:
    stopped.wait(PATIENCE)


async def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_two_pages_share_a_source_and_the_last_one_ends_it() -> None:
    begun, ended = [], []
    tell = threading.Event()

    def source(publish: Publish, stopped: threading.Event) -> None:
        begun.append(1)
        publish("state", {"n": 1})
        tell.wait(PATIENCE)
        publish("state", {"n": 2})
        stopped.wait(PATIENCE)
        ended.append(1)

    async def scene() -> None:
        hub = Hub()
        first = Page(hub, "rig", source)
        assert await first.message() == ("state", {"n": 1})
        second = Page(hub, "rig", source)
        assert await second.message() == ("state", {"n": 1}), "the last message is repeated"
        tell.set()
        assert await first.message() == await second.message() == ("state", {"n": 2})
        await first.close()
        assert not ended
        await second.close()
        await until(lambda: bool(ended))

    asyncio.run(scene())
    assert begun == [1]


def test_a_page_that_reads_too_slowly_is_told_what_it_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "WAITING_MESSAGES", 10)
    said, published = threading.Event(), threading.Event()

    def source(publish: Publish, stopped: threading.Event) -> None:
        publish("first", {})
        said.wait(PATIENCE)
        for n in range(100):
            publish("line", {"n": n})
        published.set()
        stopped.wait(PATIENCE)

    async def scene() -> None:
        page = Page(Hub(), "console", source)
        assert await page.message() == ("first", {})
        said.set()
        await asyncio.to_thread(published.wait, PATIENCE)
        found = await page.next()
        assert found[0] == ("lost", {"messages": 90})
        assert [data["n"] for _, data in found[1:]] == list(range(90, 100))
        await page.close()

    asyncio.run(scene())


def test_silence_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.05)

    async def scene() -> None:
        page = Page(Hub(), "quiet", quiet)
        await anext(page.pieces)
        assert (await anext(page.pieces)).startswith(b":")
        page.gone = True
        with pytest.raises(StopAsyncIteration):
            await anext(page.pieces)

    asyncio.run(scene())


def test_a_source_that_fails_says_why_and_the_next_page_tries_again() -> None:
    tries = []

    def source(_publish: Publish, _stopped: threading.Event) -> None:
        tries.append(1)
        raise TraceError("the disk is gone", "plug it in")

    async def scene() -> None:
        hub = Hub()
        for number in (1, 2):
            page = Page(hub, "x", source)
            said = await page.message()
            assert said == ("failed", {"message": "the disk is gone", "remedy": "plug it in"})
            with pytest.raises(StopAsyncIteration):
                await page.next()
            assert len(tries) == number

    asyncio.run(scene())


def test_a_source_that_fails_before_the_page_listens_still_says_why() -> None:
    """The source's thread may be at its end before the loop comes to anything else."""

    def source(_publish: Publish, _stopped: threading.Event) -> None:
        raise TraceError("the disk is gone", "plug it in")

    async def scene() -> None:
        page = Page(Hub(), "x", source)
        others = set(threading.enumerate())
        await anext(page.pieces)
        for thread in set(threading.enumerate()) - others:
            thread.join(PATIENCE)
        assert b"the disk is gone" in await anext(page.pieces)
        with pytest.raises(StopAsyncIteration):
            await anext(page.pieces)

    asyncio.run(scene())


def test_more_pages_than_allowed_are_turned_away_and_room_is_made_again() -> None:
    async def scene() -> None:
        hub = Hub(watchers=2)
        pages = [Page(hub, "x", quiet) for _ in range(2)]
        for page in pages:
            await anext(page.pieces)
        with pytest.raises(Busy, match="2 pages are watching"):
            Page(hub, "x", quiet)
        await pages[0].close()
        Page(hub, "x", quiet)
        await pages[1].close()

    asyncio.run(scene())


def test_the_end_of_the_server_ends_all() -> None:
    ended = threading.Event()

    def source(_publish: Publish, stopped: threading.Event) -> None:
        stopped.wait(PATIENCE)
        ended.set()

    async def scene() -> None:
        hub = Hub()
        page = Page(hub, "x", source)
        await anext(page.pieces)
        hub.close()
        with pytest.raises(StopAsyncIteration):
            await page.next()
        assert ended.wait(PATIENCE)

    asyncio.run(scene())
