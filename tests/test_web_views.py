"""The addresses of the views of a trace and of two traces compared, without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import skips
from story_traces import story
from web_client import Client

from benchvise.trace.loaded import load_trace
from benchvise.trace.query_limits import QueryLimits
from benchvise.web.file_index import key_of
from benchvise.web.readers import forwarding, pool

skips.need_decoder()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("story")
    story(root / "traces", 1.5)
    return root


@pytest.fixture(scope="module")
def client(root: Path) -> Client:
    return Client.of(traces=(root / "traces",), store=str(root / "store.db"))


@pytest.fixture(scope="module")
def key(root: Path) -> str:
    return key_of(root / "traces" / "after")


VIEWS = (
    "actors",
    "area",
    "counters",
    "delays",
    "modes",
    "noise",
    "functions",
    "flame",
    "load",
    "switches",
    "log",
    "names",
    "tables",
    "search?text=sensor",
)


@pytest.mark.parametrize("view", VIEWS)
def test_an_answer_holds_until_the_trace_changes(client: Client, key: str, view: str) -> None:
    answer = client.get(f"/api/traces/{key}/{view}")
    assert answer.status == 200, answer.text
    assert answer.json
    again = client.get(f"/api/traces/{key}/{view}", if_none_match=answer.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_a_difference_of_stacks_is_of_two_traces_with_the_same_event(
    client: Client, root: Path, key: str
) -> None:
    """The reader opens the second trace, too; these two have no stacks."""
    other = key_of(root / "traces" / "before")
    answer = client.get(f"/api/traces/{key}/flame-difference?with={other}")
    assert answer.status == 400
    assert "no event of which both traces have stacks" in answer.text
    assert "two traces" in client.get(f"/api/traces/{key}/flame-difference").text
    assert client.get(f"/api/traces/{key}/flame-difference?with=none").status == 404


def test_instances_are_arrow(client: Client, key: str) -> None:
    answer = client.get(f"/api/traces/{key}/instances?begin=0&end=1e9&width=300")
    table = pa.ipc.open_stream(answer.body).read_all()
    assert table.num_rows and {"begin", "end", "execution", "count"} <= set(table.column_names)


def test_the_path_of_an_activation_leads_back_to_its_interrupt(client: Client, key: str) -> None:
    points = client.get(f"/api/traces/{key}/instances?actor=task:143&width=4000")
    table = pa.ipc.open_stream(points.body).read_all()
    [latest] = table.sort_by([("begin", "descending")]).slice(0, 1).to_pylist()
    path = client.get(f"/api/traces/{key}/critical-path?instance={latest['instance']}").json
    assert path["end"] == latest["end"]
    assert path["begin"] <= latest["ready"]
    assert path["hops"][0]["actor"].startswith("irq:")
    assert path["hops"][-1]["end"] == path["end"]
    assert sum(part["share"] for part in path["parts"]) == pytest.approx(1)
    assert all(segment["begin"] >= path["begin"] for segment in path["longest"])
    assert client.get(f"/api/traces/{key}/critical-path").status == 400
    assert client.get(f"/api/traces/{key}/critical-path?instance=99999999").status == 400


def test_what_an_activation_woke_names_it_as_its_waker(client: Client, key: str) -> None:
    rows = client.get(f"/api/traces/{key}/rows").json
    row = next(row for row in rows if row["kind"] == "irq" and row["name"] == "sensor")
    points = client.get(f"/api/traces/{key}/instances?actor={row['actor']}&width=4000").body
    first = pa.ipc.open_stream(points).read_all().slice(0, 1).to_pylist()[0]
    told = client.get(f"/api/traces/{key}/item?row={row['id']}&t={int(first['begin'])}").json
    woke = told["instance"]["woke"]
    assert told["instance"]["woke_count"] == len(woke) >= 1
    assert first["begin"] <= woke[0]["time"] <= woke[0]["begin"]
    thread = next(row for row in rows if row["actor"] == woke[0]["actor"])
    back = client.get(f"/api/traces/{key}/item?row={thread['id']}&t={woke[0]['begin']}").json
    assert back["instance"]["waker"]["actor"] == row["actor"]
    assert back["instance"]["waker"]["time"] == woke[0]["time"]


def test_what_a_search_marks_is_what_the_log_lists(client: Client, key: str) -> None:
    """By the name of a type, by a text that events carry, by a field of several types."""
    for text, words in [
        ("printk_cons", "event=printk_console"),
        ("irq==43", "field=irq%3D%3D43"),
        (
            "next_comm==logger&begin=200000000&end=700000000",
            "field=next_comm%3D%3Dlogger&begin=200000000&end=700000000",
        ),
    ]:
        marks = client.get(f"/api/traces/{key}/found?text={text.replace('==', '%3D%3D')}").table
        log = client.get(f"/api/traces/{key}/log?limit=1000&{words}").json
        listed = [(event["time"], event["cpu"]) for event in log["events"]]
        assert listed and sorted(
            zip(*(marks[name].to_pylist() for name in ("time", "cpu")), strict=True)
        ) == sorted(listed)
        assert marks["time"].to_pylist() == sorted(marks["time"].to_pylist())
        assert marks.schema.metadata == {b"total": str(log["total"]).encode(), b"complete": b"1"}
    carried = client.get(f"/api/traces/{key}/found?text=sensor:+status+01").table
    assert 0 < carried.num_rows < client.get(f"/api/traces/{key}/found?text=sensor").table.num_rows
    assert client.get(f"/api/traces/{key}/found?text=nothing%3D%3D1").status == 400


def test_the_events_of_the_chosen_moment_are_told_in_full(client: Client, key: str) -> None:
    rows = {
        row["cpu"]: row["id"]
        for row in client.get(f"/api/traces/{key}/rows").json
        if row["kind"] == "cpu"
    }
    for event in client.get(f"/api/traces/{key}/log?offset=300&limit=20").json["events"]:
        told = client.get(f"/api/traces/{key}/item?row={rows[event['cpu']]}&t={event['time']}").json
        assert event in told["here"]
        assert {(one["time"], one["cpu"]) for one in told["here"]} == {
            (event["time"], event["cpu"])
        }


def test_modes_lead_to_activations_of_theirs(client: Client, key: str) -> None:
    whole = client.get(f"/api/traces/{key}/modes?actor=task:143").json["of"]
    assert sum(mode["count"] for mode in whole["modes"]) == whole["count"] > 0
    points = client.get(f"/api/traces/{key}/instances?actor=task:143&width=4000")
    begins = set(pa.ipc.open_stream(points.body).read_all()["begin"].to_pylist())
    for mode in whole["modes"]:
        assert {mode["typical_at"], mode["longest_at"]} <= begins
        assert mode["low"] <= mode["median"] <= mode["high"]
    by_period = client.get(f"/api/traces/{key}/modes?actor=irq:sensor&metric=period").json["of"]
    assert (by_period["metric"], by_period["actor"]) == ("period", "irq:sensor/43")
    # Without a name it is the one with most activations.
    busiest = client.get(f"/api/traces/{key}/actors").json["actors"]
    most = max(busiest, key=lambda actor: actor["instances"])["instances"]
    assert client.get(f"/api/traces/{key}/modes").json["of"]["count"] <= most


def test_a_latency_pairs_events_by_fields_a_line_each(client: Client, key: str) -> None:
    """Each switch to a thread with the next away from it."""
    words = "latency?from=event:sched_switch&to=event:sched_switch"
    by = "&by=next_tid=prev_tid%0Anext_comm=prev_comm"
    answer = client.get(f"/api/traces/{key}/{words}{by}")
    assert answer.status == 200, answer.text
    assert answer.json["hops"][0]["method"] == "fields"
    assert answer.json["occurrences"] > 0
    both = client.get(f"/api/traces/{key}/{words}{by}&match=next")
    assert both.status == 400 and "by= and match=" in both.text


@pytest.mark.parametrize(
    ("view", "status", "said"),
    [
        ("load?begin=now", 400, "no time"),
        ("latency?from=irq:sensor&to=task:nobody", 400, "no actor of the trace is task:nobody"),
        ("modes?metric=beauty", 400, "metric=beauty is unknown"),
        ("log?event=nothing", 400, "no event nothing"),
        ("nothing", 404, "no such page"),
    ],
)
def test_errors_have_one_shape(client: Client, key: str, view: str, status: int, said: str) -> None:
    answer = client.get(f"/api/traces/{key}/{view}")
    assert answer.status == status
    assert said in answer.json["error"]["message"]
    assert set(answer.json["error"]) == {"message", "remedy"}


def test_a_trace_that_is_not_there(client: Client) -> None:
    for path in ("/api/traces/../../etc/load", "/api/traces/none/load", "/api/traces/none/query"):
        answer = client.get(path)
        assert answer.status in (404, 405), path


def post(client: Client, key: str, body: Any, **headers: str) -> Any:
    named = {"content_type": "application/json", **headers}
    return client.post(f"/api/traces/{key}/query", json.dumps(body).encode(), **named)


def test_a_query_is_posted(client: Client, key: str) -> None:
    answer = post(client, key, {"sql": "SELECT count(*) AS n FROM sched_switch"})
    assert answer.status == 200, answer.text
    assert answer.json["columns"][0]["name"] == "n"
    assert post(client, key, {"sql": "FROM read_text('/etc/passwd')"}).status == 400
    for nothing in ({}, {"sql": ""}, {"sql": 5}, ["sql"]):
        assert "no query" in post(client, key, nothing).json["error"]["message"]
    elsewhere = post(client, key, {"sql": "SELECT 1"}, origin="http://attacker.invalid")
    assert elsewhere.status == 403


@pytest.mark.parametrize(
    "endless",
    [
        "SELECT count(*) FROM range(1000000000000) a, range(1000000) b",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT string_agg(repeat('x', 1000000), '') FROM range(1000000)",
    ],
)
def test_a_query_without_end_has_one(
    client: Client, key: str, monkeypatch: pytest.MonkeyPatch, endless: str
) -> None:
    monkeypatch.setattr(forwarding, "LIMITS", QueryLimits(rows=10, seconds=0.5, memory_mb=64))
    answer = post(client, key, {"sql": endless})
    assert answer.status == 400
    assert set(answer.json["error"]) == {"message", "remedy"} and answer.json["error"]["remedy"]
    assert post(client, key, {"sql": "SELECT 1"}).status == 200


def test_nobody_waits_for_ever(client: Client, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"/api/traces/{key}/load"
    with monkeypatch.context() as patched:
        patched.setattr(pool, "SECONDS", 0.0)
        answer = client.get(address)
        assert answer.status == 503
        assert answer.json["error"]["remedy"] == "choose a shorter range of time"
    # The reader that was still at it is gone; another one answers.
    assert client.get(address).status == 200


def test_more_rows_of_a_query_are_saved_than_shown(client: Client, key: str) -> None:
    body = json.dumps({"sql": "SELECT * FROM range(1500)"}).encode()
    for question, rows, more in (("query", 1000, True), ("query?rows=5000", 1500, False)):
        answer = client.post(f"/api/traces/{key}/{question}", body, content_type="application/json")
        assert (len(answer.json["rows"]), answer.json["more"]) == (rows, more)
    far = f"/api/traces/{key}/query?rows=99999999"
    assert client.post(far, body, content_type="application/json").status == 400


def test_a_trace_is_saved_for_perfetto(client: Client, key: str, root: Path) -> None:
    answer = client.get(f"/api/traces/{key}/perfetto")
    assert answer.status == 200, answer.text
    assert "after.perfetto-trace" in answer.headers["content-disposition"]
    assert b"sched_switch" in answer.body or len(answer.body) > 100_000
    assert client.get("/api/traces/nothing/perfetto").status == 404


# -- two traces ------------------------------------------------------------------------------------


def test_two_that_are_ticked_are_compared_the_older_first(client: Client, root: Path) -> None:
    before, after = (key_of(root / "traces" / name) for name in ("before", "after"))
    answer = client.get(f"/traces/compare?with={before}&t={after}")
    assert answer.headers["location"] == f"/traces/compare?a={before}&b={after}"
    answer = client.get(f"/traces/compare?t={after}&t={before}")
    assert answer.status == 307
    assert answer.headers["location"] == f"/traces/compare?a={before}&b={after}"
    for wrong in (f"t={after}", f"t={after}&t={after}", f"a={after}", "t=none&t=no"):
        answer = client.get(f"/traces/compare.json?{wrong}")
        assert answer.status in (400, 404) and answer.json["error"]["remedy"]


def test_the_worst_of_both_traces_is_a_link_to_it(client: Client, root: Path) -> None:
    keys = [key_of(root / "traces" / name) for name in ("before", "after")]
    asked = f"a={keys[0]}&b={keys[1]}&kind=task&actor=task:iperf3"
    page = client.get(f"/traces/compare?{asked}").text
    [row] = [
        row
        for row in client.get(f"/traces/compare.json?{asked}").data["rows"]
        if row["actor"] == "task:iperf3"
    ]
    for side, name in enumerate(("before", "after")):
        analysis = load_trace(root / "traces" / name, cache=False).analysis
        for instance in (
            row["figures"]["response"]["longest_instances"][side],
            row["rate"]["gap_instances"][side],
        ):
            actor = int(analysis.instances["actor"][instance])
            at = int(analysis.instances["begin"][instance]) - analysis.whole.begin
            link = rf'"/traces/{keys[side]}\?view=[^"]*actor={actor}&amp;at=\d+%3A{at}"'
            assert re.search(link, page), (name, instance)


def test_the_comparison_and_its_twin_say_the_same(client: Client, root: Path) -> None:
    before, after = (key_of(root / "traces" / name) for name in ("before", "after"))
    query = f"a={before}&b={after}&kind=irq&actor=irq:sensor"
    document = client.get(f"/traces/compare.json?{query}").data
    assert document["rows"][0]["actor"] == "irq:sensor"
    assert {row["kind"] for row in document["rows"]} == {"irq"}
    lines = document["detail"]["lines"]
    assert lines["both"].startswith(f"/traces/{before}?with={after}&")
    assert set(document["detail"]["figures"]) >= {"execution", "response"}
    execution = document["rows"][0]["figures"]["execution"]
    assert [tail["statistic"] for tail in execution["tails"]] == ["p99", "p99.9", "max"]
    assert document["rows"][0]["rate"]["irregularity"]["missing"][0] == 0
    missing = client.get(f"/traces/compare.json?a={before}&b={after}&actor=irq:none")
    assert missing.status == 400
