"""What stored runs of one state say of a change that a comparison claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import benchvise
from report_runs import other_run, series, spec

from benchvise.flows.results import compare
from benchvise.measure.equal_runs import EqualRuns
from benchvise.measure.model import RunRecord
from benchvise.report.tables import chance_remarks
from benchvise.state.model import Snapshot, StateEntry
from benchvise.store import Store
from benchvise.store.results_file import TravellingRun

KEY = "memory.copy:size=64M"


def run(number: int, gigabytes: float, *, tag: str = "", board: str = "local") -> RunRecord:
    copied = series(spec("memory.copy", size="64M"), gigabytes * 1e9, seed=1)
    return other_run(
        id=f"{number:012x}",
        label=tag or f"r{number}",
        board=board,
        suite="quick",
        started=f"2026-03-14T10:{number:02}:00+00:00",
        series=(copied,),
        plan={},
    )


def snapshot(swappiness: int, board: str = "local") -> Snapshot:
    entry = StateEntry("vm.swappiness", "", value=swappiness)
    taken = "2026-03-14T10:00:00+00:00"
    return Snapshot(board, taken, "b", "root", settings=(entry,), observations=())


def stored(place: Path, runs: Sequence[tuple[RunRecord, int | None]]) -> str:
    url = str(place / "store.db")
    with Store.open(url) as store:
        for record, state in runs:
            seen = {} if state is None else {"before": snapshot(state, record.board)}
            store.take_in([TravellingRun(record, seen)])  # type: ignore[arg-type]
    return url


def test_what_chance_did_before_is_counted(tmp_path: Path) -> None:
    """Between runs of one state; not across the change itself, other states or other boards."""
    url = stored(
        tmp_path,
        [
            (run(1, 5.0), 60),
            (run(2, 6.2), 60),  # 24 % by chance
            (run(3, 6.1), 60),
            (run(4, 9.0, board="ssh:other"), 60),
            (run(5, 2.0), 10),  # another state
            (run(6, 6.0), 60),
            (run(7, 5.0), 60),  # 20 %: what is claimed
        ],
    )
    found = compare(url, "r6", "r7")
    assert [c.spec.key for c in found.result.changed] == [KEY]
    assert found.equal_runs == (EqualRuns(KEY, 3, 1),)
    told = " ".join(benchvise("compare", "r6", "r7", "--store", url).out.split())
    assert "in a row differed as much in 1 of 3 pairs" in told
    comment = benchvise("compare", "r6", "r7", "--store", url, "--format", "markdown").out
    assert "in 1 of 3 pairs" in comment
    assert "\u00a0to\u00a0" in comment  # no line ends within an interval
    assert benchvise("compare", "r6", "r7", "--store", url, "--json").data["equal_runs"] == [
        {"key": KEY, "pairs": 3, "as_much": 1}
    ]


def test_both_states_of_a_change_lend_their_runs(tmp_path: Path) -> None:
    url = stored(
        tmp_path,
        [(run(1, 5.0), 60), (run(2, 5.02), 60), (run(3, 7.0), 10), (run(4, 7.03), 10)],
    )
    found = compare(url, "r2", "r3")
    assert found.equal_runs == (EqualRuns(KEY, 2, 0),)
    assert chance_remarks(found.equal_runs) == [
        "chance: two runs of one state in a row never differed as much as these changes do "
        "(2 pairs: too few to tell)"
    ]
    (remark,) = chance_remarks((EqualRuns(KEY, 5, 0),))
    assert remark.endswith("(5 pairs)")


@pytest.mark.parametrize("state", [60, None])
def test_two_runs_alone_are_told_to_be_alone(tmp_path: Path, state: int | None) -> None:
    """So are runs whose state is not known."""
    url = stored(tmp_path, [(run(1, 5.0), state), (run(2, 7.0), state)])
    found = compare(url, "r1", "r2")
    assert found.equal_runs == (EqualRuns(KEY, 0, 0),)
    (remark,) = chance_remarks(found.equal_runs)
    assert "measure one of them again" in remark


def test_nothing_is_said_without_a_change_or_of_runs_that_were_measured_in_turn(
    tmp_path: Path,
) -> None:
    url = stored(tmp_path, [(run(1, 5.0), 60), (run(2, 5.0), 60)])
    assert compare(url, "r1", "r2").equal_runs == ()
    (tmp_path / "turns").mkdir()
    turns = [(replace(run(n, 4.0 + n), plan={"group": "g"}), 60) for n in (1, 2)]
    found = compare(stored(tmp_path / "turns", turns), "r1", "r2")
    assert found.result.changed and found.equal_runs is None
    assert chance_remarks(None) == []
