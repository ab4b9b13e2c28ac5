"""Many files of one directory that one side alone has are one suspect, and are tried together."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from benchvise.board import Completed
from benchvise.why.benches.file_swap import FileSwap
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.explain.session_remedies import of_files
from benchvise.why.model import Arm, LayerMeans, Side, Suspect
from benchvise.why.witness.grouped import is_group
from benchvise.why.witness.model import CallsAbout, SideWatch
from benchvise.why.witness.opened import (
    FILE_LAYER,
    NOT_THERE,
    OPENED_FILE,
    file_suspects,
    origins_of_file,
)

COMPLETIONS = "/fs/etc/bash_completion.d"


def suspects(good: Sequence[str], bad: Sequence[str]) -> dict[str, Suspect]:
    """Those of a command that reads these files on each side; all of one name differ."""
    opened = {Side.GOOD: good, Side.BAD: bad}
    watches = {
        side: SideWatch(calls=tuple(CallsAbout("read", path, 1, 0, 0.0, 0.0) for path in paths))
        for side, paths in opened.items()
    }
    digests = {side: {path: str(side)[0] * 64 for path in paths} for side, paths in opened.items()}
    found = file_suspects(watches, digests, (), can_swap=True)
    return {suspect.id.removeprefix(OPENED_FILE): suspect for suspect in found}


def tools(place: str, number: int) -> list[str]:
    return [place.format(n) for n in range(number)]


@pytest.mark.parametrize(
    ("place", "group"),
    [
        ("/etc/bash_completion.d/tool{}", "/etc/bash_completion.d"),
        ("/root/.vim/pack/all/start/part{}/plugin/part.vim", "/root/.vim/pack/all/start"),
        ("/opt/app/conf.d/{}.conf", "/opt/app/conf.d"),
        ("/usr/lib/python3.11/module{}.py", ""),  # another system, and no plug-ins
        ("/etc/{}.conf", ""),
    ],
)
def test_files_of_one_directory_are_one(place: str, group: str) -> None:
    found = suspects(["/etc/conf"], ["/etc/conf", *tools(place, 12)])
    assert set(found) == ({"/etc/conf", group} if group else {"/etc/conf", *tools(place, 12)})
    if group:
        made = found[group]
        assert is_group(made)
        assert made.means == LayerMeans(FILE_LAYER, group)
        assert (made.good, made.bad) == (NOT_THERE, "12 files")
        assert made.log_odds > found["/etc/conf"].log_odds
        (origin,) = origins_of_file(Side.BAD, made)
        assert str(origin.file) == group
        assert str(origin.text).endswith("and 9 others")
        assert origins_of_file(Side.GOOD, made) == ()


def test_of_very_many_none_is_tried_alone_and_the_directory_is_named() -> None:
    (found,) = suspects([], tools("/etc/lab/ca/471d8067.{}", 500)).values()
    assert (found.id, found.bad, found.means) == (f"{OPENED_FILE}/etc/lab/ca", "500 files", None)
    assert found.untestable


def test_few_files_stay_apart_and_each_side_is_for_itself() -> None:
    few = tools("/etc/a.d/{}", 7)
    assert set(suspects([], few)) == set(few)
    found = suspects(tools("/etc/a.d/good{}", 9), tools("/etc/b.d/bad{}", 9))
    assert (found["/etc/a.d"].bad, found["/etc/b.d"].good) == (NOT_THERE, NOT_THERE)


@dataclass
class Here:
    """A board whose files below /fs lie in a directory of this machine."""

    name: str
    root: Path
    boots: int = 0

    @property
    def board(self) -> Here:
        return self

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 0) -> Completed:  # noqa: A002
        words = [f"{self.root}{word}" if word.startswith("/fs") else word for word in argv]
        done = subprocess.run(words, input=input, capture_output=True, timeout=timeout, check=False)
        return Completed(done.returncode, done.stdout.replace(f"{self.root}".encode(), b""), b"")


def test_all_are_away_or_there_together_by_one_copy_of_the_directory(tmp_path: Path) -> None:
    own, many = f"{COMPLETIONS}/ip", tools(f"{COMPLETIONS}/tool{{}}", 9)
    files: Mapping[Side, Sequence[str]] = {Side.GOOD: [own], Side.BAD: [own, *many]}
    for side, paths in files.items():
        for path in paths:
            place = Path(f"{tmp_path}/{side}{path}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("complete\n")
            place.chmod(0o644)
    boards = {side: cast(LiveBoard, Here(str(side), tmp_path / str(side))) for side in Side}
    swap = FileSwap(boards)
    group = suspects([], many)[COMPLETIONS]
    for side, expected in (
        (Side.BAD, {"ip"}),
        (Side.GOOD, {"ip", *(f"tool{n}" for n in range(9))}),
    ):
        binds = swap.attributes(Arm(side, (group,)))
        assert list(binds) == [f"bind.{COMPLETIONS}"]
        (copy,) = binds.values()
        assert {path.name for path in Path(copy).iterdir()} == expected
    swap.close()


def test_plug_ins_are_away_with_all_that_belongs_to_them(tmp_path: Path) -> None:
    """Each is a directory of its own, and the command opens a file of each."""
    start = "/fs/root/.vim/start"
    many = tools(f"{start}/part{{}}/plugin/part.vim", 9)
    own = f"{start}/tabs/plugin/tabs.vim"
    for side, paths in ((Side.GOOD, [own]), (Side.BAD, [own, *many])):
        for path in paths:
            place = Path(f"{tmp_path}/{side}{path}")
            (place.parent.parent / "doc").mkdir(parents=True)
            place.parent.mkdir()
            place.touch()
    boards = {side: cast(LiveBoard, Here(str(side), tmp_path / str(side))) for side in Side}
    swap = FileSwap(boards)
    (copy,) = swap.attributes(Arm(Side.BAD, (suspects([], many)[start],))).values()
    assert {path.name for path in Path(copy).iterdir()} == {"tabs"}
    assert (Path(copy) / "tabs" / "plugin" / "tabs.vim").exists()
    assert len(list(Path(f"{tmp_path}/bad{start}").iterdir())) == 10  # the board's own stay
    swap.close()


def test_what_is_moved_away_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "conf.d"
    place.mkdir()
    for name in ("a", "b", "own"):
        (place / name).write_text(name)
    (remedy,) = of_files(str(place), [f"{place}/a", f"{place}/b"])
    subprocess.run(["sh", "-c", remedy.text], check=True)
    assert [path.name for path in place.iterdir()] == ["own"]
    listed = subprocess.run(["tar", "-tf", f"{place}.away.tar"], capture_output=True, check=True)
    assert listed.stdout.split() == [b"a", b"b"]
