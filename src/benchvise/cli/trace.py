"""``benchvise trace query | events | export | record``; ``cli.records`` makes the analyses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from benchvise.cli.output import JsonOption, RigOption, print_json, stderr, stdout, text_line
from benchvise.documents import encode
from benchvise.errors import BenchviseError, UsageError
from benchvise.quantities import format_count, format_size
from benchvise.terminal_colors import BAD, DOUBT
from benchvise.trace.options import CACHE, FILE, MEMORY

if TYPE_CHECKING:
    from benchvise.trace.recording import Recorded
    from benchvise.trace.recording_set import RecordingSet

TraceArgument = Annotated[Path, typer.Argument(metavar=FILE.metavar, help=FILE.help)]
CacheOption = Annotated[bool | None, typer.Option(CACHE.flag, help=CACHE.help, show_default=False)]
MemoryOption = Annotated[
    str | None,
    typer.Option(MEMORY.flag, metavar=MEMORY.metavar, help=MEMORY.help, show_default=False),
]


class QueryFormat(StrEnum):
    """How the rows of a query are printed."""

    TABLE = "table"
    CSV = "csv"
    TSV = "tsv"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


class ExportFormat(StrEnum):
    """The formats that a trace can be written in."""

    PERFETTO = "perfetto"
    CHROME = "chrome"
    PARQUET = "parquet"


def query(
    file: TraceArgument,
    sql: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help='One query in DuckDB\'s SQL. "FROM tables" lists the tables.'
        ),
    ],
    layout: Annotated[
        QueryFormat, typer.Option("--format", help="How the rows are printed.")
    ] = QueryFormat.TABLE,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="At most this many rows.")
    ] = 1000,
    seconds: Annotated[
        float, typer.Option("--time", metavar="S", min=0.1, help="Give up after S seconds.")
    ] = 60,
    memory: Annotated[
        int,
        typer.Option("--memory", metavar="MB", min=64, help="Memory that the query may use."),
    ] = 1024,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Query a trace by SQL: every event type is a table, and so is every analysis.

    A query reads the tables of the trace and nothing else. Of the directory that `trace record`
    makes of several boards, each table has the rows of all, with a column board.

    Example: benchvise trace query trace.dat "SELECT cpu, count(*) FROM sched_switch GROUP BY cpu"
    """
    from benchvise.report.rendering import query_csv, query_table, rendered, table_markdown
    from benchvise.trace.confined_query import ask_confined
    from benchvise.trace.query_limits import QueryLimits

    limits = QueryLimits(rows=limit, seconds=seconds, memory_mb=memory)
    with stderr().status("reading the trace"):
        answer = ask_confined(file, sql, limits, cache=cache)
    if as_json or layout is QueryFormat.JSON:
        print_json("trace-query", encode(answer))
    elif layout in (QueryFormat.CSV, QueryFormat.TSV):
        print(query_csv(answer, "," if layout is QueryFormat.CSV else "\t"), end="")
    elif layout is QueryFormat.MARKDOWN:
        print(table_markdown(query_table(answer)), end="")
    elif layout is QueryFormat.HTML:
        from benchvise.report.table_pages import page

        print(page(sql, [query_table(answer)]), end="")
    else:
        stdout().print(rendered(query_table(answer)))


def events(
    files: Annotated[
        list[Path],
        typer.Argument(metavar=f"{FILE.metavar}...", help=f"{FILE.help} Or a directory of them."),
    ],
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--event", metavar="NAME", help="Only these: a name, or a pattern like irq_*."
        ),
    ] = None,
    processes: Annotated[
        list[str] | None,
        typer.Option(
            "--process",
            metavar="NAME",
            help="Only what happened while these threads ran: a name, a pattern, or a number.",
        ),
    ] = None,
    cpus: Annotated[
        list[int] | None, typer.Option("--cpu", metavar="N", min=0, help="Only of these CPUs.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="S",
            help="Begin here: seconds of the trace's clock, or +S from its first event.",
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="S", help="End before this moment.")
    ] = None,
    text: Annotated[
        str, typer.Option("--match", metavar="TEXT", help="Only events in whose fields it stands.")
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", metavar="N", min=1, help="Stop after N events (JSON: 10000 by default)."
        ),
    ] = None,
    memory: MemoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """List events in order of time, with their fields.

    A line has the thread, the CPU, the time in seconds, the event and its fields, as the kernel's
    print format writes them: trace_printk with its text, functions and stacks by the kernel's
    symbols. Where the trace has no format, or one that is not understood, fields have their names.
    Only what is asked for is decoded; nothing is kept for the next time.

    Several traces, or the directory that `trace record` makes of several boards, are listed in one
    order of time, and each line begins with its board.

    Example: benchvise trace events trace.dat --event 'sched_*' --process iperf3 --since +0.5
    """
    from itertools import islice

    from benchvise.trace.decoder import bound_memory
    from benchvise.trace.event_listing import EventFilter, EventListing, EventReader, MergedReader
    from benchvise.trace.recording_set import named_recordings, set_of, uncertainty_remarks

    wanted = EventFilter(tuple(names or ()), tuple(processes or ()), tuple(cpus or ()), text)
    with stderr().status("reading the trace"):
        if memory is not None:
            bound_memory(memory)
        recordings = set_of(files)
        named = named_recordings(files)
        log = (
            MergedReader(named, since, until)
            if len(named) > 1
            else EventReader(named[0][1], since, until)
        )
    doubt = None if recordings is None else recordings.uncertainty_ns
    if as_json:
        most = limit or _JSON_EVENTS
        listed = tuple(islice(log.events(wanted, most + 1), most + 1))
        complete = len(listed) <= most
        what = ", ".join(map(str, files))
        listing = EventListing(what, log.cautions, listed[:most], complete, doubt)
        print_json("trace-events", encode(listing))
        return
    sys.stdout.flush()
    for lines in log.lines(wanted, limit):
        sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()
    for caution in log.cautions:
        stderr().print(text_line(caution, style=DOUBT), soft_wrap=True)
    if recordings is not None and len(named) > 1:
        for sentence in uncertainty_remarks(recordings):
            stderr().print(text_line(sentence, style="dim"), soft_wrap=True)


_JSON_EVENTS = 10_000
"""A JSON document is whole in memory: a program that wants all asks for parts, or uses SQL."""


def export(
    file: TraceArgument,
    target: Annotated[
        ExportFormat,
        typer.Option(
            "--to",
            help="perfetto: its native protobuf, every event, for ui.perfetto.dev; chrome: JSON of "
            "what ran where; parquet: a directory with a file for each table.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="The file or directory.")
    ],
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a trace for another program.

    Example: benchvise trace export trace.dat --to perfetto -o trace.perfetto-trace
    """

    from benchvise.quantities import format_value
    from benchvise.trace.export import export_trace

    with stderr().status("writing"):
        exported = export_trace(file, target.value, output, cache=cache)
    if as_json:
        print_json("trace-export", encode(exported))
        return
    console = stdout()
    size = format_value(exported.bytes, "B")
    summary = f"{exported.output}: {exported.written} {exported.unit}, {size}"
    console.print(text_line(summary), soft_wrap=True)
    for remark in exported.remarks:
        console.print(text_line(remark, style="dim"), soft_wrap=True)


# -- record ----------------------------------------------------------------------------------------

_EARLY = {
    "size": "its size is at its limit (--size)",
    "memory": "the board has no more memory",
    "signal": "somebody ended the recorder there",
    "threshold": "the tracer found more than --stop-us or --stop-total-us",
}


class Tracer(StrEnum):
    """Who records, and what measures by itself meanwhile."""

    PROBE = "probe"
    TIMERLAT = "timerlat"
    OSNOISE = "osnoise"
    LTTNG = "lttng"


class TraceClock(StrEnum):
    """Clocks of the kernel's trace."""

    MONO = "mono"
    MONO_RAW = "mono_raw"
    BOOT = "boot"
    TAI = "tai"
    LOCAL = "local"
    GLOBAL = "global"


def _microseconds(flag: str, text: str) -> Any:
    """An option of the kernel's tracers."""
    return typer.Option(flag, metavar="US", min=1, help=text)


def record(
    board: Annotated[
        str,
        typer.Argument(
            metavar="BOARD", help="local, USER@HOST, an IP address, ssh://HOST:PORT, or rig:NAME."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The trace.dat that is written; of several boards, a directory with one of each.",
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- CMD...]", help="Runs on the board; recording ends with it."),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="BOARD",
            help="Record this board at the same time, with its clock lined up.",
        ),
    ] = None,
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--events",
            metavar="SET",
            help="sched, irq, timer (these by default), power, ipi, workqueue, block, syscalls, "
            "net; or a SYSTEM or SYSTEM/EVENT of the kernel's own (osnoise by default with "
            "--tracer timerlat or osnoise).",
        ),
    ] = None,
    functions: Annotated[
        list[str] | None,
        typer.Option(
            "--functions",
            metavar="PATTERN",
            help="Kernel functions too: names and patterns (vfs_*), separated by commas.",
        ),
    ] = None,
    graph: Annotated[
        bool,
        typer.Option(
            "--graph",
            help="Record begin and end of these functions, and what they call. Takes the kernel's "
            "main trace buffer, which nobody else may use meanwhile.",
        ),
    ] = False,
    depth: Annotated[
        int,
        typer.Option(
            "--depth", metavar="N", min=0, max=50, help="Most calls within each other; 0: all."
        ),
    ] = 0,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="EVENT:FILTER",
            help="Record of an event only what the kernel's filter lets through: "
            "'sched/sched_switch:prev_prio < 100'.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--for", metavar="S", min=0.001, max=86400, help="Record for S seconds."),
    ] = None,
    ring: Annotated[
        bool,
        typer.Option("--ring", help="Keep the newest events, and drop older ones at --size."),
    ] = False,
    stop_when: Annotated[
        str,
        typer.Option(
            "--stop-when",
            metavar="CONDITION",
            help="Record with --ring until a thread waited too long for a CPU ('wakeup>500us', "
            "'wakeup:iperf3>500us'), or an event occurred (SYSTEM/EVENT).",
        ),
    ] = "",
    stop_after: Annotated[
        float,
        typer.Option("--stop-after", metavar="S", min=0, max=3600, help="And S seconds longer."),
    ] = 1.0,
    clock: Annotated[
        TraceClock, typer.Option("--clock", help="Clock of the time stamps.")
    ] = TraceClock.MONO,
    size: Annotated[
        str,
        typer.Option(
            "--size",
            metavar="BYTES",
            help="Most bytes of data, which are kept in the board's memory; 512M, say. By default "
            "a third of what is available, at most 1G.",
        ),
    ] = "",
    buffer_kb: Annotated[
        int, typer.Option("--buffer-kb", metavar="KB", min=0, help="Ring buffer of each CPU.")
    ] = 0,
    kallsyms: Annotated[
        bool,
        typer.Option(
            "--kallsyms/--no-kallsyms", help="Keep the names of the kernel's functions (some MB)."
        ),
    ] = True,
    wall_time: Annotated[
        bool,
        typer.Option(
            "--wall-time/--no-wall-time",
            help="Keep the offset to the time of day, which trace-cmd adds to each stamp.",
        ),
    ] = True,
    tracer: Annotated[
        Tracer,
        typer.Option(
            "--tracer",
            help="timerlat: the kernel also measures how late a timer's interrupt and its thread "
            "are; osnoise: what interrupts a thread that does nothing else; lttng: recorded by the "
            "board's LTTng, into a directory.",
        ),
    ] = Tracer.PROBE,
    period: Annotated[
        int | None,
        _microseconds("--period-us", "Period of timerlat's timer (1000), or of osnoise (1000000)."),
    ] = None,
    runtime: Annotated[
        int | None,
        _microseconds(
            "--runtime-us", "How long of each period osnoise looks for noise (all of it)."
        ),
    ] = None,
    stop_us: Annotated[
        int | None,
        _microseconds(
            "--stop-us", "End when timerlat's interrupt is later, or one noise is longer."
        ),
    ] = None,
    stop_total_us: Annotated[
        int | None,
        _microseconds(
            "--stop-total-us",
            "End when timerlat's thread is later, or all noise of a period is longer.",
        ),
    ] = None,
    threshold: Annotated[
        int | None, _microseconds("--threshold-us", "Shortest noise that counts for osnoise (5).")
    ] = None,
    stack: Annotated[
        int | None,
        _microseconds(
            "--stack-us", "Save the stack at the interrupt where timerlat's thread is later."
        ),
    ] = None,
    cpus: Annotated[
        str | None,
        typer.Option(
            "--cpus", metavar="LIST", help="CPUs that timerlat or osnoise measures (all of them)."
        ),
    ] = None,
    rig: RigOption = None,
    keep_on: Annotated[
        bool, typer.Option("--keep-on", help="Leave a board of a rig switched on afterwards.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Record what a board's kernel does, for a time or while a command runs there.

    Nothing is installed: the probe reads the kernel's own ring buffers, of an instance that is
    gone afterwards. Needs root on the board. Ctrl-C ends a recording and keeps it.

    Several boards (--with, rig:all) are recorded at once, each with the same options and command:
    their times count by this host's clock, and how surely they do is measured and kept in
    clocks.json. A condition that is met on one of them ends all.

    With --tracer timerlat or osnoise the kernel measures by itself, as for rtla; its settings are
    restored afterwards. Their answers: benchvise trace timerlat, benchvise trace osnoise.

    Example: benchvise trace record ssh://root@10.0.0.7 --for 10 -o boot.dat
    """
    # Late: no other command of traces reaches boards.
    from benchvise.cli.progress import RigProgress
    from benchvise.flows import tracing as flow
    from benchvise.trace.recording import (
        RecordingPlan,
        check_events,
        check_filters,
        check_functions,
        parse_condition,
    )
    from benchvise.trace.recording_set import RecordingSet
    from benchvise.trace.tracers import (
        TRACER_EVENTS,
        KernelTracer,
        TracerOptions,
        tracer_settings,
    )

    measured = tracer in (Tracer.TIMERLAT, Tracer.OSNOISE)
    of_kernel = KernelTracer(tracer.value) if measured else None
    options = TracerOptions(period, runtime, stop_us, stop_total_us, threshold, stack, cpus)
    settings = tracer_settings(of_kernel, options)
    if of_kernel is not None and functions:
        raise UsageError(
            "the kernel runs one tracer at a time", "leave --functions or --tracer out"
        )
    if tracer is Tracer.LTTNG and functions:
        raise UsageError("LTTng does not record kernel functions", "leave --tracer out")
    if tracer is Tracer.LTTNG and (filters or ring or stop_when):
        raise UsageError(
            "--filter, --ring and --stop-when are of the probe's recorder", "leave --tracer out"
        )
    if tracer is Tracer.LTTNG and others:
        raise UsageError("LTTng records one board", "leave --tracer out, or --with")
    if tracer is Tracer.LTTNG and clock is not TraceClock.MONO:
        raise UsageError("LTTng has a clock of its own", "leave --clock out")
    request = flow.RecordRequest(
        board,
        RecordingPlan(
            check_events(events or (() if of_kernel is None else TRACER_EVENTS)),
            seconds,
            tuple(command or ()),
            clock.value,
            buffer_kb,
            size,
            kallsyms,
            wall_time,
            functions=check_functions(functions or (), graph=graph, depth=depth),
            graph=graph,
            depth=depth,
            filters=check_filters(filters or ()),
            ring=ring or bool(stop_when),
            until=parse_condition(stop_when) if stop_when else "",
            after=stop_after,
            tracer="" if of_kernel is None else of_kernel.value,
            settings=settings,
        ),
        output,
        tuple(others or ()),
        lttng=tracer is Tracer.LTTNG,
        rig=rig,
        keep_on=keep_on,
    )
    console = stderr()

    def observe(name: str, kind: str, line: object) -> None:
        several = bool(request.others) or (board.startswith("rig:") and name != board)
        whose = f"{name}: " if several else ""
        if kind == "said":
            console.print(text_line(f"{whose}{line}"))
        elif kind == "recording" and console.is_terminal and not request.plan.command:
            console.print(text_line(f"{whose}recording; Ctrl-C ends it", style="dim"))

    with RigProgress(stderr()) as booting:
        recorded = flow.record(request, observe, booting.observe)
    if isinstance(recorded, RecordingSet):
        failed = any(each.ended == "command" and each.command for each in recorded.members)
        if as_json:
            print_json("recordings", encode(recorded))
        else:
            _print_set(recorded, output)
    else:
        failed = recorded.reason == "command" and bool(recorded.ended.get("command"))
        if as_json:
            print_json("recording", recorded)
        else:
            for text in recording_lines(recorded):
                stdout().print(text)
    if failed:
        raise typer.Exit(BenchviseError.exit_code)


def _print_set(recordings: RecordingSet, directory: Path) -> None:
    """What a person is told after recordings of several boards."""
    from benchvise.report.rendering import rendered, table_of
    from benchvise.trace.catalogue.info import set_tables

    for spec in set_tables(recordings, str(directory)):
        stdout().print(rendered(table_of(spec)))
    stdout().print(
        Text(f"\nKept in {directory}. Next: benchvise trace events {directory}", style="dim")
    )


def recording_lines(recorded: Recorded) -> Iterator[Text]:
    """What a person is told after a recording."""
    from benchvise.flows.tracing import recording_summary

    if "events" in recorded.ended:
        yield Text(recording_summary(recorded), style=BAD if recorded.lost else "bold")
        yield Text(
            f"the recorder took {recorded.overhead:.2%} of one CPU, beside what each event costs "
            "where it happens"
        )
    if recorded.met:
        yield Text(f"{recorded.met}")
    elif "condition" in recorded.ended:
        yield Text("the condition was not met", style=DOUBT)
    if recorded.overwritten:
        yield Text(
            f"{format_count(recorded.overwritten)} older events gave way to these", style="dim"
        )
    if recorded.reason in _EARLY:
        yield Text(f"ended early: {_EARLY[recorded.reason]}", style=DOUBT)
    for sentence in recorded.caveats:
        yield Text(f"{sentence:600}", style=DOUBT)
    status = recorded.ended.get("command")
    if isinstance(status, int) and status:
        yield Text(f"the command ended with exit {status}", style=DOUBT)
    if recorded.absent:
        yield Text(f"not in this kernel: {', '.join(map(str, recorded.absent))}", style="dim")
    yield Text(
        f"\nKept in {recorded.path} ({format_size(recorded.file_bytes)}). Next: "
        f"benchvise trace info {recorded.path}",
        style="dim",
    )
