"""Putting the probe on a board, once, and taking it away again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from benchvise.board import place
from benchvise.board.architecture import Identity, identify
from benchvise.board.place import DIRECTORY_VARIABLE, Candidate, PlaceVerdict
from benchvise.board.probes import PROBE, Probe, load_probe, packaged_architectures
from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable
from benchvise.text import last_line, printable

__all__ = ["Deployed", "deploy", "packaged_architectures", "remove"]

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
    where = place.candidates()
    refused: list[Candidate] = []
    begin = 0
    while begin < len(where):
        seen = place.find(board, probe, where[begin:])
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
    seen = [candidate for candidate in place.remove(board) if candidate.verdict not in _NOT_OURS]
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
    sent = 0
    if chosen.verdict is PlaceVerdict.USABLE:
        failed = place.store(board, chosen, probe, _UPLOAD_SECONDS)
        if failed is not None:
            refused.append(failed)
            return None
        sent = probe.size
    path = f"{chosen.directory}/{probe.digest}/{PROBE}"
    if _prove(board, path, identity):
        return Deployed(path, identity, chosen.directory, sent)
    refused.append(Candidate(chosen.index, PlaceVerdict.NOEXEC, chosen.parent, chosen.directory))
    return None


def _prove(board: Board, path: str, identity: Identity) -> bool:
    """Runs the probe; False when it may not be executed there.

    Raises BoardUnusable when it is executed but is not what it should be.
    """
    result = board.run([path, "version"])
    if result.returncode == 0 and _is_version(result.stdout):
        return True
    said = last_line(result.stderr) or printable(result.stdout) or f"exit {result.returncode}"
    if result.returncode == 126 and "Permission denied" in said:
        return False
    if result.returncode == _SIGILL_STATUS:
        raise BoardUnusable(
            f"{board.name}: this processor lacks instructions that the {identity.arch} probe uses",
            f"uname calls it '{identity.machine}': report it with its /proc/cpuinfo",
        )
    raise BoardUnusable(
        f"{board.name}: the {identity.arch} probe does not run there ({said})",
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
        PlaceVerdict.FOREIGN: f"belongs to another user, uid {candidate.said}",
        PlaceVerdict.SYMLINK: "is a symbolic link, which another user may have planted",
        PlaceVerdict.SHARED: f"is open to other users ({candidate.said})",
        PlaceVerdict.NOT_A_DIRECTORY: "is no directory",
        PlaceVerdict.NOEXEC: "nothing may be executed there (mounted noexec)",
        PlaceVerdict.FULL: "no space left",
        PlaceVerdict.READ_ONLY: "read-only file system",
        PlaceVerdict.DENIED: "this user may not write there",
    }.get(candidate.verdict, candidate.said or "failed")


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
