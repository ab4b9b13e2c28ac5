"""An image as chunks of what has to be on the card, checked on the way.

Without a block map that is all of it, zeros included: a hole of a sparse file may be zeros that
somebody relies on, and the card holds something else there. With one it is the mapped ranges; the
checksum of each is compared as soon as its last byte has been seen.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from benchvise.rig.card import decompress
from benchvise.rig.card.image import Image, MappedRange, changed, stamp_of
from benchvise.rig.card.writer import CHUNK, Pieces
from benchvise.rig.faults import FlashError

_ENDLESS = 1 << 62


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pieces of the image, one behind the other in ``data``."""

    pieces: Pieces
    data: memoryview


def frames_of(image: Image) -> Iterator[Pieces]:
    """What has to be written, cut into frames; endless where the size is not known."""
    frame: Pieces = []
    room = CHUNK
    for offset, end in _parts(image):
        at = offset
        while at < end:
            take = min(end - at, room)
            frame.append((at, take))
            at, room = at + take, room - take
            if not room:
                yield frame
                frame, room = [], CHUNK
    if frame:
        yield frame


def _parts(image: Image) -> Iterator[tuple[int, int]]:
    if image.bmap:
        yield from ((part.offset, part.end) for part in image.bmap.ranges)
    else:
        yield 0, image.size if image.size is not None else _ENDLESS


class ImageSource:
    """The bytes of an image, read in order, without those that are not mapped."""

    def __init__(self, image: Image) -> None:
        """Raises FlashError (image-damaged) when the file is not the one that was opened."""
        self._image = image
        try:
            self._file: IO[bytes] = image.path.open("rb", buffering=0)
        except OSError as error:
            raise changed(image.path) from error
        if stamp_of(self._file.fileno()) != image.stamp:
            self._file.close()
            raise changed(image.path)
        self._stream: decompress.Stream | None = None
        if image.compression != decompress.NONE:
            self._stream = decompress.open_stream(image.path, self._file, image.compression)
        self._stopped = False
        self._position = 0
        self._frames = frames_of(image)
        self._ended = False

    def fill(self, buffer: memoryview) -> Chunk | None:
        """The next chunk, in ``buffer`` of CHUNK bytes; None at the end of the image.

        Raises FlashError (image-damaged).
        """
        pieces: Pieces = []
        at = 0
        for offset, length in () if self._ended else next(self._frames, ()):
            got = self._read(offset, buffer[at : at + length])
            at += got
            if got:
                pieces.append((offset, got))
            if got < length:
                self._ended = True
                break
        if not pieces:
            self._finish()
            return None
        return Chunk(pieces, buffer[:at])

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self._file.fileno()

    def fraction(self) -> float:
        """Of the file, how much has been read; 0 to 1."""
        try:
            position = os.lseek(self._file.fileno(), 0, os.SEEK_CUR)
        except (OSError, ValueError):  # closed meanwhile
            return 1.0
        return min(1.0, position / max(1, self._image.stamp[2]))

    def check(self) -> None:
        """Raises FlashError (image-damaged) when the file has changed since it was opened."""
        if stamp_of(self._file.fileno()) != self._image.stamp:
            raise changed(self._image.path)

    def stop(self) -> None:
        """Another thread that is in ``fill`` comes back soon, with whatever."""
        self._stopped = True
        if self._stream:
            self._stream.stop()

    def close(self) -> None:
        """When no thread is in ``fill`` any more."""
        if self._stream:
            self._stream.close()
        self._file.close()

    def _read(self, offset: int, view: memoryview) -> int:
        """Bytes from there; fewer than asked for only where the image ends unforeseen."""
        if self._stream is None:
            return self._whole(lambda rest, done: self._pread(rest, offset + done), view)
        if offset > self._position:
            self._skip(offset - self._position)
        stream = self._stream
        got = self._whole(lambda rest, _done: stream.readinto(rest), view)
        self._position += got
        if got < len(view) and self._image.size is not None:
            raise self._other_size(self._position)
        return got

    def _pread(self, view: memoryview, offset: int) -> int:
        try:
            got = os.preadv(self._file.fileno(), [view], offset)
        except OSError as error:
            raise decompress.damaged(
                self._image.path, f"cannot be read at byte {offset} ({error.strerror})"
            ) from error
        if got == 0:
            raise changed(self._image.path)
        return got

    @staticmethod
    def _whole(read: Callable[[memoryview, int], int], view: memoryview) -> int:
        """Calls ``read`` with the rest of the view, and how much there is, until it is full."""
        done = 0
        while done < len(view):
            got = read(view[done:], done)
            if got == 0:
                break
            done += got
        return done

    def _skip(self, length: int) -> int:
        """Decompresses and throws away; the bytes that there were."""
        scratch = memoryview(bytearray(min(length, CHUNK)))
        done = 0
        while self._stream and done < length and not self._stopped:
            got = self._stream.readinto(scratch[: min(len(scratch), length - done)])
            if got == 0:
                break
            done += got
        self._position += done
        return done

    def _finish(self) -> None:
        """Reads to the end, where the format's own checksum is; compares size and stamp."""
        if self._stream:
            self._skip(_ENDLESS)
            if self._image.size not in (None, self._position):
                raise self._other_size(self._position)
        self.check()

    def _other_size(self, size: int) -> FlashError:
        claim = "its block map is of" if self._image.bmap else "it says it has"
        return decompress.damaged(
            self._image.path, f"has {size} bytes when decompressed, but {claim} {self._image.size}"
        )


class RangeChecks:
    """Compares the checksums of a block map's ranges."""

    def __init__(self, image: Image) -> None:
        self._image = image
        bmap = image.bmap
        self._kind = bmap.checksum_type if bmap else None
        self._ranges = iter(bmap.ranges) if bmap else iter(())
        self._range: MappedRange | None = None
        self._digest = hashlib.sha256()

    def update(self, chunk: Chunk) -> None:
        """The next chunk. Raises FlashError (image-damaged) for a range that is wrong."""
        if self._kind is None:
            return
        at = 0
        for offset, length in chunk.pieces:
            if self._range is None:
                self._range = next(self._ranges)
                self._digest = hashlib.new(self._kind, usedforsecurity=False)
            part = self._range
            self._digest.update(chunk.data[at : at + length])
            at += length
            if offset + length == part.end:
                if part.checksum not in (None, self._digest.hexdigest()):
                    raise decompress.damaged(
                        self._image.path,
                        f"does not have the checksum that its block map says "
                        f"(bytes {part.offset} to {part.end})",
                    )
                self._range = None
