"""What a board is set to, to see whether all is as before once ``why`` has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from benchmarks.why.open.boards import Board

# Words that busybox knows, too. What changes by itself is not in it: the handles that the kernel
# gives to queueing disciplines from 8000 on, keys that each boot draws, the kernel's workers,
# what packets add to sets for a while.
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
ip route 2> /dev/null | sed 's/^/route /'
nft list ruleset 2> /dev/null | grep -vE 'counter| expires ' | sed 's/^/rule /'
for file in $(find /proc/sys /sys/kernel/mm /sys/block/*/queue /sys/class/bdi/*/ -maxdepth 6 \
  -type f -perm -200 2> /dev/null | \
  grep -vE 'ns_last_pid|/random/|fastopen_key|khugepaged/(full|pages)'); do
  echo "set $file $(cat "$file" 2> /dev/null | tr '\n' ' ')"
done
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
class CommandFiles:
    """What a command writes each time it runs, whoever runs it: ``files`` that it changes or writes
    anew, and ``directories`` below which it adds files of ever other names."""

    files: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()

    def has(self, line: str, known: Collection[str]) -> bool:
        """Whether a line that is not as before is of such a file. One that was ``known`` before, in
        a directory to which files are only added, is none."""
        if not line.startswith("file "):
            return False
        path = _path(line)
        return path in self.files or (
            path not in known and any(path.startswith(f"{place}/") for place in self.directories)
        )


def files_of_command(before: frozenset[str], after: frozenset[str]) -> CommandFiles:
    """What a command wrote that ran alone, some times, between two states."""
    known, now = _paths(before), _paths(after)
    differ = {_path(line) for line in before ^ after if line.startswith("file ")}
    differ |= {line.split(" ", 2)[2] for line in before ^ after if line.startswith(_WRITTEN)}
    places = {"/"} | {str(place) for path in known for place in PurePosixPath(path).parents}
    added = Counter(
        next(str(place) for place in PurePosixPath(path).parents if str(place) in places)
        for path in now - known
    )
    many = {place for place, number in added.items() if number >= _MANY}
    return CommandFiles(frozenset(differ), frozenset(many - {*_ROOTS}))


def _paths(lines: frozenset[str]) -> set[str]:
    return {_path(line) for line in lines if line.startswith("file ")}


def _path(line: str) -> str:
    return line.split(" ", 3)[3]


def changed(
    before: frozenset[str],
    after: frozenset[str],
    written: Collection[str],
    *,
    shared: bool,
    command: CommandFiles = CommandFiles(),
) -> list[str]:
    """What is not as before. Of settings that a board shares with this machine (``shared``), only
    those that the diagnosis wrote: others change them, too. What the measured ``command`` writes by
    itself is none of the diagnosis' doing."""
    known = _paths(before)
    return [
        f"{'no more' if line in before else 'new'}: {line}"[:200]
        for line in sorted(before ^ after)
        if not _is_foreign(line, written, shared=shared) and not command.has(line, known)
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
