"""Reports in a real browser: nothing is asked for, nothing complains, everybody can read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import skips
from browser import REPORT, browse, missing
from latency_runs import wakeups
from report_runs import demonstration_run, other_run, series, spec, unavailable

from benchvise.measure.model import RunRecord
from benchvise.report.html import write_report

ATTACK = "<img src=http://attacker.invalid/x onerror=\"document.body.dataset.attacked='yes'\">"


pytestmark = skips.unless_missing(missing(REPORT))

Look = Callable[..., dict[str, Any]]


def looked_at(path: Path, *options: str) -> dict[str, Any]:
    """What is seen of a page; options are those of ``web/scripts/browse.js``."""
    result: dict[str, Any] = browse("browse.js", path, *options)
    return result


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Writes a report and looks at it."""

    def at(*runs: RunRecord, options: tuple[str, ...] = ()) -> dict[str, Any]:
        return looked_at(write_report(runs, tmp_path / "report"), *options)

    return at


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([few(demonstration_run())], tmp_path_factory.mktemp("one") / "report")


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [few(demonstration_run()), few(other_run())]
    return write_report(runs, tmp_path_factory.mktemp("two") / "report")


def few(run: RunRecord) -> RunRecord:
    """A run with all kinds of series, but not all of them: looking takes time."""
    wanted = ("cpu", "os.syscall:call=read", "pipe", "memory.latency", "memory.fill:size=4M")
    sizes = ("size=64K", "size=256K", "size=1M", "size=16M", "size=64M", "size=256M")
    kept = [
        s
        for s in run.series
        if s.spec.key.startswith(wanted) and not s.spec.key.partition(",")[0].endswith(sizes)
    ]
    return replace(run, series=tuple(kept))


def assert_fine(seen: dict[str, Any]) -> None:
    assert seen["complaints"] == []
    assert seen["requests"] == []
    assert seen["empty"] == []
    assert seen["overflow"] <= 0
    serious = [v for v in seen["violations"] if v["impact"] in ("serious", "critical")]
    assert serious == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run(one_run: Path, tmp_path: Path, scheme: str) -> None:
    printed = tmp_path / "page.pdf"
    seen = looked_at(one_run, "--scheme", scheme, "--axe", "--pdf", str(printed))
    assert_fine(seen)
    assert seen["slots"] >= 15
    # Two charts a series, one each figure.
    assert seen["charts"] > seen["slots"]
    assert seen["background"] == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)")
    assert "2.26 GHz" in seen["text"]
    assert printed.stat().st_size > 10_000


def test_a_comparison(two_runs: Path) -> None:
    seen = looked_at(two_runs, "--axe-in-both")
    assert_fine(seen)
    assert "no difference shown" in seen["text"]


@pytest.mark.parametrize(("scheme", "width", "runs"), [("light", "1280", 1), ("dark", "360", 2)])
def test_latencies(look: Look, scheme: str, width: str, runs: int) -> None:
    measured = (
        wakeups(policy="fifo", each=40),
        wakeups(policy="fifo", load="cpu", each=40, middle=35e3),
        wakeups(policy=ATTACK, each=40, middle=90e3),
    )
    all_runs = [demonstration_run(id=str(n), label=f"run{n}", series=measured) for n in range(runs)]
    seen = look(*all_runs, options=("--scheme", scheme, "--width", width, "--axe"))
    assert_fine(seen)
    assert seen["dialogs"] == ""
    assert "p99.99" in seen["text"]
    # one chart for all series of a run, or one for each series of several; and the bars
    assert seen["slots"] == (3 + 1 + 1 if runs == 1 else 6 + 3 + 1 + 1)


def test_a_small_screen(two_runs: Path) -> None:
    assert_fine(looked_at(two_runs, "--width", "360"))


def test_hostile_names_do_nothing(look: Look) -> None:
    measured = [
        series(spec("memory.copy", size=size, source=ATTACK), 1e9 * n, unit="B/s", better="higher",
               caveats=(ATTACK,), counted=ATTACK)
        for n, size in enumerate(("4K", "64K", "1M"), start=1)
    ]  # fmt: skip
    run = demonstration_run(
        label=ATTACK,
        board=f"{ATTACK}\u202e\x1b[2J",
        suite=f"</script><script>{ATTACK}",
        host={"hostname": ATTACK, "cpu_model": "x" * 10_000, "kernel": "<!--<script>"},
        series=(*measured, unavailable(spec(ATTACK), ATTACK)),
    )
    seen = look(run, replace(run, id="other"), options=("--axe",))
    assert_fine(seen)
    assert seen["dialogs"] == ""
    assert (seen["scripts"], seen["images"]) == (2, 0)
    assert ATTACK in seen["text"]


def ladder_run() -> RunRecord:
    """The pipe ladder with all its parameters, and what has other units and other axes."""
    measured = [
        series(
            spec("pipe.throughput", writer=writer, reader=reader, block=block, pipe="1M",
                 verify="yes", place="same"),
            rate * (1 + n), unit="B/s", better="higher", counted=f"as {writer} does",
            caveats=("page references",) if writer == "vmsplice" else (),
        )
        for writer, rate in (("line", 2e6), ("stdio", 6e7), ("write", 4e9), ("vmsplice", 4e10))
        for reader in ("read", "splice")
        for n, block in enumerate(("4K", "64K", "1M"))
    ]  # fmt: skip
    measured += [
        series(spec("memory.line", offset=offset), ns)
        for offset, ns in (("8", 140), ("16", 141), ("32", 143), ("64", 200), ("128", 204))
    ]
    measured.append(series(spec("storage.fsync"), 1800, unit="1/s", better="higher"))
    return demonstration_run(series=tuple(measured))


@pytest.mark.parametrize("options", [("--axe",), ("--width", "360")], ids=["wide", "small"])
def test_many_parameters_and_what_series_say_together(look: Look, options: tuple[str, ...]) -> None:
    seen = look(ladder_run(), options=options)
    assert_fine(seen)
    assert "The pipe ladder, both ends on one CPU" in seen["text"]
    assert "a line has 64 bytes" in seen["text"]
    assert "bytes between two loads" in seen["text"]


def test_a_run_without_any_sample(look: Look) -> None:
    seen = look(demonstration_run(series=(unavailable(spec("cpu.clock"), "no cycles here"),)))
    assert_fine(seen)
    assert seen["slots"] == 0
    assert "no cycles here" in seen["text"]
