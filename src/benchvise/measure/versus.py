"""Commands side by side: timed in turn, in random order, and compared with the first of them.

    variants            what is measured: each command with each combination of parameters
    measure_commands    runs, interleaved one by one
    compare_commands    each command beside the first

Runs are taken in rounds: each round runs every command once, in an order drawn for it, so that
drift of the board (heat, a neighbour) falls on all alike. Rounds are grouped into blocks of
neighbours in time, which take the part that processes have in a run: their medians say how far a
command differs from itself. A run is one of ``command.time``, with the same evidence.

A shell starts each command, and that is part of its time: nothing is subtracted.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

from benchvise.board import Board
from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.board.messages import BeginMessage, SampleMessage
from benchvise.documents import JsonObject, number_at, object_at
from benchvise.errors import BenchviseError, MeasurementError, ProbeError, UsageError
from benchvise.measure.compare import Comparison, compare_series
from benchvise.measure.model import (
    ProcessRecord,
    Sample,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.measure.registry import Registry
from benchvise.measure.runner import ProbeSource
from benchvise.text import last_line, printable

BLOCKS = 5
LEAST_RUNS = 15
MOST_RUNS = 1000
SECONDS = 3.0
"""Runs are repeated for about so long a command, where nobody says how often."""

ASIDE_SECONDS = 3600.0
"""Time for a command around the runs, which may well build something."""

_BENCHMARK = "command.time"
_MOST_VARIANTS = 200
_IGNORING = "trap 'exit 0' 0; "  # what a shell does last is how it ends, whatever failed before

Observer = Callable[[int, int | None, str], None]
"""Is told how many runs are done, of how many (None: not known yet), and what runs now."""


@dataclass(frozen=True, slots=True)
class VersusRequest:
    """What the user asks for.

    ``commands`` are measured with each combination of the values of ``parameters``, which take the
    place of ``{name}``. ``names`` are those to be shown, one a command or none. ``prepare`` and
    ``conclude`` are executed before and after each run, ``setup`` and ``cleanup`` before the first
    and after the last run of each command: one for all, or one a command. They are not timed.
    ``runs`` is how often each is timed, None: about three seconds a command, 15 times at least.
    ``shell`` is a program that takes ``-c``; empty: none beyond the ``sh`` that starts the command
    and is replaced by it. ``cpu`` pins the commands.
    """

    commands: tuple[str, ...]
    names: tuple[str, ...] = ()
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prepare: tuple[str, ...] = ()
    conclude: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    cleanup: tuple[str, ...] = ()
    warmup: int = 1
    runs: int | None = None
    shell: str = "sh"
    ignore_failure: bool = False
    cpu: int | None = None
    timeout_s: int = 600
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class CommandVariant:
    """A command with values for its parameters, and what is executed around its runs.

    ``command`` is as the user wrote it, ``line`` is what ``sh`` is given.
    """

    name: str
    command: str
    line: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    prepare: str = ""
    conclude: str = ""
    setup: str = ""
    cleanup: str = ""


@dataclass(frozen=True, slots=True)
class MeasuredCommand:
    """A command with its runs: wall time in ns; a process of the series is a block of rounds."""

    variant: CommandVariant
    series: SeriesRecord

    def detail(self, key: str) -> list[float]:
        """What the kernel says of each run beside its time: ``user_ns``, ``max_rss_bytes``."""
        values = (
            number_at(object_at(sample.evidence, "detail"), key)
            for process in self.series.processes
            for sample in process.samples
        )
        return [value for value in values if value is not None]


@dataclass(frozen=True, slots=True)
class VersusResult:
    """Commands as they were timed, and each but the first beside the first.

    ``remarks`` are what happened to the board meanwhile, in sentences without a full stop.
    """

    board: str
    simulated: bool
    seed: int
    measured: tuple[MeasuredCommand, ...]
    comparisons: tuple[Comparison, ...]
    remarks: tuple[str, ...]


# -- what is measured ------------------------------------------------------------------------------


def variants(request: VersusRequest) -> list[CommandVariant]:
    """Each command with each combination of parameters; UsageError for what does not fit."""
    for option, texts in (
        *(("--prepare", request.prepare), ("--conclude", request.conclude)),
        *(("--setup", request.setup), ("--cleanup", request.cleanup)),
        ("--name", request.names),
    ):
        allowed = (
            (0, len(request.commands)) if option == "--name" else (0, 1, len(request.commands))
        )
        if len(texts) not in allowed:
            raise UsageError(
                f"{len(texts)} times {option} for {len(request.commands)} commands",
                "give it once for each command"
                + ("" if option == "--name" else ", or once for all"),
            )
    for name in request.parameters:
        texts = (*request.commands, *request.prepare, *request.setup)
        if not any("{" + name + "}" in text for text in texts):
            raise UsageError(
                f"the parameter {name} is in no command", "write {" + name + "} where it belongs"
            )
    combinations = [
        dict(zip(request.parameters, values, strict=True))
        for values in itertools.product(*request.parameters.values())
    ]
    variants = [
        _variant(request, number, values)
        for number in range(len(request.commands))
        for values in combinations
    ]
    unique = list(dict.fromkeys((v.line, v.prepare, v.conclude) for v in variants))
    if len(variants) < 2 or len(unique) < len(variants):
        raise UsageError(
            "one command has nothing to be compared with" if len(variants) < 2
            else "a command is given twice",
            "name another, or vary a parameter: --parameter-list n=1,2",
        )  # fmt: skip
    if len(variants) > _MOST_VARIANTS:
        raise UsageError(f"{len(variants)} commands are too many", f"{_MOST_VARIANTS} at most")
    return _told_apart(variants)


def _variant(request: VersusRequest, number: int, values: Mapping[str, str]) -> CommandVariant:
    def filled(texts: Sequence[str]) -> str:
        if not texts:
            return ""
        text = texts[number] if len(texts) > 1 else texts[0]
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        return text

    command = filled((request.commands[number],))
    return CommandVariant(
        filled((request.names[number],)) if request.names else command,
        command,
        _line(request, command),
        values,
        *map(filled, (request.prepare, request.conclude, request.setup, request.cleanup)),
    )


def _told_apart(variants: Sequence[CommandVariant]) -> list[CommandVariant]:
    """With its parameters behind a name that another has too."""
    names = [variant.name for variant in variants]
    sentences = [
        replace(v, name=f"{v.name} ({', '.join(f'{k}={x}' for k, x in v.parameters.items())})")
        if names.count(v.name) > 1
        else v
        for v in variants
    ]
    if len({variant.name for variant in sentences}) < len(sentences):
        raise UsageError("two commands have the same --name", "give each its own")
    return sentences


def _line(request: VersusRequest, command: str) -> str:
    """What ``sh -c`` is given. UsageError for a command that cannot be started so."""
    if not command.strip():
        raise UsageError("a command is empty", "`true` does nothing")
    if request.shell == "sh":
        line = command
    elif request.shell:
        line = f"{shlex.join(shlex.split(request.shell))} -c {shlex.quote(command)}"
    else:
        try:
            line = shlex.join(shlex.split(command))
        except ValueError as error:
            raise UsageError(
                f"'{printable(command, 80)}' cannot be started without a shell ({error})",
                "close its quotes, or leave out --shell none",
            ) from error
    if request.ignore_failure:
        return _IGNORING + line
    return line if request.shell == "sh" else f"exec {line}"


def scan(text: str) -> tuple[str, tuple[str, ...]]:
    """``n=1..8`` or ``n=0.5..2/0.5`` as a name and its values; UsageError for what is neither."""
    name, equals, span = text.partition("=")
    low, dots, rest = span.partition("..")
    high, slash, step = rest.partition("/")
    try:
        first, last = Decimal(low), Decimal(high)
        width = Decimal(step) if slash else Decimal(1)
        count = math.floor((last - first) / width) + 1 if width > 0 else 0
    except (InvalidOperation, OverflowError, ValueError):
        count = 0
    if not name or not equals or not dots or not 0 < count <= _MOST_VARIANTS:
        raise UsageError(
            f"--parameter-scan {text!r} is no range of at most {_MOST_VARIANTS} numbers",
            "write for example threads=1..8 or size=0.5..2/0.5",
        )
    return name, tuple(f"{(first + index * width):f}" for index in range(count))


# -- measuring -------------------------------------------------------------------------------------


class _Runner:
    """Runs commands on one board, one at a time."""

    def __init__(self, board: Board, channel: ProbeChannel) -> None:
        self._board = board
        self._source = ProbeSource(channel)
        self._channel = channel

    def aside(self, what: str, variant: CommandVariant, command: str) -> None:
        """Executes a command that is not timed; MeasurementError when it fails."""
        if not command:
            return
        words = ["sh", "-c", 'exec sh -c "$1" >/dev/null', "sh", command]
        done = self._board.run(words, timeout=ASIDE_SECONDS)
        if done.returncode:
            reason = last_line(done.stderr)
            raise MeasurementError(
                f"--{what} of '{printable(variant.name, 60)}' failed on {self._board.name} "
                f"(exit {done.returncode})" + (f": {reason}" if reason else ""),
                "run it by hand there",
            )

    def timed(
        self, variant: CommandVariant, spec: SeriesSpec
    ) -> tuple[JsonObject, tuple[Sample, ...]]:
        """One run between its preparation and its conclusion: what the probe says of both."""
        self.aside("prepare", variant, variant.prepare)
        begin: JsonObject = {}
        samples: list[Sample] = []
        try:
            for message in self._source.messages(spec, 1):
                match message:
                    case BeginMessage(_, told):
                        begin = told
                    case SampleMessage(_, value, evidence):
                        samples.append(Sample(0, math.nan if value is None else value, evidence))
        except ProbeError as error:
            if not self._channel.is_open:
                raise
            remedy = "" if isinstance(error, NotAvailable) else "--ignore-failure times it anyway"
            text = error.message.removeprefix(f"{_BENCHMARK}: ")
            raise MeasurementError(text, error.remedy or remedy) from error
        self.aside("conclude", variant, variant.conclude)
        return begin, tuple(samples)


def measure_commands(
    board: Board,
    channel: ProbeChannel,
    registry: Registry,
    request: VersusRequest,
    observe: Observer,
) -> list[MeasuredCommand]:
    """Times the commands in turn; in their order.

    Raises MeasurementError for a command that fails, and what the channel raises. What ``setup``
    has made, ``cleanup`` takes away, on any error too.
    """
    measured = variants(request)
    specs = [_spec(registry, request, variant) for variant in measured]
    runner = _Runner(board, channel)
    begun: list[CommandVariant] = []
    try:
        for variant in measured:
            begun.append(variant)
            runner.aside("setup", variant, variant.setup)
        for variant, spec in zip(measured, specs, strict=True):
            observe(0, None, f"warm-up of {variant.name}")
            for _ in range(request.warmup):
                runner.timed(variant, spec)
        result = _measured(runner, measured, specs, request, observe)
    except BaseException:
        for variant in begun:
            with contextlib.suppress(BenchviseError):  # must not hide the first error
                runner.aside("cleanup", variant, variant.cleanup)
        raise
    for variant in begun:
        runner.aside("cleanup", variant, variant.cleanup)
    return result


def _spec(registry: Registry, request: VersusRequest, variant: CommandVariant) -> SeriesSpec:
    params = {"run": variant.line, "warmup": "0", "timeout_s": str(request.timeout_s)}
    if request.cpu is not None:
        params |= {"cpu": str(request.cpu), "pin": "yes"}
    return replace(registry.spec(_BENCHMARK, params), key=variant.name)


def _measured(
    runner: _Runner,
    measured: Sequence[CommandVariant],
    specs: Sequence[SeriesSpec],
    request: VersusRequest,
    observe: Observer,
) -> list[MeasuredCommand]:
    chance = random.Random(request.seed)  # noqa: S311 - an order, no secret
    taken: list[list[Sample]] = [[] for _ in specs]
    begins: list[JsonObject] = [{} for _ in specs]
    rounds: int | None = request.runs
    done = 0
    while rounds is None or done < rounds:
        order = list(range(len(specs)))
        chance.shuffle(order)
        for position in order:
            total = None if rounds is None else rounds * len(specs)
            runs = sum(map(len, taken))
            observe(runs, total, measured[position].name)
            begins[position], samples = runner.timed(measured[position], specs[position])
            taken[position] += samples
        done += 1
        if rounds is None:
            rounds = _rounds([samples[0].value for samples in taken])
    return [
        MeasuredCommand(variant, _series(spec, begin, samples))
        for variant, spec, begin, samples in zip(measured, specs, begins, taken, strict=True)
    ]


def _rounds(first: Sequence[float]) -> int:
    """How many rounds take about ``SECONDS`` a command, by the wall times of the first, in ns."""
    each = max(sum(first) * 1e-9 / len(first), 1e-6)
    return min(MOST_RUNS, max(LEAST_RUNS, math.ceil(SECONDS / each)))


def blocks(runs: int) -> list[int]:
    """How many of two or more runs each block has: five blocks, or fewer of two runs each."""
    count = max(2, min(BLOCKS, runs // 2))
    return [runs * (number + 1) // count - runs * number // count for number in range(count)]


def _series(spec: SeriesSpec, begin: JsonObject, samples: Sequence[Sample]) -> SeriesRecord:
    processes = []
    at = 0
    for number, size in enumerate(blocks(len(samples))):
        block = tuple(
            replace(sample, index=index) for index, sample in enumerate(samples[at : at + size])
        )
        processes.append(ProcessRecord(number, begin, block, complete=True))
        at += size
    return SeriesRecord(spec, "ns", "lower", "one run", SeriesStatus.MEASURED, "", tuple(processes))


# -- comparing -------------------------------------------------------------------------------------


def compare_commands(measured: Sequence[MeasuredCommand]) -> list[Comparison]:
    """Each command but the first beside the first, paired run by run."""
    base = measured[0]
    return [
        replace(
            compare_series(
                base.series,
                other.series,
                paired=True,
                names=(base.variant.name, other.variant.name),
            ),
            spec=other.series.spec,
        )
        for other in measured[1:]
    ]
