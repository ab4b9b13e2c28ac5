"""Which files are traces and captures, and which belong to runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchvise.signal.response import is_list
from benchvise.store import Store
from benchvise.web.files import Shelf, Shelved, shelved
from benchvise.web.settings import Settings

RUN_TRACES = 500
"""Of the newest runs, those whose traces are listed."""

_TRACE_HEADS = {b"\x17\x08\x44tracing": "trace.dat", b"PERFILE2": "perf.data"}
_CAPTURE_SUFFIXES = frozenset({".sr", ".vcd", ".csv"})
_LIST_SUFFIXES = frozenset({".out", ".txt", ".dat", ".tsv"})


def trace_shelf(settings: Settings, store: Callable[[], Store]) -> Shelf:
    """Traces under the given roots, and those that were recorded with runs."""

    def of_runs() -> Iterator[Shelved]:
        for run in store().runs(RUN_TRACES):
            path = store().trace_file(run.id)
            if path.is_file():
                yield shelved(path, f"of run {run.label or run.id}", run.id)

    return Shelf(settings.traces, is_trace, "trace", of_runs)


def capture_shelf(settings: Settings) -> Shelf:
    """Captures under the given roots."""
    return Shelf(settings.captures, is_capture, "capture")


def is_trace(path: Path) -> bool:
    """Whether it begins as a trace.dat or a perf.data, or has the metadata of CTF."""
    return bool(trace_kind(path))


def trace_kind(path: Path) -> str:
    """``trace.dat``, ``perf.data`` or ``CTF``; empty for what is no trace."""
    try:
        if path.is_dir():
            return "CTF" if (path / "metadata").is_file() else ""
        if not path.is_file():
            return ""  # a pipe would have us wait for its other end
        with path.open("rb") as file:
            head = file.read(10)
    except OSError:
        return ""
    return next((kind for begin, kind in _TRACE_HEADS.items() if head.startswith(begin)), "")


def is_capture(path: Path) -> bool:
    """Whether it is called like one, or is a list of response times: what else is in it is seen
    when it is opened."""
    suffix = path.suffix.lower()
    if suffix in _CAPTURE_SUFFIXES:
        return path.is_file()
    return suffix in _LIST_SUFFIXES and path.is_file() and is_list(path)
