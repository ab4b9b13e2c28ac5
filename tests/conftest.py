"""For all tests: what a shell may have left to its background jobs is put right.

Most tests run beside others. Those that judge figures which a neighbour would change, or change
settings of the machine that others look at, are marked ``alone``; what two tests cannot have at
once they lock.

A job in the background ignores SIGINT, one under nohup SIGHUP, and so would every program that a
test interrupts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long one example of a property takes says more of the machine than of what is tested.
# The same examples each time, so that a failure belongs to the change that it came with; whoever
# looks for new ones says --hypothesis-profile=explore.
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.load_profile("repeat")

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Minutes each, most of it waiting: beginning last, they would keep all others waiting. Those that
# boot many simulated boards are not among them, as they take both CPUs meanwhile.
LONG = ("test_why_layers", "test_signal_serial")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in LONG)


@pytest.fixture(autouse=True)
def nothing_runs_on() -> Iterator[None]:
    """Commands that a failed test left running are ended, so that they restore what they set."""
    yield
    for number in (signal.SIGINT, signal.SIGKILL):
        deadline = time.monotonic() + 20
        for pid in (left := commands_of_ours()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        while left and commands_of_ours() and time.monotonic() < deadline:
            time.sleep(0.1)


def commands_of_ours() -> list[int]:
    """Children of this process that run ``python -m benchvise``, zombies not counted."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    found = []
    for pid in children:
        with contextlib.suppress(OSError):
            if b"\0-m\0benchvise\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found
