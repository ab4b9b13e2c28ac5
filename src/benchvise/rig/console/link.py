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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from benchvise.errors import BoardUnreachable
from benchvise.rig.console.lines import LineSplitter, LineWriter

ANSWER_SECONDS = 0.0
"""Beyond the silence that is borne anyway."""

_TRIES = 8
_WAIT = 0.2
# Silence for so long where an answer is due means that it was lost; longer after each loss, as it
# may as well be the board that is slow.
_PATIENCE, _MORE_PATIENCE, _PATIENCE_MOST = 1.5, 1.6, 20.0
_QUIET = 0.15
_QUIET_AT_MOST = 3.0
_MOST = 120.0  # a console that talks without end does not make waiting endless
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


class Damaged(NoAnswer):
    """The answer came to its end, but is not what it should be."""


@dataclass(frozen=True, slots=True)
class ConsoleResult:
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
        self.byte_count = 0
        self._shell = shell
        self._splitter = LineSplitter()
        self._patience = _PATIENCE

    def ask(self, command: str, timeout: float = ANSWER_SECONDS) -> ConsoleResult:
        """Runs a short command line. Raises NoAnswer."""
        word = new_word()
        # In the echo of this line, quotes and "%s" part what the output has in one piece.
        self.write(f" echo B''{word}; {command}; printf '\\nE%s %s.\\n' {word} $?\n".encode())
        return self.collect(word, timeout)

    def collect(self, word: str, timeout: float, *, begun: bool = False) -> ConsoleResult:
        """The lines between ``B<word>`` and ``E<word> STATUS.``. Raises NoAnswer.

        With ``begun``, the first was seen before. ``timeout`` is how long the board may be silent
        while it works, in seconds, if that is more than answers need.
        """
        begin, end = f"B{word}", re.compile(rf"E{word} (\d{{1,3}})\.")
        lines: list[str] | None = [] if begun else None
        for text in self._texts(timeout):
            match = end.search(text)
            if match and lines is not None:
                return ConsoleResult([line for line in lines if line.strip()], int(match[1]))
            if lines is not None:
                lines.append(text)
            elif begin in text:
                lines = []
        raise NoAnswer

    def await_line(self, text: str) -> None:
        """Waits for a line that holds ``text``. Raises NoAnswer."""
        if not any(text in line for line in self._texts(0.0)):
            raise NoAnswer

    def _texts(self, silence: float) -> Iterator[str]:
        """Lines as they come, until nothing has come for too long, or too much."""
        begun = heard = time.monotonic()
        silence = max(silence, self._patience)
        while time.monotonic() - heard < silence and time.monotonic() - begun < _MOST + silence:
            before = self.byte_count
            yield from self.lines(_WAIT)
            if self.byte_count > before:
                heard = time.monotonic()

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
                answer = attempt()
            except Damaged:
                continue  # nothing hangs
            except NoAnswer:
                self._patience = min(self._patience * _MORE_PATIENCE, _PATIENCE_MOST)
                self.clear()
            else:
                self._patience = max(self._patience / _MORE_PATIENCE, _PATIENCE)
                return answer
        raise BoardUnreachable(
            f"{self.name}: {what} does not get through the console ({_TRIES} tries)",
            "it loses bytes, or the shell there hangs: open it with `benchvise rig console`",
        )

    def clear(self) -> None:
        """Ends what may have been left half typed or running, and skips its output."""
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
        texts = [
            line.text for line in self._splitter.feed(data) if line.writer is LineWriter.PROGRAM
        ]
        for text in texts:
            self.done.update(match[1] for match in _DONE.finditer(text))
        return texts

    def _lost(self, error: Exception) -> BoardUnreachable:
        reason = str(error) or type(error).__name__
        return BoardUnreachable(
            f"{self.name}: the console was lost ({reason})", "check the cable and the board's power"
        )


def new_word() -> str:
    """A word that nothing else says."""
    return f"bv{secrets.token_hex(4)}"


def is_word(text: str) -> bool:
    """Whether ``text`` is of that kind."""
    return _WORD.fullmatch(text) is not None
