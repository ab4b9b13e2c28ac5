"""What mechanisms of memory, CPU and time predict for a case; see ``predictions``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchvise.quantities import parse_cpus
from benchvise.why.card_case import Case, Prediction, number, proportional
from benchvise.why.laws import quota_share, ramp_factor, serial_seconds, size, tlb_reach
from benchvise.why.model import Side

SERIAL_CHARACTERS = 38
"""Of a short message with its time stamp."""

DEFAULT_BAUD = 115200

# -- memory ----------------------------------------------------------------------------------------


def zero_page(case: Case) -> Prediction:
    """In which cache the page of zeros lies, on both sides."""
    sizes = {side: _zero_page_bytes(case, side) for side in Side}
    caches = dict(_data_caches(case))
    told = []
    for side in (Side.BAD, Side.GOOD):
        mode, page = case.shown(side), sizes[side]
        where = next((f"fits the {n} of {size(s)}" for n, s in caches.items() if page <= s), "")
        where = where or ("fits no cache" if caches else "the caches are not known")
        told.append(f"with {mode} the page of zeros has {size(page)} and {where}")
    words = "; ".join(told)
    if sizes[Side.GOOD] == sizes[Side.BAD]:
        words += "; both sides read the same page, as far as the settings tell"
    return Prediction(words + ". Which side wins is not predicted: TLB misses weigh against it")


def _zero_page_bytes(case: Case, side: Side) -> int:
    """That of what the program reads; with ``madvise`` it is taken not to have asked."""
    mode = case.setting(side, "memory.thp") or case.entry(side, "memory.thp/mode")
    allowed = case.number(side, "memory.huge_zero_page", "memory.huge_zero_page/use_zero_page")
    huge = number(case.entry(side, "memory.thp_details/hpage_pmd_size")) or 2 << 20
    small = number(case.entry(side, "memory.page_size/bytes")) or 4096
    return int(huge if mode == "always" and allowed != 0 else small)


def _data_caches(case: Case) -> Iterator[tuple[str, int]]:
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


def tlb(case: Case) -> Prediction:
    """How far the TLB reaches with small and with huge pages, against the working set."""
    small = int(number(case.here("memory.page_size/bytes")) or 4096)
    huge = int(number(case.here("memory.thp_details/hpage_pmd_size")) or 2 << 20)
    counted = max(case.without.get("rss_bytes", 0), case.without.get("zero_page_bytes", 0))
    used = case.size("size", "span", "rss") or counted or None
    entries = _tlb_entries(case)
    if entries is None:
        words = f"a huge page needs one TLB entry instead of {huge // small}"
        return Prediction(f"{words}; this CPU does not tell how many it has")
    near, far = tlb_reach(entries, small), tlb_reach(entries, huge)
    words = f"{entries} TLB entries reach {size(near)} with small pages, {size(far)} with huge ones"
    if used is None:
        return Prediction(f"{words}; the working set is not known")
    words += f"; the working set has {size(used)}"
    if used <= near:
        return Prediction(f"{words}: within reach either way, so TLB misses do not explain it", 1.0)
    return Prediction(f"{words}: beyond the reach of small pages, so they miss, huge ones do not")


def _tlb_entries(case: Case) -> int | None:
    kinds = case.here("cpu.kinds/kinds")
    for kind in kinds.values() if isinstance(kinds, Mapping) else ():
        told = kind if isinstance(kind, Mapping) else {}
        if told.get("CPU part") in _TLB_ENTRIES:
            return _TLB_ENTRIES[str(told["CPU part"])]
        if (entries := number(told.get("TLB size"))) is not None:
            return int(entries)
    return None


def dram_clock(case: Case) -> Prediction:
    """What the highest clocks allowed differ by."""
    clocks = {
        side: case.number(side, "dram.max_freq", "memory.dram_clock/max_freq") for side in Side
    }
    return proportional(clocks, "the DRAM may run at {} MHz here and at {} MHz there", 1e-6)


# -- CPU -------------------------------------------------------------------------------------------


def governor_ramp(case: Case) -> Prediction:
    """The lowest against the highest clock: what a burst loses that is over before the ramp."""
    low = number(case.here("cpu.frequency_limits/policy* scaling_min_freq"))
    high = number(case.here("cpu.frequency_limits/policy* scaling_max_freq"))
    if not low or not high:
        return Prediction("the clocks are not known: this board shows no cpufreq")
    words = f"the clock lies between {low / 1000:.0f} and {high / 1000:.0f} MHz"
    look = number(case.here("cpu.governor_tunables/*sampling_rate"))
    look = look or number(case.here("cpu.governor_tunables/*rate_limit_us"))
    if look is not None:
        words += f", and the governor looks every {look / 1000:g} ms"
        for burst in (look * 1e-6 / 10, look * 1e-6 * 10):
            factor = ramp_factor(burst, look * 1e-6, low, high)
            words += f"; a burst of {burst * 1000:g} ms takes {factor:.2f} times as long"
    return Prediction(words, high / low, "at most")


def frequency_limit(case: Case) -> Prediction:
    """What the limits differ by."""
    clocks = {
        side: case.number(side, "cpu.max_freq", "cpu.frequency_limits/policy* scaling_max_freq")
        for side in Side
    }
    return proportional(clocks, "the limit is {} MHz here and {} MHz there", 1e-3)


def cpu_count(case: Case) -> Prediction:
    """What the numbers of CPUs differ by."""
    counts = {side: _cpus(case, side) for side in Side}
    return proportional(counts, "{} CPUs here, {} there", 1)


def _cpus(case: Case, side: Side) -> float | None:
    listed = case.entry(side, "cpu.present/online")
    if not isinstance(listed, str) or not listed:
        return None
    try:
        return float(len(parse_cpus(listed)))
    except ValueError:
        return None


def quota(case: Case) -> Prediction:
    """The shares of one thread."""
    cpus = {side: _cpus(case, side) or 1.0 for side in Side}
    texts = {
        side: case.setting(side, "cgroup.cpu_max") or case.entry(side, "system.cgroup/cpu.max")
        for side in Side
    }
    if not all(isinstance(text, str) for text in texts.values()):
        return Prediction("not available: the quotas are not known")
    shares = {side: quota_share(str(texts[side]), cpus[side]) for side in Side}
    here, there = shares[Side.BAD], shares[Side.GOOD]
    words = f"the group may use {here:g} CPUs here and {there:g} there"
    pause = _pause(str(texts[Side.BAD]))
    if pause is not None:
        words += f"; a single thread that never sleeps stands still for {pause / 1000:g} ms of each"
        words += " period"
    return Prediction(words, min(there, 1.0) / min(here, 1.0))


def _pause(text: str) -> float | None:
    """Microseconds of each period in which one thread stands still."""
    words = text.split()
    if len(words) != 2 or words[0] == "max":
        return None
    return max(float(words[1]) - float(words[0]), 0.0)


def idle_exit(case: Case) -> Prediction:
    """The exit latency of the deepest state that each side allows."""
    deepest = {side: _deepest(case, side) for side in Side}
    here, there = deepest[Side.BAD], deepest[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the idle states' exit latencies are not known")
    return Prediction(
        f"the deepest state allowed takes {here:g} us to leave here and {there:g} us there: a "
        f"wake-up differs by at most {abs(here - there):g} us"
    )


def _deepest(case: Case, side: Side) -> float | None:
    deepest = None
    for index in range(10):
        latency = number(case.entry(side, f"cpu.idle_states/cpu0 state{index} latency"))
        disabled = number(case.entry(side, f"cpu.idle_states/cpu0 state{index} disable"))
        if latency is not None and not disabled:
            deepest = max(deepest or 0.0, latency)
    return deepest


# -- time ------------------------------------------------------------------------------------------


def printk(case: Case) -> Prediction:
    """What the characters that were sent take on the line."""
    baud = _baud(case)
    one = serial_seconds(SERIAL_CHARACTERS, baud)
    words = (
        f"a message of {SERIAL_CHARACTERS} characters at {baud:.0f} baud takes {one * 1e3:.1f} ms"
    )
    before, after = case.without.get("serial.sent"), case.repaired.get("serial.sent")
    if before is None or after is None:
        return Prediction(f"{words}; how much was sent could not be counted")
    seconds = serial_seconds(before - after, baud)
    return Prediction(
        f"{words}; {before:.3g} characters were sent for one unit of work, {after:.3g} when "
        f"repaired: {seconds * 1e3:.3g} ms less"
    )


def _baud(case: Case) -> float:
    options = case.here("kernel.command_line/options")
    consoles = options.get("console") if isinstance(options, Mapping) else None
    for console in consoles if isinstance(consoles, list) else [consoles]:
        told = number(str(console).partition(",")[2])
        if told:
            return told
    return DEFAULT_BAUD


def timer_slack(case: Case) -> Prediction:
    """The lateness that the slacks allow."""
    slacks = {side: case.number(side, "*slack*", "timer.resolution/of the probe") for side in Side}
    told = {side: _slack(case, side, slacks[side]) for side in Side}
    here, there = told[Side.BAD], told[Side.GOOD]
    if here is None or there is None:
        return Prediction("not available: the slacks are not known")
    words = f"a sleep may end {here / 1000:g} us late here and {there / 1000:g} us there"
    bad, good = told[Side.BAD], told[Side.GOOD]
    ratio = bad / good if good and bad else None
    return Prediction(words, ratio, "at most" if ratio else "")


def _slack(case: Case, side: Side, told: float | None) -> float | None:
    """Nanoseconds; the probe's fact is a table, of which ``number`` knows nothing."""
    table = case.entry(side, "timer.resolution/of the probe")
    if case.setting(side, "*slack*") is None and isinstance(table, Mapping):
        return number(table.get("slack_ns"))
    return told


def rt_throttling(case: Case) -> Prediction:
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


def clock_source(case: Case) -> Prediction:
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


def tick(case: Case) -> Prediction:
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
