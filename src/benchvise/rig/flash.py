"""Writing an image to a card, and reading it back.

    image ─→ chunks ─→ frames ─→ writer (here, or on the exporter by ssh) ─→ card
               │ SHA-256 so far                    │ SHA-256 of what it reads back
               └────────────── equal? ←────────────┘

Reading (and decompressing), hashing and sending go on side by side. The writer's hash is compared
each few megabytes, so that a wrong card is found where it is wrong.
"""

from __future__ import annotations

import contextlib
import json
import queue
import selectors
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

from benchvise.rig import decompress
from benchvise.rig.chunks import Source
from benchvise.rig.faults import Fault, FlashError, RigError
from benchvise.rig.feeder import Feeder
from benchvise.rig.image import Image, changed
from benchvise.rig.medium import Medium, WriterProcess, send, start_writer
from benchvise.text import last_line, printable

STALL_S = 240.0
"""Without any progress for that long a card is given up; the kernel retries for up to 180 s."""

_START_S = 60.0  # until the writer has opened the card: ssh, and a reader that wakes up
_PROGRESS_S = 0.25
_RATE_S = 5.0  # the time that a rate is the mean of
_LINE_LIMIT = 64 << 10


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: bytes, bytes a second. ``total`` and ``remaining_s`` where they are known."""

    phase: Literal["write", "verify"]
    done: int
    total: int | None
    rate: float
    remaining_s: float | None


@dataclass(frozen=True, slots=True)
class Written:
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
    image: Image, medium: Medium, progress: Callable[[Progress], None] = lambda _: None
) -> Written:
    """Writes the image, waits until it is on the medium, reads it back and compares.

    ``progress`` is called a few times a second, in this thread. Raises FlashError with the fault,
    and RigError (rig-broken) when the machine with the card cannot be reached. Then the card holds
    anything. Whenever this ends, however, no process holds the card any more, but for one that the
    kernel does not let go.
    """
    with contextlib.ExitStack() as cleanup:
        source = Source(image)
        cleanup.callback(source.close)
        plain = image.compression == decompress.NONE
        process = start_writer(medium, source.fileno() if plain else None)
        cleanup.callback(process.close)
        feeder = Feeder(image, source, process)
        cleanup.callback(feeder.stop)
        cleanup.callback(process.kill)
        return _Watch(image, medium, process, feeder, source, progress).run()


class _Watch:
    """Follows what the writer says."""

    def __init__(
        self,
        image: Image,
        medium: Medium,
        process: WriterProcess,
        feeder: Feeder,
        source: Source,
        progress: Callable[[Progress], None],
    ) -> None:
        self._image, self._medium, self._process = image, medium, process
        self._feeder, self._source = feeder, source
        self._done = 0  # bytes that the writer says it has written
        self._lines = _Lines(process)
        self._meter = _Meter(progress)

    def run(self) -> Written:
        """Returns when the card is written and verified."""
        order = {
            "path": self._medium.path,
            "size": self._image.size,
            **self._process.given,
        }
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
        return Written(
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
            if "synced" in line:
                self._feeder.card_synced()
                return int(line["synced"])
            self._done = int(line["written"])
            self._feeder.frame_written()
            self._meter.at(self._done, self._source.fraction())

    def _owes_frames(self) -> bool:
        return self._feeder.sent > self._done

    def _verified(self, written: int) -> str:
        self._meter.begin("verify", written)
        done, sha256 = 0, ""
        while done < written:
            line = self._next("verified", STALL_S)
            before, done, sha256 = done, int(line["verified"]), str(line["sha256"])
            if sha256 != self._expected():
                self._source.check()  # the writer may have read what is not there any more
                raise FlashError(
                    Fault.CARD_VERIFY,
                    f"the card in '{self._medium.shown}' does not hold what was written to it "
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
    ) -> dict[str, Any]:
        """The writer's next line, which has one of the keys.

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
                    f"the card in '{self._medium.shown}' has not answered for {limit_s:.0f} s",
                    "take the power of the mux or reader away and give it again",
                )
        if "fault" in line:
            raise self._fault(line)
        if not any(key in line for key in keys):
            raise self._broken_off()
        return line

    def _fault(self, line: dict[str, Any]) -> Exception:
        said = [printable(str(line.get(key, "")), 500) for key in ("message", "remedy")]
        on = f"{self._medium.host}: " if self._medium.host else ""
        return FlashError(Fault(str(line["fault"])), on + said[0], said[1])

    def _broken_off(self) -> BaseException:
        """Why the writer ended without a word, or said something else."""
        if self._feeder.error:
            return self._feeder.error
        self._process.kill()
        status = self._process.child.wait()
        self._process.said.seek(0)
        said = last_line(self._process.said.read(64 << 10)) or f"it ended with {status}"
        if self._medium.host is None:
            return FlashError(
                Fault.CARD_WRITE,
                f"the writer of '{self._medium.shown}' broke off ({said})",
                "write it again",
            )
        return RigError(
            Fault.RIG_BROKEN,
            f"'{printable(self._medium.host)}' cannot write the card ({said})",
            f"python3 must be there, and this must work: ssh {printable(self._medium.host)} true",
        )


class _Lines:
    """The writer's lines. What is no JSON, such as a login shell's greeting, is skipped."""

    def __init__(self, process: WriterProcess) -> None:
        self._output = cast("Any", process.child.stdout)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._data = b""

    def get(self, timeout: float) -> dict[str, Any] | None:
        """The next line, empty at the end; None when there is none in time."""
        while True:
            line, found, rest = self._data.partition(b"\n")
            if found:
                self._data = rest
                with contextlib.suppress(ValueError):
                    answer = json.loads(line)
                    if isinstance(answer, dict):
                        return answer
                continue
            if not self._selector.select(timeout):
                return None
            data = self._output.read(_LINE_LIMIT)
            if not data or len(self._data) > _LINE_LIMIT:
                return {}
            self._data += data


class _Meter:
    """Turns positions into progress, a few times a second."""

    def __init__(self, progress: Callable[[Progress], None]) -> None:
        self._progress = progress
        self._phase: Literal["write", "verify"] = "write"
        self._total: int | None = None
        self._begun = self._told = 0.0
        self._seen: deque[tuple[float, int]] = deque()

    def begin(self, phase: Literal["write", "verify"], total: int | None) -> None:
        """A phase begins; ``total`` is in bytes."""
        self._phase, self._total = phase, total
        self._begun = time.monotonic()
        self._told = 0.0
        self._seen = deque([(self._begun, 0)])

    def at(self, done: int, fraction: float) -> None:
        """So many bytes are done; ``fraction`` of the image's file has been read."""
        now = time.monotonic()
        last = done == self._total
        if now - self._told < _PROGRESS_S and not last:
            return
        self._told = now
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
        self._progress(Progress(self._phase, done, self._total, rate, remaining))
