"""``benchvise rig compose``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from benchvise.board.sanitise import printable
from benchvise.cli.output import JsonOption, print_json, stderr, stdout
from benchvise.errors import UsageError
from benchvise.flows.rig_compose import parse_layers
from benchvise.rig.compose import LAYERS, Composition, Layout, describe
from benchvise.rig.compose import compose as compose_layers


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
            help=f"{', '.join(LAYERS)}: taken from that image. None: say what --from holds.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an image out of layers of others, to find the layer that makes the difference.

    Without a layer: say what the image holds.

    Example: benchvise rig compose --from slow.wic --layer kernel=fast.wic -o mixed.wic
    """
    console = stderr()

    def told(step: str) -> None:
        if console.is_terminal:
            console.print(Text(step, style="dim"))

    if not layer:
        layout = describe(base)
        if as_json:
            print_json("rig-image", layout.as_json())
        else:
            _show_layout(layout)
        return
    if output is None:
        raise UsageError("the result has no name", "name it with -o")
    made = compose_layers(base, parse_layers(layer), output, told)
    if as_json:
        print_json("rig-compose", made.as_json())
    else:
        _show_composition(made)


def _show_composition(made: Composition) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("Layer", "From", "Done"):
        table.add_column(column)
    for swapped in made.layers:
        done = "; ".join(printable(step, 200) for step in swapped.done)
        table.add_row(swapped.layer, Text(swapped.image.path.name), Text(done))
    stdout().print(Text(f"{made.out}: {made.base.path.name} with", style="bold"))
    stdout().print(table)
    for warning in made.warnings:
        stdout().print(Text(f"note: {printable(warning, 400)}", style="yellow"))
    stdout().print(
        Text(f"\nSHA-256 {made.sha256}. Next: benchvise rig flash NAME {made.out}", style="dim")
    )


def _show_layout(layout: Layout) -> None:
    held = layout.as_json()
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in held.items():
        if name in ("image", "partitions") or value in (None, "", []):
            continue
        grid.add_row(Text(name.replace("_", " "), style="dim"), Text(_said(value)))
    for partition, system in layout.partitions:
        where = f"{partition.size / 1e6:.0f} MB at {partition.start / 1e6:.0f} MB"
        text = " ".join(filter(None, (system.kind, printable(system.label, 40), where)))
        grid.add_row(Text(f"partition {partition.number}", style="dim"), Text(text))
    stdout().print(Text(layout.name, style="bold"))
    stdout().print(grid)


def _said(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_said(item) for item in value)
    if isinstance(value, dict):
        return " ".join(printable(str(item), 200) for item in value.values() if item)
    return printable(str(value), 400)
