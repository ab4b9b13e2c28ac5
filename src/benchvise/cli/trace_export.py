"""``benchvise trace export``: traces for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from benchvise.cli.output import JsonOption, print_json, stderr, stdout
from benchvise.cli.trace_options import CacheOption, TraceArgument
from benchvise.flows import trace_export as flow
from benchvise.flows.trace_analyses import plain
from benchvise.quantities import format_value


class Target(StrEnum):
    """The formats that a trace can be written in."""

    PERFETTO = "perfetto"
    CHROME = "chrome"
    PARQUET = "parquet"


def export(
    file: TraceArgument,
    target: Annotated[
        Target,
        typer.Option(
            "--to",
            help="perfetto: its native protobuf, every event, for ui.perfetto.dev; chrome: JSON of "
            "what ran where; parquet: a directory with a file for each table.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="The file or directory.")
    ],
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Write a trace for another program.

    Example: benchvise trace export trace.dat --to perfetto -o trace.perfetto-trace
    """
    with stderr().status("writing"):
        done = flow.export(file, target.value, output, use_cache=cache)
    if as_json:
        print_json("trace-export", {**plain(done), "output": str(done.output)})
        return
    console = stdout()
    size = format_value(done.bytes, "B")
    console.print(Text(f"{done.output}: {done.written} {done.unit}, {size}"), soft_wrap=True)
    for remark in done.remarks:
        console.print(Text(remark, style="dim"), soft_wrap=True)
