"""What a command that boots boards says of it in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchvise.errors import StoreError
from benchvise.flows.boots import ReportedBoots
from benchvise.rig.hold.messages import BoardAwaited, BoardEvent, PhaseReached
from benchvise.store import Store


def test_a_boot_is_in_the_store_from_its_first_phase_to_its_end(tmp_path: Path) -> None:
    told: list[tuple[str, BoardEvent]] = []
    with Store.open(str(tmp_path / "runs.db")) as store:
        with (
            pytest.raises(KeyboardInterrupt),
            ReportedBoots(store, "benchvise run", lambda *event: told.append(event)) as boots,
        ):
            boots.observe("one", BoardAwaited("eve", 1.0))
            assert store.boots() == []
            boots.observe("one", PhaseReached("power-on", 0.0))
            boots.observe("two", PhaseReached("power-on", 0.0))
            boots.observe("one", PhaseReached("kernel", 2.5))
            shown = [(b.board.raw, b.phase.raw, b.phase_s, b.what.raw) for b in store.boots()]
            assert shown == [
                ("rig:one", "kernel", 2.5, "benchvise run"),
                ("rig:two", "power-on", 0.0, "benchvise run"),
            ]
            raise KeyboardInterrupt
        assert store.boots() == []
    assert [name for name, _ in told] == ["one", "one", "two", "one"]


def test_a_store_that_takes_no_word_of_it_keeps_no_board_from_booting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_arguments: object) -> int:
        raise StoreError("the disk is full", "")

    with Store.open(str(tmp_path / "runs.db")) as store:
        monkeypatch.setattr(store, "begin_boot", refused)
        with ReportedBoots(store, "benchvise run", None) as boots:
            boots.observe("one", PhaseReached("power-on", 0.0))
