"""ext2, ext3 and ext4 file systems through e2fsprogs, nothing mounted: in images, and new ones.

debugfs reads and writes them. It takes one command a line from its standard input, echoes each as
``debugfs: COMMAND``, and prints errors on its standard error; its exit status means nothing.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.rig.images.filesystems import MOST_BYTES, FileSystem, file_system
from benchvise.rig.images.tools import Tools
from benchvise.text import Untrusted

_ROOT_INODE = 2
_MOST_LINKS = 40  # as Linux: more symbolic links than these on one path are a circle
_AT_ONCE = 32 << 20  # bytes of contents that are asked for with one run of debugfs

_ENTRY = re.compile(rb"/(\d+)/(\d{6})/(\d+)/(\d+)/([^/]+)/(\d*)/\n")
_TIME = re.compile(rb"^ ?(c|a|m|cr)time: 0x([0-9a-f]+)(?::([0-9a-f]+))? ", re.M)
_DEVICE = re.compile(rb"Device major/minor number: (\d+):(\d+)")
_LINKS = re.compile(rb"^Links: (\d+) ", re.M)
_ATTRIBUTES = re.compile(rb"^Extended attributes:\n((?:  .*\n)+)", re.M)
_ATTRIBUTE = re.compile(rb"^  (\S+) \((\d+)\)", re.M)
_FAST_LINK = b'Fast link dest: "'
_FREE_BLOCKS = re.compile(r"^ +Free blocks: (.+)$", re.M)
_BLOCK_SIZE = re.compile(r"^Block size: +(\d+)$", re.M)

_LONGEST_COMMAND = 8000  # debugfs's buffer for a line has 8192 bytes

_NEW_BLOCK = 4096
_NEW_FILES = 8192  # room in a new table of files, which is written to a card as a whole
_NEW_FEATURES = (
    "none,has_journal,ext_attr,dir_index,filetype,extent,flex_bg,sparse_super,large_file,"
    "huge_file,dir_nlink,extra_isize,uninit_bg"
)


@dataclass(frozen=True, slots=True)
class Inode:
    """An inode. ``mode`` holds the type too, as in stat(2)."""

    inode: int
    mode: int
    uid: int
    gid: int
    size: int

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)


@dataclass(frozen=True, slots=True)
class InodeDetails:
    """The rest of an inode.

    ``times`` are field of debugfs and the value to set it to; ``device`` major and minor number;
    ``target`` that of a symbolic link; ``attributes`` the names of extended attributes.
    """

    links: int
    times: tuple[tuple[str, str], ...]
    device: tuple[int, int] | None
    target: str
    attributes: tuple[str, ...]


class Ext:
    """An ext file system. Paths are absolute in it; what was read is remembered until a write."""

    def __init__(self, tools: Tools, image: str, start: int, where: str) -> None:
        """``image`` is a file in the directory of the tools, ``start`` a byte in it."""
        self.tools = tools
        self.device = f"{image}?offset={start}"
        self._place = (tools.directory / image, start)
        self._where = where
        self._children: dict[int, dict[str, Inode]] = {}
        self._targets: dict[int, str] = {}

    @property
    def where(self) -> str:
        """Its name in errors: the image, and the partition in it."""
        return self._where

    @property
    def summary(self) -> FileSystem:
        """Its superblock, as it is now."""
        return file_system(*self._place)

    def execute(self, commands: Sequence[str], *, write: bool = False) -> bytes:
        """The output of commands of debugfs. ImageError when it reports any error."""
        if write:
            self._children.clear()
            self._targets.clear()
        try:
            return execute(self.tools, self.device, commands, write=write)
        except ImageError as error:
            raise ImageError(f"{self._where}: {error.message}", error.remedy) from error

    # Looking things up

    def children(self, directory: Inode) -> dict[str, Inode]:
        """What a directory holds."""
        return self._listed([directory.inode])[directory.inode]

    def find(self, path: str, *, follow: bool = True) -> Inode | None:
        """What lies at a path; ``follow``: if that is a symbolic link, what it names."""
        located = self.locate(path, follow=follow)
        return located[1] if located else None

    def locate(self, path: str, *, follow: bool = True) -> tuple[str, Inode] | None:
        """The path without symbolic links in it, and what lies there."""
        waiting = [part for part in path.split("/") if part][::-1]
        way: list[tuple[str, Inode]] = [("", Inode(_ROOT_INODE, stat.S_IFDIR | 0o755, 0, 0, 0))]
        links = 0
        while waiting:
            part = waiting.pop()
            if part == "..":
                way = way[:-1] or way
                continue
            above = way[-1][1]
            node = self.children(above).get(part) if above.is_directory and part != "." else above
            if node is None:
                return None
            if node.is_link and (follow or waiting):
                links += 1
                if links > _MOST_LINKS:
                    return None
                target = self.target(node)
                waiting += [piece for piece in target.split("/") if piece][::-1]
                way = way[:1] if target.startswith("/") else way
            elif part != ".":
                way.append((part, node))
        return "/" + "/".join(name for name, _ in way[1:]), way[-1][1]

    def target(self, node: Inode) -> str:
        """What a symbolic link names."""
        if node.inode not in self._targets:
            self._targets[node.inode] = self.details([node])[node.inode].target
        return self._targets[node.inode]

    def walk(self, top: str) -> dict[str, Inode]:
        """Everything below a directory, by path; parents come before their children."""
        located = self.locate(top)
        if located is None or not located[1].is_directory:
            return {}
        nodes: dict[str, Inode] = {}
        level = [located]
        while level:
            lists = self._listed([node.inode for _, node in level])
            following: list[tuple[str, Inode]] = []
            for path, node in level:
                for name, child in sorted(lists[node.inode].items()):
                    below = posixpath.join(path, name)
                    nodes[below] = child
                    if child.is_directory:
                        following.append((below, child))
            level = following
        return nodes

    def details(self, nodes: Iterable[Inode]) -> dict[int, InodeDetails]:
        """The rest of these inodes, by number."""
        wanted = {node.inode: node for node in nodes}
        commands = [f"stat <{inode}>" for inode in wanted]
        texts = answers(self.execute(commands), commands)
        details = {inode: _details(text) for inode, text in zip(wanted, texts, strict=True)}
        slow = [
            node for inode, node in wanted.items() if node.is_link and not details[inode].target
        ]
        for node, data in self.contents(slow):
            incomplete = details[node.inode]
            target = data.decode(errors="surrogateescape")
            details[node.inode] = InodeDetails(
                incomplete.links, incomplete.times, incomplete.device, target, incomplete.attributes
            )
        return details

    def contents(self, nodes: Iterable[Inode]) -> Iterator[tuple[Inode, bytes]]:
        """What these files hold, one after the other."""
        batch: list[Inode] = []
        size = 0
        for node in nodes:
            if batch and size + node.size > _AT_ONCE:
                yield from self._batch(batch)
                batch, size = [], 0
            batch.append(node)
            size += node.size
        yield from self._batch(batch)

    # The protocol Files

    def names(self, directory: str) -> dict[str, bool]:
        """What a directory holds, each with whether it is a directory; empty if there is none."""
        node = self.find(directory)
        if node is None or not node.is_directory:
            return {}
        return {name: child.is_directory for name, child in self.children(node).items()}

    def is_file(self, path: str) -> bool:
        """Whether a regular file lies there."""
        node = self.find(path)
        return node is not None and node.is_file

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """The first ``limit`` bytes of a file. ImageError when there is none."""
        node = self.find(path)
        if node is None or not node.is_file or node.size > MOST_BYTES:
            raise ImageError(
                f"{self._where} has no file {Untrusted(path)}",
                "list its contents: benchvise rig compose --from IMAGE",
            )
        return next(self.contents([node]))[1][:limit]

    def put(self, path: str, data: bytes) -> None:
        """Writes a file of root's, mode 0644, in place of one that is there."""
        located = self.locate(path)
        if located is not None:
            path, node = located
            owner, mode = (node.uid, node.gid), node.mode
        else:
            owner, mode = (0, 0), stat.S_IFREG | 0o644
        directory, name = self.make(posixpath.dirname(path)), posixpath.basename(path)
        room = self.summary.free + (located[1].size if located else 0)
        if len(data) > room:
            raise ImageError(
                f"{self._where} has no room for {Untrusted(path)}: it takes {len(data)} bytes, "
                f"{room} are free",
                "take the other image as the base, and the other layers from this one",
            )
        itself = posixpath.join(directory, name)
        scratch = self.tools.scratch(data)
        self.execute(
            [
                *([f"rm {quoted(itself)}"] if located else []),
                f"cd {quoted(directory)}",
                f"write {scratch} {quoted(name)}",
                f"sif {quoted(itself)} mode 0{mode:o}",
                f"sif {quoted(itself)} uid {owner[0]}",
                f"sif {quoted(itself)} gid {owner[1]}",
            ],
            write=True,
        )
        self.tools.forget(scratch)

    def make(self, directory: str) -> str:
        """Makes a directory of root's, with those above it, unless it is there; its true path."""
        located = self.locate(directory)
        if located is not None:
            if not located[1].is_directory:
                raise ImageError(
                    f"{self._where}: {Untrusted(directory)} is not a directory",
                    "list its contents: benchvise rig compose --from IMAGE",
                )
            return located[0]
        path = posixpath.join(
            self.make(posixpath.dirname(directory)), posixpath.basename(directory)
        )
        self.execute(
            [f"mkdir {quoted(path)}", f"sif {quoted(path)} mode 0{stat.S_IFDIR | 0o755:o}"],
            write=True,
        )
        return path

    def remove(self, path: str) -> None:
        """Removes a file, a symbolic link itself, or a whole directory, if it is there."""
        located = self.locate(path, follow=False)
        if located is None:
            return
        top, node = located
        everything = {top: node, **(self.walk(top) if node.is_directory else {})}
        self.execute(
            [
                f"{'rmdir' if below.is_directory else 'rm'} {quoted(name)}"
                for name, below in reversed(everything.items())
            ],
            write=True,
        )

    # Output of debugfs

    def _listed(self, inodes: Sequence[int]) -> dict[int, dict[str, Inode]]:
        unknown = [inode for inode in dict.fromkeys(inodes) if inode not in self._children]
        commands = [f"ls -p <{inode}>" for inode in unknown]
        for inode, text in zip(unknown, answers(self.execute(commands), commands), strict=True):
            self._children[inode] = dict(_entries(text))
        return {inode: self._children[inode] for inode in inodes}

    def _batch(self, nodes: Sequence[Inode]) -> Iterator[tuple[Inode, bytes]]:
        """Contents may hold anything, so it is their sizes that tell where each ends."""
        commands = [f"cat <{node.inode}>" for node in nodes]
        output = self.execute(commands)
        at = 0
        for command, node in zip(commands, nodes, strict=True):
            head = encoded(f"debugfs: {command}\n")
            begin = at + len(head)
            at = begin + node.size
            if output[begin - len(head) : begin] != head or at > len(output):
                raise ImageError(
                    f"{self._where}: a file is not as long as its inode says",
                    "check the image's partition with e2fsck -f",
                )
            yield node, output[begin:at]


def free_blocks(tools: Tools, image: str, start: int = 0) -> list[tuple[int, int]]:
    """The free blocks of an ext file system, in order: first byte and the one behind.

    ``image`` is a file in the directory of the tools, ``start`` the byte at which the file system
    begins; the bytes count from there.
    """
    text = tools.run(["dumpe2fs", f"{image}?offset={start}"]).text
    size = int(_BLOCK_SIZE.findall(text)[0])
    return sorted(
        (int(first) * size, (int(last or first) + 1) * size)
        for line in _FREE_BLOCKS.findall(text)
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", line)
    )


def make_ext4(tools: Tools, name: str, size: int, tree: Path, identity: str) -> None:
    """Makes a file system of ``size`` bytes that holds the files of ``tree``, owned by root.

    ``name`` is a new file in the directory of the tools; ``identity`` decides its UUID. The
    features are those that every kernel and every bootloader of the last ten years reads.
    ImageError when the files do not fit.
    """
    own = str(uuid.uuid5(uuid.NAMESPACE_OID, identity))
    with (tools.directory / name).open("wb") as image:
        image.truncate(size)
    options = f"root_owner=0:0,lazy_itable_init=1,nodiscard,hash_seed={own}"
    tools.run(
        [
            *("mke2fs", "-q", "-F", "-t", "ext4", "-O", _NEW_FEATURES, "-b", str(_NEW_BLOCK)),
            *("-I", "256", "-N", str(_NEW_FILES), "-m", "0", "-J", "size=4", "-L", "root"),
            *("-U", own, "-E", options, "-d", tree, name),
        ]
    )
    execute(tools, name, _owned_by_root(tree, tools.clock), write=True)


def _owned_by_root(tree: Path, time: int) -> list[str]:
    """Commands that give all files to root and set the times that mke2fs took from this system."""
    commands = []
    for directory, below, files in os.walk(tree):
        for name in (".", *sorted(below), *sorted(files)):
            path = quoted("/" + str((Path(directory) / name).relative_to(tree)))
            commands += [f"sif {path} {field} 0" for field in ("uid", "gid")]
            commands += [f"sif {path} {field} @{time}" for field in ("atime", "ctime", "crtime")]
    return commands


def _entries(text: bytes) -> Iterator[tuple[str, Inode]]:
    """The lines of ``ls -p``: /inode/mode/uid/gid/name/size/."""
    for inode, mode, uid, gid, name, size in _ENTRY.findall(text):
        if name not in (b".", b"..") and inode != b"0":
            node = Inode(int(inode), int(mode, 8), int(uid), int(gid), int(size or 0))
            yield name.decode(errors="surrogateescape"), node


def _details(text: bytes) -> InodeDetails:
    """The output of ``stat`` of debugfs, parsed."""
    links = _LINKS.search(text)
    times: list[tuple[str, str]] = []
    for which, seconds, extra in _TIME.findall(text):
        field = which.decode() + "time"
        times.append((field, f"@{int(seconds, 16)}"))
        if extra:
            times.append((f"{field}_extra", f"0x{extra.decode()}"))
    device = _DEVICE.search(text)
    listed = _ATTRIBUTES.search(text)
    names = _ATTRIBUTE.findall(listed[1]) if listed else []
    size = re.search(rb" Size: (\d+)$", text, re.M)
    target = b""
    if _FAST_LINK in text and size:
        begin = text.index(_FAST_LINK) + len(_FAST_LINK)
        target = text[begin : begin + int(size[1])]
    return InodeDetails(
        int(links[1]) if links else 1,
        tuple(times),
        (int(device[1]), int(device[2])) if device else None,
        target.decode(errors="surrogateescape"),
        tuple(name.decode(errors="surrogateescape") for name, _ in names),
    )


def quoted(name: str) -> str:
    """A file name as one word of a command. ImageError for one that cannot be quoted."""
    if "\n" in name or "\0" in name or len(encoded(name)) > _LONGEST_COMMAND // 2:
        raise ImageError(
            f"the file name '{Untrusted(name)}' cannot be handled", "remove it from the image"
        )
    return '"' + name.replace('"', '""') + '"'


def encoded(name: str) -> bytes:
    """The bytes of a name as they lie in the file system."""
    return name.encode(errors="surrogateescape")


def execute(tools: Tools, device: str, commands: Sequence[str], *, write: bool = False) -> bytes:
    """The output of commands on a file system. ImageError when debugfs reports any error."""
    if not commands:
        return b""
    script = "".join(f"{command}\n" for command in commands)
    argv = ["debugfs", *(["-w"] if write else []), "-f", "-", device]
    output = tools.run(argv, input=encoded(script), allowed=range(256))
    complaints = [line for line in output.stderr.splitlines() if line and b"debugfs 1." not in line]
    if complaints:
        complaint = Untrusted(complaints[0].decode(errors="replace"))
        if "unsupported" in complaint.raw:
            raise ImageError(
                f"the ext file system has a feature that debugfs does not know ({complaint})",
                "install a newer e2fsprogs",
            )
        raise ImageError(
            f"the ext file system is damaged ({complaint})",
            "check the image's partition with e2fsck -f, or get the image again",
        )
    return output.stdout


def answers(output: bytes, commands: Sequence[str]) -> list[bytes]:
    """The output of each of the commands, in their order."""
    begins: list[tuple[int, int]] = []
    at = 0
    for command in commands:
        head = b"debugfs: " + encoded(command) + b"\n"
        at = output.find(head, at)
        if at < 0:
            raise ImageError("the output of debugfs cannot be parsed", "update e2fsprogs")
        begins.append((at, at + len(head)))
        at += len(head)
    ends = [*(head for head, _ in begins), len(output)][1:]
    return [output[begin:end] for (_, begin), end in zip(begins, ends, strict=True)]
