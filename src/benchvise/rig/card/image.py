"""Images: files that are written to a card, known by the SHA-256 of the file as it lies there.

Where an image came from is taken from what its build system left beside it (``beside``). Yocto
(OpenEmbedded) puts its list of packages there (``.manifest``) and the variables of its build
(``.testdata.json``); others a ``.buildinfo`` or a file ``buildinfo``. All of it is text of unknown
origin, and bounded.

A block map beside it says which parts of the image hold data, and what those must hash to. The
format is that of ``bmaptool create``: an XML file, versions 1.0 to 2.0. From 1.3 on it carries its
own checksum, computed with the checksum's digits replaced by zeros, and one for each range. Version
1.4 was released by mistake and is 2.0.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.parsers import expat

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.rig.card import decompress
from benchvise.rig.faults import Fault, FlashError
from benchvise.text import printable

# Archives and compressions that look like an image to whoever has only its name.
_ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tgz", ".tbz2", ".txz", ".lzo", ".lz4", ".lzma", ".br")

Stamp = tuple[int, int, int, int, int]
"""What changes with a file: device, inode, size, times of its last change, in ns."""


@dataclass(frozen=True, slots=True)
class BmapOrigin:
    """The block map of an image; ``mapped`` is in bytes."""

    name: str
    mapped: int


@dataclass(frozen=True, slots=True)
class FileBeside:
    """A file that a build system left beside an image, or in ``na`` why it was not read.

    Of a manifest the ``packages`` by name and version, of a testdata.json the ``variables`` of the
    build, of a buildinfo its first ``lines``; ``count`` is how many there are altogether.
    """

    name: str
    sha256: str | None = field(default=None, metadata=in_json(omit_default=True))
    na: str | None = field(default=None, metadata=in_json(omit_default=True))
    count: int | None = field(default=None, metadata=in_json(omit_default=True))
    packages: Mapping[str, str] | None = field(default=None, metadata=in_json(omit_default=True))
    variables: Mapping[str, str] | None = field(default=None, metadata=in_json(omit_default=True))
    lines: tuple[str, ...] | None = field(default=None, metadata=in_json(omit_default=True))


@dataclass(frozen=True, slots=True)
class ImageOrigin:
    """Which image it is, and by kind what lies beside it: manifest, testdata, buildinfo."""

    name: str
    sha256: str
    compression: str
    size: int | None
    bmap: BmapOrigin | None
    beside: Mapping[str, FileBeside]


@dataclass(frozen=True, slots=True)
class Image:
    """An image. ``compression`` is none, gz, bz2, xz or zst; ``size`` is that of the card's
    contents in bytes, None where only decompressing would tell; ``bmap`` the block map beside it.
    """

    path: Path
    compression: str
    size: int | None
    bmap: Bmap | None
    sha256: str
    stamp: Stamp

    @property
    def mapped(self) -> int | None:
        """Bytes that are written to the card, where they are known."""
        return self.bmap.mapped if self.bmap else self.size

    def origin(self) -> ImageOrigin:
        """Which image it is and where it came from, to be kept with a run; bounded in size."""
        bmap = BmapOrigin(printable(self.bmap.path.name), self.bmap.mapped) if self.bmap else None
        return ImageOrigin(
            printable(self.path.name),
            self.sha256,
            self.compression,
            self.size,
            bmap,
            beside(self.path),
        )


def stamp_of(file: int | Path) -> Stamp:
    """The stamp of a file as it is now; OSError when there is none."""
    status = os.stat(file)  # noqa: PTH116 - of a descriptor too
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def open_image(path: str | Path) -> Image:
    """An image and what lies beside it; the file is read once, for its SHA-256.

    Raises UsageError when there is no such file or it is no image by its name, and FlashError
    (image-damaged) when it is cut off, or it or its block map is not what it says it is.
    """
    path = Path(path)
    if path.suffix.lower() in _ARCHIVES or ".tar" in path.suffixes[-2:]:
        raise UsageError(
            f"'{path}' is not an image that can be written ({path.suffix})",
            "unpack it, or give one that is plain or ends in .gz, .bz2, .xz or .zst",
        )
    try:
        if not path.is_file():
            raise FileNotFoundError(2, "there is no such file")
        stamp = stamp_of(path)
        with path.open("rb") as file:
            head = file.read(16)
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(
            f"the image '{path}' cannot be read ({error.strerror})", "check the file's name"
        ) from error
    compression = _compression(path, head)
    size = decompress.known_size(path, compression)
    bmap = _bmap(path, size)
    if stamp_of(path) != stamp:
        raise changed(path)
    return Image(path, compression, bmap.image_size if bmap else size, bmap, sha256, stamp)


def changed(path: Path) -> FlashError:
    """The image is not the file any more that it was."""
    return decompress.damaged(path, "changed while it was being read")


def _compression(path: Path, head: bytes) -> str:
    """By its name, if its first bytes agree."""
    if not head:
        raise decompress.damaged(path, "is empty")
    named, actual = decompress.SUFFIXES.get(path.suffix, decompress.NONE), decompress.by_magic(head)
    if named != actual:
        what = f"is {actual} data" if actual != decompress.NONE else f"is not {named} data"
        raise decompress.damaged(path, f"{what}, other than its name says")
    return named


def _bmap(path: Path, size: int | None) -> Bmap | None:
    for candidate in bmap_candidates(path, decompress.plain_name(path)):
        if candidate.exists():
            bmap = read_bmap(candidate)
            if size not in (None, bmap.image_size):
                raise decompress.damaged(
                    path,
                    f"has {size} bytes, but its block map '{candidate.name}' is of one "
                    f"of {bmap.image_size} bytes",
                )
            return bmap
    return None


# -- what lies beside an image ---------------------------------------------------------------------

PACKAGES_LIMIT = 3000
"""Packages that are kept by name and version; all are counted."""

TESTDATA_KEYS = (
    *("MACHINE", "DISTRO", "DISTRO_NAME", "DISTRO_VERSION", "DISTRO_CODENAME", "IMAGE_BASENAME"),
    *("IMAGE_VERSION_SUFFIX", "DATETIME", "BUILD_SYS", "TARGET_SYS", "TARGET_ARCH", "DEFAULTTUNE"),
    *("TUNE_FEATURES", "TCLIBC", "GCCVERSION", "LINUXLIBCVERSION", "METADATA_BRANCH"),
    *("METADATA_REVISION", "KERNEL_IMAGETYPE", "PREFERRED_PROVIDER_virtual/kernel"),
    *("PREFERRED_VERSION_linux-yocto", "EXTRA_IMAGE_FEATURES", "IMAGE_FEATURES", "INIT_MANAGER"),
)
"""The variables of a build that are kept: they name the machine, the release and the compiler."""

_BESIDE_LIMIT = 16 << 20
_LINES_LIMIT = 200
_WORD, _LINE = 100, 300  # characters


def beside(path: Path) -> dict[str, FileBeside]:
    """What lies beside an image, by kind: ``manifest``, ``testdata``, ``buildinfo``.

    What is not there is left out. Where ``path`` is a link (as in a Yocto deploy directory), what
    lies beside its target counts too.
    """
    files: dict[str, FileBeside] = {}
    for place in dict.fromkeys([path, path.resolve()]):
        directory, name = place.parent, decompress.plain_name(place)
        for stem in dict.fromkeys([Path(name).stem, name]):
            for kind, file in (
                ("manifest", directory / f"{stem}.manifest"),
                ("testdata", directory / f"{stem}.testdata.json"),
                ("buildinfo", directory / f"{stem}.buildinfo"),
            ):
                _add(files, kind, file)
        _add(files, "buildinfo", directory / "buildinfo")
    return files


def _add(files: dict[str, FileBeside], kind: str, path: Path) -> None:
    if kind in files:
        return
    try:
        with path.open("rb") as file:
            data = file.read(_BESIDE_LIMIT + 1)
    except OSError:
        return
    name = printable(path.name)
    if len(data) > _BESIDE_LIMIT:
        files[kind] = FileBeside(name, na=f"larger than {_BESIDE_LIMIT >> 20} MiB")
        return
    parse = {"manifest": _manifest, "testdata": _testdata, "buildinfo": _buildinfo}[kind]
    sha256 = hashlib.sha256(data).hexdigest()
    files[kind] = parse(FileBeside(name, sha256), data.decode("utf-8", "replace"))


def _manifest(file: FileBeside, text: str) -> FileBeside:
    """Lines of ``name architecture version``."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    packages = {
        printable(fields[0], _WORD): printable(fields[-1], _WORD)
        for fields in lines[:PACKAGES_LIMIT]
    }
    return replace(file, count=len(lines), packages=packages)


def _testdata(file: FileBeside, text: str) -> FileBeside:
    try:
        variables = json.loads(text)
    except (ValueError, RecursionError):
        return replace(file, na="it is not JSON")
    if not isinstance(variables, dict):
        return replace(file, na="it is not a JSON object")
    kept = {
        key: printable(str(variables[key]), _LINE)
        for key in TESTDATA_KEYS
        if isinstance(variables.get(key), str | int | float)
    }
    return replace(file, variables=kept)


def _buildinfo(file: FileBeside, text: str) -> FileBeside:
    lines = text.splitlines()
    kept = tuple(printable(line, _LINE) for line in lines[:_LINES_LIMIT])
    return replace(file, count=len(lines), lines=kept)


# -- block maps ------------------------------------------------------------------------------------

BMAP_LIMIT = 64 << 20
"""Bytes of a block map: more than a million ranges take."""

_BMAP_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})")
_BMAP_RANGE = re.compile(r"(\d{1,18})(?:\s*-\s*(\d{1,18}))?")
_LARGEST_BLOCK = 1 << 30
_BMAP_REMEDY = (
    "get both the image and its block map again, or make the map anew with bmaptool create"
)


@dataclass(frozen=True, slots=True)
class MappedRange:
    """A part of the image in bytes; ``checksum`` in hexadecimal, None where the map has none."""

    offset: int
    length: int
    checksum: str | None = None

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Bmap:
    """A block map, its ranges in ascending order and apart from each other."""

    path: Path
    version: str
    image_size: int
    block_size: int
    checksum_type: str | None
    ranges: tuple[MappedRange, ...]

    @property
    def mapped(self) -> int:
        """Bytes that the ranges hold together."""
        return sum(part.length for part in self.ranges)


def bmap_candidates(image: Path, plain_name: str) -> list[Path]:
    """Where the block map of an image may lie; ``plain_name`` is its name before compression.

    For ``a.wic.bz2``: ``a.wic.bz2.bmap``, ``a.wic.bmap``, ``a.bmap``, as bmaptool looks for it.
    """
    names = [image.name, plain_name, Path(plain_name).stem]
    return [image.with_name(f"{name}.bmap") for name in dict.fromkeys(names)]


def read_bmap(path: Path) -> Bmap:
    """Reads a block map and checks it: its own checksum, its counts, its ranges.

    Raises FlashError (image-damaged).
    """
    try:
        with path.open("rb") as file:
            data = file.read(BMAP_LIMIT + 1)
    except OSError as error:
        raise _damaged_bmap(path, f"cannot be read ({error.strerror})") from error
    if len(data) > BMAP_LIMIT:
        raise _damaged_bmap(path, f"is larger than {BMAP_LIMIT >> 20} MiB")
    elements = _parse_bmap(path, data)
    version = elements.version
    match = _BMAP_VERSION.fullmatch(version)
    if match is None or int(match[1]) not in (1, 2):
        raise _damaged_bmap(path, f"has version '{version}'; 1.0 to 2.0 can be read")
    kind = _checksum_type(path, elements, (int(match[1]), int(match[2])))
    if kind is not None:
        _check_own(path, data, kind, elements.text("BmapFileChecksum", "BmapFileSHA1"))
    size = _count(path, elements, "ImageSize")
    block = _count(path, elements, "BlockSize")
    if not size or not 512 <= block <= _LARGEST_BLOCK:
        raise _damaged_bmap(path, "has an impossible image or block size")
    if _count(path, elements, "BlocksCount") != -(-size // block):
        raise _damaged_bmap(path, "says a number of blocks that does not fit its image size")
    ranges = _mapped_ranges(path, elements, size, block)
    blocks = sum(-(-part.length // block) for part in ranges)
    if blocks != _count(path, elements, "MappedBlocksCount"):
        raise _damaged_bmap(path, "says a number of mapped blocks that its ranges do not have")
    return Bmap(path, version, size, block, kind, ranges)


@dataclass
class _BmapElements:
    """What the parser collects: the texts of the elements, and the ranges in their order."""

    version: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    ranges: list[tuple[dict[str, str], str]] = field(default_factory=list)

    def text(self, *names: str) -> str:
        """The first of the elements that is there."""
        return next((self.texts[name] for name in names if name in self.texts), "")


def _parse_bmap(path: Path, data: bytes) -> _BmapElements:
    """expat by itself: a map is flat, and a document type (with entities) is refused."""
    elements = _BmapElements()
    texts: list[str] = []
    attributes: list[dict[str, str]] = []

    def start(name: str, values: dict[str, str]) -> None:
        if name == "bmap":
            elements.version = values.get("version", "").strip()
        attributes.append(values)
        texts.clear()

    def end(name: str) -> None:
        text, values = "".join(texts).strip(), attributes.pop()
        texts.clear()
        if name == "Range":
            elements.ranges.append((values, text))
        else:
            elements.texts.setdefault(name, text)

    def doctype(*_declaration: object) -> None:
        raise _damaged_bmap(path, "has a document type, which a block map has not")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = texts.append
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise _damaged_bmap(path, f"is no block map ({error})") from error
    return elements


def _checksum_type(path: Path, elements: _BmapElements, version: tuple[int, int]) -> str | None:
    if version < (1, 3):
        return None
    kind = elements.text("ChecksumType").lower() if version >= (1, 4) else "sha1"
    if kind not in hashlib.algorithms_guaranteed or kind.startswith("shake"):
        raise _damaged_bmap(path, f"has checksums of the unknown type '{kind}'")
    return kind


def _check_own(path: Path, data: bytes, kind: str, checksum: str) -> None:
    digits = checksum.encode()
    digest = hashlib.new(kind, usedforsecurity=False)
    if len(digits) != 2 * digest.digest_size:
        raise _damaged_bmap(path, "has no checksum of its own")
    digest.update(data.replace(digits, b"0" * len(digits), 1))
    if digest.hexdigest() != checksum.lower():
        raise _damaged_bmap(path, "does not have the checksum that it says it has")


def _count(path: Path, elements: _BmapElements, name: str) -> int:
    text = elements.text(name)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise _damaged_bmap(path, f"has no {name}")
    return int(text)


def _mapped_ranges(
    path: Path, elements: _BmapElements, size: int, block: int
) -> tuple[MappedRange, ...]:
    ranges: list[MappedRange] = []
    end = 0
    for attributes, text in elements.ranges:
        match = _BMAP_RANGE.fullmatch(text)
        first = int(match[1]) if match else -1
        last = int(match[2] or match[1]) if match else -1
        offset, stop = first * block, min((last + 1) * block, size)
        if not end <= offset < stop or last * block >= size:
            raise _damaged_bmap(path, f"has a range '{text}' that cannot be")
        checksum = attributes.get("chksum") or attributes.get("sha1")
        ranges.append(MappedRange(offset, stop - offset, checksum.lower() if checksum else None))
        end = (last + 1) * block
    return tuple(ranges)


def _damaged_bmap(path: Path, what: str) -> FlashError:
    return FlashError(Fault.IMAGE_DAMAGED, f"the block map '{path.name}' {what}", _BMAP_REMEDY)
