"""What a bisection is asked: the options of the command line, checked, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from benchvise.command import (
    RIG_OPTION,
    STORE_OPTION,
    WAIT_OPTION,
    CommandArgument,
    CommandOption,
    ObservedBoardsOptions,
)
from benchvise.documents import computed
from benchvise.errors import UsageError
from benchvise.flows.request import UserCommand
from benchvise.kept_request import kept_request
from benchvise.rig.environment import PREFIX, is_rig
from benchvise.text import printable

_FORMAT = 1
_MOST_VERSIONS = 100_000


@dataclass(frozen=True, kw_only=True)
class BisectOptions(ObservedBoardsOptions):
    """What is bisected, how it is measured, and when to stop."""

    boards: Annotated[
        tuple[str, ...],
        CommandArgument(
            "[BOARD]...",
            "local, USER@HOST, an IP address, ssh://HOST:PORT, rig:NAME; several are measured at "
            "once, also rig:all, rig:tag=FEATURE, or those that are free: rig:N=FEATURE.",
        ),
    ] = ()
    good: Annotated[
        str | None, CommandOption("--good", "The version that is good.", metavar="A")
    ] = None
    bad: Annotated[
        str | None, CommandOption("--bad", "The version that is worse.", metavar="B")
    ] = None
    versions: Annotated[
        str | None,
        CommandOption(
            "--versions",
            "The versions in their order, with commas between, or @FILE with one a line; --command "
            "names one by {}.",
            metavar="LIST",
        ),
    ] = None
    git: Annotated[
        Path | None,
        CommandOption(
            "--git",
            "The versions are commits of this repository; they are built in a work tree of "
            "their own.",
            metavar="DIR",
        ),
    ] = None
    build: Annotated[
        str | None,
        CommandOption(
            "--build",
            "Builds a commit, in its work tree here: once for all boards, or with {board} in it "
            "for each.",
            metavar="CMD",
        ),
    ] = None
    deploy: Annotated[
        str | None,
        CommandOption(
            "--deploy",
            "Puts what was built on the board, {board}; runs here.",
            metavar="CMD",
        ),
    ] = None
    images: Annotated[
        str | None,
        CommandOption(
            "--images",
            "The versions are images, listed as by --versions, or all of a directory by name; "
            "written to the card of BOARD and booted.",
            metavar="LIST",
        ),
    ] = None
    bench: Annotated[
        str | None,
        CommandOption("--bench", "The benchmark that is worse.", metavar="ID[:param=value,...]"),
    ] = None
    command: Annotated[
        str | None,
        CommandOption(
            "--command",
            "A command of yours that is worse: its time, or with --match, what it prints. {} is "
            "the version, {board} the board, {tree} the work tree of --git.",
            metavar="CMD",
        ),
    ] = None
    match: Annotated[
        str | None,
        CommandOption(
            "--match",
            "Finds the number in the command's output: the first group of the last match.",
            metavar="REGEX",
        ),
    ] = None
    better: Annotated[
        str | None,
        CommandOption("--better", "Which way that number is better.", metavar="higher|lower"),
    ] = None
    unit: Annotated[
        str | None, CommandOption("--unit", "The unit of that number.", metavar="TEXT")
    ] = None
    confidence: Annotated[
        float,
        CommandOption(
            "--confidence",
            "Percent of such answers that are to be right.",
            metavar="P",
            minimum=50,
            maximum=99.99,
        ),
    ] = 95.0
    least: Annotated[
        float,
        CommandOption(
            "--least",
            "The least change that counts, in percent of the value.",
            metavar="P",
            minimum=0.001,
            maximum=1000,
        ),
    ] = 1.0
    budget: Annotated[
        float | None,
        CommandOption(
            "--budget",
            "Minutes after which it stops and answers with what is known.",
            metavar="MIN",
            minimum=0,
        ),
    ] = None
    parallel: Annotated[
        str,
        CommandOption(
            "--parallel",
            "How many boards that share nothing are measured at once (none: all in turn).",
            metavar="N|auto|none",
        ),
    ] = "auto"
    good_run: Annotated[
        str | None,
        CommandOption(
            "--good-run",
            "A run of the store that measured the good version on this board: the search then "
            "knows its level, and takes fewer samples.",
            metavar="RUN",
        ),
    ] = None
    bad_run: Annotated[
        str | None,
        CommandOption("--bad-run", "The same of the bad version.", metavar="RUN"),
    ] = None
    store: Annotated[str | None, STORE_OPTION] = None
    output: Annotated[
        Path | None,
        CommandOption(
            "-o",
            "Where the journal and the work tree go.",
            metavar="DIR",
            default_text="a new directory beside the journals of settings",
        ),
    ] = None
    resume: Annotated[
        Path | None,
        CommandOption(
            "--resume",
            "Go on with a bisection that was stopped; it knows what it was asked.",
            metavar="DIR",
        ),
    ] = None
    rig_file: Annotated[str | None, RIG_OPTION] = None
    wait: Annotated[str | None, WAIT_OPTION] = None


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """What the user asks for. ``names`` are the versions from the good one to the bad one;
    ``confidence`` and ``least`` are shares. ``more_boards`` are those besides the first."""

    board: str
    kind: str
    names: tuple[str, ...]
    bench: str | None
    command: UserCommand | None
    confidence: float
    least: float
    budget_min: float | None = None
    git: str = ""
    build: str = ""
    deploy: str | None = None
    rig: str | None = None
    good_run: str | None = None
    bad_run: str | None = None
    more_boards: tuple[str, ...] = ()
    parallel: str = "auto"

    @property
    def boards(self) -> tuple[str, ...]:
        """The boards as they were named."""
        return (self.board, *self.more_boards)

    @property
    def is_of_several(self) -> bool:
        """Whether they are, or may be, more than one board."""
        selector = self.board.removeprefix(PREFIX)
        is_set = selector == "all" or ("=" in selector and not selector.startswith("any="))
        return bool(self.more_boards) or (is_rig(self.board) and is_set)

    @computed.before("board")
    def format(self) -> int:
        """Raised when the meaning of a field changes."""
        return _FORMAT


def bisect_request(options: BisectOptions) -> BisectRequest:
    """The options, checked; UsageError names what is missing or too much."""
    from benchvise.board import full_name
    from benchvise.rig.lanes import check_parallel

    sources = {"--versions": options.versions, "--git": options.git, "--images": options.images}
    named = [name for name, value in sources.items() if value is not None]
    if len(named) != 1:
        raise UsageError(
            "which versions?" if not named else f"{' and '.join(named)} exclude each other",
            "give one of --versions LIST, --git DIR, --images LIST",
        )
    if options.good is None or options.bad is None:
        raise UsageError(
            "which version is good, and which one is worse?", "give --good A and --bad B"
        )
    kind = named[0].removeprefix("--")
    _check_metric(options, kind)
    if (options.build is not None or options.deploy is not None) and kind != "git":
        raise UsageError("--build and --deploy are for commits", "give --git DIR")
    command = None
    if options.command is not None:
        command = UserCommand(options.command, options.match, options.better, options.unit)
        command.entry()
    boards = tuple(dict.fromkeys(full_name(board) for board in options.boards or ("local",)))
    request = BisectRequest(
        board=boards[0],
        more_boards=boards[1:],
        parallel=options.parallel,
        kind=kind,
        names=_names(options, kind),
        bench=options.bench,
        command=command,
        confidence=options.confidence / 100.0,
        least=options.least / 100.0,
        budget_min=options.budget,
        git="" if options.git is None else str(options.git.resolve()),
        build=options.build or "",
        deploy=options.deploy,
        rig=options.rig_file,
        good_run=options.good_run,
        bad_run=options.bad_run,
    )
    check_parallel(request.parallel)
    if request.is_of_several and (request.good_run or request.bad_run):
        raise UsageError(
            "--good-run and --bad-run are of one board",
            "name one board, or leave them out: each board measures both ends itself",
        )
    return request


def _check_metric(options: BisectOptions, kind: str) -> None:
    if (options.bench is None) == (options.command is None):
        raise UsageError(
            "what is measured?" if options.bench is None else "two things to measure",
            "give one: --bench memory.copy, or --command CMD",
        )
    if options.command is None and (options.match or options.better or options.unit):
        raise UsageError("--match, --better and --unit belong to a command", "add --command")
    if options.better not in (None, "higher", "lower"):
        raise UsageError(f"--better {options.better}: it is higher or lower", "say one of them")
    if kind == "versions" and (options.command is None or "{}" not in options.command):
        raise UsageError(
            "--versions are named by a command, and none has {} in it",
            "give --command 'CMD {}'",
        )
    if kind == "git" and options.build is None:
        raise UsageError("commits have to be built", "give --build CMD (`--build true`: nothing)")


def _names(options: BisectOptions, kind: str) -> tuple[str, ...]:
    """The versions from the good one to the bad one."""
    good, bad = str(options.good), str(options.bad)
    if kind == "git":
        from benchvise.flows.bisect_builds import commits

        assert options.git is not None  # noqa: S101 - it is the kind
        names = commits(options.git, good, bad)
    else:
        listed = _listed(str(options.versions or options.images), images=kind == "images")
        if kind == "images":
            good, bad = str(Path(good).resolve()), str(Path(bad).resolve())
        for option, name in (("--good", good), ("--bad", bad)):
            if name not in listed:
                raise UsageError(
                    f"{option} {name} is not in the list of {len(listed)} versions",
                    f"it has {', '.join(printable(word, 60) for word in listed[:5])} …",
                )
        first, last = listed.index(good), listed.index(bad)
        if first > last:
            raise UsageError(
                f"{good} comes after {bad} in the list", "list versions from the oldest on"
            )
        names = listed[first : last + 1]
    if len(names) < 2:
        raise UsageError("the good and the bad version are the same", "name two")
    if len(names) > _MOST_VERSIONS:
        raise UsageError(f"{len(names)} versions are too many", f"at most {_MOST_VERSIONS}")
    return tuple(names)


def _listed(text: str, *, images: bool) -> list[str]:
    """The names of a list: with commas between, @FILE, or a directory of images."""
    if text.startswith("@"):
        path = Path(text[1:])
        try:
            names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read ({error})", "name a text file") from error
    elif images and Path(text).is_dir():
        names = sorted(str(path) for path in Path(text).iterdir() if path.is_file())
    else:
        names = [word.strip() for word in text.split(",")]
    names = [name for name in names if name]
    if images:
        names = [str(Path(word).resolve()) for word in names]
        for name in names:
            if not Path(name).is_file():
                raise UsageError(f"there is no image {name}", "list files")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UsageError(f"{name} is in the list twice", "list each version once")
        seen.add(name)
    return names


def resumed_request(options: BisectOptions) -> BisectRequest:
    """What the bisection in a directory was asked; UsageError where no bisection is there."""
    assert options.resume is not None  # noqa: S101 - the caller looked
    chosen = (options.boards or None, options.good, options.bad, options.versions, options.git)
    more = (options.images, options.bench, options.command, options.output)
    runs = (options.good_run, options.bad_run)
    if any(value is not None for value in (*chosen, *more, *runs)):
        raise UsageError(
            "--resume goes on with what was asked before",
            f"give nothing else: benchvise bisect --resume {options.resume}",
        )
    request = kept_request(options.resume, BisectRequest, _FORMAT, "bisection")
    if options.budget is not None:
        request = replace(request, budget_min=options.budget)
    return request
