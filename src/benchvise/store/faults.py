"""What the databases complain about, in the user's words: the only place that maps it.

SQLite is understood by its result code, PostgreSQL by its SQLSTATE. A refused login has none,
so there the server's sentence is looked at; a sentence in another language is shown as it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from benchvise.errors import StoreError
from benchvise.store.location import Location, on_read_only_media
from benchvise.store.values import DamagedValueError

_ELSEWHERE = "give another place with --store"
_LONGEST = 300  # of a driver's own text
_UNDONE = ("40001", "40P01")  # cannot be serialised; a deadlock


@contextlib.contextmanager
def reported(location: Location) -> Iterator[None]:
    """Turn every error of the database inside the block into one ``StoreError``."""
    try:
        yield
    except DamagedValueError as error:
        raise _damaged(location.name, location.file, str(error)) from error
    except (SQLAlchemyError, sqlite3.Error, OSError, OverflowError, ImportError) as error:
        raise explain(error, location) from error


def is_lost(error: StoreError, *, again: bool) -> bool:
    """Whether a write failed for a reason that may be gone when it is tried again.

    That is a connection that the server closed, or a transaction that it undid so that others can
    go on. Where that has happened (``again``), a server that takes no connection yet is one, too.
    """
    cause = error.__cause__
    if not isinstance(cause, DBAPIError):
        return False
    state = getattr(cause.orig, "sqlstate", None)
    if cause.connection_invalidated or state in _UNDONE:
        return True
    return again and isinstance(cause, OperationalError) and state in (None, "57P03", "53300")


def explain(error: Exception, location: Location) -> StoreError:
    """The error as a ``StoreError`` that names the store and says what to do."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    if isinstance(error, ImportError):
        return StoreError(
            f"cannot use the store {location.name}, psycopg does not work here ({_message(error)})",
            "pip install 'benchvise[postgres]'",
        )
    if isinstance(error, IntegrityError):
        return StoreError(
            f"the store {location.name} refused an item ({_message(cause)})",
            "it is there already, or its run was deleted meanwhile",
        )
    if location.file is None:
        return _postgres(error, cause, location.name)
    if isinstance(cause, OSError):
        full = cause.errno == errno.ENOSPC
        return _full(location.name) if full else _cannot_open(location.file)
    return _sqlite(cause, location.file)


def _sqlite(error: BaseException, file: Path) -> StoreError:
    extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    match extended & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"the store {file} is locked by another process",
                f"try again when that has finished; `fuser -v {file}` shows which one it is",
            )
        case sqlite3.SQLITE_FULL:
            return _full(str(file))
        case sqlite3.SQLITE_IOERR if _no_space_beside(file):
            return _full(str(file))
        case sqlite3.SQLITE_IOERR:
            return StoreError(
                f"the store {file} cannot be read or written ({_message(error)})",
                "look for a quota, a file size limit (`ulimit -f`) or disk errors (`dmesg`)",
            )
        case sqlite3.SQLITE_READONLY if on_read_only_media(file):
            return StoreError(
                f"the store {file} is on a read-only file system, and can only be read",
                f"copy it to a directory that can be written, or {_ELSEWHERE}",
            )
        case sqlite3.SQLITE_READONLY if not _writable(file.parent):
            return _cannot_open(file)
        case sqlite3.SQLITE_READONLY:
            return StoreError(
                f"the store {file} is read-only",
                f"make it writable (`chmod u+w {file}`), or {_ELSEWHERE}",
            )
        case sqlite3.SQLITE_NOTADB:
            return StoreError(f"{file} is not a database", _ELSEWHERE)
        case sqlite3.SQLITE_CORRUPT:
            return _damaged(str(file), file, _message(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return _cannot_open(file)
        case sqlite3.SQLITE_ERROR if "no such" in _message(error):
            return _incomplete(str(file), _message(error))
    return _unexpected(error, str(file))


def _damaged(name: str, file: Path | None, how: str) -> StoreError:
    saved = f"save what can be read with `sqlite3 {file} .recover`" if file else "restore a backup"
    return StoreError(
        f"the store {name} is damaged ({how[:_LONGEST]})", f"{saved}, or {_ELSEWHERE}"
    )


def _cannot_open(file: Path) -> StoreError:
    directory = file.parent
    message = f"the store {file} cannot be opened"
    # os.path and not Path: a directory that may not be looked into is an answer, not an error.
    if os.path.isdir(file):  # noqa: PTH112
        return StoreError(f"{message}, it is a directory", "give the path of a file")
    if not os.path.isdir(directory):  # noqa: PTH112
        missing = f"{message}, there is no directory {directory} that you may enter"
        parent = next(above for above in directory.absolute().parents if os.path.isdir(above))  # noqa: PTH112
        if not _writable(parent):
            return StoreError(f"{missing}, and {parent} is read-only", _ELSEWHERE)
        return StoreError(missing, f"make it (`mkdir -p {directory}`), or {_ELSEWHERE}")
    if not _writable(directory):
        return StoreError(
            f"{message}, its directory is read-only",
            f"make {directory} writable, or {_ELSEWHERE}",
        )
    return StoreError(message, f"look at its owner and mode (`ls -l {file}`), or {_ELSEWHERE}")


def _writable(directory: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(directory, os.W_OK | os.X_OK, effective_ids=effective)


def _no_space_beside(file: Path) -> bool:
    try:
        return shutil.disk_usage(file.parent).free == 0
    except OSError:
        return False


def _postgres(error: Exception, cause: BaseException, name: str) -> StoreError:
    message = _message(cause)
    state = getattr(cause, "sqlstate", None)
    if state is None and isinstance(error, OperationalError):
        state = _state_of_login(message)
    match state:
        case "28P01" | "28000":
            return StoreError(
                f"the store {name} refused the login ({message})",
                "check user and password in the URL, PGPASSWORD or ~/.pgpass",
            )
        case "3D000":
            return StoreError(
                f"the store {name} does not exist on its server", "create it with `createdb`"
            )
        case "53100":
            return _full(name)
        case "55P03":
            return StoreError(
                f"the store {name} is locked by another process",
                "try again when that has finished; the view pg_locks shows which one it is",
            )
        case "25006":
            return StoreError(
                f"the store {name} is read-only",
                "it may be a standby server; give the URL of the primary one",
            )
        case "42501":
            return StoreError(
                f"the user of the store {name} may not do that ({message})", _right(message)
            )
        case "42P01" | "42703":
            return _incomplete(name, message)
        case "08006" | "57P01" | "57P02" | "57P03" | "53300":
            return StoreError(
                f"cannot reach the store {name} ({message})",
                "check that the server runs and accepts connections (`pg_isready`)",
            )
    return _unexpected(cause, name)


def _state_of_login(message: str) -> str:
    """The SQLSTATE that the client library keeps to itself when there is no connection."""
    if "password authentication failed" in message or "no password supplied" in message:
        return "28P01"
    if 'database "' in message and "does not exist" in message:
        return "3D000"
    return "08006"


def _right(message: str) -> str:
    """What the owner gives the user: a role, once there are tables."""
    if "for schema" in message:
        return "as the owner: GRANT CREATE, USAGE ON SCHEMA public TO that user"
    return (
        "as the owner: GRANT benchvise_runner TO that user, to measure, or benchvise_keeper, to "
        "thin and upgrade; `benchvise store roles` prints what makes these roles, and is to be run "
        "again where they are older than a table"
    )


def _incomplete(name: str, message: str) -> StoreError:
    return StoreError(
        f"the store {name} lacks a part of its tables ({message})",
        f"another program changed it: restore a backup, or {_ELSEWHERE}",
    )


def _full(name: str) -> StoreError:
    return StoreError(
        f"no space left for the store {name}",
        f"free some (what was stored so far is kept), or {_ELSEWHERE}",
    )


def _unexpected(error: BaseException, name: str) -> StoreError:
    return StoreError(
        f"the store {name} failed ({type(error).__name__}: {_message(error)})",
        f"if it happens again, {_ELSEWHERE} and report it",
    )


def _message(error: BaseException) -> str:
    """What the driver or server says, as one line."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return " ".join(str(primary or error).split())[:_LONGEST]
