"""What a board is set to, to see whether all is as before once ``why`` has ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from benchmarks.why.open.boards import Board

# Words that busybox knows, too. What changes by itself is not in it: the handles that the kernel
# gives to queueing disciplines from 8000 on, keys that each boot draws, the kernel's workers, what
# packets put into sets of a filter and time takes out of them.
_SCRIPT = r"""
env | grep -vE '^(SSH_|_=|PWD=|OLDPWD=|SHLVL=)' | sed 's/^/env /'
ulimit -a 2> /dev/null | sed 's/^/limit /'
sed 's/^/mount /' /proc/mounts
find /etc /root /opt /usr/local /srv -type f ! -path '*/__pycache__/*' ! -name '*history' \
  -exec cksum {} + 2> /dev/null | sed 's/^/file /'
find /etc /root /opt /usr/local /srv -type f -exec stat -c 'written %Y %n' {} + 2> /dev/null
find /etc -type l -exec ls -l {} + | sed 's/.* \(.* -> .*\)/link \1/'
ip -o link 2> /dev/null | sed 's/^/interface /'
tc qdisc 2> /dev/null | sed 's/^qdisc \([a-z_]*\) [89a-f][0-9a-f]*:/qdisc \1/; s/^/qdisc /'
{ ip route show table all; ip -6 route show table all; } 2> /dev/null | sed 's/^/route /'
nft -s list ruleset 2> /dev/null | awk '
  /^\t(set|map|meter) / { fills = 0 }
  /^\t\t(timeout |gc-interval |flags .*(dynamic|timeout))/ { fills = 1 }
  fills && /elements = {/ { inside = 1 }
  !inside { print "rule " $0 }
  /}$/ { inside = 0 }'
ip rule 2> /dev/null | sed 's/^/routing rule /'
{
  find /proc/sys /sys/kernel/mm /sys/block/*/queue /sys/class/bdi/*/ -maxdepth 6 -type f -perm -200
  find /sys/fs/cgroup -maxdepth 5 -name 'cpu.[cmsw]*' -o -name 'memory.[hlm]*'
} 2> /dev/null | grep -vE 'ns_last_pid|/random/|fastopen_key|khugepaged/(full|pages)' | \
  xargs grep -asH '' | \
  sed 's/^\(\/proc[^:]*\):/set \1 /; s/^\(\/sys[^ ]*\/[a-z0-9_.]*\):/set \1 /'
running=$(ps -eo comm= 2> /dev/null)
echo "$running" | grep -v '^kworker/' | sort | uniq -c | sed 's/^/process /'
"""
_WRITTEN = "written "
_ROOTS = ("/", "/etc", "/root", "/opt", "/usr", "/usr/local", "/srv")
_MANY = 3
_OWN = ("/proc/sys/net/", "/proc/sys/kernel/msg", "/proc/sys/kernel/sem", "/proc/sys/kernel/shm")
_COMES_AND_GOES = ("sshd", "sh", "bash", "ps", "sort", "uniq", "sed", "sleep", "env", "strace")


def state(board: Board) -> frozenset[str]:
    """A line for all that is set."""
    return frozenset(board.said(_SCRIPT, timeout=300).splitlines())


@dataclass(frozen=True, slots=True)
class OwnChanges:
    """What changes on a board although nobody diagnoses it: by the measured command each time that
    it runs, or with time. ``files`` are those that change or are written anew, ``directories``
    those below which files of ever other names are added, ``others`` all else, as ``_called`` calls
    it."""

    files: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()

    def has(self, line: str, known: Collection[str]) -> bool:
        """Whether such a change explains a line that is not as before.

        In a directory to which files are only added, it does not explain a change of a file that
        was ``known`` before.
        """
        if not line.startswith("file "):
            return _called(line) in self.others
        path = _path(line)
        return path in self.files or (
            path not in known and any(path.startswith(f"{place}/") for place in self.directories)
        )


def own_changes(states: Sequence[frozenset[str]]) -> OwnChanges:
    """What differs between states that were taken one after another, with nothing but runs of the
    measured command between them, or nothing at all."""
    files: set[str] = set()
    directories: set[str] = set()
    others: set[str] = set()
    for before, after in pairwise(states):
        differ = before ^ after
        files |= _paths(differ)
        files |= {line.split(" ", 2)[2] for line in differ if line.startswith(_WRITTEN)}
        directories |= _grown(_paths(before), _paths(after))
        others |= {_called(line) for line in differ if not line.startswith(("file ", _WRITTEN))}
    return OwnChanges(frozenset(files), frozenset(directories), frozenset(others))


def _grown(known: set[str], now: set[str]) -> set[str]:
    """The directories to which some files were added."""
    places = {"/"} | {str(place) for path in known for place in PurePosixPath(path).parents}
    added = Counter(
        next(str(place) for place in PurePosixPath(path).parents if str(place) in places)
        for path in now - known
    )
    return {place for place, number in added.items() if number >= _MANY} - {*_ROOTS}


def _called(line: str) -> str:
    """What a line is about, without what of it changes: a file of the kernel by its path, processes
    by their name, what a filter or a table has by its words without their numbers."""
    kind, _, rest = line.partition(" ")
    if kind == "set":
        return f"set {rest.split()[0]}"
    if kind == "process":
        return f"process {rest.split()[-1]}"
    return re.sub(r"\d+", "#", line)


def _paths(lines: Collection[str]) -> set[str]:
    return {_path(line) for line in lines if line.startswith("file ")}


def _path(line: str) -> str:
    return line.split(" ", 3)[3]


_NO_CHANGES = OwnChanges()


def changed(
    before: frozenset[str],
    after: frozenset[str],
    written: Collection[str],
    *,
    shared: bool,
    own: OwnChanges = _NO_CHANGES,
) -> list[str]:
    """What is not as before. Of settings that a board shares with this machine (``shared``), only
    those that the diagnosis wrote: others change them, too. What changes without it (``own``) is
    none of its doing."""
    known = _paths(before)
    return [
        f"{'no more' if line in before else 'new'}: {line}"[:200]
        for line in sorted(before ^ after)
        if not _is_foreign(line, written, shared=shared) and not own.has(line, known)
    ]


def _is_foreign(line: str, written: Collection[str], *, shared: bool) -> bool:
    kind, _, rest = line.partition(" ")
    if line.startswith(_WRITTEN):
        return True
    if kind == "process":
        return rest.split()[-1] in _COMES_AND_GOES
    if kind != "set" or not shared:
        return False
    path = rest.split()[0]
    return not path.startswith(_OWN) and path not in written
