"""Counters of a mechanism, from files read before and after, and from samples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.why.explain.counters import COUNTERS, READS, between, of_samples, work_of

STAT = "cpu  100 0 50 1000 5 2 3 0 0 0\ncpu0 100 0 50 1000 5 2 3 0 0 0\nintr 500 1 2\nctxt {}\n"
SNMP = (
    "Tcp: RtoAlgorithm RetransSegs InSegs OutSegs\nTcp: 1 {} 100 200\n"
    "Udp: InDatagrams NoPorts\nUdp: 1 2\n"
)
BEFORE = {
    "/proc/vmstat": "pgfault 1000\nallocstall_dma 1\nallocstall_normal 2\nnr_mapped 7\n",
    "/proc/stat": STAT.format(4000),
    "/proc/softirqs": "  CPU0 CPU1\n NET_RX: 10 20\n TIMER: 1 1\n",
    "/proc/interrupts": "  CPU0 CPU1\n LOC: 5 5 Local timers\n 11: 3 4 GICv2 30 Level arch_timer\n",
    "/proc/net/snmp": SNMP.format(1),
    "/proc/net/softnet_stat": "000000ff 00000001 00000002 0\n",
    "/proc/pressure/io": "some avg10=0.00 avg60=0.00 total=100\nfull avg10=0.00 total=9\n",
    "/proc/tty/driver/serial": "serinfo:1.0\n0: uart:16550A tx:100 rx:0\n1: uart:unknown\n",
    "/sys/block/mmcblk0/stat": "10 0 80 5 1 0 8 1 0 20 6 0 0 0 0 3 1\n",
    "/sys/block/loop0/stat": "999 0 999 5 1 0 8 1 0 20 6 0 0 0 0 3 1\n",
    "/sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nnr_throttled 1\nthrottled_usec 100\n",
    "/sys/fs/cgroup/cpu/b/cpu.stat": "nr_throttled 1\nthrottled_time 5000\n",
    "/sys/devices/system/cpu/cpu0/cpuidle/state1/usage": "50\n",
    "/sys/kernel/mm/ksm/pages_scanned": "0\n",
}
AFTER = {
    **BEFORE,
    "/proc/vmstat": "pgfault 1600\nallocstall_dma 1\nallocstall_normal 4\nnr_mapped 9\n",
    "/proc/stat": STAT.format(4200),
    "/proc/softirqs": "  CPU0 CPU1\n NET_RX: 110 120\n TIMER: 1 1\n",
    "/proc/net/snmp": SNMP.format(21),
    "/proc/net/softnet_stat": "000000ff 00000001 0000000a 0\n",
    "/proc/pressure/io": "some avg10=0.00 avg60=0.00 total=5100\nfull avg10=0.00 total=9\n",
    "/proc/tty/driver/serial": "serinfo:1.0\n0: uart:16550A port:3F8 tx:176 rx:0\n",
    "/sys/block/mmcblk0/stat": "50 0 720 5 1 0 8 1 0 60 6 0 0 0 0 13 1\n",
    "/sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nnr_throttled 5\nthrottled_usec 900\n",
    "/sys/fs/cgroup/cpu/b/cpu.stat": "nr_throttled 3\nthrottled_time 405000\n",
    "/sys/devices/system/cpu/cpu0/cpuidle/state1/usage": "150\n",
}


def test_differences_for_a_unit_of_work() -> None:
    found = between(BEFORE, AFTER, work=2)
    assert found["vmstat.pgfault"] == 300 and found["vmstat.allocstall"] == 1
    assert found["stat.ctxt"] == 100 and found["softirqs.NET_RX"] == 100
    assert found["tcp.retransmits"] == 10 and found["softnet.squeezed"] == 4
    assert found["psi.io_us"] == 2500 and found["serial.sent"] == 38
    assert found["disk.read_ios"] == 20 and found["disk.busy_ms"] == 20
    assert found["disk.flushes"] == 5 and found["disk.read_size"] == 8192
    assert found["quota.throttled"] == 3 and found["quota.throttled_us"] == pytest.approx(600)
    assert found["idle.deep"] == 50 and found["interrupts.arch_timer"] == 0
    assert set(found) <= set(COUNTERS)


def test_every_counter_of_files_can_be_had() -> None:
    texts = {**BEFORE, "/proc/vmstat": "".join(
        f"{name.partition('.')[2]} 1\n" for name in COUNTERS if name.startswith("vmstat.")
    )}  # fmt: skip
    texts |= {f"/proc/pressure/{kind}": "some avg10=0 total=1\n" for kind in ("cpu", "memory")}
    texts["/proc/softirqs"] += " BLOCK: 1 1\n"
    texts["/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"] = "0"
    of_files = {name for name in COUNTERS if "." in name}
    assert set(between(texts, texts)) == of_files - {"disk.read_size"}


def test_what_is_missing_or_went_backwards_is_not_there() -> None:
    assert "vmstat.pgfault" not in between(AFTER, BEFORE)
    assert between({}, AFTER) == {}


def test_paths_to_read_have_every_file_of_the_test() -> None:
    assert all(path in READS for path in BEFORE if path.startswith("/proc/"))


@given(st.dictionaries(st.sampled_from(sorted(BEFORE)), st.text()))
def test_any_text_of_a_board_is_survived(texts: dict[str, str]) -> None:
    found = between(texts, texts)
    assert all(value == 0 for value in found.values()), "nothing happened between the two"


def test_counters_of_samples() -> None:
    samples = [
        {
            "iterations": 10,
            "clock_after_hz": 1.5e9,
            "wait_ns": 10000,
            "steal_ticks": {"na": "no /proc/stat"},
            "counters": {"cycles": 1000, "instructions": 500, "cache_misses": {"na": "no PMU"}},
            "detail": {"zero_page_bytes": size, "faults_minor": 2000, "looks": 3},
        }
        for size in (1 << 20, 1 << 30, 0)
    ]
    found = of_samples(samples)
    assert found == {
        "cycles": 100,
        "instructions": 50,
        "cycles_per_instruction": 2,
        "clock_hz": 1.5e9,
        "wait_ns": 1000,
        "zero_page_bytes": 1 << 30,
        "faults_minor": 200,
    }
    of_a_command = {"iterations": 1, "wait_ns": 9000, "detail": {"wall_ns": 5, "faults_minor": 3}}
    assert of_samples([of_a_command]) == {"faults_minor": 0}, "3 page faults say nothing"
    assert of_samples([{"iterations": True, "counters": [], "detail": None}]) == {}


def test_of_what_sends_for_a_given_time_counts_are_for_what_went() -> None:
    """A side that sends more in the same time does not look as if it sent more segments."""
    batch = {"iterations": 1, "detail": {"moved_bytes": 4e9, "retransmits": 40, "rtt_ns": 5000}}
    faster = {"iterations": 1, "detail": {"moved_bytes": 8e9, "retransmits": 80, "rtt_ns": 5000}}
    assert of_samples([batch]) == of_samples([faster]) == {"retransmits": 0.01, "rtt_ns": 5000}
    assert work_of({"iterations": 3, "detail": None}) == 3
    assert work_of({"iterations": -3, "detail": {"moved_bytes": "x"}}) == work_of({}) == 0
