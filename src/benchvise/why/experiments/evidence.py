"""The evidence log: each answer that a diagnosis got from its boards, on disk before it is used.

A file of JSON lines. The first says whose evidence it is; each other one is an answer:

    {"kind": "trial", "key": ["bad", "memory.thp"], "at": 12.5, "answer": {...}}

Between two answers a diagnosis is deterministic (its random orders are seeded), so one that was
killed goes on by being run again: it asks the same questions, gets those answers again without a
board, and where they end it asks the boards. A question that is not the recorded one means that
something besides the boards' behaviour has changed since, and is an error.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchvise.errors import StoreError, UsageError
from benchvise.file_locks import try_lock_shortly
from benchvise.host_system import open_flags

FILE = "evidence.jsonl"
FORMAT = 1

TRY = "try"
"""The kind of a line that ends the search and names a suspect which is tried next."""


class Diverted(Exception):  # noqa: N818
    """The recorded answers end here, or a suspect is to be tried here instead of going on."""


class EvidenceLog:
    """The answers of one diagnosis. Not to be used by two threads; close it when done.

    StoreError when the file cannot be written; what was written until then is kept, so that the
    diagnosis can be resumed.
    """

    def __init__(self, path: Path | None, descriptor: int, lines: Sequence[Mapping[str, Any]]):
        self._path = path
        self._descriptor = descriptor
        self._lines = lines
        self._next = 0
        self.diverts_at_end = False
        """Whether ``recall`` raises Diverted where the recorded answers end."""
        self.at = 0.0
        """When the last answer came, in seconds since the diagnosis began."""

    @classmethod
    def in_memory(cls) -> EvidenceLog:
        """A log that keeps nothing."""
        return cls(None, -1, ())

    @classmethod
    def create(cls, directory: Path) -> EvidenceLog:
        """A new log in a directory, which is made; UsageError where there is one already."""
        path = directory / FILE
        try:
            directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_EXCL | open_flags("O_CLOEXEC"), 0o666
            )
        except FileExistsError:
            raise UsageError(
                f"{path} holds the evidence of a diagnosis already",
                f"go on with it by --resume {directory}, or choose another directory",
            ) from None
        except OSError as error:
            raise _unwritable(path, error) from None
        _lock(descriptor, path)
        return cls(path, descriptor, ())

    @classmethod
    def resume(cls, directory: Path) -> EvidenceLog:
        """The log in a directory, to be replayed first and then gone on with.

        A last line that was cut off is dropped. UsageError where there is none, where another
        process writes it, or where it is damaged otherwise.
        """
        path = directory / FILE
        try:
            descriptor = os.open(path, os.O_RDWR | open_flags("O_CLOEXEC"))
        except FileNotFoundError:
            raise UsageError(
                f"there is no diagnosis to resume in {directory}: it has no {FILE}",
                "name the directory that -o was given",
            ) from None
        except OSError as error:
            raise _unwritable(path, error) from None
        _lock(descriptor, path)
        with open(descriptor, "rb", closefd=False) as file:
            whole, newline, _cut = file.read().rpartition(b"\n")
        try:
            texts = whole.split(b"\n") if newline else []
            lines = [_parsed(path, number, text) for number, text in enumerate(texts, 1)]
            os.ftruncate(descriptor, len(whole) + len(newline))
            os.lseek(descriptor, 0, os.SEEK_END)
        except UsageError:
            os.close(descriptor)
            raise
        except OSError as error:
            os.close(descriptor)
            raise _unwritable(path, error) from None
        return cls(path, descriptor, lines)

    @property
    def directory(self) -> Path | None:
        """Where the evidence is; None where it is not kept."""
        return None if self._path is None else self._path.parent

    @property
    def replaying(self) -> bool:
        """Whether recorded answers are left."""
        return self._next < len(self._lines)

    def recall(self, kind: str, key: Sequence[str]) -> Mapping[str, Any] | None:
        """The recorded answer to this question; None when there is none any more.

        UsageError when another question was asked at this place, Diverted when a suspect was tried
        here.
        """
        if not self.replaying:
            if self.diverts_at_end:
                raise Diverted
            return None
        line = self._lines[self._next]
        if line["kind"] == TRY and kind != TRY:
            raise Diverted
        if line["kind"] != kind or line["key"] != list(key):
            raise UsageError(
                f"{self._path} line {self._next + 1}: recorded was {_line_label(line)}, "
                f"and now the diagnosis comes to {_line_label({'kind': kind, 'key': list(key)})}",
                "boards, options or benchvise itself have changed since: begin anew in another "
                "directory",
            )
        self._next += 1
        self.at = float(line["at"])
        answer: Mapping[str, Any] = line["answer"]
        return answer

    def next_try(self) -> str:
        """The suspect that was tried next; empty where another answer follows, or none."""
        if not self.replaying or self._lines[self._next]["kind"] != TRY:
            return ""
        return str(self._lines[self._next]["key"][0])

    def record(self, kind: str, key: Sequence[str], answer: Mapping[str, Any], at: float) -> None:
        """Appends an answer; it is with the kernel when this returns."""
        self.at = at
        if self._path is None:
            return
        line = {"kind": kind, "key": list(key), "at": at, "answer": answer}
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def close(self) -> None:
        """Lets the file go. May be called more than once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _parsed(path: Path, number: int, text: bytes) -> Mapping[str, Any]:
    try:
        line = json.loads(text)
        if not (
            isinstance(line["kind"], str)
            and isinstance(line["key"], list)
            and isinstance(line["answer"], dict)
        ):
            raise ValueError
        float(line["at"])
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"{path} line {number} is damaged", "begin anew in another directory"
        ) from None
    return line  # type: ignore[no-any-return]


def _line_label(line: Mapping[str, Any]) -> str:
    key = ", ".join(line["key"])[:200]
    return f"'{line['kind']}' of {key}" if key else f"'{line['kind']}'"


def _lock(descriptor: int, path: Path) -> None:
    with contextlib.suppress(OSError):  # where a file cannot be locked, nobody else is told either
        if try_lock_shortly(descriptor):
            return
    os.close(descriptor)
    raise UsageError(
        f"{path} is being written by another diagnosis", "wait for its end, or stop it"
    )


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the evidence cannot be kept in {path}: {error.strerror}",
        f"make room or choose another directory; --resume {path.parent} goes on with what is there",
    )
