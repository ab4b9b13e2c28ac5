"""Recording on a board, through ``bvprobe trace``: events into the board's memory, then a file.

The recorder has a process and a connection of its own. While it records it takes orders (``stop``,
``mark``) on its standard input, and its end ends the recording, so that a host that is gone leaves
nothing behind. Nothing comes over the connection meanwhile but a line of progress now and then.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Protocol, Self, TypeAlias

from benchvise.board import messages, process
from benchvise.board.channel import AS_IN_A_LOGIN, NotAvailable, failure_of
from benchvise.board.messages import ErrorMessage
from benchvise.board.protocol import Board
from benchvise.documents import (
    JsonObject,
    computed,
    decode,
    in_json,
    object_at,
    text_at,
    texts_at,
    whole_at,
)
from benchvise.errors import BenchviseError, ProbeError, UsageError
from benchvise.output_files import open_output
from benchvise.quantities import format_clock, format_value, nanoseconds_or_none
from benchvise.text import Untrusted, last_line, printable
from benchvise.trace.clock_alignment import RoundTrip
from benchvise.trace.tracers import tracer_remedy

DEFAULT_EVENTS = ("sched", "irq", "timer")
SETS = ("sched", "irq", "timer", "power", "ipi", "workqueue", "block", "syscalls", "net")
"""Names for systems of events that belong together; others are the kernel's own."""

SILENCE_SECONDS = 60.0
"""Longer than a recorder needs between two lines, or two parts of the file."""

CONSOLE_BYTES = 4 << 20
"""Of a recording that comes over a console, at some ten kilobytes a second."""

_WORDS = f"echo; {AS_IN_A_LOGIN}"  # the empty line parts our lines from what a login shell says
_NOISE_LINES = 100
_MESSAGE = 500
_MARK_LIMIT = 900

_LOCKDOWN = "/sys/kernel/security/lockdown"
_WITHOUT_FUNCTIONS = "record without --functions, or on a kernel that is not locked down"

Observer: TypeAlias = Callable[[str, Any], None]
"""Is told ``recording``, ``progress`` and ``met`` with the line, ``said`` with one of the
command's."""


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """What is to be recorded; None and 0 stand for the recorder's own defaults.

    ``seconds`` is for how long, ``command`` what runs on the board meanwhile; without both,
    recording ends when it is stopped. ``size`` bounds the bytes of data. ``only_command`` leaves
    out what other processes do, where the board's kernel can, and marks where the command begins.
    ``functions`` are names and patterns of kernel functions; with ``graph`` their calls have ends,
    and what they call is recorded to ``depth`` calls (0: all). ``filters`` are of the kernel, each
    SYSTEM/EVENT:FILTER. With ``ring``, the newest events are kept when ``size`` is reached.
    ``until`` is the condition that ends it (``parse_condition``), ``after`` how many seconds later.
    ``tracer`` is one of the kernel's that runs meanwhile, with ``settings`` (``trace.tracers``).
    """

    events: tuple[str, ...] = DEFAULT_EVENTS
    seconds: float | None = None
    command: tuple[str, ...] = ()
    clock: str = ""
    buffer_kb: int = 0
    size: str = ""
    kallsyms: bool = True
    wall_time: bool = True
    progress_seconds: float = 1.0
    only_command: bool = False
    functions: tuple[str, ...] = ()
    graph: bool = False
    depth: int = 0
    filters: tuple[str, ...] = ()
    ring: bool = False
    until: str = ""
    after: float = 0.0
    tracer: str = ""
    settings: tuple[str, ...] = ()

    def arguments(self, *, controlled: bool, held: bool = False) -> list[str]:
        """What stands behind ``bvprobe``; ``held``: it begins when it is told to, not by itself."""
        events = ",".join(self.events)
        arguments = ["trace", "--events", events]
        arguments += ["--progress_ms", str(round(self.progress_seconds * 1000))]
        if controlled:
            arguments += ["--control", "2" if held else "1"]
        if self.seconds is not None:
            arguments += ["--for_ms", str(max(1, round(self.seconds * 1000)))]
        for name, value in (("clock", self.clock), ("size", self.size)):
            if value:
                arguments += [f"--{name}", value]
        if self.buffer_kb:
            arguments += ["--buffer_kb", str(self.buffer_kb)]
        if not self.kallsyms:
            arguments += ["--kallsyms", "off"]
        if not self.wall_time:
            arguments += ["--wall_time", "off"]
        if self.only_command:
            arguments += ["--only", "command"]
        if self.functions:
            arguments += ["--functions", ",".join(self.functions)]
        if self.tracer:
            arguments += ["--tracer", self.tracer]
        if self.settings:
            arguments += ["--settings", ";".join(self.settings)]
        if self.filters:
            arguments += ["--filter", ";".join(self.filters)]
        if self.ring:
            arguments += ["--ring", "on"]
        if self.until:
            arguments += ["--until", self.until, "--after_ms", str(round(self.after * 1000))]
        if self.graph:
            arguments += ["--graph", "on", "--depth", str(self.depth)]
        if self.command:
            arguments += ["--", *self.command]
        return arguments


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording that lies in ``path``: how it was ``begun`` and ``ended``, as the board told."""

    path: Path = field(metadata=in_json(name="file"))
    begun: JsonObject = field(default_factory=dict, metadata=in_json(name="begin"))
    ended: JsonObject = field(default_factory=dict, metadata=in_json(name="end"))

    @computed.before("begun")
    def events(self) -> int:
        """Events in the file."""
        return _count(self.ended, "events")

    @computed.before("begun")
    def lost(self) -> int:
        """Events that are not in the file although they happened: overrun, dropped, left over."""
        return _count(self.ended, "lost") + _count(self.ended, "left")

    @computed.before("begun")
    def seconds(self) -> float:
        """How long tracing was on."""
        return _count(self.ended, "recorded_ns") / 1e9

    @property
    def file_bytes(self) -> int:
        """The size of the file."""
        return _count(self.ended, "file_bytes")

    @computed.before("begun")
    def overhead(self) -> float:
        """CPU time of the recorder as a share of one CPU; what each event costs is not in it."""
        cost = object_at(self.ended, "overhead")
        wall_ns = _count(cost, "wall_ns")
        return _count(cost, "cpu_ns") / wall_ns if wall_ns else 0.0

    @property
    def reason(self) -> str:
        """Why it ended: ``time``, ``command``, ``stopped``, ``size``, ``memory``, ``signal``,
        ``condition`` or ``threshold``."""
        return text_at(self.ended, "ended")

    @property
    def overwritten(self) -> int:
        """Events that gave way to newer ones."""
        cpus = self.ended.get("per_cpu")
        lines = cpus if isinstance(cpus, list) else []
        return sum(_count(line, "overwritten") for line in lines if isinstance(line, dict))

    @property
    def met(self) -> str:
        """What met the condition, as a sentence; empty where nothing did."""
        condition = object_at(self.ended, "condition")
        at = whole_at(condition, "at_ns")
        if at is None:
            return ""
        moment = format_clock(at + (whole_at(self.ended, "wall_offset_ns") or 0))
        waited = whole_at(condition, "waited_ns")
        if waited is None:
            return f"the event occurred at {moment}"
        thread = _count(condition, "thread")
        return f"thread {thread} waited {format_value(waited, 'ns')} for a CPU, until {moment}"

    @property
    def caveats(self) -> tuple[Untrusted, ...]:
        """What must be known with it."""
        return tuple(map(Untrusted, texts_at(self.ended, "caveats")))

    @property
    def absent(self) -> tuple[Untrusted, ...]:
        """Systems of the sets asked for that the board's kernel does not have."""
        return tuple(map(Untrusted, texts_at(self.begun, "absent")))


class _Source(Protocol):
    """What the recorder says."""

    def line(self) -> bytes:
        """The next line, without its end."""

    def copy(self, size: int, to: IO[bytes]) -> None:
        """That many bytes, to a file."""


class TraceRecorder:
    """A recording under way; leaving its context ends it, on the board too.

    ``program`` is the probe on the board. With ``held``, all is prepared, and it begins when
    ``start`` says so. Raises NotAvailable with the reason where the board cannot record, UsageError
    for events that it does not have, and ProbeError.
    """

    def __init__(
        self,
        board: Board,
        program: str,
        plan: RecordingPlan,
        observe: Observer | None = None,
        *,
        held: bool = False,
    ) -> None:
        self._board = board
        self._observe = observe or (lambda _kind, _line: None)
        self._said = bytearray()
        self._traces_functions, self._tracer = bool(plan.functions), plan.tracer
        self.begun: JsonObject = {}
        arguments = [program, *plan.arguments(controlled=True, held=held)]
        child = board.spawn(["sh", "-c", _WORDS, "sh", *arguments])
        self._process = child
        self._pipes = process.Pipes(child)
        try:
            if held:
                self._await_line("ready")
            else:
                self.await_begin()
        except BaseException:
            self.close()
            raise

    @property
    def marker(self) -> str:
        """A file of the board that takes marks; empty where there is none."""
        return text_at(self.begun, "marker")

    def mark(self, text: str) -> None:
        """Puts a line of text into the trace, at this time."""
        clean = printable(text, _MARK_LIMIT)
        self._pipes.send(f"mark {clean}\n".encode())
        self._pump(0)

    def start(self) -> None:
        """Begins what was held. Returns at once; ``await_begin`` when it has begun."""
        self._pipes.send(b"start\n")
        self._pump(0)

    def await_begin(self) -> None:
        """Returns when the recording has begun. Raises what the constructor raises."""
        self.begun = self._await_line("recording")
        self._observe("recording", self.begun)

    def wait(self) -> None:
        """Returns when the recording has ended by itself."""
        self.ends_within(math.inf)

    def ends_within(self, seconds: float) -> bool:
        """Whether the recording ends by itself in so many seconds, which this waits for."""
        until = time.monotonic() + seconds
        while not self._has_ended:
            raw = self._next_line(until)
            if raw is None:
                return False
            self._take(_checked(raw))
        return True

    def round_trip(self, number: int) -> RoundTrip | None:
        """Has a mark with a number put into the trace, and says when that was.

        None where the recording has ended, or takes no marks.
        """
        sent = time.monotonic_ns()
        self._pipes.send(f"clock {number}\n".encode())
        self._pump(0)
        while not self._has_ended:
            raw = self.line()
            received = time.monotonic_ns()
            line = _checked(raw)
            if line["type"] == "clock" and text_at(line, "number") == str(number):
                return None if "mark" in line else RoundTrip(number, sent, received)
            self._take(line)
        return None

    def stop(self) -> None:
        """Ends the recording, as its time would."""
        with contextlib.suppress(BrokenPipeError):
            self._pipes.send(b"stop\n")
            self._pump(0)

    def fetch(self, path: Path) -> Recorded:
        """Takes the file once the recording has ended; under its name only whole.

        Raises OutputError when it cannot be written here.
        """
        self.wait()
        return _written(path, self._size, self, self.begun)

    def line(self) -> bytes:
        """The next line of the recorder; ProbeError where it is too long or none comes in time."""
        raw = self._next_line(math.inf)
        assert raw is not None  # noqa: S101 - or it was given up
        return raw

    def copy(self, size: int, to: IO[bytes]) -> None:
        """Writes the next ``size`` bytes of the recorder to a file."""
        buffer = self._pipes.stdout
        while size:
            if not buffer:
                self._await(time.monotonic() + SILENCE_SECONDS)
                continue
            part = bytes(buffer[:size])
            to.write(part)
            del buffer[: len(part)]
            size -= len(part)

    def close(self) -> None:
        """Ends the recorder, on the board too. May be called more than once."""
        if self._process.returncode is None:
            self._pipes.end_input()
            deadline = time.monotonic() + 5
            with contextlib.suppress(BenchviseError):
                while not self._pipes.at_end and time.monotonic() < deadline:
                    self._pump(deadline - time.monotonic())
                    self._pipes.stdout.clear()
        process.end(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _await_line(self, kind: str) -> JsonObject:
        """Reads up to a line of this type, past what a login shell has to say."""
        for _ in range(_NOISE_LINES):
            with contextlib.suppress(ValueError):
                line = messages.parse(self.line())
                if line["type"] == "error":
                    failure = failure_of(decode(ErrorMessage, line))
                    if self._traces_functions and line.get("error") == "EPERM":
                        failure = NotAvailable(
                            f"{failure}: {refusal_reason(self._board)}", _WITHOUT_FUNCTIONS
                        )
                    if self._tracer and isinstance(failure, NotAvailable):
                        remedy = tracer_remedy(self._tracer, text_at(line, "error"))
                        failure = NotAvailable(failure.message, remedy)
                    raise failure
                if line["type"] == kind:
                    return line
        raise self._failed("does not begin to record")

    @property
    def _has_ended(self) -> bool:
        return hasattr(self, "_size")

    def _take(self, line: JsonObject) -> None:
        """A line that comes while it records."""
        if line["type"] == "file":
            self._size = _count(line, "bytes")
        elif line["type"] != "clock":
            self._observe(text_at(line, "type"), line)

    def _next_line(self, until: float) -> bytes | None:
        """The next line; None where none comes until a time of ``time.monotonic``. ProbeError as
        for ``line``."""
        deadline, buffer = time.monotonic() + SILENCE_SECONDS, self._pipes.stdout
        while True:
            length = buffer.find(b"\n")
            if length > messages.LINE_LIMIT or (length < 0 and len(buffer) > messages.LINE_LIMIT):
                raise self._failed("said a line that is too long")
            if length >= 0:
                raw = bytes(buffer[:length])
                del buffer[: length + 1]
                return raw
            if time.monotonic() >= until:
                return None
            self._await(deadline, until)

    def _await(self, deadline: float, until: float = math.inf) -> None:
        """Waits for more of standard output, no longer than ``until``."""
        if self._pipes.output_at_end:
            raise self._ended()
        ready = self._pump(min(deadline, until) - time.monotonic())
        if not ready and time.monotonic() >= deadline:
            raise self._failed(f"has been silent for {SILENCE_SECONDS:g} s")

    def _pump(self, timeout: float) -> bool:
        """Serves the pipes; what a command on the board says is told line by line."""
        ready = self._pipes.pump(timeout)
        self._said += self._pipes.stderr
        self._pipes.stderr.clear()
        while (length := self._said.find(b"\n")) >= 0:
            self._observe("said", printable(bytes(self._said[:length]), _MESSAGE))
            del self._said[: length + 1]
        del self._said[: -messages.LINE_LIMIT]
        return ready

    def _ended(self) -> BenchviseError:
        process.end(self._process)
        status = self._process.returncode
        output = bytes(self._said)
        lost = self._board.contact_lost(status, output)
        if lost is not None:
            return lost
        return ProbeError(
            f"the recorder on {self._board.name} ended by itself (exit {status})"
            + (f": {last_line(output)}" if output.strip() else ""),
            "look at the board's kernel log: it may be out of memory",
        )

    def _failed(self, what: str) -> ProbeError:
        return ProbeError(f"the recorder on {self._board.name} {what}", "try it again")


def record_over_console(board: Board, program: str, plan: RecordingPlan, path: Path) -> Recorded:
    """Records on a board that has but a console: for a fixed time or a command, and little.

    What is fetched comes at some ten kilobytes a second. Raises what Recorder raises.
    """
    if plan.seconds is None and not plan.command:
        raise UsageError(
            f"{board.name}: over a console, recording cannot be stopped",
            "say for how long with --for, or give a command",
        )
    arguments = replace(plan, progress_seconds=0).arguments(controlled=False)
    result = board.run([program, *arguments], timeout=(plan.seconds or 600.0) + SILENCE_SECONDS)
    source = _Bytes(result.stdout)
    begun = _checked(source.line())
    line = _checked(source.line())
    if line["type"] != "file":
        raise ProbeError(f"the recorder on {board.name} gives no file", "try it again")
    return _written(path, _count(line, "bytes"), source, begun)


class _Bytes:
    """All that a recorder said, at once."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def line(self) -> bytes:
        """The next line, without its end."""
        return self._content.readline().rstrip(b"\n")

    def copy(self, size: int, to: IO[bytes]) -> None:
        """Writes the next ``size`` bytes to a file; ProbeError when there are fewer."""
        part = self._content.read(size)
        if len(part) < size:
            raise ProbeError("the recording came without its end", "try it again")
        to.write(part)


def _written(path: Path, size: int, source: _Source, begun: JsonObject) -> Recorded:
    """The file that a source gives, and what the recorder says behind it."""
    with open_output(path, "the trace") as file:
        source.copy(size, file)
        ended = _checked(source.line())
        if ended["type"] != "recorded":
            raise ProbeError("the recorder does not say how it ended", "try it again")
    return Recorded(path, begun, ended)


def _checked(raw: bytes) -> JsonObject:
    try:
        line = messages.parse(raw)
        error = decode(ErrorMessage, line) if line["type"] == "error" else None
    except ValueError:
        raise ProbeError(
            f"the recorder said something that is not its protocol: '{printable(raw, 60)}'",
            "see whether something else writes to the same output there",
        ) from None
    if error is not None:
        raise failure_of(error)
    return line


def _count(line: JsonObject, key: str) -> int:
    return max(whole_at(line, key) or 0, 0)


def check_events(events: Sequence[str]) -> tuple[str, ...]:
    """The names of ``--events``, each of which may hold several; UsageError for none."""
    names = tuple(name for text in events for name in text.split(",") if name)
    for name in names:
        if not all(c.isascii() and (c.isalnum() or c in "_-/:") for c in name):
            raise UsageError(
                f"'{printable(name, 60)}' is no name of events",
                f"name a set ({', '.join(SETS)}), a SYSTEM or SYSTEM/EVENT",
            )
    return names or DEFAULT_EVENTS


_WAIT = re.compile(r"wakeup(?::(?P<name>[^>]{1,15}))?>(?P<time>.+)")
_EVENT = re.compile(r"[\w-]+[/:][\w-]+", re.ASCII)


def parse_condition(text: str) -> str:
    """A condition that ends a recording, as the recorder takes it: an event, SYSTEM/EVENT, or a
    thread that waited longer for a CPU than ``wakeup>TIME`` or ``wakeup:NAME>TIME`` says.

    UsageError for what is neither.
    """
    wait = _WAIT.fullmatch(text.replace(" ", ""))
    if wait is None:
        if _EVENT.fullmatch(text):
            return text.replace(":", "/")
        raise UsageError(
            f"'{printable(text, 60)}' is no condition",
            "write 'wakeup>500us', 'wakeup:iperf3>500us' or SYSTEM/EVENT",
        )
    limit = nanoseconds_or_none(wait["time"])
    if limit is None or not 1 <= limit < 2**63:
        raise UsageError(
            f"'{printable(wait['time'], 60)}' is no time", "write 'wakeup>500us', 'wakeup>2ms'"
        )
    name = "" if wait["name"] is None else f":{wait['name']}"
    return f"wakeup{name}>{round(limit)}"


def check_filters(filters: Sequence[str]) -> tuple[str, ...]:
    """The filters of ``--filter``; UsageError for what names no event, or may not be passed on."""
    for text in filters:
        name, colon, condition = text.partition(":")
        if not colon or not condition.strip() or not re.fullmatch(r"[\w/-]+", name, re.ASCII):
            raise UsageError(
                f"'{printable(text, 60)}' is no filter of an event",
                "write SYSTEM/EVENT:FILTER, as 'sched/sched_switch:prev_pid == 0'",
            )
        if ";" in text or "\n" in text:
            raise UsageError("a filter holds no semicolon and no line end", "leave it out")
    return tuple(filters)


def refusal_reason(board: Board) -> str:
    """Why the kernel of a board refuses root a tracer of functions (EPERM), as far as it tells."""
    level = board.run(["cat", _LOCKDOWN])
    match = re.search(rb"\[(\w{1,40})\]", level.stdout)
    if level.returncode == 0 and match is not None and match[1] != b"none":
        return (
            f"it is locked down ({match[1].decode()}), as with Secure Boot or lockdown= on its "
            "command line"
        )
    state = "is not there" if match is None else "says none"
    return (
        f"not permitted, even to root; {_LOCKDOWN} {state}, so it is a security module, or a "
        "restriction that was built into this kernel"
    )


def check_functions(patterns: Sequence[str], *, graph: bool, depth: int) -> tuple[str, ...]:
    """The names and patterns of ``--functions``, each of which may hold several. UsageError for
    what is none, and for a graph of none."""
    names = tuple(name for text in patterns for name in text.split(",") if name)
    for name in names:
        if not all(c.isascii() and (c.isalnum() or c in "_.*?[]-") for c in name):
            raise UsageError(
                f"'{printable(name, 60)}' is no name of a kernel function",
                "name functions or patterns, as vfs_read or 'vfs_*'",
            )
    if (graph or depth) and not names:
        raise UsageError("a graph takes functions", "name the outermost ones with --functions")
    if depth and not graph:
        raise UsageError("--depth is how deep a graph goes", "add --graph")
    return names
