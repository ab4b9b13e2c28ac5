"""The layer ``userland`` of two sides, for a user's command: whole, and file by file.

Either both are live boards, or the good side's programs come from a root file system that is not
running (``userland_root``). Then they run on the bad board, also where the good side itself is
measured: it is that board with these programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchvise.errors import BoardUnusable, MeasurementError
from benchvise.measure.model import SeriesSpec
from benchvise.text import Untrusted, last_line
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.benches.userland import (
    LIBC,
    PRELOAD,
    PRELOAD_FILE,
    Closure,
    InRoot,
    RootTree,
    UserlandIncomplete,
    closure_in,
    closure_of,
    library_path,
)
from benchvise.why.benches.userland_copies import Copies
from benchvise.why.model import (
    NOT_KNOWN,
    Arm,
    Finding,
    Grade,
    Layer,
    LayerMeans,
    Origin,
    Side,
    Suspect,
    Term,
)

USERLAND = "userland"
_HASH_DIGITS = 12  # digits of a hash
_TRY_S = 600.0
_TRIES = 3  # a command may fail now and then whatever programs it has

_UNKNOWN_POINTS = -6.0

_TITLE = "the programs and libraries that the command runs"
_PRELOAD_TITLE = f"the libraries that {PRELOAD_FILE} names"
_LEFT_BEHIND = (
    "of the other side's userland, programs and the libraries that the loader finds for them were "
    "taken; configuration files, locales, plug-ins, an interpreter's modules and whatever these "
    "programs start stayed the board's, with what its /etc/ld.so.preload names"
)

_TERMS = {
    "program": Term("part", 1.0, "it is what the command runs"),
    LIBC: Term("part", 0.0, "every program uses it"),
    "library": Term("part", 0.5, "the command runs code of it"),
    PRELOAD: Term("part", 2.0, "it stands in for functions of every program"),
}


class UserlandSwap:
    """Runs a command of one side with the other one's programs and libraries.

    ``root`` has the good side's where that is no board of its own. Nothing is read until it is
    asked for. ``close`` removes what was copied.
    """

    def __init__(
        self, boards: Mapping[Side, LiveBoard], command: str, root: RootTree | None = None
    ) -> None:
        self._boards = boards
        self._command = command
        self._root = root
        self._closures: dict[Side, Closure] = {}
        self._copies: dict[Side, tuple[int, Copies]] = {}
        self._tried: set[tuple[Side, str]] = set()

    def layers(self) -> list[Suspect]:
        """The userland as a whole, if it differs; without means where it cannot be taken along."""
        why_not = ""
        try:
            good, bad = (self._closure(side) for side in (Side.GOOD, Side.BAD))
        except UserlandIncomplete as error:
            return [_whole(NOT_KNOWN, NOT_KNOWN, str(error))]
        if good.abi != bad.abi:
            why_not = f"the boards are of different kinds: {good.abi[0]} and {bad.abi[0]}"
        elif good.parts == bad.parts:
            return []
        elif len(only := self.parts()) == 1 and len(_differing(good, bad)) == 1:
            return only  # known by its digest: whether it is the userland at all need not be asked
        return [_whole(_closure_summary(good, bad), _closure_summary(bad, good), why_not)]

    def parts(self) -> list[Suspect]:
        """The files of the closures that differ, loader and C library as one."""
        good, bad = self._closure(Side.GOOD), self._closure(Side.BAD)
        first, other = good.parts, bad.parts
        return [
            Suspect(
                f"{USERLAND}:{part}",
                _PRELOAD_TITLE if part == PRELOAD else f"{part} that the command runs",
                Layer.LIBC if part == LIBC else Layer.USERLAND,
                USERLAND,
                _file(good, part),
                _file(bad, part),
                (f"{USERLAND}:{part}",),
                means=LayerMeans(USERLAND, part),
                terms=(_TERMS[_kind(part)],),
            )
            for part in sorted(({*first} & {*other}) | ({PRELOAD} & {*first, *other}))
            if first.get(part) != other.get(part)
        ]

    def spec(self, arm: Arm, spec: SeriesSpec) -> SeriesSpec:
        """What is measured for an arm: the same, with the command as it is swapped there.

        The first time, it is run once to see that it works. ArmRefused when it does not.
        """
        chosen = [s for s in arm.flipped if is_userland(s)]
        place = arm.side if self._root is None else Side.BAD
        if place is arm.side and not chosen:
            return spec
        try:
            own, other = self._closure(place), self._closure(place.other)
            names = {s.means.part for s in chosen if isinstance(s.means, LayerMeans)}
            every = frozenset((*own.parts, *other.parts))
            parts = every if "" in names else frozenset(names)
            if place is not arm.side:  # the good side is the bad board with what is not flipped
                parts = every - parts
            if not parts:
                return spec
            command = self._copied(place, own, other).command(self._command, parts)
            self._try(place, command)
        except UserlandIncomplete as error:
            if not chosen:
                raise MeasurementError(
                    f"the programs of {self.root_name} do not run on "
                    f"{self._boards[place].name}: {error}",
                    "name a root file system for this kind of board that has the command",
                ) from error
            raise ArmRefused(
                f"{self._boards[place].name}: the other side's programs do not run there: {error}",
                "swap the root file system of an image instead",
                [s.id for s in chosen] if len(chosen) == 1 else (),
            ) from error
        params = tuple((k, command if k == "run" else value) for k, value in spec.params)
        return replace(spec, params=params)

    @property
    def root_name(self) -> str:
        """What the user calls the good side's root file system."""
        return "" if self._root is None else self._root.name

    def programs(self) -> dict[str, str]:
        """The SHA-256 of the good side's programs by path, where they are of a root."""
        try:
            closure = self._closure(Side.GOOD)
        except UserlandIncomplete:
            return {}
        files = (closure.files[program.file] for program in closure.programs)
        return {file.path: file.digest for file in files}

    def origins(self, side: Side, suspect: Suspect) -> list[Origin]:
        """The files on that side."""
        part = suspect.means.part if isinstance(suspect.means, LayerMeans) else ""
        closure = self._closure(side)
        named = [
            Origin(side, "ld.so.preload", Untrusted(PRELOAD_FILE), library.line,
                   Untrusted(library.text))
            for library in closure.preloaded
            if part in ("", PRELOAD)
        ]  # fmt: skip
        return named + [
            Origin(side, "file", Untrusted(file.path), 0, Untrusted(f"SHA-256 {file.digest}"))
            for _, file in sorted(closure.files.items())
            if part in ("", file.part) and closure.parts[file.part]
            != self._closure(side.other).parts.get(file.part)
        ]  # fmt: skip

    def findings(self) -> list[Finding]:
        """What was not taken along, once something was."""
        if not self._copies:
            return []
        return [Finding("userland in part", Grade.NOTES, _LEFT_BEHIND)]

    def close(self) -> None:
        """Removes the copies from boards that can still be reached."""
        for side, (boots, copies) in self._copies.items():
            if self._boards[side].boots == boots:
                copies.close()
        self._copies.clear()

    def _closure(self, side: Side) -> Closure:
        if side not in self._closures:
            if side is Side.GOOD and self._root is not None:
                programs = InRoot(self._root, library_path(self._command))
                self._closures[side] = closure_in(programs, self._command)
            else:
                self._closures[side] = closure_of(self._boards[side].board, self._command)
        return self._closures[side]

    def _copied(self, side: Side, own: Closure, other: Closure) -> Copies:
        """The copies on a board; made anew once it has booted, as they may be gone."""
        board = self._boards[side]
        boots, copies = self._copies.get(side, (-1, None))
        if copies is None or boots != board.boots:
            copies = Copies(lambda: board.board, own, other)
            self._copies[side] = board.boots, copies
        return copies

    def _try(self, side: Side, command: str) -> None:
        if (side, command) in self._tried:
            return
        for _ in range(_TRIES):
            try:
                completed = self._boards[side].board.run(["sh", "-c", command], timeout=_TRY_S)
            except BoardUnusable as error:
                raise UserlandIncomplete(error.message) from error
            if completed.returncode == 0:
                self._tried.add((side, command))
                return
        raise UserlandIncomplete(last_line(completed.stderr) or f"exit {completed.returncode}")


def is_userland(suspect: Suspect, *, whole: bool = False) -> bool:
    """Whether a suspect is flipped by running other programs; with ``whole``: by all of them."""
    means = suspect.means
    is_layer = isinstance(means, LayerMeans) and means.layer == USERLAND
    return is_layer and not (whole and isinstance(means, LayerMeans) and means.part)


def _whole(good: str, bad: str, why_not: str) -> Suspect:
    means = None if why_not else LayerMeans(USERLAND)
    term = Term("layer", 1.0, "it differs")
    if good == NOT_KNOWN:
        term = Term("layer", _UNKNOWN_POINTS, "whether it differs is not known")
    return Suspect(
        USERLAND, _TITLE, Layer.USERLAND, USERLAND, good, bad,
        means=means, untestable=why_not, terms=(term,),
    )  # fmt: skip


def _closure_summary(closure: Closure, other: Closure) -> str:
    """How many files, and which parts are not as on the other side."""
    differ = [part for part in closure.parts if part in _differing(closure, other)]
    return f"{len(closure.files)} files, its own: {', '.join(differ[:4]) or 'none'}"


def _differing(closure: Closure, other: Closure) -> set[str]:
    """The parts that are not the same in both."""
    first, second = closure.parts, other.parts
    return {part for part in {*first, *second} if first.get(part) != second.get(part)}


def _file(closure: Closure, part: str) -> str:
    """The largest file of a part, with the beginning of its hash."""
    file = max(
        (file for file in closure.files.values() if file.part == part),
        key=lambda file: len(file.data),
        default=None,
    )
    if file is None:
        return "none"
    return f"{file.path} {file.digest[:_HASH_DIGITS]}"


def _kind(part: str) -> str:
    if part in (LIBC, PRELOAD):
        return part
    return "program" if part.startswith("program ") else "library"
