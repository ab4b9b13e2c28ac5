"""What kernel an image file holds: format, architecture, version.

Formats after Documentation/arch of Linux: arm64/booting, riscv/boot-image-header, x86/boot; the
zImage of arm (arch/arm/boot/compressed/head.S); U-Boot's uImage (include/image.h) and FIT.
"""

from __future__ import annotations

import bz2
import lzma
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from benchvise.rig.images.elf import ARCHITECTURES

_MOST = 256 << 20  # bytes of an unpacked kernel
_MOST_WRAPPERS = 3  # such as gzip in uImage
_VERSION = re.compile(rb"Linux version (\d[!-~]{0,127}) ")
_NAMED = re.compile(r"(?:vmlinu[xz]|zImage|uImage|Image|kernel)-(\d+\.\d[\w.+~-]*)$")

_UIMAGE_ARCH = {2: "arm", 3: "i386", 22: "aarch64", 24: "x86_64", 26: "riscv64"}

RUNS = {
    "aarch64": {"aarch64", "arm"},
    "x86_64": {"x86_64", "i386"},
    "riscv64": {"riscv64"},
    "arm": {"arm"},
    "i386": {"i386"},
}
"""The programs that a kernel of an architecture can run."""


@dataclass(frozen=True, slots=True)
class KernelImage:
    """``form`` is Image, zImage, bzImage, uImage, FIT or ELF, with ``.gz`` where it is packed.

    ``arch`` as uname says it (``arm`` for all 32-bit ARM) and ``version`` are empty when unknown;
    ``form`` is empty when it is no kernel.
    """

    form: str
    arch: str = ""
    version: str = ""


def identify(data: bytes, name: str = "") -> KernelImage:
    """What kernel these bytes are; the file's ``name`` helps where the version is packed away."""
    kernel = _identify(data)
    if kernel.form and not kernel.version:
        named = _NAMED.search(name)
        return KernelImage(kernel.form, kernel.arch, named[1] if named else "")
    return kernel


def _identify(data: bytes, wrapped: int = 0) -> KernelImage:
    if wrapped > _MOST_WRAPPERS:
        return KernelImage("")
    if data[:2] == b"\x1f\x8b":
        inner = _identify(_unzipped(data), wrapped + 1)
        return (
            KernelImage(inner.form + ".gz", inner.arch, inner.version)
            if inner.form
            else KernelImage("")
        )
    if data[:4] == b"MZ\0\0" and data[4:8] == b"zimg" and len(data) > 64:
        return _efi_zboot(data, wrapped)
    if data[56:60] == b"ARM\x64":
        return KernelImage("Image", "aarch64", _version(data))
    if data[56:60] == b"RSC\x05":
        return KernelImage("Image", "riscv64", _version(data))
    if data[0x24:0x28] == b"\x18\x28\x6f\x01":
        return KernelImage("zImage", "arm", _packed_version(data))
    if data[0x202:0x206] == b"HdrS" and len(data) > 0x240:
        at = struct.unpack_from("<H", data, 0x20E)[0] + 0x200
        banner = data[at : at + 128].split(b"\0")[0].split()
        long_mode = struct.unpack_from("<H", data, 0x236)[0] & 1
        version = banner[0].decode(errors="replace") if banner else ""
        return KernelImage("bzImage", "x86_64" if long_mode else "i386", version)
    if data[:4] == b"\x27\x05\x19\x56" and len(data) > 64:
        return _uimage(data, wrapped)
    if data[:4] == b"\xd0\x0d\xfe\xed" and b"kernel" in data[-65536:]:
        return KernelImage("FIT", _fit_arch(data), _version(data) or _packed_version(data))
    if data[:4] == b"\x7fELF" and len(data) > 20 and _version(data):
        machine = struct.unpack_from("<H", data, 18)[0]
        return KernelImage("ELF", ARCHITECTURES.get(machine, ""), _version(data))
    return KernelImage("")


def _uimage(data: bytes, wrapped: int) -> KernelImage:
    kind = data[30]
    if kind not in (2, 4):  # a kernel, alone or with other images
        return KernelImage("")
    inner = _identify(data[64:], wrapped + 1)
    name = re.search(rb"Linux-(\d[!-~]+)", data[32:64])
    version = inner.version or (name[1].decode() if name else "")
    return KernelImage(
        "uImage", _UIMAGE_ARCH.get(data[29], ""), version or _packed_version(data[64:])
    )


def _efi_zboot(data: bytes, wrapped: int) -> KernelImage:
    """The compressed EFI form of arm64 and riscv (drivers/firmware/efi/libstub/zboot-header.S)."""
    begin, size = struct.unpack_from("<II", data, 8)
    inner = _identify(_unpacked(data[begin : begin + size]), wrapped + 1)
    return KernelImage("EFI zboot", inner.arch, inner.version)


def _fit_arch(data: bytes) -> str:
    for name, arch in ((b"arm64", "aarch64"), (b"riscv", "riscv64"), (b"arm", "arm")):
        if b"\0" + name + b"\0" in data:
            return arch
    return ""


def _version(data: bytes) -> str:
    match = _VERSION.search(data)
    return match[1].decode() if match else ""


_CONFIG_BEGIN, _CONFIG_END = b"IKCFG_ST", b"IKCFG_ED"
_MAGICS = (b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\x5d\0\0", b"BZh", b"\x28\xb5\x2f\xfd")


def _packed_version(data: bytes) -> str:
    """The version inside of an image that unpacks itself; the packed part begins somewhere."""
    return next(filter(None, map(_version, _contents(data))), "")


def embedded_config(data: bytes) -> bytes:
    """The configuration that a kernel was built with, packed by gzip as it lies in its image
    (CONFIG_IKCONFIG, see kernel/configs.c); empty when there is none."""
    for content in _contents(data):
        begin, end = content.find(_CONFIG_BEGIN), content.find(_CONFIG_END)
        if 0 <= begin < end:
            return content[begin + len(_CONFIG_BEGIN) : end]
    return b""


def _contents(data: bytes) -> Iterator[bytes]:
    """An image, and then what can be unpacked of it, wherever that begins."""
    yield data
    tried = 0
    for magic in _MAGICS:
        at = data.find(magic)
        while at >= 0 and tried < 64:  # the magic of LZMA is short and occurs by chance
            tried += 1
            yield _unpacked(data[at:])
            at = data.find(magic, at + 1)


def _unpacked(data: bytes) -> bytes:
    """As much as can be unpacked of what begins here; nothing if it is no known format."""
    from benchvise.rig import zstd  # of the extra `rig`

    try:
        if data[:2] == b"\x1f\x8b":
            return _unzipped(data)
        if data[:3] == b"BZh":
            return bz2.BZ2Decompressor().decompress(data, _MOST)
        if data[:4] == b"\x28\xb5\x2f\xfd":
            return zstd.ZstdDecompressor().decompress(data, _MOST)
        if data[:1] == b"\x5d":
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_MOST)
        else:
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST)
        return unpacker.decompress(data, _MOST)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zstd.ZstdError):
        return b""


def _unzipped(data: bytes) -> bytes:
    """All of it, or what comes before the damage."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    pieces: list[bytes] = []
    size = 0
    try:
        while data and size < _MOST and not unpacker.eof:
            piece = unpacker.decompress(data, 1 << 20)
            pieces.append(piece)
            size += len(piece)
            data = unpacker.unconsumed_tail
            if not piece and not data:
                break
    except zlib.error:
        pass
    return b"".join(pieces)
