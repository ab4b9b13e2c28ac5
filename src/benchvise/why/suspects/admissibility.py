"""Whether two sides can be compared at all, before anything is measured.

Examined are benchmarks that do not measure what their names say (``artefacts.toml``, of which a
reference page is made), and circumstances: other programs, fewer CPUs, heat, load, an emulator, a
kernel with checks built in. A finding that stops is itself the diagnosis: the values have nothing
to do with each other. One that warns can be the cause, or a part of it; one that notes is to be
known with the answer.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from benchvise.quantities import parse_cpus, size_or_none
from benchvise.state.conditions import conditions
from benchvise.state.model import Snapshot
from benchvise.text import printable
from benchvise.why.bench import SideFacts
from benchvise.why.model import Finding, Grade, Metric, Side
from benchvise.why.suspects.reduction import reach_of


def examine(
    metric: Metric, facts: Mapping[Side, SideFacts], snapshots: Mapping[Side, Snapshot]
) -> tuple[Finding, ...]:
    """All findings, those that stop first."""
    case = SidePair(metric, facts, snapshots)
    circumstances = (finding for rule in _RULES for finding in rule(case))
    findings = dict.fromkeys([*known_artefacts(case), *circumstances])
    return tuple(sorted(findings, key=lambda finding: list(Grade).index(finding.grade)))


# -- circumstances ---------------------------------------------------------------------------------

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
            sentence = f"on the {side} side {condition.sentence}"
            if alike and rule == _LOAD:
                if side is not Side.GOOD:
                    continue  # both are in one sentence
                sentence += f", on the {side.other} side {seen[side.other][rule].sentence}"
            yield Finding(
                rule.replace(" ", "-"),
                Grade.NOTES if alike else Grade.WARNS,
                sentence,
                "" if alike else "not so on the other side",
                _REMEDIES.get(rule, ""),
            )


_LOAD = "background load"
_REMEDIES = {
    "throttled": "cool it and look at its power supply, then measure again",
    "clock": "believe the measured clock, and see the firmware's limits",
    _LOAD: "stop what is busy there",
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
        if any(condition.rule == _LOAD for condition in conditions(taken, taken)):
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


# -- known artefacts -------------------------------------------------------------------------------

_VERSION = re.compile(r"\d+(?:\.\d+)+")
_LONGEST = 4

# Names under which the same program goes.
_ALIASES = {"7z": ("7z", "7za", "7zr", "7zz")}


@dataclass(frozen=True, slots=True)
class Artefact:
    """A known case: see ``artefacts.toml``."""

    rule: str
    sentence: str
    remedy: str
    source: str
    grade: Grade | None = None
    apart: Grade | None = None
    command: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    benchmark: str = ""
    params: Mapping[str, str] | None = None
    program: str = ""
    since: str = ""
    before: str = ""
    fixed: tuple[str, ...] = ()
    when: str = ""

    def is_about(self, metric: Metric) -> bool:
        """Whether the metric is of its kind."""
        if self.command is not None:
            return (
                bool(metric.command)
                and self.command.search(metric.command) is not None
                and (self.unless is None or self.unless.search(metric.command) is None)
            )
        return fnmatchcase(metric.benchmark, self.benchmark) and all(
            metric.params.get(name) == value for name, value in (self.params or {}).items()
        )


@cache
def artefacts() -> tuple[Artefact, ...]:
    """All known cases, in the table's order."""
    text = (files(__package__) / "artefacts.toml").read_text(encoding="utf-8")
    return tuple(_artefact(record) for record in tomllib.loads(text)["artefact"])


def _artefact(record: Mapping[str, Any]) -> Artefact:
    fields = dict(record)
    for name in ("command", "unless"):
        if name in fields:
            fields[name] = re.compile(fields[name])
    for name in ("grade", "apart"):
        if name in fields:
            fields[name] = Grade(fields[name])
    return Artefact(**fields | {"fixed": tuple(fields.get("fixed", ()))})


def known_artefacts(case: SidePair) -> Iterator[Finding]:
    """The findings of the table for a metric on two sides."""
    for artefact in artefacts():
        if artefact.is_about(case.metric):
            judgement = _judged(artefact, case)
            if judgement is not None:
                grade, evidence = judgement
                yield Finding(artefact.rule, grade, artefact.sentence, evidence, artefact.remedy)


def _judged(artefact: Artefact, case: SidePair) -> tuple[Grade, str] | None:
    if artefact.when:
        holds, evidence = _CIRCUMSTANCES[artefact.when](case)
    elif artefact.program:
        holds, evidence = _of_version(artefact, case.facts)
    else:
        holds, evidence = {Side.GOOD: True, Side.BAD: True}, case.metric.name
    values = set(holds.values())
    if values == {False}:
        return None
    grade = artefact.apart if values == {True, False} else artefact.grade
    if grade is None:
        return None
    # where no version is known to be concerned, it is a possibility
    return (grade if True in values else Grade.NOTES), evidence


# -- versions --------------------------------------------------------------------------------------


def _of_version(
    artefact: Artefact, facts: Mapping[Side, SideFacts]
) -> tuple[dict[Side, bool | None], str]:
    """Whether each side's version is concerned; None where it is not known."""
    versions = {side: version_of(artefact.program, facts[side]) for side in facts}
    evidence = ", ".join(
        f"{side}: {artefact.program} {version or 'of a version that is not known'}"
        for side, version in versions.items()
    )
    if not artefact.since and not artefact.before:
        distinct = set(versions.values())
        differ = len(distinct) > 1 and "" not in distinct
        return {Side.GOOD: True, Side.BAD: not differ}, evidence
    return {side: _in_range(version, artefact) for side, version in versions.items()}, evidence


def _in_range(version: str, artefact: Artefact) -> bool | None:
    if not version:
        return None
    number = _numbers(version)
    for fix in map(_numbers, artefact.fixed):
        if number[:2] == fix[:2]:
            return None if len(number) < len(fix) else number < fix
    above = not artefact.since or number >= _numbers(artefact.since)
    return above and (not artefact.before or number < _numbers(artefact.before))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(word[:9]) for word in version.split(".")[:_LONGEST])


def version_of(program: str, facts: SideFacts) -> str:
    """The version that a program says it has; empty where it is not known."""
    names = _ALIASES.get(program, (program,))
    for path, text in facts.versions.items():
        if path.rpartition("/")[2] in names:
            match = _VERSION.search(text)
            return match[0] if match else ""
    return ""


# -- circumstances ---------------------------------------------------------------------------------

_Holds = tuple[dict[Side, bool | None], str]


def _word_sizes_differ(case: SidePair) -> _Holds:
    sizes = {side: word_size(case, side) for side in Side}
    differ = None not in sizes.values() and len(set(sizes.values())) > 1
    evidence = ", ".join(f"{side}: {size or '?'} bits" for side, size in sizes.items())
    return {Side.GOOD: differ, Side.BAD: False}, evidence


def _several_cpus(case: SidePair) -> _Holds:
    counts = {side: cpu_count(case, side) for side in Side}
    several = any((count or 0) > 1 for count in counts.values())
    evidence = ", ".join(f"{side}: {count or '?'} CPUs" for side, count in counts.items())
    return {Side.GOOD: several, Side.BAD: several}, evidence


def _buffer_fits(case: SidePair) -> _Holds:
    size = size_or_none(case.metric.params.get("size", ""))
    caches = {side: last_cache(case, side) for side in Side}
    if size is None or None in caches.values():
        return {Side.GOOD: False, Side.BAD: False}, ""
    evidence = ", ".join(f"{side}: last cache {cache} bytes" for side, cache in caches.items())
    return {side: size <= (cache or 0) for side, cache in caches.items()}, evidence


def _programs_differ(case: SidePair) -> _Holds:
    names = differing_programs(case.facts)
    return {Side.GOOD: bool(names), Side.BAD: False}, ", ".join(names)


def differing_programs(facts: Mapping[Side, SideFacts]) -> tuple[str, ...]:
    """The names of the command's programs whose files are not the same on both sides."""
    good, bad = (
        {path.rpartition("/")[2]: digest for path, digest in facts[side].programs.items()}
        for side in (Side.GOOD, Side.BAD)
    )
    return tuple(sorted(name for name in good.keys() & bad.keys() if good[name] != bad[name]))


_CIRCUMSTANCES: Mapping[str, Callable[[SidePair], _Holds]] = {
    "word sizes differ": _word_sizes_differ,
    "several CPUs": _several_cpus,
    "the buffer fits the last cache": _buffer_fits,
    "programs differ": _programs_differ,
}


# -- what is known of the two sides, as numbers; None where one does not say -----------------------


@dataclass(frozen=True, slots=True)
class SidePair:
    """A metric, and what is known of its two sides."""

    metric: Metric
    facts: Mapping[Side, SideFacts]
    snapshots: Mapping[Side, Snapshot]

    def value(self, side: Side, item: str, key: str) -> Any:
        """The value of an entry of a side's snapshot; None where there is none."""
        return next(
            (
                entry.value
                for entry in self.snapshots[side].entries()
                if entry.item == item and entry.key == key and entry.missing is None
            ),
            None,
        )


def cpus(case: SidePair, side: Side, which: str = "online") -> frozenset[int] | None:
    """The CPUs that are ``online`` or ``present``."""
    listed = case.value(side, "cpu.present", which)
    if listed is None and which == "online":
        listed = case.facts[side].host.get("cpus_online")
    try:
        return frozenset(parse_cpus(str(listed))) or None
    except ValueError:
        return None


def cpu_count(case: SidePair, side: Side) -> int | None:
    """How many CPUs are online."""
    online = cpus(case, side)
    return None if online is None else len(online)


def word_size(case: SidePair, side: Side) -> int | None:
    """Bits of a word of the programs there, by its shell."""
    shell = case.value(side, "kernel.word_size", "/bin/sh")
    size = shell.get("class") if isinstance(shell, Mapping) else None
    return size if size in (32, 64) else None


def last_cache(case: SidePair, side: Side) -> int | None:
    """Bytes of the largest cache."""
    caches = case.facts[side].host.get("caches")
    sizes = [
        cache["size"]
        for cache in (caches if isinstance(caches, list) else ())
        if isinstance(cache, Mapping) and isinstance(cache.get("size"), int)
    ]
    return max(sizes, default=None)
