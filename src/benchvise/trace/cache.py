"""What was decoded once, kept as Arrow files beside the trace, and mapped the next time.

    TRACE.benchvise-cache/        or under $XDG_CACHE_HOME/benchvise/traces when that is read-only
        decoded/                  one directory a *part*, put in place as a whole
            manifest              what it was made of and from, sealed
            0.arrow 1.arrow ...   the tables that have rows, as Arrow IPC files

A part holds for the contents of the trace and the version of the decoder. While the file system
says that no file of the trace has changed, its contents are not read again.

The manifest is sealed with a key that only this user has, and names the size and the time of change
of each file. So a cache that came along with somebody else's trace, and may hold anything, is never
mapped, nor is one that was written halfway.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchvise.errors import TraceError, UsageError
from benchvise.trace.decoder import decoder
from benchvise.trace.manifest import (
    Stat,
    content_hash,
    places,
    read_manifest,
    signature,
    sizes,
    tables_size,
    version,
    write_manifest,
)

if TYPE_CHECKING:
    from benchvise.trace.native import Table

_STALE_S = 3600
"""After this long, a directory that was never put in place is a dead program's."""

_IN_ONE_PIECE = 1 << 17
"""Tables of fewer rows are kept in one piece: a trace has hundreds of tables, which come in many
pieces, and to map each piece of each takes longer than to map what is in it."""

_WRITERS = 2
"""Files written at once: the time goes into copying to the page cache."""


class NotCached(Exception):  # noqa: N818
    """The cache cannot be written; the text says why."""


@dataclass(frozen=True, slots=True)
class CachedPart:
    """A part of the cache: tables whose columns are mapped, and what else belongs to them."""

    tables: Mapping[str, Table]
    facts: Mapping[str, Any]
    directory: Path
    size: int
    """Bytes on the disk."""
    content: str
    """The hash of what the trace held."""
    stats: list[Stat]
    """What the file system said of its files."""


def load(trace: Path, part: str) -> CachedPart | None:
    """The part, when it is there, whole, and holds for the trace as it is now."""
    for place in places(trace):
        try:
            cached = _load(trace, place / part)
        except (OSError, ValueError, KeyError):
            continue
        if cached is not None:
            return cached
    return None


def store(
    trace: Path,
    part: str,
    tables: Mapping[str, Table],
    facts: Mapping[str, Any],
    stats: list[Stat],
    content: str = "",
) -> CachedPart:
    """Keeps a part that was made from the trace when its files looked like ``stats``.

    ``content`` is their hash, when it is known already. Returns the part as the next program
    finds it, so that what it was made of can go.

    Raises:
        NotCached: there is no room or no place that may be written to, or the trace has changed.
    """
    reasons: list[str] = []
    for place in places(trace):
        try:
            place.mkdir(parents=True, exist_ok=True)
            _store(trace, place, part, tables, facts, stats, content)
            kept = _load(trace, place / part)
        except (OSError, ValueError) as error:
            reasons.append(f"{place}: {getattr(error, 'strerror', None) or error}")
            _remove_empty(place)
            continue
        except (UsageError, TraceError) as error:
            _remove_empty(place)
            raise NotCached(f"the trace has changed: {error.message}") from error
        if kept is None:
            raise NotCached("the trace is being written to")
        return kept
    raise NotCached("; ".join(reasons))


def _remove_empty(place: Path) -> None:
    """Nothing stays of a place where nothing could be kept: the trace is gone, or the disk full."""
    with suppress(OSError):
        place.rmdir()


# -- reading ---------------------------------------------------------------------------------------


def _load(trace: Path, directory: Path) -> CachedPart | None:
    manifest = read_manifest(directory)
    if manifest["version"] != version():
        return None
    now = signature(trace)
    then: list[Stat] = [tuple(stat) for stat in manifest["signature"]]
    if now != then:
        if sizes(now) != sizes(then) or content_hash(trace) != manifest["content"]:
            return None
        with suppress(OSError):
            write_manifest(directory, {**manifest, "signature": now})
    tables = _Tables(directory, manifest["tables"])
    return CachedPart(
        tables, manifest["facts"], directory, tables_size(manifest), manifest["content"], now
    )


class _Tables(Mapping[str, "Table"]):
    """The files are mapped at once, so that they stay whatever other programs do, and a table is
    made of one when somebody asks: a trace has hundreds, and thousands that are empty."""

    def __init__(self, directory: Path, entries: list[dict[str, Any]]) -> None:
        self._schemas = {entry["name"]: entry["schema"] for entry in entries if "schema" in entry}
        self._files = {
            entry["name"]: decoder().KeptTable(
                directory / entry["file"], entry["size"], entry["changed"]
            )
            for entry in entries
            if "file" in entry
        }
        self._made: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Table:
        if name in self._files:
            kept: Table = self._files[name].table()
            return kept
        empty: Table = decoder().Table.from_stream(base64.b64decode(self._schemas[name]))
        return empty

    def __iter__(self) -> Iterator[str]:
        yield from self._files
        yield from self._schemas

    def __len__(self) -> int:
        return len(self._files) + len(self._schemas)


# -- writing ---------------------------------------------------------------------------------------


def _store(
    trace: Path,
    place: Path,
    part: str,
    tables: Mapping[str, Table],
    facts: Mapping[str, Any],
    stats: list[Stat],
    content: str,
) -> None:
    size = sum(table.nbytes for table in tables.values())
    free = shutil.disk_usage(place).free
    if size > free:
        raise OSError(0, f"{size / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free")
    _sweep(place)
    unfinished = Path(tempfile.mkdtemp(dir=place, prefix=".new-"))
    try:
        with ThreadPoolExecutor(_WRITERS) as pool:
            numbered = enumerate(tables.items())
            entries = list(pool.map(lambda item: _write(unfinished, item[0], *item[1]), numbered))
        manifest = {
            "version": version(),
            "signature": stats,
            "content": content or content_hash(trace),
            "facts": dict(facts),
            "tables": entries,
        }
        if signature(trace) != stats:
            raise NotCached("the trace is still being written to")
        write_manifest(unfinished, manifest)
        _put_in_place(unfinished, place / part)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(directory: Path, number: int, name: str, table: Table) -> dict[str, Any]:
    if not table.num_rows:
        schema = base64.b64encode(table.stream()).decode()
        return {"name": name, "schema": schema}
    path = directory / f"{number}.arrow"
    table.write(path, in_one_piece=table.num_rows < _IN_ONE_PIECE)
    stat = path.stat()
    return {
        "name": name,
        "file": path.name,
        "size": stat.st_size,
        "changed": stat.st_mtime_ns,
    }


def _put_in_place(finished: Path, target: Path) -> None:
    """Exchanges the old part for the new. Who has the old one mapped keeps it."""
    old = finished.with_name(finished.name.replace(".new-", ".old-"))
    with suppress(FileNotFoundError):
        target.rename(old)
    try:
        finished.rename(target)
    except OSError:
        if not target.exists():  # else another program was faster, with the same
            raise
    shutil.rmtree(old, ignore_errors=True)


def _sweep(place: Path) -> None:
    for left in place.glob(".*-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_S:
                shutil.rmtree(left, ignore_errors=True)
