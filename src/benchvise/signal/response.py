"""How fast a board answers: from an edge on one line to the next on another.

A stimulus is answered by the first edge of the response line at or after it and before the next
stimulus; one without such an edge is missed. Further edges before the next stimulus are extra,
and those before the first stimulus stray. Edges at one and the same sample count as an answer
within one tick.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from benchvise.errors import CaptureError, UsageError
from benchvise.signal.capture import Capture, Polarity, Ticks

Seconds = npt.NDArray[np.float64]

_HEAD_BYTES = 4096
_LIST_BYTES = 64 << 20
_POLARITIES = ("rising", "falling", "any")


@dataclass(frozen=True, slots=True)
class Edge:
    """Which edges of which line: ``D0:rising``, written ``D0`` where rising ones are meant."""

    line: str
    polarity: Polarity = "rising"

    @classmethod
    def parse(cls, text: str) -> Edge:
        """Reads ``LINE`` or ``LINE:rising|falling|any``; UsageError when it is neither."""
        line, colon, polarity = text.rpartition(":")
        if colon and polarity in _POLARITIES:
            return cls(line, cast(Polarity, polarity))
        if not text or (colon and (not line or re.fullmatch(r"[a-z]+", polarity))):
            raise UsageError(
                f"'{text}' names no edge", "write LINE, LINE:rising, LINE:falling or LINE:any"
            )
        return cls(text)

    def __str__(self) -> str:
        return f"{self.line}:{self.polarity}"


def parse_edges(stimulus: str | None, answer: str | None) -> tuple[Edge, Edge] | None:
    """Both edges; None where they are not both named. UsageError for what names none."""
    if not stimulus or not answer:
        return None
    return Edge.parse(stimulus), Edge.parse(answer)


@dataclass(frozen=True, slots=True)
class Responses:
    """All responses of one configuration, in seconds, in the order of their stimuli.

    ``at`` is when each stimulus came, in seconds since the start of the capture; empty for lists
    of response times, which do not say. ``resolution_s`` is the error of a single time; None where
    nobody knows. ``missed_at`` are the stimuli without an answer, ``extra_at`` the answers that
    none waited for.
    """

    source: Path
    seconds: Seconds
    at: Seconds
    missed_at: Seconds
    extra_at: Seconds
    resolution_s: float | None
    stray: int = 0
    notes: tuple[str, ...] = ()

    @property
    def shots(self) -> int:
        """Stimuli, answered or not."""
        return int(self.seconds.size + self.missed_at.size)


def responses(
    capture: Capture, stimulus: Edge, answer: Edge, window_s: float | None = None
) -> Responses:
    """The responses in a capture; ``window_s`` is how long an answer may take at most.

    CaptureError when a line is not there or the stimulus never came. The last stimulus is left
    out when the capture ends within the window, or without one before its answer.
    """
    starts = capture.line(stimulus.line).of(stimulus.polarity)
    answers = capture.line(answer.line).of(answer.polarity)
    if stimulus == answer or starts.size == 0:
        raise CaptureError(
            f"{capture.path}: "
            + (
                "stimulus and answer are the same edge"
                if stimulus == answer
                else f"there is no {stimulus.polarity} edge on {stimulus.line}"
            ),
            "name two lines by --from and --to; `benchvise signal info` lists them",
        )
    window = None if window_s is None else max(1, round(window_s / capture.clock.tick_s))
    matched = _match(starts, answers, window, capture.ticks)
    tick = capture.clock.tick_s
    return Responses(
        source=capture.path,
        seconds=_times(answers[matched.answer] - starts[matched.answered], tick),
        at=_times(starts[matched.answered], tick),
        missed_at=_times(starts[matched.missed], tick),
        extra_at=_times(answers[matched.extra], tick),
        resolution_s=capture.clock.resolution_s,
        stray=matched.stray,
        notes=(*capture.notes, *matched.notes),
    )


def _times(ticks: Ticks, tick_s: float) -> Seconds:
    return ticks.astype(np.float64) * tick_s


@dataclass(frozen=True, slots=True)
class _Matched:
    """Places in the arrays of stimuli and answers."""

    answered: Ticks
    answer: Ticks
    missed: Ticks
    extra: Ticks
    stray: int
    notes: tuple[str, ...]


def _match(starts: Ticks, answers: Ticks, window: int | None, end: int) -> _Matched:
    """Each stimulus with the first answer in its time."""
    first = np.searchsorted(answers, starts, side="left")
    following = np.append(first[1:], answers.size)
    has = first < following
    if window is not None:
        reached = np.zeros(starts.size, dtype=bool)
        reached[has] = answers[first[has]] - starts[has] <= window
        has = reached
    missed = ~has
    notes: tuple[str, ...] = ()
    left = end - int(starts[-1])
    if missed[-1] and (window is None or left < window):
        missed[-1] = False  # the capture ended before it could be answered
        notes = ("the last stimulus is left out: the capture ends before its answer",)
    extra = np.ones(answers.size, dtype=bool)
    extra[first[has]] = False
    extra[: first[0]] = False
    return _Matched(
        answered=np.flatnonzero(has),
        answer=first[has],
        missed=np.flatnonzero(missed),
        extra=np.flatnonzero(extra),
        stray=int(first[0]),
        notes=notes,
    )


_TIME = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?nan|[-+]?inf"
_ROW = re.compile(
    rf"(?:\d+\s*[\t ;,]\s*)?(?P<time>{_TIME})?|\d+\s*[\t ;]\s*(?P<comma>{_TIME.replace('.', ',')})",
    re.IGNORECASE,
)
"""A line of a list: a running number, a time, or both; with a decimal comma where that cannot be
what separates them."""
_UNIT = re.compile(r"(?:.*[^a-zµ])?(ns|us|µs|ms|s|sec|seconds?)[^a-zµ]*", re.IGNORECASE)
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3}


def is_list(path: Path) -> bool:
    """Whether a file is a list of response times: a number, or a count and a number, a line; a
    first line may name the unit.
    """
    try:
        head = list_head(path)
    except CaptureError:
        return False
    lines = head.decode("utf-8", "replace").splitlines()
    if len(head) == _HEAD_BYTES:
        lines = lines[:-1]
    lines = [line.strip(" \r") for line in lines if line.strip()][:20]
    if lines and _scale(lines[0]) is not None:
        lines = lines[1:]
    return bool(lines) and all(_ROW.fullmatch(line) for line in lines)


def _scale(line: str) -> float | None:
    """Seconds of the unit that a heading gives the last column; None where it is no heading."""
    named = _UNIT.fullmatch(re.split(r"[\t;,]", line)[-1].strip())
    return _UNITS.get(named[1].lower(), 1.0) if named else None


def list_head(path: Path) -> bytes:
    """The begin of a file; CaptureError for one that cannot be read, or holds nothing."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}", "name a file that is there") from error
    if not head.strip():
        raise CaptureError(f"{path}: the file is empty", "record it again")
    return head


def read_list(path: Path) -> Responses:
    """Reads response times, as an oscilloscope's statistics are saved: one a line, with or without
    a running number, in seconds or in the unit that the first line names. CaptureError says what
    is wrong with it.

    A time that is not above zero, or is no number (nan), is a missed shot; a running number without
    a time is an error, as nobody knows which of both it is.
    """
    try:
        if path.stat().st_size > _LIST_BYTES:
            raise CaptureError(f"{path}: the list is over 64 MiB", "split it")
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}", "name a file that is there") from error
    lines = [(number, line.strip(" \r")) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line.strip()]
    scale = _scale(lines[0][1]) if lines else None
    rows = lines if scale is None else lines[1:]
    if _are_decimal_commas([line for _, line in rows]):
        rows = [(number, line.replace(",", ".")) for number, line in rows]
    array = np.array([_time(path, *row) for row in rows], dtype=np.float64) * (scale or 1.0)
    good = np.isfinite(array) & (array > 0) & (array < 1e9)
    if not good.any():
        raise CaptureError(f"{path}: it holds no response times", "record it again")
    notes = ("when each shot was is not in the list",)
    none = np.empty(0, dtype=np.float64)
    missed = np.full(int((~good).sum()), np.nan)
    return Responses(path, array[good], none, missed, none, None, notes=notes)


def _time(path: Path, number: int, line: str) -> float:
    row = _ROW.fullmatch(line)
    if row is None or not (text := row["time"] or row["comma"]):
        raise CaptureError(
            f"{path}:{number}: '{line[:40]}' is no response time",
            "each line has a time in seconds, with or without a running number before it",
        )
    return float(text.replace(",", "."))


def _are_decimal_commas(lines: Sequence[str]) -> bool:
    """Whether ``0,0012`` is one number: what stands before the commas does not run on."""
    before = [line.partition(",")[0] for line in lines]
    if len(lines) < 2 or not all(re.fullmatch(r"\d+,\d+(?:e[-+]?\d+)?", line) for line in lines):
        return False
    return any(int(after) <= int(first) for first, after in pairwise(before))
