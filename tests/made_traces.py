"""trace.dat files put together from what tracefs gives: version 6, a CPU's pages in a row.

Shares nothing with the decoder. The layout is that of trace-cmd's ``trace-cmd.dat.v6.5.txt``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
LOST = 1 << 31
"""In a page's ``commit``: events were lost before it."""


@dataclass
class Recording:
    """What a trace.dat is made of; ``formats`` are texts by system, ``cpus`` pages of each CPU."""

    header_page: bytes
    header_event: bytes
    formats: Mapping[str, Sequence[bytes]]
    kallsyms: bytes = b""
    printk: bytes = b""
    cmdlines: bytes = b""
    cpus: list[list[bytes]] = field(default_factory=list)

    def save(self, path: Path) -> Path:
        """Writes the file."""
        head = bytearray(
            b"\x17\x08\x44tracing" + b"6\0" + b"\0" + b"\x08" + struct.pack("<I", PAGE)
        )
        head += b"header_page\0" + _sized("<Q", self.header_page)
        head += b"header_event\0" + _sized("<Q", self.header_event)
        head += _texts(self.formats.get("ftrace", ()))
        systems = {name: texts for name, texts in self.formats.items() if name != "ftrace"}
        head += struct.pack("<I", len(systems))
        for name, texts in systems.items():
            head += name.encode() + b"\0" + _texts(texts)
        head += _sized("<I", self.kallsyms) + _sized("<I", self.printk)
        head += _sized("<Q", self.cmdlines) + struct.pack("<I", len(self.cpus))
        # No options, and the kind of data.
        head += b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
        at = -(-(len(head) + 16 * len(self.cpus)) // PAGE) * PAGE
        data = b""
        for pages in self.cpus:
            joined = b"".join(pages)
            head += struct.pack("<QQ", at + len(data), len(joined))
            data += joined
        path.write_bytes(bytes(head) + bytes(at - len(head)) + data)
        return path


def _sized(form: str, text: bytes) -> bytes:
    return struct.pack(form, len(text)) + text


def _texts(texts: Sequence[bytes]) -> bytes:
    return struct.pack("<I", len(texts)) + b"".join(_sized("<Q", text) for text in texts)


def read(path: Path) -> Recording:
    """A recording of version 6, taken apart."""
    data = path.read_bytes()
    at = len(b"\x17\x08\x44tracing")
    assert data[at : at + 2] == b"6\0"
    at += 2 + 1 + 1 + 4

    def take(form: str) -> bytes:
        nonlocal at
        size = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
        at += size
        return data[at - size : at]

    def word() -> bytes:
        nonlocal at
        end = data.index(b"\0", at)
        text, at = data[at:end], end + 1
        return text

    def number(form: str = "<I") -> int:
        nonlocal at
        value = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
        return int(value)

    word()
    header_page = take("<Q")
    word()
    header_event = take("<Q")
    formats: dict[str, list[bytes]] = {"ftrace": [take("<Q") for _ in range(number())]}
    for _ in range(number()):
        name = word().decode()
        formats[name] = [take("<Q") for _ in range(number())]
    kallsyms, printk, cmdlines, count = take("<I"), take("<I"), take("<Q"), number()
    kind = data[at : at + 10]
    at += 10
    if kind == b"options  \0":
        while number("<H"):
            take("<I")
        at += 10
    recording = Recording(header_page, header_event, formats, kallsyms, printk, cmdlines)
    for _ in range(count):
        offset, size = struct.unpack_from("<QQ", data, at)
        at += 16
        pages = [data[begin : begin + PAGE] for begin in range(offset, offset + size, PAGE)]
        recording.cpus.append(pages)
    return recording
