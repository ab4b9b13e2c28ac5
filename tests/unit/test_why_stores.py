"""Files of stores, which mean nothing alone: never given to a command, and never lost by a copy."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import cast

import pytest
from test_why_file_swap import Here
from why_bench import MemoryBench, diagnose, losses

from benchvise.errors import MeasurementError
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.file_swap import FileSwap
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.model import Arm, DiagnosisVerdict, Side, Stop, Trial
from benchvise.why.witness.model import CallsAbout, SideWatch
from benchvise.why.witness.opened import OPENED_FILE, file_suspects
from benchvise.why.witness.stores import is_database, is_of_store
from benchvise.why.witness.written import changed_paths

SETTINGS_OF_GIT = ("config", "hooks/pre-commit", "info/exclude", "info/attributes", "description")
"""By gitrepository-layout(5): what people write there."""


def test_what_git_made_is_told_from_what_people_write(tmp_path: Path) -> None:
    """By a repository that git itself made, with packs, a graph, tags and a worktree."""
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (
        ("init", "-q"),
        ("commit", "-q", "--allow-empty", "-m", "1"),
        ("tag", "-a", "-m", "1", "v1"),
        ("worktree", "add", "-q", ".git/tree"),
        ("gc", "-q"),
        ("commit-graph", "write", "--no-progress"),
        ("commit", "-q", "--allow-empty", "-m", "2"),
    ):
        subprocess.run((*git, *words), check=True, capture_output=True)
    place = tmp_path / ".git"
    (place / "info").mkdir(exist_ok=True)
    (place / "info/attributes").touch()
    made = {str(p.relative_to(place)) for p in place.rglob("*") if p.is_file()}
    stored = {name for name in made if is_of_store(f"/opt/x/.git/{name}")}
    rest = made - stored
    assert {n for n in stored if n.startswith(("hooks/", "config", "info/"))} == set()
    assert not [n for n in rest if n.startswith(("objects/", "refs/", "logs/"))]
    assert {"index", "HEAD", "packed-refs"} <= stored
    assert {"config", "description"} <= rest
    assert not any(is_of_store(f"/opt/x/.git/{name}") for name in SETTINGS_OF_GIT)
    assert is_of_store("/srv/mirror.git/objects/pack/pack-1.idx")


@pytest.mark.parametrize(
    ("path", "is_stored"),
    [
        ("/opt/app/data.db-wal", True),
        ("/opt/app/run.pid", True),
        ("/opt/app/agent.sock", True),
        ("/opt/cache/blobs/sha256/0123", True),
        ("/opt/cas/02/a1f9355e832e24c48e05d630b905415918c9ff", True),
        ("/opt/app/Cargo.lock", False),
        ("/etc/ssl/certs/0123456789012345678901234567890123456789.pem", False),
        ("/opt/app/app.conf", False),
        ("/opt/app/object", False),
        ("/etc/app/index", False),
    ],
)
def test_parts_of_stores_are_known_by_their_names(path: str, is_stored: bool) -> None:
    assert is_of_store(path) is is_stored


def test_data_of_databases_are_known_by_their_names() -> None:
    assert is_database("/opt/parts.db") and is_database("/data/app/t.ibd")
    assert not is_database("/etc/aliases.db") and not is_database("/usr/share/x/magic.db")


def opening(*paths: str) -> dict[Side, SideWatch]:
    """A command that opens these on both sides."""
    calls = tuple(CallsAbout("openat", path, 1, 0, 0.0, 0.0) for path in paths)
    return {side: SideWatch(calls=calls) for side in Side}


def test_objects_of_a_repository_are_not_given_to_a_command() -> None:
    """arxanas/git-branchless#235: an object stood before the settings of git. With the copy of its
    directory went the new commits, and the repository could not be read any more."""
    settings, store = "/etc/gitconfig", "/opt/settings/.git/objects/fd/" + "9e" * 19
    compiled, socket, rows = "/opt/a/__pycache__/m.pyc", "/opt/a/door", "/opt/a/parts.db"
    good = {settings: "a", rows: "a 10", socket: "special"}
    bad = {settings: "b", store: "b", compiled: "b", socket: "b", rows: "b 10"}
    watches = opening(*good, *bad)
    suspects = file_suspects(watches, {Side.GOOD: good, Side.BAD: bad}, (), can_swap=True)
    found = {s.id.removeprefix(OPENED_FILE): s for s in suspects}
    assert found[store].means is None and "of its store" in found[store].untestable
    assert found[socket].means is None and "socket" in found[socket].untestable
    assert found[settings].means is not None
    assert max(found.values(), key=lambda s: s.log_odds) is found[settings]
    assert found[compiled].log_odds < -3 and found[rows].log_odds < -3


def test_a_directory_that_the_command_writes_to_is_not_covered_by_a_copy(tmp_path: Path) -> None:
    """Of a store that nothing knows by its name: what is written there would be lost."""
    boards = {}
    for side in Side:
        (tmp_path / str(side) / "fs/opt/heap/parts").mkdir(parents=True)
        boards[side] = cast(LiveBoard, Here(str(side), tmp_path / str(side)))
    part, plug = "/fs/opt/heap/parts/first", "/fs/opt/heap/parts/__pycache__/x.pyc"
    (tmp_path / f"good{part}").write_text("x")
    (tmp_path / f"good{plug}").parent.mkdir()
    (tmp_path / f"good{plug}").write_text("x")
    swap = FileSwap(boards)
    digests: dict[Side, dict[str, str]] = {Side.GOOD: {part: "1", plug: "1"}, Side.BAD: {}}
    suspects = file_suspects(opening(part, plug), digests, (), can_swap=True)
    found = {s.id.removeprefix(OPENED_FILE): s for s in suspects}
    assert "bind./fs/opt/heap/parts" in swap.attributes(Arm(Side.BAD, (found[part],)))
    swap.close()
    writes = (CallsAbout("link", "/fs/opt/heap/parts/new", 1, 0, 0.0, 0.0),)
    swap.written = changed_paths(writes)
    with pytest.raises(ArmRefused, match="would be lost") as refused:
        swap.attributes(Arm(Side.BAD, (found[part],)))
    assert refused.value.suspects == (found[part].id,)
    assert swap.attributes(Arm(Side.BAD, (found[plug],)))  # made anew where it is missing
    swap.close()


FAILS = "'git commit' failed (exit 128): fatal: could not parse HEAD"


def test_an_arm_in_which_the_command_fails_is_set_aside() -> None:
    """Nothing is excluded by it, and the search goes on to the cause."""
    bench = MemoryBench(
        ("object", "hooks", "other"), losses(hooks=0.7), fails=frozenset({"object"})
    )
    found = diagnose(bench)
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    assert [cause.name for cause in found.causes] == ["hooks"]
    excluded = {name for e in found.experiments if e.share is not None for name in e.flipped}
    assert "object" not in excluded


def test_what_had_been_set_before_a_side_began_to_fail_is_said() -> None:
    class Broken(MemoryBench):
        broken = False

        def measure(self, arm: Arm) -> Trial:
            if arm.flipped:
                self.broken = True
            elif self.broken and arm.side is Side.BAD:
                raise MeasurementError(FAILS)
            return super().measure(arm)

    found = diagnose(Broken(("object",), losses(object=0.7)))
    assert found.stopped is Stop.FAILED
    assert "could not parse HEAD; the trial before that had set object" in found.reached
