"""Writing a trace in the format of another program: what ``benchvise trace export`` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchvise.output_files import (
    check_new_directory,
    check_output_file,
    draft_output,
    new_directory,
)
from benchvise.trace.export.chrome import write_chrome
from benchvise.trace.export.parquet import write_parquet
from benchvise.trace.export.perfetto import write_perfetto
from benchvise.trace.loaded import load_trace

ExportLayout = Literal["perfetto", "chrome", "parquet"]

_CHECKS: Mapping[ExportLayout, Callable[[Path, str], None]] = {
    "perfetto": check_output_file,
    "chrome": check_output_file,
    "parquet": check_new_directory,
}
_DRAFTS: Mapping[ExportLayout, Callable[[Path, str], AbstractContextManager[Path]]] = {
    "perfetto": draft_output,
    "chrome": draft_output,
    "parquet": new_directory,
}


@dataclass(frozen=True, slots=True)
class ExportedTrace:
    """What was written. ``remarks`` say what the format cannot hold."""

    layout: ExportLayout
    output: Path
    bytes: int
    written: int
    unit: str
    remarks: tuple[str, ...]


def export_trace(
    path: Path, layout: ExportLayout, output: Path, *, use_cache: bool
) -> ExportedTrace:
    """Writes a trace in another format: Parquet to a new directory, the others to a file.

    Raises what ``check_new_directory`` and ``check_output_file`` raise, before the trace is read;
    TraceError when it cannot be read, OutputError when the output cannot be written.
    """
    _CHECKS[layout](output, "the trace")
    loaded = load_trace(path, use_cache=use_cache)
    with _DRAFTS[layout](output, "the trace") as draft:
        if layout == "perfetto":
            perfetto = write_perfetto(loaded.trace, draft)
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
            written, unit = write_chrome(loaded.analysis, draft), "spans"
            remarks = ["times: microseconds from the first event of the trace"]
        else:
            files = write_parquet(loaded.trace, draft)
            written, unit, remarks = sum(files.values()), "rows", [f"{len(files)} files"]
        size = _size(draft)
    return ExportedTrace(layout, output, size, written, unit, (*remarks, *loaded.cautions))


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
