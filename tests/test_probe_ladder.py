"""The pipe ladder, the benchmarks on several CPUs, and those of lines and pages."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import HUGE, QUICK, Line, Result, is_evidence, least_costs, parse, run
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]

THROUGHPUT = ("run", "pipe.throughput")
FORMS = [(w, r) for w in ("line", "stdio", "write", "vmsplice") for r in ("read", "splice")]
PASSED = "page references passed, not bytes copied"
needs_strace = skips.needs("strace")
needs_root = skips.needs_root


# --- the ladder -------------------------------------------------------------------------------


@pytest.mark.parametrize(("writer", "reader"), FORMS)
def test_every_form_is_verified_and_says_what_it_counts(
    probe: Path, writer: str, reader: str
) -> None:
    words = ("--writer", writer, "--reader", reader, "--block", "64K", *QUICK)
    begin = run([probe, *THROUGHPUT, *words]).one("begin")
    assert begin["pipe_bytes"] == 65536
    assert begin["verified_bytes"] >= (32768 if writer == "line" else 8 * 65536)
    spliced = (writer == "vmsplice", reader == "splice")
    assert (begin["counted"] == PASSED) == all(spliced)
    assert ("page references" in begin["counted"]) == any(spliced)
    assert len(begin["caveats"]) == sum(spliced)


def test_the_ladder_is_one(static: Path) -> None:
    """A system call a line, printf a line, blocks, pages: orders of magnitude apart."""
    block = (static, *THROUGHPUT, "--block", "256K")
    line, stdio, blocks, pages = least_costs(
        (*block, "--writer", "line"),
        (*block, "--writer", "stdio"),
        (*block, "--pipe", "256K"),
        (*block, "--writer", "vmsplice", "--reader", "splice", "--pipe", "256K"),
        rounds=2,
    )
    assert line > stdio > blocks
    assert stdio > 5 * pages


@pytest.mark.parametrize("block", ["1", "3", "513", "5000"])
@pytest.mark.parametrize("writer", ["line", "stdio", "write"])
def test_odd_blocks_arrive_whole(probe: Path, writer: str, block: str) -> None:
    words = ("--writer", writer, "--block", block, "--pipe", "4K")
    sample = run([probe, *THROUGHPUT, *words, *QUICK]).all("sample")[0]
    unit = int(block) if writer == "write" else (int(block) + 1) // 2 * 2
    bytes_passed = sample["value"] * sample["elapsed_ns"] / 1e9
    assert bytes_passed == pytest.approx(sample["iterations"] * unit, rel=1e-6)


def test_verifying_can_be_left_out(static: Path) -> None:
    begin = run([static, *THROUGHPUT, "--verify", "no", *QUICK]).one("begin")
    assert begin["verified_bytes"] == {"na": "switched off"}


@pytest.mark.parametrize(
    "sizes", [("64K", "128K"), ("16K", "64K"), ("65537", "4K"), ("100", "4K")], ids="-".join
)
def test_vmsplice_of_blocks_that_leave_room_is_refused(probe: Path, sizes: tuple[str, str]) -> None:
    """Then pages would be made anew while they are still in the pipe."""
    block, pipe = sizes
    words = ("--writer", "vmsplice", "--block", block, "--pipe", pipe)
    message = run([probe, *THROUGHPUT, *words], code=2).failure(2)
    (good,) = re.findall(r"block=(\d+)", message)
    run([probe, *THROUGHPUT, "--writer", "vmsplice", "--block", good, "--pipe", pipe, *QUICK])


@pytest.mark.parametrize("place", ["core", "free"])
def test_the_ladder_on_two_cpus(static: Path, place: str) -> None:
    words = ("--writer", "vmsplice", "--block", "64K", "--place", place)
    result = run([static, *THROUGHPUT, *words, *QUICK], code=None)
    if result.code == 77:
        skips.skip("benchmark", result.failure(77))
    begin = result.one("begin")
    assert begin["place"] == place
    assert place == "free" or begin["partner_cpu"] != begin["cpu"]


def test_a_pipe_that_a_plain_user_may_not_have(unprivileged: dict[str, Any]) -> None:
    if int(Path("/proc/sys/fs/pipe-max-size").read_text()) >= 16 << 20:
        skips.skip("nothing to do", "everybody may have such a pipe")
    command = [unprivileged["probe"], *THROUGHPUT, "--pipe", "16M", *QUICK]
    message = run(command, code=77, **unprivileged["options"]).failure(77)
    assert "pipe-max-size" in message


def injected(static: Path, fault: str, *words: str) -> Result:
    """The probe, of whose system calls strace makes one fail, or pretends that it was made."""
    traced = ["strace", "-o", "/dev/null", "-e", f"inject={fault}", static, *THROUGHPUT, *words]
    command = [*map(str, traced), *QUICK]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    if not done.stdout:
        skips.skip("ptrace")
    return Result(done.returncode, parse(done.stdout))


@needs_strace
def test_lost_bytes_are_an_error(static: Path) -> None:
    """Pretended writes: 4 KiB in the middle of what is verified never reach the pipe."""
    words = ("--block", "4K", "--pipe", "4K", "--batches", "1")
    result = injected(static, "write:retval=4096:when=5", *words)
    assert "is not what was written" in result.failure(1)
    assert not result.all("begin")


@needs_strace
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("vmsplice:error=ENOSYS", ("--writer", "vmsplice", "--block", "64K")),
        ("splice:error=EINVAL", ("--reader", "splice")),
    ],
)
def test_a_kernel_without_these_calls(static: Path, fault: str, words: tuple[str, ...]) -> None:
    assert "this kernel cannot do" in injected(static, fault, *words).failure(77)


# --- several CPUs -----------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["copy", "scale", "add", "triad"])
def test_loops_of_stream(probe: Path, operation: str) -> None:
    words = ("--operation", operation, "--size", "1M", "--threads", "1")
    result = run([probe, "run", "memory.triad", *words, *QUICK])
    begin, sample = result.one("begin"), result.all("sample")[0]
    arrays = 3 if operation in ("add", "triad") else 2
    assert len(begin["memory"]) == arrays
    passed = sample["value"] * sample["elapsed_ns"] / 1e9
    assert passed == pytest.approx(sample["iterations"] * arrays * (1 << 20), rel=1e-6)
    assert sample["detail"]["waiting"] == 0


@pytest.mark.parametrize("name", ["memory.triad", "cpu.sustained"])
def test_a_thread_on_each_allowed_cpu(probe: Path, name: str) -> None:
    words = ("run", name, *(("--size", "1M") if name.startswith("memory") else ()), *QUICK)
    allowed = os.sched_getaffinity(0)
    assert run([probe, *words]).one("begin")["threads"] == len(allowed)

    def confine() -> None:
        os.sched_setaffinity(0, {min(allowed)})

    begin = run([probe, *words], preexec_fn=confine).one("begin")
    assert (begin["threads"], begin["cpu"]) == (1, min(allowed))
    message = run([probe, *words, "--threads", str(len(allowed) + 1)], code=77).failure(77)
    assert f"may use {len(allowed)}" in message


def test_the_share_of_each_thread_is_whole_pages(probe: Path) -> None:
    """Arrays that do not divide by the number of threads; every element is verified."""
    for size in ("64K", "68K", "1052672"):
        run([probe, "run", "memory.triad", "--size", size, *QUICK])


def test_sustained_takes_the_mean_of_all_cpus(probe: Path) -> None:
    result = run([probe, "run", "cpu.sustained", *QUICK])
    for sample in result.all("sample"):
        detail: Line = sample["detail"]
        assert detail["lowest_hz"] <= sample["value"] <= detail["highest_hz"]
        assert detail["lowest_cpu"] in os.sched_getaffinity(0)
        for key in ("temperature", "throttle_events", "cooling_steps"):
            assert is_evidence(detail[key])
    for key in ("advertised_hz", "limit_hz"):
        assert is_evidence(result.one("begin")[key])


def test_no_thread_may_be_started(unprivileged: dict[str, Any]) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        skips.skip("two CPUs")

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

    options = {**unprivileged["options"], "preexec_fn": confine}
    result = run([unprivileged["probe"], "run", "cpu.sustained", *QUICK], code=77, **options)
    assert "threads" in result.failure(77)


# --- lines and pages --------------------------------------------------------------------------


def test_an_offset_that_no_pointer_fits(probe: Path) -> None:
    message = run([probe, "run", "memory.line", "--offset", "12"], code=2).failure(2)
    assert "offset=12 is no multiple of 8" in message


@pytest.mark.parametrize("offset", ["8", "24", "1K"])
def test_every_offset(probe: Path, offset: str) -> None:
    run([probe, "run", "memory.line", "--offset", offset, "--size", "64K", *QUICK])


def test_a_far_second_load_costs_more_than_a_near_one(static: Path) -> None:
    words = (static, "run", "memory.line", "--offset")
    near, far = least_costs((*words, "8"), (*words, "1024"))
    assert near * 1.2 < far


def without_huge_pages() -> None:
    """PR_SET_THP_DISABLE, which children inherit."""
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)


def test_translation_needs_huge_pages(static: Path) -> None:
    result = run([static, "run", HUGE, *QUICK], code=77, preexec_fn=without_huge_pages)
    assert "transparent_hugepage" in result.failure(77)


@pytest.mark.parametrize("span", ["64K", "5M"])
def test_translation_is_a_difference(probe: Path, span: str) -> None:
    result = run([probe, "run", HUGE, "--span", span, *QUICK], code=None)
    if result.code == 77:
        skips.skip("benchmark", result.failure(77))
    base, huge = result.one("begin")["memory"]
    assert base["bytes"] == huge["bytes"] == huge["huge_bytes"]
    assert base["huge_bytes"] == 0
    for sample in result.all("sample"):
        detail: Line = sample["detail"]
        assert sample["value"] == pytest.approx(detail["base_ns"] - detail["huge_ns"], abs=1e-6)


# --- without /proc, /sys and /dev -------------------------------------------------------------


@needs_root
@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (("pipe.throughput",), ""),
        (("pipe.throughput", "--writer", "vmsplice", "--block", "64K"), ""),
        (("pipe.throughput", "--reader", "splice"), "needs /dev/null"),
        (("memory.triad", "--size", "1M"), ""),
        (("memory.line", "--size", "1M"), ""),
        (("memory.tlb", "--span", "1M"), "does not tell"),
        (("cpu.sustained",), ""),
        (("cpu.clock",), ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_empty_root(static: Path, tmp_path: Path, words: tuple[str, ...], missing: str) -> None:
    shutil.copy(static, tmp_path / "bvprobe")
    enter: Callable[[], None] = lambda: os.chroot(tmp_path)  # noqa: E731
    command = ["/bvprobe", "run", *words, *QUICK]
    result = run(command, code=77 if missing else 0, preexec_fn=enter, cwd="/")
    assert missing in (result.failure(77) if missing else "")
