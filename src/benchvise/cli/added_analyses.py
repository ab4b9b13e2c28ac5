"""Commands of ``benchvise trace`` that users add, as records of analyses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import typer

from benchvise.errors import BenchviseError, TraceError
from benchvise.extensions import ANALYSES, are_there


def added_analyses() -> dict[str, Callable[..., None]]:
    """The functions that typer makes commands of, by name; what cannot be used is left out."""
    if not are_there(ANALYSES):
        return {}
    from benchvise.cli.records import analysis_command  # late: `trace --help` asks for names
    from benchvise.trace import catalogue

    tuple(catalogue.all_analyses())  # warns of those that are left out
    return {
        analysis.name: _guarded(analysis_command(analysis), extension.origin)
        for extension in catalogue.added_analyses()
        for analysis in extension.values
    }


def _guarded(command: Callable[..., None], origin: str) -> Callable[..., None]:
    """The command; whatever the code of somebody else raises is a line that names it."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        try:
            command(**values)
        except (BenchviseError, typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            raise TraceError(
                f"the analysis failed: {type(error).__name__}: {error}", f"correct it in {origin}"
            ) from error

    return run
