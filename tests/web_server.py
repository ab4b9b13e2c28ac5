"""The workbench as a user starts it, for tests that need a network or a browser."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
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

    @property
    def token(self) -> str:
        """Empty where none is asked for."""
        return parse_qs(urlsplit(self.address).query).get("token", [""])[0]

    @property
    def bearer(self) -> dict[str, str]:
        """The header by which programs show the token."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def url(self, path: str) -> str:
        """``path`` begins with a slash; a token of the address is left out."""
        return f"http://{urlsplit(self.address).netloc}{path}"

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def serving(store: Path | str, *words: str | Path, prefix: Sequence[str] = ()) -> Iterator[Serving]:
    """``benchvise serve`` on a free port, with these options besides; ``prefix`` is a command that
    runs it.

    Pages that the scripts of ``browser`` open meanwhile are logged in.
    """
    command = [*prefix, sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--json"]
    options = ["--store", str(store), *map(str, words)]
    not_meant = ("BENCHVISE_RIG", "BENCHVISE_TOKEN")
    environment = {k: v for k, v in os.environ.items() if k not in not_meant}
    source = str(Path(__file__).parents[1] / "src")
    paths = [source, environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    with contextlib.ExitStack() as stack:
        private = stack.enter_context(tempfile.TemporaryDirectory())
        environment["XDG_RUNTIME_DIR"] = private  # no token of the user's own
        environment.setdefault("XDG_STATE_HOME", f"{private}/state")
        process = stack.enter_context(
            subprocess.Popen(
                [*command, *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
        try:
            assert process.stdout is not None and process.stderr is not None
            line = process.stdout.readline()
            assert line, process.stderr.read()
            server = Serving(process, json.loads(line)["data"]["address"])
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("BENCHVISE_LOGIN", server.address)
                yield server
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
