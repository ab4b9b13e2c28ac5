"""Tables of Arrow columns of this program's own, and how DuckDB reads tables.

``benchvise.trace.native`` holds them; anything that knows Arrow's PyCapsule interface takes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchvise.trace.decoder import decoder

if TYPE_CHECKING:
    from benchvise.trace.native import Table


TRACER_TABLES = ("noises", "timerlat_activations")
"""What SQL has of the tracers osnoise and timerlat (``analysis.timerlat.tracer_tables``)."""


def table_of(columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> Table:
    """A table of arrays of NumPy and lists of texts, copied; None in a list of texts is a null.

    Raises:
        UsageError: the extension module is not built.
    """
    table: Table = decoder().Table(dict(columns), dict(metadata or {}))
    return table


def wholes(values: Sequence[int | None]) -> Any:
    """A column of whole numbers for ``table_of``; None is a null."""
    return decoder().Column.of_integers(list(values))


def arrow_source(table: Any) -> Any:
    """A table as DuckDB is best given it: with the number of its rows, without which it may join
    the wrong way round, and which it asks only of some classes. Its own way to say it is not
    documented; where a version has none, the table goes as it is.
    """
    try:
        from duckdb._sources import ArrowScanSource
    except ImportError:
        return table

    class TableSource(ArrowScanSource):
        schema_is_stable = True

        def rows(self) -> int:
            return int(self.obj.num_rows)

        def __arrow_c_schema__(self) -> object:
            return self.obj.__arrow_c_schema__()

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self.obj.__arrow_c_stream__(requested_schema)

        def stream(  # it takes over no filters, so that it is given none
            self, columns: Sequence[int] | None, _filters: Sequence[Any]
        ) -> tuple[object, bool]:
            names = self.obj.column_names
            if columns is None or len(set(names)) < len(names):
                return self.obj.__arrow_c_stream__(), False
            return self.obj.select([names[at] for at in columns]).__arrow_c_stream__(), True

    return TableSource(table)
