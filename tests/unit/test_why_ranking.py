"""The order in which suspects are tested: every term can be read, and none is out of proportion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from why_boards import metric, one, side

from benchvise.measure.hostside import HOST_BENCHMARKS
from benchvise.measure.runner import local_registry
from benchvise.state.catalogue import items_by_id, knobs
from benchvise.state.model import Snapshot
from benchvise.why.bench import CrossCheck
from benchvise.why.explain.counters import COUNTERS
from benchvise.why.model import Bounds, Gap, Layer, ProcessMeans, Side, Suspect
from benchvise.why.suspects.ranking import (
    SPREAD,
    PreferredValue,
    chance,
    direction_of,
    likeness,
    prior_of,
    priors,
    rank,
    symptoms,
    unlisted,
)

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
AHEAD = "/sys/block/mmcblk0/queue/read_ahead_kb"
MEANS = ProcessMeans({"thp": "off"})
GAP = Gap(Bounds(0.7, 0.6, 0.8), 0.02, 2.0, 1.0, 8, 0.004, ())


def suspect(name: str, good: str = "a", bad: str = "b", **more: object) -> Suspect:
    item = knobs()[name][0].id if name in knobs() else name.partition(":")[0]
    given = {"title": "", "layer": Layer.RUN_TIME, "item": item, "means": MEANS, **more}
    return Suspect(id=name, good=good, bad=bad, **given)  # type: ignore[arg-type]


def terms(ranked: Suspect) -> dict[str, float]:
    return {term.name: term.points for term in ranked.terms}


def alone(given: Suspect, benchmark: str = "command.time", **more: object) -> dict[str, float]:
    (ranked,) = rank([given], metric(benchmark, str(more.pop("command", ""))), **more)  # type: ignore[arg-type]
    for term in ranked.terms:
        assert term.reason and not term.reason.endswith(".") and "\n" not in term.reason
    return terms(ranked)


def test_what_is_busy_on_the_bad_side_alone_comes_before_what_is_idle() -> None:
    """chef/bento#609: a job that starts at boot and takes the CPU."""
    names = ("syslogd", "make-index", "ubusd")
    given = [
        suspect(
            f"service.state:{name}",
            "not there",
            "running",
            item="system.services",
            members=(f"system.services/program {name}", f"system.services/service {name}"),
        )
        for name in names
    ]
    busy = {Side.GOOD: {}, Side.BAD: {"make-index": 0.31, "ubusd": 0.01}}
    assert rank(given, metric("command.time"), busy=busy)[0].id == "service.state:make-index"
    points = alone(given[1], busy=busy)["busy"]
    assert 3.5 < points <= 4.0
    assert alone(given[0], busy=busy)["busy"] < 0 and "busy" not in alone(given[2], busy=busy)
    assert "busy" not in alone(given[0])  # where nobody looked
    here = suspect("program.state:x", "running", "not there", item="system.services",
                   members=("system.services/program x",))  # fmt: skip
    found = alone(here, busy={Side.GOOD: {"x": 1.0}, Side.BAD: {}})
    assert "busy" not in found and found["direction"] < 0


class TestOrder:
    def test_huge_pages_come_first_for_memory_and_last_for_a_disk(self) -> None:
        given = [
            suspect("block.read_ahead_kb", "128", "4"),
            suspect("memory.thp", "madvise", "always"),
            suspect("vm.swappiness", "60", "100"),
        ]
        assert rank(given, metric("memory.copy"))[0].id == "memory.thp"
        assert rank(given, metric("storage.read"))[0].id == "block.read_ahead_kb"

    def test_variables_that_are_called_like_a_program_of_the_command_come_first(self) -> None:
        """MAKEFLAGS was as likely as any other variable to matter to make."""
        names = ("MAKEFLAGS", "JDK_JAVA_OPTIONS", "PYTHONPATH", "TMPDIR")
        given = [suspect(f"process.environment:{name}") for name in names]
        for command, name in (
            ("make -s -C /opt/sources", "MAKEFLAGS"),
            ("cd /opt && /usr/bin/java Meter", "JDK_JAVA_OPTIONS"),
            ("true | python3.11 /opt/a.py", "PYTHONPATH"),
        ):
            first, *others = rank(given, metric("command.time", command))
            assert first.id == f"process.environment:{name}"
            assert "program" in terms(first) and not any("program" in terms(o) for o in others)

    def test_what_cannot_be_tested_comes_last(self) -> None:
        given = [
            suspect("dram.governor", "performance", "powersave", means=None),
            suspect("vm.overcommit_memory", "0", "1"),
        ]
        assert [s.id for s in rank(given, metric("memory.copy"))] == [
            "vm.overcommit_memory",
            "dram.governor",
        ]

    def test_the_score_is_the_sum_of_its_terms(self) -> None:
        for ranked in rank([suspect("memory.thp"), suspect("vm.swappiness")], metric()):
            assert ranked.log_odds == pytest.approx(sum(term.points for term in ranked.terms))
            assert ranked.score == round(ranked.log_odds, 3)

    def test_nothing_known_is_flat(self) -> None:
        """Suspects of a kind that nobody wrote anything of all count the same."""
        given = [suspect(f"sched.domains:{n}") for n in range(5)]
        assert len({ranked.score for ranked in rank(given, metric())}) == 1

    @pytest.mark.parametrize(
        "benchmark", ["memory.copy", "storage.read", "net.tcp", "timer.wakeup"]
    )
    def test_no_suspect_is_out_of_reach_of_a_halving_by_weight(self, benchmark: str) -> None:
        """Of all knobs at once, the least still has a weight that some tests more reach."""
        given = [suspect(name, "1", "1000") for name in knobs()]
        ranked = rank(given, metric(benchmark))
        assert ranked[0].score - ranked[-1].score < SPREAD + 1.0
        share = ranked[-1].weight / sum(s.weight for s in ranked)
        assert -math.log2(share) < math.log2(len(ranked)) + 6
        assert [s.score for s in ranked] == sorted((s.score for s in ranked), reverse=True)

    def test_suspects_of_two_real_snapshots_are_ranked(self) -> None:
        found = one({THP: "[always] madvise never\n"}, "memory.copy")
        assert terms(rank([found], metric("memory.copy"))[0])["prior"] == pytest.approx(
            math.log(0.3)
        )


class TestTerms:
    def test_the_slow_value_on_the_bad_side_speaks_for_it(self) -> None:
        for_it = alone(suspect("cpu.governor", "performance", "powersave"))
        against = alone(suspect("cpu.governor", "powersave", "performance"))
        assert for_it["direction"] > 1 and against["direction"] == -for_it["direction"]

    def test_of_a_pair_the_knob_that_holds_is_judged(self) -> None:
        pair = suspect(
            "vm.dirty_bytes",
            "vm.dirty_ratio=20, vm.dirty_bytes=0",
            "vm.dirty_ratio=0, vm.dirty_bytes=1048576",
        )
        assert alone(pair, "storage.write")["direction"] > 0  # zero stands for the most

    def test_no_direction_is_assumed_for_huge_pages_and_copies(self) -> None:
        assert "direction" not in alone(suspect("memory.thp", "madvise", "always"), "memory.copy")

    def test_a_number_that_hardly_differs_hardly_counts(self) -> None:
        little = alone(suspect("net.rmem_max", "212992", "210000"), "net.udp")
        much = alone(suspect("net.rmem_max", "212992", "4096"), "net.udp")
        assert little["size"] < -1 < 0 < much["size"]
        assert abs(little["direction"]) < 0.1 < much["direction"]
        assert alone(suspect("vm.laptop_mode", "0", "5"))["size"] == 0.2
        assert "size" not in alone(suspect("memory.thp", "never", "always"))

    def test_a_command_is_believed_to_be_what_it_looks_like(self) -> None:
        given = suspect("block.read_ahead_kb", "128", "4")
        plain, like = alone(given), alone(given, command="dd if=/dev/sda of=/dev/null bs=1M")
        assert like["prior"] != plain["prior"]
        assert likeness(metric(command="perf bench mem memcpy -s 1GB")) == "memory.copy"
        assert likeness(metric(command="iperf3 -c board")) == "net.tcp"
        assert likeness(metric(command="./my-program")) == likeness(metric()) == ""

    def test_symptoms_point_at_their_causes(self) -> None:
        given = suspect("memory.thp", "madvise", "always")
        good, bad = {"vmstat.pgfault": 30_000.0, "other": 1.0}, {"vmstat.pgfault": 100.0}
        assert alone(given, counters={Side.GOOD: good, Side.BAD: bad})["symptom"] > 1
        assert alone(given, counters={Side.GOOD: good, Side.BAD: good})["symptom"] < 0
        assert "symptom" not in alone(given, counters={Side.GOOD: good, Side.BAD: {}})
        unmoved = {Side.GOOD: {"vmstat.pgfault": 0.0}, Side.BAD: {"vmstat.pgfault": 0.0}}
        assert alone(given, counters=unmoved)["symptom"] < 0
        assert "symptom" not in alone(suspect("vm.laptop_mode"), counters={Side.GOOD: bad})

    def test_the_same_gap_of_a_static_probe_clears_the_library(self) -> None:
        libc = suspect("libc.version", layer=Layer.LIBC, means=None)
        thp = suspect("memory.thp", "madvise", "always")
        like = CrossCheck("memory.copy:size=64M", Bounds(0.68, 0.6, 0.7), 0.02, shown=True)
        none = CrossCheck("memory.copy:size=64M", Bounds(0.01, -0.02, 0.03), 0.02, shown=False)
        assert alone(libc, gap=GAP, checks=[like])["same probe"] < 0
        assert alone(libc, gap=GAP, checks=[none])["same probe"] > 0
        assert alone(thp, gap=GAP, checks=[like])["same probe"] > 0
        assert alone(thp, gap=GAP, checks=[none])["same probe"] < 0
        other = CrossCheck("storage.read", Bounds(0.0, -0.1, 0.1), 0.02, shown=False)
        assert "same probe" not in alone(thp, gap=GAP, checks=[other])

    def test_what_takes_another_image_costs_more(self) -> None:
        costs = [
            alone(suspect("x", layer=layer, means=None)).get("cost", 0.0)
            for layer in (Layer.RUN_TIME, Layer.LIBC, Layer.KERNEL, Layer.BOOTLOADER)
        ]
        assert costs == sorted(costs, reverse=True) and costs[0] == 0


class TestRarity:
    def corpus(self, modes: str, **more: object) -> list[Snapshot]:
        words = {"m": "always [madvise] never\n", "a": "[always] madvise never\n"}
        sides = {mode: side({THP: words[mode]}) for mode in set(modes)}
        return [
            replace(sides[mode], board=f"board {n}", **more)  # type: ignore[arg-type]
            for n, mode in enumerate(modes)
        ]

    def rarity(self, corpus: list[Snapshot], bad: str = "always") -> float | None:
        good = "madvise" if bad == "always" else "always"
        given = suspect("memory.thp", good, bad, members=("memory.thp/mode",))
        return alone(given, "memory.copy", corpus=corpus).get("rarity")

    def test_a_value_that_nobody_else_has_is_odd(self) -> None:
        rare, usual = self.rarity(self.corpus("mmmmm")), self.rarity(self.corpus("aaaaa"))
        assert rare is not None and usual is not None and rare > 0.5 and usual < -0.4
        # five boards, two values, none has the bad one: (5 + 2) / (2 * 1)
        assert rare == pytest.approx(math.log(3.5))

    def test_without_enough_boards_nothing_is_said(self) -> None:
        assert self.rarity([]) is None and self.rarity(self.corpus("mm")) is None

    def test_a_board_counts_once(self) -> None:
        many = self.corpus("mmm") + [replace(self.corpus("a")[0], board="x")] * 20
        assert self.rarity(many) == self.rarity(self.corpus("mmm") + many[-1:])

    def test_it_stays_in_proportion(self) -> None:
        assert self.rarity(self.corpus("m" * 40)) == 1.5


def test_a_variable_whose_value_is_not_told_is_less_likely_than_one_that_is_known() -> None:
    """Was: CHARSET, of which nothing is known, before the options of the mount that was written."""
    known = alone(suspect("process.environment:LC_ALL", "C", "C.UTF-8"))
    words = ("process.environment:CHARSET", "given (#0a1b)", "not there")
    unknown = alone(suspect(*words, means=None))
    assert unknown["prior"] < known["prior"] - 1.0


class TestTable:
    def test_every_record_names_settings_that_exist(self) -> None:
        items = items_by_id()
        for prior in priors():
            for name in (*prior.names, *(n for d in prior.better for n in d.names)):
                found = any(fnmatchcase(knob, name) for knob in knobs())
                found |= any(fnmatchcase(item, name.partition(":")[0]) for item in items)
                assert found, name
        for symptom in symptoms():
            for name in symptom.names:
                assert any(fnmatchcase(knob, name) for knob in knobs()) or any(
                    fnmatchcase(item, name.partition(":")[0]) for item in items
                ), name

    def test_every_record_says_something_of_every_benchmark(self) -> None:
        registry = local_registry()
        names = {b.id for b in registry.benchmarks} | {b.description.id for b in HOST_BENCHMARKS}
        for prior in priors():
            assert prior.why and prior.source
            for name in names:
                assert 0.002 < chance(prior, name) <= 0.6, prior.names
            for pattern in (*prior.matters, *(on for d in prior.better for on in d.on)):
                known = any(fnmatchcase(name, pattern) for name in names)
                assert known or pattern == "gpio.*", pattern
            for direction in prior.better:
                assert 0.5 < direction.sure < 1

    def test_every_knob_has_a_prior(self) -> None:
        """Of all that can be tested somebody has thought."""
        assert [name for name in knobs() if prior_of(name) is None] == []

    def test_every_prior_is_the_first_for_something(self) -> None:
        """No record stands behind another that takes all of its settings."""
        names = {*knobs(), *items_by_id(), *(n for p in priors() for n in p.names if "*" not in n)}
        first = [found.names for name in names if (found := prior_of(name)) is not None]
        assert [p.names for p in priors() if p.names not in first] == []

    def test_every_symptom_is_a_counter_that_there_is(self) -> None:
        for symptom in symptoms():
            for pattern in symptom.counters:
                assert any(fnmatchcase(counter, pattern) for counter in COUNTERS), pattern

    def test_unlisted_settings_count_little(self) -> None:
        assert all(0.001 < odds < 0.05 for odds in unlisted().values())


class TestDirection:
    @pytest.mark.parametrize(
        ("direction", "good", "bad", "expected"),
        [
            ({"order": ("a", "b")}, "a", "b", 1),
            ({"order": ("a", "b")}, "b", "a", -1),
            ({"order": ("a", "b")}, "x", "y", 0),
            ({"order": ("a", "b")}, "b", "x", 1),
            ({"more": True}, "2", "10", -1),
            ({"more": False}, "2", "10", 1),
            ({"more": True, "zero_is_most": True}, "0", "10", 1),
            ({"more": True, "field": 2}, "1 2 30", "1 2 4", 1),
            ({"more": True, "field": 3}, "1 2 30", "1 2 4", 0),
            ({"more": True}, "many", "few", 0),
            ({"quota": True}, "max 100000", "20000 100000", 1),
            ({"quota": True}, "20000 100000", "30000 300000", 1),
            ({"cpus": "mask", "more": True}, "f", "00000001", 1),
            ({"cpus": "mask", "more": True}, "ffffffff,ffffffff", "1", 1),
            ({"cpus": "list", "more": True}, "0", "0-3", -1),
            ({"cpus": "list", "more": True}, "all", "0-3", 0),
        ],
    )
    def test_values_are_compared_by_what_they_mean(
        self, direction: Mapping[str, object], good: str, bad: str, expected: int
    ) -> None:
        made = PreferredValue(("*",), ("*",), 0.9, **direction)  # type: ignore[arg-type]
        assert made.prefers(good, bad) == expected
        assert made.prefers(bad, good) == -expected

    def test_it_depends_on_the_benchmark(self) -> None:
        latency, throughput = (
            direction_of("sched.preempt", name) for name in ("timer.wakeup", "os.syscall")
        )
        assert latency is not None and throughput is not None
        assert latency.prefers("full", "none") == 1 == throughput.prefers("none", "full")
        assert direction_of("memory.thp", "memory.copy") is None


@pytest.mark.parametrize(
    ("line", "points"),
    [
        ('["* * * * * root /usr/local/bin/count-files"]', 1.5),
        ('["SHELL=/bin/sh", "*/5 * * * * root sa1 1 1"]', 1.5),
        ('["30 3 * * 0 root test -e /run/systemd/system || e2scrub_all_cron"]', -1.0),
        ('["@daily root updatedb"]', -1.0),
        ('["17 * * * * root run-parts /etc/cron.hourly"]', None),
    ],
)
def test_a_job_that_starts_every_few_minutes_is_likelier_than_one_at_night(
    line: str, points: float | None
) -> None:
    job = suspect("boot.init_settings:/etc/cron.d/job", "not there", line, means=None)
    assert alone(job).get("schedule") == points
