"""The C library: the dynamic loader, libc and what is built with it, and its locales.

It can be exchanged where it has all that the programs of a root file system need of it. glibc:
every symbol is bound to a version of a library (GLIBC_2.34 of libc.so.6), and a program does not
start when the library does not define it. musl has no versions: there it is the names of the
symbols themselves.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from benchvise.rig.compose.layers.layer import LayerSummary, Swap, digest
from benchvise.rig.images import ImageError, elf
from benchvise.rig.images.ext import Ext, Inode
from benchvise.rig.images.graft import graft, tree
from benchvise.rig.images.layout import OpenedImage
from benchvise.rig.images.userland import Libc, find_libc, library_directories

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
        for library in names.intersection(program.libraries):
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


_NAMES = {
    "glibc": re.compile(
        r"""(
            ld-linux[\w-]*\.so\.\d | ld64\.so\.\d | ld\.so\.1
          | lib(c|m|pthread|dl|rt|resolv|util|anl|mvec|BrokenLocale|thread_db
            | nss_(compat|db|dns|files|hesiod))\.so\.\d
          | libnsl\.so\.1  # another package's is .2
          | lib(memusage|pcprofile|SegFault|c_malloc_debug)\.so(\.\d)?
        )$""",
        re.X,
    ),
    "musl": re.compile(r"(ld-musl-[\w-]+\.so\.1|libc\.musl-[\w-]+\.so\.1|libc\.so)$"),
}
"""The names that programs ask for."""

_VERSIONED = re.compile(
    r"(ld|lib(c|m|pthread|dl|rt|resolv|util|anl|mvec|BrokenLocale|thread_db|nsl|nss_[a-z]+))"
    r"-\d\.\d+(\.\d+)?\.so$"
)
"""Until glibc 2.33 those names were links to files with these."""

_LOCALES = ("/usr/lib/locale", "/usr/share/i18n/locales/musl")
_CACHE = "/etc/ld.so.cache"


class CLibrary:
    """All files of one C library, of the kind that the programs were built for."""

    name = "libc"

    def apply(self, swap: Swap) -> list[str]:
        """Puts the files where the old ones are, under the names that programs ask for."""
        ours, theirs = swap.target.need_root(), swap.source.need_root()
        old, new = _libc(ours, swap.target.name), _libc(theirs, swap.source.name)
        if old.kind != new.kind:
            raise ImageError(
                f"the programs of {swap.target.name} are built for {old.kind}, and the libc of "
                f"{swap.source.name} is {new.kind}",
                "take the layer root instead",
            )
        kind = _same_abi(swap, ours.read(old.library), theirs.read(new.library))
        here, there = _files(ours, old), _files(theirs, new)
        swap.work.say(f"reading what the programs of {swap.target.name} need of their libc")
        _check(swap, (here, there), kind, f"{new.kind} {new.version} of {swap.source.name}")
        if new.kind == "glibc":
            _refuse_unsearched(swap, theirs.read(new.loader), posixpath.dirname(old.library))
        interpreter = _interpreter(ours, here)
        for path in here:
            ours.remove(path)
        for path in _versioned(ours, old):
            ours.remove(path)
        count = _put(ours, theirs, here, there, old, new)
        if interpreter and ours.find(interpreter) is None:  # it was a link to a file with a version
            ours.remove(interpreter)
            loader = theirs.find(new.loader)
            parent = ours.make(posixpath.dirname(interpreter))
            itself = posixpath.join(parent, posixpath.basename(interpreter))
            count += graft(theirs, {itself: loader} if loader else {}, ours)
        done = f"{new.kind} {new.version} in place of {old.version}: {count} files"
        return [done, *_data(ours, theirs)]

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """Its files, by name and contents."""
        root = opened.root
        libc = find_libc(root) if root is not None else None
        files = library_files(root) if root is not None else {}
        if root is None or libc is None or not files:
            return LayerSummary("", "")
        data = {node.inode: content for node, content in root.contents(files.values())}
        pairs = [
            part
            for path, node in sorted(files.items())
            for part in (posixpath.basename(path), data[node.inode])
        ]
        return LayerSummary(digest(*pairs), f"{libc.kind} {libc.version}".strip())


def library_files(root: Ext) -> dict[str, Inode]:
    """The files of a root file system's C library by their paths; none where it has none."""
    libc = find_libc(root)
    return _files(root, libc) if libc is not None and libc.loader else {}


def _libc(root: Ext, name: str) -> Libc:
    libc = find_libc(root)
    if libc is None or not libc.loader:
        raise ImageError(
            f"{name} has no C library that programs are loaded with: all of them are static",
            "take the layer root instead",
        )
    return libc


def _same_abi(swap: Swap, ours: bytes, theirs: bytes) -> tuple[str, int, bool]:
    """What both libraries are built for. ImageError when it is not the same."""
    old, new = elf.parse(ours), elf.parse(theirs)
    if old is None or new is None or old.abi != new.abi:
        abis = [
            f"{program.arch}, {program.bits} bit{', hard float' if program.abi[2] else ''}"
            if program
            else "unknown"
            for program in (old, new)
        ]
        raise ImageError(
            f"the libc of {swap.source.name} is for another architecture ({abis[1]}) than "
            f"the programs of {swap.target.name} ({abis[0]})",
            "take images that are built for the same architecture",
        )
    return old.abi


def _files(root: Ext, libc: Libc) -> dict[str, Inode]:
    """The files of a libc by their paths, links among them followed."""
    files: dict[str, Inode] = {}
    for directory in dict.fromkeys(map(posixpath.dirname, (libc.library, libc.loader))):
        for name in sorted(root.names(directory)):
            path = posixpath.join(directory, name)
            node = root.find(path) if _NAMES[libc.kind].match(name) else None
            if node is not None and node.is_file:
                files[path] = node
    return files


def _versioned(root: Ext, libc: Libc) -> list[str]:
    directory = posixpath.dirname(libc.library)
    names = root.names(directory) if libc.kind == "glibc" else {}
    return [posixpath.join(directory, name) for name in names if _VERSIONED.match(name)]


def _check(
    swap: Swap,
    files: tuple[dict[str, Inode], dict[str, Inode]],
    kind: tuple[str, int, bool],
    libc: str,
) -> None:
    """Refuses a libc that lacks what programs need, and warns of what cannot be known."""
    ours, theirs = swap.target.need_root(), swap.source.need_root()
    here, there = files
    new = offer(data for _, data in theirs.contents(there.values()))
    old = offer(data for _, data in ours.contents(here.values()))
    has_versions = any(old.versions.values())
    wanted = needs(ours, here, kind, symbols=not has_versions)
    lacking = missing(wanted, new, old)
    names = {posixpath.basename(path) for path in there}
    if has_versions:
        for library, programs in wanted.libraries.items():
            if library not in names:
                lacking[f"the library {library}"] = programs
    refuse_unless_served(lacking, libc, swap.target.name)
    if wanted.static:
        swap.warnings.append(
            f"{len(wanted.static)} programs are static and keep the libc that they were linked "
            f"with, such as {wanted.static[0]}"
        )
    if wanted.private:
        swap.warnings.append(
            f"{len(wanted.private)} programs use inner parts of their libc, which another release "
            f"may not have, such as {wanted.private[0]}"
        )


def _refuse_unsearched(swap: Swap, loader: bytes, home: str) -> None:
    """ImageError when the loader does not search ``home``: by itself, or by its cache."""
    spellings = {home, home.removeprefix("/usr")}
    searched = any(f"{spelling}/".encode() in loader for spelling in spellings)
    if not searched and not swap.target.need_root().is_file(_CACHE):
        raise ImageError(
            f"the dynamic loader of {swap.source.name} does not look in {home}, where the "
            f"libraries of {swap.target.name} are",
            "take the layer root instead",
        )


def _interpreter(root: Ext, here: dict[str, Inode]) -> str:
    """The path of the loader that stands in every program."""
    for path, node in here.items():
        if posixpath.basename(path) == "libc.so.6":
            library = elf.parse(next(root.contents([node]))[1])
            return library.interpreter if library else ""
    return ""


def _put(
    ours: Ext, theirs: Ext, here: dict[str, Inode], there: dict[str, Inode], old: Libc, new: Libc
) -> int:
    """Puts each file where the old one of its name was, or beside libc; returns how many."""
    places = {posixpath.basename(path): path for path in here}
    home = posixpath.dirname(old.library)
    new_files = {posixpath.basename(path): node for path, node in there.items()}
    if new.kind == "musl":  # all of its names are one file
        loader = theirs.find(new.loader)
        if loader is not None:
            new_files = dict.fromkeys({*places, *new_files}, loader)
    count = 0
    for name, node in sorted(new_files.items()):
        count += graft(theirs, {places.get(name, posixpath.join(home, name)): node}, ours)
    return count


def _data(ours: Ext, theirs: Ext) -> list[str]:
    """Replaces character sets and locales, which a libc looks for in directories built into it."""
    done = []
    directories = {*library_directories(ours), *library_directories(theirs)}
    for path in (*_LOCALES, *sorted(posixpath.join(top, "gconv") for top in directories)):
        if ours.find(path) is None and theirs.find(path) is None:
            continue
        ours.remove(path)
        if theirs.find(path) is not None:
            parent = ours.make(posixpath.dirname(path))
            place = posixpath.join(parent, posixpath.basename(path))
            graft(theirs, tree(theirs, path, place), ours)
        done.append(path)
    return done
