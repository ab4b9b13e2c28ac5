"""Suspects and snapshots made by hand, for tests of mechanisms and remedies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchvise.state.knobs import Setting, find_knob
from benchvise.state.model import Snapshot, StateEntry
from benchvise.why.model import Layer, LayerMeans, SettingMeans, Suspect


def suspect(name: str, good: str, bad: str) -> Suspect:
    """A setting that differs."""
    knob = find_knob(name)
    paths = (f"{knob.family_directory}name",) if knob.is_family else ()
    means = SettingMeans((Setting(knob, good, paths),), (Setting(knob, bad, paths),))
    return Suspect(name, knob.summary, Layer.RUN_TIME, name, good, bad, means=means)


def difference(
    name: str, item: str, good: str, bad: str, layer: Layer = Layer.KERNEL, key: str = "options"
) -> Suspect:
    """Something that differs and cannot be set."""
    return Suspect(name, name, layer, item, good, bad, (f"{item}/{key}",), "another image")


def line(layer: str, part: str, good: str, bad: str, where: Layer = Layer.INIT_SETTINGS) -> Suspect:
    """A line of a file that only one image has."""
    name = f"{layer}:{part}"
    return Suspect(
        name, f"{part}: {bad}", where, layer, good, bad, (name,), means=LayerMeans(layer, part)
    )


def snapshot(entries: Mapping[str, Any], paths: Mapping[str, str] | None = None) -> Snapshot:
    """A snapshot with these entries, by name."""
    return Snapshot(
        "board",
        "2026-01-01T00:00:00Z",
        "boot",
        "root",
        tuple(_entry(name, value, (paths or {}).get(name, "")) for name, value in entries.items()),
        (),
    )


def _entry(name: str, value: Any, path: str) -> StateEntry:
    item, _, key = name.partition("/")
    return StateEntry(item, key, value=value, path=path)
