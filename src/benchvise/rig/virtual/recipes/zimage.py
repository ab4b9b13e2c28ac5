"""A kernel for 32-bit ARM that need not unpack itself, which takes an emulator many seconds.

A ``zImage`` is a program that unpacks the kernel to its place and starts it. Here a program of a
few instructions takes its place that only copies a kernel which is not packed. Bootloaders do not
see the difference: the header is that which the kernel's ``booting`` document describes.
"""

from __future__ import annotations

import lzma
import struct

from benchvise.rig.images import ImageError

_MAGIC = 0x016F2818
_XZ = b"\xfd7zXZ\0"
_CODE_AT = 0x30
_NOTHING = 0xE1A00000  # mov r0, r0

# Registers 0 to 2 are what the bootloader tells the kernel.
_COPY = (
    0xE28F3024,  #       add   r3, pc, #36        the kernel as it lies here
    0xE59F4018,  #       ldr   r4, [pc, #24]      where it belongs
    0xE59F5018,  #       ldr   r5, [pc, #24]      and where that ends
    0xE1A09004,  #       mov   r9, r4
    0xE8B305C0,  # more: ldmia r3!, {r6-r8, r10}
    0xE8A405C0,  #       stmia r4!, {r6-r8, r10}
    0xE1540005,  #       cmp   r4, r5
    0x3AFFFFFB,  #       blo   more
    0xE1A0F009,  #       mov   pc, r9
)


def unpacked(image: bytes, place: int) -> bytes:
    """The ``zImage`` with its kernel not compressed, to be copied to ``place`` and started there.

    ``place`` is the beginning of the memory plus the kernel's own offset (``textofs`` in its
    Makefile). ImageError when there is no kernel compressed by xz in it.
    """
    kernel = b""
    at = image.find(_XZ)
    while at >= 0 and not kernel:
        try:
            kernel = lzma.LZMADecompressor().decompress(image[at:])
        except lzma.LZMAError:  # the word alone, within the program that unpacks
            at = image.find(_XZ, at + 1)
    if not kernel:
        raise ImageError(
            "the kernel for 32-bit ARM is not compressed by xz any more",
            "Debian has changed its packages: please report it",
        )
    kernel += bytes(-len(kernel) % 16)
    size = _CODE_AT + 4 * (len(_COPY) + 2) + len(kernel)
    head = struct.pack("<9I3I", *[_NOTHING] * 8, _branch(0x20, _CODE_AT), _MAGIC, 0, size)
    addresses = struct.pack(f"<{len(_COPY) + 2}I", *_COPY, place, place + len(kernel))
    return head + addresses + kernel


def _branch(here: int, there: int) -> int:
    """The instruction that goes from one place to another."""
    return 0xEA000000 | ((there - here - 8) // 4 & 0xFFFFFF)
