"""Files of the other side that stand before a command alone."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from benchvise.board import Board, Completed
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.benches.file_swap import FileSwap
from benchvise.why.benches.live import means_of
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.explain.remedies import remedies
from benchvise.why.model import SERVICE_FILE_LAYER, Arm, Layer, LayerMeans, Side, Suspect
from benchvise.why.untested import line_as_on_good
from benchvise.why.witness.model import CallsAbout, SideWatch
from benchvise.why.witness.opened import (
    FILE_LAYER,
    HIDDEN,
    NOT_THERE,
    OPENED_FILE,
    differs_further,
    file_suspects,
    origins_of_file,
)


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


def suspects(good: Mapping[str, str], bad: Mapping[str, str]) -> dict[str, Suspect]:
    """Those of a command that opens all of these files, by path to content."""
    calls = tuple(CallsAbout("openat", path, 1, 0, 0.0, 0.0) for path in {**good, **bad})
    watches = {side: SideWatch(calls=calls) for side in Side}
    digests = {Side.GOOD: dict(good), Side.BAD: dict(bad)}
    found = file_suspects(watches, digests, (), can_swap=True)
    return {suspect.id.removeprefix(OPENED_FILE): suspect for suspect in found}


GOOD = {"/fs/etc/conf": "fast\n", "/fs/etc/same": "x\n", "/fs/etc/hook/new.txt": "hook\n"}
BAD = {
    "/fs/etc/conf": "# why\nslow 1\n", "/fs/etc/same": "x\n",
    "/fs/root/.rc": "limit\n", "/fs/bin/shim": "#!/bin/sh\nsleep 1\n",
}  # fmt: skip


@pytest.fixture
def swap(tmp_path: Path) -> FileSwap:
    boards = {}
    for side, files in ((Side.GOOD, GOOD), (Side.BAD, BAD)):
        for path, content in files.items():
            place = Path(f"{tmp_path}/{side}{path}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)
            place.chmod(0o755 if "/bin/" in path else 0o644)
        (tmp_path / str(side) / "fs" / "bin").mkdir(exist_ok=True)
        boards[side] = cast(LiveBoard, Here(str(side), tmp_path / str(side)))
    return FileSwap(boards)


def test_each_kind_of_difference_is_made_for_the_command_alone(swap: FileSwap) -> None:
    """Was: "it takes the other side's file", and nothing that could be tried."""
    found = suspects(GOOD, BAD)
    assert set(found) == {*GOOD, *BAD} - {"/fs/etc/same"}
    arm = Arm(Side.BAD, tuple(found.values()))
    assert means_of(arm) == ([], {})
    binds = swap.attributes(arm)
    assert swap.attributes(arm) is binds  # made once
    read = {name.removeprefix("bind."): Path(source) for name, source in binds.items()}
    assert list(read)[:2] == ["/fs/bin", "/fs/etc"]  # a directory before what stands in it
    assert not any(read["/fs/bin"].iterdir())  # what is executed must be away
    assert (read["/fs/etc"] / "hook/new.txt").read_text() == "hook\n"
    assert (read["/fs/etc"] / "same").read_text() == "x\n"
    assert read["/fs/etc/conf"].read_text() == "fast\n"
    assert read["/fs/root/.rc"].read_text() == ""  # it is read, so an empty one does
    swap.close()
    assert not any(source.exists() for source in read.values())
    again = swap.attributes(Arm(Side.GOOD, (found["/fs/bin/shim"], found["/fs/etc/conf"])))
    shim = Path(again["bind./fs/bin"]) / "shim"
    assert shim.read_text() == BAD["/fs/bin/shim"] and shim.stat().st_mode & 0o777 == 0o755
    assert Path(again["bind./fs/etc/conf"]).read_text() == BAD["/fs/etc/conf"]
    swap.close()


def test_a_program_that_a_link_leads_to_is_found_first_on_the_path(
    swap: FileSwap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory too large to be copied; what the link leads to stays for its other names."""
    monkeypatch.setattr("benchvise.why.benches.file_swap._COPY", "exit 4")
    (tmp_path / "bad/fs/bin/awk").symlink_to("shim")
    program = tmp_path / "good/fs/bin/awk"
    program.write_text("#!/bin/sh\necho good\n")
    program.chmod(0o755)
    found = suspects({"/fs/bin/awk": "1"}, {"/fs/bin/awk": "2", "/fs/bin/shim": "3"})
    attributes = swap.attributes(Arm(Side.BAD, (found["/fs/bin/awk"],)))
    first = Path(attributes["env.PATH"].partition(":")[0])
    assert list(attributes) == ["env.PATH"] and (first / "awk").read_text() == program.read_text()
    with pytest.raises(ArmRefused, match="too large to be copied"):
        swap.attributes(Arm(Side.BAD, (found["/fs/bin/shim"],)))
    swap.close()


def test_checksums_sizes_and_entries_are_read_by_the_board(tmp_path: Path) -> None:
    (tmp_path / "fs" / "full").mkdir(parents=True)
    (tmp_path / "fs" / "full" / "a").write_text("x")
    paths = ["/fs/full", "/fs/full/a", "/fs/none"]
    found = digests_on(cast(Board, Here("it", tmp_path)), paths)
    own = (tmp_path / "fs" / "full").stat().st_size
    assert {path: value for path, value in found.items() if path in paths} == {
        "/fs/full": f"directory 1 {own}",
        "/fs/full/a": f"{hashlib.sha256(b'x').hexdigest()} 1",
    }


def test_what_must_stay_on_its_board_is_not_taken_along(swap: FileSwap, tmp_path: Path) -> None:
    (tmp_path / "good" / "fs/etc/conf").chmod(0o600)
    found = suspects(GOOD, BAD)
    with pytest.raises(ArmRefused, match="not everybody may read it") as refused:
        swap.attributes(Arm(Side.BAD, (found["/fs/root/.rc"], found["/fs/etc/conf"])))
    assert refused.value.suspects == ("userland.file:/fs/etc/conf",)
    swap.close()


def test_of_a_private_file_the_line_is_told_and_not_what_it_says(
    swap: FileSwap, tmp_path: Path
) -> None:
    (tmp_path / "bad" / "fs/etc/conf").chmod(0o600)
    contents = {side: swap.content(side, "/fs/etc/conf") for side in Side}
    assert swap.is_private("/fs/etc/conf")
    assert not swap.is_private("/fs/root/.rc")
    (origin,) = origins_of_file(
        Side.BAD, suspects(GOOD, BAD)["/fs/etc/conf"], contents, is_private=True
    )
    assert (origin.line, origin.text.raw) == (2, HIDDEN)
    swap.close()


def test_which_files_are_tried() -> None:
    good = {
        "/lib/libc.so.6": "1",
        "/var/cache/x": "1",
        "/usr/a/__pycache__/m.pyc": "1",
        "/etc/b": "1",
    }
    bad = dict.fromkeys(good, "2") | {"/root/.curlrc": "2", "/usr/lib/plug.so": "2"}
    found = suspects(good, bad)
    assert {path for path, one in found.items() if one.means is not None} == {
        "/etc/b", "/root/.curlrc", "/usr/lib/plug.so",
    }  # fmt: skip
    assert found["/root/.curlrc"].means == LayerMeans(FILE_LAYER, "/root/.curlrc")
    assert "C library" in found["/lib/libc.so.6"].untestable
    scores = {path: one.log_odds for path, one in found.items()}
    assert scores["/root/.curlrc"] > scores["/etc/b"] > scores["/var/cache/x"]
    many = {f"/usr/lib/{a}{b}": "1" for a in "abcdefgh" for b in "abcdefgh"} | {"/etc/b": "1"}
    found = suspects(many, dict.fromkeys(many, "2"))
    assert [path for path, one in found.items() if one.means is not None] == ["/etc/b"]


def test_directories_and_data_count_where_one_side_has_far_more() -> None:
    good = {"/srv/spool": "directory 3", "/var/lib/db": "a 90000", "/etc/x": "directory 8"}
    bad = {"/srv/spool": "directory 9000", "/var/lib/db": "b 900000", "/etc/x": "directory 9"}
    found = suspects(good, bad)
    assert set(found) == {"/srv/spool", "/var/lib/db"}
    assert found["/srv/spool"].bad == "9000 entries" and found["/srv/spool"].means is None
    assert "900000 on bad" in found["/var/lib/db"].terms[0].reason
    assert (found["/var/lib/db"].good, found["/var/lib/db"].bad) == ("a", "b")


def test_the_line_of_a_file_that_the_other_side_has_not_is_told() -> None:
    (suspect,) = suspects({"/etc/conf": "1"}, {"/etc/conf": "2"}).values()
    contents = {Side.GOOD: b"[a]\nx = 1\n", Side.BAD: b"# why\n[a]\nx = 9\n"}
    (origin,) = origins_of_file(Side.BAD, suspect, contents)
    assert (origin.line, f"{origin.text}") == (3, "x = 9")
    contents[Side.BAD] += b"[core]\n\thooksPath = /opt/hooks\n"
    contents[Side.GOOD] = b"x = 9\n"
    (below,) = origins_of_file(Side.BAD, suspect, contents)
    assert (below.line, f"{below.text}") == (5, "hooksPath = /opt/hooks")  # was: [a]
    (whole,) = origins_of_file(Side.BAD, suspect, {Side.GOOD: None, Side.BAD: b"\0\n"})
    assert whole.line == 0
    (only,) = suspects({}, {"/etc/conf": "2"}).values()
    assert only.good == NOT_THERE and not origins_of_file(Side.GOOD, only, contents)


@pytest.mark.parametrize(
    ("good", "bad", "line"),
    [
        ("[safe]\n\tdirectory = *\n", "[safe]\n\tdirectory = *\n[core]\n\tfsmonitor = /opt/x\n", 4),
        ("[a]\n", '[a]\n\n# mirror\n[remote "origin"]\n  url = /srv/x\n', 5),
        ("events {\n}\n", "events {\n}\nhttp {\n  sendfile off;\n}\n", 4),
        ("user x\n", "user x\n<IfModule a>\n  HostnameLookups On\n</IfModule>\n", 3),
        ("level: 1\n", "level: 1\nlisteners:\n  - slow\n", 3),
        ("set -e\n", "set -e\n[ -x /opt/hook ] && /opt/hook\n", 2),
        ("a = 1\n", "a = 1\n[only]\n", 2),
    ],
)
def test_the_heading_of_a_section_is_not_what_sets_something(
    good: str, bad: str, line: int
) -> None:
    (suspect,) = suspects({"/etc/conf": "1"}, {"/etc/conf": "2"}).values()
    (origin,) = origins_of_file(
        Side.BAD, suspect, {Side.GOOD: good.encode(), Side.BAD: bad.encode()}
    )
    assert origin.line == line


def test_of_more_lines_than_one_none_is_said_to_be_all() -> None:
    """Taken away by itself it left the others, or put them into the section before."""
    (suspect,) = suspects({"/etc/conf": "eed1"}, {"/etc/conf": "ed94"}).values()
    contents = {Side.GOOD: b"a = 1\n", Side.BAD: b"a = 1\nb = 2\n# so\nc = 3\n"}
    origins = origins_of_file(Side.BAD, suspect, contents)
    assert (origins[0].line, differs_further(origins[0])) == (2, True)
    values = {Side.GOOD: "eed1", Side.BAD: "ed94"}
    first = remedies(suspect, origins=origins, side_values=values)[0].text
    assert first.startswith(
        "look at line 2 of /etc/conf: b = 2\n# other lines that the other side's file has not: 1"
    )
    assert line_as_on_good(suspect, (), origins) == ""
    contents[Side.BAD] = b"a = 1\n[b]\nb = 2\n"
    origins = origins_of_file(Side.BAD, suspect, contents)
    assert not differs_further(origins[0])
    first = remedies(suspect, origins=origins, side_values=values)[0].text
    assert first == "remove line 3 of /etc/conf: b = 2"


def _of_service(path: str) -> Suspect:
    return Suspect(
        f"{OPENED_FILE}{path}", path, Layer.USERLAND, "userland.file", "a", "b",
        means=LayerMeans(SERVICE_FILE_LAYER, f"S20web{path}"),
    )  # fmt: skip


def test_a_service_is_started_anew_with_a_copy_over_its_own_file(swap: FileSwap) -> None:
    arm = Arm(Side.BAD, (_of_service("/fs/etc/conf"),))
    ((setting,),) = swap.service_settings(arm).values()
    service, own, other = setting.paths[0].removeprefix("/proc/1/cmdline/").split(",")
    assert (setting.knob.name, setting.value, service) == ("service.file", "other", "S20web")
    assert own == "!fs!etc!conf"
    assert Path(other.replace("!", "/")).read_text() == GOOD["/fs/etc/conf"]
    assert swap.service_settings(arm) == swap.service_settings(arm), "the copy is made once"
    assert swap.attributes(arm) == {}, "the command itself gets nothing"
    assert means_of(arm) == ([], {})
    swap.close()
    assert not Path(other.replace("!", "/")).exists()


def test_no_copy_stands_over_a_directory_of_the_system(swap: FileSwap, tmp_path: Path) -> None:
    """What only the good side has would take a copy of all that is beside it."""
    with pytest.raises(ArmRefused, match="more than what belongs to the service"):
        swap.service_settings(Arm(Side.BAD, (_of_service("/fs/new.txt"),)))
    long = f"/fs/etc/{'n' * 240}"
    (tmp_path / "bad" / long[1:]).write_text("x")
    with pytest.raises(ArmRefused, match="too long"):
        swap.service_settings(Arm(Side.BAD, (_of_service(long),)))
