"""Mechanisms: which card, which signs, which sentences; on cases made by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest
from why_suspects import difference, line, snapshot, suspect

from benchvise.errors import MeasurementError
from benchvise.measure.model import SeriesSpec
from benchvise.state.model import Snapshot
from benchvise.why.bench import SideFacts
from benchvise.why.explain.mechanism import artefacts, cards_for, explain
from benchvise.why.model import (
    Arm,
    Bounds,
    Layer,
    Mechanism,
    Metric,
    Side,
    Support,
    Suspect,
)

TWICE = Bounds(math.log(2), math.log(1.9), math.log(2.1))
GIB = float(1 << 30)
COPY = Metric.of(SeriesSpec("memory.copy", (("size", "64M"),), "memory.copy"), "B/s", "higher")
RUN = Metric.of(
    SeriesSpec("command.output", (("run", "perf bench"),), "command.output"),
    "GB/s",
    "higher",
    command="perf bench mem memcpy -s 1GB",
)

Counts = Mapping[str, float]


def counting(bad: Counts, good: Counts) -> Callable[[Arm], Counts]:
    return lambda arm: good if (arm.side is Side.GOOD) != bool(arm.flipped) else bad


def explained(
    metric: Metric,
    *suspects: Suspect,
    bad: Counts | None = None,
    good: Counts | None = None,
    during: Callable[[Arm], Counts] | None = None,
    side: Side = Side.BAD,
    snapshots: Mapping[Side, Snapshot] | None = None,
) -> Mechanism:
    mechanism = explain(
        metric,
        suspects,
        snapshots=snapshots or {Side.GOOD: snapshot({}), Side.BAD: snapshot({})},
        facts={},
        effect=TWICE,
        during=during or counting(bad or {}, good or {}),
        side=side,
    )
    assert mechanism is not None
    return mechanism


THP = suspect("memory.thp", "madvise", "always")
ZEROS = {"zero_page_bytes": GIB, "rss_bytes": GIB, "instructions": 5.41e9}
SLOW = {**ZEROS, "cache_misses": 17.2e6, "dtlb_load_misses": 1.53e6}
FAST = {**ZEROS, "cache_misses": 0.77e6, "dtlb_load_misses": 17.2e6}


def test_the_case_of_the_memcpy_that_lost_half_its_speed() -> None:
    """With the counters of that investigation."""
    found = explained(RUN, THP, bad=SLOW, good=FAST)
    assert found.card == "huge-zero-page"
    assert found.support is Support.SUPPORTED
    signs = {check.counter: (check.predicted, check.agrees) for check in found.checks}
    assert signs["dtlb_load_misses"] == ("+", True)
    assert signs["cache_misses"] == ("-", True)
    assert signs["instructions"] == ("0", True)
    assert "1 GiB of what 'perf bench mem memcpy -s 1GB' reads was never written" in found.artefact
    assert "not a copy bandwidth" in found.artefact and "use_zero_page" in found.artefact
    assert any("write the source" in remedy.text for remedy in found.remedies)
    (finding,) = artefacts(found)
    assert finding.rule == "huge-zero-page" and finding.remedy


def test_the_other_direction_is_as_good() -> None:
    """On another machine huge pages were faster: the signs turn, the mechanism stays."""
    found = explained(RUN, suspect("memory.thp", "always", "madvise"), bad=FAST, good=SLOW)
    assert (found.card, found.support) == ("huge-zero-page", Support.SUPPORTED)


def test_counters_that_move_the_wrong_way_contradict() -> None:
    found = explained(RUN, THP, bad=FAST, good=SLOW)
    assert found.support is Support.CONTRADICTED


def test_written_memory_is_another_mechanism() -> None:
    counts = {"zero_page_bytes": 0.0, "rss_bytes": GIB, "dtlb_load_misses": 1e6}
    fewer = {**counts, "dtlb_load_misses": 1e4, "anon_huge_bytes": GIB}
    found = explained(RUN, suspect("memory.thp", "always", "never"), bad=counts, good=fewer)
    assert (found.card, found.support, found.artefact) == ("tlb-reach", Support.SUPPORTED, "")
    assert explained(COPY, suspect("memory.thp", "always", "never")).card == "tlb-reach"


def test_a_few_pages_that_were_only_looked_at_are_no_artefact() -> None:
    counts = {"zero_page_bytes": 40960.0, "rss_bytes": 1e6}
    assert explained(RUN, THP, bad=counts, good=counts).card == "tlb-reach"


def test_a_source_that_is_told_to_be_untouched_needs_no_look() -> None:
    spec = SeriesSpec("memory.copy", (("size", "64M"), ("source", "untouched")), "memory.copy")
    found = explained(Metric.of(spec, "B/s", "higher"), THP)
    assert (found.card, found.support) == ("huge-zero-page", Support.NOT_CHECKED)
    assert "64 MiB of what" in found.artefact


def test_where_memory_cannot_be_looked_at_it_is_said() -> None:
    found = explained(RUN, suspect("memory.huge_zero_page", "0", "1"))
    assert "could not be looked at" in found.artefact


def test_on_the_good_side_the_arms_change_places() -> None:
    assert explained(RUN, THP, bad=SLOW, good=FAST, side=Side.GOOD).support is Support.SUPPORTED


def test_what_is_not_counted_is_not_checked() -> None:
    found = explained(RUN, THP, bad=ZEROS, good=ZEROS)
    assert found.support is Support.NOT_CHECKED
    check = next(check for check in found.checks if check.counter == "cache_misses")
    assert (check.change, check.agrees) == (None, None) and "not available" in check.reason


def test_counting_that_fails_leaves_the_mechanism_unchecked() -> None:
    def fails(_arm: Arm) -> Counts:
        raise MeasurementError("the command failed (exit 3)")

    found = explained(RUN, suspect("cgroup.cpu_max", "max 100000", "20000 100000"), during=fails)
    assert found.support is Support.NOT_CHECKED
    assert all("exit 3" in check.reason for check in found.checks)


def test_a_change_within_the_noise_decides_nothing_or_contradicts() -> None:
    """One counter of the card must move, the others may."""
    quota = suspect("cgroup.cpu_max", "max 100000", "20000 100000")
    still = {"quota.throttled": 50.0, "wait_ns": 1e6, "instructions": 1e6}
    found = explained(RUN, quota, bad=still, good={**still, "wait_ns": 1.1e6})
    checks = {check.counter: check for check in found.checks}
    assert checks["quota.throttled"].agrees is False
    assert checks["wait_ns"].agrees is None and "noise" in checks["wait_ns"].reason
    assert found.support is Support.CONTRADICTED


def test_rounds_that_differ_widen_the_noise() -> None:
    rounds = iter([{"quota.throttled": 50.0}, {"quota.throttled": 20.0}] * 2)
    quota = suspect("cgroup.cpu_max", "max 100000", "20000 100000")
    found = explained(RUN, quota, during=lambda _arm: next(rounds))
    (check,) = (check for check in found.checks if check.counter == "quota.throttled")
    assert "noise" in check.reason


def test_nothing_counted_and_something_compare() -> None:
    quota = suspect("cgroup.cpu_max", "max 100000", "20000 100000")
    found = explained(RUN, quota, bad={"quota.throttled": 40.0}, good={"quota.throttled": 0.0})
    assert found.support is Support.SUPPORTED
    assert found.predicted == pytest.approx(5)
    assert "Predicted: better by a factor of 5; measured: 2 (1.9 to 2.1)" in found.prediction


def test_what_others_count_into_decides_nothing() -> None:
    """A counter of the whole system that moves the wrong way is no contradiction; one of the
    program itself is."""
    pages = suspect("memory.thp_defrag", "madvise", "always")
    wrong = {"psi.memory_us": 5000.0, "vmstat.compact_stall": 0.0}
    bad = {"psi.memory_us": 1000.0, "vmstat.compact_stall": 40.0}
    found = explained(RUN, pages, bad=bad, good=wrong)
    assert found.card == "huge-page-stalls" and found.support is Support.SUPPORTED
    (check,) = (check for check in found.checks if check.counter == "psi.memory_us")
    assert check.agrees is None and "whole system" in check.reason


def test_small_counts_for_each_iteration_compare() -> None:
    """A million iterations to a batch, and a counter that decides."""
    quota = suspect("cgroup.cpu_max", "max 100000", "20000 100000")
    found = explained(RUN, quota, bad={"quota.throttled": 4e-5}, good={"quota.throttled": 0.0})
    (check,) = (check for check in found.checks if check.counter == "quota.throttled")
    assert check.agrees is True and check.change == pytest.approx(1e-3)


def test_two_suspects_that_interact_have_one_mechanism() -> None:
    rmem = suspect("net.tcp_rmem", "4096 131072 6291456", "4096 4096 8192")
    wmem = suspect("net.tcp_wmem", "4096 16384 4194304", "4096 4096 8192")
    tcp = Metric.of(SeriesSpec("net.tcp", (), "net.tcp"), "B/s", "higher")
    counts = {"rtt_ns": 1e6}
    found = explained(tcp, rmem, wmem, bad=counts, good=counts)
    assert found.card == "tcp-window"
    assert found.predicted == pytest.approx(3145728 / 4096)
    assert "at most" in found.prediction


@pytest.mark.parametrize(
    ("name", "item", "good", "bad", "card"),
    [
        ("HZ_1000", "kernel.config", "y", "not set", "timer-tick"),
        ("CONFIG_PROVE_LOCKING", "kernel.config", "not set", "y", "kernel-debugging"),
        ("mitigations", "kernel.command_line", "off", "auto", "mitigations"),
        ("isolcpus", "kernel.command_line", "not set", "1-3", "cpu-isolation"),
        ("default_nic coalescing", "net.offloads", "rx_usecs 0", "100", "interrupt-coalescing"),
        ("default_nic features", "net.offloads", "gro on", "gro off", "offloads"),
        ("online", "cpu.present", "0-3", "0", "missing-cpus"),
        ("library", "libc.version", "glibc 2.36", "musl 1.2", "c-library-copies"),
        ("root_disk host ios", "mmc.bus", "HS200", "SDR25", "mmc-bus-mode"),
        ("mounts", "storage.mounts", "noatime", "sync", "flushes-and-journal"),
    ],
)
def test_what_is_no_setting_has_cards_too(
    name: str, item: str, good: str, bad: str, card: str
) -> None:
    found = cards_for(RUN, (difference(name, item, good, bad, key=name),))
    assert found[0].id == card


def test_a_line_of_a_file_is_about_the_setting_in_it() -> None:
    """Its signs are those of what the two systems have, as the line is on one side only."""
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    found = line("init-settings", "etc/rc.local:12", "not there", f"echo always > {path}")
    snapshots = {
        side: snapshot({"memory.thp/mode": mode}, {"memory.thp/mode": path})
        for side, mode in ((Side.GOOD, "madvise"), (Side.BAD, "always"))
    }
    mechanism = explained(RUN, found, bad=SLOW, good=FAST, snapshots=snapshots)
    assert (mechanism.card, mechanism.support) == ("huge-zero-page", Support.SUPPORTED)
    sysctl = line(
        "init-settings", "etc/sysctl.conf", "not there", "net.ipv4.tcp_rmem = 4096 4096 8192"
    )
    assert cards_for(RUN, (sysctl,))[0].id == "tcp-window"


def test_a_card_that_cannot_speak_of_the_metric_is_not_taken() -> None:
    rtt = Metric.of(SeriesSpec("net.latency", (), "net.latency"), "ns", "lower")
    assert cards_for(rtt, (suspect("fs.pipe_max_size", "1048576", "4096"),)) == ()
    nothing = difference("x", "disk.unknown", "1", "2", Layer.PROCESS)
    assert (
        explain(
            rtt,
            (nothing,),
            snapshots={},
            facts={},
            effect=TWICE,
            during=lambda _arm: {},
            side=Side.BAD,
        )
        is None
    )


def test_a_simulated_board_says_so() -> None:
    found = explain(
        RUN,
        (THP,),
        snapshots={},
        facts={Side.BAD: SideFacts(simulated=True)},
        effect=TWICE,
        during=lambda _arm: {},
        side=Side.BAD,
    )
    assert found is not None
    assert all("simulated" in check.reason for check in found.checks)


def test_text_of_a_board_is_made_harmless() -> None:
    evil = difference("x", "kernel.debug_options", "\x1b[31mred", "{instructions}", Layer.KERNEL)
    assert "\x1b" not in explained(RUN, evil).explanation


def test_each_limit_of_a_process_is_explained_by_what_it_is_about() -> None:
    """A limit of open files was told of as a scheduling policy, a nice value and a class of I/O."""
    expected = {
        "limit.nofile": "open-file-limit",
        "limit.memlock": "locked-memory-limit",
        "limit.stack": "stack-limit",
        "limit.nproc": "resource-limit",
        "hard_limit.nofile": "open-file-limit",
        "nice": "inherited-priority",
        "policy": "inherited-priority",
    }
    for name, card in expected.items():
        limit = difference(
            f"process.inherited:{name}", "process.inherited", "1024", "256", Layer.PROCESS
        )
        assert cards_for(RUN, [limit])[0].id == card, name
    preload = difference("libc.preload", "libc.preload", "none", "/usr/lib/a.so", Layer.PROCESS)
    assert cards_for(RUN, [preload])[0].id == "preloaded-library"


def test_a_weight_is_no_quota() -> None:
    """Shares of a CPU were told as a quota, which the counters then contradicted."""
    for name, good, bad, card in (
        ("cgroup.cpu_weight", "100", "1", "cpu-weight"),
        ("cgroup.cpu_max", "max 100000", "10000 100000", "cpu-quota"),
    ):
        assert cards_for(RUN, [suspect(name, good, bad)])[0].id == card


def test_the_check_of_a_variable_has_its_name() -> None:
    for name, check in (("GZIP", "time env -u GZIP COMMAND"), ("TZ", "TZ=:/etc/localtime")):
        variable = difference(
            f"process.environment:{name}", "process.environment", "a", "b", Layer.PROCESS
        )
        assert check in explained(RUN, variable).remedies[0].text
