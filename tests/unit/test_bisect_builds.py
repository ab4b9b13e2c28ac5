"""Commits that are built once for several boards, and commands that fail."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from waiting import has_ended, wait_until

from benchvise.bisect.model import VersionUnbuildable, VersionUnusable
from benchvise.flows.bisect_builds import CommitBuilds, file_name, run_step
from benchvise.interruption import Interruption, heeding

COUNT = 4


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    directory = tmp_path_factory.mktemp("source")
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")

    def git(*words: str) -> str:
        command = ["git", "-C", str(directory), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    for number in range(COUNT):
        (directory / "number").write_text(f"{number}\n")
        git("add", ".")
        git("commit", "-q", "-m", f"commit {number}")
    return directory, git("rev-list", "--reverse", "main").split()


@pytest.fixture
def built(tmp_path: Path) -> Path:
    return tmp_path / "built"


@pytest.fixture
def builds(
    tmp_path: Path, repository: tuple[Path, list[str]], built: Path
) -> Iterator[CommitBuilds]:
    command = f'cat number >>{built}; test "$(cat number)" != 2 || {{ echo "no rule"; exit 2; }}'
    builds = CommitBuilds(repository[0], tmp_path / "tree", command, 2)
    yield builds
    builds.close()
    assert not list(tmp_path.glob("tree*"))


def test_two_boards_share_a_build(
    builds: CommitBuilds, repository: tuple[Path, list[str]], built: Path
) -> None:
    commit = repository[1][1]
    with ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(lambda board: builds.take(commit, board), ("a", "b")))
    assert len({path for path, _ in taken}) == 1
    assert sorted(seconds > 0.0 for _, seconds in taken) == [False, True]
    assert built.read_text() == "1\n"
    assert builds.built("c") == {commit}


def test_a_tree_in_use_is_not_built_over(
    builds: CommitBuilds, repository: tuple[Path, list[str]], built: Path
) -> None:
    _, commits = repository
    trees = {board: builds.take(commits[n], board)[0] for n, board in enumerate("ab")}
    assert [(trees[board] / "number").read_text() for board in "ab"] == ["0\n", "1\n"]
    moved, _ = builds.take(commits[3], "a")
    assert moved == trees["a"]
    assert (trees["b"] / "number").read_text() == "1\n"
    assert builds.built("a") == {commits[1], commits[3]}
    assert builds.take(commits[3], "b")[1] == 0.0
    assert built.read_text() == "0\n1\n3\n"


def test_a_build_that_fails_says_so_with_its_last_line(
    builds: CommitBuilds, repository: tuple[Path, list[str]]
) -> None:
    with pytest.raises(VersionUnbuildable, match="ended with 2: no rule"):
        builds.take(repository[1][2], "a")
    assert builds.built("a") == set()
    assert builds.take(repository[1][1], "a")[1] > 0.0


def test_a_build_for_each_board_knows_the_board(
    tmp_path: Path, repository: tuple[Path, list[str]]
) -> None:
    command = "echo {board} $BENCHVISE_BOARD $BENCHVISE_VERSION >out; test {board} != rig:b"
    builds = CommitBuilds(repository[0], tmp_path / "tree", command, 2)
    commit = repository[1][0]
    path, _ = builds.take(commit, "rig:a")
    assert (path / "out").read_text() == f"rig:a rig:a {commit}\n"
    with pytest.raises(VersionUnusable) as failed:
        builds.take(commit, "rig:b")
    assert not isinstance(failed.value, VersionUnbuildable), "the other board has it"
    assert (builds.built("rig:a"), builds.built("rig:b")) == ({commit}, set())
    builds.close()


def test_an_interrupted_command_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    interruption = Interruption()
    ended = threading.Event()

    def work() -> None:
        with heeding(interruption), pytest.raises(KeyboardInterrupt):
            command = f"(echo $$ >{started}.new; mv {started}.new {started}; sleep 600) | cat"
            run_step("build", command, "v", tmp_path, tmp_path / "log", {}, VersionUnusable)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(started.exists, "the command runs")
    interruption.set()
    thread.join()
    interruption.close()
    assert ended.is_set()
    shell = int(started.read_text())
    wait_until(lambda: has_ended(shell), "it is ended")


def test_boards_have_files_of_their_own() -> None:
    assert file_name("ssh://root@192.0.2.7:22") == "ssh-root-192.0.2.7-22"
    assert file_name("../..") == "board"
