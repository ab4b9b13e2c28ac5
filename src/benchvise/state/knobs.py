"""Settings that may be made: their names and values as a user writes them, and as a file has them.

memory.thp=always                 one value
vm.swappiness=0+60+100            each of several, in turn
cpu.max_freq=each                 each that the board offers
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from benchvise.errors import UsageError
from benchvise.names import exact_matches, search
from benchvise.quantities import parse_cpus
from benchvise.state.catalogue import knobs
from benchvise.state.knob_names import concrete_files, knob_entries
from benchvise.state.model import Knob
from benchvise.state.normalise.network import discipline_options, words_of_routes

EACH = "each"

# The one file that marks its choice otherwise than with brackets, or shows a word and no list.
_PARENTHESISED = "/sys/kernel/debug/sched/preempt"

_CHOSEN = re.compile(r"\[([^\[\]]+)\]")
_CPU_LIST = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*", re.ASCII)
_LONG_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8})+")
_NUMBER = re.compile(r"-?\d{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SettingRequest:
    """A knob, and the values that it is to have in turn; none stands for each there is."""

    knob: Knob
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A knob, and the value that it is to have, in canonical spelling.

    ``paths`` are the only files of the knob to be set, where its devices are to differ; without
    them all are.
    """

    knob: Knob
    value: str
    paths: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.knob.name}={self.value}"


def parse_setting_requests(texts: Iterable[str]) -> tuple[SettingRequest, ...]:
    """What ``--set`` asks for, checked as far as that goes without a board.

    UsageError names what is no knob, no value of its kind, or asked for twice.
    """
    requests = tuple(parse_setting_request(text) for text in texts)
    names = [request.knob.name for request in requests]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is set twice", f"for one run with each write {name}=A+B")
    return requests


def parse_setting_request(text: str) -> SettingRequest:
    """One ``NAME=VALUE[+VALUE...]`` or ``NAME=each``; UsageError when it is none."""
    name, equals, values = text.partition("=")
    if not equals or not name or not all(values.split("+")):
        raise UsageError(
            f"--set {text}: that is not KNOB=VALUE", "write for example memory.thp=never"
        )
    knob = find_knob(name)
    if knob.is_family:
        raise _family_refused(name, knob)
    if values == EACH:
        return SettingRequest(knob, ())
    return SettingRequest(
        knob, tuple(dict.fromkeys(canonical(knob, value) for value in values.split("+")))
    )


def find_knob(name: str) -> Knob:
    """The knob of that name, of that file of the kernel, or of a name that only one knob has.

    UsageError names those that may be meant.
    """
    catalogue = knobs()
    if name in catalogue:
        return catalogue[name][1]
    entries = knob_entries()
    matches = exact_matches(name, entries)
    if len(matches) == 1:
        return catalogue[matches[0].name][1]
    if not matches and (wider := concrete_files(name)):
        if wider[0].is_family:
            raise _family_refused(name, wider[0])
        raise UsageError(
            f"{name} is set together with the others of its kind",
            f"--set {wider[0].name}=VALUE sets {wider[0].path}",
        )
    near = [entry.name for entry in matches or search(name, entries, limit=3)]
    problem = "names several settings" if matches else "is no setting that can be changed"
    remedy = f"did you mean {' or '.join(near[:3])}? " if near else ""
    raise UsageError(f"'{name}' {problem}", f"{remedy}`benchvise knobs` lists them")


def _family_refused(name: str, knob: Knob) -> UsageError:
    return UsageError(
        f"{name} stands for files of {knob.path}, which `benchvise why` alone sets, one by one",
        "set it on the board by hand, and measure it as another state",
    )


def companions(knob: Knob) -> tuple[Knob, ...]:
    """The knobs that the kernel may set anew along with this one."""
    catalogue = knobs()
    item = catalogue[knob.name][0] if knob.name in catalogue else None
    return tuple(
        other
        for name, (its_item, other) in catalogue.items()
        if name != knob.name
        and (its_item is item or any(fnmatchcase(name, pattern) for pattern in knob.resets))
    )


def canonical(knob: Knob, text: str) -> str:
    """The one spelling of a value that a user gave; UsageError when the knob does not take it."""
    value = " ".join(text.split())
    if knob.kind == "integer":
        if not _NUMBER.fullmatch(value) or not knob.minimum <= int(value) <= knob.maximum:
            raise _refused(knob, text, f"it takes a number from {knob.minimum} to {knob.maximum}")
        return str(int(value))
    if knob.kind == "choice" and knob.choices and value not in knob.choices:
        raise _refused(knob, text, f"choose one of {', '.join(knob.choices)}")
    if knob.kind == "text" and not re.fullmatch(knob.pattern, value):
        raise _refused(knob, text, f"it takes what matches {knob.pattern}")
    return value


def present_value(knob: Knob, path: str, text: str) -> str:
    """What a knob's file is set to, by its text, in the spelling that can be written back.

    Of a list with the chosen word marked it is that word.
    """
    value = " ".join(text.split()) or knob.empty
    if knob.kind == "integer":
        return str(int(value)) if _NUMBER.fullmatch(value) else value
    if knob.kind == "text":
        return value
    chosen = re.search(r"\((\w+)\)", value) if path == _PARENTHESISED else _CHOSEN.search(value)
    if chosen is not None:
        return chosen[1]
    first = value.partition(" ")[0]
    return first if value not in knob.choices and first in knob.choices else value


def marked_choices(path: str, text: str) -> tuple[str, ...]:
    """The words of a list that marks the chosen one; nothing when the text is no such list."""
    if path == _PARENTHESISED:
        return tuple(text.replace("(", "").replace(")", "").split())
    return tuple(_CHOSEN.sub(r"\1", text).split()) if _CHOSEN.search(text) else ()


def as_written(knob: Knob, value: str, present: str) -> str:
    """The text that a file takes for a value, where it holds ``present`` (both as
    ``present_value`` has them). Limits of disks are taken a disk at a time, and the first one that
    is not right is given."""
    if knob.path.endswith("/io.max"):
        wanted, there = _limits_of_disks(value), _limits_of_disks(present)
        for disk in {**wanted, **there}:
            limits = {**dict.fromkeys(_IO_LIMITS, "max"), **wanted.get(disk, {})}
            if limits != {**dict.fromkeys(_IO_LIMITS, "max"), **there.get(disk, {})}:
                return " ".join([disk, *(f"{name}={limit}" for name, limit in limits.items())])
    if is_limit_of_disks(knob.path):
        before, after = (_limit_by_disk(text) for text in (present, value))
        for disk in {**after, **before}:
            if after.get(disk) != before.get(disk):
                return f"{disk} {after.get(disk, '0')}"
    return "\n" if knob.empty and value == knob.empty else value


def is_limit_of_disks(path: str) -> bool:
    """Whether a file has one limit for each disk, as control groups of version 1 write them: it is
    taken away by writing 0."""
    return "/blkio.throttle." in path


def _limit_by_disk(value: str) -> dict[str, str]:
    fields = value.split()
    return dict(zip(fields[::2], fields[1::2], strict=False)) if ":" in value else {}


_IO_LIMITS = ("rbps", "wbps", "riops", "wiops")


def _limits_of_disks(value: str) -> dict[str, dict[str, str]]:
    """``8:0 rbps=max wbps=1048576 …``, of each disk its limits by name."""
    limits: dict[str, dict[str, str]] = {}
    disk = ""
    for word in value.split():
        name, equals, limit = word.partition("=")
        if equals and disk:
            limits[disk][name] = limit
        elif ":" in word:
            disk = word
            limits.setdefault(disk, {})
    return limits


def shown_value(knob: Knob, value: str) -> str:
    """A value for people: the options of a queueing discipline in words, where these are known."""
    discipline = _DISCIPLINE.fullmatch(value)
    if knob.name == "net.qdisc" and discipline is not None:
        kind, handle, options = discipline.groups("")
        return f"{kind}{handle} {discipline_options(kind, options)}"
    return value


_DISCIPLINE = re.compile(r"(\w+)( [0-9a-f]+:)? ((?:[0-9a-f]{2})+)", re.ASCII)


def can_be_put_back(knob: Knob, value: str) -> bool:
    """Whether a present value is of a form that can be written again."""
    if knob.kind == "integer":
        return _NUMBER.fullmatch(value) is not None
    if knob.kind == "text":
        return re.fullmatch(knob.pattern, value) is not None
    return value != "" and (" " not in value or value in knob.choices)


def same(knob: Knob, first: str, other: str) -> bool:
    """Whether two values mean the same: the kernel spells CPU lists and masks in its own way."""
    if knob.name == "net.route":  # who made a route is told, and cannot always be chosen
        return words_of_routes(first) == words_of_routes(other)
    return first == other or (knob.kind == "text" and _meaning(first) == _meaning(other))


def _meaning(text: str) -> Sequence[object]:
    """A mask as its number, a list of CPUs as their numbers, anything else as its words."""
    value = text.lower()
    if _LONG_MASK.fullmatch(value):
        value = value.replace(",", "")
    elif _CPU_LIST.fullmatch(value) and not value.isdigit():
        cpus = parse_cpus(value)
        return ("cpus", *sorted(cpus)) if len(cpus) != 1 else (str(cpus.pop()),)
    return tuple(word.lstrip("0") or "0" for word in value.split())


def _refused(knob: Knob, text: str, remedy: str) -> UsageError:
    return UsageError(f"{knob.name}={text} is no value for it", remedy)
