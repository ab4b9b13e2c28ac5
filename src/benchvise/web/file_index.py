"""Traces and captures that pages may show, named by keys: nothing a browser sends is ever a path.

An index lists what lies under given directories and looks as if it were of its kind. A key is the
file's name and a hash of its path, so it stays the same over restarts; it is found by looking it
up in the list, never by making a path of it.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from benchvise.signal.response import is_list
from benchvise.store import Store
from benchvise.text import printable
from benchvise.web.http import NotFound
from benchvise.web.trace_kinds import is_trace, session_traces

FILES = 2000
ENTRIES = 50_000
"""Files that are listed, and directory entries that are looked at for them."""
DEPTH = 6
FRESH_SECONDS = 3.0

RUN_TRACES = 500
"""Of the newest runs, those whose traces are listed."""

DIAGNOSIS_TRACES = 100
"""The same of diagnoses."""

MOST_LISTS_COMPARED = 24
"""Lists of response times in one page."""

_CAPTURE_SUFFIXES = frozenset({".sr", ".vcd", ".csv"})
_LIST_SUFFIXES = frozenset({".out", ".txt", ".dat", ".tsv"})

IsKind: TypeAlias = Callable[[Path], bool]
PartsOf: TypeAlias = Callable[[Path], Sequence[Path]]


def _no_parts(_path: Path) -> Sequence[Path]:
    """Most files have none."""
    return ()


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file, or directory that counts as one.

    ``place`` is where it lies, as shown: relative to its root. ``size`` is in bytes, ``changed`` in
    seconds since 1970. ``run`` is the id of the run that it belongs to.
    """

    key: str
    name: str
    path: Path
    place: str
    size: int
    changed: float
    run: str | None = None


@dataclass
class FileIndex:
    """All files of one kind under ``roots``, and those that ``others`` names."""

    roots: Sequence[Path]
    is_kind: IsKind
    what: str
    """The word for one of them, in errors."""
    others: Callable[[], Iterable[IndexedFile]] = tuple
    parts_of: PartsOf = _no_parts
    """What a directory of the kind consists of, which is not listed besides."""
    cut: bool = field(default=False, init=False)
    """Whether there were more than are listed."""
    _listed: list[IndexedFile] = field(default_factory=list, init=False)
    _at: float = field(default=float("-inf"), init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def files(self) -> list[IndexedFile]:
        """All of them, the newest first; looked up again when a few seconds have passed, but for
        those that are gone since then."""
        with self._lock:
            if time.monotonic() - self._at > FRESH_SECONDS:
                by_path = {file.path: file for file in self._walk()}
                by_path |= {file.path: file for file in self.others()}
                self._listed = sorted(by_path.values(), key=lambda file: -file.changed)
                self._at = time.monotonic()
            else:
                self._listed = [file for file in self._listed if os.path.lexists(file.path)]
            return self._listed

    def find(self, key: str) -> IndexedFile:
        """The file that a key names. NotFound when there is none."""
        for file in self.files():
            if file.key == key:
                return file
        raise no_such_file(self.what, key)

    def _walk(self) -> Iterator[IndexedFile]:
        self.cut = False
        looked = listed = 0
        for given in self.roots:
            root = given.resolve()
            parts: set[Path] = set()  # of what was listed, and what leads to them
            above: set[Path] = set()
            for path in chain([root], _below(root, DEPTH)):
                looked += 1
                if looked > ENTRIES or listed >= FILES:
                    self.cut = True
                    return
                if path in above or not parts.isdisjoint((path, *path.parents)):
                    continue
                if self.is_kind(path):
                    listed += 1
                    own = self.parts_of(path)
                    parts.update(own)
                    above.update(place for part in own for place in part.parents)
                    place = root.name if path == root else str(path.relative_to(root))
                    yield indexed_file(path, place)


def no_such_file(what: str, key: str) -> NotFound:
    """The error for a key that names none; ``what`` is the word for one of them."""
    return NotFound(f"there is no {what} '{key}'", f"see the list of {what}s: was the file moved?")


def indexed_file(path: Path, place: str, run: str | None = None) -> IndexedFile:
    """A file as it is listed."""
    size, changed = _extent(path)
    # Directories of a trace are all called alike: `kernel`, of which session says the one above.
    name = "/".join(Path(place).parts[-2:]) if path.is_dir() and run is None else path.name
    return IndexedFile(
        key_of(path), printable(name, 120), path, printable(place), size, changed, run
    )


def listed(file: IndexedFile) -> dict[str, Any]:
    """A file in a list: what may be known of it outside."""
    return {
        "key": file.key,
        "name": file.name,
        "place": file.place,
        "size": file.size,
        "changed": file.changed,
        "run": file.run,
    }


def key_of(path: Path) -> str:
    """A name that is safe in an address, and as good as unique."""
    stem = re.sub(r"[^a-z0-9]+", "-", path.name.lower()).strip("-")[:40].strip("-")
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:10]
    return f"{stem}-{digest}" if stem else digest


def _below(directory: Path, depth: int) -> Iterator[Path]:
    """What lies in a directory and those below; links and what is hidden are passed over."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith("-cache") or entry.is_symlink():
            continue
        path = Path(entry.path)
        yield path
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _below(path, depth - 1)


def _extent(path: Path) -> tuple[int, float]:
    """Bytes and time of change, of a directory those of the files in it."""
    try:
        own = path.stat()
        if not path.is_dir():
            return own.st_size, own.st_mtime
        stats = [
            entry.stat(follow_symlinks=False)
            for directory in session_traces(path) or (path,)
            for entry in os.scandir(directory)
            if entry.is_file(follow_symlinks=False)
        ]
    except OSError:
        return 0, 0.0
    return sum(s.st_size for s in stats), max((s.st_mtime for s in stats), default=own.st_mtime)


# -- which files are which -------------------------------------------------------------------------


def trace_index(roots: Sequence[Path], store: Callable[[], Store]) -> FileIndex:
    """Traces under the given roots, and those that were recorded with runs and diagnoses."""

    def of_runs() -> Iterator[IndexedFile]:
        for run in store().runs(RUN_TRACES):
            path = store().trace_file(run.id)
            if path.is_file():
                yield indexed_file(path, f"of run {run.label or run.id}", run.id)

    def others() -> Iterator[IndexedFile]:
        yield from of_runs()
        yield from _of_diagnoses(store())

    return FileIndex(roots, is_trace, "trace", others, session_traces)


def _of_diagnoses(store: Store) -> Iterator[IndexedFile]:
    """The recordings of the commands that were watched, on either side."""
    for info in store.diagnoses(DIAGNOSIS_TRACES):
        for side in ("good", "bad"):
            path = store.trace_file(f"{info.id}-{side}")
            if path.is_file():
                yield indexed_file(path, f"of diagnosis {info.id}, {side} side")


def capture_index(roots: Sequence[Path]) -> FileIndex:
    """Captures under the given roots."""
    return FileIndex(roots, is_capture, "capture")


def is_capture(path: Path) -> bool:
    """Whether it is called like one, or is a list of response times: what else is in it is seen
    when it is opened."""
    suffix = path.suffix.lower()
    if suffix in _CAPTURE_SUFFIXES:
        return path.is_file()
    return suffix in _LIST_SUFFIXES and path.is_file() and is_list(path)
