"""Cards written for real: files that stand for one, and loop devices where this is root.

What a card holds is compared byte by byte; what must not be written is looked at as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import skips
from flash_images import BLOCK, COMPRESS, random_bytes, sparse_image
from rig_consoles import FakeTime
from sshd import ssh_server
from storage_places import MIB, Disk, directory_on_storage, loop_disk, mounted, tool
from waiting import PATIENCE

from benchvise.rig.card import decompress, flash, writer
from benchvise.rig.card.flash import FlashProgress, FlashResult, Medium, write_card
from benchvise.rig.card.image import Image, open_image
from benchvise.rig.faults import Fault, FlashError, RigError

OLD = 0xA5  # what a card holds before
DATA = random_bytes(5 * MIB) + bytes(3 * MIB) + random_bytes(MIB + 700, 2)


@pytest.fixture
def place() -> Iterator[Path]:
    with directory_on_storage() as directory:
        yield directory


@pytest.fixture
def disk() -> Iterator[Disk]:
    with loop_disk(24 * MIB) as found:
        found.device.write_bytes(bytes([OLD]) * 24 * MIB)
        yield found


def card_file(directory: Path, size: int = 24 * MIB) -> Path:
    path = directory / "card"
    path.write_bytes(bytes([OLD]) * size)
    return path


def image_file(directory: Path, data: bytes = DATA, name: str = "a.img") -> Image:
    (directory / name).write_bytes(data)
    return open_image(directory / name)


def write(
    image: Image, card: Path, progress: Callable[[FlashProgress], None] | None = None
) -> FlashResult:
    return write_card(image, Medium(str(card)), progress or (lambda _: None))


def refused(image: Image, card: Path | Medium) -> FlashError:
    with pytest.raises(FlashError) as raised:
        write_card(image, card if isinstance(card, Medium) else Medium(str(card)))
    assert raised.value.remedy
    return raised.value


def holders(card: Path) -> list[str]:
    """The processes, but for this one, that have it open."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if link.readlink() == card.resolve() and link.parts[2] != str(os.getpid()):
                found.append(link.parts[2])
    return found


@pytest.fixture
def writer_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Gives the writer's program other lines at its end, to make it or its card misbehave."""

    def change(lines: str) -> None:
        text = Path(str(writer.__file__)).read_text()
        mark = 'if __name__ == "__main__":'
        program = tmp_path / "writer.py"
        program.write_text(text.replace(mark, f"{lines}\n\n{mark}"))
        monkeypatch.setattr(writer, "__file__", str(program))

    return change


# ---- what a card holds -------------------------------------------------------------------------


class TestProgress:
    """By a clock that only the card moves: it takes a piece each twentieth of a second."""

    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> FakeTime:
        clock = FakeTime()
        played = SimpleNamespace(monotonic=lambda: clock.now / 1e9)
        monkeypatch.setattr(flash, "time", played)
        return clock

    @pytest.mark.parametrize("total", [800 * MIB, None])
    def test_is_told_at_least_once_a_second_up_to_the_end(
        self, clock: FakeTime, total: int | None
    ) -> None:
        told: list[tuple[float, FlashProgress]] = []
        began = clock.now
        meter = flash._Meter(lambda said: told.append(((clock.now - began) / 1e9, said)))
        meter.begin("write", total)
        pieces = 800
        for piece in range(1, pieces + 1):
            clock.sleep(0.05)
            meter.at(piece * MIB, piece / pieces)
        times = [0.0, *(at for at, _ in told), 40.0]
        assert max(later - earlier for earlier, later in pairwise(times)) <= 1.0
        assert len(told) <= 10 * 40  # a terminal and a page can follow
        for at, said in told:
            assert (said.phase, said.total) == ("write", total)
            assert said.rate == pytest.approx(20 * MIB, rel=0.01)
            assert said.remaining_s == pytest.approx(40 - at, abs=0.5)
        if total is not None:
            assert (told[-1][1].done, told[-1][1].remaining_s) == (total, 0.0)

    def test_says_the_rate_of_the_last_seconds(self, clock: FakeTime) -> None:
        told: list[FlashProgress] = []
        meter = flash._Meter(told.append)
        meter.begin("verify", 400 * MIB)
        for seconds, rate in ((10, 20), (10, 5)):  # a card whose fast memory is full
            for _ in range(seconds):
                clock.sleep(1.0)
                meter.at((told[-1].done if told else 0) + rate * MIB, 0.0)
        assert told[9].rate == pytest.approx(20 * MIB)
        assert told[-1].rate == pytest.approx(5 * MIB)
        assert told[-1].remaining_s == pytest.approx(150 / 5)


@pytest.mark.parametrize("kind", ["", *COMPRESS])
def test_a_card_holds_the_image(place: Path, kind: str) -> None:
    data = COMPRESS[kind](DATA) if kind else DATA
    image = image_file(place, data, f"a.img.{kind}" if kind else "a.img")
    card = card_file(place)
    said: list[FlashProgress] = []
    done = write(image, card, said.append)
    assert card.read_bytes() == DATA + bytes([OLD]) * (24 * MIB - len(DATA))
    assert (done.written, done.mapped, done.size) == (len(DATA),) * 3
    assert done.sha256 == hashlib.sha256(DATA).hexdigest()
    assert not done.bmap
    assert done.write_s > 0 < done.verify_s
    assert {p.phase for p in said} == {"write", "verify"}
    for phase in ("write", "verify"):
        positions = [p.done for p in said if p.phase == phase]
        assert positions == sorted(positions)
    assert said[-1] == FlashProgress("verify", len(DATA), len(DATA), said[-1].rate, 0.0)


@pytest.mark.parametrize("kind", ["", *COMPRESS])
def test_only_mapped_ranges_are_written(place: Path, kind: str) -> None:
    ranges = ((0, 9), (100, 1500), (1502, 1502), (2999, 2999))
    path, data = sparse_image(place, ranges=ranges)
    if kind:
        path = place / f"image.wic.{kind}"
        path.write_bytes(COMPRESS[kind](data))
    card = card_file(place)
    done = write(open_image(path), card)
    held = card.read_bytes()
    expected = bytearray([OLD]) * (24 * MIB)
    for first, last in ranges:
        expected[first * BLOCK : (last + 1) * BLOCK] = data[first * BLOCK : (last + 1) * BLOCK]
    assert held == expected
    mapped = b"".join(data[first * BLOCK : (last + 1) * BLOCK] for first, last in ranges)
    assert (done.written, done.size, done.bmap) == (len(mapped), len(data), True)
    assert done.sha256 == hashlib.sha256(mapped).hexdigest()


def test_a_map_of_many_small_ranges(place: Path) -> None:
    ranges = [(block, block) for block in range(0, 5000, 2)]
    path, data = sparse_image(place, 5001, ranges)
    card = card_file(place)
    done = write(open_image(path), card)
    assert done.written == len(ranges) * BLOCK
    held = card.read_bytes()
    for block in (0, 2500, 4998):
        after = held[block * BLOCK : (block + 2) * BLOCK]
        assert after == data[block * BLOCK : (block + 1) * BLOCK] + bytes([OLD]) * BLOCK


def test_a_card_in_memory(tmp_path: Path) -> None:
    """Where there may be no access past the page cache."""
    directory = Path("/dev/shm")  # noqa: S108 - it is memory
    if not os.access(directory, os.W_OK):
        skips.skip("memory file system")
    card = directory / f"benchvise-card-{os.getpid()}"
    try:
        card.write_bytes(bytes(len(DATA)))  # just large enough
        assert write(image_file(tmp_path), card).written == len(DATA)
        assert card.read_bytes() == DATA
    finally:
        card.unlink()


def test_a_card_behind_ssh(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card, image = card_file(place), image_file(place, COMPRESS["gz"](DATA), "a.img.gz")
    cut = place / "cut"
    # Once `cut` exists, the connection is killed in the middle of the image.
    greeting = f"""echo "Welcome to {{all}} of you"
[ -e '{cut}' ] || exec sh -c "$SSH_ORIGINAL_COMMAND"
{{ head -c {3 * MIB}; kill -9 $PPID; }} | sh -c "$SSH_ORIGINAL_COMMAND"
"""
    with ssh_server(place / "ssh", login=greeting) as server:
        monkeypatch.setenv("BENCHVISE_SSH_CONFIG", str(server.config))
        done = write_card(image, Medium(str(card), host="bench-alias"))
        assert done.sha256 == hashlib.sha256(DATA).hexdigest()
        assert card.read_bytes()[: len(DATA)] == DATA
        error = refused(image, Medium(str(place / "absent"), host="bench-alias"))
        assert error.fault is Fault.CARD_MISSING
        assert error.message.startswith("bench-alias: ")
        with pytest.raises(RigError, match="cannot write the card") as raised:
            write_card(image, Medium(str(card), host="absent.invalid"))
        assert raised.value.fault is Fault.RIG_BROKEN

        cut.touch()
        with pytest.raises(RigError, match="cannot write the card"):
            write_card(image, Medium(str(card), host="bench-alias"))


# ---- refusals ----------------------------------------------------------------------------------


def test_there_is_no_card(place: Path) -> None:
    image = image_file(place)
    assert refused(image, place / "absent").fault is Fault.CARD_MISSING
    (place / "empty").touch()
    assert refused(image, place / "empty").fault is Fault.CARD_MISSING
    assert not (place / "absent").exists()


def test_what_is_no_card(place: Path) -> None:
    for path in (place, Path("/dev/null")):
        assert refused(image_file(place), path).fault is Fault.CARD_NOT_OURS


@pytest.mark.parametrize("kind", ["", "gz"])
def test_the_card_is_too_small(place: Path, kind: str) -> None:
    data = COMPRESS[kind](DATA) if kind else DATA
    image = image_file(place, data, f"a.img.{kind}" if kind else "a.img")
    card = card_file(place, len(DATA) - 1)
    error = refused(image, card)
    assert error.fault is Fault.CARD_TOO_SMALL
    assert f"({len(DATA) - 1} bytes)" in error.message
    assert card.stat().st_size == len(DATA) - 1
    if not kind:  # known before anything is written
        assert card.read_bytes() == bytes([OLD]) * (len(DATA) - 1)


def test_two_at_once(place: Path) -> None:
    image, card = image_file(place), card_file(place)
    with card.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert refused(image, card).fault is Fault.CARD_MOUNTED
    assert write(image, card).written == len(DATA)


# ---- images that are not right -----------------------------------------------------------------


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("library", [False, True])
def test_a_damaged_image(
    place: Path, kind: str, library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library:
        monkeypatch.setattr(decompress, "PROGRAMS", dict.fromkeys(decompress.PROGRAMS, ()))
    data = bytearray(COMPRESS[kind](DATA))
    data[len(data) // 2] ^= 1
    card = card_file(place)
    error = refused(image_file(place, bytes(data), f"a.img.{kind}"), card)
    assert error.fault is Fault.IMAGE_DAMAGED
    assert not holders(card)


@pytest.mark.parametrize("kind", ["gz", "bz2"])
def test_a_cut_off_image(place: Path, kind: str) -> None:
    image = image_file(place, COMPRESS[kind](DATA)[:-9], f"a.img.{kind}")
    assert refused(image, card_file(place)).fault is Fault.IMAGE_DAMAGED


@pytest.mark.parametrize("kind", ["", "zst"])
def test_an_image_other_than_its_block_map(place: Path, kind: str) -> None:
    path, data = sparse_image(place)
    wrong = bytearray(data)
    wrong[200 * BLOCK] ^= 1
    path.write_bytes(wrong)
    if kind:
        path = place / f"image.wic.{kind}"
        path.write_bytes(COMPRESS[kind](bytes(wrong)))
    error = refused(open_image(path), card_file(place))
    assert error.fault is Fault.IMAGE_DAMAGED
    assert f"(bytes {100 * BLOCK} to {1501 * BLOCK})" in error.message


@pytest.mark.parametrize("change", [-BLOCK, BLOCK])
def test_an_image_of_another_size_than_its_block_map(place: Path, change: int) -> None:
    ranges = ((0, 9), (100, 1500))
    _, data = sparse_image(place, ranges=ranges)
    longer = data[:change] if change < 0 else data + bytes(change)
    (place / "image.wic.gz").write_bytes(COMPRESS["gz"](longer))
    error = refused(open_image(place / "image.wic.gz"), card_file(place))
    assert error.fault is Fault.IMAGE_DAMAGED
    assert f"has {len(longer)} bytes when decompressed" in error.message


def test_the_image_changed_before(place: Path) -> None:
    image = image_file(place)
    image.path.write_bytes(DATA)
    error = refused(image, card_file(place))
    assert (error.fault, "changed" in error.message) == (Fault.IMAGE_DAMAGED, True)
    image.path.unlink()
    assert refused(image, place / "card").fault is Fault.IMAGE_DAMAGED


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")


@pytest.mark.parametrize("how", [lambda path: os.truncate(path, BLOCK), overwrite])
@pytest.mark.parametrize("kind", ["", ".gz"])
def test_the_image_changes_while_it_is_read(
    place: Path, kind: str, how: Callable[[Path], None]
) -> None:
    data = random_bytes(4 * MIB) * 16  # more than lies in all buffers on the way
    image = image_file(place, gzip.compress(data, 0) if kind else data, f"a.img{kind}")
    card = card_file(place, 64 * MIB)

    def change(_said: FlashProgress) -> None:
        how(image.path)

    with pytest.raises(FlashError) as raised:
        write(image, card, change)
    assert raised.value.fault is Fault.IMAGE_DAMAGED
    assert not holders(card)


# ---- cards that are not right ------------------------------------------------------------------


def test_a_card_that_holds_something_else(place: Path, writer_with: Callable[[str], None]) -> None:
    writer_with(
        "READ = CardDevice.read\n"
        "def lie(self, pieces, data):\n"
        "    READ(self, pieces, data)\n"
        "    if pieces[0][0] >= 4 << 20:\n"
        "        data[1000] ^= 1\n"
        "CardDevice.read = lie"
    )
    error = refused(image_file(place), card_file(place))
    assert error.fault is Fault.CARD_VERIFY
    assert "wrong between 4 and 8 MB of 9 MB" in error.message


def test_a_card_that_does_not_answer(
    place: Path, writer_with: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer_with("import time\nCardDevice.write = lambda *_: time.sleep(1000)")
    monkeypatch.setattr(flash, "STALL_S", 1.0)
    card = card_file(place)
    error = refused(image_file(place), card)
    assert (error.fault, "has not answered" in error.message) == (Fault.CARD_WRITE, True)
    assert not holders(card)


def test_a_card_that_goes_away(place: Path, writer_with: Callable[[str], None]) -> None:
    writer_with("def gone(*_):\n    raise OSError(errno.ENODEV, 'gone')\nos.pwritev = gone")
    assert refused(image_file(place), card_file(place)).fault is Fault.CARD_MISSING


def test_a_writer_that_dies(place: Path, writer_with: Callable[[str], None]) -> None:
    writer_with("CardDevice.write = lambda *_: os.kill(os.getpid(), 9)")
    error = refused(image_file(place), card_file(place))
    assert (error.fault, "broke off" in error.message) == (Fault.CARD_WRITE, True)
    writer_with("CardDevice.write = lambda *_: 1 / 0")
    assert "ZeroDivisionError" in refused(image_file(place), place / "card").message


@pytest.mark.parametrize("phase", ["write", "verify"])
def test_an_interruption_leaves_nobody_at_the_card(place: Path, phase: str) -> None:
    card = card_file(place)

    def interrupt(said: FlashProgress) -> None:
        if said.phase == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(image_file(place), card, interrupt)
    assert not holders(card)


@pytest.mark.parametrize("phase", ["write", "verify"])
def test_kill_9_of_the_client_leaves_nobody_at_the_card(place: Path, phase: str) -> None:
    image, card = image_file(place, COMPRESS["bz2"](DATA), "a.img.bz2"), card_file(place)
    program = (
        "import os, signal, sys\n"
        "from benchvise.rig.card.flash import write_card\n"
        "from benchvise.rig.card.image import open_image\n"
        "from benchvise.rig.card.flash import Medium\n"
        "def kill(said):\n"
        f"    if said.phase == {phase!r}:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_card(open_image(sys.argv[1]), Medium(sys.argv[2]), kill)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, image.path, card], check=False)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + PATIENCE
    while holders(card) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not holders(card)
    assert write(image, card).written == len(DATA)


# ---- block devices -----------------------------------------------------------------------------


def device_image(directory: Path) -> tuple[Image, bytes]:
    path, data = sparse_image(directory, ranges=((0, 9), (100, 1500), (2998, 2999)))
    return open_image(path), data


def test_a_device_holds_the_image(place: Path, disk: Disk) -> None:
    image, data = device_image(place)
    done = write(image, disk.device)
    held = disk.device.read_bytes()
    assert held[: 10 * BLOCK] == data[: 10 * BLOCK]
    assert held[10 * BLOCK : 100 * BLOCK] == bytes([OLD]) * 90 * BLOCK
    assert held[100 * BLOCK : 1501 * BLOCK] == data[100 * BLOCK : 1501 * BLOCK]
    assert done.written == 1413 * BLOCK
    odd = image_file(place)  # does not end with a sector
    assert write(odd, disk.device).written == len(DATA)
    assert disk.device.read_bytes() == DATA + held[len(DATA) :]


def test_a_mounted_device(place: Path, disk: Disk) -> None:
    image = image_file(place)
    tool("mkfs.ext4", "-q", disk.device)
    with mounted(disk.device) as point:
        error = refused(image, disk.device)
        assert error.fault is Fault.CARD_MOUNTED
        assert str(point) in error.message
        assert refused(image, disk.image).fault is Fault.CARD_MOUNTED  # the file below it, too
    assert write(image, disk.device).written == len(DATA)


def test_a_partition_and_a_device_with_a_mounted_one(place: Path, disk: Disk) -> None:
    image = image_file(place)
    skips.need("sfdisk")
    table = "label: dos\n start=2048, size=20480\n"
    subprocess.run(["sfdisk", "-q", disk.device], input=table, text=True, check=True)
    tool("partx", "--add", disk.device)
    try:
        part = Path(f"{disk.device}p1")
        if not part.exists():
            skips.skip("loop devices", "no partitions on them")
        error = refused(image, part)
        assert (error.fault, "is a partition" in error.message) == (Fault.CARD_NOT_OURS, True)
        tool("mkfs.ext4", "-q", part)
        with mounted(part) as point:
            error = refused(image, disk.device)
            assert error.fault is Fault.CARD_MOUNTED
            assert f"'{part}' on '{point}'" in error.message
    finally:
        subprocess.run(["partx", "--delete", disk.device], check=False, capture_output=True)


def test_a_device_that_another_program_claims(place: Path, disk: Disk) -> None:
    claim = os.open(disk.device, os.O_RDONLY | os.O_EXCL)
    try:
        error = refused(image_file(place), disk.device)
    finally:
        os.close(claim)
    assert (error.fault, "is in use" in error.message) == (Fault.CARD_MOUNTED, True)


def test_nobody_can_mount_what_is_being_written(
    place: Path, disk: Disk, writer_with: Callable[[str], None]
) -> None:
    writer_with("import time\nCardDevice.forget = lambda _: time.sleep(2)")
    said: list[str] = []

    def claim(progress: FlashProgress) -> None:
        if progress.phase != "write":
            return
        with pytest.raises(OSError, match="busy") as raised:
            os.close(os.open(disk.device, os.O_RDONLY | os.O_EXCL))
        said.append(str(raised.value))

    write(image_file(place), disk.device, claim)
    assert said


def test_a_device_of_this_system(place: Path) -> None:
    number = Path("/").stat().st_dev
    name = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
    if os.getuid() != 0 or not Path("/dev", name).is_block_device():
        skips.skip("disk", "or no root")
    assert refused(image_file(place), Path("/dev", name)).fault is Fault.CARD_NOT_OURS


def test_a_write_protected_device(place: Path) -> None:
    with loop_disk(24 * MIB, "--read-only") as disk:
        assert refused(image_file(place), disk.device).fault is Fault.CARD_WRITE


def test_a_device_that_is_too_small(place: Path, disk: Disk) -> None:
    image = image_file(place, random_bytes(24 * MIB + 512))
    assert refused(image, disk.device).fault is Fault.CARD_TOO_SMALL
    assert disk.device.read_bytes() == bytes([OLD]) * 24 * MIB


@pytest.mark.parametrize("direct", [True, False])
def test_a_device_with_a_bad_block(
    place: Path, direct: bool, writer_with: Callable[[str], None]
) -> None:
    """A loop device over a sparse file on a file system that gets full: real I/O errors."""
    skips.need_root()
    if not direct:
        writer_with("CardDevice._way = lambda self, where, at, length: (self._cached, length)")
    point = place / "full"
    point.mkdir()
    tool("mount", "-t", "tmpfs", "-o", "size=6M", "none", point)
    try:
        with (point / "image").open("wb") as file:
            file.truncate(24 * MIB)
        device = tool("losetup", "--find", "--show", point / "image")
        try:
            error = refused(image_file(place, random_bytes(16 * MIB)), Path(device))
            assert error.fault is Fault.CARD_WRITE
            assert re.search("Input/output error|No space left", error.message)
        finally:
            subprocess.run(["losetup", "--detach", device], check=True)
    finally:
        subprocess.run(["umount", point], check=True)


def test_bmaptool_agrees(place: Path, disk: Disk) -> None:
    """Its own map, of a file that is sparse, and what it writes itself."""
    skips.need("bmaptool")
    bmaptool = shutil.which("bmaptool")
    assert bmaptool
    path = place / "sparse.img"
    with path.open("wb") as file:
        file.truncate(20 * MIB)
        for at in (0, 5 * MIB, 9 * MIB):
            file.seek(at)
            file.write(random_bytes(MIB + 5000, at + 1))
    text = subprocess.run([bmaptool, "create", path], capture_output=True, check=True).stdout
    (place / "sparse.img.bmap").write_bytes(text)
    image = open_image(path)
    assert image.bmap is not None
    assert 3 * MIB < image.bmap.mapped < 4 * MIB
    theirs = card_file(place)
    device = subprocess.run([bmaptool, "copy", path, disk.device], capture_output=True, check=False)
    assert device.returncode == 0, device.stderr
    assert write(image, theirs).written == image.bmap.mapped
    assert theirs.read_bytes() == disk.device.read_bytes()
