"""Which devices the writer refuses, by what /sys and /proc say; and that it stays stand-alone."""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchvise.rig.card import writer
from benchvise.rig.card.writer import FRAME, PIECE, WriteRefused

SDB = os.makedev(8, 16)


@dataclass
class Machine:
    """A machine's /sys and /proc, of whatever a test puts there."""

    root: Path

    def disk(self, name: str, number: str, where: str = "pci/usb1/1-2") -> Path:
        node = self.root / "sys" / "devices" / where / "block" / name
        (node / "holders").mkdir(parents=True)
        (node / "dev").write_text(number)
        (node / "removable").write_text("0")
        link = self.root / "sys" / "dev" / "block" / number
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(node)
        return node

    def partition(self, disk: Path, name: str, number: str) -> Path:
        node = disk / name
        (node / "holders").mkdir(parents=True)
        (node / "dev").write_text(number)
        (node / "partition").write_text("1")
        (self.root / "sys" / "dev" / "block" / number).symlink_to(node)
        return node

    def hold(self, node: Path, holder: Path) -> None:
        (node / "holders" / holder.name).symlink_to(holder)

    def mounts(self, *lines: str) -> None:
        path = self.root / "proc" / "self" / "mountinfo"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))

    def swaps(self, *names: str) -> None:
        path = self.root / "proc" / "swaps"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Filename Type Size\n" + "".join(f"{n} partition 1 0 -2\n" for n in names))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(writer, "SYS", tmp_path / "sys")
    monkeypatch.setattr(writer, "PROC", tmp_path / "proc")
    return Machine(tmp_path)


def refused(number: int = SDB) -> WriteRefused:
    with pytest.raises(WriteRefused) as raised:
        writer.refuse_device("/dev/sdb", number)
    assert "/dev/sdb" in raised.value.message
    assert raised.value.remedy
    return raised.value


def test_a_card_on_usb_may_be_written(machine: Machine) -> None:
    disk = machine.disk("sdb", "8:16")
    machine.partition(disk, "sdb1", "8:17")
    machine.mounts("1 0 8:2 / / rw - ext4 /dev/sda2 rw")
    machine.swaps("/dev/sda3")
    writer.refuse_device("/dev/sdb", SDB)


@pytest.mark.parametrize(("file", "text"), [("removable", "1"), ("device/type", "SD")])
def test_a_removable_or_sd_card_may_be_written(machine: Machine, file: str, text: str) -> None:
    disk = machine.disk("mmcblk0", "8:16", where="pci/mmc0")
    (disk / file).parent.mkdir(exist_ok=True)
    (disk / file).write_text(text)
    writer.refuse_device("/dev/sdb", SDB)


def test_a_fixed_disk(machine: Machine) -> None:
    disk = machine.disk("nvme0n1", "8:16", where="pci/nvme")
    (disk / "device").mkdir()
    (disk / "device" / "model").write_text("Fast 1T\n")
    found = refused()
    assert found.fault == "card-not-ours"
    assert "fixed disk (Fast 1T)" in found.message


def test_an_emmc_is_a_fixed_disk(machine: Machine) -> None:
    disk = machine.disk("mmcblk1", "8:16", where="soc/mmc1")
    (disk / "device").mkdir()
    (disk / "device" / "type").write_text("MMC\n")
    assert refused().fault == "card-not-ours"


def test_a_partition(machine: Machine) -> None:
    machine.partition(machine.disk("sdb", "8:16"), "sdb1", "8:17")
    found = refused(os.makedev(8, 17))
    assert found.fault == "card-not-ours"
    assert "/dev/sdb" in found.remedy


def test_what_sys_does_not_know(machine: Machine) -> None:
    assert refused().fault == "card-not-ours"


@pytest.mark.parametrize("point", ["/media/x\\040y", "/mnt"])
def test_a_mounted_partition(machine: Machine, point: str) -> None:
    machine.partition(machine.disk("sdb", "8:16"), "sdb1", "8:17")
    machine.mounts(f"1 0 8:17 / {point} rw shared:1 - vfat /dev/sdb1 rw")
    found = refused()
    assert found.fault == "card-mounted"
    assert f"'/dev/sdb1' on '{point.replace(chr(92) + '040', ' ')}'" in found.message


@pytest.mark.parametrize("point", ["/", "/boot/efi", "/home"])
def test_the_disk_of_the_system(machine: Machine, point: str) -> None:
    machine.partition(machine.disk("sdb", "8:16"), "sdb1", "8:17")
    machine.mounts(
        "1 0 8:17 / /mnt rw - ext4 /dev/sdb1 rw", f"2 0 8:17 / {point} rw - ext4 /dev/sdb1 rw"
    )
    assert refused().fault == "card-not-ours"


def test_swap(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.partition(machine.disk("sdb", "8:16"), "sdb2", "8:18")
    monkeypatch.setattr(writer, "_number", {"/dev/sdb2": "8:18"}.get)
    machine.swaps("/dev/sdb2")
    found = refused()
    assert found.fault == "card-not-ours"
    assert "'/dev/sdb2': swap" in found.message


def test_a_holder(machine: Machine) -> None:
    part = machine.partition(machine.disk("sdb", "8:16"), "sdb1", "8:17")
    machine.hold(part, machine.disk("dm-0", "253:0", where="virtual"))
    found = refused()
    assert found.fault == "card-mounted"
    assert "'/dev/sdb1': dm-0" in found.message


def test_the_system_on_lvm_on_it(machine: Machine) -> None:
    part = machine.partition(machine.disk("sdb", "8:16"), "sdb1", "8:17")
    lower = machine.disk("md0", "9:0", where="virtual")
    machine.hold(part, lower)
    machine.hold(lower, machine.disk("dm-0", "253:0", where="virtual"))
    machine.mounts("1 0 253:0 / / rw - ext4 /dev/mapper/v-root rw")
    assert refused().fault == "card-not-ours"


def test_a_file_system_with_a_number_of_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.partition(machine.disk("sdb", "8:16"), "sdb1", "8:17")
    monkeypatch.setattr(writer, "_number", {"/dev/sdb1": "8:17"}.get)
    machine.mounts("1 0 0:42 / /mnt/butter rw - btrfs /dev/sdb1 rw")
    assert refused().fault == "card-mounted"


def test_frames_that_end_too_early_or_too_late(tmp_path: Path) -> None:
    path = tmp_path / "card"
    path.write_bytes(bytes(1000))
    card = writer.CardDevice(str(path))
    buffer = memoryview(bytearray(writer.CHUNK))

    def fill(*parts: bytes) -> writer.Filled | None:
        return writer.frames(io.BytesIO(b"".join(parts)), card, {})(buffer)

    got = fill(FRAME.pack(2, 5), PIECE.pack(0, 2), PIECE.pack(997, 3), b"abcde")
    assert got is not None
    assert (got.pieces, bytes(got.data)) == ([(0, 2), (997, 3)], b"abcde")
    assert fill(FRAME.pack(0, 0)) is None
    for part in (b"", FRAME.pack(1, 5), FRAME.pack(1, 5) + PIECE.pack(0, 5) + b"abcd"):
        with pytest.raises(EOFError):
            fill(part)
    with pytest.raises(WriteRefused, match="card-too-small"):
        fill(FRAME.pack(1, 5), PIECE.pack(996, 5), b"abcde")


def test_the_writer_takes_nothing_but_the_standard_library_of_python_39() -> None:
    tree = ast.parse(Path(writer.__file__).read_text(), feature_version=(3, 9))

    def imported() -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield str(node.module)

    assert {name.split(".")[0] for name in imported()} <= set(sys.stdlib_module_names)
