"""A trace: its events as Arrow tables, SQL over them, and every analysis of ``benchvise trace``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from benchvise.api.records import Records
from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.report.rendering import csv_text, table_markdown, table_of
from benchvise.report.table_pages import html_table
from benchvise.trace.catalogue import all_analyses
from benchvise.trace.catalogue.record import TraceAnalysis
from benchvise.trace.loaded import LoadedTrace, load_trace
from benchvise.trace.query_limits import QueryLimits

if TYPE_CHECKING:
    from benchvise.table import TableSpec
    from benchvise.trace.native import Table


_SHOWN = 30
"""Rows of a table in a notebook."""


@cache
def _of_one_trace() -> dict[str, TraceAnalysis[Any, Any]]:
    """The analyses by the names of their methods."""
    return {
        analysis.name.replace("-", "_"): analysis
        for analysis in all_analyses()
        if "file" in {field.name for field in fields(analysis.request)}
    }


class AnalysisAnswer:
    """What an analysis answered."""

    def __init__(
        self,
        analysis: TraceAnalysis[Any, Any],
        answer: Any,
        request: Any,
        traces: Sequence[LoadedTrace],
    ) -> None:
        self._analysis, self._request, self._traces = analysis, request, traces
        self.answer = answer
        """The typed result, as ``benchvise.trace.analysis`` describes it."""

    def __repr__(self) -> str:
        return f"<trace {self._analysis.name} of {self._request.file.name}>"

    @property
    def document(self) -> Any:
        """The data of the command's ``--json``."""
        return encode(self._analysis.document(self.answer, self._traces))

    @property
    def tables(self) -> list[TableSpec[Any]]:
        """The tables that the command prints, with all rows."""
        return list(self._analysis.tables(self.answer, self._request))

    @property
    def rows(self) -> Records[Any]:
        """The rows of the first table."""
        return Records(list(self.tables[0].rows))

    def to_csv(self) -> str:
        """The first table as the command's ``--csv``."""
        first = self.tables[0]
        return csv_text(first.columns, first.rows)

    def to_markdown(self) -> str:
        """The tables as the command's ``--markdown``."""
        return "\n".join(table_markdown(table_of(spec, stacked=False)) for spec in self.tables)

    def _repr_html_(self) -> str:
        """The tables with their units, the first rows of each, for Jupyter."""
        parts = (spec.first(_SHOWN, "more rows (.rows has all)") for spec in self.tables)
        return Markup("").join(
            html_table(table_of(spec, stacked=False), in_notebook=True) for spec in parts
        )


class TraceHandle:
    """An opened trace. Every analysis is a method: ``trace.wakeups(by_name=True)``, with the
    options of its command as arguments."""

    def __init__(
        self, path: Path, since: str | None, until: str | None, *, use_cache: bool
    ) -> None:
        self.path = path
        self._span, self._use_cache = (since, until), use_cache

    def __repr__(self) -> str:
        return f"<trace {self.path}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_of_one_trace()]

    def __getattr__(self, name: str) -> Callable[..., AnalysisAnswer]:
        """The analysis of that name."""
        if name.startswith("_") or name not in _of_one_trace():
            raise AttributeError(f"there is no analysis {name}: {', '.join(_of_one_trace())}")
        return lambda **options: self.analyse(name, **options)

    @cached_property
    def loaded(self) -> LoadedTrace:
        """The trace with its analysis; opened when it is first needed."""
        return load_trace(self.path, *self._span, cache=self._use_cache)

    @property
    def event_counts(self) -> dict[str, int]:
        """How often each event occurred, without those that never did."""
        return dict(self.loaded.trace.counts)

    def events(self, name: str) -> Table:
        """All events of a type: ``time`` (ns of the trace's clock), ``cpu``, its fields.

        UsageError for an event that the trace does not know.
        """
        tables = self.loaded.trace.tables
        if name not in tables:
            near = difflib.get_close_matches(name, list(tables), n=3)
            raise UsageError(
                f"{self.path.name} has no event {name!r}",
                f"did you mean {' or '.join(near)}?" if near else "see event_counts",
            )
        return tables[name]

    def sql(self, query: str, *, rows: int = 1_000_000) -> Table:
        """What one SELECT gives, as ``trace query`` does; at most so many rows.

        UsageError for what is no query, names what is not there, or needs more than it may use.
        """
        from benchvise.trace.query import (
            ask_table,  # needs DuckDB, which events and analyses do not
        )

        return ask_table(self.loaded.trace, query, QueryLimits(rows=rows))

    def analyse(self, name: str, **options: Any) -> AnalysisAnswer:
        """An analysis by the name of its command; ``options`` are those of the command.

        UsageError for a name or an option that there is not.
        """
        analysis = _of_one_trace().get(name.replace("-", "_"))
        if analysis is None:
            raise UsageError(f"there is no analysis {name!r}", f"say {', '.join(_of_one_trace())}")
        taken = {field.name for field in fields(analysis.request)} - {"file", "cache", "memory"}
        if unknown := set(options) - taken:
            raise UsageError(
                f"{name} has no option {', '.join(sorted(unknown))}",
                f"it has {', '.join(sorted(taken))}",
            )
        choices = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in options.items()
        }
        request = analysis.request(file=self.path, **choices).unlimited()
        record = analysis.instead(request) or analysis
        record.check(request)
        traces = [self._part(request.span)] if record.loads else []
        return AnalysisAnswer(record, record.analyse(traces, request), request, traces)

    def _part(self, span: tuple[str | None, str | None]) -> LoadedTrace:
        """The trace from then to then; with neither, as it was opened."""
        if span in ((None, None), self._span):
            return self.loaded
        return load_trace(self.path, *span, cache=self._use_cache)


def open_trace(
    path: str | Path,
    *,
    since: str | None = None,
    until: str | None = None,
    use_cache: bool = True,
) -> TraceHandle:
    """A trace of any format that is read (see ``trace info``); read when it is first asked.

    ``since`` and ``until`` are seconds of the trace's clock, or ``+S`` from its first event.
    UsageError where there is no such file.
    """
    place = Path(path)
    if not place.exists():
        raise UsageError(f"there is no trace {place}", "check its name")
    return TraceHandle(place, since, until, use_cache=use_cache)
