"""Cards that are damaged: a block that does not keep what is written, a place that refuses.

``BadBlock`` needs nothing: the kernel tells us of each write to the card (inotify), and we put the
block's own bytes back within a millisecond or so, long before a program that writes a card of any
real size begins to read it back; at the latest when the mux turns.

``RefusingCard`` gives the host a real I/O error: QEMU's storage daemon offers the card as a file
through FUSE, with a block filter that fails writes to one sector. It needs a machine whose users
may mount FUSE file systems.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

from benchvise.rig.virtual.machine import dies_with_us
from benchvise.text import last_line

SECTOR = 512

_IN_MODIFY = 0x2
_EVENTS = 64 << 10
_libc = ctypes.CDLL(None, use_errno=True)

_MOUNT_SECONDS = 5.0
_POLL_SECONDS = 0.02


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
        """The block keeps what is written from now on."""
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
