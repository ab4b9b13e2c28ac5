"""Typed results as JSON, JSON as typed results, and the JSON Schema of both.

The dataclass of a result is the one description of its JSON: no class writes ``as_json`` by hand.

- Fields become keys, in their order. A docstring below a field says what it means; the schema
  takes it from there.
- ``in_json`` in a field's metadata changes how it is written: under another name, rounded, as
  something else, left out at times, or never.
- What follows from the fields is a ``computed`` property: written after the fields, or before the
  field that ``computed.before`` names. Reading ignores it, as it ignores unknown keys.
- A float that is not finite is written as ``null``. Where that can happen, the field is declared
  ``float | None``.
- Enumerations are written as their values, tuples (named ones too) and sets as arrays, paths as
  texts, ``Untrusted`` texts as they came.

Where a document differs from its result in more than that, it is a dataclass of its own, made by
a function beside it.

msgspec reads: it converts to plain dataclasses, checks while it does, and names the place of an
error (``runs[2].seed``). cattrs converts as well, but coerces rather than checks (``int("5")``),
collects errors in groups, and takes a hook for each abstract container. Neither writes computed
properties, leaves out defaults of a dataclass or describes either, so writing and describing are
done here, which also spares each ``--json`` the import of msgspec.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import numbers
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from types import UnionType
from typing import (
    Any,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from benchvise.quantities import is_number
from benchvise.text import Untrusted

JsonObject: TypeAlias = Mapping[str, object]
"""A JSON object whose keys are not all known beforehand; ``number_at`` & co. read it."""

T = TypeVar("T")
V = TypeVar("V")

_METADATA = "benchvise.documents"


@dataclass(frozen=True, slots=True)
class _Writing:
    """How a field is written; ``in_json`` says what each means."""

    name: str = ""
    digits: int | None = None
    through: Callable[[Any], object] | None = None
    omit_default: bool = False
    omit_if: Callable[[Any], bool] | None = None
    inline: bool = False
    hidden: bool = False


_PLAIN_WRITING = _Writing()


def in_json(
    *,
    name: str = "",
    digits: int | None = None,
    through: Callable[[Any], object] | None = None,
    omit_default: bool = False,
    omit_if: Callable[[Any], bool] | None = None,
    inline: bool = False,
    hidden: bool = False,
) -> Mapping[str, object]:
    """Metadata of a dataclass field: how it is written in JSON.

    ``name`` is its key where that is not the field's name, ``digits`` the decimals to which a float
    is rounded; what ``through`` makes of the value is written in its place (its return type is
    what the schema says). Types with such fields can be written but not read.

    ``omit_default`` leaves the field out while it has its default value, ``omit_if`` where that
    says so of the instance, ``hidden`` always. ``inline`` writes the keys of the field's own
    document in place of the field.
    """
    return {_METADATA: _Writing(name, digits, through, omit_default, omit_if, inline, hidden)}


class computed(Generic[T]):  # noqa: N801 - a decorator, like property
    """A property that is part of the JSON document, after the fields of its dataclass."""

    def __init__(self, getter: Callable[[Any], T], before: str = "", name: str = "") -> None:
        self.getter = getter
        self.position = before
        self.name = name
        self.__doc__ = getter.__doc__

    @staticmethod
    def before(field: str, name: str = "") -> Callable[[Callable[[Any], V]], computed[V]]:
        """The same, placed before the field of that name; ``name`` is its key if another."""
        return lambda getter: computed(getter, field, name)

    @staticmethod
    def named(name: str) -> Callable[[Callable[[Any], V]], computed[V]]:
        """The same under another key than the property's name."""
        return lambda getter: computed(getter, name=name)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        return self if instance is None else self.getter(instance)


_AS_THEY_ARE = frozenset({str, int, bool, type(None)})
_OTHER_FORMS = (Enum, str, Untrusted, numbers.Real, Mapping, list, tuple, Set, PurePath)
"""Types that are not written field by field, also where they are dataclasses."""


def encode(value: object) -> Any:
    """The value as JSON builtins: what ``json.dumps`` takes.

    Raises TypeError for a value that has no JSON form.
    """
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:  # nearly all: asked first
        return value
    if (members := _members_of_record(kind)) is not None:  # then most of the others
        document: dict[str, Any] = {}
        for member in members:
            if member.writing is _PLAIN_WRITING:  # nearly all of them
                content = getattr(value, member.attribute)
                document[member.key] = content if type(content) in _AS_THEY_ARE else encode(content)
            elif not member.is_omitted(value):
                member.write(value, document)
        return document
    match value:
        case Enum():
            return encode(value.value)
        case str():
            return str(value)
        case Untrusted():
            return value.raw
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
    raise TypeError(f"{kind.__name__} has no JSON form")


def decode(kind: type[T], data: object) -> T:
    """JSON builtins as a typed value; keys that the type does not have are ignored.

    Raises ValueError that names the path and what is wrong there: ``series[3].seed: expected int,
    got str``.
    """
    import msgspec  # late: most commands read no document

    try:
        return msgspec.convert(data, kind, dec_hook=_read_special)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except msgspec.ValidationError as error:
        raise ValueError(_explanation(str(error))) from None


def schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what ``encode`` writes of a type.

    Raises TypeError for a type that has no JSON form, and where two dataclasses have one name.
    """
    definitions: dict[Any, dict[str, Any]] = {}
    root = _schema_of(kind, definitions)
    names = [_title(described) for described in definitions]
    if len(set(names)) < len(names):
        twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
        raise TypeError(f"several classes are called {twice}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "$defs": dict(zip(names, definitions.values(), strict=True)),
    }


# -- JSON objects whose keys are not all known -----------------------------------------------------


def number_at(values: JsonObject, key: str) -> float | None:
    """The finite number under a key, an integer as it is; None for anything else."""
    value = values.get(key)
    return value if is_number(value) else None


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
    if not (items := array_at(values, key)):
        return ()  # of most batches' flags
    return tuple(item for item in items if isinstance(item, str))


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

    def write(self, instance: object, document: dict[str, Any]) -> None:
        """Adds the member to a JSON object: a key, or several where it is written inline."""
        value = getattr(instance, self.attribute)
        if self.writing.through is not None:
            value = self.writing.through(value)
        if self.writing.digits is not None and isinstance(value, float):
            value = round(value, self.writing.digits)
        if self.writing.inline:
            document |= encode(value)
        else:
            document[self.key] = encode(value)

    def is_omitted(self, instance: object) -> bool:
        """Whether an instance is written without it."""
        writing = self.writing
        if writing.omit_if is not None and writing.omit_if(instance):
            return True
        return writing.omit_default and bool(getattr(instance, self.attribute) == self.default)


@functools.cache
def _members_of_record(cls: type) -> tuple[_Member, ...] | None:
    """What is written of a dataclass; None for other types, and where another form comes first."""
    return None if not is_dataclass(cls) or issubclass(cls, _OTHER_FORMS) else _members(cls)


@functools.cache
def _members(cls: type) -> tuple[_Member, ...]:
    """What is written of a dataclass, in order."""
    properties = [
        (member.position, _Member(member.name or name, name, _PLAIN_WRITING, MISSING))
        for name, member in _computed(cls).items()
    ]
    placed: list[_Member] = []
    for field in fields(cls):
        placed += (member for position, member in properties if position == field.name)
        writing = field.metadata.get(_METADATA, _PLAIN_WRITING)
        if not writing.hidden:
            placed.append(_Member(writing.name or field.name, field.name, writing, _default(field)))
    placed += (member for position, member in properties if not position)
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


def _read_special(kind: type, data: object) -> object:
    """The types that msgspec does not know."""
    if kind is Untrusted:
        if not isinstance(data, str):
            raise ValueError(f"expected text, got {type(data).__name__}")
        return Untrusted(data)
    if issubclass(kind, PurePath) and isinstance(data, str):
        return kind(data)
    if isinstance(data, kind):
        return data
    raise ValueError(f"expected {kind.__name__}, got {type(data).__name__}")


# -- schemas ---------------------------------------------------------------------------------------

_PLAIN: Mapping[object, Mapping[str, Any]] = {
    Any: {},
    object: {},
    None: {"type": "null"},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    Untrusted: {"type": "string"},
}


def _schema_of(kind: Any, definitions: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    """The schema of a type; dataclasses that it refers to are added to the definitions."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [_schema_of(argument, definitions) for argument in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    cls = origin or kind
    if not isinstance(cls, type):
        raise TypeError(f"{kind} has no JSON form")
    if is_dataclass(cls):
        if kind not in definitions:
            definitions[kind] = {}  # before its fields, which may be of the same class
            definitions[kind] = _object_schema(kind, definitions)
        return {"$ref": f"#/$defs/{_title(kind)}"}
    if issubclass(cls, Enum):
        return {"enum": [encode(member) for member in cls]}
    if issubclass(cls, PurePath):
        return {"type": "string"}
    if issubclass(cls, Mapping):
        return {"type": "object", "additionalProperties": _schema_of(arguments[1], definitions)}
    if issubclass(cls, tuple) and arguments[1:] != (Ellipsis,):
        kinds = arguments or get_type_hints(cls).values()  # of a NamedTuple
        items = [_schema_of(argument, definitions) for argument in kinds]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    if issubclass(cls, Sequence | Set) and arguments:
        return {"type": "array", "items": _schema_of(arguments[0], definitions)}
    raise TypeError(f"{cls.__name__} has no JSON form")


def _title(kind: Any) -> str:
    """The name of a dataclass; of a generic one, ``Result[Power]``, with what it is of."""
    cls = get_origin(kind) or kind
    return "Of".join([cls.__name__, *(argument.__name__ for argument in get_args(kind))])


def _object_schema(kind: Any, definitions: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    """The definition of a dataclass, which may be a generic one with its arguments."""
    cls = get_origin(kind) or kind
    arguments = dict(zip(getattr(cls, "__parameters__", ()), get_args(kind), strict=True))
    texts = _field_texts(cls)
    hints = {**get_type_hints(cls), **_computed_types(cls)}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for member in _members(cls):
        writing = member.writing
        hint = hints[member.attribute]
        hint = arguments.get(hint, hint)
        if writing.inline:
            inner = _object_schema(hint, definitions)
            properties |= inner["properties"]
            required += inner["required"]
            continue
        if writing.through is not None:
            hint = get_type_hints(writing.through)["return"]
        properties[member.key] = _schema_of(hint, definitions)
        if texts.get(member.attribute):
            properties[member.key]["description"] = texts[member.attribute]
        if not writing.omit_default and writing.omit_if is None:
            required.append(member.key)
    text = inspect.getdoc(cls)
    return {
        "title": _title(kind),
        "type": "object",
        **({"description": text} if text and not text.startswith(f"{cls.__name__}(") else {}),
        "properties": properties,
        "required": list(dict.fromkeys(required)),  # a field may replace one of an inline document
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
