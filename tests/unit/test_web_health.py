"""Pages of health: what a watch has kept of boards, and a look at one now."""

from __future__ import annotations

import time
from pathlib import Path
from typing import get_args

import pytest
from watch_boards import DAY, HOUR, WEEK, PlayedBoard, PlayedClock, play
from web_client import HOST, Client

from benchvise.errors import BoardUnreachable
from benchvise.health.judging import HealthVerdict, Judgement, judge
from benchvise.health.model import Disk, HealthReading, LogReading, Sensor
from benchvise.store import Store
from benchvise.web import cache
from benchvise.web.pages import health as pages_health

ATTACK = "<script>document.body.dataset.attacked=1</script>\u202e"
NAME = "/health/ssh%3A%2F%2Fplayed"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A board that was watched for five weeks, until a minute ago; its cable gets worse."""
    store = str(tmp_path_factory.mktemp("health") / "store.db")
    begins = time.time() - 5 * WEEK
    board = PlayedBoard(
        PlayedClock(begins),
        sensors={"SoC": lambda now: 50 + (now % DAY) / HOUR},
        lasting={"sda CRC errors": lambda now: (now - begins) // (2 * DAY)},
        log=((begins + DAY, "ATA error", f"ata1: {ATTACK}"),
             (begins + 30 * DAY, "under-voltage", "hwmon: Undervoltage detected!")),
        boots=(begins - DAY, begins + 8 * DAY),
        away=((begins + 10 * DAY, begins + 12 * DAY),),
    )  # fmt: skip
    with Store.open(store) as opened:
        play(board, opened, time.time() - 60, every=6 * HOUR)
    return store


def test_boards_are_listed_the_worst_first(watched: str) -> None:
    client = Client.of(store=watched)
    boards = client.get("/health.json").data["boards"]
    assert [one["board"] for one in boards] == ["ssh://played", "local"]
    played = boards[0]
    assert played["standing"] == "failing" and played["alerts"][0]["rule"] == "link errors"
    assert boards[1]["standing"] == "not watched"
    text = client.get("/health").text
    assert "benchvise watch local" in text and "simulated" in text


def test_a_board_by_week_and_by_day(watched: str) -> None:
    client = Client.of(store=watched)
    weeks = client.get(f"{NAME}.json?by=week").data["history"]
    assert weeks["by"] == "week" and 5 <= len(weeks["periods"]) <= 7
    [crc] = [one for one in weeks["counters"] if one["name"] == "sda CRC errors"]
    assert crc["rising"] >= 4
    assert any("played" in gap["why"] or gap["why"] for gap in weeks["gaps"])
    days = client.get(f"{NAME}.json?by=day&since=10d").data["history"]
    assert 10 <= len(days["periods"]) <= 12
    shown = client.get(f"{NAME}?by=week").text
    for part in ("Events", "Counters that rose", "Sensor readings", 'data-figure="sensor0"'):
        assert part in shown, part
    assert "<script>document" not in shown and "\u202e" not in shown


def test_what_is_not_known_is_not_looked_for(watched: str) -> None:
    client = Client.of(store=watched)
    assert client.get("/health/ssh%3A%2F%2Fattacker.json").status == 404
    assert client.get(f"{NAME}.json?by=year").status == 400
    assert client.get(f"{NAME}.json?since=tomorrow").status == 400
    assert client.post("/health/look?board=ssh%3A%2F%2Fx", origin=f"http://{HOST}").status == 404
    assert client.get("/health/look?board=local").status in (404, 405)


def test_a_look_now_is_shown_until_the_next(watched: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = HealthReading(
        board="local", taken="2026-11-22T08:00:00+00:00", boot_id="b", uptime=60.0,
        privilege=ATTACK, log=LogReading(lines=3, source="kmsg"),
        sensors=(Sensor("k10temp", "temp1", ATTACK, "temperature", 51.0, "°C", {"max": 70.0}),),
        disks=(Disk("sda", ATTACK, True, {"CRC errors": 3.0}),),
    )  # fmt: skip
    monkeypatch.setattr(cache, "health", lambda _board, rig: judge(reading))
    client = Client.of(store=watched)
    assert client.get("/health/local.json").data["now"] is None
    answer = client.post("/health/look?board=local", origin=f"http://{HOST}")
    assert (answer.status, answer.headers["location"]) == (303, "/health/local#now")
    assert client.get("/health/local.json").data["now"]["verdict"] == "warning"
    local = client.get("/health.json").data["boards"][1]
    assert (local["board"], local["standing"], local["now"]["warning"]) == ("local", "warning", 1)
    assert "last look: 0 failing, 1 warning" in client.get("/health").text
    text = client.get("/health/local").text
    assert "CRC errors 3" in text and "<script>document" not in text
    assert client.post("/health/look?board=local", origin="http://evil.example").status == 403


def test_each_standing_and_verdict_has_a_colour() -> None:
    """Failing was drawn in the grey of what nobody knows."""
    style = (Path(__file__).parents[2] / "web/src/styles/states.css").read_text()
    standings = {*get_args(pages_health.Standing), *(v.value for v in HealthVerdict)}
    for standing in standings - {"not watched", "not available"}:
        assert f".status-{standing}::before" in style, standing


def test_nothing_is_watched_yet(tmp_path: Path) -> None:
    client = Client.of(store=str(tmp_path / "store.db"))
    assert "No board is watched yet" in client.get("/health").text
    assert "This board is not watched" in client.get("/health/local").text


def test_a_board_of_a_rig_is_not_switched_on_without_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text("targets:\n  one: {features: [simulated]}\n")
    asked: list[tuple[str, str | None]] = []

    def look(board: str, rig: str | None) -> Judgement:
        asked.append((board, rig))
        raise BoardUnreachable("it does not answer", "look at its cable")

    monkeypatch.setattr(cache, "health", look)
    words = {"store": str(tmp_path / "store.db"), "rig": str(rig)}
    target, ours = "/health/look?board=rig%3Aone", f"http://{HOST}"
    without = Client.of(**words)
    assert "Read now" not in without.get("/health/rig%3Aone").text
    assert without.post(target, origin=ours).status == 403
    assert asked == []
    assert Client.of(**words, control=True).post(target, origin=ours).status == 502
    assert asked == [("rig:one", str(rig))]
