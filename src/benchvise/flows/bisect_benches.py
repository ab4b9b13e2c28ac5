"""What makes versions measurable on a board: a word in a command, a build of a commit, an image."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from benchvise.bisect.model import VersionUnusable
from benchvise.board import open_board
from benchvise.board.channel import NotAvailable
from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    MeasurementError,
    ProbeError,
    UsageError,
)
from benchvise.flows.boards import open_boards
from benchvise.flows.request import UserCommand
from benchvise.measure.model import MetricKind
from benchvise.measure.suite import SuiteEntry, parse_bench
from benchvise.rig.environment import PREFIX, find_rig_file, is_rig, load_rig
from benchvise.text import printable
from benchvise.why.benches.live_board import LiveBoard

if TYPE_CHECKING:
    from benchvise.rig.hold.board import BootSession

T = TypeVar("T")

PLACE = "{}"
"""What stands for the version in a command."""
TREE = "{tree}"
"""What stands for the directory of the build."""

_TRIES = 2  # of a boot, and of a process on a board that came back
_REASON = 300


@dataclass(frozen=True, slots=True)
class VersionMetric:
    """What is measured of each version: a benchmark, or a command in which it is named."""

    bench: str | None
    command: UserCommand | None

    def entry(self, version: str, tree: Path | None = None) -> SuiteEntry:
        """What is measured of that version."""
        if self.command is None:
            assert self.bench is not None  # noqa: S101 - one of the two, checked before
            return parse_bench(self.bench)
        line = self.command.line.replace(PLACE, shlex.quote(version))
        if tree is not None:
            line = line.replace(TREE, shlex.quote(str(tree)))
        return replace(self.command, line=line).entry()


class Maker(Protocol):
    """Makes versions ready to be measured."""

    @property
    def tree(self) -> Path | None:
        """Where they are built, if they are."""

    def make(self, version: str) -> LiveBoard | None:
        """Makes the version ready; the board where it is another connection than before.

        Raises VersionUnusable and BoardUnreachable.
        """


@dataclass
class BoardBench:
    """The bench of a bisection (``bisect.model.VersionBench``) on one board.

    The first version is made ready when this is opened, which tells what is measured.
    """

    names: Sequence[str]
    metric: VersionMetric
    maker: Maker
    _live: LiveBoard | None = None
    _kind: MetricKind = field(init=False)

    def __post_init__(self) -> None:
        self.ready(0)
        live = self._board()
        spec = self._entry(0).specs(live.registry)
        live.spec = spec[0]
        _, self._kind = _explained(self.names[0], live.first)

    def key(self, version: int) -> str:
        """The key of the series that measures a version, as runs have it."""
        return self._entry(version).specs(self._board().registry)[0].key

    @property
    def unit(self) -> str:
        """The value's unit; empty where nobody said one."""
        return self._kind.unit

    @property
    def better(self) -> Literal["higher", "lower"]:
        """Which way the value is better."""
        return self._kind.better

    def ready(self, version: int) -> None:
        """Builds, writes or boots the version."""
        version_made = self.maker.make(self.names[version])
        if version_made is not None:
            batches = self._live.batches if self._live is not None else None
            self._live = version_made
            if batches is not None:
                version_made.batches = batches

    def measure(self, version: int) -> float:
        """The median of one fresh process of the version that is ready."""
        for attempt in range(_TRIES):
            try:
                return _explained(self.names[version], lambda: self._value(version))
            except (BoardUnreachable, ProbeError) as error:
                if attempt + 1 == _TRIES:
                    raise
                self._board().settle(error)
        raise AssertionError("the last try returns or raises")

    def _value(self, version: int) -> float:
        live = self._board()
        spec = self._entry(version).specs(live.registry)[0]
        return statistics.median(live.process(spec).values)

    def _entry(self, version: int) -> SuiteEntry:
        return self.metric.entry(self.names[version], self.maker.tree)

    def _board(self) -> LiveBoard:
        assert self._live is not None  # noqa: S101 - the first version was made ready
        return self._live


def _explained(version: str, act: Callable[[], T]) -> T:
    """Runs a measurement; one that this version cannot do says so of the version."""
    try:
        return act()
    except (NotAvailable, MeasurementError, UsageError) as error:
        raise VersionUnusable(
            f"{version} cannot be measured: {error.message}", error.remedy
        ) from error


# -- versions that a command names -----------------------------------------------------------------


class CommandMaker:
    """Nothing is built: the command has the version in it."""

    tree: Path | None = None

    def __init__(self, live: LiveBoard) -> None:
        self._live = live

    def make(self, version: str) -> LiveBoard | None:  # noqa: ARG002 - the command names it
        """The board."""
        return self._live


def open_live(board: str, rig: str | None, entry: SuiteEntry, stack: ExitStack) -> LiveBoard:
    """The board, held open by ``stack``. Raises what opening it raises."""
    opened, failed = open_boards([board], stack, rig_file=rig)
    if failed:
        raise failed[0][1]
    if len(opened) != 1:
        raise UsageError(f"{board} is more than one board", "name one")
    reached = opened[0][0]

    def reopen() -> object:
        if not is_rig(reached.name):
            return open_board(reached.name)
        from benchvise.rig.hold.board import open_board as open_in_rig  # labgrid takes its time

        return open_in_rig(reached.name, rig)

    live = LiveBoard(reached, reopen, entry)  # type: ignore[arg-type]
    stack.callback(live.close)
    return live


# -- commits ---------------------------------------------------------------------------------------


class GitMaker:
    """Checks commits out into a work tree of its own, builds and deploys them.

    Your own tree stays as it is. What the commands print is kept in ``logs``.
    """

    def __init__(
        self,
        repository: Path,
        tree: Path,
        build: str,
        deploy: str | None,
        live: LiveBoard,
    ) -> None:
        self.tree: Path = tree
        self._repository = repository
        self._commands = [("build", build)] + ([("deploy", deploy)] if deploy else [])
        self._logs = tree.parent / "logs"
        self._live = live

    def make(self, version: str) -> LiveBoard | None:
        """Builds and deploys a commit."""
        self._logs.mkdir(parents=True, exist_ok=True)
        if not (self.tree / ".git").exists():
            git(self._repository, "worktree", "prune")
            git(self._repository, "worktree", "add", "--force", "--detach", str(self.tree), version)
        else:
            git(self.tree, "checkout", "--force", "--quiet", "--detach", version)
        for step, command in self._commands:
            log = self._logs / f"{version}-{step}.log"
            code = _run_logged(command, self.tree, log, {"BENCHVISE_VERSION": version})
            if code != 0:
                raise VersionUnusable(
                    f"{version}: the {step} command ended with {code}: {_last_line(log)}",
                    f"see {log}",
                )
        return self._live

    def close(self) -> None:
        """Removes the work tree. May be called more than once."""
        with contextlib.suppress(BenchviseError):
            if self.tree.exists():
                git(self._repository, "worktree", "remove", "--force", str(self.tree))


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
            return process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_bytes()[-4096:].split(b"\n") if line.strip()]
    return printable(lines[-1].decode(errors="replace"), _REASON) if lines else "it printed nothing"


# -- images ----------------------------------------------------------------------------------------


class ImageMaker:
    """Writes images to the card of one board of a rig, and boots them."""

    tree: Path | None = None

    def __init__(self, session: BootSession, entry: SuiteEntry) -> None:
        self._session = session
        self._entry = entry
        self._live: LiveBoard | None = None

    def make(self, version: str) -> LiveBoard | None:
        """The board, booted from that image."""
        from benchvise.rig.boot.verdict import BootError
        from benchvise.rig.faults import FlashError

        self.close()
        image = Path(version)
        for attempt in range(_TRIES):  # a board may fail once without its image being to blame
            try:
                board = self._session.boot(image)
                break
            except (BootError, FlashError) as error:
                if attempt + 1 == _TRIES:
                    raise VersionUnusable(
                        f"{version} does not boot: {error.message}", error.remedy
                    ) from error
        self._live = LiveBoard(board, lambda: self._session.boot(image), self._entry)
        self._live.first()
        return self._live

    def close(self) -> None:
        """Ends the connection to the board as it is booted now."""
        if self._live is not None:
            self._live.close()
            self._live = None


def open_session(board: str, rig: str | None, stack: ExitStack) -> BootSession:
    """One board of a rig, held until ``stack`` closes. Raises what holding it raises."""
    if not is_rig(board):
        raise UsageError(
            f"{board} is no board of a rig, and --images are written to cards", "name rig:NAME"
        )
    loaded = load_rig(find_rig_file(rig))
    names = loaded.select([board.removeprefix(PREFIX)])
    if len(names) != 1:
        raise UsageError(f"{board} is {len(names)} boards", "name one")
    from benchvise.rig.hold.board import BootSession  # labgrid takes its time

    session = BootSession(loaded, names[0], "bisect")
    stack.callback(session.close)
    return session
