"""Analysis tables made by hand: actors, instances with their fragments, and the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from arrow_tables import arrow_table

from benchvise.trace import native
from benchvise.trace.analysis.model import Analysis, Loss, TraceSpan

U16, U32, U64, U8 = pa.uint16(), pa.uint32(), pa.uint64(), pa.uint8()
I32, I64, TEXT = pa.int32(), pa.int64(), pa.string()

SCHEMAS: dict[str, dict[str, pa.DataType]] = {
    "actors": {
        "actor": U32, "kind": TEXT, "name": TEXT, "tid": I32, "process": I32, "number": I32,
        "cpu": U16, "priority": I32, "first": I64, "last": I64,
    },
    "instances": {
        "instance": U32, "actor": U32, "cpu": U16, "begin": I64, "end": I64, "ready": I64,
        "execution": I64, "fragments": U32, "preemptions": U32, "migrations": U32, "cause": I64,
        "cause_time": I64, "period": I64, "flags": U8,
    },
    "fragments": {
        "actor": U32, "cpu": U16, "begin": I64, "end": I64, "execution": I64, "instance": U32,
        "why": U8,
    },
    "waits": {"actor": U32, "begin": I64, "end": I64, "state": U8, "cpu": U16, "flags": U8},
    "syscalls": {
        "actor": U32, "cpu": U16, "name": TEXT, "begin": I64, "end": I64, "result": I64,
    },
    "block": {
        "device": U32, "sector": U64, "bytes": U64, "kind": TEXT, "queued": I64, "issued": I64,
        "completed": I64,
    },
    "timers": {
        "kind": TEXT, "address": U64, "function": U64, "name": TEXT, "cpu": U16, "expires": I64,
        "softexpires": I64, "ran": I64, "ended": I64, "lateness": I64, "late_jiffies": I64,
    },
    "ticks": {"cpu": U16, "begin": I64, "end": I64},
}  # fmt: skip


class Builder:
    """Collects rows; everything that is not said has the value that it most often has."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}

    def actor(self, kind: str, name: str, **more: Any) -> int:
        """Adds an actor; returns its id."""
        number = len(self.rows["actors"])
        row = {"actor": number, "kind": kind, "name": name, "first": 0, "last": 0}
        self.rows["actors"].append(row | more)
        return number

    def instance(
        self,
        actor: int,
        begin: int,
        end: int,
        *,
        cpu: int = 0,
        parts: Sequence[tuple[int, int]] = (),
        nested: int = 0,
        why: int = 0,
        **more: Any,
    ) -> int:
        """Adds an instance, ready since ``ready``, with its fragments ``parts`` (else one).

        ``nested`` is the time of interrupts in its last fragment. ``period`` and ``cause_time``
        follow from what is there.
        """
        number = len(self.rows["instances"])
        spans = parts or [(begin, end)]
        before = [row for row in self.rows["instances"] if row["actor"] == actor]
        row = {
            "instance": number,
            "actor": actor,
            "cpu": cpu,
            "begin": begin,
            "end": end,
            "execution": sum(b - a for a, b in spans) - nested,
            "fragments": len(spans),
            "preemptions": len(spans) - 1,
            "migrations": 0,
            "period": begin - before[-1]["begin"] if before else None,
            "flags": 0,
        }
        if "cause" in more and "cause_time" not in more:
            more["cause_time"] = more["ready"]
        self.rows["instances"].append(row | more)
        for at, (first, last) in enumerate(spans):
            final = at == len(spans) - 1
            self.rows["fragments"].append(
                {
                    "actor": actor,
                    "cpu": cpu,
                    "begin": first,
                    "end": last,
                    "execution": last - first - (nested if final else 0),
                    "instance": number,
                    "why": why if final else 1,
                }
            )
        return number

    def add(self, table: str, **row: Any) -> None:
        """Adds a row to any other table."""
        self.rows[table].append(({"flags": 0} if table == "waits" else {}) | row)

    def analysis(
        self,
        begin: int,
        end: int,
        *,
        losses: Sequence[Loss] = (),
        events: Mapping[str, native.Table] | None = None,
        within: TraceSpan | None = None,
    ) -> Analysis:
        """The tables as an analysis has them."""
        tables = {
            name: arrow_table(
                {
                    column: pa.array([row.get(column) for row in self.rows[name]], type=kind)
                    for column, kind in columns.items()
                }
            )
            for name, columns in SCHEMAS.items()
        }
        known = events or {}
        return Analysis(
            tables,
            TraceSpan(begin, end),
            losses,
            known.get,
            tuple(known),
            within,
        )
