"""Where downloaded packages, built and composed images are kept: the user's own cache directory.

Everything in it can be had again; removing it is safe while nothing is being built.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from benchvise.file_locks import lock
from benchvise.user_directories import user_directory


@dataclass(frozen=True, slots=True)
class CacheDirectory:
    """One of the user's cache directories: ``$XDG_CACHE_HOME/benchvise/NAME``."""

    name: str

    @property
    def directory(self) -> Path:
        """The directory itself, made if need be."""
        path = user_directory("cache") / self.name
        path.mkdir(parents=True, exist_ok=True)
        return path

    @contextlib.contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Only one process at a time passes here with that name; the others wait."""
        locks = self.directory / "locks"
        locks.mkdir(exist_ok=True)
        with (locks / name).open("wb") as file:
            lock(file.fileno())
            yield


@contextlib.contextmanager
def fresh(target: Path) -> Iterator[Path]:
    """An empty directory that takes the name ``target`` when the block ends well.

    What is half done never has that name. An older ``target`` is replaced.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=target.parent))
    try:
        yield unfinished
        unfinished.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def digest(*parts: object) -> str:
    """A short name for what was built from these parts."""
    sha = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()[:12]


def sources(*packages: str) -> list[bytes]:
    """These packages' files, for the cache key of what they build: a change rebuilds it."""
    files = [
        file
        for package in packages
        for file in sorted(Path(str(resources.files(package))).rglob("*"))
        if file.suffix in (".py", ".txt")
    ]
    return [file.read_bytes() for file in files]
