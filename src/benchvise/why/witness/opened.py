"""Files that the command opens, and that are not the same on both sides.

A file that only one side has, or that holds something else there, is a difference that no list of
settings names: a start-up hook of an interpreter, a wrapper before a program, a plug-in, a
configuration. Only files that the command was seen to open are compared, by their checksums.

One can be tried where both boards are at hand: the command alone is given the other side's. Not so
data, caches and logs, which differ by themselves, files that only mean something with the others of
their store, parts of the C library, which only go together, and the files of two systems that
differ in most of what they hold.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from benchvise.text import Untrusted
from benchvise.why.model import Layer, LayerMeans, Origin, Side, Suspect, Term
from benchvise.why.witness.compare import opened_in, place_of
from benchvise.why.witness.grouped import grouped_files, is_group
from benchvise.why.witness.kinds import NAME_CALLS
from benchvise.why.witness.layout import (
    DIRECTORY,
    FAR_APART,
    LARGE,
    OF_ENTRIES,
    OF_LAYOUT,
    directory_suspects,
    layout_suspects,
)
from benchvise.why.witness.model import SideWatch
from benchvise.why.witness.stores import is_database, is_of_store
from benchvise.why.witness.times import OF_TIME, time_suspects
from benchvise.why.witness.trees import looked_for, tree_keys, tree_suspects
from benchvise.why.witness.written import written_paths

OPENED_FILE = "userland.file:"
"""What begins the id of such a suspect."""

MOST = 600
"""So many files are compared at most."""

FILE_LAYER = "file"
"""The layer of the means by which such a suspect is flipped; the part is the file."""

UNTESTABLE = "it takes the other side's file"
NOT_THERE = "not there"

_OF_DATA = "it is data of that board, which no experiment takes to the other one"
_OF_STORE = (
    "it only means something with the other files of its store, so no experiment takes it alone to "
    "the other board"
)
_OF_SPECIAL = "it is a socket, a pipe or a device, which belongs to who runs on that board"
_OF_WRITING_IT = "the command writes it anew itself, so it is as the command made it on each side"
_OF_LIBC = "it is a part of the C library, which only goes together: it takes the whole user land"
_OF_MANY = "the boards differ in most files that the command opens: it takes the whole user land"
_MOST_TRIED = 40
_NAMED = 3

_DIGITS = 12
_ONE_SIDE = Term("file", 0.5, "only one side has it, and the command opens it there")
_DIFFERS = Term("file", -1.5, "the command opens it, and it is not the same")
_IS_DATA = Term("file", -4.0, "it is data, a cache or a log, which differ by themselves")
_IS_ROWS = Term("file", -4.0, "it is the data of a database, which differs by what is in it")
_IS_COMPILED = Term("file", -4.0, "only the bad side has what is compiled, and reads it faster")
_IS_WRITTEN = Term("file", -4.0, "the command writes it itself: a result, and no setting")
_LOST = Term("file", 0.0, "only the good side has this cache, and the command looks for it")
_CACHE = re.compile(
    r"/var/cache/|/etc/ld\.so\.cache$|/(?:root|home/[^/]+)/\.(?:cache/|[\w.-]*(?:dump|cache)[^/]*$)"
)
_DATA = re.compile(
    r"/(tmp|var/(tmp|log|cache|lib)|run|home|root|data|srv|mnt|media|dev|proc|sys)/|"
    r"/etc/ld\.so\.cache$"
)
_COMPILED = re.compile(r"/__pycache__/|\.py[co]$")
_OF_USER = re.compile(
    r"/(?:root|home/[^/]+)/\.(?!cache/|local/(?:share|state)/|ssh/|gnupg/)(?![^/]*_?history$)"
)
"""What a program reads from a home as its configuration."""

_RESULT = re.compile(
    r"/(?:root|home/[^/]+)/\.(?:[^/]*/)*[^/]*(?:dump|cache|_?hist(?:ory)?|hsts|viminfo|Xauthority|"
    r"ICEauthority|\.(?:db|sqlite3?|log|lock|pid|zwc|swp))[^/]*$"
)
"""What programs write there for themselves: by name."""

_LIBC_PART = re.compile(r"/(ld-linux|ld-musl|ld64|ld\.so|lib(c|m|pthread|dl|rt)\.so)\b[^/]*$")


def opened_files(watches: Iterable[SideWatch]) -> tuple[str, ...]:
    """The files that the runs opened or executed, each once, and those that they read from: who
    goes through directories (tar, du, git) opens files by their name in one of them. At the end the
    directories in which they looked for names: a large one makes each look longer."""
    seen = tuple(watches)
    paths = dict.fromkeys(path for watch in seen for path in opened_in(watch.calls))
    read = (call.target for watch in seen for call in watch.calls if _READS.fullmatch(call.name))
    paths |= dict.fromkeys(path for path in read if not path.startswith(_MADE_UP))
    files = _of_each_place([path for path in paths if path.startswith("/")], seen)
    looked = dict.fromkeys(
        call.target.rpartition("/")[0]
        for watch in seen
        for call in watch.calls
        if NAME_CALLS.fullmatch(call.name) and not call.target.startswith(_MADE_UP)
    )
    around = [path for path in looked if path.startswith("/") and not _OF_SYSTEM.match(path)]
    return tuple(dict.fromkeys((*files, *around[:_MOST_AROUND])))


def _of_each_place(files: Sequence[str], watches: Sequence[SideWatch]) -> list[str]:
    """At most ``MOST`` of these files, in their order: as many of each place (the first two
    directories of a path), so that one which is gone through by thousands hides no other, and of a
    place first those that not all of the runs open."""
    if len(files) <= MOST:
        return list(files)
    opened = Counter(path for watch in watches for path in opened_in(watch.calls))
    ranks: dict[str, int] = {}
    so_far: Counter[str] = Counter()
    for path in sorted(files, key=lambda path: opened[path] == len(watches)):
        place = place_of(path)
        ranks[path] = so_far[place]
        so_far[place] += 1
    kept = set(sorted(files, key=lambda path: ranks[path])[:MOST])
    return [path for path in files if path in kept]


_MOST_AROUND = 60


_READS = re.compile(r"p?readv?(?:64|2)?|sendfile(?:64)?|copy_file_range|getdents(?:64)?")
_MADE_UP = ("/proc/", "/sys/", "/dev/")


def file_suspects(
    watches: Mapping[Side, SideWatch],
    digests: Mapping[Side, Mapping[str, str]],
    others: Sequence[Suspect],
    *,
    can_swap: bool = False,
) -> tuple[Suspect, ...]:
    """A suspect for each file that is not the same, without those that ``others`` are about.

    ``digests`` lead from a file to its checksum, with its size where that is known, and from a
    directory to the number of its entries and its own size (``directory 12 4096``); what is not
    there has none. By ``ATTRIBUTES`` and a path they lead to mode, owner and attributes, by
    ``LAYOUT`` to how it lies on the disk, by ``MODIFIED`` to when it was written, by ``LEADS`` to
    where links on the way lead. With ``can_swap`` those that the command can be given have the
    means for it.
    """
    texts = "\n".join(
        text for s in others for text in (s.id, s.title, s.good, s.bad, *s.members)
    ).split()
    mentioned = {word.strip(",;\"'[]") for word in texts} | {
        word.partition(":")[2] for word in texts
    }
    paths = opened_files(watches.values())
    executed = _executed(watches.values())
    looks = looked_for(watches)
    written = _written(watches.values())
    suspects = list(_links(paths, digests))
    for path in dict.fromkeys((*paths, *looks)):
        suspects += _attributes(path, digests)
        suspects += layout_suspects(path, digests)
        good, bad = (digests[side].get(path, "") for side in (Side.GOOD, Side.BAD))
        if good == bad or path in mentioned:
            continue
        is_on_one_side = not (good and bad)
        if path in looks and is_on_one_side:
            suspects.append(_looked_for(path, good, bad))
        elif DIRECTORY in (good.partition(" ")[0], bad.partition(" ")[0]):
            suspects += directory_suspects(path, good, bad, f"{OPENED_FILE}{path}")
        else:
            suspect = _suspect(path, good, bad, is_program=path in executed)
            if path in written and not _is_lost_cache(suspect):
                suspect = replace(suspect, untestable=_OF_WRITING_IT, terms=(_IS_WRITTEN,))
            suspects.append(suspect)
    suspects += time_suspects(paths, digests)
    named = {suspect.id for suspect in suspects}
    suspects += [s for s in tree_suspects(watches, OPENED_FILE, digests) if s.id not in named]
    return _with_means(suspects, executed) if can_swap else tuple(suspects)


def compared_paths(watches: Mapping[Side, SideWatch]) -> tuple[str, ...]:
    """What is compared of the files of both sides: those that the command opens, names that it
    finds on one side alone, and how much is in directories that it goes through on one."""
    looked = looked_for(watches)
    return tuple(dict.fromkeys((*opened_files(watches.values()), *looked, *tree_keys(watches))))


def _executed(watches: Iterable[SideWatch]) -> frozenset[str]:
    """Programs and scripts, which are no data wherever they lie."""
    calls = (call for watch in watches for call in watch.calls if call.count > call.errors)
    return frozenset(call.target for call in calls if call.name.startswith("execve"))


def _written(watches: Iterable[SideWatch]) -> frozenset[str]:
    """The files that the command writes in a plain run on either side."""
    return frozenset(path for watch in watches for path in written_paths(watch.calls))


SPECIAL = "special"
"""What begins the value of what is neither a file nor a directory: a socket, a pipe, a device."""

LOOKED_FOR = "the command looks whether it is there: make it so on both sides"
"""Why what a command looks for is not tried."""


def _looked_for(path: str, good: str, bad: str) -> Suspect:
    of_good, of_bad = ("there" if value else NOT_THERE for value in (good, bad))
    return Suspect(
        f"{OPENED_FILE}{path}",
        f"whether {path} is there, for which the command looks",
        Layer.USERLAND,
        "userland.file",
        of_good,
        of_bad,
        members=(f"{OPENED_FILE}{path}",),
        untestable=LOOKED_FOR,
        terms=(Term("file", 0.0, "only one side has it, and the command looks for it on both"),),
    )


def _with_means(suspects: Sequence[Suspect], executed: Collection[str]) -> tuple[Suspect, ...]:
    groups, grouped = grouped_files(
        [s for s in suspects if not _why_not(s, executed) and _path(s) not in executed],
        *(NOT_THERE, OPENED_FILE, FILE_LAYER),
    )
    named = {group.id for group in groups}
    suspects = [s for s in suspects if s.id not in grouped and s.id not in named]
    tried = [suspect for suspect in suspects if not _why_not(suspect, executed)]
    chosen = tried if len(tried) <= _MOST_TRIED else [s for s in tried if _is_configuration(s)]
    swapped = {suspect.id for suspect in chosen[:_MOST_TRIED]}
    alone = (
        replace(s, means=LayerMeans(FILE_LAYER, _path(s)), untestable="")
        if s.id in swapped
        else replace(s, untestable=_why_not(s, executed) or _OF_MANY)
        for s in suspects
    )
    return (*groups, *alone)


ATTRIBUTES = "attributes "
"""What comes before a path as the key of its mode, owner, group and attributes."""

OF_ATTRIBUTES = "file.attributes:"
"""What begins the id of a suspect about these."""

_CHANGED_THERE = "it belongs to the file: change it there"
_OF_WRITING = re.compile(r" [SDjcd]+\b| cap_")


def _attributes(path: str, digests: Mapping[Side, Mapping[str, str]]) -> Iterator[Suspect]:
    """Mode, owner, group and attributes of a file or directory that both sides have."""
    good, bad = (digests[side].get(f"{ATTRIBUTES}{path}", "") for side in (Side.GOOD, Side.BAD))
    if not good or not bad or good == bad:
        return
    other_words = set(good.split()) ^ set(bad.split())
    is_telling = any(_OF_WRITING.search(f" {word}") for word in other_words)
    reason = "the command opens it, and its mode, owner or attributes are not the same"
    yield Suspect(
        f"{OF_ATTRIBUTES}{path}",
        f"mode, owner and attributes of {path}, which the command opens",
        Layer.USERLAND,
        "file.attributes",
        good,
        bad,
        (f"{OF_ATTRIBUTES}{path}",),
        untestable=_CHANGED_THERE,
        terms=(Term("file", 0.5 if is_telling else -1.0, reason),),
    )


LEADS = "leads "
"""What comes before a path as the key of where it leads, where a link is on the way."""

OF_LINK = "file.link:"
"""What begins the id of a suspect about a link."""

_LINKED = "it is a link, which others follow too: change it there"
_OF_SYSTEM = re.compile(r"/(?:usr/)?(?:s?bin|lib(?:32|64|x32|exec)?|share)(?:/|$)")


def _links(paths: Sequence[str], digests: Mapping[Side, Mapping[str, str]]) -> Iterator[Suspect]:
    """The links on the way to opened files that lead elsewhere on one side: to another disk, to a
    file system in memory."""
    found: dict[str, Suspect] = {}
    for path in paths:
        good, bad = (digests[side].get(f"{LEADS}{path}", path) for side in (Side.GOOD, Side.BAD))
        if good == bad or _OF_SYSTEM.match(path):
            continue
        places: tuple[str, ...] = (path, good, bad)
        while len({place.rpartition("/")[2] for place in places}) == 1:
            places = tuple(place.rpartition("/")[0] for place in places)
        if not all(places):
            continue
        link, of_good, of_bad = places
        reason = "the command opens what is behind it, and it leads elsewhere"
        found.setdefault(
            link,
            Suspect(
                f"{OF_LINK}{link}",
                f"where {link} leads, by which the command opens files",
                Layer.USERLAND,
                "file.link",
                of_good,
                of_bad,
                (f"{OF_LINK}{link}", *(p for p in dict.fromkeys((of_good, of_bad)) if p != link)),
                untestable=_LINKED,
                terms=(Term("file", 0.5, reason),),
            ),
        )
    yield from found.values()


def origins_of_link(side: Side, suspect: Suspect) -> tuple[Origin, ...]:
    """The link itself, where a side has one there."""
    link = suspect.id.removeprefix(OF_LINK)
    target = suspect.good if side is Side.GOOD else suspect.bad
    if target == link:
        return ()
    return (Origin(side, "link", Untrusted(link), 0, Untrusted(f"{link} -> {target}")),)


def link_as_on_good(suspect: Suspect) -> str:
    """The line of shell that has a link of the bad side lead where the good one's does; empty where
    one of them has no link there, or for others."""
    link = suspect.id.removeprefix(OF_LINK)
    if not suspect.id.startswith(OF_LINK) or link in (suspect.good, suspect.bad):
        return ""
    return shlex.join(["ln", "-sfn", "--", suspect.good, link])


def _why_not(suspect: Suspect, executed: Collection[str]) -> str:
    """Why a command is not given this file; empty where it can be."""
    if suspect.id.startswith((OF_ATTRIBUTES, OF_LINK, OF_LAYOUT, OF_TIME)):
        return suspect.untestable
    path = _path(suspect)
    if SPECIAL in (suspect.good, suspect.bad):
        return _OF_SPECIAL
    if is_of_store(path) and path not in executed:
        return _OF_STORE
    if suspect.untestable in (OF_ENTRIES, LOOKED_FOR, _OF_WRITING_IT):
        return suspect.untestable
    if _is_lost_cache(suspect):
        return ""
    if is_data(path) and path not in executed:
        return _OF_DATA
    if _COMPILED.search(path) and NOT_THERE not in (suspect.good, suspect.bad):
        return _OF_DATA
    return _OF_LIBC if _LIBC_PART.search(path) else ""


def _is_configuration(suspect: Suspect) -> bool:
    on_one_side = NOT_THERE in (suspect.good, suspect.bad)
    return on_one_side or _path(suspect).startswith(("/etc/", "/root/", "/home/"))


def _is_lost_cache(suspect: Suspect) -> bool:
    """Whether it is a cache that the bad side lacks: without it, programs do its work anew."""
    return suspect.bad == NOT_THERE and bool(_CACHE.match(_path(suspect)))


def is_cache(path: str) -> bool:
    """Whether programs make a file anew where they do not find it."""
    return bool(_CACHE.match(path) or _COMPILED.search(path))


def is_data(path: str) -> bool:
    """Whether a file differs by itself between boards: data, a cache, a log, a part of a store.
    What programs are told by is none wherever it lies."""
    if is_result(path) or is_of_store(path):
        return True
    if not _DATA.match(path) or _OF_USER.match(path):
        return False
    return not any(
        place.match(path) and name.search(path.rpartition("/")[2]) for place, name in _TOLD_BY
    )


def is_result(path: str) -> bool:
    """Whether a file of a home is one that programs write for themselves: a dump, a history."""
    return bool(_RESULT.match(path))


_SETTINGS = r"\.(?:conf|cfg|cnf|ini|toml|ya?ml|properties|rules|service|sh)$"
_TOLD_BY = (
    (re.compile(r"/(?:var/lib|run)/"), re.compile(_SETTINGS)),
    (
        re.compile(r"/(?:srv|data|home|root|mnt|media)/"),
        re.compile(
            rf"{_SETTINGS}|\.(?:env|py|pl|rb|lua|js|php|tcl|awk)$|^(?:config|Makefile)$|"
            r"(?:config|settings|options)[\w-]*\.(?:json|xml)$|^[a-z]\w*rc$|^\.[a-z]"
        ),
    ),
)
"""Where files lie that hold settings or are programs, and how these are called."""


def _path(suspect: Suspect) -> str:
    return suspect.id.removeprefix(OPENED_FILE)


OF_FILE = "file"
"""The kind of such an origin."""
HIDDEN = "not shown, as not everybody may read the file"
"""The text of a line of such a file."""


def origins_of_file(
    side: Side,
    suspect: Suspect,
    contents: Mapping[Side, bytes | None] | None = None,
    *,
    is_private: bool = False,
) -> tuple[Origin, ...]:
    """The file itself, where a side has it, and of a text whose ``contents`` are known the first
    line that the other side's has not; of a private one only its number."""
    digest = suspect.good if side is Side.GOOD else suspect.bad
    if digest == NOT_THERE:
        return ()
    line, text, more = _own_line(side, contents or {})
    note = f"other lines that the other side's file has not: {more}" if more else ""
    if is_group(suspect):
        names = [member.rpartition("/")[2] for member in suspect.members]
        text = f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} others"
    text = HIDDEN if is_private and line else text or f"SHA-256 {digest}…"
    file = Untrusted(_path(suspect))
    return (Origin(side, OF_FILE, file, line, Untrusted(text), note=Untrusted(note)),)


def differs_further(origin: Origin) -> bool:
    """Whether more lines of an opened file than this one are not in the other side's."""
    return origin.kind == OF_FILE and bool(origin.note)


def _own_line(side: Side, contents: Mapping[Side, bytes | None]) -> tuple[int, str, int]:
    """Number and text of the first line of a side that the other's file has not: one that says
    something before the heading of a section or a comment; 0 where there is none, or the file is no
    text. And how many more say something."""
    own, other = (contents.get(which) or b"" for which in (side, side.other))
    if not own or b"\0" in own or b"\0" in other or max(len(own), len(other)) > _MOST_TEXT:
        return 0, "", 0
    of_other = {line.strip() for line in other.splitlines()}
    new = [
        (number, line.strip().decode("utf-8", "replace"))
        for number, line in enumerate(own.splitlines(), 1)
        if line.strip() and line.strip() not in of_other
    ]
    own_lines = [(n, text) for n, text in new if not text.startswith(("#", ";", "//"))]
    settings = [(n, text) for n, text in own_lines if not _HEADING.fullmatch(text)]
    number, text = next(iter(settings or own_lines or new), (0, ""))
    return number, text, max(len(settings) - 1, 0)


_MOST_TEXT = 1 << 20
_HEADING = re.compile(
    r"\[{1,2}[^\s\[\]][^\[\]]*\]{1,2}"  # [core] of an INI file, [[case]] of TOML
    r"|</?\w[^<>]*>"  # <VirtualHost *:80> of Apache, <match> of XML
    r"|[^=]*\{"  # server { of nginx, zone "lab" { of BIND
    r"|[\[\](){}<>,;]+"  # what ends one
    r"|[\w.-]+:"  # listeners: of YAML
)
"""A line that begins or ends a section. By itself it sets nothing, and a remedy that takes it away
leaves what is below it to the section before."""


def without_swapped(suspects: Sequence[Suspect], layers: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """Without the files that layers or parts of them are about, which can be swapped."""
    swapped = set(_words_of(layers))
    return tuple(
        s
        for s in suspects
        if not (s.id.startswith(OPENED_FILE) and s.id.removeprefix(OPENED_FILE) in swapped)
    )


def _words_of(suspects: Sequence[Suspect]) -> Iterator[str]:
    for suspect in suspects:
        yield from suspect.good.split()
        yield from suspect.bad.split()


def _suspect(path: str, good: str, bad: str, *, is_program: bool) -> Suspect:
    term = _DIFFERS if good and bad else _ONE_SIDE
    if is_data(path) and not is_program:
        is_lost = bool(good and not bad and _CACHE.match(path))
        term = _LOST if is_lost else larger_data(good, bad) or _IS_DATA
    elif is_database(path):
        term = larger_data(good, bad) or _IS_ROWS
    elif _COMPILED.search(path) and not good:
        term = _IS_COMPILED
    term = replace(term, points=term.points + identity_points(path, good, bad))
    good, bad = good.partition(" ")[0], bad.partition(" ")[0]
    return Suspect(
        f"{OPENED_FILE}{path}",
        f"the file {path}, which the command opens",
        Layer.USERLAND,
        "userland.file",
        good[:_DIGITS] or NOT_THERE,
        bad[:_DIGITS] or NOT_THERE,
        (f"{OPENED_FILE}{path}",),
        untestable=UNTESTABLE,
        terms=(term,),
    )


_IDENTITY = re.compile(
    r"\.(?:pem|crt|cer|key|pub|csr|p12|pfx|jks|uuid)$|_key$|/(?:authorized_keys|known_hosts)\d?$|"
    r"/(?:machine-id|hostname|mailname|hostid|g?shadow-?|subuid|subgid)$|-secret$"
)
_SAME_KIND = 1.5  # to one: so much the sizes of keys of one kind differ
_OF_IDENTITY = -1.0


def identity_points(path: str, good: str, bad: str) -> float:
    """What speaks against a file because it is made anew for each machine, such as a key: it
    differs always. One that is far larger on a side, or there alone, is of another kind."""
    if not (good and bad and _IDENTITY.search(path)):
        return 0.0
    sizes = [int(text.partition(" ")[2] or 0) for text in (good, bad)]
    return _OF_IDENTITY if max(sizes) <= _SAME_KIND * min(sizes) else 0.0


def larger_data(good: str, bad: str) -> Term | None:
    """Of data that one side has far more of, what that speaks for."""
    sizes = [int(value.partition(" ")[2] or 0) for value in (good, bad)]
    is_known = all(text.partition(" ")[2] for text in (good, bad))
    if not is_known or max(sizes) < max(LARGE, FAR_APART * min(sizes)):
        return None
    return Term("file", 0.0, f"it is data, of {sizes[0]} bytes on good and {sizes[1]} on bad")
