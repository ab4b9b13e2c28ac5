"""What every benchmark of the registry does where something is missing: a reason, or figures.

Machines that lack a kernel's newer calls, its files, or rights are stood in for by making the calls
fail, by an empty root directory, and by a plain user. ``test_probe_guest`` and
``test_probe_foreign`` do the same on emulated machines.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import (
    BENCHMARKS,
    HUGE,
    WIRED,
    WITH_REMOTE,
    Line,
    Result,
    is_evidence,
    is_figure,
    parse,
)
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]

SHORT = ("--batches", "1", "--batch_ms", "1", "--warm_ms", "50")

# System calls that came after Linux 4.4, of any architecture that the probe is built for: an old
# kernel answers ENOSYS. Those that this strace or architecture does not know are passed over.
NEWER = """
    preadv2 pwritev2 copy_file_range statx pkey_mprotect pkey_alloc pkey_free io_pgetevents rseq
    pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen
    fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2
    process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset memfd_secret
    process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack
    futex_wake futex_wait futex_requeue statmount listmount clock_gettime64 clock_settime64
    clock_adjtime64 clock_getres_time64 clock_nanosleep_time64 timer_gettime64 timer_settime64
    timerfd_gettime64 timerfd_settime64 utimensat_time64 pselect6_time64 ppoll_time64
    io_pgetevents_time64 recvmmsg_time64 semtimedop_time64 rt_sigtimedwait_time64 futex_time64
    sched_rr_get_interval_time64
"""
# Calls that a kernel can be built without, or that a container forbids.
OPTIONAL = {
    "no counters": ("perf_event_open",),
    "no NUMA, no memory locking": ("mbind", "get_mempolicy", "mlockall", "mlock", "mlock2"),
    "no advice": ("madvise", "fadvise64", "readahead"),
    "no say in processes": ("prctl", "seccomp"),
    "no pages by reference": ("vmsplice", "splice", "tee"),
    "no new files in memory": ("memfd_create", "userfaultfd", "membarrier"),
}


CANNOT_DO_WITHOUT = {
    "no advice": (HUGE, "os.page_fault", "storage.read", "storage.random_read"),
}
"""Who may refuse, as it measures by such a call; of all others each measures."""
HIDDEN = {"os.context_switch_grid": "no switch can be told"}
"""What one short batch on a busy machine may hide, and how a benchmark says that it did."""
NOT_IN_AN_EMPTY_ROOT = (
    *("command.time", "memory.libc_copy", HUGE, "storage.read", "storage.write"),
    *("storage.random_read", "storage.random_write", "storage.fsync"),
)
"""They need /dev/null, a C library, /proc/self/smaps, a directory."""


def small(item: Line) -> list[str]:
    """As little memory as it takes: here it is about what works, not how fast."""
    sizes = [p for p in item["parameters"] if p["name"] == "size" and p["type"] == "size"]
    return [word for p in sizes for word in ("--size", str(max(1 << 20, p["min"])))]


def measure(command: list[str | Path], **options: Any) -> Result:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
        **options,
    )
    assert not done.stderr, done.stderr.decode(errors="replace")
    return Result(done.returncode, parse(done.stdout))


@pytest.fixture(scope="session")
def undisturbed(static: Path, registry: dict[str, Line]) -> Callable[[str], bool]:
    """Whether this machine measures a benchmark when nothing is taken from it."""

    @cache
    def measures(name: str) -> bool:
        result = measure([static, "run", name, *small(registry[name]), *SHORT])
        return result.code == 0

    return measures


def check(
    result: Result, name: str, undisturbed: Callable[[str], bool], refuses: Iterable[str] = ()
) -> None:
    """Figures, each item of evidence a number or a reason. A refusal, with a reason, is only for
    what this machine never measures, and for those that cannot do without what was taken away.
    """
    if result.code:
        reason = result.failure(77)
        assert reason
        expected = name in refuses or name in WITH_REMOTE + WIRED
        expected |= name in HIDDEN and HIDDEN[name] in reason
        assert expected or not undisturbed(name), reason
        return
    assert [line["type"] for line in result.lines] == ["host", "begin", "sample", "end"]
    sample = result.one("sample")
    assert is_figure(name, sample["value"])
    for key in set(sample) - {"type", "flags", "counters", "detail"}:
        assert is_evidence(sample[key]), key
    assert all(is_evidence(value) for value in sample["counters"].values())


# --- system calls that fail -------------------------------------------------------------------


@pytest.fixture(scope="session")
def strace() -> str:
    skips.need("strace")
    path = str(shutil.which("strace"))
    works = subprocess.run([path, "-qq", "-e", "trace=none", "true"], capture_output=True)
    if works.returncode:
        skips.skip("ptrace")
    return path


def without(strace: str, calls: Iterable[str]) -> list[str]:
    """The words before a command that make these calls fail as if the kernel had none of them."""
    names = ",".join(f"?{call}" for call in calls)
    return [strace, "-f", "-qq", "-o", os.devnull, "--seccomp-bpf", "-e", f"trace={names}",
            "-e", f"inject={names}:error=ENOSYS"]  # fmt: skip


@pytest.mark.parametrize("name", BENCHMARKS)
def test_on_a_kernel_of_2016(
    static: Path,
    registry: dict[str, Line],
    strace: str,
    undisturbed: Callable[[str], bool],
    name: str,
) -> None:
    words = without(strace, NEWER.split())
    check(measure([*words, static, "run", name, *small(registry[name]), *SHORT]), name, undisturbed)


@pytest.mark.parametrize("lacking", OPTIONAL)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_without_an_optional_call(
    static: Path,
    registry: dict[str, Line],
    strace: str,
    undisturbed: Callable[[str], bool],
    name: str,
    lacking: str,
) -> None:
    words = without(strace, OPTIONAL[lacking])
    result = measure([*words, static, "run", name, *small(registry[name]), *SHORT])
    check(result, name, undisturbed, CANNOT_DO_WITHOUT.get(lacking, ()))


def test_a_refusal_is_no_excuse(static: Path, strace: str) -> None:
    """Of a benchmark that this machine measures."""
    result = measure(
        [*without(strace, ("clock_nanosleep",)), static, "run", "timer.wakeup", *SHORT]
    )
    with pytest.raises(AssertionError, match="clock_nanosleep"):
        check(result, "timer.wakeup", lambda _: True)
    check(result, "timer.wakeup", lambda _: True, ("timer.wakeup",))
    check(result, "timer.wakeup", lambda _: False)


def test_a_call_really_fails(static: Path, strace: str) -> None:
    """Or the tests above would show nothing."""
    words = without(strace, ("clock_nanosleep",))
    result = measure([*words, static, "run", "timer.wakeup", *SHORT])
    assert "clock_nanosleep does not work here" in result.failure(77)


# --- files that are not there, rights that one does not have ----------------------------------


@pytest.fixture
def empty_root(static: Path, tmp_path: Path) -> list[str | Path]:
    """The words before a command that run it in a directory with nothing but the probe: no /proc,
    no /sys, no /dev, no /tmp, no C library."""
    for program in ("bvprobe", "bvio", "bvlibc"):
        shutil.copy(static.with_name(program), tmp_path)
    words: list[str | Path] = ["unshare", "--user", "--map-root-user", "--root", tmp_path]
    if os.getuid() == 0:
        words = ["chroot", tmp_path]
    tried = subprocess.run([*words, "/bvprobe", "version"], capture_output=True, check=False)
    if tried.returncode:
        skips.skip("root directory", tried.stderr.decode(errors="replace"))
    return words


@pytest.mark.parametrize("name", BENCHMARKS)
def test_in_an_empty_file_system(
    empty_root: list[str | Path],
    registry: dict[str, Line],
    undisturbed: Callable[[str], bool],
    name: str,
) -> None:
    command = [*empty_root, "/bvprobe", "run", name, *small(registry[name]), *SHORT]
    check(measure(command), name, undisturbed, NOT_IN_AN_EMPTY_ROOT)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_as_a_plain_user(
    unprivileged: dict[str, Any],
    registry: dict[str, Line],
    undisturbed: Callable[[str], bool],
    name: str,
) -> None:
    command = [unprivileged["probe"], "run", name, *small(registry[name]), *SHORT]
    check(measure(command, **unprivileged["options"]), name, undisturbed)
