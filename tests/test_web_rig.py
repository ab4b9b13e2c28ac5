"""Boards of a rig on pages, live, with machines that behave like boards on their console."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
import skips
from browser import SERIOUS, browse, missing
from browser_pages import assert_fine, look
from rig_bench import TestBench, running
from waiting import PATIENCE
from web_server import Serving, serving

from benchvise.rig import locks
from benchvise.rig.environment import load_rig
from benchvise.web.rig import control

JSON = {"Accept": "application/json", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBench]:
    place = tmp_path_factory.mktemp("bench")
    with running(place, [("one", "stand-in"), ("two", "stand-in")]) as started:
        yield started


@pytest.fixture(scope="module")
def server(bench: TestBench) -> Iterator[Serving]:
    with serving(bench.place / "store.db", "--rig", bench.rig_file, "--allow-control") as started:
        yield started


def ask(server: Serving, method: str, path: str, **headers: str) -> tuple[int, Any]:
    parts = urlsplit(server.address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
    try:
        connection.request(method, path, headers={**JSON, **server.bearer, **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


class Watching:
    """A page that watches a stream: the last message of each name, and the text of a console."""

    def __init__(self, server: Serving, path: str) -> None:
        self.last: dict[str, Any] = {}
        self.text = ""
        self.seen: list[tuple[str, Any]] = []
        self._connection = http.client.HTTPConnection(
            urlsplit(server.address).netloc, timeout=PATIENCE
        )
        self._connection.request("GET", path, headers=server.bearer)
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        assert self._answer.headers["Content-Type"].startswith("text/event-stream")
        Thread(target=self._read, daemon=True).start()

    def until(self, true: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := true()):
            assert time.monotonic() < deadline, f"{what} was not seen; {self.last}"
            time.sleep(0.02)
        return found

    def says(self, board: str, power: str) -> bool:
        return bool(self.last["boards"]["boards"][board]["power"] == power)

    def told(self, board: str, said: Any) -> bool:
        return bool(self.last.get("acted", {"boards": {}})["boards"].get(board) == said)

    def _read(self) -> None:
        name = ""
        while line := self._answer.readline().decode():
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                data = json.loads(line[6:])
                self.last[name] = data
                self.seen.append((name, data))
                if name == "output":
                    self.text += base64.b64decode(data["base64"]).decode("utf-8", "replace")

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def test_a_boot_is_seen_while_it_goes_on(server: Serving, bench: TestBench) -> None:
    bench.put("one", "boot")
    rig = Watching(server, "/live/rig")
    console = Watching(server, "/live/console/one")
    boards = rig.until(lambda: rig.last.get("boards"), "the state")["boards"]
    assert boards["one"]["power"] == "off" and boards["one"]["card"] == "dut"
    assert boards["one"]["error"] is None
    rig.until(lambda: rig.last.get("holders"), "who holds them")

    # A command of somebody else's: nobody asks this server.
    assert bench.command("rig", "boot", "one").code == 0
    doing = rig.until(
        lambda: [h for h in held_by(rig, "one") if h["doing"] == "booting"], "the boot"
    )
    assert doing[-1]["what"] == "rig boot"
    rig.until(lambda: rig.last["boards"]["boards"]["one"]["power"] == "on", "power on")
    console.until(
        lambda: any("Linux version 6.1.0" in line for line in console.lines), "the kernel"
    )

    status, answer = ask(server, "GET", "/boards/rig:one.json")
    assert status == 200
    (boot,) = answer["data"]["boots"]
    assert boot["kind"] == "boot" and next(iter(boot["phases"])) == "power-on"
    assert "kernel" in boot["phases"]
    status, answer = ask(server, "GET", f"/boards/rig:one.json?boot={boot['key']}")
    assert any("Linux version" in line for line in answer["data"]["boot"]["lines"])


def held_by(rig: Watching, board: str) -> list[dict[str, Any]]:
    told = [data["holders"][board] for name, data in rig.seen if name == "holders"]
    return [holding for holding in told if holding]


def test_what_a_board_said_last_is_seen_while_it_boots(server: Serving, bench: TestBench) -> None:
    """One that hangs: nothing comes any more for seconds, which is when people look."""
    bench.put("two", "hang")
    rig, progress = Watching(server, "/live/rig"), Watching(server, "/live/progress")
    words = [sys.executable, "-m", "benchvise", "rig", "boot", "two", "--rig", str(bench.rig_file)]
    boot = subprocess.Popen(words, stderr=subprocess.DEVNULL, process_group=0)
    try:
        last = "Freeing unused kernel memory"
        rig.until(lambda: any(last in h["line"] for h in held_by(rig, "two")), "its last line")
        progress.until(lambda: progress.last.get("progress", {}).get("booting"), "the boot")
        (shown,) = ask(server, "GET", "/progress.json")[1]["data"]["booting"]
        assert (shown["board"], shown["what"], shown["in_rig"]) == ("rig:two", "rig boot", True)
        assert (shown["phase"], last in shown["line"]) == ("kernel", True)
    finally:
        os.killpg(boot.pid, signal.SIGINT)
        boot.wait(PATIENCE)
    progress.until(lambda: progress.last["progress"]["booting"] == 0, "its end")


def test_how_far_a_card_is_written_is_seen(server: Serving, bench: TestBench) -> None:
    """The holder's note, and what a page makes of it; both are over too soon to be met at once."""
    states = ask(server, "GET", "/boards.json")[1]["data"]["boards"]
    (key,) = (board["state"]["lock"] for board in states if board["name"] == "rig:two")
    image = bench.image("boot", 12 << 20)
    noted: list[Any] = []
    over = Event()

    def look() -> None:
        while not over.wait(0.001):
            holder = locks.holder(key)
            noted.append(holder.doing if holder is not None else {})

    browser = Thread(target=look)
    browser.start()
    try:
        assert bench.command("rig", "flash", "two", image).code == 0
    finally:
        over.set()
        browser.join()
    writing = [doing["flash"] for doing in noted if "flash" in doing]
    assert writing and all(doing["op"] == "flash" for doing in noted if doing)
    assert writing[0]["total"] == 12 << 20 and writing[0]["phase"] == "write"
    assert not noted[-1]

    rig = Watching(server, "/live/rig")
    rig.until(lambda: rig.last.get("holders"), "the holders")
    with locks.held(key, "rig flash"):
        locks.note_activity(key, {"op": "flash", "flash": writing[0]})
        shown = rig.until(lambda: [h for h in held_by(rig, "two") if h["flash"]], "the writing")[-1]
        assert shown["doing"] == "flashing" and shown["flash"]["total"] == 12 << 20
    rig.until(lambda: rig.last["holders"]["holders"]["two"] is None, "the end")


def test_a_page_may_switch_power_where_it_is_allowed(server: Serving) -> None:
    rig = Watching(server, "/live/rig")
    rig.until(lambda: rig.last.get("boards"), "the state")
    for to in ("off", "on", "off"):
        status, said = ask(server, "POST", f"/rig/two/power/{to}")
        assert (status, said["state"], said["action"]) == (200, "done", f"Switch {to}")
        rig.until(partial(rig.told, "two", said), "what became of it")
        rig.until(partial(rig.says, "two", to), to)
    assert ask(server, "POST", "/rig/two/power/explode")[0] == 404
    assert ask(server, "POST", "/rig/nobody/power/on")[0] == 404
    assert ask(server, "POST", "/rig/two/power/on", Origin="http://attacker.example")[0] == 403


def test_what_keeps_a_board_from_being_switched_is_said(server: Serving, bench: TestBench) -> None:
    ask(server, "POST", "/rig/two/power/on")
    status, said = ask(server, "POST", "/rig/two/card/host")
    assert (status, said["state"]) == (200, "failed")
    assert "two has power" in said["message"] and said["remedy"]
    bench.mend("two")


def typed(server: Serving, board: str, to: str, **said: str) -> tuple[int, Any]:
    """Asks for something on a board's console."""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=PATIENCE)
    try:
        connection.request(
            "POST", f"/rig/{board}/console/{to}", json.dumps(said), {**JSON, **server.bearer}
        )
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_console_is_typed_on_and_released(server: Serving, bench: TestBench) -> None:
    bench.put("two", "boot")
    assert bench.command("rig", "boot", "two").code == 0
    status, said = typed(server, "two", "type", text="echo too soon\r")
    assert status == 403 and said["error"]["remedy"] == "open it first"
    assert typed(server, "three", "begin")[0] == 404
    assert typed(server, "two", "begin") == (200, {"typing": True, "message": "", "remedy": ""})
    console = Watching(server, "/live/console/two")
    assert typed(server, "two", "type", text="echo hello-$((6 * 7))\r")[0] == 200
    console.until(lambda: "hello-42" in console.lines, "what was typed")
    assert typed(server, "two", "type", text="x" * 5000)[0] == 400
    # It is held, as by any command.
    refused = bench.command("rig", "power", "two", "off")
    assert refused.code != 0 and "typing in the workbench" in refused.err
    before = len(console.lines)
    assert typed(server, "two", "cycle")[0] == 200
    kernel = "Linux version 6.1.0"
    console.until(lambda: [one for one in console.lines[before:] if kernel in one], "a boot")
    assert typed(server, "two", "end")[1]["typing"] is False
    assert bench.command("rig", "power", "two", "off").code == 0


def test_who_types_no_more_releases_it(
    bench: TestBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "IDLE_S", 0.3)
    consoles = control.ConsoleSessions()
    assert consoles.begin(load_rig(bench.rig_file), "two").typing
    until = time.monotonic() + PATIENCE
    while consoles.state("two").typing:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert "released after" in consoles.state("two").message
    assert bench.command("rig", "power", "two", "off").code == 0


def test_without_being_allowed_nothing_can_be_switched(bench: TestBench, tmp_path: Path) -> None:
    with serving(tmp_path / "store.db", "--rig", bench.rig_file) as server:
        status, answer = ask(server, "POST", "/rig/two/power/on")
        assert status == 403 and "--allow-control" in answer["error"]["remedy"]
        status, answer = typed(server, "two", "begin")
        assert status == 403 and "--allow-control" in answer["error"]["remedy"]
        status, answer = ask(server, "GET", "/boards.json")
        states = {board["name"]: board["state"] for board in answer["data"]["boards"]}
        assert states["rig:two"]["power"] == "off"


@skips.unless_missing(missing())
def test_the_pages_of_a_rig_in_a_browser(server: Serving, bench: TestBench) -> None:
    board = "/boards/rig:one"
    if not ask(server, "GET", f"{board}.json")[1]["data"]["boots"]:  # as an earlier test leaves it
        bench.put("one", "boot")
        assert bench.command("rig", "boot", "one", "--off").code == 0
    told = ("--shows", "/boards=free", "--shows", f"{board}=Linux version 6.1.0")
    seen = look(server, "/", "/boards", board, options=("--axe", "--settle", "4000", *told))
    for page in seen.values():
        assert_fine(page)
    assert "free" in seen["/boards"]["text"]
    text = seen["/boards/rig:one"]["text"]
    assert "Linux version 6.1.0" in text, "the console"
    assert "Power cycle" in text
    (boot,) = (link for link in seen["/boards/rig:one"]["links"] if link.startswith("?boot="))
    status, answer = ask(server, "GET", f"/boards/rig:one.json{boot.partition('#')[0]}")
    assert status == 200 and "kernel" in answer["data"]["boot"]["phases"]


@skips.unless_missing(missing())
def test_the_terminal_of_a_console_in_a_browser(server: Serving, bench: TestBench) -> None:
    """Keys arrive, screens are drawn, and a hostile board changes nothing but its terminal."""
    bench.put("two", "boot")
    assert bench.command("rig", "boot", "two").code == 0
    seen = browse("terminal.js", server.url("/boards/rig:two"))
    assert seen["fullScreen"].startswith(" " * 9 + "full-screen red")
    red, green, blue = map(int, re.findall(r"\d+", seen["red"])[:3])
    assert red > 100 > max(green, blue), "the policy of the page lets colours through"
    assert seen["complaints"] == seen["requests"] == seen["dialogs"] == []
    assert (seen["titleKept"], seen["attacked"], seen["pages"]) == (True, "", 1)
    assert [one for one in seen["violations"] if one["impact"] in SERIOUS] == []
    assert not seen["begin"]
    assert seen["overflow"] <= 0
    assert seen["focus"] == "Type on the console"
    assert bench.command("rig", "power", "two", "off").code == 0


@skips.unless_missing(missing())
def test_a_reader_types_nothing(bench: TestBench, tmp_path: Path) -> None:
    with serving(tmp_path / "store.db", "--rig", bench.rig_file) as server:
        seen = browse("terminal.js", server.url("/boards/rig:two"), "--reader")
    assert "Type on the console" not in seen["buttons"]
    assert (seen["posted"], seen["trapped"], seen["complaints"]) == (0, False, [])
