"""Whether a change may pass: the rule on made-up series, and whole gates on this machine.

What the whole gates measure is a number that a command prints, so no load of the machine moves it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from in_process import Ran, benchvise
from report_runs import demonstration_run, spec

from benchvise.cli.json_kinds import document_schema, json_kinds
from benchvise.measure.gate import GateVerdict, judge_gate, with_more
from benchvise.measure.model import (
    Better,
    ProcessRecord,
    RunRecord,
    Sample,
    SeriesRecord,
    SeriesStatus,
)
from benchvise.report.gate import gate_comment, gate_document, gate_table

FINE, REGRESSED, UNDECIDED = GateVerdict


# -- the rule --------------------------------------------------------------------------------------


def made(blocks: Sequence[Sequence[float]], name: str, better: Better) -> SeriesRecord:
    processes = tuple(
        ProcessRecord(index, {}, tuple(Sample(i, v) for i, v in enumerate(block)), True)
        for index, block in enumerate(blocks)
    )
    what = spec("os.syscall", call=name)
    return SeriesRecord(what, "ns", better, "", SeriesStatus.MEASURED, "", processes)


def run_of(
    level: float, seed: int, noise: float = 0.003, better: Better = "lower", name: str = "read"
) -> RunRecord:
    g = np.random.default_rng(seed)
    blocks = [list(level * np.exp(g.normal(0, noise) + g.normal(0, noise, 21))) for _ in range(3)]
    return demonstration_run(id=f"{seed:012x}", label="", series=(made(blocks, name, better),))


@pytest.mark.parametrize(
    ("change", "noise", "better", "expected"),
    [
        (1.0, 0.002, "lower", FINE),
        (1.10, 0.002, "lower", REGRESSED),
        (0.90, 0.002, "lower", FINE),
        (1.10, 0.002, "higher", FINE),
        (0.90, 0.002, "higher", REGRESSED),
        (1.0, 0.10, "lower", UNDECIDED),
        (1.02, 0.0005, "lower", FINE),
    ],
)
def test_the_rule(change: float, noise: float, better: Better, expected: GateVerdict) -> None:
    a, b = run_of(100, 1, noise, better), run_of(100 * change, 2, noise, better)
    gate = judge_gate(a, b, 3.0)
    assert gate.verdict is expected
    assert bool(gate.undecided()) == (expected is UNDECIDED)


def test_what_is_not_shown_is_never_called_fine() -> None:
    """Over boards of many noises, a true regression far beyond the threshold never passes."""
    for seed in range(60):
        noise = 0.001 * 1.1**seed
        gate = judge_gate(run_of(100, seed, noise), run_of(115, 500 + seed, noise), 3.0)
        assert gate.verdict is not FINE, (seed, noise)


def test_series_that_are_missing_or_none_are_undecided() -> None:
    a = run_of(100, 1)
    assert judge_gate(a, demonstration_run(id="b" * 12, series=()), 3.0).verdict is UNDECIDED
    empty = demonstration_run(series=())
    gate = judge_gate(empty, empty, 3.0)
    assert gate.verdict is UNDECIDED and not gate.undecided()
    other = judge_gate(a, run_of(100, 2, name="write"), 3.0)
    assert [s.verdict for s in other.series] == [UNDECIDED] * 2
    assert not other.undecided(), "measuring again would not help"


def test_more_samples_decide() -> None:
    """Passes are pooled block by block: the noise floor becomes narrower, not wider."""
    floors = []
    old, new = run_of(100, 1, 0.02), run_of(100, 2, 0.02)
    for number in range(1, 6):
        (series,) = judge_gate(old, new, 3.0).series
        floors.append(series.comparison.noise_floor or 0.0)
        old = with_more(old, run_of(100, 10 * number, 0.02))
        new = with_more(new, run_of(100, 10 * number + 1, 0.02))
    assert floors[-1] < floors[0]
    assert [len(p.samples) for p in old.series[0].processes] == [21 * 6] * 3
    assert [s.index for s in old.series[0].processes[0].samples] == list(range(21 * 6))


def test_hostile_names_stay_text() -> None:
    names = ("|<img src=x>\x1b[2J", "::error::")
    a, b = (
        demonstration_run(
            id=identity * 12,
            label="<script>|`",
            series=tuple(
                run_of(level, seed, name=name).series[0] for seed, name in enumerate(names)
            ),
        )
        for identity, level in (("a", 100), ("b", 150))
    )
    gate = judge_gate(a, b, 3.0)
    document = gate_document(gate, board="ssh://<b>", passes=1, runs=("x",), exit_code=1)
    comment = gate_comment(document)
    assert "<img" not in comment.replace("\\<", "") and "\x1b" not in comment
    assert comment.startswith("### ❌ Regressed")
    assert len(gate_table(gate).rows) == 2


# -- whole gates -----------------------------------------------------------------------------------


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


WHAT = [
    "--command", "cat value", "--match", "([0-9.]+)", "--better", "lower", "--unit", "ms",
    "--processes", "3", "--batches", "3", "--no-snapshot",
]  # fmt: skip


def ran(*words: str, expect: int = 0) -> Ran:
    result = benchvise(*words)
    assert result.code == expect, result.out + result.err
    return result


def gated(*words: str, expect: int) -> Any:
    document = json.loads(ran("gate", *words, "--json", expect=expect).out)
    jsonschema.validate(document, document_schema("gate", json_kinds()["gate"]))
    assert document["data"]["exit"] == expect
    return document["data"]


def test_behind_a_run(world: Path) -> None:
    (world / "value").write_text("100\n")
    ran("run", *WHAT, "--label", "before")
    words = ["--baseline", "before", "--processes", "3", "--batches", "3", "--no-snapshot"]
    same = gated(*words, expect=0)
    assert same["verdict"] == "fine" and same["passes"] == 1 and len(same["runs"]) == 1
    assert same["series"][0]["worst_percent"] == pytest.approx(0, abs=0.01)
    (world / "value").write_text("150\n")
    data = gated(*words, "--comment", "comment.md", expect=1)
    assert data["series"][0]["worst_percent"] == pytest.approx(50)
    comment = (world / "comment.md").read_text()
    assert "Regressed" in comment and "+50.0 %" in comment
    gated(*words, "--threshold", "60", expect=0)
    ran("export", "before", "-o", "old.bvz")
    gated("--baseline", "old.bvz", *words[2:], expect=1)
    shown = ran("gate", *words, expect=1).out
    assert "1 regressed" in shown and "Kept as" in shown


def test_behind_a_command_that_installs_the_old_state(world: Path) -> None:
    log = "echo {} >> order; echo {} > value"
    words = ["--baseline", log.format("old", 100), "--install", log.format("new", 100), *WHAT]
    data = gated(*words, expect=0)
    assert len(data["runs"]) == 2
    order = (world / "order").read_text().split()
    assert {"old", "new"} == set(order[:2]) == set(order[2:4]) == set(order[4:6])
    for side, run in zip(("old", "new"), data["runs"], strict=True):
        samples = ran("show", run, "--json").data["series"][0]["samples"]
        assert len(samples) == 9, side
    words[3] = log.format("new", 120)
    assert gated(*words, expect=1)["series"][0]["verdict"] == "regressed"


def test_only_what_is_undecided_is_measured_again(world: Path) -> None:
    """One command prints the same number always, the other one in another order each time."""
    noisy = "n=$(cat n); echo $((n+1)) > n; echo $((100 + n * 37 % 41))"
    (world / "noisy").write_text(noisy)
    (world / "n").write_text("0\n")
    (world / "value").write_text("100\n")
    bench = [
        *("--bench", "command.output:run=cat value,warmup=0"),
        *("--bench", "command.output:run=sh noisy,warmup=0"),
    ]
    ran("run", *bench, "--processes", "2", "--batches", "4", "--no-snapshot", "--label", "old")
    data = gated(
        "--baseline", "old", "--processes", "2", "--batches", "4", "--no-snapshot",
        "--retry", "2", expect=5,
    )  # fmt: skip
    assert data["passes"] == 3 and data["verdict"] == "undecided"
    again = [len(ran("show", run, "--json").data["series"]) for run in data["runs"]]
    assert again == [2, 1, 1]
    verdicts = {s["key"].partition("run=")[2]: s["verdict"] for s in data["series"]}
    assert verdicts == {"cat value,warmup=0": "fine", "sh noisy,warmup=0": "undecided"}


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (["gate"], "needs a --baseline", 2),
        (["gate", "--baseline", "nothing"], "no runs in", 2),
        (["gate", "--baseline", "false", "--install", "true", *WHAT], "'false' failed on", 1),
        (["gate", "--baseline", "none.bvz"], "cannot be read", 2),
        (["gate", "--baseline", "x", "--comment", "no/where.md"], "where.md", 2),
    ],
)
def test_mistakes_are_told(world: Path, words: list[str], says: str, code: int) -> None:
    assert says in ran(*words, expect=code).err
