"""The journal of a bisection: every sample on disk before it is used.

A file of JSON lines, in the order in which things happened:

    {"version": "v5", "ready_s": 31.2, "seconds": 1.5, "value": 4.2}
    {"version": "v6", "ready_s": 12.0, "seconds": 0.0, "left_out": "make: *** [all] Error 2"}
    {"version": "v7", "ready_s": 9.1, "seconds": 1.2, "value": 4.3, "board": "rig:b", "build_s": 8}

``ready_s`` is what building or booting took; 0 where the version was ready already. Whoever writes
it holds a lock on it. A last line that was cut off by a kill is dropped.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchvise.documents import decode, encode, in_json
from benchvise.errors import StoreError, UsageError
from benchvise.file_locks import try_lock_shortly
from benchvise.host_system import open_flags

FILE = "measurements.jsonl"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A sample, or why a version is left out. Times are in seconds.

    ``run`` is the id of the run in the store that measured it; empty where this bisection did.
    """

    version: str
    ready_s: float
    seconds: float
    value: float | None = None
    left_out: str = ""
    run: str = field(default="", metadata=in_json(omit_default=True))
    board: str = field(default="", metadata=in_json(omit_default=True))
    """Of several; empty for one that is left out on all, as it cannot be built."""
    build_s: float = field(default=0.0, metadata=in_json(omit_default=True))
    """Of ``ready_s`` with several boards, what no board had to do again."""


class EntryJournal(Protocol):
    """Where a search keeps what it measures."""

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """What was there already."""

    def add(self, entry: JournalEntry) -> None:
        """Keeps an entry."""


class MeasurementJournal:
    """The open journal of one bisection.

    Raises UsageError where another process writes it or it is damaged, StoreError where it cannot
    be written.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        try:
            directory.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | open_flags("O_CLOEXEC")
            self._descriptor = os.open(self._path, flags, 0o666)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self._entries = self._read()
        except BaseException:
            self.close()
            raise

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """What was there already when it was opened."""
        return self._entries

    def add(self, entry: JournalEntry) -> None:
        """Appends an entry; it is on disk when this returns."""
        data = json.dumps(encode(entry), separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Closes and unlocks it. May be called more than once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> tuple[JournalEntry, ...]:
        if not try_lock_shortly(self._descriptor):
            raise UsageError(
                f"{self._path} is being written by another bisection", "wait for its end"
            )
        with open(self._descriptor, "rb", closefd=False) as file:
            whole, newline, _cut = file.read().rpartition(b"\n")
        entries = []
        for number, line in enumerate(whole.split(b"\n") if newline else (), 1):
            try:
                entries.append(decode(JournalEntry, json.loads(line)))
            except (ValueError, TypeError, KeyError, RecursionError):
                raise UsageError(
                    f"{self._path} line {number} is damaged", "begin anew in another directory"
                ) from None
        os.ftruncate(self._descriptor, len(whole) + len(newline))
        os.lseek(self._descriptor, 0, os.SEEK_END)
        return tuple(entries)

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"the samples cannot be kept in {self._path}: {error.strerror}",
            "make room, or choose another directory with -o",
        )
