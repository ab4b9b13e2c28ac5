"""Whether two sides can be compared: artefacts that are known by name, and circumstances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from why_boards import metric, side, with_value

from benchvise.measure.hostside import HOST_BENCHMARKS
from benchvise.measure.runner import local_registry
from benchvise.state.model import Snapshot, StateEntry
from benchvise.why.bench import SideFacts
from benchvise.why.model import Finding, Grade, Metric, Side
from benchvise.why.suspects.admissibility import artefacts, examine, version_of

HOST = {"probe": "0.1.0", "arch": "x86_64", "cpu_model": "AMD EPYC", "cpus_online": "0-3"}
CACHES = [{"level": 1, "size": 32768}, {"level": 3, "size": 33554432}]


def look(
    given: Metric,
    good: SideFacts | None = None,
    bad: SideFacts | None = None,
    snapshots: tuple[Snapshot, Snapshot] | None = None,
) -> dict[str, Finding]:
    one, other = snapshots or (side(), side())
    facts = {Side.GOOD: good or SideFacts(HOST), Side.BAD: bad or good or SideFacts(HOST)}
    found = examine(given, facts, {Side.GOOD: one, Side.BAD: other})
    order = [list(Grade).index(finding.grade) for finding in found]
    assert order == sorted(order)
    for finding in found:
        assert not finding.sentence.endswith(".") and finding.evidence.isprintable()
    return {finding.rule: finding for finding in found}


def ran(command: str, **more: Any) -> dict[str, Finding]:
    return look(metric(command=command), **more)


def program(name: str, version: str, digest: str = "d") -> SideFacts:
    path = f"/usr/bin/{name}"
    return SideFacts(HOST, {path: digest}, {path: f"{name} version {version}"} if version else {})


def observed(given: Snapshot, name: str, value: Any) -> Snapshot:
    item, _, key = name.partition("/")
    kept = tuple(entry for entry in given.observations if entry.name != name)
    return replace(given, observations=(*kept, StateEntry(item, key, value=value)))


def test_equal_boards_and_a_sound_benchmark_have_no_findings() -> None:
    assert look(metric("memory.copy", size="64M", source="random")) == {}
    assert ran("./my-program --fast") == {}


class TestArtefacts:
    """Each of the table by a command that has it, and one that has not."""

    CASES: Mapping[str, tuple[str, str]] = {
        "perf-unwritten-source": ("perf bench mem memcpy", "perf bench mem memset"),
        "perf-memcpy-small": ("perf bench mem memset", "perf bench mem memset -s 256MB"),
        "perf-pipe-unpinned": ("perf bench sched pipe", "taskset -c 0 perf bench sched pipe"),
        "sysbench-versions": ("sysbench cpu run", "./sys cpu run"),
        "sysbench-memory-blocks": (
            "sysbench memory run",
            "sysbench --memory-block-size=64M memory run",
        ),
        "iperf3-interrupt-core": ("iperf3 -c board", "iperf3 -c board -A 2"),
        "iperf3-threads": ("iperf3 -c board -P 4", "iperf3 -c board"),
        "dd-write-cached": (
            "dd if=/dev/zero of=/tmp/x bs=1M count=64",
            "dd if=/dev/zero of=/tmp/x bs=1M count=64 conv=fdatasync",
        ),
        "dd-read-cached": (
            "dd if=/dev/sda of=/dev/null",
            "dd if=/dev/sda iflag=direct of=/dev/null",
        ),
        "hdparm-cached": ("hdparm -tT /dev/sda", "hdparm -t /dev/sda"),
        "hdparm-buffered": ("hdparm -t /dev/sda", "hdparm --direct -t /dev/sda"),
        "bogo-operations": ("stress-ng --cpu 1 --metrics", "stress --cpu 1"),
        "lmbench-strided": ("bw_mem 64m rd", "bw_mem 64m frd"),
        "lmbench-latency-stride": ("lat_mem_rd 64 128", "lat_mem_rd -t 64 128"),
        "stream-counts-twice": ("./stream_c.exe", "./streaming"),
        "cyclictest-no-idle": ("cyclictest -p 90", "cyclictest -p 90 --default-system"),
        "fio-buffered": ("fio --name=x --rw=read", "fio --name=x --rw=read --direct=1"),
        "openssl-without-evp": ("openssl speed sha256", "openssl speed -evp aes-128-cbc"),
        "ping-idle": ("ping -c 10 board", "ping -f board"),
    }

    @pytest.mark.parametrize("rule", CASES)
    def test_it_is_known_by_the_command(self, rule: str) -> None:
        has, has_not = self.CASES[rule]
        assert rule in ran(has) and rule not in ran(has_not)
        assert ran(has)[rule].grade is not Grade.STOPS and ran(has)[rule].remedy

    def test_every_record_is_sound(self) -> None:
        names = {b.id for b in local_registry().benchmarks}
        names |= {b.description.id for b in HOST_BENCHMARKS}
        rules = [artefact.rule for artefact in artefacts()]
        assert len(rules) == len(set(rules)) >= 12
        for artefact in artefacts():
            assert artefact.sentence and artefact.remedy and artefact.source, artefact.rule
            assert (artefact.command is None) != (artefact.benchmark == ""), artefact.rule
            assert artefact.grade or artefact.apart, artefact.rule

    def test_perf_is_judged_by_its_version(self) -> None:
        old, new, fixed = (program("perf", version) for version in ("5.4.1", "6.1.187", "5.4.77"))
        command = "perf bench mem memcpy -s 256MB"
        assert ran(command, good=old)["perf-unwritten-source"].grade is Grade.WARNS
        apart = ran(command, good=new, bad=old)["perf-unwritten-source"]
        assert apart.grade is Grade.STOPS
        assert apart.evidence == "good: perf 6.1.187, bad: perf 5.4.1"
        for sound in (new, fixed):
            assert "perf-unwritten-source" not in ran(command, good=sound)
        # of the series alone nobody knows whether it has the fix
        series = ran(command, good=program("perf", "5.4"))["perf-unwritten-source"]
        assert series.grade is Grade.NOTES
        assert "perf-unwritten-source" not in ran(command + " --cycles", good=old)

    @pytest.mark.parametrize(
        ("command", "rule", "name", "one", "other"),
        [
            ("7z b", "7-zip-versions", "7z", "16.02", "23.01"),
            ("sysbench cpu run", "sysbench-versions", "sysbench", "1.0.20", "0.4.12"),
            ("iperf3 -c x -P 4", "iperf3-threads", "iperf3", "3.17", "3.12"),
        ],
    )
    def test_versions_that_count_otherwise_stop(
        self, command: str, rule: str, name: str, one: str, other: str
    ) -> None:
        found = ran(command, good=program(name, one), bad=program(name, other))
        assert found[rule].grade is Grade.STOPS
        assert rule not in ran(command, good=program(name, one))

    def test_word_sizes_stop_sysbench_and_warn_of_the_rest(self) -> None:
        sides = [with_value(side(), "kernel.word_size//bin/sh", {"class": n}) for n in (64, 32)]
        found = ran("sysbench cpu run", snapshots=(sides[0], sides[1]))
        assert found["sysbench-cpu-word-size"].grade is Grade.STOPS
        assert found["word-size"].grade is Grade.WARNS
        assert "sysbench-cpu-word-size" not in ran("make", snapshots=(sides[0], sides[1]))

    def test_an_unwritten_source_is_known_by_itself(self) -> None:
        found = look(metric("memory.copy", source="untouched", size="64M"))
        assert found["unwritten-source"].grade is Grade.WARNS

    def test_a_first_run_that_is_cold_is_known(self) -> None:
        assert "cold-run" in look(metric("command.time", "make", warmup="0"))
        assert "cold-run" not in look(metric("command.time", "make", warmup="1"))

    def test_a_buffer_that_fits_one_cache_only_is_known(self) -> None:
        large, small = (
            SideFacts({**HOST, "caches": CACHES}),
            SideFacts({**HOST, "caches": CACHES[:1]}),
        )
        given = metric("memory.copy", size="16M", source="random")
        assert look(given, large, small)["buffer-fits-cache"].grade is Grade.WARNS
        assert "buffer-fits-cache" not in look(given, large, large)
        assert "buffer-fits-cache" not in look(given, large, SideFacts(HOST))

    def test_programs_built_twice_are_known(self) -> None:
        one, other = program("coremark", "", "1"), program("coremark", "", "2")
        assert ran("coremark 0", good=one, bad=other)["built-on-the-board"].grade is Grade.WARNS
        assert "built-on-the-board" not in ran("coremark 0", good=one)

    @pytest.mark.parametrize(
        ("text", "version"),
        [("iperf 3.12 (cJSON 1.7.15)", "3.12"), ("dd (coreutils) 9.1", "9.1"), ("none", "")],
    )
    def test_versions_are_found_in_what_programs_say(self, text: str, version: str) -> None:
        assert version_of("x", SideFacts(versions={"/bin/x": text})) == version
        assert version_of("y", SideFacts(versions={"/bin/x": text})) == ""


class TestCircumstances:
    def test_other_programs_are_told(self) -> None:
        found = ran("dd", good=program("dd", "9.1", "1"), bad=program("dd", "9.4", "2"))
        assert found["other-program"].grade is Grade.WARNS
        assert "another version" in found["other-program"].sentence
        found = ran("dd", good=program("dd", "9.1", "1"), bad=program("dd", "9.1", "2"))
        assert found["other-program"].grade is Grade.NOTES
        assert "other-program" not in ran("dd", good=program("dd", "9.1"))

    def test_a_program_that_one_side_lacks_stops(self) -> None:
        two = SideFacts(HOST, {"/bin/a": "1", "/bin/b": "2"})
        found = ran("a | b", good=two, bad=SideFacts(HOST, {"/bin/a": "1"}))["program-missing"]
        assert found.grade is Grade.STOPS and "does not have b" in found.sentence

    def test_another_probe_is_told(self) -> None:
        bad = SideFacts({**HOST, "probe": "0.0.9"})
        found = look(metric("memory.copy", size="64M", source="random"), SideFacts(HOST), bad)
        assert found["other-probe"].grade is Grade.WARNS

    def test_an_emulated_board_is_not_compared_with_a_real_one(self) -> None:
        real, emulated = SideFacts(HOST), SideFacts(HOST, simulated=True)
        given = metric("memory.copy")
        assert look(given, real, emulated)["emulated"].grade is Grade.STOPS
        assert look(given, emulated, emulated)["emulated"].grade is Grade.NOTES
        guest = observed(side(), "system.load/hypervisor", "KVMKVMKVM")
        found = look(given, snapshots=(side(), guest))
        assert found["virtual-machine"].grade is Grade.WARNS

    def test_fewer_cpus_are_the_likely_cause_of_work_in_threads(self) -> None:
        online = "/sys/devices/system/cpu/online"
        one_cpu = side({online: "0\n", "/sys/devices/system/cpu/present": "0\n"})
        found = ran("make -j8", snapshots=(side(), one_cpu))
        assert found["fewer-cpus"].grade is Grade.WARNS
        assert found["fewer-cpus"].sentence == (
            "the bad side uses 1 CPU, the other 4: for work that is spread over CPUs that alone "
            "is the likely cause"
        )
        quiet = look(metric("memory.copy"), snapshots=(side(), one_cpu))["fewer-cpus"]
        assert quiet.grade is Grade.NOTES and "cause" not in quiet.sentence
        threads = look(metric("memory.triad", threads="4"), snapshots=(side(), one_cpu))
        assert threads["fewer-cpus"].grade is Grade.WARNS

    def test_cpus_that_are_off_are_told(self) -> None:
        off = side({"/sys/devices/system/cpu/online": "0-1\n"})
        found = ran("make -j8", snapshots=(side(), off))
        assert found["cpus-offline"].sentence == "on the bad side 2 of 4 CPUs are offline"

    def test_checks_built_into_a_kernel_are_told(self) -> None:
        checked = with_value(side(), "kernel.debug_options/options", {"PROVE_LOCKING": "y"})
        given = metric("os.syscall")
        assert look(given, snapshots=(side(), checked))["kernel-checks"].grade is Grade.WARNS
        assert look(given, snapshots=(checked, checked))["kernel-checks"].grade is Grade.NOTES
        harmless = with_value(side(), "kernel.debug_options/options", {"DEBUG_LIST": "y"})
        assert "kernel-checks" not in look(given, snapshots=(side(), harmless))

    def test_throttling_now_is_told(self) -> None:
        hot = observed(side(), "power.throttling/flags", {"throttled now": True})
        found = look(metric("cpu.clock"), snapshots=(side(), hot))
        assert found["throttled"].grade is Grade.WARNS and "bad side" in found["throttled"].sentence
        assert look(metric("cpu.clock"), snapshots=(hot, hot))["throttled"].grade is Grade.NOTES

    def test_another_clock_than_said_is_told(self) -> None:
        slow = observed(side(), "cpu.measured_clock/cpu0", {"best_hz": 1.2e9})
        slow = observed(slow, "cpu.measured_clock/policy0 scaling_cur_freq", 1800000)
        assert "1200 MHz" in look(metric("cpu.clock"), snapshots=(side(), slow))["clock"].sentence

    def test_a_busy_side_is_told(self) -> None:
        idle, busy = (
            observed(side(), "system.load/loadavg", {"1 min": load}) for load in (0.1, 6.0)
        )
        found = look(metric("memory.copy"), snapshots=(idle, busy))
        assert found["one-side-busy"].sentence == "the bad side was busy with other work"
        assert "one-side-busy" not in look(metric("memory.copy"), snapshots=(busy, busy))

    def test_swap_in_use_is_told(self) -> None:
        swap = with_value(side(), "memory.size/meminfo", {"SwapTotal": 1 << 30})
        used = observed(swap, "memory.size/use", {"SwapFree": 1 << 29})
        free = observed(swap, "memory.size/use", {"SwapFree": 1 << 30})
        assert look(metric(), snapshots=(free, used))["swap-used"].grade is Grade.WARNS
        assert "swap-used" not in look(metric(), snapshots=(free, free))

    def test_other_hardware_is_told(self) -> None:
        other = SideFacts({**HOST, "cpu_model": "Cortex-A72\x1b[31m"})
        found = look(metric("memory.copy"), SideFacts(HOST), other)["other-hardware"]
        assert found.grade is Grade.NOTES and "\x1b" not in found.evidence

    @pytest.mark.parametrize("value", [None, 3, "x", [], {"class": "?"}, {"1 min": "busy"}])
    def test_whatever_a_board_says_does_not_end_it(self, value: Any) -> None:
        given = side()
        for name in ("kernel.word_size//bin/sh", "memory.size/meminfo", "cpu.present/online"):
            given = with_value(given, name, value)
        given = with_value(given, "kernel.debug_options/options", value)
        given = observed(given, "system.load/loadavg", value)
        given = observed(given, "memory.size/use", value)
        host = dict.fromkeys(("probe", "arch", "cpu_model", "cpus_online", "caches"), value)
        look(metric("memory.copy", size="64M"), SideFacts(host), SideFacts(HOST), (given, side()))
