"""The storage benchmarks on real file systems and disks: what they touch, and that it is true.

What they never touch comes first: files and devices of others. Then: that what they read is cold
and what they write is random and no more than they say, and that none of their files remain.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import ON_STORAGE, QUICK, Line, Result, Running, run
from storage_places import MIB, Disk, directory_on_storage, file_system, loop_disk, mounted, tool
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]

READING = ("storage.read", "storage.random_read")
WRITING = ("storage.write", "storage.random_write", "storage.fsync")
SMALL = ("--size", "4M", *QUICK)


@pytest.fixture
def place() -> Iterator[Path]:
    with directory_on_storage() as directory:
        yield directory


@pytest.fixture
def small_ext4() -> Iterator[Path]:
    with file_system(32 * MIB) as point:
        yield point


@pytest.fixture
def disk() -> Iterator[Disk]:
    with loop_disk(32 * MIB) as found:
        yield found


def measure(probe: Path, name: str, *words: str | Path, **options: Any) -> Result:
    """Runs a benchmark; skips where it is not possible at all, as on a file system in memory."""
    result = run([probe, "run", name, *QUICK, *words], code=None, **options)
    if result.code == 77:
        skips.skip("benchmark", result.failure(77))
    assert result.code == 0, result.lines[-1]
    return result


def refused(probe: Path, name: str, *words: str | Path, code: int, **options: Any) -> str:
    return run([probe, "run", name, *QUICK, *words], code=code, **options).failure(code)


def storage(result: Result) -> Line:
    line = result.one("begin")["storage"]
    assert isinstance(line, dict)
    return line


# --- what belongs to others -------------------------------------------------------------------


def fingerprint(path: Path) -> tuple[str, int, int, int]:
    state = path.stat()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return digest, state.st_size, state.st_mtime_ns, state.st_ino


@pytest.mark.parametrize("name", ON_STORAGE)
def test_a_file_that_is_there_is_only_read(probe: Path, place: Path, name: str) -> None:
    file = place / "valuable"
    file.write_bytes(random.Random(1).randbytes(4 * MIB + 123))
    os.sync()
    before = fingerprint(file)
    if name in READING:
        for mode in ("buffered", "direct"):
            result = measure(probe, name, "--file", file, "--mode", mode)
            begin = result.one("begin")
            assert begin["storage"]["origin"] == "a file that was there"
            assert begin["storage"]["area_bytes"] == 4 * MIB  # whole blocks
            assert begin["storage"]["most_bytes_written"] == 0
            assert begin["caveats"] == [
                "less was there than the size asked for: see begin.storage.area_bytes"
            ]
    else:
        assert "is not overwritten" in refused(probe, name, "--file", file, code=2)
    assert fingerprint(file) == before
    assert [path.name for path in place.iterdir()] == ["valuable"]


def test_only_our_own_leftovers_are_removed(static: Path, place: Path) -> None:
    ours = ".bvprobe-storage-0123456789abcdef"
    others = [
        ".bvprobe-storage-0123456789abcde",
        ".bvprobe-storage-0123456789abcdef0",
        ".bvprobe-storage-0123456789ABCDEF",
        "bvprobe-storage-0123456789abcdef",
        ".bvprobe-storage-0123456789abcdef.txt",
    ]
    for name in (ours, *others):
        (place / name).write_text("left by a process that was killed")
    (place / ".bvprobe-storage-00000000000000d1").mkdir()
    (place / ".bvprobe-storage-0000000000000111").symlink_to(place / others[0])
    (place / ".bvprobe-storage-0000000000000222").hardlink_to(place / others[0])
    expected = {path.name for path in place.iterdir()} - {ours}
    measure(static, "storage.write", "--file", place, "--size", "1M")
    assert {path.name for path in place.iterdir()} == expected


@skips.needs_root
def test_leftovers_of_another_user_stay(unprivileged: dict[str, Any]) -> None:
    directory = unprivileged["directory"]
    directory.chmod(0o777)
    theirs = directory / ".bvprobe-storage-0123456789abcdef"
    theirs.write_text("root's")
    words = ("run", "storage.write", "--file", directory, *SMALL)
    result = run([unprivileged["probe"], *words], code=None, **unprivileged["options"])
    if result.code == 77:
        skips.skip("benchmark", result.failure(77))
    assert theirs.read_text() == "root's"


@pytest.mark.parametrize("name", WRITING)
def test_a_device_is_written_only_when_that_is_said(probe: Path, disk: Disk, name: str) -> None:
    before = hashlib.sha256(disk.image.read_bytes()).hexdigest()
    assert "would be lost" in refused(probe, name, "--device", disk.device, code=2)
    assert hashlib.sha256(disk.image.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("name", WRITING)
def test_a_mounted_device_is_not_written(probe: Path, disk: Disk, name: str) -> None:
    tool("mkfs.ext4", "-q", disk.device)
    words = ("--device", str(disk.device), "--overwrite", "yes", "--size", "4M")
    with mounted(disk.device, "-o", "ro") as point:
        before = hashlib.sha256(disk.image.read_bytes()).hexdigest()
        message = refused(probe, name, *words, code=77)
        assert f"{point} is mounted" in message
        assert hashlib.sha256(disk.image.read_bytes()).hexdigest() == before


@pytest.fixture
def partitions(disk: Disk) -> Iterator[tuple[Path, Path]]:
    """Two on one disk, the first with a file system."""
    first, second = Path(f"{disk.device}p1"), Path(f"{disk.device}p2")
    tool("addpart", disk.device, "1", "2048", str(16 * MIB // 512))
    try:
        tool("addpart", disk.device, "2", str(18 * MIB // 512), str(8 * MIB // 512))
        tool("mkfs.ext4", "-q", first)
        yield first, second
    finally:
        for number in ("1", "2"):
            subprocess.run(["delpart", disk.device, number], capture_output=True, check=False)


def test_the_disk_of_a_mounted_partition_is_not_written(
    static: Path, disk: Disk, partitions: tuple[Path, Path]
) -> None:
    """As the root disk: neither as a whole nor another partition of it."""
    with mounted(partitions[0]) as point:
        for device in (disk.device, *partitions):
            words = ("--device", device, "--overwrite", "yes", "--size", "4M")
            message = refused(static, "storage.write", *words, code=77)
            assert f"{point} is mounted" in message
    words = ("--device", partitions[1], "--overwrite", "yes", "--size", "4M")
    measure(static, "storage.write", *words)


def test_what_lies_on_the_disk_of_a_mounted_partition_is_not_written(
    static: Path, partitions: tuple[Path, Path]
) -> None:
    """As a logical volume does."""
    name = f"bvprobe-test-{os.getpid()}"
    table = f"0 {8 * MIB // 512} linear {partitions[1]} 0"
    tool("dmsetup", "create", name, "--table", table)
    try:
        with mounted(partitions[0]) as point:
            words = ("--device", f"/dev/mapper/{name}", "--overwrite", "yes", "--size", "4M")
            message = refused(static, "storage.write", *words, code=77)
            assert f"{point} is mounted" in message
    finally:
        subprocess.run(["dmsetup", "remove", name], capture_output=True, check=True)


def test_a_device_in_use_is_not_written(static: Path, disk: Disk) -> None:
    held = os.open(disk.device, os.O_RDWR | os.O_EXCL)
    try:
        words = ("--device", disk.device, "--overwrite", "yes", "--size", "4M")
        assert "in use" in refused(static, "storage.write", *words, code=77)
    finally:
        os.close(held)


def test_reading_a_device_leaves_it_as_it_was(probe: Path, disk: Disk) -> None:
    tool("mkfs.ext4", "-q", disk.device)
    before = hashlib.sha256(disk.image.read_bytes()).hexdigest()
    for name in READING:
        for mode in ("buffered", "direct"):
            result = measure(probe, name, "--device", disk.device, "--mode", mode, "--size", "8M")
            assert storage(result)["origin"] == "a device"
            assert storage(result)["kind"] == "loop"
            assert storage(result)["model"] == str(disk.image)
            assert storage(result)["disk_bytes"] == 32 * MIB
    assert hashlib.sha256(disk.image.read_bytes()).hexdigest() == before


LOOP_CAVEAT = "lies on a loop device without direct I/O"


@pytest.mark.parametrize("mode", ["buffered", "direct"])
def test_signals_health_18_a_loop_device_says_that_its_backing_file_is_cached(
    static: Path, mode: str
) -> None:
    """It read 5 GB/s from the page cache of that file, and nothing said so."""
    for direct_io, warned in (("off", True), ("on", False)):
        with loop_disk(16 * MIB, f"--direct-io={direct_io}") as disk:
            dio = Path("/sys/block", disk.device.name, "loop/dio").read_text().strip()
            if (dio == "1") != (direct_io == "on"):
                skips.skip("storage tool", "losetup: direct I/O cannot be turned on here")
            tool("mkfs.ext4", "-q", disk.device)
            result = measure(static, "storage.read", "--device", disk.device, "--mode", mode,
                             "--size", "8M")  # fmt: skip
            assert loop_caveats(result) == [True] * warned
            with mounted(disk.device) as point:
                words = ("--file", point, "--size", "1M")
                for name in ("storage.read", "storage.write"):
                    assert loop_caveats(measure(static, name, *words)) == [True] * warned


def test_what_lies_on_no_loop_device_has_no_caveat_of_one(static: Path, place: Path) -> None:
    result = measure(static, "storage.read", "--file", place, "--size", "1M")
    if storage(result).get("kind") == "loop":
        skips.skip("storage tool", "the repository itself lies on a loop device")
    assert loop_caveats(result) == []


def loop_caveats(result: Result) -> list[bool]:
    caveats = result.one("begin")["caveats"]
    return [True for caveat in caveats if caveat.startswith(LOOP_CAVEAT)]


def test_the_device_beneath_a_directory(static: Path, disk: Disk) -> None:
    tool("mkfs.ext4", "-q", disk.device)
    with mounted(disk.device) as point:
        words = ("--file", point, "--device", "beneath")
        result = measure(static, "storage.read", *words, "--size", "8M")
        assert storage(result)["path"] == str(disk.device)
        for name in WRITING:
            message = refused(static, name, *words, "--overwrite", "yes", code=2)
            assert "for reading" in message


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--file", "somewhere"), "neither auto nor an absolute path"),
        (("--file", "/no/such/place"), "cannot be found"),
        (("--file", "/dev/null"), "neither a directory nor a regular file"),
        (("--device", "/dev/null"), "not a block device"),
        (("--device", "/no/such/device"), "cannot be found"),
        (("--device", "/dev/null", "--file", "/"), "contradict"),
        (("--size", "4097"), "no multiple of block"),
        (("--file", ""), "takes a text of 1 to"),
    ],
)
def test_usage(probe: Path, words: tuple[str, ...], named: str) -> None:
    for name in ON_STORAGE:
        assert named in refused(probe, name, *words, code=2)


def test_contradictions(static: Path) -> None:
    def says(name: str, *words: str) -> str:
        return refused(static, name, "--size", "4M", *words, code=2)

    assert "one operation at a time" in says(
        "storage.random_read", "--depth", "2", "--engine", "sync"
    )
    assert "does not flush" in says(
        "storage.random_write", "--sync", "each", "--engine", "io_uring"
    )
    assert "more than cap=4M" in says("storage.write", "--cap", "4M")
    assert "more than cap=4K" in says("storage.random_write", "--cap", "4K")
    assert "more than cap=4K" in says("storage.fsync", "--cap", "4K")
    assert "does not grow" in says("storage.fsync", "--write", "append", "--device", "/dev/null")
    message = refused(
        static, "storage.read", "--depth", "64", "--block", "16M", "--size", "16M", code=2
    )
    assert "64 MiB" in message


# --- where a file of ours goes ----------------------------------------------------------------


def in_memory() -> Path:
    path = Path("/dev/shm")  # noqa: S108
    if not path.is_dir() or tool("stat", "-f", "-c", "%T", path) not in ("tmpfs", "ramfs"):
        skips.skip("memory file system")
    return path


@pytest.mark.parametrize("name", ON_STORAGE)
def test_memory_is_no_storage(probe: Path, name: str) -> None:
    message = refused(probe, name, "--file", in_memory(), "--size", "4M", code=77)
    assert "lies in memory (tmpfs" in message


def test_auto_passes_over_memory_and_says_so(static: Path) -> None:
    directory = in_memory() / f"bvprobe-test-{os.getpid()}"
    directory.mkdir()
    try:
        probe, own = (
            Path(shutil.copy(static.with_name(name), directory)) for name in ("bvprobe", "bvio")
        )
        environment = {**os.environ, "HOME": str(directory)}
        result = run([probe, "run", "storage.write", *SMALL], code=None, env=environment)
        said = storage(result)["chosen"] if result.code == 0 else result.failure(77)
        assert f"{directory} (the probe's directory) on tmpfs is memory; /var/tmp" in said
        if result.code == 0:
            assert said.endswith("can be used")
            assert storage(result)["path"] in ("/var/tmp", "/tmp")  # noqa: S108
        assert set(directory.iterdir()) == {probe, own}
    finally:
        shutil.rmtree(directory)


def test_a_loop_device_over_memory_is_memory(static: Path) -> None:
    skips.need_root()
    image = in_memory() / f"bvprobe-test-{os.getpid()}"
    with image.open("wb") as file:
        file.truncate(16 * MIB)
    try:
        device = Path(tool("losetup", "--find", "--show", image))
        try:
            tool("mkfs.ext4", "-q", device)
            with mounted(device) as point:
                message = refused(static, "storage.write", "--file", point, code=77)
                assert "lies in memory" in message
        finally:
            subprocess.run(["losetup", "--detach", device], check=True)
    finally:
        image.unlink()


def test_an_overlay_is_looked_through(static: Path, disk: Disk) -> None:
    tool("mkfs.ext4", "-q", disk.device)
    with mounted(disk.device) as upper, directory_on_storage() as point:
        for name in ("lower", "upper", "work"):
            (upper / name).mkdir()
        options = f"lowerdir={upper}/lower,upperdir={upper}/upper,workdir={upper}/work"
        tool("mount", "-t", "overlay", "overlay", "-o", options, point)
        try:
            found = storage(measure(static, "storage.write", "--file", point, "--size", "1M"))
        finally:
            subprocess.run(["umount", point], check=True)
        assert found["file_system"] == "overlay on ext4"
        assert found["device"] == str(disk.device)
        assert found["kind"] == "loop"


def test_the_features_of_an_ext4_are_told(static: Path, disk: Disk) -> None:
    """By another tool: what mke2fs was asked for, and what dumpe2fs says of it."""
    tool("mkfs.ext4", "-q", "-O", "^extent,^64bit", disk.device)
    header = tool("dumpe2fs", "-h", disk.device)
    line = next(line for line in header.splitlines() if line.startswith("Filesystem features:"))
    with mounted(disk.device) as point:
        facts = run([static, "facts"]).lines
        value = next(f["value"] for f in facts if f.get("subject") == str(point))
    told = {key.removeprefix("feature ") for key in value if key.startswith("feature ")}
    assert told == set(line.partition(":")[2].split()) - {"needs_recovery", "orphan_present"}
    assert "has_journal" in told and "extent" not in told
    assert value["inode_size"] in (128, 256)


def test_what_is_said_of_the_file_system(static: Path, disk: Disk) -> None:
    tool("mkfs.ext4", "-q", disk.device)
    with mounted(disk.device, "-o", "noatime") as point:
        found = storage(measure(static, "storage.read", "--file", point, "--size", "1M"))
        assert found["path"] == found["mounted_at"] == str(point)
        assert found["file_system"] == "ext4"
        assert "noatime" in found["mount_options"]
        assert found["device"] == str(disk.device)
        assert found["disk"] == disk.device.name
        assert found["logical_block_bytes"] == 512
        queue = Path("/sys/block") / disk.device.name / "queue"
        assert found["read_ahead_kb"] == int((queue / "read_ahead_kb").read_text())
        assert found["scheduler"] in (queue / "scheduler").read_text()
        free = os.statvfs(point)
        assert 0 < found["free_bytes"] < free.f_bavail * free.f_frsize


# --- little room, and none --------------------------------------------------------------------


@pytest.mark.parametrize("name", ON_STORAGE)
def test_a_small_file_system_is_not_filled(probe: Path, small_ext4: Path, name: str) -> None:
    if name == "storage.fsync":
        message = refused(probe, name, "--file", small_ext4, "--size", "32M", code=77)
    else:
        message = refused(probe, name, "--file", small_ext4, "--size", "1G", *cap(name), code=77)
    most = re.search(r"at most (\d+) MiB", message)
    assert most
    assert 10 < int(most[1]) < 32
    assert [path.name for path in small_ext4.iterdir()] == ["lost+found"]
    # what fits does; a tenth stays free
    result = measure(probe, name, "--file", small_ext4, "--size", f"{most[1]}M")
    assert storage(result)["area_bytes"] <= int(most[1]) * MIB


def cap(name: str) -> tuple[str, ...]:
    return ("--cap", "8G") if name == "storage.write" else ()


@pytest.mark.parametrize("name", ON_STORAGE)
def test_a_full_file_system(probe: Path, small_ext4: Path, name: str) -> None:
    with contextlib.suppress(OSError), (small_ext4 / "full").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(MIB))
    message = refused(probe, name, "--file", small_ext4, "--size", "1M", code=77)
    assert "at most 0 MiB" in message


def test_a_read_only_file_system(probe: Path, disk: Disk) -> None:
    tool("mkfs.ext4", "-q", disk.device)
    with mounted(disk.device) as point:
        (point / "film").write_bytes(bytes(4 * MIB))
    with mounted(disk.device, "-o", "ro") as point:
        for name in ON_STORAGE:
            assert "read-only" in refused(probe, name, "--file", point, "--size", "1M", code=77)
        measure(probe, "storage.read", "--file", point / "film", "--size", "4M")


@pytest.mark.parametrize("name", WRITING)
def test_no_room_in_the_middle(probe: Path, place: Path, name: str) -> None:
    """As when others fill the disk meanwhile; here a limit on the size of files."""
    append = ("--write", "append") if name == "storage.fsync" else ()
    words = ("--file", place, "--size", "8M", *append, "--batch_ms", "10000")
    message = refused(probe, name, *words, code=1, preexec_fn=limit_files)
    assert "has no room for more" in message
    assert list(place.iterdir()) == []


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))


def injected(static: Path, log: Path, fault: str, *words: str | Path) -> Result:
    """A run in which the kernel answers otherwise, by strace."""
    skips.need("strace")
    command = [
        "strace",
        "-f",
        "-o",
        log,
        "-e",
        f"inject={fault}",
        static,
        "run",
        words[0],
        *QUICK,
        *words[1:],
    ]
    result = run(command, code=None)
    if not result.lines:
        skips.skip("ptrace")
    return result


def test_the_disk_is_full_all_of_a_sudden(static: Path, place: Path, tmp_path: Path) -> None:
    fault = "pwrite64:error=ENOSPC:when=6+"
    for name in ("storage.write", "storage.read", "storage.random_write"):
        result = injected(static, tmp_path / "log", fault, name, "--file", place, "--size", "8M")
        assert "no room for more" in result.failure(1)
        assert result.lines[-1]["error"] == "ENOSPC"
        assert list(place.iterdir()) == []


def test_a_device_that_fails(static: Path, place: Path, tmp_path: Path) -> None:
    fault = "pread64:error=EIO:when=5+"
    words = ("storage.random_read", "--file", place, "--size", "1M", "--engine", "sync")
    result = injected(static, tmp_path / "log", fault, *words)
    assert "reading fails on" in result.failure(1)
    assert result.lines[-1]["error"] == "EIO"


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("engine", [("1", "sync"), ("4", "threads"), ("4", "io_uring")])
def test_a_file_that_shrinks(probe: Path, place: Path, name: str, engine: tuple[str, str]) -> None:
    file = place / "log"
    file.write_bytes(bytes(4 * MIB))
    words = ("--depth", engine[0], "--engine", engine[1], "--block", "64K", "--mode", "buffered")
    with Running(
        probe, "run", name, "--file", str(file), "--size", "4M", *words, *QUICK, "--paced", "1"
    ) as running:
        line = running.line()
        while line and line["type"] not in ("sample", "error"):
            line = running.line()
        assert line
        if line["type"] == "error":  # no io_uring here
            assert line["exit"] == 77
            skips.skip("benchmark", line["message"])
        os.truncate(file, 100 << 10)
        running.say("\n")
        error = running.until("error")
        assert f"{file} became shorter" in error["message"]
        assert error["exit"] == 1
        assert running.process.wait(PATIENCE) == 1
    assert file.stat().st_size == 100 << 10


# --- nothing of ours remains ------------------------------------------------------------------


@pytest.mark.parametrize("name", ON_STORAGE)
def test_no_file_remains(probe: Path, place: Path, name: str) -> None:
    measure(probe, name, "--file", place, "--size", "4M")
    assert list(place.iterdir()) == []


@pytest.mark.long
def test_killed_at_any_moment_leaves_nothing(static: Path, small_ext4: Path) -> None:
    """After the next run at the latest; and the room is free again."""
    free = os.statvfs(small_ext4).f_bfree
    moments = random.Random(2)
    for name in ON_STORAGE * (20 if skips.LONG else 3):
        words = ("run", name, "--file", str(small_ext4), "--size", "8M", "--batches", "100")
        with Running(static, *words, "--warm_ms", "0", *cap(name)) as running:
            time.sleep(moments.uniform(0, 0.15))
            os.kill(running.process.pid, signal.SIGKILL)
            running.process.wait()
    measure(static, "storage.write", "--file", small_ext4, "--size", "1M")
    assert [path.name for path in small_ext4.iterdir()] == ["lost+found"]
    tool("sync", "-f", small_ext4)
    assert os.statvfs(small_ext4).f_bfree >= free - 64  # the file system's own


# --- one file for a whole session -------------------------------------------------------------


def request(served: Running, number: int, name: str, *words: str | Path) -> Line:
    """The object `storage` of that run."""
    served.request(number, "run", name, *map(str, words), *QUICK)
    lines = []
    while (line := served.line()) and line["type"] != "done":
        lines.append(line)
    assert line == {"type": "done", "request": number, "exit": 0}, lines
    (begin,) = [line for line in lines if line["type"] == "begin"]
    return dict(begin["storage"])


def test_a_session_writes_its_file_once(served: Running, small_ext4: Path) -> None:
    """Flash wears: other processes of the session read the same file, which has no name."""
    free = os.statvfs(small_ext4).f_bfree
    words = ("--file", small_ext4, "--size", "4M")
    first = request(served, 1, "storage.read", *words)
    assert first["origin"] == "our own file, written by this process beforehand"
    assert first["most_bytes_written"] == 4 * MIB
    assert list(small_ext4.iterdir()) == [small_ext4 / "lost+found"]
    for number, name in enumerate(("storage.random_read", "storage.read"), 2):
        later = request(served, number, name, *words)
        assert later["origin"] == "our own file, written by an earlier process of this session"
        assert later["most_bytes_written"] == 0
    # what overwrites has another: a file written in order must not get fragmented
    overwritten = request(served, 4, "storage.random_write", *words, "--cap", "1M")
    assert overwritten["origin"] == "our own file, written by this process beforehand"
    assert overwritten["most_bytes_written"] == 5 * MIB
    again = request(served, 5, "storage.random_write", *words, "--cap", "1M")
    assert again["origin"] == "our own file, written by an earlier process of this session"
    # another directory, or a larger area, takes another file
    larger = request(served, 6, "storage.read", "--file", small_ext4, "--size", "8M")
    assert larger["origin"] == "our own file, written by this process beforehand"
    smaller = request(served, 7, "storage.read", *words)
    assert smaller["area_bytes"] == 4 * MIB
    assert smaller["origin"] == "our own file, written by an earlier process of this session"
    with directory_on_storage() as other:
        elsewhere = request(served, 8, "storage.read", "--file", other, "--size", "4M")
        assert elsewhere["origin"] == "our own file, written by this process beforehand"
    os.kill(served.process.pid, signal.SIGKILL)
    served.process.wait()
    tool("sync", "-f", small_ext4)
    assert os.statvfs(small_ext4).f_bfree >= free - 64


# --- what is read is cold, what is written is random, and no more than said -------------------


def bytes_read(pid: int) -> int:
    """What a process had brought from devices, by the kernel's account."""
    found = re.search(r"^read_bytes: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def paced(probe: Path, name: str, *words: str | Path) -> Iterator[tuple[Line, int]]:
    """The begin line and each sample, and what had been read then; a sample waits for us."""
    command = ("run", name, *QUICK, *map(str, words), "--paced", "1")
    with Running(probe, *command) as running:
        while (line := running.line()) and line["type"] != "end":
            if line["type"] == "error":
                assert line["exit"] == 77, line
                skips.skip("benchmark", line["message"])
            if line["type"] in ("begin", "sample"):
                yield line, bytes_read(running.process.pid)
            if line["type"] == "sample":
                running.say("\n")


@pytest.mark.parametrize(
    ("name", "words", "cold"),
    [
        ("storage.read", ("--mode", "buffered"), True),
        ("storage.read", ("--mode", "direct"), True),
        ("storage.read", ("--mode", "direct", "--depth", "4", "--block", "64K"), True),
        ("storage.read", ("--mode", "cached"), False),
        ("storage.random_read", ("--mode", "direct"), True),
        ("storage.random_read", ("--mode", "direct", "--depth", "8"), True),
        ("storage.random_read", ("--mode", "buffered"), True),
        ("storage.random_read", ("--mode", "buffered", "--depth", "8"), True),
        (
            "storage.random_read",
            ("--mode", "buffered", "--depth", "8", "--engine", "threads"),
            True,
        ),
    ],
)
def test_what_is_read_comes_from_the_device(
    probe: Path, place: Path, name: str, words: tuple[str, ...], *, cold: bool
) -> None:
    words = ("--file", str(place), "--size", "4M", "--batches", "4", *words)
    (begin, _), *steps = paced(probe, name, *words)
    assert begin["storage"]["cache"]
    assert len(steps) == 4
    for (_, before), (sample, after) in itertools.pairwise(steps):
        detail = sample["detail"]
        assert detail["resident"] == (0 if cold else 100)
        assert detail["bytes"] > 0
        if not cold:
            assert after - before < detail["bytes"] / 10
            continue
        assert after - before >= detail["bytes"]
        if isinstance(detail["device_bytes"], int):
            assert detail["device_bytes"] >= detail["bytes"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("storage.write", ("--sync", "fdatasync", "--batches", "3")),
        ("storage.write", ("--sync", "direct")),
        ("storage.random_write", ("--cap", "1M")),
        ("storage.random_write", ("--cap", "1M", "--depth", "8")),
        ("storage.random_write", ("--cap", "1M", "--mode", "buffered")),
        ("storage.fsync", ("--cap", "256K")),
        ("storage.fsync", ("--cap", "256K", "--write", "append")),
    ],
)
def test_no_more_is_written_than_was_said(
    probe: Path, disk: Disk, name: str, words: tuple[str, ...]
) -> None:
    """By the disk's account. Calibration would write for ten seconds if the cap did not stop it."""
    # nothing that the file system writes by itself: no journal, no inodes to be cleared later
    tool("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", disk.device)
    with mounted(disk.device, "-o", "noatime") as point:
        tool("sync", "-f", point)
        before = bytes_written(disk)
        long = ("--size", "4M", "--batch_ms", "10000")
        result = measure(probe, name, "--file", point, *long, *words)
        tool("sync", "-f", point)
        written = bytes_written(disk) - before
    measured = sum(sample["detail"]["bytes"] for sample in result.all("sample"))
    most = storage(result)["most_bytes_written"]
    assert 0 < measured <= written
    assert measured <= most
    # the file system's own: with fsync, as much again and again for each
    own = MIB if name != "storage.fsync" else 4 * most
    assert written <= most + own


def bytes_written(disk: Disk) -> int:
    account = Path("/sys/block") / disk.device.name / "stat"
    return int(account.read_text().split()[6]) * 512


def test_data_is_random_and_no_sector_like_another(static: Path, disk: Disk) -> None:
    for name, words in (
        # long enough for the whole area on a disk that is busy
        ("storage.write", ("--sync", "fdatasync", "--batch_ms", "10000")),
        ("storage.write", ("--sync", "direct", "--batch_ms", "10000")),
        ("storage.random_write", ("--depth", "4", "--mode", "direct")),
        ("storage.random_write", ("--depth", "1", "--mode", "buffered")),
        ("storage.fsync", ()),
    ):
        with disk.device.open("r+b") as file:
            file.write(bytes(8 * MIB))
        subprocess.run(["sync"], check=True)
        measure(static, name, "--device", disk.device, "--overwrite", "yes", "--size", "8M", *words)
        subprocess.run(["sync"], check=True)
        content = disk.image.read_bytes()
        assert not any(content[8 * MIB :])  # no byte beyond the area
        sectors = [content[at : at + 4096] for at in range(0, 8 * MIB, 4096)]
        written = [sector for sector in sectors if any(sector)]
        assert len(written) > 1
        assert len(set(written)) == len(written)
        assert len(zlib.compress(b"".join(written), 6)) > 0.95 * 4096 * len(written)
        if name == "storage.write":
            assert len(written) == len(sectors)


def test_two_processes_write_different_data(static: Path, disk: Disk) -> None:
    words = ("--device", disk.device, "--overwrite", "yes", "--size", "1M")
    seen = set()
    for _ in range(2):
        measure(static, "storage.write", *words)
        subprocess.run(["sync"], check=True)
        content = disk.image.read_bytes()[:MIB]
        seen |= {content[at : at + 4096] for at in range(0, MIB, 4096)}
    assert len(seen) == 2 * MIB // 4096


def test_latencies_and_cost_are_plausible(probe: Path, place: Path) -> None:
    words = ("--size", "4M", "--file", place, "--batch_ms", "30")
    result = run([probe, "run", "storage.random_read", *words, "--batches", "3"], code=None)
    if result.code == 77:
        skips.skip("benchmark", result.failure(77))
    for sample in result.all("sample"):
        detail = sample["detail"]
        order = [detail[key] for key in ("p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns")]
        known = [value for value in order if isinstance(value, int)]
        assert known == sorted(known)
        # one at a time: half of them, each at least as long as the median
        assert known[0] * sample["iterations"] / 2 < sample["elapsed_ns"] * 1.02
        assert detail["max_ns"] <= sample["elapsed_ns"]
        cpu_s = detail["cpu_s_per_gb"] * detail["bytes"] / 1e9
        assert 0 < cpu_s < sample["elapsed_ns"] / 1e9 * 1.2 + 0.02


# --- what is not possible everywhere ----------------------------------------------------------


def test_a_file_system_without_direct_io(probe: Path, disk: Disk) -> None:
    """With data=journal, ext4 takes O_DIRECT and goes through the page cache all the same."""
    tool("mkfs.ext4", "-q", disk.device)
    with mounted(disk.device, "-o", "data=journal") as point:
        for name, words in (
            ("storage.read", ("--mode", "direct")),
            ("storage.write", ("--sync", "direct")),
            ("storage.random_read", ()),
            ("storage.random_write", ()),
        ):
            message = refused(probe, name, "--file", point, "--size", "1M", *words, code=77)
            assert "direct I/O" in message
            assert f"ext4 at {point}" in message
        measure(probe, "storage.read", "--file", point, "--size", "1M")


def test_direct_io_is_refused_by_name(static: Path, place: Path, tmp_path: Path) -> None:
    """As by FUSE file systems that lack it."""
    words = ("storage.read", "--mode", "direct", "--file", place, "--size", "1M")
    result = injected(static, tmp_path / "log", "fcntl:error=EINVAL:when=4+", *words)
    if result.code == 0:
        skips.skip("fault")
    assert "does not do direct I/O" in result.failure(77)


def test_sectors_of_4096_bytes(static: Path) -> None:
    with loop_disk(16 * MIB, "--sector-size", "4096") as disk:
        words = ("--device", disk.device, "--mode", "direct", "--size", "4M")
        message = refused(static, "storage.read", *words, "--block", "512", code=77)
        assert "no multiple of the 4096 bytes" in message
        result = measure(static, "storage.read", *words, "--block", "4K")
        assert storage(result)["logical_block_bytes"] == 4096


@pytest.mark.parametrize(
    ("error", "said"), [("EPERM", "kernel.io_uring_disabled"), ("ENOSYS", "Linux 5.1")]
)
def test_without_io_uring(static: Path, place: Path, tmp_path: Path, error: str, said: str) -> None:
    fault = f"io_uring_setup:error={error}"
    words = ("storage.random_read", "--depth", "4", "--file", place, "--size", "1M")
    result = injected(static, tmp_path / "log", fault, *words)
    assert result.code == 0
    assert storage(result)["engine"] == "threads"
    assert said in storage(result)["engine_reason"]
    assert error in storage(result)["engine_reason"]
    result = injected(static, tmp_path / "log", fault, *words, "--engine", "io_uring")
    assert "engine=io_uring is not possible here" in result.failure(77)
    assert result.lines[-1]["error"] == error


def test_a_plain_user(unprivileged: dict[str, Any]) -> None:
    probe, options = unprivileged["probe"], unprivileged["options"]
    if os.getuid() == 0:
        # a file that the user may read, but is told nothing about
        file = unprivileged["directory"] / "roots"
        file.write_bytes(bytes(4 * MIB))
        words = ("run", "storage.read", "--file", file, *SMALL)
        result = run([probe, *words], code=None, **options)
        if result.code == 77:
            skips.skip("benchmark", result.failure(77))
        (reason,) = {json.dumps(s["detail"]["resident"]) for s in result.all("sample")}
        assert "only those who may write" in reason or reason == "0"  # before 5.2
        # beside the probe, as a user may have no way to the checkout
        place = unprivileged["directory"] / "theirs"
        place.mkdir(mode=0o755)
        message = refused(
            probe, "storage.write", "--file", place, "--size", "1M", code=77, **options
        )
        assert "cannot" in message
    words = ("run", "storage.read", "--drop", "all", *SMALL)
    message = run([probe, *words], code=77, **options).failure(77)
    assert "takes root" in message or "no directory" in message


@skips.needs_root
def test_drop_all(static: Path, place: Path) -> None:
    result = measure(static, "storage.read", "--drop", "all", "--file", place, "--size", "4M")
    assert "drop_caches" in storage(result)["cache"]
    assert all(sample["detail"]["resident"] == 0 for sample in result.all("sample"))
