"""Seeds that nobody looks at before they are run, once.

Whoever changes the diagnosis sees which scenarios it misses, and so comes to fit them. Seeds from
``FIRST`` on are kept from that: no scenario is drawn of them until ``python -m benchmarks.why
--held-out`` takes the next block, scores it, and publishes what comes out. The block is spent then:
it may be drawn like any other seed, to see what was missed, and the next run takes the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchvise.errors import UsageError

FIRST = 900_000
"""All seeds from here on are held out, unless they were run."""
BLOCK = 1_000
"""How many seeds a run may take."""
PUBLISHED = Path(__file__).parent / "scores" / "held-out.json"
"""The last run; its first seed says how many blocks are spent."""

_opened: list[range] = []


def next_block() -> range:
    """The seeds of the next run."""
    begin = _first_unspent()
    return range(begin, begin + BLOCK)


def check(seed: int) -> None:
    """UsageError for a seed that is held out still."""
    if seed >= _first_unspent() and not any(seed in seeds for seeds in _opened):
        raise UsageError(
            f"seed {seed} is held out",
            f"choose one below {FIRST}, or run the next block of them once: --held-out",
        )


@contextmanager
def opening(seeds: range) -> Iterator[None]:
    """Lets the scenarios of a block be drawn."""
    _opened.append(seeds)
    try:
        yield
    finally:
        _opened.pop()


def _first_unspent() -> int:
    published = json.loads(PUBLISHED.read_text())
    return FIRST if published["not_run"] else int(published["first_seed"]) + BLOCK
