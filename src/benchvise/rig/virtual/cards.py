"""An SD mux and the card in it, which may be damaged.

The card is ``card.img`` in the board's directory. The host sees it as ``host/sd``, a second name
of the same file that exists only while the mux is turned to the host. A card has the size it has:
tools that cut a plain file short, or make it longer, find it as it was when the mux turns.

Pulling a card from a real reader cuts off whoever is still writing to it. Here the file would stay
open behind the back of the board, so that a program left over from a killed client could write
into the card of a running board. Therefore, if anybody has the file open when the mux turns away
from the host, the card goes on as a copy, and what they write gets nowhere.

A bad block needs nothing: the kernel tells us of each write to the card (inotify), and we put the
block's own bytes back within a millisecond or so, long before a program that writes a card of any
real size begins to read it back; at the latest when the mux turns.

For a real I/O error, QEMU's storage daemon offers the card to the host as a file through FUSE, with
a block filter that fails writes to one sector. It needs a machine whose users may mount FUSE file
systems.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

from benchvise.confinement import dies_with_us
from benchvise.host_system import supports
from benchvise.rig.images.sparse import copy_sparse
from benchvise.text import last_line

MODES = ("host", "dut", "off")
SECTOR = 512

_IN_MODIFY = 0x2
_EVENTS = 64 << 10
if supports("linux"):
    _libc = ctypes.CDLL(None, use_errno=True)

_MOUNT_SECONDS = 60.0  # an interpreter starts, which waits for a CPU where many compute
_POLL_SECONDS = 0.02


class CardSlot:
    """The mux and its card. ``mode`` is where the mux is turned to.

    ``directory`` is best relative to the current one: then a file system that is mounted in it is
    taken away at the end even where the bench's directory was moved meanwhile.
    """

    def __init__(self, directory: Path, size: int) -> None:
        self.card = directory / "card.img"
        self.host = directory / "host" / "sd"
        self.mode = "dut"
        self._size = size
        self._bad_block: int | None = None
        self._write_error: int | None = None
        self._damaged: BadBlock | None = None
        self._refusing: RefusingCard | None = None
        self.host.parent.mkdir(mode=0o700, exist_ok=True)
        take_away(self.host)
        if not self.card.is_file() or self.card.is_symlink() or self.card.stat().st_size != size:
            self._insert_blank()

    @property
    def size(self) -> int:
        """Bytes of the card."""
        return self._size

    @property
    def for_board(self) -> Path | None:
        """The card as the board has it; None while it is elsewhere."""
        return self.card.resolve() if self.mode == "dut" else None

    async def turn(self, mode: str) -> None:
        """Turns the mux. OSError when the card cannot be given to the host as was ordered."""
        if mode == self.mode:
            return
        if self.mode == "host":
            await self._take_from_host()
        self.mode = mode
        if mode == "host":
            await self._give_to_host()

    async def swap(self, size: int) -> None:
        """Puts a blank card of another size into the slot."""
        mode = self.mode
        if mode == "host":
            await self._take_from_host()
        self._size = size
        self._insert_blank()
        if mode == "host":
            await self._give_to_host()

    async def damage(self, *, bad_block: int | None, write_error: int | None) -> None:
        """From now on these places are damaged. OSError when that cannot be done here."""
        if (bad_block, write_error) == (self._bad_block, self._write_error):
            return
        before = self._bad_block, self._write_error
        at_host = self.mode == "host"
        if at_host:
            await self._take_from_host()
        self._bad_block, self._write_error = bad_block, write_error
        try:
            # Tried out even when the mux is elsewhere, so that the refusal comes with the order.
            await self._give_to_host()
        except OSError:
            self._bad_block, self._write_error = before
            await self._give_to_host()
            raise
        finally:
            if not at_host:
                await self._take_from_host()

    async def close(self) -> None:
        """The host loses sight of the card."""
        if self.mode == "host":
            await self._take_from_host()

    def _insert_blank(self) -> None:
        self.card.unlink(missing_ok=True)
        descriptor = os.open(self.card, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.truncate(descriptor, self._size)
        finally:
            os.close(descriptor)

    async def _give_to_host(self) -> None:
        if not self.card.exists():  # somebody has removed it
            self._insert_blank()
        take_away(self.host)
        if self._write_error is not None:
            self._refusing = await RefusingCard.offer(self.card, self._write_error, self.host)
        else:
            self.host.hardlink_to(self.card)
        if self._bad_block is not None:
            self._damaged = BadBlock(self.card, self._bad_block)

    async def _take_from_host(self) -> None:
        if self._refusing is not None:
            await self._refusing.close()
            self._refusing = None
        take_away(self.host)
        if not self.card.exists():
            self._insert_blank()
        if _open_elsewhere(self.card):
            await asyncio.to_thread(_go_on_as_a_copy, self.card)
        if self.card.stat().st_size != self._size:
            os.truncate(self.card, self._size)
        if self._damaged is not None:
            self._damaged.spoil()
            self._damaged.close()
            self._damaged = None


def _open_elsewhere(file: Path) -> bool:
    """Whether anybody else has the file open: then the kernel gives no write lease on it.

    See fcntl(2), F_SETLEASE. False on file systems without leases.
    """
    import fcntl  # other systems import this module for its names

    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False


def _go_on_as_a_copy(file: Path) -> None:
    """Replaces a file by a copy of it; holes stay holes."""
    copy = file.with_name(f"{file.name}.copy")
    with file.open("rb") as old, copy.open("wb") as new:
        os.fchmod(new.fileno(), 0o600)
        copy_sparse(old.fileno(), new)
        new.truncate()
    copy.replace(file)


def ignore_lease_breaks() -> None:
    """A lease that is asked for while somebody opens the file must not end this process."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)


class BadBlock:
    """512 bytes of a file that are always the same, whatever is written, until ``close``.

    OSError when the file cannot be watched.
    """

    _STUCK = bytes([0x5A, 0xA5]) * (SECTOR // 2)

    def __init__(self, file: Path, offset: int) -> None:
        self._file = file
        self._offset = offset // SECTOR * SECTOR
        self._inotify = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._inotify < 0 or (
            _libc.inotify_add_watch(self._inotify, os.fsencode(file), _IN_MODIFY) < 0
        ):
            number = ctypes.get_errno()
            if self._inotify >= 0:
                os.close(self._inotify)
            raise OSError(number, os.strerror(number), str(file))
        asyncio.get_running_loop().add_reader(self._inotify, self._written)
        self.spoil()

    def spoil(self) -> None:
        """Makes sure that the block holds its own bytes. Its own write is the last one needed."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
            try:
                now = os.pread(descriptor, SECTOR, self._offset)
                if now and now != self._STUCK[: len(now)]:
                    os.pwrite(descriptor, self._STUCK[: len(now)], self._offset)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        """Stops: from now on the block keeps the data written to it."""
        asyncio.get_running_loop().remove_reader(self._inotify)
        os.close(self._inotify)

    def _written(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._inotify, _EVENTS)
        self.spoil()


class RefusingCard:
    """The card as a file that fails with EIO where ``offset`` is written."""

    def __init__(self, process: subprocess.Popen[bytes], file: Path) -> None:
        self._process = process
        self._file = file

    @classmethod
    async def offer(cls, card: Path, offset: int, file: Path) -> RefusingCard:
        """Offers ``card`` as ``file``, which must not exist. OSError when that cannot be done."""
        program = shutil.which("qemu-storage-daemon")
        if program is None:
            raise OSError("this machine has no qemu-storage-daemon (package qemu-utils)")
        file.touch(0o600)
        plain = file.stat().st_dev
        process = subprocess.Popen(
            [
                program,
                *("--blockdev", json.dumps(_failing(card, offset // SECTOR))),
                *("--export", f"type=fuse,id=card,node-name=card,mountpoint={file},writable=on"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            # Not SIGKILL: only by itself does it take its file system away.
            preexec_fn=dies_with_us(signal.SIGTERM),
        )
        offered = cls(process, file)
        for _ in range(int(_MOUNT_SECONDS / _POLL_SECONDS)):
            with contextlib.suppress(OSError):
                if file.stat().st_dev != plain:
                    return offered
            if process.poll() is not None:
                break
            await asyncio.sleep(_POLL_SECONDS)
        reason = await offered._end()
        raise OSError(f"the card cannot be offered through FUSE ({reason or 'it did not answer'})")

    async def close(self) -> None:
        """Takes the file away."""
        await self._end()

    async def _end(self) -> str:
        """Ends the process and removes the file; returns the last line that the process output."""
        self._process.terminate()
        for _ in range(int(_MOUNT_SECONDS / _POLL_SECONDS)):
            if self._process.poll() is not None:
                break
            await asyncio.sleep(_POLL_SECONDS)
        self._process.kill()
        _, output = self._process.communicate()
        take_away(self._file)
        return last_line(output)


def take_away(file: Path) -> None:
    """Removes a file that may be a mount point whose file system has died."""
    with contextlib.suppress(FileNotFoundError):
        try:
            file.unlink()
        except OSError:
            for program in ("fusermount3", "fusermount", "umount"):
                if shutil.which(program):
                    flags = ["-u", "-z"] if program != "umount" else ["-l"]
                    subprocess.run([program, *flags, file], capture_output=True, check=False)
                    break
            file.unlink()


def _failing(card: Path, sector: int) -> dict[str, object]:
    """A node ``card`` whose sector cannot be written. See QEMU's documentation of blkdebug."""
    return {
        "node-name": "card",
        "driver": "raw",
        "file": {
            "driver": "blkdebug",
            "image": {"driver": "file", "filename": str(card), "locking": "off"},
            "inject-error": [
                {"event": "none", "iotype": "write", "errno": 5, "sector": sector, "once": False}
            ],
        },
    }
