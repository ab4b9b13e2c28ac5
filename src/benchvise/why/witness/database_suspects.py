"""Suspects in the databases that a command uses (``witness.databases``).

A missing index, statistics that were never made, a trigger, a setting that only the server keeps:
what differs there differs in no file that could be compared. A database is somebody's data, and a
change to it is seen by all who use it: so what a server keeps is not tried, and the answer says
what is to be done. Of a SQLite file that the command opens and only reads, it is given a copy with
the index or the statistics that the other side has.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchvise.text import Untrusted
from benchvise.why.model import Layer, LayerMeans, Origin, Side, Suspect, Term
from benchvise.why.witness.layout import FAR_APART
from benchvise.why.witness.model import DatabaseSchema, SideWatch
from benchvise.why.witness.opened import FILE_LAYER, NOT_THERE, OPENED_FILE
from benchvise.why.witness.written import written_paths

DATABASE = "database:"
"""What begins the id of such a suspect."""

GIVEN_FILES = (OPENED_FILE, DATABASE)
"""What begins the ids of suspects that are tried by giving the command alone other files."""

_ITEM = "userland.database"
_NAME = "database"
_UNTESTABLE = "it is in a database, which others use too: change it there"
_MOST_OF_A_KIND = 3
_MOST_NAMED = 3
_LEAST_SIZE = 1 << 20
_LEAST_ROWS = 1000
_PARTNER = -2.5
_OWN_FILE = -1.5
_ABOVE = 0.5
_LONGEST = 160
_NONE = "none"
_SQLITE, _ROLLBACK = "SQLite", "rollback"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What an entry of this kind speaks for where the bad side lacks it, has it alone, or has it
    otherwise."""

    missing: float
    added: float
    other: float


_KINDS = {
    "index": _Kind(3.0, 1.0, 2.0),
    "statistics": _Kind(2.0, -0.5, 2.0),
    "trigger": _Kind(0.0, 2.0, 1.5),
    "policy": _Kind(0.0, 2.0, 1.0),
    "constraint": _Kind(1.0, 1.0, 0.5),
    "table": _Kind(-0.5, -1.0, 1.0),
    "view": _Kind(0.0, 0.0, 1.0),
    "function": _Kind(0.0, 0.0, 1.0),
    "column": _Kind(-0.5, -0.5, 1.0),
    "setting": _Kind(0.0, 0.5, 0.5),
    "size": _Kind(-1.0, -1.0, 1.0),
    "free": _Kind(-1.0, -1.0, 0.5),
    "journal": _Kind(0.0, 0.0, 1.0),
    "replication": _Kind(0.0, 0.5, 0.0),
    "prepared": _Kind(0.0, 1.0, 0.0),
}
_USUAL = _Kind(-1.0, -1.0, 0.0)


def database_suspects(
    watches: Mapping[Side, SideWatch], *, can_swap: bool = False
) -> tuple[Suspect, ...]:
    """What differs in databases that both sides use; many of a kind as one suspect. With
    ``can_swap`` those that the command can be given a changed copy for have the means for it."""
    if len(watches) < len(Side):
        return ()
    good, bad = (
        {(d.kind, d.name): d for d in watches[side].databases} for side in (Side.GOOD, Side.BAD)
    )
    suspects: list[Suspect] = []
    for key in [key for key in bad if key in good]:
        targets = next(
            (p.targets for p in watches[Side.BAD].partners if p.name == bad[key].partner), ()
        )
        of_database = _differing(good[key], bad[key], targets)
        is_tried = can_swap and _is_only_read(bad[key], watches)
        suspects += map(_with_copy, of_database) if is_tried else of_database
    return tuple(suspects)


def _is_only_read(database: DatabaseSchema, watches: Mapping[Side, SideWatch]) -> bool:
    """Whether the command itself opens a file and writes neither it nor a log beside it: what it
    writes to a copy would be lost, and a log of the one must not meet the other."""
    if database.kind != _SQLITE or database.partner or database.entries.get("journal") != _ROLLBACK:
        return False
    calls = [call for watch in watches.values() for call in watch.calls]
    logs = {f"{database.name}-{log}" for log in ("journal", "wal", "shm")}
    is_logged = any(call.target in logs and call.count > call.errors for call in calls)
    return not is_logged and database.name not in written_paths(calls)


def _with_copy(suspect: Suspect) -> Suspect:
    if not all(key.startswith(("index ", "statistics ")) for key in keys_of(suspect)):
        return suspect
    return replace(suspect, means=LayerMeans(FILE_LAYER, path_of(suspect)), untestable="")


def keys_of(suspect: Suspect) -> tuple[str, ...]:
    """The entries of a database that such a suspect is about."""
    members = (member for member in suspect.members if member.startswith(DATABASE))
    return tuple(member.removeprefix(DATABASE) for member in members)


def path_of(suspect: Suspect) -> str:
    """The file of the database; empty for what a server keeps."""
    paths = (m.removeprefix(OPENED_FILE) for m in suspect.members if m.startswith(OPENED_FILE))
    return next(paths, "")


def _differing(
    good: DatabaseSchema, bad: DatabaseSchema, targets: Sequence[str]
) -> Iterator[Suspect]:
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key in dict.fromkeys((*bad.entries, *good.entries)):
        of_good, of_bad = good.entries.get(key, ""), bad.entries.get(key, "")
        if of_good != of_bad and _counts(key, of_good, of_bad):
            how = "missing" if not of_bad else "added" if not of_good else "other"
            groups[key.split()[0], how].append(key)
    for (kind, how), keys in groups.items():
        points = getattr(_KINDS.get(kind, _USUAL), how)
        term = _term(bad, targets, points)
        if len(keys) <= _MOST_OF_A_KIND:
            for key in keys:
                values = (good.entries.get(key, NOT_THERE), bad.entries.get(key, NOT_THERE))
                yield _suspect(bad, key, key, values, term)
            continue
        names = ", ".join(keys[:_MOST_NAMED])
        title = f"{names} and {len(keys) - _MOST_NAMED} others"
        values = _listed(good, keys), _listed(bad, keys)
        yield _suspect(bad, f"{kind} {how}", title, values, term, keys)


def _listed(database: DatabaseSchema, keys: Sequence[str]) -> str:
    if keys[0] not in database.entries:
        return NOT_THERE
    values = [f"{key.partition(' ')[2]}={database.entries[key]}" for key in keys[:_MOST_NAMED]]
    return ", ".join(value[:_LONGEST] for value in values)


def _counts(key: str, good: str, bad: str) -> bool:
    """Whether a difference says something: how large things are differs always a little, and
    tables of one board alone are of what is installed there."""
    if not key.startswith(("size of ", "free pages", "prepared ")):
        return True
    sizes = [int(text) if text.isdecimal() else 0 for text in (good, bad)]
    least = _LEAST_SIZE if key.startswith("size of ") else _LEAST_ROWS
    if key.startswith("prepared "):
        return True
    return max(sizes) >= max(least, FAR_APART * min(sizes))


def _suspect(
    database: DatabaseSchema,
    key: str,
    title: str,
    values: tuple[str, str],
    term: Term,
    keys: Sequence[str] = (),
) -> Suspect:
    where = f"of the {database.kind} database {database.name}"
    if database.kind != "SQLite" and database.name == "all":
        where = f"of {database.kind}"
    who = f", which {database.partner} keeps" if database.partner else ", which the command opens"
    name = f"{DATABASE}{database.kind} {database.name}:{key}"
    members = [f"{DATABASE}{entry}" for entry in keys or (key,)]
    if database.name.startswith("/"):
        members.append(f"{OPENED_FILE}{database.name}")
    return Suspect(
        name,
        f"{title} {where}{who}",
        Layer.USERLAND,
        _ITEM,
        values[0][:_LONGEST],
        values[1][:_LONGEST],
        members=tuple(members),
        untestable=_UNTESTABLE,
        terms=(term,),
    )


def _term(database: DatabaseSchema, targets: Sequence[str], points: float) -> Term:
    if database.partner:
        about = ", ".join(targets[:_MOST_NAMED])
        reason = f"the command talks to {database.partner} by {about}"
        return Term("partner", _PARTNER + points, reason)
    return Term(_NAME, _OWN_FILE + points, "the command opens the database")


def put_above_their_files(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """The suspects in their new order: what is known to differ inside a database comes before its
    file, of which no more is known than that it differs."""
    files = {s.id: s.log_odds for s in suspects if s.id.startswith(OPENED_FILE)}
    judged = []
    for suspect in suspects:
        of_files = [files[member] for member in suspect.members if member in files]
        points = _points(suspect)
        if of_files and points > 0.0:
            above = max(of_files) + _ABOVE * points - suspect.log_odds
            reason = "what differs in it is more than that it differs"
            term = Term(_NAME, max(0.0, above), reason)
            suspect = replace(suspect, terms=(*suspect.terms, term))
        judged.append(suspect)
    return tuple(sorted(judged, key=lambda s: (s.means is None, -s.log_odds)))


def _points(suspect: Suspect) -> float:
    """What an entry of a database speaks for by its kind; 0 for other suspects."""
    usual = {"partner": _PARTNER, _NAME: _OWN_FILE}
    terms = [term for term in suspect.terms if suspect.id.startswith(DATABASE)]
    return next((t.points - usual[t.name] for t in terms if t.name in usual), 0.0)


def origins_of_database(side: Side, suspect: Suspect) -> tuple[Origin, ...]:
    """The file of the database, where a side has the entry there."""
    value, path = suspect.good if side is Side.GOOD else suspect.bad, path_of(suspect)
    if not path or value == NOT_THERE:
        return ()
    return (Origin(side, _NAME, Untrusted(path), 0, Untrusted(value)),)


# -- by hand ---------------------------------------------------------------------------------------

_INDEX = re.compile(r"create (?:unique )?index [^;]+", re.IGNORECASE)
_PLAIN_NAME = re.compile(r'(?:[\w.$-]|"[^";]*")+')
_OPTION = re.compile(r"[\w.-]{1,80}", re.ASCII)
_STATEMENT = {"PostgreSQL": "-c", "MariaDB": "-e", "SQLite": ""}


def database_as_on_good(suspect: Suspect, watches: Mapping[Side, SideWatch]) -> str:
    """The line of shell that makes a database as the good side has it, for one entry of it; empty
    where that takes more than a statement, or for others."""
    if not suspect.id.startswith(DATABASE) or len(watches) < len(Side):
        return ""
    rest = suspect.id.removeprefix(DATABASE)
    good, bad = (
        next((d for d in watches[side].databases if rest.startswith(f"{d.kind} {d.name}:")), None)
        for side in (Side.GOOD, Side.BAD)
    )
    if good is None or bad is None or not bad.tool:
        return ""
    key = rest.removeprefix(f"{bad.kind} {bad.name}:")
    if bad.kind == "Redis":
        return _of_redis(key, good, bad)
    statement = _statement(key, good, bad)
    arguments = [w for w in (_STATEMENT.get(bad.kind, ""), statement) if w]
    return f"{bad.tool} {shlex.join(arguments)}" if statement else ""


def remedy_of_file(suspect: Suspect) -> str:
    """The line of shell that changes a SQLite file so; empty where that takes more than one."""
    path, keys = path_of(suspect), keys_of(suspect)
    if not path or len(keys) != 1:
        return ""
    of_good, of_bad = (
        DatabaseSchema(_SQLITE, path, entries={} if value == NOT_THERE else {keys[0]: value})
        for value in (suspect.good, suspect.bad)
    )
    statement = _statement(keys[0], of_good, of_bad)
    is_whole = statement and len(suspect.good) < _LONGEST
    return shlex.join(["sqlite3", path, statement]) if is_whole else ""


def _of_redis(key: str, good: DatabaseSchema, bad: DatabaseSchema) -> str:
    name, value = key.removeprefix("setting "), good.entries.get(key, "")
    if key.startswith("setting ") and _OPTION.fullmatch(name):
        return f"{bad.tool} {shlex.join(['CONFIG', 'SET', name, value])}"
    return ""


_WORD = re.compile(r"[\w.$-]{1,80}", re.ASCII)
_SETTING = re.compile(
    r"setting ([\w.]{1,80}?)(?: of role ([\w.$-]+))?( everywhere)?( by ALTER SYSTEM)?", re.ASCII
)


def _of_postgresql(key: str, good: DatabaseSchema, bad: DatabaseSchema) -> str:
    """What gives a setting that PostgreSQL keeps for a database, a role or all of them as the good
    side has it (ALTER DATABASE, ALTER ROLE, ALTER SYSTEM of its manual); sessions that begin after
    that have it."""
    match = _SETTING.fullmatch(key)
    value = good.entries.get(key, "")
    is_plain = re.fullmatch(r"[\w ,.:$\"/-]{0,120}", value, re.ASCII)
    if match is None or not is_plain or not _WORD.fullmatch(bad.name):
        return ""
    name, role, everywhere, of_system = match.groups()
    if of_system:
        whose = "alter system"
    elif role:
        whose = f'alter role "{role}"'
        whose += "" if everywhere else f' in database "{bad.name}"'
    else:
        whose = "alter role all" if everywhere else f'alter database "{bad.name}"'
    return f"{whose} set {name} = '{value}'" if key in good.entries else f"{whose} reset {name}"


def _statement(key: str, good: DatabaseSchema, bad: DatabaseSchema) -> str:
    kind, _, rest = key.partition(" ")
    if bad.kind == "PostgreSQL" and kind == "setting":
        return _of_postgresql(key, good, bad)
    name = rest.partition(" on ")[0].removeprefix("of ")
    if not _PLAIN_NAME.fullmatch(name):
        return ""
    text = good.entries.get(key, "")
    match kind:
        case "index" if key not in bad.entries:
            return text if _INDEX.fullmatch(text) else ""
        case "index" if text.endswith("not valid)") is not bad.entries[key].endswith("not valid)"):
            return f"reindex index {name}" if bad.kind == "PostgreSQL" else ""
        case "index" | "view" | "trigger" if key not in good.entries:
            table = rest.partition(" on ")[2]
            of_table = f" on {table}" if (bad.kind, kind) == ("PostgreSQL", "trigger") else ""
            by_table = f" on {table}" if (bad.kind, kind) == ("MariaDB", "index") else ""
            return f"drop {kind} {name}{of_table}{by_table}"
        case "statistics":
            return f"analyze {name}" if bad.entries.get(key) == _NONE else ""
        case "setting" if bad.kind == "MariaDB" and re.fullmatch(r"\d{1,20}|ON|OFF", text):
            return f"set global {name} = {text}"
        case "setting" if bad.kind == "MariaDB" and re.fullmatch(
            r"[\w,. -]{1,120}", text, re.ASCII
        ):
            return f"set global {name} = '{text}'"
        case "journal" if bad.kind == "SQLite":
            return f"pragma journal_mode = {'wal' if text.startswith('write') else 'delete'}"
        case _:
            return ""
