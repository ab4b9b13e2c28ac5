"""The progress log: what a diagnosis reports while it goes on, in a file that others can follow.

A file of JSON lines beside the evidence. Each is an event of ``why.events``, by name and time:

    {"event": "begun", "at": 0.0, "format": 2, "diagnosis": {...}}
    {"event": "trial", "at": 12.5, "trial": {...}, "replayed": false}
    {"event": "ended", "at": 80.1, "id": "0c3f...", "verdict": "explained"}

It holds nothing that the evidence and the answer do not: a diagnosis that is resumed reports all of
it anew. Whoever writes it holds a lock on the file, so that a reader knows whether anybody still
does. It may be read while it is written: a last line that is not whole yet is left for the next
reading.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from benchvise.documents import decode, encode
from benchvise.errors import UsageError
from benchvise.file_locks import is_locked, try_lock_shortly
from benchvise.host_system import open_flags
from benchvise.state.journal import state_directory
from benchvise.why.events import (
    CauseConfirmed,
    CommandWatched,
    DiagnosisBegun,
    DiagnosisEnded,
    Event,
    ExperimentBegun,
    ExperimentDecided,
    FindingMade,
    GapMeasured,
    LeftOut,
    SettingWritten,
    StageBegun,
    SuspectsRanked,
    TrialFailed,
    TrialTaken,
)
from benchvise.why.model import Cause, Diagnosis, Experiment, Finding, Gap, Side, Trial, Write
from benchvise.why.witness.model import Witness

FILE = "progress.jsonl"
FORMAT = 2

MOST_BYTES = 256 << 20
"""Of a file that is read; a diagnosis of a day has a hundredth of that."""

_LINE = 4 << 20

_EVENTS: Mapping[str, type[Event]] = MappingProxyType(
    {
        "begun": DiagnosisBegun,
        "stage": StageBegun,
        "finding": FindingMade,
        "suspects": SuspectsRanked,
        "question": ExperimentBegun,
        "trial": TrialTaken,
        "failed": TrialFailed,
        "gap": GapMeasured,
        "watched": CommandWatched,
        "left out": LeftOut,
        "decided": ExperimentDecided,
        "cause": CauseConfirmed,
        "write": SettingWritten,
        "ended": DiagnosisEnded,
    }
)
_NAMES = {kind: name for name, kind in _EVENTS.items()}


# -- writing ---------------------------------------------------------------------------------------


class ProgressWriter:
    """Writes the file. What cannot be written is left out, and disturbs nothing.

    ``begun`` is a diagnosis of which nothing is known but what was asked; ``now`` gives the seconds
    since then, ``writes`` all that was written to the boards so far.
    """

    def __init__(
        self,
        directory: Path,
        begun: Diagnosis,
        now: Callable[[], float],
        writes: Callable[[], Sequence[Write]],
    ) -> None:
        self._now = now
        self._writes = writes
        self._written = 0
        self._descriptor = _open(directory / FILE)
        self._line(DiagnosisBegun(FORMAT, begun))

    def observe(self, event: Event) -> None:
        """Logs an event, after what was written to a board until then."""
        for write in self._writes()[self._written :]:
            self._written += 1
            self._line(SettingWritten(write))
        self._line(event)

    def end(self, answer: Diagnosis, identity: str) -> None:
        """Logs the end, and the id of the answer in the store (empty: it is not there)."""
        self._line(DiagnosisEnded(identity, answer.verdict))

    def close(self) -> None:
        """Closes and unlocks the file. May be called more than once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _line(self, event: Event) -> None:
        if self._descriptor < 0:
            return
        line = {"event": _NAMES[type(event)], "at": round(self._now(), 3), **encode(event)}
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # a line that was cut off would spoil the next one
            self.close()


def _open(path: Path) -> int:
    """The file, empty and locked; -1 where that cannot be."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | open_flags("O_CLOEXEC"), 0o666)
    except OSError:
        return -1
    with contextlib.suppress(OSError):
        if try_lock_shortly(descriptor):
            os.ftruncate(descriptor, 0)
            return descriptor
    os.close(descriptor)
    return -1


# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProgressSummary:
    """A diagnosis in a list: what it is about (``diagnosis`` as it began), and how it stands."""

    directory: Path
    diagnosis: Diagnosis
    running: bool
    ended: bool
    identity: str
    at: float


@dataclass(frozen=True, slots=True)
class CurrentQuestion:
    """The question that is put to a board now: ``taken`` of at first ``trials`` trials."""

    question: str
    side: Side
    taken: int
    trials: int


@dataclass(slots=True)
class Progress:
    """What is known so far.

    ``diagnosis`` is as far as it has got. ``lines`` counts what was logged, ``at`` is when the last
    of it was, in seconds since the beginning. ``running`` is whether somebody still writes.
    ``identity`` is the diagnosis' id in the store, where it came to an end and is there.
    ``left_out`` and ``failed`` are sentences.
    """

    directory: Path
    diagnosis: Diagnosis
    running: bool = False
    ended: bool = False
    identity: str = ""
    stage: str = ""
    question: CurrentQuestion | None = None
    lines: int = 0
    at: float = 0.0
    left_out: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def has_log(directory: Path) -> bool:
    """Whether a diagnosis has its progress log there."""
    return (directory / FILE).is_file()


def size(directory: Path) -> int:
    """Bytes of the log by now: enough to see that there is more. 0 where there is none."""
    try:
        return (directory / FILE).stat().st_size
    except OSError:
        return 0


def is_running(directory: Path) -> bool:
    """Whether somebody still writes the log."""
    try:
        with (directory / FILE).open("rb") as file:
            return _is_held(file.fileno())
    except OSError:
        return False


def summary(directory: Path) -> ProgressSummary:
    """A diagnosis as a list shows it, from the first and the last line; UsageError as ``read``."""
    path = directory / FILE
    with _opened(path) as file, _explained(path):
        running = _is_held(file.fileno())
        _, begun = _event(json.loads(file.readline(_LINE)))
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _LINE))
        at, last = _event(json.loads(file.read(_LINE).rpartition(b"\n")[0].rpartition(b"\n")[2]))
        ended = isinstance(last, DiagnosisEnded)
        identity = last.id if isinstance(last, DiagnosisEnded) else ""
        return ProgressSummary(directory, _beginning(begun), running, ended, identity, at)


def read(directory: Path) -> Progress:
    """What was logged until now; UsageError where there is nothing, or nothing that can be read."""
    path = directory / FILE
    with _opened(path) as file, _explained(path):
        running = _is_held(file.fileno())
        events = _events(file.read(MOST_BYTES))
        _, begun = next(events, (0.0, None))
        progress = Progress(directory, _beginning(begun), running=running, lines=1)
        collected = _Collected()
        for at, event in events:
            progress.lines += 1
            progress.at = max(progress.at, at)
            collected.take(event)
            _take(progress, event)
    reached = "" if running or progress.ended else f"it stopped: {progress.stage}"
    progress.diagnosis = replace(
        collected.into(progress.diagnosis), seconds=progress.at, reached=reached
    )
    return progress


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


def _event(line: Mapping[str, Any]) -> tuple[float, Event]:
    """Time and event of a line; KeyError, TypeError or ValueError where it is none."""
    return float(line["at"]), decode(_EVENTS[line["event"]], line)


def _events(data: bytes) -> Iterator[tuple[float, Event]]:
    whole, newline, _cut = data.rpartition(b"\n")
    for text in whole.split(b"\n") if newline else ():
        yield _event(json.loads(text))


def _beginning(event: Event | None) -> Diagnosis:
    if not isinstance(event, DiagnosisBegun) or event.format != FORMAT:
        raise ValueError("another format")
    return event.diagnosis


class _Collected:
    """What grows in a diagnosis, event by event."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._ranked = SuspectsRanked((), {})
        self._trials: list[Trial] = []
        self._gap: Gap | None = None
        self._witness: Witness | None = None
        self._experiments: list[Experiment] = []
        self._causes: list[Cause] = []
        self._writes: list[Write] = []

    def take(self, event: Event) -> None:
        """Puts an event where it belongs in the diagnosis."""
        match event:
            case FindingMade(finding):
                self._findings.append(finding)
            case SuspectsRanked():
                self._ranked = event
            case TrialTaken(trial):
                self._trials.append(trial)
            case GapMeasured(gap):
                self._gap = gap
            case CommandWatched(witness):
                self._witness = witness
            case ExperimentDecided(experiment):
                self._experiments.append(experiment)
            case CauseConfirmed(cause):
                self._causes.append(cause)
            case SettingWritten(write):
                self._writes.append(write)

    def into(self, diagnosis: Diagnosis) -> Diagnosis:
        """The diagnosis with what was collected."""
        return replace(
            diagnosis,
            findings=tuple(self._findings),
            suspects=self._ranked.suspects,
            excluded=self._ranked.excluded,
            trials=tuple(self._trials),
            gap=self._gap,
            witness=self._witness,
            experiments=tuple(self._experiments),
            causes=tuple(self._causes),
            writes=tuple(self._writes),
        )


def _take(progress: Progress, event: Event) -> None:
    """Takes note of what is going on now."""
    match event:
        case StageBegun(stage):
            progress.stage, progress.question = str(stage), None
        case ExperimentBegun(_, question, side, blocks):
            # Two arms a block, or more: what is promised is the least.
            progress.question = CurrentQuestion(question, side, 0, 2 * blocks)
        case TrialTaken(trial):
            # Of one that was resumed, those before it count too.
            progress.at = max(progress.at, trial.started + trial.seconds)
            if (current := progress.question) is not None:
                most = max(current.trials, current.taken + 1)
                progress.question = replace(current, taken=current.taken + 1, trials=most)
        case TrialFailed(_, flipped, reason):
            progress.failed.append(f"{' with '.join(flipped) or 'as it is'}: {reason}")
        case LeftOut(suspect, side, reason):
            progress.left_out.append(f"{suspect.id} on the {side} side: {reason}")
        case ExperimentDecided():
            progress.question = None
        case DiagnosisEnded(identity):
            progress.ended, progress.identity = True, identity


def _is_held(descriptor: int) -> bool:
    """Whether whoever writes the file still does."""
    try:
        return is_locked(descriptor)
    except OSError:
        return False


def directories() -> Path:
    """Where the directories of this host's diagnoses are, or links to them."""
    return state_directory() / "why"


def logged_directories(root: Path, most: int = 100) -> list[Path]:
    """The directories below ``root`` that have a progress log, the newest name first."""
    try:
        newest = sorted(root.iterdir(), reverse=True)
    except OSError:
        return []
    return [directory for directory in newest[: 10 * most] if has_log(directory)][:most]
