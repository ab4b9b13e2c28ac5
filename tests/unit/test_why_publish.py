"""The published score: page and program agree, and held-out seeds stay unseen."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from benchmarks.why import classes, held_out, held_out_classes, publish, report
from benchmarks.why.__main__ import main
from benchmarks.why.score import Result
from benchvise.documents import encode
from benchvise.errors import UsageError

RUNS = publish.load()


def test_the_page_is_what_the_program_makes_of_the_figures() -> None:
    assert publish.PAGE.read_text() == publish.page(RUNS), "run make score"


@pytest.mark.parametrize("group", ["simulated", "held-out"])
def test_a_run_of_simulated_boards_has_every_class_and_bar(group: str) -> None:
    run = RUNS[group]
    if run.not_run:
        assert run.not_run in publish.PAGE.read_text()
        return
    known = [kind.name for kind in classes.KINDS]
    assert [score.name for score in run.classes][: len(known)] == known
    own = [kind.name for kind in held_out_classes.KINDS] if group == "held-out" else []
    assert [score.name for score in run.classes][len(known) :] == own
    assert [bar.name for bar in run.bars] == [bar.name for bar in report.bars([])]
    assert run.machine is not None
    assert run.commit


def test_every_column_is_explained_and_has_a_figure() -> None:
    result = Result("one", "one/1", hit=True, is_right=True, ended=True, experiments=6)
    run = publish.summarised([result], range(1, 2))
    (score,) = run.classes
    assert len(publish._row(score)) == len(publish.COLUMNS)
    single = {field.name for field in fields(score)} - {"name", "coverage"}
    assert single <= set(publish.COLUMNS)
    assert {c.what for c in score.coverage} <= set(publish.COLUMNS)
    assert (score.plants, score.counted, score.hits, score.misses) == (1, 1, 1, 0)
    text = publish.page({**RUNS, "real": run, "virtual": publish.not_run("no time")})
    assert "| one | 1 | 1 | 1 | 0 | 0 | 1 | 1 | 6 | — | — | — |" in text
    assert re.search(r"Not run on \d{4}-\d\d-\d\d: no time\.", text)


def test_what_is_left_out_is_a_plant_that_is_not_counted() -> None:
    results = [Result("real", "a", hit=False, left_out="too small"), Result("real", "b", hit=False)]
    (score,) = publish.summarised(results).classes
    assert (score.plants, score.counted, score.misses) == (2, 1, 1)


def test_a_held_out_seed_is_drawn_in_its_one_run_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = tmp_path / "held-out.json"
    published.write_text(json.dumps(encode(publish.not_run("not yet"))))
    monkeypatch.setattr(held_out, "PUBLISHED", published)
    block = held_out.next_block()
    assert block == range(900_000, 901_000)
    # Any class will do, as nothing may be drawn: also in this test none is.
    with pytest.raises(UsageError, match="held out"):
        classes.draw(classes.KINDS[0], block.start)
    with held_out.opening(block):
        held_out.check(block.start)
        with pytest.raises(UsageError, match="held out"):
            held_out.check(block.stop)
    spent = publish.summarised([Result("one", "one/1")], block)
    published.write_text(json.dumps(encode(spent)))
    held_out.check(block[-1])
    assert held_out.next_block().start == 901_000
    with pytest.raises(UsageError, match="held out"):
        held_out.check(901_000)


def test_no_scenario_of_the_bench_is_of_a_held_out_class() -> None:
    names = {kind.name for kind in held_out_classes.KINDS}
    assert not names & {kind.name for kind in classes.KINDS}
    assert not names & {kind.name for kind, _ in classes.scenarios(300, 1)}


def test_a_part_of_the_bench_is_not_published(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "one/1", "--publish"])
    assert "a part of the bench is not published" in capsys.readouterr().err
