"""Places that a command looks at again and again while it sleeps, and the programs behind them.

Who sleeps, looks whether a file is there, and sleeps again, waits for the program that makes that
file or takes it away, and no socket and no descriptor leads there: it opens the directory now and
then. It is known by what names the place: the words it was started with, its script, a file of
/etc or of its own directory that belongs to it by its name or is named in turn; or by a descriptor
or working directory in the place (proc(5)).
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchvise.board.protocol import Board
from benchvise.why.witness.kinds import TIMERS
from benchvise.why.witness.model import CallsAbout
from benchvise.why.witness.started import parse_stats

_READ_S = 30.0
_LEAST = 4
_MOST_PLACES = 4
_MOST_PROGRAMS = 3
_LOOKS = re.compile(r"l?stat(?:64)?|statx|fstatat64|newfstatat|f?access(?:at2?)?|open(?:at2?)?")
_LISTS = re.compile(r"getdents(?:64)?")
_CONNECTS = "connect"
_OF_SYSTEM = re.compile(r"/(?:usr|lib\w*|bin|sbin|proc|sys|dev)(?:/|$)|/etc/ld\.so\.")
_SHARED = frozenset(
    ("/", "/tmp", "/run", "/var", "/var/run", "/var/tmp", "/var/lib", "/var/log", "/etc", "/srv")  # noqa: S108
) | {"/root", "/home", "/opt", "/mnt", "/media", "/data", "/var/spool", "/var/cache", "/run/lock"}
"""Directories of everybody: that a program names one tells nothing."""

# Names are told by the standard input, so that no command line of this look has them.
_NAMING = (
    "read -r e; for d in /etc /lib/systemd/system /usr/local /opt /srv /home /root /var/lib; do "
    '[ -d "$d" ] && find "$d" -maxdepth 5 \\( -name .git -o -name .cache -o -name node_modules -o '
    "-name include -o -name share -o -name man -o -name dpkg \\) -prune -o -type f -size -1024 "
    "! -name '*.[cho]' ! -name '*.go' ! -name '*.pyc' ! -name '*.html' ! -name '*.md' "
    "! -name '*.png' ! -name '*.pem' -print | head -n 1500; done 2>/dev/null | "
    'grep -v "[[:space:]]" | xargs grep -aosHE -e "$e" /dev/null | sort -u | head -n 200 | '
    'sed "s/^/file: /"; ls -l /proc/[0-9]*/exe /proc/[0-9]*/cwd 2>/dev/null | grep -- "-> /"; '
    'ls -l /proc/[0-9]*/fd 2>/dev/null | grep -E "^/proc|-> /"; l=; '
    'for p in /proc/[0-9]*; do l="$l $p/stat $p/cmdline $p/comm"; done; echo; '
    "cat $l 2>/dev/null; true"
)
_NAMED_IN = (
    "read -r e; xargs sh -c 'find \"$@\" -follow -maxdepth 0 -type f -size -16384' sh "
    '2>/dev/null | xargs grep -alsE -e "$e" /dev/null; true'
)
_LINK = re.compile(r"(?:/proc/(\d{1,9})/(exe|cwd)|\d+) -> (/.*)$")
_DESCRIPTORS = re.compile(r"/proc/(\d{1,9})/fd:$")


def polled_places(calls: Sequence[CallsAbout]) -> tuple[str, ...]:
    """What a command that sleeps looks at again and again, by path, and the addresses to which it
    connects again and again: the most often first."""
    if not any(call.name in TIMERS for call in calls):
        return ()
    entered = {call.target for call in calls if call.name == "chdir" and call.target[:1] == "/"}
    directory = next(iter(entered)) if len(entered) == 1 else "/"
    looks: Counter[str] = Counter()
    for call in calls:
        if call.name == _CONNECTS and call.target:
            looks[call.target] += call.count
        elif call.target and (_LOOKS.fullmatch(call.name) or _LISTS.fullmatch(call.name)):
            path = posixpath.normpath(posixpath.join(directory, call.target))
            looks[path] += 0 if _OF_SYSTEM.match(path) or path in _SHARED else call.count
    often = [place for place, count in looks.most_common() if count >= _LEAST]
    return tuple(often[:_MOST_PLACES])


@dataclass(slots=True)
class _Process:
    number: int
    arguments: Sequence[str] = ()
    exe: str = ""
    places: list[str] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """Those of its program and of the files that its words name, without their endings."""
        return {posixpath.basename(path).partition(".")[0] for path in (self.exe, *self.files)}

    @property
    def files(self) -> list[str]:
        """The files that its arguments may name."""
        return [word for word in self.arguments if _FILE.fullmatch(word)]


_FILE = re.compile(r"/[\w./@+-]{1,400}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PlaceUser:
    """A process that uses a place, with the files that say so."""

    process: int
    place: str
    files: tuple[str, ...]


def place_users(board: Board, places: Iterable[str]) -> tuple[PlaceUser, ...]:
    """The programs behind these paths. Raises BoardUnreachable and BoardUnusable."""
    return tuple(user for place in places for user in _users_of(board, place))


def _users_of(board: Board, place: str) -> Iterator[PlaceUser]:
    around = list(_around(place)) if _FILE.fullmatch(place) else []
    if not around:
        return
    naming, processes = parse_processes(_printed(board, _NAMING, _pattern(around)))
    candidates = {path for p in processes for path in (p.exe, *p.files)}
    pattern = _pattern([*around, *naming])
    inside = _printed(board, _NAMED_IN, pattern, *sorted(candidates)).splitlines()
    users: dict[int, tuple[str, ...]] = {}
    for near in around:
        files = [path for path, names in naming.items() if near in names]
        for process, of in _matching(near, processes, files, frozenset(inside)):
            users.setdefault(process, of)
    yield from (PlaceUser(p, place, of) for p, of in list(users.items())[:_MOST_PROGRAMS])


def _printed(board: Board, script: str, *lines: str) -> str:
    text = "".join(f"{line}\n" for line in lines).encode()
    done = board.run(["sh", "-c", script], input=text, timeout=_READ_S)
    return done.stdout.decode("utf-8", "replace")


def _around(place: str) -> Iterator[str]:
    """The path itself, and the directories around it that are not everybody's."""
    while place not in _SHARED:
        yield place
        place = posixpath.dirname(place)


def _pattern(paths: Iterable[str]) -> str:
    """An extended regular expression that finds these paths and what lies below them, and none
    that only begins so."""
    escaped = "|".join(re.sub(r"([.+])", r"[\1]", path) for path in paths)
    return f"({escaped})([^A-Za-z0-9_.-]|[.]?$)"


def parse_processes(text: str) -> tuple[dict[str, set[str]], tuple[_Process, ...]]:
    """The files that name places, each with what it names, and the processes of a board."""
    files: defaultdict[str, set[str]] = defaultdict(set)
    processes = {p.number: _Process(p.number, p.arguments) for p in parse_stats(text)}
    none = _Process(0)
    holder = none
    for line in text.splitlines():
        if line.startswith("file: "):
            path, _, named = line.removeprefix("file: ").partition(":")
            if _FILE.fullmatch(path):
                files[path].add(re.sub(r"[^A-Za-z0-9_.-]$", "", named).rstrip("."))
        elif match := _DESCRIPTORS.match(line):
            holder = processes.get(int(match[1]), none)
        elif match := _LINK.search(line):
            process = processes.get(int(match[1]), none) if match[1] else holder
            if match[2] == "exe":
                process.exe = match[3].removesuffix(" (deleted)")
            else:
                process.places.append(match[3])
    return dict(files), tuple(p for p in processes.values() if p.exe)


def _matching(
    place: str, processes: Sequence[_Process], files: Sequence[str], inside: frozenset[str]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Processes with the files that tie them to a place: those that name it themselves first.
    ``files`` name it, ``inside`` are programs and files of words that name it or one of these."""
    ranked: list[tuple[int, int, tuple[str, ...]]] = []
    pattern = re.compile(_pattern([place]), re.ASCII)
    for process in processes:
        if process.number == 1:
            continue
        own = {path for path in files if _stem(path) & process.names}
        own |= set(files) & set(process.arguments)
        names_it = any(path in inside for path in (process.exe, *process.files))
        names_it |= any(pattern.search(word) for word in process.arguments)
        is_there = any(at == place or at.startswith(f"{place}/") for at in process.places)
        if own or names_it or is_there:
            rank = 0 if names_it else 1 if own else 2
            ranked.append((rank, process.number, tuple(sorted(own))))
    for _, number, of in sorted(ranked):
        yield number, of


def _stem(path: str) -> set[str]:
    """The names that a program may have whose file this is: its own without an ending, and that of
    its directory."""
    name, directory = posixpath.basename(path), posixpath.basename(posixpath.dirname(path))
    stem = name.partition(".")[0]
    return {stem, re.sub(r"^[SK]\d\d", "", stem), directory.partition(".")[0]}
