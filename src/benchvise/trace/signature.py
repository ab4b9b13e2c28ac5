"""Which files a trace is made of, and how to see that they have changed without reading them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

CACHE_SUFFIX = ".benchvise-cache"

Stat: TypeAlias = tuple[str, int, int, int]
"""A file's name within the trace, its size, when it was changed (ns), and its inode."""


def files_of(path: Path) -> list[Path]:
    """The file itself, or all files of a directory, in a fixed order; caches are left out."""
    if not path.is_dir():
        return [path]
    paths: list[Path] = []
    for directory, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.endswith(CACHE_SUFFIX))
        paths += [Path(directory, name) for name in sorted(files)]
    return [file for file in paths if file.is_file()]


def signature(path: Path) -> list[Stat]:
    """What the file system says of each file.

    Raises:
        OSError: a file cannot be looked at.
    """
    stats: list[Stat] = []
    for file in files_of(path):
        stat = file.stat()
        name = "" if file == path else str(file.relative_to(path))
        stats.append((name, stat.st_size, stat.st_mtime_ns, stat.st_ino))
    return stats


def sizes(stats: list[Stat]) -> list[tuple[str, int]]:
    """Names and sizes: when these differ, the contents do."""
    return [(name, size) for name, size, _, _ in stats]
