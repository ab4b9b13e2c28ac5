"""For all tests: what a shell may have left to its background jobs is put right.

What was left out, tried again or slow is told at the end (``suite_report``).

Most tests run beside others. Those that judge figures which a neighbour would change are marked
``alone``, and run one after another; those of them that mostly wait, for a link or a disk, run on
the first CPU meanwhile, where nothing is measured that computes. Those that change settings of the
machine, which other tests look at, are marked ``settings``: they run one after another, beside the
linters and those of ``tests/unit`` (``suite_parts``). What two tests cannot have at once they lock.
Only those marked ``timing`` are tried again when they fail, once: a neighbour may keep from them
the CPU that they wait for or count on.

A job in the background ignores SIGINT, one under nohup SIGHUP, and so would every program that a
test interrupts.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import suite_parts
from hypothesis import settings
from suite_report import SuiteReport
from waiting import PATIENCE
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from benchvise.rig import locks
from benchvise.state import board_note

# How long one example of a property takes says more of the machine than of what is tested.
# The same examples each time, so that a failure belongs to the change that it came with; whoever
# looks for new ones says --hypothesis-profile=explore.
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.load_profile("repeat")

# All that is imported and collected stays: it is not looked through for garbage again and again,
# neither meanwhile nor while tests run, when it is done as in ``cli.main``.
gc.disable()

# Each process of tests measures this machine on its own, beside others: what they share they lock.
if locks.DIRECTORY_VARIABLE not in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
    _LOCKS = tempfile.mkdtemp(prefix="benchvise-test-locks-")
    Path(_LOCKS).chmod(0o1777)  # for the tests that are other users
    os.environ[locks.DIRECTORY_VARIABLE] = _LOCKS
    atexit.register(shutil.rmtree, _LOCKS, ignore_errors=True)

# Else what gRPC starts anew in a child writes, until the program is executed, to its standard error
# that it has lost its descriptors: 3 of 200 children of a process that talks to a coordinator.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Half a minute each and more, the longest first: one that began last would keep all others waiting.
# Those that mostly wait are spread among those that compute.
LONG = (
    *("test_signal_serial", "test_probe_foreign", "test_guide_walk", "test_probe_net"),
    *("test_web_runs_pages", "test_watch", "test_store_killed", "test_why_userland"),
    *("test_rig_faults", "test_web_readers", "test_web_rig", "test_rig_coordinator"),
    *("test_probe_guest", "test_web_access", "test_rig_guests", "test_web_pages"),
    *("test_why_layers", "test_probe", "test_rig_harts", "test_cli", "test_web_bench_pages"),
    *("test_why_watch", "test_web", "test_rig_cycle", "test_store_failures", "test_signal"),
    *("test_rig_flash", "test_why_simulated", "test_web_workspace", "test_web_lines"),
    "test_probe_trace_guest",
)

# Files whose tests marked ``alone`` mostly wait. Those of iperf3 do not: on a shared CPU it does
# not keep its rate.
WAITING = ("test_planted_waiting", "test_probe_net_link")


RETRY_DELAY_S = 2

# What a busy machine can fail, by file, and how. Such a test is marked ``timing`` and may be tried
# once more. What proves that nothing is lost by a crash is never among them, nor is a calculation.
MEASURES = "judges times and counts, which whoever takes the CPU changes"
BOOTS = "an emulated board has to answer in time"
BROWSES = "a browser has to come to rest in time"
WAITS = "programs have to answer each other in time"
TIMING = {
    **dict.fromkeys(("test_cli", "test_command"), MEASURES),
    **dict.fromkeys(("test_planted", "test_planted_waiting"), MEASURES),
    **dict.fromkeys(("test_probe", "test_probe_foreign", "test_probe_timers"), MEASURES),
    **dict.fromkeys(("test_probe_ladder", "test_probe_net", "test_probe_net_link"), MEASURES),
    **dict.fromkeys(("test_probe_os", "test_probe_storage", "test_probe_trace"), MEASURES),
    **dict.fromkeys(("test_trace_record", "test_guide_walk"), MEASURES),
    **dict.fromkeys(("test_why_counted", "test_why_live", "test_why_userland"), MEASURES),
    **dict.fromkeys(("test_why_real_suspects", "test_startup"), MEASURES),
    **dict.fromkeys(("test_probe_guest", "test_probe_trace_guest", "test_why_layers"), BOOTS),
    **dict.fromkeys(("test_why_boot_trace", "test_rig_boot", "test_rig_compose_boots"), BOOTS),
    **dict.fromkeys(("test_rig_cycle", "test_rig_gdb", "test_rig_guests", "test_rig_harts"), BOOTS),
    **dict.fromkeys(("test_rig_virtual", "test_rig_virtual_qemu", "test_web_rig"), BOOTS),
    **dict.fromkeys(("test_report_page", "test_web_bench_pages", "test_web_lines"), BROWSES),
    **dict.fromkeys(("test_web_pages", "test_web_runs_pages", "test_web_workspace"), BROWSES),
    **dict.fromkeys(("test_why_page", "test_pictures"), BROWSES),
    **dict.fromkeys(("test_board_ssh", "test_network_remote", "test_watch", "test_web"), WAITS),
    **dict.fromkeys(("test_rig_coordinator", "test_rig_coordinator_card"), WAITS),
    **dict.fromkeys(("test_rig_faults", "test_rig_flash", "test_signal_capture"), WAITS),
    **dict.fromkeys(("test_signal_serial", "test_web_serving"), WAITS),
}


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SuiteReport(suite_parts.chosen()))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    part = suite_parts.chosen()
    if part and collection_path.suffix == ".py" and not suite_parts.may_hold(collection_path, part):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if part := suite_parts.chosen():
        items[:], others = suite_parts.only(part, items)
        config.hook.pytest_deselected(items=others)
    order = {stem: place for place, stem in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    for item in items:
        if item.path.stem in TIMING:
            item.add_marker(pytest.mark.timing(TIMING[item.path.stem]))
        if item.get_closest_marker("timing"):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=RETRY_DELAY_S))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_unconfigure() -> Iterator[None]:
    """What is left at the end is not looked through for garbage, as in ``cli.main``."""
    gc.freeze()
    yield
    if "duckdb" in sys.modules:
        gc.unfreeze()  # its binding calls what is left a leak


def is_waiting(nodeid: str) -> bool:
    file, _, test = nodeid.partition("::")
    return Path(file).stem in WAITING and "iperf3" not in test


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that wait use the first CPU: beside them, the probe measures on the last one."""
    beside = hasattr(item.config, "workerinput")
    if beside and is_waiting(item.nodeid) and item.get_closest_marker("alone"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class TwoLanes(LoadScopeScheduling):  # type: ignore[misc]
    """Tests that need the machine alone: those that compute in one process, in another those that
    wait."""

    def _split_scope(self, nodeid: str) -> str:
        return "waits" if is_waiting(nodeid) else "computes"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TwoLanes | None:
    return TwoLanes(config, log) if suite_parts.chosen() == suite_parts.ALONE else None


@pytest.fixture(autouse=True)
def nothing_runs_on() -> Iterator[None]:
    """Commands that a failed test left running are ended, so that they restore what they set."""
    yield
    for number in (signal.SIGINT, signal.SIGKILL):
        deadline = time.monotonic() + PATIENCE
        for pid in (left := commands_of_ours()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        while left and commands_of_ours() and time.monotonic() < deadline:
            time.sleep(0.1)


@pytest.fixture(autouse=True)
def own_notes(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tests that set something on this machine see each other's journals no more than notes."""
    name = f"notes-{zlib.crc32(request.node.nodeid.encode()):08x}"
    monkeypatch.setenv(board_note.DIRECTORY_VARIABLE, str(tmp_path_factory.getbasetemp() / name))


def commands_of_ours() -> list[int]:
    """Children of this process that run ``python -m benchvise``, zombies not counted."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    found = []
    for pid in children:
        with contextlib.suppress(OSError):
            if b"\0-m\0benchvise\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found
