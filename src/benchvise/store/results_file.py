"""Results that travel: runs as one file (``.bvz``), written and read without a database.

A ZIP archive, so that any tool shows what is in it:

    manifest.json             format, version, runs, what was redacted, a SHA-256 of each other part
    runs/ID.json              a run: everything of ``RunRecord``, and its snapshots
    attachments/ID/NAME       files that are kept with a run, on request

It is read with bounds and never unpacked: parts that the manifest does not name, names that are no
parts, archives that grow too large, wrong checksums and other formats are refused, in one line.
docs/reference/results-file.md describes the format for others.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import benchvise
from benchvise.documents import decode, encode
from benchvise.errors import UsageError
from benchvise.measure.model import RunRecord, RunStatus
from benchvise.state.model import Snapshot, snapshot_of
from benchvise.store.redaction import Redacted, Redactor
from benchvise.store.snapshots import Moment
from benchvise.text import Untrusted

FORMAT = 1
"""Raised when an older Benchvise could not read a file any more."""

MOST_RUNS = 1000
PART_BYTES = 256 << 20
"""Of one part, unpacked."""
FILE_BYTES = 1 << 30
"""Of all parts together, unpacked."""

_MANIFEST = "manifest.json"
_PART = re.compile(r"runs/[0-9a-f]{12}\.json|attachments/[0-9a-f]{12}/[A-Za-z0-9._-]{1,80}")
_MOMENTS: tuple[Moment, ...] = ("before", "after")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_LOCAL_ONLY = ("trace",)
"""Attachments that say where a file of this machine is."""


@dataclass(frozen=True, slots=True)
class TravellingRun:
    """A run with what belongs to it."""

    run: RunRecord
    snapshots: Mapping[Moment, Snapshot] = field(default_factory=dict)
    attachments: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """What a file holds."""

    version: str
    runs: tuple[TravellingRun, ...]
    redacted: tuple[Redacted, ...]


@dataclass(frozen=True, slots=True)
class ExportedResults:
    """What ``export --json`` prints."""

    file: str
    runs: tuple[str, ...]
    redacted: tuple[Redacted, ...]
    """What was replaced by names that mean nothing; empty with ``--private``."""


@dataclass(frozen=True, slots=True)
class ImportedResults:
    """What ``import --json`` prints."""

    file: str
    written_by: str
    """The version of Benchvise that wrote the file."""
    imported: tuple[str, ...]
    present: tuple[str, ...]
    """Runs of the file that the store had already; they stay as they are."""
    redacted: tuple[Redacted, ...]
    """What was replaced when the file was written."""


@dataclass(frozen=True, slots=True)
class _Manifest:
    format: int
    benchvise: str
    runs: tuple[str, ...]
    redacted: tuple[Redacted, ...]
    parts: Mapping[str, str]
    kind: str = "results"


# -- writing ---------------------------------------------------------------------------------------


def write_results(
    file: IO[bytes], runs: Sequence[TravellingRun], *, private: bool = False
) -> tuple[Redacted, ...]:
    """Writes runs; returns what was redacted, nothing where ``private`` keeps all.

    Attachments that are no text cannot be redacted and are left out then.
    """
    redactor = None if private else Redactor()
    parts: dict[str, str] = {}
    if redactor is not None:
        for travelling in runs:
            _learn(redactor, travelling)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, content: bytes) -> None:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content,
                             zipfile.ZIP_DEFLATED)  # fmt: skip
            parts[name] = hashlib.sha256(content).hexdigest()

        for travelling in runs:
            document = _run_document(travelling)
            if redactor is not None:
                document = redactor.document(document)
                document["run"]["id"] = travelling.run.id
            add(f"runs/{travelling.run.id}.json", _json(document))
            for name, content in travelling.attachments.items():
                kept = _attachment(name, content, redactor)
                if kept is not None:
                    add(f"attachments/{travelling.run.id}/{name}", kept)
        redacted = () if redactor is None else tuple(redactor.summary())
        manifest = _Manifest(
            FORMAT,
            benchvise.__version__,
            tuple(travelling.run.id for travelling in runs),
            redacted,
            parts,
        )
        archive.writestr(
            zipfile.ZipInfo(_MANIFEST, (1980, 1, 1, 0, 0, 0)),
            _json(encode(manifest)),
            zipfile.ZIP_DEFLATED,
        )
    return redacted


def _learn(redactor: Redactor, travelling: TravellingRun) -> None:
    """Host names first: they are replaced in texts that come before the place that tells them."""
    redactor.know_address(travelling.run.board)
    names = [travelling.run.host.get("hostname")]
    for snapshot in travelling.snapshots.values():
        redactor.know_address(snapshot.board)
        names += [
            entry.value for entry in snapshot.settings if entry.path == "/proc/sys/kernel/hostname"
        ]
    for name in names:
        if isinstance(name, str):
            redactor.know_host(name)


def _run_document(travelling: TravellingRun) -> dict[str, Any]:
    document = encode(travelling.run)
    for series, record in zip(document["series"], travelling.run.series, strict=True):
        for process, of in zip(series["processes"], record.processes, strict=True):
            for sample, measured in zip(process["samples"], of.samples, strict=True):
                if not math.isfinite(measured.value):  # JSON has no number for it
                    sample["value"] = str(measured.value)
    return {"run": document, "snapshots": encode(travelling.snapshots)}


def _attachment(name: str, content: bytes, redactor: Redactor | None) -> bytes | None:
    if name in _LOCAL_ONLY or not _PART.fullmatch(f"attachments/{'0' * 12}/{name}"):
        return None
    if redactor is None:
        return content
    try:
        return redactor.text(content.decode()).encode()
    except UnicodeDecodeError:
        return None


def _json(document: object) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


# -- reading ---------------------------------------------------------------------------------------


def read_results(file: IO[bytes], name: str) -> ResultsFile:
    """The runs of a file that is called ``name``; UsageError for one that is refused, and why."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _read(_Archive(archive))
    except _RefusedError as error:
        raise _refusal(name, str(error)) from error
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise _refusal(name, f"a part makes no sense ({error})"[:200]) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _refusal(name, f"no archive that can be read ({error})"[:200]) from error


def _refusal(name: str, why: str) -> UsageError:
    return UsageError(f"{name} is refused: {why}", "ask for a file of `benchvise export`")


class _RefusedError(Exception):
    """Why a file is refused."""


class _Archive:
    """The parts of an archive, read with bounds."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = FILE_BYTES
        infos = archive.infolist()
        self.names = [info.filename for info in infos]
        if len(set(self.names)) < len(self.names):
            raise _RefusedError("a part is there twice")
        for info in infos:
            if info.filename != _MANIFEST and not _PART.fullmatch(info.filename):
                raise _RefusedError(
                    f"it holds {Untrusted(info.filename)!s:.80}, which is no part of one"
                )
            if info.flag_bits & 1:
                raise _RefusedError("it is encrypted")
        if _MANIFEST not in self.names:
            raise _RefusedError("it has no manifest.json")

    def read(self, name: str) -> bytes:
        """A part; not more of it than fits, whatever the archive claims."""
        limit = min(PART_BYTES, self._left)
        with self._archive.open(name) as part:
            content = part.read(limit + 1)
        if len(content) > limit:
            raise _RefusedError(f"{name} has more than {limit >> 20} MiB unpacked")
        self._left -= len(content)
        return content


def _read(archive: _Archive) -> ResultsFile:
    content = json.loads(archive.read(_MANIFEST))
    if not isinstance(content, dict) or content.get("kind") != "results":
        raise _RefusedError("its manifest is none of results")
    if content.get("format") != FORMAT:
        raise _RefusedError(
            f"it has format {content.get('format')!r:.20}, and this Benchvise "
            f"({benchvise.__version__}) reads {FORMAT}; it was written by "
            f"{Untrusted(str(content.get('benchvise')))!s:.40}"
        )
    manifest = decode(_Manifest, content)
    if len(manifest.runs) > MOST_RUNS or len(set(manifest.runs)) < len(manifest.runs):
        raise _RefusedError(f"it names a run twice, or more than {MOST_RUNS}")
    if set(manifest.parts) != set(archive.names) - {_MANIFEST}:
        raise _RefusedError("its parts are not those that its manifest names")
    runs = tuple(_travelling(archive, manifest, identity) for identity in manifest.runs)
    if len(manifest.parts) != len(runs) + sum(len(travelling.attachments) for travelling in runs):
        raise _RefusedError("it has parts of runs that its manifest does not name")
    return ResultsFile(manifest.benchvise, runs, manifest.redacted)


def _travelling(archive: _Archive, manifest: _Manifest, identity: str) -> TravellingRun:
    document = json.loads(_checked(archive, manifest, f"runs/{identity}.json"))
    for sample in _samples(document["run"]):
        if isinstance(sample["value"], str):
            sample["value"] = _NOT_FINITE[sample["value"]]
    run = decode(RunRecord, document["run"])
    if run.id != identity:
        raise _RefusedError(f"the run {identity} calls itself {Untrusted(run.id)!s:.20}")
    if run.status is RunStatus.RUNNING:
        raise _RefusedError(f"the run {identity} is not finished")
    snapshots: dict[Moment, Snapshot] = {
        moment: snapshot_of(document["snapshots"][moment])
        for moment in _MOMENTS
        if moment in document["snapshots"]
    }
    prefix = f"attachments/{identity}/"
    attachments = {
        part.removeprefix(prefix): _checked(archive, manifest, part)
        for part in manifest.parts
        if part.startswith(prefix)
    }
    return TravellingRun(run, snapshots, attachments)


def _samples(run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for series in run["series"]:
        for process in series["processes"]:
            yield from process["samples"]


def _checked(archive: _Archive, manifest: _Manifest, name: str) -> bytes:
    if name not in manifest.parts:
        raise _RefusedError(f"{name} is missing")
    content = archive.read(name)
    if hashlib.sha256(content).hexdigest() != manifest.parts[name]:
        raise _RefusedError(f"{name} is damaged: its checksum is another")
    return content
