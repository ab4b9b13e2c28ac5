"""Files that a program keeps for itself, and of which none means anything without the others.

An object of Git is named by its checksum, and each refers to others; the log of a database belongs
to the state of its file; a lock belongs to whoever runs. One of another board in such a place makes
the whole of it unreadable. And what the command writes then refers to what is not there any more
when the experiment ends: a repository whose newest commit is gone.
"""

from __future__ import annotations

import re

_GIT = (
    r"/[^/]*\.git/(?:(?:modules|worktrees)/.+/)?(?:(?:objects|refs|logs|lfs|rr-cache)/.|"
    r"(?:index|packed-refs|shallow|[A-Z]+(?:_[A-Z]+)*|gc\.pid)$)"
)
_OTHERS = (
    r"/\.hg/(?:store/|cache/|dirstate|undo|branch$)|/\.svn/(?:pristine/|wc\.db)|"
    r"/\.jj/repo/|/\.bzr/(?:repository|checkout)/|/ostree/repo/(?:objects|refs)/"
)
_BY_CHECKSUM = (
    r"(?<=/)[0-9a-f]{2}/[0-9a-f]{30,126}$|/(?:blobs|pristine)/sha\d+/|"
    r"(?<![0-9A-Za-z])[0-9a-f]{40,128}(?:\.\w{1,5})?$"
)
_BESIDE_DATABASES = r"-(?:wal|shm|journal)$|/(?:LOCK|MANIFEST-\d+|CURRENT|pg_wal/.+|pg_control)$"
_OF_A_RUN = r"\.(?:lock|lck|pid|sock|socket|swp|swo)$"
_STORE = re.compile("|".join((_GIT, _OTHERS, _BY_CHECKSUM, _BESIDE_DATABASES, _OF_A_RUN)))
_SETTINGS_PLACE = re.compile(r"/etc/(?:ssl|pki|ca-certificates|crypto-policies)/")
_ENDS_OF_LOCKS = re.compile(r"/(?:Cargo|Gemfile|poetry|uv|yarn|flake|composer|deno|mix)\.lock$")
_DATABASE = re.compile(
    r"(?<!/etc)/(?!usr/|etc/).*\.(?:db|s?db3|sqlite3?|s3db|[lm]db|mdbx|sst|ldb|ibd|frm|MY[DI]|rdb|"
    r"aof|tdb|gdbm)$"
)


def is_of_store(path: str) -> bool:
    """Whether a file only means something with the others of its store, or with the process that
    made it: an object or the index of a version control system, what is named by a checksum of
    itself, the log of a database, a lock, a socket. Settings and hooks of a repository are none."""
    if _SETTINGS_PLACE.match(path) or _ENDS_OF_LOCKS.search(path):
        return False
    return bool(_STORE.search(path))


def is_database(path: str) -> bool:
    """Whether a file holds the data of a database, by its name: it differs by what is in it."""
    return bool(_DATABASE.match(path))
