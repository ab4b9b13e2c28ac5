"""Copying without writing what is zero, so that it takes no room on the disk."""

from __future__ import annotations

import os
from typing import BinaryIO

CHUNK = 1 << 20  # bytes that are read at a time
_BLOCK = 1 << 12


def is_zero(data: bytes) -> bool:
    """Whether there is nothing but zeros; by comparison, which is many times faster than any()."""
    return data == bytes(len(data))


def copy_sparse(source: int, out: BinaryIO) -> None:
    """From one data range to the next, where the file system tells them; holes stay holes."""
    size = os.fstat(source).st_size
    at = 0
    while at < size:
        try:
            begin = os.lseek(source, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            break
        end = os.lseek(source, begin, os.SEEK_HOLE)
        out.seek(begin)
        at = begin
        while at < end:
            data = os.pread(source, min(CHUNK, end - at), at)
            if not data:
                break
            write_sparse(out, data)
            at += len(data)
    out.seek(size)


def write_sparse(out: BinaryIO, data: bytes) -> None:
    """Writes what is not zero; the position moves on over all of it."""
    if is_zero(data):
        out.seek(len(data), os.SEEK_CUR)
        return
    for begin in range(0, len(data), _BLOCK):
        block = data[begin : begin + _BLOCK]
        if is_zero(block):
            out.seek(len(block), os.SEEK_CUR)
        else:
            out.write(block)
