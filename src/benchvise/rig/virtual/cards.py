"""An SD mux and the card in it.

The card is ``card.img`` in the board's directory. The host sees it as ``host/sd``, a second name
of the same file that exists only while the mux is turned to the host. A card has the size it has:
tools that cut a plain file short, or make it longer, find it as it was when the mux turns.

Pulling a card from a real reader cuts off whoever is still writing to it. Here the file would stay
open behind the back of the board, so that a program left over from a killed client could write
into the card of a running board. Therefore, if anybody has the file open when the mux turns away
from the host, the card goes on as a copy, and what they write gets nowhere.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import signal
from pathlib import Path

from benchvise.rig.images.sparse import copy_sparse
from benchvise.rig.virtual.damage import BadBlock, RefusingCard, take_away

MODES = ("host", "dut", "off")


class CardSlot:
    """The mux and its card. ``mode`` is where the mux is turned to."""

    def __init__(self, directory: Path, size: int) -> None:
        self.card = directory / "card.img"
        self.host = directory / "host" / "sd"
        self.mode = "dut"
        self.stuck = False
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
        return self.card if self.mode == "dut" else None

    async def turn(self, mode: str) -> None:
        """Turns the mux. OSError when the card cannot be given to the host as was ordered."""
        if self.stuck or mode == self.mode:
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
