"""``benchvise serve`` over a directory of traces and captures, asked; what it says is judged."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.hostile.memory import Memory
from benchmarks.hostile.outcomes import Answer, Outcome

PATIENCE_SECONDS = 300.0
_DEATHS = (
    "of memory",
    "more memory than there is",
    "became shorter",
    "takes longer than",
    "nested too deeply",
)
"""In the sentence about a reader or a query that had to be ended, or ended itself."""


@dataclass
class Workbench:
    """A server with access control, as users start it, with a home of its own."""

    place: Path
    process: subprocess.Popen[bytes] = field(init=False)
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        place = str(self.place)
        own = {f"XDG_{kind}_HOME": place for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchvise", "serve", "--port", "0", "--json"),
                *("--traces", place, "--captures", place, "--store", f"{place}/serve.db"),
            ],
            stdout=subprocess.PIPE,
            env={**os.environ, **own, "XDG_RUNTIME_DIR": place},
        )
        assert self.process.stdout is not None
        address = urlsplit(json.loads(self.process.stdout.readline())["data"]["address"])
        self._address = address.netloc
        (token,) = parse_qs(address.query)["token"]
        self._headers = {"Authorization": f"Bearer {token}"}
        self.memory = Memory(self.process.pid)
        self._watch = threading.Thread(target=self.memory.watch, daemon=True)
        self._watch.start()

    def ask(self, path: str, sql: str | None = None) -> Answer:
        """What one request comes to: a query, or whatever the path names."""
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE_SECONDS)
        try:
            if sql is None:
                connection.request("GET", path, headers=self._headers)
            else:
                headers = {**self._headers, "Content-Type": "application/json"}
                connection.request("POST", path, json.dumps({"sql": sql}), headers)
            answer = connection.getresponse()
            return judged(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            return Answer(Outcome.BAD, f"no answer: {error!r}")
        finally:
            connection.close()

    @property
    def is_alive(self) -> bool:
        """Whether it is the process that it was, and answers; and is still watched."""
        is_running = self.process.poll() is None and self._watch.is_alive()
        return is_running and self.ask("/index.json").outcome is Outcome.ANSWERED

    def close(self) -> None:
        """Ends it."""
        self.memory.end()
        self.process.terminate()
        self.process.wait()


def judged(status: int, body: bytes) -> Answer:
    """What an answer is: a reader or a page that broke is none, however it is said."""
    if status in (200, 304):
        return Answer(Outcome.ANSWERED)
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return Answer(Outcome.BAD, f"{status} without a sentence: {body[:100]!r}")
    is_sentence = isinstance(message, str) and message.strip() and "\n" not in message
    is_ours = status >= 500 and status != 503
    if is_ours or not is_sentence or "broke the reader" in message or "Traceback" in message:
        return Answer(Outcome.BAD, f"{status}: {message}")
    died = any(words in message for words in _DEATHS)
    return Answer(Outcome.DIED if died else Outcome.REFUSED, message)
