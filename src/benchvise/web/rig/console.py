"""A board's console as it is recorded, followed from file to file.

Each command that boots, measures or types records the console; so it is shown whatever command that
is, and without a second reader on the line.
"""

from __future__ import annotations

import threading
from pathlib import Path

from benchvise.web.live import Publish, Source
from benchvise.web.rig.boots import ConsoleLog, ConsoleText, logs

TAIL_BYTES = 64 << 10
PIECE_BYTES = 256 << 10
"""More than this in one poll is skipped: it could not be read."""
POLL_SECONDS = 0.25
_SEARCH_POLLS = 4
"""Polls of a silent log before a newer one is searched for."""


def following(board: str) -> Source:
    """A source of ``log`` (a new one begins), ``lines`` and ``none`` (there is nothing to show)."""

    def source(publish: Publish, stopped: threading.Event) -> None:
        log: ConsoleLog | None = None
        followed: _Followed | None = None
        silent = _SEARCH_POLLS
        while not stopped.is_set():
            if silent >= _SEARCH_POLLS:
                silent = 0
                newest = next(iter(logs(board)), None)
                if newest is None and log is None:
                    publish("none", {})
                elif newest is not None and (log is None or newest.key != log.key):
                    log, followed = newest, _Followed(newest.path)
                    publish("log", {"key": log.key, "started": log.started})
            message = followed.more() if followed is not None else None
            if message is None:
                silent += 1
            else:
                publish("lines", message)
                silent = 0 if message["lines"] else silent + 1
            stopped.wait(POLL_SECONDS)

    return source


class _Followed:
    """A log from near its end on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._console = ConsoleText()
        self._at = -1
        self._open = ""

    def more(self) -> dict[str, object] | None:
        """New output since the last call; None when there is none, or the log is gone."""
        try:
            size = self._path.stat().st_size
            limit = TAIL_BYTES if self._at < 0 else PIECE_BYTES
            at = max(self._at, 0)
            skipped = max(size - at - limit, 0)
            if size <= at:
                return None
            with self._path.open("rb") as file:
                file.seek(at + skipped)
                data = file.read(limit)
        except OSError:
            return None
        self._at = at + skipped + len(data)
        lines = self._console.feed(data)
        return {"lines": lines, "open": self._console.open, "skipped": skipped}
