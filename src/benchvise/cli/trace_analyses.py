"""``benchvise trace stats``, ``actors`` and their like: what took the CPUs, and what each did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json, stderr
from benchvise.cli.trace_options import (
    BinsOption,
    ByNameOption,
    CacheOption,
    NamesArgument,
    SinceOption,
    TopOption,
    TraceArgument,
    UnsureOption,
    UntilOption,
    show,
)
from benchvise.flows import trace_analyses as flow
from benchvise.report import trace_actor_tables as actor_tables
from benchvise.report import trace_cpu_tables as cpu_tables

_DETAILED = 4
"""Actors named one by one get a table each up to here."""

_WORST = 10


def load_trace(path: Path, since: str | None, until: str | None, *, cache: bool) -> flow.Loaded:
    """Opens a trace while saying so."""
    with stderr().status("reading the trace"):
        return flow.load(path, since, until, use_cache=cache)


def stats(
    file: TraceArgument,
    names: NamesArgument = None,
    since: SinceOption = None,
    until: UntilOption = None,
    by_name: ByNameOption = False,
    top: TopOption = 20,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say what took the CPUs: shares of tasks, interrupts, softirqs, idle; switches; losses.

    Example: benchvise trace stats trace.dat --by-name
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.stats(loaded, names or (), by_name=by_name)
    if as_json:
        print_json("trace-stats", loaded.told(found))
    else:
        show(cpu_tables.stats_rows(found, top, loaded.cautions))


def actors(
    file: TraceArgument,
    names: NamesArgument = None,
    instances: Annotated[
        str | None,
        typer.Option(
            "--instances",
            metavar="NAME",
            help="List the instances of this actor one by one instead.",
            show_default=False,
        ),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    by_name: ByNameOption = False,
    unsure: UnsureOption = False,
    top: TopOption = 25,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say how long instances of threads and handlers took, how late and how regular they were.

    An instance is one activation: of a thread from its wake-up until it blocks, of a handler from
    entry to return. A few actors that are named get every figure and their worst instances.

    Example: benchvise trace actors trace.dat irq:eth0 'task:iperf*'
    """
    loaded = load_trace(file, since, until, cache=cache)
    if instances is not None:
        listed = flow.instances(loaded, instances)
        if as_json:
            print_json("trace-instances", loaded.told(listed))
        else:
            more = len(listed) - top
            told = [f"not listed: {more} later ones (--top {len(listed)})"] if more > 0 else []
            title = f"{len(listed)} instances of {instances}"
            remarks = (*loaded.cautions, *told)
            show([actor_tables.instance_rows(listed[:top], title, remarks)])
        return
    found = flow.actors(loaded, names or (), by_name=by_name, unsure=unsure, worst=_WORST)
    if as_json:
        print_json("trace-actors", loaded.told(found))
    elif names and len(found) <= _DETAILED:
        for number, one in enumerate(found):
            detail = actor_tables.actor_detail(one, loaded.cautions if not number else ())
            worst = actor_tables.instance_rows(one.worst, "Its longest responses")
            show([*([""] if number else []), detail, worst])
    else:
        show([actor_tables.actor_rows(found, top, loaded.cautions)])


def load(
    file: TraceArgument,
    names: NamesArgument = None,
    bins: BinsOption = 48,
    since: SinceOption = None,
    until: UntilOption = None,
    by_name: ByNameOption = False,
    top: TopOption = 20,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Draw the CPU load over time: of all CPUs, of each, of each actor.

    Example: benchvise trace load trace.dat 'task:stress*' --since +1 --until +1.5
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.load_over_time(loaded, names or (), bins, by_name=by_name)
    if as_json:
        print_json("trace-load", loaded.told(found))
    else:
        show([cpu_tables.over_time_rows(found, "CPU load", top, loaded.cautions)])


def switches(
    file: TraceArgument,
    names: NamesArgument = None,
    bins: BinsOption = 48,
    since: SinceOption = None,
    until: UntilOption = None,
    by_name: ByNameOption = False,
    top: TopOption = 20,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Draw how many context switches a second there were over time: in all, by CPU, by actor.

    An actor's are those that left it.

    Example: benchvise trace switches trace.dat --bins 100
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.switches(loaded, names or (), bins, by_name=by_name)
    if as_json:
        print_json("trace-switches", loaded.told(found))
    else:
        show([cpu_tables.over_time_rows(found, "Context switches", top, loaded.cautions)])


def sched(
    file: TraceArgument,
    names: NamesArgument = None,
    since: SinceOption = None,
    until: UntilOption = None,
    by_name: ByNameOption = False,
    top: TopOption = 25,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say what the scheduler did: waits for a CPU, time slices, preemptions, migrations.

    Example: benchvise trace sched trace.dat 'task:iperf*'
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.scheduling(loaded, names or (), by_name=by_name)
    if as_json:
        print_json("trace-sched", loaded.told(found))
    else:
        show([actor_tables.scheduling_rows(found, top, loaded.cautions)])


def wakeups(
    file: TraceArgument,
    names: NamesArgument = None,
    since: SinceOption = None,
    until: UntilOption = None,
    by_name: ByNameOption = False,
    unsure: UnsureOption = False,
    top: TopOption = 20,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say who wakes whom, and how long the woken wait until they run.

    Example: benchvise trace wakeups trace.dat task:iperf3 --by-name
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.wakeups(loaded, names or (), by_name=by_name, unsure=unsure)
    if as_json:
        print_json("trace-wakeups", loaded.told(found))
    else:
        show(actor_tables.wakeup_rows(found, top, loaded.cautions))


def syscalls(
    file: TraceArgument,
    names: NamesArgument = None,
    since: SinceOption = None,
    until: UntilOption = None,
    by_name: ByNameOption = False,
    top: TopOption = 20,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say how long system calls took, by call and by who made them.

    From entry to exit, so with all waiting between.

    Example: benchvise trace syscalls trace.dat task:nginx --by-name
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.syscalls(loaded, names or (), by_name=by_name, most=None if as_json else top)
    if as_json:
        print_json("trace-syscalls", loaded.told(found))
    else:
        show(actor_tables.syscall_rows(found, top, loaded.cautions))


def block(
    file: TraceArgument,
    since: SinceOption = None,
    until: UntilOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say how long requests to block devices waited in the queue and in the device.

    Example: benchvise trace block trace.dat
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.block(loaded)
    if as_json:
        print_json("trace-block", loaded.told(found))
    else:
        show([actor_tables.block_rows(found, loaded.cautions)])


def timers(
    file: TraceArgument,
    since: SinceOption = None,
    until: UntilOption = None,
    top: TopOption = 20,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Say how late timers ran, how long their functions took, and how long CPUs had no tick.

    Example: benchvise trace timers trace.dat
    """
    loaded = load_trace(file, since, until, cache=cache)
    found = flow.timers(loaded)
    if as_json:
        print_json("trace-timers", loaded.told(found))
    else:
        show(actor_tables.timer_rows(found, top, loaded.cautions))
