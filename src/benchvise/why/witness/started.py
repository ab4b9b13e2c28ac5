"""The programs that servers start for a command, and how long they run.

A server may leave the work to others: modules of PAM run scripts at each login, a web server its
handlers, a server of servers whatever is asked for. Nothing but the server is seen from the
command. So the command is run once more, and meanwhile the processes of the board are looked at
again and again (proc(5)): those that came since and descend from the server are its helpers. What
takes time is there in many of these samples.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
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
    'c=$1 n=$2 t=$3 k=" " s=0; for p in /proc/[0-9]*; do k="$k$p "; done; '
    '( i=0; while [ "$i" -lt "$n" ]; do sh -c "$c" </dev/null >/dev/null 2>&1; i=$((i + 1)); '
    "done ) & w=$!; "
    'while [ "$s" -lt "$t" ] && read -r x 2>/dev/null <"/proc/$w/stat"; do '
    'case $x in *") Z "*) break;; esac; s=$((s + 1)) l=; '
    'for p in /proc/[0-9]*; do case $k in *" $p "*) ;; '
    '*) l="$l $p/stat $p/cmdline $p/comm";; esac; done; '
    'printf "\\nsample\\n"; cat $l 2>/dev/null; sleep 0.02 2>/dev/null || sleep 1; done; '
    "kill $w 2>/dev/null; true"
)
_SAMPLE = re.compile(r"(?:^|\n)sample\n")
_STAT = re.compile(r"(?:^|[\n\0])(\d{1,9}) \((.{0,64}?)\) [A-Za-z] (\d{1,9}) [-\d ]+\n", re.DOTALL)
_PATH = re.compile(r"(?<![\w./@+-])/[\w./@+-]{1,400}", re.ASCII)
_NO_PROGRAMS = ("/dev/", "/proc/", "/sys/")


@dataclass(slots=True)
class ProcessTree:
    """The processes that were new in a sample: their parents and what their words name."""

    parents: dict[int, int] = field(default_factory=dict)
    paths: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def starter(self, process: int) -> int:
        """The process that was there before and that this one descends from."""
        for _ in range(len(self.parents) + 1):
            if process not in self.parents:
                break
            process = self.parents[process]
        return process


def started_programs(
    board: Board, command: str, usual_s: float, servers: Collection[int]
) -> dict[int, Mapping[str, float]]:
    """For each of these processes the programs and files that the words of its helpers name, with
    the seconds in which they ran, by run of the command; none where the board cannot tell.

    Raises BoardUnreachable.
    """
    if not servers or usual_s > LONGEST_S:
        return {}
    runs = min(_MOST_RUNS, max(1, math.ceil(_ENOUGH_S / max(usual_s, 1e-3))))
    limit_s = 3.0 * usual_s * runs + _GRACE_S
    watched = ["sh", "-c", _RUN, "sh", command, str(runs), str(round(limit_s / _EVERY_S))]
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
    return {server: {p: s for p, s in of.items() if p in files} for server, of in sums.items()}


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
