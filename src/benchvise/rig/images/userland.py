"""What a root file system is: distribution, architecture, C library, init system."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from benchvise.rig.images import elf
from benchvise.rig.images.ext import Ext, Inode

_HEAD = 1 << 20  # bytes of a program that hold its ELF header, program headers and interpreter
_INITS = ("/sbin/init", "/init", "/etc/init", "/bin/init")  # as Linux looks for it, and initrds
_PROGRAMS = (*_INITS, "/bin/sh", "/bin/busybox", "/bin/ls", "/usr/bin/env", "/usr/sbin/dropbear")
_LIBRARIES = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
_MULTIARCH = re.compile(r"[a-z0-9_]+-linux-(gnu|musl)\w*$")

_GLIBC = re.compile(rb"GNU C Library \(([^)]{1,80})\)[^\n]{0,40} version (\d+\.\d+[\w.]*?)\.?\n")
_GLIBC_PLAIN = re.compile(rb"GNU C Library [^\n]{0,120} version (\d+\.\d+)")
_MUSL = re.compile(rb"\0(\d+\.\d+\.\d+(?:-git[\w.-]*)?)\0")


@dataclass(frozen=True, slots=True)
class Libc:
    """A dynamic C library. ``kind`` is glibc or musl; the paths have no symbolic links."""

    kind: str
    version: str
    library: str
    loader: str


@dataclass(frozen=True, slots=True)
class Userland:
    """``abi`` as in ``Elf.abi``, None when no program was found; ``libc`` None without one."""

    distribution: str
    abi: tuple[str, int, bool] | None
    libc: Libc | None
    init: str

    @property
    def arch(self) -> str:
        """The architecture of its programs; empty when there are none."""
        return self.abi[0] if self.abi else ""


def is_root(system: Ext) -> bool:
    """Whether a file system looks like one that Linux could run from."""
    names = system.names("/")
    return bool(names.get("etc")) and ("bin" in names or "usr" in names or "sbin" in names)


def userland(system: Ext) -> Userland:
    """What a root file system is."""
    libc = find_libc(system)
    return Userland(_distribution(system), _abi(system, libc), libc, _init(system))


def find_libc(system: Ext) -> Libc | None:
    """The C library that its programs are loaded with; the 64-bit one where there are two."""
    libraries: list[tuple[int, Libc]] = []
    for directory in library_directories(system):
        for name in sorted(system.names(directory)):
            if name != "libc.so.6" and not name.startswith("ld-musl-"):
                continue
            located = system.locate(posixpath.join(directory, name))
            if located is None or not located[1].is_file:
                continue
            data = system.read(located[0])
            program = elf.parse(data)
            if program is None:
                continue
            if name == "libc.so.6":
                loader = _loader(system, program)
                libc = Libc("glibc", _glibc_version(data), located[0], loader)
            else:
                match = _MUSL.search(data)
                version = match[1].decode() if match else ""
                libc = Libc("musl", version, located[0], located[0])
            libraries.append((program.bits, libc))
    return max(libraries, key=lambda pair: pair[0])[1] if libraries else None


def library_directories(system: Ext) -> list[str]:
    """Where libraries are, without symbolic links, each once."""
    directories: dict[str, None] = {}
    for top in _LIBRARIES:
        located = system.locate(top)
        if located is None or not located[1].is_directory:
            continue
        directories[located[0]] = None
        for name, is_directory in system.names(located[0]).items():
            if is_directory and _MULTIARCH.match(name):
                directories[posixpath.join(located[0], name)] = None
    return list(directories)


def _loader(system: Ext, libc: elf.Elf) -> str:
    """The dynamic loader that the library itself names; it is a program too."""
    located = system.locate(libc.interpreter) if libc.interpreter else None
    if located is None:
        for name in libc.libraries:
            for directory in library_directories(system):
                located = located or system.locate(posixpath.join(directory, name))
    return located[0] if located else ""


def _glibc_version(data: bytes) -> str:
    match = _GLIBC.search(data)
    if match:
        return f"{match[2].decode()} ({match[1].decode(errors='replace')})"
    plain = _GLIBC_PLAIN.search(data)
    return plain[1].decode() if plain else ""


def _abi(system: Ext, libc: Libc | None) -> tuple[str, int, bool] | None:
    for path in (*([libc.library] if libc else []), *_PROGRAMS):
        if system.is_file(path):
            program = elf.parse(system.read(path, _HEAD))
            if program is not None:
                return program.abi
    return None


def _distribution(system: Ext) -> str:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        if system.is_file(path):
            text = system.read(path, 1 << 16).decode(errors="replace")
            match = re.search(r'^PRETTY_NAME="?([^"\n]{1,120})', text, re.M)
            if match:
                return match[1]
    return ""


def _init(system: Ext) -> str:
    for path in _INITS:
        located = system.locate(path)
        if located is None or not located[1].is_file:
            continue
        real, node = located
        name = posixpath.basename(real)
        if name == "systemd":
            return f"systemd {_systemd_version(system)}".strip()
        if "busybox" in name:
            return "busybox"
        return _init_by_contents(system, node) or name
    return ""


def _systemd_version(system: Ext) -> str:
    for directory in ("/lib/systemd", "/usr/lib/systemd", *library_directories(system)):
        for name in system.names(directory):
            match = re.match(r"libsystemd-shared-(\d+)", name)
            if match:
                return match[1]
    return ""


def _init_by_contents(system: Ext, node: Inode) -> str:
    data = next(system.contents([node]))[1]
    if b"INIT: version" in data:
        return "sysvinit"
    if b"BusyBox v" in data:
        return "busybox"
    return "script" if data[:2] == b"#!" else ""
