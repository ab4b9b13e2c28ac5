"""The workbench as a user starts it, for tests that need a network or a browser."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from waiting import PATIENCE

PROGRAM = "from benchvise.cli.main import entry; entry()"
"""Not ``-m benchvise``: what runs so is ended after each test, and a server may serve several."""


@dataclass(frozen=True, slots=True)
class Serving:
    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    def url(self, path: str) -> str:
        """``path`` begins with a slash; a token of the address is left out."""
        return f"http://{urlsplit(self.address).netloc}{path}"

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def serving(store: Path | str, *words: str | Path) -> Iterator[Serving]:
    """``benchvise serve`` on a free port, with these options besides."""
    command = [sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--json"]
    options = ["--store", str(store), *map(str, words)]
    environment = {k: v for k, v in os.environ.items() if k != "BENCHVISE_RIG"}
    source = str(Path(__file__).parents[1] / "src")
    paths = [source, environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            line = process.stdout.readline()
            assert line, process.stderr.read()
            yield Serving(process, json.loads(line)["data"]["address"])
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
