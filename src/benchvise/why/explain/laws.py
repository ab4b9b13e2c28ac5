"""Plain arithmetic that mechanisms predict by: each a law with units, and nothing fitted."""

from __future__ import annotations

BITS_OF_A_CHARACTER = 10
"""Start, eight of data, stop."""


def serial_seconds(characters: float, baud: float) -> float:
    """Seconds that characters take on a serial line: ten bits each."""
    return characters * BITS_OF_A_CHARACTER / baud


def tlb_reach(entries: int, page: int) -> int:
    """Bytes that a TLB of so many entries translates, with pages of ``page`` bytes."""
    return entries * page


def ramp_factor(burst: float, ramp: float, low: float, high: float) -> float:
    """How much longer a burst takes when the clock stays ``low`` for ``ramp`` seconds and is
    ``high`` from then on; ``burst`` is its length in seconds at the high clock."""
    done = ramp * low / high  # seconds of the burst's work that the ramp did
    return high / low if done >= burst else (ramp + burst - done) / burst


def window_limit(window: float, round_trip: float) -> float:
    """Most bytes a second with ``window`` bytes under way and a round trip of so many seconds."""
    return window / round_trip


def quota_share(quota: str, cpus: float) -> float:
    """CPUs that a ``cpu.max`` of ``"50000 100000"`` or ``"max 100000"`` leaves, of ``cpus``."""
    words = quota.split()
    if not words or words[0] == "max":
        return cpus
    period = float(words[1]) if len(words) > 1 else 100_000.0
    return min(float(words[0]) / period, cpus)


def pieces_limit(piece: float, latency: float, bandwidth: float) -> float:
    """Bytes a second of a reader that waits for each piece before it asks for the next: ``piece``
    bytes, ``latency`` in s, ``bandwidth`` of the device in B/s."""
    return piece / (latency + piece / bandwidth)


def switches_per_byte(capacity: float) -> float:
    """Context switches for a byte through a pipe of ``capacity`` bytes: two each time it fills."""
    return 2 / capacity


def queue_seconds(packets: float, size: float, bits_per_second: float) -> float:
    """Seconds that a full queue of packets of ``size`` bytes takes to be sent."""
    return packets * size * 8 / bits_per_second


def bus_bytes_per_second(clock: float, width: int, double: bool) -> float:
    """Bytes a second that a parallel bus carries, before any overhead."""
    return clock * width * (2 if double else 1) / 8


def size(value: float) -> str:
    """Bytes as a person reads them."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 1 << power:
            return f"{value / (1 << power):.4g} {unit}"
    return f"{value:.4g} B"
