"""A small sample of ``python -m benchmarks.hostile``, and that it finds what it looks for."""

from __future__ import annotations

import random
import resource
from itertools import islice
from pathlib import Path

import pytest
import skips

from benchmarks.hostile import commands, seeds, workbench
from benchmarks.hostile.damage import damaged
from benchmarks.hostile.outcomes import Answer, Outcome, Outcomes
from benchmarks.hostile.queries import queries

skips.need_decoder()


def test_the_same_seed_makes_the_same_queries_and_files() -> None:
    assert list(islice(queries(7), 300)) == list(islice(queries(7), 300))
    assert list(islice(queries(7), 300)) != list(islice(queries(8), 300))
    content = bytes(range(256)) * 8
    made = [damaged(content, random.Random(seed)) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_every_kind_of_query_comes_up_and_fits_the_workbench() -> None:
    made = list(islice(queries(1), 1000))
    assert len({kind for kind, _ in made}) == 12
    assert all(len(sql) <= 20_000 for kind, sql in made if kind in ("nesting", "literal"))


def test_whole_files_are_read_by_the_commands_that_damaged_ones_go_to(tmp_path: Path) -> None:
    """Else a damaged one would be refused for another reason than its damage."""
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_bytes(seeds.snapshot())
    for name, content in seeds.others().items():
        file = tmp_path / f"0-{name}"
        file.write_bytes(content)
        answer, memory = commands.read_file(file, snapshot)
        if name == "rig.yaml":  # no board is spoken to: one that there is not is asked for
            assert "there is no board 'no-such-board'" in answer.text
        else:
            assert answer == Answer(Outcome.ANSWERED), (name, answer)
        # as a child of this process, whose memory it begins with
        assert 0 < memory < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + (1 << 30)


def test_damaged_files_are_refused_with_a_sentence(tmp_path: Path) -> None:
    chance = random.Random(3)
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_bytes(seeds.snapshot())
    for name, content in seeds.others().items():
        file = tmp_path / f"1-{name}"
        file.write_bytes(damaged(content, chance))
        answer, _ = commands.read_file(file, snapshot)
        assert answer.outcome is not Outcome.BAD, (name, answer.text)


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, b"", Outcome.ANSWERED),
        (400, b'{"error": {"message": "not SQL", "remedy": ""}}', Outcome.REFUSED),
        (503, b'{"error": {"message": "this takes longer than 30 s"}}', Outcome.DIED),
        (422, b'{"error": {"message": "t.dat became shorter while it was read"}}', Outcome.DIED),
        (422, b'{"error": {"message": "reading t.dat broke the reader"}}', Outcome.BAD),
        (400, b'{"error": {"message": "it failed: Traceback (most recent"}}', Outcome.BAD),
        (500, b'{"error": {"message": "this page broke"}}', Outcome.BAD),
        (400, b'{"error": {"message": ""}}', Outcome.BAD),
        (400, b"<html>", Outcome.BAD),
    ],
)
def test_an_answer_is_one_or_a_sentence(status: int, body: bytes, outcome: Outcome) -> None:
    assert workbench.judged(status, body).outcome is outcome


@pytest.mark.parametrize(
    ("code", "text", "outcome"),
    [
        (0, "", Outcome.ANSWERED),
        (1, "benchvise: x is damaged: copy it again\n", Outcome.REFUSED),
        (1, "", Outcome.BAD),
        (1, "Traceback (most recent call last):\n", Outcome.BAD),
        (70, "benchvise: x\n", Outcome.BAD),
        (-11, "", Outcome.BAD),
    ],
)
def test_a_command_ends_well_or_with_a_sentence(code: int, text: str, outcome: Outcome) -> None:
    assert commands.judged(code, text).outcome is outcome


def test_what_is_bad_is_counted_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = Outcomes()
    outcomes.add("x", Answer(Outcome.ANSWERED), "SELECT 1")
    outcomes.add("x", Answer(Outcome.BAD, "500: broke"), "SELECT 2")
    assert (outcomes.total(), outcomes.total(Outcome.BAD)) == (2, 1)
    assert "SELECT 2" in capsys.readouterr().out
