"""Writing an image to a card, and reading it back.

    image ─→ chunks ─→ frames ─→ writer (here, or on the exporter by ssh) ─→ card
               │ SHA-256 so far                    │ SHA-256 of what it reads back
               └────────────── equal? ←────────────┘

Reading (and decompressing), hashing and sending go on side by side. The writer's hash is compared
each few megabytes, so that a wrong card is found where it is wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import mmap
import os
import queue
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Any, Literal, cast

from benchvise.board.ssh import command_line
from benchvise.documents import decode
from benchvise.rig.card import decompress, writer
from benchvise.rig.card.chunks import Chunk, ImageSource, RangeChecks, frames_of
from benchvise.rig.card.image import Image, changed
from benchvise.rig.card.writer import CHUNK, FRAME, PIECE, Pieces, WriteOrder
from benchvise.rig.faults import Fault, FlashError, RigError
from benchvise.text import last_line

STALL_S = 240.0
"""Without any progress for that long a card is given up; the kernel retries for up to 180 s."""

_START_S = 60.0  # until the writer has opened the card: ssh, and a reader that wakes up
_PROGRESS_S = 0.25
_RATE_S = 5.0  # the time that a rate is the mean of
_LINE_LIMIT = 64 << 10

SLOTS = 8
"""Chunks that are under way between reading and the card."""

_KILL_S = 10.0
_PIPE = 1 << 20  # bytes; the largest that a user may ask for

_SSH_OPTIONS = (
    *("LogLevel=ERROR", "BatchMode=yes", "ConnectTimeout=10"),
    *("ServerAliveInterval=10", "ServerAliveCountMax=3", "ClearAllForwardings=yes"),
    *("ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "RequestTTY=no"),
)

_LOOK_S = 0.25  # how often a thread that waits sees whether it should end
_JOIN_S = 10.0


@dataclass(frozen=True, slots=True)
class FlashProgress:
    """How far it is: bytes, bytes a second. ``total`` and ``remaining_s`` where they are known."""

    phase: Literal["write", "verify"]
    done: int
    total: int | None
    rate: float
    remaining_s: float | None


@dataclass(frozen=True, slots=True)
class FlashResult:
    """A card that holds its image. ``written`` and ``mapped`` are bytes: with a block map fewer
    than ``size``. ``sha256`` is that of the bytes read back, in order.
    """

    written: int
    mapped: int
    size: int
    sha256: str
    write_s: float
    verify_s: float
    bmap: bool


def write_card(
    image: Image, medium: Medium, progress: Callable[[FlashProgress], None] = lambda _: None
) -> FlashResult:
    """Writes the image, waits until it is on the medium, reads it back and compares.

    ``progress`` is called a few times a second, in this thread. Raises FlashError with the fault,
    and RigError (rig-broken) when the machine with the card cannot be reached. Then the card holds
    anything. Whenever this ends, however, no process holds the card any more, but for one that the
    kernel does not release.
    """
    with contextlib.ExitStack() as cleanup:
        source = ImageSource(image)
        cleanup.callback(source.close)
        plain = image.compression == decompress.NONE
        process = start_writer(medium, source.fileno() if plain else None)
        cleanup.callback(process.close)
        feeder = Feeder(image, source, process)
        cleanup.callback(feeder.stop)
        cleanup.callback(process.kill)
        return _Watch(image, medium, process, feeder, source, progress).run()


@dataclass(frozen=True, slots=True)
class WriterLine:
    """A line of the writer: one of these is set, ``sha256`` beside ``verified``.

    ``written``, ``synced`` and ``verified`` are bytes. Of a failure ``fault`` is its name.
    """

    card: object = None
    written: int | None = None
    synced: int | None = None
    verified: int | None = None
    sha256: str = ""
    end: bool | None = None
    fault: str | None = None
    message: str = ""
    remedy: str = ""


class _Watch:
    """Follows what the writer says."""

    def __init__(
        self,
        image: Image,
        medium: Medium,
        process: WriterProcess,
        feeder: Feeder,
        source: ImageSource,
        progress: Callable[[FlashProgress], None],
    ) -> None:
        self._image, self._medium, self._process = image, medium, process
        self._feeder, self._source = feeder, source
        self._done = 0  # bytes that the writer says it has written
        self._lines = _Lines(process)
        self._meter = _Meter(progress)

    def run(self) -> FlashResult:
        """Returns when the card is written and verified."""
        target = WriteOrder(path=self._medium.path, size=self._image.size)
        order = {**target, **self._process.order}
        send(self._process, json.dumps(order).encode() + b"\n")
        self._feeder.start()
        self._next("card", _START_S)
        begun = time.monotonic()
        written = self._written()
        synced = time.monotonic()
        sha256 = self._verified(written)
        self._next("end", STALL_S)
        self._feeder.finish()
        whole = self._image.compression == decompress.NONE and self._image.bmap is None
        if whole and sha256 != self._image.sha256:
            raise changed(self._image.path)
        return FlashResult(
            written=written,
            mapped=written,
            size=written if self._image.size is None else self._image.size,
            sha256=sha256,
            write_s=synced - begun,
            verify_s=time.monotonic() - synced,
            bmap=self._image.bmap is not None,
        )

    def _written(self) -> int:
        self._meter.begin("write", self._image.mapped)
        while True:
            line = self._next(("written", "synced"), STALL_S, self._owes_frames)
            if line.synced is not None:
                self._feeder.card_synced()
                return line.synced
            self._done = line.written or 0
            self._feeder.frame_written()
            self._meter.at(self._done, self._source.fraction())

    def _owes_frames(self) -> bool:
        return self._feeder.sent_bytes > self._done

    def _verified(self, written: int) -> str:
        self._meter.begin("verify", written)
        done, sha256 = 0, ""
        while done < written:
            line = self._next("verified", STALL_S)
            before, done, sha256 = done, line.verified or 0, line.sha256
            if sha256 != self._expected():
                self._source.check()  # the writer may have read what is not there any more
                raise FlashError(
                    Fault.CARD_VERIFY,
                    f"the card in '{self._medium.name}' does not hold what was written to it "
                    f"(wrong between {before / 1e6:.0f} and {done / 1e6:.0f} MB of "
                    f"{written / 1e6:.0f} MB written)",
                    "the card is worn out, counterfeit or badly seated: try another one",
                )
            self._meter.at(done, done / written)
        return sha256

    def _expected(self) -> str:
        while True:
            try:
                return self._feeder.digests.get(timeout=_PROGRESS_S)
            except queue.Empty:
                if self._feeder.error:
                    raise self._feeder.error from None

    def _next(
        self,
        keys: str | tuple[str, ...],
        limit_s: float,
        owed: Callable[[], bool] = lambda: True,
    ) -> WriterLine:
        """The writer's next line, in which one of the keys is set.

        ``limit_s`` counts while the writer owes an answer.
        """
        keys = (keys,) if isinstance(keys, str) else keys
        waiting_since = time.monotonic()
        while True:
            line = self._lines.get(_PROGRESS_S)
            if self._feeder.error:
                raise self._feeder.error
            if line is not None:
                break
            if not (owed() or self._feeder.ended):
                waiting_since = time.monotonic()
            elif time.monotonic() - waiting_since > limit_s:
                raise FlashError(
                    Fault.CARD_WRITE,
                    f"the card in '{self._medium.name}' has not answered for {limit_s:.0f} s",
                    "take the power of the mux or reader away and give it again",
                )
        if line.fault is not None:
            raise self._fault(line.fault, line)
        if all(getattr(line, key) is None for key in keys):
            raise self._broken_off()
        return line

    def _fault(self, name: str, line: WriterLine) -> Exception:
        on = f"{self._medium.host}: " if self._medium.host else ""
        return FlashError(Fault(name), on + line.message, line.remedy)

    def _broken_off(self) -> BaseException:
        """Why the writer ended without a word, or said something else."""
        if self._feeder.error:
            return self._feeder.error
        self._process.kill()
        status = self._process.child.wait()
        self._process.stderr.seek(0)
        reason = last_line(self._process.stderr.read(64 << 10)) or f"it ended with {status}"
        if self._medium.host is None:
            return FlashError(
                Fault.CARD_WRITE,
                f"the writer of '{self._medium.name}' broke off ({reason})",
                "write it again",
            )
        return RigError(
            Fault.RIG_BROKEN,
            f"'{self._medium.host}' cannot write the card ({reason})",
            f"python3 must be there, and this must work: ssh {self._medium.host} true",
        )


class _Lines:
    """The writer's lines. What is no JSON, such as a login shell's greeting, is skipped."""

    def __init__(self, process: WriterProcess) -> None:
        self._output = cast("Any", process.child.stdout)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._data = b""

    def get(self, timeout: float) -> WriterLine | None:
        """The next line, empty at the end; None when there is none in time."""
        while True:
            line, newline, rest = self._data.partition(b"\n")
            if newline:
                self._data = rest
                with contextlib.suppress(ValueError):
                    return decode(WriterLine, json.loads(line))
                continue
            if not self._selector.select(timeout):
                return None
            data = self._output.read(_LINE_LIMIT)
            if not data or len(self._data) > _LINE_LIMIT:
                return WriterLine()
            self._data += data


class _Meter:
    """Turns positions into progress, a few times a second."""

    def __init__(self, progress: Callable[[FlashProgress], None]) -> None:
        self._progress = progress
        self._phase: Literal["write", "verify"] = "write"
        self._total: int | None = None
        self._begun = self._reported_at = 0.0
        self._seen: deque[tuple[float, int]] = deque()

    def begin(self, phase: Literal["write", "verify"], total: int | None) -> None:
        """A phase begins; ``total`` is in bytes."""
        self._phase, self._total = phase, total
        self._begun = time.monotonic()
        self._reported_at = 0.0
        self._seen = deque([(self._begun, 0)])

    def at(self, done: int, fraction: float) -> None:
        """So many bytes are done; ``fraction`` of the image's file has been read."""
        now = time.monotonic()
        last = done == self._total
        if now - self._reported_at < _PROGRESS_S and not last:
            return
        self._reported_at = now
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > _RATE_S:
            self._seen.popleft()
        since, before = self._seen[0]
        rate = (done - before) / max(now - since, 1e-9)
        remaining = None
        if self._total is not None:
            remaining = (self._total - done) / rate if rate > 0 else None
        elif fraction > 0:
            remaining = (now - self._begun) * (1 - fraction) / fraction
        self._progress(FlashProgress(self._phase, done, self._total, rate, remaining))


# The process that writes


@dataclass(frozen=True, slots=True)
class Medium:
    """A card in a reader or mux: the path of its block device, or of a file that stands for one.

    ``host`` is the machine that the reader hangs on, as ssh knows it; None is this one.
    """

    path: str
    host: str | None = None

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.host}:{self.path}" if self.host else self.path


class Transfer(Enum):
    """How the bytes of an image come to its writer, which depends on where it is and on the image.

    FILE    here, and the image is plain: the writer reads it itself, and the feeder only says
            which parts; the feeder reads it once more and hashes it, while the card is written
            where there are checksums to compare, otherwise while it is read back
    MEMORY  here, and the image is compressed: slots of memory that both have, each free again
            when the writer says that it has written it
    FRAMES  on another machine: within the frames
    """

    FILE = "file"
    MEMORY = "memory"
    FRAMES = "frames"


@dataclass(frozen=True, slots=True)
class WriterProcess:
    """A running writer (see ``writer``), the file that gets what it says on standard error, and
    memory for SLOTS chunks. ``order`` is what its order has to say of how it gets the bytes.
    """

    child: subprocess.Popen[bytes]
    stderr: IO[bytes]
    way: Transfer
    order: WriteOrder
    slots: list[memoryview]

    def kill(self) -> None:
        """Ends it. It may live on for as long as the kernel waits for a card."""
        self.child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(_KILL_S)

    def close(self) -> None:
        """Ends it if need be, and closes what leads to it."""
        self.kill()
        self.stderr.close()
        for pipe in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                cast("IO[bytes]", pipe).close()


def start_writer(medium: Medium, image: int | None) -> WriterProcess:
    """Starts the writer where the card is, its program already sent; the order is next.

    ``image`` is the descriptor of an image that can be written as it is, and None of another.
    It is in a session of its own, so that Ctrl-C is ours alone to handle. Raises RigError
    (rig-broken) when it cannot be started.
    """
    program = Path(writer.__file__).read_bytes()
    # exec reads it from standard input, which stays open for what comes behind it
    loader = (
        f"import sys; exec(compile(sys.stdin.buffer.read({len(program)}), 'writer', 'exec'), "
        "{'__name__': '__main__'})"
    )
    python = [sys.executable if medium.host is None else "python3", "-I", "-S", "-c", loader]
    command = python if medium.host is None else [*_ssh(medium.host), command_line(python)]
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    memory = os.memfd_create("benchvise-slots")
    way, order, passed = Transfer.FRAMES, WriteOrder(), tuple[int, ...]()
    if not medium.host and image is None:
        way, order, passed = Transfer.MEMORY, WriteOrder(memory=(memory, SLOTS)), (memory,)
    elif not medium.host and image is not None:
        way, order, passed = Transfer.FILE, WriteOrder(image=image), (image,)
    try:
        os.ftruncate(memory, SLOTS * CHUNK)
        whole = memoryview(mmap.mmap(memory, SLOTS * CHUNK))
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            pipesize=_PIPE,
            start_new_session=True,
            pass_fds=passed,
        )
    except OSError as error:
        stderr.close()
        raise RigError(
            Fault.RIG_BROKEN,
            f"'{command[0]}' cannot be started ({error.strerror})",
            "apt install openssh-client" if medium.host else "is this Python's installation whole?",
        ) from error
    finally:
        os.close(memory)
    slots = [whole[at : at + CHUNK] for at in range(0, len(whole), CHUNK)]
    process = WriterProcess(child, stderr, way, order, slots)
    send(process, memoryview(program))
    return process


def send(process: WriterProcess, *parts: memoryview | bytes) -> bool:
    """Writes all of the parts to the writer; False when it has gone."""
    assert process.child.stdin is not None  # noqa: S101 - it was asked for
    fd = process.child.stdin.fileno()
    left = [memoryview(part) for part in parts]
    try:
        while left:
            done = os.writev(fd, left)
            while left and done >= len(left[0]):
                done -= len(left.pop(0))
            if left:
                left[0] = left[0][done:]
    except OSError:
        return False
    return True


def _ssh(host: str) -> list[str]:
    command = ["ssh"]
    if config := os.environ.get("BENCHVISE_SSH_CONFIG"):
        command += ["-F", config]
    for option in _SSH_OPTIONS:
        command += ["-o", option]
    return [*command, "--", host]


# What it is fed with


class Feeder:
    """Reads, sends and hashes an image side by side, in threads of its own."""

    def __init__(self, image: Image, source: ImageSource, process: WriterProcess) -> None:
        self._image, self._source, self._process = image, source, process
        self._filled: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
        # a slot is filled again when it has been both written and hashed
        self._written, self._hashed = threading.Semaphore(SLOTS), threading.Semaphore(SLOTS)
        self._synced = threading.Semaphore(0)
        self._stopped = False
        reads_itself = process.way is Transfer.FILE
        works = (self._name_parts, self._hash_parts) if reads_itself else (self._fill, self._send)
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True) for work in works
        ]
        self.sent_bytes = 0  # bytes
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
        if self._process.way is Transfer.MEMORY:
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
        self.sent_bytes += length
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
        in_frames = self._process.way is Transfer.FRAMES
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
