"""Mounts, file systems and disks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchvise.state.normalise.values import Cell, cell, colon_table
from benchvise.state.roles import DeviceNames, Mount, is_made_up, mount_of, parse_mounts

MOUNTS = 100
"""More mounts than that are no board's own, but those of containers."""

_NETWORK = re.compile(r"nfs4?|cifs|smb3|9p|ceph|fuse\.sshfs|glusterfs|lustre|virtiofs")
_PSEUDO = frozenset(
    {
        *("proc", "sysfs", "devpts", "devtmpfs", "cgroup", "cgroup2", "securityfs", "debugfs"),
        *("tracefs", "configfs", "fusectl", "mqueue", "hugetlbfs", "pstore", "bpf", "nsfs"),
        *("binfmt_misc", "autofs", "rpc_pipefs", "efivarfs", "selinuxfs", "ramfs", "rootfs"),
    }
)
_OF_THE_SYSTEM = ("/dev", "/proc", "/sys")
"""Below these temporary file systems hold no files of programs, but for ``_SHARED_MEMORY``."""

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a name, not a file
_LOWER = ("lowerdir=", "lowerdir+=", "datadir+=")
# Paths of layers and numbers of descriptors, which mean nothing elsewhere.
_PRIVATE = (
    *_LOWER,
    "upperdir=",
    "workdir=",
    "fd=",
    "pgrp=",
    "subvolid=",
    "size=",
    "nr_inodes=",
)


def mounts(text: str, names: DeviceNames) -> dict[str, str]:
    """Mount point to ``source kind options``, of file systems that hold files; sources by role."""
    every = parse_mounts(text)
    return {mount.point: _described(mount, names, every) for mount in _real(text)}


def file_systems(text: str) -> dict[str, str]:
    """Mount point to the kind of file system."""
    return {mount.point: mount.kind for mount in _real(text)}


def network_mounts(text: str) -> dict[str, str]:
    """Mount point to kind and options of file systems that lie on other machines."""
    return {
        mount.point: f"{mount.kind} {','.join(sorted(mount.options))}"
        for mount in parse_mounts(text)
        if _NETWORK.fullmatch(mount.kind)
    }


def _real(text: str) -> Iterator[Mount]:
    count = 0
    for mount in parse_mounts(text):
        of_the_system = mount.point.startswith(_OF_THE_SYSTEM) and mount.point != _SHARED_MEMORY
        temporary = mount.kind == "tmpfs" and of_the_system
        hidden = temporary or mount.kind in _PSEUDO or is_made_up(mount.point)
        if not hidden and count < MOUNTS:
            count += 1
            yield mount


def _described(mount: Mount, names: DeviceNames, every: tuple[Mount, ...]) -> str:
    options = sorted(option for option in mount.options if not option.startswith(_PRIVATE))
    options += _of_layers(mount, every)
    is_root = mount.point == "/" and mount.source == "/dev/root"
    source = "root_part" if is_root else names.text(mount.source).removeprefix("/dev/")
    return f"{source} {mount.kind} {','.join(options)}"


def _of_layers(mount: Mount, every: tuple[Mount, ...]) -> Iterator[str]:
    """Of an overlay, how many lower layers it has, as each is looked through, and what kind of file
    system takes what is written; in brackets, as a remount does not take them."""
    lower = [option for option in mount.options if option.startswith(_LOWER)]
    if lower:
        yield f"lowerdir({sum(1 + option.count(':') for option in lower)})"
    others = tuple(other for other in every if other.point != mount.point)
    upper = mount.option("upperdir")
    if upper and (holder := mount_of(upper, others)):
        yield f"upperdir({holder.kind})"


def swaps(text: str, names: DeviceNames) -> list[str]:
    """Kind, device and priority of each swap; how much of it is used is left out."""
    rows = []
    for line in text.splitlines()[1:]:
        columns = line.split()
        if len(columns) >= 5:
            device = names.text(columns[0]).removeprefix("/dev/")
            rows.append(f"{device} {columns[1]} {int(columns[2])} kB, priority {int(columns[4])}")
    return rows


_DISK_FIELDS = (
    *("reads", "reads_merged", "sectors_read", "read_ms"),
    *("writes", "writes_merged", "sectors_written", "write_ms"),
    *("in_flight", "busy_ms", "queue_ms"),
    *("discards", "discards_merged", "sectors_discarded", "discard_ms", "flushes", "flush_ms"),
)


def disk_stat(text: str) -> dict[str, int]:
    """What a disk has done: requests, sectors of 512 bytes, milliseconds."""
    numbers = [int(word) for word in text.split()]
    if len(numbers) < 11:
        raise ValueError("not the statistics of a disk")
    return dict(zip(_DISK_FIELDS, numbers, strict=False))


_EXT4 = (
    *("Filesystem features", "Filesystem flags", "Default mount options", "Block size"),
    *("Block count", "Reserved block count", "Inode size", "Inode count", "Flex block group size"),
    *("Journal inode", "Journal size", "Total journal size", "Errors behavior", "RAID stride"),
    *("RAID stripe width", "Filesystem created", "Filesystem revision #", "Blocks per group"),
)


def ext4_header(text: str) -> dict[str, Cell]:
    """What ``dumpe2fs -h`` says of how a file system was made."""
    table = colon_table(text)
    return {name: table[name] for name in _EXT4 if name in table}


_HDPARM = re.compile(
    r"^\s*(Model Number|Firmware Revision|Transport|Logical/Physical Sector size|"
    r"Nominal Media Rotation Rate|DMA):\s*(.+?)\s*$",
    re.MULTILINE,
)
_ENABLED = re.compile(r"^\s*\*\s+(.+?)\s*$", re.MULTILINE)


def hdparm(text: str) -> dict[str, str | bool]:
    """What ``hdparm -I`` says of a disk: its model and transfer modes, and what is switched on."""
    identity: dict[str, str | bool] = dict(_HDPARM.findall(text))
    if not identity:
        raise ValueError("no identity of a disk")
    return identity | dict.fromkeys(_ENABLED.findall(text), True)


_ATTRIBUTE = re.compile(
    r"^\s*(\d+)\s+(\S+)\s+0x[0-9a-f]+\s+\d+\s+\d+\s+\S+\s+\S+\s+\S+\s+\S+\s+(\d+)", re.MULTILINE
)
_NVME = (
    *("Critical Warning", "Temperature", "Available Spare", "Percentage Used"),
    *("Media and Data Integrity Errors", "Error Information Log Entries", "Unsafe Shutdowns"),
    *("Warning  Comp. Temperature Time", "Critical Comp. Temperature Time", "Power Cycles"),
)


def smart(text: str) -> dict[str, Cell]:
    """What a disk counts itself: attribute to raw value, or the health log of NVMe."""
    attributes: dict[str, Cell] = {
        f"{number} {name}": int(raw) for number, name, raw in _ATTRIBUTE.findall(text)
    }
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key in _NVME or "overall-health" in key:
            attributes[key] = _number(value.strip())
    if not attributes:
        raise ValueError("no attributes")
    return attributes


def _number(text: str) -> Cell:
    digits = re.match(r"[\d,]+", text)
    return cell(digits[0].replace(",", "")) if digits else text
