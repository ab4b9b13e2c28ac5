"""From two snapshots to suspects: what differs, what of it can be the cause, how each is flipped.

A difference is flipped by a setting (``bundles``), for the measured process alone, or not at all:
the kernel, its command line, the C library and the hardware say where they lie, so that layers
reach them. The kernel lets a process give up more than it can take: it can be barred from huge
pages and from random addresses, and not be given them where the board has them off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from benchvise.state.catalogue import knobs
from benchvise.state.diff import Difference, DifferenceKind, DifferencePart, diff_snapshots
from benchvise.state.model import Flip, Knob, Snapshot, StateEntry
from benchvise.text import printable
from benchvise.why.model import Layer, Metric, ProcessMeans, SettingMeans, Side, Suspect
from benchvise.why.suspects.bundles import KnobFiles, knob_changes, suspects_of
from benchvise.why.suspects.command_suspects import (
    FILE_SYSTEMS,
    MOUNT_POINT,
    MOUNTS,
    NOT_THERE,
    TRACER,
    HostNames,
    host_names,
    of_command,
)
from benchvise.why.suspects.many_variables import grouped_variables
from benchvise.why.suspects.reduction import layer_of, reduce
from benchvise.why.suspects.routes import ROUTES, with_route
from benchvise.why.suspects.rule_sets import FILTER, POLICIES, is_one_set, rule_suspects


@dataclass(frozen=True, slots=True)
class SuspectSelection:
    """The suspects, those that can be tested first, and why other differences are none.

    ``excluded`` leads from an entry's name to the reason.
    """

    suspects: tuple[Suspect, ...]
    excluded: Mapping[str, str]


def find(
    good: Snapshot,
    bad: Snapshot,
    metric: Metric,
    *,
    may_set: Mapping[Side, bool],
    allowed: Collection[str] = (),
    targets: Collection[str] = (),
) -> SuspectSelection:
    """The suspects of two snapshots for a metric.

    ``may_set`` says where settings can be made: not without root, and not on a recorded side.
    Settings that can disturb the whole board are suspects without means unless they are
    ``allowed``: names or patterns of settings, suspects or items, or ``all``. ``targets`` are what
    the system calls of the command were seen to be about, on either side.
    """
    differences = diff_snapshots(good, bad).differences
    views = KnobFiles.of(good), KnobFiles.of(bad)
    names = [d.entry.name for d in differences]
    changes = knob_changes(*views, [*names, *_on_one_side(*views)])
    seen = _read_paths(good) & _read_paths(bad)
    kept = reduce(differences, metric, (change.knob.name for change in changes), seen, targets)
    left = {difference.entry.name for difference in kept.differences}
    changes = tuple(c for c in changes if _comes_and_goes(c.knob) or left.intersection(c.members))
    settings = (*suspects_of(changes), *rule_suspects(good, bad))
    flipped = [_bounded(s, may_set, allowed, good, bad) for s in settings]
    covered = {member for suspect in flipped for member in suspect.members}
    rest = [d for d in kept.differences if d.entry.name not in covered]
    taken = {suspect.id for suspect in flipped}
    snapshots = {Side.GOOD: good, Side.BAD: bad}
    others = (
        _bounded(with_route(suspect, snapshots), may_set, allowed, good, bad)
        if suspect.item == ROUTES
        else suspect
        for suspect in _without_means(rest, metric, host_names(good, bad))
    )
    suspects = [*flipped, *(_renamed(suspect, taken) for suspect in others)]
    return SuspectSelection(
        tuple(sorted(suspects, key=lambda s: s.means is None)),
        {name: why for name, why in kept.excluded.items() if name not in covered},
    )


def _comes_and_goes(knob: Knob) -> bool:
    """Whether it is about programs that run, of which snapshots have no settings."""
    return knob.fleeting and bool(knob.absent)


def _on_one_side(good: KnobFiles, bad: KnobFiles) -> Iterator[str]:
    """What is observed on one side alone and can be set: programs that run."""
    for name, (_, knob) in knobs().items():
        if _comes_and_goes(knob):
            yield from sorted(good.by_knob[name].keys() ^ bad.by_knob[name].keys())


def _read_paths(snapshot: Snapshot) -> set[str]:
    """The files that were read, and held a value."""
    return {entry.path for entry in snapshot.entries() if entry.missing is None}


def _bounded(
    suspect: Suspect,
    may_set: Mapping[Side, bool],
    allowed: Collection[str],
    good: Snapshot,
    bad: Snapshot,
) -> Suspect:
    """With the means that may be used: none without the right or the consent to set."""
    if not isinstance(suspect.means, SettingMeans):
        return suspect
    risky = dict.fromkeys(s.knob.name for s in suspect.means.to_good if s.knob.risky)
    if risky and not is_allowed((*risky, suspect.id, suspect.item), allowed):
        return replace(suspect, means=None, untestable=needs_consent(risky))
    if not may_set.get(Side.BAD, False):
        instead = instead_of_setting(suspect, bad.roles.get("kernel", ""))
        if isinstance(instead, str):
            why = f"the bad side may not be set, and {instead}"
            return replace(suspect, means=None, untestable=why, not_on_good=why)
        return replace(suspect, means=instead, layer=Layer.PROCESS, not_on_good=_ONE_WAY)
    if not may_set.get(Side.GOOD, False):
        return replace(suspect, not_on_good=suspect.not_on_good or f"{good.board} may not be set")
    return suspect


ALL = "all"
"""Allows every setting that can disturb a board."""

_CONSENT = "it can disturb the whole board: it is only tested with --allow "


def is_allowed(names: Iterable[str], allowed: Collection[str]) -> bool:
    """Whether one of these names may be tried although it can disturb the board."""
    return ALL in allowed or any(
        fnmatchcase(name, pattern) for name in names for pattern in allowed
    )


def needs_consent(knobs_at_risk: Iterable[str]) -> str:
    """Why settings are not tried without consent, with how to give it."""
    return _CONSENT + ",".join(knobs_at_risk)


def consent_for(suspect: Suspect) -> tuple[str, ...]:
    """The names to be allowed for a suspect; none where it takes no consent."""
    return consent_in(suspect.untestable)


def consent_in(reason: str) -> tuple[str, ...]:
    """The same by the reason for which something is not tested."""
    _, asked, names = reason.partition(_CONSENT)
    return tuple(names.split(",")) if asked else ()


NO_SETTING = "it can be changed by hand, but is none of the settings that are made here"
_ONE_WAY = "a process cannot be given what the good side has switched off"


def _renamed(suspect: Suspect, taken: Set[str]) -> Suspect:
    """What is left of an item may be called as one of its knobs is."""
    return replace(suspect, id=f"{suspect.id}:rest") if suspect.id in taken else suspect


def _without_means(
    differences: Sequence[Difference], metric: Metric, names: HostNames
) -> Iterator[Suspect]:
    """What a process can be given has means all the same."""
    rest = []
    for difference in differences:
        suspects, left = process_suspects(difference, metric, names)
        yield from suspects
        if left:
            rest.append(replace(difference, parts=left))
    yield from fixed_suspects(rest)


# -- what no setting covers ------------------------------------------------------------------------


_VALUE_LIMIT = 120
_NAMED = 3

# Items whose places are independent of each other: each is a suspect of its own.
_BY_PART = (
    *("kernel.command_line/options", "process.environment/variables"),
    *(f"{ROUTES}/{key}" for key in ("routes", "routes of IPv6", "fixed neighbours")),
)

SYSCTL_FAMILIES = ("net.sysctls", "net.interface_settings", "kernel.families")
"""Items whose entries are files of their own, called by their paths."""

_REASONS = {
    Layer.PROCESS: "it belongs to the process, and nothing here gives it to one",
    Layer.USERLAND: "it takes the other side's user land",
    Layer.LIBC: "it takes the other side's C library",
    Layer.ROOT: "it takes the other side's root file system",
    Layer.INIT_SETTINGS: "it holds from the next boot on",
    Layer.COMMAND_LINE: "it takes a reboot with the other command line",
    Layer.KERNEL: "it takes the other side's kernel",
    Layer.DEVICE_TREE: "it takes a boot with the other device tree",
    Layer.BOOTLOADER: "it takes the other side's firmware",
    Layer.HARDWARE: "it is the hardware's",
}


_OF_ITEMS = {
    "kernel.modules": "modules are not unloaded and loaded here: what uses them would be lost",
    ROUTES: "it has words that are not written here: change it there",
    FILE_SYSTEMS: "it is decided when the file system is made: make it again like the other side's",
    "boot.settings": "it holds from the next boot on",
    "firmware.raspberry_pi": "it holds from the next boot on",
    "kernel.security": "a process that has a profile or a filter cannot take it off",
}


def fixed_suspects(differences: Iterable[Difference]) -> Iterator[Suspect]:
    """One suspect for each item, or for each independent part of one, in the order given."""
    groups: dict[str, list[tuple[Difference, DifferencePart]]] = {}
    for difference in differences:
        for part in difference.parts:
            groups.setdefault(_id_of(difference, part), []).append((difference, part))
    for name, members in groups.items():
        yield _fixed_suspect(name, members)


def _id_of(difference: Difference, part: DifferencePart) -> str:
    entry = difference.entry
    if entry.name in _BY_PART:
        return f"{entry.item}:{printable(part.key, 60)}"
    if is_one_set(entry):
        return f"{entry.item}:{entry.key}"
    if entry.name == MOUNTS and part.key.startswith("/"):
        return f"{MOUNT_POINT}{printable(part.key, 80)}"
    if entry.item == FILE_SYSTEMS:
        point = next((key for key in (entry.key, part.key) if key.startswith("/")), "")
        return f"{FILE_SYSTEMS}:{printable(point, 80)}" if point else entry.item
    if entry.item == "kernel.modules" and entry.key != "modules":
        return f"kernel.modules:{entry.key.partition('.')[0]}"
    if entry.item == "boot.settings" and part.key:
        return f"{entry.item}:{printable(part.key, 80)}"
    if entry.item in ("boot.init_settings", *SYSCTL_FAMILIES):
        return f"{entry.item}:{printable(entry.key, 80)}"
    return entry.item


def _fixed_suspect(name: str, members: Sequence[tuple[Difference, DifferencePart]]) -> Suspect:
    first = members[0][0]
    layer = layer_of(first.entry.item)
    labels = [
        part.key if part.key.startswith(_FEATURE) else label
        for label, (_, part) in zip(_member_labels(members), members, strict=True)
    ]
    return Suspect(
        id=name,
        title=_title(name, first) + _features(part for _, part in members),
        layer=layer,
        item=first.entry.item,
        good=_shown_values(
            [(label, part.a) for label, (_, part) in zip(labels, members, strict=True)]
        ),
        bad=_shown_values(
            [(label, part.b) for label, (_, part) in zip(labels, members, strict=True)]
        ),
        members=tuple(dict.fromkeys(difference.entry.name for difference, _ in members)),
        untestable=_why_not([difference for difference, _ in members], layer),
    )


_FEATURE = "feature "


def _features(parts: Iterable[DifferencePart]) -> str:
    """The features of a file system that differ, for the end of a title."""
    names = [p.key.removeprefix(_FEATURE) for p in parts if p.key.startswith(_FEATURE)]
    return f": {', '.join(printable(name, 40) for name in names)}" if names else ""


def _title(name: str, first: Difference) -> str:
    if name.startswith(MOUNT_POINT):
        return f"the file system at {name.removeprefix(MOUNT_POINT)} and its options"
    if name.startswith(f"{FILE_SYSTEMS}:"):
        return f"what the file system at {name.partition(':')[2]} is made of, and its size"
    if first.entry.item in SYSCTL_FAMILIES:
        return f"{first.entry.key.removeprefix('/proc/sys/')}, as sysctl(8) sets it"
    if first.entry.name == f"{ROUTES}/fixed neighbours":
        return f"the address on the link of {name.partition(':')[2]}, as somebody has set it"
    if first.entry.name == POLICIES:
        return "policies of IPsec (ip xfrm policy), which packets meet"
    if name.startswith(f"{FILTER}:"):
        return f"{name.partition(':')[2]}, which packets meet"
    if name.startswith("boot.settings:"):
        return f"{name.partition(':')[2]}, as the boot loader is told"
    if name.startswith(f"{ROUTES}:"):
        return f"the route to {name.partition(':')[2]}"
    item = first.item
    return f"{item.title}: {item.summary}" if item is not None else first.entry.item


def _why_not(differences: Sequence[Difference], layer: Layer) -> str:
    first = differences[0]
    reason = _OF_ITEMS.get(first.entry.item) or _REASONS.get(layer)
    if reason is not None:
        return reason
    if len({difference.kind for difference in differences}) == 1:
        if first.kind is DifferenceKind.ONLY_A:
            return "the bad side does not have it"
        if first.kind is DifferenceKind.ONLY_B:
            return "the good side does not have it"
    flips = first.item.flips if first.item is not None else ()
    if Flip.RUN_TIME in flips or Flip.RISKY in flips:
        return NO_SETTING
    return "it can only be looked at"


def _member_labels(members: Sequence[tuple[Difference, DifferencePart]]) -> list[str]:
    """What tells the members apart: nothing for one alone."""
    if len(members) == 1:
        return [""]
    several = len({difference.entry.name for difference, _ in members}) > 1
    return [
        f"{difference.entry.key if several else ''} {part.key}".strip()
        for difference, part in members
    ]


def _shown_values(values: Sequence[tuple[str, Any]]) -> str:
    texts = [
        f"{label}={value_text(value)}" if label else value_text(value) for label, value in values
    ]
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return printable(", ".join(texts[:_NAMED]), 2 * _VALUE_LIMIT) + more


def value_text(value: Any) -> str:
    """A value in one line."""
    if value is None:
        return "not there"
    if value is True:
        return "given"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable(text, _VALUE_LIMIT) or "(empty)"


# -- what one process can be given -----------------------------------------------------------------


NO_NAMES: HostNames = {Side.GOOD: "", Side.BAD: ""}

# policy numbers of sched(7)
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle"}
_REAL_TIME = ("fifo", "rr")
_IO_CLASSES = {0: "be", 1: "rt", 2: "be", 3: "idle"}

# Since then a process can be barred from huge pages but for those that it advises.
_ADVISED = (6, 18)


def instead_of_setting(suspect: Suspect, kernel: str) -> ProcessMeans | str:
    """The per-process flip that does what a suspect's setting would do, or why there is none.

    ``kernel`` is the release of the one that the process would run on.
    """
    values = suspect.good, suspect.bad
    if suspect.id == "memory.thp":
        if values == ("madvise", "always"):
            return ProcessMeans({"thp": "advised" if _release(kernel) >= _ADVISED else "off"})
        if values[0] == "never":
            return ProcessMeans({"thp": "off"})
        return "a process can be barred from huge pages, but not be given them"
    if suspect.id == "kernel.randomize_va_space":
        if values[0] == "0":
            return ProcessMeans({"aslr": "off"})
        return "a process can be given fixed addresses, but not random ones"
    return "nothing that is done to one process does the same"


def _release(kernel: str) -> tuple[int, int]:
    match = re.match(r"(\d{1,4})\.(\d{1,4})", kernel)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def process_suspects(
    difference: Difference, metric: Metric, names: HostNames = NO_NAMES
) -> tuple[tuple[Suspect, ...], tuple[DifferencePart, ...]]:
    """The suspects in what a process inherits, and the parts that no flip covers.

    The probe's own benchmarks use no environment and no library, so these are tried for commands.
    """
    suspects: list[Suspect] = []
    left: list[DifferencePart] = []
    for part in difference.parts:
        suspect: Suspect | bool | None = _suspect_of(difference, part)
        if suspect is None and metric.command:
            suspect = of_command(difference, part, names)
        if isinstance(suspect, Suspect):
            suspects += [suspect] if suspect not in suspects else []
        elif not suspect:
            left.append(part)
    return tuple(grouped_variables(suspects)), tuple(left)


def _suspect_of(difference: Difference, part: DifferencePart) -> Suspect | bool | None:
    name = difference.entry.name
    if name == "process.inherited/tracer":
        return _tracer(difference)
    if name == "process.inherited/process" and part.key == "hard_limits":
        return True  # of a snapshot that has none
    if name == "timer.resolution/of the probe" and part.key == "slack_ns":
        return _process_suspect(difference, "timer.resolution:slack", "timer_slack", part.a, part.b)
    if name == "cpu.present/allowed" and part.key == "Cpus_allowed_list":
        return _process_suspect(difference, "cpu.present:allowed", "cpus", part.a, part.b)
    if name == "process.inherited/process" and part.key == "mdwe":
        return _denied(difference, part)
    if name == "process.inherited/process" and part.key == "nice":
        return _process_suspect(difference, "process.inherited:nice", "nice", part.a, part.b)
    if name == "process.inherited/process" and part.key in ("policy", "priority"):
        good, bad = _scheduling(difference.a), _scheduling(difference.b)
        return _process_suspect(difference, "process.inherited:sched", "sched", good, bad)
    if name == "process.inherited/process" and part.key in ("io_class", "io_level"):
        good, bad = _io(difference.a), _io(difference.b)
        return _process_suspect(difference, "process.inherited:ioprio", "ioprio", good, bad)
    if name == "process.inherited/process" and part.key.startswith("limits "):
        return _limit(difference, part)
    if name == "process.inherited/process" and part.key.startswith("hard_limits "):
        return _hard_limit(difference, part)
    return None


def _tracer(difference: Difference) -> Suspect:
    good, bad = (
        NOT_THERE if entry is None or entry.missing is not None else value_text(entry.value)
        for entry in (difference.a, difference.b)
    )
    return Suspect(
        id=TRACER,
        title="the process that traces what is started",
        layer=Layer.PROCESS,
        item="process.inherited",
        good=good,
        bad=bad,
        members=(difference.entry.name,),
        untestable="who is stopped at each system call cannot let itself go on: end the tracer",
    )


def _denied(difference: Difference, part: DifferencePart) -> Suspect | bool:
    """Whether what a process writes to memory may be run: who makes code while it runs, as those
    that compile expressions and scripts, does without where it may not. True where neither side has
    that restriction: -1 is of a kernel that has none, and an older probe does not tell."""
    flags = [value for value in (part.a, part.b) if isinstance(value, int)]
    if len(flags) < len(Side) or max(flags) <= 0:
        return True
    return Suspect(
        id=NO_NEW_CODE,
        title="whether memory that is written may be executed (MemoryDenyWriteExecute)",
        layer=Layer.PROCESS,
        item="process.inherited",
        good="refused" if flags[0] > 0 else "allowed",
        bad="refused" if flags[1] > 0 else "allowed",
        members=(difference.entry.name,),
        untestable="a process cannot take it off again: change what starts the session",
    )


NO_NEW_CODE = "process.inherited:memory_deny_write_execute"


def _limit(difference: Difference, part: DifferencePart) -> Suspect | None:
    """A limit of a resource, as a number or ``unlimited``; the hard one goes with it where that
    differs too."""
    kind = part.key.removeprefix("limits ")
    if not all(map(_is_limit, (part.a, part.b))):
        return None
    name = f"process.inherited:limit.{kind}"
    title = f"the limit {kind} that a process inherits"
    suspect = _process_suspect(difference, name, f"limit.{kind}", part.a, part.b, title)
    hard = _hard_limits(difference, kind)
    if suspect is None or not all(map(_is_limit, hard)) or hard[0] == hard[1]:
        return suspect
    means = ProcessMeans(
        {f"limit.{kind}": f"{part.a}:{hard[0]}"}, {f"limit.{kind}": f"{part.b}:{hard[1]}"}
    )
    return replace(suspect, means=means)


def _hard_limit(difference: Difference, part: DifferencePart) -> Suspect | bool | None:
    """A hard limit whose soft one is the same; True where that differs, and goes with it."""
    kind = part.key.removeprefix("hard_limits ")
    soft = [_limits(entry, "limits").get(kind) for entry in (difference.a, difference.b)]
    if not all(map(_is_limit, (part.a, part.b, *soft))):
        return None
    if soft[0] != soft[1]:
        return True
    name, title = f"process.inherited:hard_limit.{kind}", f"how far a process may raise {kind}"
    good, bad = f"{soft[0]}:{part.a}", f"{soft[1]}:{part.b}"
    suspect = _process_suspect(difference, name, f"limit.{kind}", good, bad, title)
    return None if suspect is None else replace(suspect, good=str(part.a), bad=str(part.b))


def _hard_limits(difference: Difference, kind: str) -> tuple[object, object]:
    good, bad = (_limits(e, "hard_limits").get(kind) for e in (difference.a, difference.b))
    return good, bad


def _limits(entry: StateEntry | None, key: str) -> Mapping[str, object]:
    value = entry.value if entry is not None else None
    limits = value.get(key) if isinstance(value, Mapping) else None
    return limits if isinstance(limits, Mapping) else {}


def _is_limit(value: object) -> bool:
    return isinstance(value, int) or value == "unlimited"


def _io(entry: StateEntry | None) -> str | None:
    value = entry.value if entry is not None else None
    if not isinstance(value, Mapping):
        return None
    kind = _IO_CLASSES.get(value.get("io_class", -1))
    if kind is None or kind == "idle":
        return kind
    # without a class it is as nice 0 has it
    return f"{kind}:{value.get('io_level', 4) if value.get('io_class') else 4}"


def _scheduling(entry: StateEntry | None) -> str | None:
    value = entry.value if entry is not None else None
    if not isinstance(value, Mapping):
        return None
    policy = _POLICIES.get(value.get("policy", -1))
    if policy in _REAL_TIME:
        return f"{policy}:{value.get('priority', 1)}"
    return policy


def _process_suspect(
    difference: Difference, name: str, attribute: str, good: object, bad: object, title: str = ""
) -> Suspect | None:
    if good is None or bad is None:
        return None
    item = difference.item
    return Suspect(
        id=name,
        title=title or _TITLES[attribute],
        layer=Layer.PROCESS,
        item=item.id if item is not None else difference.entry.item,
        good=str(good),
        bad=str(bad),
        members=(difference.entry.name,),
        means=ProcessMeans({attribute: str(good)}, {attribute: str(bad)}),
    )


_TITLES = {
    "timer_slack": "how much later than asked a process is woken",
    "cpus": "on which CPUs a process may run",
    "nice": "how much of the CPU a process gets beside others",
    "ioprio": "how urgent the I/O of a process is",
    "sched": "the scheduling class that a process inherits",
}
