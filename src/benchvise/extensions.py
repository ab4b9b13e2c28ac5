"""What users add: files of the user's own directory, and packages that announce themselves.

A *kind* of extension is a directory below the user's configuration (``kernel-log/*.toml``), and a
group of entry points (``benchvise.kernel_log``), whose value is a package with such files, or an
object. Whoever reads a kind knows what is in its files; this module only finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable

from benchvise.user_directories import user_directory

FILE_KINDS = ("kernel-log",)
"""Kinds that are TOML files, in the user's directory or in a package."""

OBJECT_KINDS = ("benchmarks",)
"""Kinds that are objects of Python packages."""


@dataclass(frozen=True, slots=True)
class ExtensionFile:
    """A file of an extension; ``origin`` is its path, or the package that brings it."""

    name: str
    origin: str
    source: Traversable


def entry_points_of(kind: str) -> list[EntryPoint]:
    """The entry points of the group ``benchvise.KIND``, by name."""
    group = f"benchvise.{kind.replace('-', '_')}"
    return sorted(entry_points(group=group), key=lambda point: (point.name, point.value))


def package_of(point: EntryPoint) -> str:
    """The distribution that announces it, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def extension_files(kind: str) -> Iterator[ExtensionFile]:
    """The files of a kind: the user's own first, each group by name.

    Raises what importing a package raises.
    """
    directory = user_directory("config") / kind
    if directory.is_dir():
        for path in sorted(directory.glob("*.toml")):
            yield ExtensionFile(path.name, str(path), path)
    for point in entry_points_of(kind):
        for source in sorted(files(point.value).iterdir(), key=lambda source: source.name):
            if source.name.endswith(".toml"):
                yield ExtensionFile(source.name, package_of(point), source)
