"""Evidence of a run on the clock of its trace: what lies where, and why something cannot."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_runs import demonstration_run
from web_client import Client
from web_store import keep_run

from benchvise.health.model import WatchedKind
from benchvise.health.watch.history import History, WatchedMetric, WatchSpan
from benchvise.health.watch.tracker import SensorRange, WatchedChange
from benchvise.measure.model import ProcessRecord, RunRecord, Sample
from benchvise.report import evidence_tracks as module
from benchvise.report.evidence_tracks import EvidenceTrack, RecordedClock, evidence_tracks
from benchvise.store import Store
from benchvise.web.file_index import key_of

TRACE = Path(__file__).parents[1] / "data" / "traces" / "small.dat"
MONO = RecordedClock("mono", 1_000, 50_000_000_000)


def sample(index: int, start: object, **evidence: Any) -> Sample:
    around = {
        "start_ns": start,
        "window_ns": 500,
        "cpu": 1,
        "clock_before_hz": 2e9,
        "clock_after_hz": 1.5e9,
        "temperature_mc": {"na": "no thermal zone"},
        "wait_ns": 250,
    }
    return Sample(index, 10.0 + index, {**around, **evidence})


def run_of(*samples: Sample, board: str = "local") -> RunRecord:
    whole = demonstration_run()
    process = ProcessRecord(0, {}, samples, complete=True)
    return replace(whole, board=board, series=(replace(whole.series[0], processes=(process,)),))


def by_name(tracks: list[EvidenceTrack]) -> dict[str, EvidenceTrack]:
    return {track.name: track for track in tracks}


def test_samples_lie_where_their_trace_has_them_in_order_of_time() -> None:
    run = run_of(sample(0, 9_000), sample(1, 3_000), sample(2, 3_200))
    tracks = by_name(evidence_tracks(run, MONO))
    values = tracks[run.series[0].spec.key]
    # One that began before the other was over ends there.
    assert (values.begin, values.end) == ((2_000, 2_200, 8_000), (2_200, 2_700, 8_500))
    assert values.low == values.high == (11.0, 12.0, 10.0)
    clock = tracks["CPU clock"]
    assert (clock.unit, clock.low[0], clock.high[0]) == ("Hz", 1.5e9, 2e9)
    assert tracks["waited for the CPU"].high == (50.0, 50.0, 50.0)
    assert tracks["temperature"].reason == "no thermal zone" and not tracks["temperature"].begin


@pytest.mark.parametrize(
    ("recorded", "epoch", "origin", "fault"),
    [
        ({"begin": {"clock": "mono"}, "end": {"wall_offset_ns": 700}}, 0, 300, ""),
        ({"begin": {"clock": "mono"}, "end": {"wall_offset_ns": 700}}, None, 1000, ""),
        ({"begin": {"clock": "mono"}, "end": {}}, None, 1000, ""),
        ({"begin": {"clock": "mono"}, "end": {"wall_offset_ns": {"na": "?"}}}, 0, None, "wall"),
        ({"begin": {"clock": "boot"}, "end": {}}, None, 1000, "has the clock boot"),
        ({"begin": [], "end": "x"}, None, 1000, "does not name its clock"),
        ({}, None, 1000, "does not name its clock"),
    ],
)
def test_clocks_are_lined_up_or_it_is_said_why_not(
    recorded: dict[str, Any], epoch: int | None, origin: int | None, fault: str
) -> None:
    clock = RecordedClock.of(recorded, 1000, epoch)
    assert clock.origin == origin
    assert fault in clock.fault and bool(fault) == bool(clock.fault)
    values = evidence_tracks(run_of(sample(0, 2_000)), clock)[-1]
    assert values.reason == clock.fault
    assert bool(values.begin) == (not fault)


def test_what_has_no_time_of_the_board_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    outside = sample(0, 20_000_000, cpu={"na": "measured from outside the board"})
    assert "/proc/uptime" in evidence_tracks(run_of(outside), MONO)[-1].reason
    for start in ({"na": "?"}, None, "soon", float("nan")):
        assert "when they began" in evidence_tracks(run_of(sample(0, start)), MONO)[-1].reason
    assert evidence_tracks(run_of(), MONO) == []
    monkeypatch.setattr(module, "MOST_LINES", 1)
    many = evidence_tracks(run_of(sample(0, 1), sample(1, 2)), MONO)[-1]
    assert "too many" in many.reason and not many.begin


def health() -> History:
    """The trace's clock is 50 s behind the wall clock of its machine."""
    rose = WatchedChange("errors", 50.000_002, 50.000_003, 5.0, 2.0)
    spans = (
        WatchSpan(50.0, 50.000_004, 3, 1.0, "", "", None),
        WatchSpan(50.000_006, 60.0, 3, 1.0, "", "", None),
    )
    metrics = (
        WatchedMetric(
            "soc",
            WatchedKind.SENSOR,
            "°C",
            ranges=(SensorRange(50.000_002, 50.000_004, 2, 40, 50, 90),),
        ),
        WatchedMetric("errors", WatchedKind.COUNTER, "", changes=(rose,)),
        WatchedMetric("quiet", WatchedKind.COUNTER, "", changes=(replace(rose, delta=None),)),
    )
    return History("local", False, 50.0, 50.000_010, spans, metrics, ())


def test_what_a_watch_saw_is_beside_them_where_it_has_the_same_clock() -> None:
    here = by_name(evidence_tracks(run_of(sample(0, 2_000)), MONO, health()))
    soc = here["watch: soc"]
    assert (soc.begin, soc.end, soc.low, soc.high) == ((1_000,), (3_000,), (40,), (50,))
    # Only while it was watched.
    assert (here["watch: errors"].begin, here["watch: errors"].end) == (
        (2_000, 5_000),
        (3_000, 9_000),
    )
    assert "watch: quiet" not in here
    far = by_name(evidence_tracks(run_of(sample(0, 2_000), board="rock5b"), MONO, health()))
    assert "nothing compares" in far["watch: soc"].reason and not far["watch: soc"].begin
    unknown = replace(MONO, wall_offset=None)
    no_wall = by_name(evidence_tracks(run_of(sample(0, 2_000)), unknown, health()))
    assert "wall clock" in no_wall["watch: soc"].reason


def test_the_workbench_answers_of_a_trace_of_a_run(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    run = run_of(sample(0, 9_000_000_000_123))
    run_id = keep_run(store, run)
    (tmp_path / "traces").mkdir()
    alone = Path(shutil.copy(TRACE, tmp_path / "traces" / "alone.dat"))
    with Store.open(store) as opened:
        path = opened.trace_file(run_id)
        shutil.copy(TRACE, path)
        recorded = {"begin": {"clock": "mono"}, "end": {"wall_offset_ns": 7}}
        opened.attach(run_id, "trace", json.dumps(recorded).encode())
    client = Client.of(store=store, traces=(tmp_path / "traces",), no_token=True)
    at = f"/traces/{key_of(path)}/evidence.json"
    data = client.get(f"{at}?origin=9000000000007&epoch=0").data
    assert data["run"] == run_id
    assert data["tracks"][-1]["begin"] == [123]
    assert client.get(f"/traces/{key_of(alone)}/evidence.json?origin=0").data == {
        "run": None, "tracks": [],
    }  # fmt: skip
    for query in ("", "?origin=1e5", "?origin=5&epoch=x", f"?origin={'9' * 30}"):
        assert client.get(at + query, accept="application/json").status == 400
