"""``benchvise rig``; the simulated boards of ``rig virtual`` are in ``cli.rig_virtual``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from benchvise.cli.output import (
    JsonOption,
    RigOption,
    WaitOption,
    be_patient,
    print_json,
    stderr,
    stdout,
    text_line,
)
from benchvise.cli.progress import RigProgress
from benchvise.errors import Interrupted, UsageError
from benchvise.flows.boards import command_line
from benchvise.flows.boots import reported_boots
from benchvise.quantities import format_duration
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.hold import actions
from benchvise.rig.hold.actions import BoardOutcome, open_terminal, outcome_document
from benchvise.rig.hold.messages import (
    BoardHolder,
    BoardStatus,
    BootedBoard,
    FlashedCard,
    NotReadable,
    PowerChange,
)
from benchvise.terminal_colors import BAD, DOUBT, ERROR, GOOD
from benchvise.text import Untrusted

if TYPE_CHECKING:
    from benchvise.rig.compose.compose import Composition
    from benchvise.rig.images.layout import Layout
    from benchvise.rig.soak.soak import RigFault, SoakBoot


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

    Of free boards that are reached over their network alone, also whether they answer to SSH.

    Example: benchvise rig status
    """
    loaded = actions.load(rig)
    outcomes = actions.status(loaded, names or [], reach=True)
    if as_json:
        print_json("rig-status", [outcome_document(outcome) for outcome in outcomes])
    else:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in ("Board", "Power", "Card", "Network", "In use", "Features"):
            table.add_column(column)
        for outcome in outcomes:
            features = ", ".join(sorted(loaded.features[outcome.board]))
            table.add_row(outcome.board, *_state(outcome), features)
        stdout().print(text_line(f"Rig {loaded.path}", style="bold"))
        stdout().print(table)
        silent = [
            outcome.board
            for outcome in outcomes
            if outcome.result is not None and isinstance(outcome.result.network, NotReadable)
        ]
        if silent:
            line = f"{len(silent)} of {len(outcomes)} boards do not answer: {', '.join(silent)}"
            stdout().print(text_line(line, style=DOUBT), soft_wrap=True)
    _fail(outcomes, quiet=as_json)


def power(
    name: Name,
    to: Annotated[PowerChange, typer.Argument(help="on, off, or cycle.")],
    rig: RigOption = None,
    wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Switch boards on or off by name; each change is read back.

    Off works whatever the state of the rest of the rig. Cycle: off, a pause, on.

    Example: benchvise rig power arm64-1 off
    """
    be_patient(wait)
    outcomes = actions.power(actions.load(rig), [name], to)
    _show(outcomes, "rig-power", lambda state: f"power {state.power}", as_json=as_json)


def mux(
    name: Name,
    to: Annotated[MuxTo, typer.Argument(help="host (this machine) or dut (the board).")],
    rig: RigOption = None,
    wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a card to this machine or to its board, which must be off.

    Example: benchvise rig mux arm64-1 host
    """
    be_patient(wait)
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
    wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write an image to cards, read it back, and compare; the boards are off.

    Example: benchvise rig flash arm64-1 arm64-2 build/core-image.wic.bz2
    """
    be_patient(wait)
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
    wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Boot boards from off to a shell; show the duration of each phase.

    A board that fails to boot is listed with the reason and switched off; its console log is kept.

    Example: benchvise rig boot all
    """
    be_patient(wait)
    with RigProgress(stderr()) as progress:
        loaded = actions.load(rig)
        with reported_boots(None, command_line()):
            outcomes = actions.boot(loaded, names, keep_on=not off, observe=progress.observe)
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


@dataclass(frozen=True, slots=True)
class RecordedConsole:
    """A console that was open: of which board, and the file that it was recorded in."""

    board: str
    console: Path


def console(
    name: Name, rig: RigOption = None, wait: WaitOption = None, as_json: JsonOption = False
) -> None:
    """Open a board's serial console (Ctrl-] quits). The session is recorded.

    With --json, the console goes to standard error, the path of its log to standard output.

    Example: benchvise rig console arm64-1
    """
    be_patient(wait)
    loaded = actions.load(rig)
    (board,) = loaded.select([name])[:1]
    log = open_terminal(loaded, board, sys.stderr.buffer if as_json else None)
    if as_json:
        print_json("rig-console", RecordedConsole(board, log))
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


def _state(outcome: BoardOutcome[BoardStatus]) -> tuple[Text, Text, Text, Text]:
    state = outcome.result
    if state is None:
        reason = outcome.error.message if outcome.error is not None else ""
        return Text("?", style=ERROR), Text("?"), Text("?"), text_line(reason)
    holder = "free"
    if state.holder is not None:
        holder = _held_by(state.holder)
    if state.waiting:
        more = len(state.waiting) - 1
        holder += f"; next: {_held_by(state.waiting[0])}{f' and {more} more' if more else ''}"
    network = (
        text_line(state.network or "-")
        if not isinstance(state.network, NotReadable)
        else (text_line(state.network.na, style=ERROR))
    )
    return _switch(state.power), _switch(state.mux), network, text_line(holder)


def _held_by(holder: BoardHolder) -> str:
    process = [str(holder.pid)] if holder.pid else []  # one elsewhere has no process here
    if holder.since is not None:
        at_least = "" if holder.pid else "at least "  # of a place its last change is known
        held_s = max(0.0, time.time() - holder.since)
        process.append(f"for {at_least}{format_duration(held_s)}")
    return f"{holder.what} ({', '.join(process)})" if process else holder.what


def _switch(value: str | NotReadable | None) -> Text:
    if isinstance(value, NotReadable):
        return text_line(f"? {value.na}", style=ERROR)
    return text_line(value or "-", style=GOOD if value == "on" else "")


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
        line = text_line(f"{fault}: " if fault else "", style=BAD)
        remedy = f": {error.remedy}" if error.remedy else ""
        line.append(f"{error.message}{remedy}", style="default")
        stderr().print(line, soft_wrap=True)
    if errors:
        raise typer.Exit(errors[0].exit_code)


# -- soak ------------------------------------------------------------------------------------------


def soak(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A board; or harts:FORM, a boot program for four RISC-V harts on a simulated "
            "machine, in the form faulty, doubted, repaired, initialised or copied.",
        ),
    ],
    boots: Annotated[int, typer.Option("--boots", min=1, max=100000, help="Number of boots.")] = 20,
    ram_fill: Annotated[
        str | None,
        typer.Option(
            "--ram-fill",
            metavar="WORD|random|hart-ids|kept:WORD",
            help="RAM contents at power-on, for harts: only (kept: as the last boot left it).",
            show_default="hart-ids",
        ),
    ] = None,
    boot_hart: Annotated[
        int, typer.Option("--boot-hart", min=0, help="Hart that boots, for harts: only.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of random RAM contents.")] = 1,
    symbols: Annotated[
        Path | None,
        typer.Option(
            "--symbols",
            metavar="FILE",
            help="ELF file (such as vmlinux) with the names of functions, for failed boots.",
        ),
    ] = None,
    rig: RigOption = None,
    wait: WaitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Boot a board many times from cold: failure rate, where it fails, durations.

    The failure rate comes with its exact interval. Exit code 1 when a boot failed.

    Example: benchvise rig soak harts:faulty --boots 40
    """
    be_patient(wait)
    # Late: it would make every other command start later.
    from benchvise.report.boot_tables import boot_line, soak_table
    from benchvise.rig.hold import board_soak
    from benchvise.rig.soak.soak import soak_document

    console = stderr()

    def show_boot(boot: SoakBoot | RigFault) -> None:
        if console.is_terminal:
            console.print(text_line(boot_line(boot), style="dim"))

    if name.startswith(board_soak.PREFIX):
        result = board_soak.soak_program(name, boots, ram_fill, boot_hart, seed, show_boot)
    else:
        if ram_fill is not None or boot_hart:
            raise UsageError(
                "--ram-fill and --boot-hart are for harts: only",
                "a board's RAM holds what it holds",
            )
        loaded = actions.load(rig)
        (board,) = loaded.select([name])[:1]
        with reported_boots(None, command_line()):
            result = board_soak.soak_board(loaded, board, boots, show_boot, symbols)
    if as_json:
        print_json("soak", soak_document(result))
    else:
        stdout().print(soak_table(result))
    if result.ended == "interrupted":
        raise typer.Exit(Interrupted.exit_code)
    if result.failed or result.rig_faults:
        raise typer.Exit(1)


# -- compose ---------------------------------------------------------------------------------------

LAYERS = "bootloader, root, libc, init-settings, kernel, device-tree, command-line"


def compose(
    base: Annotated[Path, typer.Option("--from", metavar="IMAGE", help="What is changed.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="IMAGE", help="The result.")
    ] = None,
    layer: Annotated[
        list[str] | None,
        typer.Option(
            "--layer",
            metavar="LAYER=IMAGE",
            help=f"{LAYERS}: taken from that image. None: show what --from holds.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an image out of layers of others, to find the layer that makes the difference.

    Without a layer: show what the image holds.

    Example: benchvise rig compose --from slow.wic --layer kernel=fast.wic -o mixed.wic
    """
    # Late: it would make every other command start a tenth of a second later.
    from benchvise.rig.compose.compose import compose as compose_layers
    from benchvise.rig.images.workplace import describe

    console = stderr()

    def show_step(step: str) -> None:
        if console.is_terminal:
            console.print(text_line(step, style="dim"))

    if not layer:
        layout = describe(base)
        if as_json:
            print_json("rig-image", layout.document())
        else:
            _show_layout(layout)
        return
    if output is None:
        raise UsageError("the result has no name", "name it with -o")
    composition = compose_layers(base, parse_layers(layer), output, show_step)
    if as_json:
        print_json("rig-compose", composition.manifest())
    else:
        _show_composition(composition)


def parse_layers(options: Sequence[str]) -> dict[str, Path]:
    """``LAYER=IMAGE`` options as layers; UsageError for one that is not, or is given twice."""
    layers: dict[str, Path] = {}
    for option in options:
        name, equals, path = option.partition("=")
        if not equals or not path:
            raise UsageError(f"--layer {option} is not LAYER=IMAGE", "kernel=fast.wic")
        if name in layers:
            raise UsageError(f"--layer {name} is given twice", "choose one image")
        layers[name] = Path(path).expanduser()
    return layers


def _show_composition(composition: Composition) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("Layer", "From", "Done"):
        table.add_column(column)
    for swapped in composition.layers:
        steps = "; ".join(f"{Untrusted(step)}" for step in swapped.steps)
        table.add_row(swapped.layer, text_line(swapped.image.path.name), text_line(steps))
    stdout().print(text_line(f"{composition.out}: {composition.base.path.name} with", style="bold"))
    stdout().print(table)
    for warning in composition.warnings:
        stdout().print(text_line(f"note: {warning}", style=DOUBT))
    stdout().print(
        text_line(
            f"\nSHA-256 {composition.sha256}. Next: benchvise rig flash NAME {composition.out}",
            style="dim",
        )
    )


def _show_layout(layout: Layout) -> None:
    for line in layout.lines():
        stdout().print(text_line(line), soft_wrap=True)
