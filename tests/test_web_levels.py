"""The timeline's part of the workspace API, on a real trace."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skips
from trace_data import trace
from waiting import PATIENCE
from web_client import Answer, Client

from benchvise.trace.loaded import LoadedTrace, load_trace
from benchvise.web.file_index import indexed_file, key_of
from benchvise.web.readers.process import create_reader
from benchvise.web.timeline import TimelinePart
from benchvise.web.workspace import served

skips.need_decoder()


class Workspace:
    """A trace in the workbench."""

    def __init__(self, client: Client, path: Path) -> None:
        self.client = client
        self.path = path

    def ask(self, what: str, **headers: str) -> Answer:
        return self.client.get(f"/api/traces/{key_of(self.path)}/{what}", **headers)

    def json(self, what: str) -> Any:
        answer = self.ask(what)
        assert answer.status == 200, answer.body
        return answer.json


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = tmp_path_factory.mktemp("traces")
    path = root / "f100k.dat"
    shutil.copy(trace("f100k"), path)
    client = Client.of(traces=(root,), store=str(root / "store.db"))
    yield Workspace(client, path)
    client.app.state.context.close()


@pytest.fixture(scope="module")
def loaded() -> LoadedTrace:
    return load_trace(trace("f100k"), cache=False)


def test_info_says_what_it_is_and_what_to_beware_of(
    workspace: Workspace, loaded: LoadedTrace
) -> None:
    info = workspace.json("info")
    whole = loaded.analysis.whole
    assert info["origin"] == str(whole.begin) and info["duration"] == whole.end - whole.begin
    assert info["events"] == loaded.trace.events
    assert info["name"] == "f100k.dat"
    assert info["cautions"] == list(loaded.cautions)
    assert info["states"][0] == "running"
    assert "sched_switch" in info["event_types"]
    # It describes calls of functions, and has none.
    assert "funcgraph_entry" in info["event_types"] and info["call_kinds"] == []
    # Idle CPUs have no row that could name them.
    assert sorted(info["idle_actors"].values()) == ["idle/0", "idle/1"]
    assert str(workspace.path.parent) not in str(info)


def test_rows_levels_and_items_belong_together(workspace: Workspace, loaded: LoadedTrace) -> None:
    info, rows = workspace.json("info"), workspace.json("rows")
    assert [row["id"] for row in rows] == list(range(len(rows)))
    assert {row["kind"] for row in rows} == {"cpu", "irq", "softirq", "thread"}
    duration = info["duration"]
    answer = workspace.ask(f"levels?begin=0&end={duration}&width=2000&rows=0-59")
    table = answer.table
    names = ["row", "begin", "end", "actor", "state", "count", "ran"]
    assert table.column_names == names
    assert set(table["row"].to_pylist()) <= set(range(60))
    pixel = 1 << (duration // 2000).bit_length() - 1
    buckets = table["begin"].to_numpy() // pixel
    for row in (0, 1, 20):
        mine = buckets[table["row"].to_numpy() == row]
        # Five of a bucket, and one that covers the next bucket and stands for that one.
        assert np.unique(mine, return_counts=True)[1].max() <= 6
        assert mine.size <= 5 * (duration // pixel) + 2
    for entry in table.slice(0, 2000).to_pylist()[::50]:
        middle = int((entry["begin"] + entry["end"]) // 2)
        told = workspace.json(f"item?row={entry['row']}&t={middle}")
        assert told["item"]["actor"]["id"] == entry["actor"]
        assert (told["item"]["begin"], told["item"]["end"]) == (entry["begin"], entry["end"])
        assert told["item"]["state"] == info["states"][entry["state"]]


def test_an_item_of_a_handler_is_its_instance(workspace: Workspace, loaded: LoadedTrace) -> None:
    analysis = loaded.analysis
    origin = analysis.whole.begin
    row = next(row for row in workspace.json("rows") if row["kind"] == "softirq")
    fits = (analysis.instances["actor"] == row["actor"]) & (analysis.instances["cpu"] == row["cpu"])
    assert row["instances"] == int(fits.sum())
    for instance in np.flatnonzero(fits)[:5]:
        begin = int(analysis.instances["begin"][instance]) - origin
        told = workspace.json(f"item?row={row['id']}&t={begin}")
        assert told["instance"]["instance"] == instance
        assert told["instance"]["begin"] == begin
        assert told["instance"]["execution"] == int(analysis.instances["execution"][instance])
        names = [event["event"] for event in told["events"]["listed"]]
        assert "softirq_entry" in names and "softirq_exit" in names
        assert told["events"]["count"] >= len(names)


def test_a_click_just_before_an_end_shows_what_ends_there(
    workspace: Workspace, loaded: LoadedTrace
) -> None:
    """Pixels lie between nanoseconds: what shows is what lies under the pointer, not beside it."""
    row = next(row for row in workspace.json("rows") if row["kind"] == "cpu")
    spans, origin = loaded.analysis.fragments, loaded.analysis.whole.begin
    mine = np.flatnonzero(spans["cpu"] == row["cpu"])
    ends, begins = spans["end"][mine] - origin, spans["begin"][mine] - origin
    # Where a thread ends just when another begins: the idle task between them is one, too.
    places = np.intersect1d(ends, begins)[:20]
    assert places.size == 20

    def shown(at: float) -> Any:
        return workspace.json(f"item?row={row['id']}&t={at}")["item"]

    for place in map(int, places):
        before, after = shown(place - 0.5), shown(place)
        assert (before["end"], after["begin"]) == (place, place)
        assert shown(place - 1) == before
        assert shown(place + 0.5) == after


@pytest.mark.parametrize(
    ("begin", "end", "whole"),
    [(10.0, 20.0, (10, 20)), (10.7, 20.0, (10, 20)), (10.2, 10.4, (10, 11)), (-0.5, 0.5, (-1, 0))],
)
def test_a_part_holds_the_nanosecond_in_which_it_begins(
    begin: float, end: float, whole: tuple[int, int]
) -> None:
    assert TimelinePart([0], begin, end, 100).nanoseconds == whole


def test_marks_losses_and_the_mini_map(workspace: Workspace, loaded: LoadedTrace) -> None:
    duration = workspace.json("info")["duration"]
    marks = workspace.ask(f"events?begin=0&end={duration}&width=1000&rows=0-1").table
    assert marks.schema.metadata[b"shown"] == b"all"
    assert sum(marks["count"].to_pylist()) == loaded.trace.events
    assert workspace.json("losses") == []
    overview = workspace.ask("overview?width=300").table
    assert overview.num_rows <= 300
    assert sum(overview["events"].to_pylist()) == loaded.trace.events
    assert overview.schema.metadata[b"cpus"] == b"0,1"
    assert 0 <= min(overview["cpu0"].to_pylist()) <= max(overview["cpu0"].to_pylist()) <= 1


def test_answers_hold_for_the_contents(workspace: Workspace) -> None:
    tag = workspace.json("info")["tag"]
    answer = workspace.ask("rows")
    assert answer.headers["etag"] == f'"{tag}"'
    assert "no-cache" in answer.headers["cache-control"]
    again = workspace.ask("rows", if_none_match=f'"{tag}"')
    assert again.status == 304 and not again.body
    assert "immutable" in workspace.ask(f"rows?v={tag}").headers["cache-control"]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("levels?begin=0&end=100&width=10&rows=x", "rows=x"),
        ("levels?begin=0&end=100&width=10", "rows="),
        ("levels?begin=0&end=100&width=10&rows=1--2", "rows=1--2"),
        ("levels?begin=0&end=100&width=0&rows=1", "width=0"),
        ("levels?begin=0&end=100&width=99999999&rows=1", "width"),
        ("levels?begin=0&end=100&width=16000&rows=0-400", "too many rows"),
        ("levels?begin=nan&end=100&width=10&rows=1", "begin=nan"),
        ("levels?begin=0&end=1e300&width=10&rows=1", "end=1e300"),
        ("levels?begin=7&end=7&width=10&rows=1", "nothing lies between"),
        ("item?row=100000&t=1", "row=100000"),
        ("item?row=-1&t=1", "row=-1"),
        ("item?row=0", "t= is no time"),
        ("overview?width=%3Cb%3E", "width=<b>"),
    ],
)
def test_what_cannot_be_asked_is_said(workspace: Workspace, what: str, says: str) -> None:
    answer = workspace.ask(what)
    assert answer.status == 400
    assert says in answer.json["error"]["message"]


def test_beside_the_trace_there_is_nothing(workspace: Workspace) -> None:
    far = workspace.ask("levels?begin=-1e12&end=-1e11&width=2000&rows=0-3")
    assert far.status == 200 and far.table.num_rows == 0
    assert workspace.json("item?row=0&t=-5")["item"] is None
    assert workspace.client.get("/api/traces/nothing-0123456789/rows").status == 404


def test_a_trace_that_changes_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    shutil.copy(trace("f100k"), path)
    client = Client.of(traces=(tmp_path,), store=str(tmp_path / "store.db"))
    workspace = Workspace(client, path)
    before = workspace.json("info")
    shutil.copy(trace("f1m"), tmp_path / "other")
    (tmp_path / "other").replace(path)
    after = workspace.json("info")
    assert after["tag"] != before["tag"] and after["events"] > before["events"]
    client.app.state.context.close()


def reader(path: Path) -> Client:
    """The reader's application in this process, which knows the one trace."""
    app = create_reader()
    app.state.open_files.traces.learn([indexed_file(path, path.name)], all_of_them=True)
    return Client(app)


def test_it_is_kept_when_nobody_asks_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.dat"
    shutil.copy(trace("f100k"), path)
    monkeypatch.setattr(served, "QUIET_S", 0.2)
    client = reader(path)
    answer = Workspace(client, path).ask("info")
    assert answer.headers["server-timing"].startswith("since-decoded;dur=")
    traces = client.app.state.open_files.served_traces
    assert not traces.get(path).trace.content
    until = time.monotonic() + PATIENCE
    while not traces._places[path].served.trace.content:
        assert time.monotonic() < until
        time.sleep(0.05)
    while not traces._places[path].served.trace.keeping.reused:
        assert time.monotonic() < until
        time.sleep(0.05)
    # What was told before still holds.
    again = Workspace(client, path).ask("info", if_none_match=answer.headers["etag"])
    assert again.status == 304
    parts = {part.name for part in (tmp_path / "t.dat.benchvise-cache").iterdir()}
    assert parts == {"decoded", "scheduling", "usage", "syscalls", "devices", "levels"}
    client.app.state.open_files.close()


def test_a_trace_that_is_deleted_while_it_is_open_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    shutil.copy(trace("f100k"), path)
    client = reader(path)
    assert Workspace(client, path).ask("info").status == 200
    path.unlink()
    answer = Workspace(client, path).ask("info")
    assert answer.status == 422 and "No such file" in answer.text
    client.app.state.open_files.close()
    assert list(tmp_path.iterdir()) == []


def test_without_scheduling_there_are_event_rows_a_log_and_a_search(tmp_path: Path) -> None:
    """The end of the file, which is cut off, says which CPU each part is of."""
    path = tmp_path / "cut.dat"
    path.write_bytes(trace("f100k").read_bytes()[:-2000])
    workspace = Workspace(reader(path), path)
    rows = workspace.json("rows")
    assert [(row["kind"], row["name"], row["busy"]) for row in rows] == [
        ("cpu", "CPU not known", 0)
    ]
    duration = workspace.json("info")["duration"]
    assert workspace.ask(f"levels?begin=0&end={duration}&width=500&rows=0").table.num_rows == 0
    marks = workspace.ask(f"events?begin=0&end={duration // 50}&width=500&rows=0").table
    assert marks.num_rows > 20
    assert workspace.ask(f"overview?width=100&v={1}").status == 200
    assert workspace.json("log?event=sched_switch")["total"] > 1000
    assert workspace.json("search?text=sched")["events"]
    assert workspace.json("actors")["actors"] == []
    event = workspace.json("log?event=sched_switch&limit=1")["events"][0]
    told = workspace.json(f"item?row=0&t={event['time']}")
    assert told["item"] is None and event in told["here"]


def test_a_page_opens_what_it_will_ask_for(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    shutil.copy(trace("f100k"), path)
    (tmp_path / "broken.dat").write_bytes(path.read_bytes()[:2000])
    client = Client.of(traces=(tmp_path,), store=str(tmp_path / "store.db"))
    # One that cannot be read is told of when it is asked for.
    assert client.get(f"/traces/{key_of(tmp_path / 'broken.dat')}").status == 200
    assert client.get(f"/traces/{key_of(path)}").status == 200
    until = time.monotonic() + PATIENCE
    while not (tmp_path / "t.dat.benchvise-cache" / "levels").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    client.app.state.context.close()


def test_what_was_made_is_kept_after_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow this machine is: what nobody asked for is made only after a while of quiet.
    monkeypatch.setattr(served, "QUIET_S", 3600.0)
    monkeypatch.setattr(served, "PATIENCE_S", 3600.0)
    path = tmp_path / "t.dat"
    shutil.copy(trace("f100k"), path)
    client = reader(path)
    first = Workspace(client, path).json("rows")
    client.app.state.open_files.close()
    parts = {part.name for part in (tmp_path / "t.dat.benchvise-cache").iterdir()}
    assert parts == {"decoded", "scheduling", "usage", "levels"}
    again = reader(path)
    assert Workspace(again, path).json("rows") == first
    assert again.app.state.open_files.served_traces.get(path).trace.keeping.reused
    again.app.state.open_files.close()
