"""Checksums, sizes, attributes and layout of files of a board, by its own programs; of
directories how many entries they have, and how large they are themselves.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence

from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.errors import BoardUnusable
from benchvise.why.witness.layout import BELOW, DIRECTORY, LAYOUT
from benchvise.why.witness.naming import NAMING
from benchvise.why.witness.opened import ATTRIBUTES, LEADS, SPECIAL
from benchvise.why.witness.times import CHANGED, MODIFIED

_SUMS = (
    'if command -v sha256sum >/dev/null; then s=sha256sum; else s="busybox sha256sum"; fi; '
    'for f in "$@"; do case $f in "below "*) d=${f#below }; [ -d "$d" ] && '
    'echo "below $(find "$d" -xdev ! -type d | head -n 100000 | wc -l) $d"; continue;; '
    '"naming "*) n=${f#naming }; w=${n%% *}; p=${n#* }; [ -f "$p" ] && '
    'grep -qwF -e "$w" -- "$p" && echo "naming $(grep -wF -e "$w" -- "$p" | cksum | '
    'cut -d " " -f 1) $n"; continue;; esac; '
    'if [ -d "$f" ]; then echo "directory $(ls -A "$f" | wc -l) $f"; '
    'elif [ -f "$f" ] && [ -r "$f" ]; then n=$(wc -c <"$f"); if [ "$n" -gt 16777216 ]; then '
    'd=$({ head -c 1048576 "$f"; tail -c 1048576 "$f"; } | $s); echo "${d%% *}  $f"; '
    'else $s "$f"; fi; echo "size $n $f"; [ "$n" -lt 1048576 ] || filefrag -- "$f"; '
    'elif [ -e "$f" ] || [ -L "$f" ]; then echo "special 0 $f"; fi; '
    "done 2>/dev/null; stat -L -c 'mode %a:%u:%g %n' -- \"$@\" 2>/dev/null; "
    "stat -L -c 'room %f %s %b %B %n' -- \"$@\" 2>/dev/null; "
    "stat -L -c 'modified %Y %Z %n' -- \"$@\" 2>/dev/null; "
    'for f in "$@"; do case $f in /*) ;; *) continue;; esac; r=$(readlink -f -- "$f") && '
    '[ "$r" != "$f" ] && echo "leads to $r $f"; '
    "done 2>/dev/null; "
    "lsattr -d -- \"$@\" 2>/dev/null | sed 's/^/flags /'; "
    "getcap -- \"$@\" 2>/dev/null | sed 's/^\\(.*\\) \\(=* *[^ ]*\\)$/capabilities \\2 \\1/'; true"
)
_A_LINE = re.compile(r"\\?(?:([0-9a-f]{64}) |(directory|size|special) +(\d{1,19})) (/.*)")
_AN_ATTRIBUTE = re.compile(r"(mode|flags|capabilities) +((?:= )?[\w:,=+-]{1,80}) +(/.*)")
_A_LINK = re.compile(r"leads to (/\S{1,400}) (/.*)")
_A_LAYOUT = re.compile(r"room ([0-9a-f]{1,8}) (\d{1,19}) (\d{1,19}) (\d{1,6}) (/.*)")
_BELOW = re.compile(r"below +(\d{1,6}) (/.*)")
_A_NAMING = re.compile(r"naming (\d{1,10}) (\S+ /.*)")
_A_TIME = re.compile(r"modified (\d{1,12}) (\d{1,12}) (/.*)")
_IN_PIECES = re.compile(r"(/.*): (\d{1,9}) extents? found")
_OTHER_FLAGS = re.compile(r"[^SDjcdCEFV]")
_SUMS_S = 120.0
_AT_ONCE = 100


def digests_on(board: Board, paths: Sequence[str]) -> dict[str, str]:
    """The SHA-256 of those of these files that a board has and may read, with their size in bytes
    (``SHA size``; of one above 16 MiB that of its first and last MiB), of directories the number of
    entries and the own size in bytes (``directory 12 4096``), and of what is neither ``special 0``;
    by ``ATTRIBUTES`` and a path the mode, owner and group of each, attributes that decide how it is
    written, and capabilities, by ``LAYOUT`` and a path the size of a file, the bytes allocated and
    the number of pieces (0: not known), by ``MODIFIED`` and a path when it was written (seconds
    since 1970), by ``CHANGED`` when it or what is known of it was last changed
    there, by ``LEADS`` and a path where links lead that it has on its way. The path of a directory
    that is asked for with ``BELOW`` before it leads to the number of files in and below; by
    ``NAMING``, a word and a path a checksum of the lines that have the word, where there are any.

    NotAvailable where it cannot tell.
    """
    states: dict[str, str] = {}
    pieces: dict[str, str] = {}
    for begin in range(0, len(paths), _AT_ONCE):
        some = paths[begin : begin + _AT_ONCE]
        try:
            completed = board.run(["sh", "-c", _SUMS, "sh", *some], timeout=_SUMS_S)
        except BoardUnusable as error:  # too slow, or says too much
            raise NotAvailable(error.message, error.remedy) from error
        for line in completed.stdout.decode("utf-8", "replace").splitlines():
            if attribute := _AN_ATTRIBUTE.fullmatch(line):
                if attribute[3] in some:
                    _add_attribute(states, *attribute.groups())
                continue
            if (link := _A_LINK.fullmatch(line)) and link[2] in some:
                states[f"{LEADS}{link[2]}"] = link[1]
                continue
            if below := _BELOW.fullmatch(line):
                if f"{BELOW}{below[2]}" in some:
                    states[f"{BELOW}{below[2]}"] = below[1]
                continue
            if naming := _A_NAMING.fullmatch(line):
                if f"{NAMING}{naming[2]}" in some:
                    states[f"{NAMING}{naming[2]}"] = naming[1]
                continue
            if time := _A_TIME.fullmatch(line):
                if time[3] in some:
                    states[f"{MODIFIED}{time[3]}"] = time[1]
                    states[f"{CHANGED}{time[3]}"] = time[2]
                continue
            if layout := _A_LAYOUT.fullmatch(line):
                if layout[5] in some:
                    _add_layout(states, *layout.groups(), pieces=pieces.get(layout[5], "0"))
                continue
            if match := _IN_PIECES.fullmatch(line):
                pieces[match[1]] = match[2]
                continue
            match = _A_LINE.fullmatch(line)
            if match is None or match[4] not in some:
                continue
            digest, word, number, path = match.groups()
            if digest:
                states[path] = digest
            elif word in (DIRECTORY, SPECIAL):
                states[path] = f"{word} {number}"
            elif path in states:
                states[path] += f" {number}"
    return states


def _add_layout(
    states: dict[str, str], mode: str, size: str, blocks: str, unit: str, path: str, *, pieces: str
) -> None:
    if stat.S_ISREG(int(mode, 16)):
        states[f"{LAYOUT}{path}"] = f"{size} {int(blocks) * int(unit)} {pieces}"
    elif states.get(path, "").startswith(DIRECTORY):
        states[path] += f" {size}"


def _add_attribute(states: dict[str, str], kind: str, value: str, path: str) -> None:
    """Flags other than those of synchronous writing, journalling, compression, copying on write,
    encryption, case and verification say nothing of speed; most files have no capabilities."""
    if kind == "flags":
        value = _OTHER_FLAGS.sub("", value)
    if value:
        key = f"{ATTRIBUTES}{path}"
        states[key] = f"{states[key]} {value}" if key in states else value
