"""Rows of results: a sequence of typed records, and what notebooks make of one."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar, overload

from markupsafe import Markup

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.report.sinks import cell
from benchvise.report.table_pages import NUMBER_STYLE, TEXT_STYLE

T = TypeVar("T")

_MOST_ROWS = 30
_CELL = Markup("<{0}{1}>{2}</{0}>")


class Records(Sequence[T], Generic[T]):
    """Records of one type, which can become a table."""

    def __init__(self, records: Sequence[T]) -> None:
        self._records = tuple(records)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Records[T]: ...

    def __getitem__(self, index: int | slice) -> T | Records[T]:
        """A record, or a part of them."""
        if isinstance(index, slice):
            return Records(self._records[index])
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[T]:
        return iter(self._records)

    def __repr__(self) -> str:
        name = type(self._records[0]).__name__ if self._records else "nothing"
        return f"<{len(self)} x {name}>"

    def rows(self) -> list[dict[str, Any]]:
        """Each record as JSON has it: keys and values of the commands' ``--json``."""
        return [encode(record) for record in self._records]

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``. UsageError without pyarrow."""
        return _module("pyarrow", "pip install pyarrow").Table.from_pylist(self.rows())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. UsageError without pandas."""
        return _module("pandas", "pip install pandas").DataFrame(self.rows())

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``. UsageError without polars."""
        return _module("polars", "pip install polars").DataFrame(self.rows())

    def _repr_html_(self) -> str:
        """The first rows, for Jupyter."""
        if not self._records:
            return "<p>nothing</p>"
        first = self._records[0]
        names = [f.name for f in fields(first)] if is_dataclass(first) else ["value"]
        cells = [
            [getattr(record, name, record) for name in names]
            for record in self._records[:_MOST_ROWS]
        ]
        # A column is of numbers where its first value is one.
        styles = [
            NUMBER_STYLE if isinstance(value, (int, float)) else TEXT_STYLE for value in cells[0]
        ]
        rows = [_html_row("th", names, styles)]
        rows += [_html_row("td", values, styles) for values in cells]
        rest = len(self) - _MOST_ROWS
        more = Markup("<p>{} more</p>").format(rest) if rest > 0 else ""
        return Markup("<table>{}</table>{}").format(Markup("").join(rows), more)


def _html_row(element: str, values: Sequence[object], styles: Sequence[Markup]) -> Markup:
    cells = (
        _CELL.format(element, style, cell(str(value)))
        for value, style in zip(values, styles, strict=True)
    )
    return Markup("<tr>{}</tr>").format(Markup("").join(cells))


def _module(name: str, remedy: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{name} is not installed", remedy) from error
