"""Storage beside fio, hdparm and dd: the same file or device, the same block, depth and area."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.pairs import BUILD, Pair, measured_cpu

HERE = BUILD / "storage"  # on the disk of the repository, as the probe's own files would be
MIB = 1 << 20
AREA = 256  # MiB read over
WRITTEN = 32  # MiB written by a batch

# What both sides work on, made when the first pair needs it and removed after the last.
FILE, SCRATCH, IMAGE, DEVICE = HERE / "file", HERE / "scratch", HERE / "image", HERE / "device"


def _random_file(path: Path, mebibytes: int) -> None:
    with path.open("wb") as file:
        for _ in range(mebibytes):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())


class Shared:
    """Something that several scenes share: made by the first, unmade after the last."""

    def __init__(self, make: Callable[[], None], unmake: Callable[[], None]) -> None:
        self._make, self._unmake, self._users = make, unmake, 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        if self._users == 0:
            HERE.mkdir(parents=True, exist_ok=True)
            self._make()
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._users == 0:
                self._unmake()


def _remove_files() -> None:
    for path in (FILE, SCRATCH):
        path.unlink(missing_ok=True)


def _attach() -> None:
    _random_file(IMAGE, AREA)
    # past the page cache of the image: otherwise a device that was read before is in memory
    command = ["losetup", "--direct-io=on", "--find", "--show", str(IMAGE)]
    device = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    DEVICE.unlink(missing_ok=True)
    DEVICE.symlink_to(device)


def _detach() -> None:
    subprocess.run(["losetup", "--detach", DEVICE.resolve()], check=True)
    DEVICE.unlink()
    IMAGE.unlink()


shared_file = Shared(lambda: _random_file(FILE, AREA), _remove_files)
shared_device = Shared(_attach, _detach)


def _fio(key: str) -> Callable[[str], float]:
    """``bw_bytes`` or ``iops`` of the only job, which either reads or writes."""

    def read(text: str) -> float:
        (job,) = json.loads(text[text.index("{") :])["jobs"]
        side = job["read"] if job["read"]["io_bytes"] else job["write"]
        return float(side[key])

    return read


def _hdparm(text: str) -> float:
    # hdparm says MB and means MiB
    return float(re.findall(r"= +([\d.]+) MB/sec", text)[-1]) * MIB


def _dd(text: str) -> float:
    """The median of several; from bytes and seconds, as its own rate is rounded."""
    found = re.findall(r"^(\d+) bytes .* copied, ([\d.e-]+) s", text, re.MULTILINE)
    return statistics.median(int(count) / float(seconds) for count, seconds in found)


def _fio_pairs(pin: tuple[str, ...], fio: str) -> list[Pair]:
    def job(file: Path, size: int, *words: str) -> tuple[str, ...]:
        common = ("--name=job", f"--filename={file}", f"--size={size}M", "--time_based")
        return (*pin, fio, *common, "--runtime=1", "--output-format=json", *words)

    def reads(rw: str, bs: str, depth: int, direct: int = 1) -> tuple[str, ...]:
        engine = "psync" if depth == 1 else "io_uring"
        words = (f"--rw={rw}", f"--bs={bs}", f"--ioengine={engine}", f"--iodepth={depth}")
        return job(FILE, AREA, "--readonly", f"--direct={direct}", *words)

    over = ("--file", str(FILE), "--size", f"{AREA}M", "--batches", "3")
    in_order = ("storage.read", *over, "--mode", "direct")
    found = [
        Pair(
            "storage read direct : fio read",
            in_order,
            reads("read", "1M", 1),
            _fio("bw_bytes"),
            0.05,
            scene=shared_file,
        ),
        Pair(
            "storage read direct, depth 4 : fio read",
            (*in_order, "--depth", "4"),
            reads("read", "1M", 4),
            _fio("bw_bytes"),
            0.05,
            scene=shared_file,
        ),
    ]
    found += [
        Pair(
            f"storage random read, depth {depth} : fio randread",
            ("storage.random_read", *over, "--depth", str(depth)),
            reads("randread", "4k", depth),
            _fio("iops"),
            0.05,
            scene=shared_file,
        )
        for depth in (1, 8, 32)
    ]
    # ours may write as long as fio does
    writing = ("--file", str(HERE), "--size", "64M", "--cap", "4G", "--batches", "3")
    found += [
        Pair(
            f"storage random write, depth {depth} : fio randwrite",
            ("storage.random_write", *writing, "--depth", str(depth)),
            job(
                SCRATCH,
                64,
                "--rw=randwrite",
                "--bs=4k",
                "--direct=1",
                "--overwrite=1",
                "--end_fsync=1",
                f"--ioengine={engine}",
                f"--iodepth={depth}",
            ),
            _fio("iops"),
            0.30,
            scene=shared_file,
        )
        for depth, engine in ((1, "psync"), (32, "io_uring"))
    ]
    found.append(
        Pair(
            "storage commits : fio write fdatasync=1",
            ("storage.fsync", "--file", str(HERE), "--cap", "1G", "--batches", "3"),
            job(
                SCRATCH,
                4,
                "--rw=write",
                "--bs=4k",
                "--ioengine=psync",
                "--overwrite=1",
                "--fdatasync=1",
            ),
            _fio("iops"),
            0.30,
            scene=shared_file,
        )
    )
    return found


def _dd_pairs(pin: tuple[str, ...]) -> list[Pair]:
    def dd(times: int, words: str) -> tuple[str, ...]:
        line = f"LC_ALL=C; export LC_ALL; for i in $(seq {times}); do {words} || exit; done 2>&1"
        return (*pin, "sh", "-c", line)

    over = ("--file", str(FILE), "--size", f"{AREA}M", "--batches", "3")
    return [
        Pair(
            "storage read direct : dd iflag=direct",
            ("storage.read", *over, "--mode", "direct"),
            dd(3, f"dd if={FILE} of=/dev/null bs=1M iflag=direct"),
            _dd,
            0.05,
            scene=shared_file,
        ),
        Pair(
            "storage read, cache dropped : dd",
            ("storage.read", *over),
            # a dd of nothing with oflag=nocache drops what is cached of the file
            dd(
                8,
                f"dd of={FILE} oflag=nocache conv=notrunc,fdatasync count=0 status=none && "
                f"dd if={FILE} of=/dev/null bs=1M",
            ),
            _dd,
            0.10,
            scene=shared_file,
        ),
        Pair(
            "storage read cached : dd",
            ("storage.read", *over, "--mode", "cached"),
            dd(5, f"dd if={FILE} of=/dev/null bs=1M"),
            _dd,
            0.10,
            scene=shared_file,
        ),
        Pair(
            "storage write : dd conv=fdatasync",
            ("storage.write", "--file", str(HERE), "--size", f"{WRITTEN}M", "--batches", "3"),
            dd(
                8,
                f"dd if={FILE} of={SCRATCH} bs=1M count={WRITTEN} conv=fdatasync",
            ),
            _dd,
            0.30,
            scene=shared_file,
        ),
    ]


def _hdparm_pairs(pin: tuple[str, ...], hdparm: str) -> list[Pair]:
    device = ("--device", str(DEVICE), "--block", "2M", "--batches", "4")
    return [
        Pair(
            "storage read device : hdparm -t",
            ("storage.read", *device, "--size", f"{AREA}M", "--batch_ms", "1000"),
            (*pin, hdparm, "-t", str(DEVICE)),
            _hdparm,
            0.10,
            scene=shared_device,
        ),
        Pair(
            "storage read device direct : hdparm -t --direct",
            ("storage.read", *device, "--size", f"{AREA}M", "--mode", "direct"),
            (*pin, hdparm, "-t", "--direct", str(DEVICE)),
            _hdparm,
            0.10,
            scene=shared_device,
        ),
        Pair(
            "storage read cached device : hdparm -T",
            ("storage.read", *device, "--size", "2M", "--mode", "cached"),
            (*pin, hdparm, "-T", str(DEVICE)),
            _hdparm,
            # it also writes to each 512 bytes that it has read, a quarter of its time on Zen 5
            0.30,
            scene=shared_device,
        ),
    ]


def _gives_memory_back() -> bool:
    """Whether this virtual machine returns memory to its host a few seconds after it is free.

    Then an empty page cache is filled up to five times slower after hdparm's pause of three
    seconds than right after another run, which has nothing to do with the disk.
    """
    balloons = Path("/sys/bus/virtio/drivers/virtio_balloon").glob("virtio*")
    return any(balloons) and Path("/sys/module/page_reporting").exists()


def why_no_loop() -> str:
    """Why there is no loop device to compare on, or nothing when there is."""
    if os.getuid() != 0:
        return "takes root"
    if shutil.which("losetup") is None:
        return "losetup is not installed"
    done = subprocess.run(["losetup", "--find"], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each tool that cannot."""
    pin = ("taskset", "-c", str(measured_cpu()))
    found: list[Pair] = []
    missing: list[str] = []
    fio, hdparm = shutil.which("fio"), shutil.which("hdparm")
    if fio:
        found += _fio_pairs(pin, fio)
    else:
        missing.append("fio: not installed")
    found += _dd_pairs(pin)
    if hdparm is None:
        missing.append("hdparm: not installed")
    elif reason := why_no_loop():
        missing.append(f"hdparm: no loop device ({reason})")
    else:
        rows = _hdparm_pairs(pin, hdparm)
        if _gives_memory_back():
            missing.append(
                "hdparm -t: this virtual machine gives free memory back to its host, "
                "and getting it again is what hdparm would measure after its pause"
            )
            rows = rows[1:]
        found += rows
    return found, missing
