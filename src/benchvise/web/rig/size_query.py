"""Answers the question of a board for the size of its terminal, while a page types on its console.

A serial line knows no size, so programs ask for it: they move the cursor as far down and to the
right as it goes, and ask where it is. U-Boot and busybox wait a tenth of a second for the answer.
What comes later they take for keys: its first byte is Esc, which quits a menu of U-Boot. A browser
cannot be that fast. So the process that holds the console answers, and the browser does not
(``web/src/pages/terminal.ts``).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

ROWS, COLUMNS = 24, 80
"""Of the terminal in the page; what programs suppose where nothing answers."""

ANSWERS_PER_SECOND = 20
"""An answer is typed on the console, so a board that asks without end gets no more."""

_QUERY = re.compile(rb"\x1b\[(\d{1,5});(\d{1,5})H\x1b\[6n")
_LONGEST = 20


class SizeQuery:
    """Finds the question in pieces of a console's output. ``clock`` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = b""
        self._second = 0.0
        self._given = 0

    def answer(self, output: bytes) -> bytes:
        """What to send to the board after this piece; mostly nothing."""
        text = self._begun + output
        queries, end = 0, 0
        for match in _QUERY.finditer(text):
            queries += int(match[1]) >= ROWS and int(match[2]) >= COLUMNS
            end = match.end()
        self._begun = text[end:][-_LONGEST:]
        return f"\x1b[{ROWS};{COLUMNS}R".encode() * self._allowed(queries)

    def _allowed(self, queries: int) -> int:
        if queries and self._clock() - self._second >= 1.0:
            self._second, self._given = self._clock(), 0
        allowed = min(queries, ANSWERS_PER_SECOND - self._given)
        self._given += allowed
        return allowed
