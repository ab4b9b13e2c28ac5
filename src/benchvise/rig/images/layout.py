"""What an image holds: partitions, boot loader, kernel, command line, root, C library, init."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.images import ImageError, raw_loader
from benchvise.rig.images.boot_files import STYLES
from benchvise.rig.images.boot_files.raspberry import firmware_files
from benchvise.rig.images.boot_files.style import BootEntry, BootSide
from benchvise.rig.images.ext import Ext, free_blocks
from benchvise.rig.images.fat import Fat, free_clusters
from benchvise.rig.images.filesystems import EXT, FAT, Files, FileSystem, file_system
from benchvise.rig.images.kernel import KernelImage, identify
from benchvise.rig.images.table import Partition, PartitionTable, read_table
from benchvise.rig.images.tools import Tools
from benchvise.rig.images.userland import Userland, is_root, userland
from benchvise.text import printable

MODULES = "/lib/modules"

_DEVICE = re.compile(r"/dev/(?:mmcblk\d+p|nvme\d+n\d+p|[hsv]d[a-z]+|xvd[a-z]+)(\d+)$")
_ROOT_WORD = re.compile(r"^(?:\w*root)=(.+)$")


@dataclass(frozen=True, slots=True)
class Layout:
    """What an image holds. ``kernels`` are paths with what lies there.

    ``boot_partition`` and ``root_partition`` are numbers, None when none was found; ``modules``
    the versions of kernels that the root file system has modules for.
    """

    name: str
    size: int
    scheme: str
    partitions: tuple[tuple[Partition, FileSystem], ...]
    boot_loader: str
    boot_partition: int | None
    boot: BootEntry | None
    kernels: tuple[tuple[str, KernelImage], ...]
    root_partition: int | None
    modules: tuple[str, ...]
    userland: Userland | None

    @property
    def arch(self) -> str:
        """The architecture of its kernel, else of its programs."""
        kernels = [kernel.arch for _, kernel in self.kernels if kernel.arch]
        return kernels[0] if kernels else self.userland.arch if self.userland else ""

    def document(self) -> LayoutDocument:
        """For ``--json`` and for the manifest."""
        boot, land = self.boot, self.userland
        libc = land.libc if land else None
        return LayoutDocument(
            image=self.name,
            size=self.size,
            table=self.scheme,
            partitions=tuple(
                PartitionEntry(
                    partition.number,
                    partition.start,
                    partition.size,
                    partition.name,
                    system.kind,
                    system.label,
                )
                for partition, system in self.partitions
            ),
            bootloader=self.boot_loader,
            boot=boot.style if boot else "",
            boot_partition=self.boot_partition,
            kernels=tuple(
                KernelEntry(path, kernel.form, kernel.arch, kernel.version)
                for path, kernel in self.kernels
            ),
            initrds=boot.initrds if boot else (),
            device_trees=boot.trees if boot else (),
            command_line=boot.command_line if boot else None,
            root_partition=self.root_partition,
            modules=self.modules,
            distribution=land.distribution if land else "",
            arch=self.arch,
            libc=f"{libc.kind} {libc.version}".strip() if libc else "",
            init=land.init if land else "",
        )

    def lines(self) -> list[str]:
        """The same as lines of text; unknown values are ``none found``."""
        document = self.document()
        systems = ", ".join(
            f"{partition.number}: {system.kind or 'raw'} {system.label}".rstrip()
            + f" {partition.size >> 20} MiB"
            for partition, system in self.partitions
        )
        kernels = "; ".join(
            f"{kernel.version or 'of unknown version'} {kernel.arch} ({path})".replace("  ", " ")
            for path, kernel in self.kernels
        )
        root = self.root_partition
        rows = {
            "image": f"{self.name}, {self.size} bytes",
            "partitions": f"{systems} ({self.scheme})",
            "boot loader": self.boot_loader,
            "boots by": document.boot,
            "kernel": kernels,
            "initrd": " ".join(document.initrds),
            "device tree": " ".join(document.device_trees),
            "command line": document.command_line or "",
            "root": f"partition {root}" if root is not None else "",
            "system": document.distribution,
            "modules for": " ".join(self.modules),
            "libc": document.libc,
            "init": document.init,
        }
        return [f"{key}: {printable(value, 500) or 'none found'}" for key, value in rows.items()]


@dataclass(frozen=True, slots=True)
class PartitionEntry:
    """A partition; ``start`` and ``size`` in bytes."""

    number: int
    start: int
    size: int
    name: str
    file_system: str
    label: str


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel in the boot partition."""

    path: str
    form: str
    arch: str
    version: str


@dataclass(frozen=True, slots=True)
class LayoutDocument:
    """What an image holds, as JSON; texts are empty where nothing is known."""

    image: str
    size: int
    table: str
    partitions: tuple[PartitionEntry, ...]
    bootloader: str
    boot: str
    boot_partition: int | None
    kernels: tuple[KernelEntry, ...]
    initrds: tuple[str, ...]
    device_trees: tuple[str, ...]
    command_line: str | None
    root_partition: int | None
    modules: tuple[str, ...]
    distribution: str
    arch: str
    libc: str
    init: str


@dataclass(frozen=True, slots=True)
class OpenedImage:
    """An image whose parts can be read, and written if it is ours."""

    path: Path
    layout: Layout
    table: PartitionTable
    systems: Mapping[int, FileSystem]
    boot_files: Files | None
    root: Ext | None

    @property
    def name(self) -> str:
        """Its name in errors."""
        return self.layout.name

    @property
    def loader_regions(self) -> list[raw_loader.Region]:
        """Where a boot loader may lie in raw sectors."""
        return raw_loader.regions(self.table, self.systems)

    @property
    def root_place(self) -> Partition:
        """The partition of the root file system; only if there is one."""
        return next(p for p in self.table.partitions if p.number == self.layout.root_partition)

    @property
    def boots_from_root(self) -> bool:
        """Whether kernel and root lie in the same partition."""
        return self.layout.boot_partition == self.layout.root_partition is not None

    @property
    def is_in_memory(self) -> bool:
        """Whether all is in the initial RAM disk, as no partition could be the root."""
        others = {n: s.kind for n, s in self.systems.items() if n != self.layout.boot_partition}
        return self.root is None and not any(
            kind not in (FAT, "swap", "") for kind in others.values()
        )

    def free_ranges(self, tools: Tools) -> list[tuple[int, int]]:
        """What no file system needs: first byte and the one behind, in order."""
        free: list[tuple[int, int]] = []
        for partition, system in self.layout.partitions:
            start = partition.start
            if system.kind == FAT:
                free += free_clusters(self.path, start, partition.size)
            if system.kind not in EXT:
                continue
            blocks = free_blocks(tools, self.path.name, start)
            free += [(start + begin, start + end) for begin, end in blocks]
            end = start + system.size
            if end < partition.end:  # the file system is smaller than its partition
                free.append((end, partition.end))
        ends = [partition.end for partition in self.table.partitions]
        if self.table.scheme == "dos" and ends and max(ends) < self.table.size:
            free.append((max(ends), self.table.size))
        return sorted(free)

    def boot_side(self) -> BootSide:
        """Its boot files. ImageError when there are none, or they are not understood."""
        if self.boot_files is None or self.layout.boot is None:
            raise ImageError(
                f"{self.name} has no supported boot configuration: no extlinux.conf, "
                "no config.txt of a Raspberry Pi, no kernel of a usual name",
                "take only the layers bootloader, root, init-settings and libc",
            )
        if self.layout.boot.obstacle:
            raise ImageError(
                f"the boot configuration of {self.name} cannot be changed: "
                f"{self.layout.boot.obstacle}",
                "replace it by an extlinux.conf, which names what is loaded",
            )
        return BootSide(self.boot_files, self.layout.boot)

    def need_root(self) -> Ext:
        """Its root file system. ImageError when there is none of a supported kind."""
        if self.root is None:
            kinds = ", ".join(s.kind for s in self.systems.values() if s.kind) or "none"
            raise ImageError(
                f"{self.name} has no supported root file system: "
                f"only ext2, ext3 and ext4 are, and it has {kinds}",
                "build the image with ext4",
            )
        return self.root


def open_layout(tools: Tools, file: str, name: str) -> OpenedImage:
    """An image by the name of its file in the directory of the tools; users know it as ``name``.

    ImageError when it is damaged, or is of a kind that cannot be told.
    """
    path = tools.directory / file
    table = read_table(path)
    systems = {p.number: file_system(path, p.start) for p in table.partitions}
    reachable = {
        p.number: opened
        for p in table.partitions
        if (opened := _open(tools, file, name, p, systems[p.number])) is not None
    }
    boot_partition, boot = _find_boot(table, reachable)
    root_partition = _find_root(table, systems, reachable, boot)
    root = reachable.get(root_partition) if root_partition is not None else None
    assert root is None or isinstance(root, Ext)  # noqa: S101 - says it to the type checker
    boot_files = reachable.get(boot_partition) if boot_partition is not None else None
    kernels: list[tuple[str, KernelImage]] = []
    if boot is not None and boot_files is not None:
        for kernel in boot.kernels:
            if boot_files.is_file(kernel):
                kernels.append((kernel, identify(boot_files.read(kernel), Path(kernel).name)))
    layout = Layout(
        name,
        table.size,
        table.scheme,
        tuple((p, systems[p.number]) for p in table.partitions),
        _boot_loader(path, table, systems, boot_files),
        boot_partition,
        boot,
        tuple(kernels),
        root_partition,
        tuple(sorted(n for n, is_dir in root.names(MODULES).items() if is_dir)) if root else (),
        userland(root) if root else None,
    )
    return OpenedImage(path, layout, table, systems, boot_files, root)


def again(opened: OpenedImage, tools: Tools) -> OpenedImage:
    """The same image as it is now, after something was written."""
    return open_layout(tools, opened.path.name, opened.name)


def _open(
    tools: Tools, file: str, name: str, partition: Partition, system: FileSystem
) -> Ext | Fat | None:
    where = f"{name} (partition {partition.number})" if partition.number else name
    if system.kind in EXT:
        if system.size > partition.size:
            raise ImageError(
                f"{where}: its file system has {system.size} bytes, the partition {partition.size}",
                "the image is damaged; get it again",
            )
        return Ext(tools, file, partition.start, where)
    if system.kind == FAT:
        return Fat(tools, file, partition.start, where)
    return None


def _find_boot(
    table: PartitionTable, reachable: Mapping[int, Ext | Fat]
) -> tuple[int | None, BootEntry | None]:
    """In U-Boot's order: first the partitions marked bootable, then in the order of the table."""
    ordered = sorted(table.partitions, key=lambda p: (not p.bootable, p.number))
    for style in STYLES:
        for partition in ordered:
            if partition.number in reachable:
                boot = style.find(reachable[partition.number])
                if boot is not None:
                    return partition.number, boot
    return None, None


def _find_root(
    table: PartitionTable,
    systems: Mapping[int, FileSystem],
    reachable: Mapping[int, Ext | Fat],
    boot: BootEntry | None,
) -> int | None:
    """The partition that the command line names; else the one that looks like a root."""
    named = _named_root(boot.command_line or "" if boot else "", table, systems)
    if named is not None:
        return named if isinstance(reachable.get(named), Ext) else None
    roots = [n for n, system in reachable.items() if isinstance(system, Ext) and is_root(system)]
    if len(roots) > 1:
        raise ImageError(
            f"several partitions look like the root file system ({', '.join(map(str, roots))}), "
            "and the command line does not say which it is",
            "name it there: root=/dev/mmcblk0pN, PARTUUID=, UUID= or LABEL=",
        )
    return roots[0] if roots else None


def _named_root(
    command_line: str, table: PartitionTable, systems: Mapping[int, FileSystem]
) -> int | None:
    """The partition that ``root=``, or an initrd's own word like it, names."""
    for word in reversed(command_line.split()):
        match = _ROOT_WORD.match(word)
        if match is None:
            continue
        value = match[1].strip('"')
        device = _DEVICE.match(value)
        if device and any(p.number == int(device[1]) for p in table.partitions):
            return int(device[1])
        key, _, wanted = value.partition("=")
        for partition in table.partitions:
            system = systems[partition.number]
            names = {
                "PARTUUID": partition.identity,
                "UUID": system.identity,
                "LABEL": system.label,
                "PARTLABEL": partition.name,
            }
            if wanted and names.get(key, "").casefold() == wanted.casefold():
                return partition.number
    return None


def _boot_loader(
    path: Path, table: PartitionTable, systems: Mapping[int, FileSystem], boot_files: Files | None
) -> str:
    loader = raw_loader.describe(path, raw_loader.regions(table, systems))
    if boot_files is not None and firmware_files(boot_files):
        return "Raspberry Pi firmware" + (f", {loader}" if loader else "")
    return loader
