"""Boards behind a real labgrid coordinator and exporter: places taken, given back, respected."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from labgrid.remote.generated import labgrid_coordinator_pb2
from labgrid.resource.remote import RemotePlaceManager
from rig_places import Lab, lab
from waiting import PATIENCE, wait_until

from benchvise.documents import encode
from benchvise.rig import locks
from benchvise.rig.environment import BoardRequest, NetworkService, Rig, load_rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import actions
from benchvise.rig.hold import network as hold_network
from benchvise.rig.hold.choice import choose, release
from benchvise.rig.hold.messages import NotReadable, PowerChange
from benchvise.rig.hold.network import NetworkHold
from benchvise.rig.hold.places import PlaceOwner, taker
from benchvise.rig.hold.reach import SILENT
from benchvise.web.rig.watching import board_states


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHVISE_LOCK_DIR", str(tmp_path_factory.mktemp("locks")))
        patch.setenv("LG_HOSTNAME", "here")
        patch.setenv("LG_USERNAME", "we")
        for name in ("LG_ENV", "LG_PLACE", "LG_COORDINATOR"):
            patch.delenv(name, raising=False)
        with lab(tmp_path_factory.mktemp("lab")) as made:
            yield made


@pytest.fixture
def rig(running: Lab) -> Iterator[Rig]:
    running.relays.on.update({0: False, 1: False})
    yield load_rig(running.rig_file)
    for place in running.places:
        if taker(running.rig_file, place) is not None:
            running.labgrid("-p", place, "release", "--kick")


def command(running: Lab, *words: str) -> list[str]:
    return [sys.executable, "-m", "benchvise", "rig", *words, "--rig", str(running.rig_file)]


def status(rig: Rig, board: str = "one") -> dict[str, Any]:
    (outcome,) = actions.status(rig, [board])
    document: dict[str, Any] = encode(actions.outcome_document(outcome))
    return document


def test_the_command_line_takes_a_place_and_gives_it_back(running: Lab, rig: Rig) -> None:
    done = subprocess.run(
        command(running, "power", "all", "on"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, ["one: power on", "two: power on"])
    assert running.relays.on == {0: True, 1: True}
    assert taker(rig.path, "one") is None
    assert taker(rig.path, "two") is None


def test_what_is_not_taken_is_not_looked_into(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so takes no process of its own."""
    monkeypatch.setattr(actions, "HeldBoard", None)
    found = status(rig)
    assert found["holder"] is None
    assert found["power"] == found["mux"] == {"na": "seen by those who have its place"}
    assert taker(rig.path, "one") is None


def test_a_place_of_another_user_is_busy_and_stays_his(running: Lab, rig: Rig) -> None:
    begun = time.time()
    assert running.labgrid("-p", "one", "acquire", user="eve").returncode == 0
    (one, two) = actions.power(rig, ["all"], PowerChange.ON)
    assert isinstance(one.error, RigError)
    assert one.error.fault is Fault.BUSY
    assert "here/eve" in one.error.message
    assert two.error is None
    assert running.relays.on == {0: False, 1: True}
    assert taker(rig.path, "one") == PlaceOwner("here/eve", ours=False)
    holder = status(rig)["holder"]
    assert begun <= holder.pop("since") <= time.time()
    assert holder == {"pid": 0, "what": "place of here/eve"}
    on_page = str(board_states(rig)["one"].elsewhere)
    assert re.fullmatch(r"place of here/eve, taken \S+ \S+ UTC or before", on_page), on_page


def test_a_place_that_its_user_had_taken_before_stays_his(running: Lab, rig: Rig) -> None:
    assert running.labgrid("-p", "one", "acquire").returncode == 0
    (one,) = actions.power(rig, ["one"], PowerChange.CYCLE)
    assert one.error is None
    assert one.result is not None and one.result.power == "on"
    assert taker(rig.path, "one") == PlaceOwner("here/we", ours=True)
    assert status(rig)["power"] == "on"


def test_a_place_that_is_shared_with_us_is_used(running: Lab, rig: Rig) -> None:
    assert running.labgrid("-p", "one", "acquire", user="eve").returncode == 0
    assert running.labgrid("-p", "one", "allow", "here/we", user="eve").returncode == 0
    (one,) = actions.power(rig, ["one"], PowerChange.ON)
    assert one.error is None
    assert taker(rig.path, "one") == PlaceOwner("here/eve", ours=True)


def test_a_killed_client_gives_its_place_back(running: Lab, rig: Rig) -> None:
    client = attend(running)
    try:
        wait_until(lambda: taker(rig.path, "one") is not None, "the taking")
        (other,) = actions.power(rig, ["one"], PowerChange.OFF)
        assert isinstance(other.error, RigError)
        assert (other.error.fault, "rig console" in other.error.message) == (Fault.BUSY, True)
    finally:
        client.kill()
        client.wait()
    wait_until(lambda: taker(rig.path, "one") is None, "the giving back")


def test_a_worker_that_is_told_to_end_gives_its_place_back(running: Lab, rig: Rig) -> None:
    end_worker(running, rig, signal.SIGTERM)
    assert taker(rig.path, "one") is None


def test_what_a_killed_worker_left_is_taken_over_and_given_back(running: Lab, rig: Rig) -> None:
    end_worker(running, rig, signal.SIGKILL)
    assert taker(rig.path, "one") == PlaceOwner("here/we", ours=True)
    (one,) = actions.power(rig, ["one"], PowerChange.OFF)
    assert one.error is None
    wait_until(lambda: taker(rig.path, "one") is None, "the giving back")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("name: nowhere", "the coordinator has no place 'nowhere'"),
        ("coordinator_address: 127.0.0.1:1", "the coordinator at 127.0.0.1:1 does not answer"),
    ],
)
def test_what_is_not_there_is_named(running: Lab, tmp_path: Path, line: str, says: str) -> None:
    key = line.partition(":")[0]
    text = running.rig_file.read_text()
    old = next(part.strip() for part in text.splitlines() if part.strip().startswith(f"{key}:"))
    path = tmp_path / "rig.yaml"
    path.write_text(text.replace(old, line, 1))
    (outcome,) = actions.power(load_rig(path), ["one"], PowerChange.OFF)
    assert isinstance(outcome.error, RigError)
    assert (outcome.error.fault, outcome.error.message) == (Fault.RIG_BROKEN, says)


def attend(running: Lab) -> subprocess.Popen[bytes]:
    """A command that holds the board until its input ends."""
    return subprocess.Popen(
        command(running, "console", "one"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def end_worker(running: Lab, rig: Rig, number: signal.Signals) -> None:
    """Ends the process that holds the board, and waits for the command that has started it."""
    client = attend(running)
    try:
        wait_until(lambda: taker(rig.path, "one") is not None, "the taking")
        worker = locks.holder(f"place one at {running.address}")
        assert worker is not None
        os.kill(worker.pid, number)
        assert client.wait(PATIENCE) == 3
    finally:
        client.kill()
        client.wait()


def network_rig(running: Lab, tmp_path: Path, wait_s: float = 0.0) -> Rig:
    """The same places, for boards that are reached over their network alone."""
    path = tmp_path / "network.yaml"
    targets = "".join(
        f"  rack-{place}: {{features: [rack], resources: {{RemotePlace: {{name: {place}}}}}}}\n"
        for place in running.places
    )
    path.write_text(f"targets:\n{targets}options: {{coordinator_address: '{running.address}'}}\n")
    return replace(load_rig(path), wait_s=wait_s)


def test_one_process_keeps_the_places_of_boards_without_drivers(
    running: Lab, rig: Rig, tmp_path: Path
) -> None:
    network = network_rig(running, tmp_path)
    with ExitStack() as stack:
        for name in network.names:
            hold = NetworkHold(network, name, "a test")
            stack.callback(hold.close, off=False)
            assert hold.service == NetworkService("127.0.0.1", 9, "root")
        assert taker(rig.path, "one") == taker(rig.path, "two") == PlaceOwner("here/we", ours=True)
        holders = {str(locks.holder(f"place {p} at {running.address}")) for p in running.places}
        assert len({text.partition(",")[0] for text in holders}) == 1
        with pytest.raises(RigError, match="in use: a test"):
            NetworkHold(network, "rack-one", "another")
        (one, _) = actions.status(network, [])
        assert one.result is not None and one.result.holder is not None
        # As any other board: our own run with its time, and not just whose place it is.
        assert one.result.holder.what == "a test" and one.result.holder.since
    assert taker(rig.path, "one") is taker(rig.path, "two") is None


def test_who_waits_for_a_place_is_in_its_queue(running: Lab, tmp_path: Path) -> None:
    network = network_rig(running, tmp_path, wait_s=PATIENCE)
    first = NetworkHold(network, "rack-one", "the first")
    holds: list[NetworkHold] = []

    def wait() -> None:
        holds.append(NetworkHold(network, "rack-one", "the second"))

    def seen() -> tuple[str, list[str]]:
        (outcome,) = actions.status(network, ["rack-one"])
        assert outcome.result is not None and outcome.result.holder is not None
        return outcome.result.holder.what, [who.what for who in outcome.result.waiting]

    thread = threading.Thread(target=wait)
    try:
        thread.start()
        wait_until(lambda: seen() == ("the first", ["the second"]), "the queue of the place")
        with pytest.raises(RigError, match="in use: the first"):
            NetworkHold(network.without_waiting(), "rack-one", "the third")
    finally:
        first.close(off=False)
        thread.join(PATIENCE)
    try:
        assert len(seen()[1]) == 0
    finally:
        holds[0].close(off=False)


def test_the_status_of_a_lab_says_each_fault_and_goes_round_none(
    running: Lab, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's place, a board that does not answer, one that does beside the coordinator, a
    dead exporter, and a coordinator that hangs."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        network = network_rig(running, tmp_path)
        service = f"{{address: 127.0.0.1, port: {silent.getsockname()[1]}}}"
        first = f"targets:\n  own: {{resources: {{NetworkService: {service}}}}}\n"
        network.path.write_text(network.path.read_text().replace("targets:\n", first))
        network = load_rig(network.path)
        assert running.labgrid("-p", "one", "acquire", user="eve").returncode == 0
        own, one, two = reached(network)
        assert own == (None, SILENT)
        assert one == ("place of here/eve", None)  # it may be measured now: nobody asks it
        assert two == (None, NotReadable("connection refused"))
        exporter, coordinator = running.processes["exporter"], running.processes["coordinator"]
        with stopped(coordinator), monkeypatch.context() as patch:
            patch.setattr(hold_network, "_STATUS_SECONDS", 0.5)
            beside, *behind = actions.status(network, [])
            assert beside.result is not None
            assert all("does not answer within" in str(outcome.error) for outcome in behind)
        try:
            exporter.kill()
            missing = NotReadable("no exporter offers shelf/two/*")
            wait_until(lambda: reached(network)[2] == (None, missing), "the end of the exporter")
            assert reached(network)[1] == (
                "place of here/eve",
                NotReadable("no exporter offers shelf/one/*"),
            )
        finally:
            running.stop()
            running.start()


def reached(network: Rig) -> list[tuple[str | None, str | NotReadable | None]]:
    """Of each board who has it, and whether it answers."""
    found = []
    for outcome in actions.status(network, [], reach=True):
        assert outcome.result is not None
        holder = outcome.result.holder
        found.append((None if holder is None else holder.what, outcome.result.network))
    return found


@contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """As one that hangs: its connections stay open."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def test_who_waits_for_any_board_has_a_reservation_of_labgrid(
    running: Lab, rig: Rig, tmp_path: Path
) -> None:
    """As long as it waits, and no longer."""
    network = network_rig(running, tmp_path, wait_s=PATIENCE)
    request = BoardRequest("2=rack", 2, frozenset({"rack"}))
    assert running.labgrid("-p", "one", "acquire", user="eve").returncode == 0
    chosen: list[str] = []

    def wait() -> None:
        holds = choose(network, request, "a test")
        chosen.extend(hold.name for hold in holds)
        release(holds)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: reserved(rig) == ["one", "two"], "our reservations")
    assert chosen == []  # two is free, and reserved until one is too
    running.labgrid("-p", "one", "release", user="eve")
    thread.join(PATIENCE)
    assert chosen == ["rack-one", "rack-two"]
    wait_until(lambda: reserved(rig) == [], "the end of our reservations")


def test_a_coordinator_that_is_started_anew_is_waited_for(
    running: Lab, rig: Rig, tmp_path: Path
) -> None:
    """By whoever comes meanwhile; what was taken before is taken again, as labgrid forgets it."""
    network = network_rig(running, tmp_path)
    awaited, holds = threading.Event(), []

    def hold() -> None:
        holds.append(NetworkHold(network, "rack-two", "a test", lambda *_event: awaited.set()))

    one = NetworkHold(network, "rack-one", "a test")
    thread = threading.Thread(target=hold)
    try:
        running.stop()
        thread.start()
        assert awaited.wait(PATIENCE)  # it has asked in vain
        running.start()
        thread.join(PATIENCE)
        assert [hold.name for hold in holds] == ["rack-two"]
        wait_until(lambda: taker(rig.path, "one") is not None, "the taking again")
        assert taker(rig.path, "one") == taker(rig.path, "two") == PlaceOwner("here/we", ours=True)
    finally:
        for taken in (one, *holds):
            taken.close(off=False)
    assert taker(rig.path, "one") is taker(rig.path, "two") is None


def test_an_exporter_that_is_started_anew_is_waited_for(running: Lab, tmp_path: Path) -> None:
    """Under one coordinator, whose session has entries of what was offered before."""
    network = network_rig(running, tmp_path)
    said: list[str] = []
    holds: list[NetworkHold] = []

    def hold() -> None:
        holds.append(
            NetworkHold(network, "rack-two", "a test", lambda _name, event: said.append(str(event)))
        )

    one = NetworkHold(network, "rack-one", "a test")
    thread = threading.Thread(target=hold)
    try:
        running.processes["exporter"].kill()
        wait_until(lambda: running.labgrid("resources").stdout.strip() == "", "the exporter's end")
        thread.start()
        wait_until(lambda: said, "an attempt in vain")
        assert "no exporter offers shelf/two" in said[0]
        running.start_exporter()
        thread.join(PATIENCE)
        assert [hold.name for hold in holds] == ["rack-two"]
    finally:
        for taken in (one, *holds):
            taken.close(off=False)


def reserved(rig: Rig) -> list[str]:
    """The places that this user waits for or may take, as the coordinator says."""
    taker(rig.path, "one")
    session = RemotePlaceManager.get().session
    listed = session.loop.run_until_complete(reservations(session)).reservations
    return sorted(r.filters["main"].filter["name"] for r in listed if r.owner == "here/we")


async def reservations(session: Any) -> Any:
    return await session.stub.GetReservations(labgrid_coordinator_pb2.GetReservationsRequest())
