"""Typed results as JSON, JSON as typed results, and the JSON Schema of both.

The dataclass of a result is the one description of its JSON: no class writes ``as_json`` by hand.

- Fields become keys, in their order. A docstring below a field says what it means; the schema
  takes it from there.
- ``in_json`` in a field's metadata changes how it is written: under another name, rounded, left
  out while it has its default value, or never.
- What follows from the fields is a ``computed`` property: written after the fields, or before the
  field that ``computed.before`` names. Reading ignores it, as it ignores unknown keys.
- A float that is not finite is written as ``null``. Where that can happen, the field is declared
  ``float | None``.
- Enumerations are written as their values, tuples and sets as arrays, paths as texts.

Where a document differs from its result in more than that, it is a dataclass of its own, made by
a function beside it.

msgspec reads and describes: of what we tried, it alone does both from plain dataclasses, checks
while it converts and names the place of an error (``$.runs[2].seed``). cattrs converts as well, but
knows no JSON Schema, coerces rather than checks, and takes a hook for each abstract container.
Neither writes computed properties or leaves out defaults of a dataclass, so writing is done here,
which also spares each ``--json`` the import of msgspec.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import numbers
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any, Generic, Self, TypeAlias, TypeVar, get_args, get_type_hints, overload

JsonObject: TypeAlias = Mapping[str, object]
"""A JSON object whose keys are not all known beforehand; ``number_at`` & co. read it."""

T = TypeVar("T")
V = TypeVar("V")

_METADATA = "benchvise.documents"


@dataclass(frozen=True, slots=True)
class _Writing:
    """How a field is written."""

    name: str = ""
    digits: int | None = None
    omit_default: bool = False
    hidden: bool = False


def in_json(
    *, name: str = "", digits: int | None = None, omit_default: bool = False, hidden: bool = False
) -> Mapping[str, object]:
    """Metadata of a dataclass field: how it is written in JSON.

    ``name`` is its key where that is not the field's name (types with such a field can be written
    but not read), ``digits`` the decimals to which a float is rounded. ``omit_default`` leaves the
    field out while it has its default value, ``hidden`` always.
    """
    return {_METADATA: _Writing(name, digits, omit_default, hidden)}


class computed(Generic[T]):  # noqa: N801 - a decorator, like property
    """A property that is part of the JSON document, after the fields of its dataclass."""

    def __init__(self, getter: Callable[[Any], T], before: str = "") -> None:
        self.getter = getter
        self.position = before
        self.__doc__ = getter.__doc__

    @staticmethod
    def before(field: str) -> Callable[[Callable[[Any], V]], computed[V]]:
        """The same, written before the field of that name."""
        return lambda getter: computed(getter, field)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        return self if instance is None else self.getter(instance)


def encode(value: object) -> Any:
    """The value as JSON builtins: what ``json.dumps`` takes.

    Raises TypeError for a value that has no JSON form.
    """
    match value:
        case None | bool():
            return value
        case Enum():
            return encode(value.value)
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case Mapping():
            return {_key(key): encode(item) for key, item in value.items()}
        case list() | tuple():
            return [encode(item) for item in value]
        case Set():
            return sorted(map(encode, value))
        case PurePath():
            return str(value)
        case numbers.Integral():  # of numpy
            return int(value)
        case numbers.Real():
            return encode(float(value))
    if is_dataclass(value) and not isinstance(value, type):
        members = _members(type(value))
        return {m.key: m.write(value) for m in members if not m.is_omitted(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode(kind: type[T], data: object) -> T:
    """JSON builtins as a typed value; keys that the type does not have are ignored.

    Raises ValueError that names the path and what is wrong there: ``series[3].seed: expected int,
    got str``.
    """
    import msgspec  # late: most commands read no document

    try:
        return msgspec.convert(data, kind)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except msgspec.ValidationError as error:
        raise ValueError(_explanation(str(error))) from None


def schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what ``encode`` writes of a type.

    Raises TypeError where two of its dataclasses have one name.
    """
    from msgspec import json

    classes = dict.fromkeys(_dataclasses(kind, set()))
    names = [cls.__name__ for cls in classes]
    if len(set(names)) < len(names):
        twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
        raise TypeError(f"several classes are called {twice}")
    kinds = [kind, *classes, *(hint for cls in classes for hint in _computed_types(cls).values())]
    schemas, definitions = json.schema_components(
        kinds, schema_hook=_any_json, ref_template="#/$defs/{name}"
    )
    described = dict(zip(map(_identity, kinds), schemas, strict=True))
    for cls in classes:
        definitions[cls.__name__] = _object_schema(cls, definitions[cls.__name__], described)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schemas[0],
        "$defs": _referenced(schemas[0], definitions),
    }


# -- JSON objects whose keys are not all known -----------------------------------------------------


def number_at(values: JsonObject, key: str) -> float | None:
    """The finite number under a key, an integer as it is; None for anything else."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def whole_at(values: JsonObject, key: str) -> int | None:
    """The integer under a key; None for anything else."""
    value = values.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text_at(values: JsonObject, key: str) -> str:
    """The text under a key; empty for anything else."""
    value = values.get(key)
    return value if isinstance(value, str) else ""


def texts_at(values: JsonObject, key: str) -> tuple[str, ...]:
    """The texts of the array under a key; what is no text is left out."""
    return tuple(item for item in array_at(values, key) if isinstance(item, str))


def array_at(values: JsonObject, key: str) -> Sequence[object]:
    """The array under a key; empty for anything else."""
    value = values.get(key)
    return value if isinstance(value, list | tuple) else ()


def object_at(values: JsonObject, key: str) -> JsonObject:
    """The object under a key; empty for anything else."""
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def reason_at(values: JsonObject, key: str) -> str:
    """Why a value cannot be had: what ``{"na": "reason"}`` under a key says; else empty."""
    return text_at(object_at(values, key), "na")


# -- fields and properties of dataclasses ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Member:
    """A field or computed property of a dataclass, as it is written."""

    key: str
    attribute: str
    writing: _Writing
    default: object

    def write(self, instance: object) -> Any:
        """The member's value as JSON builtins."""
        value = getattr(instance, self.attribute)
        if self.writing.digits is not None and isinstance(value, float):
            value = round(value, self.writing.digits)
        return encode(value)

    def is_omitted(self, instance: object) -> bool:
        """Whether it is left out, as it has its default value."""
        return self.writing.omit_default and bool(getattr(instance, self.attribute) == self.default)


@functools.cache
def _members(cls: type) -> tuple[_Member, ...]:
    """What is written of a dataclass, in order."""
    properties = _computed(cls)
    placed: list[_Member] = []
    for field in fields(cls):
        placed += (
            _Member(name, name, _Writing(), MISSING)
            for name, member in properties.items()
            if member.position == field.name
        )
        writing = field.metadata.get(_METADATA, _Writing())
        if not writing.hidden:
            placed.append(_Member(writing.name or field.name, field.name, writing, _default(field)))
    placed += (
        _Member(name, name, _Writing(), MISSING)
        for name, member in properties.items()
        if not member.position
    )
    return tuple(placed)


def _computed(cls: type) -> dict[str, computed[Any]]:
    """The computed properties of a class and its bases by name."""
    return {
        name: member
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, computed)
    }


def _computed_types(cls: type) -> dict[str, Any]:
    return {
        name: get_type_hints(member.getter)["return"] for name, member in _computed(cls).items()
    }


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _key(key: object) -> str:
    return str(key.value) if isinstance(key, Enum) else str(key)


def _explanation(message: str) -> str:
    """msgspec's message with the path in front and without its quotes."""
    match = re.fullmatch(r"(.*?)(?: - at `(?:key in )?\$\.?(.*)`)?", message, re.DOTALL)
    text, path = (match[1], match[2]) if match else (message, None)
    plain = text.replace("`", "")
    return f"{path}: {plain[:1].lower()}{plain[1:]}" if path else plain


def _any_json(_kind: type) -> dict[str, Any]:
    """The schema of what has no type of its own, such as ``object``: any JSON."""
    return {"$comment": "any JSON"}


def _dataclasses(kind: Any, seen: set[object]) -> Iterator[type]:
    """The dataclasses that a type consists of, each once."""
    if isinstance(kind, type) and is_dataclass(kind):
        if kind in seen:
            return
        seen.add(kind)
        yield kind
        hints = get_type_hints(kind)
        for member in _members(kind):
            if member.attribute in hints:
                yield from _dataclasses(hints[member.attribute], seen)
        for hint in _computed_types(kind).values():
            yield from _dataclasses(hint, seen)
    for argument in get_args(kind):
        yield from _dataclasses(argument, seen)


def _identity(kind: Any) -> str:
    return repr(kind)


def _object_schema(
    cls: type, definition: Mapping[str, Any], described: Mapping[str, Any]
) -> dict[str, Any]:
    """The definition of a dataclass with what msgspec does not know of it."""
    texts = _field_texts(cls)
    types = _computed_types(cls)
    properties = {}
    for member in _members(cls):
        if member.attribute in types:
            base = described[_identity(types[member.attribute])]
        else:
            base = definition["properties"][member.attribute]
        text = texts.get(member.attribute)
        properties[member.key] = {
            **{key: item for key, item in base.items() if key != "default"},
            **({"description": text} if text else {}),
        }
    required = [member.key for member in _members(cls) if not member.writing.omit_default]
    text = inspect.getdoc(cls)
    return {
        "title": cls.__name__,
        "type": "object",
        **({"description": text} if text and not text.startswith(f"{cls.__name__}(") else {}),
        "properties": properties,
        "required": required,
    }


def _field_texts(cls: type) -> dict[str, str]:
    """What the docstrings below fields and of computed properties say, by name."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not is_dataclass(base):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)  # noqa: S101 - the source of a class
        for statement, following in zip(body.body, body.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = _docstring(following)
                if text:
                    texts[statement.target.id] = text
        for name, member in _computed(base).items():
            texts[name] = inspect.cleandoc(member.__doc__ or "")
    return texts


def _docstring(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return inspect.cleandoc(text)
    return ""


def _referenced(root: object, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions that the root refers to, directly or through others."""
    reached: dict[str, Any] = {}
    waiting = [root]
    while waiting:
        for name in _references(waiting.pop()):
            if name not in reached:
                reached[name] = definitions[name]
                waiting.append(definitions[name])
    return reached


def _references(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix("#/$defs/")
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _references(item)
