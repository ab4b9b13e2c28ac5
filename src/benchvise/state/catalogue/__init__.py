"""The catalogue of state: every item as a record of data, read from the TOML files beside this.

A record's fields are those of ``benchvise.state.model``. Short forms keep the files readable:
``{a,b}`` in the path of a read stands for one read of each, a list of paths too, and words that
begin with ``@`` for the paths and places named here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, get_args, get_type_hints

from benchvise.extensions import KNOBS, Extension, ExtensionSource, load_extensions, usable
from benchvise.state.catalogue.added import names_of as added_names
from benchvise.state.catalogue.added import read_items
from benchvise.state.model import Family, Flip, Item, Knob, Read

PLACES: Mapping[str, tuple[str, ...]] = {
    "@sysctl": (
        "/etc/sysctl.conf",
        "/etc/sysctl.d",
        "/run/sysctl.d",
        "/usr/local/lib/sysctl.d",
        "/usr/lib/sysctl.d",
        "kernel command line: sysctl.",
    ),
    "@sysfs": (
        "/etc/rc.local",
        "/etc/init.d",
        "/etc/local.d",
        "/etc/sysfs.conf",
        "/etc/sysfs.d",
        "/etc/tmpfiles.d",
        "/usr/lib/tmpfiles.d",
        "/etc/udev/rules.d",
        "/usr/lib/udev/rules.d",
        "/etc/systemd/system",
        "/usr/lib/systemd/system",
        "/etc/tuned",
    ),
}

PATHS: Mapping[str, tuple[str, ...]] = {
    "@kernel_config": (
        "/proc/config.gz",
        "/boot/config-{kernel}",
        "/lib/modules/{kernel}/config",
        "/usr/lib/modules/{kernel}/config",
        "/lib/modules/{kernel}/build/.config",
    ),
}

_ALTERNATIVES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SOURCES = get_args(get_type_hints(Read)["source"])


class CatalogueError(Exception):
    """A record of the catalogue is wrong: a mistake in Benchvise, found by its tests."""


@cache
def shipped_catalogue() -> tuple[Item, ...]:
    """The items that Benchvise brings, by number; those without a number last."""
    items = [
        _item(record, file.name)
        for file in files(__package__).iterdir()
        if file.name.endswith(".toml")
        for record in tomllib.loads(file.read_text(encoding="utf-8"))["item"]
    ]
    return tuple(sorted(items, key=lambda item: (item.number == 0, item.number, item.id)))


@cache
def added_items() -> tuple[Extension[Item], ...]:
    """What users added; a file that is not right says why."""
    shipped = shipped_catalogue()
    taken = {item.id for item in shipped} | {knob.name for item in shipped for knob in item.knobs}
    return load_extensions(KNOBS, _added_items, added_names, taken)


def _added_items(source: ExtensionSource) -> Iterator[Item]:
    for item in read_items(source):
        first = item.knobs[0].path if item.knobs else item.reads[0].path
        places = item.places or (("@sysctl",) if first.startswith("/proc/sys/") else ("@sysfs",))
        yield replace(item, places=_places(places))


@cache
def load_catalogue() -> tuple[Item, ...]:
    """All items: the shipped ones, then those that users added."""
    return (*shipped_catalogue(), *usable(added_items()))


@cache
def items_by_id() -> Mapping[str, Item]:
    """Every item by its id."""
    return {item.id: item for item in load_catalogue()}


def knobs() -> Mapping[str, tuple[Item, Knob]]:
    """Every knob by its name, with the item that it belongs to."""
    return {knob.name: (item, knob) for item in load_catalogue() for knob in item.knobs}


def _item(record: Mapping[str, Any], file: str) -> Item:
    try:
        return Item(
            number=record.get("number", 0),
            id=record["id"],
            title=record["title"],
            summary=record["summary"],
            families=tuple(Family(name) for name in record["families"]),
            flips=tuple(Flip(name) for name in record["flips"]),
            reads=tuple(read for entry in record["read"] for read in _reads(entry)),
            knobs=tuple(Knob(**_tuples(knob)) for knob in record.get("knob", ())),
            volatile=record.get("volatile", False),
            restore=record.get("restore", ""),
            places=_places(record.get("places", ())),
        )
    except (KeyError, StopIteration, TypeError, ValueError) as error:
        raise CatalogueError(f"{file}: {record.get('id', record)}: {error!r}") from error


def _places(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(place for entry in entries for place in PLACES.get(entry, (entry,)))


def _reads(record: Mapping[str, Any]) -> Iterator[Read]:
    source = next(name for name in _SOURCES if name in record)
    rest = _tuples({name: value for name, value in record.items() if name != source})
    paths = record[source]
    for path in PATHS.get(paths, (paths,)) if isinstance(paths, str) else paths:
        for expanded in expand(path) if source != "command" else (path,):
            yield Read(source=source, path=expanded, **rest)


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}


def expand(path: str) -> Iterator[str]:
    """The paths that a path with ``{a,b}`` stands for, as a shell has them."""
    alternatives = _ALTERNATIVES.search(path)
    if alternatives is None:
        yield path
        return
    for word in alternatives[1].split(","):
        yield from expand(path[: alternatives.start()] + word + path[alternatives.end() :])
