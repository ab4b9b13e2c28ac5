"""A comparison for the programs that read results: CI services, test labs, dashboards.

One table, ``COMPARISON_FORMATS``, names every format that ``compare --format`` knows. Each writer
takes the same document that ``--json`` prints, and makes names from outside harmless for its own
reader: XML has no control characters, a workflow command no line of its own, a shell command
nothing that a shell would act on.

A *regression* is a series that is slower by more than the threshold, just as the exit code of
``compare --threshold`` has it; without a threshold, every slower series is one. What is unstable or
not comparable is skipped with its reason, never passed.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from markupsafe import Markup

from benchvise.measure.compare import SeriesVerdict
from benchvise.measure.validity import Summary
from benchvise.quantities import ABSENT, finite, format_change, format_value
from benchvise.report.data import ChangeData, ComparisonDocument
from benchvise.report.interval_chart import IntervalMark, interval_chart
from benchvise.report.rendering import Cell, Column, Table, table_row
from benchvise.report.sinks import CELL_LIMIT, csv_text, json_text, markdown, sentence
from benchvise.report.table_pages import page
from benchvise.report.tables import chance_remarks
from benchvise.table import Tone
from benchvise.text import counted

_NO_BREAK = "\u00a0"
"""A space at which no line ends: a comment's columns are narrow."""

_ANNOTATIONS = 10
"""GitHub shows so many of a kind for each step."""

_COMPARED = (SeriesVerdict.FASTER, SeriesVerdict.SLOWER, SeriesVerdict.NO_DIFFERENCE)
_SKIPPED = (SeriesVerdict.UNSTABLE, SeriesVerdict.NOT_COMPARABLE)


@dataclass(frozen=True, slots=True)
class ComparisonFormat:
    """A format: what it is for, and its writer, which is given the threshold in percent too."""

    name: str
    summary: str
    write: Callable[[ComparisonDocument, float | None], str]


def is_regression(change: ChangeData, threshold: float | None) -> bool:
    """Whether a series is slower by more than the threshold in percent; None: by anything."""
    if change.verdict != SeriesVerdict.SLOWER or change.ratio is None:
        return False
    return abs(change.ratio - 1) * 100 > (threshold or 0.0)


def change_sentence(change: ChangeData) -> str:
    """``slower: 160.3 ns to 171.9 ns, +7.2 % (95 %: 1.055 to 1.090)``: what is known of a series.

    Where nothing was compared, the reason.
    """
    if change.base is None or change.other is None:
        return f"{change.verdict}: {change.reason}"
    text = (
        f"{change.verdict}: {_median(change.base, change.unit)} to "
        f"{_median(change.other, change.unit)}, {format_change(change.ratio)}"
    )
    if change.low is not None and change.high is not None:
        text += f" (95 %: {change.low:.3f} to {change.high:.3f})"
    return text if change.verdict in _COMPARED else f"{text}: {change.reason}"


def _median(summary: Summary, unit: str) -> str:
    mark = "" if summary.stable else "~"
    return f"{mark}{format_value(summary.median, unit)}"


def _heading(comparison: ComparisonDocument) -> str:
    return f"{sentence(comparison.other)} against {sentence(comparison.base)}"


# -- tables ----------------------------------------------------------------------------------------

_COLUMNS = (
    *("series", "unit", "better", "verdict", "base_median", "base_low", "base_high"),
    *("other_median", "other_low", "other_high", "ratio", "ratio_low", "ratio_high"),
    *("p", "noise_floor", "reason"),
)


def _csv(comparison: ComparisonDocument, _threshold: float | None) -> str:
    return csv_text(_COLUMNS, map(_csv_row, comparison.changes))


def _tsv(comparison: ComparisonDocument, _threshold: float | None) -> str:
    return csv_text(_COLUMNS, map(_csv_row, comparison.changes), "\t")


def _csv_row(change: ChangeData) -> Iterator[object]:
    yield from (change.key, change.unit, change.better, change.verdict)
    for summary in (change.base, change.other):
        yield from (None,) * 3 if summary is None else (summary.median, summary.low, summary.high)
    yield from (change.ratio, change.low, change.high, change.p, change.noise_floor, change.reason)


def markdown_comment(comparison: ComparisonDocument, threshold: float | None) -> str:
    """A comment for a merge request: the outcome in one line, then a table of what matters."""
    regressions = [c for c in comparison.changes if is_regression(c, threshold)]
    limit = f" of more than {threshold:g} %" if threshold else ""
    outcome = counted(len(regressions), "regression") if regressions else "no regression"
    lines = [f"### {markdown(_heading(comparison), CELL_LIMIT)}: {outcome}{limit}", ""]
    listed = [c for c in comparison.changes if c.verdict != SeriesVerdict.NO_DIFFERENCE]
    if listed:
        lines.append(table_row(("Series", "Base", "Now", "Change", "Ratio, 95 %", "Verdict")))
        lines.append(table_row(("---", "---:", "---:", "---:", "---:", "---")))
        lines += [_markdown_row(change, threshold) for change in listed]
        lines.append("")
    counts = [f"{count} {verdict}" for verdict, count in comparison.counts.items() if count]
    lines.append(f"{len(comparison.changes)} series: {', '.join(counts) or 'none'}.")
    reasons = [change for change in listed if change.verdict in _SKIPPED]
    remarks = [f"- {markdown(c.key)}: {markdown(c.reason)}" for c in reasons]
    remarks += [f"- {markdown(remark)}" for remark in chance_remarks(comparison.equal_runs)]
    lines += ["", *remarks] * bool(remarks)
    return "\n".join(lines) + "\n"


def _markdown_row(change: ChangeData, threshold: float | None) -> str:
    interval = ABSENT
    if change.low is not None and change.high is not None:
        interval = f"{change.low:.3f} to {change.high:.3f}"
    medians = (
        ABSENT if s is None else markdown(_median(s, change.unit))
        for s in (change.base, change.other)
    )
    verdict = f"**{change.verdict}**" if is_regression(change, threshold) else change.verdict
    figures = (*medians, format_change(change.ratio), interval)
    kept_together = (figure.replace(" ", _NO_BREAK) for figure in figures)
    return table_row((markdown(change.key), *kept_together, verdict))


# -- JUnit XML -------------------------------------------------------------------------------------


def _junit(comparison: ComparisonDocument, threshold: float | None) -> str:
    """One test case a series: <https://github.com/testmoapp/junitxml> describes what is read."""
    failures = sum(is_regression(change, threshold) for change in comparison.changes)
    skipped = sum(change.verdict in _SKIPPED for change in comparison.changes)
    counts = {
        "tests": str(len(comparison.changes)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(skipped),
    }
    root = ET.Element("testsuites", {"name": "benchvise", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _heading(comparison), **counts})
    for change in comparison.changes:
        case = ET.SubElement(
            suite, "testcase", classname=_benchmark(change.key), name=sentence(change.key)
        )
        properties = ET.SubElement(case, "properties")
        for name, value in _measured(change):
            ET.SubElement(properties, "property", name=name, value=value)
        message = sentence(change_sentence(change))
        if is_regression(change, threshold):
            ET.SubElement(case, "failure", type="regression", message=message).text = sentence(
                change.reason
            )
        elif change.verdict in _SKIPPED:
            ET.SubElement(case, "skipped", message=message)
        ET.SubElement(case, "system-out").text = message
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _measured(change: ChangeData) -> Iterator[tuple[str, str]]:
    yield "verdict", change.verdict
    yield "unit", sentence(change.unit)
    for name, summary in (("base", change.base), ("other", change.other)):
        if summary is not None:
            yield f"{name}_median", repr(summary.median)
            yield f"{name}_low", repr(summary.low)
            yield f"{name}_high", repr(summary.high)
    for name, ratio in (("", change.ratio), ("_low", change.low), ("_high", change.high)):
        if ratio is not None:
            yield f"ratio{name}", repr(ratio)


def _benchmark(key: str) -> str:
    return sentence(key.partition(":")[0])


# -- GitHub ----------------------------------------------------------------------------------------


def _github(comparison: ComparisonDocument, threshold: float | None) -> str:
    """Workflow commands: an annotation for each series that somebody has to look at.

    The ten largest regressions, then the ten first that are unstable; a notice counts all.
    """
    regressions = [c for c in comparison.changes if is_regression(c, threshold)]
    unstable = [c for c in comparison.changes if c.verdict == SeriesVerdict.UNSTABLE]
    lines = [_annotation("error", c.key, change_sentence(c)) for c in regressions[:_ANNOTATIONS]]
    lines += [_annotation("warning", c.key, change_sentence(c)) for c in unstable[:_ANNOTATIONS]]
    counts = [f"{count} {verdict}" for verdict, count in comparison.counts.items() if count]
    lines.append(_annotation("notice", _heading(comparison), ", ".join(counts) or "no series"))
    return "\n".join(lines) + "\n"


def _annotation(level: str, title: str, message: str) -> str:
    escaped = sentence(title).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={escaped}::{sentence(message).replace('%', '%25')}"


# -- GitLab ----------------------------------------------------------------------------------------


def _gitlab(comparison: ComparisonDocument, threshold: float | None) -> str:
    """A Code Quality report: the merge request shows what is new in it, and what is gone.

    A finding keeps its fingerprint as long as the series has its name. Its file is the benchmark,
    as a regression has no line of code.
    """
    return json_text([_finding(c, threshold) for c in comparison.changes if _is_finding(c)])


def _is_finding(change: ChangeData) -> bool:
    return change.verdict in (SeriesVerdict.SLOWER, SeriesVerdict.UNSTABLE)


def _finding(change: ChangeData, threshold: float | None) -> dict[str, object]:
    severity = "info" if change.verdict == SeriesVerdict.UNSTABLE else "minor"
    if is_regression(change, threshold):
        severity = "major"
    identity = f"{change.verdict}\0{change.key}".encode("utf-8", "replace")
    return {
        "description": sentence(f"{change.key}: {change_sentence(change)}"),
        "check_name": f"benchvise-{change.verdict}",
        "fingerprint": hashlib.sha256(identity).hexdigest(),
        "severity": severity,
        "location": {"path": _benchmark(change.key), "lines": {"begin": 1}},
    }


# -- Bencher ---------------------------------------------------------------------------------------

_MEASURES: Mapping[str, str] = {
    "ns": "latency",
    "1/s": "throughput",
    "B/s": "bytes-per-second",
    "Hz": "hertz",
    "B": "bytes",
    "": "value",
}
"""Bencher's own measures are ``latency`` (ns) and ``throughput`` (operations a second)."""


def _bmf(comparison: ComparisonDocument, _threshold: float | None) -> str:
    """Bencher Metric Format: medians of the second run with the 95 % interval.

    Series without a finite value are left out, as the format has no other value than a number.
    """
    metrics: dict[str, dict[str, dict[str, float]]] = {}
    for change in comparison.changes:
        if change.other is not None and (value := finite(change.other.median)) is not None:
            bounds = {
                "lower_value": finite(change.other.low),
                "upper_value": finite(change.other.high),
            }
            kept = {name: bound for name, bound in bounds.items() if bound is not None}
            metrics[sentence(change.key)] = {_measure(change.unit): {"value": value, **kept}}
    return json_text(metrics)


def _measure(unit: str) -> str:
    """The slug of a unit."""
    return _MEASURES.get(unit) or re.sub(r"[^a-z0-9]+", "-", unit.lower()).strip("-") or "value"


# -- LAVA ------------------------------------------------------------------------------------------


def _lava(comparison: ComparisonDocument, threshold: float | None) -> str:
    """``lava-test-case`` commands, one a series, for the shell of a test definition.

    A name has only what LAVA keeps of one; where two series would have the same, the later have a
    number. ``fail`` is a regression, ``skip`` what is unstable or was not compared.
    """
    lines = []
    taken: dict[str, int] = {}
    for change in comparison.changes:
        name = re.sub(r"[^A-Za-z0-9._=+-]+", "_", sentence(change.key)).strip("_-") or "series"
        taken[name] = taken.get(name, 0) + 1
        name = name if taken[name] == 1 else f"{name}_{taken[name]}"
        arguments = ["lava-test-case", name, "--result", _lava_result(change, threshold)]
        if change.other is not None and finite(change.other.median) is not None:
            arguments += ["--measurement", _decimal(change.other.median)]
            if unit := re.sub(r"[^A-Za-z0-9/%.]+", "_", change.unit):
                arguments += ["--units", unit]
        lines.append(shlex.join(arguments))
    return "\n".join(lines) + "\n" if lines else ""


def _lava_result(change: ChangeData, threshold: float | None) -> str:
    if change.verdict in _SKIPPED:
        return "skip"
    return "fail" if is_regression(change, threshold) else "pass"


def _decimal(value: float) -> str:
    """Without an exponent, and with the ten decimals that LAVA keeps."""
    text = f"{value:.10f}"
    return text.rstrip("0").rstrip(".")


# -- KCIDB -----------------------------------------------------------------------------------------

_KCIDB_VERSION = {"major": 5, "minor": 3}
_KCIDB_ORIGIN = "benchvise"


def _kcidb(comparison: ComparisonDocument, threshold: float | None) -> str:
    """A KCIDB report: a test for each series of the second run, below a build and a checkout that
    are named after that run.

    Whoever submits it puts the origin, the build and the checkout of the lab in their place. What
    was compared and is no regression is ``PASS``; what is unstable or was not compared has no
    verdict on the code: ``DONE`` with a value, ``SKIP`` without.
    """
    run = f"{_KCIDB_ORIGIN}:{sentence(comparison.other)}"
    tests = []
    for number, change in enumerate(comparison.changes, 1):
        test: dict[str, object] = {
            "origin": _KCIDB_ORIGIN,
            "id": f"{run}:{number}",
            "build_id": run,
            "path": _kcidb_path(change.key),
            "comment": sentence(f"{change.key}: {change_sentence(change)}"),
            "status": _kcidb_status(change, threshold),
            "misc": {"benchvise": dict(_measured(change))},
        }
        if change.other is not None and (value := finite(change.other.median)) is not None:
            test["number"] = {"value": value, **({"unit": change.unit} if change.unit else {})}
        tests.append(test)
    return json_text(
        {
            "version": _KCIDB_VERSION,
            "checkouts": [{"origin": _KCIDB_ORIGIN, "id": run}],
            "builds": [{"origin": _KCIDB_ORIGIN, "id": run, "checkout_id": run}],
            "tests": tests,
        }
    )


def _kcidb_path(key: str) -> str:
    """Dots and what else a path of tests may have: ``os.syscall.call_read``."""
    benchmark, _, parameters = sentence(key).partition(":")
    parts = [*benchmark.split("."), *parameters.split(",")]
    steps = (re.sub(r"[^A-Za-z0-9_-]+", "_", part).strip("_") for part in parts)
    return ".".join(["benchvise", *filter(None, steps)])


def _kcidb_status(change: ChangeData, threshold: float | None) -> str:
    if change.verdict in _SKIPPED:
        return "SKIP" if change.other is None else "DONE"
    return "FAIL" if is_regression(change, threshold) else "PASS"


# -- HTML ------------------------------------------------------------------------------------------

_HTML_COLUMNS = ("Series", "Base", "Now", "Change", "Ratio, 95 %", "Verdict", "Reason")


def changes_table(comparison: ComparisonDocument, threshold: float | None = None) -> Table:
    """Every series, regressions in bold."""
    rows = tuple(tuple(_html_cells(change, threshold)) for change in comparison.changes)
    return Table("", tuple(map(Column, _HTML_COLUMNS)), rows, ())


def changes_chart(comparison: ComparisonDocument, most: int = 30) -> Markup:
    """The changes of the series that were compared, the first ones, with their intervals."""
    marks = []
    for change in comparison.changes:
        if change.ratio is not None and change.low is not None and change.high is not None:
            tone: Tone = _TONES.get(change.verdict, "plain")
            ends = (change.ratio - 1, change.low - 1, change.high - 1)
            marks.append(IntervalMark(change.key, *ends, format_change(change.ratio), tone))
    return interval_chart(f"{_heading(comparison)}: change, 95 %", marks[:most], middle=0.0)


_TONES: Mapping[str, Tone] = {
    SeriesVerdict.FASTER: "good",
    SeriesVerdict.SLOWER: "bad",
    SeriesVerdict.UNSTABLE: "doubt",
}


def _html(comparison: ComparisonDocument, threshold: float | None) -> str:
    """A page of one table, without a script."""
    regressions = sum(is_regression(change, threshold) for change in comparison.changes)
    outcome = counted(regressions, "regression") if regressions else "no regression"
    return page(_heading(comparison), [changes_table(comparison, threshold)], outcome)


def _html_cells(change: ChangeData, threshold: float | None) -> Iterator[Cell]:
    yield Cell(change.key)
    for summary in (change.base, change.other):
        yield Cell(ABSENT if summary is None else _median(summary, change.unit))
    yield Cell(format_change(change.ratio))
    is_known = change.low is not None and change.high is not None
    yield Cell(f"{change.low:.3f} to {change.high:.3f}" if is_known else ABSENT)
    yield Cell(str(change.verdict), "bad" if is_regression(change, threshold) else "plain")
    yield Cell(change.reason)


COMPARISON_FORMATS: Mapping[str, ComparisonFormat] = {
    entry.name: entry
    for entry in (
        ComparisonFormat("csv", "all series, values as they are", _csv),
        ComparisonFormat("tsv", "the same, between tabs", _tsv),
        ComparisonFormat("markdown", "a comment for a merge request", markdown_comment),
        ComparisonFormat("junit", "JUnit XML, a test case a series", _junit),
        ComparisonFormat("github", "annotations of a GitHub workflow", _github),
        ComparisonFormat("gitlab", "a Code Quality report for GitLab", _gitlab),
        ComparisonFormat("bmf", "Bencher Metric Format, of the second run", _bmf),
        ComparisonFormat("lava", "lava-test-case commands, one a series", _lava),
        ComparisonFormat("kcidb", "a KCIDB report, a test a series", _kcidb),
        ComparisonFormat("html", "a page of one table, without a script", _html),
    )
}
"""Every format but the table for people and ``--json``, by its name."""
