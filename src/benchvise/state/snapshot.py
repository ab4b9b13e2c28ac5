"""Taking a snapshot: all settings and observations of a board at a time.

Only reads, and runs what only reads: a snapshot leaves the board as it was. ``answers`` asks; what
makes entries of its answers is pure, and tests hand it texts instead of boards.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import FileError, FileValue, content_text
from benchvise.kernel_log import log_rules
from benchvise.state.answers import Answers, ask
from benchvise.state.catalogue import load_catalogue
from benchvise.state.globs import ByPath
from benchvise.state.model import Family, Item, Missing, Read, Snapshot, StateEntry
from benchvise.state.normalise import NORMALISERS
from benchvise.state.normalise.values import pick
from benchvise.state.roles import mount_of
from benchvise.text import Untrusted, printable

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def take_snapshot(
    board: Board,
    channel: ProbeChannel,
    *,
    families: Collection[Family] | None = None,
    items: Collection[str] | None = None,
    paths: Sequence[str] = (),
) -> Snapshot:
    """A snapshot of a board by the probe that runs there.

    ``paths`` are files that a command works on: the disk that they are on is the one that is
    compared. ``families`` and ``items`` (ids) take in just what can affect these, and just these;
    without them the whole catalogue is taken. Raises what the channel and the board raise;
    whatever the board answers, there is an entry for it.
    """
    begin = time.monotonic()
    taken = datetime.now(UTC).isoformat(timespec="milliseconds")
    chosen = [item for item in load_catalogue() if _is_wanted(item, families, items)]
    answers = ask(board, channel, [*chosen, _BOOT], paths)
    settings, observations = all_entries(chosen, answers)
    return Snapshot(
        board=board.name,
        taken=taken,
        boot_id=printable(content_text(answers.files.get(BOOT_ID)), 60),
        privilege="root" if answers.is_root else "user",
        settings=tuple(settings),
        observations=tuple(observations),
        board_time_ns=answers.board_time_ns,
        host_time_ns=answers.host_time_ns,
        seconds=round(time.monotonic() - begin, 3),
        notes=tuple(_notes(answers)),
        roles=dict(answers.names.roles),
    )


def load_rules() -> None:
    """Reads what snapshots and their comparison go by, which otherwise the first one does: for
    callers that take many at once in threads."""
    load_catalogue()
    log_rules()


# Not of the catalogue: it tells one boot from another.
_BOOT = Item(
    number=0,
    id="boot.id",
    title="boot",
    summary="a number that each boot makes up",
    families=(),
    flips=(),
    reads=(Read("file", BOOT_ID),),
)


def _is_wanted(
    item: Item, families: Collection[Family] | None, items: Collection[str] | None
) -> bool:
    return (families is None or any(family in families for family in item.families)) and (
        items is None or item.id in items
    )


def all_entries(
    items: Collection[Item], answers: Answers
) -> tuple[list[StateEntry], list[StateEntry]]:
    """Settings and observations, in the order of the catalogue and by key; last the items that hold
    what is left of a family, without the files that others have."""
    settings: list[StateEntry] = []
    observations: list[StateEntry] = []
    seen: set[str] = set()
    for item in sorted(items, key=_is_of_the_rest):
        is_rest = _is_of_the_rest(item)
        for entry, volatile in sorted(entries_of(item, answers), key=lambda pair: pair[0].key):
            if is_rest and entry.path in seen:
                continue
            seen.add(entry.path)
            (observations if volatile else settings).append(entry)
    return settings, observations


def _is_of_the_rest(item: Item) -> bool:
    return any(read.rest for read in item.reads)


def _notes(answers: Answers) -> list[str]:
    """What a reader of the whole snapshot should know."""
    notes = [
        f"{path}: only its first part is in the snapshot, it is too long"
        for path, content in answers.files.items()
        if isinstance(content, FileValue) and content.truncated
    ]
    if isinstance(answers.files.get("/proc/self/mountinfo"), FileError):
        notes.append("/proc cannot be read: hardly anything is known of this board")
    return notes


# -- from answers to entries -----------------------------------------------------------------------

TEXT_LIMIT = 16 << 10
"""Characters of one text in a value."""

MEMBERS_LIMIT = 30_000
DEPTH_LIMIT = 8
RAW_LIMIT = 400

_KEY = re.compile(r"\{(?:(name|path)|(?:([a-z]+):)?(\d(?::\d)*))\}")

# By these the kernel says that it has no such thing; by all others that it does not give it.
_ABSENT = frozenset(
    {
        *("ENOENT", "ENODEV", "ENXIO", "ENOTDIR", "EISDIR", "EINVAL", "ENODATA", "EOPNOTSUPP"),
        *("ENOTSUPP", "ENOSYS", "ENOTTY", "ESRCH", "ENOTCONN", "ENOEXEC"),
    }
)
_ERROR = re.compile(r"E[A-Z0-9]+|errno \d+")
_REFUSED = frozenset({"EACCES", "EPERM"})
_MOUNTED_FOR_ROOT = {"/sys/kernel/debug": "debugfs", "/sys/kernel/tracing": "tracefs"}


def entries_of(item: Item, answers: Answers) -> Iterator[tuple[StateEntry, bool]]:
    """The entries of an item, and of each whether it is an observation.

    Reads of the same key are alternatives: the first one with a value counts.
    """
    chosen: dict[str, tuple[StateEntry, bool]] = {}
    for read in item.reads:
        for entry in _read_entries(item.id, read, answers):
            before = chosen.get(entry.key)
            if before is None or _is_better(entry, before[0]):
                chosen[entry.key] = entry, item.volatile or read.volatile
    yield from chosen.values()


def _is_better(entry: StateEntry, than: StateEntry) -> bool:
    if than.missing is None:
        return False
    return entry.missing is None or (
        than.missing is Missing.ABSENT and entry.missing is Missing.UNREADABLE
    )


def _read_entries(item: str, read: Read, answers: Answers) -> Iterator[StateEntry]:
    for path, matched, content in _SOURCES[read.source](read, answers):
        key = _key(read, path, matched, answers)
        if key is None:
            continue
        if isinstance(content, _Nothing):
            yield StateEntry(item, key, path=path, missing=content.missing, reason=content.reason)
        else:
            yield _entry(item, key, path, read, content, answers)


class _Nothing:
    """Why there is no value."""

    def __init__(self, missing: Missing, reason: str) -> None:
        self.missing = missing
        self.reason = _reason_text(reason)


def _reason_text(reason: str) -> Untrusted:
    """Errors may quote what the board said: bounded, and as such."""
    return Untrusted(_tidy(reason[:RAW_LIMIT]))


_Found = Iterator[tuple[str, tuple[str, ...], Any]]


def _entry(
    item: str, key: str, path: str, read: Read, content: Any, answers: Answers
) -> StateEntry:
    normaliser = NORMALISERS[read.normaliser]
    try:
        taken = _as_taken(content, normaliser.takes)
        value = content if _is_data(taken, read) else normaliser.apply(taken, answers.names)
        if isinstance(value, dict) and (read.only or read.drop):
            value = pick(value, read.only, read.drop)
        value = _tidy(value)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        reason = f"not understood: {error}" if str(error) else "not understood"
        return StateEntry(
            item, key, path=path, missing=Missing.UNREADABLE, reason=_reason_text(reason)
        )
    raw = None
    if normaliser.keeps_raw and isinstance(taken, str) and taken.strip() != value:
        raw = _tidy(taken.strip()[:RAW_LIMIT])
    return StateEntry(item, key, value=value, raw=raw, path=path)


def _is_data(content: Any, read: Read) -> bool:
    """Whether there is nothing to normalise: a fact is JSON already."""
    return not isinstance(content, str | bytes) and read.normaliser == "text"


def _as_taken(content: Any, takes: str) -> Any:
    if takes == "bytes":
        return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    if takes == "text" and isinstance(content, bytes):
        return content.decode("utf-8", "replace")
    return content


def _tidy(value: Any, depth: int = 0) -> Any:
    """Bounded, and without what no store takes (NUL)."""
    if isinstance(value, str):
        return value[:TEXT_LIMIT].replace("\0", "\ufffd")
    if isinstance(value, bool | int | float) or value is None:
        return value
    if depth == DEPTH_LIMIT or len(value) > MEMBERS_LIMIT:
        raise ValueError("too much of it")
    if isinstance(value, Mapping):
        return {_tidy(str(k)): _tidy(v, depth + 1) for k, v in value.items()}
    return [_tidy(member, depth + 1) for member in value]


# -- keys ------------------------------------------------------------------------------------------


def _key(read: Read, path: str, matched: tuple[str, ...], answers: Answers) -> str | None:
    """What the entry is called; None when the device that it is about is left out."""
    left_out = False

    def part(match: re.Match[str]) -> str:
        nonlocal left_out
        word, kind, numbers = match.groups()
        if word is not None:
            return path if word == "path" else path.rpartition("/")[2]
        groups = [int(number) - 1 for number in numbers.split(":")]
        if not matched or groups[-1] >= len(matched):
            return "*"
        parts = [matched[group] for group in groups]
        if kind is None:
            return "".join(parts)
        name = answers.names.called(kind, *parts)
        left_out = left_out or name is None
        return name or ""

    key = _KEY.sub(part, read.key)
    return None if left_out else _tidy(printable(key))


# -- where values come from ------------------------------------------------------------------------


def _from_files(read: Read, answers: Answers) -> _Found:
    if read.normaliser == "device_tree" and read.path in answers.trees:
        yield read.path, (), answers.trees[read.path]
        return
    yield from _from_paths(read, answers.files, answers, _file)


def _from_links(read: Read, answers: Answers) -> _Found:
    yield from _from_paths(read, answers.links, answers, _link)


def _from_paths(
    read: Read,
    table: ByPath[Any],
    answers: Answers,
    content: Callable[[Any], Any],
) -> _Found:
    glob = answers.names.fill(read.path)
    if glob is None:
        yield read.path, (), _Nothing(Missing.ABSENT, "the board has no such device")
        return
    if answers.names.is_automount(glob):
        yield glob, (), _Nothing(Missing.UNREADABLE, "looking at it would mount it")
    for path, matched, values in table.matching(glob):
        if isinstance(values, FileError):
            yield path, matched, _refused(path, values, answers)
        else:
            yield path, matched, content(values)


def _file(content: FileValue) -> str | bytes:
    if not content.truncated:
        return content.value
    # The last line may be half of one.
    if isinstance(content.value, bytes):
        return content.value
    return content.value[: content.value.rfind("\n") + 1] or content.value


def _link(target: str) -> str:
    return target.rpartition("/")[2]


def _refused(path: str, error: FileError, answers: Answers) -> _Nothing:
    for place, kind in _MOUNTED_FOR_ROOT.items():
        on = mount_of(path, answers.names.mounts) if path.startswith(place) else None
        if on is not None and on.kind != kind and error.name in _ABSENT:
            return _Nothing(Missing.UNREADABLE, f"{kind} is not mounted")
    return _reason(error.name, answers)


def _reason(name: str, answers: Answers, more: str = "") -> _Nothing:
    if name in _ABSENT:
        return _Nothing(Missing.ABSENT, more or name)
    if name in _REFUSED:
        why = "refused even to root" if answers.is_root else "needs root"
        return _Nothing(Missing.UNREADABLE, f"{name}: {why}")
    return _Nothing(Missing.UNREADABLE, more or name)


def _from_facts(read: Read, answers: Answers) -> _Found:
    subjects = answers.facts.get(read.path)
    if not subjects:
        yield read.path, (), _Nothing(Missing.ABSENT, "the probe does not tell")
        return
    for subject, value in subjects.items():
        matched = (subject,) if subject else ()
        if isinstance(value, Mapping) and set(value) == {"na"}:
            yield read.path, matched, _untold(str(value["na"]), answers)
        else:
            yield read.path, matched, value


def _untold(why: str, answers: Answers) -> _Nothing:
    """The probe's reason: the name of an error first where a system call failed."""
    name = why.partition(":")[0]
    if _ERROR.fullmatch(name):
        return _reason(name, answers, why)
    return _Nothing(Missing.ABSENT, why)


def _from_commands(read: Read, answers: Answers) -> _Found:
    line = answers.names.fill(read.path)
    output = None if line is None else answers.commands.get(line)
    if line is None or output is None:
        yield read.path, (), _Nothing(Missing.ABSENT, "the board has no such device")
    elif output.missing is not None:
        yield line, (), _Nothing(output.missing, output.reason)
    else:
        yield line, (), output.text


_SOURCES: dict[str, Callable[[Read, Answers], _Found]] = {
    "file": _from_files,
    "link": _from_links,
    "fact": _from_facts,
    "command": _from_commands,
}
