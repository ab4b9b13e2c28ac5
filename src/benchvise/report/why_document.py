"""A diagnosis' document, made safe to show, and what all its pages work out of it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

from benchvise.errors import BenchviseError
from benchvise.quantities import format_number, format_value
from benchvise.text import SENTENCE_LIMIT, printable
from benchvise.why.model import FORMAT, Outcome, Purpose, Side
from benchvise.why.shape import UNKNOWN, faults
from benchvise.why.wording import apart, reach, share

Document: TypeAlias = Mapping[str, Any]
"""What ``Diagnosis.as_json`` gives."""

LINES = 60
"""Lines of a remedy that are shown."""

_LAST_MINUTES = 100  # beyond, hours are told


def readable(document: Document) -> Document:
    """The document with every text bounded and harmless; a remedy's text keeps its lines.

    BenchviseError for one that is not of the shape of ``benchvise.why.shape``.
    """
    if isinstance(document, Mapping) and document.get("format") != FORMAT:
        raise BenchviseError(
            f"the diagnosis has format {document.get('format')}, expected {FORMAT}",
            "show it with the Benchvise that made it",
        )
    wrong = next((fault for fault in faults(document) if not fault.endswith(UNKNOWN)), None)
    if wrong is not None:
        raise BenchviseError(
            f"the diagnosis cannot be shown: {wrong}", "was its file or its store changed?"
        )
    safe: dict[str, Any] = _cleaned(document)
    for cause in safe["causes"]:
        for holder in (cause, cause["mechanism"] or {"remedies": ()}):
            for remedy in holder["remedies"]:
                remedy["text"] = remedy["lines"]
    return safe


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value, SENTENCE_LIMIT)
    if isinstance(value, Mapping):
        cleaned = {printable(str(key)): _cleaned(item) for key, item in value.items()}
        if "system" in value and "text" in value:
            lines = str(value["text"]).strip("\n").split("\n")
            kept = [_clean_line(line) for line in lines[:LINES]]
            more = [f"# {len(lines) - LINES} more lines"] if len(lines) > LINES else []
            cleaned["lines"] = "\n".join([*kept, *more])
        return cleaned
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _clean_line(line: str) -> str:
    indent = len(line) - len(line.lstrip(" \t"))
    return " " * min(indent, 40) + printable(line, SENTENCE_LIMIT)


# -- figures in words ------------------------------------------------------------------------------


def share_text(bounds: Mapping[str, float]) -> str:
    """``97 % (93 to 101)``."""
    return share(bounds["value"], bounds["low"], bounds["high"])


def duration(seconds: float) -> str:
    """``3 min 12 s``."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes > _LAST_MINUTES:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def counted(number: int, one: str, several: str = "") -> str:
    """``1 experiment``, ``7 experiments``."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def times(ratio: float) -> str:
    """``10.3x``."""
    return f"{format_number(ratio)}x"


def gap_text(gap: Mapping[str, Any]) -> str:
    """The gap, its interval and the noise floor in one line."""
    bounds = gap["goodness"]
    return (
        f"{apart(bounds['value'])} apart (95 %: {reach(bounds['low'], bounds['high'])}); "
        f"noise floor {apart(gap['floor'])}"
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


def arms(document: Document, experiment: Mapping[str, Any]) -> Arms:
    """What both arms of an experiment measured."""
    numbers = set(experiment["trials"])
    context = set(experiment["context"])
    both = context | set(experiment["flipped"])
    found: dict[bool, list[float]] = {False: [], True: []}
    for trial in document["trials"]:
        if trial["number"] in numbers and trial["side"] == experiment["side"]:
            flipped = set(trial["flipped"])
            if flipped in (context, both):
                found[flipped != context].append(trial["value"])
    return Arms(*(median(values) if values else None for values in found.values()))


def arms_text(document: Document, experiment: Mapping[str, Any]) -> str:
    """``2.79 → 5.83 GB/s``; empty without trials."""
    seen = arms(document, experiment)
    unit = document["metric"]["unit"]
    if seen.without is None:
        return ""
    if seen.flipped is None:
        return format_value(seen.without, unit)
    before, after = format_value(seen.without, unit), format_value(seen.flipped, unit)
    number, _, name = before.partition(" ")
    same = name and after.endswith(f" {name}")
    return f"{number} → {after}" if same else f"{before} → {after}"


def outcome(experiment: Mapping[str, Any]) -> str:
    """What an experiment showed, in the words of what it was made for."""
    if experiment["purpose"] == Purpose.AGAIN:
        return "not quite as before" if experiment["reason"] else "as before"
    said = str(experiment["outcome"])
    return said.replace("close", "open") if experiment["purpose"] == Purpose.BREAK else said


def remedies(cause: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """The cause's remedies and those of its mechanism, each once."""
    every = [*cause["remedies"], *(cause["mechanism"] or {"remedies": ()})["remedies"]]
    return list({(r["system"], r["text"]): r for r in reversed(every)}.values())[::-1]


def untested(document: Document) -> list[Mapping[str, Any]]:
    """The suspects that could not be flipped here."""
    return [suspect for suspect in document["suspects"] if not suspect["testable"]]


def still_open(document: Document) -> list[Mapping[str, Any]]:
    """The suspects that could be tested and never were, not even among others."""
    tried = {name for experiment in document["experiments"] for name in experiment["flipped"]}
    return [s for s in document["suspects"] if s["testable"] and s["id"] not in tried]


def ruled_out(document: Document) -> list[Mapping[str, Any]]:
    """The experiments that tried many differences, or a whole layer, at once."""
    wide = (Purpose.ALL_IN, Purpose.LAYER, Purpose.PROBE, Purpose.PROCESS)
    return [e for e in document["experiments"] if e["purpose"] in wide and e["share"]]


def unresolved(document: Document) -> list[Mapping[str, Any]]:
    """The experiments that gave no answer, and why."""
    return [e for e in document["experiments"] if e["outcome"] == Outcome.UNRESOLVED]


def unexplained_part(document: Document) -> Mapping[str, float] | None:
    """The share that no cause accounts for, where a gap was to be explained."""
    part: Mapping[str, float] | None = document["unexplained"]
    return part if document["gap"] else None


def repeat_command(document: Document) -> str:
    """The command line that makes the diagnosis again, as far as it can be told."""
    if document["repeat"]:
        return str(document["repeat"])
    metric = document["metric"]
    if metric["command"]:
        what = ["--command", metric["command"], "--better", metric["better"]]
    else:
        params = ",".join(f"{name}={value}" for name, value in metric["params"].items())
        what = ["--bench", metric["benchmark"] + (f":{params}" if params else "")]
    words = ["benchvise", "why", document[Side.GOOD], document[Side.BAD], *what]
    return shlex.join([*words, "--seed", str(document["seed"])])


def named(names: Sequence[str], most: int = 4) -> str:
    """A few names, and how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
