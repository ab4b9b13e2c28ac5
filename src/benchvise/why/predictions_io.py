"""What mechanisms of storage, network, pipes and serial lines predict; see ``predictions``."""

from __future__ import annotations

from collections.abc import Mapping

from benchvise.why.card_case import Case, Prediction, number, proportional
from benchvise.why.laws import (
    bus_bytes_per_second,
    queue_seconds,
    size,
    switches_per_byte,
    window_limit,
)
from benchvise.why.model import Side

DEFAULT_PIPE = 65536

# -- storage ---------------------------------------------------------------------------------------


def read_ahead(case: Case) -> Prediction:
    """What larger pieces gain at most when each waits for the device's latency."""
    entry = "storage.queue/root_disk read_ahead_kb"
    ahead = {side: case.number(side, "block.read_ahead_kb", entry) for side in Side}
    here, there = ahead[Side.BAD], ahead[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the read-aheads are not known")
    words = f"{here:g} KiB are read ahead here, {there:g} KiB there"
    reads, busy = case.without.get("disk.read_ios"), case.without.get("disk.busy_ms")
    block = case.size("block") or 4096
    pieces = {side: max(kib * 1024, block) for side, kib in ahead.items() if kib is not None}
    ratio = pieces[Side.GOOD] / pieces[Side.BAD]
    if reads and busy:
        one = busy / reads * 1e-3
        most = pieces[Side.BAD] / one
        words += f"; a read took {one * 1e3:.2g} ms, which bounds {size(pieces[Side.BAD])} pieces"
        words += f" that are waited for to {most / 1e6:.3g} MB/s"
    return Prediction(words, max(ratio, 1.0), "at most")


def dirty_limit(case: Case) -> Prediction:
    """Whether what is written stays below each side's limit."""
    written = case.size("size", "cap")
    limits = {side: _dirty_bytes(case, side) for side in Side}
    here, there = limits[Side.BAD], limits[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the limits are not known")
    words = f"writers are held up from {size(here)} on here, from {size(there)} on there"
    if written is None:
        return Prediction(f"{words}; how much is written at a time is not known")
    fits = [written <= limit for limit in (here, there)]
    tail = {
        (True, True): "below both: neither side should wait for the device",
        (False, False): "above both: both sides should wait for the device",
        (True, False): "below the limit here, above it there",
        (False, True): "above the limit here, below it there: memory against device",
    }[fits[0], fits[1]]
    return Prediction(f"{words}; {size(written)} are written, {tail}", 1.0 if all(fits) else None)


def _dirty_bytes(case: Case, side: Side) -> float | None:
    """The limit in bytes: given as such, or as a ratio of available memory."""
    told = case.number(side, "vm.dirty_bytes", "storage.dirty_limits/dirty_bytes")
    if told:
        return told
    ratio = case.number(side, "vm.dirty_ratio", "storage.dirty_limits/dirty_ratio")
    memory = case.entry(side, "memory.size/use")
    available = number(memory.get("MemAvailable")) if isinstance(memory, Mapping) else None
    return None if ratio is None or available is None else ratio / 100 * available


def mmc_bus(case: Case) -> Prediction:
    """What the two buses carry."""
    rates = {side: _mmc_rate(case.entry(side, "mmc.bus/root_disk host ios")) for side in Side}
    words = "the bus carries at most {} MB/s here and {} MB/s there"
    return proportional(rates, words, 1e-6)


def _mmc_rate(ios: object) -> float | None:
    if not isinstance(ios, Mapping):
        return None
    clock = number(ios.get("actual clock")) or number(ios.get("clock"))
    width = str(ios.get("bus width", ""))
    bits = next((bits for bits in (8, 4, 1) if f"({bits} bit" in width), None)
    timing = str(ios.get("timing spec", "")).lower()
    if not clock or bits is None:
        return None
    return bus_bytes_per_second(clock, bits, "ddr" in timing or "hs400" in timing)


# -- network ---------------------------------------------------------------------------------------


def bandwidth_delay(case: Case) -> Prediction:
    """Window over round trip on each side, and the line."""
    windows = {side: _window(case, side) for side in Side}
    here, there = windows[Side.BAD], windows[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the buffers are not known")
    words = f"at most {size(here)} may be under way here, {size(there)} there"
    trip = (case.repaired.get("rtt_ns") or case.without.get("rtt_ns") or 0) * 1e-9
    if not trip:
        return Prediction(f"{words}; the round trip could not be counted")
    line = (number(case.here("net.link/default_nic speed")) or -1) * 1e6 / 8
    limits = [window_limit(window, trip) for window in (here, there)]
    words += f"; with a round trip of {trip * 1e3:.3g} ms that is {limits[0] / 1e6:.3g} and "
    words += f"{limits[1] / 1e6:.3g} MB/s"
    if line > 0:
        words += f", on a line of {line / 1e6:.3g} MB/s"
        limits = [min(limit, line) for limit in limits]
    return Prediction(words, limits[1] / limits[0], "" if line > 0 else "at most")


def _window(case: Case, side: Side) -> float | None:
    """The smaller of the largest receive and send buffers; a buffer of a fixed size is bounded by
    what a program may ask for. Half of a receive buffer is for the kernel's own accounting."""
    asked = case.size("buffer")
    found = []
    for way, kept in (("r", 0.5), ("w", 1.0)):
        vector = case.setting(side, f"net.tcp_{way}mem") or case.entry(
            side, f"net.tcp/tcp_{way}mem"
        )
        words = vector.split() if isinstance(vector, str) else vector
        most = number(words[-1]) if isinstance(words, list) and words else None
        if asked:
            most = case.number(side, f"net.{way}mem_max", f"net.tcp/{way}mem_max")
            most = None if most is None else min(most, asked)
        if most is not None:
            found.append(most * kept)
    scaling = case.number(side, "net.tcp_window_scaling", "net.tcp/tcp_window_scaling")
    if scaling == 0:
        found.append(65535.0)
    return min(found, default=None)


def queue_delay(case: Case) -> Prediction:
    """The delay of a full queue on each side."""
    speed = (number(case.here("net.link/default_nic speed")) or -1) * 1e6
    mtu = number(case.here("net.link/default_nic mtu")) or 1500
    lengths = {
        side: case.number(side, "net.tx_queue_len", "net.link/default_nic tx_queue_len")
        for side in Side
    }
    here, there = lengths[Side.BAD], lengths[Side.GOOD]
    if here is None or there is None or speed <= 0:
        return Prediction("not available: the queue's length or the line's speed is not known")
    told = [queue_seconds(length, mtu, speed) * 1e3 for length in (here, there)]
    return Prediction(f"a full queue delays by {told[0]:.3g} ms here and by {told[1]:.3g} ms there")


def packets(case: Case) -> Prediction:
    """How many packets the same bytes take."""
    mtus = {side: case.number(side, "net.mtu", "net.link/default_nic mtu") for side in Side}
    here, there = mtus[Side.BAD], mtus[Side.GOOD]
    if not here or not there:
        return Prediction("not available: the largest packets are not known")
    counts = [1e6 / (mtu - 40) for mtu in (here, there)]
    return Prediction(
        f"a megabyte takes {counts[0]:.0f} packets here and {counts[1]:.0f} there, where the "
        "hardware does not cut them",
        counts[0] / counts[1],
        "at most",
    )


def coalescing(case: Case) -> Prediction:
    """How long each side's hardware waits."""
    waits = {}
    for side in Side:
        table = case.entry(side, "net.offloads/default_nic coalescing")
        waits[side] = number(table.get("rx_usecs")) if isinstance(table, Mapping) else None
    here, there = waits[Side.BAD], waits[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: how long the interface waits is not known")
    return Prediction(
        f"a packet may wait {here:g} us here and {there:g} us there before it is told: a round "
        f"trip differs by at most {abs(here - there):g} us for each end"
    )


def link_speed(case: Case) -> Prediction:
    """What the lines differ by."""
    speeds = {side: number(case.entry(side, "net.link/default_nic speed")) for side in Side}
    speeds = {side: value if value and value > 0 else None for side, value in speeds.items()}
    return proportional(speeds, "the line has {} Mb/s here and {} Mb/s there", 1)


# -- userland --------------------------------------------------------------------------------------


def pipe_capacity(case: Case) -> Prediction:
    """Switches for the same bytes. Under the soft limit a new pipe has one page (later two)."""
    capacities = {side: _pipe_bytes(case, side) for side in Side}
    here, there = capacities[Side.BAD], capacities[Side.GOOD]
    rates = [switches_per_byte(capacity) * 1e9 for capacity in (here, there)]
    return Prediction(
        f"a pipe may hold {size(here)} here and {size(there)} there: a gigabyte takes "
        f"{rates[0]:.0f} switches or fewer here, {rates[1]:.0f} there",
        max(there / here, 1.0),
        "at most",
    )


def _pipe_bytes(case: Case, side: Side) -> float:
    asked = float(case.size("pipe") or DEFAULT_PIPE)
    most = case.number(side, "fs.pipe_max_size", "system.limits/pipe-max-size")
    soft = case.number(side, "fs.pipe_user_pages_soft", "system.limits/pipe-user-pages-soft")
    page = number(case.here("memory.page_size/bytes")) or 4096.0
    if soft and soft * page < DEFAULT_PIPE:
        return 2 * page
    return min(asked, most) if most and asked > DEFAULT_PIPE else asked


def serial_batching(case: Case) -> Prediction:
    """How long a short answer waits."""
    waits = {
        side: case.number(side, "serial.usb_latency_timer", "serial.settings/* latency_timer")
        for side in Side
    }
    here, there = waits[Side.BAD], waits[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the adapter's timer is not known")
    return Prediction(f"a short answer may wait {here:g} ms here and {there:g} ms there")
