"""Chrome's JSON trace events: what ran on each CPU, and the instances of each actor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchvise.trace.analysis.model import Actor, Analysis, Ints, Rows

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
    labels = pa.array([json.dumps(actor.label) for actor in analysis.actors], pa.string())
    with path.open("wb") as file:
        file.write(b'{"displayTimeUnit":"ns","traceEvents":[\n')
        file.write(",\n".join(_names(analysis)).encode())
        fragments, instances = analysis.fragments, analysis.instances
        inside = fragments["cpu"]
        _write(file, analysis, labels, fragments, np.full(len(fragments), _CPUS), inside)
        process = np.array([_KINDS.get(actor.kind, 6) for actor in analysis.actors], np.int64)
        who = instances["actor"]
        _write(file, analysis, labels, instances, process[who] if len(instances) else who, who)
        file.write(b"\n]}\n")
    return len(fragments) + len(instances)


def _names(analysis: Analysis) -> list[str]:
    """What processes and threads are called."""
    processes = {_CPUS: "CPUs", **{number: f"{kind} instances" for kind, number in _KINDS.items()}}
    found = [_name("process_name", number, 0, name) for number, name in processes.items()]
    found += [_name("thread_name", _CPUS, cpu, f"CPU {cpu}") for cpu in analysis.cpus]
    found += [_name("thread_name", *_track(actor), actor.label) for actor in analysis.actors]
    return found


def _track(actor: Actor) -> tuple[int, int]:
    return _KINDS.get(actor.kind, 6), actor.id


def _name(what: str, process: int, thread: int, name: str) -> str:
    return json.dumps(
        {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}
    )


def _write(
    file: IO[bytes],
    analysis: Analysis,
    labels: Any,
    rows: Rows,
    process: Ints,
    thread: Ints,
) -> None:
    """Texts are joined by columns: a loop over rows would take minutes."""
    for first in range(0, len(rows), _ROWS):
        part = slice(first, first + _ROWS)
        begin, end = rows["begin"][part], rows["end"][part]
        lines = pc.binary_join_element_wise(
            ',\n{"ph":"X","name":',
            labels.take(pa.array(rows["actor"][part])),
            ',"pid":',
            _text(process[part]),
            ',"tid":',
            _text(thread[part]),
            ',"ts":',
            *_microseconds(begin - analysis.whole.begin),
            ',"dur":',
            *_microseconds(end - begin),
            ',"args":{"execution_ns":',
            _text(rows["execution"][part]),
            "}}",
            "",
        )
        file.write(pc.binary_join(_as_list(lines), "")[0].as_buffer())


def _as_list(lines: Any) -> Any:
    """All lines as one list, so that they are joined at once."""
    return pa.LargeListArray.from_arrays(pa.array([0, len(lines)], pa.int64()), lines)


def _microseconds(time: Ints) -> Sequence[Any]:
    """Whole microseconds, and the rest with three digits behind a point."""
    whole, rest = np.divmod(time, 1000)
    digits = pa.array([f".{value:03d}" for value in range(1000)], pa.string())
    return _text(whole), digits.take(pa.array(rest))


def _text(values: Ints) -> Any:
    return pa.array(values).cast(pa.string())
