"""http.requests end to end: wrk against real servers, on this machine and behind ssh."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import skips
from board_servers import opened
from in_process import benchvise
from sshd import SshServer, processes_with
from waiting import PATIENCE, wait_until

pytest_plugins = ["probe_fixtures", "board_fixtures"]

BENCHVISE = [sys.executable, "-m", "benchvise"]
BODY = b"x" * 2000

needs_wrk = skips.needs("wrk")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers /, moves /old, breaks /breaks after some requests, and knows nothing else."""

    protocol_version = "HTTP/1.1"
    connections: ClassVar[list[object]] = []
    requests: ClassVar[dict[str, int]] = {}

    def setup(self) -> None:
        self.connections.append(self.client_address)
        super().setup()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        seen = self.requests[path] = self.requests.get(path, 0) + 1
        if path == "/breaks" and seen > 20 and seen % 2:
            self.send_error(503)
            return
        status = {"/": 200, "/breaks": 200, "/old": 301}.get(path, 404)
        head = f"HTTP/1.1 {status} said\r\nContent-Length: {len(BODY)}\r\nServer: test/1\r\n"
        if status == 301:
            head += "Location: http://elsewhere/\r\n"
        if self.headers.get("connection") == "close":
            head += "Connection: close\r\n"
            self.close_connection = True
        self.wfile.write(head.encode() + b"\r\n" + BODY)

    def log_message(self, *_arguments: object) -> None:
        """Nothing: there are thousands."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_arguments: object) -> None:
        """A load generator that ends breaks its connections off."""


@pytest.fixture
def server() -> Iterator[str]:
    """A web server on this machine; its URL without a path."""
    Handler.connections.clear()
    Handler.requests.clear()
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture
def environment(static: Path, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "BENCHVISE_STORE": str(tmp_path / "results.db"), "COLUMNS": "120"}


def measured(environment: dict[str, str], *words: str, expect: int = 0) -> Any:
    """What a run of these says, in this process."""
    short = ("run", "--processes", "1", "--batches", "1", "--no-snapshot")
    ran = benchvise(*short, *words, "--json", environment=environment)
    assert ran.code == expect, ran.out + ran.err
    return ran.data


def of(url: str) -> tuple[str, str]:
    return ("--bench", f'http.requests:url="{url}",concurrency=4')


# --- what is measured -------------------------------------------------------------------------


@needs_wrk
def test_requests_are_made_and_counted(environment: dict[str, str], server: str) -> None:
    (run,) = measured(environment, *of(f"{server}/?a=b,c"), "--batches", "2")
    (series,) = run["series"]
    assert series["status"] == "measured" and series["unit"] == "1/s"
    values = [sample["value"] for sample in series["samples"]]
    assert len(values) == 2
    # The warm-up and the first answer were made too.
    assert sum(values) * 0.5 < Handler.requests["/"] - 1 < sum(values) * 100
    assert "one machine" in series["caveats"][0]
    # Three times four, those that only looked whether the server is there, and the first answer's.
    assert len(Handler.connections) < 30
    assert any(fact["name"] == "Kernel" and fact["known"] for fact in run["facts"])


@needs_wrk
def test_without_keep_alive_every_request_has_its_connection(
    environment: dict[str, str], server: str
) -> None:
    words = ("--bench", f'http.requests:url="{server}/",concurrency=2,keepalive=no')
    (run,) = measured(environment, *words)
    assert run["series"][0]["status"] == "measured"
    assert len(Handler.connections) > Handler.requests["/"] * 0.9


@needs_wrk
def test_two_boards_are_asked_for_their_own_page(
    environment: dict[str, str], server: str, plain: SshServer, home: Path
) -> None:
    environment["BENCHVISE_SSH_CONFIG"] = str(plain.config)
    port = server.rpartition(":")[2]
    words = ("--param", f"url=http://{{board}}:{port}/")
    runs = measured(environment, "local", plain.name, "--bench", "http.requests", *words)
    assert [run["board"] for run in runs] == ["local", plain.name]
    for run in runs:
        assert [series["status"] for series in run["series"]] == ["measured"]
    keys = [[series["params"] for series in run["series"]] for run in runs]
    assert keys[0] == keys[1], "the same series: they can be compared"


# --- what goes wrong --------------------------------------------------------------------------


@needs_wrk
@pytest.mark.parametrize(
    ("path", "named"),
    [("/nothing", "is answered with 404"), ("/old", "it has moved to http://elsewhere/")],
)
def test_an_answer_that_is_not_good_fails_the_series_only(
    environment: dict[str, str], server: str, path: str, named: str
) -> None:
    (run,) = measured(environment, *of(server + path), "--bench", "os.syscall", expect=1)
    series = {one["benchmark"]: one for one in run["series"]}
    assert series["os.syscall"]["status"] == "measured"
    assert series["http.requests"]["status"] == "failed"
    assert named in series["http.requests"]["reason"]


@needs_wrk
def test_requests_that_fail_are_no_headline(environment: dict[str, str], server: str) -> None:
    (run,) = measured(environment, *of(f"{server}/breaks"))
    (series,) = run["series"]
    assert not series["summary"]["stable"]
    assert any(
        "requests failed, in 1 of 1 batches" in cause for cause in series["summary"]["causes"]
    )
    assert all("errors" in sample["flags"] for sample in series["samples"])


@needs_wrk
def test_a_port_that_refuses_is_named(environment: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        (run,) = measured(environment, *of(url), expect=1)
    (series,) = run["series"]
    assert series["status"] == "failed"
    assert "no web server answers" in series["reason"] and "firewall" in series["reason"]


@needs_wrk
def test_a_server_that_is_no_web_server_is_named(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def greet() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                connection.sendall(b"SSH-2.0-\x1b[31mOpenSSH\r\n" * 10)
                connection.close()

        thread = threading.Thread(target=greet)
        thread.start()
        (run,) = measured(environment, *of(f"http://127.0.0.1:{port}/"), expect=1)
        thread.join()
    reason = run["series"][0]["reason"]
    assert "no web server answers" in reason and "\x1b" not in reason


@contextlib.contextmanager
def measuring(environment: dict[str, str], url: str) -> Iterator[subprocess.Popen[str]]:
    """A run that lasts, while wrk is at work."""
    words = ["run", "--batches", "50", "--bench", f'http.requests:url="{url}"', "--json"]
    child = subprocess.Popen(
        [*BENCHVISE, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(
            lambda: bool(processes_with(f"lua -- {url}")) or child.poll() is not None, "no wrk"
        )
        yield child
    finally:
        child.kill()
        child.communicate()


@needs_wrk
def test_a_server_that_dies_in_the_middle_is_named(environment: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = ["-m", "http.server", "--bind", "127.0.0.1", str(port)]
    web = subprocess.Popen(
        [sys.executable, *serve], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: _listens(port), "the server does not listen")
        with measuring(environment, f"http://127.0.0.1:{port}/") as child:
            web.kill()
            web.wait()
            output, _ = child.communicate(timeout=PATIENCE)
    finally:
        web.kill()
        web.wait()
    (run,) = json.loads(output)["data"]
    (series,) = run["series"]
    assert child.returncode == 1 and series["status"] == "failed"
    assert "not one request of a batch" in series["reason"] or "wrk failed" in series["reason"]


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@needs_wrk
@pytest.mark.parametrize("way", ["interrupt", "terminate", "kill"])
def test_no_load_goes_on_without_benchvise(
    environment: dict[str, str], server: str, way: str
) -> None:
    with measuring(environment, f"{server}/") as child:
        if way == "interrupt":
            os.killpg(child.pid, 2)
        else:
            getattr(child, way)()
        child.communicate(timeout=PATIENCE)
        # A batch of one second is the longest that wrk can go on alone.
        wait_until(lambda: not processes_with(f"lua -- {server}/"), "wrk goes on")


def test_without_wrk_it_is_not_available_and_the_rest_is_measured(
    environment: dict[str, str], server: str, tmp_path: Path
) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "uname", "env"):
        (directory / name).symlink_to(str(shutil.which(name)))
    environment["PATH"] = str(directory)
    (run,) = measured(environment, *of(f"{server}/"), "--bench", "os.syscall")
    series = {one["benchmark"]: one for one in run["series"]}
    assert series["os.syscall"]["status"] == "measured"
    assert series["http.requests"]["status"] == "na"
    assert "apt-get install wrk" in series["http.requests"]["reason"]


def test_a_url_is_checked_before_anything_is_measured(environment: dict[str, str]) -> None:
    error = measured(environment, *of("ftp://192.0.2.7/"), "--bench", "os.syscall", expect=2)
    assert "ftp://192.0.2.7/" in error["message"]


# --- the suite --------------------------------------------------------------------------------


@needs_wrk
def test_the_suite_is_one_command(environment: dict[str, str], server: str) -> None:
    words = ("--suite", "web", "--param", f"url={server}/", "--param", "run=true")
    (run,) = measured(environment, *words)
    assert {series["status"] for series in run["series"]} == {"measured"}
    assert {series["benchmark"] for series in run["series"]} >= {"http.requests", "command.time"}
    assert {series["params"].get("run", "true") for series in run["series"]} == {"true"}


# --- the addresses of a board -----------------------------------------------------------------


def test_a_board_behind_ssh_knows_both_ends(
    plain: SshServer, busybox: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(plain, monkeypatch) as board:
        assert (board.host_address(), board.board_address()) == ("127.0.0.1", "127.0.0.1")
    with opened(busybox, monkeypatch) as board:  # its login starts from an empty environment
        assert (board.host_address(), board.board_address()) == (None, None)
