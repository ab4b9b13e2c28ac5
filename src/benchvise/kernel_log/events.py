"""A log summed up: which kind of line, about which device, how often, from when to when."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from benchvise.documents import computed, in_json
from benchvise.kernel_log.lines import LogLine, log_lines
from benchvise.kernel_log.rules import LogMatch, LogRule, Severity, classify
from benchvise.text import NO_TEXT, Untrusted

EXAMPLE_LENGTH = 300
"""Characters of a line that are kept as an example."""

TIMES = 100
"""Times of the newest lines of an event that are kept."""

KINDS = 2000
"""Events (rule and device) of one log that are kept apart; what is more is counted to no device."""


def _rule_id(rule: LogRule) -> str:
    return rule.id


@dataclass(slots=True)
class LogEvent:
    """All lines of a rule about one device.

    ``first`` and ``last`` are in seconds since boot (None where the log has no times); ``example``
    is the first line, ``newest`` the last; ``values`` is what was taken out of the newest.
    ``times`` are those of the newest lines.
    """

    rule: LogRule = field(metadata=in_json(through=_rule_id))
    device: str
    count: int = 0
    first: float | None = None
    last: float | None = None
    example: Untrusted = NO_TEXT
    newest: Untrusted = NO_TEXT
    values: Mapping[str, str] = field(default_factory=dict)
    times: deque[float] = field(
        default_factory=lambda: deque(maxlen=TIMES), metadata=in_json(hidden=True)
    )

    def add(self, line: LogLine, match: LogMatch) -> None:
        """Counts a line in."""
        self.count += 1
        if line.time is not None:
            self.first = line.time if self.first is None else self.first
            self.last = line.time
            self.times.append(line.time)
        self.newest = Untrusted(line.text[:EXAMPLE_LENGTH])
        self.example = self.example or self.newest
        self.values = match.values

    @computed.before("device", name="class")
    def log_class(self) -> str:
        """The class of the rule."""
        return self.rule.log_class

    @computed.before("device")
    def severity(self) -> Severity:
        """How bad it is."""
        return self.rule.severity

    @computed.before("device")
    def title(self) -> str:
        """What happened, in a few words."""
        return self.rule.title

    @computed
    def remedy(self) -> str:
        """What to do about it."""
        return self.rule.remedy


class _JustNow:
    """Events of the last second whose next lines may only tell more of them: an oops, an error of
    PCI Express or a lost disk is several lines, and one event."""

    LINES = 60
    """Lines after the first that can belong to it; what counts where lines have no times."""
    SECONDS = 1.0

    def __init__(self) -> None:
        self._events: dict[tuple[str, str], tuple[LogMatch, int, float | None]] = {}

    def remember(self, line: LogLine, match: LogMatch, number: int) -> None:
        """An event began with this line."""
        if match.rule.more:
            self._events[match.rule.id, match.device] = (match, number, line.time)

    def tells_more(self, line: LogLine, match: LogMatch, number: int) -> bool:
        """Whether a line is of an event that began just before it."""
        for key, (event, begin, time) in list(self._events.items()):
            late = line.time is not None and time is not None and line.time > time + self.SECONDS
            if late or number > begin + self.LINES:
                del self._events[key]
            elif (match.device == event.device or not match.device or not event.device) and (
                event.rule.goes_on(line.text)
            ):
                return True
        return False


_ORDER = {Severity.FAILING: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True)
class LogEvents:
    """What a log says: its events, worst first, the number of its lines, and where it ended.

    ``until`` is the time of the newest line (None where lines have no times), ``at_until`` how
    many lines have that very time.
    """

    events: tuple[LogEvent, ...]
    lines: int
    until: float | None
    at_until: int = 0

    @classmethod
    def of(cls, log: str, *, since: float | None = None, seen: int = 0) -> LogEvents:
        """Sums up a log, or what it says after ``since`` (seconds since boot).

        ``seen`` of the lines with that very time are known already.
        """
        return cls.of_lines(log_lines(log), since=since, seen=seen)

    @classmethod
    def of_lines(
        cls, lines: Iterable[LogLine], *, since: float | None = None, seen: int = 0
    ) -> LogEvents:
        """The same of lines that were read already."""
        by_device: dict[tuple[str, str], LogEvent] = {}
        count, until, at_until, skipped = 0, since, seen, 0
        just_now = _JustNow()
        for line in lines:
            if since is not None:
                if line.time is None or line.time < since:
                    continue
                if line.time == since and skipped < seen:
                    skipped += 1
                    continue
            count += 1
            if line.time is not None:
                at_until = at_until + 1 if line.time == until else 1
                until = line.time
            match = classify(line.text)
            if match is not None and not just_now.tells_more(line, match, count):
                device = match.device if len(by_device) < KINDS else ""
                key = (match.rule.id, device)
                by_device.setdefault(key, LogEvent(match.rule, device)).add(line, match)
                just_now.remember(line, match, count)
        events = sorted(
            by_device.values(), key=lambda event: (_ORDER[event.rule.severity], -event.count)
        )
        return cls(tuple(events), count, until, at_until)

    @staticmethod
    def reaches_back(log: str, time: float) -> bool:
        """Whether a log's oldest line is at ``time`` or before, so that nothing since is lost."""
        oldest = next((line.time for line in log_lines(log) if line.time is not None), None)
        return oldest is None or oldest <= time
