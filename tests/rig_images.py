"""Tiny card images: partition tables, FAT and ext file systems, kernels, root file systems.

Nothing needs root: owners and devices are set with debugfs. Few megabytes each.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import skips
from rig_elf import AARCH64, program

MIB = 1 << 20
ENVIRONMENT = {
    **os.environ,
    "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
    "MTOOLSRC": os.devnull,
    "TZ": "UTC",
}
_PROGRAMS = ("debugfs", "mke2fs", "mkfs.vfat", "mcopy", "mdir")


def have(*programs: str) -> bool:
    return all(shutil.which(name, path=ENVIRONMENT["PATH"]) for name in programs)


needs_ext = skips.unless_missing(skips.lacking("debugfs", "mke2fs", path=ENVIRONMENT["PATH"]))
needs_all = skips.unless_missing(skips.lacking(*_PROGRAMS, path=ENVIRONMENT["PATH"]))


@dataclass(frozen=True)
class File:
    data: bytes = b""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    attributes: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Name:
    """Another name of a file that is there."""

    of: str


@dataclass(frozen=True)
class Device:
    kind: str
    major: int = 0
    minor: int = 0


Tree = Mapping[str, "File | Link | Name | Device | bytes"]


def run(*argv: str) -> str:
    ended = subprocess.run(argv, capture_output=True, env=ENVIRONMENT)
    assert ended.returncode == 0, (argv, ended.stderr)
    return ended.stdout.decode(errors="replace")


def debugfs(image: Path, start: int, *commands: str, write: bool = False) -> str:
    ended = subprocess.run(
        ["debugfs", *(["-w"] if write else []), "-f", "-", f"{image}?offset={start}"],
        input="\n".join([*commands, ""]).encode(),
        capture_output=True,
        env=ENVIRONMENT,
    )
    said = [line for line in ended.stderr.splitlines() if line and b"debugfs 1." not in line]
    assert not said, said
    return ended.stdout.decode(errors="replace")


def check(image: Path, start: int) -> None:
    """The strictest there is: e2fsck may find nothing at all to repair."""
    run("e2fsck", "-f", "-n", f"{image}?offset={start}")


def ext(size: int, tree: Tree, *, label: str = "root", options: Sequence[str] = ()) -> bytes:
    """An ext4 file system with these files."""
    with tempfile.TemporaryDirectory() as directory:
        image = Path(directory) / "ext"
        image.touch()
        identity = str(uuid.uuid5(uuid.NAMESPACE_OID, repr((label, sorted(tree)))))
        run(
            "mke2fs", "-q", "-t", "ext4", "-b", "1024", "-L", label, "-U", identity,
            *options, str(image), f"{size // 1024}k",
        )  # fmt: skip
        commands: list[str] = []
        made = {"/"}
        for number, (path, item) in enumerate(tree.items()):
            parts = path.strip("/").split("/")
            for depth in range(1, len(parts)):
                above = "/" + "/".join(parts[:depth])
                if above not in made:
                    made.add(above)
                    commands.append(f'cd "/{"/".join(parts[: depth - 1])}"')
                    commands.append(f'mkdir "{parts[depth - 1]}"')
            commands.append(f'cd "/{"/".join(parts[:-1])}"')
            commands += _made(item, parts[-1], Path(directory) / str(number))
        debugfs(image, 0, *commands, write=True)
        check(image, 0)
        return image.read_bytes()


def _made(item: File | Link | Name | Device | bytes, name: str, scratch: Path) -> list[str]:
    itself = '"' + name.replace('"', '""') + '"'
    if isinstance(item, Link):
        return [f'symlink {itself} "{item.target}"']
    if isinstance(item, Name):
        return [f"ln {item.of} {itself}", f"sif {itself} links_count 2"]
    if isinstance(item, Device):
        numbers = "" if item.kind == "p" else f" {item.major} {item.minor}"
        kind = {"c": 0o20000, "b": 0o60000, "p": 0o10000}[item.kind]
        return [f"mknod {itself} {item.kind}{numbers}", f"sif {itself} mode 0{kind | 0o640:o}"]
    file = File(item) if isinstance(item, bytes) else item
    scratch.write_bytes(file.data)
    made = f'"./{itself[1:]}'  # so that <12> is a name, and not an inode
    return [
        f'write "{scratch}" {itself}',
        f"sif {made} mode 0{0o100000 | file.mode:o}",
        f"sif {made} uid {file.uid}",
        f"sif {made} gid {file.gid}",
        *(_attribute(made, key, value, scratch) for key, value in file.attributes),
    ]


def _attribute(made: str, key: str, value: bytes, scratch: Path) -> str:
    file = scratch.with_name(f"{scratch.name}.{key}")
    file.write_bytes(value)
    return f'ea_set -r -f "{file}" {made} {key}'


def fat(size: int, tree: Mapping[str, bytes], *, options: Sequence[str] = ()) -> bytes:
    """A FAT file system with these files."""
    with tempfile.TemporaryDirectory() as directory:
        image = Path(directory) / "fat"
        image.write_bytes(bytes(size))
        run("mkfs.vfat", "-n", "BOOT", "-i", "12345678", *options, str(image))
        made = {""}
        for path, data in tree.items():
            parts = path.strip("/").split("/")
            for depth in range(1, len(parts)):
                above = "/".join(parts[:depth])
                if above not in made:
                    made.add(above)
                    run("mmd", "-i", str(image), f"::/{above}")
            scratch = Path(directory) / "file"
            scratch.write_bytes(data)
            run("mcopy", "-i", str(image), str(scratch), f"::{path}")
        return image.read_bytes()


def fat_files(image: Path, start: int) -> dict[str, bytes]:
    """Everything that a FAT partition holds."""
    listed = run("mdir", "-b", "-/", "-i", f"{image}@@{start}", "::/").splitlines()
    files = [line[2:] for line in listed if line.startswith("::/") and not line.endswith("/")]
    return {path: _fat_read(image, start, path) for path in files}


def _fat_read(image: Path, start: int, path: str) -> bytes:
    argv = ["mtype", "-i", f"{image}@@{start}", f"::{path}"]
    return subprocess.run(argv, capture_output=True, env=ENVIRONMENT, check=True).stdout


def inodes(image: Path, start: int, top: str = "/") -> dict[str, str]:
    """What ``debugfs stat`` tells of everything below a directory, but for where blocks lie."""
    found: dict[str, str] = {}
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        for line in debugfs(image, start, f'ls -p "{directory}"').splitlines():
            fields = line.split("/")
            if len(fields) < 7 or fields[5] in (".", "..") or fields[1] == "0":
                continue
            path = directory.rstrip("/") + "/" + fields[5]
            itself = path.replace('"', '""')
            stat = debugfs(image, start, f'stat "{itself}"')
            found[path] = "\n".join(_kept(stat))
            if fields[2].startswith("04"):
                waiting.append(path)
    return found


def _kept(stat: str) -> list[str]:
    """Type, mode, owner, size, links, times, attributes, device, target."""
    lines = []
    for line in stat.splitlines()[1:]:
        if line.startswith(("Generation", "File ACL", "Fragment", "Inode checksum", "crtime")):
            continue
        if line.startswith(("EXTENTS", "BLOCKS", "Size of extra")):
            break
        if line.startswith("Inode: "):
            line = line.split("Type:")[1].split("Flags:")[0]
        if line.startswith("Links: "):
            line = line.split("Blockcount")[0]
        lines.append(" ".join(line.split()))
    return lines


@dataclass(frozen=True)
class Part:
    data: bytes
    kind: str = "83"
    name: str = ""
    bootable: bool = False
    room: int = 0
    """Bytes behind the data that belong to the partition too."""


def mbr(
    path: Path, parts: Sequence[Part], *, first: int = MIB, raw: Mapping[int, bytes] | None = None
) -> list[int]:
    """Writes an image with an MBR; where its partitions start, in bytes."""
    starts, end = _starts(parts, first)
    table = bytearray(512)
    struct.pack_into("<I", table, 440, 0x11223344)
    for index, (part, start) in enumerate(zip(parts, starts, strict=True)):
        size = (len(part.data) + part.room) // 512
        struct.pack_into(
            "<BBBBBBBBII", table, 446 + 16 * index, 0x80 if part.bootable else 0, 0, 0, 0,
            int(part.kind, 16), 0, 0, 0, start // 512, size,
        )  # fmt: skip
    table[510:] = b"\x55\xaa"
    _write(path, end, parts, starts, {0: bytes(table), **(raw or {})})
    return starts


def gpt(
    path: Path, parts: Sequence[Part], *, first: int = MIB, raw: Mapping[int, bytes] | None = None
) -> list[int]:
    """Writes an image with a GPT (its main copy only); where its partitions start, in bytes."""
    starts, end = _starts(parts, first)
    entries = bytearray(128 * 128)
    for index, (part, start) in enumerate(zip(parts, starts, strict=True)):
        kind = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4").bytes_le
        own = uuid.UUID(int=0x1234_0000 + index).bytes_le
        last = (start + len(part.data) + part.room) // 512 - 1
        name = part.name.encode("utf-16-le").ljust(72, b"\0")
        flags = 4 if part.bootable else 0
        entries[128 * index : 128 * (index + 1)] = (
            kind + own + struct.pack("<QQQ", start // 512, last, flags) + name
        )
    header = bytearray(
        b"EFI PART" + struct.pack("<IIIIQQQQ", 0x10000, 92, 0, 0, 1, end // 512, 34, end // 512 - 1)
        + uuid.UUID(int=7).bytes_le + struct.pack("<QIII", 2, 128, 128, zlib.crc32(entries))
    )  # fmt: skip
    struct.pack_into("<I", header, 16, zlib.crc32(header))
    protective = bytearray(512)
    struct.pack_into("<BBBBBBBBII", protective, 446, 0, 0, 0, 0, 0xEE, 0, 0, 0, 1, end // 512 - 1)
    protective[510:] = b"\x55\xaa"
    head = {0: bytes(protective), 512: bytes(header), 1024: bytes(entries)}
    _write(path, end, parts, starts, {**head, **(raw or {})})
    return starts


def _starts(parts: Sequence[Part], first: int) -> tuple[list[int], int]:
    starts, at = [], first
    for part in parts:
        starts.append(at)
        at += -(-(len(part.data) + part.room) // MIB) * MIB
    return starts, at


def _write(
    path: Path, size: int, parts: Sequence[Part], starts: Sequence[int], raw: Mapping[int, bytes]
) -> None:
    with path.open("wb") as out:
        out.truncate(size)
        for start, data in [*raw.items(), *zip(starts, (p.data for p in parts), strict=True)]:
            for at in range(0, len(data), 4096):
                block = data[at : at + 4096]
                if any(block):
                    out.seek(start + at)
                    out.write(block)


def arm64_kernel(version: str, size: int = 20000) -> bytes:
    """What looks like the Image of an arm64 kernel."""
    head = bytearray(64)
    head[56:60] = b"ARM\x64"
    return (bytes(head) + f"\0Linux version {version} (who@where) ".encode()).ljust(size, b"\x5a")


LOADER = "/lib/ld-linux-aarch64.so.1"


def glibc(version: str, *, newest: str = "") -> dict[str, File | Link]:
    """The files of a glibc that defines the versions up to this one, in /lib."""
    defined = [f"GLIBC_2.{n}" for n in range(17, int((newest or version).split(".")[1]) + 1)]
    banner = f"GNU C Library (Test GLIBC {version}-1) stable release version {version}.\n".encode()
    library = program(
        soname="libc.so.6", needed=("ld-linux-aarch64.so.1",), interpreter=LOADER,
        defines=defined, exports=("puts",), text=banner,
    )  # fmt: skip
    loader = program(
        soname="ld-linux-aarch64.so.1", defines=["GLIBC_2.17"], text=b"/lib/\0" + version.encode()
    )
    maths = program(soname="libm.so.6", needed=("libc.so.6",), defines=defined)
    return {
        "/lib/libc.so.6": File(library, 0o755),
        LOADER: File(loader, 0o755),
        "/lib/libm.so.6": File(maths),
    }


def needing(*versions: str, machine: int = AARCH64) -> File:
    """A program that is linked against libc.so.6 and needs these versions of it."""
    return File(
        program(
            machine, interpreter=LOADER, needed=("libc.so.6",), versions={"libc.so.6": versions},
            imports=("puts",),
        ),
        0o755,
    )  # fmt: skip


def root_tree(
    name: str, kernel: str, libc: str = "2.31", needs: str = "GLIBC_2.17"
) -> dict[str, File | Link | Device | bytes]:
    """A small root file system that can be told from others."""
    return {
        "/etc/os-release": f'PRETTY_NAME="Test {name}"\n'.encode(),
        "/etc/fstab": f"/dev/mmcblk0p2 / ext4 defaults,{name} 0 1\n".encode(),
        "/etc/rc.local": File(f"#!/bin/sh\necho {name}\n".encode(), 0o755),
        "/etc/sysctl.d/10-name.conf": f"kernel.name={name}\n".encode(),
        "/etc/passwd": f"root:x:0:0:{name}:/root:/bin/sh\n".encode(),
        "/bin/sh": needing(needs),
        "/sbin/init": Link("../bin/busybox"),
        "/bin/busybox": needing(needs),
        "/dev/console": Device("c", 5, 1),
        f"/lib/modules/{kernel}/modules.dep": b"x.ko:\n",
        f"/lib/modules/{kernel}/kernel/x.ko": f"module of {name}".encode() * 100,
        **glibc(libc),
    }
