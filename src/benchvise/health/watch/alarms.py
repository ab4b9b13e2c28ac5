"""A command of the user's, run for each alert: what it is about stands in its environment."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

from benchvise.errors import UsageError
from benchvise.health.watch.alerts import Alert
from benchvise.text import printable

SECONDS = 60.0
"""For how long such a command may run."""

_AT_ONCE = 8


class Alarms:
    """Runs the command. It is split into words here, so no shell sees what a board said."""

    def __init__(self, command: str | None) -> None:
        self._command: list[str] = []
        self._running: list[tuple[subprocess.Popen[bytes], float]] = []
        self._lock = threading.Lock()  # each board has a thread
        if command is None:
            return
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--on-alert {command}: {error}", "close it") from error
        if not self._command:
            raise UsageError("--on-alert names no command", "give a program and its words")

    def send(self, board: str, alert: Alert) -> str:
        """Starts the command for an alert; returns why it could not, or nothing."""
        if not self._command:
            return ""
        with self._lock:
            self._reap()
            if len(self._running) >= _AT_ONCE:
                return f"{_AT_ONCE} of it still run, so it was not run for this alert"
            try:
                child = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=sys.stderr.fileno(),
                    start_new_session=True,
                    env={**os.environ, **environment(board, alert)},
                )
            except OSError as error:
                return f"{self._command[0]} cannot be run ({error.strerror})"
            self._running.append((child, time.monotonic()))
        return ""

    def close(self) -> None:
        """Waits for what still runs, as long as it may."""
        with self._lock:
            while self._running:
                self._reap()
                time.sleep(0.05 if self._running else 0)

    def _reap(self) -> None:
        """Forgets those that ended, and ends those that run too long."""
        for child, began in list(self._running):
            if child.poll() is None and time.monotonic() - began > SECONDS:
                child.kill()
                child.wait()
            if child.returncode is not None:
                self._running.remove((child, began))


def environment(board: str, alert: Alert) -> dict[str, str]:
    """What the command is told, each one line without anything that acts in it."""
    at = datetime.fromtimestamp(alert.at, UTC).isoformat(timespec="seconds")
    return {
        "ALERT_BOARD": printable(board),
        "ALERT_RULE": printable(alert.rule),
        "ALERT_STATE": "raised" if alert.raised else "over",
        "ALERT_SUBJECT": printable(alert.subject),
        "ALERT_VALUE": f"{alert.level:g}",
        "ALERT_WORST": f"{alert.worst:g}",
        "ALERT_BOUND": f"{alert.bound:g}",
        "ALERT_UNIT": printable(alert.unit, 20),
        "ALERT_TIME": at,
        "ALERT_SENTENCE": printable(alert.sentence, 500),
        "ALERT_REMEDY": printable(alert.remedy, 500),
    }
