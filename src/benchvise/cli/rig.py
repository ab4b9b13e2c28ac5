"""``benchvise rig``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from benchvise.cli.output import JsonOption, print_json, stderr, stdout, text_line
from benchvise.cli.progress import RigProgress
from benchvise.cli.rig_options import RigOption
from benchvise.errors import UsageError
from benchvise.flows import rig as flow
from benchvise.flows import rig_console
from benchvise.flows.rig import Outcome
from benchvise.rig.boot.verdict import BootReport
from benchvise.text import printable

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Boards; all; or tag=FEATURE.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A board; all; or tag=FEATURE.")]


class PowerTo(StrEnum):
    """What is done to the power."""

    ON = "on"
    OFF = "off"
    CYCLE = "cycle"


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
    """Say which boards there are, which have power, where their cards are, and who holds them.

    Example: benchvise rig status
    """
    loaded = flow.load(rig)
    outcomes = flow.status(loaded, names or [])
    if as_json:
        print_json("rig-status", [outcome.as_json() for outcome in outcomes])
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
    to: Annotated[PowerTo, typer.Argument(help="on, off, or cycle.")],
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Switch boards on or off by name; each change is read back.

    Off works whatever state the rest of the rig is in. Cycle is off, a pause, and on.

    Example: benchvise rig power arm64-1 off
    """
    outcomes = flow.power(flow.load(rig), [name], to.value)
    _show(outcomes, "rig-power", lambda found: f"power {found['power']}", as_json=as_json)


def mux(
    name: Name,
    to: Annotated[MuxTo, typer.Argument(help="host (this machine) or dut (the board).")],
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a card to this machine or to its board; never while the board has power.

    Example: benchvise rig mux arm64-1 host
    """
    outcomes = flow.mux(flow.load(rig), [name], to.value)
    _show(outcomes, "rig-mux", lambda found: f"card at {found['mux']}", as_json=as_json)


def flash(
    words: Annotated[
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
    """Write an image to cards while the boards are off, read it back, and compare.

    Example: benchvise rig flash arm64-1 arm64-2 build/core-image.wic.bz2
    """
    if len(words) < 2:
        raise UsageError("an image and at least one board are needed", "NAME... IMAGE")
    with RigProgress(stderr()) as progress:
        outcomes = flow.flash(flow.load(rig), words[:-1], words[-1], progress.observe)
    _show(
        outcomes,
        "rig-flash",
        lambda found: (
            f"wrote {found['written'] / 1e6:.0f} MB of {found['size'] / 1e6:.0f} MB in "
            f"{found['write_s']:.1f} s ({found['written'] / max(found['write_s'], 1e-9) / 1e6:.0f} "
            f"MB/s), read back in {found['verify_s']:.1f} s: SHA-256 {found['sha256'][:16]}…"
        ),
        as_json=as_json,
    )


def boot(
    names: Names,
    off: Annotated[bool, typer.Option("--off", help="Switch them off again afterwards.")] = False,
    rig: RigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Boot boards from off to a shell, and show how long each phase took.

    A board that does not boot is named with the reason and switched off; its console is kept.

    Example: benchvise rig boot all
    """
    with RigProgress(stderr()) as progress:
        outcomes = flow.boot(flow.load(rig), names, keep_on=not off, observe=progress.observe)
    if as_json:
        print_json("rig-boot", [outcome.as_json() for outcome in outcomes])
    else:
        from benchvise.report.boot_tables import timeline_view, timelines_view

        reports = {outcome.board: _report(outcome) for outcome in outcomes}
        shown = {board: report for board, report in reports.items() if report is not None}
        if len(shown) == 1:
            ((board, report),) = shown.items()
            stdout().print(timeline_view(report, name=board))
        elif shown:
            stdout().print(timelines_view(shown))
        for outcome in outcomes:
            if outcome.error is None:
                stdout().print(text_line(f"{outcome.board}: {_reached(outcome)}", style="dim"))
    _fail(outcomes, quiet=as_json)


def console(name: Name, rig: RigOption = None, as_json: JsonOption = False) -> None:
    """Speak with a board on its serial console; Ctrl-] leaves. What is said is kept.

    With --json, what the board says goes to standard error, and where it is kept to standard
    output.

    Example: benchvise rig console arm64-1
    """
    loaded = flow.load(rig)
    (board,) = loaded.select([name])[:1]
    kept = rig_console.attend(loaded, board, sys.stderr.buffer if as_json else None)
    if as_json:
        print_json("rig-console", {"board": board, "console": str(kept)})
    else:
        stderr().print(Text(f"\nconsole kept in {kept}", style="dim"))


def _report(outcome: Outcome) -> BootReport | None:
    if outcome.error is None:
        return BootReport.from_json(outcome.found["report"])
    report: BootReport | None = getattr(outcome.error, "report", None)
    return report


def _reached(outcome: Outcome) -> str:
    address = outcome.found.get("address")
    if not address:
        return "no network; its console carries what is asked of it"
    return f"answers to SSH at {address}, port {outcome.found['port']}"


def _state(outcome: Outcome) -> tuple[Text, Text, Text]:
    if outcome.error is not None:
        return Text("?", style="red"), Text("?"), text_line(printable(outcome.error.message, 80))

    def shown(value: object) -> Text:
        if isinstance(value, dict):
            return text_line(f"? {printable(str(value.get('na', '')), 60)}", style="red")
        text = "-" if value is None else str(value)
        return text_line(text, style="green" if text == "on" else "")

    holder = outcome.found.get("holder")
    used = "free"
    if isinstance(holder, dict):  # one elsewhere has no process here
        used = f"{holder['what']} ({holder['pid']})" if holder["pid"] else str(holder["what"])
    return shown(outcome.found.get("power")), shown(outcome.found.get("mux")), text_line(used)


def _show(
    outcomes: list[Outcome],
    kind: str,
    line: Callable[[Mapping[str, Any]], str],
    *,
    as_json: bool,
) -> None:
    if as_json:
        print_json(kind, [outcome.as_json() for outcome in outcomes])
    else:
        for outcome in outcomes:
            if outcome.error is None:
                stdout().print(text_line(f"{outcome.board}: {line(outcome.found)}"))
    _fail(outcomes, quiet=as_json)


def _fail(outcomes: list[Outcome], *, quiet: bool) -> None:
    """The errors, one line each with the fault's name, and the exit code of the first."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in () if quiet else errors:
        fault = getattr(error, "fault", "")
        line = text_line(f"{fault}: " if fault else "", style="bold red")
        remedy = f": {error.remedy}" if error.remedy else ""
        line.append_text(text_line(f"{error.message}{remedy}", "default"))
        stderr().print(line, soft_wrap=True)
    if errors:
        raise typer.Exit(errors[0].exit_code)
