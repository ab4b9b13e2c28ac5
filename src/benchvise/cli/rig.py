"""``benchvise rig``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, TypeVar

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from benchvise.cli.output import JsonOption, RigOption, print_json, stderr, stdout, text_line
from benchvise.cli.progress import RigProgress
from benchvise.errors import UsageError
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.hold import actions
from benchvise.rig.hold.actions import BoardOutcome, open_terminal, outcome_document
from benchvise.rig.hold.messages import (
    BoardStatus,
    BootedBoard,
    FlashedCard,
    NotReadable,
    PowerChange,
)

T = TypeVar("T")

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Boards; all; or tag=FEATURE.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A board; all; or tag=FEATURE.")]


class MuxTo(StrEnum):
    """Who gets the card."""

    HOST = "host"
    DUT = "dut"


def status(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Boards; all; or tag=FEATURE.")
    ] = None,
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List boards: power, side of the card, holder, features.

    Example: benchvise rig status
    """
    loaded = actions.load(rig)
    outcomes = actions.status(loaded, names or [])
    if as_json:
        print_json("rig-status", [outcome_document(outcome) for outcome in outcomes])
    else:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in ("Board", "Power", "Card", "In use", "Features"):
            table.add_column(column)
        for outcome in outcomes:
            features = ", ".join(sorted(loaded.features[outcome.board]))
            table.add_row(outcome.board, *_state(outcome), features)
        stdout().print(text_line(f"Rig {loaded.path}", style="bold"))
        stdout().print(table)
    _fail(outcomes, quiet=as_json)


def power(
    name: Name,
    to: Annotated[PowerChange, typer.Argument(help="on, off, or cycle.")],
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Switch boards on or off by name; each change is read back.

    Off works whatever the state of the rest of the rig. Cycle: off, a pause, on.

    Example: benchvise rig power arm64-1 off
    """
    outcomes = actions.power(actions.load(rig), [name], to)
    _show(outcomes, "rig-power", lambda state: f"power {state.power}", as_json=as_json)


def mux(
    name: Name,
    to: Annotated[MuxTo, typer.Argument(help="host (this machine) or dut (the board).")],
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a card to this machine or to its board, which must be off.

    Example: benchvise rig mux arm64-1 host
    """
    outcomes = actions.mux(actions.load(rig), [name], MuxSide(to.value))
    _show(outcomes, "rig-mux", lambda card: f"card at {card.mux}", as_json=as_json)


def flash(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME... IMAGE",
            help="Boards, then the image: .wic or .img, also .gz .bz2 .xz .zst, .bmap beside it; "
            "or `own`: each board's own from the rig file.",
        ),
    ],
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write an image to cards, read it back, and compare; the boards are off.

    Example: benchvise rig flash arm64-1 arm64-2 build/core-image.wic.bz2
    """
    if len(targets) < 2:
        raise UsageError("an image and at least one board are needed", "NAME... IMAGE")
    with RigProgress(stderr()) as progress:
        outcomes = actions.flash(actions.load(rig), targets[:-1], targets[-1], progress.observe)
    _show(
        outcomes,
        "rig-flash",
        _written,
        as_json=as_json,
    )


def boot(
    names: Names,
    off: Annotated[bool, typer.Option("--off", help="Switch the boards off afterwards.")] = False,
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Boot boards from off to a shell; show the duration of each phase.

    A board that fails to boot is listed with the reason and switched off; its console log is kept.

    Example: benchvise rig boot all
    """
    with RigProgress(stderr()) as progress:
        outcomes = actions.boot(actions.load(rig), names, keep_on=not off, observe=progress.observe)
    if as_json:
        print_json("rig-boot", [outcome_document(outcome) for outcome in outcomes])
    else:
        from benchvise.report.boot_tables import timeline_view, timelines_view

        reports = {outcome.board: _report(outcome) for outcome in outcomes}
        booted = {board: report for board, report in reports.items() if report is not None}
        if len(booted) == 1:
            ((board, report),) = booted.items()
            stdout().print(timeline_view(report, name=board))
        elif booted:
            stdout().print(timelines_view(booted))
        for outcome in outcomes:
            if outcome.result is not None:
                reached = _reached(outcome.result)
                stdout().print(text_line(f"{outcome.board}: {reached}", style="dim"))
    _fail(outcomes, quiet=as_json)


def console(name: Name, rig: RigOption = None, as_json: JsonOption = False) -> None:
    """Open a board's serial console (Ctrl-] quits). The session is recorded.

    With --json, the console goes to standard error, the path of its log to standard output.

    Example: benchvise rig console arm64-1
    """
    loaded = actions.load(rig)
    (board,) = loaded.select([name])[:1]
    log = open_terminal(loaded, board, sys.stderr.buffer if as_json else None)
    if as_json:
        print_json("rig-console", {"board": board, "console": str(log)})
    else:
        stderr().print(Text(f"\nconsole recorded in {log}", style="dim"))


def _written(card: FlashedCard) -> str:
    rate = card.written / max(card.write_s, 1e-9) / 1e6
    return (
        f"wrote {card.written / 1e6:.0f} MB of {card.size / 1e6:.0f} MB in {card.write_s:.1f} s "
        f"({rate:.0f} MB/s), read back in {card.verify_s:.1f} s: SHA-256 {card.sha256[:16]}…"
    )


def _report(outcome: BoardOutcome[BootedBoard]) -> BootReport | None:
    if outcome.result is not None:
        return outcome.result.report
    report: BootReport | None = getattr(outcome.error, "report", None)
    return report


def _reached(booted: BootedBoard) -> str:
    if not booted.address:
        return "no network; it is reached over its console"
    return f"answers to SSH at {booted.address}, port {booted.port}"


def _state(outcome: BoardOutcome[BoardStatus]) -> tuple[Text, Text, Text]:
    state = outcome.result
    if state is None:
        reason = outcome.error.message if outcome.error is not None else ""
        return Text("?", style="red"), Text("?"), text_line(reason)
    holder = "free"
    if state.holder is not None:  # one elsewhere has no process here
        pid = f" ({state.holder.pid})" if state.holder.pid else ""
        holder = f"{state.holder.what}{pid}"
    return _switch(state.power), _switch(state.mux), text_line(holder)


def _switch(value: str | NotReadable | None) -> Text:
    if isinstance(value, NotReadable):
        return text_line(f"? {value.na}", style="red")
    return text_line(value or "-", style="green" if value == "on" else "")


def _show(
    outcomes: list[BoardOutcome[T]],
    kind: str,
    line: Callable[[T], str],
    *,
    as_json: bool,
) -> None:
    if as_json:
        print_json(kind, [outcome_document(outcome) for outcome in outcomes])
    else:
        for outcome in outcomes:
            if outcome.result is not None:
                stdout().print(text_line(f"{outcome.board}: {line(outcome.result)}"))
    _fail(outcomes, quiet=as_json)


def _fail(outcomes: list[BoardOutcome[T]], *, quiet: bool) -> None:
    """The errors, one line each with the fault's name, and the exit code of the first."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in () if quiet else errors:
        fault = getattr(error, "fault", "")
        line = text_line(f"{fault}: " if fault else "", style="bold red")
        remedy = f": {error.remedy}" if error.remedy else ""
        line.append(f"{error.message}{remedy}", style="default")
        stderr().print(line, soft_wrap=True)
    if errors:
        raise typer.Exit(errors[0].exit_code)
