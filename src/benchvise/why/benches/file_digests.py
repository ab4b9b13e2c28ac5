"""Checksums and sizes of files of a board, and numbers of entries of directories, by its own
programs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.errors import BoardUnusable

_SUMS = (
    'if command -v sha256sum >/dev/null; then s=sha256sum; else s="busybox sha256sum"; fi; '
    'for f in "$@"; do if [ -d "$f" ]; then echo "directory $(ls -A "$f" | wc -l) $f"; '
    'elif [ -f "$f" ] && [ -r "$f" ]; then $s "$f"; echo "size $(wc -c <"$f") $f"; fi; '
    "done 2>/dev/null; true"
)
_A_LINE = re.compile(r"\\?(?:([0-9a-f]{64}) |(directory|size) +(\d{1,19})) (/.*)")
_SUMS_S = 120.0
_AT_ONCE = 100


def digests_on(board: Board, paths: Sequence[str]) -> dict[str, str]:
    """The SHA-256 of those of these files that a board has and may read, with their size in bytes
    (``SHA size``), and of directories the number of entries (``directory 12``); NotAvailable where
    it cannot tell."""
    found: dict[str, str] = {}
    for begin in range(0, len(paths), _AT_ONCE):
        some = paths[begin : begin + _AT_ONCE]
        try:
            completed = board.run(["sh", "-c", _SUMS, "sh", *some], timeout=_SUMS_S)
        except BoardUnusable as error:  # too slow, or says too much
            raise NotAvailable(error.message, error.remedy) from error
        for line in completed.stdout.decode("utf-8", "replace").splitlines():
            match = _A_LINE.fullmatch(line)
            if match is None or match[4] not in some:
                continue
            digest, word, number, path = match.groups()
            if digest:
                found[path] = digest
            elif word == "directory":
                found[path] = f"{word} {number}"
            elif path in found:
                found[path] += f" {number}"
    return found
