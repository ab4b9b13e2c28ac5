"""``benchvise rig virtual``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich import box
from rich.table import Table

from benchvise.cli.output import JsonOption, print_json, stdout, text_line
from benchvise.rig.virtual import standard_bench
from benchvise.rig.virtual.bench import inject
from benchvise.rig.virtual.injectable import INJECTABLE

DirectoryOption = Annotated[
    Path | None,
    typer.Option(
        "--directory",
        metavar="DIR",
        help="Where the bench lives: its cards, consoles and rig file.",
        show_default="below the XDG state directory",
    ),
]


@dataclass(frozen=True, slots=True)
class StoppedBench:
    """A virtual bench that was ended."""

    running: Literal[False] = False


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault that a simulated board has from now on, or no more."""

    board: str
    fault: str
    value: str


@dataclass(frozen=True, slots=True)
class CardImagePath:
    """The card image of a simulated board, or of a kind of them."""

    kind: str
    """The board or kind, as it was named."""
    variant: str
    path: Path


def up(
    boards: Annotated[
        str,
        typer.Option(
            "--boards",
            metavar="N|NAME=KIND,...",
            help="The first N of the six standard boards, or names with their kinds.",
        ),
    ] = "6",
    directory: DirectoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start the virtual bench: power by HTTP, consoles by TCP, cards behind a mux.

    Its values are those of an emulator on this machine, and are marked as simulated.

    Example: benchvise rig virtual up --boards 3
    """
    bench = standard_bench.up(boards, directory)
    if as_json:
        print_json("rig-virtual", standard_bench.bench_document(bench))
        return
    _table(bench)
    stdout().print(
        text_line(
            f"\nThe rig file is {bench.rig_file}. Next: benchvise run rig:all --image "
            "own --suite quick",
            style="dim",
        )
    )


def status(directory: DirectoryOption = None, as_json: JsonOption = False) -> None:
    """List the simulated boards and their state.

    Example: benchvise rig virtual status
    """
    bench = standard_bench.status(directory)
    if as_json:
        print_json("rig-virtual", standard_bench.bench_document(bench))
    else:
        _table(bench)


def down(directory: DirectoryOption = None, as_json: JsonOption = False) -> None:
    """Switch all simulated boards off and end the bench; the cards are kept.

    Example: benchvise rig virtual down
    """
    standard_bench.down(directory)
    if as_json:
        print_json("rig-virtual", StoppedBench())
    else:
        stdout().print("The virtual bench is down.")


def fault(
    board: Annotated[str, typer.Argument(metavar="NAME", help="A board of the virtual bench.")],
    name: Annotated[str, typer.Argument(metavar="FAULT", help=f"One of {', '.join(INJECTABLE)}.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="`off` ends it.")] = "on",
    directory: DirectoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Inject a fault into a simulated board, its relay, mux, card or console.

    Example: benchvise rig virtual fault arm64-1 relay-stuck 1
    """
    inject(board, name, value, directory)
    if as_json:
        print_json("rig-virtual-fault", InjectedFault(board, name, value))
    else:
        stdout().print(text_line(f"{board}: {name} = {value}"))


def image(
    kind: Annotated[str, typer.Argument(metavar="NAME|KIND", help="A board, or a kind of board.")],
    variant: Annotated[str, typer.Option("--variant", help="a, b, or one with a fault.")] = "a",
    as_json: JsonOption = False,
) -> None:
    """Print the path of a simulated board's card image, built if missing.

    Example: benchvise rig virtual image arm64-1
    """
    path = standard_bench.image(kind, variant)
    if as_json:
        print_json("rig-virtual-image", CardImagePath(kind, variant, path))
    else:
        print(path)


def _table(bench: standard_bench.RunningBench) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("Board", "Kind", "Power", "Card", "Console", "SSH", "Faults"):
        table.add_column(column)
    for board in bench.boards:
        document = standard_bench.board_document(board)
        cells = (
            board.name,
            board.kind,
            document.power,
            board.mux,
            f"{document.console}",
            f"{document.ssh}",
            document.faults,
        )
        table.add_row(*map(text_line, cells))
    stdout().print(text_line(f"Virtual bench {bench.directory} [simulated]", style="bold"))
    stdout().print(table)
