"""Boots of real firmware and a real kernel in QEMU: told in phases, judged, used."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from rig_machine import Machine, kernel, missing, shell_initrd
from waiting import BOOT_PATIENCE

from benchvise.rig.boot.address import addresses
from benchvise.rig.boot.timeline import BootEnd, BootOutcome, Timeline, replay, watch
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.console.board import ConsoleBoard
from benchvise.rig.console.quality import check_console
from benchvise.rig.console.recorder import ConsoleRecorder, read_log
from benchvise.rig.faults import Fault

pytestmark = skips.unless_missing(missing())


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    on: list[Machine] = []
    yield on
    for machine in on:
        machine.off()


def boot(
    log: Path, machine: Machine, *, silence_s: float = BOOT_PATIENCE
) -> tuple[Timeline, BootOutcome]:
    timeline = Timeline(time.monotonic_ns())
    with ConsoleRecorder(log, listen=timeline.feed) as recorder:
        recorder.mark("power on")

        def read(timeout: float) -> bytes:
            data = machine.read(timeout)
            recorder.received(data)
            return data

        outcome = watch(read, timeline, silence_s=silence_s, limit_s=BOOT_PATIENCE, feeds=False)
    return timeline, outcome


def test_a_machine_without_a_disk_has_nothing_to_boot(
    tmp_path: Path, machines: list[Machine]
) -> None:
    machines.append(Machine("-machine", "pc,graphics=off"))
    timeline, outcome = boot(tmp_path / "log", machines[0], silence_s=20.0)
    report = BootReport.of(timeline, outcome, tmp_path / "log")
    assert report.fault is Fault.NO_BOOT_MEDIUM, report
    assert "No bootable device" in report.evidence.raw
    assert list(report.phases) == ["power-on", "first-byte", "bootloader"]


def test_a_board_at_its_shell_is_usable_over_its_console(
    tmp_path: Path, machines: list[Machine]
) -> None:
    machines.append(Machine(*kernel("rdinit=/init", shell_initrd(tmp_path / "initrd"))))
    timeline, outcome = boot(tmp_path / "log", machines[0])
    assert outcome.end is BootEnd.SHELL, (outcome, timeline.last_text)
    assert list(timeline.phases)[-3:] == ["kernel", "init", "shell"]
    assert timeline.quality.sound > 100
    assert timeline.quality.lost == timeline.quality.altered == 0
    assert replay(tmp_path / "log").phases.keys() == timeline.phases.keys()
    assert sum(len(piece.data) for piece in read_log(tmp_path / "log")) == timeline.byte_count
    with ConsoleBoard(machines[0], "rig:guest") as board:
        done = board.run(["sh", "-c", "cat; uname -s; exit 3"], input=bytes(range(256)) * 20)
        assert done.stdout == bytes(range(256)) * 20 + b"Linux\n"
        assert done.returncode == 3
        board.run(["sh", "-c", "for i in 1 2 3; do echo noise $i > /dev/kmsg; done"])
        assert addresses(board) == []
    check = check_console(machines[0])
    assert check.fault is None, check
    while machines[0].read(1.0):
        pass
    machines[0].write(b"echo c > /proc/sysrq-trigger\n")
    timeline, outcome = boot(tmp_path / "log2", machines[0])
    report = BootReport.of(timeline, outcome, tmp_path / "log2")
    assert report.fault is Fault.KERNEL_PANIC, report
    assert "sysrq triggered crash" in report.evidence.raw
