"""The other side's programs and libraries for a user's command, run on this board.

What a command runs is its programs, the interpreters of scripts, the dynamic loader and the
libraries that the loader finds for them: the board's own loader is asked (``--list``), so that its
own rules hold. Libraries of /etc/ld.so.preload are a part of their own. How they are run on the
other board is the affair of ``userland_copies``.

The other side may also be a root file system that is not running: a directory here, or an image.
Nothing of that is run; the rules of glibc's loader are followed instead, ld.so(8) (musl's are
fewer). Of libraries for certain CPUs (``glibc-hwcaps``) the plain ones are taken.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchvise.board import Board
from benchvise.errors import BenchviseError, BoardUnusable, UsageError
from benchvise.rig.images import elf
from benchvise.text import last_line, printable
from benchvise.why.benches.command_words import program_words
from benchvise.why.provenance.files import FileSource
from benchvise.why.provenance.sources import DirectoryFiles, image_files

RUN_SECONDS = 60.0
_MOST_LIBRARIES = 200
_MOST_INTERPRETERS = 4  # a script's may be a script itself

_WHERE = 'case $(command -v -- "$1") in /*) readlink -f -- "$(command -v -- "$1")";; esac'
_LIST = re.compile(r"^\s*(\S+) => (/\S+) \(0x|^\s*(/\S+) \(0x", re.M)
_ASSIGNMENT = re.compile(r"\s*(LD_LIBRARY_PATH)=(\S+)")

PRELOAD = "preload"
PRELOAD_FILE = "/etc/ld.so.preload"
LIBC = "libc"
_OF_LIBC = re.compile(
    r"(ld-linux|ld-musl|ld64|ld\.so|libc\.musl|lib(c|m|pthread|dl|rt|resolv|util|anl|mvec)\.so)\b.*"
)
"""The loader and what is built with it only go together."""


class UserlandIncomplete(Exception):  # noqa: N818
    """A command whose programs cannot be told or taken along; the message says which and why."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a closure: where it is on its board, what it holds, and the part it belongs to."""

    path: str
    digest: str
    part: str
    data: bytes = field(repr=False, default=b"")


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a command: ``word`` calls it, ``file`` is its name in the closure's directory.

    ``script`` is the name of the script that it interprets, after ``argument`` of its first line.
    ``loader`` is empty where it is linked statically.
    """

    word: str
    file: str
    loader: str
    script: str = ""
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Preloaded:
    """A library that is loaded before all others: its name in the closure's files, and the line of
    ``PRELOAD_FILE`` that names it."""

    name: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Closure:
    """All that a command runs on a board: programs, and files by the names that they ask for."""

    programs: tuple[Program, ...]
    files: Mapping[str, File]
    abi: tuple[str, int, bool]
    preloaded: tuple[Preloaded, ...] = ()

    @property
    def parts(self) -> dict[str, str]:
        """Part to the digest of its files."""
        digests: dict[str, list[str]] = {}
        for name, file in sorted(self.files.items()):
            digests.setdefault(file.part, []).append(f"{name} {file.digest}")
        return {
            part: hashlib.sha256("\n".join(lines).encode()).hexdigest()
            for part, lines in digests.items()
        }


class Programs(Protocol):
    """Where the files of a command are: a board, or a root that is not running."""

    def located(self, word: str) -> str | None:
        """The true path of a program; None where there is no file for it."""

    def read(self, path: str) -> bytes:
        """All of a file; UserlandIncomplete when it cannot be had."""

    def libraries(self, path: str, loader: str) -> Mapping[str, str]:
        """The libraries that the loader finds for a program: path by the name asked for."""

    def preload_file(self) -> str:
        """The text of ``PRELOAD_FILE``; empty where there is none."""


def closure_of(board: Board, command: str) -> Closure:
    """What a command runs there.

    UserlandIncomplete when that cannot be told, and what ``run`` raises.
    """
    return closure_in(OnBoard(board, library_path(command)), command)


def closure_in(programs: Programs, command: str) -> Closure:
    """What a command runs of these programs. UserlandIncomplete when that cannot be told."""
    reader = _Reader(programs)
    programs_or_none = [
        reader.program(word) for word in dict.fromkeys(word.text for word in program_words(command))
    ]
    files = [program for program in programs_or_none if program is not None]
    if not files or reader.abi is None:
        raise UserlandIncomplete(f"no program of '{printable(command, 80)}' is a file there")
    return Closure(tuple(files), reader.files, reader.abi, tuple(reader.preloaded.values()))


def library_path(command: str) -> str:
    """The LD_LIBRARY_PATH that a command begins with; empty without one."""
    assigned = _ASSIGNMENT.match(command)
    return assigned[2].strip("'\"") if assigned else ""


def _preload_words(text: str) -> Iterator[tuple[int, str]]:
    """The libraries that a ``PRELOAD_FILE`` names, each with its line."""
    for number, line in enumerate(text.splitlines(), 1):
        for word in re.split(r"[\s:]+", line.partition("#")[0]):
            if word:
                yield number, printable(word, 200)


class _Reader:
    """Gathers the files of one command."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._words = {
            (name := posixpath.basename(word)): Preloaded(f"{PRELOAD}/{name}", line, word)
            for line, word in _preload_words(programs.preload_file())
        }
        self.preloaded: dict[str, Preloaded] = {}
        self.files: dict[str, File] = {}
        self.abi: tuple[str, int, bool] | None = None

    def program(self, word: str) -> Program | None:
        """A program by the word that calls it; None for one that is built into the shell."""
        path = self._programs.located(word)
        if path is None:
            return None
        name, argument, script = posixpath.basename(word), "", ""
        for _ in range(_MOST_INTERPRETERS):
            data = self._add(name, path, f"program {posixpath.basename(path)}")
            if not data.startswith(b"#!"):
                break
            script = script or name
            path, argument = self._interpreter(path, data)
            name = posixpath.basename(path)
        parsed = elf.parse(data)
        if parsed is None:
            raise UserlandIncomplete(f"{path} is neither a program nor a script")
        self.abi = self.abi or parsed.abi
        loader = ""
        if parsed.interpreter:
            loader = self._libraries(path, parsed.interpreter)
        return Program(word, name, loader, script, argument)

    def _interpreter(self, path: str, data: bytes) -> tuple[str, str]:
        """What a script's first line names, and the argument it gives."""
        line = data[2:256].split(b"\n")[0].decode("utf-8", "replace").split(None, 1)
        if line and posixpath.basename(line[0]) == "env" and len(line) > 1:
            line = [line[1].split()[0]]
        interpreter = self._programs.located(line[0]) if line else None
        if interpreter is None:
            raise UserlandIncomplete(f"the interpreter of {path} is not there")
        argument = line[1].strip() if len(line) > 1 else ""
        return interpreter, printable(argument, 100)

    def _libraries(self, path: str, interpreter: str) -> str:
        """Adds the loader and what it finds for a program; the loader's name."""
        loader = self._programs.located(interpreter)
        if loader is None:
            raise UserlandIncomplete(f"{path} wants {interpreter}, which is not there")
        name = posixpath.basename(interpreter)
        self._add(name, loader, LIBC)
        libraries = self._programs.libraries(path, loader)
        for soname, library in list(libraries.items())[:_MOST_LIBRARIES]:
            if soname in self._words:
                self.preloaded[soname] = self._words[soname]
                self._add(self._words[soname].name, library, PRELOAD)
            elif soname != name and soname not in self.files:
                self._add(soname, library, LIBC if _OF_LIBC.fullmatch(soname) else soname)
        return name

    def _add(self, name: str, path: str, part: str) -> bytes:
        data = self._programs.read(path)
        self.files[name] = File(path, hashlib.sha256(data).hexdigest(), part, data)
        return data


class OnBoard:
    """The programs of a board; its own shell and loader are asked."""

    def __init__(self, board: Board, library_path: str) -> None:
        self._board = board
        # What the session preloads is the environment's, and goes with that.
        self._environment = ["LD_PRELOAD="]
        self._environment += [f"LD_LIBRARY_PATH={library_path}"] if library_path else []

    def located(self, word: str) -> str | None:
        """The true path of a program."""
        path = self._run(["sh", "-c", _WHERE, "sh", word], may_fail=True).strip()
        return path if path.startswith("/") and "\n" not in path else None

    def read(self, path: str) -> bytes:
        """All of a file; UserlandIncomplete when it cannot be had."""
        return self._bytes(["cat", "--", path], f"{path} cannot be read")

    def libraries(self, path: str, loader: str) -> Mapping[str, str]:
        """The libraries that the loader finds for a program: path by the name asked for."""
        return listed(self._run(["env", *self._environment, loader, "--list", path]))

    def preload_file(self) -> str:
        """The text of ``PRELOAD_FILE``; empty where there is none."""
        return self._run(["cat", "--", PRELOAD_FILE], may_fail=True)

    def _run(self, argv: list[str], *, may_fail: bool = False) -> str:
        what = f"{argv[-2] if len(argv) > 2 else argv[0]} fails"
        data = self._bytes(argv, what, may_fail=may_fail)
        return data.decode("utf-8", "replace")

    def _bytes(self, argv: list[str], what: str, *, may_fail: bool = False) -> bytes:
        try:
            completed = self._board.run(argv, timeout=RUN_SECONDS)
        except BoardUnusable as error:  # more than a command may say
            raise UserlandIncomplete(f"{what} ({error.message})") from error
        if completed.returncode and not may_fail:
            raise UserlandIncomplete(
                f"{what} ({last_line(completed.stderr) or completed.returncode})"
            )
        return completed.stdout if completed.returncode == 0 else b""


def listed(listing: str) -> dict[str, str]:
    """What a loader says of libraries that it would load: path by the name asked for."""
    return {
        posixpath.basename(match[1] or match[3]): match[2] or match[3]
        for match in _LIST.finditer(listing)
    }


# -- a root file system that is not running --------------------------------------------------------


_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LIBRARIES = ("/usr/local/lib", "/lib", "/usr/lib", "/lib64", "/usr/lib64")
_MULTIARCH = re.compile(r"[a-z0-9_]+-linux-(gnu|musl)\w*$")
_CONFIGURATION = ("/etc/ld.so.conf", "/etc/ld.so.conf.d/*.conf")

_MOST_BYTES = 256 << 20  # of a file: an interpreter may be large
_MOST_TEXT = 64 << 10


class RootTree(FileSource, Protocol):
    """The files of a system that can also be had whole."""

    def names(self, directory: str) -> Iterable[str]:
        """What a directory holds."""

    def located(self, path: str) -> str | None:
        """The true path of a file; None where there is none."""

    def whole(self, path: str, limit: int) -> bytes | None:
        """All of a file by its true path; None where it cannot be read or is too large."""


@contextmanager
def opened_root(path: Path) -> Iterator[RootTree]:
    """A root file system, by a directory that it lies in or an image that has it.

    UsageError when it is neither.
    """
    if path.is_dir():
        tree = DirectoryFiles(path, str(path))
        if not any(tree.names(place) for place in ("/bin", "/usr/bin", "/sbin")):
            raise UsageError(
                f"{path} has no programs (no bin, usr/bin or sbin)",
                "name the root of the good system: a directory it is unpacked to, or an image",
            )
        yield tree
        return
    try:
        with image_files(path, str(path)) as files:
            yield files
    except BenchviseError as error:
        raise UsageError(f"{path} is no root file system: {error.message}", error.remedy) from error


class InRoot:
    """The programs of a root that is not running. ``library_path`` is looked at as LD_LIBRARY_PATH
    is."""

    def __init__(self, tree: RootTree, library_path: str = "") -> None:
        self._tree = tree
        self._given = tuple(filter(None, library_path.split(":")))
        self._read: dict[str, bytes] = {}
        self._usual: tuple[str, ...] | None = None

    def located(self, word: str) -> str | None:
        """The true path of a program."""
        if "/" in word:
            return self._tree.located(word) if word.startswith("/") else None
        paths = (self._tree.located(f"{directory}/{word}") for directory in _PATH)
        return next((path for path in paths if path is not None), None)

    def read(self, path: str) -> bytes:
        """All of a file; UserlandIncomplete when it cannot be had."""
        if path not in self._read:
            data = self._tree.whole(path, _MOST_BYTES)
            if data is None:
                raise UserlandIncomplete(f"{path} cannot be read in {self._tree.name}")
            self._read[path] = data
        return self._read[path]

    def preload_file(self) -> str:
        """The text of ``PRELOAD_FILE``; empty where there is none."""
        return (self._tree.whole(PRELOAD_FILE, _MOST_TEXT) or b"").decode("utf-8", "replace")

    def libraries(self, path: str, loader: str) -> Mapping[str, str]:
        """The libraries that the loader finds for a program: path by the name asked for."""
        paths: dict[str, str] = {}
        program = elf.parse(self.read(path))
        waiting = [] if program is None else [(path, program, program.search)]
        # musl's loader has no such file.
        preloaded = (
            () if "musl" in posixpath.basename(loader) else _preload_words(self.preload_file())
        )
        for _, word in preloaded:
            library = None if program is None else self._library(word, path, program, ())
            if library is not None:  # glibc passes over those that are not there
                paths[posixpath.basename(word)] = library[0]
                waiting.append((*library, ()))
        while waiting:
            place, wants, inherited = waiting.pop(0)
            for name in wants.libraries:
                soname = posixpath.basename(name)
                if soname in paths or soname == posixpath.basename(loader):
                    continue
                library = self._library(name, place, wants, inherited)
                if library is None:
                    raise UserlandIncomplete(f"{place} wants {name}, which is not there")
                paths[soname] = library[0]
                if len(paths) < _MOST_LIBRARIES:
                    waiting.append((*library, inherited))
        return paths

    def _library(
        self, name: str, place: str, wants: elf.Elf, inherited: tuple[str, ...]
    ) -> tuple[str, elf.Elf] | None:
        """Where a library is, and what it is; one for another kind of machine is passed over."""
        if "/" in name:
            places = [name]
        else:
            own = posixpath.dirname(place)
            searched = (d.replace("${ORIGIN}", "$ORIGIN") for d in (*wants.search, *inherited))
            own_directories = [directory.replace("$ORIGIN", own) for directory in searched]
            directories = dict.fromkeys((*self._given, *own_directories, *self._directories()))
            places = [f"{directory}/{name}" for directory in directories]
        for candidate in places:
            path = self._tree.located(candidate)
            parsed = None if path is None else elf.parse(self.read(path))
            if path is not None and parsed is not None and parsed.abi == wants.abi:
                return path, parsed
        return None

    def _directories(self) -> tuple[str, ...]:
        """Where libraries are usually: as configured there, then where they are on any system."""
        if self._usual is None:
            texts = self._tree.read(_CONFIGURATION)
            lines = [line.strip() for _, text in sorted(texts.items()) for line in
                     text.decode("utf-8", "replace").splitlines()]  # fmt: skip
            configured = [line for line in lines if line.startswith("/")]
            below = [
                f"{top}/{name}"
                for top in _LIBRARIES
                for name in sorted(self._tree.names(top))
                if _MULTIARCH.match(name)
            ]
            self._usual = tuple(dict.fromkeys((*configured, *below, *_LIBRARIES)))
        return self._usual


# -- the programs that a command line names: what those start is not known -------------------------

_PROGRAMS = 8
_ASK_S = 20.0
_HASH = re.compile(rb"\\?([0-9a-f]{64})")

# Only programs that are known to say their version so, and to do nothing else.
_VERSION_WORDS = {
    **dict.fromkeys(
        ("perf", "sysbench", "iperf3", "fio", "stress-ng", "openssl", "hyperfine", "dd"),
        "--version",
    ),
    **dict.fromkeys(("python3", "python", "gcc", "cc", "curl", "wrk", "tinymembench"), "--version"),
    "hdparm": "-V",
    "ab": "-V",
}
_VERSION_WORDS |= {"openssl": "version", "wrk": "-v"}

_FIND = 'for w in "$@"; do p=$(command -v -- "$w") && printf "%s\\n" "$w $p"; done; true'
_SUM = 'sha256sum "$1" 2>/dev/null || busybox sha256sum "$1"'


def find_programs(board: Board, command: str) -> tuple[dict[str, str], dict[str, str]]:
    """The SHA-256 of the command's programs by path, and what they say of their versions.

    What the board cannot tell is not there. BoardUnreachable when contact is lost.
    """
    names = list(dict.fromkeys(word.text for word in program_words(command)))[:_PROGRAMS]
    programs: dict[str, str] = {}
    versions: dict[str, str] = {}
    if not names:
        return programs, versions
    listing = board.run(["sh", "-c", _FIND, "sh", *names], timeout=_ASK_S).stdout
    for line in listing.decode("utf-8", "replace").splitlines()[:_PROGRAMS]:
        word, _, path = printable(line, 500).partition(" ")
        if not path.startswith("/"):  # built into the shell
            continue
        digest = _HASH.match(_ask(board, ["sh", "-c", _SUM, "sh", path]))
        if digest:
            programs[path] = digest[1].decode()
        option = _VERSION_WORDS.get(word.rpartition("/")[2])
        if option:
            answer = _ask(board, [path, option]).decode("utf-8", "replace").strip()
            if answer:
                versions[path] = printable(answer.splitlines()[0], 200)
    return programs, versions


def _ask(board: Board, argv: list[str]) -> bytes:
    try:
        completed = board.run(argv, timeout=_ASK_S)
    except BoardUnusable:  # too slow, or says too much
        return b""
    return completed.stdout if completed.returncode == 0 else b""
