"""The C library: the dynamic loader, libc and what is built with it, and its locales."""

from __future__ import annotations

import posixpath
import re

from benchvise.rig.compose.layers import libc_abi as abi
from benchvise.rig.compose.layers.layer import LayerSummary, Swap, digest
from benchvise.rig.images import ImageError, elf
from benchvise.rig.images.ext import Ext, Inode
from benchvise.rig.images.graft import graft, tree
from benchvise.rig.images.layout import OpenedImage
from benchvise.rig.images.userland import Libc, find_libc, library_directories

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
    new = abi.offer(data for _, data in theirs.contents(there.values()))
    old = abi.offer(data for _, data in ours.contents(here.values()))
    has_versions = any(old.versions.values())
    wanted = abi.needs(ours, here, kind, symbols=not has_versions)
    lacking = abi.missing(wanted, new, old)
    names = {posixpath.basename(path) for path in there}
    if has_versions:
        for library, programs in wanted.libraries.items():
            if library not in names:
                lacking[f"the library {library}"] = programs
    abi.refuse_unless_served(lacking, libc, swap.target.name)
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
