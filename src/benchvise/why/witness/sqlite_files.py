"""What the SQLite databases hold that a command or a program beside it opens.

The file is read, with its log of writes that are not in it yet, and asked here for its schema,
which takes no program of the board (sqlite.org/fileformat2.html). Nothing of its rows is kept. It
is a stranger's file: no expression of its schema is evaluated, and the work is bounded.
"""

from __future__ import annotations

import re
import sqlite3
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable
from benchvise.text import printable
from benchvise.why.witness.compare import opened_in
from benchvise.why.witness.model import CallsAbout, DatabaseSchema, Partner

MOST_BYTES = 32 << 20
"""Of a larger file its begin is read, where the schema lies as a rule."""

_MOST_FILES = 12
_MOST_CANDIDATES = 100
_READ_S = 60.0
_READING, _CHANGING = 20_000_000, 2_000_000_000  # steps of SQLite's machine
_MOST_VALUE = 400
_NO_DATA = re.compile(
    r"/(?:proc|sys|dev)/|/(?:usr/)?(?:s?bin|lib\w*)/|\.(?:so[.\d]*|py[co]?|mo|h|c|sh|conf)$"
)
_LOGS = re.compile(r"(.+)-(?:wal|shm|journal)$")
_WHICH = (
    'for f in "$@"; do [ -f "$f" ] && [ -r "$f" ] && '
    '[ "$(head -c 15 "$f" | tr -d "\\0")" = "SQLite format 3" ] && echo "$f"; done; true'
)
_CONTENT = 'head -c "$2" -- "$1"'
_LOG = '[ ! -f "$1-wal" ] || [ $(wc -c <"$1-wal") -gt "$2" ] || cat -- "$1-wal"'
_HEADER = 100
_PAGES = slice(28, 32)
_WRITE_AHEAD = 2
_INDEX = re.compile(r"create (?:unique )?index ", re.IGNORECASE)
_KINDS = ("table", "index", "trigger", "view")


def sqlite_databases(
    board: Board, calls: Sequence[CallsAbout], partners: Sequence[Partner]
) -> Iterator[DatabaseSchema]:
    """Those that are opened, each with what it holds; what the board cannot tell is left out.
    Raises BoardUnreachable."""
    if board.kind == "console":
        return  # it is too slow for files
    owners = dict.fromkeys(_database_names(opened_in(calls)), "")
    for partner in partners:
        for path in _database_names(partner.opened):
            owners.setdefault(path, partner.name)
    paths = list(owners)[:_MOST_CANDIDATES]
    if not paths:
        return
    with suppress(BoardUnusable):
        done = board.run(["sh", "-c", _WHICH, "sh", *paths], timeout=_READ_S)
        databases = [p for p in done.stdout.decode("utf-8", "replace").splitlines() if p in owners]
        for path in databases[:_MOST_FILES]:
            arguments = ["sh", path, str(MOST_BYTES)]
            data = board.run(["sh", "-c", _CONTENT, *arguments], timeout=_READ_S).stdout
            log = board.run(["sh", "-c", _LOG, *arguments], timeout=_READ_S).stdout
            if entries := schema_of(data, log):
                yield DatabaseSchema("SQLite", path, owners[path], entries, f"sqlite3 {path}")


def _database_names(paths: Sequence[str]) -> Iterator[str]:
    """The paths that may be databases; their logs lead to them."""
    for path in paths:
        if path.startswith("/") and not _NO_DATA.search(path):
            yield match[1] if (match := _LOGS.fullmatch(path)) else path


def schema_of(data: bytes, log: bytes = b"") -> dict[str, str]:
    """What a database holds, by kind and name: tables, indices, triggers and views with their
    definitions, how it writes, which tables have statistics; empty where it cannot be read whole.

    ``data`` is the begin of the file, ``log`` the file ``-wal`` beside it.
    """
    if len(data) < _HEADER:
        return {}
    size = _page_size(data)
    if not size or len(data) < size:
        return {}
    pages = len(data) // size
    is_cut = pages < int.from_bytes(data[_PAGES], "big")
    entries = {
        "journal": "write-ahead log" if data[18] == _WRITE_AHEAD else "rollback",
        "page size": f"{size} bytes",
        "free pages": str(int.from_bytes(data[36:40], "big")),
    }
    if is_cut:  # a file that is shorter than it says is refused
        data = data[: _PAGES.start] + struct.pack(">I", pages) + data[_PAGES.stop : pages * size]
        log = b""
    with tempfile.TemporaryDirectory(prefix="benchvise-database-") as name:
        place = Path(name) / "database"
        place.write_bytes(data)
        if log:
            Path(f"{place}-wal").write_bytes(log)
        try:
            with closing(sqlite3.connect(place)) as connection:
                _protect(connection, _READING)
                entries |= _held(connection)
        except (sqlite3.Error, UnicodeError, OverflowError, MemoryError):
            return {}
    return entries


def as_other(own: bytes, other: bytes, keys: Sequence[str]) -> bytes:
    """A copy of a database that has these indices and statistics as another one has them.

    ValueError, with the reason, where that cannot be made.
    """
    present, wanted = schema_of(own), schema_of(other)
    if not present or not wanted:
        raise ValueError("it cannot be read as a database")
    with tempfile.TemporaryDirectory(prefix="benchvise-database-") as name:
        place = Path(name) / "database"
        place.write_bytes(own)
        try:
            with closing(sqlite3.connect(place)) as connection:
                _protect(connection, _CHANGING)
                for key in keys:
                    _change(connection, key, key in present, wanted.get(key, ""))
                connection.commit()
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            raise ValueError(f"SQLite does not change it: {error}") from error
        return place.read_bytes()


def _change(connection: sqlite3.Connection, key: str, is_there: bool, wanted: str) -> None:
    kind, _, rest = key.partition(" ")
    quoted = '"{}"'.format(rest.partition(" on ")[0].removeprefix("of ").replace('"', '""'))
    if kind == "statistics":
        if wanted == "there":
            connection.execute(f"analyze {quoted}")
        else:
            connection.execute("delete from sqlite_stat1 where tbl = ?", [rest.removeprefix("of ")])
        return
    if kind != "index" or len(wanted) >= _MOST_VALUE:
        raise ValueError(f"{key} is not made here")
    if is_there:
        connection.execute(f"drop index {quoted}")
    if wanted:
        if not _INDEX.match(wanted):
            raise ValueError(f"{key} is made by a constraint of its table")
        connection.execute(wanted)


def _page_size(data: bytes) -> int:
    size = int.from_bytes(data[16:18], "big")
    size = 65536 if size == 1 else size
    return size if size >= 512 and size & (size - 1) == 0 else 0


def _protect(connection: sqlite3.Connection, most_steps: int) -> None:
    """Bounds the work, and has no function of a stranger's schema called that may do harm."""
    steps = iter(range(most_steps // 1000))
    connection.set_progress_handler(lambda: next(steps, None) is None, 1000)
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma cell_size_check = on")


def _held(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    rows = connection.execute("select type, name, tbl_name, sql from sqlite_master").fetchall()
    tables = []
    for kind, name, table, sql in rows:
        if kind not in _KINDS or str(name).startswith("sqlite_stat"):
            continue
        of_table = f" on {table}" if kind in ("index", "trigger") else ""
        text = re.sub(r"\s+", " ", str(sql)) if sql else "made by a constraint"
        yield printable(f"{kind} {name}{of_table}", 200), printable(text, _MOST_VALUE)
        if kind == "table" and not str(name).startswith("sqlite_"):
            tables.append(str(name))
    with_statistics = set()
    if any(name == "sqlite_stat1" for _, name, _, _ in rows):
        with_statistics = {str(t) for (t,) in connection.execute("select tbl from sqlite_stat1")}
    for table in tables:
        has_some = "there" if table in with_statistics else "none"
        yield printable(f"statistics of {table}", 200), has_some
