"""A directory to open images in, and to compose one: the result appears at once when it is done.

Images are copied sparsely, so zeros take no room. The directory is removed in any case.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from benchvise.output_files import OutputTarget
from benchvise.rig.card.decompress import NONE, open_stream
from benchvise.rig.card.image import Image, open_image
from benchvise.rig.images import ImageError
from benchvise.rig.images.filesystems import EXT, file_system
from benchvise.rig.images.layout import Layout, OpenedImage, open_layout
from benchvise.rig.images.sparse import CHUNK, copy_sparse, write_sparse
from benchvise.rig.images.table import Partition, read_table
from benchvise.rig.images.tools import Tools

RESULT = "result"

_SPARE = 64 << 20  # bytes of the disk that stay free
_FIXED = (0, 1)  # e2fsck: nothing to do, or all repaired


class Workplace:
    """A directory to work in, with the tools for it; ``say`` takes a line for each step."""

    def __init__(self, out: Path, say: Callable[[str], None]) -> None:
        self.out = out
        self.say = say
        self._target = OutputTarget(out, "the image")
        place = self._target.scratch
        try:
            _sweep(place, out)
            directory = tempfile.mkdtemp(prefix=f"{_prefix(out)}{os.getpid()}-", dir=place)
        except OSError as error:
            raise ImageError(
                f"nothing can be written to {place} ({error.strerror})",
                "name another place for the result",
            ) from error
        self.tools = Tools(Path(directory))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self.tools.directory, ignore_errors=True)

    def base(self, image: Image) -> OpenedImage:
        """A copy of an image that is ours to change, with its file systems checked."""
        self.say(f"copying {image.path.name}")
        self._expand(image, RESULT)
        self._set_clock(RESULT)
        self._replay(RESULT)
        self._check_all(RESULT)
        return open_layout(self.tools, RESULT, image.path.name)

    def source(self, image: Image, number: int) -> OpenedImage:
        """An image to read from; copied only if it is compressed or has a journal to replay."""
        name = f"source-{number}"
        path = self.tools.directory / name
        if image.compression == NONE:
            path.symlink_to(image.path.resolve())
            if any(file_system(path, p.start).dirty for p in read_table(path).partitions):
                path.unlink()
        if not path.exists():
            self.say(f"unpacking {image.path.name}")
            self._expand(image, name)
            self._replay(name)
        self._set_clock(name)
        return open_layout(self.tools, name, image.path.name)

    def finish(self) -> OpenedImage:
        """The result with all its file systems in order."""
        self._check_all(RESULT)
        return open_layout(self.tools, RESULT, self.out.name)

    def check(self, file: str, start: int = 0) -> None:
        """Has e2fsck put an ext file system in order. ImageError when it cannot."""
        device = f"{file}?offset={start}"
        output = self.tools.run(["e2fsck", "-f", "-p", device], allowed=range(256))
        if output.returncode not in _FIXED:
            raise ImageError(
                f"an ext file system of the image is damaged ({output.complaint})",
                "repair it with e2fsck -f, or get the image again",
            )

    def extract(self, image: Path, partition: Partition, size: int) -> str:
        """A file with the first ``size`` bytes of a partition; its name."""
        name = self.tools.scratch(b"")
        target = self.tools.directory / name
        self._room(size)
        with image.open("rb") as source, target.open("r+b") as out:
            source.seek(partition.start)
            left = size
            while left:
                data = source.read(min(CHUNK, left))
                if not data:
                    break
                write_sparse(out, data)
                left -= len(data)
            out.truncate(size)
        return name

    def insert(self, name: str, image: Path, partition: Partition) -> None:
        """Puts a file over a whole partition of an image; what it does not fill becomes zero."""
        with (self.tools.directory / name).open("rb") as source, image.open("r+b") as out:
            at, end = partition.start, partition.end
            while at < end:
                size = min(CHUNK, end - at)
                data = source.read(size).ljust(size, b"\0")
                out.seek(at)
                if out.read(size) != data:
                    out.seek(at)
                    out.write(data)
                at += size
        self.tools.forget(name)

    def digest(self) -> str:
        """The SHA-256 of the result as it is."""
        with (self.tools.directory / RESULT).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def publish(self, beside: Mapping[str, bytes]) -> None:
        """Puts the result in its place, with the files beside it, each by the suffix of its name.

        An old block map goes first, and the new one comes last: an image without one is written
        whole, one with another's would be written wrongly. Nothing lies beside a device.
        """
        result = self.tools.directory / RESULT
        _sync(result)
        if not self._target.replaced:
            self._target.place(result)
            return
        for suffix in beside:
            Path(f"{self.out}{suffix}").unlink(missing_ok=True)
        self._target.place(result)
        for suffix, data in beside.items():
            scratch = self.tools.directory / self.tools.scratch(data)
            _sync(scratch)
            scratch.replace(f"{self.out}{suffix}")

    def _expand(self, image: Image, name: str) -> None:
        target = self.tools.directory / name
        self._room(_least(image))
        with image.path.open("rb") as file, target.open("xb") as out:
            if image.compression == NONE:
                copy_sparse(file.fileno(), out)
            else:
                stream = open_stream(image.path, file, image.compression)
                try:
                    buffer = memoryview(bytearray(CHUNK))
                    while count := stream.readinto(buffer):
                        write_sparse(out, bytes(buffer[:count]))
                finally:
                    stream.close()
            out.truncate(out.tell())

    def _room(self, need: int) -> None:
        free = shutil.disk_usage(self.tools.directory).free
        if need + _SPARE > free:
            raise ImageError(
                f"{self._target.scratch} has not enough room: {need} bytes are needed, "
                f"{free} are free",
                "free disk space, or name another place for the result",
            )

    def _set_clock(self, name: str) -> None:
        """The time at which the result is made: the latest that its file systems know of."""
        path = self.tools.directory / name
        written = [file_system(path, p.start).written for p in read_table(path).partitions]
        self.tools.clock = max([self.tools.clock, *written])

    def _replay(self, name: str) -> None:
        """Puts in place what journals hold. e2fsck can do that to a whole file only."""
        path = self.tools.directory / name
        for partition in read_table(path).partitions:
            if file_system(path, partition.start).dirty:
                scratch = self.extract(path, partition, partition.size)
                self.check(scratch)
                self.insert(scratch, path, partition)

    def _check_all(self, name: str) -> None:
        path = self.tools.directory / name
        for partition in read_table(path).partitions:
            if file_system(path, partition.start).kind in EXT:
                self.check(name, partition.start)


def describe(image: Path) -> Layout:
    """What an image holds, compressed or not; it is only read.

    Raises ImageError when it is damaged or of a kind that cannot be told, UsageError and
    FlashError (image-damaged) as ``open_image`` does.
    """
    with reading(image.name) as work:
        return work.source(open_image(image), 0).layout


def reading(name: str) -> Workplace:
    """A workplace to read images in, in the directory for temporary files."""
    return Workplace(Path(tempfile.gettempdir()) / name, lambda _step: None)


def _prefix(out: Path) -> str:
    return f".{out.name[:64]}-composing-"


def _sweep(place: Path, out: Path) -> None:
    """Removes what was left of the same result by a process that was killed."""
    for left in place.glob(f"{glob.escape(_prefix(out))}*-*"):
        pid = left.name.removeprefix(_prefix(out)).split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)


def _least(image: Image) -> int:
    """Bytes that a sparse copy takes on the disk, as far as that is known."""
    if image.compression == NONE:
        return min(image.path.stat().st_blocks * 512, image.path.stat().st_size)
    return image.mapped or image.path.stat().st_size


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
