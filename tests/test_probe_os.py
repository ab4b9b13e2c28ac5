"""The benchmarks of the operating system: that they do what they say, as others see it.

strace and /proc are the others. How long it takes is nobody's concern here.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import BENCHMARKS, QUICK, TWO_ENDS, Result, Running, is_evidence, parse, run
from test_probe_serve import block_child_signal, children, ignore_child_signal, wait_until_gone
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]

GRID = "os.context_switch_grid"
OWN = tuple(
    name for name in BENCHMARKS if name.startswith(("os.", "socket.")) and name != "os.syscall"
)
VARIANTS = (
    ("os.signal", "--call", "install"),
    ("os.signal", "--call", "catch"),
    ("os.signal", "--call", "fault"),
    ("os.fork", "--rss", "0"),
    ("os.exec", "--start", "fork"),
    ("os.page_fault", "--kind", "file"),
    ("os.page_fault", "--kind", "copy", "--size", "64K"),
    ("os.mmap", "--touch", "none"),
    ("os.mmap", "--touch", "all", "--size", "5000"),
    ("os.futex", "--ends", "processes"),
    ("os.eventfd", "--ends", "processes"),
    ("os.semaphore", "--ends", "processes"),
    ("os.futex", "--place", "free"),
    ("os.eventfd", "--place", "free"),
    ("os.semaphore", "--place", "free"),
    ("socket.latency", "--kind", "tcp", "--message", "16K"),
    ("socket.latency", "--kind", "udp", "--message", "1"),
    ("socket.throughput", "--kind", "tcp", "--block", "1000"),
    (GRID, "--processes", "7", "--size", "5000"),
    (GRID, "--processes", "7", "--size", "8K", "--order", "random"),
)
FOREVER = ("--batches", "100000", "--batch_ms", "1")


@pytest.mark.parametrize("words", VARIANTS, ids=" ".join)
def test_variant(probe: Path, words: tuple[str, ...]) -> None:
    result = run([probe, "run", *words, *QUICK])
    assert len(result.all("sample")) == 2
    for sample in result.all("sample"):
        assert sample["value"] > 0
        assert not {"faulted", "migrated"} & set(sample["flags"])


# --- what strace sees -------------------------------------------------------------------------


@pytest.fixture
def strace(tmp_path: Path) -> Callable[..., tuple[Result, list[str]]]:
    """Runs under strace; gives the result and the lines about the first batch measured."""
    skips.need("strace")

    def trace(*command: str | Path) -> tuple[Result, list[str]]:
        log = tmp_path / "log"
        options = ["-f", "-s", "20", "-o", str(log)]
        done = subprocess.run(
            ["strace", *options, *command, "--batches", "1", "--batch_ms", "1", "--warm_ms", "0"],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        if b"ptrace" in done.stderr:
            skips.skip("ptrace")
        lines = [re.sub(r"^\d+ +", "", line) for line in log.read_text().splitlines()]
        first, last = (
            next(i for i, line in enumerate(lines) if f'write(1, "{{\\"type\\":\\"{kind}' in line)
            for kind in ("begin", "sample")
        )
        result = Result(done.returncode, parse(done.stdout))
        assert done.returncode == 0
        return result, lines[first:last]

    return trace


def count(lines: list[str], pattern: str) -> int:
    return sum(bool(re.match(pattern, line)) for line in lines)


@pytest.mark.parametrize(
    ("words", "patterns"),
    [
        (("os.signal", "--call", "install"), [r"rt_sigaction\(SIGUSR1"]),
        (("os.signal", "--call", "catch"), [r"tgkill\(", r"--- SIGUSR1"]),
        (("os.signal", "--call", "fault"), [r"--- SIGSEGV .*SEGV_ACCERR"]),
        (("os.fork",), [r"(clone3?|fork)\(", r"\+\+\+ exited with 0", r"wait4\("]),
        (("os.exec",), [r"(clone3?|vfork)\(.*CLONE_V", r"execve\(", r"\+\+\+ exited with 0"]),
        (("os.exec", "--start", "fork"), [r"(clone3?|fork)\(", r"execve\("]),
        (("os.thread",), [r"clone3?\(.*CLONE_THREAD", r"\+\+\+ exited with 0"]),
        (("os.mmap", "--size", "3M"), [r"mmap\(NULL, 3145728,", r"munmap\(0x[0-9a-f]+, 3145728\)"]),
        (("socket.latency",), [r"sendto\(\d+, .*MSG_NOSIGNAL"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_each_iteration_does_it_once(
    static: Path,
    strace: Callable[..., tuple[Result, list[str]]],
    words: tuple[str, ...],
    patterns: list[str],
) -> None:
    result, lines = strace(static, "run", *words)
    iterations = result.one("begin")["iterations"]
    ends = 2 if words[0] == "socket.latency" else 1
    for pattern in patterns:  # a thread that is joined may still be seen to end
        assert abs(count(lines, pattern) - iterations * ends) <= 1, pattern


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("unix", r"socketpair\(AF_UNIX, SOCK_STREAM"),
        ("tcp", r"connect\(\d+, \{sa_family=AF_INET.*127\.0\.0\.1"),
        ("udp", r"socket\(AF_INET, SOCK_DGRAM"),
    ],
)
def test_sockets_are_of_the_kind_asked_for(
    static: Path, tmp_path: Path, kind: str, made: str
) -> None:
    skips.need("strace")
    log = tmp_path / "log"
    command = [str(static), "run", "socket.latency", "--kind", kind, *QUICK]
    traced = subprocess.run(
        ["strace", "-o", str(log), "-e", "trace=network", *command],
        capture_output=True,
        check=False,
    )
    if traced.returncode:
        skips.skip("ptrace")
    assert count(log.read_text().splitlines(), made) == {"unix": 1, "tcp": 1, "udp": 2}[kind]
    delays = count(log.read_text().splitlines(), r"setsockopt\(\d+, SOL_TCP, TCP_NODELAY, \[1\]")
    assert delays == (2 if kind == "tcp" else 0)


@pytest.mark.parametrize("ends", ["threads", "processes"])
def test_each_end_wakes_the_other_once_a_round_trip(
    static: Path, strace: Callable[..., tuple[Result, list[str]]], ends: str
) -> None:
    result, lines = strace(static, "run", "os.futex", "--ends", ends)
    iterations = result.one("begin")["iterations"]
    # one that has given its word may still be about to wake when the other goes on
    assert abs(count(lines, r"futex\(0x[0-9a-f]+, FUTEX_WAKE") - 2 * iterations) <= 1
    private = count(lines, r"futex\(0x[0-9a-f]+, FUTEX_WAKE_PRIVATE")
    assert abs(private - (2 * iterations if ends == "threads" else 0)) <= 1
    result, lines = strace(static, "run", "os.eventfd", "--ends", ends)
    iterations = result.one("begin")["iterations"]
    assert count(lines, r'write\(\d+, "\\1\\0') == 2 * iterations


# --- what /proc and the evidence say ----------------------------------------------------------


def test_every_page_is_a_fault_but_those_mapped_around(static: Path) -> None:
    for kind in ("anonymous", "copy", "file"):
        result = run([static, "run", "os.page_fault", "--kind", kind, *QUICK])
        for sample in result.all("sample"):
            assert sample["minor_faults"] == pytest.approx(
                sample["detail"]["faults_per_page"] * sample["iterations"], abs=8
            )
            if kind == "file":  # the kernel may map up to 16 pages at a time, or more if told to
                assert 0 < sample["detail"]["faults_per_page"] <= 1
            else:
                assert sample["detail"]["faults_per_page"] == pytest.approx(1, abs=0.01)


def test_touching_decides_how_many_pages_a_mapping_gets(static: Path) -> None:
    for touch, pages in (("none", 0), ("first", 1), ("all", 64)):
        words = ("--size", "256K", "--touch", touch)
        if resource.getpagesize() != 4096:
            skips.skip("page size")
        for sample in run([static, "run", "os.mmap", *words, *QUICK]).all("sample"):
            assert sample["minor_faults"] == pytest.approx(
                pages * sample["iterations"], rel=0.01, abs=8
            )


def resident(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def test_resident_memory_is_what_is_stated(static: Path) -> None:
    for size in (0, 16 << 20):
        words = ("run", "os.fork", "--rss", str(size), *FOREVER)
        with Running(static, *words) as running:
            begin = running.until("begin")
            running.until("sample")
            assert begin["rss_bytes"] == pytest.approx(resident(running.process.pid), abs=1 << 20)
            assert size < begin["rss_bytes"] < size + (4 << 20)


def test_the_grid_has_so_many_processes_of_that_size(probe: Path) -> None:
    words = ("run", GRID, "--processes", "12", "--size", "2M", *FOREVER)
    with Running(probe, *words) as running:
        begin = running.until("begin")
        running.until("sample")
        ring = children(running.process.pid)
        assert len(ring) == 11
        for pid in ring:
            assert resident(pid) > 2 << 20
            assert os.sched_getaffinity(pid) == {begin["cpu"]}
        assert begin["partner_cpu"] == begin["cpu"]
        running.process.kill()
        wait_until_gone(ring)


def test_the_grid_switches_at_each_pass_and_subtracts_what_it_says(static: Path) -> None:
    result = run([static, "run", GRID, "--processes", "6", "--counters", "on", *QUICK])
    for sample in result.all("sample"):
        switches = sample["voluntary_switches"] + sample["involuntary_switches"]
        assert switches >= sample["iterations"] * 0.9  # this process's own, once a round
        passes = sample["iterations"] * 6
        overhead = sample["detail"]["overhead_ns"]
        assert sample["value"] == pytest.approx(
            sample["elapsed_ns"] / passes - overhead, rel=1e-3, abs=0.01
        )
        counted = sample["counters"]["context_switches"]
        assert is_evidence(counted)
        if isinstance(counted, int):  # those of all processes of the ring
            assert counted >= passes * 0.9


def test_the_grid_says_whether_caches_were_dropped(
    static: Path, unprivileged: dict[str, Any]
) -> None:
    begin = run([static, "run", GRID, *QUICK]).one("begin")
    assert begin["dropped"] == {"na": "not asked for: drop=no"}
    words = ["run", GRID, "--drop", "auto", *QUICK]
    begin = run([unprivileged["probe"], *words], **unprivileged["options"]).one("begin")
    assert "only root may" in begin["dropped"]["na"]


def test_a_grid_in_which_nothing_can_be_told_gives_no_number(static: Path) -> None:
    """Reading much more than any cache holds takes as long in one process as in two."""
    words = ("run", GRID, "--processes", "2", "--size", "16M", "--batches", "2")
    result = run([static, *words, "--warm_ms", "0"], code=None)
    if result.code:
        assert "no switch can be told" in result.failure(77)
        return
    assert all(sample["value"] > 0 for sample in result.all("sample"))


# --- usage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((GRID, "--processes", "1"), "processes=1"),
        ((GRID, "--processes", "1025"), "processes=1025"),
        ((GRID, "--size", "100", "--order", "random"), "not a multiple of 64"),
        (("os.syscall", "--polled", "0"), "polled=0"),
        (("os.page_fault", "--size", "1"), "size=1"),
        (("socket.latency", "--kind", "sctp"), "none of: unix tcp udp"),
        (("os.futex", "--place", "free", "--cpu", "0"), "contradicts place=free"),
    ],
)
def test_usage(probe: Path, words: tuple[str, ...], named: str) -> None:
    assert named in run([probe, "run", *words], code=2).failure(2)


@pytest.mark.parametrize(
    "words",
    [
        ("os.fork", "--rss", "1G"),
        ("os.page_fault", "--size", "1G"),
        ("os.mmap", "--size", "1G", "--touch", "none"),
        (GRID, "--processes", "3", "--size", "16M"),
    ],
    ids=" ".join,
)
def test_too_much_memory_is_refused(static: Path, words: tuple[str, ...]) -> None:
    message = run([static, "run", *words, *QUICK], code=77, preexec_fn=little_memory).failure(77)
    assert "choose" in message


def little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (16 << 20, 16 << 20))


# --- systems that give little -----------------------------------------------------------------


@pytest.mark.parametrize("name", OWN)
def test_few_descriptors(static: Path, name: str) -> None:
    """Whatever the limit, it measures or says which limit."""
    outcomes = set()
    words = ("run", name, *QUICK, "--warm_ms", "0")
    for limit in range(3, 20):
        result = run([*with_files(limit), static, *words], code=None)
        outcomes.add(result.code)
        if result.code:
            message = result.failure(77)
            assert "open files" in message or "ulimit -n" in message
    assert 0 in outcomes


def with_files(limit: int) -> tuple[str, ...]:
    """The words before a command that let it open so many: this process is too large to be forked
    for each.
    """
    return ("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh")


def test_a_large_grid_needs_few_descriptors(static: Path) -> None:
    words = ("run", GRID, "--processes", "200", *QUICK)
    assert run([*with_files(12), static, *words]).all("sample")


@pytest.mark.parametrize("name", OWN)
def test_no_further_process_is_allowed(unprivileged: dict[str, Any], name: str) -> None:
    words = [unprivileged["probe"], "run", name, *QUICK]
    result = run(words, code=None, preexec_fn=allow_no_process, **unprivileged["options"])
    if name in ("os.signal", "os.page_fault", "os.mmap"):
        assert result.code == 0
    else:
        assert "ulimit -u" in result.failure(77)


def allow_no_process() -> None:
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


@pytest.mark.parametrize("name", (*OWN, "os.syscall"))
def test_a_system_without_anything(unprivileged: dict[str, Any], name: str) -> None:
    """A root directory that holds the probe alone: no /proc, /sys, /dev, /tmp."""
    skips.need_root()
    directory: Path = unprivileged["directory"]
    result = run(
        ["/bvprobe", "run", name, *QUICK], cwd=None, preexec_fn=lambda: os.chroot(directory)
    )
    assert len(result.all("sample")) == 2
    if name in ("os.fork", "os.exec", "os.thread"):
        assert "no /proc" in result.one("begin")["rss_bytes"]["na"]


def test_no_loopback_interface(static: Path) -> None:
    skips.need_root()
    skips.need_namespaces("--net")
    alone = ["unshare", "--net", str(static), "run", "socket.latency", *QUICK, "--kind"]
    assert run([*alone, "unix"]).all("sample")
    for kind in ("tcp", "udp"):
        assert "ip link set lo up" in run([*alone, kind], code=77).failure(77)


@pytest.mark.parametrize("prepare", [block_child_signal, ignore_child_signal])
@pytest.mark.parametrize("name", OWN)
def test_whatever_signals_it_was_started_with(
    static: Path, name: str, prepare: Callable[[], None]
) -> None:
    assert run([static, "run", name, *QUICK], preexec_fn=prepare).all("sample")


# --- being killed -----------------------------------------------------------------------------

KILLED: tuple[tuple[str, ...], ...] = (
    ("os.futex", "--ends", "processes"),
    ("os.eventfd", "--ends", "processes"),
    ("os.semaphore", "--ends", "processes"),
    ("socket.latency", "--kind", "unix"),
    ("socket.latency", "--kind", "tcp"),
    ("socket.latency", "--kind", "udp"),
    ("socket.throughput", "--kind", "unix"),
    ("socket.throughput", "--kind", "tcp"),
    (GRID, "--processes", "9"),
)


@pytest.mark.parametrize("words", KILLED, ids=" ".join)
@pytest.mark.parametrize("prepare", [None, ignore_child_signal])
def test_a_process_of_it_is_killed(
    static: Path, words: tuple[str, ...], prepare: Callable[[], None] | None
) -> None:
    with Running(static, "run", *words, *FOREVER, preexec_fn=prepare) as running:
        running.until("sample")
        below = children(running.process.pid)
        assert len(below) == (8 if words[0] == GRID else 1)
        os.kill(below[len(below) // 2], signal.SIGKILL)
        message = running.until("error")["message"]
        assert "went away" in message or "was killed" in message
        assert running.process.wait(PATIENCE) == 1
        wait_until_gone(below)


@pytest.mark.parametrize(
    "words", (*KILLED, ("os.fork",), ("os.exec",), ("os.thread",)), ids=" ".join
)
def test_killed_in_the_middle_leaves_no_process(probe: Path, words: tuple[str, ...]) -> None:
    with Running(probe, "run", *words, *FOREVER) as running:
        for _ in range(2):
            running.until("sample")
        below = children(running.process.pid)
        running.process.kill()
        while line := running.line():
            assert line["type"] == "sample"
        wait_until_gone(below)


@pytest.mark.parametrize("words", (*KILLED, ("os.fork",), ("os.exec",)), ids=" ".join)
def test_nobody_reads(static: Path, words: tuple[str, ...]) -> None:
    with Running(static, "run", *words, *FOREVER) as running:
        running.until("sample")
        below = children(running.process.pid)
        running.output.close()
        assert running.process.wait(PATIENCE) == 1
        wait_until_gone(below)


def zombies(pid: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] == "Z" and int(fields[1]) == pid:
            yield int(path.parent.name)


@pytest.mark.parametrize("name", ["os.fork", "os.exec", *TWO_ENDS, GRID])
def test_no_zombie_while_it_waits(static: Path, name: str) -> None:
    with Running(static, "run", name, *QUICK, "--paced", "1") as running:
        running.until("sample")
        assert not list(zombies(running.process.pid))
