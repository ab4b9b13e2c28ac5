"""Traces for other programs: Perfetto's protobuf, Chrome's JSON, Parquet tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import duckdb
import numpy as np

from benchvise.output_files import (
    check_new_directory,
    check_output_file,
    draft_output,
    new_directory,
)
from benchvise.trace.analysis.model import Actor, Analysis, Ints, Rows
from benchvise.trace.analysis.timerlat import tracer_tables
from benchvise.trace.decoder import decoder
from benchvise.trace.loaded import load_opened
from benchvise.trace.opening import OpenTrace, open_on_demand, open_trace
from benchvise.trace.tables import arrow_source

if TYPE_CHECKING:
    from benchvise.trace.native import Table

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
    path: Path, layout: ExportLayout, output: Path, *, cache: bool | None = None
) -> ExportedTrace:
    """Writes a trace in another format: Parquet to a new directory, the others to a file.

    Raises what ``check_new_directory`` and ``check_output_file`` raise, before the trace is read;
    TraceError when it cannot be read, OutputError when the output cannot be written.
    """
    _CHECKS[layout](output, "the trace")
    loaded = load_opened(_opened(path, layout, cache), path)
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


def _opened(path: Path, layout: ExportLayout, cache: bool | None) -> OpenTrace:
    if cache or layout != "chrome":  # which has what ran, not every event
        return open_trace(path, use_cache=cache is not False, keep=bool(cache))
    return open_on_demand(path, use_cache=cache is None)


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


# -- Perfetto's native protobuf: its viewer shows tasks, interrupts and softirqs on tracks ---------
@dataclass(frozen=True, slots=True)
class PerfettoWritten:
    """``generic`` events are those without a message of their own; they keep name and fields.

    ``left_out`` are events without a CPU, which Perfetto cannot place.
    """

    events: int
    generic: int
    left_out: int


def write_perfetto(trace: OpenTrace, path: Path) -> PerfettoWritten:
    """Writes all events of a trace. Times become those of the boot clock, Perfetto's default.

    Raises:
        OSError: the file cannot be written.
    """
    return PerfettoWritten(*trace.decoded().export_perfetto(trace.analysis["actors"], path))


# -- Chrome's JSON trace events: what ran on each CPU, and the instances of each actor -------------
_CPUS = 1
"""The process under which CPUs stand as threads; each kind of actors is a process after it."""

_KINDS = {"task": 2, "irq": 3, "softirq": 4, "idle": 5}
_ROWS = 200_000


def write_chrome(analysis: Analysis, path: Path) -> int:
    """Writes fragments (on CPUs) and instances (of actors) as complete events; how many.

    Times are microseconds with three decimals, from the first event of the trace, so that the
    JSON numbers of browsers hold them exactly.

    Raises:
        OSError: the file cannot be written.
    """
    labels = [json.dumps(actor.label) for actor in analysis.actors]
    with path.open("wb") as file:
        file.write(b'{"displayTimeUnit":"ns","traceEvents":[\n')
        file.write(",\n".join(_track_names(analysis)).encode())
        fragments, instances = analysis.fragments, analysis.instances
        inside = fragments["cpu"]
        _write_spans(file, analysis, labels, fragments, np.full(len(fragments), _CPUS), inside)
        process = np.array([_process(actor) for actor in analysis.actors], np.int64)
        who = instances["actor"]
        _write_spans(
            file, analysis, labels, instances, process[who] if len(instances) else who, who
        )
        file.write(b"\n]}\n")
    return len(fragments) + len(instances)


def _track_names(analysis: Analysis) -> list[str]:
    """What processes and threads are called."""
    processes = {_CPUS: "CPUs", **{number: f"{kind} instances" for kind, number in _KINDS.items()}}
    names = [_track_name("process_name", number, 0, name) for number, name in processes.items()]
    names += [_track_name("thread_name", _CPUS, cpu, f"CPU {cpu}") for cpu in analysis.cpus]
    names += [
        _track_name("thread_name", _process(actor), actor.id, actor.label)
        for actor in analysis.actors
    ]
    return names


def _process(actor: Actor) -> int:
    return _KINDS.get(actor.kind, 6)


def _track_name(what: str, process: int, thread: int, name: str) -> str:
    return json.dumps(
        {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}
    )


def _write_spans(
    file: IO[bytes],
    analysis: Analysis,
    labels: list[str],
    rows: Rows,
    process: Ints,
    thread: Ints,
) -> None:
    for first in range(0, len(rows), _ROWS):
        part = slice(first, first + _ROWS)
        begin, end = rows["begin"][part], rows["end"][part]
        columns = (
            rows["actor"][part],
            process[part],
            thread[part],
            begin - analysis.whole.begin,
            end - begin,
            rows["execution"][part],
        )
        file.write(decoder().chrome_spans(labels, columns))


# -- one Parquet file a table: events by type, and the analysis tables -----------------------------
def write_parquet(trace: OpenTrace, directory: Path) -> dict[str, int]:
    """Writes ``events/TYPE.parquet`` and ``analysis/TABLE.parquet``; the rows of each file.

    Event types that never occurred have no file.

    Raises:
        OSError: a file cannot be written.
    """
    occurred = {name: table for name, table in trace.tables.items() if table.num_rows}
    return {
        **_write_tables(directory, "events", occurred),
        **_write_tables(directory, "analysis", {**trace.analysis, **tracer_tables(trace.occurred)}),
    }


def _write_tables(directory: Path, kind: str, tables: Mapping[str, Table]) -> dict[str, int]:
    (directory / kind).mkdir(parents=True, exist_ok=True)
    rows: dict[str, int] = {}
    database = duckdb.connect(":memory:")
    for name, table in tables.items():
        # Names of user-space events hold colons, and might hold anything else.
        safe, number = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_", 2
        file = f"{kind}/{safe}.parquet"
        while file in rows:
            file, number = f"{kind}/{safe}_{number}.parquet", number + 1
        _write_parquet(database, table, directory / file)
        rows[file] = table.num_rows
    return rows


def _write_parquet(database: duckdb.DuckDBPyConnection, table: Table, path: Path) -> None:
    database.register("written", arrow_source(table))
    try:
        database.execute("COPY written TO ? (FORMAT parquet, COMPRESSION zstd)", [str(path)])
    except duckdb.IOException as error:
        raise OSError(str(error)) from error
    finally:
        database.unregister("written")
