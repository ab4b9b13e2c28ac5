"""Recording a capture with a logic analyser, by libsigrok through ``sigrok-cli``."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Self

from benchvise.errors import CaptureError, UsageError
from benchvise.text import last_line

PROGRAM = "sigrok-cli"
STOP = b"q\n"
"""Any key ends a capture without a length, and leaves a whole file; a signal does not."""

START_SECONDS = 20.0
"""Until the first samples come. Analysers get their firmware at first."""

_END_SECONDS = 60.0
_LOOK_SECONDS = 0.02
_SCAN_SECONDS = 60.0

_DEVICE = re.compile(r"[A-Za-z0-9_-]{1,40}(:[A-Za-z0-9_.=/-]{1,100}){0,5}")
_CHANNELS = re.compile(r"[A-Za-z0-9_=,-]{1,500}")
_TRIGGER = re.compile(r"[A-Za-z0-9_-]{1,40}=[01rfe]")


@dataclass(frozen=True, slots=True)
class Length:
    """How much is recorded. With neither, until it is told to end."""

    seconds: float | None = None
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded: ``rate`` in samples a second, None for the device's own; triggers as
    ``LINE=r`` (rising), ``f``, ``e`` (either), ``0``, ``1``.
    """

    length: Length
    rate: Fraction | None = None
    triggers: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """For sigrok-cli, behind the device and its channels."""
        argv = [] if self.rate is None else ["-c", f"samplerate={round(self.rate)}"]
        if self.triggers:
            for trigger in self.triggers:
                if not _TRIGGER.fullmatch(trigger):
                    raise UsageError(f"'{trigger}' is no trigger", "write D0=r")
            argv += ["-t", ",".join(self.triggers), "--wait-trigger"]
        if self.length.seconds is not None:
            argv += ["--time", str(max(1, round(self.length.seconds * 1000)))]
        if self.length.samples is not None:
            argv += ["--samples", str(self.length.samples)]
        return argv


def analysers() -> list[str]:
    """The analysers that are plugged in, as sigrok-cli names them."""
    argv = [_program(), "--scan"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=_SCAN_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise CaptureError(
            f"looking for analysers took longer than {_SCAN_SECONDS:.0f} s", "unplug what hangs"
        ) from error
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return [line for line in lines if " - " in line]


@dataclass(frozen=True, slots=True)
class Analyser:
    """How sigrok-cli reaches an analyser: ``prefix`` runs a program where it is plugged in (none
    here, ssh elsewhere), ``words`` are the program with its device and channels.
    """

    words: tuple[str, ...]
    prefix: tuple[str, ...] = ()


def local_analyser(device: str, channels: str | None) -> Analyser:
    """An analyser of this machine; UsageError for what is no name of one."""
    if not _DEVICE.fullmatch(device):
        raise UsageError(
            f"'{device}' is no analyser",
            "write its driver: fx2lafw, fx2lafw:conn=1.7",
        )
    if channels is not None and not _CHANNELS.fullmatch(channels):
        raise UsageError(f"'{channels}' are no channels", "write D0=CLK,D1=DATA")
    named = ("-C", channels) if channels else ()
    return Analyser((_program(), "-d", device, *named))


class Recorder:
    """sigrok-cli, recording into ``path`` from the moment on that this is made.

    A context manager: what is left of it when that ends is killed. Its methods raise CaptureError
    when there is no device, or nothing was recorded.
    """

    def __init__(self, analyser: Analyser, recording: Recording, path: Path) -> None:
        self._path = path
        self._prefix = analyser.prefix
        self._waits = bool(recording.triggers)
        self._file = str(path)
        if self._prefix:
            self._file = f"/tmp/benchvise-{secrets.token_hex(8)}.sr"  # noqa: S108 - over there
        self._argv = [*self._prefix, *analyser.words, *recording.arguments(), "-o", self._file]
        self._has_length = recording.length != Length()
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        # Else no key ends it before its time.
        self._process = self._begun("--continuous")

    def _begun(self, *more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._argv, *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is ours to act on, so that the file gets whole
        )

    def started(self) -> None:
        """Returns when samples come, at the latest after 20 s; at once where a trigger is waited
        for.
        """
        deadline = time.monotonic() + START_SECONDS
        while not self._waits and not self._is_there():
            if self._process.poll() is not None:
                if not self._is_refused("continuous"):
                    return
                self._process = self._begun()
            if time.monotonic() > deadline:
                raise CaptureError(
                    f"the analyser gives no samples within {START_SECONDS:.0f} s",
                    "plug it in anew; `benchvise signal analysers` lists what is there",
                )
            time.sleep(_LOOK_SECONDS)

    def wait(self, seconds: float | None = None) -> None:
        """Until it has recorded what it was told to; CaptureError after so many seconds."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise CaptureError(
                f"the capture has not ended after {seconds:.0f} s",
                "did the trigger come?" if self._waits else "plug the analyser in anew",
            ) from error
        self._take()

    def end(self) -> None:
        """Ends it now, with what there is."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(STOP)
                self._process.stdin.close()
        self.wait(_END_SECONDS)

    def _is_refused(self, option: str) -> bool:
        """Whether it would do without an option, which the device does not know."""
        self._said.seek(0)
        refused = self._has_length and option.encode() in self._said.read()[-4096:]
        if refused:
            self._said.seek(0)
            self._said.truncate()
        return refused

    def _is_there(self) -> bool:
        if not self._prefix:
            return self._path.exists()
        return self._there("test", "-e", self._file).returncode == 0

    def _there(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        argv = [*self._prefix, *words]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def _take(self) -> None:
        """Sees that there is a file, and brings it here."""
        self._said.seek(0)
        complaint = last_line(self._said.read())
        code = self._process.returncode
        if code == 0 and self._prefix:
            with self._path.open("wb") as file:
                argv = [*self._prefix, "cat", self._file]
                code = subprocess.run(
                    argv, stdin=subprocess.DEVNULL, stdout=file, check=False
                ).returncode
        if code or not self._path.exists():
            raise CaptureError(
                f"sigrok-cli recorded nothing: {complaint or f'exit {code}'}",
                "`benchvise signal analysers` lists what is there",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._prefix:
            self._there("rm", "-f", self._file)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._said.close()


def _program() -> str:
    program = shutil.which(PROGRAM)
    if program is None:
        raise CaptureError(
            "nothing can be recorded: there is no sigrok-cli here",
            "install it: apt install sigrok-cli",
        )
    return program
