"""The phases of a boot as a console shows them, and watching it until it is certain how it ends.

``Timeline`` takes bytes and knows phases, prompts and failures, in seconds since power on;
``watch`` reads a console into it and decides when to stop.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchvise.rig.boot.patterns import PHASES, BootPattern, BootPatterns, Prompt, own_patterns
from benchvise.rig.console.lines import ConsoleLine, LineSplitter, LineWriter
from benchvise.rig.console.quality import Quality
from benchvise.rig.console.recorder import POWER_ON, read_log
from benchvise.text import NO_TEXT, Untrusted

_LINES_KEPT = 400
_EVENTS_KEPT = 1000
_NS = 1_000_000_000

# The supply's rise is often read as these by the serial adapter: the board has not said a word.
_SILENT_BYTES = b"\x00\xff"


@dataclass(frozen=True, slots=True)
class BootEvent:
    """A pattern that was seen: when, in seconds since power on, and in which text.

    ``line`` counts the lines that were complete before, ``phase`` is the one that had been
    reached then, the pattern's own included, and ``start`` the start of the board, from 0.
    """

    pattern: BootPattern
    at_s: float
    line: int
    text: str
    phase: str
    start: int


class Timeline:
    """Takes what a console says, in any pieces, and tells the phases of the boot.

    ``power_on_ns`` is the host's monotonic time when power was switched on; what was received
    before is not of this boot. A phase has the time of the piece that it was seen in, so pieces
    should be read as they come. If a board starts over by itself, ``restarts`` counts it, and the
    phases are those of its last start; ``furthest`` is the latest that any start reached.
    """

    def __init__(self, power_on_ns: int, patterns: BootPatterns | None = None) -> None:
        self.power_on_ns = power_on_ns
        self.patterns = patterns or own_patterns()
        self.phases: dict[str, float] = {PHASES[0]: 0.0}
        self.events: list[BootEvent] = []
        self.lines: deque[ConsoleLine] = deque(maxlen=_LINES_KEPT)
        self.line_count = 0
        self.byte_count = 0
        self.restarts = 0
        self.furthest = PHASES[0]
        self.last_byte_s: float | None = None
        self.quality = Quality(self.patterns.phrases)
        self._splitter = LineSplitter()
        self._seen: set[str] = set()
        self._banners: set[str] = set()
        self._now = 0.0

    def feed(self, at_ns: int, data: bytes) -> None:
        """Takes what was received at ``at_ns``, in monotonic nanoseconds of the host."""
        if not data or at_ns < self.power_on_ns:
            return
        self._now = max(self._now, (at_ns - self.power_on_ns) / _NS)
        if PHASES[1] not in self.phases:
            data = data.lstrip(_SILENT_BYTES)
            if not data:
                return
            self._reach(PHASES[1])
        self.byte_count += len(data)
        self.last_byte_s = self._now
        for line in self._splitter.feed(data):
            self._line(line)
        self._prompts(self._splitter.open)

    def reached(self, phase: str, at_ns: int) -> None:
        """Notes a phase that the host knows of: ``shell`` after its own login, ``network``."""
        if phase not in PHASES:
            raise ValueError(f"'{phase}' is no phase")
        self._now = max(self._now, (at_ns - self.power_on_ns) / _NS)
        self._reach(phase)

    @property
    def phase(self) -> str:
        """The phase that was reached last."""
        return next(reversed(self.phases))

    @property
    def open(self) -> str:
        """What stands on the line that is not at its end, without the kernel's part."""
        return self._splitter.open

    @property
    def junk(self) -> float:
        """The share of what came in that no sound console sends, 0 to 1."""
        return self._splitter.junk / self._splitter.characters if self._splitter.characters else 0.0

    @property
    def prompt(self) -> BootPattern | None:
        """The prompt that the board stands at, if nothing but white space follows it."""
        text = self._splitter.open
        for pattern in self.patterns.prompts:
            for match in pattern.regex.finditer(text):
                if not text[match.end() :].strip():
                    return pattern
        return None

    @property
    def kind_of_prompt(self) -> Prompt | None:
        """Who waits at the prompt that the board stands at."""
        pattern = self.prompt
        return pattern.prompt if pattern is not None else None

    @property
    def last_lines(self) -> list[ConsoleLine]:
        """The last lines, the open one among them."""
        return [*self.lines, *self._splitter.pending]

    @property
    def last_text(self) -> str:
        """The last line that says anything, as it was shown; empty when there is none."""
        for line in reversed(self.last_lines):
            if line.stamped.strip():
                return line.stamped.strip()
        return ""

    def settle(self) -> None:
        """Takes the open line as complete: nothing more is awaited."""
        for line in self._splitter.pending:
            self._match(line)

    def _line(self, line: ConsoleLine) -> None:
        if line.writer is LineWriter.FRAGMENT:
            self._prompts(line.text)
            return
        self._match(line)
        if line.writer is LineWriter.PROGRAM:
            self._seen.clear()
        self.quality.feed(line)
        self.lines.append(line)
        self.line_count += 1

    def _match(self, line: ConsoleLine) -> None:
        """Notes what a whole line means; its prompts first, which were there before its end."""
        program = line.writer is LineWriter.PROGRAM
        if program:
            self._prompts(line.text)
        for pattern in self.patterns.others:
            if (not program or pattern.id not in self._seen) and pattern.regex.search(line.text):
                if program:
                    self._seen.add(pattern.id)
                self._saw(pattern, line.stamped)

    def _prompts(self, text: str) -> None:
        """Notes the prompts in what a program has written of a line, each once for the line.

        In the order in which they were complete, as if the text had come byte by byte.
        """
        matches = [
            (match.end(), match[0], pattern)
            for pattern in self.patterns.prompts
            if pattern.id not in self._seen and (match := pattern.regex.search(text))
        ]
        for _, prompt_text, pattern in sorted(matches, key=lambda item: item[0]):
            self._seen.add(pattern.id)
            self._saw(pattern, prompt_text)

    def _saw(self, pattern: BootPattern, text: str) -> None:
        if pattern.banner:
            self._start_over_if_seen(pattern)
        if pattern.phase is not None:
            self._reach(pattern.phase)
        if len(self.events) < _EVENTS_KEPT:
            where = (self.line_count, text.strip(), self.phase, self.restarts)
            event = BootEvent(pattern, self._now, *where)
            self.events.append(event)

    def _start_over_if_seen(self, pattern: BootPattern) -> None:
        """A banner that comes again, or one of a phase long past, is a new start of the board."""
        phase = pattern.phase or self.phase
        later = PHASES.index(self.phase) - PHASES.index(phase)
        if phase == "kernel" and self.phase in PHASES[7:]:
            return  # `cat /proc/version`, or a log that is shown
        if pattern.id in self._banners or later > 0:
            self.restarts += 1
            self._banners.clear()
            first = PHASES.index("spl")
            self.phases = {
                name: at for name, at in self.phases.items() if PHASES.index(name) < first
            }
        self._banners.add(pattern.id)

    def _reach(self, phase: str) -> None:
        """Notes a phase, unless it or a later one was there before."""
        index = PHASES.index(phase)
        if index > PHASES.index(self.phase):
            self.phases[phase] = self._now
        if index > PHASES.index(self.furthest):
            self.furthest = phase


def replay(console: Path, patterns: BootPatterns | None = None) -> Timeline:
    """The timeline of a recorded log, from its last ``power on`` mark, or else from its first byte.

    So a log can be judged anew, with other patterns.
    """
    pieces = list(read_log(console))
    marks = [piece.at_ns for piece in pieces if piece.mark == POWER_ON]
    start = marks[-1] if marks else next((piece.at_ns for piece in pieces if piece.data), 0)
    timeline = Timeline(start, patterns)
    for piece in pieces:
        if piece.data:
            timeline.feed(piece.at_ns, piece.data)
    timeline.settle()
    return timeline


# -- watching --------------------------------------------------------------------------------------

SILENCE_SECONDS = 30.0
"""After so long without a word from it, a board is taken to hang."""

LIMIT_SECONDS = 180.0

_PIECE_SECONDS = 0.5  # longest single wait: then it is checked whether something is due
_STANDS_SECONDS = 2.0  # a prompt that nothing follows for so long is where the board stays
_OVERLAID_SECONDS = 2.0  # a login prompt that kernel messages follow for so long is one too
_LINGER_SECONDS = 1.0  # after a failure, until its last words are said
_LINGER_AT_MOST = 4.0
_RESTARTS = 4
_IDLE_SECONDS = 0.01


class BootEnd(StrEnum):
    """How the watching ended; the last three are for the host to say, at the login and after."""

    LOGIN = "login"
    SHELL = "shell"
    PROMPT = "prompt"
    FAULT = "fault"
    RESTARTS = "restarts"
    SILENT = "silent"
    LIMIT = "limit"
    CONSOLE_LOST = "console-lost"
    NOT_LOGGED_IN = "not-logged-in"
    SHELL_LOST = "shell-lost"
    NO_NETWORK = "no-network"


@dataclass(frozen=True, slots=True)
class BootOutcome:
    """How the watching ended, ``at_s`` seconds after power on.

    ``silent_s`` is for how long the board had said nothing then. ``pattern`` is the prompt or the
    failure that ended it; ``reason`` what the console's driver says, which may quote the board.
    """

    end: BootEnd
    at_s: float
    silent_s: float
    pattern: BootPattern | None = None
    reason: Untrusted = NO_TEXT

    @property
    def is_good(self) -> bool:
        """Whether somebody can log in, or is."""
        return self.end in (BootEnd.LOGIN, BootEnd.SHELL)


def watch(
    read: Callable[[float], bytes],
    timeline: Timeline,
    *,
    silence_s: float = SILENCE_SECONDS,
    limit_s: float = LIMIT_SECONDS,
    feeds: bool = True,
    clock: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> BootOutcome:
    """Reads the console until the board stands at a prompt, has failed, is silent, or takes longer
    than ``limit_s`` seconds from power on.

    ``read`` waits at most as many seconds as it is given and returns what came, or nothing; when
    it raises OSError or EOFError the console is lost. With ``feeds`` off, the timeline already
    gets the bytes from the recorder, which ``read`` goes through. Never takes longer than
    ``limit_s`` and one wait of ``read``.
    """

    def now() -> float:
        return (clock() - timeline.power_on_ns) / _NS

    while True:
        at = now()
        outcome = _ended(timeline, at, silence_s, limit_s)
        if outcome is not None:
            timeline.settle()
            return outcome
        wait = min(_PIECE_SECONDS, max(limit_s - at, 0), _IDLE_SECONDS + silence_s / 4)
        try:
            data = read(wait)
        except (OSError, EOFError) as error:
            timeline.settle()
            reason = Untrusted(str(error) or type(error).__name__)
            return BootOutcome(BootEnd.CONSOLE_LOST, now(), _silent(timeline, now()), reason=reason)
        if data and feeds:
            timeline.feed(clock(), data)
        elif not data and now() - at < min(wait, _IDLE_SECONDS):
            sleep(_IDLE_SECONDS)  # a console that does not wait must not cost a processor


def _ended(timeline: Timeline, at: float, silence_s: float, limit_s: float) -> BootOutcome | None:
    silent = _silent(timeline, at)
    prompt = timeline.prompt
    kind = prompt.prompt if prompt is not None else None
    if kind is not None and kind.is_good:
        if timeline.phase in ("shell", "network"):
            return BootOutcome(BootEnd.SHELL, at, silent, prompt)
        if timeline.phase == "login":
            return BootOutcome(BootEnd.LOGIN, at, silent, prompt)
        if silent >= _STANDS_SECONDS:  # a bare "# ", which means something only if it stays
            timeline.reached("shell", timeline.power_on_ns + int((at - silent) * _NS))
            return BootOutcome(BootEnd.SHELL, at, silent, prompt)
    elif kind is not None and silent >= _STANDS_SECONDS:
        return BootOutcome(BootEnd.PROMPT, at, silent, prompt)
    failure = _certain_failure(timeline)
    if failure is not None:
        since = at - failure[0]
        if silent >= _LINGER_SECONDS or since >= _LINGER_AT_MOST:
            return BootOutcome(BootEnd.FAULT, at, silent, failure[1])
    elif timeline.phase in ("login", "shell"):
        seen = timeline.phases[timeline.phase]
        if silent >= _STANDS_SECONDS or at - seen >= _OVERLAID_SECONDS:
            end = BootEnd.LOGIN if timeline.phase == "login" else BootEnd.SHELL
            return BootOutcome(end, at, silent)
    if timeline.restarts >= _RESTARTS:
        return BootOutcome(BootEnd.RESTARTS, at, silent)
    if silent >= silence_s:
        return BootOutcome(BootEnd.SILENT, at, silent)
    if at >= limit_s:
        return BootOutcome(BootEnd.LIMIT, at, silent)
    return None


def _silent(timeline: Timeline, at: float) -> float:
    """Seconds since the last byte, or since power on."""
    return max(at - (timeline.last_byte_s or 0.0), 0.0)


def _certain_failure(timeline: Timeline) -> tuple[float, BootPattern] | None:
    """The first failure of this start that nothing can follow, and when it was seen."""
    for event in timeline.events:
        if event.pattern.certain and event.start == timeline.restarts:
            return event.at_s, event.pattern
    return None
