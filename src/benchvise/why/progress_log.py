"""The progress log: what a diagnosis reports while it goes on, in a file that others can follow.

A file of JSON lines beside the evidence. The first says what is being diagnosed, each other one is
an event or a write:

    {"told": "begun", "format": 1, "at": 0.0, "document": {...}}
    {"told": "trial", "at": 12.5, "trial": {...}, "replayed": false}
    {"told": "ended", "at": 80.1, "id": "0c3f...", "verdict": "explained"}

It holds nothing that the evidence and the document do not: a diagnosis that is resumed reports all
of it anew. Whoever writes it holds a lock on the file, so that a reader knows whether anybody still
does. It may be read while it is written: a last line that is not whole yet is left for the next
reading.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from benchvise.errors import UsageError
from benchvise.why.events import (
    CauseConfirmed,
    Event,
    ExperimentBegun,
    ExperimentDecided,
    FindingMade,
    GapMeasured,
    LeftOut,
    StageBegun,
    SuspectsRanked,
    TrialFailed,
    TrialTaken,
)
from benchvise.why.model import Diagnosis, Write

FILE = "told.jsonl"
FORMAT = 1

_LOCK_TRIES = 20  # looking takes a shared lock for a moment
_LOCK_SECONDS = 0.05

MOST_BYTES = 256 << 20
"""Of a file that is read; a diagnosis of a day has a hundredth of that."""

_LINE = 4 << 20


# -- writing ---------------------------------------------------------------------------------------


class Telling:
    """Writes the file. What cannot be written is not told, and disturbs nothing.

    ``so_far`` is the document of a diagnosis that has just begun; ``now`` gives the seconds since
    then, ``writes`` all that was written to the boards so far.
    """

    def __init__(
        self,
        directory: Path,
        so_far: Diagnosis,
        now: Callable[[], float],
        writes: Callable[[], Sequence[Write]],
    ) -> None:
        self._now = now
        self._writes = writes
        self._told_writes = 0
        self._descriptor = _open(directory / FILE)
        self._line("begun", {"format": FORMAT, "document": so_far.as_json()})

    def observe(self, event: Event) -> None:
        """Tells an event, after what was written to a board until then."""
        for write in self._writes()[self._told_writes :]:
            self._told_writes += 1
            self._line("write", {"write": write.as_json()})
        what, said = _told(event)
        self._line(what, said)

    def end(self, found: Diagnosis, identity: str) -> None:
        """Tells that it came to an end, and under which id the store has it (empty: it has not)."""
        self._line("ended", {"id": identity, "verdict": str(found.verdict)})

    def close(self) -> None:
        """Lets the file go. May be called more than once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _line(self, what: str, said: Mapping[str, Any]) -> None:
        if self._descriptor < 0:
            return
        line = {"told": what, "at": round(self._now(), 3), **said}
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # a line that was cut off would spoil the next one
            self.close()


def _open(path: Path) -> int:
    """The file, empty and locked; -1 where that cannot be."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return -1
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            return descriptor
        time.sleep(_LOCK_SECONDS)
    os.close(descriptor)
    return -1


def _told(event: Event) -> tuple[str, dict[str, Any]]:
    """An event's name and what is said of it."""
    match event:
        case StageBegun(stage):
            return "stage", {"stage": str(stage)}
        case FindingMade(finding):
            return "finding", {"finding": finding.as_json()}
        case SuspectsRanked(suspects, excluded):
            ranked = [suspect.as_json() for suspect in suspects]
            return "suspects", {"suspects": ranked, "excluded": dict(excluded)}
        case ExperimentBegun(purpose, question, side, blocks, most):
            asked = {"purpose": str(purpose), "question": question, "side": str(side)}
            return "asked", {**asked, "blocks": blocks, "most": most}
        case TrialTaken(trial, replayed):
            return "trial", {"trial": trial.as_json(), "replayed": replayed}
        case TrialFailed(side, flipped, reason, replayed):
            failed = {"side": str(side), "flipped": list(flipped), "reason": reason}
            return "failed", {**failed, "replayed": replayed}
        case GapMeasured(gap):
            return "gap", {"gap": gap.as_json()}
        case LeftOut(suspect, side, reason):
            return "left out", {"suspect": suspect.id, "side": str(side), "reason": reason}
        case ExperimentDecided(experiment):
            return "decided", {"experiment": experiment.as_json()}
        case CauseConfirmed(cause):
            return "cause", {"cause": cause.as_json()}


# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heading:
    """A diagnosis in a list: what it is about, and how it stands. ``document`` is as it began."""

    directory: Path
    document: Mapping[str, Any]
    running: bool
    ended: bool
    identity: str
    at: float


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that is put to a board now: ``taken`` of at first ``trials`` trials."""

    question: str
    side: str
    taken: int
    trials: int


@dataclass(slots=True)
class Told:
    """See the module. ``document`` is of the shape of ``Diagnosis.as_json``.

    ``lines`` counts what was told, ``at`` is when the last of it was, in seconds since the
    beginning. ``running`` is whether somebody still tells. ``identity`` is the diagnosis' id in the
    store, where it came to an end and is there. ``left_out`` and ``failed`` are sentences.
    """

    directory: Path
    document: dict[str, Any]
    running: bool = False
    ended: bool = False
    identity: str = ""
    stage: str = ""
    asked: Asked | None = None
    lines: int = 0
    at: float = 0.0
    left_out: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def is_told(directory: Path) -> bool:
    """Whether a diagnosis tells, or told, there."""
    return (directory / FILE).is_file()


def size(directory: Path) -> int:
    """Of the file by now, in bytes, so that a look costs next to nothing; 0 where there is none."""
    try:
        return (directory / FILE).stat().st_size
    except OSError:
        return 0


def is_running(directory: Path) -> bool:
    """Whether somebody still tells."""
    try:
        with (directory / FILE).open("rb") as file:
            return _is_held(file.fileno())
    except OSError:
        return False


def heading(directory: Path) -> Heading:
    """What a list says of a diagnosis, from the first and the last line; UsageError as ``read``."""
    path = directory / FILE
    with _opened(path) as file, _explained(path):
        running = _is_held(file.fileno())
        first = json.loads(file.readline(_LINE))
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _LINE))
        last = json.loads(file.read(_LINE).rpartition(b"\n")[0].rpartition(b"\n")[2] or b"{}")
        begun = _begun(first)
        ended = last.get("told") == "ended"
        identity = str(last["id"]) if ended else ""
        return Heading(directory, begun, running, ended, identity, float(last.get("at", 0.0)))


def read(directory: Path) -> Told:
    """What was told until now; UsageError where there is nothing, or nothing that can be read."""
    path = directory / FILE
    with _opened(path) as file, _explained(path):
        running = _is_held(file.fileno())
        lines = _lines(file.read(MOST_BYTES))
        told = Told(directory, _begun(next(lines, {})), running=running, lines=1)
        for line in lines:
            _take(told, line)
    told.document["seconds"] = told.at
    told.document["reached"] = "" if told.running or told.ended else f"it stopped: {told.stage}"
    return told


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", "is it the directory of a diagnosis?"
        ) from error


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(
            f"{path} is not what this version writes", "wait for the diagnosis' own page"
        ) from None


def _begun(line: Mapping[str, Any]) -> dict[str, Any]:
    """The document of the first line; KeyError, TypeError or ValueError where it is none."""
    if line["told"] != "begun" or line["format"] != FORMAT:
        raise ValueError("another format")
    return dict(line["document"])


def _lines(data: bytes) -> Iterator[Mapping[str, Any]]:
    whole, newline, _cut = data.rpartition(b"\n")
    for text in whole.split(b"\n") if newline else ():
        yield json.loads(text)


def _take(told: Told, line: Mapping[str, Any]) -> None:
    """Puts one line where it belongs in the document."""
    document = told.document
    told.lines += 1
    told.at = max(told.at, float(line["at"]))
    match line["told"]:
        case "stage":
            told.stage, told.asked = str(line["stage"]), None
        case "finding":
            document["findings"].append(line["finding"])
        case "suspects":
            document["suspects"], document["excluded"] = line["suspects"], line["excluded"]
        case "asked":
            # Two arms a block, or more: what is promised is the least.
            told.asked = Asked(str(line["question"]), str(line["side"]), 0, 2 * line["blocks"])
        case "trial":
            document["trials"].append(trial := line["trial"])
            # Of one that was resumed, those before it count too.
            told.at = max(told.at, float(trial["started"]) + float(trial["seconds"]))
            if (asked := told.asked) is not None:
                most = max(asked.trials, asked.taken + 1)
                told.asked = Asked(asked.question, asked.side, asked.taken + 1, most)
        case "failed":
            told.failed.append(f"{' with '.join(line['flipped']) or 'as it is'}: {line['reason']}")
        case "gap":
            document["gap"] = line["gap"]
        case "left out":
            told.left_out.append(f"{line['suspect']} on the {line['side']} side: {line['reason']}")
        case "decided":
            document["experiments"].append(line["experiment"])
            told.asked = None
        case "cause":
            document["causes"].append(line["cause"])
        case "write":
            document["writes"].append(line["write"])
        case "ended":
            told.ended, told.identity = True, str(line["id"])


def _is_held(descriptor: int) -> bool:
    """Whether whoever writes the file still does."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def tellings(root: Path, most: int = 100) -> list[Path]:
    """The directories below ``root`` in which a diagnosis tells or told, the newest name first."""
    try:
        found = sorted(root.iterdir(), reverse=True)
    except OSError:
        return []
    return [directory for directory in found[: 10 * most] if is_told(directory)][:most]
