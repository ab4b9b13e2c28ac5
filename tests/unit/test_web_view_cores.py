"""The answers to the views of the trace workspace, on the simulated board of `story_traces`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skips
from story_traces import MS, S, record, story, write

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.report.sinks import json_text
from benchvise.trace import native
from benchvise.trace.analysis.model import TraceSpan
from benchvise.trace.analysis.stats import load, stats, switches
from benchvise.trace.loaded import LoadedTrace, load_trace
from benchvise.web.readers.forwarding import LIMITS
from benchvise.web.workspace import activity, comparison, events, latency, sql
from benchvise.web.workspace.query import TraceQuery

skips.need_decoder()

SECONDS = 3


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedTrace, LoadedTrace]:
    before, after = story(tmp_path_factory.mktemp("story"), SECONDS)
    return opened(before), opened(after)


@pytest.fixture
def after(both: tuple[LoadedTrace, LoadedTrace]) -> LoadedTrace:
    return both[1]


def opened(path: Path) -> LoadedTrace:
    return load_trace(path, cache=False)


def ask(question: Any, loaded: LoadedTrace, **words: object) -> Any:
    """An answer as the browser gets it."""
    answer = question(loaded, TraceQuery({name: str(value) for name, value in words.items()}))
    return answer if isinstance(answer, native.Table) else json.loads(json_text(encode(answer)))


def actor(loaded: LoadedTrace, label: str) -> int:
    return next(one.id for one in loaded.analysis.actors if one.label == label)


# -- the part that is asked about ------------------------------------------------------------------


@pytest.mark.parametrize(("begin", "end"), [(0.2, 0.21), (0.0, 0.5), (0.4037, 0.4101), (0.9, 2.0)])
def test_a_part_is_answered_as_if_the_whole_had_been_gone_through(
    after: LoadedTrace, begin: float, end: float
) -> None:
    whole = after.analysis.whole
    span = TraceSpan(whole.begin + int(begin * S), whole.begin + int(end * S))
    part = after.analysis.asked_about(span)
    actors = after.choose([])
    assert stats(part.sliced(), actors) == stats(part, actors)
    assert load(part.sliced(), actors, 50) == load(part, actors, 50)
    assert switches(part.sliced(), actors, 50) == switches(part, actors, 50)
    assert len(part.sliced().fragments) < len(part.fragments)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"begin": "never"}, "no time"),
        ({"begin": "nan"}, "no time"),
        ({"begin": 5e9, "end": 6e9}, "nothing of the trace"),
        ({"begin": 100, "end": 50}, "nothing of the trace"),
        ({"limit": 0}, "out of range"),
        ({"limit": "many"}, "no whole number"),
        ({"actor": 99999}, "no actor 99999"),
        ({"actor": "task:nobody"}, "no actor of the trace is task:nobody"),
        ({"actor": "x" * 5000}, "at most 2000"),
    ],
)
def test_what_makes_no_sense_is_said(after: LoadedTrace, words: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        ask(activity.statistics, after, **words)
    assert said in str(error.value)


def test_a_range_filters_every_view(after: LoadedTrace) -> None:
    part = {"begin": 500 * MS, "end": 600 * MS}
    rows = ask(activity.statistics, after, **part)
    assert (rows["begin"], rows["end"]) == (500 * MS, 600 * MS)
    assert sum(one["instances"] for one in rows["actors"]) < 400
    table = activity.instance_points(
        after, TraceQuery({name: str(at) for name, at in part.items()})
    )
    assert 500 * MS <= min(table["begin"].to_pylist()) < max(table["begin"].to_pylist()) < 600 * MS
    found = ask(activity.load, after, bins=10, **part)
    assert (found["first"], found["width"], len(found["cpus"][0]["values"])) == (
        500 * MS, 10 * MS, 10,
    )  # fmt: skip
    logged = ask(events.log, after, limit=1000, **part)["events"]
    assert all(500 * MS <= event["time"] < 600 * MS for event in logged)
    hits = ask(events.search, after, text="sensor", **part)["hits"]
    assert hits and all(500 * MS <= hit["time"] < 600 * MS for hit in hits)
    times = sql.query_answer(
        after, TraceQuery({name: str(at) for name, at in part.items()}),
        'FROM selection SELECT "begin", "end"', LIMITS,
    ).times  # fmt: skip
    assert times == [500 * MS]
    asked = {"from": "irq:sensor", "to": "task:irq/43-sensor"}
    assert ask(latency.latency, after, **asked, **part)["occurrences"] <= 2


# -- each view -------------------------------------------------------------------------------------


def test_the_worst_instance_leads_to_its_place(after: LoadedTrace) -> None:
    rows = ask(activity.statistics, after)["actors"]
    sensor = next(row for row in rows if row["actor"] == "irq:sensor/43")
    assert sensor["execution"]["median"] == pytest.approx(3.3 * MS, rel=0.1)
    worst = sensor["worst"]
    assert worst["end"] - worst["begin"] == sensor["response"]["maximum"]
    assert worst["actor"] in sensor["ids"] == [actor(after, "irq:sensor/43")]


def test_points_that_fall_together_keep_the_largest(after: LoadedTrace) -> None:
    every = ask(activity.instance_points, after, width=4000, height=2000)
    few = ask(activity.instance_points, after, width=40, height=20)
    assert few.num_rows < 40 * 21 < every.num_rows
    assert sum(few["count"].to_pylist()) == sum(every["count"].to_pylist())
    assert few.metadata == every.metadata
    for name in ("execution",):
        assert max(few[name].to_pylist()) == max(every[name].to_pylist())
    begins = few["begin"].values()
    assert (np.diff(begins) >= 0).all()


def test_any_pair_of_figures(after: LoadedTrace) -> None:
    mine = actor(after, "irq:sensor/43")
    pairs = ask(activity.instance_points, after, actor=mine, x="execution", y="period")
    assert set(pairs["actor"].to_pylist()) == {mine}
    # The first has no period, so it has no place on this plot.
    assert pairs.metadata["without"] == "1"
    with pytest.raises(UsageError, match="unknown"):
        ask(activity.instance_points, after, y="cpu")


def test_load_adds_up(after: LoadedTrace) -> None:
    found = ask(activity.load, after, bins=30, top=3)
    lines = [*found["actors"], found["others"]]
    for at in range(30):
        busy = sum(line["values"][at] for line in lines)
        assert busy == pytest.approx(2 * found["everything"]["values"][at], abs=1e-4)
    assert found["others"]["name"].endswith("others") and len(found["actors"]) == 3
    assert all(one["ids"] for one in found["actors"])


def test_the_stages_of_a_latency_are_those_of_the_board(after: LoadedTrace) -> None:
    found = ask(latency.latency, after, **{"from": "irq:sensor", "to": "task:irq/43-sensor"})
    assert found["hops"][0]["method"] == "cause"
    assert found["ways"][0]["stages"][0]["time"]["median"] == pytest.approx(3.3 * MS, rel=0.1)
    assert sum(step["share"] for step in found["steps"]) == pytest.approx(1)
    worst = found["worst"][0]
    assert worst["actor"] == actor(after, "task:irq/43-sensor/143")
    assert sum(stage["time"] for stage in worst["stages"]) == worst["latency"]
    with pytest.raises(UsageError, match="two ends"):
        ask(latency.latency, after)


# -- the log ---------------------------------------------------------------------------------------


def test_the_log_is_in_order_and_filtered(after: LoadedTrace) -> None:
    page = ask(events.log, after, event="irq_handler_*", limit=300)
    times = [event["time"] for event in page["events"]]
    assert times == sorted(times)
    assert {event["event"] for event in page["events"]} == {
        "irq_handler_entry", "irq_handler_exit",
    }  # fmt: skip
    counts = after.trace.counts
    assert page["total"] == counts["irq_handler_entry"] + counts["irq_handler_exit"]
    second = ask(events.log, after, event="irq_handler_*", limit=300, offset=300)["events"]
    assert second[0]["time"] >= times[-1]
    assert second[0]["index"] > page["events"][-1]["index"]


def test_the_log_by_field_and_cpu(after: LoadedTrace) -> None:
    page = ask(events.log, after, field='name=="sensor"')
    assert page["total"] == sum(
        dict(event["fields"])["name"] == "sensor" for event in page["events"]
    )
    assert {event["cpu"] for event in page["events"]} == {0}
    assert ask(events.log, after, field="name==sensor", cpu="1")["total"] == 0
    with pytest.raises(UsageError, match="no event of these has nothing"):
        ask(events.log, after, field="nothing==1")
    with pytest.raises(UsageError, match="no event sched_swich"):
        ask(events.log, after, event="sched_swich")


def test_the_log_of_an_actor_is_what_happened_while_it_ran(after: LoadedTrace) -> None:
    mine = actor(after, "irq:sensor/43")
    page = ask(events.log, after, actor=mine, limit=1000)
    assert {event["actor"] for event in page["events"]} == {mine}
    assert {"irq_handler_entry", "printk_console", "sched_waking", "irq_handler_exit"} == {
        event["event"] for event in page["events"]
    }
    # All that it printed, and nothing of another.
    printed = [event for event in page["events"] if event["event"] == "printk_console"]
    assert len(printed) == after.trace.counts["printk_console"]


def test_the_log_opens_where_one_looks(after: LoadedTrace) -> None:
    page = ask(events.log, after, at=1.5 * S, limit=40)
    times = [event["time"] for event in page["events"]]
    assert times[0] < 1.5 * S <= times[-1]
    assert ask(events.log, after, at=100 * S)["events"]


# -- search and SQL --------------------------------------------------------------------------------


def test_search_finds_actors_events_and_values(after: LoadedTrace) -> None:
    found = ask(events.search, after, text="sensor")
    assert {one["name"] for one in found["actors"]} == {"irq:sensor/43", "task:irq/43-sensor/143"}
    assert found["complete"] and found["found"] > len(found["hits"]) == 200
    assert [hit["time"] for hit in found["hits"]] == sorted(hit["time"] for hit in found["hits"])
    assert ask(events.search, after, text="SPI_transfer")["events"][0]["count"] > 10
    by_field = ask(events.search, after, text="addr==0x20")
    assert by_field["found"] == after.trace.counts["i2c_write"]
    assert by_field["hits"][0]["says"] == "addr=32"
    with pytest.raises(UsageError, match="no event of the trace has the field"):
        ask(events.search, after, text="nosuchfield==1")
    with pytest.raises(UsageError, match="nothing to search"):
        ask(events.search, after)


def test_rows_of_sql_know_their_time(after: LoadedTrace) -> None:
    query = 'SELECT execution, "begin" FROM instances ORDER BY 1 DESC LIMIT 3'
    timed = encode(sql.query_answer(after, TraceQuery({}), query, LIMITS))
    origin = after.analysis.whole.begin
    assert timed["times"] == [row[1] - origin for row in timed["rows"]]
    large = "SELECT 9007199254740993 AS big"
    assert sql.query_answer(after, TraceQuery({}), large, LIMITS).rows == [["9007199254740993"]]
    assert sql.query_answer(after, TraceQuery({}), "SELECT 1", LIMITS).times is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/x'",
        "SELECT 1; SELECT 2",
        "ATTACH '/tmp/x.db'",
        "SELECT getenv('HOME')",
        "x" * 30_000,
    ],
)
def test_sql_reads_nothing_else(after: LoadedTrace, query: str) -> None:
    with pytest.raises(UsageError):
        sql.query_answer(after, TraceQuery({}), query, LIMITS)


# -- two traces ------------------------------------------------------------------------------------


def test_the_slow_handler_stands_on_top(both: tuple[LoadedTrace, LoadedTrace]) -> None:
    found = comparison.compare_traces(*both)
    first = found.rows[0]
    assert (first.actor, first.verdict) == ("irq:sensor", "runs longer")
    assert first.metrics["execution"].ratio == pytest.approx(3300 / 14, rel=0.15)
    back = comparison.compare_traces(*reversed(both))
    assert (back.rows[0].actor, back.rows[0].verdict) == ("irq:sensor", "runs shorter")
    document = encode(found.of_kind("irq"))
    assert document["kinds"]["irq"] == len(document["rows"]) == 4
    assert document["kinds"]["all"] == len(found.rows) > 4


def test_an_actor_is_shown_at_its_usual_work(both: tuple[LoadedTrace, LoadedTrace]) -> None:
    for loaded, length in zip(both, (14_000, 3.3 * MS), strict=True):
        place = comparison.usual_place(loaded, "irq:sensor")
        assert place is not None
        assert place.actor == actor(loaded, "irq:sensor/43")
        assert place.end - place.begin == pytest.approx(length, rel=0.2)
    assert comparison.usual_place(both[0], "task:nobody") is None
    shapes = comparison.shapes_of(both, "irq:sensor", "execution")
    assert [shape and shape.count for shape in shapes] == [
        sum(loaded.analysis.instances["actor"] == actor(loaded, "irq:sensor/43")) for loaded in both
    ]
    assert comparison.shapes_of(both, "irq:eth0", "latency") == [None, None]


def test_traces_that_are_alike_have_no_change(tmp_path: Path) -> None:
    pair = [
        opened(write(record(SECONDS, printing=False, seed=seed), tmp_path / str(seed)))
        for seed in (1, 2)
    ]
    found = comparison.compare_traces(pair[0], pair[1])
    assert not [row.actor for row in found.rows if "execution" in row.changed]


# -- names from outside ----------------------------------------------------------------------------


def test_hostile_names_are_bounded_and_harmless(tmp_path: Path) -> None:
    board = record(0.5, printing=True, seed=3)
    evil = "\x1b[31m<script>alert(1)</script>\u202e" + "A" * 10_000
    for cpu in board.cpus:
        cpu.events = [
            (time, event, tuple(evil if value in ("iperf3", "eth0") else value for value in values))
            for time, event, values in cpu.events
        ]
    loaded = opened(write(board, tmp_path / "evil"))
    asked = {"from": "irq:sensor", "to": "task:irq/43-sensor"}
    for answer in (
        ask(activity.statistics, loaded),
        ask(activity.load, loaded),
        ask(activity.switches, loaded),
        ask(latency.latency, loaded, **asked),
        ask(events.log, loaded),
        ask(events.search, loaded, text="script"),
        ask(events.names, loaded),
        encode(comparison.compare_traces(loaded, loaded)),
    ):
        text = json.dumps(json.loads(json_text(answer)), ensure_ascii=False)
        assert "\x1b" not in text and "\u202e" not in text
        assert "A" * 1000 not in text


def test_of_more_than_are_marked_there_is_one_in_each_part(
    after: LoadedTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = ask(events.matches, after, text="sched")
    monkeypatch.setattr(events, "_MARKED", 100)
    some = ask(events.matches, after, text="sched")
    assert 20 < some.num_rows <= 100 < every.num_rows
    assert some.metadata["total"] == str(every.num_rows)
    times, kept = every["time"].values(), some["time"].values()
    assert np.isin(kept, times).all() and (np.diff(kept) > 0).all()
    # Nowhere is there so long a part without a mark that several pixels would say: nothing here.
    assert np.diff(kept).max() < SECONDS * 1e9 / 100 * 4
