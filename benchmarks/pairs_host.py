"""Pairs of what this machine drives or runs: commands, and a web server on loopback.

http.requests itself runs wrk, so wrk is no reference for it: ab and h2load are.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.pairs import Pair
from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.board.messages import SampleMessage
from benchvise.measure.hostside import HOST_BENCHMARKS
from benchvise.measure.runner import Sources, board_registry

PORT = 18080
URL = f"http://127.0.0.1:{PORT}/"
CONNECTIONS = 8
RUNS = 4  # short rounds: the two sides shall meet the same other load
SECONDS = 1
PAGE_BYTES = 2000
STARTUP_SECONDS = 10.0
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # where nginx is

# Work of one process that takes long beside the start of a shell.
COMMAND = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"

NGINX = f"""
daemon off; worker_processes 1; pid nginx.pid; error_log stderr crit;
events {{ worker_connections 256; }}
http {{
    access_log off; keepalive_requests 1000000000; client_body_temp_path body;
    proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{ listen 127.0.0.1:{PORT}; root .; }}
}}
"""


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    found: list[Pair] = []
    missing: list[str] = []
    hyperfine = shutil.which("hyperfine")
    if hyperfine:
        found += list(_command_pairs(hyperfine))
    else:
        missing.append("hyperfine: not installed")
    tools = {name: shutil.which(name, path=_PATH) for name in ("nginx", "wrk", "ab", "h2load")}
    lacking = [name for name, path in tools.items() if path is None]
    if lacking:
        missing.append(
            f"the pairs of http.requests: {' and '.join(lacking)} not installed (Debian: "
            "nginx-light wrk apache2-utils nghttp2-client)"
        )
    else:
        found += list(_web_pairs(str(tools["nginx"]), str(tools["h2load"]), str(tools["ab"])))
    return found, missing


def _command_pairs(hyperfine: str) -> Iterator[Pair]:
    words = ("command.time", "--run", COMMAND, "--batches", str(RUNS))
    reference = (
        hyperfine,
        "-N",  # or it adds a shell and subtracts what it believes that one to cost
        *("--warmup", "1", "--runs", str(RUNS)),
        *("--style", "none", "--export-json", "/dev/stdout"),
        f"sh -c '{COMMAND}'",
    )
    yield Pair("command.time wall : hyperfine", words, reference, partial(_ns, ("median",)), 0.02)
    yield Pair(
        "command.time cpu : hyperfine",
        (*words, "--metric", "cpu"),
        reference,
        partial(_ns, ("user", "system")),
        0.02,
    )


def _ns(keys: tuple[str, ...], text: str) -> float:
    """The sum of hyperfine's values of those names, in nanoseconds."""
    result = json.loads(text[text.index("{") :])["results"][0]
    return sum(float(result[key]) for key in keys) * 1e9


def _web_pairs(nginx: str, h2load: str, ab: str) -> Iterator[Pair]:
    load = ("-c", str(CONNECTIONS))
    timed = ("-t", str(SECONDS), "-n", "1000000", URL)
    for name, keepalive, reference, read in (
        ("ab -k", "yes", (ab, "-q", "-r", "-k", *load, *timed), _ab_rate),
        ("ab", "no", (ab, "-q", "-r", *load, *timed), _ab_rate),
        (
            "h2load --h1",
            "yes",
            (h2load, "--h1", *load, "-t", "2", "-D", str(SECONDS), URL),
            _h2load_rate,
        ),
    ):
        yield Pair(
            f"http.requests, keep-alive {keepalive} : {name}",
            _requests(keepalive=keepalive),
            reference,
            read,
            0.10,
            scene=partial(web_server, nginx),
            benchmark="http.requests",
            unit="requests/s",
        )


def _h2load_rate(text: str) -> float:
    return float(re.findall(r"finished in [\d.]+m?s, ([\d.]+) req/s", text)[-1])


def _ab_rate(text: str) -> float:
    return float(re.findall(r"Requests per second: +([\d.]+)", text)[-1])


def _requests(**params: str) -> Callable[[], float]:
    """Measures http.requests once."""
    return partial(run_requests, {"url": URL, "concurrency": str(CONNECTIONS), **params})


def run_requests(params: dict[str, str]) -> float:
    """One batch."""
    (benchmark,) = [b.description.id for b in HOST_BENCHMARKS if b.description.family == "http"]
    with (
        open_board("local") as board,
        open_channel(board) as channel,
        Sources(board, channel) as sources,
    ):
        spec = board_registry(channel).spec(benchmark, params)
        (sample,) = (m for m in sources.messages(spec, 1) if isinstance(m, SampleMessage))
    assert sample.value is not None
    return sample.value


_running: list[object] = []


@contextlib.contextmanager
def web_server(nginx: str) -> Iterator[None]:
    """nginx with one worker and one page; pairs that use it at a time share it."""
    if _running:
        yield
        return
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        (directory / "nginx.conf").write_text(NGINX)
        (directory / "index.html").write_text("x" * PAGE_BYTES)
        server = subprocess.Popen([nginx, "-p", name, "-c", "nginx.conf", "-e", "stderr"])
        _running.append(server)
        try:
            _wait_until_listening(server)
            yield
        finally:
            _running.clear()
            server.terminate()
            server.wait()


def _wait_until_listening(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", PORT), timeout=1).close()
        except OSError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("nginx did not start") from error
            time.sleep(0.05)
        else:
            return
