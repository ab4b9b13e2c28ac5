"""``benchvise history``: when series changed, and what changed beside them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchvise.board import full_name
from benchvise.cli.output import JsonOption, StoreOption, print_json, stdout, text_line
from benchvise.errors import UsageError
from benchvise.text import counted, enumerated

if TYPE_CHECKING:
    from benchvise.report.history_events import HistoryEvents

SHOWN = 10
"""Series of an event that are listed."""

NAMED = 3
"""Boards that were left out and are named."""

HistoryFormatName = Literal["table", "json", "csv", "tsv", "markdown", "html", "otava"]
"""How ``history`` prints."""


def history(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]...", help="Only series whose names have these words."),
    ] = None,
    board: Annotated[
        list[str] | None,
        typer.Option("--board", metavar="BOARD", help="Only this board. Repeatable."),
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="TAG", help="Only runs with this tag.")
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=2, max=1000, help="Runs of each board, the newest.")
    ] = 100,
    boards: Annotated[
        int,
        typer.Option(
            "--boards", min=1, help="Boards, those measured last, where --board names none."
        ),
    ] = 20,
    everything: Annotated[bool, typer.Option("--all", help="List all series of an event.")] = False,
    format: Annotated[  # noqa: A002 - the option's name
        HistoryFormatName,
        typer.Option(
            "--format",
            help="csv, tsv: a line a change of a series; html: a page; otava: the medians of a "
            "board's runs, as Apache Otava reads them.",
        ),
    ] = "table",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find when series changed, on all boards, and what changed in the state beside them.

    Changes of many series on many boards that belong together are one event. A change shows when
    five runs on either side, or six and four, differ by more than runs of the same state do.

    Example: benchvise history --board rig:pi memory
    """
    from benchvise.flows import history as flow
    from benchvise.report.history_formats import EVENT_FORMATS, otava_csv
    from benchvise.store import Store

    if as_json and format not in ("table", "json"):
        raise UsageError(f"--json and --format {format} exclude each other", "give one of them")
    request = flow.HistoryRequest(
        tuple(map(full_name, board or ())), tuple(words or ()), tag, runs, boards
    )
    with Store.open(store) as opened:
        if format == "otava":
            if len(request.boards) != 1:
                raise UsageError("a file for Otava is of one board", "name it: --board BOARD")
            sys.stdout.write(otava_csv(flow.past_of(opened, request.boards[0], request)))
            return
        events = flow.find_events(opened, request)
    if as_json or format == "json":
        print_json("history", events)
    elif format != "table":
        sys.stdout.write(EVENT_FORMATS[format](events))
    else:
        _print(events, limit=None if everything else SHOWN)


def _print(events: HistoryEvents, limit: int | None) -> None:
    from benchvise.report.history_events import event_rows
    from benchvise.report.rendering import rendered

    console = stdout()
    for event in events.events:
        console.print(rendered(event_rows(event, limit)))
        for step in event.next_steps:  # not folded, so that it can be pasted
            console.print(text_line(step), soft_wrap=True)
        console.print("")
    looked_at = (
        f"{counted(events.series, 'series', 'series')} of {counted(len(events.boards), 'board')}, "
        f"the newest {events.runs} runs of each"
    )
    if not events.events:
        console.print(text_line(f"No change was found: {looked_at}."))
    else:
        console.print(text_line(f"{counted(len(events.events), 'event')}: {looked_at}."))
    if events.left_out:
        left_out = enumerated(list(events.left_out), NAMED)
        console.print(text_line(f"Left out, measured earlier: {left_out}. See --boards, --board."))
