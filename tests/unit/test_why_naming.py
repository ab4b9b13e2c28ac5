"""Files and start files whose differing lines name what the command waits for."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from why_boards import BOTH, metric, side, with_value

from benchvise.board.protocol import Board, Completed
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.model import Layer, Side, Suspect
from benchvise.why.suspects.find import NO_NEW_CODE, find
from benchvise.why.witness.compare import MeasuredTimes, compare
from benchvise.why.witness.model import (
    Activity,
    CallsAbout,
    SideWatch,
    Witness,
    WitnessCall,
    WitnessPart,
)
from benchvise.why.witness.naming import NAMING, named_places, naming_keys, places_of
from benchvise.why.witness.touching import put_first

ASKED = WitnessPart(Activity.RESOLVER, "poll", "192.0.2.5:53", "", 0.0, 1.0, 1.0, "waiting")
SHOWN = WitnessPart(Activity.PROCESS, "statx", "/mnt/captures/", "ls", 0.0, 1.0, 0.97, "waiting")
FORWARDING = Suspect("net.ipv6_forwarding", "forwarding", Layer.RUN_TIME, "net.ip", "1", "0")


@dataclass
class Here:
    """A board whose files below /fs lie in a directory of this machine."""

    root: Path

    def run(self, argv: Sequence[str], *, timeout: float = 0) -> Completed:
        words = [word.replace("/fs/", f"{self.root}/fs/") for word in argv]
        done = subprocess.run(words, capture_output=True, timeout=timeout, check=False)
        return Completed(done.returncode, done.stdout.replace(f"{self.root}".encode(), b""), b"")


def file_of(path: str) -> Suspect:
    name = f"userland.file:{path}"
    return Suspect(name, path, Layer.USERLAND, "userland.file", "12", "34", (name,))


def test_a_file_that_names_the_address_in_another_line_comes_first(tmp_path: Path) -> None:
    """projectcalico/vpp-dataplane#738, as a script reads it from a table of neighbours."""
    sides = {}
    witness = Witness("", 0.1, 1.0, (ASKED,))
    suspects = (FORWARDING, file_of("/fs/motd"), file_of("/fs/neighbours"))
    places = places_of(witness)
    keys = naming_keys(suspects, places)
    assert [place.word for place in places] == ["192.0.2.5"] and keys[
        0
    ] == f"{NAMING}192.0.2.5 /fs/motd"
    for which, end in ((Side.GOOD, "01"), (Side.BAD, "5e")):
        (tmp_path / which / "fs").mkdir(parents=True)
        (tmp_path / which / "fs/motd").write_text(f"{end}\nask 192.0.2.5\n192.0.2.53 {end}\n")
        (tmp_path / which / "fs/neighbours").write_text(f"# those\n192.0.2.5 02:00:{end}\n")
        sides[which] = digests_on(cast(Board, Here(tmp_path / which)), keys)
        assert set(sides[which]) == set(keys)
    named = named_places(suspects, places, sides)
    assert list(named) == ["userland.file:/fs/neighbours"]
    first = put_first(suspects, witness, named)[0]
    assert first.id == "userland.file:/fs/neighbours"
    assert "192.0.2.5" in first.terms[-1].reason


BORROWED = WitnessCall("newfstatat", "/srv/mirrors", 0, 1800, 0.0, 0.06)
OBJECTS = [f"/srv/own/.git/objects/{of}" for of in ("68/" + "e1" * 19, "81/" + "4b" * 19)]


@pytest.mark.parametrize(
    "witness",
    [
        Witness("", 0.1, 1.0, calls=(BORROWED,)),  # libgit2/libgit2#1180
        Witness("", 0.1, 1.0, bad_files=("/opt/plugins/tracer.so",)),
    ],
)
def test_a_file_that_names_what_one_side_alone_goes_to_comes_first(witness: Witness) -> None:
    suspects = (FORWARDING, *map(file_of, OBJECTS), file_of("/srv/own/list"))
    place = places_of(witness)[-1]
    key = f"{NAMING}{place.word} /srv/own/list"
    assert key in naming_keys(suspects, (place,)) and len(naming_keys(suspects, (place,))) == 1
    named = named_places(suspects, (place,), {Side.GOOD: {}, Side.BAD: {key: "12"}})
    first = put_first(suspects, witness, named)[0]
    assert first.id == "userland.file:/srv/own/list" and place.word in first.terms[-1].reason


def test_names_made_of_a_checksum_are_of_no_side() -> None:
    sides = [
        SideWatch(calls=(CallsAbout("openat", path, 1, 0, 0.0, 0.0),), followed_s=1.0)
        for path in OBJECTS
    ]
    told = compare(sides[0], sides[1], MeasuredTimes(None, None, {}, {}))
    assert (told.good_files, told.bad_files) == ((), ())


MOUNTINFO = "36 35 98:0 / / rw - ext4 /dev/sda1 rw\n44 36 0:50 / /mnt/captures ro - fuse x ro\n"
LINE = "captures:/ /mnt/captures remotefs ro,attr_timeout={} 0 0\n"


@pytest.mark.parametrize("target", ["/mnt/captures/1", "/mnt/other"])
def test_an_option_that_only_the_program_that_mounts_knows_is_told_by_its_line(target: str) -> None:
    """libfuse/libfuse#945: the kernel's list of mounts is the same on both sides."""
    good, bad = (
        side({"/proc/self/mountinfo": MOUNTINFO, "/etc/fstab": LINE.format(seconds) + "#\n"})
        for seconds in (60, 0)
    )
    found = find(good, bad, metric("command.time", "ls"), may_set=BOTH, targets={target})
    ids = [s.id for s in found.suspects]
    is_there = target.startswith("/mnt/captures")
    assert ids == (["boot.init_settings:/etc/fstab"] if is_there else [])
    if is_there:
        witness = Witness("", 0.1, 1.0, (SHOWN,))
        suspects = (FORWARDING, *found.suspects)
        named = named_places(suspects, places_of(witness), {})
        assert put_first(suspects, witness, named)[0].id == ids[0]


@pytest.mark.parametrize(
    ("good", "bad", "is_suspect"), [(0, 1, True), (1, 3, True), (-1, 0, False)]
)
def test_memory_that_may_not_become_code_is_a_difference(
    good: int, bad: int, *, is_suspect: bool
) -> None:
    """cathugger/mkp224o#124; prctl(2), PR_SET_MDWE."""
    boards = [
        with_value(side(), "process.inherited/process", {"uid": 0, "mdwe": of})
        for of in (good, bad)
    ]
    found = find(boards[0], boards[1], metric("command.time", "grep"), may_set=BOTH)
    assert [s.id for s in found.suspects] == ([NO_NEW_CODE] if is_suspect else [])
    witness = Witness("", 0.1, 1.0, failing=("mmap",))
    suspects = (FORWARDING, *found.suspects)
    assert put_first(suspects, witness)[-1 if is_suspect else 0].id in (NO_NEW_CODE, FORWARDING.id)
    if is_suspect:
        assert put_first(suspects, witness)[0].id == NO_NEW_CODE


def test_a_setting_that_names_the_directory_of_hooks_comes_first(tmp_path: Path) -> None:
    """arxanas/git-branchless#235: both sides have the hook, and one setting leads to it."""
    hook = "/fs/share/hooks/pre-commit"
    opened = (hook, "/usr/lib/python3/json.py", "/usr/lib/libz.so.1")
    witness = Witness("", 0.1, 1.0, bad_files=opened)
    suspects = (FORWARDING, file_of("/fs/motd"), file_of("/fs/settings"))
    places = places_of(witness)
    assert "/fs/share/hooks" in [place.word for place in places]
    assert not [place for place in places if place.word.startswith("/usr/")]
    keys = naming_keys(suspects, places)
    sides = {}
    for which, line in ((Side.GOOD, ""), (Side.BAD, "\thooksPath = /fs/share/hooks\n")):
        (tmp_path / which / "fs").mkdir(parents=True)
        (tmp_path / which / "fs/motd").write_text(f"hooks {line.strip()[:1]}\n")
        text = f"[core]\n{line}".replace("/fs/", f"{tmp_path / which}/fs/")
        (tmp_path / which / "fs/settings").write_text(text)
        sides[which] = digests_on(cast(Board, Here(tmp_path / which)), keys)
    named = named_places(suspects, places, sides)
    assert list(named) == ["userland.file:/fs/settings"]
    first = put_first(suspects, witness, named)[0]
    assert first.id == "userland.file:/fs/settings"
    assert "only the bad side opens what is in it" in first.terms[-1].reason


def test_a_cache_is_not_asked_what_it_names() -> None:
    """fontconfig: the cache of a directory names it, and that speaks for no cache."""
    witness = Witness("", 0.1, 1.0, bad_files=("/srv/fonts/dejavu/a.ttf",))
    caches = ("/var/cache/fontconfig/7ef2-le64.cache-8", "/opt/a/.git/index", "/opt/a/fonts.conf")
    keys = naming_keys(tuple(map(file_of, caches)), places_of(witness))
    assert {key.rpartition(" ")[2] for key in keys} == {"/opt/a/fonts.conf"}
