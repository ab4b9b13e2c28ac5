"""The pages about runs: their list, one run, comparisons and histories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from report_runs import demonstration_run
from web_client import Client
from web_runs import KEY, Kept
from web_store import keep_run

from benchvise.store import Store

FORM = {"content_type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1:8765"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    found = Kept(tmp_path_factory.mktemp("runs"))
    yield found
    found.client.app.state.context.close()


# -- the list --------------------------------------------------------------------------------------


def test_runs_are_listed_newest_first_and_found(kept: Kept) -> None:
    listed = kept.get("/runs.json").data
    assert [run["id"] for run in listed["runs"]][-2:] == [kept.own, kept.vendor]
    assert listed["total"] == 15
    assert listed["choices"]["tags"] == {"nightly": 12}
    found = kept.get("/runs.json", ("text", "YOCTO")).data["runs"]
    assert [run["id"] for run in found] == [kept.own]
    assert len(kept.get("/runs.json", ("tag", "nightly"), ("suite", "nightly")).data["runs"]) == 12
    assert kept.get("/runs.json", ("skip", "14")).data["runs"][0]["id"] == kept.vendor
    assert "No such run" in kept.get("/runs", ("board", "nowhere")).text


def test_a_page_of_the_list_leads_to_a_comparison_without_any_script(kept: Kept) -> None:
    page = kept.get("/runs").text
    assert '<form method="get" action="/compare">' in page
    assert f'name="run" value="{kept.own}"' in page


# -- a run -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["results", "charts", "samples", "state", "console"])
def test_each_view_of_a_run_is_a_page_with_its_twin(kept: Kept, view: str) -> None:
    page = kept.get(f"/runs/{kept.vendor}", ("view", view))
    twin = kept.get(f"/runs/{kept.vendor}.json", ("view", view)).data
    assert page.status == 200 and twin["view"] == view
    assert twin["run"]["label"] == "vendor-5.10" in page.text
    assert f"/runs/{kept.vendor}.json?view={view}" in page.text


def test_a_run_is_named_as_in_commands(kept: Kept) -> None:
    for name in ("night-3", kept.nights[3][:8], kept.nights[3]):
        answer = kept.get(f"/runs/{quote(name)}")
        if name != kept.nights[3]:
            assert answer.status == 307
            assert answer.headers["location"] == f"/runs/{kept.nights[3]}"
        else:
            assert answer.status == 200
    missing = kept.get("/runs/nonsense.json")
    assert missing.status == 404 and "no run 'nonsense'" in missing.json["error"]["message"]


def test_results_and_charts_have_the_figures_of_the_run(kept: Kept) -> None:
    results = kept.get(f"/runs/{kept.vendor}.json").data
    counts = results["run"]["counts"]
    assert counts["measured"] == counts["stable"] + counts["unstable"] > 40
    assert {"key": KEY, "unit": "B/s"}.items() <= next(
        one for one in results["series"] if one["key"] == KEY
    ).items()
    figures = kept.get(f"/runs/{kept.vendor}.json", ("view", "charts")).data["figures"]
    (grid,) = figures["grids"]
    assert grid["processes"] == [2, 4, 8, 16, 32] and len(grid["places"]) == 15
    assert {"os.syscall"} <= {one["title"] for one in figures["bars"]}
    assert figures["latencies"] and figures["curves"]


def test_a_series_has_its_samples_with_what_was_read_around_them(kept: Kept) -> None:
    one = kept.get(f"/runs/{kept.vendor}.json", ("series", KEY)).data
    assert len(one["series"]["samples"]) == 63
    assert set(one["series"]["samples"][0]) >= {"at", "value", "flags", "clock", "temperature"}
    assert one["not_read"].keys() == {"CPU clock", "temperature"}
    page = kept.get(f"/runs/{kept.vendor}", ("series", KEY)).text
    assert 'data-figure="evidence"' in page and "not available: the probe did not say" in page
    assert kept.get(f"/runs/{kept.vendor}.json", ("series", "no.such")).status == 404


def test_the_state_of_a_run_can_be_searched_and_says_what_changed_meanwhile(kept: Kept) -> None:
    state = kept.get(f"/runs/{kept.vendor}.json", ("view", "state")).data["state"]
    assert {entry["item"] for entry in state["entries"]} == {"memory.thp", "system.load"}
    (changed,) = state["meanwhile"]["differences"]
    assert (changed["a"]["value"], changed["b"]["value"]) == ("madvise", "never")
    pairs = (("view", "state"), ("find", "/SYS/kernel"))
    assert kept.get(f"/runs/{kept.vendor}.json", *pairs).data["state"]["total"] == 1
    assert kept.get(f"/runs/{kept.nights[0]}.json", ("view", "state")).data["state"] is None


def test_a_console_is_shown_without_what_it_told_a_terminal(kept: Kept) -> None:
    console = kept.get(f"/runs/{kept.vendor}.json", ("view", "console")).data["console"]
    assert console["lines"] == ["U-Boot 2024.01", "<script>hi"]
    assert "&lt;script&gt;hi" in kept.get(f"/runs/{kept.vendor}", ("view", "console")).text


def test_tags_and_notes_are_given_by_forms(kept: Kept) -> None:
    where = f"/runs/{kept.own}"
    for body in (b"tag=slow+kernel", b"untag=kernel", b"note=first%0Asecond+%3Cb%3E"):
        answer = kept.client.post(f"{where}/said", body, **FORM)
        assert (answer.status, answer.headers["location"]) == (303, where)
    run = kept.get(f"{where}.json").data["run"]
    assert (run["tags"], run["note"]) == (["slow"], "first\nsecond <b>")
    assert "second &lt;b&gt;" in kept.get(where).text
    refused = kept.client.post(f"{where}/said", b"tag=" + b"x" * 50, **FORM)
    assert refused.status == 400 and "cannot be a tag" in refused.text
    elsewhere = kept.client.post(f"{where}/said", b"tag=x", origin="http://evil.example")
    assert elsewhere.status == 403


# -- comparisons -----------------------------------------------------------------------------------


VIEWS = ["changes", "counters", "bars", "curves", "grids", "latencies", "state"]


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_of_a_comparison_is_a_page_with_its_twin(kept: Kept, view: str) -> None:
    assert kept.compare(("view", view), twin=False).status == 200
    twin = kept.compare(("view", view)).data
    assert twin["view"] == view and [run["id"] for run in twin["runs"]] == [kept.vendor, kept.own]


def test_changes_are_sifted_and_lead_to_their_series(kept: Kept) -> None:
    changes = kept.compare().data
    slower = kept.compare(("verdict", "slower"), ("family", "memory")).data["series"]
    assert 0 < len(slower) < changes["total"]
    assert all("slower" in [c["verdict"] for c in row["changes"]] for row in slower)
    page = kept.compare(twin=False).text
    assert "Tails of" in page
    assert "timer.wakeup" in page.partition("Tails of")[2]
    assert "Tails of" not in kept.compare(("family", "memory"), twin=False).text
    assert sum(len(change["tails"]) for row in changes["series"] for change in row["changes"]) == 2
    one = kept.compare(("series", KEY)).data
    assert one["series"]["changes"][0]["verdict"] == "slower"
    assert len(one["members"]) == 2


def test_the_state_shows_the_setting_that_differs(kept: Kept) -> None:
    (differ,) = kept.compare(("view", "state")).data["state"]
    (setting,) = differ["differences"]
    assert (setting["a"]["value"], setting["b"]["value"]) == ("madvise", "always")
    assert "not recorded" in kept.compare(("view", "state"), ("run", kept.hostile), twin=False).text


def test_two_to_six_runs_are_compared_and_the_first_is_the_base(kept: Kept) -> None:
    six = [("run", run_id) for run_id in kept.nights[:6]]
    data = kept.get("/compare.json", *six).data
    assert len(data["runs"]) == 6 and len(data["series"][0]["changes"]) == 5
    assert kept.get("/compare", *six).status == 200
    seven = kept.get("/compare.json", *six, ("run", kept.vendor))
    assert seven.status == 400 and "two to 6" in seven.json["error"]["remedy"]
    chosen = kept.get("/compare", ("run", kept.own))
    assert chosen.status == 200 and f'value="{kept.own}" selected' in chosen.text


# -- histories -------------------------------------------------------------------------------------


def test_a_history_tells_where_the_series_changed(kept: Kept) -> None:
    key = demonstration_run().series[3].spec.key
    found = kept.get("/history.json", ("series", key), ("tag", "nightly")).data
    (board,) = found["history"]["boards"]
    (change,) = board["changes"]
    assert change["after"] == kept.nights[6] and change["verdict"] == "slower"
    assert change["low"] < 0.8 < change["high"] or change["ratio"] == pytest.approx(0.8, rel=0.02)
    page = kept.get("/history", ("series", key), ("tag", "nightly"), ("by", "time")).text
    assert "-20" in page and "night-6" in page


def test_series_with_a_history_are_offered_and_found(kept: Kept) -> None:
    offered = kept.get("/history.json", ("text", "MEMORY.copy")).data
    assert offered["series"] and all("memory.copy" in one["key"] for one in offered["series"])
    assert kept.get("/history.json", ("series", "no.such")).status == 404


def test_changes_of_all_series_are_events_with_what_is_next(kept: Kept) -> None:
    key = demonstration_run().series[3].spec.key
    found = kept.get("/history/changes.json", ("tag", "nightly")).data["history"]
    events = [e for e in found["events"] if any(b["after"] == kept.nights[6] for b in e["boards"])]
    assert [one["key"] for one in events[0]["boards"][0]["series"]].count(key) == 1
    page = kept.get("/history/changes", ("tag", "nightly"), ("text", key.partition(":")[0]))
    assert page.status == 200 and events[0]["headline"].partition(" at ")[2][:10] in page.text
    assert f"benchvise compare {kept.nights[5]} {kept.nights[6]}" in page.text
    assert f"run={kept.nights[5]}&amp;run={kept.nights[6]}" in page.text
    nothing = kept.get("/history/changes", ("text", "no.such"))
    assert nothing.status == 200 and "No change" in nothing.text
    assert "/history/changes" in kept.get("/history").text


def test_another_way_of_measuring_is_no_part_of_the_line(kept: Kept, tmp_path: Path) -> None:
    store = str(tmp_path / "x.db")
    first = demonstration_run().series[3]
    for way in (replace(first, counted="read and written"), first):
        keep_run(store, demonstration_run(series=(way,)))
    found = Client.of(store=store).get(f"/history.json?series={quote(first.spec.key)}").data
    old, new = found["history"]["boards"][0]["entries"]
    assert "another way of counting" in old["left_out"] and not new["left_out"]


# -- what is hostile -------------------------------------------------------------------------------


def test_hostile_names_are_text_on_every_page(kept: Kept) -> None:
    with Store.open(kept.store) as opened:
        key = opened.load(kept.hostile).series[0].spec.key
    pages = [
        kept.get("/runs"),
        *(kept.get(f"/runs/{kept.hostile}", ("view", view)) for view in ("results", "charts")),
        kept.get(f"/runs/{kept.hostile}", ("view", "samples")),
        kept.get("/compare", ("run", kept.hostile), ("run", kept.vendor)),
        kept.get("/history"),
        kept.get("/history/changes"),
        kept.get("/history", ("series", key)),
        kept.get(f"/runs/{kept.hostile}", ("series", "memory.copy:size=4K")),
    ]
    for page in pages:
        assert page.status in (200, 404)
        assert "<img" not in page.text and "\x1b" not in page.text and "\u202e" not in page.text
