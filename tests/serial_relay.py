"""A serial line that lies: two ptys with a relay between them that plays one fault.

The relay stands for a serial-to-TCP module or a radio between two ports. It knows no baud rate.
"""

from __future__ import annotations

import contextlib
import os
import pty
import random
import select
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from waiting import PATIENCE

XON, XOFF = 0x11, 0x13


@dataclass
class State:
    """What a fault may look at: which way, chance, whether the other way is busy, who waits."""

    chance: random.Random
    busy: list[float] = field(default_factory=lambda: [0.0, 0.0])
    halted: list[bool] = field(default_factory=lambda: [False, False])
    held: list[bytes] = field(default_factory=lambda: [b"", b""])
    filled: int = 0


Fault = Callable[[bytes, int, State], bytes]


def honest(data: bytes, _way: int, _state: State) -> bytes:
    return data


def drops_flow_bytes(data: bytes, way: int, state: State) -> bytes:
    """Takes XON and XOFF out, and halts for ever on an XOFF that no XON follows."""
    out = bytearray()
    for place, byte in enumerate(data):
        if byte == XON:
            state.halted[way] = False
        elif byte == XOFF:
            # A pair comes in one go; a lone one is the module's command to be silent.
            state.halted[way] = XON not in data[place + 1 : place + 3]
        elif not state.halted[way]:
            out.append(byte)
    return bytes(out)


def halts_for_ever(data: bytes, way: int, state: State) -> bytes:
    """As above, and not even XON brings it on again after a lone XOFF."""
    if state.halted[way]:
        return b""
    return drops_flow_bytes(data, way, state)


def duplicates(data: bytes, _way: int, state: State) -> bytes:
    """Doubles a byte now and then, as a module does that CTS stopped in the middle of one."""
    out = bytearray()
    for byte in data:
        out.append(byte)
        if state.chance.random() < 0.002:
            out.append(byte)
    return bytes(out)


def loses_while_receiving(data: bytes, way: int, state: State) -> bytes:
    """Loses or scrambles bytes of one way while something comes the other way."""
    if not state.busy[1 - way]:
        return data
    out = bytearray()
    for byte in data:
        luck = state.chance.random()
        if luck < 0.01:
            continue
        out.append(byte ^ 0x40 if luck < 0.015 else byte)
    return bytes(out)


def overruns(data: bytes, _way: int, state: State) -> bytes:
    """A buffer of 512 bytes that is emptied at leisure: the rest of a long burst falls off."""
    kept = data[:512]
    state.filled += len(data) - len(kept)
    return kept


def garbles(data: bytes, _way: int, _state: State) -> bytes:
    """What a wrong rate makes of bytes: neighbouring bits run into each other."""
    return bytes((byte << 1 & 0xFF) ^ (byte >> 3) | 0x80 for byte in data)


def strips_the_high_bit(data: bytes, _way: int, _state: State) -> bytes:
    return bytes(byte & 0x7F for byte in data)


def translates_line_ends(data: bytes, _way: int, _state: State) -> bytes:
    return data.replace(b"\r", b"\n")


def swaps_blocks(data: bytes, way: int, state: State) -> bytes:
    """Now and then a block waits until the next one has passed."""
    if state.held[way]:
        held, state.held[way] = state.held[way], b""
        return data + held
    if len(data) >= 64 and state.chance.random() < 0.3:
        state.held[way] = data[32:64]
        return data[:32] + data[64:]
    return data


def dead(_data: bytes, _way: int, _state: State) -> bytes:
    return b""


def dead_there(data: bytes, way: int, _state: State) -> bytes:
    return data if way else b""


def dead_back(data: bytes, way: int, _state: State) -> bytes:
    return b"" if way else data


def loses_zeros(data: bytes, _way: int, _state: State) -> bytes:
    return data.replace(b"\0", b"")


def flips_a_bit(data: bytes, _way: int, state: State) -> bytes:
    return bytes(byte ^ 0x10 if state.chance.random() < 0.003 else byte for byte in data)


def swaps_neighbours(data: bytes, _way: int, state: State) -> bytes:
    out = bytearray(data)
    for place in range(0, len(out) - 1, 2):
        if state.chance.random() < 0.003:
            out[place], out[place + 1] = out[place + 1], out[place]
    return bytes(out)


def replies(data: bytes, _way: int, _state: State) -> bytes:
    """A module that says OK to each line."""
    return b"OK\r\n" * data.count(b"\r")


def replies_cut_short(data: bytes, _way: int, state: State) -> bytes:
    """As above; each third reply loses its last byte or all but its first, in turn."""
    out = b""
    for _ in range(data.count(b"\r")):
        state.filled += 1
        whole = b"OK\r\n"
        cut = {1: whole[:3], 4: whole[:1]}.get(state.filled % 6, whole)
        out += cut
    return out


@contextmanager
def line(fault: Fault = honest, seed: int = 1, block: int = 1024) -> Iterator[tuple[str, str]]:
    """The paths of two ports whose line has this fault."""
    ends = [pty.openpty() for _ in range(2)]
    for _, port in ends:
        tty.setraw(port)
    paths = [os.ttyname(port) for _, port in ends]
    masters = [master for master, _ in ends]
    state = State(random.Random(seed))
    stop = threading.Event()
    threads = [
        threading.Thread(target=_relay, args=(masters, way, fault, state, stop, block), daemon=True)
        for way in range(2)
    ]
    for thread in threads:
        thread.start()
    try:
        yield paths[0], paths[1]
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        for master, port in ends:
            os.close(master)
            os.close(port)


@contextmanager
def loop(fault: Fault = honest, seed: int = 1) -> Iterator[str]:
    """The path of a port whose output comes back to it, by way of the fault."""
    master, port = pty.openpty()
    tty.setraw(port)
    state = State(random.Random(seed))
    stop = threading.Event()
    thread = threading.Thread(
        target=_relay, args=([master, master], 0, fault, state, stop, 1024), daemon=True
    )
    thread.start()
    try:
        yield os.ttyname(port)
    finally:
        stop.set()
        thread.join(PATIENCE)
        os.close(master)
        os.close(port)


def _relay(
    masters: list[int], way: int, fault: Fault, state: State, stop: threading.Event, block: int
) -> None:
    source, sink = masters[way], masters[1 - way]
    while not stop.is_set():
        ready, _, _ = select.select([source], [], [], 0.02)
        state.busy[way] = float(bool(ready))
        if not ready:
            if state.held[way]:
                _write(sink, state.held[way], stop)
                state.held[way] = b""
            continue
        with contextlib.suppress(OSError):
            data = os.read(source, block)
            _write(sink, fault(data, way, state), stop)


def _write(sink: int, data: bytes, stop: threading.Event) -> None:
    while data and not stop.is_set():
        _, ready, _ = select.select([], [sink], [], 0.05)
        if ready:
            data = data[os.write(sink, data[:512]) :]
