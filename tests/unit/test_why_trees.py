"""Directories of which one side has far more below them, and names that are only looked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from test_why_opened import SERVICE

from benchvise.board.local import LocalBoard
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.model import Side
from benchvise.why.witness.model import Activity, CallsAbout, SideWatch, Witness, WitnessPart
from benchvise.why.witness.opened import OPENED_FILE, compared_paths, file_suspects
from benchvise.why.witness.touching import put_first
from benchvise.why.witness.trees import tree_suspects
from benchvise.why.witness.watch import merged, plain_path

NONE: dict[Side, dict[str, str]] = {side: {} for side in Side}


def seen(good: Iterable[CallsAbout], bad: Iterable[CallsAbout]) -> dict[Side, SideWatch]:
    return {Side.GOOD: SideWatch(calls=tuple(good)), Side.BAD: SideWatch(calls=tuple(bad))}


def opened(path: str, name: str = "openat") -> CallsAbout:
    return CallsAbout(name, path, 1, 0, 0.01, 0.01)


def missed(path: str, name: str = "newfstatat") -> CallsAbout:
    return CallsAbout(name, path, 1, 1, 0.01, 0.01)


def objects(repository: str, count: int) -> list[CallsAbout]:
    """As git has them: directories by the first byte of a hash, a few files in each."""
    return [opened(f"{repository}/.git/objects/{n % 256:02x}/{n:038x}") for n in range(count)]


def test_a_tree_of_small_directories_is_a_difference_as_a_whole() -> None:
    same = [opened(f"/etc/x/{n}") for n in range(90)] + [opened(f"/usr/lib/{n}") for n in range(99)]
    watches = seen([*same, *objects("/srv/repo", 9)], [*same, *objects("/srv/repo", 900)])
    (suspect,) = tree_suspects(watches, OPENED_FILE, {})
    assert suspect.id == f"{OPENED_FILE}/srv/repo/.git/objects"
    assert (suspect.good, suspect.bad) == ("9 names seen below it", "900 names seen below it")
    for target in ("/srv/repo/.git/objects/", "912 files"):
        part = WitnessPart(Activity.DISK, "openat", target, "git", 0.0, 1.0, 0.9, "waiting")
        assert put_first((SERVICE, suspect), Witness("", 1.0, 2.0, (part,)))[0] is not SERVICE
    files = (f"/srv/repo/.git/objects/07/{7:038x}",)
    only = put_first((SERVICE, suspect), Witness("", 1.0, 2.0, bad_files=files))
    assert only[0].id == suspect.id


def test_what_both_go_through_alike_is_no_difference() -> None:
    few = [opened(f"/srv/site/{n}") for n in range(60)]
    many = [opened(f"/srv/site/{n}") for n in range(150)]
    assert not list(tree_suspects(seen(many, many), OPENED_FILE, {}))
    assert not list(tree_suspects(seen(few, many), OPENED_FILE, {}))  # less than four times
    assert not list(tree_suspects(seen(few[:2], few), OPENED_FILE, {}))  # and few in all


def test_a_tree_that_both_have_alike_is_not_what_makes_one_go_through_it() -> None:
    """boostorg/assert#46: a list of files is made anew at each build, on one side alone."""
    pages = [opened(f"/srv/manual/pages/{n % 80}/{n}") for n in range(900)]
    watches = seen([opened("/srv/manual/x")], [opened("/srv/manual/x"), *pages])
    key = "below /srv/manual/pages"
    assert key in compared_paths(watches)
    for count, is_suspect in (("6400", False), ("20", True), ("", True)):
        digests = {Side.GOOD: {key: count}, Side.BAD: {key: "6400"}}
        assert bool(list(tree_suspects(watches, OPENED_FILE, digests))) is is_suspect


def test_a_directory_that_is_large_by_itself_is_told_once() -> None:
    spool = [opened("/data/spool")] + [opened(f"/data/spool/{n}") for n in range(600)]
    watches = seen(spool[:2], spool)
    digests = {
        Side.GOOD: {"/data/spool": "directory 1 4096"},
        Side.BAD: {"/data/spool": "directory 600 36864"},
    }
    found = [s.id for s in file_suspects(watches, digests, ()) if s.id.endswith("/spool")]
    assert found == [f"{OPENED_FILE}/data/spool"]


@pytest.mark.parametrize("call", ["newfstatat", "faccessat2", "access", "statx"])
def test_a_name_that_is_looked_for_and_there_on_one_side_is_a_difference(call: str) -> None:
    """``[ -e /var/lib/app/upgraded ]`` decides what a script does, and opens nothing."""
    flag = "/var/lib/app/upgraded"
    watches = seen([missed(flag, call)], [opened(flag, call)])
    assert flag in compared_paths(watches)
    digests = {**NONE, Side.BAD: {flag: "aa 0"}}
    (suspect,) = file_suspects(watches, digests, (), can_swap=True)
    assert (suspect.id, suspect.good, suspect.bad) == (f"{OPENED_FILE}{flag}", "not there", "there")
    assert suspect.means is None and suspect.log_odds == 0.0
    other_way = Witness("", 1.0, 2.0, bad_files=("/usr/bin/sha256sum",))
    assert put_first((SERVICE, suspect), other_way)[0].id == suspect.id
    assert not file_suspects(watches, NONE, ())  # and the command has taken it away


def test_a_name_that_only_one_side_looks_for_is_none() -> None:
    assert not [
        p for p in compared_paths(seen([], [opened("/srv/a", "newfstatat")])) if p[-1] == "a"
    ]
    both = seen([missed("/srv/a"), missed("/srv/a", "openat")], [opened("/srv/a")])
    assert "/srv/a" in compared_paths(both)  # as a file that is opened


def test_what_is_executed_is_a_program_wherever_it_lies() -> None:
    hook = "/srv/repo/.git/hooks/post-checkout"
    watches = seen([], [opened(hook, "execve")])
    digests = {**NONE, Side.BAD: {hook: "aa 80"}}
    (suspect,) = file_suspects(watches, digests, (), can_swap=True)
    assert suspect.means is not None and suspect.log_odds > 0
    read = seen([], [replace(opened(hook), name="openat")])
    (data,) = file_suspects(read, digests, (), can_swap=True)
    assert data.means is None


def test_a_lock_that_is_a_directory_or_a_link_is_found(tmp_path: Path) -> None:
    """``mkdir`` and ``ln -s`` fail where one was left behind; the link leads to nothing."""
    (tmp_path / "held").mkdir()
    (tmp_path / "lock").symlink_to("127.0.0.1:+4711")
    for name, call in (("held", "mkdir"), ("lock", "symlink")):
        path = str(tmp_path / name)
        watches = seen([opened(path, call)], [missed(path, call)])
        digests = {**NONE, Side.BAD: digests_on(LocalBoard(), [path])}
        (suspect,) = file_suspects(watches, digests, ())
        assert (suspect.good, suspect.bad) == ("not there", "there")


def test_one_place_has_one_name() -> None:
    assert plain_path("/srv/app/../app/./x//y") == "/srv/app/x/y"
    assert [plain_path(text) for text in ("./x", "pipe", "@bus", "/a/b/")] == [
        "./x", "pipe", "@bus", "/a/b/",
    ]  # fmt: skip
    both = CallsAbout("openat", "/a", 1, 1, 0.5, 0.5), CallsAbout("openat", "/a", 2, 0, 0.25, 0.2)
    assert merged([*both, missed("/a")]) == (
        CallsAbout("openat", "/a", 3, 1, 0.75, 0.5), missed("/a"),
    )  # fmt: skip
