"""A card in a mux that hangs on another machine, written through its place at a coordinator.

The coordinator, the exporter and the SSH server are real; the mux is a script on the exporter's
PATH with the words of ``usbsdmux``, the card a loop device.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flash_images import random_bytes
from labgrid.remote.client import ensure_event_loop
from rig_places import Lab, lab
from sshd import SshServer, ssh_server
from storage_places import Disk, loop_disk

from benchvise.rig.card.flash import FlashProgress
from benchvise.rig.environment import load_rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import actions
from benchvise.rig.hold.connection import EventObserver
from benchvise.rig.hold.messages import BoardEvent
from benchvise.rig.hold.places import taker

MIB = 1 << 20
IMAGE = random_bytes(3 * MIB) + bytes(MIB)

MUX = """\
side={side}
case "$2" in
get) cat "$side" ;;
*) test -e "$side.stuck" || echo "$2" > "$side" ;;
esac
"""


@dataclass
class Shelf:
    """Where the exporter runs: its SSH server, the card, and the side that the mux is on."""

    lab: Lab
    server: SshServer
    card: Disk
    side: Path


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    directory = tmp_path_factory.mktemp("shelf")
    side = directory / "side"
    side.write_text("dut\n")
    there = script(directory / "there" / "usbsdmux", MUX.format(side=side))
    greeting = f'PATH={there}:$PATH; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    with (
        pytest.MonkeyPatch.context() as patch,
        loop_disk(8 * MIB) as card,
        ssh_server(directory / "ssh", login=greeting) as server,
    ):
        # labgrid calls plain ssh, which reads no configuration but its user's
        ssh = f'exec {shutil.which("ssh")} -F {server.config} "$@"'
        here = script(directory / "here" / "ssh", ssh)
        patch.setenv("PATH", f"{here}:{os.environ['PATH']}")
        patch.setenv("BENCHVISE_SSH_CONFIG", str(server.config))
        patch.setenv("BENCHVISE_LOCK_DIR", str(directory / "locks"))
        patch.setenv("LG_HOSTNAME", "here")
        patch.setenv("LG_USERNAME", "we")
        for name in ("LG_ENV", "LG_PLACE", "LG_COORDINATOR"):
            patch.delenv(name, raising=False)
        mux = {
            "host": "bench-alias",
            "busnum": 1,
            "devnum": 2,
            "vendor_id": 0x0424,
            "model_id": 0x4041,
            "path": str(card.device),
            "control_path": "/dev/usb-sd-mux/id-1",
        }
        drivers: dict[str, Any] = {"USBSDMuxDriver": {}, "USBStorageDriver": {}}
        (directory / "lab").mkdir()
        with lab(directory / "lab", {"NetworkUSBSDMuxDevice": mux}, drivers) as made:
            yield Shelf(made, server, card, side)


def script(path: Path, text: str) -> Path:
    """Writes a program; returns its directory, for PATH."""
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path.parent


def flash(
    shelf: Shelf, image: Path, observe: EventObserver | None = None
) -> actions.BoardOutcome[Any]:
    (outcome,) = actions.flash(load_rig(shelf.lab.rig_file), ["one"], str(image), observe)
    return outcome


def test_a_program_that_has_run_a_loop_of_its_own_reaches_a_coordinator(tmp_path: Path) -> None:
    """As far as that nobody answers there; labgrid's loop was the thread's until then."""
    rig = tmp_path / "rig.yaml"
    rig.write_text("options: {coordinator_address: '127.0.0.1:1'}\ntargets: {one: {}}\n")
    ensure_event_loop()
    asyncio.run(asyncio.sleep(0))
    with pytest.raises(RigError, match="does not answer"):
        taker(rig, "one")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "a.img"
    path.write_bytes(IMAGE)
    return path


def test_the_card_is_written_where_it_is(shelf: Shelf, image: Path) -> None:
    shelf.lab.relays.on[0] = True
    told: list[FlashProgress] = []

    def observe(_board: str, event: BoardEvent) -> None:
        assert isinstance(event, FlashProgress)
        told.append(event)

    outcome = flash(shelf, image, observe)
    assert outcome.error is None
    assert {said.phase for said in told} == {"write", "verify"}
    assert (told[-1].phase, told[-1].done, told[-1].total) == ("verify", len(IMAGE), len(IMAGE))
    assert shelf.card.device.read_bytes()[: len(IMAGE)] == IMAGE
    assert shelf.side.read_text() == "dut\n"
    assert shelf.lab.relays.on[0] is False  # a card is written while the board is off
    assert taker(shelf.lab.rig_file, "one") is None


def test_a_mux_that_stays_where_it_is_is_named(shelf: Shelf, image: Path) -> None:
    shelf.card.device.write_bytes(bytes(MIB))
    stuck = shelf.side.with_name("side.stuck")
    stuck.touch()
    try:
        outcome = flash(shelf, image)
    finally:
        stuck.unlink()
    assert isinstance(outcome.error, RigError)
    assert outcome.error.fault is Fault.MUX_STUCK
    assert shelf.card.device.read_bytes()[:MIB] == bytes(MIB)
    assert taker(shelf.lab.rig_file, "one") is None


def test_a_connection_that_is_lost_is_no_fault_of_the_card(shelf: Shelf, image: Path) -> None:
    def lose(*_said: object, **_more: object) -> None:
        shelf.server.kill_sessions()

    outcome = flash(shelf, image, lose)
    assert isinstance(outcome.error, RigError)
    assert (outcome.error.fault, "bench-alias" in outcome.error.message) == (Fault.RIG_BROKEN, True)
    assert taker(shelf.lab.rig_file, "one") is None
    outcome = flash(shelf, image)
    assert outcome.error is None
