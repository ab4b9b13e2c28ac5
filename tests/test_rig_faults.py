"""Everything that can go wrong in a rig, each under its own name, on boards that stand in for real
ones: with a real bench, real labgrid, and the commands as they are.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import skips
from in_process import Ran
from rig_bench import QUICK, TestBench, running
from waiting import PATIENCE, wait_until

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import actions
from benchvise.rig.hold.client import HeldBoard
from benchvise.rig.hold.messages import BoardAwaited, BoardEvent, PhaseReached, PowerChange
from benchvise.rig.hold.together import boots_told_to
from benchvise.rig.virtual.boards import GDB_SOCKET

GOOD, OTHER = "good", "other"
# Ten boards that start at once on a busy machine are slow, and quiet for a while; none of that may
# be taken for what is wrong with one of them.
PATIENT = {**QUICK, "silence_s": 20.0, "boot_limit_s": 60.0}
LARGE = 12 << 20

# A client that writes two cards and boots the boards; it says when it begins.
CYCLE = """
import sys
from benchvise.rig.hold import actions
file, image, *boards = sys.argv[1:]
loaded = actions.load(file)
print("begun", flush=True)
while True:
    actions.flash(loaded, boards, image)
    actions.boot(loaded, boards, keep_on=False)
"""
CLIENTS, CYCLE_SECONDS = (10, 10.0) if skips.LONG else (5, 6.0)  # of so many at once

# What is wrong: what is on the card, what is injected; and what it has to be called.
CARDS = {
    "bad-block": ("card-verify-mismatch", {"bad-block": "65536"}),
    "write-error": ("card-write-error", {"write-error": "65536"}),
    "too-small": ("card-too-small", {"small-card": "65536"}),
    "no-card": ("card-missing", {}),
    "mux-stays": ("mux-stuck", {"mux-stuck": "1"}),
}
BOOTS = {
    "silent": ("no-output", "silent", {}),
    "drops": ("console-lossy", "boot", {"serial-drop": "0.1"}),
    "garbles": ("console-garbled", "boot", {"serial-garble": "0.1"}),
    "deaf": ("console-dead", "boot", {"console-dead": "1"}),
    "held": ("bootloader-prompt", "boot", {"hang-uboot": "1"}),
    "stands": ("bootloader-hang", "hang-early", {}),
    "blank": ("no-bootable-medium", "nothing", {}),
    "panics": ("kernel-panic", "panic", {}),
    "no-root": ("root-not-found", "no-root", {}),
    "loops": ("login-loop", "login-loop", {}),
    "hangs": ("hang", "hang", {}),
    "crawls": ("too-slow", "slow", {}),
    "no-power": ("relay-stuck", "boot", {"relay-stuck": "1"}),
}


class Seen(NamedTuple):
    """An event of a board on its way, and when it was told, by the monotonic clock."""

    at: float
    board: str
    event: BoardEvent


@dataclass
class Batch:
    """All faults of one kind at once, each on a board of its own, beside one that is well."""

    rig: TestBench
    outcomes: dict[str, actions.BoardOutcome[Any]]
    events: list[Seen] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    phases: dict[str, list[str]] = field(default_factory=dict)

    def outcome(self, board: str) -> actions.BoardOutcome[Any]:
        if board in self.skipped:
            skips.skip("board", self.skipped[board])
        return self.outcomes[board]

    def last(self, board: str) -> float:
        return max(event.at for event in self.events if event.board == board)

    def reached(self, board: str, phase: str, _seconds: float) -> None:
        self.phases.setdefault(board, []).append(phase)

    def ended(self, board: str) -> None:
        self.phases.setdefault(board, []).append("ended")

    def observe(self, board: str, event: BoardEvent) -> None:
        self.events.append(Seen(time.monotonic(), board, event))


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBench]:
    names = [GOOD, OTHER, *CARDS, *BOOTS]
    boards = [(name, "stand-in") for name in names]
    place = tmp_path_factory.mktemp("faults")
    with running(place, boards, options=PATIENT, login_timeout=20) as bench:
        yield bench.changed(
            "faults", {"no-card": {"VirtualSDMux": {"disk_path": str(place / "nowhere")}}}
        )


@pytest.fixture(scope="module")
def flashed(rig: TestBench) -> Batch:
    batch = Batch(rig, {})
    for board, (_, faults) in CARDS.items():
        for name, value in faults.items():
            try:
                rig.inject(board, name, value)
            except UsageError as refused:
                batch.skipped[board] = str(refused)
    boards = [GOOD, *(board for board in CARDS if board not in batch.skipped)]
    # Large enough for the bad block to be bad again before it is read back, as a rule.
    image = str(rig.image("boot", LARGE))
    loaded = actions.load(str(rig.rig_file))
    found = actions.flash(loaded, boards, image, batch.observe)
    batch.outcomes = {outcome.board: outcome for outcome in found}
    # The simulated block takes a moment to go bad again, which a busy machine may not give it: then
    # this card was good once, as failing cards are, and is written again.
    for _ in range(4):
        if batch.outcomes["bad-block"].error is not None:
            break
        (again,) = actions.flash(loaded, ["bad-block"], image, batch.observe)
        batch.outcomes["bad-block"] = again
    return batch


@pytest.fixture(scope="module")
def booted(rig: TestBench, flashed: Batch) -> Batch:
    batch = Batch(rig, {})
    for board, (_, word, faults) in BOOTS.items():
        rig.put(board, word)
        for name, value in faults.items():
            rig.inject(board, name, value)
    loaded = actions.load(str(rig.rig_file))
    with boots_told_to(batch):
        found = actions.boot(loaded, [GOOD, *BOOTS], observe=batch.observe)
    batch.outcomes = {outcome.board: outcome for outcome in found}
    return batch


def shown(
    patch: pytest.MonkeyPatch, batch: Batch, verb: str, board: str, *words: str | Path
) -> tuple[Ran, Ran]:
    """What the command says of this board, to people and as JSON; it is not done once more."""
    outcome = batch.outcome(board)
    patch.setattr(actions, verb, lambda *_a, **_k: [outcome])
    plain = batch.rig.command("rig", verb, board, *words)
    return plain, batch.rig.command("rig", verb, board, *words, "--json")


def released(batch: Batch, board: str) -> None:
    """The board is off, and nobody holds it."""
    told = batch.rig.told()[board]
    assert (told["relay"], told["running"]) == (0, False)
    assert batch.rig.status(board)[board]["holder"] is None


def named(plain: Ran, as_json: Ran, board: str, fault: str, code: int) -> dict[str, Any]:
    """The fault's name is in both, with a sentence that names the board; returns the JSON."""
    assert (plain.code, as_json.code) == (code, code)
    assert plain.err.startswith(f"{fault}: ")
    said: dict[str, Any] = as_json.data[0]
    error = said["error"]
    assert error["fault"] == fault
    assert error["message"] in plain.err
    assert board in error["message"]
    assert error["remedy"]
    return said


@pytest.fixture
def calm(rig: TestBench, booted: Batch) -> Iterator[TestBench]:
    """The rig after all that, with the two boards that are well off and whole again."""
    yield rig.with_options(silence_s=PATIENCE, boot_limit_s=PATIENCE)
    for board in (GOOD, OTHER):
        rig.mend(board)


@pytest.mark.parametrize("board", CARDS)
def test_a_card_that_cannot_be_written_is_named_for_what_it_is(
    flashed: Batch, board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = CARDS[board][0]
    plain, as_json = shown(monkeypatch, flashed, "flash", board, flashed.rig.image("boot"))
    named(plain, as_json, board, fault, 3 if fault == "mux-stuck" else 1)
    monkeypatch.undo()
    released(flashed, board)


@pytest.mark.parametrize("board", BOOTS)
def test_a_board_that_does_not_boot_is_named_for_how_and_keeps_its_console(
    booted: Batch, board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = BOOTS[board][0]
    plain, as_json = shown(monkeypatch, booted, "boot", board)
    said = named(plain, as_json, board, fault, 3)
    if fault not in ("console-dead", "relay-stuck"):
        log = Path(said["report"]["console"])
        assert bool(log.read_bytes()) is (fault != "no-output")
        assert str(log) in plain.out + plain.err
    monkeypatch.undo()
    released(booted, board)


def test_one_that_fails_neither_fails_nor_delays_the_others(flashed: Batch, booted: Batch) -> None:
    written = flashed.outcomes[GOOD]
    assert written.error is None and written.result is not None
    assert written.result.size == LARGE
    up = booted.outcomes[GOOD]
    assert up.error is None and up.result is not None
    assert up.result.report.phases["network"] > 0
    assert booted.rig.told()[GOOD]["running"]
    slow = encode(actions.outcome_document(booted.outcomes["crawls"]))["report"]
    first, phase = next(
        (seen.at, seen.event.phase)
        for seen in booted.events
        if seen.board == "crawls" and isinstance(seen.event, PhaseReached)
    )
    assert booted.last(GOOD) < first - slow["phases"][phase] + slow["seconds"]


def test_all_boots_and_their_ends_are_told_to_who_watches_them(booted: Batch) -> None:
    assert set(booted.phases) == {GOOD, *BOOTS}
    for told in booted.phases.values():
        assert told.index("ended") == len(told) - 1
    assert {"power-on", "network"} < set(booted.phases[GOOD]), booted.phases[GOOD]


def test_a_damaged_image_is_told_before_anything_is_written(rig: TestBench) -> None:
    good = rig.place / "image.img.gz"
    good.write_bytes(gzip.compress(os.urandom(100_000))[:-5000])
    before = (rig.place / GOOD / "card.img").read_bytes()
    ran = rig.command("rig", "flash", GOOD, good, "--json")
    assert ran.code == 1
    assert ran.data[0]["error"]["fault"] == "image-damaged"
    assert (rig.place / GOOD / "card.img").read_bytes() == before
    plain = rig.command("rig", "flash", GOOD, good)
    assert plain.err.startswith("image-damaged: ")
    assert "image.img.gz" in plain.err


def test_what_somebody_holds_is_neither_switched_nor_turned(calm: TestBench) -> None:
    loaded = actions.load(str(calm.rig_file))
    with HeldBoard(loaded, GOOD, "a test that holds it") as held:
        held.switch_power(PowerChange.ON)
        pid = calm.told()[GOOD]["pid"]
        for words in (
            ("power", GOOD, "off"),
            ("power", GOOD, "cycle"),
            ("mux", GOOD, "host"),
            ("flash", GOOD, str(calm.image("boot"))),
            ("boot", GOOD),
        ):
            ran = calm.command("rig", *words)
            assert ran.code == 3
            assert ran.err.startswith(f"board-busy: the board {GOOD} is in use: a test that holds")
            assert re.search(r"stop it: kill \d+", ran.err)
        assert calm.told()[GOOD]["pid"] == pid
        holder = calm.status(GOOD)[GOOD]["holder"]
        assert holder["what"] == "a test that holds it"
        held.close(off=True)
    assert calm.command("rig", "power", GOOD, "off").code == 0


def test_a_board_that_is_in_use_is_waited_for(
    calm: TestBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENCHVISE_WAIT", raising=False)
    for words in (("power", GOOD, "off"), ("soak", GOOD)):
        refused = calm.command("rig", *words, "--wait", "soon")
        assert (refused.code, refused.err) == (
            2,
            "benchvise: 'soon' is no time to wait: write 90s, 30min or 2h\n",
        )
    events: list[tuple[str, object]] = []
    with ThreadPoolExecutor() as pool:
        with HeldBoard(actions.load(str(calm.rig_file)), GOOD, "a test that holds it") as held:
            patient = replace(actions.load(str(calm.rig_file)), wait_s=PATIENCE)
            waiter = pool.submit(
                lambda: actions.boot(patient, [GOOD], observe=lambda *e: events.append(e))
            )
            status = wait_until(
                lambda: calm.status(GOOD)[GOOD]["waiting"] and calm.status(GOOD)[GOOD], "no waiter"
            )
            assert status["holder"]["what"] == "a test that holds it"
            assert [one["what"] for one in status["waiting"]] == ["rig boot"]
            assert "; next: rig boot" in calm.command("rig", "status", GOOD).out
            assert not waiter.done()
            held.close(off=True)
        (outcome,) = waiter.result(PATIENCE)
    assert outcome.error is None and outcome.result is not None
    assert type(events[0][1]) is BoardAwaited
    assert calm.command("rig", "power", GOOD, "off").code == 0


def test_a_card_is_not_taken_from_a_board_that_has_power(calm: TestBench) -> None:
    assert calm.command("rig", "power", GOOD, "on").code == 0
    ran = calm.command("rig", "mux", GOOD, "host")
    assert ran.code == 3
    assert ran.err.startswith(f"board-busy: {GOOD} has power")
    assert calm.told()[GOOD]["running"]


def test_off_works_when_console_mux_and_storage_are_broken(calm: TestBench) -> None:
    assert calm.command("rig", "power", GOOD, "on").code == 0
    calm.inject(GOOD, "console-dead")
    calm.inject(GOOD, "mux-stuck")
    broken = calm.changed(
        "broken",
        {
            GOOD: {
                "NetworkSerialPort": {"port": 1},
                "VirtualSDMux": {
                    "control_path": str(calm.place / "nowhere"),
                    "disk_path": str(calm.place / "nowhere"),
                },
            }
        },
    )
    said = broken.command("rig", "status", GOOD, "--json").data[0]
    assert said["power"] == "on"
    assert "nowhere" in said["mux"]["na"] or "exit status" in said["mux"]["na"]
    ran = broken.command("rig", "power", GOOD, "off")
    assert (ran.code, ran.out) == (0, f"{GOOD}: power off\n")
    assert not calm.told()[GOOD]["running"]


def test_a_relay_that_does_not_release_is_said_to(calm: TestBench) -> None:
    assert calm.command("rig", "power", GOOD, "on").code == 0
    calm.inject(GOOD, "relay-stuck")
    card = (calm.place / GOOD / "card.img").read_bytes()
    for words in (("power", GOOD, "off"), ("flash", GOOD, str(calm.image("panic")))):
        ran = calm.command("rig", *words)
        assert ran.code == 3
        assert ran.err.startswith(f"relay-stuck: {GOOD}: the relay was switched off but reports")
    assert (calm.place / GOOD / "card.img").read_bytes() == card


def test_a_power_switch_that_does_not_answer_is_named(calm: TestBench) -> None:
    gone = calm.changed(
        "gone", {GOOD: {"NetworkPowerPort": {"host": "http://127.0.0.1:1/{index}"}}}
    )
    ran = gone.command("rig", "power", GOOD, "off")
    assert ran.code == 3
    assert ran.err.startswith(f"rig-broken: {GOOD}: ")
    assert "Traceback" not in ran.err


def test_a_board_that_boots_but_cannot_be_measured_is_switched_off(calm: TestBench) -> None:
    """What answers at its port for SSH says its name and no more."""
    calm.put(GOOD, "boot")
    ran = calm.command("run", f"rig:{GOOD}", "--bench", "os.syscall", "--no-snapshot")
    assert ran.code == 3, ran.err
    assert f"rig:{GOOD}" in ran.err
    assert calm.told()[GOOD]["relay"] == 0
    assert calm.status(GOOD)[GOOD]["holder"] is None


def test_a_board_names_its_debugger_for_a_soak(calm: TestBench) -> None:
    with HeldBoard(actions.load(str(calm.rig_file)), GOOD, "") as held:
        assert Path(held.find_debugger()).name == GDB_SOCKET


def test_a_process_that_is_killed_is_told_and_the_board_can_be_used_again(calm: TestBench) -> None:
    held = HeldBoard(actions.load(str(calm.rig_file)), GOOD, "a test")
    held.switch_power(PowerChange.ON)
    os.kill(held.pid, signal.SIGKILL)
    with pytest.raises(RigError, match="ended with SIGKILL") as raised:
        held.status()
    assert raised.value.fault is Fault.RIG_BROKEN
    held.abort()
    assert calm.command("rig", "power", GOOD, "off").code == 0


def test_ctrl_c_in_the_middle_of_a_boot_switches_off_and_ends_at_once(calm: TestBench) -> None:
    calm.put(GOOD, "slow")
    patient = calm.with_options(boot_limit_s=600.0)
    words = ["rig", "boot", GOOD, "--rig", str(patient.rig_file)]
    code = "import sys; from benchvise.cli.main import entry; entry()"
    client = subprocess.Popen(
        [sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True, process_group=0
    )
    wait_until(lambda: calm.told()[GOOD]["running"], "power")
    time.sleep(1.0)
    os.killpg(client.pid, signal.SIGINT)
    _, said = client.communicate(timeout=PATIENCE)
    assert (client.returncode, said) == (4, "benchvise: interrupted\n")
    assert not calm.told()[GOOD]["running"]
    assert calm.status(GOOD)[GOOD]["holder"] is None


@pytest.mark.long
@pytest.mark.parametrize("round_", range(5 if skips.LONG else 1))
def test_kill_9_at_any_moment_leaves_a_rig_that_the_next_command_can_use(
    calm: TestBench, round_: int
) -> None:
    """Clients are killed, each somewhere in its share of a cycle, which is cut among them; then all
    boards are off and free, and can be used at once."""
    boards = [GOOD, OTHER, *BOOTS][:CLIENTS]
    for board in boards:
        calm.mend(board)
    clients = []
    for board in boards:
        words = [sys.executable, "-c", CYCLE, str(calm.rig_file), str(calm.image("boot")), board]
        clients.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    killers = [
        threading.Thread(target=kill_within, args=(client, moment))
        for moment, client in enumerate(clients)
    ]
    for killer in killers:
        killer.start()
    for killer in killers:
        killer.join()

    def all_are_off() -> bool:
        told = calm.told()
        return not any(told[board]["relay"] or told[board]["running"] for board in boards)

    def all_are_free() -> bool:
        return not any(found["holder"] for found in calm.status(*boards).values())

    wait_until(all_are_off, "what the killed clients held is off")
    wait_until(all_are_free, "what the killed clients held is free")
    ran = calm.command("rig", "flash", *boards, calm.image("boot"))
    assert (ran.code, ran.err) == (0, "")
    for board in boards:
        told = calm.told()[board]
        assert (told["relay"], told["mux"]) == (0, "dut")
    ran = calm.command("rig", "boot", *boards, "--off", "--json")
    assert ran.code == 0, ran.out
    assert all(found["holder"] is None for found in calm.status(*boards).values())


def kill_within(client: subprocess.Popen[str], share: int) -> None:
    """Kills a client in that share of its cycle, at a random moment."""
    assert client.stdout is not None
    assert client.stdout.readline() == "begun\n"
    time.sleep((share + random.random()) / CLIENTS * CYCLE_SECONDS)
    client.kill()
    client.wait()
    client.stdout.close()
