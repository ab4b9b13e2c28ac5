"""Pages of diagnoses: those in the store, and one that goes on while it is looked at."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from test_why_progress_log import begun
from web_client import Client
from why_bench import MemoryBench, diagnose, losses
from why_documents import EACH, partly

from benchvise.documents import encode
from benchvise.store import Store
from benchvise.web.pages import diagnoses
from benchvise.why.events import Event
from benchvise.why.model import Diagnosis
from benchvise.why.progress_log import FILE, ProgressWriter

ATTACK = "<img src=x onerror=document.body.dataset.attacked='yes'>\u202e\x1b[2J"
NAME = "20260101T000000-abcdef"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BENCHVISE_STATE", str(tmp_path / "state"))
    return str(tmp_path / "store.db")


def keep(store: str, document: dict[str, Any]) -> str:
    with Store.open(store) as opened:
        return opened.keep_diagnosis(document)


@pytest.fixture(scope="module")
def seen() -> tuple[Diagnosis, list[Event]]:
    events: list[Event] = []
    found = diagnose(MemoryBench(("a", "b", "c", "d"), losses(b=0.7)), events=events)
    return found, events


def tell(directory: Path, seen: tuple[Diagnosis, list[Event]], events: int) -> ProgressWriter:
    directory.mkdir(parents=True)
    writer = ProgressWriter(directory, begun(seen[0]), lambda: 61.0, tuple)
    for event in seen[1][:events]:
        writer.observe(event)
    return writer


@pytest.mark.parametrize("name", EACH)
def test_each_verdict_is_a_page_and_a_document(store: str, name: str) -> None:
    document = EACH[name]()
    identity = keep(store, document)
    client = Client.of(store=store)
    shown = client.get(f"/diagnoses/{identity}")
    assert shown.status == 200 and 'data-island="figures"' in shown.text
    twin = client.get(f"/diagnoses/{identity}.json").data
    assert (twin["verdict"], twin["headline"]) == (document["verdict"], document["headline"])
    listed = client.get("/diagnoses.json").data["diagnoses"]
    assert [one["id"] for one in listed] == [identity]
    assert client.get("/diagnoses").status == 200


def test_a_remedy_has_its_lines_in_the_document_of_its_page(store: str) -> None:
    document = EACH["explained"]()
    document["causes"][0]["remedies"] = [{"system": "now", "text": "if a\n  b\u202e\n", "cost": ""}]
    twin = Client.of(store=store).get(f"/diagnoses/{keep(store, document)}.json").data
    [remedy] = twin["causes"][0]["remedies"]
    assert remedy["text"] == remedy["lines"] == "if a\n  b\ufffd"


def test_evidence_is_in_the_order_of_time(store: str) -> None:
    text = Client.of(store=store).get(f"/diagnoses/{keep(store, partly())}").text
    part = text[text.index('id="evidence"') :]
    times = [float(cell.split(" s<")[0]) for cell in part.split('<td class="num">')[1:]
             if " s</td>" in cell[:20]]  # fmt: skip
    assert len(times) > 10 and times == sorted(times)
    assert "trial 1<" in part and "experiment 1<" in part


def test_hostile_texts_are_text(store: str) -> None:
    document = partly()
    document["headline"] = document["good"] = ATTACK
    document["suspects"][0].update(id=ATTACK, title=ATTACK, good=ATTACK)
    document["experiments"][0]["question"] = ATTACK
    document["writes"][0].update(knob=ATTACK, old=ATTACK)
    identity = keep(store, document)
    client = Client.of(store=store)
    for path in (f"/diagnoses/{identity}", "/diagnoses"):
        text = client.get(path).text
        assert "<img src=x" not in text and "\u202e" not in text and "\x1b" not in text


def test_one_that_goes_on_is_shown_as_far_as_it_is(
    store: str, tmp_path: Path, seen: tuple[Diagnosis, list[Event]]
) -> None:
    client = Client.of(store=store)
    directory = tmp_path / "state" / "why" / NAME
    writer = tell(directory, seen, 12)
    [listed] = client.get("/diagnoses.json").data["unfinished"]
    assert (listed["id"], listed["running"]) == (NAME, True)
    first = client.get(f"/diagnoses/{NAME}")
    assert first.status == 200 and "live-page" in first.text
    for event in seen[1][12:]:
        writer.observe(event)
    later = client.get(f"/diagnoses/{NAME}.json").data
    assert later["live"]["stage"] == "explaining the causes"
    assert [cause["name"] for cause in later["causes"]] == ["b"]
    writer.close()
    stopped = client.get(f"/diagnoses/{NAME}")
    assert "benchvise why --resume" in stopped.text
    assert client.get("/diagnoses.json").data["unfinished"][0]["running"] is False


def test_one_that_has_come_to_its_end_leads_to_the_store(
    store: str, tmp_path: Path, seen: tuple[Diagnosis, list[Event]]
) -> None:
    writer = tell(tmp_path / "state" / "why" / NAME, seen, 20)
    identity = keep(store, encode(seen[0]))
    writer.end(seen[0], identity)
    client = Client.of(store=store)
    answer = client.get(f"/diagnoses/{NAME}")
    assert (answer.status, answer.headers["location"]) == (303, f"/diagnoses/{identity}")
    assert client.get("/diagnoses.json").data["unfinished"] == []
    writer.close()


def test_whoever_watches_learns_of_progress(
    store: str, tmp_path: Path, seen: tuple[Diagnosis, list[Event]]
) -> None:
    writer = tell(tmp_path / "state" / "why" / NAME, seen, 2)
    said: list[dict[str, Any]] = []
    enough = threading.Event()

    def publish(name: str, data: Any) -> None:
        assert name == "progress"
        said.append(dict(data))
        if len(said) == 1:
            writer.observe(seen[1][2])
        elif len(said) == 2:
            writer.close()
        else:
            enough.set()

    class Hub:
        def stream(self, _request: object, _topic: str, source: Any) -> None:
            source(publish, enough)

    app = Client.of(store=store).app
    app.state.context.hub = Hub()
    request = type("Request", (), {"path_params": {"id": NAME}, "app": app})()
    asyncio.run(diagnoses.live(request))
    assert [one["running"] for one in said] == [True, True, False]
    assert said[0]["bytes"] < said[1]["bytes"]


@pytest.mark.parametrize("name", ["nothing", "..%2F..%2Fetc", "20260101T000000-000000"])
def test_one_that_is_not_there(store: str, name: str) -> None:
    assert Client.of(store=store).get(f"/diagnoses/{name}.json").status == 404


def test_a_file_that_is_none_does_not_break_the_list(store: str, tmp_path: Path) -> None:
    directory = tmp_path / "state" / "why" / NAME
    directory.mkdir(parents=True)
    (directory / FILE).write_text(json.dumps({"event": "begun", "at": 0, "format": 99}))
    client = Client.of(store=store)
    assert client.get("/diagnoses.json").data["unfinished"] == []
    assert client.get(f"/diagnoses/{NAME}.json").status == 400
