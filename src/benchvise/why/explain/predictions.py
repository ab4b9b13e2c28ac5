"""What a mechanism predicts, computed from the case: in words, and where possible as a factor.

One function a prediction reads what it needs from the two snapshots, the metric and what was
counted, and puts it into one of the laws at the end. Nothing is fitted to the measured effect:
``mechanism`` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from benchvise.quantities import format_size, parse_cpus
from benchvise.why.explain.cause import ConfirmedCause, Prediction, number, proportional
from benchvise.why.model import Side

SERIAL_CHARACTERS = 38
"""Of a short message with its time stamp."""

DEFAULT_BAUD = 115200

# -- memory ----------------------------------------------------------------------------------------


def zero_page(case: ConfirmedCause) -> Prediction:
    """In which cache the page of zeros lies, on both sides."""
    sizes = {side: _zero_page_bytes(case, side) for side in Side}
    caches = dict(_data_caches(case))
    sentences = []
    for side in (Side.BAD, Side.GOOD):
        mode, page = case.values_of(side), sizes[side]
        where = next(
            (f"fits the {n} of {format_size(s)}" for n, s in caches.items() if page <= s), ""
        )
        where = where or ("fits no cache" if caches else "the caches are not known")
        sentences.append(f"with {mode} the page of zeros has {format_size(page)} and {where}")
    sentence = "; ".join(sentences)
    if sizes[Side.GOOD] == sizes[Side.BAD]:
        sentence += "; both sides read the same page, as far as the settings tell"
    return Prediction(sentence + ". Which side wins is not predicted: TLB misses weigh against it")


def _zero_page_bytes(case: ConfirmedCause, side: Side) -> int:
    """That of what the program reads; with ``madvise`` it is taken not to have asked."""
    mode = case.setting(side, "memory.thp") or case.entry(side, "memory.thp/mode")
    allowed = case.number(side, "memory.huge_zero_page", "memory.huge_zero_page/use_zero_page")
    huge = number(case.entry(side, "memory.thp_details/hpage_pmd_size")) or 2 << 20
    small = number(case.entry(side, "memory.page_size/bytes")) or 4096
    return int(huge if mode == "always" and allowed != 0 else small)


def _data_caches(case: ConfirmedCause) -> Iterator[tuple[str, int]]:
    """Data and unified caches of the first CPU that tells, the smallest first."""
    for index in range(6):
        prefix = f"cpu.caches/cpu0 index{index}"
        kind, level = case.here(f"{prefix} type"), number(case.here(f"{prefix} level"))
        bytes_ = number(case.here(f"{prefix} size"))
        if kind in ("Data", "Unified") and level and bytes_:
            yield f"L{level:.0f}", int(bytes_)


# Entries of the second TLB (the only one that counts for its reach) by the part number of Arm's
# cores, from their technical reference manuals.
_TLB_ENTRIES = {
    **dict.fromkeys(("0xd05", "0xd07", "0xd08", "0xd09", "0xd0a"), 1024),
    **dict.fromkeys(("0xc0f", "0xd03", "0xd04"), 512),
    "0xb76": 64,
    "0xc07": 256,
    "0xc09": 128,
    "0xd0b": 1280,
}


def tlb(case: ConfirmedCause) -> Prediction:
    """How far the TLB reaches with small and with huge pages, against the working set."""
    small = int(number(case.here("memory.page_size/bytes")) or 4096)
    huge = int(number(case.here("memory.thp_details/hpage_pmd_size")) or 2 << 20)
    counted = max(case.without.get("rss_bytes", 0), case.without.get("zero_page_bytes", 0))
    used = case.size("size", "span", "rss") or counted or None
    entries = _tlb_entries(case)
    if entries is None:
        sentence = f"a huge page needs one TLB entry instead of {huge // small}"
        return Prediction(f"{sentence}; this CPU does not tell how many it has")
    near, far = tlb_reach(entries, small), tlb_reach(entries, huge)
    sentence = (
        f"{entries} TLB entries reach {format_size(near)} with small pages, "
        f"{format_size(far)} with huge ones"
    )
    if used is None:
        return Prediction(f"{sentence}; the working set is not known")
    sentence += f"; the working set has {format_size(used)}"
    if used <= near:
        return Prediction(
            f"{sentence}: within reach either way, so TLB misses do not explain it", 1.0
        )
    return Prediction(
        f"{sentence}: beyond the reach of small pages, so they miss, huge ones do not"
    )


def _tlb_entries(case: ConfirmedCause) -> int | None:
    kinds = case.here("cpu.kinds/kinds")
    for kind in kinds.values() if isinstance(kinds, Mapping) else ():
        fields = kind if isinstance(kind, Mapping) else {}
        if fields.get("CPU part") in _TLB_ENTRIES:
            return _TLB_ENTRIES[str(fields["CPU part"])]
        if (entries := number(fields.get("TLB size"))) is not None:
            return int(entries)
    return None


def dram_clock(case: ConfirmedCause) -> Prediction:
    """What the highest clocks allowed differ by."""
    clocks = {
        side: case.number(side, "dram.max_freq", "memory.dram_clock/max_freq") for side in Side
    }
    return proportional(clocks, "the DRAM may run at {} MHz here and at {} MHz there", 1e-6)


# -- CPU -------------------------------------------------------------------------------------------


def governor_ramp(case: ConfirmedCause) -> Prediction:
    """The lowest against the highest clock: what a burst loses that is over before the ramp."""
    low = number(case.here("cpu.frequency_limits/policy* scaling_min_freq"))
    high = number(case.here("cpu.frequency_limits/policy* scaling_max_freq"))
    if not low or not high:
        return Prediction("the clocks are not known: this board shows no cpufreq")
    sentence = f"the clock lies between {low / 1000:.0f} and {high / 1000:.0f} MHz"
    look = number(case.here("cpu.governor_tunables/*sampling_rate"))
    look = look or number(case.here("cpu.governor_tunables/*rate_limit_us"))
    if look is not None:
        sentence += f", and the governor looks every {look / 1000:g} ms"
        for burst in (look * 1e-6 / 10, look * 1e-6 * 10):
            factor = ramp_factor(burst, look * 1e-6, low, high)
            sentence += f"; a burst of {burst * 1000:g} ms takes {factor:.2f} times as long"
    return Prediction(sentence, high / low, "at most")


def frequency_limit(case: ConfirmedCause) -> Prediction:
    """What the limits differ by."""
    clocks = {
        side: case.number(side, "cpu.max_freq", "cpu.frequency_limits/policy* scaling_max_freq")
        for side in Side
    }
    return proportional(clocks, "the limit is {} MHz here and {} MHz there", 1e-3)


def cpu_count(case: ConfirmedCause) -> Prediction:
    """What the numbers of CPUs differ by."""
    counts = {side: _cpus(case, side) for side in Side}
    return proportional(counts, "{} CPUs here, {} there", 1)


def _cpus(case: ConfirmedCause, side: Side) -> float | None:
    listed = case.entry(side, "cpu.present/online")
    if not isinstance(listed, str) or not listed:
        return None
    try:
        return float(len(parse_cpus(listed)))
    except ValueError:
        return None


def quota(case: ConfirmedCause) -> Prediction:
    """The shares of one thread."""
    cpus = {side: _cpus(case, side) or 1.0 for side in Side}
    texts = {side: _quota_text(case, side) for side in Side}
    if not all(texts.values()):
        return Prediction("not available: the quotas are not known")
    shares = {side: quota_share(texts[side], cpus[side]) for side in Side}
    here, there = shares[Side.BAD], shares[Side.GOOD]
    sentence = f"the group may use {here:g} CPUs here and {there:g} there"
    pause = _pause(texts[Side.BAD])
    if pause is not None:
        sentence += (
            f"; a single thread that never sleeps stands still for {pause / 1000:g} ms of each"
        )
        sentence += " period"
    return Prediction(sentence, min(there, 1.0) / min(here, 1.0))


def _quota_text(case: ConfirmedCause, side: Side) -> str:
    """The quota as ``cpu.max`` has it, also where control groups are of version 1; empty where it
    is not known."""
    text = case.setting(side, "cgroup.cpu_max") or case.entry(side, "system.cgroup/cpu.max")
    if isinstance(text, str):
        return text
    time, period = (
        case.number(side, f"cgroup.{name}", f"system.cgroup/cpu.{name}")
        for name in ("cfs_quota_us", "cfs_period_us")
    )
    if time is None or period is None:
        return ""
    return f"max {period:.0f}" if time < 0 else f"{time:.0f} {period:.0f}"


def _pause(text: str) -> float | None:
    """Microseconds of each period in which one thread stands still."""
    fields = text.split()
    if len(fields) != 2 or fields[0] == "max":
        return None
    return max(float(fields[1]) - float(fields[0]), 0.0)


def idle_exit(case: ConfirmedCause) -> Prediction:
    """The exit latency of the deepest state that each side allows."""
    deepest = {side: _deepest(case, side) for side in Side}
    here, there = deepest[Side.BAD], deepest[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the idle states' exit latencies are not known")
    return Prediction(
        f"the deepest state allowed takes {here:g} us to leave here and {there:g} us there: a "
        f"wake-up differs by at most {abs(here - there):g} us"
    )


def _deepest(case: ConfirmedCause, side: Side) -> float | None:
    deepest = None
    for index in range(10):
        latency = number(case.entry(side, f"cpu.idle_states/cpu0 state{index} latency"))
        disabled = number(case.entry(side, f"cpu.idle_states/cpu0 state{index} disable"))
        if latency is not None and not disabled:
            deepest = max(deepest or 0.0, latency)
    return deepest


# -- time ------------------------------------------------------------------------------------------


def printk(case: ConfirmedCause) -> Prediction:
    """What the characters that were sent take on the line."""
    baud = _baud(case)
    message_seconds = serial_seconds(SERIAL_CHARACTERS, baud)
    sentence = (
        f"a message of {SERIAL_CHARACTERS} characters at {baud:.0f} baud takes "
        f"{message_seconds * 1e3:.1f} ms"
    )
    before, after = case.without.get("serial.sent"), case.repaired.get("serial.sent")
    if before is None or after is None:
        return Prediction(f"{sentence}; how much was sent could not be counted")
    seconds = serial_seconds(before - after, baud)
    return Prediction(
        f"{sentence}; {before:.3g} characters were sent for one unit of work, {after:.3g} when "
        f"repaired: {seconds * 1e3:.3g} ms less"
    )


def _baud(case: ConfirmedCause) -> float:
    options = case.here("kernel.command_line/options")
    consoles = options.get("console") if isinstance(options, Mapping) else None
    for console in consoles if isinstance(consoles, list) else [consoles]:
        baud = number(str(console).partition(",")[2])
        if baud:
            return baud
    return DEFAULT_BAUD


def timer_slack(case: ConfirmedCause) -> Prediction:
    """The lateness that the slacks allow."""
    slacks = {side: case.number(side, "*slack*", "timer.resolution/of the probe") for side in Side}
    known_slacks = {side: _slack(case, side, slacks[side]) for side in Side}
    here, there = known_slacks[Side.BAD], known_slacks[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the slacks are not known")
    sentence = f"a sleep may end {here / 1000:g} us late here and {there / 1000:g} us there"
    bad, good = known_slacks[Side.BAD], known_slacks[Side.GOOD]
    ratio = bad / good if good and bad else None
    return Prediction(sentence, ratio, "at most" if ratio else "")


def _slack(case: ConfirmedCause, side: Side, slack: float | None) -> float | None:
    """Nanoseconds; the probe's fact is a table, of which ``number`` knows nothing."""
    table = case.entry(side, "timer.resolution/of the probe")
    if case.setting(side, "*slack*") is None and isinstance(table, Mapping):
        return number(table.get("slack_ns"))
    return slack


def rt_throttling(case: ConfirmedCause) -> Prediction:
    """The gap in each period."""
    gaps = {}
    for side in Side:
        runtime = case.number(
            side, "kernel.sched_rt_runtime_us", "sched.limits/sched_rt_runtime_us"
        )
        period = case.number(side, "kernel.sched_rt_period_us", "sched.limits/sched_rt_period_us")
        if runtime is None or not period:
            return Prediction("not available: the limits are not known")
        gaps[side] = 0.0 if runtime < 0 else period - runtime
    here, there = gaps[Side.BAD], gaps[Side.GOOD]
    return Prediction(
        f"a real-time thread that never sleeps stands still for {here / 1000:g} ms of each period "
        f"here and for {there / 1000:g} ms there; one that sleeps is not touched"
    )


def clock_source(case: ConfirmedCause) -> Prediction:
    """What reading the clock costs on each side, as the probe found it."""
    costs = {}
    for side in Side:
        table = case.entry(side, "timer.clocksource/clock_cost")
        costs[side] = number(table.get("clock_gettime_ns")) if isinstance(table, Mapping) else None
    here, there = costs[Side.BAD], costs[Side.GOOD]
    if not here or not there:
        return Prediction("not available: what reading the clock costs is known of one side only")
    return Prediction(
        f"a look at the clock took {here:.0f} ns here and {there:.0f} ns there",
        here / there,
        "at most",
    )


def tick(case: ConfirmedCause) -> Prediction:
    """The ticks' lengths."""
    lengths = {}
    for side in Side:
        table = case.entry(side, "kernel.tick/tick_ns")
        lengths[side] = number(table.get("tick_ns")) if isinstance(table, Mapping) else None
    here, there = lengths[Side.BAD], lengths[Side.GOOD]
    if not here or not there:
        return Prediction("not available: the length of the tick is known of one side only")
    return Prediction(
        f"a busy CPU is interrupted every {here / 1e6:g} ms here and every {there / 1e6:g} ms "
        "there; timeouts in ticks are rounded up to that"
    )


DEFAULT_PIPE = 65536

# -- storage ---------------------------------------------------------------------------------------


def read_ahead(case: ConfirmedCause) -> Prediction:
    """What larger pieces gain at most when each waits for the device's latency."""
    entry = "storage.queue/root_disk read_ahead_kb"
    ahead = {side: case.number(side, "block.read_ahead_kb", entry) for side in Side}
    here, there = ahead[Side.BAD], ahead[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the read-aheads are not known")
    sentence = f"{here:g} KiB are read ahead here, {there:g} KiB there"
    reads, busy = case.without.get("disk.read_ios"), case.without.get("disk.busy_ms")
    block = case.size("block") or 4096
    pieces = {side: max(kib * 1024, block) for side, kib in ahead.items() if kib is not None}
    ratio = pieces[Side.GOOD] / pieces[Side.BAD]
    if reads and busy:
        read_seconds = busy / reads * 1e-3
        most = pieces[Side.BAD] / read_seconds
        sentence += f"; a read took {read_seconds * 1e3:.2g} ms, which bounds "
        sentence += f"{format_size(pieces[Side.BAD])} pieces"
        sentence += f" that are waited for to {most / 1e6:.3g} MB/s"
    return Prediction(sentence, max(ratio, 1.0), "at most")


def dirty_limit(case: ConfirmedCause) -> Prediction:
    """Whether what is written stays below each side's limit."""
    written = case.size("size", "cap")
    limits = {side: _dirty_bytes(case, side) for side in Side}
    here, there = limits[Side.BAD], limits[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the limits are not known")
    sentence = (
        f"writers are held up from {format_size(here)} on here, from {format_size(there)} on there"
    )
    if written is None:
        return Prediction(f"{sentence}; how much is written at a time is not known")
    fits = [written <= limit for limit in (here, there)]
    tail = {
        (True, True): "below both: neither side should wait for the device",
        (False, False): "above both: both sides should wait for the device",
        (True, False): "below the limit here, above it there",
        (False, True): "above the limit here, below it there: memory against device",
    }[fits[0], fits[1]]
    return Prediction(
        f"{sentence}; {format_size(written)} are written, {tail}", 1.0 if all(fits) else None
    )


def _dirty_bytes(case: ConfirmedCause, side: Side) -> float | None:
    """The limit in bytes: given as such, or as a ratio of available memory."""
    limit = case.number(side, "vm.dirty_bytes", "storage.dirty_limits/dirty_bytes")
    if limit:
        return limit
    ratio = case.number(side, "vm.dirty_ratio", "storage.dirty_limits/dirty_ratio")
    memory = case.entry(side, "memory.size/use")
    available = number(memory.get("MemAvailable")) if isinstance(memory, Mapping) else None
    return None if ratio is None or available is None else ratio / 100 * available


def mmc_bus(case: ConfirmedCause) -> Prediction:
    """What the two buses carry."""
    rates = {side: _mmc_rate(case.entry(side, "mmc.bus/root_disk host ios")) for side in Side}
    template = "the bus carries at most {} MB/s here and {} MB/s there"
    return proportional(rates, template, 1e-6)


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


def bandwidth_delay(case: ConfirmedCause) -> Prediction:
    """Window over round trip on each side, and the line."""
    windows = {side: _window(case, side) for side in Side}
    here, there = windows[Side.BAD], windows[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the buffers are not known")
    sentence = f"at most {format_size(here)} may be under way here, {format_size(there)} there"
    trip = (case.repaired.get("rtt_ns") or case.without.get("rtt_ns") or 0) * 1e-9
    if not trip:
        return Prediction(f"{sentence}; the round trip could not be counted")
    line = (number(case.here("net.link/default_nic speed")) or -1) * 1e6 / 8
    limits = [window_limit(window, trip) for window in (here, there)]
    sentence += f"; with a round trip of {trip * 1e3:.3g} ms that is {limits[0] / 1e6:.3g} and "
    sentence += f"{limits[1] / 1e6:.3g} MB/s"
    if line > 0:
        sentence += f", on a line of {line / 1e6:.3g} MB/s"
        limits = [min(limit, line) for limit in limits]
    return Prediction(sentence, limits[1] / limits[0], "" if line > 0 else "at most")


def _window(case: ConfirmedCause, side: Side) -> float | None:
    """The smaller of the largest receive and send buffers; a buffer of a fixed size is bounded by
    what a program may ask for. Half of a receive buffer is for the kernel's own accounting."""
    buffer = case.size("buffer")
    windows = []
    for way, kept in (("r", 0.5), ("w", 1.0)):
        vector = case.setting(side, f"net.tcp_{way}mem") or case.entry(
            side, f"net.tcp/tcp_{way}mem"
        )
        fields = vector.split() if isinstance(vector, str) else vector
        most = number(fields[-1]) if isinstance(fields, list) and fields else None
        if buffer:
            most = case.number(side, f"net.{way}mem_max", f"net.tcp/{way}mem_max")
            most = None if most is None else min(most, buffer)
        if most is not None:
            windows.append(most * kept)
    scaling = case.number(side, "net.tcp_window_scaling", "net.tcp/tcp_window_scaling")
    if scaling == 0:
        windows.append(65535.0)
    return min(windows, default=None)


def queue_delay(case: ConfirmedCause) -> Prediction:
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
    delays = [queue_seconds(length, mtu, speed) * 1e3 for length in (here, there)]
    return Prediction(
        f"a full queue delays by {delays[0]:.3g} ms here and by {delays[1]:.3g} ms there"
    )


def packets(case: ConfirmedCause) -> Prediction:
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


def coalescing(case: ConfirmedCause) -> Prediction:
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


def link_speed(case: ConfirmedCause) -> Prediction:
    """What the lines differ by."""
    speeds = {side: number(case.entry(side, "net.link/default_nic speed")) for side in Side}
    speeds = {side: value if value and value > 0 else None for side, value in speeds.items()}
    return proportional(speeds, "the line has {} Mb/s here and {} Mb/s there", 1)


# -- userland --------------------------------------------------------------------------------------


def pipe_capacity(case: ConfirmedCause) -> Prediction:
    """Switches for the same bytes. Under the soft limit a new pipe has one page (later two)."""
    capacities = {side: _pipe_bytes(case, side) for side in Side}
    here, there = capacities[Side.BAD], capacities[Side.GOOD]
    rates = [switches_per_byte(capacity) * 1e9 for capacity in (here, there)]
    return Prediction(
        f"a pipe may hold {format_size(here)} here and {format_size(there)} there: a gigabyte "
        f"takes {rates[0]:.0f} switches or fewer here, {rates[1]:.0f} there",
        max(there / here, 1.0),
        "at most",
    )


def _pipe_bytes(case: ConfirmedCause, side: Side) -> float:
    capacity = float(case.size("pipe") or DEFAULT_PIPE)
    most = case.number(side, "fs.pipe_max_size", "system.limits/pipe-max-size")
    soft = case.number(side, "fs.pipe_user_pages_soft", "system.limits/pipe-user-pages-soft")
    page = number(case.here("memory.page_size/bytes")) or 4096.0
    if soft and soft * page < DEFAULT_PIPE:
        return 2 * page
    return min(capacity, most) if most and capacity > DEFAULT_PIPE else capacity


def serial_batching(case: ConfirmedCause) -> Prediction:
    """How long a short answer waits."""
    waits = {
        side: case.number(side, "serial.usb_latency_timer", "serial.settings/* latency_timer")
        for side in Side
    }
    here, there = waits[Side.BAD], waits[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the adapter's timer is not known")
    return Prediction(f"a short answer may wait {here:g} ms here and {there:g} ms there")


# -- the table -------------------------------------------------------------------------------------


PREDICTIONS: Mapping[str, Callable[[ConfirmedCause], Prediction]] = {
    "zero_page": zero_page,
    "tlb_reach": tlb,
    "dram_clock": dram_clock,
    "governor_ramp": governor_ramp,
    "frequency_limit": frequency_limit,
    "cpu_count": cpu_count,
    "quota": quota,
    "idle_exit": idle_exit,
    "printk": printk,
    "timer_slack": timer_slack,
    "rt_throttling": rt_throttling,
    "clock_source": clock_source,
    "tick": tick,
    "read_ahead": read_ahead,
    "dirty_limit": dirty_limit,
    "mmc_bus": mmc_bus,
    "bandwidth_delay": bandwidth_delay,
    "queue_delay": queue_delay,
    "packets": packets,
    "coalescing": coalescing,
    "link_speed": link_speed,
    "pipe_capacity": pipe_capacity,
    "serial_batching": serial_batching,
}


# -- laws: plain arithmetic with units, nothing fitted ---------------------------------------------

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
    fields = quota.split()
    if not fields or fields[0] == "max":
        return cpus
    period = float(fields[1]) if len(fields) > 1 else 100_000.0
    return min(float(fields[0]) / period, cpus)


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
