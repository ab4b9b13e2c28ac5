"""What a diagnosis logs while it goes on, and what a reader makes of it at any time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from why_bench import MemoryBench, diagnose, losses

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.why import progress_log
from benchvise.why.events import Event, ExperimentBegun, StageBegun
from benchvise.why.model import Diagnosis, DiagnosisVerdict, Purpose, Side
from benchvise.why.progress_log import FILE, CurrentQuestion, ProgressWriter


def begun(found: Diagnosis) -> Diagnosis:
    return Diagnosis(
        metric=found.metric,
        good=found.good,
        bad=found.bad,
        verdict=DiagnosisVerdict.INCOMPLETE,
        headline="Why is bad worse than good?",
        started=found.started,
        seed=found.seed,
    )


@pytest.fixture(scope="module")
def seen() -> tuple[Diagnosis, list[Event]]:
    events: list[Event] = []
    found = diagnose(MemoryBench(("a", "b", "c", "d"), losses(b=0.7)), events=events)
    return found, events


def log(directory: Path, seen: tuple[Diagnosis, list[Event]]) -> ProgressWriter:
    found, events = seen
    writer = ProgressWriter(directory, begun(found), lambda: 2.5, lambda: found.writes)
    for event in events:
        writer.observe(event)
    return writer


def test_what_is_logged_is_what_was_found(
    tmp_path: Path, seen: tuple[Diagnosis, list[Event]]
) -> None:
    found = seen[0]
    writer = log(tmp_path, seen)
    so_far = progress_log.read(tmp_path)
    assert so_far.running and not so_far.ended
    assert so_far.stage == "explaining the causes"
    document, logged = encode(found), encode(so_far.diagnosis)
    for name in ("metric", "gap", "experiments", "causes", "suspects", "excluded", "writes"):
        assert logged[name] == json.loads(json.dumps(document[name])), name
    assert len(so_far.diagnosis.trials) == len(found.trials)
    writer.end(found, "0123456789ab")
    writer.close()
    after = progress_log.read(tmp_path)
    assert (after.running, after.ended, after.identity) == (False, True, "0123456789ab")
    assert after.lines == so_far.lines + 1
    assert progress_log.size(tmp_path) == (tmp_path / FILE).stat().st_size


def test_the_question_of_now(tmp_path: Path, seen: tuple[Diagnosis, list[Event]]) -> None:
    writer = ProgressWriter(tmp_path, begun(seen[0]), lambda: 1.0, tuple)
    writer.observe(ExperimentBegun(Purpose.REPAIR, "does b do it?", Side.BAD, 5, 9))
    asked = progress_log.read(tmp_path).question
    assert asked == CurrentQuestion("does b do it?", Side.BAD, 0, 10)
    writer.close()
    # Killed, or the machine went down: nobody tells any more, and it did not end.
    stopped = progress_log.read(tmp_path)
    assert not stopped.running and not stopped.ended


def test_a_line_that_is_being_written_is_left_for_later(
    tmp_path: Path, seen: tuple[Diagnosis, list[Event]]
) -> None:
    log(tmp_path, seen).close()
    whole = progress_log.read(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"event":"trial","at":3.0,"tri')
    assert progress_log.read(tmp_path).lines == whole.lines


@pytest.mark.parametrize(
    "content",
    [b"", b"nothing\n", b"[]\n", b'{"event":"begun","at":0,"format":99}\n', b"\xff\n", b"null\n"],
)
def test_what_is_no_progress_log_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(UsageError, match="not what this version writes"):
        progress_log.read(tmp_path)


def test_a_disk_that_is_full_disturbs_nothing(
    tmp_path: Path, seen: tuple[Diagnosis, list[Event]]
) -> None:
    (tmp_path / FILE).symlink_to("/dev/full")
    writer = log(tmp_path, seen)
    writer.observe(StageBegun(seen[1][0].stage))  # type: ignore[union-attr]
    writer.close()


def test_two_logs_and_a_directory_without_one(
    tmp_path: Path, seen: tuple[Diagnosis, list[Event]]
) -> None:
    for name in ("2026a", "2026b", "empty"):
        (tmp_path / name).mkdir()
    log(tmp_path / "2026a", seen).close()
    log(tmp_path / "2026b", seen).close()
    assert [one.name for one in progress_log.logged_directories(tmp_path)] == ["2026b", "2026a"]
    assert progress_log.logged_directories(tmp_path / "missing") == []
    with pytest.raises(UsageError, match="cannot be read"):
        progress_log.read(tmp_path / "empty")
