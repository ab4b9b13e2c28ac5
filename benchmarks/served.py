"""``benchvise serve`` of a checkout, and what whole requests to it take."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from benchvise.statistics.sample import Interval

PATIENCE_SECONDS = 300.0


class Served:
    """A workbench without access control, with a home of its own in ``place``."""

    def __init__(self, checkout: Path, place: Path, store: str) -> None:
        own = {f"XDG_{kind}_HOME": str(place) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        self._process = subprocess.Popen(
            [
                *(str(checkout / ".venv/bin/benchvise"), "serve", "--port", "0", "--json"),
                *("--no-token", "--traces", str(place), "--store", store),
            ],
            stdout=subprocess.PIPE,
            env={**os.environ, **own},
        )
        assert self._process.stdout is not None
        started = json.loads(self._process.stdout.readline())
        self._address = urlsplit(started["data"]["address"]).netloc

    def seconds(self, path: str, body: dict[str, str] | None = None) -> float:
        """From the connection to the last byte of the answer. RuntimeError for an HTTP error."""
        begun = time.perf_counter()
        with closing(
            http.client.HTTPConnection(self._address, timeout=PATIENCE_SECONDS)
        ) as connection:
            if body is None:
                connection.request("GET", path)
            else:
                headers = {"Content-Type": "application/json"}
                connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        took = time.perf_counter() - begun
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {content[:500].decode()}")
        return took

    def cpu_seconds(self) -> float:
        """What it has taken of CPU time; of a database server, nothing is in it."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait()


def milliseconds(value: float, interval: Interval) -> str:
    """A time in seconds with its interval: ``12.34 ms (12.01 to 13.20)``."""
    return f"{value * 1e3:.2f} ms ({interval.low * 1e3:.2f} to {interval.high * 1e3:.2f})"
