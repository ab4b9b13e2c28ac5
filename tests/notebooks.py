"""Runs notebooks as Jupyter does, as far as ours need it: cell by cell, with what each shows."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[1] / "docs" / "notebooks"


@dataclass(frozen=True, slots=True)
class ShownCell:
    """What a cell has printed, and the value of its last line: ``html`` where it has one."""

    source: str
    printed: str
    value: object
    html: str


def run_notebook(name: str) -> list[ShownCell]:
    """Executes the code cells of a notebook in one namespace; raises what they raise."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return [_run(source, f"{name}[{at}]", namespace) for at, source in enumerate(_sources(name))]


def _sources(name: str) -> Iterator[str]:
    document = json.loads((DIRECTORY / f"{name}.ipynb").read_text())
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])


def _run(source: str, name: str, namespace: dict[str, Any]) -> ShownCell:
    tree = ast.parse(source, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, name, "exec"), namespace)  # noqa: S102 - a notebook of ours
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)  # noqa: S307
    show = getattr(value, "_repr_html_", None)
    return ShownCell(source, printed.getvalue(), value, str(show()) if show else "")
