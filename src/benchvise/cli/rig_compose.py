"""``benchvise rig compose``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from benchvise.board.sanitise import printable
from benchvise.cli.output import JsonOption, print_json, stderr, stdout
from benchvise.errors import UsageError

if TYPE_CHECKING:
    from benchvise.rig.compose import Composition, Layout

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
            help=f"{LAYERS}: taken from that image. None: say what --from holds.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an image out of layers of others, to find the layer that makes the difference.

    Without a layer: say what the image holds.

    Example: benchvise rig compose --from slow.wic --layer kernel=fast.wic -o mixed.wic
    """
    # Late: it would make every other command start a tenth of a second later.
    from benchvise.rig.compose import compose as compose_layers
    from benchvise.rig.compose import describe

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
    for line in layout.lines():
        stdout().print(Text(line), soft_wrap=True)


def parse_layers(words: Sequence[str]) -> dict[str, Path]:
    """``LAYER=IMAGE`` words as layers; UsageError for one that is not, or is given twice."""
    layers: dict[str, Path] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not path:
            raise UsageError(f"--layer {printable(word)} is not LAYER=IMAGE", "kernel=fast.wic")
        if name in layers:
            raise UsageError(f"--layer {printable(name)} is given twice", "choose one image")
        layers[name] = Path(path).expanduser()
    return layers
