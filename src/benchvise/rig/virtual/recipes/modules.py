"""Kernel modules: what each needs, in the order in which they have to be loaded.

A Debian kernel has its drivers for disks, cards and networks as modules, so that what starts a
board must bring them along, with the modules that those need.
"""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import zstandard
from elftools.elf.elffile import ELFFile


def module_name(path: str) -> str:
    """The name that the kernel knows it by: ``kernel/fs/nls/nls-cp437.ko.xz`` is nls_cp437."""
    return PurePosixPath(path).name.partition(".ko")[0].replace("-", "_")


def plain(path: str, data: bytes) -> bytes:
    """A module's file without the compression that its name tells of."""
    match PurePosixPath(path).suffix:
        case ".xz":
            return lzma.decompress(data)
        case ".gz":
            return gzip.decompress(data)
        case ".zst":
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        case _:
            return data


def needs(module: bytes) -> list[str]:
    """The modules whose symbols this one uses, from its section ``.modinfo``."""
    section = ELFFile(io.BytesIO(module)).get_section_by_name(".modinfo")
    entries = section.data().split(b"\0") if section else []
    for entry in entries:
        key, _, value = entry.partition(b"=")
        if key == b"depends":
            return [name.replace("-", "_") for name in value.decode().split(",") if name]
    return []


def closure(wanted: Iterable[str], read: Callable[[str], bytes | None]) -> dict[str, list[str]]:
    """Those of the wanted modules that exist, and what they need, what is needed first.

    Names may be written with ``-``. ``read`` gives the file of a module; None for one that is
    built into the kernel or not there at all, which is left out. Each name comes with the names of
    all that it needs.
    """
    found: dict[str, list[str]] = {}

    def add(name: str) -> None:
        module = None if name in found else read(name)
        if module is None:
            return
        direct = needs(module)
        for other in direct:
            add(other)
        every = [other for one in direct if one in found for other in (*found[one], one)]
        found[name] = list(dict.fromkeys(every))

    for name in wanted:
        add(name.replace("-", "_"))
    return found


def dependency_file(order: Mapping[str, Sequence[str]], paths: Mapping[str, str]) -> str:
    """A ``modules.dep`` as depmod(8) writes it: what has to be loaded last is named first."""
    return "".join(
        f"{paths[name]}: {' '.join(paths[other] for other in reversed(needed))}".rstrip() + "\n"
        for name, needed in order.items()
    )
