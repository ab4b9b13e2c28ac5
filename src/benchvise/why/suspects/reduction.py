"""Which differences cannot be the cause, each with its reason.

Dropped are what cannot touch the metric's family, what only tells boards apart, and what follows
from another difference or sets it. The rules are data, in ``reduction.toml``.
"""

from __future__ import annotations

import ipaddress
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from benchvise.state.catalogue import items_by_id, knobs
from benchvise.state.diff import Difference, DifferencePart
from benchvise.state.model import Family, Knob
from benchvise.why.model import Layer, Metric
from benchvise.why.suspects.places import used_place

VARIABLES = "process.environment/variables"
_NAMED = 3
_MASKS = (
    re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{8}-[0-9a-f]{2}\b", re.I),
    re.compile(r"\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b", re.I),
    re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    re.compile(r"\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){4,7}\b", re.I),
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What can touch a metric: the families that it measures, and those that reach it otherwise."""

    near: frozenset[Family]
    far: frozenset[Family]

    @property
    def all(self) -> frozenset[Family]:
        """Both."""
        return self.near | self.far


@dataclass(frozen=True, slots=True)
class Tie:
    """Knobs that are one setting. ``exclusive``: the one that is not zero holds."""

    knobs: tuple[str, ...]
    exclusive: bool
    why: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The differences that are left, and why the others are not, by the entry's name."""

    differences: tuple[Difference, ...]
    excluded: Mapping[str, str]


@cache
def _rules() -> Mapping[str, Any]:
    text = (files(__package__) / "reduction.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def reach_of(benchmark: str) -> Reach:
    """What can touch a benchmark."""
    record = next(r for r in _rules()["metric"] if fnmatchcase(benchmark, r["benchmark"]))
    return Reach(frozenset(map(Family, record["near"])), frozenset(map(Family, record["far"])))


@cache
def ties() -> tuple[Tie, ...]:
    """All knobs that are tied to each other."""
    return tuple(
        Tie(tuple(record["knobs"]), record["kind"] == "exclusive", record["why"])
        for record in _rules()["tie"]
    )


@cache
def layer_of(item: str) -> Layer:
    """Where a difference lies that no setting covers."""
    return next(
        Layer(record["layer"])
        for record in _rules()["layer"]
        if any(fnmatchcase(item, pattern) for pattern in record["items"])
    )


def reduce(
    differences: Sequence[Difference],
    metric: Metric,
    differing_knobs: Iterable[str],
    seen: Collection[str] = (),
    targets: Collection[str] = (),
) -> Kept:
    """Drops what cannot be the cause. ``differing_knobs`` are the knobs whose values differ,
    ``seen`` the files of the kernel that were read on both sides, ``targets`` what the system calls
    of the command were about on either side: what leads there is kept."""
    excluded: dict[str, str] = {}
    left = list(_without(_out_of_reach(differences, metric), excluded))
    apart = {f"{d.entry.name} {part.key}" for d in differences for part in d.parts}
    left = list(_without((_identifying(d, apart, targets) for d in left), excluded))
    moved = {d.entry.name for d in left} | set(differing_knobs)
    left = list(_without((_following(d, moved) for d in left), excluded))
    left = list(_without(_parts_shown_elsewhere(left), excluded))
    left = list(_without(((_unset(d, moved), _sets(d, moved)) for d in left), excluded))
    mounted = {p.key for d in differences if d.entry.name == _MOUNTED for p in d.parts}
    unseen = frozenset(
        point for t in targets for point in _above(t) if point not in mounted and point != "/"
    )
    left = list(_without((_without_seen(d, frozenset(seen), unseen) for d in left), excluded))
    return Kept(tuple(left), excluded)


def _without(
    judged: Iterable[tuple[Difference, str]], excluded: dict[str, str]
) -> Iterator[Difference]:
    for difference, why in judged:
        if why:
            excluded[difference.entry.name] = why
        else:
            yield difference


# -- by family -------------------------------------------------------------------------------------


def _out_of_reach(
    differences: Iterable[Difference], metric: Metric
) -> Iterator[tuple[Difference, str]]:
    reach = reach_of(metric.benchmark).all
    for difference in differences:
        item = difference.item
        if item is None or reach.intersection(item.families):
            yield difference, ""
        else:
            names = ", ".join(_FAMILY_NAMES[family] for family in item.families)
            yield difference, f"it can affect {names} only, which {metric.benchmark} does not"


_FAMILY_NAMES = {
    Family.MEMORY: "memory",
    Family.CPU: "computing",
    Family.LATENCY: "latency",
    Family.NETWORK: "the network",
    Family.STORAGE: "storage",
    Family.SYSTEM: "system calls",
    Family.SERIAL: "serial lines",
    Family.GRAPHICS: "graphics",
    Family.POWER: "power",
    Family.BOOT: "boot",
}


# -- what only tells boards apart ------------------------------------------------------------------


def _identifying(
    difference: Difference, apart: Collection[str], targets: Collection[str]
) -> tuple[Difference, str]:
    """Without the parts that identify; the reason where nothing else is left. ``apart`` are the
    parts of all entries that differ."""
    ways = {part.key for part in difference.parts if _leads_another_way(difference, part)}
    is_target = any(_names_one_of(targets, value) for p in difference.parts for value in (p.a, p.b))
    if difference.a is not None and difference.b is not None and not ways and not is_target:
        values = difference.a.value, difference.b.value
        if None not in values and len({_masked(value) for value in values}) == 1:
            return difference, "only identifiers or addresses differ in it"
    reasons: list[str] = []
    kept = []
    for part in difference.parts:
        why = _identity(difference.entry.name, part, apart)
        if difference.entry.name in _ROUTES and part.key not in ways and not why:
            without = {_GATEWAY.sub("via <id>", str(value)) for value in (part.a, part.b)}
            why = _ONLY_GATEWAYS if len(without) == 1 else ""
        if why and not _leads_to(difference.entry.name, part, targets):
            reasons.append(why)
        else:
            kept.append(part)
    if not kept:
        return difference, "; ".join(dict.fromkeys(reasons)) or "nothing in it differs"
    return replace(difference, parts=tuple(kept)), ""


def _identity(name: str, part: DifferencePart, apart: Collection[str]) -> str:
    for record in _rules()["identity"]:
        if fnmatchcase(name, record["entry"]):
            patterns = record.get("part", ["*"])
            alike = record.get("values", [part.a, part.b])
            fits = any(fnmatchcase(part.key, pattern) for pattern in patterns)
            fits = fits and record.get("beside") in (None, *apart)
            if fits and part.a in alike and part.b in alike:
                return str(record["why"])
    return ""


_ROUTES = ("net.routes/routes", "net.routes/routes of IPv6")
_NEIGHBOURS = "net.routes/fixed neighbours"
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7})(?![\w:])"
)
_GATEWAY = re.compile(r"\bvia ([0-9a-fA-F.:]{2,45})(?= |,|$)")
_ONLY_GATEWAYS = "it leads to the gateway of the network that the board is in"
_NEIGHBOURHOOD = {4: 24, 6: 64}


def _names_one_of(targets: Collection[str], value: Any) -> bool:
    """Whether a value holds an address of the network that the command asks or waits for: then it
    is more than what tells two boards apart."""
    text = value if isinstance(value, str) else json.dumps(value)
    addresses = set(_ADDRESS.findall(text)) if targets else set()
    return any(target.rpartition(":")[0].strip("[]") in addresses for target in targets)


def _leads_another_way(difference: Difference, part: DifferencePart) -> bool:
    """Whether a route leads to another gateway of the same network, or one address to another one
    on the link: one of the boards takes another way. Gateways of two networks tell these apart, and
    no more."""
    if difference.entry.name == _NEIGHBOURS:
        return part.a is not None and part.b is not None
    if difference.entry.name not in _ROUTES:
        return False
    both = [_GATEWAY.findall(value) if isinstance(value, str) else [] for value in (part.a, part.b)]
    if len(both[0]) != len(both[1]):
        return False
    return any(a != b and _are_near(a, b) for a, b in zip(*both, strict=True))


def _are_near(a: str, b: str) -> bool:
    try:
        first, second = ipaddress.ip_address(a), ipaddress.ip_address(b)
    except ValueError:
        return False
    if first.version != second.version or first.is_link_local:
        return False
    around = ipaddress.ip_network(f"{a}/{_NEIGHBOURHOOD[first.version]}", strict=False)
    return second in around


def _leads_to(name: str, part: DifferencePart, targets: Collection[str]) -> bool:
    """Whether a variable leads to what the command opens, asks or waits for."""
    values = (part.a, part.b) if name == VARIABLES else ()
    return any(used_place(part.key, value, targets) for value in values)


def _masked(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    for mask in _MASKS:
        text = mask.sub("<id>", text)
    return text


# -- what follows from another difference ----------------------------------------------------------


def _following(difference: Difference, moved: set[str]) -> tuple[Difference, str]:
    """Without the parts that follow from something else; the reason where nothing else is left."""
    name = difference.entry.name
    one_sided = any(e is None or e.missing is not None for e in (difference.a, difference.b))
    for record in _rules()["follows"]:
        if record.get("missing", False) and not one_sided:
            continue
        if any(fnmatchcase(name, pattern) for pattern in record["entry"]):
            causes = [cause for cause in record["of"] if cause in moved and cause != name]
            if record["of"] and not causes:
                continue
            why = record["why"] + (f" (see {causes[0]})" if causes else "")
            patterns = record.get("part", ["*"])
            kept = [p for p in difference.parts if not any(fnmatchcase(p.key, q) for q in patterns)]
            if not kept:
                return difference, why
            difference = replace(difference, parts=tuple(kept))
    return difference, ""


def _parts_shown_elsewhere(differences: Sequence[Difference]) -> Iterator[tuple[Difference, str]]:
    by_name = {difference.entry.name: difference for difference in differences}
    for difference in differences:
        shown_in: dict[str, str] = {}
        for record in _rules()["part_of"]:
            if difference.entry.name == record["of"]:
                for name in record["entry"]:
                    if name in by_name:
                        shown_in |= {part.key: name for part in by_name[name].parts}
        kept = tuple(part for part in difference.parts if part.key not in shown_in)
        if kept:
            yield replace(difference, parts=kept), ""
        else:
            yield (
                difference,
                f"all of it is shown by itself ({_list(sorted(set(shown_in.values())))})",
            )


# -- what sets another difference ------------------------------------------------------------------


def _unset(difference: Difference, moved: set[str]) -> Difference:
    """Without the parts that do no more than set a knob that is tested itself."""
    kept = tuple(part for part in difference.parts if not _knobs_set_by(difference, part, moved))
    return replace(difference, parts=kept) if kept else difference


def _sets(difference: Difference, moved: set[str]) -> str:
    knobs_by_part = [_knobs_set_by(difference, part, moved) for part in difference.parts]
    if all(knobs_by_part):
        names = sorted({name for names in knobs_by_part for name in names})
        return f"it does no more than set {_list(names)}, which is tested itself"
    return ""


def _knobs_set_by(difference: Difference, part: DifferencePart, moved: set[str]) -> tuple[str, ...]:
    """The differing knobs that a part of the command line or of a file of init settings sets."""
    name = difference.entry.name
    if name == "storage.mounts/mounts":
        return _mount_knobs_of(part, moved)
    if name == "kernel.command_line/options":
        options = knobs_of_boot_option(part.key)
        return tuple(knob for knob in options if knob in moved)
    if difference.entry.item == "boot.init_settings":
        texts = [text for text in (part.a, part.b) if text is not None]
        lines = [
            line
            for text in texts
            for line in (text if isinstance(text, list) else [text])
            if isinstance(line, str)
        ]
        knobs_by_line = [_knobs_in(line, moved) for line in lines]
        return (
            tuple(name for names in knobs_by_line for name in names)
            if lines and all(knobs_by_line)
            else ()
        )
    return ()


def _mount_knobs_of(part: DifferencePart, moved: set[str]) -> tuple[str, ...]:
    """The differing knobs that make all of the difference between two lines of a mount; none where
    something else differs too: its source, its kind, an option that is no knob."""
    lines = [str(text).split(" ") for text in (part.a, part.b)]
    if any(len(line) != 3 for line in lines) or lines[0][:2] != lines[1][:2]:
        return ()
    other_options = set(lines[0][2].split(",")) ^ set(lines[1][2].split(","))
    by_word = {
        word: name
        for name, (item, knob) in knobs().items()
        if item.id == "storage.mounts" and name in moved
        for word in knob.choices
    }
    return tuple(by_word[word] for word in other_options) if other_options <= by_word.keys() else ()


_FSTAB = "/etc/fstab"
_MOUNTS = "/proc/self/mountinfo"
_MOUNTED = "storage.mounts/mounts"
_SYSCTL_FILES = ("/etc/sysctl.conf", "/etc/sysctl.d/*.conf")
_SYSCTL_LINE = re.compile(r"-?([\w./-]+)\s*=")


def _without_seen(
    difference: Difference, seen: frozenset[str], unseen: frozenset[str]
) -> tuple[Difference, str]:
    """Without the lines of a file of init settings that set what was read on both sides: where it
    differs it is a difference of its own, and where it does not the line does nothing now.

    ``unseen`` are places where the command is at work and whose mounts do not differ: an option
    that a line has for one of them is known only to the program that mounts it.
    """
    if difference.entry.item != "boot.init_settings":
        return difference, ""
    why = "what it sets was read on both sides, and is compared by itself"
    file = difference.entry.key
    if file == _FSTAB and _MOUNTS in seen:
        return _with_lines(difference, lambda line: _point_of(line) in unseen, why)
    if not any(fnmatchcase(file, pattern) for pattern in _SYSCTL_FILES):
        return difference, ""
    return _with_lines(difference, lambda line: not _is_read(line, seen), why)


def _with_lines(
    difference: Difference, is_kept: Callable[[str], bool], why: str
) -> tuple[Difference, str]:
    """With those lines alone that are kept; ``why`` where none is."""
    kept = tuple(
        replace(part, a=_lines_of(part.a, is_kept), b=_lines_of(part.b, is_kept))
        for part in difference.parts
    )
    kept = tuple(part for part in kept if part.a or part.b)
    return (replace(difference, parts=kept), "") if kept else (difference, why)


def _lines_of(lines: Any, is_kept: Callable[[str], bool]) -> Any:
    if isinstance(lines, str):
        return lines if is_kept(lines) else None
    if isinstance(lines, list):
        return [line for line in lines if is_kept(str(line))] or None
    return lines


def _is_read(line: str, seen: frozenset[str]) -> bool:
    """Whether the setting of a line of ``sysctl.conf`` was read on both sides."""
    match = _SYSCTL_LINE.match(line)
    return match is not None and _sysctl_path(match[1]) in seen


def _point_of(line: str) -> str:
    """The mount point of a line of fstab(5); empty where it has none."""
    fields = line.split()
    return fields[1].rstrip("/") if len(fields) > 1 else ""


def _above(target: str) -> Iterator[str]:
    """A path and the directories that it is in."""
    while target.startswith("/") and target != "/":
        yield target.rstrip("/")
        target = posixpath.dirname(target.rstrip("/"))


def _sysctl_path(name: str) -> str:
    """The file of a name of sysctl(8): the first separator tells which one it is."""
    dot, slash = name.find("."), name.find("/")
    if slash < 0 or 0 <= dot < slash:
        name = name.translate(str.maketrans("./", "/."))
    return f"/proc/sys/{name}"


@cache
def knobs_of_boot_option(option: str) -> tuple[str, ...]:
    """The knobs that an option of the kernel command line sets, by the option's name."""
    listed = _rules()["boot_options"].get(option)
    if listed is not None:
        return tuple(listed)
    module, dot, name = option.partition(".")
    if not dot:
        return ()
    path = f"/sys/module/{module}/parameters/{name}"
    if module == "sysctl":
        path = "/proc/sys/" + name.replace(".", "/")
    return tuple(knob for knob, (_, its) in knobs().items() if its.path == path)


def _knobs_in(line: str, moved: set[str]) -> tuple[str, ...]:
    """The differing knobs whose file a line of settings names, as a path or as a sysctl."""
    return tuple(
        name
        for name, (_, knob) in knobs().items()
        if name in moved and any(word in line for word in _spellings(knob))
    )


def _spellings(knob: Knob) -> Iterator[str]:
    if knob.path.startswith("/proc/sys/"):
        rest = knob.path.removeprefix("/proc/sys/")
        yield rest.replace("/", ".")
        yield rest
    elif "*" not in knob.path and "{" not in knob.path:
        yield knob.path
        yield knob.path.removeprefix("/sys/")
    else:
        # a device's name stands between: its last two parts tell enough
        yield "/".join(knob.path.split("/")[-2:])


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def families_of(item: str) -> frozenset[Family]:
    """What an item can affect; everything where the catalogue does not know it."""
    item_record = items_by_id().get(item)
    return frozenset(item_record.families if item_record is not None else Family)
