"""The page of the lab: the last day of each board, its health, and how much it was used."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from store_places import begin_process
from web_client import Client

from benchvise.measure.model import RunStatus
from benchvise.store import RunActivity, Store
from benchvise.web.pages.lab import night_of, utilisation

ATTACK = "<script>document.body.dataset.attacked=1</script>\u202e"
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def activity(begin_h: float, end_h: float | None, **others: object) -> RunActivity:
    """A run so many hours before now; without an end it is not over, or nobody knows."""
    ago = [
        None if hours is None else (NOW - timedelta(hours=hours)).isoformat()
        for hours in (begin_h, end_h)
    ]
    run = RunActivity("a", "", "b", "s", RunStatus.COMPLETE, str(ago[0]), ago[1], False)
    return replace(run, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("runs", "hours"),
    [
        ([], 0.0),
        ([activity(6, 3)], 3.0),
        ([activity(6, 3), activity(5, 2), activity(4, 3.5)], 4.0),  # overlapping: once
        ([activity(30, 22)], 2.0),  # begun before
        ([activity(40, 30)], 0.0),
        ([activity(1, None, status=RunStatus.RUNNING)], 1.0),
        ([activity(9, None, status=RunStatus.INTERRUPTED)], 0.0),  # killed: nobody knows when
    ],
)
def test_utilisation_counts_time_once(runs: list[RunActivity], hours: float) -> None:
    assert utilisation(runs, NOW, DAY) == pytest.approx(hours / 24)


def test_a_night_is_as_its_worst_run() -> None:
    good = activity(3, 2, id="g", tags=("nightly-good",))
    plain = activity(4, 3, id="p")
    failed = activity(5, 4, id="f", status=RunStatus.FAILED)
    regressed = activity(6, 5, id="r", tags=("mine", "nightly-regressed"))
    assert night_of([]) == ("not measured", None)
    assert night_of([good]) == ("good", "g")
    assert night_of([good, plain]) == ("measured", "p")
    assert night_of([good, plain, failed]) == ("failed", "f")
    assert night_of([good, failed, regressed]) == ("regressed", "r")


def test_the_table_has_every_board_the_worst_first(tmp_path: Path) -> None:
    url = str(tmp_path / "runs.db")
    with Store.open(url) as store:
        fine, _ = begin_process(store)
        store.end_run(fine, RunStatus.COMPLETE)
        bad = store.begin_run("night", f"ssh://{ATTACK}", "quick", 1, {}, {}, True, [])
        store.tag(bad, ["nightly-regressed"])
        store.end_run(bad, RunStatus.COMPLETE)
        store.watches.begin("ssh://watched", simulated=False)
    client = Client.of(store=url)
    document = client.get("/lab.json").data
    boards = document["boards"]
    assert [board["night"] for board in boards] == ["regressed", "measured", "not measured"]
    assert boards[0]["run"] == bad
    assert boards[0]["simulated"]
    assert [boards[1]["name"], boards[2]["name"]] == ["local", "ssh://watched"]
    assert boards[2]["seen"] is None
    assert (document["measured"], document["regressed"], document["failed"]) == (2, 1, 0)
    text = client.get("/lab").text
    assert f"/runs/{bad}" in text
    assert "<script>document" not in text and "\u202e" not in text
    assert 'href="/lab"' in client.get("/boards").text


def test_an_empty_lab_says_what_would_be_there(tmp_path: Path) -> None:
    assert "No board yet" in Client.of(store=str(tmp_path / "runs.db")).get("/lab").text
