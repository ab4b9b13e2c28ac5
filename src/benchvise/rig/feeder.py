"""Feeding a writer: reading, sending and hashing an image side by side.

How the bytes come to the writer (``medium.Way``) depends on where it is and on the image:

    file     here, and the image is plain: the writer reads it itself, and this only says which
             parts; here it is read once more and hashed, while the card is written where there
             are checksums to compare, otherwise while it is read back
    memory   here, and the image is compressed: slots of memory that both have, each free again
             when the writer says that it has written it
    frames   on another machine: within the frames
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import queue
import threading
from collections.abc import Callable
from typing import Any, cast

from benchvise.rig.chunks import RangeChecks, Source, frames_of
from benchvise.rig.image import Image
from benchvise.rig.medium import SLOTS, Way, WriterProcess, send
from benchvise.rig.writer import CHUNK, FRAME, PIECE, Pieces

_LOOK_S = 0.25  # how often a thread that waits sees whether it should end
_JOIN_S = 10.0


class Feeder:
    """Sends an image to a writer, in threads of its own."""

    def __init__(self, image: Image, source: Source, process: WriterProcess) -> None:
        self._image, self._source, self._process = image, source, process
        self._filled: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # a slot is filled again when it has been both written and hashed
        self._written, self._hashed = threading.Semaphore(SLOTS), threading.Semaphore(SLOTS)
        self._synced = threading.Semaphore(0)
        self._stopped = False
        reads_itself = process.way is Way.FILE
        works = (self._name_parts, self._hash_parts) if reads_itself else (self._fill, self._send)
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True) for work in works
        ]
        self.sent = 0  # bytes
        self.ended = False  # all is sent
        self.error: BaseException | None = None
        self.digests: queue.SimpleQueue[str] = queue.SimpleQueue()
        """SHA-256 of all bytes up to the end of each frame."""

    def start(self) -> None:
        """Once the writer has its order."""
        for thread in self._threads:
            thread.start()

    def frame_written(self) -> None:
        """The writer has written another frame."""
        if self._process.way is Way.MEMORY:
            self._written.release()

    def card_synced(self) -> None:
        """The writer has written all of them."""
        self._synced.release()

    def finish(self) -> None:
        """After everything has been verified: raises what was found out at the end of the image."""
        for thread in self._threads:
            thread.join()
        if self.error:
            raise self.error

    def stop(self) -> None:
        """After the writer has ended, so that nothing is sent any more."""
        self._stopped = True
        self._source.stop()
        self._filled.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_JOIN_S)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self.error = self.error or error
            self._filled.put(None)
            with contextlib.suppress(OSError):  # the writer ends when its input does
                cast("Any", self._process.child.stdin).close()

    def _may_go_on(self, semaphore: threading.Semaphore) -> bool:
        while not self._stopped:
            if semaphore.acquire(timeout=_LOOK_S):
                return True
        return False

    def _send_frame(self, pieces: Pieces, data: memoryview | bytes = b"") -> bool:
        """False when the writer has gone; it says why."""
        length = sum(length for _, length in pieces)
        table = b"".join(itertools.starmap(PIECE.pack, pieces))
        if not send(self._process, FRAME.pack(len(pieces), length), table, data):
            return False
        self.sent += length
        return True

    def _send_end(self) -> None:
        self._send_frame([])
        self.ended = True

    # what the writer reads itself

    def _name_parts(self) -> None:
        for pieces in frames_of(self._image):
            if self._stopped or not self._send_frame(pieces):
                return
        self._send_end()

    def _hash_parts(self) -> None:
        if not (self._image.bmap or self._may_go_on(self._synced)):
            return
        checks, digest = RangeChecks(self._image), hashlib.sha256()
        buffer = memoryview(bytearray(CHUNK))
        while not self._stopped and (chunk := self._source.fill(buffer)):
            checks.update(chunk)
            digest.update(chunk.data)
            self.digests.put(digest.copy().hexdigest())

    # what is sent

    def _fill(self) -> None:
        for slot in itertools.cycle(self._process.slots):
            if not (self._may_go_on(self._written) and self._may_go_on(self._hashed)):
                return
            chunk = self._source.fill(slot)
            self._filled.put(chunk)
            if chunk is None:
                return

    def _send(self) -> None:
        checks, digest = RangeChecks(self._image), hashlib.sha256()
        in_frames = self._process.way is Way.FRAMES
        while chunk := self._filled.get():
            if not self._send_frame(chunk.pieces, chunk.data if in_frames else b""):
                return
            if in_frames:
                self._written.release()
            checks.update(chunk)
            digest.update(chunk.data)
            self.digests.put(digest.copy().hexdigest())
            self._hashed.release()
        if not (self.error or self._stopped):
            self._send_end()
