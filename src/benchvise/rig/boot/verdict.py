"""What became of a boot, in a word, a sentence and a quotation.

The word comes from the console's text. Of several failures the most specific is named: one that
says what was not found before one that says that the kernel gave up. A failure that the board went
on from, a first boot device that had nothing for instance, is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from benchvise.documents import computed
from benchvise.errors import BenchviseError
from benchvise.rig.boot.patterns import PHASES, Prompt
from benchvise.rig.boot.timeline import BootEnd, BootEvent, BootOutcome, Timeline
from benchvise.rig.console.quality import damaged
from benchvise.rig.faults import Fault
from benchvise.text import NO_TEXT, Untrusted

_EVIDENCE = 200  # characters
_JUNK_SHARE = 0.05
_JUNK_BYTES = 16  # of fewer nothing can be said
_LOGIN_PROMPTS = 3

# From the most specific; what is not here comes last.
_RANK = (
    Fault.NO_ROOT,
    Fault.KERNEL_PANIC,
    Fault.LOGIN_LOOP,
    Fault.NO_BOOT_MEDIUM,
    Fault.BOOTLOADER_HANG,
    Fault.HANG,
)

_REMEDIES = {
    Fault.NO_OUTPUT: "check power, the card, the console's cable and its speed",
    Fault.CONSOLE_DEAD: "check the serial adapter, and that nothing else has opened it",
    Fault.CONSOLE_GARBLED: "check the console's speed and its ground wire",
    Fault.CONSOLE_LOSSY: "shorten the cable, lower the speed, or set txdelay in the rig file",
    Fault.BOOTLOADER_PROMPT: "see what its boot command is, and what pressed a key",
    Fault.BOOTLOADER_HANG: "check that this image is for this board",
    Fault.NO_BOOT_MEDIUM: "check that the card is in the board and holds a bootable image",
    Fault.KERNEL_PANIC: "read the whole console log",
    Fault.NO_ROOT: "compare root= of the kernel's command line with the card's partitions",
    Fault.LOGIN_LOOP: "check user name and password in the rig file, and the image's login shell",
    Fault.HANG: "read the end of the console log",
    Fault.TOO_SLOW: "raise the time limit if the board is known to be slow",
    Fault.NO_NETWORK: "check cable and DHCP, or let the console carry the results",
}

_STAGES = {
    "first-byte": "before any program that is known",
    "spl": "in the first programs",
    "bootloader": "in the bootloader",
    "kernel": "in the kernel",
    "init": "while programs were started",
    "login": "at the login",
    "shell": "after the login",
}


@dataclass(frozen=True, slots=True)
class BootVerdict:
    """``fault`` is None when the board booted. ``evidence`` is quoted from the console."""

    fault: Fault | None
    sentence: str
    evidence: Untrusted = NO_TEXT

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REMEDIES.get(self.fault, "") if self.fault is not None else ""


@dataclass(frozen=True, slots=True)
class BootReport:
    """How one boot went, as it is kept, sent between processes, and shown."""

    fault: Fault | None
    """What kept the board from booting; None when it booted."""
    sentence: str
    evidence: Untrusted
    """Quoted from the console."""
    phases: Mapping[str, float]
    """Seconds since power on, in order."""
    console: str
    """The path of the raw log."""
    restarts: int = 0
    seconds: float = 0.0
    """How long the boot was watched."""

    @classmethod
    def of(cls, timeline: Timeline, outcome: BootOutcome, console: str | Path) -> BootReport:
        """The report of a boot that was watched."""
        verdict = classify(timeline, outcome)
        return cls(
            verdict.fault,
            verdict.sentence,
            verdict.evidence,
            {phase: round(at, 6) for phase, at in timeline.phases.items()},
            str(console),
            timeline.restarts,
            round(outcome.at_s, 6),
        )

    @computed.before("fault")
    def ok(self) -> bool:
        """Whether the board booted."""
        return self.fault is None

    @property
    def remedy(self) -> str:
        """What to do about the fault."""
        return BootVerdict(self.fault, self.sentence).remedy

    @property
    def stage(self) -> str:
        """The phase that was reached last."""
        return next(reversed(list(self.phases)), PHASES[0])

    @property
    def durations(self) -> dict[str, float]:
        """How long it took from each phase that was seen to the next, in seconds, by the latter."""
        names = list(self.phases)
        return {
            later: self.phases[later] - self.phases[earlier] for earlier, later in pairwise(names)
        }


class BootError(BenchviseError):
    """A board did not boot; ``report`` says how far it came."""

    exit_code: ClassVar[int] = 3

    def __init__(
        self, fault: Fault, message: str, remedy: str = "", report: BootReport | None = None
    ) -> None:
        super().__init__(message, remedy)
        self.fault = fault
        self.report = report


def classify(timeline: Timeline, outcome: BootOutcome) -> BootVerdict:
    """What became of a boot. Reads nothing but its arguments, and changes nothing."""
    if outcome.is_good:
        return BootVerdict(None, _booted(timeline), _quoted(timeline.open))
    if outcome.end is BootEnd.CONSOLE_LOST:
        return BootVerdict(
            Fault.CONSOLE_DEAD, f"the console was lost ({outcome.reason})", _last(timeline)
        )
    if outcome.end is BootEnd.NO_NETWORK:
        return BootVerdict(
            Fault.NO_NETWORK, "it booted, but cannot be reached by network", _last(timeline)
        )
    if "first-byte" not in timeline.phases:
        sentence = f"it said nothing at all within {outcome.at_s:.0f} s of power on"
        return BootVerdict(Fault.NO_OUTPUT, sentence)
    spoken_with = outcome.end in (BootEnd.NOT_LOGGED_IN, BootEnd.SHELL_LOST)
    early = _damaged(timeline) if spoken_with else None
    return (
        _garbled(timeline)
        or early
        or _failed(timeline, outcome)
        or _damaged(timeline)
        or _stuck(timeline, outcome)
    )


def _booted(timeline: Timeline) -> str:
    at = timeline.phases[timeline.phase]
    sentence = f"it reached '{timeline.phase}' after {at:.1f} s"
    if timeline.restarts:
        sentence += f", having started over {_times(timeline.restarts)}"
    quality = timeline.quality
    if quality.is_lossy or quality.is_altering:
        sentence += "; its console loses or alters bytes"
    return sentence


def _garbled(timeline: Timeline) -> BootVerdict | None:
    """A console of which no text can be had, by wrong speed or a loose wire."""
    share = timeline.junk
    if share < _JUNK_SHARE or timeline.byte_count < _JUNK_BYTES:
        return None
    if timeline.quality.sound and share < 4 * _JUNK_SHARE:
        return None  # texts that are known came through: a burst, or a file that was shown
    sentence = f"its console is garbled: {share:.0%} of what came in is no text"
    return BootVerdict(Fault.CONSOLE_GARBLED, sentence, _last(timeline))


def _damaged(timeline: Timeline) -> BootVerdict | None:
    """A console that carries text, but not all of it, or not as it was sent."""
    quality = timeline.quality
    total = quality.sound + quality.lost + quality.altered
    if quality.is_altering and quality.altered >= quality.lost:
        sentence = f"its console alters bytes: {quality.altered} of {total} known texts are wrong"
        return BootVerdict(Fault.CONSOLE_GARBLED, sentence, quality.example)
    if quality.is_lossy:
        sentence = f"its console loses bytes: {quality.lost} of {total} known texts lack some"
        return BootVerdict(Fault.CONSOLE_LOSSY, sentence, quality.example)
    end = timeline.open.strip()[-10:]
    whole = timeline.prompt is not None
    late = "kernel" in timeline.phases
    if late and not whole and ("login:" in end or damaged("login:", end, 2)):
        sentence = "its console loses bytes: it stands at a login prompt that lacks some"
        return BootVerdict(Fault.CONSOLE_LOSSY, sentence, _last(timeline))
    return None


def _failed(timeline: Timeline, outcome: BootOutcome) -> BootVerdict | None:
    """A failure that the board itself reported, or a prompt where it should not stand."""
    events = _standing(timeline, outcome)
    if events:
        event = min(events, key=_importance)
        fault = event.pattern.fault
        assert fault is not None  # noqa: S101 - _standing looks for those
        says = event.pattern.says or f"'{event.pattern.name}' was seen"
        sentence = f"{says}, {event.at_s:.1f} s after power on"
        pattern = outcome.pattern
        if pattern is not None and pattern.prompt is Prompt.BOOTLOADER:
            sentence += f"; it stands at {pattern.name}"
        return BootVerdict(fault, sentence, _quoted(event.text))
    if outcome.end is BootEnd.NOT_LOGGED_IN or _login_prompts(timeline) >= _LOGIN_PROMPTS:
        if PHASES.index(timeline.phase) < PHASES.index("login"):
            return None
        count = _login_prompts(timeline)
        sentence = f"the login does not succeed: its prompt came {_times(max(count, 1))}"
        return BootVerdict(Fault.LOGIN_LOOP, sentence, _last(timeline))
    if outcome.pattern is None or outcome.end is not BootEnd.PROMPT:
        return None
    where = f"it stands at {outcome.pattern.name}"
    match outcome.pattern.prompt:
        case Prompt.BOOTLOADER:
            sentence = f"{where} and does not boot on"
            return BootVerdict(Fault.BOOTLOADER_PROMPT, sentence, _last(timeline))
        case Prompt.INITRAMFS:
            sentence = f"{where}: the root file system was not mounted"
            return BootVerdict(Fault.NO_ROOT, sentence, _last(timeline))
        case Prompt.EMERGENCY:
            return BootVerdict(Fault.HANG, f"{where}: its start was given up", _last(timeline))
    return BootVerdict(Fault.LOGIN_LOOP, f"{where}", _last(timeline))


def _stuck(timeline: Timeline, outcome: BootOutcome) -> BootVerdict:
    """Nothing is known but where it stands."""
    last = _last(timeline)
    stage = _STAGES.get(timeline.phase, "")
    if outcome.end is BootEnd.RESTARTS:
        fault = _hang(timeline.furthest)
        sentence = (
            f"it starts over again and again ({_times(timeline.restarts)}), "
            f"and came no further than '{timeline.furthest}'"
        )
        return BootVerdict(fault, sentence, last)
    if outcome.end is BootEnd.LIMIT:
        reached = f"'{timeline.phase}' after {timeline.phases[timeline.phase]:.1f} s"
        sentence = (
            f"it was still at it after {outcome.at_s:.0f} s, having reached {reached}; "
            f"its last word came {outcome.silent_s:.1f} s before"
        )
        return BootVerdict(Fault.TOO_SLOW, sentence, last)
    since = f"since {outcome.at_s - outcome.silent_s:.1f} s after power on"
    if outcome.end is BootEnd.SHELL_LOST:
        return BootVerdict(Fault.HANG, f"its shell does not answer any more, silent {since}", last)
    if timeline.phase == "kernel" and not any(
        event.pattern.phase == "kernel" and event.pattern.id not in _HANDOVERS
        for event in timeline.events
        if event.start == timeline.restarts
    ):
        sentence = f"silent {since}: the kernel was started, but never said a word"
        return BootVerdict(Fault.HANG, sentence, last)
    return BootVerdict(_hang(timeline.phase), f"it hangs {stage}, silent {since}", last)


_HANDOVERS = ("starting-kernel", "decompressing")


def _standing(timeline: Timeline, outcome: BootOutcome) -> list[BootEvent]:
    """The failures that nothing better followed; in a loop of restarts, those of all starts."""
    looping = outcome.end is BootEnd.RESTARTS
    return [
        event
        for i, event in enumerate(timeline.events)
        if event.pattern.fault is not None
        and (looping or event.start == timeline.restarts)
        and (looping or not _passed(event, timeline.events[i + 1 :], timeline.phase))
    ]


def _passed(event: BootEvent, later: list[BootEvent], phase: str) -> bool:
    """Whether the board recovered from a failure: reached a later phase, or loads something."""
    if PHASES.index(phase) > PHASES.index(event.phase):
        return True
    early = event.phase in PHASES[: PHASES.index("kernel")] and not event.pattern.certain
    return early and any(follower.pattern.phase is not None for follower in later)


def _importance(event: BootEvent) -> tuple[int, bool, int]:
    """The most specific; of these the first that is certain, or else the last."""
    fault = event.pattern.fault
    rank = _RANK.index(fault) if fault in _RANK else len(_RANK)
    certain = event.pattern.certain
    return rank, not certain, event.line if certain else -event.line


def _hang(phase: str) -> Fault:
    early = phase in ("first-byte", "spl", "bootloader")
    return Fault.BOOTLOADER_HANG if early and phase != "first-byte" else Fault.HANG


def _login_prompts(timeline: Timeline) -> int:
    return sum(
        event.pattern.prompt is Prompt.LOGIN and event.start == timeline.restarts
        for event in timeline.events
    )


def _last(timeline: Timeline) -> Untrusted:
    return _quoted(timeline.last_text)


def _quoted(text: str) -> Untrusted:
    """As much of a line as is kept with a report."""
    return Untrusted(text.strip()[:_EVIDENCE])


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
