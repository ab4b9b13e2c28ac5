"""Putting the probe on a board, once, and taking it away again.

Its place there is ``DIRECTORY/benchvise-UID/DIGEST/``. As the first two levels may lie in a
directory that anyone can write, ``benchvise-UID`` must be a real directory, ours and of mode 0700,
or another user could have planted a program there.

Scripts on the board find the place, fill it and clear it. They are POSIX sh and need, besides it:
uname, id, ls, mkdir, rmdir, rm, mv, chmod, cat and wc; cksum, dd, tr and kill are used when they
are there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchvise.board.probes import (
    PROBE,
    Identity,
    Probe,
    identify,
    load_probe,
)
from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable, UsageError
from benchvise.text import last_line, printable

DIRECTORY_VARIABLE = "BENCHVISE_BOARD_DIR"


class PlaceVerdict(StrEnum):
    """What became of a candidate."""

    PRESENT = "present"
    USABLE = "usable"
    MISSING = "missing"
    OPEN = "open"
    FOREIGN = "foreign"
    SYMLINK = "symlink"
    SHARED = "shared"
    NOT_A_DIRECTORY = "file"
    NOEXEC = "noexec"
    FULL = "full"
    READ_ONLY = "readonly"
    DENIED = "denied"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A directory that was looked at. ``directory`` is the private one within ``parent``.

    ``index`` is its place among the candidates; ``detail`` is what went wrong in the board's words.
    """

    index: int
    verdict: PlaceVerdict
    parent: str
    directory: str
    detail: str = ""


_UPLOAD_SECONDS = 300.0  # 200 kB over the slowest of links
_GOOD = (PlaceVerdict.PRESENT, PlaceVerdict.USABLE)
_NOT_OURS = (PlaceVerdict.FOREIGN, PlaceVerdict.SYMLINK, PlaceVerdict.NOT_A_DIRECTORY)
_SIGILL_STATUS = 128 + 4


@dataclass(frozen=True, slots=True)
class Deployed:
    """A probe that runs on a board.

    ``path`` is that of bvprobe there, ``directory`` the private directory made for it (None
    when it runs in place), ``sent`` the bytes that had to be uploaded.
    """

    path: str
    identity: Identity
    directory: str | None
    sent: int


def deploy(board: Board) -> Deployed:
    """Puts the probe that fits onto the board, unless it is there already, and proves it runs.

    Raises BoardUnusable when no probe fits or no directory takes it, BoardUnreachable, and
    BenchviseError when this installation was not built.
    """
    identity = identify(board)
    probe = load_probe(identity.arch)
    if board.kind == "local" and os.access(probe.directory / PROBE, os.X_OK):
        path = str(probe.directory / PROBE)
        if _prove(board, path, identity):
            return Deployed(path, identity, None, 0)
    where = candidates()
    refused: list[Candidate] = []
    begin = 0
    while begin < len(where):
        seen = find_place(board, probe, where[begin:])
        refused += [candidate for candidate in seen if candidate.verdict not in _GOOD]
        if not seen or seen[-1].verdict not in _GOOD:
            break
        chosen = seen[-1]
        deployed = _use(board, probe, identity, chosen, refused)
        if deployed is not None:
            return deployed
        begin += chosen.index + 1
    raise _nowhere(board, probe, where, refused)


def remove(board: Board) -> tuple[str, ...]:
    """Removes every probe that was put on the board; returns the directories that are gone.

    What belongs to another user was not put there by this one, and stays. Raises BoardUnusable
    when something else is left, naming it.
    """
    seen = [
        candidate for candidate in clear_candidates(board) if candidate.verdict not in _NOT_OURS
    ]
    left = [candidate for candidate in seen if candidate.verdict is not PlaceVerdict.PRESENT]
    if left:
        raise BoardUnusable(
            f"{board.name}: {left[0].directory} was not removed ({_why(left[0])})",
            "look at what is in it, and remove it by hand",
        )
    return tuple(candidate.directory for candidate in seen)


def _use(
    board: Board, probe: Probe, identity: Identity, chosen: Candidate, refused: list[Candidate]
) -> Deployed | None:
    """Uploads if need be and proves; None, with the candidate refused, if it takes no programs."""
    uploaded = 0
    if chosen.verdict is PlaceVerdict.USABLE:
        failed = store_probe(board, chosen, probe, _UPLOAD_SECONDS)
        if failed is not None:
            refused.append(failed)
            return None
        uploaded = probe.size
    path = f"{chosen.directory}/{probe.digest}/{PROBE}"
    if _prove(board, path, identity):
        return Deployed(path, identity, chosen.directory, uploaded)
    refused.append(Candidate(chosen.index, PlaceVerdict.NOEXEC, chosen.parent, chosen.directory))
    return None


def _prove(board: Board, path: str, identity: Identity) -> bool:
    """Runs the probe; False when it may not be executed there.

    Raises BoardUnusable when it is executed but is not what it should be.
    """
    result = board.run([path, "version"])
    if result.returncode == 0 and _is_version(result.stdout):
        return True
    message = last_line(result.stderr) or printable(result.stdout) or f"exit {result.returncode}"
    if result.returncode == 126 and "Permission denied" in message:
        return False
    if result.returncode == _SIGILL_STATUS:
        raise BoardUnusable(
            f"{board.name}: this processor lacks instructions that the {identity.arch} probe uses",
            f"uname calls it '{identity.machine}': report it with its /proc/cpuinfo",
        )
    raise BoardUnusable(
        f"{board.name}: the {identity.arch} probe does not run there ({message})",
        f"uname says '{identity.machine}': check that this is what its programs are built for",
    )


def _is_version(output: bytes) -> bool:
    try:
        line = json.loads(output)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and line.get("type") == "version"


def _why(candidate: Candidate) -> str:
    return {
        PlaceVerdict.MISSING: "there is no such directory, or it may not be entered",
        PlaceVerdict.OPEN: "anyone can replace what is in it (writable by all, not sticky)",
        PlaceVerdict.FOREIGN: f"belongs to another user, uid {candidate.detail}",
        PlaceVerdict.SYMLINK: "is a symbolic link, which another user may have planted",
        PlaceVerdict.SHARED: f"is open to other users ({candidate.detail})",
        PlaceVerdict.NOT_A_DIRECTORY: "is no directory",
        PlaceVerdict.NOEXEC: "nothing may be executed there (mounted noexec)",
        PlaceVerdict.FULL: "no space left",
        PlaceVerdict.READ_ONLY: "read-only file system",
        PlaceVerdict.DENIED: "this user may not write there",
    }.get(candidate.verdict, candidate.detail or "failed")


def _subject(candidate: Candidate) -> str:
    """What the reason is about: our directory there, or the one it would be in."""
    itself = candidate.verdict in (*_NOT_OURS, PlaceVerdict.SHARED)
    return printable(candidate.directory if itself else candidate.parent)


def _nowhere(
    board: Board, probe: Probe, where: Sequence[str], refused: Sequence[Candidate]
) -> BoardUnusable:
    size = f"{-(-probe.size // 1000)} kB"
    reasons = "; ".join(f"{_subject(candidate)}: {_why(candidate)}" for candidate in refused)
    message = f"{board.name}: no place for the probe ({size}): {reasons or 'no directory exists'}"
    verdicts = {candidate.verdict for candidate in refused}
    if len(where) > 1:
        remedy = f"set {DIRECTORY_VARIABLE} to a directory of the board that takes programs"
    elif PlaceVerdict.FULL in verdicts:
        remedy = f"free {size} there, or set {DIRECTORY_VARIABLE} to another directory"
    elif verdicts & {*_NOT_OURS, PlaceVerdict.SHARED}:
        remedy = f"look at it and remove it, or set {DIRECTORY_VARIABLE} to another directory"
    else:
        remedy = f"set {DIRECTORY_VARIABLE} to another directory"
    return BoardUnusable(message, remedy)


# -- places on the board ---------------------------------------------------------------------------


def candidates() -> tuple[str, ...]:
    """Where to try: only BENCHVISE_BOARD_DIR when it is set. UsageError if that is not absolute."""
    chosen = os.environ.get(DIRECTORY_VARIABLE, "")
    if not chosen:
        return _CANDIDATES
    if not chosen.startswith("/") or not chosen.isprintable():
        raise UsageError(
            f"{DIRECTORY_VARIABLE}: '{chosen}' is not an absolute path",
            "name a directory of the board, such as /var/tmp",
        )
    return (chosen,)


def find_place(board: Board, probe: Probe, where: Sequence[str]) -> list[Candidate]:
    """Looks for a place in that order; only the last candidate returned can be a good one."""
    arguments = [probe.digest, str(len(probe.files))]
    for file in probe.files:
        arguments += [file.name, str(len(file.data)), str(file.checksum)]
    return _ask(board, _FIND, [*arguments, *where])


def store_probe(board: Board, place: Candidate, probe: Probe, timeout: float) -> Candidate | None:
    """Puts the files there; the candidate with a verdict against it when that does not succeed."""
    for file in probe.files:
        size = str(len(file.data))
        result = board.run(
            [*("sh", "-c", _STORE, "sh"), *(place.directory, probe.digest, file.name, size)],
            input=file.data,
            timeout=timeout,
        )
        if result.returncode != 0:
            message = last_line(result.stderr) or "the file did not arrive whole"
            return Candidate(place.index, _verdict(message), place.parent, place.directory, message)
    return None


def clear_candidates(board: Board) -> list[Candidate]:
    """Removes what was put into the candidates; PRESENT is what is now gone."""
    return _ask(board, _REMOVE, candidates())


def _ask(board: Board, script: str, arguments: Sequence[str]) -> list[Candidate]:
    result = board.run(["sh", "-c", script, "sh", *arguments])
    lines = result.stdout.decode("utf-8", "replace").splitlines()
    seen = [answer for answer in map(_candidate, lines) if answer is not None]
    if result.returncode != 0 or len(seen) != len(lines):
        message = last_line(result.stderr) or printable(result.stdout) or "no answer"
        raise BoardUnusable(
            f"{board.name}: cannot look for a place for the probe ({message})",
            "it needs a POSIX shell with id, ls, mkdir, rmdir, rm, mv, chmod, cat and wc",
        )
    return seen


def _candidate(line: str) -> Candidate | None:
    """A line of ``tell``, or None when it is something else."""
    columns = line.split("\t", 4)
    if len(columns) != 5 or not columns[0].isdecimal() or columns[1] not in list(PlaceVerdict):
        return None
    index, verdict, parent, directory, detail = columns
    if not directory.startswith("/") or not directory.isprintable():
        return None
    kind = PlaceVerdict(verdict)
    if kind is PlaceVerdict.FAILED:
        kind = _verdict(detail)
    return Candidate(int(index), kind, parent, directory, printable(detail))


def _verdict(message: str) -> PlaceVerdict:
    """What an error message of a POSIX tool, in the C locale, stands for."""
    for phrase, verdict in (
        ("No space left", PlaceVerdict.FULL),
        ("quota exceeded", PlaceVerdict.FULL),
        ("Read-only file system", PlaceVerdict.READ_ONLY),
        ("Permission denied", PlaceVerdict.DENIED),
        ("Operation not permitted", PlaceVerdict.DENIED),
    ):
        if phrase in message:
            return verdict
    return PlaceVerdict.FAILED


# -- what runs there -------------------------------------------------------------------------------


# Written into the scripts by name, so that the board's own values are used without coming here.
_CANDIDATES = ("/tmp", "/var/tmp", "/dev/shm", "$XDG_RUNTIME_DIR", "$HOME")  # noqa: S108


# Sets $dir and says whether it is private; otherwise tells why not.
_PRIVATE = r"""
LC_ALL=C; export LC_ALL; umask 077; set -f
uid=$(id -u) || exit
tell() { printf "%s\t%s\t%s\t%s\t%s\n" "$index" "$1" "$parent" "$dir" "$2"; }
expand() {
  case $1 in
    "\$HOME") parent=$HOME;;
    "\$XDG_RUNTIME_DIR") parent=$XDG_RUNTIME_DIR;;
    *) parent=$1;;
  esac
  case $parent in /*) ;; *) return 1;; esac
  dir=${parent%/}/benchvise-$uid
}
private() {
  set -- $(ls -ldn "$dir" 2>/dev/null)
  case $1 in
    l*) tell symlink; return 1;;
    d*) ;;
    *) tell file; return 1;;
  esac
  [ "$3" = "$uid" ] || { tell foreign "$3"; return 1; }
  case $1 in drwx--[S-]---*) ;; *) tell shared "$1"; return 1;; esac
}
"""


# Arguments: digest, number of files, then name, size and checksum of each, then the candidates.
# Ends at the first that will do. That a file can be executed is tried with an empty script: a
# kernel that refuses because of noexec makes 126 of it.
_FIND = (
    _PRIVATE
    + r"""
digest=$1 count=$2 files=; shift 2
while [ "$count" -gt 0 ]; do
  files="$files $1 $2 $3"; shift 3
  count=$((count - 1))
done
intact() {
  [ -f "$1" ] && [ -x "$1" ] && [ "$(wc -c < "$1")" -eq "$2" ] || return 1
  command -v cksum >/dev/null 2>&1 || return 0
  set -- "$3" $(cksum < "$1")
  [ "$1" = "$2" ]
}
complete() {
  set -- $files
  while [ $# -gt 0 ]; do
    intact "$dir/$digest/$1" "$2" "$3" || return 1
    shift 3
  done
}
consider() {
  case $(ls -ldn "$parent/." 2>/dev/null) in
    "") tell missing; return 1;;
    ????????w[x-]*) tell open; return 1;;
  esac
  if [ ! -e "$dir" ] && [ ! -L "$dir" ]; then
    said=$(mkdir "$dir" 2>&1) || { tell failed "$(echo $said)"; return 1; }
  fi
  private || return 1
  if complete; then tell present; return 0; fi
  try=$dir/try.$$
  said=$({ echo | cat > "$try" && chmod 700 "$try" && "$try"; } 2>&1); status=$?
  rm -f "$try" 2>/dev/null
  case $status in
    0) tell usable; return 0;;
    126) tell noexec;;
    *) tell failed "$(echo $said)";;
  esac
  rmdir "$dir" 2>/dev/null
  return 1
}
index=0
for candidate do
  expand "$candidate" && consider && exit 0
  index=$((index + 1))
done
exit 0
"""
)


# Arguments: directory, digest, file name, size. The file appears under its name only whole.
_STORE = r"""
LC_ALL=C; export LC_ALL; umask 077
cd "$1" && mkdir -p "$2" && cd "$2" || exit 1
part=$3.$$.part
cat > "$part" && [ "$(wc -c < "$part")" -eq "$4" ] && chmod 700 "$part" && mv -f "$part" "$3" &&
  exit 0
rm -f "$part"; cd "$1"; rmdir "$2" 2>/dev/null; cd /; rmdir "$1" 2>/dev/null
exit 1
"""


# Arguments: candidates. Only what is known by name is removed.
_REMOVE = (
    _PRIVATE
    + r"""
index=0
for candidate do
  if expand "$candidate" && { [ -e "$dir" ] || [ -L "$dir" ]; } && private; then
    set +f
    for build in "$dir"/*; do
      rm -f "$build/bvprobe" "$build/bvio" "$build/bvlibc" "$build"/*.part && rmdir "$build"
    done 2>/dev/null
    rm -f "$dir"/try.* 2>/dev/null
    set -f
    if said=$(rmdir "$dir" 2>&1); then tell present; else tell failed "$(echo $said)"; fi
  fi
  index=$((index + 1))
done
exit 0
"""
)
