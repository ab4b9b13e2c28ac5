"""Asking a shell on a console, with whatever else comes through the same wire.

A command is typed with two random words around it that only its output contains, never the echo of
the typed line. What programs or the kernel say in between is passed over; what the kernel writes
into the middle of a line is taken out again. An answer that does not come whole is no answer, and
the question is put again; so every command sent this way must bear being run twice.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from benchvise.board.sanitise import printable
from benchvise.errors import BoardUnreachable
from benchvise.rig.boot.lines import LineSplitter, Writer

ANSWER_SECONDS = 10.0

_TRIES = 8
_WAIT = 0.2
_QUIET = 0.15
_QUIET_AT_MOST = 3.0
_WORD = re.compile(r"bv[0-9a-f]{8}")
_DONE = re.compile(r"D(bv[0-9a-f]{8})")
_INTERRUPT = b"\x03"

T = TypeVar("T")


class Shell(Protocol):
    """A logged-in shell on a console, as bytes. OSError or EOFError mean that it is lost."""

    def write(self, data: bytes) -> object:
        """Sends ``data`` to the board."""

    def read(self, timeout: float) -> bytes:
        """What came, or nothing after ``timeout`` seconds."""


class NoAnswer(Exception):  # noqa: N818
    """The answer did not come, or not whole."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said, by lines, and its exit status."""

    lines: list[str]
    status: int


class Link:
    """One shell that is asked one thing at a time.

    Raises BoardUnreachable, in every method, when the console is lost or nothing gets through.
    """

    def __init__(self, shell: Shell, name: str) -> None:
        self.name = name
        self.done: set[str] = set()
        self._shell = shell
        self._splitter = LineSplitter()

    def ask(self, command: str, timeout: float = ANSWER_SECONDS) -> Answer:
        """Runs a command line that ends within ``timeout`` seconds. Raises NoAnswer."""
        word = new_word()
        # In the echo of this line, quotes and "%s" part what the output has in one piece.
        self.write(f" echo B''{word}; {command}; printf '\\nE%s %s.\\n' {word} $?\n".encode())
        return self.collect(word, timeout)

    def collect(self, word: str, timeout: float, *, begun: bool = False) -> Answer:
        """The lines between ``B<word>`` and ``E<word> STATUS.``. Raises NoAnswer.

        With ``begun``, the first was seen before.
        """
        begin, end = f"B{word}", re.compile(rf"E{word} (\d{{1,3}})\.")
        lines: list[str] | None = [] if begun else None
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            for text in self.lines(min(left, _WAIT)):
                found = end.search(text)
                if found and lines is not None:
                    return Answer([line for line in lines if line.strip()], int(found[1]))
                if lines is not None:
                    lines.append(text)
                elif begin in text:
                    lines = []
        raise NoAnswer

    def await_line(self, text: str, timeout: float) -> None:
        """Waits for a line that holds ``text``. Raises NoAnswer."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if any(text in line for line in self.lines(min(left, _WAIT))):
                return
        raise NoAnswer

    def await_done(self, word: str, timeout: float) -> bool:
        """Waits until a job has said ``D<word>``; whether it did within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while word not in self.done and (left := deadline - time.monotonic()) > 0:
            self.lines(min(left, _WAIT))
        return word in self.done

    def patiently(self, what: str, attempt: Callable[[], T]) -> T:
        """Tries until there is an answer, with the line cleared in between."""
        for _ in range(_TRIES):
            try:
                return attempt()
            except NoAnswer:
                self.clear()
        raise BoardUnreachable(
            f"{self.name}: {what} does not get through the console ({_TRIES} tries)",
            "it loses bytes, or the shell there hangs: look at it with `benchvise rig console`",
        )

    def clear(self) -> None:
        """Ends what may have been left half typed or running, and passes over what is said."""
        self.write(_INTERRUPT)
        self.drain()
        self.write(b"\n")
        self.drain()

    def drain(self) -> None:
        """Passes over what comes, until it is quiet for a moment."""
        deadline = time.monotonic() + _QUIET_AT_MOST
        while time.monotonic() < deadline:
            before = time.monotonic()
            self.lines(_QUIET)
            if time.monotonic() - before >= _QUIET:
                break

    def write(self, data: bytes) -> None:
        """Sends bytes as they are."""
        try:
            self._shell.write(data)
        except (OSError, EOFError) as error:
            raise self._lost(error) from error

    def lines(self, timeout: float) -> list[str]:
        """The programs' lines that come to their end within one read of ``timeout`` seconds."""
        before = time.monotonic()
        try:
            data = self._shell.read(timeout)
        except (OSError, EOFError) as error:
            raise self._lost(error) from error
        if not data:
            left = timeout - (time.monotonic() - before)
            if left > 0:  # a shell that does not wait
                time.sleep(min(left, 0.01))
            return []
        texts = [line.text for line in self._splitter.feed(data) if line.writer is Writer.PROGRAM]
        for text in texts:
            self.done.update(found[1] for found in _DONE.finditer(text))
        return texts

    def _lost(self, error: Exception) -> BoardUnreachable:
        said = printable(str(error)) or type(error).__name__
        return BoardUnreachable(
            f"{self.name}: the console was lost ({said})", "check the cable and the board's power"
        )


def new_word() -> str:
    """A word that nothing else says."""
    return f"bv{secrets.token_hex(4)}"


def is_word(text: str) -> bool:
    """Whether ``text`` is of that kind."""
    return _WORD.fullmatch(text) is not None
