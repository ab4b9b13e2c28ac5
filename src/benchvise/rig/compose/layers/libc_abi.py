"""Whether a C library has all that the programs of a root file system need of it.

glibc: every symbol is bound to a version of a library (GLIBC_2.34 of libc.so.6), and a program
does not start when the library does not define it. musl has no versions: there it is the names of
the symbols themselves.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from benchvise.rig.images import ImageError, elf
from benchvise.rig.images.ext import Ext, Inode

_SMALLEST = 64  # bytes of an ELF header
_PRIVATE = "GLIBC_PRIVATE"


@dataclass(slots=True)
class LibcNeeds:
    """What programs need of their libc, each with the programs that do.

    ``versions``: by library and version; ``libraries``: by name; ``symbols``: by name. ``static``
    are the programs that bring their own libc; ``private`` those that use what only one release
    of it has.
    """

    versions: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    libraries: dict[str, list[str]] = field(default_factory=dict)
    symbols: dict[str, list[str]] = field(default_factory=dict)
    static: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LibcOffer:
    """What a libc has: versions by library, and all symbols."""

    versions: Mapping[str, frozenset[str]]
    symbols: frozenset[str]


def needs(
    root: Ext, libc: Mapping[str, Inode], abi: tuple[str, int, bool], *, symbols: bool
) -> LibcNeeds:
    """What all programs and libraries of a root file system need; ``libc`` are its own files.

    ``abi`` is that of the libc: programs of another use another one. ``symbols``: collect names
    of symbols, for a libc without versions.
    """
    collected = LibcNeeds()
    own = {node.inode for node in libc.values()}
    names = {posixpath.basename(path) for path in libc}
    for path, data in _programs(root, own):
        program = elf.parse(data, symbols=symbols)
        if program is None or program.abi != abi:
            continue
        if not program.dynamic:
            collected.static.append(path)
            continue
        for library in names.intersection(program.needed):
            collected.libraries.setdefault(library, []).append(path)
        for library, versions in program.versions.items():
            if library not in names:
                continue
            if _PRIVATE in versions:
                collected.private.append(path)
            for version in versions - {_PRIVATE}:
                collected.versions.setdefault((library, version), []).append(path)
        for symbol in program.imports:
            collected.symbols.setdefault(symbol, []).append(path)
    return collected


def offer(files: Iterator[bytes]) -> LibcOffer:
    """What these libraries define together, by their sonames."""
    versions: dict[str, frozenset[str]] = {}
    symbols: set[str] = set()
    for data in files:
        library = elf.parse(data, symbols=True)
        if library is not None:
            versions[library.soname] = library.defines
            symbols |= library.exports
    return LibcOffer(versions, frozenset(symbols))


def missing(wanted: LibcNeeds, new: LibcOffer, old: LibcOffer) -> dict[str, list[str]]:
    """What only the old libc has: what it is, and the programs that need it."""
    lacking: dict[str, list[str]] = {}
    for (library, version), programs in sorted(wanted.versions.items()):
        if version not in new.versions.get(library, frozenset()):
            lacking[f"{version} of {library}"] = programs
    for symbol, programs in sorted(wanted.symbols.items()):
        if symbol in old.symbols and symbol not in new.symbols:
            lacking[f"the function {symbol}"] = programs
    return lacking


def refuse_unless_served(lacking: Mapping[str, list[str]], libc: str, target: str) -> None:
    """ImageError, naming one, when programs need what the new ``libc`` has not."""
    if not lacking:
        return
    # The newest version that is wanted says most about why.
    what, programs = max(lacking.items(), key=lambda item: _as_numbers(item[0]))
    affected = {program for several in lacking.values() for program in several}
    raise ImageError(
        f"{libc} is too old for {len(affected)} programs and libraries of {target}: "
        f"{programs[0]} needs {what}",
        "take the layer root with it, or put the newer libc into the image with the older one",
    )


def _as_numbers(text: str) -> list[int]:
    digits = "".join(c if c.isdigit() else " " for c in text.split(" of ")[0])
    return [int(number) for number in digits.split()[:4]]


def _programs(root: Ext, own: set[int]) -> Iterator[tuple[str, bytes]]:
    """All files that may be programs or libraries, each once, with their contents."""
    candidates: dict[int, tuple[str, Inode]] = {}
    for path, node in root.walk("/").items():
        library = ".so" in posixpath.basename(path)
        if node.is_file and node.size >= _SMALLEST and (node.mode & 0o111 or library):
            candidates.setdefault(node.inode, (path, node))
    chosen = [pair for inode, pair in candidates.items() if inode not in own]
    contents = root.contents(node for _, node in chosen)
    for (path, _), (_, data) in zip(chosen, contents, strict=True):
        yield path, data
