"""When runs that go on last said something, as far as this server has seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from benchvise.measure.model import RunStatus
from benchvise.store import StoredProgress

SILENT_SECONDS = 60.0
"""After so long without a word it is said since when. Many a process takes seconds; a board that
boots, or a suite with slow benchmarks, may well be silent for longer."""


class LastWords:
    """Which state of each run was seen since when.

    The store has no time of a sample, and of a run on another host nobody here can know whether
    its process lives: what can be known is since when nothing has changed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[tuple[object, ...], float]] = {}

    def silent_since(self, runs: Iterable[StoredProgress]) -> dict[str, float]:
        """Of running runs that are silent for longer than usual: since when, in seconds since 1970.

        Runs that are not given any more are forgotten.
        """
        now = time.time()
        with self._lock:
            before, self._seen = self._seen, {}
            for run in runs:
                if run.status is not RunStatus.RUNNING:
                    continue
                state = (run.processes, run.key, run.process, run.samples, len(run.unmeasured))
                before_this = before.get(run.id)
                since = (
                    before_this[1] if before_this is not None and before_this[0] == state else now
                )
                self._seen[run.id] = (state, since)
            return {
                run: since
                for run, (_, since) in self._seen.items()
                if now - since >= SILENT_SECONDS
            }
