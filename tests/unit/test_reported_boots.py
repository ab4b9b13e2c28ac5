"""What a command that boots boards says of it in the store."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from benchvise.errors import BenchviseError, StoreError
from benchvise.flows.boots import reported_boots
from benchvise.rig import this_machine
from benchvise.rig.environment import load_rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import actions, board_soak, client
from benchvise.rig.hold.client import HeldBoard
from benchvise.rig.hold.messages import PhaseReached, WorkerMessage
from benchvise.rig.hold.together import boot_observers
from benchvise.store import Store

RIG = """
targets:
  simulated: {features: [simulated], drivers: {CardStrategy: {}}}
  elsewhere: {resources: {NetworkService: {address: 198.51.100.1}}, drivers: {CardStrategy: {}}}
"""


class _Worker(HeldBoard):
    """A held board whose process is not there: it tells phases, and then what ``ends`` says."""

    def __init__(self, name: str, ends: Exception | None, look: object = None) -> None:
        self.name, self._ends, self._look = name, ends, look
        self._observe = lambda _name, _event: None

    def _ask(self, *_request: object) -> None:  # type: ignore[override]
        for phase in (PhaseReached("power-on", 0.0), PhaseReached("kernel", 2.5)):
            event = WorkerMessage(1, phase=phase).event
            assert event is not None
            self._tell(event)
        if callable(self._look):
            self._look()
        if self._ends is not None:
            raise self._ends


@pytest.mark.parametrize("ends", [None, RigError(Fault.RIG_BROKEN, "its process died", "")])
def test_a_boot_is_in_the_store_from_its_first_phase_to_its_end(
    tmp_path: Path, ends: Exception | None
) -> None:
    place = str(tmp_path / "runs.db")
    shown: list[tuple[str, str, float, str]] = []
    with Store.open(place) as store:

        def look() -> None:
            shown.extend((b.board.raw, b.phase.raw, b.phase_s, b.what.raw) for b in store.boots())

        with reported_boots(place, "benchvise bisect"):
            with reported_boots(None, "what opens the board"), contextlib.suppress(RigError):
                _Worker("one", ends, look).boot(tmp_path)
            assert shown == [("rig:one", "kernel", 2.5, "benchvise bisect")]
            assert store.boots() == []  # at the boot's own end, and not at the command's


def test_a_boot_that_nobody_ended_ends_with_the_command(tmp_path: Path) -> None:
    place = str(tmp_path / "runs.db")
    with Store.open(place) as store:
        with pytest.raises(KeyboardInterrupt), reported_boots(place, "benchvise rig boot"):
            (observer,) = boot_observers()
            observer.reached("one", "power-on", 0.0)
            assert [boot.board.raw for boot in store.boots()] == ["rig:one"]
            raise KeyboardInterrupt
        assert store.boots() == []
    assert boot_observers() == ()


def test_a_store_that_takes_no_word_of_it_keeps_no_board_from_booting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_arguments: object) -> int:
        raise StoreError("the disk is full", "")

    with Store.open(str(tmp_path / "runs.db")) as store:
        monkeypatch.setattr(store, "begin_boot", refused)
        with reported_boots(store, "benchvise run"):
            _Worker("one", None).boot(tmp_path)


def test_no_store_is_made_for_a_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "none.db"))
    with reported_boots(None, "benchvise rig boot"):
        _Worker("one", None).boot(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_simulated_board_is_not_booted_while_another_command_measures_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHVISE_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setattr(this_machine, "_is_part_of", lambda _pid: False)
    (tmp_path / "rig.yaml").write_text(RIG)
    rig = load_rig(tmp_path / "rig.yaml")
    held: list[str] = []

    def hold(_rig: object, name: str, *_more: object) -> HeldBoard:
        held.append(name)
        raise BenchviseError("as far as this test goes")

    for module in (actions, board_soak, client):
        monkeypatch.setattr(module, "HeldBoard", hold)
    with this_machine.held("benchvise run local"):
        for outcomes in (
            actions.boot(rig, ["all"]),
            actions.flash(rig, ["all"], "core.wic"),
        ):
            simulated, elsewhere = outcomes
            assert isinstance(simulated.error, RigError)
            assert simulated.error.fault is Fault.BUSY
            assert "benchvise run local" in simulated.error.message
            assert str(elsewhere.error) == "as far as this test goes"
        with pytest.raises(RigError, match="benchvise run local"):
            board_soak.soak_board(rig, "simulated", 1, lambda _boot: None)
        assert held == ["elsewhere", "elsewhere"]
    assert str(actions.boot(rig, ["simulated"])[0].error) == "as far as this test goes"
