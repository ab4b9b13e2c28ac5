"""A file of results, written after each case: a run that was interrupted goes on where it ended."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.why.open.result import CaseResult
from benchvise.documents import decode, encode
from benchvise.errors import BenchviseError, UsageError


def read(path: Path) -> list[CaseResult]:
    """The results in a file, none where there is no file. UsageError for another file."""
    try:
        return [decode(CaseResult, result) for result in json.loads(path.read_text())["results"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError, BenchviseError) as error:
        raise UsageError(f"{path} has no results of cases: {error}", "name another file") from error


def write(path: Path, results: Sequence[CaseResult]) -> None:
    """Replaces the file; it is whole at each moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with part.open("w") as file:
        json.dump({"results": [encode(result) for result in results]}, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
