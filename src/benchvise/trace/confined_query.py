"""A query over a trace, or over a set of recordings, in a process that may die of either:
``benchvise trace query``.

    ask_confined ─→ ``python -m benchvise.trace.confined_query``: confines itself, opens the trace,
        ↑           gives up all memory but the query's, runs it
        └── an answer or an error, as JSON; or the signal that it died of: a sentence, too

The process has no network, starts no program, and writes only what is kept of the trace.
"""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchvise.confinement import (
    DEVICES,
    Confinement,
    confine,
    dies_before_others,
    dies_with,
    import_no_table_libraries,
    limit_memory,
    python_places,
    share_of_memory,
)
from benchvise.documents import decode, encode
from benchvise.errors import BenchviseError, TraceError, UsageError
from benchvise.host_system import signal_name
from benchvise.text import last_line
from benchvise.trace.manifest import confined_files, places
from benchvise.trace.query_document import QueryColumn, QueryDocument
from benchvise.trace.query_limits import (
    QueryLimits,
    became_shorter,
    cause_of_death,
    needs_more_than_there_is,
    nested_too_deeply,
)
from benchvise.trace.recording_set import is_set, read_set, uncertainty_remarks

PROGRAM = (sys.executable, "-m", "benchvise.trace.confined_query")

_SHARE = 0.5
"""Of the machine's memory: what opening the trace may take."""

_GRACE_SECONDS = 2.0
"""After its time a query has so long to say so itself."""

_LATE = 124
"""The exit status of a query that had to be ended where no signal does it."""

_OPENED = b"opened\n"
"""What the process says first: from then on it is the query that it dies of."""


_OUT_OF_MEMORY = re.compile(
    r"MemoryError|[Cc]annot allocate|[Mm]emory allocation|new thread|failed to map segment"
)
"""What Python, the C library, OpenBLAS and the dynamic linker say where there is no more memory,
also when a library is being imported."""


@dataclass(frozen=True, slots=True)
class _Request:
    path: Path
    sql: str
    limits: QueryLimits
    cache: bool | None
    """Whether all is decoded and kept; False: nor is what is kept used."""
    asker: int
    """The process that waits for the answer."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The fields of a ``QueryDocument``; or an error with its remedy and exit code."""

    columns: tuple[QueryColumn, ...] = ()
    rows: list[list[Any]] = field(default_factory=list)
    more: bool = False
    seconds: float = 0.0
    remarks: tuple[str, ...] = ()
    error: str = ""
    remedy: str = ""
    exit_code: int = 0


def ask_confined(
    path: Path, sql: str, limits: QueryLimits, *, cache: bool | None = None
) -> QueryDocument:
    """Opens a trace and runs one query over it.

    ``cache``: whether all of it is decoded and kept; False: nor is what is kept used. Without
    either of them only what the query names is decoded.

    Raises:
        UsageError: there is no such trace, it is no query, or it needs more than it may use.
        TraceError: the trace cannot be read, or changed while it was.
    """
    request = json.dumps(encode(_Request(path, sql, limits, cache, os.getpid()))).encode()
    with tempfile.TemporaryFile() as complaints:
        done = subprocess.run(
            PROGRAM,
            input=request,
            stdout=subprocess.PIPE,
            stderr=complaints,
            check=False,
        )
        complaints.seek(0)
        complaint = last_line(complaints.read(1 << 16))
    is_open = done.stdout.startswith(_OPENED)
    try:
        answer = decode(_Answer, json.loads(done.stdout.removeprefix(_OPENED)))
    except ValueError:
        cause = _cause(-done.returncode, complaint, path.name, limits, is_open=is_open)
        cause.add_note(f"the process ended with {done.returncode}: {complaint or 'not a word'}")
        raise cause from None
    if answer.exit_code:
        kind = UsageError if answer.exit_code == UsageError.exit_code else TraceError
        raise kind(answer.error, answer.remedy)
    return QueryDocument(answer.columns, answer.rows, answer.more, answer.seconds, answer.remarks)


def _cause(
    signal_number: int, complaint: str, file: str, limits: QueryLimits, *, is_open: bool
) -> BenchviseError:
    """What the process died of."""
    if signal_number == signal.SIGINT:
        raise KeyboardInterrupt
    if is_open and signal_number == -_LATE:
        return limits.too_long
    if is_open and signal_number > 0:
        return cause_of_death(signal_number, file, limits)
    name = signal_name(signal_number)
    if name == "SIGBUS":
        return became_shorter(file)
    if name in ("SIGKILL", "SIGABRT") or _OUT_OF_MEMORY.search(complaint):
        return needs_more_than_there_is(file)
    why = complaint or (name and signal.strsignal(signal_number)) or "it ended"
    return TraceError(f"reading {file} failed: {why}", "is it damaged? Please report it")


# -- the process -----------------------------------------------------------------------------------


def main() -> None:
    """Standard input is a request; standard output gets the answer."""
    request = decode(_Request, json.loads(sys.stdin.buffer.read()))
    # Here, not between fork and exec: the asker may be a server with threads of several libraries.
    dies_with(request.asker)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    trace = request.path.resolve()
    kept_of = [place for _, path in _traces(trace) for place in places(path)]
    key, kept = confined_files()
    dies_before_others()
    confine(
        Confinement(
            readable=[*python_places(), key, trace, *kept_of],
            writable=[*DEVICES, kept, trace.parent] if request.cache else DEVICES,
            memory=share_of_memory(_SHARE),
        )
    )
    import_no_table_libraries()
    gc.disable()  # nearly all that is made stays to the end, which comes soon
    print(json.dumps(encode(_answered(request))), flush=True)


def _traces(path: Path) -> list[tuple[str, Path]]:
    """The trace, or those of a set with their boards."""
    if not is_set(path):
        return [("", path)]
    return [(member.board, path / member.file) for member in read_set(path).members]


def _answered(request: _Request) -> _Answer:
    # After `confine`: they start threads, which would stay free.
    from benchvise.trace.opening import OpenTrace, open_on_demand, open_trace
    from benchvise.trace.query import ask, ask_boards, prepare, query_document

    traces: list[tuple[str, OpenTrace]] = []
    try:
        for board, path in _traces(request.path):
            if request.cache:
                traces.append((board, open_trace(path)))
                continue
            trace = open_on_demand(path, use_cache=request.cache is None, analysed=False)
            prepare(trace, request.sql)
            traces.append((board, trace))
    except BenchviseError as error:
        return _failed(error)
    except MemoryError:
        return _failed(needs_more_than_there_is(request.path.name))
    sys.stdout.buffer.write(_OPENED)
    sys.stdout.buffer.flush()
    limit_memory(request.limits.bytes_for_process)
    _end_after(request.limits.seconds + _GRACE_SECONDS)
    try:
        if is_set(request.path):
            answer = ask_boards(traces, request.sql, request.limits)
            remarks = [f"{board}: {text}" for board, trace in traces for text in trace.remarks]
            remarks += uncertainty_remarks(read_set(request.path))
        else:
            [(_, trace)] = traces
            answer, remarks = ask(trace, request.sql, request.limits), list(trace.remarks)
        document = query_document(answer, remarks)
        return _Answer(*(getattr(document, part.name) for part in fields(document)))
    except BenchviseError as error:
        return _failed(error)
    except MemoryError:
        return _failed(request.limits.too_much)
    except RecursionError:
        return _failed(nested_too_deeply())


def _end_after(seconds: float) -> None:
    """Ends the process when the time is over, whatever it does then."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return
    timer = threading.Timer(seconds, os._exit, [_LATE])
    timer.daemon = True
    timer.start()


def _failed(error: BenchviseError) -> _Answer:
    return _Answer(error=error.message, remedy=error.remedy, exit_code=error.exit_code)


if __name__ == "__main__":
    main()
