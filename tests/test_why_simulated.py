"""The whole diagnosis on simulated boards: one scenario of each class and some more, scored.

``python -m benchmarks.why`` does the same by the hundred; here it is a few that are known to be
right, so that a change that breaks a stage is seen at once.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.why import classes, simulated
from benchmarks.why.__main__ import main
from benchmarks.why.diagnoser import diagnose
from benchmarks.why.score import Result

# Where seed 2 has a part that is left and cannot be told from noise.
SEEDS = {"with rest": 3}


def run(kind: str, seed: int, keep: Path | None = None) -> Result:
    return simulated.run(classes.draw(classes.kind_of(kind), seed), diagnose, keep)


@pytest.mark.parametrize("kind", [kind.name for kind in classes.KINDS])
def test_a_diagnosis_of_each_class_is_right(kind: str) -> None:
    result = run(kind, SEEDS.get(kind, 2))
    assert result.problems == ()
    assert result.is_restored
    assert result.hit is not False


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_diagnosis_that_was_killed_goes_on(seed: int) -> None:
    result = run("killed", seed)
    assert result.problems == ()
    assert result.hit


def test_the_same_seed_gives_the_same_answer(tmp_path: Path) -> None:
    answers = []
    for name in ("one", "again"):
        run("one", 5, tmp_path / name)
        answers.append(json.loads((tmp_path / name / "diagnosis.json").read_text()))
    assert answers[0] == answers[1]


def test_scores_are_printed_and_bars_decide_the_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--only", "no difference/1", "--only", "reversed/1"]) == 0
    shown = capsys.readouterr()
    assert "1/2 no difference/1: right" in shown.err
    assert "state restored" in shown.out


def test_a_class_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "ghosts"])
    assert "there is no class ghosts" in capsys.readouterr().err
