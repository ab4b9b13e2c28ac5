"""Commits that are checked out and built, each once for all boards that measure it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchvise import interruption
from benchvise.bisect.model import VersionUnbuildable, VersionUnusable
from benchvise.errors import BenchviseError, UsageError
from benchvise.flows.bisect_benches import BOARD
from benchvise.text import printable
from benchvise.why.benches.live_board import LiveBoard

_REASON = 300
_WAIT_SECONDS = 0.1  # between two looks whether a command has ended, where nothing wakes


@dataclass
class _Tree:
    """A work tree: what is built in it, and which boards measure that."""

    path: Path
    commit: str = ""
    board: str = ""
    users: set[str] = field(default_factory=set)


class CommitBuilds:
    """Work trees of their own, one a board at most, in which commits are built.

    Your own tree stays as it is. What the commands print is kept in ``logs``. One build at a time:
    it takes the whole machine. ``{board}`` in the build command makes it one for each board.
    Safe to be used by several threads.
    """

    def __init__(self, repository: Path, tree: Path, build: str, boards: int) -> None:
        self.logs = tree.parent / "logs"
        self._repository = repository
        self._command = build
        self._is_shared = BOARD not in build
        names = [tree.name, *(f"{tree.name}-{number}" for number in range(2, boards + 1))]
        self._trees = [_Tree(tree.parent / name) for name in names]
        self._building = threading.Lock()
        self._state = threading.Lock()

    @property
    def first(self) -> Path:
        """The work tree that is used first."""
        return self._trees[0].path

    def built(self, board: str) -> set[str]:
        """The commits that a board can have without building."""
        with self._state:
            return {t.commit for t in self._trees if t.commit and t.board in ("", board)}

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing is built within this context: what is measured is this machine."""
        with self._building:
            interruption.raise_if_set()
            yield

    def take(self, commit: str, board: str) -> tuple[Path, float]:
        """The work tree in which the commit is built, kept for this board until it takes another;
        and the seconds that building took, 0 where another board had it built.

        Raises VersionUnbuildable, or VersionUnusable where only this board's cannot be built.
        """
        key = "" if self._is_shared else board
        path = self._take_built(commit, key, board)
        if path is not None:
            return path, 0.0
        with self._building:
            interruption.raise_if_set()
            path = self._take_built(commit, key, board)  # another board may have waited for it, too
            if path is not None:
                return path, 0.0
            with self._state:
                tree = next((t for t in self._trees if not t.users and not t.commit), None)
                tree = tree or next(t for t in self._trees if not t.users)
                tree.users, tree.commit = {board}, ""
            begun = time.monotonic()
            self._build(tree.path, commit, board)
            with self._state:
                tree.commit, tree.board = commit, key
            return tree.path, time.monotonic() - begun

    def close(self) -> None:
        """Removes the work trees. May be called more than once."""
        for tree in self._trees:
            with contextlib.suppress(BenchviseError):
                if tree.path.exists():
                    git(self._repository, "worktree", "remove", "--force", str(tree.path))

    def _take_built(self, commit: str, key: str, board: str) -> Path | None:
        with self._state:
            for tree in self._trees:
                tree.users.discard(board)
            for tree in self._trees:
                if (tree.commit, tree.board) == (commit, key):
                    tree.users.add(board)
                    return tree.path
        return None

    def _build(self, tree: Path, commit: str, board: str) -> None:
        if not (tree / ".git").exists():
            git(self._repository, "worktree", "prune")
            git(self._repository, "worktree", "add", "--force", "--detach", str(tree), commit)
        else:
            git(tree, "checkout", "--force", "--quiet", "--detach", commit)
        environment = {"BENCHVISE_VERSION": commit}
        name = f"{commit}-build"
        failure: Callable[..., VersionUnusable] = VersionUnbuildable
        if not self._is_shared:
            environment["BENCHVISE_BOARD"] = board
            name, failure = f"{commit}-{file_name(board)}-build", VersionUnusable
        command = self._command.replace(BOARD, shlex.quote(board))
        run_step("build", command, commit, tree, self.logs / f"{name}.log", environment, failure)


class GitMaker:
    """Builds commits, or takes what another board had built, and deploys them on one board."""

    def __init__(
        self, builds: CommitBuilds, deploy: str | None, live: LiveBoard, *, is_alone: bool
    ) -> None:
        self.board = live.name
        self.build_s = 0.0
        self._tree: Path = builds.first
        self._builds = builds
        self._deploy = deploy
        self._live = live
        self._is_alone = is_alone

    @property
    def tree(self) -> Path | None:
        """The work tree of the commit that is ready."""
        return self._tree

    def make(self, version: str) -> LiveBoard | None:
        """Builds and deploys a commit."""
        self.build_s = 0.0
        self._tree, self.build_s = self._builds.take(version, self.board)
        if self._deploy:
            name = version if self._is_alone else f"{version}-{file_name(self.board)}"
            log = self._builds.logs / f"{name}-deploy.log"
            environment = {"BENCHVISE_VERSION": version, "BENCHVISE_BOARD": self.board}
            command = self._deploy.replace(BOARD, shlex.quote(self.board))
            run_step("deploy", command, version, self._tree, log, environment, VersionUnusable)
        return self._live


def run_step(
    step: str,
    command: str,
    version: str,
    tree: Path,
    log: Path,
    environment: Mapping[str, str],
    failure: Callable[..., VersionUnusable],
) -> None:
    """Runs a command of the user's in a work tree; raises ``failure`` where it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    code = _run_logged(command, tree, log, environment)
    if code != 0:
        raise failure(
            f"{version}: the {step} command ended with {code}: {_last_line(log)}", f"see {log}"
        )


def file_name(board: str) -> str:
    """A board's name as part of a file's."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", board).strip("-.") or "board"


def git(directory: Path, *words: str) -> str:
    """What git prints; UsageError with its last line where it fails."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(directory), *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror}", "install git") from error
    if answer.returncode != 0:
        lines = answer.stderr.strip().splitlines() or ["it failed"]
        raise UsageError(
            f"git {words[0]} in {directory}: {printable(lines[-1], _REASON)}",
            "see `git status` there",
        )
    return answer.stdout


def commits(repository: Path, good: str, bad: str) -> list[str]:
    """The commits from the good one to the bad one, by first parents; 12 hex digits each."""
    first, last = _commit(repository, good), _commit(repository, bad)
    listed = git(
        repository, "rev-list", "--reverse", "--first-parent", "--ancestry-path", f"{first}..{last}"
    ).split()
    if not listed or listed[-1] != last:
        raise UsageError(
            f"{good} is not before {bad} in the first parents of {repository}",
            "swap --good and --bad, or name commits of one branch",
        )
    return [commit[:12] for commit in (first, *listed)]


def _commit(repository: Path, name: str) -> str:
    """The whole id of a commit; UsageError where the repository has none of that name."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    try:
        return git(repository, *arguments).strip()
    except UsageError as error:
        if not repository.is_dir():
            raise UsageError(f"there is no directory {repository}", "name a repository") from error
        raise UsageError(
            f"{repository} has no commit '{printable(name, 60)}'", "see `git log` there"
        ) from error


def _run_logged(command: str, directory: Path, log: Path, environment: Mapping[str, str]) -> int:
    """Runs a command of the user's to its end; on an interrupt all that it started is ended."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **environment},
        )
        try:
            return _wait(process)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Its exit code; KeyboardInterrupt where this thread is interrupted meanwhile."""
    waking = interruption.waking()
    if waking is None:
        return process.wait()
    if not hasattr(os, "pidfd_open"):  # not Linux: no descriptor tells of its end
        while process.poll() is None:
            interruption.sleep(_WAIT_SECONDS)
        return process.wait()
    ended = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(waking, select.POLLIN)
        poll.poll()
        interruption.raise_if_set()
    finally:
        os.close(ended)
    return process.wait()


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_bytes()[-4096:].split(b"\n") if line.strip()]
    return printable(lines[-1].decode(errors="replace"), _REASON) if lines else "it printed nothing"
