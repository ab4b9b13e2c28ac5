"""For all tests: what a shell may have left to its background jobs is put right, and which tests
may run beside others.

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

TESTS = Path(__file__).parent

# These judge no figure that a neighbour would change, and change no setting of the machine, so two
# may run at once. Whatever is in tests/unit is of that kind too.
TOGETHER = frozenset(
    {
        "test_architecture",
        "test_board_place",
        "test_board_ssh",
        "test_command",
        "test_docs",
        "test_health_cli",
        "test_network_peer",
        "test_package",
        "test_probe",
        "test_probe_degrades",
        "test_probe_facts",
        "test_probe_foreign",
        "test_probe_guest",
        "test_probe_ladder",
        "test_probe_net",
        "test_probe_os",
        "test_probe_pages",
        "test_probe_serve",
        "test_probe_state",
        "test_probe_storage",
        "test_report_page",
        "test_rig_boot",
        "test_rig_compose",
        "test_rig_compose_boots",
        "test_rig_compose_inside",
        "test_rig_coordinator",
        "test_rig_coordinator_card",
        "test_rig_cycle",
        "test_rig_docs",
        "test_rig_faults",
        "test_rig_flash",
        "test_rig_gdb",
        "test_rig_guests",
        "test_rig_harts",
        "test_rig_virtual",
        "test_rig_virtual_qemu",
        "test_state_cli",
        "test_state_snapshot",
        "test_store_databases",
        "test_store_failures",
        "test_trace_analyses",
        "test_trace_export",
        "test_trace_open",
        "test_trace_query",
        "test_why_simulated",
        "test_watch_store",
        "test_why_boot_trace",
        "test_why_page",
        "test_why_counted",
        "test_web_rig",
        "test_web_serving",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == TESTS / "unit" or item.path.stem in TOGETHER:
            item.add_marker(pytest.mark.together)


@pytest.fixture(autouse=True)
def nothing_runs_on() -> Iterator[None]:
    """Commands that a failed test left running are ended, so that they put back what they set."""
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
