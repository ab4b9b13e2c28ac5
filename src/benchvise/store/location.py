"""Where a store is: a file or a PostgreSQL URL as the user wrote it, and how to name it.

The name is what messages show; it never holds a password.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from benchvise.errors import UsageError
from benchvise.user_directories import user_directory

_EXAMPLE = "postgresql://user:password@host:5432/database"
_SHOWN_QUERY = ("host", "port")  # a socket's directory; anything else may be a secret


@dataclass(frozen=True, slots=True)
class Location:
    """A place that can hold a store: ``file`` for SQLite, else a PostgreSQL ``url``."""

    url: URL
    name: str
    file: Path | None = None


def default_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's own store, under the XDG data directory."""
    return user_directory("data", environment) / "benchvise.db"


def on_read_only_media(file: Path) -> bool:
    """Whether a file lies on a file system on which nobody can write."""
    if not hasattr(os, "statvfs"):  # Windows: writing there fails, and says why
        return False
    try:
        return bool(os.statvfs(file).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def locate(text: str | None) -> Location:
    """Read what the user gave as the store; nothing given is the default file.

    Raises ``UsageError`` for a URL that cannot be read or is of another kind. The message never
    repeats the URL, because the part that cannot be read is often the password.
    """
    if not text:
        return _file(default_file())
    if "://" not in text:
        return _file(Path(text))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise _unreadable() from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        if url.database in (None, "", ":memory:") or url.query or url.host:
            raise UsageError(
                "a sqlite URL must be a plain file", "write sqlite:////absolute/path or the path"
            )
        return _file(Path(str(url.database)))
    if kind not in ("postgresql", "postgres"):
        raise UsageError(
            f"stores of the kind '{kind}' are not supported",
            f"give the path of an SQLite file or {_EXAMPLE}",
        )
    if "@" in (url.host or ""):  # an unescaped @ in the password: its rest would be shown as host
        raise _unreadable()
    url = url.set(drivername="postgresql+psycopg")
    return Location(url=url, name=_name(url))


def _file(path: Path) -> Location:
    file = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100  (resolve() follows links)
    return Location(url=URL.create("sqlite", database=str(file)), name=str(file), file=file)


def _name(url: URL) -> str:
    public = url.set(
        drivername="postgresql",
        query={key: url.query[key] for key in _SHOWN_QUERY if key in url.query},
    )
    return public.render_as_string(hide_password=True)


def _unreadable() -> UsageError:
    return UsageError(
        "the store's URL cannot be read",
        f"write {_EXAMPLE}, with @ : / ? # and % in the password percent-encoded",
    )
