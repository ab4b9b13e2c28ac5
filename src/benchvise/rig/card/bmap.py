"""Block maps: which parts of an image hold data, and what those parts must hash to.

The format is that of ``bmaptool create``: an XML file, versions 1.0 to 2.0. From 1.3 on it carries
its own checksum, computed with the checksum's digits replaced by zeros, and one for each range.
Version 1.4 was released by mistake and is 2.0.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from benchvise.rig.faults import Fault, FlashError

FILE_LIMIT = 64 << 20
"""Bytes of a block map: more than a million ranges take."""

_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})")
_RANGE = re.compile(r"(\d{1,18})(?:\s*-\s*(\d{1,18}))?")
_LARGEST_BLOCK = 1 << 30
_REMEDY = "get both the image and its block map again, or make the map anew with bmaptool create"


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
            data = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise _damaged(path, f"cannot be read ({error.strerror})") from error
    if len(data) > FILE_LIMIT:
        raise _damaged(path, f"is larger than {FILE_LIMIT >> 20} MiB")
    elements = _parse(path, data)
    version = elements.version
    match = _VERSION.fullmatch(version)
    if match is None or int(match[1]) not in (1, 2):
        raise _damaged(path, f"has version '{version}'; 1.0 to 2.0 can be read")
    kind = _checksum_type(path, elements, (int(match[1]), int(match[2])))
    if kind is not None:
        _check_own(path, data, kind, elements.text("BmapFileChecksum", "BmapFileSHA1"))
    size = _count(path, elements, "ImageSize")
    block = _count(path, elements, "BlockSize")
    if not size or not 512 <= block <= _LARGEST_BLOCK:
        raise _damaged(path, "has an impossible image or block size")
    if _count(path, elements, "BlocksCount") != -(-size // block):
        raise _damaged(path, "says a number of blocks that does not fit its image size")
    ranges = _ranges(path, elements, size, block)
    blocks = sum(-(-part.length // block) for part in ranges)
    if blocks != _count(path, elements, "MappedBlocksCount"):
        raise _damaged(path, "says a number of mapped blocks that its ranges do not have")
    return Bmap(path, version, size, block, kind, ranges)


@dataclass
class _Elements:
    """What the parser collects: the texts of the elements, and the ranges in their order."""

    version: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    ranges: list[tuple[dict[str, str], str]] = field(default_factory=list)

    def text(self, *names: str) -> str:
        """The first of the elements that is there."""
        return next((self.texts[name] for name in names if name in self.texts), "")


def _parse(path: Path, data: bytes) -> _Elements:
    """expat by itself: a map is flat, and a document type (with entities) is refused."""
    elements = _Elements()
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
        raise _damaged(path, "has a document type, which a block map has not")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = texts.append
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise _damaged(path, f"is no block map ({error})") from error
    return elements


def _checksum_type(path: Path, elements: _Elements, version: tuple[int, int]) -> str | None:
    if version < (1, 3):
        return None
    kind = elements.text("ChecksumType").lower() if version >= (1, 4) else "sha1"
    if kind not in hashlib.algorithms_guaranteed or kind.startswith("shake"):
        raise _damaged(path, f"has checksums of the unknown type '{kind}'")
    return kind


def _check_own(path: Path, data: bytes, kind: str, checksum: str) -> None:
    digits = checksum.encode()
    digest = hashlib.new(kind, usedforsecurity=False)
    if len(digits) != 2 * digest.digest_size:
        raise _damaged(path, "has no checksum of its own")
    digest.update(data.replace(digits, b"0" * len(digits), 1))
    if digest.hexdigest() != checksum.lower():
        raise _damaged(path, "does not have the checksum that it says it has")


def _count(path: Path, elements: _Elements, name: str) -> int:
    text = elements.text(name)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise _damaged(path, f"has no {name}")
    return int(text)


def _ranges(path: Path, elements: _Elements, size: int, block: int) -> tuple[MappedRange, ...]:
    ranges: list[MappedRange] = []
    end = 0
    for attributes, text in elements.ranges:
        match = _RANGE.fullmatch(text)
        first = int(match[1]) if match else -1
        last = int(match[2] or match[1]) if match else -1
        offset, stop = first * block, min((last + 1) * block, size)
        if not end <= offset < stop or last * block >= size:
            raise _damaged(path, f"has a range '{text}' that cannot be")
        checksum = attributes.get("chksum") or attributes.get("sha1")
        ranges.append(MappedRange(offset, stop - offset, checksum.lower() if checksum else None))
        end = (last + 1) * block
    return tuple(ranges)


def _damaged(path: Path, what: str) -> FlashError:
    return FlashError(Fault.IMAGE_DAMAGED, f"the block map '{path.name}' {what}", _REMEDY)
