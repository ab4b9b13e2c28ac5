"""Watching a board boot, until it is certain how that ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from benchvise.rig.boot.patterns import BootPattern
from benchvise.rig.boot.timeline import Timeline
from benchvise.text import NO_TEXT, Untrusted

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
_NS = 1_000_000_000


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
