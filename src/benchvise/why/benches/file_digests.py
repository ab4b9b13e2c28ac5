"""Checksums of files of a board, by its own programs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.errors import BoardUnusable

_SUMS = (
    'if command -v sha256sum >/dev/null; then s=sha256sum; else s="busybox sha256sum"; fi; '
    'for f in "$@"; do [ -f "$f" ] && [ -r "$f" ] && $s "$f"; done 2>/dev/null; true'
)
_A_SUM = re.compile(r"\\?([0-9a-f]{64})  (/.*)")
_SUMS_S = 120.0
_AT_ONCE = 100


def digests_on(board: Board, paths: Sequence[str]) -> dict[str, str]:
    """The SHA-256 of those of these files that a board has and may read; NotAvailable where it
    cannot tell."""
    found: dict[str, str] = {}
    for begin in range(0, len(paths), _AT_ONCE):
        some = paths[begin : begin + _AT_ONCE]
        try:
            completed = board.run(["sh", "-c", _SUMS, "sh", *some], timeout=_SUMS_S)
        except BoardUnusable as error:  # too slow, or says too much
            raise NotAvailable(error.message, error.remedy) from error
        for line in completed.stdout.decode("utf-8", "replace").splitlines():
            match = _A_SUM.fullmatch(line)
            if match and match[2] in some:
                found[match[2]] = match[1]
    return found
