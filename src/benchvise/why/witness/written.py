"""Which files a command writes itself, by its system calls.

What it makes anew at each run, such as a cache, is a result and no setting: on both sides it is as
the command made it there. And the other side's file cannot stand before it: who writes a new one
beside it and renames that (rename(2)) fails where something is mounted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from benchvise.why.witness.model import CallsAbout

_WRITES = re.compile(r"p?writev?(?:64|2)?|ftruncate(?:64)?|truncate(?:64)?|creat|fallocate")
_MAKES = re.compile(
    r"(?:un|sym)?link(?:at)?|mkdir(?:at)?|rmdir|mknod(?:at)?|rename(?:at2?)?|f?chmod(?:at2?)?|"
    r"[fl]?chown(?:at)?|utimensat|copy_file_range|sendfile(?:64)?"
)
_RENAMES = re.compile(r"rename(?:at2?)?")


def written_paths(calls: Iterable[CallsAbout]) -> tuple[str, ...]:
    """The files that were written, and those that what was written was renamed to, as far as the
    names tell: ``.zcompdump.board.70`` becomes ``.zcompdump``, ``index.lock`` becomes ``index``."""
    seen = tuple(calls)
    written = [c.target for c in seen if _is_about_file(c) and _WRITES.fullmatch(c.name)]
    moved = [name for path in renamed_paths(seen) for name in _shorter(path)]
    return tuple(dict.fromkeys((*written, *moved)))


def changed_paths(calls: Iterable[CallsAbout]) -> tuple[str, ...]:
    """What was written, and whose name, place or attributes were changed."""
    seen = tuple(calls)
    made = (c.target for c in seen if _is_about_file(c) and _MAKES.fullmatch(c.name))
    return tuple(dict.fromkeys((*written_paths(seen), *made)))


def renamed_paths(calls: Iterable[CallsAbout]) -> tuple[str, ...]:
    """The files that got another name: temporary ones, as a rule."""
    named = (c.target for c in calls if _is_about_file(c) and _RENAMES.fullmatch(c.name))
    return tuple(dict.fromkeys(named))


def _is_about_file(call: CallsAbout) -> bool:
    return call.target.startswith("/") and call.count > call.errors


def _shorter(path: str) -> Iterator[str]:
    """The names that a path has without its last parts, at a dot or at its end ``~``, ``-``."""
    place, name = posixpath.split(path)
    if name.endswith(("~", "-", "+")):
        yield f"{place}/{name[:-1]}"
    while "." in name.lstrip("."):
        name = name.rpartition(".")[0]
        if name.strip("."):
            yield f"{place}/{name}"
