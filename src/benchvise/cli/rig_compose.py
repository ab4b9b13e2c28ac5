"""``benchvise rig compose``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from benchvise.cli.output import JsonOption, print_json, stderr, stdout, text_line
from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.text import Untrusted

if TYPE_CHECKING:
    from benchvise.rig.compose.compose import Composition
    from benchvise.rig.images.layout import Layout

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
            print_json("rig-image", encode(layout.document()))
        else:
            _show_layout(layout)
        return
    if output is None:
        raise UsageError("the result has no name", "name it with -o")
    composition = compose_layers(base, parse_layers(layer), output, show_step)
    if as_json:
        print_json("rig-compose", encode(composition.manifest()))
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
        stdout().print(text_line(f"note: {warning}", style="yellow"))
    stdout().print(
        text_line(
            f"\nSHA-256 {composition.sha256}. Next: benchvise rig flash NAME {composition.out}",
            style="dim",
        )
    )


def _show_layout(layout: Layout) -> None:
    for line in layout.lines():
        stdout().print(text_line(line), soft_wrap=True)
