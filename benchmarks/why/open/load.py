"""Load of this machine while a diagnosis runs: made by busy processes, and measured."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_SAMPLE_S = 2.0
# Ends with the process that started it, whatever ends that.
_BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def busy(number: int) -> Iterator[None]:
    """So many processes of normal priority that compute for as long as this lasts."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(number):
            # Each in a session of its own: the kernel may give a whole session the CPU time of one
            # process (autogroup).
            processes.append(
                subprocess.Popen([sys.executable, "-S", "-c", _BUSY], start_new_session=True)
            )
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@dataclass
class MeasuredLoad:
    """The load averages over one minute, sampled every two seconds."""

    samples: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Their mean, to a tenth."""
        return round(statistics.fmean(self.samples), 1)


@contextmanager
def measured_load() -> Iterator[MeasuredLoad]:
    """Samples this machine's load for as long as this lasts, and at its begin and end."""
    load, ended = MeasuredLoad(), threading.Event()

    def sample() -> None:
        load.samples.append(os.getloadavg()[0])
        while not ended.wait(_SAMPLE_S):
            load.samples.append(os.getloadavg()[0])

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield load
    finally:
        ended.set()
        thread.join()
        load.samples.append(os.getloadavg()[0])
