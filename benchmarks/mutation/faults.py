"""The table of faults, and one of them at a time in a work tree of its own."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.draw import ROOT

TABLE = Path(__file__).with_name("faults.toml")


@dataclass(frozen=True)
class Mutant:
    """One fault. ``tests`` are those that should see it, as ``suite`` runs them, in that order.

    ``old`` stands exactly once in ``file`` (relative to the repository). ``shows`` says what a user
    would see, ``turned_down`` which faults were drawn before it and why they are not used, and
    ``survived`` which tests let it pass when the table was made, before one was written for it.
    """

    name: str
    seed: int
    area: str
    kind: str
    file: str
    old: str
    new: str
    shows: str
    tests: tuple[str, ...]
    turned_down: tuple[str, ...] = ()
    survived: tuple[str, ...] = ()

    def applied(self, source: str) -> str:
        """``source`` with the fault; ValueError unless the file has the old text exactly once."""
        if (count := source.count(self.old)) != 1:
            raise ValueError(f"{self.name}: the old text stands {count} times in {self.file}")
        return source.replace(self.old, self.new)


def faults() -> list[Mutant]:
    """All of the table, in its order."""
    records = tomllib.loads(TABLE.read_text())["fault"]
    lists = ("tests", "turned_down", "survived")
    return [
        Mutant(**{**record, **{key: tuple(record.get(key, ())) for key in lists}})
        for record in records
    ]


class WorkTree:
    """A work tree of HEAD beside the builds of the repository, with everything built in it.

    Nobody works in it, so a fault can stand in it for minutes; what an interrupted run left there
    is undone before the next begins.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        """Makes it what HEAD is, and builds it. The files of ``../shared`` are seen from it too."""
        if not (self.path / ".git").exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _run(ROOT, "git", "worktree", "prune")
            _run(ROOT, "git", "worktree", "add", "--quiet", "--detach", str(self.path))
        head = _run(ROOT, "git", "rev-parse", "HEAD").strip()
        _run(self.path, "git", "checkout", "--quiet", "--force", "--detach", head)
        shared = self.path.parent / "shared"
        if (ROOT.parent / "shared").is_dir() and not shared.exists():
            shared.symlink_to((ROOT.parent / "shared").resolve())
        self.build("install", "probe", "web")

    def build(self, *targets: str) -> None:
        """Makes targets of the Makefile; CalledProcessError when one fails."""
        _run(self.path, "make", "--silent", *targets)

    @contextmanager
    def fault(self, fault: Mutant) -> Iterator[None]:
        """The fault stands in the tree meanwhile, in the source and in what is built of it."""
        file = self.path / fault.file
        sound = file.read_text()
        file.write_text(fault.applied(sound))
        try:
            self._rebuild(fault)
            yield
        finally:
            file.write_text(sound)
            self._rebuild(fault)

    def _rebuild(self, fault: Mutant) -> None:
        by_pytest = any(test.startswith("tests/") for test in fault.tests)
        if fault.file.startswith("probe/"):
            self.build("probe")
        elif fault.file.startswith("crates/") and by_pytest:
            self.build("install")
        elif fault.file.startswith("web/") and by_pytest:
            self.build("web")


def _run(directory: Path, *command: str) -> str:
    result = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, text=True, check=True)
    return result.stdout
