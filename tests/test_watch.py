"""``benchvise watch`` on real boards: this machine, and others over SSH that are lost and found."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import benchvise
from sshd import SshServer
from waiting import PATIENCE, wait_until

from benchvise.store import Store

pytest_plugins = ["board_fixtures"]

RULES = """
[[alert]]
name = "any look"
of = "level"
match = "clocks held down by cooling"
below = 1000
rearm = 2000
why = "a rule that everything breaks"
remedy = "none"
"""


EVERY = "2"
"""Seconds; a board that takes two and a half times as long for a look is too slow to be watched so
often, and a machine that tests has much else to do."""


def arguments(store: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "benchvise", "watch", *words, "--store", str(store)]


def watch(store: Path, *words: str, code: int = 0) -> Any:
    """What a watch says that comes to its end by itself, in this process."""
    ran = benchvise("watch", *words, "--store", store, "--json")
    assert ran.code == code, ran.err + ran.out
    return ran.data


def watch_to_its_end(store: Path, *words: str, code: int = 0) -> Any:
    """The same by a process of its own, with whose end all that it started has ended."""
    done = subprocess.run(
        [*arguments(store, *words), "--json"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout)["data"]


def history(store: Path, board: str) -> Any:
    [data] = watch(store, "--show", board)
    return data


@pytest.fixture
def servers(
    plain: SshServer,
    busybox: SshServer,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[SshServer, SshServer]]:
    """Two boards behind SSH, and one configuration that knows the way to both."""
    both = tmp_path / "config"
    both.write_text(
        "".join(
            f"Match exec true host 127.0.0.1\n IdentityFile {one.directory}/client\n"
            f" IdentitiesOnly yes\n UserKnownHostsFile {plain.known_hosts} {busybox.known_hosts}\n"
            " IdentityAgent none\n GlobalKnownHostsFile /dev/null\n"
            for one in (plain, busybox)
        )
    )
    monkeypatch.setenv("BENCHVISE_SSH_CONFIG", str(both))
    assert home.is_dir()
    yield plain, busybox


def test_this_machine_for_a_short_while(tmp_path: Path) -> None:
    store = tmp_path / "w.db"
    [outcome] = watch(store, "local", "--every", EVERY, "--for", "6")
    assert outcome["looks"] >= 1
    assert outcome["error"] is None
    # A busy machine may come to one look only, of which there is no cost.
    assert outcome["looks"] == 1 or 0 < outcome["cost"] < 1
    data = history(store, "local")
    [span] = in_time(data["spans"])
    assert data["counters"] and span["ending"] == "stopped"
    assert len(data["gaps"]) == len(data["spans"]) - 1


def test_one_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    store = tmp_path / "w.db"
    child = subprocess.Popen(
        arguments(store, "local", "--every", EVERY), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for_looks(store, "local", 2)
    child.kill()
    child.communicate()
    time.sleep(7)
    before = history(store, "local")
    watch(store, "local", "--every", EVERY, "--for", "3")
    after = history(store, "local")
    first, second = in_time(after["spans"])
    assert first["ending"] == "", "nobody could say why it ended"
    assert sum(span["looks"] for span in after["spans"][:-1]) >= 2
    assert second["ending"] == "stopped"
    assert len(after["gaps"]) == len(after["spans"]) - 1
    # Not one event of the kernel log twice, though one may have come again meanwhile; and no
    # counter that begins again.
    earlier, later = (
        [(event["what"], event["text"], event["first"]) for event in data["events"]]
        for data in (before, after)
    )
    assert [event for event in later if event in earlier] == earlier
    assert all(
        1 <= sum(c["rise"] is None for c in counter["changes"]) <= len(after["gaps"])
        for counter in after["counters"]
    )


def test_ctrl_c_is_the_usual_end(tmp_path: Path) -> None:
    store = tmp_path / "w.db"
    child = subprocess.Popen(
        [*arguments(store, "local", "--every", EVERY), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_looks(store, "local", 2)
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, errors
    assert json.loads(output)["data"][0]["looks"] >= 2
    assert history(store, "local")["spans"][-1]["ending"] == "stopped"


def test_two_boards_at_once_of_which_one_is_lost_and_found(
    servers: tuple[SshServer, SshServer], tmp_path: Path
) -> None:
    store = tmp_path / "w.db"
    lost, other = servers
    child = subprocess.Popen(
        [*arguments(store, lost.name, other.name, "--every", EVERY), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_looks(store, lost.name, 2)
    wait_for_looks(store, other.name, 2)
    lost.kill_sessions()
    wait_until(lambda: "contact again" in contacts(store, lost.name), "contact again")
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, errors
    one, two = json.loads(output)["data"]
    assert one["contact_lost"] == 1 and one["error"] is None
    assert two["contact_lost"] == 0
    assert "contact lost" in errors and "contact again" in errors
    seen = history(store, lost.name)
    assert contacts(store, lost.name) == ["contact lost", "contact again"]
    assert len(in_time(seen["spans"])) == 2 and seen["spans"][0]["ending"]
    assert len(in_time(history(store, other.name)["spans"])) == 1
    # Its CPU time is in ticks of 10 ms, of which a few looks need none.
    assert two["cost"] is not None and two["cpu_s"] is not None


def contacts(store: Path, board: str) -> list[str]:
    events = history(store, board)["events"]
    return [event["what"] for event in events if "contact" in event["what"]]


def in_time(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those that ended because this machine had too much else to do."""
    return [span for span in spans if span["ending"] != "too slow"]


def test_an_alert_runs_a_command_that_finds_it_in_its_environment(tmp_path: Path) -> None:
    rules, script, said = tmp_path / "rules.toml", tmp_path / "alarm", tmp_path / "said"
    rules.write_text(RULES)
    script.write_text(f'#!/bin/sh\necho "$ALERT_STATE $ALERT_RULE $ALERT_BOARD" >> {said}\n')
    script.chmod(0o755)
    store = tmp_path / "w.db"
    words = ("local", "--every", "1", "--for", "2", "--rules", str(rules))
    [outcome] = watch_to_its_end(store, *words, "--on-alert", str(script), code=1)
    assert outcome["alerts"] == outcome["raised"] == 1
    assert said.read_text() == "raised any look local\n"
    # It is still raised, so the next watch does not raise it again.
    [outcome] = watch_to_its_end(store, *words, "--on-alert", str(script))
    assert outcome["alerts"] == 0 and outcome["raised"] == 1
    assert said.read_text().count("\n") == 1
    [alert] = history(store, "local")["alerts"]
    assert alert["rule"] == "any look"


def test_what_cannot_be_watched_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "w.db"
    for words, code, said in (
        (("nonsense",), 2, "is not the name of a board"),
        (("local", "--every", "soon"), 2, "is no time"),
        (("local", "--every", "0.1"), 2, "is no time"),
        (("--show", "local"), 2, "was never watched"),
        (("local", "--rules", str(tmp_path / "none")), 2, "cannot be read"),
        (("local", "--on-alert", "'"), 2, "--on-alert"),
        (("ssh://nobody@127.0.0.1:9", "--for", "2"), 3, "127.0.0.1"),
        (("--show", "local", "--since", "tuesday"), 2, "is no time"),
    ):
        ran = benchvise("watch", *words, "--store", store)
        assert ran.code == code, words
        assert said in " ".join(ran.err.split()), ran.err


def wait_for_looks(store: Path, board: str, looks: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if store.exists():
            with Store.open(str(store)) as opened:
                found = opened.watches.history(board, 0, time.time() + 1e6)
            if found is not None and sum(span.polls for span in found.spans) >= looks:
                return
        time.sleep(0.2)
    raise AssertionError(f"{board} is not looked at ({store})")


def test_a_watch_is_cheap(servers: tuple[SshServer, SshServer], tmp_path: Path) -> None:
    """Under half a percent of one CPU of the board at the usual pace: what a look costs, measured
    over many at a quicker one. (No time is asserted but the share, which has a factor to spare.)
    """
    store = tmp_path / "w.db"
    words = [*arguments(store, servers[0].name, "--every", "1"), "--json"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_looks(store, servers[0].name, 12)
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, errors
    [outcome] = json.loads(output)["data"]
    assert outcome["cpu_s"] is not None
    per_look = outcome["cpu_s"] / (outcome["looks"] - 1)
    share = per_look / 60
    print(f"a look costs {per_look * 1e3:.1f} ms of the board's CPU: {share:.3%} at one a minute")
    assert share < 0.005
