"""One Parquet file a table: events by type, and the analysis tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchvise.trace.opening import OpenTrace


def write_parquet(trace: OpenTrace, directory: Path) -> dict[str, int]:
    """Writes ``events/TYPE.parquet`` and ``analysis/TABLE.parquet``; the rows of each file.

    Event types that never occurred have no file.

    Raises:
        OSError: a file cannot be written.
    """
    occurred = {name: table for name, table in trace.tables.items() if table.num_rows}
    return {
        **_write(directory, "events", occurred),
        **_write(directory, "analysis", trace.analysis),
    }


def _write(directory: Path, kind: str, tables: Mapping[str, pa.Table]) -> dict[str, int]:
    (directory / kind).mkdir(parents=True, exist_ok=True)
    rows: dict[str, int] = {}
    for name, table in tables.items():
        # Names of user-space events hold colons, and might hold anything else.
        safe, number = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_", 2
        file = f"{kind}/{safe}.parquet"
        while file in rows:
            file, number = f"{kind}/{safe}_{number}.parquet", number + 1
        pq.write_table(table, directory / file, compression="zstd")
        rows[file] = table.num_rows
    return rows
