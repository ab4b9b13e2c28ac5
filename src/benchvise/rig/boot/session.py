"""One boot of one board, from before power on to the report: this package put together.

    with BootSession(console_driver, log, patterns) as session:
        session.power_on(lambda: power.on())
        outcome = session.watch(silence_s=30, limit_s=180)
        ...                                   # log in, if outcome.is_good
        session.reached("shell")
        report = session.report()

The console's bytes reach the timeline through the recorder, whoever reads them: so what a login
driver reads later is told and kept too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchvise.rig.boot.patterns import Patterns
from benchvise.rig.boot.recorder import POWER_ON, Recorder, attach, detach
from benchvise.rig.boot.report import BootReport
from benchvise.rig.boot.timeline import Timeline
from benchvise.rig.boot.watch import (
    LIMIT_SECONDS,
    SILENCE_SECONDS,
    End,
    Outcome,
    reader,
    watch,
)

_STALE_READS = 100  # what a console had still in store, read before power on


class BootSession:
    """Attaches a recorder to a labgrid console driver until it is closed.

    Raises OSError when the log cannot be made.
    """

    def __init__(self, console_driver: Any, log: Path, patterns: Patterns | None = None) -> None:
        self.log = log
        self.timeline = Timeline(time.monotonic_ns(), patterns)
        self._driver = console_driver
        self._read = reader(console_driver)
        self._outcome: Outcome | None = None
        self._recorder = Recorder(log, listen=self._hear)
        attach(console_driver, self._recorder)

    def power_on(self, switch: Callable[[], object]) -> None:
        """Switches power on with ``switch`` and begins to count from there.

        What the console still had in store from before is read first, into the log.
        """
        for _ in range(_STALE_READS):
            if not self._read(0.0):
                break
        self.timeline = Timeline(time.monotonic_ns(), self.timeline.patterns)
        self._outcome = None
        self._recorder.mark(POWER_ON)
        switch()

    def watch(
        self, *, silence_s: float = SILENCE_SECONDS, limit_s: float = LIMIT_SECONDS
    ) -> Outcome:
        """See ``watch``; times are in seconds, the limit from power on."""
        self._outcome = watch(
            self._read, self.timeline, silence_s=silence_s, limit_s=limit_s, feeds=False
        )
        self._recorder.mark(f"watched: {self._outcome.end}")
        return self._outcome

    def reached(self, phase: str) -> None:
        """Notes a phase that this machine knows of: ``shell`` or ``network``."""
        self.timeline.reached(phase, time.monotonic_ns())
        self._recorder.mark(phase)

    def failed(self, end: End) -> None:
        """Notes that it did not go on after the boot: NOT_LOGGED_IN or NO_NETWORK."""
        now = (time.monotonic_ns() - self.timeline.power_on_ns) / 1e9
        silent = now - (self.timeline.last_byte_s or 0.0)
        self._outcome = Outcome(end, now, silent)
        self._recorder.mark(f"failed: {end}")

    def report(self) -> BootReport:
        """How it went. Raises ValueError before ``watch``."""
        if self._outcome is None:
            raise ValueError("nothing was watched")
        return BootReport.of(self.timeline, self._outcome, self.log)

    @property
    def log_failure(self) -> str | None:
        """Why the log is not whole, if so."""
        return self._recorder.failure

    def close(self) -> None:
        """Takes the recorder off the driver and closes the log. May be called more than once."""
        detach(self._driver)
        self._recorder.close()

    def __enter__(self) -> BootSession:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _hear(self, at_ns: int, data: bytes) -> None:
        self.timeline.feed(at_ns, data)
