"""The manifests of what is kept of traces: where they are, what they hold for, and their seal.

A manifest holds for the files of a trace as the file system describes them: their change shows
without reading them. Reading a manifest needs neither the tables nor what maps them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from benchvise.errors import TraceError
from benchvise.trace.decoder import decoder, translated
from benchvise.user_directories import user_directory

_LAYOUT = 6
"""Counted up when what stands in a manifest or its facts changes its meaning."""

_MANIFEST = "manifest"
_KEY_BYTES = 32

_DIGESTED_FILES = 64
_DIGESTED_BYTES = 64 << 10
"""Of the beginning and of the end of each of so many files."""


@dataclass(frozen=True, slots=True)
class KeptFacts:
    """What is known of a part that holds without mapping it, and the bytes that it takes."""

    facts: Mapping[str, Any]
    size: int


def kept_facts(trace: Path, part: str) -> KeptFacts | None:
    """The facts alone of a part that holds; nothing is mapped, and the trace is not read.

    None also where that would have to be read to know: its files have been touched.
    """
    for place in places(trace):
        with suppress(OSError, ValueError, KeyError):
            manifest = read_manifest(place / part)
            then: list[Stat] = [tuple(stat) for stat in manifest["signature"]]
            if manifest["version"] == version() and signature(trace) == then:
                return KeptFacts(manifest["facts"], tables_size(manifest))
    return None


def tables_size(manifest: Mapping[str, Any]) -> int:
    """The bytes that the tables of a part take."""
    return sum(entry.get("size", 0) for entry in manifest["tables"])


def places(trace: Path) -> Iterator[Path]:
    """Where parts of a trace may be, the first choice first."""
    yield trace.with_name(trace.name + CACHE_SUFFIX)
    name = hashlib.sha256(os.fsencode(trace)).hexdigest()[:32]
    yield user_directory("cache") / "traces" / name


def version() -> str:
    """What reads a manifest that says so."""
    return f"{decoder().VERSION}-{_LAYOUT}"


def content_hash(trace: Path) -> str:
    """A hash of what the trace holds; reads all of it.

    Raises:
        UsageError, TraceError: it is gone, or cannot be read any more.
    """
    with translated():
        digest: str = decoder().content_hash([str(file) for file in files_of(trace)])
    return digest


def quick_digest(trace: Path) -> str:
    """A digest by which a recording is known wherever it lies, without reading all of it.

    It is of the names (within a directory), sizes, beginnings and ends of its files, which hold the
    stamps and clocks of the recording.

    Raises:
        OSError: it is gone, or cannot be read.
    """
    digest = hashlib.sha256()
    for at, file in enumerate(files_of(trace)):
        name = "" if file == trace else str(file.relative_to(trace))
        size = file.stat().st_size
        digest.update(f"{len(os.fsencode(name))} {size} ".encode() + os.fsencode(name))
        if at >= _DIGESTED_FILES:
            continue
        with file.open("rb") as content:
            digest.update(content.read(_DIGESTED_BYTES))
            content.seek(max(_DIGESTED_BYTES, size - _DIGESTED_BYTES))
            digest.update(content.read(_DIGESTED_BYTES))
    return digest.hexdigest()


def write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest of a part, sealed, as a whole."""
    body = json.dumps(manifest).encode()
    path = directory / f".{_MANIFEST}-{secrets.token_hex(4)}"
    path.write_bytes(_seal(body) + b"\n" + body)
    path.replace(directory / _MANIFEST)


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a part; OSError, or ValueError when this user has not sealed it."""
    seal, _, body = (directory / _MANIFEST).read_bytes().partition(b"\n")
    if not hmac.compare_digest(seal, _seal(body)):
        raise ValueError("the seal is not ours")
    manifest: dict[str, Any] = json.loads(body)
    return manifest


def confined_files() -> tuple[Path, Path]:
    """Of this user's files what a confined process needs: the key of the seals, to read, and the
    directory of what is kept, to write. Both are made."""
    _key()
    kept = user_directory("cache") / "traces"
    kept.mkdir(parents=True, exist_ok=True)
    return _key_file(), kept


def _seal(body: bytes) -> bytes:
    return hmac.new(_key(), body, hashlib.sha256).hexdigest().encode()


def _key() -> bytes:
    """This user's own, made at first use; also when two programs want it at once."""
    path = _key_file()
    with suppress(FileNotFoundError):
        key = path.read_bytes()
        if len(key) == _KEY_BYTES:
            return key
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_KEY_BYTES))
    with suppress(FileExistsError):
        os.link(unfinished, path)
    Path(unfinished).unlink()
    return path.read_bytes()


def _key_file() -> Path:
    return user_directory("state") / "trace-cache.key"


# -- the files of a trace --------------------------------------------------------------------------
CACHE_SUFFIX = ".benchvise-cache"

Stat: TypeAlias = tuple[str, int, int, int]
"""A file's name within the trace, its size, when it was changed (ns), and its inode."""


def files_of(path: Path) -> list[Path]:
    """The file itself, or all files of a directory, in a fixed order; caches are left out."""
    if not path.is_dir():
        return [path]
    paths: list[Path] = []
    for directory, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.endswith(CACHE_SUFFIX))
        paths += [Path(directory, name) for name in sorted(files)]
    return [file for file in paths if file.is_file()]


def signature(path: Path) -> list[Stat]:
    """What the file system says of each file.

    Raises:
        OSError: a file cannot be looked at.
    """
    stats: list[Stat] = []
    for file in files_of(path):
        stat = file.stat()
        name = "" if file == path else str(file.relative_to(path))
        stats.append((name, stat.st_size, stat.st_mtime_ns, stat.st_ino))
    return stats


def signature_now(path: Path) -> list[Stat]:
    """The same, for who is about to read the trace.

    Raises:
        TraceError: a file cannot be looked at.
    """
    try:
        return signature(path)
    except OSError as error:
        raise TraceError(f"{error.filename}: {error.strerror}") from error


def sizes(stats: list[Stat]) -> list[tuple[str, int]]:
    """Names and sizes: when these differ, the contents do."""
    return [(name, size) for name, size, _, _ in stats]
