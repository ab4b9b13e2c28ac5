"""Feeding a writer: reading, sending and hashing an image side by side.

    filling thread      image ─→ slot                         (decompresses)
    sending thread      slot ─→ frame ─→ writer; hashes it    (where that cannot wait)

To a writer on this machine a slot is memory that both have, so that nothing is copied on the way:
it is free again when the writer says that it has written it. To another machine the frame carries
the bytes.

Of an image that is not compressed the hash is computed afterwards, while the card is read back, as
the file can be read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import queue
import threading
from collections.abc import Callable
from typing import Any, cast

from benchvise.rig import decompress
from benchvise.rig.chunks import RangeChecks, Source
from benchvise.rig.image import Image
from benchvise.rig.medium import SLOTS, WriterProcess, send
from benchvise.rig.writer import CHUNK, FRAME, PIECE

_LOOK_S = 0.25  # how often a thread that waits sees whether it should end
_JOIN_S = 10.0


class Feeder:
    """Sends an image to a writer, in threads of its own."""

    def __init__(self, image: Image, process: WriterProcess) -> None:
        """Raises FlashError (image-damaged) when the file is not the one that was opened."""
        self._image, self._process = image, process
        self._source = Source(image)
        self._filled: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # a slot is filled again when it has been both written and hashed
        self._written, self._hashed = threading.Semaphore(SLOTS), threading.Semaphore(SLOTS)
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True)
            for work in (self._fill, self._send)
        ]
        self.sent = 0  # bytes
        self.ended = False  # all is sent
        self.error: BaseException | None = None
        self.digests: queue.SimpleQueue[str] = queue.SimpleQueue()
        """SHA-256 of all bytes up to the end of each frame."""

    def start(self) -> None:
        """Once the writer has opened the card."""
        for thread in self._threads:
            thread.start()

    def acknowledge(self) -> None:
        """The writer has written another frame."""
        if self._process.shared:
            self._written.release()

    def fraction(self) -> float:
        """Of the image's file, how much has been read; 0 to 1."""
        return self._source.fraction()

    def stop(self) -> None:
        """After the writer has ended, so that nothing is sent any more."""
        self._stopped = True
        self._source.stop()
        self._filled.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_JOIN_S)
        self._source.close()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self.error = self.error or error
            self._filled.put(None)
            with contextlib.suppress(OSError):  # the writer ends when its input does
                cast("Any", self._process.child.stdin).close()

    def _fill(self) -> None:
        for slot in itertools.cycle(self._process.slots):
            if not (self._may_go_on(self._written) and self._may_go_on(self._hashed)):
                return
            chunk = self._source.fill(slot)
            self._filled.put(chunk)
            if chunk is None:
                return

    def _may_go_on(self, semaphore: threading.Semaphore) -> bool:
        while not self._stopped:
            if semaphore.acquire(timeout=_LOOK_S):
                return True
        return False

    def _send(self) -> None:
        compressed = self._image.compression != decompress.NONE
        checks, digest = RangeChecks(self._image), hashlib.sha256()
        while chunk := self._filled.get():
            table = b"".join(itertools.starmap(PIECE.pack, chunk.pieces))
            data = b"" if self._process.shared else chunk.data
            if not send(self._process, FRAME.pack(len(chunk.pieces), len(chunk.data)), table, data):
                return  # the writer says why
            self.sent += len(chunk.data)
            if not self._process.shared:
                self._written.release()
            checks.update(chunk)
            if compressed:
                digest.update(chunk.data)
                self.digests.put(digest.copy().hexdigest())
            self._hashed.release()
        if self.error or self._stopped:
            return
        send(self._process, FRAME.pack(0, 0))
        self.ended = True
        if not compressed:
            self._hash_again()

    def _hash_again(self) -> None:
        source, digest = Source(self._image), hashlib.sha256()
        buffer = memoryview(bytearray(CHUNK))
        try:
            while not self._stopped and (chunk := source.fill(buffer)):
                digest.update(chunk.data)
                self.digests.put(digest.copy().hexdigest())
        finally:
            source.close()
