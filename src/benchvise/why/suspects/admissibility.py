"""Whether two sides can be compared at all, before anything is measured.

Examined are benchmarks that do not measure what they seem to (``artefacts``), and circumstances:
other programs, fewer CPUs, heat, load, an emulator, a kernel with checks built in. A finding that
stops is itself the diagnosis: the values have nothing to do with each other. One that warns can be
the cause, or a part of it; one that notes is to be known with the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

from benchvise.state.conditions import conditions
from benchvise.state.model import Snapshot
from benchvise.text import printable
from benchvise.why.bench import SideFacts
from benchvise.why.model import Finding, Grade, Metric, Side
from benchvise.why.suspects.artefacts import differing_programs, known_artefacts, version_of
from benchvise.why.suspects.reduction import reach_of
from benchvise.why.suspects.side_pair import SidePair, cpu_count, cpus, word_size

_BUSY = 0.5
_NAMED = 6

# Commands whose work is spread over CPUs.
_THREADED = re.compile(
    r"\s-j\s*\d*|--threads|--num-threads|\s-T\s*\d|\s-P\s*\d|-multi\b|\bpigz\b|\bpbzip2\b|\bxz\b.*-T"
    r"|\b7z\w?\b.*\bb\b|\bmake\b|\bninja\b|\bnproc\b|\bstress-ng\b|\bhackbench\b|\bOMP_NUM_THREADS\b"
    r"|\bmpirun\b|\bffmpeg\b|\bxhpl\b"
)

# Options that make everything in the kernel slower, not just one part of it.
_CHECKS = (
    *("LOCKDEP", "PROVE_LOCKING", "DEBUG_LOCK_ALLOC", "LOCK_STAT", "DEBUG_SPINLOCK"),
    *("DEBUG_MUTEXES", "KASAN", "KASAN_*", "KCSAN", "UBSAN_*", "DEBUG_PAGEALLOC_ENABLE_DEFAULT"),
    *("SLUB_DEBUG_ON", "DEBUG_KMEMLEAK", "PAGE_POISONING", "DEBUG_OBJECTS", "DEBUG_VM"),
)


def examine_circumstances(case: SidePair) -> Iterator[Finding]:
    """The findings of every rule below."""
    for rule in _RULES:
        yield from rule(case)


def _both(values: Mapping[Side, object]) -> str:
    return ", ".join(f"{side}: {printable(str(value), 120)}" for side, value in values.items())


# -- the same benchmark? ---------------------------------------------------------------------------


def _other_programs(case: SidePair) -> Iterator[Finding]:
    named = {side: {path.rpartition("/")[2] for path in case.facts[side].programs} for side in Side}
    for side in Side:
        missing = sorted(named[side.other] - named[side]) if named[side] else []
        if missing:
            yield Finding(
                "program-missing",
                Grade.STOPS,
                f"the {side} side does not have {', '.join(missing[:_NAMED])}",
                _both({s: " ".join(sorted(names)) for s, names in named.items()}),
                "install the same program on both, or use a benchmark of the probe",
            )
    for name in differing_programs(case.facts):
        versions = {side: version_of(name, case.facts[side]) for side in Side}
        are_known = all(versions.values())
        other = are_known and len(set(versions.values())) > 1
        what = "is of another version" if other else "is another file"
        yield Finding(
            "other-program",
            Grade.WARNS if other or not are_known else Grade.NOTES,
            f"{name} {what} on the two sides: a part of the gap may be the program's",
            _both({side: version or "version not known" for side, version in versions.items()}),
            f"copy one {name} to both, or compare with a benchmark of the probe",
        )


def _other_probe(case: SidePair) -> Iterator[Finding]:
    probes = {side: case.facts[side].host.get("probe") for side in Side}
    if all(isinstance(probe, str) for probe in probes.values()) and len(set(probes.values())) > 1:
        yield Finding(
            "other-probe",
            Grade.WARNS,
            "the sides were measured by different versions of the probe",
            _both(probes),
            "measure the recorded side again",
        )


# -- the same kind of machine? ---------------------------------------------------------------------


def _emulated(case: SidePair) -> Iterator[Finding]:
    simulated = {side: case.facts[side].simulated for side in Side}
    if len(set(simulated.values())) > 1:
        yield Finding(
            "emulated",
            Grade.STOPS,
            "one side is emulated: its times say nothing of a real board's",
            _both({side: "emulated" if it else "real" for side, it in simulated.items()}),
            "compare two emulated boards, or two real ones",
        )
    elif all(simulated.values()):
        yield Finding(
            "emulated",
            Grade.NOTES,
            "both sides are emulated: shares hold for the emulator, not for the real boards",
        )
    if not any(simulated.values()):
        guests = {side: case.value(side, "system.load", "hypervisor") for side in Side}
        if len({bool(guest) for guest in guests.values()}) > 1:
            yield Finding(
                "virtual-machine",
                Grade.WARNS,
                "one side is a virtual machine: what its host does belongs to the gap",
                _both({side: guest or "none" for side, guest in guests.items()}),
            )


def _fewer_cpus(case: SidePair) -> Iterator[Finding]:
    counts = {side: cpu_count(case, side) for side in Side}
    good, bad = counts[Side.GOOD], counts[Side.BAD]
    threaded = _is_threaded(case)
    if good is not None and bad is not None and good != bad:
        fewer = Side.BAD if bad < good else Side.GOOD
        sentence = f"the {fewer} side uses {min(good, bad)} CPU{'s' * (min(good, bad) != 1)}, "
        sentence += f"the other {max(good, bad)}"
        if threaded and fewer is Side.BAD:
            sentence += ": for work that is spread over CPUs that alone is the likely cause"
        yield Finding(
            "fewer-cpus",
            Grade.WARNS if threaded or case.metric.command else Grade.NOTES,
            sentence,
            _both(counts),
            "see maxcpus=, nr_cpus= and isolcpus= on the command line, CONFIG_SMP, CONFIG_NR_CPUS",
        )
    for side in Side:
        present, online = cpus(case, side, "present"), cpus(case, side)
        if present and online and online < present:
            off = sorted(present - online)
            yield Finding(
                "cpus-offline",
                Grade.WARNS if threaded else Grade.NOTES,
                f"on the {side} side {len(off)} of {len(present)} CPUs are offline",
                "offline: " + ", ".join(map(str, off[:_NAMED])),
                "bring them online, or see maxcpus= and the kernel log for CPUs that heat stopped",
            )


def _is_threaded(case: SidePair) -> bool:
    params = case.metric.params
    threads = params.get("threads", params.get("streams", "1"))
    return _THREADED.search(case.metric.command) is not None or threads not in ("0", "1")


def _other_word_size(case: SidePair) -> Iterator[Finding]:
    sizes = {side: word_size(case, side) for side in Side}
    if None not in sizes.values() and len(set(sizes.values())) > 1:
        yield Finding(
            "word-size",
            Grade.WARNS,
            "the programs of one side are of 32 bits, those of the other of 64: they have other "
            "registers, instructions and sizes",
            _both({side: f"{size} bits" for side, size in sizes.items()}),
            "compare with the same word size, or take it for the cause",
        )


def _other_hardware(case: SidePair) -> Iterator[Finding]:
    models = {side: case.facts[side].host.get("cpu_model") for side in Side}
    names = {side: name for side, name in models.items() if isinstance(name, str)}
    if len(names) > 1 and len(set(names.values())) > 1:
        yield Finding(
            "other-hardware",
            Grade.NOTES,
            "the boards have different CPUs: settings can explain a part of the gap at most",
            _both(names),
        )


def _checks_built_in(case: SidePair) -> Iterator[Finding]:
    checks = {side: _checks(case, side) for side in Side}
    with_checks = [side for side in Side if checks[side]]
    if not with_checks:
        return
    evidence = _both({side: " ".join(checks[side][:_NAMED]) or "none" for side in Side})
    apart = set(checks[Side.GOOD]) != set(checks[Side.BAD])
    whose = f"the {with_checks[0]} side's kernel" if len(with_checks) == 1 else "both kernels"
    yield Finding(
        "kernel-checks",
        Grade.WARNS if apart else Grade.NOTES,
        f"{whose} {'has' if len(with_checks) == 1 else 'have'} checks built in that make every "
        "call into it slower",
        evidence,
        "build it without these options to measure speed",
    )


def _checks(case: SidePair, side: Side) -> list[str]:
    options = case.value(side, "kernel.debug_options", "options")
    return [
        name
        for name, value in (options.items() if isinstance(options, Mapping) else ())
        if value == "y" and any(fnmatchcase(name, check) for check in _CHECKS)
    ]


# -- in the same condition? ------------------------------------------------------------------------


def _conditions(case: SidePair) -> Iterator[Finding]:
    """What a single snapshot shows: throttling, another clock than said, a busy neighbour."""
    reach = reach_of(case.metric.benchmark).all
    seen = {
        side: {c.rule: c for c in conditions(case.snapshots[side], case.snapshots[side])}
        for side in Side
    }
    for side in Side:
        for rule, condition in seen[side].items():
            if rule == "fewer CPUs":  # said above, with what it means for the metric
                continue
            if condition.families and not reach.intersection(condition.families):
                continue
            alike = rule in seen[side.other]
            yield Finding(
                rule.replace(" ", "-"),
                Grade.NOTES if alike else Grade.WARNS,
                f"on the {side} side {condition.sentence}",
                "" if alike else "not so on the other side",
                _REMEDIES.get(rule, ""),
            )


_REMEDIES = {
    "throttled": "cool it and look at its power supply, then measure again",
    "clock": "believe the measured clock, and see the firmware's limits",
    "background load": "stop what is busy there",
}


def _load(case: SidePair) -> Iterator[Finding]:
    """The load of the last minute, where nobody was seen to be busy at that moment."""
    loads = {side: _load_per_cpu(case, side) for side in Side}
    if None in loads.values():
        return
    good, bad = loads[Side.GOOD] or 0.0, loads[Side.BAD] or 0.0
    if max(good, bad) > _BUSY and min(good, bad) < max(good, bad) / 2:
        busy = Side.GOOD if good > bad else Side.BAD
        taken = case.snapshots[busy]
        if any(condition.rule == "background load" for condition in conditions(taken, taken)):
            return
        yield Finding(
            "one-side-busy",
            Grade.WARNS,
            f"the {busy} side was busy with other work",
            f"load of the last minute for each CPU: good {good:.2f}, bad {bad:.2f}",
            "stop what runs there, or wait for it",
        )


def _load_per_cpu(case: SidePair, side: Side) -> float | None:
    load = case.value(side, "system.load", "loadavg")
    minute = load.get("1 min") if isinstance(load, Mapping) else None
    count = cpu_count(case, side)
    if not isinstance(minute, int | float) or not count:
        return None
    return float(minute) / count


def _swap_used(case: SidePair) -> Iterator[Finding]:
    used = {side: _swapped_bytes(case, side) for side in Side}
    if any(used.values()):
        apart = not all(used.values())
        yield Finding(
            "swap-used",
            Grade.WARNS if apart else Grade.NOTES,
            "memory is swapped out: what is measured may wait for it",
            _both({side: f"{(size or 0) >> 20} MiB" for side, size in used.items()}),
            "swapoff -a, or use less memory",
        )


def _swapped_bytes(case: SidePair, side: Side) -> int | None:
    whole, free = (
        table.get(name) if isinstance(table, Mapping) else None
        for table, name in (
            (case.value(side, "memory.size", "meminfo"), "SwapTotal"),
            (case.value(side, "memory.size", "use"), "SwapFree"),
        )
    )
    if not isinstance(whole, int) or not isinstance(free, int):
        return None
    # a page or two are always there
    return max(whole - free, 0) if whole - free > (1 << 20) else 0


_RULES: tuple[Callable[[SidePair], Iterator[Finding]], ...] = (
    _other_programs,
    _other_probe,
    _emulated,
    _fewer_cpus,
    _other_word_size,
    _other_hardware,
    _checks_built_in,
    _conditions,
    _load,
    _swap_used,
)


# -- all of them -----------------------------------------------------------------------------------


_ORDER = list(Grade)


def examine(
    metric: Metric, facts: Mapping[Side, SideFacts], snapshots: Mapping[Side, Snapshot]
) -> tuple[Finding, ...]:
    """All findings, those that stop first."""
    case = SidePair(metric, facts, snapshots)
    findings = dict.fromkeys([*known_artefacts(case), *examine_circumstances(case)])
    return tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.grade)))
