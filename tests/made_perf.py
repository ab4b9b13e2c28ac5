"""perf.data files and ELF files put together by hand: samples with call chains, what perf tells of
threads and mappings, build-ids.

Shares nothing with the decoder. The layout is that of ``perf.data-file-format.txt`` and
``include/uapi/linux/perf_event.h`` of the kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

KERNEL, USER = (1 << 64) - 128, (1 << 64) - 512
"""Words of a call chain that say whose addresses follow."""

_FORM = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16
"""A sample has: identifier, ip, thread, time, CPU, period, call chain."""

_BRANCHES, _REGISTERS, _STACK = 1 << 11, 1 << 12, 1 << 13
_CALL_STACK = 1 << 11
_X86_REGISTERS = 0b1_1111_1111
"""From AX to IP, which is the last of them."""

_HEAD, _ATTRIBUTE = 104, 112


@dataclass
class PerfData:
    """A file with the events cpu-clock (identifier 1) and page-faults (2)."""

    build_ids: dict[str, bytes] = field(default_factory=dict)
    records: list[bytes] = field(default_factory=list)
    user_parts: bool = False
    """Whether samples have branches and registers, as those of x86 have."""
    copies: bool = False
    """Whether they have registers and a copy of the stack (``--call-graph dwarf``)."""

    def sample(
        self,
        time: int,
        chain: Sequence[int],
        *,
        event: int = 1,
        thread: tuple[int, int] = (7, 7),
        cpu: int = 0,
        period: int = 1000,
        calls: Sequence[tuple[int, int]] = (),
        place: int | None = None,
        stack: bytes = b"",
    ) -> None:
        """A sample of an event; the chain begins with whose addresses follow. With ``user_parts``:
        the calls that the CPU recorded (whence, whither; the last first), and where the program
        was as its registers say. With ``copies``: that place, and the stack from 0x7000 on."""
        ip = chain[1]
        flags = 1 if chain[0] == KERNEL else 2
        body = struct.pack("<QQIIQIIQ", event, ip, *thread, time, cpu, 0, period)
        body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
        if self.user_parts:
            body += struct.pack("<Q", len(calls))
            body += b"".join(struct.pack("<QQQ", *call, 0) for call in calls)
            body += struct.pack("<Q", 0 if place is None else 2)
            body += b"" if place is None else struct.pack("<9Q", *range(8), place)
        if self.copies:
            body += struct.pack("<10Q", 2, *range(7), 0x7000, place or 0)
            body += struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", len(stack))
        self._record(9, body, flags)

    def made_code(self, start: int, size: int, name: str, *, removed: bool = False) -> None:
        """The kernel made code, or removed it."""
        body = struct.pack("<QIHH", start, size, 1, int(removed)) + _padded(name)
        self._record(17, body + _trailer(0, (0, 0)))

    def comm(
        self, time: int, thread: tuple[int, int], name: str, *, executed: bool = False
    ) -> None:
        """A thread got a name."""
        body = struct.pack("<II", *thread) + _padded(name)
        self._record(3, body + _trailer(time, thread), 1 << 13 if executed else 0)

    def fork(self, time: int, parent: tuple[int, int], child: tuple[int, int]) -> None:
        """A thread made another one."""
        numbers = (child[0], parent[0], child[1], parent[1])
        self._record(7, struct.pack("<IIIIQ", *numbers, time) + _trailer(time, parent))

    def map(self, time: int, process: int, start: int, size: int, offset: int, path: str) -> None:
        """A process mapped code of a file."""
        body = struct.pack("<IIQQQ", process, process, start, size, offset)
        body += struct.pack("<IIQQII", 8, 1, 99, 0, 5, 2) + _padded(path)
        self._record(10, body + _trailer(time, (process, process)), 2)

    def map_kernel(self, symbol: str, address: int) -> None:
        """Where the kernel is."""
        body = struct.pack("<iIQQQ", -1, 0, address, 1 << 24, address)
        self._record(1, body + _padded(f"[kernel.kallsyms]{symbol}") + _trailer(0, (0, 0)), 1)

    def _record(self, kind: int, body: bytes, flags: int = 0) -> None:
        self.records.append(struct.pack("<IHH", kind, flags, 8 + len(body)) + body)

    def save(self, path: Path) -> Path:
        """Writes the file."""
        data = b"".join(self.records)
        attributes = _HEAD + 16
        begin = attributes + 2 * (_ATTRIBUTE + 16)
        head = struct.pack(
            "<8sQQQQQQQQ", b"PERFILE2", _HEAD, _ATTRIBUTE + 16, attributes,
            2 * (_ATTRIBUTE + 16), begin, len(data), 0, 0,
        )  # fmt: skip
        head += struct.pack("<QQQQ", 1 << 2 | 1 << 6, 0, 0, 0) + struct.pack("<QQ", 1, 2)
        form = _FORM | (_BRANCHES | _REGISTERS if self.user_parts else 0)
        form |= _REGISTERS | _STACK if self.copies else 0
        for number, config in enumerate((0, 2)):
            attribute = struct.pack("<IIQQQQQ", 1, _ATTRIBUTE, config, 1, form, 0, 1 << 18)
            attribute += struct.pack("<IIQQQQ", 0, 0, 0, 0, _CALL_STACK, _X86_REGISTERS)
            head += attribute.ljust(_ATTRIBUTE, b"\0") + struct.pack("<QQ", _HEAD + 8 * number, 8)
        ids = b"".join(_build_id(path, own) for path, own in self.build_ids.items())
        machine = struct.pack("<I", 8) + b"x86_64\0\0"
        at = begin + len(data) + 32
        places = struct.pack("<QQQQ", at, len(ids), at + len(ids), len(machine))
        path.write_bytes(head + data + places + ids + machine)
        return path


def _padded(text: str) -> bytes:
    encoded = text.encode() + b"\0"
    return encoded.ljust(-(-len(encoded) // 8) * 8, b"\0")


def _trailer(time: int, thread: tuple[int, int]) -> bytes:
    return struct.pack("<IIQIIQ", *thread, time, 0, 0, 1)


def _build_id(path: str, build_id: bytes) -> bytes:
    body = struct.pack("<i", 0) + build_id.ljust(20, b"\0") + struct.pack("<I", len(build_id))
    body += _padded(path)
    return struct.pack("<IHH", 0, 1 << 15, 8 + len(body)) + body


def elf(
    functions: dict[str, tuple[int, int]],
    build_id: bytes,
    *,
    at: int,
    offset: int,
    stored: int = 0x1000,
    frames: bytes = b"",
) -> bytes:
    """An ELF file whose code lies at ``offset`` in it and at the address ``at``: functions are
    (address, bytes). A file of debugging symbols has less of the code ``stored``. ``frames``: its
    section .eh_frame."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in functions)
    symbols = bytes(24)
    for name, (address, size) in functions.items():
        place = names.index(b"\0" + name.encode() + b"\0") + 1
        symbols += struct.pack("<IBBHQQ", place, 0x12, 0, 1, address, size)
    note = struct.pack("<III4s", 4, len(build_id), 3, b"GNU\0") + build_id
    note_at = 64 + 2 * 56
    symbols_at = note_at + len(note)
    names_at = symbols_at + len(symbols)
    frames_at = names_at + len(names)
    titles = b"\0.eh_frame\0"
    sections_at = frames_at + len(frames) + len(titles)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, sections_at, 0, 64, 56, 2, 64, 6, 4
    )
    head += struct.pack("<IIQQQQQQ", 1, 5, offset, at, at, stored, 0x1000, 0x1000)
    head += struct.pack("<IIQQQQQQ", 4, 4, note_at, 0, 0, len(note), len(note), 4)
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, symbols_at, len(symbols), 2, 1, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    for title, kind, begin, size in (
        (1 if frames else 0, 1, frames_at, len(frames)),
        (0, 3, frames_at + len(frames), len(titles)),
        (0, 7, note_at, len(note)),
    ):
        sections += struct.pack("<IIQQQQIIQQ", title, kind, 2, begin, begin, size, 0, 0, 1, 0)
    return head + note + symbols + names + frames + titles + sections


def eh_frame(functions: dict[tuple[int, int], int | None]) -> bytes:
    """Rules of functions, which are (address, bytes): how many words each has pushed when its
    return address is looked for; None for one that nobody has called."""
    shared = struct.pack("<IB3sBBBBB", 0, 1, b"zR\0", 1, 0x78, 16, 1, 0)
    entries = _entry(shared + bytes([0x0C, 7, 8, 0x80 | 16, 1]))
    for (address, size), words in functions.items():
        body = struct.pack("<IQQB", len(entries) + 4, address, size, 0)
        rules = bytes([0x07, 16]) if words is None else bytes([0x0C, 7, 8 * (words + 1)])
        entries += _entry(body + rules)
    return entries + bytes(4)


def _entry(body: bytes) -> bytes:
    body = body.ljust(-(-len(body) // 8) * 8 + 4, b"\0")
    return struct.pack("<I", len(body)) + body
