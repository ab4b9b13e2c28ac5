"""Writing cards beside dd and bmaptool: the same image, the same medium.

The figure is bytes written a second until they are on the medium, by each side's own account, so
without the start of the programs. Reading back and comparing, which neither reference does, comes
on top of that: it is reported apart. The checksums of a plain image's block map are computed beside
the writing; where that ends later, the rest counts with the reading back. The image is in the page
cache for both sides.

Media are a file on the disk of the repository (``conv=notrunc``: no card is truncated) and a loop
device over one, past its page cache.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.pairs import BUILD, Pair
from benchmarks.pairs_storage import MIB, Shared, why_no_loop
from benchmarks.sheets import Sheet
from benchvise.rig.card.flash import FlashResult, Medium, write_card
from benchvise.rig.card.image import open_image

HERE = BUILD / "flash"
FULL, SPARSE = HERE / "full.img", HERE / "sparse.img"
FILE, BACKING, DEVICE = HERE / "card", HERE / "backing", HERE / "device"
SIZE = 512  # MiB of the full image, and of the card
DATA, HOLE = 24, 8  # MiB, in turn in the sparse one

LEAST = (0.9, math.inf)

verifications: defaultdict[str, list[FlashResult]] = defaultdict(list)
"""What each of our pairs wrote and verified."""

_COMPRESSORS = {"gz": "gzip", "zst": "zstd"}  # bz2 and xz are decompressors' races only


def _images() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    with FULL.open("wb") as full, SPARSE.open("wb") as sparse:
        sparse.truncate(SIZE * MIB)
        for mebibyte in range(SIZE):
            # halves of random bytes and of text, so that it compresses as systems do
            data = os.urandom(MIB // 2) + b"all work and no play " * (MIB // 2 // 21)
            full.write(data.ljust(MIB))
            if mebibyte % (DATA + HOLE) < DATA:
                sparse.seek(mebibyte * MIB)
                sparse.write(data.ljust(MIB))
        os.fsync(full.fileno())
        os.fsync(sparse.fileno())
    bmap = ["bmaptool", "create", "-o", f"{SPARSE}.bmap", str(SPARSE)]
    subprocess.run(bmap, check=True, capture_output=True)
    for card in (FILE, BACKING):
        with card.open("wb") as file:
            for _ in range(SIZE):
                file.write(bytes(MIB))
            os.fsync(file.fileno())
    if not why_no_loop():
        command = ["losetup", "--direct-io=on", "--find", "--show", str(BACKING)]
        device = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        DEVICE.unlink(missing_ok=True)
        DEVICE.symlink_to(device.strip())


def _remove() -> None:
    if DEVICE.is_symlink():
        subprocess.run(["losetup", "--detach", DEVICE.resolve()], check=True)
    shutil.rmtree(HERE)


_images_there = Shared(_images, _remove)


def images(suffix: str) -> Callable[[], AbstractContextManager[None]]:
    """The images, the sparse one with that compression among them."""

    @contextlib.contextmanager
    def scene() -> Iterator[None]:
        with _images_there():
            if suffix and not Path(f"{SPARSE}.{suffix}").exists():
                subprocess.run([_COMPRESSORS[suffix], "-qkf", "-1", SPARSE], check=True)
            yield

    return scene


def _ours(name: str, image: Path, card: Path) -> Callable[[], float]:
    def run() -> float:
        done = write_card(open_image(image), Medium(str(card)))
        verifications[name].append(done)
        return done.written / done.write_s

    return run


def _dd(text: str) -> float:
    count, seconds = re.findall(r"^(\d+) bytes .* copied, ([\d.e-]+) s", text, re.MULTILINE)[-1]
    return float(count) / float(seconds)


def _bmaptool(text: str) -> float:
    speed, unit = re.findall(r"copying speed ([\d.]+) ([KMG])iB/sec", text)[-1]
    return float(speed) * 1024.0 ** (1 + "KMG".index(unit))


def _pair(
    name: str,
    image: Path,
    card: Path,
    reference: str,
    read: Callable[[str], float],
    suffix: str = "",
) -> Pair:
    return Pair(
        name,
        _ours(name, image, card),
        ("sh", "-c", f"LC_ALL=C; export LC_ALL; {reference} 2>&1"),
        read,
        0.1,
        scene=images(suffix),
        bounds=LEAST,
        unit="B/s",
    )


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each tool that cannot."""
    if shutil.which("bmaptool") is None:
        return [], ["bmaptool: not installed (Debian: bmap-tools)"]
    found: list[Pair] = []
    missing: list[str] = []
    media = [("file", FILE)]
    if reason := why_no_loop():
        missing.append(f"flashing a device: no loop device ({reason})")
    else:
        media.append(("device", DEVICE))
    for medium, card in media:
        dd = f"dd if={FULL} of={card} bs=4M oflag=direct conv=notrunc,fdatasync"
        found.append(_pair(f"flash {medium} : dd direct", FULL, card, dd, _dd))
        # decompressing is what takes the time, so that one medium tells
        kinds = [s for s, p in _COMPRESSORS.items() if shutil.which(p) and card is FILE]
        for suffix in ("", *kinds):
            image = Path(f"{SPARSE}.{suffix}") if suffix else SPARSE
            found.append(
                _pair(
                    f"flash {medium} {suffix or 'sparse'} : bmaptool copy",
                    image,
                    card,
                    f"bmaptool copy --bmap {SPARSE}.bmap {image} {card}",
                    _bmaptool,
                    suffix,
                )
            )
    return found, missing


def verification() -> Sheet:
    """What our verification took, beside the writing."""
    sheet = Sheet(
        "Reading back and comparing, after the writing",
        ("pair", "MB", "written MB/s", "verified MB/s", "verification : writing"),
    )
    for name, runs in verifications.items():
        sheet.rows.append(
            (
                name,
                f"{runs[0].written / 1e6:.0f}",
                f"{statistics.median(run.written / run.write_s for run in runs) / 1e6:.0f}",
                f"{statistics.median(run.written / run.verify_s for run in runs) / 1e6:.0f}",
                f"{statistics.median(run.verify_s / run.write_s for run in runs):.2f}",
            )
        )
    return sheet
