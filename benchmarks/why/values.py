"""What the files of a small ARM board hold, and what they may hold instead.

The knobs are those of the real catalogue; their values, first the default, are written down here,
as a kernel 6.6 of a board with four CPUs, an SD card and one Ethernet port has them. What is not
listed is left out of the board: files of other architectures and of older kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from benchvise.state import knobs as spelling
from benchvise.state import places
from benchvise.state.catalogue import knobs
from benchvise.state.model import Family, Knob

ROLES: Mapping[str, str] = {
    "root_part": "mmcblk0p2",
    "root_disk": "mmcblk0",
    "default_nic": "eth0",
    "bench_cpu": "3",
    "dram": "dmc",
    "cgroup": "/user.slice",
    "kernel": "6.6.20",
}

# A wildcard of a knob's path, and what it matches here; the first that is found counts.
_WILD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("policy*", ("policy0",)),
    ("hugepages-*kB", ("hugepages-64kB", "hugepages-1024kB")),
    ("cpu[1-9]*/online", ("cpu1/online", "cpu2/online", "cpu3/online")),
    (
        "cpu*/cpuidle/state[1-9]*",
        tuple(f"cpu{c}/cpuidle/state{s}" for c in range(4) for s in (1, 2)),
    ),
    ("cpu*/", tuple(f"cpu{cpu}/" for cpu in range(4))),
    ("devfreq/*", ("devfreq/dmc", "devfreq/gpu")),
    ("rx-*", ("rx-0",)),
    ("tx-*", ("tx-0",)),
    ("usb/devices/*", ("usb/devices/1-1",)),
    ("mmc/devices/*", ("mmc/devices/mmc0:0001",)),
    ("sdio/devices/*", ("sdio/devices/mmc1:0001:1",)),
    ("pci/devices/*", ("pci/devices/0000:01:00.0",)),
    ("thermal_zone*", ("thermal_zone0",)),
    ("ttyS*", ("ttyS0",)),
    ("usb-serial/devices/*", ("usb-serial/devices/ttyUSB0",)),
)

# Files that list their words and mark the chosen one.
_MARKED = frozenset(
    {
        *("memory.thp", "memory.thp_defrag", "memory.thp_shmem", "memory.mthp"),
        *("block.scheduler", "pci.aspm_policy"),
    }
)

VALUES: Mapping[str, tuple[str, ...]] = {
    # memory
    "memory.thp": ("madvise", "always", "never"),
    "memory.thp_defrag": ("madvise", "always", "defer", "defer+madvise", "never"),
    "memory.thp_shmem": ("never", "always", "within_size", "advise"),
    "memory.mthp": ("never", "always", "inherit", "madvise"),
    "memory.huge_zero_page": ("1", "0"),
    "memory.khugepaged_scan_sleep_millisecs": ("10000", "1000", "100", "60000"),
    "memory.khugepaged_pages_to_scan": ("4096", "256", "32768"),
    "memory.khugepaged_defrag": ("1", "0"),
    "memory.khugepaged_max_ptes_none": ("511", "0", "64", "255"),
    "vm.nr_hugepages": ("0", "64", "256"),
    "vm.nr_overcommit_hugepages": ("0", "32", "128"),
    "memory.ksm": ("0", "1"),
    "memory.ksm_pages_to_scan": ("100", "1000", "5000"),
    "memory.ksm_sleep_millisecs": ("20", "5", "200"),
    "vm.swappiness": ("60", "1", "10", "100"),
    "vm.page_cluster": ("3", "0", "5"),
    "vm.vfs_cache_pressure": ("100", "50", "500"),
    "memory.zswap": ("N", "Y"),
    "memory.zswap_max_pool_percent": ("20", "10", "50"),
    "memory.zswap_compressor": ("lzo", "lz4", "zstd"),
    "vm.min_free_kbytes": ("16384", "4096", "65536", "131072"),
    "vm.watermark_scale_factor": ("10", "100", "500"),
    "vm.watermark_boost_factor": ("15000", "0", "30000"),
    "vm.compaction_proactiveness": ("20", "0", "60"),
    "vm.overcommit_memory": ("0", "1", "2"),
    "vm.overcommit_ratio": ("50", "80", "100"),
    "kernel.randomize_va_space": ("2", "0", "1"),
    "dram.governor": ("dmc_ondemand", "performance", "powersave"),
    "dram.min_freq": ("324000000", "528000000", "780000000"),
    "dram.max_freq": ("1560000000", "1056000000", "780000000"),
    "devfreq.upthreshold": ("40", "20", "60", "90"),
    # CPUs and control groups
    "cgroup.cpu_max": ("max 100000", "50000 100000", "200000 100000", "10000 20000"),
    "cgroup.cpu_weight": ("100", "20", "500"),
    "cgroup.memory_high": ("max", "536870912", "1073741824"),
    "cgroup.io_weight": ("default 100", "default 10", "default 500"),
    "cpu.governor": ("schedutil", "performance", "powersave", "conservative"),
    "cpu.min_freq": ("600000", "1000000"),
    "cpu.max_freq": ("1800000", "1500000", "1200000", "1000000"),
    "cpu.boost": ("1", "0"),
    "cpu.schedutil_rate_limit_us": ("2000", "500", "10000", "50000"),
    "kernel.sched_util_clamp_min": ("0", "128", "512"),
    "kernel.sched_util_clamp_max": ("1024", "512", "768"),
    "kernel.sched_util_clamp_min_rt_default": ("1024", "0", "512"),
    "cpu.idle_governor": ("menu", "teo", "ladder"),
    "cpu.idle_deep_disable": ("0", "1"),
    "cpu.resume_latency_us": ("0", "20", "200"),
    "cpu.secondary_online": ("1", "0"),
    "kernel.watchdog": ("1", "0"),
    "kernel.soft_watchdog": ("1", "0"),
    "kernel.watchdog_thresh": ("10", "5", "30"),
    "kernel.watchdog_cpumask": ("0-3", "0", "0-1"),
    "kernel.hung_task_timeout_secs": ("120", "0", "300"),
    # scheduler and timers
    "sched.base_slice_ns": ("3000000", "750000", "10000000"),
    "sched.migration_cost_ns": ("500000", "50000", "5000000"),
    "sched.nr_migrate": ("32", "8", "128"),
    "sched.tunable_scaling": ("1", "0", "2"),
    "sched.preempt": ("voluntary", "none", "full"),
    "kernel.sched_rt_runtime_us": ("950000", "-1", "500000"),
    "kernel.sched_rt_period_us": ("1000000", "2000000"),
    "kernel.sched_rr_timeslice_ms": ("100", "10", "30"),
    "kernel.sched_autogroup_enabled": ("0", "1"),
    "kernel.timer_migration": ("1", "0"),
    "kernel.sched_cfs_bandwidth_slice_us": ("5000", "1000", "20000"),
    "kernel.sched_energy_aware": ("1", "0"),
    "kernel.rcu_expedited": ("0", "1"),
    "kernel.rcu_normal": ("0", "1"),
    "workqueue.cpumask": ("f", "1", "3"),
    "workqueue.writeback_cpumask": ("f", "1", "8"),
    "workqueue.default_affinity_scope": ("cache", "cpu", "numa", "system"),
    # messages and tracing
    "kernel.printk": ("4 4 1 7", "7 4 1 7", "1 4 1 7", "8 4 1 7"),
    "kernel.printk_delay": ("0", "10"),
    "kernel.printk_ratelimit": ("5", "0"),
    "kernel.printk_ratelimit_burst": ("10", "100"),
    "kernel.ignore_loglevel": ("N", "Y"),
    "kernel.bpf_stats_enabled": ("0", "1"),
    "kernel.ftrace_enabled": ("1", "0"),
    "tracing.current_tracer": ("nop", "function", "function_graph"),
    "tracing.tracing_on": ("1", "0"),
    "kernel.perf_event_paranoid": ("2", "-1", "3"),
    "kernel.perf_cpu_time_max_percent": ("25", "0", "50"),
    # system limits
    "fs.aio_max_nr": ("65536", "1048576"),
    "fs.pipe_max_size": ("1048576", "4096", "65536"),
    "fs.pipe_user_pages_soft": ("16384", "0", "1024"),
    "fs.pipe_user_pages_hard": ("0", "4096"),
    "kernel.io_uring_disabled": ("0", "1", "2"),
    # storage
    "block.scheduler": ("mq-deadline", "none", "kyber", "bfq"),
    "block.read_ahead_kb": ("128", "4", "16", "512", "4096"),
    "block.nr_requests": ("128", "2", "32", "256"),
    "block.max_sectors_kb": ("512", "64", "128"),
    "block.nomerges": ("0", "1", "2"),
    "block.rq_affinity": ("1", "0", "2"),
    "block.add_random": ("0", "1"),
    "block.iostats": ("1", "0"),
    "block.rotational": ("0", "1"),
    "block.wbt_lat_usec": ("2000", "0", "75000"),
    "block.write_cache": ("write back", "write through"),
    "vm.dirty_ratio": ("20", "5", "40", "80"),
    "vm.dirty_background_ratio": ("10", "1", "5", "50"),
    "vm.dirty_bytes": ("0",),
    "vm.dirty_background_bytes": ("0",),
    "vm.dirty_expire_centisecs": ("3000", "300", "6000"),
    "vm.dirty_writeback_centisecs": ("500", "0", "100", "1500"),
    "vm.laptop_mode": ("0", "5"),
    "power.mmc_control": ("auto", "on"),
    "power.sdio_control": ("auto", "on"),
    "power.usb_control": ("on", "auto"),
    "power.pci_control": ("on", "auto"),
    "pci.aspm_policy": ("default", "performance", "powersave", "powersupersave"),
    "usb.autosuspend": ("2", "-1"),
    "usb.autosuspend_delay_ms": ("2000", "-1000", "0"),
    # network
    "net.mtu": ("1500", "9000", "1280"),
    "net.tx_queue_len": ("1000", "10", "100", "10000"),
    "net.rps_cpus": ("0", "f", "e", "2"),
    "net.rps_flow_cnt": ("0", "1024", "4096"),
    "net.rps_sock_flow_entries": ("0", "4096", "32768"),
    "net.xps_cpus": ("0", "f", "1"),
    "net.napi_threaded": ("0", "1"),
    "net.napi_defer_hard_irqs": ("0", "2", "100"),
    "net.gro_flush_timeout": ("0", "20000", "200000"),
    "net.netdev_budget": ("300", "64", "600"),
    "net.netdev_budget_usecs": ("8000", "2000", "20000"),
    "net.netdev_max_backlog": ("1000", "100", "10000"),
    "net.dev_weight": ("64", "8", "256"),
    "net.busy_poll": ("0", "50"),
    "net.busy_read": ("0", "50"),
    "net.congestion_control": ("cubic", "reno", "bbr"),
    "net.default_qdisc": ("pfifo_fast", "fq_codel", "fq"),
    "net.tcp_rmem": ("4096 131072 6291456", "4096 16384 65536", "4096 87380 16777216"),
    "net.tcp_wmem": ("4096 16384 4194304", "4096 16384 65536", "4096 65536 16777216"),
    "net.rmem_max": ("212992", "65536", "16777216"),
    "net.rmem_default": ("212992", "65536", "1048576"),
    "net.wmem_max": ("212992", "65536", "16777216"),
    "net.wmem_default": ("212992", "65536", "1048576"),
    "net.somaxconn": ("4096", "128"),
    "net.tcp_autocorking": ("1", "0"),
    "net.tcp_ecn": ("2", "0", "1"),
    "net.tcp_fastopen": ("1", "0", "3"),
    "net.tcp_limit_output_bytes": ("1048576", "65536", "4194304"),
    "net.tcp_moderate_rcvbuf": ("1", "0"),
    "net.tcp_mtu_probing": ("0", "1", "2"),
    "net.tcp_no_metrics_save": ("0", "1"),
    "net.tcp_notsent_lowat": ("4294967295", "16384", "131072"),
    "net.tcp_sack": ("1", "0"),
    "net.tcp_slow_start_after_idle": ("1", "0"),
    "net.tcp_timestamps": ("1", "0"),
    "net.tcp_tso_win_divisor": ("3", "0", "30"),
    "net.tcp_window_scaling": ("1", "0"),
    "net.bpf_jit_enable": ("1", "0"),
    "net.bpf_jit_harden": ("0", "1", "2"),
    # serial lines
    "serial.rx_trig_bytes": ("8", "1", "14"),
    "serial.usb_latency_timer": ("16", "1"),
}
"""Values of knobs, the default first."""

# Beside the knobs: what else of the catalogue such a board tells.
_BESIDE: Mapping[str, str] = {
    "/proc/version": "Linux version 6.6.20 (build@host) (gcc 12.2.0) #1 SMP PREEMPT\n",
    "/proc/sys/kernel/osrelease": "6.6.20\n",
    "/proc/sys/kernel/tainted": "0\n",
    "/proc/sys/kernel/version": "#1 SMP PREEMPT Mon Jan 1 00:00:00 UTC 2024\n",
    "/proc/cmdline": "console=ttyS0,115200 root=/dev/mmcblk0p2 rootwait quiet\n",
    "/etc/os-release": 'ID=poky\nVERSION_ID=5.0\nNAME="Poky"\n',
    "/sys/devices/system/cpu/possible": "0-3\n",
    "/sys/devices/system/cpu/present": "0-3\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    "/sys/devices/system/cpu/offline": "\n",
    "/sys/devices/system/cpu/isolated": "\n",
    "/sys/devices/system/cpu/cpufreq/policy0/related_cpus": "0 1 2 3 \n",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver": "cpufreq-dt\n",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors": (
        "conservative ondemand userspace powersave performance schedutil\n"
    ),
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_available_frequencies": (
        "600000 1000000 1200000 1500000 1800000\n"
    ),
    "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_min_freq": "600000\n",
    "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq": "1800000\n",
    "/sys/class/devfreq/dmc/available_governors": "dmc_ondemand performance powersave\n",
    "/sys/class/devfreq/dmc/available_frequencies": (
        "324000000 528000000 780000000 1056000000 1560000000\n"
    ),
    "/sys/class/devfreq/gpu/governor": "simple_ondemand\n",
    "/sys/class/devfreq/gpu/min_freq": "200000000\n",
    "/sys/class/devfreq/gpu/max_freq": "800000000\n",
    "/sys/class/net/eth0/speed": "1000\n",
    "/sys/class/net/eth0/duplex": "full\n",
    "/sys/class/net/eth0/operstate": "up\n",
    "/proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic bbr\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "arch_sys_counter\n",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource": "arch_sys_counter\n",
    "/proc/sys/vm/overcommit_kbytes": "0\n",
}


@cache
def knob_of(name: str) -> Knob:
    """The catalogue's record of a knob."""
    return knobs()[name][1]


@cache
def families_of(name: str) -> frozenset[Family]:
    """What a knob can affect."""
    return frozenset(knobs()[name][0].families)


@cache
def paths_of(name: str) -> tuple[str, ...]:
    """The files of a knob on this board; none where it has no such."""
    if name not in VALUES:
        return ()
    knob = knob_of(name)
    glob = places.expand(knob, ROLES).replace("\\", "")
    return tuple(_expanded(glob))


def _expanded(glob: str) -> Iterator[str]:
    for wild, names in _WILD:
        if wild in glob:
            for found in names:
                yield from _expanded(glob.replace(wild, found, 1))
            return
    assert "*" not in glob, glob
    yield glob


@cache
def owner(path: str) -> Knob | None:
    """The knob that a file belongs to; None for what is none of them."""
    return _owners().get(path)


@cache
def _owners() -> Mapping[str, Knob]:
    return {path: knob_of(name) for name in VALUES for path in paths_of(name)}


def as_text(knob: Knob, value: str) -> str:
    """What the file shows when it has that value."""
    if knob.name in _MARKED:
        words = (
            sorted(VALUES[knob.name], key=lambda word: knob.choices.index(word))
            if (knob.choices)
            else VALUES[knob.name]
        )
        return " ".join(f"[{word}]" if word == value else word for word in words) + "\n"
    if knob.name == "sched.preempt":
        return " ".join(f"({w})" if w == value else w for w in ("none", "voluntary", "full")) + "\n"
    if knob.name in ("net.rps_cpus", "net.xps_cpus", "workqueue.cpumask"):
        return f"{int(value, 16):08x}\n"
    if knob.name in ("kernel.printk", "net.tcp_rmem", "net.tcp_wmem"):
        return "\t".join(value.split()) + "\n"
    return f"{value}\n"


def shown(name: str, value: str) -> str:
    """A value in the spelling in which the knob's file has it."""
    knob, path = knob_of(name), paths_of(name)[0]
    return spelling.present_value(knob, path, as_text(knob, value))


def default_files() -> dict[str, str]:
    """All files of a board as it left the factory."""
    return dict(_default_files())


@cache
def _default_files() -> Mapping[str, str]:
    files = dict(_BESIDE)
    for name, known in VALUES.items():
        for path in paths_of(name):
            files[path] = as_text(knob_of(name), known[0])
    return files
