"""What only the timer benchmarks can get wrong."""

from __future__ import annotations

import os
import re
import resource
import signal
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import QUICK, Line, Running, least_costs, run
from waiting import has_ended, wait_until

from benchvise.measure.histogram import Histogram

pytest_plugins = ["probe_fixtures"]

DMA = Path("/dev/cpu_dma_latency")
WAKEUP = ("run", "timer.wakeup", "--batches", "2")


def histogram(sample: Line) -> Histogram:
    found = Histogram.from_detail(sample["detail"]["histogram"])
    assert found
    return found


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def wakeups(pid: int) -> int:
    """How often it has waited for something and gone on, in its main thread."""
    status = Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return int(status.partition("voluntary_ctxt_switches:")[2].split()[0])


# --- wake-ups ---------------------------------------------------------------------------------


def test_the_host_reads_the_same_from_a_histogram_as_the_probe(probe: Path) -> None:
    words = ("--interval_us", "200", "--batch_ms", "60")
    for sample in run([probe, *WAKEUP, *words]).all("sample"):
        made = histogram(sample)
        assert made.count == sample["iterations"] == 300
        assert made.maximum == sample["detail"]["max"]
        assert made.percentile(50) == pytest.approx(sample["value"], rel=1e-6)
        assert made.percentile(90) == pytest.approx(sample["detail"]["p90"], rel=1e-6)
        assert made.percentile(99) == pytest.approx(sample["detail"]["p99"], rel=1e-6)
        assert sample["elapsed_ns"] >= 300 * 200_000


def test_periods_that_were_missed_count_with_their_true_lateness(static: Path) -> None:
    """A process that is stopped for a while misses the wake-ups of that while: all of them are
    late, and not only the one that it was waiting for."""
    with Running(static, *WAKEUP, "--batch_ms", "2000", "--paced", "1") as running:
        running.until("sample")
        before = wakeups(running.process.pid)
        running.say("\n")
        # in the middle of the second batch, whenever that begins
        wait_until(lambda: wakeups(running.process.pid) > before + 100, "the second batch")
        running.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        running.process.send_signal(signal.SIGCONT)
        sample = running.until("sample")
    made = histogram(sample)
    assert made.count == sample["iterations"] == 2000
    # of the 300, those that were due in the first 200 ms
    assert sum(count for low, _, count in made.coarse() if low > 100e6) > 100
    assert sample["detail"]["missed"] > 200


def test_load_is_on_each_cpu_and_ends_with_the_probe(static: Path) -> None:
    words = (*WAKEUP, "--batch_ms", "1", "--paced", "1", "--load", "cpu")
    with Running(static, *words) as running:
        begin = running.until("begin")
        sample = running.until("sample")
        loads = children(running.process.pid)
        where = [os.sched_getaffinity(pid) for pid in loads]
        assert sorted(map(sorted, where)) == [[cpu] for cpu in sorted(os.sched_getaffinity(0))]
        assert begin["params"]["load"] == "cpu"
        assert sample["other_busy_ticks"] == {"na": "the benchmark loads other CPUs itself"}
        running.process.kill()
        running.process.wait()
        wait_until(lambda: all(map(has_ended, loads)), "the load's end")


def test_load_on_memory_writes_its_own(static: Path) -> None:
    words = (*WAKEUP, "--batch_ms", "1", "--paced", "1", "--load", "memory")
    with Running(static, *words) as running:
        running.until("sample")
        for pid in children(running.process.pid):
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            assert pages * os.sysconf("SC_PAGE_SIZE") >= 16 << 20


def test_no_load_leaves_nothing_behind(static: Path) -> None:
    with Running(static, *WAKEUP, "--batch_ms", "1", "--paced", "1") as running:
        sample = running.until("sample")
        assert children(running.process.pid) == []
        assert isinstance(sample["other_busy_ticks"], int)


def test_the_slack_is_what_was_asked_for(probe: Path) -> None:
    assert run([probe, *WAKEUP, *QUICK]).one("begin")["timer_slack_ns"] > 0
    begin = run([probe, *WAKEUP, *QUICK, "--slack_ns", "12345"]).one("begin")
    assert begin["timer_slack_ns"] == 12345


@skips.needs_that(os.access(DMA, os.W_OK), "cpu_dma_latency")
def test_idle_states_are_held_off_while_measuring_and_not_after(static: Path) -> None:
    def limit() -> int:
        with DMA.open("rb") as file:
            return int(struct.unpack("i", file.read(4))[0])

    before = limit()
    words = (*WAKEUP, "--batch_ms", "1", "--paced", "1", "--dma_latency", "zero")
    with Running(static, *words) as running:
        begin = running.until("begin")
        running.until("sample")
        assert limit() == 0
    wait_until(lambda: limit() == before, "idle states as before")
    told = begin["dma_latency_us"]
    assert told == before or "nobody" in told["na"]


def drop_limits() -> None:
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))


def test_a_plain_user_is_told_what_real_time_takes(unprivileged: dict[str, Any]) -> None:
    command = [unprivileged["probe"], *WAKEUP, *QUICK]
    options = unprivileged["options"] | {"preexec_fn": drop_limits}
    for words, reason in (
        (("--policy", "fifo"), "raise the limit on real-time priority (ulimit -r)"),
        (("--dma_latency", "zero"), "needs to write /dev/cpu_dma_latency"),
    ):
        assert reason in run([*command, *words], code=77, **options).failure(77)
    begin = run(command, **options).one("begin")
    assert set(begin["memory_locked"]) == set(begin["dma_latency_us"]) == {"na"}


@skips.needs_root
def test_real_time_lasts_as_long_as_a_batch(static: Path) -> None:
    """Whatever is between batches must not keep the CPU from others."""
    words = (*WAKEUP, "--batch_ms", "1", "--paced", "1", "--policy", "fifo", "--priority", "33")
    with Running(static, *words) as running:
        begin = running.line()
        while begin and begin["type"] not in ("begin", "error"):
            begin = running.line()
        assert begin
        if begin["type"] == "error":
            skips.skip("benchmark", begin["message"])
        running.until("sample")
        assert os.sched_getscheduler(running.process.pid) == os.SCHED_OTHER
        running.say("\n")
        running.until("sample")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--policy", "rr"), "policy=rr is none of"),
        (("--priority", "100"), "priority=100"),
        (("--interval_us", "1"), "interval_us=1"),
        (("--slack_ns", "0"), "slack_ns=0"),
    ],
)
def test_usage(probe: Path, words: tuple[str, ...], named: str) -> None:
    assert named in run([probe, *WAKEUP, *words], code=2).failure(2)


# --- reading the clock ------------------------------------------------------------------------


def test_each_clock_can_be_read_both_ways(probe: Path) -> None:
    for clock in ("monotonic", "raw", "realtime", "coarse"):
        for via in ("auto", "call"):
            words = ("run", "timer.clock", "--clock", clock, "--via", via, *QUICK)
            result = run([probe, *words])
            begin = result.one("begin")
            if via == "call":
                assert begin["answered_by"] == "kernel"
            step = min(sample["detail"]["step_ns"] for sample in result.all("sample"))
            # a coarse clock moves with the tick, which is 1 ms or longer
            assert (step > 900_000) == (clock == "coarse"), f"{clock}: {step}"


@skips.needs("strace")
def test_who_answers_is_told_truly(static: Path, tmp_path: Path) -> None:
    """The system calls that are made agree with their description."""
    log = tmp_path / "log"
    for via in ("auto", "call"):
        words = ["run", "timer.clock", "--via", via, "--batches", "1", "--warm_ms", "0"]
        traced = subprocess.run(
            ["strace", "-o", log, "-e", "trace=clock_gettime", static, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        if traced.returncode:
            skips.skip("ptrace")
        calls = len(re.findall("^clock_gettime", log.read_text(), re.MULTILINE))
        by_kernel = '"answered_by":"kernel"' in traced.stdout
        assert by_kernel or '"answered_by":"vdso"' in traced.stdout
        assert (calls > 500) == by_kernel
        assert by_kernel or via == "auto"


def test_a_reading_by_the_kernel_costs_more(static: Path) -> None:
    begin = run([static, "run", "timer.clock", *QUICK]).one("begin")
    if begin["answered_by"] != "vdso":
        skips.skip("vDSO")
    words = (static, "run", "timer.clock", "--via")
    vdso, call = least_costs((*words, "vdso"), (*words, "call"), rounds=2)
    assert vdso < call
