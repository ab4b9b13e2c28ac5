"""The parts in which ``make test`` runs the suite, one after another or beside each other.

With one of them in ``SUITE_PART``, a run has the tests of that part and no others. Each test is of
one part. Files that can have none of a part are not even read in it; a test that would thereby be
in no run at all is an error in the run that does read it.
"""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import Path

import pytest

VARIABLE = "SUITE_PART"
# Most tests, beside each other.
BESIDE = "beside"
# One after another: what they change, others would feel.
SETTINGS = "settings"
# Of tests/unit: what they look at is not the machine, so they run beside those that change it.
UNITS = "units"
# One after another, and nothing beside them.
ALONE = "alone"

PARTS = (BESIDE, SETTINGS, UNITS, ALONE)
"""The first begins the account of the suite, the last ends it (``suite_report``)."""


def chosen() -> str:
    """The part that this process runs, or "": all that it is asked for."""
    part = os.environ.get(VARIABLE, "")
    if part and part not in PARTS:
        raise pytest.UsageError(f"{VARIABLE}={part}: choose one of {', '.join(PARTS)}")
    return part


def part_of(path: Path, marks: Container[str]) -> str:
    """The part of a test in that file with those marks."""
    for part in (ALONE, SETTINGS):
        if part in marks:
            return part
    return _part_of_unmarked(path)


def may_hold(path: Path, part: str) -> bool:
    """Whether that file is read where that part is run."""
    return part == _part_of_unmarked(path) or f"mark.{part}" in path.read_text()


def _part_of_unmarked(path: Path) -> str:
    return UNITS if path.parent.name == "unit" else BESIDE


def only(part: str, items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests of that part, and the others.

    Raises ``pytest.UsageError`` where one of these is in no part.
    """
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        own = part_of(item.path, {mark.name for mark in item.iter_markers()})
        if own != part and not may_hold(item.path, own):
            raise pytest.UsageError(
                f"{item.nodeid} would never run: it is marked {own}, which only those files are"
                f" read for that have the words mark.{own}"
            )
        (kept if own == part else others).append(item)
    return kept, others
