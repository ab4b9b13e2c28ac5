"""What ``benchvise trace export`` does."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchvise.errors import TraceError, UsageError
from benchvise.flows.trace_analyses import load
from benchvise.trace.export.chrome import write_chrome
from benchvise.trace.export.parquet import write_parquet
from benchvise.trace.export.perfetto import write_perfetto

Layout = Literal["perfetto", "chrome", "parquet"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written. ``remarks`` say what the format cannot hold."""

    layout: Layout
    output: Path
    bytes: int
    written: int
    unit: str
    remarks: tuple[str, ...]


def export(path: Path, layout: Layout, output: Path, *, use_cache: bool) -> Exported:
    """Writes a trace in another format; a file that was there is replaced when all is written.

    Raises:
        UsageError: Parquet goes to a new directory, the others to a file.
        TraceError: the trace cannot be read, or the output not written.
    """
    if layout == "parquet" and output.exists():
        raise UsageError(f"{output} is there already", "Parquet goes into a new directory")
    if output.is_dir():
        raise UsageError(f"{output} is a directory", "name a file")
    loaded = load(path, None, None, use_cache=use_cache)
    try:
        output.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix=".export-") as made:
            unfinished = Path(made) / "output"
            if layout == "perfetto":
                perfetto = write_perfetto(loaded.trace, unfinished)
                written, unit = perfetto.events, "events"
                remarks = [
                    "times: taken as those of the boot clock, Perfetto's default",
                    *(
                        [f"{perfetto.generic} events without a message in Perfetto: kept generic"]
                        if perfetto.generic
                        else []
                    ),
                    *(
                        [f"left out: {perfetto.left_out} events without a CPU"]
                        if perfetto.left_out
                        else []
                    ),
                ]
            elif layout == "chrome":
                written, unit = write_chrome(loaded.analysis, unfinished), "spans"
                remarks = ["times: microseconds from the first event of the trace"]
            else:
                files = write_parquet(loaded.trace, unfinished)
                written, unit, remarks = sum(files.values()), "rows", [f"{len(files)} files"]
            size = _size(unfinished)
            shutil.move(unfinished, output)
    except OSError as error:
        raise TraceError(f"{output} cannot be written: {error.strerror or error}") from error
    return Exported(layout, output, size, written, unit, (*remarks, *loaded.cautions))


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
