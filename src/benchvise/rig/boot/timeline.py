"""The phases of a boot as a console shows them, in seconds since power on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from benchvise.rig.boot.patterns import PHASES, BootPattern, BootPatterns, Prompt, own_patterns
from benchvise.rig.console.lines import ConsoleLine, LineSplitter, LineWriter
from benchvise.rig.console.quality import Quality
from benchvise.rig.console.recorder import POWER_ON, read_log

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
            if line.shown.strip():
                return line.shown.strip()
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
                self._saw(pattern, line.shown)

    def _prompts(self, text: str) -> None:
        """Notes the prompts in what a program has written of a line, each once for the line.

        In the order in which they were complete, as if the text had come byte by byte.
        """
        matches = [
            (match.end(), match[0], pattern)
            for pattern in self.patterns.prompts
            if pattern.id not in self._seen and (match := pattern.regex.search(text))
        ]
        for _, text_shown, pattern in sorted(matches, key=lambda item: item[0]):
            self._seen.add(pattern.id)
            self._saw(pattern, text_shown)

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
