"""Settings that users add: the same records as ours, held to what can be put back.

Ours are reviewed one by one. Of somebody else's only what Benchvise can read, write and restore by
itself is taken: files below ``/proc/sys`` and ``/sys`` that hold a value, and none whose write is
an act (``remove``, ``unbind``, ``/sys/power/state``), which no later write undoes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from benchvise.documents import JsonObject, array_at, decode
from benchvise.extensions import ExtensionError, ExtensionSource
from benchvise.state.model import Flip, Item, Knob, Read

T = TypeVar("T")

_ITEM_FIELDS = frozenset(
    {"id", "title", "summary", "families", "flips", "read", "knob", "restore", "places"}
)
_KNOB_FIELDS = frozenset(
    {"name", "path", "kind", "summary", "choices", "minimum", "maximum", "pattern", "risky"}
    | {"resets", "each"}
)
_READ_FIELDS = frozenset({"file", "normaliser", "key"})
_BELOW = ("/proc/sys/", "/sys/")
_ACTS = frozenset(
    {"add", "bind", "clear", "delete", "flush", "new_device", "delete_device", "new_id", "probe"}
    | {"remove", "remove_id", "rescan", "reset", "scan", "trigger", "uevent", "unbind"}
)
"""Last parts of paths whose write does something instead of setting something."""
_ACT_PATHS = ("/sys/power/state", "/proc/sys/vm/drop_caches", "/proc/sys/vm/compact_memory")
_WILDCARD = re.compile(r"\*|\?|\[[^\]]*\]")


def read_items(source: ExtensionSource) -> Iterator[Item]:
    """The items of a file. ExtensionError for what is wrong, with the item's name."""
    try:
        document = tomllib.loads(source.text())
    except ValueError as error:
        raise ExtensionError(f"no TOML: {error}") from error
    _only(document, frozenset({"item"}), "the file")
    for record in _tables(document, "item", "the file"):
        yield _item(record)


def names_of(item: Item) -> tuple[str, ...]:
    """What an item adds: its settings, by name; its own id where it has none."""
    return tuple(knob.name for knob in item.knobs) or (item.id,)


def _item(record: JsonObject) -> Item:
    where = f"item {record.get('id')!r:.90}"
    _only(record, _ITEM_FIELDS, where)
    knobs = tuple(_knob(knob, where) for knob in _tables(record, "knob", where))
    reads = tuple(_read(read, where) for read in _tables(record, "read", where))
    paths = {read.path for read in reads}
    flips = (Flip.RISKY if any(knob.risky for knob in knobs) else Flip.RUN_TIME,)
    own_fields = {name: value for name, value in record.items() if name not in ("knob", "read")}
    fields = {"number": 0, "flips": flips if knobs else (Flip.OBSERVE,), **own_fields}
    item = _decoded(Item, {**fields, "reads": (), "knobs": ()}, where)
    if not (reads or knobs) or not item.families:
        raise ExtensionError(f"{where}: it needs settings or reads, and families")
    values = (_value_of(knob) for knob in knobs if knob.path not in paths)
    return replace(item, reads=(*reads, *values), knobs=knobs)


def _knob(record: JsonObject, where: str) -> Knob:
    where = f"{where}, setting {record.get('name')!r:.90}"
    _only(record, _KNOB_FIELDS, where)
    knob = _decoded(Knob, record, where)
    _check_path(knob.path, where)
    if knob.path.rpartition("/")[2] in _ACTS or knob.path in _ACT_PATHS:
        raise ExtensionError(f"{where}: what is written to {knob.path} cannot be taken back")
    if knob.kind == "text" and not knob.pattern:
        raise ExtensionError(f"{where}: a text needs a pattern")
    if knob.minimum > knob.maximum:
        raise ExtensionError(f"{where}: its minimum is over its maximum")
    try:
        re.compile(knob.pattern)
    except re.error as error:
        raise ExtensionError(f"{where}: its pattern is no regular expression: {error}") from error
    return knob


def _read(record: JsonObject, where: str) -> Read:
    from benchvise.state.normalise import NORMALISERS  # late: only here, where there are some

    _only(record, _READ_FIELDS, f"{where}, read")
    values = {("path" if name == "file" else name): value for name, value in record.items()}
    read = _decoded(Read, {"source": "file", **values}, f"{where}, read")
    _check_path(read.path, where, readable=True)
    if read.normaliser not in NORMALISERS:
        names = ", ".join(sorted(NORMALISERS))
        raise ExtensionError(f"{where}: no normaliser {read.normaliser!r:.90}: there are {names}")
    return read


def _value_of(knob: Knob) -> Read:
    """What a snapshot has of a setting: each file under what the wildcards of its path matched."""
    matched = [f"{{{at}}}" for at in range(1, len(_WILDCARD.findall(knob.path)) + 1)]
    kind = {"integer": "integer", "choice": "bracket", "text": "text"}[knob.kind]
    return Read("file", knob.path, kind, "/".join([*matched, "{name}"]))


def _check_path(path: str, where: str, *, readable: bool = False) -> None:
    from benchvise.state.roles import ROLES  # late, as above

    below = ("/proc/", "/sys/") if readable else _BELOW
    if not path.startswith(below) or ".." in path.split("/") or not path.isprintable():
        raise ExtensionError(f"{where}: {path!r:.200} is no path below {' or '.join(below)}")
    roles = set(re.findall(r"\{([^{}]*)\}", path))
    if unknown := sorted(roles - set(ROLES)):
        raise ExtensionError(f"{where}: no device has the role {unknown[0]!r:.90}")


def _tables(record: JsonObject, key: str, where: str) -> Iterator[JsonObject]:
    for table in array_at(record, key):
        if not isinstance(table, Mapping):
            raise ExtensionError(f"{where}: {key} is no list of tables")
        yield table


def _only(record: JsonObject, allowed: frozenset[str], where: str) -> None:
    if unknown := sorted(set(record) - allowed):
        raise ExtensionError(f"{where}: no field {unknown[0]!r:.90}: {', '.join(sorted(allowed))}")


def _decoded(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    try:
        return decode(kind, dict(values))
    except ValueError as error:
        raise ExtensionError(f"{where}: {error}") from error
