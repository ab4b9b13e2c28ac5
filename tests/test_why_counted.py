"""Mechanisms on real programs: what is counted agrees with the card, and the artefact is named.

Whatever is set is set for the program alone, or for a control group that goes with the test.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import plants
import pytest
import skips
from probe_programs import run

from benchvise.measure.model import SeriesSpec
from benchvise.why.explain.counters import READS, between, of_samples
from benchvise.why.explain.mechanism import explain
from benchvise.why.model import (
    Arm,
    Bounds,
    Layer,
    Mechanism,
    Metric,
    ProcessMeans,
    Side,
    Support,
    Suspect,
)

pytest_plugins = ["probe_fixtures"]

SIZE = 128 << 20
ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PROGRAM = """
import ctypes, mmap, sys
kind, pages = sys.argv[1:]
if pages == "never":
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
data = mmap.mmap(-1, {size}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if pages == "always":
    data.madvise(mmap.MADV_HUGEPAGE)
if kind == "written":
    for at in range(0, {size}, 1 << 20):
        data[at : at + (1 << 20)] = b"x" * (1 << 20)
for _ in range(12):
    sum(data[at] for at in range(0, {size}, 4096))
"""

Counts = Mapping[str, float]


def texts() -> dict[str, str]:
    found = {}
    for path in (path for pattern in READS for path in Path("/").glob(pattern.lstrip("/"))):
        with contextlib.suppress(OSError):
            found[str(path)] = path.read_text(errors="replace")
    return found


def counted(probe: Path, command: str, runs: int = 2) -> Counts:
    """As a bench counts: everything that can be, with nothing compared meanwhile."""
    words = ["--run", command, "--batches", str(runs), "--warmup", "0", "--warm_ms", "0"]
    before = texts()
    result = run([probe, "run", "command.time", *words, "--observe", "pages", "--counters", "on"])
    samples = result.all("sample")
    return {**between(before, texts(), len(samples)), **of_samples(samples)}


def explained(
    suspect: Suspect, command: str, during: Callable[[Arm], Counts], gain: float = 0.5
) -> Mechanism:
    spec = SeriesSpec("command.time", (("run", command),), "command.time")
    mechanism = explain(
        Metric.of(spec, "ns", "lower", command=command),
        (suspect,),
        snapshots={},
        facts={},
        effect=Bounds(gain, gain - 0.1, gain + 0.1),
        during=during,
        side=Side.BAD,
    )
    assert mechanism is not None
    return mechanism


def pages(static: Path, place: Path, kind: str, good: str, bad: str) -> Mechanism:
    """A program with huge pages or without, by its own wish."""
    program = place / "program.py"
    program.write_text(PROGRAM.format(size=SIZE))
    command = f"exec {sys.executable} {program} {kind}"
    thp = Suspect("memory.thp", "", Layer.PROCESS, "memory.thp", good, bad, means=ProcessMeans())
    return explained(
        thp, "copy", lambda arm: counted(static, f"{command} {good if arm.flipped else bad}")
    )


def no_huge_pages() -> bool:
    return not ENABLED.exists() or "[never]" in ENABLED.read_text()


@pytest.mark.parametrize(("good", "bad"), [("never", "always"), ("always", "never")])
def test_a_program_that_reads_what_it_never_wrote(
    static: Path, tmp_path: Path, good: str, bad: str
) -> None:
    found = pages(static, tmp_path, "unwritten", good, bad)
    assert found.card == "huge-zero-page"
    assert "of what 'copy' reads was never written" in found.artefact
    # Of the 128 that it reads, what was seen of them: a busy machine shows less, never more.
    seen = re.match(r"At least ([\d.]+) MiB of what", found.artefact)
    assert seen
    assert 64 <= float(seen[1]) <= 128
    assert found.support is not Support.CONTRADICTED


@skips.needs_that(not no_huge_pages(), "huge pages")
def test_a_program_that_wrote_its_memory_is_about_the_tlb(static: Path, tmp_path: Path) -> None:
    found = pages(static, tmp_path, "written", "always", "never")
    assert (found.card, found.artefact) == ("tlb-reach", "")
    seen = {check.counter: check for check in found.checks}
    assert seen["anon_huge_bytes"].agrees is True
    assert seen["faults_minor"].predicted == "-" and seen["faults_minor"].agrees is True


@skips.needs_root
def test_a_quota_is_seen_where_it_stops_the_program(static: Path) -> None:
    work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    quota = Suspect(
        *("cgroup.cpu_max", "", Layer.RUN_TIME, "system.cgroup"),
        *("max 100000", "1000 5000"),
        means=ProcessMeans(),
    )

    with plants.quota(20) as prefix:
        slow = shlex.join([*prefix, "sh", "-c", work])
        found = explained(
            quota, work, lambda arm: counted(static, work if arm.flipped else slow), gain=1.6
        )
    assert (found.card, found.support) == ("cpu-quota", Support.SUPPORTED), found.checks
    assert found.predicted == pytest.approx(5)
    assert "Predicted: better by a factor of 5; measured: 4.95" in found.prediction
