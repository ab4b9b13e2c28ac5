"""Copies of one side's programs and libraries on the other board, and the command that runs them.

Copies lie in a private directory, and the command calls them through the other side's loader with
``--library-path``; that takes no root. What a program opens later (plug-ins, configuration,
locales, modules of an interpreter) and what it starts stays the board's own.

Every loader of glibc reads /etc/ld.so.preload of the board that it runs on, so copies of loaders
look elsewhere for it (``without_preload``), and are given the libraries of the side that they stand
for (``--preload``). Before copies count for anything, their loader is asked what it would load: a
swap that is not what was meant is refused, so that nothing is excluded by it.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence

from benchvise.board import Board
from benchvise.errors import BoardUnusable
from benchvise.text import last_line
from benchvise.why.benches.command_words import program_words
from benchvise.why.benches.userland import (
    PRELOAD,
    PRELOAD_FILE,
    RUN_SECONDS,
    Closure,
    File,
    Preloaded,
    Program,
    UserlandIncomplete,
    listed,
)

_NO_FILE = "/dev/null/preload"  # as long at most, and never there


def rewritten(
    command: str, closure: Closure, directory: str, preloaded: Sequence[Preloaded] = ()
) -> str:
    """The command, with its programs called in a directory where the closure's files lie, and these
    libraries loaded before all others.

    UserlandIncomplete when a program is not a word of its own in it.
    """
    calls = {}
    for program in closure.programs:
        arguments = _call(program, directory, preloaded)
        if program.script:
            arguments += [program.argument] if program.argument else []
            arguments.append(posixpath.join(directory, program.script))
        calls[program.word] = shlex.join(arguments)
    words = [word for word in program_words(command) if word.text in calls]
    for missing in calls.keys() - {word.text for word in words}:
        raise UserlandIncomplete(f"'{missing}' is quoted in the command")
    for word in reversed(words):
        command = command[: word.begin] + calls[word.text] + command[word.end :]
    return command


def _call(
    program: Program, directory: str, preloaded: Sequence[Preloaded], *options: str
) -> list[str]:
    """The words that run a program of a directory, through its loader where it has one."""
    file = posixpath.join(directory, program.file)
    if not program.loader:
        return [file]
    loader = posixpath.join(directory, program.loader)
    libraries = ":".join(posixpath.join(directory, library.name) for library in preloaded)
    first = ["--preload", libraries] if libraries else []
    return [loader, "--library-path", directory, *first, *options, file]


def without_preload(loader: bytes) -> bytes:
    """A loader that does not find the board's ``PRELOAD_FILE``; itself where it does not look for
    it."""
    own, other = (name.encode() + b"\0" for name in (PRELOAD_FILE, _NO_FILE))
    return loader.replace(own, other.ljust(len(own), b"\0"))


MAKE_DIRECTORY = (
    'for d in "${TMPDIR:-/tmp}" /var/tmp /dev/shm "$HOME"; do '
    'umask 077; p=$(mktemp -d "$d/benchvise-userland.XXXXXX" 2>/dev/null) || continue; '
    'printf "#!/bin/sh\\n" >"$p/try" && chmod 700 "$p/try" && "$p/try" 2>/dev/null && '
    '{ rm "$p/try"; printf "%s\\n" "$p"; exit 0; }; rm -rf "$p"; done; exit 1'
)
_PUT = 'umask 077; mkdir -p "${1%/*}" && cat >"$1" && chmod 700 "$1"'
_LINK = 'mkdir -p "${2%/*}" && ln -sf -- "$1" "$2"'


class Copies:
    """Directories on one board that hold a mix of two closures; ``close`` removes them."""

    def __init__(self, board: Callable[[], Board], own: Closure, other: Closure) -> None:
        self._board = board
        self._own = own
        self._other = other
        self._top = ""
        self._directories = 0
        self._made: dict[frozenset[str], str] = {}

    def command(self, command: str, parts: frozenset[str]) -> str:
        """The command with these parts as on the other side, made ready there.

        UserlandIncomplete when it cannot be made or does not run.
        """
        # Programs and how they are called belong together.
        mixed = self._mixed(any(part.startswith("program ") for part in parts))
        preloaded = (self._other if PRELOAD in parts else self._own).preloaded
        if parts not in self._made:
            directory = self._make(parts, {program.loader for program in mixed.programs})
            self._check(mixed, directory, preloaded, parts)
            self._made[parts] = directory
        return rewritten(command, mixed, self._made[parts], preloaded)

    def close(self) -> None:
        """Removes what was copied."""
        if self._top:
            self._board().run(["rm", "-rf", "--", self._top], timeout=RUN_SECONDS)
            self._top, self._made = "", {}

    def _mixed(self, foreign: bool) -> Closure:
        """Which programs, in the command's own words."""
        if not foreign:
            return self._own
        names = [program.word for program in self._own.programs]
        programs = {program.word: program for program in self._other.programs}
        if any(word not in programs for word in names):
            raise UserlandIncomplete("the command runs other programs there")
        return Closure(tuple(programs[word] for word in names), self._other.files, self._other.abi)

    def _check(
        self,
        mixed: Closure,
        directory: str,
        preloaded: Sequence[Preloaded],
        parts: frozenset[str],
    ) -> None:
        """UserlandIncomplete where a program would not load what was meant to be swapped."""
        wanted = {posixpath.basename(library.name): library.name for library in preloaded}
        for program in mixed.programs:
            if not program.loader:
                continue
            call = _call(program, directory, preloaded, "--list")
            libraries = listed(self._run(["env", "LD_PRELOAD=", *call]))
            for name, path in libraries.items():
                stays = self._stays(name, parts) == path
                is_there = path.startswith(f"{directory}/")
                if not is_there and not stays and posixpath.basename(path) != program.loader:
                    raise UserlandIncomplete(f"{name} is loaded from {path} all the same")
            if lost := [name for name in wanted if name not in libraries]:
                raise UserlandIncomplete(f"the loader does not preload {', '.join(lost)}")

    def _stays(self, name: str, parts: frozenset[str]) -> str | None:
        """Where the board has a library of its own that these parts leave as it is."""
        own, other = self._own.files.get(name), self._other.files.get(name)
        if own is None:
            return None
        is_same = other is not None and own.digest == other.digest
        return own.path if is_same or own.part not in parts else None

    def _make(self, parts: frozenset[str], loaders: Collection[str]) -> str:
        if not self._top:
            self._top = self._run(["sh", "-c", MAKE_DIRECTORY]).strip()
        if not self._top.startswith("/"):
            raise UserlandIncomplete("there is no place to put programs to on the board")
        # Never one that is there: what is written to a link goes to where it leads.
        directory = f"{self._top}/{self._directories}"
        self._directories += 1
        has_preload = bool(self._own.preloaded or self._other.preloaded)
        for name, file, is_foreign in self._chosen(parts):
            target = f"{directory}/{name}"
            if has_preload and name in loaders:
                self._run(["sh", "-c", _PUT, "sh", target], without_preload(file.data))
            elif is_foreign:
                self._run(["sh", "-c", _PUT, "sh", target], file.data)
            else:
                self._run(["sh", "-c", _LINK, "sh", file.path, target])
        return directory

    def _chosen(self, parts: frozenset[str]) -> Iterator[tuple[str, File, bool]]:
        """Each name with the file that it stands for, and whether it is the other side's."""
        for name in sorted({*self._own.files, *self._other.files}):
            own, other = self._own.files.get(name), self._other.files.get(name)
            wants = other is not None and other.part in parts
            if other is not None and (own is None or (wants and own.digest != other.digest)):
                yield name, other, True
            elif own is not None:
                yield name, own, False

    def _run(self, argv: list[str], data: bytes = b"") -> str:
        try:
            completed = self._board().run(argv, input=data, timeout=RUN_SECONDS)
        except BoardUnusable as error:
            raise UserlandIncomplete(error.message) from error
        if completed.returncode:
            raise UserlandIncomplete(last_line(completed.stderr) or f"{argv[-1]} cannot be written")
        return completed.stdout.decode("utf-8", "replace")
