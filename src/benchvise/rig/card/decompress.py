"""Compressed images: what they are compressed with, how long they are, and their bytes.

A decompressor that is a program of its own and uses several processors is taken where there is
one; otherwise the standard library's (``rig.zstd`` for zst). Both say when an image is cut off or
damaged: the formats carry checksums.
"""

from __future__ import annotations

import bz2
import lzma
import os
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import IO, Protocol, cast

from benchvise.rig.faults import Fault, FlashError
from benchvise.text import last_line

NONE = "none"
SUFFIXES = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}
MAGIC = {
    "gz": (b"\x1f\x8b\x08",),
    "bz2": tuple(b"BZh%d" % level for level in range(1, 10)),
    "xz": (b"\xfd7zXZ\0",),
    "zst": (b"\x28\xb5\x2f\xfd", *(bytes((0x50 | n,)) + b"\x2a\x4d\x18" for n in range(16))),
}

PROGRAMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "gz": (("pigz", "-dc"),),
    "bz2": (("lbzip2", "-dc"), ("pbzip2", "-dc")),
    "xz": (("xz", "-dc", "-T0"),),
    "zst": (("zstd", "-dcq"),),
}
"""Best first. They read the image as their standard input."""

_BLOCK = 1 << 20  # bytes of compressed data at a time
_PIPE = 1 << 20  # the largest that a user may ask for
_INDEX_LIMIT = 64 << 20


class Stream(Protocol):
    """The bytes of a decompressed image, in order."""

    def readinto(self, buffer: memoryview) -> int:
        """Fills the buffer from its beginning; the number of bytes, 0 at the end.

        Raises FlashError (image-damaged).
        """

    def stop(self) -> None:
        """Another thread that is reading comes back soon."""

    def close(self) -> None:
        """Ends it, wherever it is."""


def by_magic(head: bytes) -> str:
    """The compression of data that begins so, or ``none``."""
    return next((name for name, magics in MAGIC.items() if head.startswith(magics)), NONE)


def plain_name(path: Path) -> str:
    """An image's name without the suffix of its compression."""
    return path.stem if path.suffix in SUFFIXES else path.name


def damaged(path: Path, what: str) -> FlashError:
    """The image is not what it should be."""
    return FlashError(
        Fault.IMAGE_DAMAGED,
        f"the image '{path.name}' {what}",
        "get the image again and compare its checksum",
    )


def open_stream(path: Path, file: IO[bytes], compression: str) -> Stream:
    """The decompressed bytes of ``file``, which stands at its beginning.

    The position of ``file`` is how far the compressed data has been read.
    """
    for program in PROGRAMS[compression]:
        if shutil.which(program[0]):
            return _Program(path, file, program)
    if compression == "zst":
        return _Zstandard(path, file)
    return _Library(path, file, compression)


class _Program:
    """A decompressor that runs beside us."""

    def __init__(self, path: Path, file: IO[bytes], program: tuple[str, ...]) -> None:
        self._path, self._name = path, program[0]
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._child = subprocess.Popen(
            program,
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            pipesize=_PIPE,
            bufsize=0,
        )
        self._output = cast("IO[bytes]", self._child.stdout)

    def readinto(self, buffer: memoryview) -> int:
        done = os.readv(self._output.fileno(), [buffer])
        if done == 0 and self._child.wait() != 0:
            self._stderr.seek(0)
            reason = last_line(self._stderr.read(64 << 10))
            raise damaged(self._path, f"cannot be decompressed ({reason or self._name})")
        return done

    def stop(self) -> None:
        self._child.kill()

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        self._output.close()
        self._stderr.close()


class _Library:
    """zlib, bz2 or lzma, member by member; zeros may follow, as on tapes."""

    def __init__(self, path: Path, file: IO[bytes], compression: str) -> None:
        self._path, self._file, self._compression = path, file, compression
        self._rest = b""
        self._decoder = self._new()
        self._started = False

    def readinto(self, buffer: memoryview) -> int:
        while True:
            if self._decoder.eof and not self._next_member():
                return 0
            data = b""
            if self._decoder.needs_input:
                data = self._rest or self._file.read(_BLOCK)
                self._rest = b""
                if not data:
                    raise damaged(self._path, "is cut off")
            try:
                output = self._decoder.decompress(data, len(buffer))
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise damaged(self._path, f"cannot be decompressed ({error})") from error
            if output:
                buffer[: len(output)] = output
                return len(output)

    def stop(self) -> None:
        pass  # a buffer takes no time

    def close(self) -> None:
        pass

    def _next_member(self) -> bool:
        """Whether another member follows."""
        rest = self._decoder.unused_data
        while not rest.lstrip(b"\0"):
            rest = self._file.read(_BLOCK)
            if not rest:
                return False
        if by_magic(rest.lstrip(b"\0")[:8]) != self._compression:
            raise damaged(self._path, "has data behind its end")
        self._rest, self._decoder = rest.lstrip(b"\0"), self._new()
        return True

    def _new(self) -> _Decoder:
        if self._compression == "gz":
            return _Gzip()
        if self._compression == "bz2":
            return bz2.BZ2Decompressor()
        return lzma.LZMADecompressor(lzma.FORMAT_XZ)


class _Decoder(Protocol):
    """What bz2's and lzma's decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib's decompressor with the attributes of the others; it checks the checksum of a member."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._full and not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        output = self._inner.decompress(self._inner.unconsumed_tail + data, max(max_length, 0))
        self._full = len(output) == max_length  # zlib may hold more without any input left
        return output


class _Zstandard:
    """Frame after frame; ``known_size`` has seen that none is cut off."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        from benchvise.rig import zstd  # of the extra `rig`

        self._path = path
        largest_window: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 31}
        self._reader = zstd.ZstdFile(file, options=largest_window)

    def readinto(self, buffer: memoryview) -> int:
        from benchvise.rig import zstd  # of the extra `rig`

        try:
            return self._reader.readinto(buffer)
        except (EOFError, zstd.ZstdError) as error:
            raise damaged(self._path, f"cannot be decompressed ({error})") from error

    def stop(self) -> None:
        pass  # a buffer takes no time

    def close(self) -> None:
        self._reader.close()


def known_size(path: Path, compression: str) -> int | None:
    """Bytes of the image, where the compressed file tells; None where it does not.

    Raises FlashError (image-damaged) where its structure shows that it is cut off.
    """
    with path.open("rb") as file:
        if compression == NONE:
            return os.fstat(file.fileno()).st_size
        if compression == "xz":
            return _xz_size(path, file)
        if compression == "zst":
            return _zst_size(path, file)
    return None


def _xz_size(path: Path, file: IO[bytes]) -> int:
    """From the indexes of its streams, the last first (The .xz File Format 1.2, 2.1.2 and 4)."""
    end = file.seek(0, os.SEEK_END)
    total = 0
    while end > 0:
        tail = _at(file, end - _BLOCK, min(end, _BLOCK))
        if padding := len(tail) - len(tail.rstrip(b"\0")):  # zeros may follow each stream
            end -= padding
            continue
        footer = tail[-12:]
        size = (int.from_bytes(footer[4:8], "little") + 1) * 4
        if footer[-2:] != b"YZ" or size > min(end - 24, _INDEX_LIMIT):
            raise damaged(path, "is cut off")
        index = _at(file, end - 12 - size, size)
        if zlib.crc32(index[:-4]) != int.from_bytes(index[-4:], "little") or index[0]:
            raise damaged(path, "has a damaged index")
        numbers = _numbers(index[1:-4])
        records = numbers[1 : 1 + 2 * numbers[0]]  # unpadded size, uncompressed size; padding
        total += sum(records[1::2])
        blocks = sum(-(-unpadded // 4) * 4 for unpadded in records[::2])
        end -= 24 + size + blocks  # with the stream's header and footer
    if end < 0:
        raise damaged(path, "has a damaged index")
    return total


def _numbers(data: bytes) -> list[int]:
    """Variable-length integers, seven bits a byte, the lowest first."""
    numbers = []
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(value)
            value = shift = 0
    return numbers or [0]


def _zst_size(path: Path, file: IO[bytes]) -> int | None:
    """From its frames' headers, walking from block to block (RFC 8878, 3.1)."""
    from benchvise.rig import zstd  # of the extra `rig`

    end = file.seek(0, os.SEEK_END)
    position, total, is_known = 0, 0, True
    while position < end:
        head = _at(file, position, 18)
        if head[:4] in MAGIC["zst"][1:]:
            position += 8 + int.from_bytes(head[4:8], "little")
            continue
        try:
            content = zstd.get_frame_info(head).decompressed_size
        except zstd.ZstdError as error:
            raise damaged(path, f"cannot be decompressed ({error})") from error
        position += _zst_header_size(head[4])
        is_known = is_known and content is not None
        total += content or 0
        last = False
        while not last:
            block = int.from_bytes(_at(file, position, 3), "little")
            last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
            if position + 3 > end or kind == 3:
                raise damaged(path, "is cut off")
            position += 3 + (1 if kind == 1 else size)
        position += 4 if head[4] & 4 else 0  # the checksum
    if position > end:
        raise damaged(path, "is cut off")
    return total if is_known else None


def _zst_header_size(descriptor: int) -> int:
    """Bytes of a frame's header, by the byte behind its magic number (RFC 8878, 3.1.1.1)."""
    is_single_segment = bool(descriptor & 0x20)
    window = 0 if is_single_segment else 1
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    content = (1 if is_single_segment else 0, 2, 4, 8)[descriptor >> 6]
    return 5 + window + dictionary + content


def _at(file: IO[bytes], position: int, length: int) -> bytes:
    file.seek(max(position, 0))
    return file.read(length)
