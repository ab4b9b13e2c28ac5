"""Files of the other side that stand before a command alone, on the board that it runs on.

What a command opens and only one side has, or has otherwise, is tried like this: a copy of the
other side's file lies in a private directory, and the probe binds it over the board's own one in a
mount namespace of the command (``bind.PATH``). Nobody else sees it, and nothing is to be restored.

A file that only the other side has needs a place, and one that is to be away must not be seen: for
these the nearest directory that is there is copied, changed, and bound whole. A file that is read,
and not executed, is covered by an empty one instead, as that leaves its directory what it is. A
program whose name is a link, in a directory too large for that, is found first on ``PATH``: what
the link leads to may be other programs too (busybox). Files that not
everybody may read are not taken to another board.

Of a SQLite database the command is given a copy of the board's own with an index or statistics as
the other side's has them.

Files that a service reads when it starts are to be seen by that service, so the same copies stand
over them on the whole board (``service.file``): these are settings, which are put back.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from benchvise.board import Board
from benchvise.errors import BoardUnusable
from benchvise.state.knobs import Setting, find_knob
from benchvise.state.places import SERVICE_FILES
from benchvise.text import last_line
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.benches.userland_copies import MAKE_DIRECTORY
from benchvise.why.model import Arm, LayerMeans, Side, Suspect
from benchvise.why.suspects.places import is_at
from benchvise.why.witness.database_suspects import DATABASE, keys_of
from benchvise.why.witness.grouped import is_group
from benchvise.why.witness.opened import FILE_LAYER, OPENED_FILE, is_cache
from benchvise.why.witness.partner_suspects import SERVICE_FILE, is_service_file
from benchvise.why.witness.sqlite_files import as_other

SEARCH_PATH = "env.PATH"
"""The attribute by which programs are found first in the directories that are made here."""

_RUN_S = 60.0
_MOST_BYTES = 64 << 20
_PATH = re.compile(r"/[\w./@+-]{1,400}", re.ASCII)
_READABLE_BY_ALL = 0o004
_EXECUTABLE = 0o111
_LEAST_DEPTH = 2
_LONGEST_NAME = 255
"""Of what the probe shows as a file."""

_NOT_THERE, _TOO_LARGE = 3, 4
_READ = (
    '[ -f "$1" ] || exit 3; [ $(wc -c <"$1") -le "$2" ] || exit 4; '
    'm=$(stat -L -c %a -- "$1" 2>/dev/null) || m=644; [ -L "$1" ] && l=link || l=file; '
    'printf "%s %s\\n" "$m" "$l"; cat -- "$1"'
)
_ABSENT = 'for f in "$@"; do [ -e "$f" ] || [ -L "$f" ] || echo "$f"; done; true'
_PUT = 'mkdir -p -- "${1%/*}" && rm -f -- "$1" && cat >"$1" && chmod "$2" "$1"'
_COPY = (
    'd=${1%/*}; while [ -n "$d" ] && [ ! -d "$d" ]; do d=${d%/*}; done; [ -n "$d" ] || exit 3; '
    'd=$(readlink -f -- "$d"); n=$(du -skx -- "$d" | cut -f1); [ "$n" -le 32768 ] || exit 4; '
    'cp -a -- "$d" "$2" && printf "%s\\n" "$d"'
)


@dataclass(frozen=True, slots=True)
class _BoardFile:
    """A file of a board: what it holds, its mode, and whether its name is a link."""

    data: bytes
    mode: int
    is_link: bool

    @property
    def is_executable(self) -> bool:
        return bool(self.mode & _EXECUTABLE)


class FileSwap:
    """Gives the command of one side files of the other one. ``close`` removes the copies."""

    def __init__(self, boards: Mapping[Side, LiveBoard]) -> None:
        self._boards = boards
        self._files: dict[tuple[Side, str], _BoardFile | None] = {}
        self._places: dict[Side, tuple[int, str]] = {}
        self._made: dict[tuple[Side, int, tuple[str, ...]], Mapping[str, str]] = {}
        self._count = 0
        self._kept_there: dict[tuple[Side, str], bytes] = {}
        self.written: tuple[str, ...] = ()
        """What the command was seen to write, move or make."""

    def attributes(self, arm: Arm) -> Mapping[str, str]:
        """The attributes of the process that put the other side's files in their places.

        ArmRefused where a file cannot be had or put there.
        """
        suspects = {
            path: suspect
            for suspect in arm.flipped
            if is_file(suspect) and not suspect.id.startswith(DATABASE)
            for path in paths_of(suspect)
        }
        if not any(is_file(suspect) for suspect in arm.flipped):
            return {}
        of_databases = [s for s in arm.flipped if is_file(s) and s.id.startswith(DATABASE)]
        ids = (*suspects, *(suspect.id for suspect in of_databases))
        key = (arm.side, self._boards[arm.side].boots, tuple(sorted(ids)))
        if key not in self._made:
            self._made[key] = {
                **self._make(arm.side, suspects),
                **self._changed_databases(arm.side, of_databases),
            }
        return self._made[key]

    def _changed_databases(self, side: Side, suspects: Sequence[Suspect]) -> dict[str, str]:
        """Copies of a side's own databases with what the other one's have in these entries."""
        by_path: dict[str, list[Suspect]] = {}
        for suspect in suspects:
            by_path.setdefault(path_of(suspect), []).append(suspect)
        binds: dict[str, str] = {}
        for path, of in by_path.items():
            keys = [key for suspect in of for key in keys_of(suspect)]
            try:
                if not _PATH.fullmatch(path):
                    raise _FileRefused("its name has other characters than are sent along")
                own, other = self._file(side, path), self._file(side.other, path)
                if own is None or other is None:
                    raise _FileRefused("one side has it no more")
                place = self._new_name(side)
                self._put(side, place, replace(own, data=as_other(own.data, other.data, keys)))
            except (_FileRefused, BoardUnusable, ValueError) as problem:
                raise ArmRefused(
                    f"{self._boards[side].name}: {path} cannot be changed: {problem}",
                    "make the change there by hand and compare",
                    [suspect.id for suspect in of],
                ) from problem
            binds[f"bind.{path}"] = place
        return binds

    def service_settings(self, arm: Arm) -> dict[str, tuple[Setting, ...]]:
        """The settings that start services anew with the other side's files, by suspect.

        ArmRefused where a file cannot be had or put there, or would stand over too much.
        """
        return {
            suspect.id: tuple(self._over_own(arm.side, suspect, suspect.means))
            for suspect in arm.flipped
            if is_service_file(suspect) and isinstance(suspect.means, LayerMeans)
        }

    def _over_own(self, side: Side, suspect: Suspect, means: LayerMeans) -> Iterator[Setting]:
        service, path = means.service, means.part.removeprefix(means.service)
        key = (side, self._boards[side].boots, (path,))
        if key not in self._made:
            self._made[key] = self._make(side, {path: suspect})
        for bind, source in self._made[key].items():
            own = bind.removeprefix("bind.")
            name = f"{service},{own.replace('/', '!')},{source.replace('/', '!')}"
            problem = ""
            if bind == SEARCH_PATH or own.count("/") < _LEAST_DEPTH:
                problem = "it would stand over more than what belongs to the service"
            elif len(name) > _LONGEST_NAME:
                problem = "its name is too long for a setting"
            if problem:
                raise ArmRefused(f"{path}: {problem}", "put the file there by hand", [suspect.id])
            yield Setting(find_knob(SERVICE_FILE), "other", (f"{SERVICE_FILES}{name}",))

    def content(self, side: Side, path: str) -> bytes | None:
        """What a file holds; None where a side has none, or it cannot be read."""
        try:
            file = self._file(side, path)
        except (_FileRefused, BoardUnusable):
            return self._kept_there.get((side, path))
        return None if file is None else file.data

    def is_private(self, path: str) -> bool:
        """Whether a side has it that was read, and not everybody may read it there."""
        return any((side, path) in self._kept_there for side in Side)

    def close(self) -> None:
        """Removes the copies from boards that can still be reached."""
        for side, (boots, place) in self._places.items():
            board = self._boards[side]
            if board.boots == boots:
                board.board.run(["rm", "-rf", "--", place], timeout=_RUN_S)
        self._places.clear()
        self._made.clear()

    # -- making them -------------------------------------------------------------------------------

    def _make(self, side: Side, suspects: Mapping[str, Suspect]) -> Mapping[str, str]:
        covers: dict[str, str] = {}
        copies: dict[str, str] = {}
        search: list[str] = []
        groups = {suspect.id: suspect for suspect in suspects.values() if is_group(suspect)}
        for path in sorted(suspects, key=lambda path: path.count("/")):
            try:
                if group := groups.pop(suspects[path].id, None):
                    self._copy_of_group(side, group, copies)
                self._place_one(side, path, covers, copies, search)
            except (_FileRefused, BoardUnusable) as problem:
                raise ArmRefused(
                    f"{self._boards[side].name}: {path} of the other side cannot be put there: "
                    f"{problem}",
                    "put the file there by hand and compare",
                    [suspects[path].id],
                ) from problem
        # A directory is bound before what stands in it.
        binds = {f"bind.{path}": source for path, source in copies.items()}
        binds |= {f"bind.{path}": source for path, source in covers.items()}
        if search:
            own = self._run(side, ["sh", "-c", 'printf %s "$PATH"']).decode("utf-8", "replace")
            binds[SEARCH_PATH] = quote(":".join([*search, own]), safe="/:.@+")
        return binds

    def _place_one(
        self,
        side: Side,
        path: str,
        covers: dict[str, str],
        copies: dict[str, str],
        search: list[str],
    ) -> None:
        """``covers`` lead from a file to what is bound over it, ``copies`` from a directory;
        ``search`` are directories to find programs in."""
        if not _PATH.fullmatch(path) or "/../" in path:
            raise _FileRefused("its name has other characters than are sent along")
        own, other = self._file(side, path), self._file(side.other, path)
        inside = next((d for d in copies if path.startswith(f"{d}/")), None)
        as_a_copy = own is None or (other is None and own.is_executable)
        as_a_copy = as_a_copy or (own is not None and own.is_link and own.is_executable)
        if inside is None and not as_a_copy:
            source = self._new_name(side)
            self._put(side, source, other or _BoardFile(b"", own.mode if own else 0o644, False))
            covers[path] = source
            return
        if inside is None:
            try:
                inside = self._copy_around(side, path, copies)
            except _FileRefused:
                if own is None or other is None or not own.is_link:
                    raise
                target = self._new_name(side)
                self._put(side, f"{target}/{posixpath.basename(path)}", other)
                search.append(target)
                return
        place = f"{copies[inside]}/{posixpath.relpath(path, inside)}"
        if other is None:
            self._run(side, ["rm", "-f", "--", place])
        else:
            self._put(side, place, other)

    def _copy_of_group(self, side: Side, group: Suspect, copies: dict[str, str]) -> None:
        """Copies the directory of a group, without what of it the other side has not at all: a
        plug-in is a directory, of which the command opens a part."""
        place = path_of(group)
        inside = self._copy_around(side, f"{place}/all", copies)
        below = {path.removeprefix(f"{place}/").partition("/")[0] for path in paths_of(group)}
        parts = sorted(f"{place}/{name}" for name in below)
        absent = self._run(side.other, ["sh", "-c", _ABSENT, "sh", *parts]).decode().splitlines()
        copy = copies[inside]
        gone = [f"{copy}/{posixpath.relpath(p, inside)}" for p in parts if p in absent]
        if gone:
            self._run(side, ["rm", "-rf", "--", *gone])

    def _copy_around(self, side: Side, path: str, copies: dict[str, str]) -> str:
        """Copies the nearest directory of a path that is there; the directory."""
        target = self._new_name(side)
        inside = self._run(side, ["sh", "-c", _COPY, "sh", path, target]).decode().strip()
        if not _PATH.fullmatch(inside):
            raise _FileRefused("there is no directory for it that could be copied")
        lost = [p for p in self.written if is_at(p, inside) and not is_cache(p)]
        if lost and not is_cache(path):
            raise _FileRefused(
                f"it takes a copy of {inside}, and what the command writes there ({lost[0]}) would "
                "be lost with that"
            )
        copies.setdefault(inside, target)
        return inside

    def _put(self, side: Side, place: str, file: _BoardFile) -> None:
        self._run(side, ["sh", "-c", _PUT, "sh", place, f"{file.mode:o}"], file.data)

    def _file(self, side: Side, path: str) -> _BoardFile | None:
        """A file of a side, None where it is not there; it is read once."""
        if (side, path) not in self._files:
            self._files[side, path] = self._read(side, path)
        return self._files[side, path]

    def _read(self, side: Side, path: str) -> _BoardFile | None:
        command = ["sh", "-c", _READ, "sh", path, str(_MOST_BYTES)]
        completed = self._boards[side].board.run(command, timeout=_RUN_S)
        if completed.returncode == _NOT_THERE:
            return None
        if completed.returncode:
            why = f"it is larger than {_MOST_BYTES >> 20} MiB"
            if completed.returncode != _TOO_LARGE:
                why = last_line(completed.stderr) or "it cannot be read"
            raise _FileRefused(why)
        head, _, data = completed.stdout.partition(b"\n")
        match = re.fullmatch(rb"([0-7]{3,5}) (link|file)", head)
        mode = int(match[1], 8) if match else 0o644
        if not mode & _READABLE_BY_ALL:
            self._kept_there[side, path] = data
            raise _FileRefused("not everybody may read it, so it is not taken to another board")
        return _BoardFile(data, mode, match is not None and match[2] == b"link")

    def _new_name(self, side: Side) -> str:
        """A name in the private directory of a board; that is made anew once it has booted."""
        board = self._boards[side]
        boots, place = self._places.get(side, (-1, ""))
        if boots != board.boots:
            place = self._run(side, ["sh", "-c", MAKE_DIRECTORY]).decode().strip()
            if not _PATH.fullmatch(place):
                raise _FileRefused("there is no place to put files to on the board")
            self._places[side] = board.boots, place
        self._count += 1
        return f"{place}/{self._count}"

    def _run(self, side: Side, argv: Sequence[str], data: bytes = b"") -> bytes:
        board: Board = self._boards[side].board
        completed = board.run(argv, input=data, timeout=_RUN_S)
        if completed.returncode == _TOO_LARGE:
            raise _FileRefused("its directory is too large to be copied")
        if completed.returncode:
            raise _FileRefused(last_line(completed.stderr) or f"{argv[0]} fails")
        return completed.stdout


class _FileRefused(Exception):  # noqa: N818
    """A file that cannot be had or put; the message says why."""


def is_file(suspect: Suspect) -> bool:
    """Whether a suspect is flipped by a file of the other side."""
    return isinstance(suspect.means, LayerMeans) and suspect.means.layer == FILE_LAYER


def paths_of(suspect: Suspect) -> tuple[str, ...]:
    """The files that such a suspect is about."""
    if is_group(suspect):
        return tuple(member.removeprefix(OPENED_FILE) for member in suspect.members)
    return (path_of(suspect),)


def path_of(suspect: Suspect) -> str:
    """The file that such a suspect is about, or the directory of many."""
    assert isinstance(suspect.means, LayerMeans)  # noqa: S101 - whoever asks has asked ``is_file``
    return suspect.means.part
