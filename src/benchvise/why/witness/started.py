"""The programs that servers start for a command, how long they run, and what servers have open.

A server may leave the work to others: modules of PAM run scripts at each login, a web server its
handlers, a server of servers whatever is asked for. Nothing but the server is seen from the
command. So the command is run once more, and meanwhile the processes of the board are looked at
again and again (proc(5)): those that came since and descend from the server are its helpers. What
takes time is there in many of these samples. So are the files and directories that a server and its
helpers have open meanwhile: where it goes through a tree that no configuration names, it is there.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable
from benchvise.text import printable

LONGEST_S = 20.0
"""A command that takes longer is not run once more."""

_ENOUGH_S = 1.0  # a shorter command is run several times
_MOST_RUNS = 20
_GRACE_S = 20.0
_EVERY_S = 0.02
_MOST_PATHS = 40
_MOST_WORDS = 60
_RUN = (
    'c=$1 n=$2 t=$3 k=" " s=0; shift 3; for p in /proc/[0-9]*; do k="$k$p "; done; '
    'h=/proc/self/fd; for p in "$@"; do h="$h /proc/$p/fd"; done; '
    '( i=0; while [ "$i" -lt "$n" ]; do sh -c "$c" </dev/null >/dev/null 2>&1; i=$((i + 1)); '
    "done ) & w=$!; "
    'while [ "$s" -lt "$t" ] && read -r x 2>/dev/null <"/proc/$w/stat"; do '
    'case $x in *") Z "*) break;; esac; s=$((s + 1)) l= f=; '
    'for p in /proc/[0-9]*; do case $k in *" $p "*) ;; '
    '*) l="$l $p/stat $p/cmdline $p/comm" f="$f $p/fd";; esac; done; '
    'printf "\\nsample\\n"; cat $l 2>/dev/null; printf "\\nheld\\n"; '
    'ls -ln $h $f 2>/dev/null | sed -n "/^.proc.*:$/p; /-> .proc/d; /-> .dev/d; s|.* -> /|/|p"; '
    "sleep 0.02 2>/dev/null || sleep 1; done; "
    "kill $w 2>/dev/null; true"
)
_SAMPLE = re.compile(r"(?:^|\n)sample\n")
_HELD = "\nheld\n"
_OF_PROCESS = re.compile(r"/proc/(\d{1,9})/fd:")
_LEAST_DEPTH = 2
_MOST_HELD = 40
_LEAST_SAMPLES = 0.02  # of all: fewer tell nothing
_STAT = re.compile(r"(?:^|[\n\0])(\d{1,9}) \((.{0,64}?)\) [A-Za-z] (\d{1,9}) [-\d ]+\n", re.DOTALL)
_PATH = re.compile(r"(?<![\w./@+-])/[\w./@+-]{1,400}", re.ASCII)
_NO_PROGRAMS = ("/dev/", "/proc/", "/sys/")


@dataclass(slots=True)
class ProcessTree:
    """The processes that were new in a sample: their parents and what their words name. ``held``
    are the files and directories that these and the servers had open."""

    parents: dict[int, int] = field(default_factory=dict)
    paths: dict[int, tuple[str, ...]] = field(default_factory=dict)
    held: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def starter(self, process: int) -> int:
        """The process that was there before and that this one descends from."""
        for _ in range(len(self.parents) + 1):
            if process not in self.parents:
                break
            process = self.parents[process]
        return process


@dataclass(frozen=True, slots=True)
class ServerWork:
    """What a server does for a command.

    ``started`` are the programs and files that the words of its helpers name, with the seconds in
    which they ran, by run of the command. ``held`` are the files that it or a helper has open, and
    the directories above, each with its part (0 to 1) of the time in which the server works.
    """

    started: Mapping[str, float] = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)


def server_work(
    board: Board, command: str, usual_s: float, servers: Collection[int]
) -> dict[int, ServerWork]:
    """What each of these processes does for a command, which is run for it; none where the board
    cannot tell. Raises BoardUnreachable."""
    if not servers or usual_s > LONGEST_S:
        return {}
    runs = min(_MOST_RUNS, max(1, math.ceil(_ENOUGH_S / max(usual_s, 1e-3))))
    limit_s = 3.0 * usual_s * runs + _GRACE_S
    watched = ["sh", "-c", _RUN, "sh", command, str(runs), str(round(limit_s / _EVERY_S))]
    watched += map(str, servers)
    try:
        done = board.run(watched, timeout=2.0 * limit_s)
    except BoardUnusable:
        return {}
    samples = parse_trees(done.stdout.decode("utf-8", "replace"))
    sums = _sums(samples, servers, usual_s)
    paths = dict.fromkeys(path for of in sums.values() for path in of)
    try:
        files = _lines_of(board, _FILES, *paths)
    except BoardUnusable:
        return {}
    held = _held(samples, servers)
    return {
        server: ServerWork(
            {p: s for p, s in sums.get(server, {}).items() if p in files}, held.get(server, {})
        )
        for server in sums.keys() | held.keys()
    }


def leading_files(
    board: Board, started: Collection[str], files: Collection[str]
) -> tuple[str, ...]:
    """Those of these files that name what was started or its directory, and those that name one of
    them in turn, as a configuration names a module: they lead there. Raises BoardUnreachable and
    BoardUnusable."""
    named = [path for path in started if not _OF_SYSTEM.match(path)]
    named += [d for path in named if (d := posixpath.dirname(path)).count("/") > 1]
    if not named or not files:
        return ()
    escaped = "|".join(re.sub(r"([.+])", r"[\1]", path) for path in dict.fromkeys(named))
    return tuple(sorted(_lines_of(board, _LEADING, escaped, *files)))


def _lines_of(board: Board, script: str, *arguments: str) -> set[str]:
    done = board.run(["sh", "-c", script, "sh", *arguments], timeout=_GRACE_S)
    return set(done.stdout.decode("utf-8", "replace").splitlines())


_OF_SYSTEM = re.compile(r"/(?:usr/)?(?:s?bin|lib\w*|share)/")
_FILES = 'for f in "$@"; do [ -f "$f" ] && echo "$f"; done; true'
_LEADING = (
    'e=$1; shift; m=$(grep -alsE -e "$e" "$@" /dev/null); printf "%s\\n" $m; '
    "b=$(for f in $m; do case $f in */bin/*|*/sbin/*) ;; "
    '*) echo "${f##*/}";; esac; done | sed "s/[.+]/[&]/g" | tr "\\n" "|" | sed "s/|$//"); '
    '[ "$b" ] && grep -alsE -e "(^|[^A-Za-z0-9_.-])($b)([^A-Za-z0-9_.-]|$)" "$@" /dev/null; true'
)


def parse_trees(text: str) -> tuple[ProcessTree, ...]:
    """The samples by what the board printed."""
    return tuple(_tree(part) for part in _SAMPLE.split(text)[1:])


def _tree(text: str) -> ProcessTree:
    tree = ProcessTree()
    text, _, held = text.partition(_HELD)
    process_number = 0
    held_by: defaultdict[int, list[str]] = defaultdict(list)
    for line in held.splitlines():
        if match := _OF_PROCESS.fullmatch(line):
            process_number = int(match[1])
        elif line.startswith("/") and not line.endswith(" (deleted)"):
            held_by[process_number].append(printable(line))
    tree.held = {number: tuple(dict.fromkeys(of)) for number, of in held_by.items()}
    for process in parse_stats(text):
        tree.parents[process.number] = process.parent
        tree.paths[process.number] = tuple(_named("\0".join(process.arguments)))
    return tree


@dataclass(frozen=True, slots=True)
class ProcessWords:
    """A process, its parent, and the arguments that it was started with."""

    number: int
    parent: int
    arguments: tuple[str, ...]


def parse_stats(text: str) -> Iterator[ProcessWords]:
    """Processes by their files ``stat``, ``cmdline`` and ``comm``, one behind the other: the last
    ends a line, which a process that wrote over its words does not."""
    matches = list(_STAT.finditer(text))
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        rest = text[match.end() : None if following is None else following.start()]
        arguments = rest.rstrip("\n").removesuffix(match[2]).split("\0")
        yield ProcessWords(int(match[1]), int(match[3]), tuple(arguments[:_MOST_WORDS]))


def _named(text: str) -> Iterator[str]:
    for path in dict.fromkeys(_PATH.findall(text)):
        if not path.startswith(_NO_PROGRAMS):
            yield printable(path)


def _sums(
    samples: Collection[ProcessTree], servers: Collection[int], usual_s: float
) -> dict[int, Mapping[str, float]]:
    seen: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for tree in samples:
        running: defaultdict[int, set[str]] = defaultdict(set)
        for process, paths in tree.paths.items():
            running[tree.starter(process)].update(paths)
        for server in running.keys() & set(servers):
            for path in running[server]:
                seen[server][path] += usual_s / len(samples)
    return {
        server: dict(sorted(paths.items(), key=lambda item: -item[1])[:_MOST_PATHS])
        for server, paths in seen.items()
    }


def _held(
    samples: Collection[ProcessTree], servers: Collection[int]
) -> dict[int, Mapping[str, float]]:
    """The part of the time in which each server, or a helper of it, has files open, and anything
    below directories. Of one that has helpers only the samples count in which it has one: else a
    command that takes longer would have its server hold everything longer."""
    seen: dict[int, list[set[str]]] = {server: [] for server in servers}
    helped: dict[int, list[set[str]]] = {server: [] for server in servers}
    for tree in samples:
        for server in servers:
            helpers = [p for p in tree.parents if p != server and tree.starter(p) == server]
            held = {path for p in (server, *helpers) for path in tree.held.get(p, ())}
            seen[server].append(held)
            if helpers:
                helped[server].append(held)
    return {
        server: parts
        for server in servers
        if (parts := _parts(helped[server] or seen[server], len(samples)))
    }


def _parts(samples: Sequence[set[str]], of_all: int) -> Mapping[str, float]:
    if not samples or len(samples) < _LEAST_SAMPLES * of_all:
        return {}
    files = Counter(path for held in samples for path in held)
    above = Counter(
        place for held in samples for place in {d for path in held for d in _directories(path)}
    )
    most = (*above.most_common(_MOST_HELD), *files.most_common(_MOST_HELD))
    return {path: round(count / len(samples), 3) for path, count in most}


def _directories(path: str) -> Iterator[str]:
    """Those that a path is in, without the roots of a system."""
    while (path := posixpath.dirname(path)).count("/") >= _LEAST_DEPTH:
        yield path
