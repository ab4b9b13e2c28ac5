"""The border between what a board says and what a database column can hold.

Both databases must hold the same values, so what either refuses never reaches them:

- NUL, and halves of surrogate pairs, in any text become U+FFFD;
- NaN and infinities inside JSON become ``{"na": "not a number"}`` and ``{"na": "infinite"}``;
- integers of more than 64 bits and values nested deeper than 32 levels, which no honest probe
  sends, become ``{"na": …}`` too;
- a sample's value that is NaN is NULL in its row, and NaN again when it is read; -0.0 is 0.0,
  since SQLite keeps no sign of a zero.

Everything else comes back as it was: finite floats bit for bit, object keys in their order. What
comes back of another type than the column's, as SQLite lets any program store it, is a
``DamagedValueError``.
JSON is kept as text (``JSON``, not ``JSONB``) because only that keeps floats and order.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    DateTime,
    Dialect,
    Double,
    Integer,
    LargeBinary,
    String,
    Text,
)
from sqlalchemy.types import TypeDecorator

from benchvise.documents import decode

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

DEEPEST = 32
WIDEST = range(-(2**63), 2**64)  # signed and unsigned counters

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with what neither database can hold replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def clean_json(value: object, levels: int = DEEPEST) -> Json:
    """The value as JSON that both databases accept; see the module for what is replaced.

    Raises ``TypeError`` for a value that has no JSON form: that is a mistake in the caller.
    """
    match value:
        case None | bool():
            return value
        case str():
            return clean_text(value)
        case int():
            return int(value) if value in WIDEST else {"na": "integer of more than 64 bits"}
        case float():
            if math.isfinite(value):
                return float(value)
            return {"na": "not a number" if math.isnan(value) else "infinite"}
        case Mapping() | list() | tuple() if not levels:
            return {"na": f"nested deeper than {DEEPEST} levels"}
        case Mapping():
            return {clean_text(str(k)): clean_json(v, levels - 1) for k, v in value.items()}
        case list() | tuple():
            return [clean_json(item, levels - 1) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def dump_json(value: object) -> str:
    """JSON text in ASCII, so that it does not depend on the encoding of the database."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


class DamagedValueError(Exception):
    """A column holds what no release of ours has written there."""


_Value = TypeVar("_Value")


class _Checked(TypeDecorator[_Value]):
    """A column of which only values of ``kinds`` come; None comes where it may be empty."""

    __abstract__ = True
    kinds: type | tuple[type, ...] = object

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """The processor of the type, with every complaint of it as one error."""
        process = super().result_processor(dialect, coltype)

        def checked(value: Any) -> Any:
            try:
                result = value if process is None else process(value)
            except (ValueError, TypeError, AttributeError, OverflowError, zlib.error) as error:
                raise DamagedValueError(str(error)) from error
            if result is not None and not isinstance(result, self.kinds):
                raise DamagedValueError(
                    f"{_stranger(value)} where there should be {self.impl_instance.__visit_name__}"
                )
            return result

        return checked


def stored(kind: type[_Value], document: object) -> _Value:
    """What a JSON column holds, as a record of ours."""
    try:
        return decode(kind, document)
    except ValueError as error:
        raise DamagedValueError(str(error)) from error


def _stranger(value: object) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"


class CleanText(_Checked[str]):
    """Text of any length."""

    impl = Text
    cache_ok = True
    kinds = str

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Replace what cannot be stored."""
        return None if value is None else clean_text(value)


class Name(_Checked[str]):
    """Text of a length, of which we know that it is clean."""

    impl = String
    cache_ok = True
    kinds = str


class Whole(_Checked[int]):
    """A whole number."""

    impl = Integer
    cache_ok = True
    kinds = int


class Large(_Checked[int]):
    """A whole number of up to 64 bits."""

    impl = BigInteger
    cache_ok = True
    kinds = int


class YesNo(_Checked[bool]):
    """Yes or no."""

    impl = Boolean
    cache_ok = True
    kinds = bool


class JsonColumn(_Checked[Mapping[str, Any]]):
    """A JSON object."""

    impl = JSON
    cache_ok = True
    kinds = Mapping

    def process_bind_param(self, value: Mapping[str, Any] | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Replace what cannot be stored."""
        return None if value is None else clean_json(value)


class Bytes(_Checked[bytes]):
    """Bytes as they are."""

    impl = LargeBinary
    cache_ok = True
    kinds = bytes


class PackedJson(_Checked[Any]):
    """Any JSON, compressed: a board's whole state is half a megabyte of text."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        """Replace what cannot be stored, and compress."""
        return None if value is None else zlib.compress(dump_json(clean_json(value)).encode())

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """The JSON again."""
        return None if value is None else json.loads(zlib.decompress(value))


class PackedBytes(_Checked[bytes]):
    """Bytes, compressed."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        """Compress."""
        return None if value is None else zlib.compress(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002
        """As they were."""
        return None if value is None else zlib.decompress(value)


class Measured(_Checked[float]):
    """A double that may be NaN, which SQLite knows only as NULL."""

    impl = Double
    cache_ok = True
    kinds = (float, int)

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        """NaN as NULL, and no zero with a sign."""
        return None if value is None or math.isnan(value) else float(value) + 0.0

    def process_result_value(self, value: float | None, dialect: Dialect) -> float:  # noqa: ARG002
        """NULL as NaN."""
        return math.nan if value is None else value


class Moment(_Checked[datetime]):
    """A point in time, always UTC; SQLite keeps no time zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True
    kinds = datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """As UTC, and without the zone where the database has none."""
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """In UTC, whatever zone the server shows its times in."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)
