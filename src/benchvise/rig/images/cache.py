"""Where downloaded packages and built images are kept: the user's own cache directory.

Everything in it can be had again; removing it is safe while nothing is being built.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def directory() -> Path:
    """``$XDG_CACHE_HOME/benchvise/virtual``, made if need be."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    path = root / "benchvise" / "virtual"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Only one process at a time gets past here with that name; the others wait."""
    locks = directory() / "locks"
    locks.mkdir(exist_ok=True)
    with (locks / name).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def fresh(target: Path) -> Iterator[Path]:
    """An empty directory that takes the name ``target`` when the block ends well.

    What is half done never has that name. An older ``target`` is replaced.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=target.parent))
    try:
        yield made
        made.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def digest(*parts: object) -> str:
    """A short name for what was built from these parts."""
    sha = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()[:12]
