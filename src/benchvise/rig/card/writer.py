"""Writes a card, reads it back and hashes it, on the machine that the card reader hangs on.

A program of its own: Python 3.9 or later, nothing but the standard library, so that the same text
runs here as a child process and on a labgrid exporter through ``ssh HOST python3``. Its standard
input is, after the program itself, one line of JSON, then frames, then an empty frame:

    order   {"path": ..., "size": bytes of the image or null}
    frame   u32 number of pieces, u32 bytes; for each piece u64 offset, u64 length; the bytes
            (little-endian; at most CHUNK bytes)

On the machine that sends, the bytes are not in the frames, and the order has one of

    image     a descriptor of the image, which holds the pieces at the same offsets
    memory    [a descriptor, a number of slots of CHUNK bytes], which the frames use in turn; what
              is in a slot stays there until "written" has been said of it

Its standard output is lines of JSON, each with one of these keys:

    card      {"size": bytes, "direct": whether past the page cache}: it may be written
    written   bytes, after each frame; of an image that it reads itself a few times a second
    synced    bytes: all of them are on the medium
    verified  bytes read back, after as many as a frame had; "sha256" of all of them so far
    end       true
    fault     a classification (benchvise.rig.faults), with "message" and "remedy"

When its input ends early, or nobody reads its output any more, it stops. Nothing is written
beyond the frames, and a file is never made, truncated or extended.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import mmap
import os
import queue
import stat
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, TypedDict

with contextlib.suppress(ModuleNotFoundError):  # Windows, which imports the layout of frames alone
    import fcntl

CHUNK = 4 << 20
"""Bytes of a frame at most: large enough for a card's erase blocks and for a slow language."""

FRAME = struct.Struct("<II")
PIECE = struct.Struct("<QQ")

SYS, PROC = Path("/sys"), Path("/proc")

Pieces = list[tuple[int, int]]  # offset on the card, length; in bytes

_BUFFERS = 3
_SAY_S = 0.1
_DIRECT_LEAST = 128 << 10  # smaller pieces are gathered by the page cache
_UNSYNCED_MOST = 64 << 20  # bytes in the page cache, so that progress is that of the card
_BLKROGET, _BLKFLSBUF, _BLKSSZGET, _BLKGETSIZE64 = 0x125E, 0x1261, 0x1268, 0x80081272
_ABSENT = (errno.ENOMEDIUM, errno.ENODEV, errno.ENXIO)
_SYSTEM = ("/", "/boot", "/usr", "/var", "/home")


class WriteRefused(Exception):  # noqa: N818 - it is an answer
    """Ends the program with a fault, its sentence and its remedy."""

    def __init__(self, fault: str, message: str, remedy: str) -> None:
        super().__init__(fault, message, remedy)
        self.fault, self.message, self.remedy = fault, message, remedy


# ---- may it be written? ------------------------------------------------------------------------


def device_users(disk: Path) -> Iterator[tuple[str, str]]:
    """Who uses a disk, its partitions, or what is built on them: (device, what for).

    ``disk`` is its directory in sysfs. What for is a mount point, ``swap``, or a holder's name.
    """
    numbers: dict[str, str] = {}
    held: list[tuple[str, str]] = []
    todo: list[Path] = [disk]
    while todo:
        node = todo.pop()
        number = _text(node / "dev")
        if number in numbers:
            continue
        numbers[number] = f"/dev/{node.name}"
        with contextlib.suppress(OSError):
            todo += [path for path in node.iterdir() if (path / "partition").exists()]
        with contextlib.suppress(OSError):
            for holder in (node / "holders").iterdir():
                held.append((f"/dev/{node.name}", holder.name))
                todo.append(holder.resolve())
    for line in _text(PROC / "self" / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, source = before.split(), after.split()[1:2]
        # a file system such as btrfs mounts under a number of its own, so its source counts too
        number = next((n for n in (fields[2], *map(_number, source)) if n in numbers), "")
        if number:
            yield numbers[number], _unescaped(fields[4])
    for line in _text(PROC / "swaps").splitlines()[1:]:
        number = _number(line.split()[0])
        if number in numbers:
            yield numbers[number], "swap"
    yield from held


def refuse_device(path: str, number: int) -> None:
    """Raises WriteRefused unless the block device is a card, whole, and in nobody's use.

    Whether a card is in it is known once it has been opened: a reader does not always tell of one
    that was put in.
    """
    disk = SYS / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}"
    if not disk.exists():
        raise WriteRefused("card-not-ours", f"'{path}' is not known to /sys", "is /sys mounted?")
    disk = disk.resolve()
    if (disk / "partition").exists():
        whole = f"/dev/{disk.parent.name}"
        raise WriteRefused(
            "card-not-ours", f"'{path}' is a partition", f"an image fills a whole card: {whole}"
        )
    users = list(device_users(disk))
    for device, use in users:
        if use == "swap" or use in _SYSTEM or use.startswith("/boot/"):
            raise WriteRefused(
                "card-not-ours",
                f"'{path}' is a disk that this system runs from ('{device}': {use})",
                "see which device the mux gave: lsblk",
            )
    if users:
        raise _in_use(path, *users[0])
    if not _is_card(disk):
        model = _text(disk / "device" / "model")
        raise WriteRefused(
            "card-not-ours",
            f"'{path}' is a fixed disk{f' ({model})' if model else ''}, not a card",
            "see which device the mux gave: lsblk -o NAME,SIZE,TRAN,RM,MODEL",
        )


def _is_card(disk: Path) -> bool:
    """Removable, on USB, an SD card, or a device that software makes of a file or a connection."""
    return (
        _text(disk / "removable") == "1"
        or "/usb" in str(disk)
        or _text(disk / "device" / "type") == "SD"
        or disk.name.startswith(("loop", "nbd", "ram"))
    )


def refuse_file(path: str) -> None:
    """Raises WriteRefused when a loop device lies over the file."""
    name = os.path.realpath(path)
    for loop in (SYS / "block").glob("loop*"):
        if _text(loop / "loop" / "backing_file") == name:
            raise _in_use(path, f"/dev/{loop.name}", "a loop device over it")


def _missing(message: str) -> WriteRefused:
    return WriteRefused(
        "card-missing",
        message,
        "see whether a card is in the mux, and whether the mux gives it to this machine",
    )


def _in_use(path: str, device: str, use: str) -> WriteRefused:
    if use.startswith("/"):
        return WriteRefused(
            "card-mounted",
            f"'{path}' is mounted ('{device}' on '{use}')",
            f"umount {device}, and switch off automatic mounting on that machine",
        )
    return WriteRefused(
        "card-mounted", f"'{path}' is in use ('{device}': {use})", f"release it first: {use}"
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(source: str) -> str:
    """``major:minor`` of a block device by its path, or nothing."""
    try:
        status = os.stat(_unescaped(source))  # noqa: PTH116 - a Path would change the name
    except (OSError, ValueError):
        return ""
    number = status.st_rdev
    return f"{os.major(number)}:{os.minor(number)}" if stat.S_ISBLK(status.st_mode) else ""


def _unescaped(text: str) -> str:
    for octal in ("\\040", "\\011", "\\012", "\\134"):
        text = text.replace(octal, chr(int(octal[1:], 8)))
    return text


# ---- the card ----------------------------------------------------------------------------------


class CardDevice:
    """An open medium. All offsets and lengths are in bytes."""

    def __init__(self, path: str) -> None:
        """Raises WriteRefused when it is not a card that may be written."""
        self.path = path
        self._direct: int | None = None
        self._unsynced = 0
        try:
            status = os.stat(path)  # noqa: PTH116
            self._is_device = stat.S_ISBLK(status.st_mode)
            if self._is_device:
                refuse_device(path, status.st_rdev)
            elif stat.S_ISREG(status.st_mode):
                refuse_file(path)
            else:
                raise WriteRefused(
                    "card-not-ours", f"'{path}' is neither disk nor file", "see the rig"
                )
            self._open(status)
        except OSError as error:
            raise self._not_opened(error) from error
        if not self.size:
            raise _missing(f"there is no card in '{path}': its size is 0")

    @property
    def direct(self) -> bool:
        """Whether it is written and read past the page cache."""
        return self._direct is not None

    def _open(self, status: os.stat_result) -> None:
        # Of a block device O_EXCL claims the whole disk: no one can mount or use it meanwhile.
        exclusive = os.O_EXCL if self._is_device else 0
        self._cached = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | exclusive)
        if not os.path.samestat(status, os.fstat(self._cached)):
            raise _missing(f"'{self.path}' was exchanged just now")
        if self._is_device:
            self.size = self._ioctl(_BLKGETSIZE64, 8)
            self._align = max(512, self._ioctl(_BLKSSZGET, 4))
            if self._ioctl(_BLKROGET, 4):
                raise WriteRefused(
                    "card-write-error", f"'{self.path}' is write-protected", "unlock the card"
                )
        else:
            fcntl.flock(self._cached, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.size, self._align = status.st_size, mmap.PAGESIZE
        with contextlib.suppress(OSError):  # some file systems have no direct access
            self._direct = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT)

    def _ioctl(self, request: int, length: int) -> int:
        answer = fcntl.ioctl(self._cached, request, bytes(length))
        return int.from_bytes(answer, sys.byteorder)

    def _not_opened(self, error: OSError) -> WriteRefused:
        if error.errno in (errno.ENOENT, *_ABSENT):
            return _missing(f"there is no card at '{self.path}'")
        if error.errno in (errno.EBUSY, errno.EAGAIN):
            return _in_use(self.path, self.path, "another program has it open")
        if error.errno in (errno.EACCES, errno.EPERM):
            return WriteRefused(
                "card-not-ours",
                f"'{self.path}' may not be written by user {os.geteuid()}",
                "join the group that may (disk, on Debian), or be root",
            )
        if error.errno == errno.EROFS:
            return WriteRefused(
                "card-write-error", f"'{self.path}' is write-protected", "unlock the card"
            )
        return WriteRefused(
            "card-not-ours", f"'{self.path}' cannot be opened ({error.strerror})", "see dmesg there"
        )

    def write(self, pieces: Pieces, data: memoryview) -> None:
        """Writes the pieces of a frame, which lie in ``data`` one after the other."""
        self._unsynced += self._each(pieces, data, os.pwritev, "cannot be written")
        if self._unsynced >= _UNSYNCED_MOST:
            self.sync()

    def read(self, pieces: Pieces, data: memoryview) -> None:
        """Reads them back."""
        self._each(pieces, data, os.preadv, "cannot be read back")

    def _each(self, pieces: Pieces, data: memoryview, call: Callable[..., int], failed: str) -> int:
        """How many bytes went through the page cache."""
        at = cached = 0
        for offset, length in pieces:
            end, where = at + length, offset
            while at < end:
                fd, most = self._way(where, at, end - at)
                try:
                    done = call(fd, [data[at : at + most]], where)
                except OSError as error:
                    if error.errno == errno.EINVAL and fd == self._direct:
                        self._direct = None  # this file system asks for more than we can give
                        continue
                    raise self._failed(error, failed, where) from error
                if done == 0:
                    raise self._failed(OSError(errno.EIO, "it ends there"), failed, where)
                cached += done if fd == self._cached else 0
                at, where = at + done, where + done
        return cached

    def _way(self, where: int, at: int, length: int) -> tuple[int, int]:
        """The descriptor to use, and for how many bytes."""
        if (
            self._direct is not None
            and length >= _DIRECT_LEAST
            and not where % self._align
            and not at % self._align
        ):
            return self._direct, length - length % self._align
        return self._cached, length

    def sync(self) -> None:
        """Returns when everything is on the medium."""
        try:
            os.fdatasync(self._cached)
        except OSError as error:
            raise self._failed(error, "cannot be written", None) from error
        self._unsynced = 0

    def forget(self) -> None:
        """Drops what the page cache holds of it, so that reading it back asks the medium."""
        if self._is_device:
            with contextlib.suppress(OSError):  # root's alone
                fcntl.ioctl(self._cached, _BLKFLSBUF, 0)
        os.posix_fadvise(self._cached, 0, 0, os.POSIX_FADV_DONTNEED)

    def _failed(self, error: OSError, what: str, where: int | None) -> WriteRefused:
        if error.errno in _ABSENT:
            return _missing(f"the card in '{self.path}' went away")
        place = "" if where is None else f" at byte {where}"
        read = what.endswith("back")
        return WriteRefused(
            "card-verify-mismatch" if read else "card-write-error",
            f"the card in '{self.path}' {what}{place} ({error.strerror})",
            "see dmesg there; the card is worn out or badly seated: try another one",
        )


# ---- the work ----------------------------------------------------------------------------------


class WriteOrder(TypedDict, total=False):
    """The order, as the first line of the input has it."""

    path: str
    size: int | None
    image: int
    memory: tuple[int, int]


class Filled(NamedTuple):
    """A buffer that was filled: where its bytes belong, and the bytes."""

    pieces: Pieces
    data: memoryview


def ahead(fill: Callable[[memoryview], Filled | None]) -> Iterator[Filled]:
    """What ``fill`` gives until it gives None, filled by a thread while the last one is used."""
    empty: queue.Queue[memoryview] = queue.Queue()
    full: queue.Queue[tuple[Filled | BaseException | None, memoryview]] = queue.Queue()
    for _ in range(_BUFFERS):
        # aligned to a page, as direct access asks, and of large pages where there are any
        memory = mmap.mmap(-1, CHUNK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError, AttributeError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        empty.put(memoryview(memory))

    def work() -> None:
        try:
            while True:
                buffer = empty.get()
                item = fill(buffer)
                full.put((item, buffer))
                if item is None:
                    return
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            full.put((error, memoryview(b"")))

    threading.Thread(target=work, daemon=True).start()
    while True:
        item, buffer = full.get()
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return
        yield item
        empty.put(buffer)


def frames(
    source: IO[bytes], card: CardDevice, order: WriteOrder
) -> Callable[[memoryview], Filled | None]:
    """Fills buffers with frames, wherever their bytes are; None at the empty one."""
    image, memory, taken = order.get("image"), None, 0
    if "memory" in order:
        descriptor, slots = order["memory"]
        memory = memoryview(mmap.mmap(descriptor, slots * CHUNK))

    def whole(buffer: memoryview) -> None:
        if source.readinto(buffer) != len(buffer):  # type: ignore[attr-defined]
            raise EOFError("the sender ended before its image did")

    def fill(buffer: memoryview) -> Filled | None:
        head = bytearray(FRAME.size)
        whole(memoryview(head))
        count, length = FRAME.unpack(head)
        if not length:
            return None
        table = bytearray(count * PIECE.size)
        whole(memoryview(table))
        pieces: Pieces = list(PIECE.iter_unpack(table))
        last = max(offset + size for offset, size in pieces)
        if last > card.size:
            raise too_small(card, last)
        data = buffer[:length]
        if memory is not None:
            nonlocal taken
            data = memory[taken : taken + length]
            taken = (taken + CHUNK) % len(memory)
        elif image is not None:
            read_pieces(image, pieces, data)
        else:
            whole(data)
        return Filled(pieces, data)

    return fill


def read_pieces(image: int, pieces: Pieces, data: memoryview) -> None:
    """Reads pieces of the image."""
    at = 0
    for offset, length in pieces:
        end, where = at + length, offset
        while at < end:
            try:
                done = os.preadv(image, [data[at:end]], where)
            except OSError as error:
                raise _bad_image(f"cannot be read at byte {where} ({error.strerror})") from error
            if done == 0:
                raise _bad_image("changed while it was being read")
            at, where = at + done, where + done


def _bad_image(what: str) -> WriteRefused:
    return WriteRefused(
        "image-damaged", f"the image {what}", "get it again, and compare its checksum"
    )


def too_small(card: CardDevice, least: int) -> WriteRefused:
    """The image does not end where the card does."""
    return WriteRefused(
        "card-too-small",
        f"the card in '{card.path}' has {card.size / 1e9:.2f} GB ({card.size} bytes), "
        f"and the image takes {least / 1e9:.2f} GB or more ({least} bytes)",
        "use a larger card",
    )


def say(**line: object) -> None:
    """One line of the answer, at once."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def write_frames(source: IO[bytes], card: CardDevice, order: WriteOrder) -> list[Pieces]:
    """Writes all frames, and tells where each went."""
    done: list[Pieces] = []
    written, reported = 0, 0.0
    for filled in ahead(frames(source, card, order)):
        card.write(filled.pieces, filled.data)
        done.append(filled.pieces)
        written += len(filled.data)
        if "image" not in order or time.monotonic() - reported >= _SAY_S:
            reported = time.monotonic()
            say(written=written)
    card.sync()
    say(synced=written)
    return done


def verify(card: CardDevice, written: list[Pieces]) -> None:
    """Reads everything back in the order in which it was written, and says its hash."""
    rest = iter(written)

    def fill(buffer: memoryview) -> Filled | None:
        pieces = next(rest, None)
        if pieces is None:
            return None
        data = buffer[: sum(length for _, length in pieces)]
        card.read(pieces, data)
        return Filled(pieces, data)

    card.forget()
    digest, verified = hashlib.sha256(), 0
    for filled in ahead(fill):
        digest.update(filled.data)
        verified += len(filled.data)
        say(verified=verified, sha256=digest.copy().hexdigest())


def main() -> int:
    """Does one order of standard input; exit status 0 when all was written and read back."""
    source = sys.stdin.buffer
    order: WriteOrder = json.loads(source.readline())
    try:
        card = CardDevice(order["path"])
        size = order["size"]
        if size and size > card.size:
            raise too_small(card, size)
        say(card={"size": card.size, "direct": card.direct})
        verify(card, write_frames(source, card, order))
        say(end=True)
    except WriteRefused as refused:
        say(fault=refused.fault, message=refused.message, remedy=refused.remedy)
        return 1
    except (EOFError, BrokenPipeError):  # nobody waits for an answer
        return 1
    return 0


if __name__ == "__main__":
    # Threads may still wait for input: leave without them.
    status = 1
    try:
        status = main()
    except BaseException:  # noqa: BLE001 - nobody is above
        traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(status)
