"""The metrics of the simulated bench, and what is likely to matter to them.

The weights are the examiner's own, by what boards are known to suffer from; nothing of the ranking
that is examined is used here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchvise.measure.model import Better, SeriesSpec
from benchvise.state.model import Family
from benchvise.why.model import Metric


@dataclass(frozen=True, slots=True)
class SimMetric:
    """A metric with its typical value, what a process takes, and its likely culprits.

    ``families`` are those of state that it measures, ``reach`` others that may touch it too.
    ``units`` are those of a rate (bytes, cycles) in one operation.
    """

    metric: Metric
    value: float
    seconds: float
    families: frozenset[Family]
    reach: frozenset[Family]
    likely: Mapping[str, float]
    units: float = 1.0

    @property
    def operation_ns(self) -> float:
        """What one operation takes: a pass over the buffer, a request, a call, a whole command."""
        if self.metric.better == "lower":
            return self.value
        return self.units / self.value * 1e9


def _metric(
    benchmark: str, unit: str, better: Better, counted: str, command: str = "", **params: str
) -> Metric:
    key = f"{benchmark}:{','.join(f'{k}={v}' for k, v in params.items())}".rstrip(":")
    return Metric.of(
        SeriesSpec(benchmark, tuple(params.items()), key), unit, better, counted, command
    )


_CLOCKS = {
    "cpu.governor": 6.0,
    "cpu.max_freq": 4.0,
    "cgroup.cpu_max": 3.0,
    "cpu.schedutil_rate_limit_us": 1.0,
    "kernel.sched_util_clamp_max": 2.0,
}
_MEMORY = {
    "memory.thp": 8.0,
    "memory.mthp": 3.0,
    "memory.thp_defrag": 2.0,
    "memory.huge_zero_page": 2.0,
    "memory.ksm": 2.0,
    "memory.ksm_pages_to_scan": 1.0,
    "vm.compaction_proactiveness": 1.0,
    "vm.min_free_kbytes": 1.0,
    "dram.governor": 6.0,
    "dram.max_freq": 4.0,
    "dram.min_freq": 2.0,
    "devfreq.upthreshold": 3.0,
    "cgroup.cpu_max": 2.0,
    "kernel.randomize_va_space": 1.0,
}
_LATENCY = {
    "cpu.governor": 4.0,
    "cpu.idle_deep_disable": 4.0,
    "cpu.resume_latency_us": 3.0,
    "cpu.idle_governor": 2.0,
    "sched.preempt": 4.0,
    "sched.base_slice_ns": 1.0,
    "kernel.printk": 4.0,
    "kernel.ignore_loglevel": 1.0,
    "kernel.printk_delay": 2.0,
    "tracing.current_tracer": 3.0,
    "kernel.timer_migration": 1.0,
    "kernel.rcu_expedited": 1.0,
    "kernel.sched_rt_runtime_us": 2.0,
    "workqueue.cpumask": 1.0,
    "kernel.watchdog": 1.0,
}
_STORAGE = {
    "block.read_ahead_kb": 7.0,
    "block.scheduler": 5.0,
    "block.max_sectors_kb": 2.0,
    "block.nr_requests": 2.0,
    "block.nomerges": 1.0,
    "block.wbt_lat_usec": 1.0,
    "cpu.governor": 4.0,
    "cpu.schedutil_rate_limit_us": 2.0,
    "power.mmc_control": 2.0,
    "vm.dirty_ratio": 3.0,
    "vm.dirty_background_ratio": 2.0,
    "vm.dirty_writeback_centisecs": 1.0,
    "cgroup.io_weight": 1.0,
}
_NETWORK = {
    "net.congestion_control": 4.0,
    "net.tcp_rmem": 4.0,
    "net.tcp_wmem": 4.0,
    "net.rmem_max": 2.0,
    "net.rps_cpus": 4.0,
    "net.mtu": 3.0,
    "net.tx_queue_len": 1.0,
    "net.default_qdisc": 2.0,
    "net.netdev_budget": 1.0,
    "net.tcp_sack": 1.0,
    "net.tcp_window_scaling": 2.0,
    "net.tcp_timestamps": 1.0,
    "net.gro_flush_timeout": 1.0,
    "net.napi_defer_hard_irqs": 1.0,
    "net.busy_read": 2.0,
    "cpu.governor": 4.0,
    "cpu.idle_deep_disable": 2.0,
}

_MEM = frozenset({Family.MEMORY})
_CPU = frozenset({Family.CPU})
_LAT = frozenset({Family.LATENCY, Family.SYSTEM})
_STO = frozenset({Family.STORAGE})
_NET = frozenset({Family.NETWORK})
_ALL = frozenset(Family)


def _command(line: str, value: float, seconds: float) -> SimMetric:
    metric = _metric("command.time", "ns", "lower", "a run", line, run=line, metric="wall")
    return SimMetric(
        metric,
        value,
        seconds,
        _MEM | _CPU,
        _ALL,
        _MEMORY | {"cpu.governor": 4.0, "cpu.max_freq": 3.0},
    )


METRICS: tuple[SimMetric, ...] = (
    SimMetric(
        _metric("memory.copy", "B/s", "higher", "copied", size="64M"),
        2.9e9,
        4,
        _MEM,
        _CPU,
        _MEMORY,
        units=64 << 20,
    ),
    SimMetric(
        _metric("memory.read", "B/s", "higher", "read", size="256M"),
        4.1e9,
        4,
        _MEM,
        _CPU,
        _MEMORY,
        units=256 << 20,
    ),
    SimMetric(_metric("memory.latency", "ns", "lower", "a load"), 140, 3, _MEM, _CPU, _MEMORY),
    SimMetric(
        _metric("cpu.clock", "Hz", "higher", "cycles"), 1.8e9, 2, _CPU, _LAT, _CLOCKS, units=1e6
    ),
    SimMetric(_metric("timer.wakeup", "ns", "lower", "a wake-up"), 52_000, 5, _LAT, _CPU, _LATENCY),
    SimMetric(_metric("os.syscall", "ns", "lower", "a call"), 210, 2, _LAT, _CPU, _LATENCY),
    SimMetric(_metric("pipe.latency", "ns", "lower", "a message"), 9_000, 3, _LAT, _CPU, _LATENCY),
    SimMetric(
        _metric("storage.read", "B/s", "higher", "read", file="/data/x"),
        22e6,
        8,
        _STO,
        _LAT | _CPU,
        _STORAGE,
        units=128 << 10,
    ),
    SimMetric(
        _metric("storage.write", "B/s", "higher", "written", file="/data/x"),
        15e6,
        12,
        _STO,
        _LAT | _CPU,
        _STORAGE,
        units=128 << 10,
    ),
    SimMetric(
        _metric("net.tcp", "B/s", "higher", "payload"),
        117e6,
        5,
        _NET,
        _LAT | _CPU,
        _NETWORK,
        units=64 << 10,
    ),
    SimMetric(
        _metric("net.latency", "ns", "lower", "a round trip"),
        260_000,
        4,
        _NET,
        _LAT | _CPU,
        _NETWORK,
    ),
    _command("dd if=/dev/zero of=/dev/null bs=64M count=40", 1.4e9, 9),
)

PERF_COPY = _command("perf bench mem memcpy -s 256MB -l 20", 1.9e9, 11)
SYSBENCH = _command("sysbench cpu --time=8 run", 8e9, 9)
"""Commands that are known not to measure what they say, or not the same in each version."""
