"""A stored diagnosis, read and made safe to show, and what all its pages work out of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, TypeAlias

from benchvise.documents import decode
from benchvise.errors import BenchviseError
from benchvise.quantities import format_number, format_value
from benchvise.text import SENTENCE_LIMIT, printable
from benchvise.why.model import (
    FORMAT,
    Bounds,
    Cause,
    Diagnosis,
    Experiment,
    ExperimentOutcome,
    Gap,
    Purpose,
    Remedy,
    SuspectRecord,
)
from benchvise.why.wording import apart, reach, share

Document: TypeAlias = Mapping[str, Any]
"""A ``Diagnosis`` as JSON: what a store, a file or ``documents.encode`` gives."""

LINES = 60
"""Lines of a remedy that are shown."""

_LAST_MINUTES = 100  # beyond, hours are told


def readable(document: Document) -> Diagnosis:
    """The diagnosis of a document, every text bounded and harmless; a remedy keeps its lines.

    BenchviseError for a document of another format, and for one that is no diagnosis.
    """
    if isinstance(document, Mapping) and document.get("format") != FORMAT:
        raise BenchviseError(
            f"the diagnosis has format {document.get('format')}, expected {FORMAT}",
            "show it with the Benchvise that made it",
        )
    try:
        return decode(Diagnosis, _cleaned(document))
    except ValueError as error:
        raise BenchviseError(
            f"the diagnosis cannot be shown: {error}",
            "was its file or its store changed?",
        ) from None


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value, SENTENCE_LIMIT)
    if isinstance(value, Mapping):
        cleaned = {printable(key): _cleaned(item) for key, item in value.items()}
        if "system" in value and "text" in value:  # a remedy
            cleaned["text"] = _cleaned_lines(str(value["text"]))
        return cleaned
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return value


def _cleaned_lines(text: str) -> str:
    lines = text.strip("\n").split("\n")
    more = [f"# {len(lines) - LINES} more lines"] if len(lines) > LINES else []
    return "\n".join([*map(_cleaned_line, lines[:LINES]), *more])


def _cleaned_line(line: str) -> str:
    indent = len(line) - len(line.lstrip(" \t"))
    return " " * min(indent, 40) + printable(line, SENTENCE_LIMIT)


# -- figures in words ------------------------------------------------------------------------------


def share_text(bounds: Bounds) -> str:
    """``97 % (93 to 101)``."""
    return share(bounds.value, bounds.low, bounds.high)


def duration(seconds: float) -> str:
    """``3 min 12 s``."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes > _LAST_MINUTES:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def times(ratio: float) -> str:
    """``10.3x``."""
    return f"{format_number(ratio)}x"


def gap_text(gap: Gap) -> str:
    """The gap, its interval and the noise floor in one line."""
    bounds = gap.goodness
    return (
        f"{apart(bounds.value)} apart (95 %: {reach(bounds.low, bounds.high)}); "
        f"noise floor {apart(gap.floor)}"
    )


def p_text(p: float | None) -> str:
    """``p = 0.008``."""
    if p is None:
        return ""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


# -- what belongs together -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arms:
    """The medians of an experiment's two arms, in the metric's unit; None without trials."""

    without: float | None
    flipped: float | None


def arms(diagnosis: Diagnosis, experiment: Experiment) -> Arms:
    """What both arms of an experiment measured."""
    numbers = set(experiment.trials)
    context = set(experiment.context)
    both = context | set(experiment.flipped)
    values_by_arm: dict[bool, list[float]] = {False: [], True: []}
    for trial in diagnosis.trials:
        if trial.number in numbers and trial.side == experiment.side:
            flipped = set(trial.flipped)
            if flipped in (context, both):
                values_by_arm[flipped != context].append(trial.value)
    return Arms(*(median(values) if values else None for values in values_by_arm.values()))


def arms_text(diagnosis: Diagnosis, experiment: Experiment) -> str:
    """``2.79 → 5.83 GB/s``; empty without trials."""
    seen = arms(diagnosis, experiment)
    unit = diagnosis.metric.unit
    if seen.without is None:
        return ""
    if seen.flipped is None:
        return format_value(seen.without, unit)
    before, after = format_value(seen.without, unit), format_value(seen.flipped, unit)
    number, _, name = before.partition(" ")
    same = name and after.endswith(f" {name}")
    return f"{number} → {after}" if same else f"{before} → {after}"


def outcome(experiment: Experiment) -> str:
    """What an experiment showed, in the words of what it was made for."""
    if experiment.purpose == Purpose.AGAIN:
        return "not quite as before" if experiment.reason else "as before"
    text = str(experiment.outcome)
    return text.replace("close", "open") if experiment.purpose == Purpose.BREAK else text


def remedies(cause: Cause) -> list[Remedy]:
    """The cause's remedies and those of its mechanism, each once."""
    every = [*cause.remedies, *(cause.mechanism.remedies if cause.mechanism else ())]
    return list({(r.system, r.text): r for r in reversed(every)}.values())[::-1]


def untested(diagnosis: Diagnosis) -> list[SuspectRecord]:
    """The suspects that could not be flipped here."""
    return [suspect for suspect in diagnosis.suspects if not suspect.testable]


def still_open(diagnosis: Diagnosis) -> list[SuspectRecord]:
    """The suspects that could be tested and never were, not even among others."""
    tried = {name for experiment in diagnosis.experiments for name in experiment.flipped}
    return [s for s in diagnosis.suspects if s.testable and s.id not in tried]


def tested_at_once(diagnosis: Diagnosis) -> list[tuple[Experiment, Bounds]]:
    """The experiments that tried many differences, or a whole layer, at once, with their shares."""
    wide = (Purpose.ALL_IN, Purpose.LAYER, Purpose.PROBE, Purpose.PROCESS)
    return [(e, e.share) for e in diagnosis.experiments if e.purpose in wide and e.share]


def unresolved(diagnosis: Diagnosis) -> list[Experiment]:
    """The experiments that gave no answer, and why."""
    return [e for e in diagnosis.experiments if e.outcome == ExperimentOutcome.UNRESOLVED]


def unexplained_part(diagnosis: Diagnosis) -> Bounds | None:
    """The share that no cause accounts for, where a gap was to be explained."""
    return diagnosis.unexplained if diagnosis.gap else None


def repeat_command(diagnosis: Diagnosis) -> str:
    """The command line that makes the diagnosis again, as far as it can be told."""
    if diagnosis.repeat:
        return str(diagnosis.repeat)
    metric = diagnosis.metric
    if metric.command:
        what = ["--command", metric.command, "--better", metric.better]
    else:
        params = ",".join(f"{name}={value}" for name, value in metric.params.items())
        what = ["--bench", metric.benchmark + (f":{params}" if params else "")]
    arguments = ["benchvise", "why", diagnosis.good, diagnosis.bad, *what]
    return shlex.join([*arguments, "--seed", str(diagnosis.seed)])


def named(names: Sequence[str], most: int = 4) -> str:
    """A few names, and how many more there are."""
    names_text = ", ".join(names[:most])
    return f"{names_text} and {len(names) - most} more" if len(names) > most else names_text


MOST = 2000
"""Entries that a page lists; the diagnosis has all."""

_NAMED = 6


@dataclass(frozen=True, slots=True)
class EvidenceEntry:
    """One thing that came of a board, or was decided; ``value`` is in the metric's unit."""

    at: float
    kind: Literal["trial", "write", "decided"]
    what: str
    side: str
    text: str
    value: float | None = None


def evidence(diagnosis: Diagnosis) -> list[EvidenceEntry]:
    """The trials, writes and decisions of a diagnosis in the order of time, the oldest first."""
    return sorted(_entries(diagnosis), key=lambda entry: entry.at)


def _entries(diagnosis: Diagnosis) -> Iterator[EvidenceEntry]:
    ends: dict[int, float] = {}
    for trial in diagnosis.trials:
        ends[trial.number] = trial.started + trial.seconds
        flipped = named(trial.flipped, _NAMED) if trial.flipped else "as it is"
        flags = f" (disturbed: {', '.join(trial.flags)})" if trial.flags else ""
        yield EvidenceEntry(
            trial.started,
            "trial",
            f"trial {trial.number}",
            trial.side,
            flipped + flags,
            trial.value,
        )
    for write in diagnosis.writes:
        what = "put back" if write.undone else "set"
        text = f"{write.knob}: {write.old} → {write.new}"
        yield EvidenceEntry(write.at, "write", what, write.side, text)
    for experiment in diagnosis.experiments:
        ends_known = [ends[number] for number in experiment.trials if number in ends]
        if ends_known:  # what was never tried has no time
            yield EvidenceEntry(
                max(ends_known),
                "decided",
                f"experiment {experiment.number}",
                experiment.side,
                f"{experiment.question} {outcome(experiment)}",
            )
