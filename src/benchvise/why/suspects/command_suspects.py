"""Suspects in what a command is given, each flipped for the command alone.

Variables of the environment, files that decide how names are looked up, directories that are in
memory on the good side, and the list of preloaded libraries. Nothing of that is set on the board,
so nothing is to be restored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from benchvise.state.diff import Difference, DifferencePart
from benchvise.state.model import Snapshot, StateEntry
from benchvise.state.normalise.values import LINE_LENGTH, LINES
from benchvise.text import printable
from benchvise.why.model import Layer, ProcessMeans, Side, Suspect

NOT_SET = "%"
"""What stands for a variable that is not set."""

NOT_THERE = "not there"
TRACER = "process.inherited:tracer"
SEPARATOR = "; "
"""Between lines of a file, as values of a suspect show them."""

FILES = "process.files"
TIME_ZONE = f"{FILES}/time zone"
LOCALTIME = "/etc/localtime"
MOUNT_POINT = "storage.mounts:"
"""What begins the id of a suspect that is about what is mounted at one place."""

MOUNTS = "storage.mounts/mounts"
FILE_SYSTEMS = "storage.file_systems"
KINDS = f"{FILE_SYSTEMS}/kinds"

_CUT = 8_000  # characters of a variable: a longer one leaves no room for others in a request
_NOT_TOLD = re.compile(r"given(?: \(#[0-9a-f]{4}\))?")
_VALUE_LIMIT = 120
_TEXT_LIMIT = 8_000  # of a file as it is sent: all of them go with one request of 64 KiB
_NOT_SAID = "its value may be a secret, so the probe does not tell it"
_SHOWN_LINES = 6
_MEMORY = ("tmpfs", "ramfs")

HostNames = Mapping[Side, str]
"""What each side calls itself; nothing where it is not known."""


def host_names(good: Snapshot, bad: Snapshot) -> HostNames:
    """The names of two boards by their snapshots."""
    return {Side.GOOD: _host_name(good), Side.BAD: _host_name(bad)}


def _host_name(snapshot: Snapshot) -> str:
    values = [e.value for e in snapshot.observations if e.name == f"{FILES}/host name"]
    return next((value for value in values if isinstance(value, str)), "")


def of_command(difference: Difference, part: DifferencePart, names: HostNames) -> Suspect | bool:
    """The suspect in a part of a difference; True where the part is none, as another one has it or
    it only names the board, and False where nothing is known of it here."""
    name = difference.entry.name
    if name == "process.environment/variables":
        return _variable(difference, part) or False
    if name == "libc.preload/ld.so.preload":
        return _preload(difference) or False
    if name == TIME_ZONE:
        return _time_zone(difference) or False
    if name.startswith(f"{FILES}/"):
        return _file(difference, names)
    if name == MOUNTS:
        return _directory(difference, part) or False
    if name == KINDS:
        return part.a in _MEMORY and part.b not in _MEMORY
    return False


def _variable(difference: Difference, part: DifferencePart) -> Suspect | None:
    values = part.a, part.b
    if any(isinstance(value, str) and len(value) >= _CUT for value in values):
        return None
    if not is_told(part.a):
        return None
    good = quote(part.a, safe="/:.@+") if isinstance(part.a, str) else NOT_SET
    bad = quote(part.b, safe="/:.@+") if isinstance(part.b, str) else NOT_SET
    name = f"env.{part.key}"
    return Suspect(
        id=f"process.environment:{printable(part.key, 60)}",
        title=f"the variable {printable(part.key, 60)} of the environment",
        layer=Layer.PROCESS,
        item="process.environment",
        good=_variable_text(part.a),
        bad=_variable_text(part.b),
        members=(difference.entry.name,),
        means=ProcessMeans({name: good}, {name: bad} if is_told(part.b) else {}),
        not_on_good="" if is_told(part.b) else _NOT_SAID,
    )


def is_told(value: object) -> bool:
    """Whether this is the value of a variable. Of those that are not known to change programs the
    probe says that they are given, with a digest of 16 bits; older ones said True."""
    return value is not True and not (isinstance(value, str) and _NOT_TOLD.fullmatch(value))


def _variable_text(value: object) -> str:
    if isinstance(value, str):
        return printable(value, _VALUE_LIMIT) or "(empty)"
    return NOT_THERE if value is None else "given"


def _preload(difference: Difference) -> Suspect | None:
    """A list that only the bad side has can be kept from a process; one cannot be given."""
    good, bad = (None if e is None else e.value for e in (difference.a, difference.b))
    if good or not bad:
        return None
    lines = bad if isinstance(bad, list) else [bad]
    return Suspect(
        id="libc.preload",
        title="libraries that /etc/ld.so.preload puts before all others",
        layer=Layer.PROCESS,
        item="libc.preload",
        good="none",
        bad=printable(SEPARATOR.join(map(str, lines)), _VALUE_LIMIT),
        members=(difference.entry.name,),
        means=ProcessMeans({"preload": "none"}, {}),
        not_on_good="the good side does not have the library",
    )


_ZONES = "/usr/share/zoneinfo/"


def _time_zone(difference: Difference) -> Suspect | None:
    """The file of the zone that the other side's link leads to stands there for the command."""
    good, bad = (
        str(entry.value) if entry is not None and entry.missing is None else ""
        for entry in (difference.a, difference.b)
    )
    names = [path.rpartition("zoneinfo/")[2] for path in (good, bad)]
    if not all(re.fullmatch(r"[\w/+-]+", name, re.ASCII) for name in names):
        return None  # one side has no link that tells its zone
    to_good, to_bad = ({f"bind.{LOCALTIME}": f"{_ZONES}{name}"} for name in names)
    return Suspect(
        id=f"{FILES}:{LOCALTIME}",
        title="the time zone of the system",
        layer=Layer.PROCESS,
        item=FILES,
        good=names[0],
        bad=names[1],
        members=(difference.entry.name,),
        means=ProcessMeans(to_good, to_bad),
    )


# -- files -----------------------------------------------------------------------------------------


def _file(difference: Difference, names: HostNames) -> Suspect | bool:
    """The whole file; True where the sides differ in their own names alone."""
    path = difference.entry.key
    good, bad = _lines(difference.a), _lines(difference.b)
    if [_unnamed(line, names[Side.GOOD]) for line in good] == [
        _unnamed(line, names[Side.BAD]) for line in bad
    ]:
        return True
    if not re.fullmatch(r"[\w./-]+", path, re.ASCII):
        return False
    own, other = names[Side.BAD], names[Side.GOOD]
    to_good = {f"file.{path}": _escaped(_renamed(good, other, own))} if _is_whole(good) else {}
    to_bad = {f"file.{path}": _escaped(_renamed(bad, own, other))} if _is_whole(bad) else {}
    if not to_good or not _is_there(difference.b):
        return False  # a file that is not there cannot be covered
    return Suspect(
        id=f"{FILES}:{path}",
        title=f"the file {path}, which decides how names are looked up",
        layer=Layer.PROCESS,
        item=FILES,
        good=_only_in(good, bad),
        bad=_only_in(bad, good),
        members=(difference.entry.name,),
        means=ProcessMeans(to_good, to_bad if _is_there(difference.a) else {}),
        not_on_good=_why_not_on_good(path, to_bad, difference.a),
    )


def _why_not_on_good(path: str, to_bad: Mapping[str, str], good: StateEntry | None) -> str:
    if not _is_there(good):
        return f"the good side has no {path} that could be covered"
    return "" if to_bad else f"the bad side's {path} is too long to be sent along"


def _is_there(entry: StateEntry | None) -> bool:
    return entry is not None and entry.missing is None


def _lines(entry: StateEntry | None) -> list[str]:
    value = entry.value if entry is not None else None
    return [str(line) for line in value] if isinstance(value, list) else []


def _is_whole(lines: Sequence[str]) -> bool:
    """Whether a snapshot has all of a file, and it is short enough to be sent."""
    longest = max(map(len, lines), default=0)
    return len(lines) < LINES and longest < LINE_LENGTH and len(_escaped(lines)) < _TEXT_LIMIT


def _renamed(lines: Sequence[str], name: str, to: str) -> list[str]:
    """The lines with a board's own name as another board is called."""
    if not name or not to:
        return list(lines)
    return [_name_pattern(name).sub(lambda _match: to, line) for line in lines]


def _unnamed(line: str, name: str) -> str:
    text = _name_pattern(name).sub("\0", line) if name else line
    return " ".join(text.split())


def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")


def _escaped(lines: Sequence[str]) -> str:
    return quote("".join(f"{line}\n" for line in lines), safe="/:.@+ ")


def _only_in(lines: Sequence[str], others: Sequence[str]) -> str:
    own = [line for line in lines if line not in others]
    more = f"{SEPARATOR}and {len(own) - _SHOWN_LINES} more" if len(own) > _SHOWN_LINES else ""
    shown = SEPARATOR.join(printable(line, _VALUE_LIMIT) for line in own[:_SHOWN_LINES])
    if own:
        return shown + more
    return "the same lines in another order" if set(lines) == set(others) else NOT_THERE


# -- mounts and directories ----------------------------------------------------------------------


def _directory(difference: Difference, part: DifferencePart) -> Suspect | None:
    """A directory that is in memory on the good side alone."""
    if _kind(part.a) not in _MEMORY or _kind(part.b) in _MEMORY:
        return None
    point = part.key
    if point == "/" or not re.fullmatch(r"/[\w./-]+", point, re.ASCII):
        return None
    return Suspect(
        id=f"{MOUNT_POINT}{point}",
        title=f"the file system at {point}",
        layer=Layer.PROCESS,
        item="storage.mounts",
        good=printable(str(part.a), _VALUE_LIMIT),
        bad=NOT_THERE if part.b is None else printable(str(part.b), _VALUE_LIMIT),
        members=(difference.entry.name,),
        means=ProcessMeans({f"directory.{point}": "copy"}, {}),
        not_on_good="the good side does not have the disk",
    )


def options_apart(suspect: Suspect) -> tuple[list[str], list[str]]:
    """Of a suspect about one mount: the options that only the good side has, and only the bad."""
    good, bad = (_options(text) for text in (suspect.good, suspect.bad))
    return [o for o in good if o not in bad], [o for o in bad if o not in good]


def _options(mounted: str) -> list[str]:
    fields = mounted.split(" ")
    options = fields[2].split(",") if len(fields) == 3 else []
    return [option for option in options if re.fullmatch(r"[\w=.:-]+", option, re.ASCII)]


def _kind(mounted: object) -> str:
    """The kind of file system in ``source kind options``; empty where nothing is mounted."""
    fields = mounted.split(" ") if isinstance(mounted, str) else []
    return fields[1] if len(fields) > 1 else ""
