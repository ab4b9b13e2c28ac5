"""What a query gives, as JSON has it. Without DuckDB: who shows it does not need that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A column of an answer, with its type in DuckDB's words."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class QueryDocument:
    """An answer as JSON has it; values that JSON does not have are texts."""

    columns: tuple[QueryColumn, ...]
    rows: list[list[JsonValue]]
    more: bool
    seconds: float
    remarks: tuple[str, ...]


JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"


def json_value(value: object) -> JsonValue:
    """As JSON can have it; a number that is none in JSON (NaN, infinity) is its name."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value - value == 0 else str(value)
        case list() | tuple():
            return [json_value(part) for part in value]
        case dict():
            return {str(key): json_value(part) for key, part in value.items()}
        case _:
            return sql_text(value)


def sql_text(value: object) -> str:
    """A value of a query's answer as text; bytes are hexadecimal."""
    return value.hex() if isinstance(value, bytes) else str(value)
