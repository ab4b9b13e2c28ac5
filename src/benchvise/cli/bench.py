"""``benchvise bench``: the benchmarks, as the probe describes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from benchvise.cli.output import JsonOption, print_json, stdout, text_line
from benchvise.documents import in_json
from benchvise.measure.model import Benchmark, Figure, Parameter
from benchvise.measure.runner import local_registry
from benchvise.names import search

DRIVEN_BY = {
    "probe": "the probe on the board",
    "host": "this machine, with the board at the other end",
}


_ROOM_FOR_ALL = 76
"""Columns of a terminal below which only names and what they tell are listed."""


def list_benchmarks(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT]",
            help="Those that this may mean: syscall, stream, lat_mem_rd, disk.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the benchmarks.

    Example: benchvise bench list syscall
    """
    registry = local_registry()
    benchmarks = (
        [registry.get(entry.name) for entry in search(query, registry.named_entries(), limit=50)]
        if query
        else registry.benchmarks
    )
    if as_json:
        print_json("benchmarks", benchmarks)
        return
    if not benchmarks:
        stdout().print(text_line(f"No benchmark is called '{query}'. All: benchvise bench"))
        stdout().print(f"Anything else of that name: benchvise find {query}", style="dim")
        return
    console = stdout()
    headings = ["benchmark", "unit", "better", "driven by", "what it tells"]
    if console.width < _ROOM_FOR_ALL:
        headings = [headings[0], headings[-1]]
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading != "what it tells")
    for benchmark in benchmarks:
        cells = {
            "benchmark": benchmark.id,
            "unit": benchmark.unit,
            "better": benchmark.better,
            "driven by": benchmark.driven_by,
            "what it tells": benchmark.summary,
        }
        table.add_row(*(cells[heading] for heading in headings))
    console.print(table)
    console.print("\nMore on one: benchvise bench show ID", style="dim")


@dataclass(frozen=True, slots=True)
class BenchmarkDocument:
    """What ``--json`` prints of a benchmark."""

    benchmark: Benchmark = field(metadata=in_json(inline=True))
    common: tuple[Parameter, ...]
    """Parameters that it has in common with the others."""


def show_benchmark(
    benchmark_id: Annotated[str, typer.Argument(metavar="ID", help="For example memory.copy.")],
    as_json: JsonOption = False,
) -> None:
    """Show what a benchmark measures, how, what it does not, and its reference tool.

    Example: benchvise bench show memory.copy
    """
    registry = local_registry()
    benchmark = registry.get(benchmark_id)
    if as_json:
        print_json("benchmark", BenchmarkDocument(benchmark, tuple(registry.common_to(benchmark))))
        return
    console = stdout()
    console.print(Text(benchmark.id, style="bold"), Text(f"— {benchmark.summary}"))
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, text in (
        ("unit", f"{benchmark.unit or 'as told'}, {benchmark.better} is better"),
        ("driven by", DRIVEN_BY[benchmark.driven_by]),
        ("counts", benchmark.counted),
        ("method", benchmark.method),
        ("pitfalls", benchmark.pitfalls),
        ("does not measure", benchmark.not_measured),
        ("compare with", benchmark.peer),
    ):
        grid.add_row(name, text)
    console.print(grid)
    if benchmark.figures:
        console.print("\nFurther metrics of each batch", style="bold")
        console.print(_figures(benchmark.figures))
    console.print("\nParameters", style="bold")
    console.print(_parameters(benchmark.parameters))
    console.print("\nParameters of every benchmark", style="bold")
    console.print(
        _parameters(
            tuple(
                replace(p, default=benchmark.defaults.get(p.name, p.default))
                for p in registry.common_to(benchmark)
            )
        )
    )
    example = next((p for p in benchmark.parameters), None)
    suffix = f":{example.name}={example.default}" if example else ""
    console.print(f"\nMeasure it: benchvise run --bench {benchmark.id}{suffix}", style="dim")


def _figures(figures: tuple[Figure, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("name", "unit", "better", "meaning"):
        table.add_column(heading, no_wrap=heading != "meaning")
    for f in figures:
        table.add_row(f.key, f.unit, f.better or "neither", f.summary)
    return table


def _parameters(parameters: tuple[Parameter, ...]) -> Table | str:
    if not parameters:
        return "none"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("name", "default", "values", "meaning"):
        table.add_column(heading, no_wrap=heading in ("name", "default"))
    for p in parameters:
        values = " ".join(p.choices) if p.choices else f"{p.minimum} to {p.maximum}"
        if p.type == "text":
            values = "text"
        table.add_row(p.name, Text(p.default), Text(values), Text(p.summary))
    return table
