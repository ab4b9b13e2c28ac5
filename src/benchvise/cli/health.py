"""``benchvise health`` and ``benchvise watch``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchvise.board import full_name
from benchvise.cli.output import (
    JsonOption,
    RigOption,
    StoreOption,
    print_json,
    stderr,
    stdout,
    text_line,
)
from benchvise.errors import UsageError
from benchvise.flows import health as flow
from benchvise.flows.health import CHEAP, WatchNotice, WatchOutcome, WatchRequest
from benchvise.health.judging import HealthVerdict, judge_log
from benchvise.health.saved_log import read_saved_log
from benchvise.health.watch.alerts import spell
from benchvise.output_files import check_output_file
from benchvise.quantities import seconds_or_none
from benchvise.report.health_tables import (
    health_report,
    history_tables,
    watch_cost,
    watch_history_data,
)
from benchvise.report.rendering import rendered
from benchvise.terminal_colors import BAD, DOUBT, ERROR, GOOD

_WIDTH = 80


def health(
    board: Annotated[
        str | None,
        typer.Argument(
            metavar="[BOARD]", help="local, USER@HOST, an IP address, ssh://HOST:PORT, or rig:NAME."
        ),
    ] = None,
    sensors: Annotated[
        Path | None,
        typer.Option(
            "--sensors",
            metavar="FILE",
            help="A sensors3.conf with labels and scaling, in place of the board's own.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="A saved kernel log in place of a board (dmesg, journal, syslog, console; "
            "- for standard input).",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a board's health: kernel log, disks, network, memory, sensors, clocks.

    Example: benchvise health ssh://root@10.0.0.7

    With --log, classify a saved kernel log by the same rules: dmesg | benchvise health --log -

    Only reads. Ends with exit code 1 when something is failing.
    """
    if log is not None:
        if board is not None or sensors is not None:
            raise UsageError(
                "--log reads a file, no board", "leave out BOARD and --sensors, or --log"
            )
        judgement = judge_log(read_saved_log(log))
    elif board is not None:
        judgement = flow.health(board, sensors)
    else:
        raise UsageError("no board is named", "benchvise health BOARD, or health --log FILE")
    if as_json:
        print_json("health", judgement)
    else:
        console = stdout()
        console.width = min(console.width, _WIDTH)
        console.print(health_report(judgement))
    if judgement.verdict is HealthVerdict.FAILING:
        raise typer.Exit(1)


# -- watch -----------------------------------------------------------------------------------------

_STYLES = {"alert": BAD, "error": ERROR, "warning": DOUBT, "note": "dim"}


def watch(
    boards: Annotated[
        list[str],
        typer.Argument(
            metavar="BOARD...",
            help="local, USER@HOST, an IP address, ssh://HOST:PORT, or rig:NAME.",
        ),
    ],
    every: Annotated[
        str, typer.Option("--every", metavar="S", help="Interval between polls: 60, 30s, 5min, 1h.")
    ] = "60",
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="S", help="For how long; without it, until Ctrl-C."),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE", help="Rules for alerts of your own, in TOML."),
    ] = None,
    on_alert: Annotated[
        str | None,
        typer.Option(
            "--on-alert",
            metavar="CMD",
            help="Run this for each alert; ALERT_BOARD and others in its environment say what.",
        ),
    ] = None,
    textfile: Annotated[
        Path | None,
        typer.Option(
            "--textfile",
            metavar="FILE",
            help="Write metrics after each poll for node_exporter's textfile collector (.prom).",
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Show the stored history; do not poll.")
    ] = False,
    by: Annotated[
        Literal["day", "week"], typer.Option("--by", help="With --show: a column for each.")
    ] = "day",
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="With --show: from 2026-03-14, or from 30d ago."
        ),
    ] = None,
    rig: RigOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Poll boards for weeks: counters, kernel log, sensors; report changes as they happen.

    Everything is stored; a watch that is started again continues where it stopped. Runs show the
    events that happened during them. With --show, print the history by day or week.

    Example: benchvise watch ssh://root@10.0.0.7 --every 60
    """
    if show:
        _show(boards, by, since, store, as_json=as_json)
        return
    if since is not None:
        raise UsageError("--since is for what was seen so far", "add --show")
    request = WatchRequest(
        tuple(map(full_name, boards)),
        _seconds(every, "--every", 1.0),
        None if duration is None else _seconds(duration, "--for", 0.0),
        rules,
        on_alert,
        rig,
        textfile,
    )
    if textfile is not None:
        check_output_file(textfile, "the metrics")
    from benchvise.store import Store  # late, as it is not needed for --help

    with Store.open(store) as opened:
        stderr().print(text_line(_announcement(request), "dim"), soft_wrap=True)
        outcomes = flow.watch(request, opened, lambda notice: _tell(notice, as_json=as_json))
    if as_json:
        print_json("watch", outcomes)
    else:
        for outcome in outcomes:
            _print_outcome(outcome, request.every)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(3)
    if any(outcome.alerts for outcome in outcomes):
        raise typer.Exit(1)


def _announcement(request: WatchRequest) -> str:
    """What goes on while nothing is printed."""
    boards = ", ".join(request.boards)
    until = "until Ctrl-C" if request.duration is None else f"for {spell(round(request.duration))}"
    return (
        f"Polling {boards} every {spell(round(request.every))} {until}. Each event and alert is a "
        "line; while nothing changes, nothing is printed."
    )


def _seconds(text: str, option: str, least: float) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = seconds_or_none(text) or -1.0
    if not least <= seconds <= 366 * 86400:
        raise UsageError(f"{option} {text} is no time", "give 60, 30s, 5min, 1h or 7d")
    return seconds


def _tell(happening: WatchNotice, *, as_json: bool) -> None:
    """One line for what happened: a result for people, progress for programs."""
    at = f"{datetime.fromtimestamp(happening.at, UTC):%Y-%m-%d %H:%M:%S}"
    what = happening.what
    if happening.alert is not None:
        what = f"ALERT {happening.what}" if happening.alert.raised else f"over: {happening.what}"
    line = f"{at}  {happening.board}  {what}: {happening.text}"
    if happening.alert is not None and happening.alert.raised and happening.alert.remedy:
        line += f"; {happening.alert.remedy}"
    style = _STYLES.get(happening.severity, "")
    if happening.alert is not None and not happening.alert.raised:
        style = GOOD
    console = stderr() if as_json else stdout()
    console.print(text_line(line, style=style), soft_wrap=True)


def _print_outcome(outcome: WatchOutcome, every: float) -> None:
    cost = outcome.cost
    parts = [
        f"{outcome.polls} polls in {spell(round(outcome.watched))}",
        f"{outcome.events} events",
        f"{outcome.alerts} alerts" + (f", {outcome.open_alerts} raised now"
                                      if outcome.open_alerts else ""),
        "cost on the board not known"
        if cost is None or outcome.cpu is None
        else f"cost {watch_cost(outcome.cpu, outcome.watched)}",
    ]  # fmt: skip
    if outcome.lost:
        parts.append(f"contact lost {outcome.lost} times")
    console = stdout()
    console.print(text_line(f"{outcome.board}: {', '.join(parts)}"), soft_wrap=True)
    if cost is not None and cost > CHEAP:
        enough = every * cost / CHEAP
        console.print(
            text_line(f"more than {CHEAP:.1%}: poll every {enough:.0f} s or less often", DOUBT)
        )
    if outcome.error is not None:
        console.print(text_line(str(outcome.error), BAD), soft_wrap=True)
    console.print(text_line(f"benchvise watch --show {outcome.board}", "dim"), soft_wrap=True)


def _show(
    boards: list[str], by: Literal["day", "week"], since: str | None, store: str | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    now = time.time()
    begin = _begin(since, now)
    histories = [flow.history(store, full_name(board), begin, now) for board in boards]
    if as_json:
        print_json(
            "watch-history", [watch_history_data(board_history, by) for board_history in histories]
        )
        return
    for board_history in histories:
        for table in history_tables(board_history, by):
            stdout().print(rendered(table))
            stdout().print("")


def _begin(since: str | None, now: float) -> float:
    """When to begin; all that there is without ``--since``."""
    if since is None:
        return 0.0
    seconds = seconds_or_none(since)
    if seconds is not None:
        return now - seconds
    try:
        at = datetime.fromisoformat(since)
    except ValueError as error:
        raise UsageError(
            f"--since {since} is no time", "give a date (2026-03-14) or 30d"
        ) from error
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
