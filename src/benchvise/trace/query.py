"""SQL over an opened trace, by DuckDB, for whoever may ask anything.

A query may read the tables of the trace and nothing else: no file, no network, no setting, no
memory beyond its share, no longer than its time. It is one SELECT, DESCRIBE, SUMMARIZE or VALUES;
which tables and table functions it names is taken from DuckDB's own parser, and only those tables
are made known to it: a trace may have thousands.
"""

from __future__ import annotations

import difflib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import duckdb
import numpy as np

from benchvise.errors import UsageError
from benchvise.host_system import usable_cpus
from benchvise.trace.decoder import decoder
from benchvise.trace.opening import OpenTrace, analysis_table_names
from benchvise.trace.query_document import QueryColumn, QueryDocument, json_value
from benchvise.trace.query_limits import QueryLimits
from benchvise.trace.tables import TRACER_TABLES, arrow_source, table_of, wholes

if TYPE_CHECKING:
    from benchvise.trace.native import Table

T = TypeVar("T")

_UNKNOWN_CPU = 65535
_WITHOUT_ZONE = "cast them: ::TIMESTAMP has no zone, ::VARCHAR is the text"

# Everything that a query could reach the outside with; python_enable_replacements would let it
# read this program's variables.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
}

# What makes rows of nothing but its arguments. Others read memory by address, or run texts as SQL.
_TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "repeat", "repeat_row"})

_EVENTS = """
    CREATE VIEW {prefix}events AS
    SELECT time, nullif(cpu, {none}) AS cpu, name AS event, row
    FROM {prefix}{index} AS i JOIN {prefix}event_types AS t ON i.event = t.event
"""
_INDEX = "event_index"


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What a query gave; ``more`` says that there were rows beyond the limit."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool
    seconds: float
    """What the query took, without the opening of the trace."""

    @property
    def described_columns(self) -> tuple[QueryColumn, ...]:
        """Names and types together."""
        return tuple(map(QueryColumn, self.columns, self.types))


def query_document(answer: QueryAnswer, remarks: Sequence[str]) -> QueryDocument:
    """The answer as JSON has it."""
    return QueryDocument(
        answer.described_columns,
        [[json_value(value) for value in row] for row in answer.rows],
        answer.more,
        answer.seconds,
        tuple(remarks),
    )


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table that may be queried."""

    name: str
    kind: str
    """event, analysis, or trace: what belongs to the trace as a whole."""
    rows: int | None
    columns: str


class QueryTables:
    """All that SQL can name, by name; letters' case does not matter to SQL."""

    def __init__(self, trace: OpenTrace) -> None:
        self._trace = trace

    @cached_property
    def _events(self) -> dict[str, str]:
        """SQL's name of each event table: its own, unless that is taken already."""
        taken = {*self._own, *analysis_table_names(), *TRACER_TABLES, "events", "tables"}
        names: dict[str, str] = {}
        for event in self._trace.tables:
            name, number = event, 2
            while name.lower() in taken:
                name, number = f"{event}_{number}", number + 1
            taken.add(name.lower())
            names[name] = event
        return names

    @cached_property
    def _own(self) -> dict[str, Table]:
        described = self._trace.description
        types = described["events"]
        tasks = described["tasks"]
        losses = self._trace.losses
        return {
            _INDEX: self._trace.index,
            "event_types": table_of(
                {
                    "event": np.arange(len(types), dtype=np.uint16),
                    "name": [kind["name"] for kind in types],
                    "system": [kind["system"] for kind in types],
                }
            ),
            "tasks": table_of(
                {
                    "tid": np.array([tid for tid, _ in tasks], dtype=np.int32),
                    "name": [name for _, name in tasks],
                }
            ),
            "losses": table_of(
                {
                    "stream": np.array([loss["stream"] for loss in losses], dtype=np.uint32),
                    "kind": [str(loss["kind"]) for loss in losses],
                    "begin": wholes([loss["begin"] for loss in losses]),
                    "end": wholes([loss["end"] for loss in losses]),
                    "count": wholes([loss["count"] for loss in losses]),
                }
            ),
        }

    @cached_property
    def _tracers(self) -> dict[str, Table]:
        from benchvise.trace.analysis.timerlat import tracer_tables

        return tracer_tables(self._trace.occurred)

    def listing(self) -> list[ListedTable]:
        """Every table: analyses, what belongs to the trace, events; of these, most rows first."""
        others = [
            *(_listed(name, "analysis", table) for name, table in self._trace.analysis.items()),
            *(_listed(name, "analysis", table) for name, table in self._tracers.items()),
            ListedTable("events", "trace", self._trace.index.num_rows, "time, cpu, event, row"),
            *(_listed(name, "trace", table) for name, table in self._own.items()),
            ListedTable("tables", "trace", None, "name, kind, rows, columns"),
        ]
        fields = {
            kind["name"]: [field["name"] for field in kind["fields"]]
            for kind in self._trace.description["events"]
        }
        counts = self._trace.counts
        events = [
            ListedTable(name, "event", counts.get(own, 0), ", ".join(["time", "cpu", *fields[own]]))
            for name, own in self._events.items()
        ]
        return others + sorted(events, key=lambda table: (-(table.rows or 0), table.name))

    def named(self, wanted: set[str]) -> Iterator[tuple[str, Table]]:
        """The tables of these names, in lower case."""
        if "events" in wanted:
            wanted = wanted | {_INDEX, "event_types"}
        for name, table in self._own.items():
            if name in wanted:
                yield name, table
        for name in wanted & set(analysis_table_names()):
            yield name, self._trace.analysis[name]
        if wanted & set(TRACER_TABLES):
            yield from ((name, table) for name, table in self._tracers.items() if name in wanted)
        for name, event in self._events.items():
            if name.lower() in wanted:
                yield name, self._trace.tables[event]
        if "tables" in wanted:
            yield "tables", _table_of_tables(self.listing())

    def make_known(
        self, connection: duckdb.DuckDBPyConnection, wanted: set[str], prefix: str = ""
    ) -> dict[str, list[str]]:
        """Has a database know the tables of these names, with a prefix; gives their columns."""
        known = {}
        for name, table in self.named(wanted):
            connection.register(f"{prefix}{name}", arrow_source(table))
            known[name] = list(table.column_names)
        if "events" in wanted:
            connection.execute(_EVENTS.format(none=_UNKNOWN_CPU, index=_INDEX, prefix=prefix))
            known["events"] = ["time", "cpu", "event", "row"]
        return known


class BoardQueryTables:
    """The tables of several boards' traces as one each, whose first column is ``board``."""

    def __init__(self, traces: Sequence[tuple[str, OpenTrace]]) -> None:
        self._boards = [(board, QueryTables(trace)) for board, trace in traces]

    def listing(self) -> list[ListedTable]:
        """Every table that a board has; rows are those of all boards."""
        listed: dict[str, ListedTable] = {}
        for table in (each for _, tables in self._boards for each in tables.listing()):
            known = listed.get(table.name)
            rows, columns = table.rows, f"board, {table.columns}"
            if known is not None:
                rows = None if rows is None or known.rows is None else rows + known.rows
                names = dict.fromkeys((*known.columns.split(", "), *columns.split(", ")))
                columns = ", ".join(names)
            listed[table.name] = ListedTable(table.name, table.kind, rows, columns)
        listed["tables"] = ListedTable("tables", "trace", None, "name, kind, rows, columns")
        return list(listed.values())

    def make_known(self, connection: duckdb.DuckDBPyConnection, wanted: set[str]) -> None:
        """Has a database know the tables of these names."""
        parts: dict[str, list[str]] = {}
        for number, (board, tables) in enumerate(self._boards):
            prefix = f"board_{number}_"
            for name, columns in tables.make_known(connection, wanted - {"tables"}, prefix).items():
                own = "* RENAME (board AS board_2)" if "board" in columns else "*"
                text = board.replace("'", "''")
                table = f"{prefix}{name}".replace('"', '""')
                part = f"SELECT '{text}' AS board, {own} FROM \"{table}\""  # noqa: S608 - quoted
                parts.setdefault(name, []).append(part)
        for name, selects in parts.items():
            quoted = name.replace('"', '""')
            union = " UNION ALL BY NAME ".join(selects)
            connection.execute(f'CREATE VIEW "{quoted}" AS {union}')
        if "tables" in wanted:
            connection.register("tables", arrow_source(_table_of_tables(self.listing())))


def _table_of_tables(listed: Sequence[ListedTable]) -> Table:
    return table_of(
        {
            "name": [table.name for table in listed],
            "kind": [table.kind for table in listed],
            "rows": wholes([table.rows for table in listed]),
            "columns": [table.columns for table in listed],
        }
    )


def _listed(name: str, kind: str, table: Table) -> ListedTable:
    return ListedTable(name, kind, table.num_rows, ", ".join(table.column_names))


def fresh_database() -> duckdb.DuckDBPyConnection:
    """A database without tables and without a way to the outside. It has no threads before
    ``ask`` gives it some, so that a process may fork after it made one: that takes longer than
    most queries."""
    return duckdb.connect(":memory:", config={**_CONFIG, "threads": 1, "async_threads": 0})


def prepare(trace: OpenTrace, sql: str) -> None:
    """Has what a query names decoded, before ``ask`` may use little memory only.

    Raises:
        UsageError: it is no query.
    """
    with fresh_database() as parser:
        try:
            wanted = _names(parser, sql)
        except RecursionError:  # `ask` will say so, with less memory to go on in
            return
    for _ in QueryTables(trace).named(wanted):
        pass


def ask(
    trace: OpenTrace,
    sql: str,
    limits: QueryLimits | None = None,
    more: Mapping[str, Table] | None = None,
    database: duckdb.DuckDBPyConnection | None = None,
) -> QueryAnswer:
    """Runs one query. ``more`` are tables that it may name besides those of the trace. It uses up
    ``database``, by default a fresh one.

    Raises:
        UsageError: it is no query, names what is not there, or needs more than it may use.
    """
    return _answer(QueryTables(trace), sql, limits, more, database)


def ask_boards(
    traces: Sequence[tuple[str, OpenTrace]], sql: str, limits: QueryLimits | None = None
) -> QueryAnswer:
    """Runs one query over the traces of several boards: each table has the rows of all, with a
    column ``board``. Raises what ``ask`` raises."""
    return _answer(BoardQueryTables(traces), sql, limits)


def _answer(
    tables: QueryTables | BoardQueryTables,
    sql: str,
    limits: QueryLimits | None,
    more: Mapping[str, Table] | None = None,
    database: duckdb.DuckDBPyConnection | None = None,
) -> QueryAnswer:
    limits = limits or QueryLimits()
    begun = monotonic()
    rows, columns = _fetch_answer(tables, sql, limits, _rows, more, database)
    return QueryAnswer(
        tuple(name for name, _ in columns),
        tuple(kind for _, kind in columns),
        rows[: limits.rows],
        len(rows) > limits.rows,
        monotonic() - begun,
    )


def ask_table(trace: OpenTrace, sql: str, limits: QueryLimits | None = None) -> Table:
    """Runs one query; what it gives is a table.

    Raises:
        UsageError: as ``ask`` does.
    """
    return _fetch_answer(QueryTables(trace), sql, limits or QueryLimits(), _table)


def _fetch_answer(
    tables: QueryTables | BoardQueryTables,
    sql: str,
    limits: QueryLimits,
    fetch: Callable[[duckdb.DuckDBPyConnection, str, QueryLimits], T],
    more: Mapping[str, Table] | None = None,
    database: duckdb.DuckDBPyConnection | None = None,
) -> T:
    with database or fresh_database() as connection:
        connection.execute(f"SET memory_limit = '{limits.memory_mb}MB'")
        wanted = _names(connection, sql)
        connection.execute(f"SET threads = {usable_cpus()}")
        tables.make_known(connection, wanted)
        for name, table in (more or {}).items():
            if name in wanted:
                connection.register(name, arrow_source(table))
        connection.execute("SET lock_configuration = true")
        try:
            return _run(connection, sql, limits, fetch)
        except duckdb.CatalogException as error:
            raise _unknown(error, wanted, tables) from error
        except duckdb.OutOfMemoryException as error:
            raise limits.too_much from error
        except duckdb.Error as error:
            raise UsageError(_first_lines(error), "") from error


_Rows: TypeAlias = tuple[list[tuple[Any, ...]], tuple[tuple[str, str], ...]]
"""Rows, and name and type of each column."""


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, limits: QueryLimits) -> _Rows:
    result = connection.execute(sql)
    rows = result.fetchmany(limits.rows + 1)
    return rows, tuple((name, str(kind)) for name, kind, *_ in result.description or ())


def _table(connection: duckdb.DuckDBPyConnection, sql: str, limits: QueryLimits) -> Table:
    table: Table = decoder().Table.from_arrow(connection.sql(sql).limit(limits.rows))
    return table


def _run(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    limits: QueryLimits,
    fetch: Callable[[duckdb.DuckDBPyConnection, str, QueryLimits], T],
) -> T:
    late = threading.Event()

    def interrupt() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(limits.seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        return fetch(connection, sql, limits)
    except duckdb.InterruptException as error:
        if late.is_set():
            raise limits.too_long from error
        raise
    except duckdb.InvalidInputException as error:
        if "Required module" in str(error):  # which only Python's times with a zone need
            raise UsageError("times with a zone cannot be shown", _WITHOUT_ZONE) from error
        raise
    finally:
        timer.cancel()


# -- what a query names ----------------------------------------------------------------------------


def _names(parser: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    """The tables that the query names, in lower case.

    Raises:
        UsageError: it is not one query that only reads.
    """
    (answer,) = parser.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
    parsed = json.loads(answer[0])
    if parsed["error"]:
        if parsed.get("error_type") == "not implemented":
            raise UsageError(
                "that is not a query",
                "a query is SELECT, FROM, WITH, DESCRIBE, SUMMARIZE or VALUES",
            )
        raise UsageError(f"not SQL: {parsed.get('error_message', 'it does not parse')}", "")
    if len(parsed["statements"]) != 1:
        raise UsageError("one query at a time", "leave out what follows the first `;`")
    names: set[str] = set()
    for kind, name in _references(parsed):
        if kind == "TABLE_FUNCTION" and name not in _TABLE_FUNCTIONS:
            raise UsageError(
                f"{name}() may not be used here",
                f"of table functions only {', '.join(sorted(_TABLE_FUNCTIONS))} may",
            )
        names.add(name)
    return names


def _references(parsed: object) -> Iterator[tuple[str, str]]:
    """Kind and name of all tables and table functions in a parsed query."""
    waiting = [parsed]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            match node:
                case {"type": "BASE_TABLE" | "SHOW_REF" as kind, "table_name": str(name)}:
                    yield kind, name.strip('"').lower()
                case {"type": "TABLE_FUNCTION" as kind, "function": {"function_name": str(name)}}:
                    yield kind, name.lower()


# -- errors ----------------------------------------------------------------------------------------

_LISTED = 12


def _unknown(
    error: duckdb.Error, wanted: set[str], tables: QueryTables | BoardQueryTables
) -> UsageError:
    """Names what there is; the closest name first."""
    listed = tables.listing()
    tables_by_name = {table.name.lower(): table for table in listed}
    missing = sorted(name for name in wanted if name not in tables_by_name)
    if "Table with name" not in str(error) or not missing:
        return UsageError(_first_lines(error), "")
    close = difflib.get_close_matches(missing[0], tables_by_name, n=1)
    hint = f"did you mean {tables_by_name[close[0]].name}? " if close else ""
    some = ", ".join(table.name for table in listed if table.rows)
    names = ", ".join(some.split(", ")[:_LISTED])
    return UsageError(
        f"the trace has no table {missing[0]}",
        f'{hint}There are {names}, ...: "FROM tables" lists all',
    )


def _first_lines(error: duckdb.Error) -> str:
    """DuckDB's message without the drawing of the place in the query."""
    return " ".join(str(error).partition("\n\nLINE")[0].split())
