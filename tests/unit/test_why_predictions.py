"""What mechanisms predict: the laws with known values, and each prediction on a case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from why_suspects import difference, snapshot, suspect

from benchvise.measure.model import SeriesSpec
from benchvise.why.explain import predictions
from benchvise.why.explain.cause import ConfirmedCause, Prediction, number
from benchvise.why.explain.predictions import PREDICTIONS
from benchvise.why.model import Layer, Metric, Side, Suspect

MIB = 1 << 20


def predicted(
    name: str,
    *suspects: Suspect,
    bad: Mapping[str, Any] | None = None,
    good: Mapping[str, Any] | None = None,
    without: Mapping[str, float] | None = None,
    repaired: Mapping[str, float] | None = None,
    **params: str,
) -> Prediction:
    metric = Metric.of(SeriesSpec("x.y", tuple(params.items()), "x.y"), "B/s", "higher")
    snapshots = {Side.BAD: snapshot(bad or {}), Side.GOOD: snapshot(good or bad or {})}
    case = ConfirmedCause(metric, suspects, snapshots, Side.BAD, without or {}, repaired or {})
    return PREDICTIONS[name](case)


def named(name: str, good: str, bad: str) -> Suspect:
    """What is flipped for the process alone, of which there is no knob."""
    return difference(name, name.partition(":")[0], good, bad, Layer.PROCESS)


# --- laws -------------------------------------------------------------------------------------


def test_a_message_at_a_baud_rate() -> None:
    """The case of the driver with printk in its handler: 3.3 ms."""
    assert predictions.serial_seconds(38, 115200) == pytest.approx(3.3e-3, rel=0.01)


def test_a_burst_and_a_ramp() -> None:
    assert predictions.ramp_factor(1e-3, 10e-3, 600e6, 1500e6) == pytest.approx(2.5)
    assert predictions.ramp_factor(1.0, 10e-3, 600e6, 1500e6) == pytest.approx(1.006)
    assert predictions.ramp_factor(0.01, 0, 600e6, 1500e6) == 1


def test_shares_of_a_quota() -> None:
    assert predictions.quota_share("50000 100000", 4) == 0.5
    assert predictions.quota_share("max 100000", 4) == 4
    assert predictions.quota_share("800000 100000", 4) == 4
    assert predictions.quota_share("20000", 4) == 0.2


def test_limits_by_waiting() -> None:
    assert predictions.window_limit(65536, 0.1) == pytest.approx(655360)
    assert predictions.pieces_limit(4096, 100e-6, 1e9) == pytest.approx(39.35e6, rel=1e-3)
    assert predictions.queue_seconds(1000, 1500, 10e6) == pytest.approx(1.2)
    assert predictions.switches_per_byte(65536) * 1e9 == pytest.approx(30517.6, rel=1e-4)
    assert predictions.bus_bytes_per_second(200e6, 8, True) == 400e6
    assert predictions.tlb_reach(1024, 4096) == 4 * MIB


def test_numbers_in_texts() -> None:
    assert number("max 100000") == 100000
    assert number("-1") == -1 and number([4, 4, 1, 7]) == 4 and number("ttyS0,115200") == 0
    assert number(None) is None and number("none") is None and number(True) is None


# --- predictions ------------------------------------------------------------------------------


CACHES = {
    "cpu.caches/cpu0 index0 type": "Data",
    "cpu.caches/cpu0 index0 level": "1",
    "cpu.caches/cpu0 index0 size": 32768,
    "cpu.caches/cpu0 index1 type": "Instruction",
    "cpu.caches/cpu0 index2 type": "Unified",
    "cpu.caches/cpu0 index2 level": "2",
    "cpu.caches/cpu0 index2 size": MIB,
    "memory.page_size/bytes": 4096,
}


def test_the_page_of_zeros_and_the_caches() -> None:
    found = predicted("zero_page", suspect("memory.thp", "madvise", "always"), bad=CACHES)
    assert "with always the page of zeros has 2 MiB and fits no cache" in found.sentence
    assert "with madvise the page of zeros has 4 KiB and fits the L1 of 32 KiB" in found.sentence
    assert found.ratio is None, "no direction is assumed"


def test_the_small_page_of_zeros_where_the_huge_one_is_not_used() -> None:
    huge = suspect("memory.huge_zero_page", "0", "1")
    found = predicted("zero_page", huge, bad={**CACHES, "memory.thp/mode": "always"})
    assert "with 1 the page of zeros has 2 MiB" in found.sentence
    assert "with 0 the page of zeros has 4 KiB" in found.sentence


def test_the_reach_of_a_tlb() -> None:
    cores = {"cpu.kinds/kinds": {"0-3": {"CPU part": "0xd03"}}}
    thp = suspect("memory.thp", "always", "never")
    beyond = predicted("tlb_reach", thp, bad=cores, size="64M")
    assert "512 TLB entries reach 2 MiB with small pages, 1 GiB with huge ones" in beyond.sentence
    assert "the working set has 64 MiB: beyond the reach" in beyond.sentence
    within = predicted("tlb_reach", thp, bad=cores, size="1M")
    assert within.ratio == 1 and "do not explain it" in within.sentence
    amd = {"cpu.kinds/kinds": {"0-1": {"TLB size": "192 4K pages"}}}
    assert "192 TLB entries" in predicted("tlb_reach", thp, bad=amd, size="64M").sentence
    assert "does not tell" in predicted("tlb_reach", thp, bad={}).sentence


def test_a_quota_s_share_and_pause() -> None:
    quota = suspect("cgroup.cpu_max", "max 100000", "30000 100000")
    found = predicted("quota", quota, bad={"cpu.present/online": "0-3"})
    assert found.ratio == pytest.approx(1 / 0.3) and found.bound == ""
    assert (
        "0.3 CPUs here and 4 there" in found.sentence and "70 ms of each period" in found.sentence
    )
    old = suspect("cgroup.cfs_quota_us", "-1", "30000")
    period = {"cpu.present/online": "0-3", "system.cgroup/cpu.cfs_period_us": 100000}
    assert predicted("quota", old, bad=period, good=period) == found


@pytest.mark.parametrize(
    ("name", "item", "bad", "good", "ratio"),
    [
        ("cpu_count", "cpu.present/online", "0", "0-3", 4),
        ("frequency_limit", "cpu.frequency_limits/policy0 scaling_max_freq", 600000, 1500000, 2.5),
        ("dram_clock", "memory.dram_clock/max_freq", 800000000, 1600000000, 2),
        ("link_speed", "net.link/default_nic speed", 100, 1000, 10),
        ("packets", "net.link/default_nic mtu", 540, 1540, 3),
    ],
)
def test_what_is_in_proportion(name: str, item: str, bad: Any, good: Any, ratio: float) -> None:
    found = predicted(name, bad={item: bad}, good={item: good})
    assert found.ratio == pytest.approx(ratio) and found.bound == "at most"
    assert predicted(name).ratio is None


def test_printk_counts_what_was_sent() -> None:
    level = suspect("kernel.printk", "4 4 1 7", "8 4 1 7")
    line = {"kernel.command_line/options": {"console": ["tty0", "ttyS0,9600n8"]}}
    sent = {"without": {"serial.sent": 96.0}, "repaired": {"serial.sent": 0.0}}
    found = predicted("printk", level, bad=line, **sent)  # type: ignore[arg-type]
    assert (
        "38 characters at 9600 baud takes 39.6 ms" in found.sentence
        and "100 ms less" in found.sentence
    )
    assert "could not be counted" in predicted("printk", level).sentence


def test_a_window_and_a_round_trip() -> None:
    rmem = suspect("net.tcp_rmem", "4096 131072 6291456", "4096 8192 16384")
    wmem = {"net.tcp/tcp_wmem": [4096, 16384, 4194304], "net.link/default_nic speed": 1000}
    trip = {"rtt_ns": 1e6}
    found = predicted("bandwidth_delay", rmem, bad=wmem, without=trip, repaired=trip)
    assert found.ratio == pytest.approx(125e6 / 8.192e6) and found.bound == ""
    unscaled = suspect("net.tcp_window_scaling", "1", "0")
    both = {**wmem, "net.tcp/tcp_rmem": [4096, 131072, 6291456]}
    limited = predicted("bandwidth_delay", unscaled, bad=both, without=trip, repaired=trip)
    assert limited.ratio == pytest.approx(125e6 / 65.535e6)
    assert "could not be counted" in predicted("bandwidth_delay", rmem, bad=wmem).sentence
    asked = predicted(
        "bandwidth_delay",
        suspect("net.rmem_max", "4194304", "212992"),
        bad={**both, "net.tcp/wmem_max": 4194304},
        without=trip,
        buffer="4M",
    )
    assert "104 KiB may be under way here" in asked.sentence


def test_read_ahead_gains_at_most_what_the_pieces_differ_by() -> None:
    ahead = suspect("block.read_ahead_kb", "4096", "0")
    counted = {"disk.read_ios": 100.0, "disk.busy_ms": 50.0}
    found = predicted("read_ahead", ahead, without=counted, block="16K")
    assert (found.ratio, found.bound) == (256, "at most")
    assert "a read took 0.5 ms" in found.sentence and "32.8 MB/s" in found.sentence


def test_what_is_written_against_the_limit() -> None:
    limit = suspect("vm.dirty_bytes", "268435456", "4194304")
    found = predicted("dirty_limit", limit, size="64M")
    assert "above the limit here, below it there: memory against device" in found.sentence
    assert predicted("dirty_limit", limit, size="1M").ratio == 1
    ratio = suspect("vm.dirty_ratio", "20", "1")
    memory = {"memory.size/use": {"MemAvailable": 1000 * MIB}}
    assert (
        "from 10 MiB on here, from 200 MiB" in predicted("dirty_limit", ratio, bad=memory).sentence
    )


def test_pipes_fill() -> None:
    pages = suspect("fs.pipe_user_pages_soft", "16384", "1")
    found = predicted("pipe_capacity", pages)
    assert (found.ratio, found.bound) == (8, "at most")
    most = suspect("fs.pipe_max_size", "1048576", "65536")
    assert predicted("pipe_capacity", most, pipe="1M").ratio == 16
    assert predicted("pipe_capacity", most).ratio == 1


def test_cards_on_their_buses() -> None:
    fast = {"clock": 200000000, "bus width": "3 (8 bits)", "timing spec": "10 (mmc HS400)"}
    slow = {"clock": 50000000, "bus width": "2 (4 bits)", "timing spec": "2 (sd high-speed)"}
    name = "mmc.bus/root_disk host ios"
    assert predicted("mmc_bus", bad={name: slow}, good={name: fast}).ratio == 16


def test_waits_and_gaps_in_words() -> None:
    slack = predicted("timer_slack", named("timer.resolution:slack", "50000", "2000000"))
    assert "2000 us late here and 50 us there" in slack.sentence and slack.ratio == 40
    gap = suspect("kernel.sched_rt_runtime_us", "-1", "950000")
    period = {"sched.limits/sched_rt_period_us": 1000000}
    assert (
        "50 ms of each period here and for 0 ms"
        in predicted("rt_throttling", gap, bad=period).sentence
    )
    queue = suspect("net.tx_queue_len", "100", "1000")
    line = {"net.link/default_nic speed": 10, "net.link/default_nic mtu": 1500}
    assert "1.2e+03 ms here and by 120 ms" in predicted("queue_delay", queue, bad=line).sentence
    timer = suspect("serial.usb_latency_timer", "1", "16")
    assert "16 ms here and 1 ms there" in predicted("serial_batching", timer).sentence
    name = "net.offloads/default_nic coalescing"
    waits = ({name: {"rx_usecs": 250}}, {name: {"rx_usecs": 0}})
    assert "by at most 250 us" in predicted("coalescing", bad=waits[0], good=waits[1]).sentence
    ticks = [{"kernel.tick/tick_ns": {"tick_ns": ns}} for ns in (10000000, 1000000)]
    assert (
        "every 10 ms here and every 1 ms" in predicted("tick", bad=ticks[0], good=ticks[1]).sentence
    )
    states = {"cpu.idle_states/cpu0 state0 latency": 1, "cpu.idle_states/cpu0 state1 latency": 400}
    off = {**states, "cpu.idle_states/cpu0 state1 disable": 1}
    assert "at most 399 us" in predicted("idle_exit", bad=states, good=off).sentence


def test_what_a_clock_costs() -> None:
    costs = [
        {"timer.clocksource/clock_cost": {"clock_gettime_ns": ns, "system_call_ns": 100}}
        for ns in (1200.0, 24.0)
    ]
    found = predicted("clock_source", bad=costs[0], good=costs[1])
    assert (found.ratio, found.bound) == (50, "at most")


def test_bursts_under_a_governor() -> None:
    clocks = {
        "cpu.frequency_limits/policy0 scaling_min_freq": 600000,
        "cpu.frequency_limits/policy0 scaling_max_freq": 1500000,
        "cpu.governor_tunables/sampling_rate": "10000",
    }
    found = predicted(
        "governor_ramp", suspect("cpu.governor", "performance", "ondemand"), bad=clocks
    )
    assert (found.ratio, found.bound) == (2.5, "at most")
    assert "looks every 10 ms; a burst of 1 ms takes 2.50 times as long" in found.sentence


@pytest.mark.parametrize("name", PREDICTIONS)
def test_nothing_known_is_no_prediction_and_no_error(name: str) -> None:
    nothing = difference("x", "x.y", "one", "two")
    words = predicted(name, nothing).sentence
    assert words and "None" not in words
    odd = {
        "cpu.kinds/kinds": "?",
        "cpu.present/online": "a-b",
        "kernel.command_line/options": [],
        "memory.size/use": 3,
        "mmc.bus/root_disk host ios": {"clock": "?"},
        "net.tcp/tcp_rmem": "x",
        "timer.resolution/of the probe": {"slack_ns": "?"},
    }
    assert predicted(name, nothing, bad=odd).sentence
