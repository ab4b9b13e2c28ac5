"""`benchvise serve` over a real network: it begins, ends, and bears many."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import skips
import uvicorn
from in_process import benchvise
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState
from waiting import PATIENCE
from web_server import Serving, serving

from benchvise.web.file_index import key_of
from benchvise.web.live import WATCHERS
from benchvise.web.serving import Impatient

CLIENTS = 200

RIG = """
targets:
  one: {features: [simulated]}
"""


def head(server: Serving, path: str, *more: str) -> bytes:
    """A request with the token."""
    bearer = (f"{name}: {text}" for name, text in server.bearer.items())
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *bearer, *more, "", ""]).encode()


async def ask(server: Serving, path: str) -> tuple[int, bytes]:
    """A request on a connection of its own; the status, and all that was answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(head(server, path, "Connection: close"))
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
    finally:
        writer.close()
    return int(answer.split(b" ", 2)[1]), answer


async def watch(server: Serving, path: str) -> tuple[int, asyncio.StreamWriter]:
    """Begins to watch; the connection stays open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head(server, path))
    status = await asyncio.wait_for(reader.readline(), PATIENCE)
    return int(status.split(b" ", 2)[1]), writer


def test_two_hundred_clients_at_once_are_all_answered(tmp_path: Path) -> None:
    paths = ["/", "/index.json", "/boards", "/traces.json", "/nothing"]

    async def all_at_once(server: Serving) -> list[int]:
        asked = (ask(server, paths[n % len(paths)]) for n in range(CLIENTS))
        return [status for status, _ in await asyncio.gather(*asked)]

    with serving(tmp_path / "store.db") as server:
        seen = asyncio.run(all_at_once(server))
        assert sorted(set(seen)) == [200, 404]
        assert seen.count(404) == CLIENTS // len(paths)


def test_watchers_are_bounded_and_it_ends_with_all_of_them_open(tmp_path: Path) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(RIG)

    async def scene(server: Serving) -> None:
        path = "/live/console/one"
        watching = await asyncio.gather(*(watch(server, path) for _ in range(CLIENTS)))
        assert {status for status, _ in watching} == {200}
        more = [await watch(server, path) for _ in range(WATCHERS - CLIENTS + 5)]
        assert more[-1][0] == 503
        assert (await ask(server, "/index.json"))[0] == 200
        assert await asyncio.to_thread(server.interrupt) == 0
        for _, writer in [*watching, *more]:
            writer.close()

    with serving(tmp_path / "store.db", "--rig", rig) as server:
        asyncio.run(scene(server))


def test_half_requests_keep_nobody_out(tmp_path: Path) -> None:
    with serving(tmp_path / "store.db") as server:
        halves = []
        for _ in range(CLIENTS):
            half = socket.create_connection(("127.0.0.1", server.port))
            half.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            halves.append(half)
        request = urllib.request.Request(server.url("/index.json"), headers=server.bearer)  # noqa: S310
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            assert answer.status == 200
        for half in halves:
            half.close()


HALVES = (
    b"",
    b"GET / HTTP/1.1\r\nHost: 127",
    b"POST /notes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HTTP/1.1\r\n",
)


@pytest.mark.parametrize("half", HALVES)
def test_what_never_comes_whole_is_hung_up_on(monkeypatch: pytest.MonkeyPatch, half: bytes) -> None:
    monkeypatch.setattr("benchvise.web.serving.REQUEST_SECONDS", 0.2)

    async def scene() -> None:
        server, port = await listening()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(half)
        await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        server.close()

    asyncio.run(scene())


def test_an_answer_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchvise.web.serving.REQUEST_SECONDS", 0.1)

    async def scene() -> bytes:
        server, port = await listening(0.4)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        server.close()
        return answer

    assert b"here" in asyncio.run(scene())


async def listening(seconds: float = 0.0) -> tuple[asyncio.Server, int]:
    """A server that answers after a while, when it has read what was sent; and its port."""

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body", False):
            pass
        await asyncio.sleep(seconds)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    config = uvicorn.Config(app, lifespan="off", log_level="error", ws="none")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Impatient(config, state, {}), "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


def test_it_ends_with_nothing_to_complain_of(tmp_path: Path) -> None:
    with serving(tmp_path / "store.db") as server:
        assert server.interrupt() == 0
        assert server.process.stderr is not None and server.process.stderr.read() == ""


ENDLESS = "SELECT sum(sin(range)) FROM range(1000000000000)"
TRACE = Path(__file__).parent / "data" / "traces" / "small.dat"


def test_it_ends_in_the_middle_of_a_question_with_nothing_to_complain_of(tmp_path: Path) -> None:
    """The question is not asked once more of a new reader, which nobody would wait for."""
    skips.need_decoder()
    shutil.copy(TRACE, tmp_path / "t.dat")
    key = key_of(tmp_path / "t.dat")
    with serving(tmp_path / "store.db", "--traces", tmp_path) as server:
        request = urllib.request.Request(  # noqa: S310
            server.url(f"/api/traces/{key}/query"),
            json.dumps({"sql": ENDLESS}).encode(),
            {**server.bearer, "Content-Type": "application/json"},
        )
        statuses: list[int] = []

        def ask_it() -> None:
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=PATIENCE)  # noqa: S310
            statuses.append(refused.value.code)

        asking = threading.Thread(target=ask_it)
        asking.start()
        until = time.monotonic() + PATIENCE
        while not any(children(reader) for reader in children(server.process.pid)):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert server.interrupt() == 0
        asking.join()
        assert statuses == [503]
        assert server.process.stderr is not None and server.process.stderr.read() == ""


def children(pid: int) -> list[int]:
    """The processes that one has started, by all of its threads."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--host", "0.0.0.0", "--token", "short"], 2, "the token is too short"),  # noqa: S104
        (["--traces", "/nowhere"], 2, "--traces /nowhere is no directory"),
        (["--host", "name.invalid"], 1, "name.invalid is no address of this machine"),
        (["--store", "/dev/null/store.db"], 1, "/dev/null/store.db"),
    ],
)
def test_what_does_not_fit_is_one_line(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    store = ("--store", tmp_path / "store.db")
    ran = benchvise("serve", "--port", "0", *store, *words)
    assert ran.code == code
    assert said in ran.err and ran.err.count("\n") == 1


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "benchvise", "serve", "--port", port]
        ran = subprocess.run(
            [*command, "--store", str(tmp_path / "store.db")],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert ran.returncode == 1
    assert f"127.0.0.1:{port} cannot be listened on" in ran.stderr
    assert "--port" in ran.stderr
