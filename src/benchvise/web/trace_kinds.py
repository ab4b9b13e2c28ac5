"""Which files are traces, by how they begin: without opening them, as there may be thousands."""

from __future__ import annotations

import re
import stat
import zlib
from pathlib import Path

_HEADS = {b"\x17\x08\x44tracing": "trace.dat", b"PERFILE2": "perf.data"}

_TEXT_SUFFIXES = frozenset({"", ".txt", ".html", ".trace", ".systrace", ".ftrace", ".report"})
_JSON_SUFFIXES = frozenset({".json", ".trace"})

_LOOK = 1 << 14
"""Bytes of a file that are looked at, where its name says that it may be one of these."""

_GZIP = b"\x1f\x8b\x08"
_PACKET = 0x0A
"""How each packet of a Perfetto trace begins."""

_EVENT = re.compile(
    rb"^\s*[^\n]{1,40}-\d+\s+(\([\s\d-]+\)\s+)?\[\d+\]\s[^\n]*?\d+\.\d+:\s+[\w:.-]+", re.MULTILINE
)
_CHROME = re.compile(rb'"traceEvents"\s*:\s*\[|\A\s*\[\s*\{[^{}]*"ph"\s*:')


def is_trace(path: Path) -> bool:
    """Whether it begins as a trace of some format, or has the metadata of CTF."""
    return bool(trace_kind(path))


def trace_kind(path: Path) -> str:
    """The format, as ``trace.dat``, ``CTF`` or ``Perfetto``; empty for what is no trace.

    Texts, JSON and gzip files count as one only where the begin of the file shows it.
    """
    try:
        if path.is_dir():
            metadata = (path / "metadata").lstat()
            return "CTF" if stat.S_ISREG(metadata.st_mode) else ""
        if not path.is_file():
            return ""  # a pipe would have us wait for its other end
        with path.open("rb") as file:
            head = file.read(10)
            for begin, kind in _HEADS.items():
                if head.startswith(begin):
                    return kind
            suffix = path.suffix.lower()
            packed = head.startswith(_GZIP) and suffix == ".gz"
            if packed:
                suffix = Path(path.stem).suffix.lower()
            elif head[:1] != bytes([_PACKET]) and suffix not in _TEXT_SUFFIXES | _JSON_SUFFIXES:
                return ""
            head += file.read(_LOOK)
    except OSError:
        return ""
    return _kind_of(_unpacked(head) if packed else head, suffix)


def _kind_of(head: bytes, suffix: str) -> str:
    if _is_perfetto(head):
        return "Perfetto"
    if suffix in _JSON_SUFFIXES and _CHROME.search(head):
        return "Chrome JSON"
    # Systrace has a page of scripts before its events.
    text = suffix in _TEXT_SUFFIXES and b"\0" not in head
    return "ftrace text" if text and (_EVENT.search(head) or b"# tracer:" in head) else ""


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(head, _LOOK)
    except zlib.error:
        return b""


def _is_perfetto(head: bytes) -> bool:
    """Whether packets follow each other, each with its length."""
    at = packets = 0
    while at < len(head) and packets < 3:
        if head[at] != _PACKET:
            return False
        length = shift = 0
        at += 1
        while at < len(head) and shift < 35:
            byte = head[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        at += length
        packets += 1
    # A file of one packet ends where that does.
    return packets > 0 and (at <= len(head) or packets > 1)
