"""Images: files that are written to a card, known by the SHA-256 of the file as it lies there.

Where an image came from is taken from what its build system left beside it (``beside``). Yocto
(OpenEmbedded) puts its list of packages there (``.manifest``) and the variables of its build
(``.testdata.json``); others a ``.buildinfo`` or a file ``buildinfo``. All of it is text of unknown
origin, and bounded.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.rig.card import decompress
from benchvise.rig.card.bmap import Bmap, bmap_candidates, read_bmap
from benchvise.rig.faults import FlashError
from benchvise.text import printable

# Archives and compressions that look like an image to whoever has only its name.
_OTHERS = (".zip", ".7z", ".rar", ".tar", ".tgz", ".tbz2", ".txz", ".lzo", ".lz4", ".lzma", ".br")

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
    name = printable(str(path))
    if path.suffix.lower() in _OTHERS or ".tar" in path.suffixes[-2:]:
        raise UsageError(
            f"'{name}' is not an image that can be written ({path.suffix})",
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
            f"the image '{name}' cannot be read ({error.strerror})", "check the file's name"
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

_READ_LIMIT = 16 << 20
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
            data = file.read(_READ_LIMIT + 1)
    except OSError:
        return
    name = printable(path.name)
    if len(data) > _READ_LIMIT:
        files[kind] = FileBeside(name, na=f"larger than {_READ_LIMIT >> 20} MiB")
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
