"""A diagnosis of each verdict, as a document: what the pages and the store are tested with.

The values are invented, in the shape of real ones, from a fixed seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from benchvise.documents import encode
from benchvise.measure.model import SeriesSpec
from benchvise.state.knobs import Setting
from benchvise.state.model import Knob
from benchvise.text import Untrusted
from benchvise.why.model import (
    Bounds,
    Cause,
    CounterCheck,
    Diagnosis,
    DiagnosisVerdict,
    Experiment,
    ExperimentOutcome,
    Finding,
    Gap,
    Grade,
    Interaction,
    Layer,
    Mechanism,
    Metric,
    Origin,
    Purpose,
    Remedy,
    SettingMeans,
    Side,
    Stop,
    Support,
    Suspect,
    Term,
    Trial,
    UntestedDifference,
    Write,
)
from benchvise.why.witness.model import (
    Activity,
    Witness,
    WitnessCall,
    WitnessCount,
    WitnessFailure,
    WitnessGap,
    WitnessPart,
)

COPY = Metric.of(
    SeriesSpec(
        "memory.copy", (("size", "64M"), ("source", "untouched")), "memory.copy:source=untouched"
    ),
    unit="B/s",
    better="higher",
    counted="bytes copied",
)
SYSCALL = Metric.of(
    SeriesSpec("os.syscall", (("call", "read"),), "os.syscall:call=read"), unit="ns", better="lower"
)

THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def suspect(
    name: str,
    title: str,
    good: str,
    bad: str,
    score: float,
    *,
    layer: Layer = Layer.RUN_TIME,
    untestable: str = "",
    members: tuple[str, ...] = (),
) -> Suspect:
    """A suspect that a knob of its name flips, or that cannot be flipped."""
    knob = Knob(name=name, path=f"/sys/{name}", kind="text", summary=title)
    means = SettingMeans((Setting(knob, good),), (Setting(knob, bad),))
    return Suspect(
        name,
        title,
        layer,
        name,
        good,
        bad,
        members or (f"{name}.mode",),
        untestable,
        means=None if untestable else means,
        terms=(
            Term("matters here", score - 1.2, "memory bandwidth often depends on it"),
            Term("direction", 1.5, "theory says that the bad side's value is the slower one"),
            Term("rarity", 0.4, "3 of 41 snapshots have the bad side's value"),
            Term("cost", -0.7, "takes 0.2 s to set and undo"),
        ),
    )


HUGE = suspect("memory.thp", "transparent huge pages", "madvise", "always", 3.4)
SWAP = suspect("vm.swappiness", "how readily anonymous memory is swapped", "10", "60", 1.2)
NUMA = suspect("kernel.numa_balancing", "automatic NUMA balancing", "0", "1", 0.9)
RANDOM = suspect("kernel.randomize_va_space", "address layout", "2", "0", 0.3)
DIRTY = suspect("vm.dirty_ratio", "dirty memory before writers wait", "20", "40", -0.4)
GOVERNOR = suspect("cpu.governor", "CPU frequency governor", "performance", "schedutil", 2.9)
KERNEL = suspect(
    "kernel.release",
    "kernel release",
    "6.1.0-18",
    "6.6.23-yocto",
    0.8,
    layer=Layer.KERNEL,
    untestable="takes another kernel: give images of a rig's board",
)
PLAIN = (HUGE, SWAP, NUMA, RANDOM, DIRTY)


class Story:
    """A diagnosis in the making: trials and experiments whose numbers fit each other.

    ``effects`` are the goodness that flipping a suspect to the good side's value gains.
    """

    def __init__(
        self, metric: Metric, bad: float, gap: float, effects: Mapping[str, float], *, noise: float
    ) -> None:
        self.metric, self.gap, self.noise = metric, gap, noise
        self.base = metric.goodness(bad)
        self.effects = effects
        self.random = random.Random(7)
        self.now = 4.0
        self.trials: list[Trial] = []
        self.experiments: list[Experiment] = []
        self.writes: list[Write] = []

    def trial(self, side: Side, flipped: Sequence[Suspect] = ()) -> Trial:
        gain = sum(self.effects.get(s.id, 0.0) for s in flipped)
        level = self.base + (self.gap - gain if side is Side.GOOD else gain)
        values = [self.metric.value(level + self.random.gauss(0, self.noise)) for _ in range(5)]
        seconds = 2.1 + self.random.random() * 0.3
        trial = Trial(
            len(self.trials) + 1,
            side,
            tuple(s.id for s in flipped),
            median(values),
            tuple(values),
            round(self.now, 3),
            round(seconds, 3),
            {"pgfault": 32800.0, "dtlb_misses": 1.5e6},
            {"temperature_c": 51 + self.now / 60, "clock_hz": 1.512e9 - 4e4 * self.now},
            ("preempted",) if len(self.trials) % 17 == 11 else (),
        )
        for s in flipped:
            towards = side.other
            old, new = (s.good, s.bad) if side is Side.GOOD else (s.bad, s.good)
            path = THP if s is HUGE else f"/proc/sys/{s.id.replace('.', '/')}"
            assert towards is not side
            self.writes.append(Write(self.now, side, s.id, path, old, new, False))
            self.writes.append(Write(self.now + seconds, side, s.id, path, new, old, True))
        self.now += seconds
        self.trials.append(trial)
        return trial

    def measure_gap(self, blocks: int = 8) -> Gap:
        rows = []
        for _ in range(blocks):
            pair = [(side, self.trial(side)) for side in self.random.sample(list(Side), 2)]
            rows.append(dict(pair))
        goodness = self.metric.goodness
        each = [goodness(r[Side.GOOD].value) - goodness(r[Side.BAD].value) for r in rows]
        return Gap(
            _bounds(each),
            self.noise * 1.5,
            median(r[Side.GOOD].value for r in rows),
            median(r[Side.BAD].value for r in rows),
            blocks,
            2 / 2**blocks,
            tuple(t.number for r in rows for t in r.values()),
        )

    def ask(
        self,
        purpose: Purpose,
        question: str,
        flipped: Sequence[Suspect],
        *,
        side: Side = Side.BAD,
        context: Sequence[Suspect] = (),
        blocks: int = 3,
    ) -> Experiment:
        began, pairs = self.now, []
        for _ in range(blocks):
            without = self.trial(side, context)
            pairs.append((without, self.trial(side, (*context, *flipped))))
        goodness = self.metric.goodness
        each = [goodness(b.value) - goodness(a.value) for a, b in pairs]
        shift = _bounds(each)
        sign = 1 if side is Side.BAD else -1
        ends = sorted(sign * x / self.gap for x in (shift.low, shift.high))
        share = Bounds(sign * shift.value / self.gap, *ends)
        outcome = (
            ExperimentOutcome.CLOSES
            if share.value > 0.9
            else ExperimentOutcome.PARTLY
            if share.low > 0.05
            else ExperimentOutcome.DOES_NOT
        )
        experiment = Experiment(
            len(self.experiments) + 1,
            purpose,
            question,
            side,
            tuple(s.id for s in flipped),
            tuple(s.id for s in context),
            outcome,
            shift,
            share,
            2 / 2**blocks,
            blocks,
            tuple(t.number for pair in pairs for t in pair),
            self.now - began,
        )
        self.experiments.append(experiment)
        return experiment

    def refuse(self, one: Suspect, reason: str) -> None:
        self.experiments.append(
            Experiment(
                number=len(self.experiments) + 1,
                purpose=Purpose.HALVING,
                question=f"does {one.id} matter?",
                side=Side.BAD,
                flipped=(one.id,),
                context=(),
                outcome=ExperimentOutcome.UNRESOLVED,
                shift=None,
                share=None,
                p=None,
                blocks=0,
                trials=(),
                seconds=0.3,
                reason=reason,
            )
        )

    def confirm(self, *suspects: Suspect) -> tuple[Experiment, Experiment, Experiment]:
        names = " with ".join(s.id for s in suspects)
        repair = self.ask(
            Purpose.REPAIR, f"does the good value of {names} close it?", suspects, blocks=8
        )
        breaking = self.ask(
            Purpose.BREAK,
            f"does the bad value of {names} open it?",
            suspects,
            side=Side.GOOD,
            blocks=8,
        )
        plain = tuple(n for n in repair.trials if not self.trials[n - 1].flipped)
        again = replace(
            repair,
            number=len(self.experiments) + 1,
            purpose=Purpose.AGAIN,
            question=f"is the bad side as before once {names} is put back?",
            flipped=(),
            outcome=ExperimentOutcome.DOES_NOT,
            shift=Bounds(0.001, -0.006, 0.008),
            share=Bounds(0.001, -0.008, 0.011),
            p=0.74,
            trials=plain,
            seconds=0.0,
        )
        self.experiments.append(again)
        return repair, breaking, again

    def document(
        self,
        verdict: DiagnosisVerdict,
        headline: str,
        gap: Gap | None,
        **more: Any,
    ) -> dict[str, Any]:
        diagnosis = Diagnosis(
            self.metric,
            more.pop("good", "ssh://root@vendor"),
            more.pop("bad", "ssh://root@yocto"),
            verdict,
            headline,
            gap,
            suspects=more.pop("suspects", PLAIN),
            excluded=more.pop("excluded", {"net.ipv4.tcp_rmem": "memory.copy uses no network"}),
            experiments=tuple(self.experiments),
            trials=tuple(self.trials),
            writes=tuple(self.writes),
            started="2026-03-14T09:26:53+00:00",
            seconds=self.now + 3,
            seed=7,
            repeat=more.pop(
                "repeat",
                "benchvise why ssh://root@vendor ssh://root@yocto"
                " --bench memory.copy:source=untouched --seed 7",
            ),
            **more,
        )
        document: dict[str, Any] = encode(diagnosis)
        return document


def _bounds(each: Sequence[float]) -> Bounds:
    middle = median(each)
    half = 1.2 * (max(each) - min(each)) / math.sqrt(len(each))
    return Bounds(middle, middle - half, middle + half)


MECHANISM = Mechanism(
    "huge-zero-page",
    "huge zero page",
    "The source of the copy is never written, so all of it is mapped to one page of zeros: "
    "4 KiB, which stays in the L1 cache, or with huge pages 2 MiB, which does not fit the L2 cache "
    "of 512 KiB and comes from memory again and again.",
    Support.SUPPORTED,
    (
        CounterCheck("dtlb_misses", "+", 10.3, True),
        CounterCheck("cache_misses", "-", 0.045, True),
        CounterCheck("vmstat.thp_zero_page_alloc", "-", None, None, "the kernel does not count it"),
    ),
    "reading the source from the L1 cache instead of memory halves the traffic: 2.0 times as fast",
    2.0,
    "This value is not a copy bandwidth: the source was never written, so half of the traffic "
    "that the name promises does not exist. Measure memory.copy with source=written.",
    (),
    ("Linux, tools/perf/bench/mem-functions.c, commit 1beaef29c341",),
)

RC_LOCAL = Origin(
    Side.BAD,
    "rc.local",
    Untrusted("/etc/rc.local"),
    12,
    Untrusted("echo always > /sys/kernel/mm/transparent_hugepage/enabled"),
)

LATER = Untrusted("a unit that runs later may set it again")

REMEDIES = (
    Remedy("now", f"echo madvise > {THP}", "lasts until the next boot"),
    Remedy(
        "Debian",
        f"# /etc/tmpfiles.d/thp.conf\nw {THP} - - - - madvise",
        "programs that profit from huge pages have to ask for them",
    ),
    Remedy("Yocto", "# linux-%.bbappend: a fragment\nCONFIG_TRANSPARENT_HUGEPAGE_MADVISE=y"),
    Remedy("Buildroot", "# board/linux.config\nCONFIG_TRANSPARENT_HUGEPAGE_MADVISE=y"),
    Remedy("command line", "transparent_hugepage=madvise"),
)

VERSIONS = Finding(
    "versions-differ",
    Grade.WARNS,
    "The two sides run different builds of the C library; the probe is the same static program, so "
    "it cannot be what differs here.",
    "glibc 2.36 against 2.39",
    "nothing to do",
)


def explained() -> dict[str, Any]:
    """One cause, both directions, a mechanism that agrees, a file and a line."""
    story = Story(COPY, 2.79e9, math.log(5.87 / 2.79), {"memory.thp": 0.72}, noise=0.012)
    gap = story.measure_gap()
    story.ask(Purpose.ALL_IN, "are all 5 differences of run time together it?", PLAIN)
    story.ask(Purpose.HALVING, "is it memory.thp, or among the other 4?", (HUGE,))
    repair, breaking, again = story.confirm(HUGE)
    cause = Cause(
        (HUGE,),
        Bounds(0.97, 0.93, 1.01),
        repair,
        breaking,
        again,
        mechanism=MECHANISM,
        origins=(RC_LOCAL,),
        remedies=REMEDIES,
    )
    return story.document(
        DiagnosisVerdict.EXPLAINED,
        "memory.thp, set by /etc/rc.local:12, accounts for 97 % (93 to 101) of the difference.",
        gap,
        unexplained=Bounds(0.03, -0.01, 0.07),
        findings=(VERSIONS,),
        causes=(cause,),
        suspects=(*PLAIN, KERNEL),
    )


def two_causes() -> dict[str, Any]:
    """Two independent causes; neither has a card, one write was refused."""
    effects = {"memory.thp": 0.44, "cpu.governor": 0.23}
    story = Story(COPY, 2.79e9, math.log(5.87 / 2.79), effects, noise=0.02)
    gap = story.measure_gap()
    every = (HUGE, GOVERNOR, SWAP, NUMA)
    story.ask(Purpose.ALL_IN, "are all 4 differences of run time together it?", every)
    story.refuse(NUMA, "kernel.numa_balancing: the write was refused (EPERM)")
    story.ask(Purpose.HALVING, "is it memory.thp?", (HUGE,))
    first = story.confirm(HUGE)
    story.ask(Purpose.HALVING, "is the rest cpu.governor?", (GOVERNOR,), context=(HUGE,))
    second = story.confirm(GOVERNOR)
    story.ask(Purpose.TOGETHER, "do both do more than each alone?", (HUGE, GOVERNOR), blocks=8)
    alone = (Bounds(0.60, 0.57, 0.63), Bounds(0.31, 0.28, 0.34))
    return story.document(
        DiagnosisVerdict.EXPLAINED,
        "memory.thp, set by /etc/rc.local:12, accounts for 60 % (57 to 63) of the difference, and "
        "cpu.governor for 31 % (28 to 34).",
        gap,
        unexplained=Bounds(0.09, 0.05, 0.13),
        causes=(
            Cause((HUGE,), alone[0], *first, origins=(RC_LOCAL,), remedies=REMEDIES[:1]),
            Cause(
                (GOVERNOR,), alone[1], *second, remedies=(Remedy("now", "cpupower -g performance"),)
            ),
        ),
        interaction=Interaction(
            "memory.thp",
            "cpu.governor",
            alone,
            Bounds(0.92, 0.88, 0.96),
            Bounds(0.01, -0.04, 0.06),
            False,
        ),
        suspects=every,
    )


def partly() -> dict[str, Any]:
    """A cause of two suspects that only together do it, a recorded good side, a part left."""
    effects = {"memory.thp": 0.31, "vm.swappiness": 0.12}
    story = Story(COPY, 2.79e9, math.log(5.87 / 2.79), effects, noise=0.015)
    gap = story.measure_gap()
    story.ask(Purpose.ALL_IN, "are all 5 differences of run time together it?", PLAIN)
    story.ask(Purpose.HALVING, "is it memory.thp?", (HUGE,))
    story.ask(Purpose.CONTEXT, "what does memory.thp need beside it?", (HUGE,), context=(SWAP,))
    repair, _, again = story.confirm(HUGE, SWAP)
    cause = Cause(
        (HUGE, SWAP),
        Bounds(0.58, 0.54, 0.61),
        repair,
        None,
        again,
        not_broken="the good side is a recorded run: it cannot be set",
        mechanism=replace(
            MECHANISM,
            support=Support.CONTRADICTED,
            checks=(CounterCheck("dtlb_misses", "+", 0.98, False),),
            artefact="",
        ),
        origins=(replace(RC_LOCAL, certain=False, note=LATER),),
        remedies=REMEDIES,
    )
    return story.document(
        DiagnosisVerdict.PARTLY,
        "memory.thp with vm.swappiness accounts for 58 % (54 to 61) of the difference; 42 % (39 to "
        "46) is unexplained.",
        gap,
        unexplained=Bounds(0.42, 0.39, 0.46),
        causes=(cause,),
        suspects=(*PLAIN, KERNEL),
        needed=(
            "swap the kernel: about 3 boots, 6 min on a rig's board (--image-good, --image-bad)",
        ),
    )


UNTESTED = UntestedDifference(
    "storage.mounts:/data sync",
    "the option sync of mounts",
    "async",
    "sync",
    -2.5,
    "the bad side may not be set, and nothing that is done to one process does the same",
    (
        Origin(
            Side.BAD, "fstab", Untrusted("/etc/fstab"), 3, Untrusted("LABEL=data /data ext4 sync")
        ),
    ),
    "mount -o remount,async /data",
)


def unexplained() -> dict[str, Any]:
    """All reversible differences at once do nothing, and no layer can be swapped."""
    story = Story(SYSCALL, 412.0, math.log(412 / 187), {}, noise=0.01)
    gap = story.measure_gap()
    story.ask(Purpose.ALL_IN, "are all 5 differences of run time together it?", PLAIN, blocks=6)
    return story.document(
        DiagnosisVerdict.UNEXPLAINED,
        "None of the 5 differences that can be set at run time accounts for the gap.",
        gap,
        unexplained=Bounds(1.0, 0.97, 1.03),
        suspects=(*PLAIN, KERNEL),
        untested=(UNTESTED,),
        needed=(
            "It is not in the reversible layers. Next: swap the kernel (about 3 boots, 6 min); "
            "both sides must be images of a rig's board.",
        ),
        repeat="",
    )


WITNESS = Witness(
    "97 % of the gap is waiting in poll to 192.0.2.53:53: name server",
    0.031,
    5.044,
    (
        WitnessPart(
            Activity.RESOLVER,
            "poll",
            "192.0.2.53:53",
            "",
            0.001,
            4.862,
            0.97,
            "waiting in poll to 192.0.2.53:53: name server",
        ),
    ),
    (WitnessCall("poll", "192.0.2.53:53", 0, 2, 0.0, 4.861),),
    bad_files=("/usr/lib/libnss_mdns4_minimal.so.2",),
    failing=("mq_open",),
    failures=(WitnessFailure("mq_open", "/calls", "EMFILE", 0, 3, True),),
    counts=(WitnessCount("switches_waiting", "times that it waited", 4.0, 61.0),),
    missing=(WitnessGap("good", "recording of the kernel", "the trace files are root's"),),
    remarks=("bad side: 12 events were lost while the command was recorded",),
    good_trace="command-good.dat",
    bad_trace="command-bad.dat",
    seconds=6.2,
)


def watched() -> dict[str, Any]:
    """Nothing that can be set explains it, and the command says where its time goes."""
    spec = SeriesSpec("command.time", (("run", "getent hosts www"),), "command.time")
    metric = Metric.of(spec, "ns", "lower", command="getent hosts www")
    story = Story(metric, 5.0e9, math.log(5.0 / 0.5), {}, noise=0.01)
    gap = story.measure_gap()
    story.ask(Purpose.ALL_IN, "are all 5 differences of run time together it?", PLAIN, blocks=6)
    return story.document(
        DiagnosisVerdict.UNEXPLAINED,
        f"yocto is worse by 10.00x, and no cause was found; {WITNESS.sentence}.",
        gap,
        unexplained=Bounds(1.0, 0.97, 1.03),
        suspects=(*PLAIN, KERNEL),
        witness=WITNESS,
    )


def no_difference() -> dict[str, Any]:
    """The two sides are the same within what the same side does twice."""
    story = Story(COPY, 5.84e9, 0.002, {}, noise=0.012)
    gap = story.measure_gap(blocks=10)
    return story.document(
        DiagnosisVerdict.NO_DIFFERENCE,
        "No difference shown: 0.2 % (-1.1 to 1.4), and the same side measured twice differs by "
        "1.8 %.",
        gap,
        suspects=(),
        excluded={},
    )


def reversed_sides() -> dict[str, Any]:
    """The side that was called good is the worse one."""
    story = Story(SYSCALL, 187.0, math.log(187 / 412), {}, noise=0.01)
    gap = story.measure_gap(blocks=5)
    return story.document(
        DiagnosisVerdict.REVERSED,
        "ssh://root@vendor, which was called good, is the worse one: 412 ns against 187 ns.",
        gap,
        suspects=(),
        needed=("Name them the other way round.",),
    )


def not_admissible() -> dict[str, Any]:
    """The comparison itself is wrong: fewer CPUs, and a program that is not the same."""
    story = Story(COPY, 2.79e9, 0.0, {}, noise=0.01)
    return story.document(
        DiagnosisVerdict.NOT_ADMISSIBLE,
        "ssh://root@yocto uses 1 of its 4 CPUs: the comparison says nothing until it uses all.",
        None,
        findings=(
            Finding(
                "fewer-cpus",
                Grade.STOPS,
                "The bad side runs on 1 of 4 CPUs, the good one on 4.",
                "/sys/devices/system/cpu/online is 0, possible is 0-3",
                "take maxcpus=1 off the kernel command line",
            ),
            VERSIONS,
        ),
        suspects=(),
        excluded={},
        needed=("Put that right and ask again.",),
    )


def incomplete() -> dict[str, Any]:
    """Contact was lost in the middle, and something is still set."""
    story = Story(COPY, 2.79e9, math.log(5.87 / 2.79), {"memory.thp": 0.72}, noise=0.012)
    gap = story.measure_gap()
    story.ask(Purpose.ALL_IN, "are all 5 differences of run time together it?", PLAIN)
    story.ask(Purpose.HALVING, "is it memory.thp, or among the other 4?", (HUGE,))
    document = story.document(
        DiagnosisVerdict.INCOMPLETE,
        "Contact with ssh://root@yocto was lost after 2 experiments; memory.thp is the likely "
        "cause, not confirmed.",
        gap,
        stopped=Stop.UNREACHABLE,
        reached="screening: memory.thp closes 97 % (91 to 103) on the data that selected it",
        needed=("Go on where it stopped: the same command with --resume why-2026-03-14.",),
        restored=False,
        simulated=True,
    )
    document["writes"].pop()
    return document


EACH = {
    "explained": explained,
    "two causes": two_causes,
    "partly": partly,
    "unexplained": unexplained,
    "watched": watched,
    "no difference": no_difference,
    "reversed": reversed_sides,
    "not admissible": not_admissible,
    "incomplete": incomplete,
}
