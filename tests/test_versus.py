"""Commands side by side on this machine, with the real probe."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from in_process import Ran, benchvise

from benchvise.cli.json_kinds import document_schema, json_kinds
from benchvise.errors import UsageError
from benchvise.measure.compare import SeriesVerdict
from benchvise.measure.model import Sample, SeriesSpec
from benchvise.measure.versus import (
    CommandVariant,
    MeasuredCommand,
    VersusRequest,
    VersusResult,
    _rounds,
    _series,
    blocks,
    compare_commands,
    scan,
    variants,
)
from benchvise.report.rendering import table_markdown
from benchvise.report.versus import EXPORTS, outcome, verdict_table, versus_document

QUICK = ("--no-snapshot", "--runs", "2", "--warmup", "0")


def run(*words: str | Path, expect: int = 0, cwd: Path | None = None) -> Ran:
    ran = benchvise("versus", *words, cwd=cwd)
    assert ran.code == expect, ran.out + ran.err
    return ran


# -- around and between the runs -------------------------------------------------------------------


def test_everything_happens_in_its_turn(tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = [f"echo run {name} >> {log}" for name in "abc"]
    for option in ("setup", "prepare", "conclude", "cleanup"):
        for name in "abc":
            words += [f"--{option}", f"echo {option} {name} >> {log}"]
    run(*words, "--no-snapshot", "--runs", "6", "--warmup", "1", "--seed", "7")
    lines = log.read_text().splitlines()
    assert lines[:3] == ["setup a", "setup b", "setup c"]
    assert lines[-3:] == ["cleanup a", "cleanup b", "cleanup c"]
    around = lines[3:-3]
    assert len(around) == 3 * 3 * 7
    names = []
    for at in range(0, len(around), 3):
        name = around[at].split()[1]
        assert around[at : at + 3] == [f"prepare {name}", f"run {name}", f"conclude {name}"]
        names.append(name)
    assert names[:3] == ["a", "b", "c"], "each is warmed up"
    rounds = ["".join(names[at : at + 3]) for at in range(3, len(names), 3)]
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds)
    assert len(set(rounds)) > 1, "in an order drawn for each round"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["false", "true"], "'false' failed (exit 1)"),
        (["true", "true  "], ""),
        (["no-such-program-here", "true"], "not to be found"),
        (["true", "true #", "--prepare", "echo why >&2; exit 9"], "failed on local (exit 9): why"),
        (["sleep 60", "true", "--timeout", "1"], "did not end within 1 s"),
    ],
)
def test_a_failure_is_told_and_cleaned_up(words: list[str], says: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    ran = run(
        *words, *QUICK, "--setup", f"touch {kept}", "--cleanup", f"rm {kept}; true",
        expect=1 if says else 0,
    )  # fmt: skip
    assert says in ran.err
    assert not kept.exists()
    if "failed (exit 1)" in says:
        assert "--ignore-failure" in ran.err


def test_failures_can_be_timed() -> None:
    for shell in ((), ("--shell", "sh -e"), ("-N",)):
        command = "false" if shell == ("-N",) else "exit 3"
        data = run(command, "true", *QUICK, "-i", "--json", *shell).data
        assert [c["summary"]["n"] for c in data["commands"]] == [2, 2]


def test_without_a_shell_words_are_words(tmp_path: Path) -> None:
    run("touch 'a b' $x *", "true", *QUICK, "-N", cwd=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"a b", "$x", "*"}


def test_a_shell_of_ones_own(tmp_path: Path) -> None:
    run(f"echo $BASH_VERSION > {tmp_path}/v", "true", *QUICK, "-S", "bash")
    assert (tmp_path / "v").read_text().strip()


def test_parameters_and_exports(tmp_path: Path) -> None:
    exports = [w for k in ("json", "csv", "markdown") for w in (f"--export-{k}", f"{k}.out")]
    ran = run(
        "test {n} -lt 5 # {word}", *QUICK, "-P", "n=1..2", "-L", "word==a,|b", "--json", *exports,
        cwd=tmp_path,
    )  # fmt: skip
    document = json.loads(ran.out)
    jsonschema.validate(document, document_schema("versus", json_kinds()["versus"]))
    commands = document["data"]["commands"]
    assert [c["parameters"] for c in commands] == [
        {"word": word, "n": n} for word in ("=a", "|b") for n in "12"
    ]
    assert len(document["data"]["comparisons"]) == 3
    exported = json.loads((tmp_path / "json.out").read_text())["results"]
    for result, command in zip(exported, commands, strict=True):
        assert result["command"] == command["command"]
        assert result["times"] == [pytest.approx(t * 1e-9) for t in command["times_ns"]]
        assert result["min"] <= result["median"] <= result["max"]
        assert result["mean"] == pytest.approx(sum(result["times"]) / 2)
        assert result["parameters"] == command["parameters"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "csv.out").read_text())))
    assert [row["parameter_word"] for row in rows] == ["'=a", "'=a", "|b", "|b"]
    assert {"command", "mean", "stddev", "median", "user", "system", "min", "max"} < set(rows[0])
    assert "\\|b" in (tmp_path / "markdown.out").read_text()


def test_an_export_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    ran = run(f"touch {tmp_path}/ran", "true", "--export-csv", tmp_path / "no" / "x.csv", expect=2)
    assert "x.csv" in ran.err and not (tmp_path / "ran").exists()


# -- what is measured ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (VersusRequest(("true",)), "nothing to be compared with"),
        (VersusRequest(("true", "true")), "given twice"),
        (VersusRequest(("true", " ")), "empty"),
        (VersusRequest(("a", "b", "c"), prepare=("x", "y")), "2 times --prepare for 3 commands"),
        (VersusRequest(("a", "b"), names=("x",)), "1 times --name for 2 commands"),
        (VersusRequest(("a", "b"), names=("x", "x")), "same --name"),
        (VersusRequest(("a", "b"), parameters={"n": ("1",)}), "parameter n is in no command"),
        (VersusRequest(("a 'b", "c"), shell=""), "cannot be started without a shell"),
    ],
)
def test_requests_that_make_no_sense(request_: VersusRequest, says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("--", "--")):
        variants(request_)


def test_names_with_parameters_are_told_apart() -> None:
    request = VersusRequest(("a {n}", "b"), ("x", "y {n}"), {"n": ("1", "2")}, prepare=("p {n}",))
    found = variants(request)
    assert [v.name for v in found] == ["x (n=1)", "x (n=2)", "y 1", "y 2"]
    assert [v.line for v in found] == ["a 1", "a 2", "b", "b"]
    assert [v.prepare for v in found] == ["p 1", "p 2"] * 2


def test_scans() -> None:
    assert scan("n=1..3") == ("n", ("1", "2", "3"))
    assert scan("x=0.5..1.5/0.5") == ("x", ("0.5", "1.0", "1.5"))
    assert scan("x=-1..1/2") == ("x", ("-1", "1"))
    for wrong in ("n", "n=1", "n=3..1", "n=1..2/0", "=1..2", "n=1..x", "n=1..1e9", "n=NaN..1"):
        with pytest.raises(UsageError):
            scan(wrong)


def test_how_often() -> None:
    assert _rounds([1e9, 3e9]) == 15
    assert _rounds([1e7, 1e7]) == 300
    assert _rounds([1.0]) == 1000
    for runs in range(2, 60):
        sizes = blocks(runs)
        assert sum(sizes) == runs and max(sizes) - min(sizes) <= 1
        assert 2 <= len(sizes) <= 5


# -- verdicts and exports --------------------------------------------------------------------------


def made(name: str, values: Sequence[float]) -> MeasuredCommand:
    samples = [Sample(0, value, {"detail": {"user_ns": 5, "sys_ns": 2}}) for value in values]
    spec = SeriesSpec("command.time", (), name)
    return MeasuredCommand(CommandVariant(name, name, name), _series(spec, {}, samples))


def result_of(*measured: MeasuredCommand) -> VersusResult:
    return VersusResult("local", False, 1, measured, tuple(compare_commands(measured)), ())


def times(level: float, seed: int, noise: float = 0.01) -> list[float]:
    g = np.random.default_rng(seed)
    return list(level * np.exp(g.normal(0, noise, 20)))


def test_a_difference_is_called_one_only_where_it_is() -> None:
    base = made("a", times(1e8, 1))
    result = result_of(base, made("b", times(1.5e8, 2)), made("c", times(1e8, 3)),
                       made("d", times(0.5e8, 4)))  # fmt: skip
    verdicts = {c.spec.key: c.verdict for c in result.comparisons}
    assert verdicts == {
        "b": SeriesVerdict.SLOWER, "c": SeriesVerdict.NO_DIFFERENCE, "d": SeriesVerdict.FASTER,
    }  # fmt: skip
    assert outcome(result).startswith("Outcome: d is faster than a, 2.0")
    assert outcome(result_of(base, made("b", times(1.5e8, 2)))).startswith(
        "Outcome: a is faster than b, 1.5"
    )
    assert "no command is shown" in outcome(result_of(base, made("c", times(1e8, 3))))
    assert [row[0].text for row in verdict_table(result).rows] == ["d", "c", "b"]


def test_the_same_command_twice_is_seldom_called_different() -> None:
    wrong = sum(
        result_of(made("a", times(1e8, seed)), made("b", times(1e8, 1000 + seed)))
        .comparisons[0].changed
        for seed in range(200)
    )  # fmt: skip
    assert wrong <= 6


def test_drift_falls_on_both_alike() -> None:
    drift = np.linspace(1, 1.3, 20)
    result = result_of(
        made("a", list(times(1e8, 1) * drift)), made("b", list(times(1.02e8, 2) * drift))
    )
    assert not result.comparisons[0].changed


def test_short_commands_and_hostile_names() -> None:
    result = result_of(made("=a|<b>\x1b[2J", times(1e6, 1)), made("::error::\u202e", times(2e6, 2)))
    document = versus_document(result)
    assert any("starting sh is a part" in remark for remark in document.remarks)
    for write in EXPORTS.values():
        text = write(document, result)
        assert "\x1b" not in text and "\u202e" not in text
    assert "<b>" not in table_markdown(verdict_table(result)).replace("\\<", "")
    exported: Any = csv.reader(io.StringIO(EXPORTS["csv"](document, result)))
    assert list(exported)[1][0].startswith("'=")
