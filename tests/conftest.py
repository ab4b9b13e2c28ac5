"""For all tests: what a shell may have left to its background jobs is put right, and which tests
may run beside others.

A job in the background ignores SIGINT, and so would every program that a test interrupts.
"""

from __future__ import annotations

import signal
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

TESTS = Path(__file__).parent

# These neither time anything nor change settings of the machine, so two may run at once. Whatever
# is in tests/unit is of that kind too.
TOGETHER = frozenset(
    {
        "test_architecture",
        "test_board_place",
        "test_board_ssh",
        "test_docs",
        "test_package",
        "test_probe_degrades",
        "test_probe_facts",
        "test_probe_foreign",
        "test_probe_guest",
        "test_probe_state",
        "test_report_page",
        "test_rig_boot",
        "test_rig_compose",
        "test_rig_compose_boots",
        "test_rig_coordinator",
        "test_rig_cycle",
        "test_rig_docs",
        "test_rig_faults",
        "test_rig_flash",
        "test_rig_gdb",
        "test_rig_guests",
        "test_rig_harts",
        "test_rig_virtual",
        "test_rig_virtual_qemu",
        "test_store_databases",
        "test_store_failures",
        "test_trace_open",
        "test_trace_query",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == TESTS / "unit" or item.path.stem in TOGETHER:
            item.add_marker(pytest.mark.together)
