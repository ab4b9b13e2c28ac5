"""Watching a command on a board: once recorded by the kernel, once with its system calls followed.

Both run it as it is measured (``sh -c``, output discarded), from a connection like that of the
measurements. Both are bounded in time and size. What a board cannot do is in ``missing``.
"""

from __future__ import annotations

import posixpath
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.board.messages import CallMessage, ConfinementMessage, FollowedMessage
from benchvise.board.protocol import Board
from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    BoardUnusable,
    MeasurementError,
    OutputError,
    ProbeError,
    TraceError,
    UsageError,
)
from benchvise.text import NAME_LIMIT, SENTENCE_LIMIT, printable
from benchvise.trace.recording import Recorded, RecordingPlan, TraceRecorder
from benchvise.why.witness.databases import find_databases
from benchvise.why.witness.kinds import named_call, plain_name
from benchvise.why.witness.model import CallsAbout, ProcessConfinement, SideWatch, SpentTime
from benchvise.why.witness.neighbours import activities, busiest, sample
from benchvise.why.witness.own_words import own_names
from benchvise.why.witness.partners import busy_programs, find_partners
from benchvise.why.witness.path import spent_times
from benchvise.why.witness.spans import read_spans

TRACE = "recording of the kernel"
CALLS = "following of system calls"

EVENTS = ("sched", "syscalls", "irq", "block")
SIZE = "32M"
"""Of a recording; what does not fit ends it."""

LEAST_S, MOST_S = 10.0, 120.0
"""After ``TIMES`` what it takes otherwise a command is ended, within these."""

TIMES = 5.0

_RECORDINGS = 3
_DISTURBED = 0.1
"""One in which others have the CPUs for a larger part is made again; the least disturbed counts."""

_LONG_S = 5.0  # what takes longer is recorded once
_ENOUGH_S = 10.0  # after so long no more recordings are made
_GRACE_S = 30.0
CALL_LINES = 3000


@dataclass(slots=True)
class _Seen:
    """What is known so far."""

    missing: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    counts: dict[str, float] = field(default_factory=dict)
    confinements: list[ProcessConfinement] = field(default_factory=list)
    is_cut: bool = False


def watch(
    board: Board, channel: ProbeChannel, command: str, usual_s: float, trace: Path | None
) -> SideWatch:
    """Runs the command twice, and says what it did. ``usual_s`` is what it takes otherwise.

    ``trace`` is where the recording is kept. Raises BoardUnreachable, and ProbeError where the
    channel is lost.
    """
    begun = time.monotonic()
    limit_s = min(MOST_S, max(LEAST_S, TIMES * usual_s))
    seen = _Seen()
    recorded: tuple[float, tuple[SpentTime, ...]] | None = None
    followed: tuple[float, tuple[CallsAbout, ...]] | None = None
    before = sample(board)
    # A second connection may not be had where the first one is.
    with _left_out(seen, TRACE, channel, BoardUnreachable):
        recorded = _recorded(board, channel, command, usual_s, limit_s, trace, seen)
    with _left_out(seen, CALLS, channel):
        followed = _followed(channel, command, limit_s, seen)
    calls = () if followed is None else _in_one_place(board, followed[1])
    after = sample(board)
    partners = find_partners(board, calls, command, usual_s if recorded is None else recorded[0])
    return SideWatch(
        seconds=None if recorded is None else recorded[0],
        spent=() if recorded is None else recorded[1],
        followed_s=None if followed is None else followed[0],
        calls=calls,
        counts=seen.counts,
        missing=seen.missing,
        remarks=tuple(seen.remarks),
        trace=str(trace) if trace is not None and trace.exists() else "",
        cost_s=round(time.monotonic() - begun, 3),
        neighbours=activities(before, after),
        partners=(*partners, *busy_programs(board, busiest(before, after), partners)),
        names=own_names(board, command, calls),
        databases=find_databases(board, calls, partners),
        confinements=tuple(seen.confinements),
        is_cut=seen.is_cut,
    )


_POSSIBLE: tuple[type[BenchviseError], ...] = (
    *(MeasurementError, NotAvailable, ProbeError, TraceError, UsageError, OutputError),
)


@contextmanager
def _left_out(
    seen: _Seen, means: str, channel: ProbeChannel, *also: type[BenchviseError]
) -> Iterator[None]:
    """Notes why something was not possible; what ends the connection goes on to whoever asked."""
    try:
        yield
    except (*_POSSIBLE, *also) as error:
        if not channel.is_open:
            raise
        seen.missing[means] = printable(error.message, SENTENCE_LIMIT)


# -- recorded --------------------------------------------------------------------------------------


def _recorded(
    board: Board,
    channel: ProbeChannel,
    command: str,
    usual_s: float,
    limit_s: float,
    keep: Path | None,
    seen: _Seen,
) -> tuple[float, tuple[SpentTime, ...]] | None:
    if board.kind == "console":
        raise NotAvailable("it takes a second connection, and a console has but one")
    place = channel.place
    if place is None:
        raise NotAvailable("nobody knows where the probe is on the board")
    plan = RecordingPlan(
        events=EVENTS,
        seconds=limit_s,
        command=("sh", "-c", 'exec sh -c "$1" > /dev/null 2>&1', "sh", command),
        only_command=True,
        size=SIZE,
        kallsyms=False,
        progress_seconds=0.0,
    )
    best: _Recording | None = None
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="benchvise-witness-") as directory:
        for number in range(1 if usual_s > _LONG_S else _RECORDINGS):
            path = Path(directory) / f"{number}.dat"
            with TraceRecorder(board, place[1], plan) as recorder:
                recorder.wait()
                recorded = recorder.fetch(path)
            spans = read_spans(path)
            recording = _Recording(path, recorded, spans.seconds, spent_times(spans))
            if best is None or recording.disturbed < best.disturbed:
                best = recording
            if best.disturbed < _DISTURBED or time.monotonic() - begun > _ENOUGH_S:
                break
        assert best is not None  # noqa: S101 - there is at least one
        if keep is not None:
            _keep(best.path, keep)
    return (best.seconds, best.spent) if _is_whole(best.recorded, seen) else None


@dataclass(frozen=True, slots=True)
class _Recording:
    """One run that was recorded."""

    path: Path
    recorded: Recorded
    seconds: float
    spent: tuple[SpentTime, ...]

    @property
    def disturbed(self) -> float:
        """The part of its time in which others had the CPUs."""
        return sum(part.seconds for part in self.spent if part.how == "runnable") / self.seconds


def _keep(path: Path, to: Path) -> None:
    try:
        shutil.copyfile(path, to)
    except OSError as error:
        raise OutputError(f"{to} cannot be written: {error.strerror}", "make room there") from error


def _is_whole(recorded: Recorded, seen: _Seen) -> bool:
    """Whether the command was recorded to its end: a part of it tells nothing of its time."""
    ends = {
        "time": "the command was ended, as it took too long",
        "size": f"it ended at {SIZE}, before the command did",
        "memory": "it ended before the command did, as the board had no more memory for it",
    }
    if recorded.lost:
        seen.remarks.append(f"{recorded.lost} events were lost while the command was recorded")
    if "syscalls" in map(str, recorded.absent):
        seen.missing["system calls in the recording"] = (
            "this kernel does not record system calls (CONFIG_FTRACE_SYSCALLS)"
        )
    if recorded.reason not in ends:
        return True
    seen.missing[TRACE] = ends[recorded.reason]
    return False


# -- followed --------------------------------------------------------------------------------------


def _followed(
    channel: ProbeChannel, command: str, limit_s: float, seen: _Seen
) -> tuple[float, tuple[CallsAbout, ...]]:
    calls: list[CallsAbout] = []
    architecture = channel.ready.arch
    end: FollowedMessage | None = None
    words = ["follow", "--run", command, "--limit_ms", str(round(limit_s * 1000))]
    for message in channel.request(words, silence_timeout=limit_s + _GRACE_S):
        if isinstance(message, CallMessage) and len(calls) < CALL_LINES:
            calls.append(
                CallsAbout(
                    plain_name(named_call(printable(message.name, NAME_LIMIT), architecture)),
                    plain_path(printable(message.target)),
                    max(0, message.count),
                    max(0, message.errors),
                    max(0, message.ns) / 1e9,
                    max(0, message.longest_ns) / 1e9,
                    message.errno,
                )
            )
        elif isinstance(message, ConfinementMessage):
            values = {key: printable(value, NAME_LIMIT) for key, value in message.values.items()}
            seen.confinements.append(
                ProcessConfinement(plain_path(printable(message.program)), values)
            )
        elif isinstance(message, FollowedMessage):
            end = message
    if end is None:
        raise ProbeError("the command was followed, and its end is not told", "try it again")
    if end.ended == "time":
        seen.remarks.append("the command was ended while it was followed, as it took too long")
    elif end.status:
        seen.remarks.append(f"the command ended with {end.status} while it was followed")
    seen.is_cut = len(calls) >= CALL_LINES or end.lost > 0
    if end.lost:
        seen.remarks.append(f"{end.lost} of {end.calls} system calls are in no sum")
    seen.counts |= {
        "faults_minor": float(end.faults_minor),
        "faults_major": float(end.faults_major),
        "processes": float(end.tasks),
        "system_calls": float(end.calls),
        "bytes_read": 512.0 * end.blocks_read,
        "bytes_written": 512.0 * end.blocks_written,
    }
    return end.wall_ns / 1e9, merged(calls)


def plain_path(target: str) -> str:
    """A path from the root without ``.``, ``..`` and doubled slashes, so that one place has one
    name; anything else as it is."""
    if not target.startswith("/") or not ("/." in target or "//" in target):
        return target
    return f"/{posixpath.normpath(target).lstrip('/')}"


def _in_one_place(board: Board, calls: Sequence[CallsAbout]) -> tuple[CallsAbout, ...]:
    """The calls by the places that directories of the system lead to: where /bin is a link to
    /usr/bin, which of the two is first on PATH is no difference. Raises BoardUnreachable."""
    links: dict[str, str] = {}
    with suppress(BoardUnusable):
        done = board.run(["sh", "-c", _LEAD], timeout=_LEAD_S)
        lines = (line.split(" ") for line in done.stdout.decode("utf-8", "replace").splitlines())
        links = {line[0]: line[1] for line in lines if len(line) == 2 and line[1].startswith("/")}
    return merged(replace(call, target=_led(call.target, links)) for call in calls)


_LEAD = (
    "for d in /bin /sbin /lib /lib32 /lib64 /libx32 /usr/sbin; do "
    '[ -L "$d" ] && echo "$d $(readlink -f "$d")"; done; true'
)
_LEAD_S = 20.0


def _led(target: str, links: Mapping[str, str]) -> str:
    first = next((d for d in links if target.startswith(f"{d}/")), None)
    return target if first is None else f"{links[first]}{target.removeprefix(first)}"


def merged(calls: Iterable[CallsAbout]) -> tuple[CallsAbout, ...]:
    """The calls, those of one name about one thing as one, in their order."""
    sums: dict[tuple[str, str], CallsAbout] = {}
    for call in calls:
        key = call.name, call.target
        before = sums.get(key)
        sums[key] = (
            call
            if before is None
            else CallsAbout(
                *key,
                before.count + call.count,
                before.errors + call.errors,
                before.seconds + call.seconds,
                max(before.longest_s, call.longest_s),
                before.errno or call.errno,
            )
        )
    return tuple(sums.values())
