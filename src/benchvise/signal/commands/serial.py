"""``benchvise signal serial``: a serial line under every setting, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandArgument, CommandOption, CommandRecord, ObservedOptions
from benchvise.errors import UsageError
from benchvise.signal.aligning import DiscrepancyDocument, discrepancy_document
from benchvise.signal.serial.byte_faults import SerialCause
from benchvise.signal.serial.classify import (
    MeasuredSetting,
    Tally,
    classify,
    reordered,
    tally,
)
from benchvise.signal.serial.flow import Flow
from benchvise.table import ColumnSpec, NamedValue, TableSpec, ValueUnit

if TYPE_CHECKING:
    from benchvise.signal.serial.exchange import Exchange, Pattern, Way
    from benchvise.signal.serial.requests import Reply
    from benchvise.signal.serial.soak import FarEnd

_FASTEST = 4_000_000_000
_DISCREPANCIES_WRITTEN = 50
_BYTES_WRITTEN = 64


@dataclass(frozen=True, kw_only=True)
class SerialTestOptions(ObservedOptions):
    """Which port, what is at its other end, and the settings that are tested."""

    port: Annotated[str, CommandArgument("PORT", "A serial port: /dev/ttyUSB0.")]
    far: Annotated[
        str | None,
        CommandOption(
            "--far",
            "The port at the other end.",
            metavar="PORT",
            default_text="a loop-back plug on PORT",
        ),
    ] = None
    board: Annotated[
        str | None,
        CommandOption(
            "--on",
            "The port at the other end is this board's: its probe sends back what comes.",
            metavar="BOARD",
        ),
    ] = None
    flows: Annotated[
        tuple[Flow, ...],
        CommandOption("--flow", "Flow control; repeatable.", default_text="all three"),
    ] = tuple(Flow)
    bauds: Annotated[
        tuple[int, ...],
        CommandOption(
            "--baud", "Baud rate; repeatable.", metavar="N", minimum=1, default_text="115200"
        ),
    ] = (115200,)
    chunks: Annotated[
        tuple[int, ...],
        CommandOption(
            "--chunk",
            "Bytes written at a time; repeatable.",
            metavar="BYTES",
            minimum=1,
            default_text="16 and 1024",
        ),
    ] = (16, 1024)
    size: Annotated[
        int, CommandOption("--size", "Approximate size of each pattern.", metavar="BYTES")
    ] = 16384
    seed: Annotated[int, CommandOption("--seed", "Seed of the random patterns.", minimum=0)] = 1
    seconds: Annotated[
        float,
        CommandOption(
            "--for",
            "Test again and again for so long.",
            metavar="S",
            minimum=0,
            default_text="each pattern once",
        ),
    ] = 0.0
    request: Annotated[
        str | None,
        CommandOption(
            "--request",
            "Ask a module at PORT again and again, in place of the patterns: 'AT\\r'.",
            metavar="TEXT",
        ),
    ] = None
    reply: Annotated[
        str | None,
        CommandOption("--reply", "Its reply to each request: 'OK\\r\\n'.", metavar="TEXT"),
    ] = None
    timeout: Annotated[
        float,
        CommandOption("--timeout", "Time to wait for a reply.", metavar="S", minimum=0.001),
    ] = 0.5


@dataclass(frozen=True, slots=True)
class SerialTest:
    """All settings that were tested, and the causes of what went wrong, the surest first."""

    settings: tuple[MeasuredSetting, ...]
    causes: tuple[SerialCause, ...]

    @property
    def rows(self) -> list[PatternResult]:
        """Each pattern under each setting, all rounds of it together."""
        return [
            PatternResult(
                setting,
                tuple(exchanges),
                tally(way for exchange in exchanges for way in exchange.ways),
            )
            for setting in self.settings
            for exchanges in _by_pattern(setting.exchanges)
        ]


@dataclass(frozen=True, slots=True)
class PatternResult:
    """A pattern under a setting, in each of its rounds, both ways together."""

    setting: MeasuredSetting
    exchanges: tuple[Exchange, ...]
    counts: Tally

    @property
    def pattern(self) -> Pattern:
        """The pattern; random bytes are others in each round."""
        return self.exchanges[0].pattern

    @property
    def speed(self) -> float:
        """Bytes a second."""
        seconds = sum(max(way.seconds for way in exchange.ways) for exchange in self.exchanges)
        return self.counts.sent / max(seconds, 1e-9)


def _by_pattern(exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
    rounds: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        rounds.setdefault(exchange.pattern.name, []).append(exchange)
    return [*rounds.values()]


def run(options: SerialTestOptions) -> SerialTest:
    """Tests the line from a port to a plug, to another port, or to that of a board.

    UsageError for options that contradict each other, BoardUnusable for a port that goes.
    """
    from benchvise.signal.serial.requests import parse_bytes
    from benchvise.signal.serial.soak import soak

    _check(options)
    if options.request is not None and options.reply is not None:
        return _ask_module(options, parse_bytes(options.request), parse_bytes(options.reply))

    def observe(flow: Flow, baud: int, chunk: int, exchange: Exchange) -> None:
        options.observe(f"{flow}, {baud} baud, chunks of {chunk}: {exchange.pattern.name}")

    with ExitStack() as stack:
        settings = soak(
            options.port,
            _far_end(options, stack),
            flows=options.flows,
            bauds=options.bauds,
            chunks=options.chunks,
            size=options.size,
            seed=options.seed,
            seconds=options.seconds,
            observe=observe,
        )
    return SerialTest(tuple(settings), classify(settings))


def _ask_module(options: SerialTestOptions, request: bytes, reply: bytes) -> SerialTest:
    """Requests and replies under each flow control and rate, and what became of the replies."""
    from benchvise.signal.serial.requests import reply_causes, reply_exchange
    from benchvise.signal.serial.soak import ask_again_and_again

    settings = []
    every: list[Reply] = []
    for flow in options.flows:
        for baud in options.bauds:
            replies = ask_again_and_again(
                options.port,
                request,
                reply,
                flow=flow,
                baud=baud,
                timeout_s=options.timeout,
                size=options.size,
                seconds=options.seconds,
            )
            every += replies
            done = reply_exchange(request, reply, replies)
            settings.append(MeasuredSetting(flow, baud, len(request), (done,)))
            options.observe(f"{flow}, {baud} baud: {len(replies)} requests")
    return SerialTest(tuple(settings), reply_causes(reply, every))


def _check(options: SerialTestOptions) -> None:
    far, board = options.far, options.board
    if (options.request is None) is not (options.reply is None):
        raise UsageError("a request without its reply", "--request 'AT\\r' --reply 'OK\\r\\n'")
    if options.request is not None and (far is not None or board is not None):
        raise UsageError("a module replies by itself", "leave --far and --on away")
    if any(baud > _FASTEST for baud in options.bauds):
        raise UsageError("a rate above 4 Gbaud", "name one that the port has")
    if board is not None and far is None:
        raise UsageError("which port of the board?", f"--on {board} --far /dev/ttyS1")
    if far is not None and far == options.port and board is None:
        raise UsageError(f"{options.port} is both ends", "leave --far away for a loop-back plug")


def _far_end(options: SerialTestOptions, stack: ExitStack) -> FarEnd:
    from benchvise.board import open_board
    from benchvise.signal.serial.soak import plug, port_of_board, port_of_this_machine

    if options.far is None:
        return plug
    if options.board is None:
        return port_of_this_machine(options.far)
    return port_of_board(stack.enter_context(open_board(options.board)), options.far)


# -- tables ----------------------------------------------------------------------------------------


def _count(name: str, heading: str, count: Callable[[Tally], int]) -> ColumnSpec[PatternResult]:
    return ColumnSpec(
        heading,
        ValueUnit.COUNT,
        lambda row: count(row.counts),
        lambda row: "bad" if count(row.counts) else "muted",
        key=name,
        text=lambda row: str(count(row.counts)),
    )


COLUMNS: tuple[ColumnSpec[PatternResult], ...] = (
    ColumnSpec("Flow", ValueUnit.TEXT, lambda row: str(row.setting.flow)),
    ColumnSpec(
        "Baud", ValueUnit.COUNT, lambda row: row.setting.baud, text=lambda r: str(r.setting.baud)
    ),
    ColumnSpec(
        "Chunk", ValueUnit.COUNT, lambda row: row.setting.chunk, text=lambda r: str(r.setting.chunk)
    ),
    ColumnSpec(
        "Pattern",
        ValueUnit.TEXT,
        lambda row: row.pattern.name,
        lambda row: "bad" if row.counts.wrong else "plain",
    ),
    ColumnSpec(
        "Sent", ValueUnit.COUNT, lambda row: row.counts.sent, text=lambda row: str(row.counts.sent)
    ),
    _count("lost", "Lost", lambda counts: counts.lost),
    _count("duplicated", "Doubled", lambda counts: counts.duplicated),
    _count("added", "Added", lambda counts: counts.added),
    _count("altered", "Altered", lambda counts: counts.altered),
    _count("stalls", "Halts", lambda counts: counts.stalls),
    ColumnSpec(
        "Speed", ValueUnit.BYTES_PER_SECOND, lambda row: row.speed, "muted", key="speed_B_per_s"
    ),
)


def tables(test: SerialTest) -> list[TableSpec[Any]]:
    """Each pattern under each setting; what is wrong, what speaks for it, and what to do."""
    return [TableSpec("Serial line", COLUMNS, test.rows), _cause_table(test.causes)]


_FINE: tuple[ColumnSpec[str], ...] = (ColumnSpec("", ValueUnit.TEXT, lambda text: text, "good"),)
_CAUSE_COLUMNS: tuple[ColumnSpec[NamedValue], ...] = (
    ColumnSpec(
        "", ValueUnit.TEXT, lambda row: row.name, lambda r: "bad" if r.tone == "strong" else "muted"
    ),
    ColumnSpec("", ValueUnit.TEXT, lambda row: row.text, lambda row: row.tone),
)


def _cause_table(causes: Sequence[SerialCause]) -> TableSpec[Any]:
    if not causes:
        text = "nothing went wrong: every byte came as it was sent"
        return TableSpec("What is wrong", _FINE, (text,))
    rows: list[NamedValue] = []
    for cause in causes:
        rows.append(NamedValue(cause.word.upper(), cause.sentence, "strong"))
        rows += [NamedValue("seen", evidence) for evidence in cause.evidence]
        rows.append(NamedValue("remedy", cause.remedy))
    return TableSpec("What is wrong", _CAUSE_COLUMNS, rows)


# -- JSON ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WayDocument(Tally):
    """One direction of a pattern as JSON; ``first`` are the first differences."""

    way: str
    reordered: int
    received: int
    stalled: bool
    resumed: bool
    seconds: float
    first: tuple[DiscrepancyDocument, ...]


@dataclass(frozen=True, slots=True)
class ExchangeDocument:
    """One pattern under one setting as JSON; ``counted`` are the drivers' counters."""

    flow: Flow
    baud: int
    chunk: int
    pattern: str
    asks: str
    counted: Mapping[str, int] | None
    ways: tuple[WayDocument, ...]


@dataclass(frozen=True, slots=True)
class SerialTestDocument:
    """The whole test as JSON."""

    causes: tuple[SerialCause, ...]
    exchanges: tuple[ExchangeDocument, ...]


def document(test: SerialTest) -> SerialTestDocument:
    """The whole test as JSON."""
    return SerialTestDocument(
        test.causes,
        tuple(
            ExchangeDocument(
                setting.flow,
                setting.baud,
                setting.chunk,
                exchange.pattern.name,
                exchange.pattern.asks,
                exchange.counted,
                tuple(map(_way_document, exchange.ways)),
            )
            for setting in test.settings
            for exchange in setting.exchanges
        ),
    )


def _way_document(way: Way) -> WayDocument:
    return WayDocument(
        **asdict(tally([way])),
        way=way.name,
        reordered=reordered(way.discrepancies),
        received=way.received,
        stalled=way.stalled,
        resumed=way.resumed,
        seconds=way.seconds,
        first=tuple(
            discrepancy_document(difference, _BYTES_WRITTEN)
            for difference in way.discrepancies[:_DISCREPANCIES_WRITTEN]
        ),
    )


SERIAL = CommandRecord(
    name="serial",
    kind="signal-serial",
    summary="Test a serial line: lost, doubled, altered, stuck bytes, and their cause.",
    details="Exit code 1 when something went wrong on the line.",
    example="benchvise signal serial /dev/ttyUSB0 --far /dev/ttyUSB1 --flow none --baud 115200",
    options=SerialTestOptions,
    run=run,
    document=document,
    tables=lambda test, _options: tables(test),
    columns=COLUMNS,
    rows=lambda test: test.rows,
    exit_code=lambda test: 1 if test.causes else 0,
)
