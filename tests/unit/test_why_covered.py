"""A file that is missing because something is mounted over its directory leads to that line."""

from __future__ import annotations

import pytest

from benchvise.why.model import Layer, Side, Suspect
from benchvise.why.untested import line_as_on_good
from benchvise.why.witness.covered import is_missing, origins_of_missing
from benchvise.why.witness.opened import NOT_THERE, OPENED_FILE

BOTH = "# of this board\n/dev/mmcblk0p2 / ext4 defaults 0 1\ntmpfs /var tmpfs size=9m 0 0\n"
COVER = "cache /var/cache/fonts tmpfs ro,size=1m 0 0\n"


def _missing(path: str) -> Suspect:
    name = f"{OPENED_FILE}{path}"
    return Suspect(name, name, Layer.USERLAND, "userland.file", "74b455cc131e", NOT_THERE)


@pytest.mark.parametrize(
    ("path", "bad", "line"),
    [
        ("/var/cache/fonts/a.cache", BOTH + COVER, 4),
        ("/var/cache/fontsets/a.cache", BOTH + COVER, 0),  # a directory that only begins alike
        ("/var/cache/fonts/a.cache", BOTH + f"#{COVER}", 0),
        ("/var/cache/fonts/a.cache", BOTH, 0),  # as on the other side
        ("/etc/a", BOTH.replace("p2 / ", "p3 / "), 0),  # another root is no cover
    ],
)
def test_what_covers_a_directory_sets_what_is_missing_there(path: str, bad: str, line: int) -> None:
    suspect = _missing(path)
    tables = {Side.GOOD: BOTH.encode(), Side.BAD: bad.encode()}
    assert is_missing(Side.BAD, suspect)
    assert not is_missing(Side.GOOD, suspect)
    found = origins_of_missing(Side.BAD, suspect, tables)
    assert [(str(o.file), o.line) for o in found] == ([("/etc/fstab", line)] if line else [])
    assert line_as_on_good(suspect, (), found) == ""  # no line of the file that is missing


def test_without_tables_nothing_is_said() -> None:
    assert origins_of_missing(Side.BAD, _missing("/var/cache/fonts/a"), {}) == ()
