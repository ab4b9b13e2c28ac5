"""The pages of diagnoses, health and captures in a real browser, with all that they show."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skips
from browser import SCRIPTS, environment, missing
from capture_data import sampled
from watch_boards import DAY, HOUR, WEEK, PlayedBoard, PlayedClock, play
from web_server import serving
from why_bench import MemoryBench, diagnose, losses
from why_documents import partly

from benchvise.documents import encode
from benchvise.signal.readers.sigrok import write_session
from benchvise.store import Store
from benchvise.why.events import Event
from benchvise.why.model import Diagnosis, DiagnosisVerdict
from benchvise.why.progress_log import ProgressWriter

pytestmark = skips.unless_missing(missing())

ATTACK = "<img src=x onerror=\"document.body.dataset.attacked='yes'\">"
NAME = "20260101T000000-abcdef"


def fill_store(store: str) -> None:
    """A diagnosis with hostile texts, and a board that was watched for weeks and gets worse."""
    document = partly()
    document["headline"] = document["good"] = ATTACK
    begins = time.time() - 5 * WEEK
    board = PlayedBoard(
        PlayedClock(begins),
        sensors={"SoC": lambda now: 50 + (now % DAY) / HOUR},
        lasting={"sda CRC errors": lambda now: (now - begins) // (2 * DAY)},
        log=((begins + DAY, "ATA error", ATTACK), (begins + 30 * DAY, "under-voltage", "low")),
        boots=(begins - DAY, begins + 8 * DAY),
        away=((begins + 10 * DAY, begins + 12 * DAY),),
    )
    with Store.open(store) as opened:
        opened.keep_diagnosis(document)
        play(board, opened, time.time() - 60, every=6 * HOUR)


def fill_captures(directory: Path) -> None:
    """Shots that are answered, and two lists of response times."""
    directory.mkdir()
    stimulus, answer = np.zeros(200_000, dtype=np.uint8), np.zeros(200_000, dtype=np.uint8)
    for shot in range(200):
        stimulus[500 + 990 * shot :][:100] = 1
        answer[507 + 990 * shot + shot % 5 :][:50] = 1
    write_session(sampled(1_000_000, IN=stimulus, OUT=answer), directory / "shots.sr")
    for name, times in (("kernel", 13e-6), ("kernel_busy", 8e-6)):
        lines = (f"{n}\t{times + (n % 37) * 1e-7}\n" for n in range(200))
        (directory / f"{name}.out").write_text("".join(lines))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the store and the captures."""
    place = tmp_path_factory.mktemp("bench")
    fill_store(str(place / "store.db"))
    fill_captures(place / "captures")
    return place


@cache
def diagnosed() -> tuple[Diagnosis, tuple[Event, ...]]:
    """A diagnosis, and all that happened in it."""
    events: list[Event] = []
    bench = MemoryBench(("a", "b", "c", "d"), losses(b=0.7))
    return diagnose(bench, events=events), tuple(events)


class Teller:
    """A diagnosis that goes on while a page is open: a part of it at a time, when it is told to."""

    def __init__(self, directory: Path, store: str) -> None:
        self._found, events = diagnosed()
        found, self._events = self._found, list(events)
        self._store = store
        begun = Diagnosis(
            found.metric, found.good, found.bad, DiagnosisVerdict.INCOMPLETE, "Why?",
            started="2026-01-01T00:00Z",
        )  # fmt: skip
        directory.mkdir(parents=True)
        self._progress = ProgressWriter(directory, begun, lambda: 60.0, tuple)

    def tell(self, events: int) -> None:
        """The next so many events."""
        for event in self._events[:events]:
            self._progress.observe(event)
        del self._events[:events]

    def end(self) -> None:
        """All the rest, and that it is in the store."""
        self.tell(len(self._events))
        with Store.open(self._store) as opened:
            self._progress.end(self._found, opened.keep_diagnosis(encode(self._found)))
        self._progress.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", "1280"), ("dark", "420")])
def test_a_reader_goes_through_the_pages(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, width: str
) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    store = str(tmp_path / "store.db")
    monkeypatch.setenv("BENCHVISE_STATE", str(tmp_path / "state"))
    teller = Teller(tmp_path / "state" / "why" / NAME, store)
    teller.tell(20)
    words = ["--scheme", scheme, "--width", width]
    with (
        serving(store, "--captures", tmp_path / "captures") as server,
        subprocess.Popen(
            ["node", SCRIPTS / "bench-pages.js", server.url(""), NAME, *words],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as script,
    ):
        assert script.stdout is not None and script.stderr is not None
        for line in script.stdout:
            if line == "watching\n":
                teller.tell(20)
            elif line == "watched\n":
                teller.end()
            else:
                said = line
        assert script.wait() == 0, script.stderr.read()
    seen: dict[str, Any] = json.loads(said)
    assert seen["complaints"] == [] and seen["requests"] == []
    assert seen["stayedOpen"] is True
    assert "OUT" in seen["details"] or "IN" in seen["details"]
    assert seen["painted"] > 2  # the page, a line, what is high
    assert "view" in seen["words"]
    assert seen["turned"] == [["down", "vertical"], [None, "horizontal"]]
    for name, page in seen["pages"].items():
        grave = [f for f in page["violations"] if f["impact"] in ("serious", "critical")]
        assert (name, grave, page["attacked"], page["overflow"]) == (name, [], "", 0)
    charts = {name: page["charts"] for name, page in seen["pages"].items() if page["charts"]}
    assert set(charts) == {"live", "diagnosis", "board", "board-by-day", "responses", "capture"}
