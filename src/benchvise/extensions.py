"""What users add: files of the user's own directory, and packages that announce themselves.

A *kind* of extension is a directory below the user's configuration (``kernel-log/*.toml``) and a
group of entry points (``benchvise.kernel_log``), whose value is a package with such files, or an
object. Whoever reads a kind knows what is in its files; this module finds them, and sees to it that
one which is wrong is left out with its reason and ends no command.
"""

from __future__ import annotations

import importlib.util
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from benchvise.host_system import is_anothers, own_user
from benchvise.text import SENTENCE_LIMIT, printable
from benchvise.user_directories import user_directory

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True, slots=True)
class ExtensionKind:
    """Something that users can add.

    ``files`` is how the names of its files end: ``.toml``, or ``.py`` for objects of Python, which
    a file lists under the name ``objects``.
    """

    name: str
    adds: str
    used_by: str
    files: str = ".toml"
    objects: str = ""

    @property
    def group(self) -> str:
        """Of entry points."""
        return f"benchvise.{self.name.replace('-', '_')}"


KERNEL_LOG = ExtensionKind(
    "kernel-log",
    "rules of the kernel log: what a line means, how bad it is, what to do about it",
    "`health`, `watch`, and the notes of `run`; tried before the rules of Benchvise",
)
KNOBS = ExtensionKind(
    "knobs",
    "settings of a board below `/proc/sys` and `/sys`, with the state that they belong to",
    "`knobs`, `run --set`, `why`, `snapshot`, `diff`, `restore`",
)
BOOT_PATTERNS = ExtensionKind(
    "boot-patterns",
    "what a console says when a board boots: phases, prompts, faults",
    "`rig boot`, `rig soak`; a record takes the place of ours of the same id",
)
ALERTS = ExtensionKind(
    "alerts",
    "rules that raise an alert: of sensors, counters, levels, events",
    "`watch`, below the rules of `--rules`; a rule takes the place of ours of the same name",
)
BENCHMARKS = ExtensionKind(
    "benchmarks",
    "benchmarks that this machine drives: objects like `HostBenchmark`",
    "`run`, `versus`, `why`, `bench`",
    ".py",
    "BENCHMARKS",
)
ANALYSES = ExtensionKind(
    "analyses",
    "analyses of traces: records of the type `TraceAnalysis`",
    "`trace NAME` and, in Python, `open_trace(FILE).NAME()`",
    ".py",
    "ANALYSES",
)

KINDS = (KERNEL_LOG, KNOBS, BOOT_PATTERNS, ALERTS, BENCHMARKS, ANALYSES)
"""All kinds, in the order in which ``benchvise plugins`` lists them."""

FILE_LIMIT = 1 << 20
"""Bytes of a file."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,79}")

T = TypeVar("T")


class ExtensionWarning(UserWarning):
    """An extension is left out."""


class ExtensionError(Exception):
    """An extension cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class ExtensionSource:
    """A file, or an entry point; ``origin`` is its path, or the package that brings it.

    ``text`` and ``objects`` raise ExtensionError, or whatever code of somebody else raises.
    """

    kind: ExtensionKind
    name: str
    origin: str
    place: Path | Traversable | None = None
    point: EntryPoint | None = None
    failure: BaseException | None = None

    def text(self) -> str:
        """The content of a TOML file."""
        if self.failure is not None:
            raise self.failure
        if isinstance(self.place, Path):
            _check_file(self.place)
        if self.place is None:
            raise ExtensionError("there is no file")
        return self.place.read_text(encoding="utf-8")

    def objects(self) -> Sequence[object]:
        """The objects that a Python file lists, or that an entry point names."""
        if self.point is not None:
            value = self.point.load()
        else:
            value = getattr(_imported(self), self.kind.objects, None)
            if value is None:
                raise ExtensionError(f"it has no {self.kind.objects} = (…,)")
        return tuple(value) if isinstance(value, tuple | list) else (value,)


@dataclass(frozen=True, slots=True)
class Extension(Generic[T]):
    """A file or an entry point with what it adds; ``problem`` says why that is nothing."""

    kind: ExtensionKind
    name: str
    origin: str
    values: tuple[T, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)
    problem: str = ""


def load_extensions(
    kind: ExtensionKind,
    read: Callable[[ExtensionSource], Iterable[T]],
    names_of: Callable[[T], Iterable[str]],
    taken: Container[str] | None = None,
) -> tuple[Extension[T], ...]:
    """All extensions of a kind: the user's own files first, then packages, each by name.

    ``names_of`` are the names by which people call a value. With ``taken``, one that is in there,
    or that an extension before has, cannot be used. Nothing that an extension does raises here.
    """
    loaded: list[Extension[T]] = []
    seen: set[str] = set()
    for source in _sources(kind):
        try:
            with foreign_code():
                values = tuple(read(source))
                names = tuple(str(name) for value in values for name in names_of(value))
            _check_names(names, () if taken is None else (taken, seen))
        except _FOREIGN_FAILURES as error:
            problem = printable(_reason(error), SENTENCE_LIMIT)
            loaded.append(Extension(kind, source.name, source.origin, problem=problem))
            continue
        seen.update(names)
        loaded.append(Extension(kind, source.name, source.origin, values, names))
    return tuple(loaded)


def usable(extensions: Iterable[Extension[T]]) -> Iterator[T]:
    """The values of those that can be used; an ExtensionWarning names each of the others."""
    for extension in extensions:
        if extension.problem:
            is_file = extension.origin.endswith(extension.name)
            where = extension.origin if is_file else f"{extension.origin}: {extension.name}"
            warnings.warn(
                f"{printable(where, SENTENCE_LIMIT)}: left out: {extension.problem} "
                "(`benchvise plugins` lists all)",
                ExtensionWarning,
                stacklevel=2,
            )
        yield from extension.values


def are_there(kind: ExtensionKind) -> bool:
    """Whether there may be an extension of a kind; looks at names of files only."""
    return any(_own_files(kind)) or kind.group in _announced_groups()


# -- finding ---------------------------------------------------------------------------------------


def _sources(kind: ExtensionKind) -> Iterator[ExtensionSource]:
    for path in _own_files(kind):
        yield ExtensionSource(kind, path.name, str(path), path)
    for point in _entry_points(kind):
        origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        if kind.files == ".py":
            yield ExtensionSource(kind, point.name, origin, point=point)
            continue
        try:
            places = _package_files(point.value, kind.files)
        except _FOREIGN_FAILURES as error:
            yield ExtensionSource(kind, point.name, origin, failure=error)
            continue
        for place in places:
            yield ExtensionSource(kind, place.name, origin, place)


def _own_files(kind: ExtensionKind) -> list[Path]:
    directory = user_directory("config") / kind.name
    try:
        return sorted(path for path in directory.iterdir() if path.name.endswith(kind.files))
    except OSError:  # there is none, or nobody may look
        return []


def _package_files(package: str, ending: str) -> list[Traversable]:
    from importlib.resources import files

    with foreign_code():
        places = [place for place in files(package).iterdir() if place.name.endswith(ending)]
    return sorted(places, key=lambda place: place.name)


def _entry_points(kind: ExtensionKind) -> list[EntryPoint]:
    if kind.group not in _announced_groups():
        return []
    from importlib.metadata import entry_points  # late: it takes longer than most commands

    return sorted(entry_points(group=kind.group), key=lambda point: (point.name, point.value))


@cache
def _announced_groups() -> frozenset[str]:
    """Our groups that a package on Python's path names: a look into small files, as most users
    have none, and ``importlib.metadata`` alone takes 50 ms."""
    groups: set[str] = set()
    for place in dict.fromkeys(sys.path):
        try:
            with os.scandir(place or ".") as entries:
                names = [e.path for e in entries if e.name.endswith((".dist-info", ".egg-info"))]
        except OSError:  # an archive, or nothing
            continue
        for name in names:
            try:
                with open(os.path.join(name, "entry_points.txt"), "rb") as file:  # noqa: PTH118, PTH123 - a hundred paths
                    content = file.read(FILE_LIMIT)
            except OSError:
                continue
            if b"benchvise." in content:
                groups.update(re.findall(r"\[\s*(benchvise\.\w+)\s*\]", content.decode("latin-1")))
    return frozenset(groups)


# -- reading ---------------------------------------------------------------------------------------

_FOREIGN_FAILURES = (Exception, SystemExit)
"""What code of somebody else may end with; a Ctrl-C is the user's."""


@contextmanager
def foreign_code() -> Iterator[None]:
    """What is printed meanwhile goes to standard error: it is no part of a command's answer."""
    with redirect_stdout(sys.stderr):
        yield


def _check_file(path: Path) -> None:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ExtensionError("it is no regular file")
    if status.st_size > FILE_LIMIT:
        raise ExtensionError(f"it has more than {FILE_LIMIT >> 20} MiB")
    for place in (status, path.parent.stat()):
        if is_anothers(place):
            raise ExtensionError("it, or its directory, belongs to somebody else")
        if own_user() is not None and place.st_mode & stat.S_IWOTH:
            raise ExtensionError("others may write to it, or to its directory: chmod o-w")


def _imported(source: ExtensionSource) -> object:
    """The module of a user's own Python file."""
    assert isinstance(source.place, Path)  # noqa: S101 - whoever finds one says so
    _check_file(source.place)
    name = f"benchvise_extensions.{source.kind.name}.{source.place.stem}"
    spec = importlib.util.spec_from_file_location(name, source.place)
    if spec is None or spec.loader is None:
        raise ExtensionError("Python cannot load it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look for it there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _check_names(names: Sequence[str], taken: Sequence[Container[str]]) -> None:
    if not names:
        raise ExtensionError("it adds nothing")
    for number, name in enumerate(names):
        if not _NAME.fullmatch(name):
            raise ExtensionError(
                f"{name!r:.90} is no name: letters, digits, spaces and _ . - only, 80 at most"
            )
        if taken and (name in names[:number] or any(name in those for those in taken)):
            raise ExtensionError(f"{name} is there already: rename it")


def _reason(error: BaseException) -> str:
    if isinstance(error, ExtensionError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    message = getattr(error, "message", None)
    if isinstance(message, str):  # one of ours, which names what is wrong
        return message
    return f"{type(error).__name__}: {error}"
