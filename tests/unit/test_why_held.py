"""What a server reads for a command, which no configuration names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchvise.board.local import LocalBoard
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.model import Side
from benchvise.why.witness.held import held_places
from benchvise.why.witness.layout import BELOW
from benchvise.why.witness.model import CallsAbout, Partner, SideWatch
from benchvise.why.witness.opened import NOT_THERE, OPENED_FILE
from benchvise.why.witness.partner_suspects import partner_suspects
from benchvise.why.witness.partners import find_partners
from benchvise.why.witness.started import parse_trees

SERVER = """import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('on', flush=True)
while True:
    caller, _ = s.accept()
    for name in os.listdir(sys.argv[2]):
        with open(os.path.join(sys.argv[2], name)): time.sleep(0.05)
    caller.send(b"done"); caller.close()
"""
CLIENT = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(9)"
ZONES = "/usr/share/zoneinfo"


def test_the_directory_that_a_server_goes_through_is_known_with_its_part(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    for number in range(8):
        (spool / f"letter{number}").touch()
    program, address = tmp_path / "front", str(tmp_path / "socket")
    program.write_text(SERVER)
    words = [sys.executable, str(program), address, str(spool)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            calls = [CallsAbout("connect", address, 1, 0, 0.4, 0.4)]
            command = f'{sys.executable} -c "{CLIENT}" {address}'
            (partner,) = find_partners(LocalBoard(), calls, command, 0.5)
        finally:
            process.kill()
    assert partner.held[str(spool)] > 0.3
    assert str(spool) in held_places(partner)


def test_what_helpers_hold_counts_by_the_time_in_which_there_is_one() -> None:
    stat = "70 (worker) S 7 " + " ".join(["0"] * 48) + "\nworker\0worker\n"
    idle = "\nsample\n\nheld\n/proc/7/fd:\n/var/lib/db/table\n"
    busy = f"\nsample\n{stat}\nheld\n/proc/7/fd:\n/proc/70/fd:\n/var/lib/db/zones/a\n"
    trees = parse_trees(idle * 6 + busy * 2)
    assert trees[7].held == {70: ("/var/lib/db/zones/a",)}
    from benchvise.why.witness.started import _held

    assert _held(trees, [7])[7]["/var/lib/db/zones"] == 1.0


def _server(**held: float) -> Partner:
    places = {f"{ZONES}/{name}".rstrip("/"): part for name, part in held.items()}
    return Partner("db", ("/run/db.sock",), held={**places, ZONES: max(held.values())})


@pytest.mark.parametrize(
    ("good", "bad", "below", "expected"),
    [
        # the kind that only one side has
        ({"a": 0.1}, {"right": 0.9}, {"right": (None, 600)}, {"right": (NOT_THERE, "600")}),
        # as much of the work, and as many files: nothing
        ({"a": 0.9}, {"a": 0.95}, {"a": (5, 60)}, {}),
        ({"a": 0.1}, {"a": 0.9}, {"a": (600, 610)}, {}),
        # over many of its parts: the directory above
        ({"a": 0.1}, {"a": 0.4, "b": 0.45, "c": 0.9}, {"": (60, 600)}, {"": ("60", "600")}),
    ],
)
def test_what_one_side_reads_longer_is_a_suspect_where_it_differs(
    good: Mapping[str, float],
    bad: Mapping[str, float],
    below: Mapping[str, tuple[int | None, int]],
    expected: Mapping[str, tuple[str, str]],
) -> None:
    watches = {
        Side.GOOD: SideWatch(partners=(_server(**good),)),
        Side.BAD: SideWatch(partners=(_server(**bad),)),
    }
    digests: dict[Side, dict[str, str]] = {Side.GOOD: {}, Side.BAD: {}}
    for name, counts in below.items():
        for side, count in zip((Side.GOOD, Side.BAD), counts, strict=True):
            if count is not None:
                digests[side][f"{BELOW}{ZONES}/{name}".rstrip("/")] = str(count)
    suspects = partner_suspects(watches, digests, ())
    names = {s.id: tuple(v.partition(" files")[0] for v in (s.good, s.bad)) for s in suspects}
    wanted = {f"{OPENED_FILE}{ZONES}/{name}".rstrip("/"): v for name, v in expected.items()}
    assert names == wanted
    assert all("db" in s.untestable and s.terms[-1].points > 0 for s in suspects)


def test_files_below_a_directory_are_counted_where_that_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/one", "a/b/two", "three"):
        (tmp_path / name).touch()
    states = digests_on(LocalBoard(), [f"{BELOW}{tmp_path}", str(tmp_path), f"{BELOW}/not/there"])
    assert states[f"{BELOW}{tmp_path}"] == "3"
    assert states[str(tmp_path)].startswith("directory 2 ")
    assert f"{BELOW}/not/there" not in states
