"""Comparisons in the formats of CI services and labs, read back by their readers' rules."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from typing import Any, cast, get_args

import junitparser
import kcidb_io
import pytest
from report_runs import demonstration_run, other_run, series, spec
from test_sinks import HOSTILE

from benchvise.cli.results import ComparisonFormatName
from benchvise.measure.compare import compare_runs
from benchvise.measure.model import SeriesSpec
from benchvise.report.comparison_formats import COMPARISON_FORMATS, is_regression
from benchvise.report.data import ComparisonDocument, comparison_data

SKIPPED = ("unstable", "not comparable")


@cache
def comparison() -> ComparisonDocument:
    return comparison_data(compare_runs(demonstration_run(), other_run()))


@cache
def hostile() -> ComparisonDocument:
    """Series that are named as no series should be; all of them slower."""
    names = {
        **HOSTILE,
        "workflow command": "::error file=x::y\n::set-output name=a::b%0A::stop-commands::x",
        "XML": ']]><failure message="x"/><!--&lt;',
        "shell": "'; rm -rf / #$(id)`id`",
        "formula": '=HYPERLINK("http://x","y")',
        "Markdown": "|a|<img src=x>[b](http://c)`",
        "XML's own non-characters": "a\ufffe\uffff\x00\x0b",
    }
    keys = [SeriesSpec(f"x{number}", (), name) for number, name in enumerate(names.values())]
    sides = [
        demonstration_run(
            id=identity,
            label=name,
            series=tuple(
                replace(series(spec(key.benchmark), value, seed=seed), spec=key) for key in keys
            ),
        )
        for identity, name, value, seed in (
            ("0" * 12, "::warning::a\n::b", 100.0, 1),
            ("1" * 12, "<&|=b", 150.0, 2),
        )
    ]
    return comparison_data(compare_runs(*sides))


def written(name: str, document: ComparisonDocument, threshold: float | None = None) -> str:
    return COMPARISON_FORMATS[name].write(document, threshold)


def regressed(threshold: float | None) -> set[str]:
    return {c.key for c in comparison().changes if is_regression(c, threshold)}


def test_the_command_offers_every_format() -> None:
    assert set(get_args(ComparisonFormatName)) == {"table", "json", *COMPARISON_FORMATS}


@pytest.mark.parametrize("threshold", [None, 20.0])
def test_junit_is_read_by_its_parser(threshold: float | None) -> None:
    xml = junitparser.JUnitXml.fromstring(written("junit", comparison(), threshold).encode())
    (suite,) = xml
    cases = {case.name: case for case in cast("Any", suite)}
    assert set(cases) == {change.key for change in comparison().changes}
    kinds: dict[type, set[str]] = {junitparser.Failure: set(), junitparser.Skipped: set()}
    for name, case in cases.items():
        for result in case.result:
            kinds[type(result)].add(name)
            assert result.message
    assert kinds[junitparser.Failure] == regressed(threshold) != set()
    skipped = {c.key for c in comparison().changes if c.verdict in SKIPPED}
    assert kinds[junitparser.Skipped] == skipped != set()
    assert (suite.tests, suite.failures) == (len(cases), len(regressed(threshold)))
    assert suite.skipped == len(skipped)
    change = next(c for c in comparison().changes if c.other is not None)
    assert change.other is not None
    values = {p.name: p.value for p in cast("Any", cases[change.key].child(junitparser.Properties))}
    assert float(values["other_median"]) == change.other.median
    assert float(values["ratio"]) == change.ratio


def test_github_has_ten_annotations_of_a_kind_at_most() -> None:
    text = written("github", comparison())
    parsed = [re.fullmatch(r"::(\w+) title=([^:,]*)::(.*)", line) for line in text.splitlines()]
    assert all(parsed)
    levels = [match[1] for match in parsed if match]
    assert levels.count("error") == min(10, len(regressed(None)))
    assert levels[-1] == "notice"
    assert "slower" in text.splitlines()[-1]


def test_gitlab_reads_what_its_documentation_demands() -> None:
    findings = json.loads(written("gitlab", comparison(), 20.0))
    for finding in findings:
        assert set(finding) == {*("description", "check_name", "fingerprint"),
                                *("severity", "location")}  # fmt: skip
        assert finding["severity"] in {"info", "minor", "major", "critical", "blocker"}
        path = finding["location"]["path"]
        assert path and not path.startswith(("./", "/")) and finding["location"]["lines"]["begin"]
    prints = [finding["fingerprint"] for finding in findings]
    assert len(set(prints)) == len(prints)
    assert sum(f["severity"] == "major" for f in findings) == len(regressed(20.0))
    assert prints == [f["fingerprint"] for f in json.loads(written("gitlab", comparison()))]


def test_bencher_gets_value_and_bounds() -> None:
    metrics = json.loads(written("bmf", comparison()))
    for change in comparison().changes:
        if change.other is None:
            assert change.key not in metrics
            continue
        ((measure, metric),) = metrics[change.key].items()
        assert re.fullmatch(r"[a-z0-9-]+", measure)
        assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]
        assert metric["value"] == change.other.median
    assert "latency" in metrics["os.syscall:call=read"]


def test_lava_gets_a_case_a_series() -> None:
    lines = written("lava", comparison(), 20.0).splitlines()
    assert len(lines) == len(comparison().changes)
    cases = [shlex.split(line) for line in lines]
    assert all(case[0] == "lava-test-case" and case[2] == "--result" for case in cases)
    assert len({case[1] for case in cases}) == len(cases)
    results = [case[3] for case in cases]
    assert results.count("fail") == len(regressed(20.0))
    assert results.count("skip") == sum(c.verdict in SKIPPED for c in comparison().changes)
    for case, change in zip(cases, comparison().changes, strict=True):
        options = dict(zip(case[2::2], case[3::2], strict=True))
        if change.other is not None:
            assert re.fullmatch(r"-?[0-9]+(\.[0-9]{1,10})?", options["--measurement"])
            assert float(options["--measurement"]) == pytest.approx(change.other.median)
            assert options["--units"] == change.unit


@pytest.mark.parametrize("threshold", [None, 20.0])
def test_kcidb_is_valid_for_its_library(threshold: float | None) -> None:
    report = json.loads(written("kcidb", comparison(), threshold))
    kcidb_io.schema.LATEST.validate(report)
    tests = report["tests"]
    assert [test["comment"].partition(": ")[0] for test in tests] == [
        change.key for change in comparison().changes
    ]
    assert len({test["id"] for test in tests}) == len(tests)
    statuses = [test["status"] for test in tests]
    assert statuses.count("FAIL") == len(regressed(threshold))
    for test, change in zip(tests, comparison().changes, strict=True):
        if change.other is not None:
            assert test["number"] == {"value": change.other.median, "unit": change.unit}
        assert (test["status"] in ("SKIP", "DONE")) == (change.verdict in SKIPPED)
    assert "benchvise.os.syscall.call_read" in [test["path"] for test in tests]


def test_html_is_a_table_of_text() -> None:
    class Cells(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.elements: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.elements.append(tag)

    for document in (comparison(), hostile()):
        cells = Cells()
        cells.feed(written("html", document, 20.0))
        assert cells.elements.count("tr") == len(document.changes) + 1
        assert cells.elements.count("td") == 7 * len(document.changes)
        assert not {"script", "img", "a", "failure"} & set(cells.elements)
        bold = cells.elements.count("b")
        assert bold == sum(is_regression(change, 20.0) for change in document.changes)


def test_tsv_is_csv_between_tabs() -> None:
    document = comparison()
    tabs = list(csv.reader(io.StringIO(written("tsv", document)), delimiter="\t"))
    assert tabs == list(csv.reader(io.StringIO(written("csv", document))))
    hostile = replace(document.changes[0], key="a\tb\n=c", reason="x\ty")
    rows = written("tsv", replace(document, changes=(hostile,))).splitlines()
    assert [row.count("\t") for row in rows] == [len(tabs[0]) - 1] * 2


@pytest.mark.parametrize("name", ["csv", "tsv"])
def test_pandas_and_polars_read_the_same_cells(name: str) -> None:
    separator = "," if name == "csv" else "\t"
    for document in (comparison(), hostile()):
        text = written(name, document)
        head, *rows = csv.reader(io.StringIO(text), delimiter=separator)
        pandas = import_module("pandas")
        frame = pandas.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False)
        assert list(frame.columns) == head and frame.to_numpy().tolist() == rows
        polars = import_module("polars")
        read = polars.read_csv(text.encode(), separator=separator, infer_schema=False)
        assert read.columns == head
        assert [[cell or "" for cell in row] for row in read.rows()] == rows
    ratios = pandas.read_csv(io.StringIO(written("csv", comparison())))["ratio"]
    assert [None if math.isnan(ratio) else ratio for ratio in ratios] == [
        change.ratio for change in comparison().changes
    ]


def test_csv_has_every_series() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv", comparison()))))
    assert [row["series"] for row in rows] == [c.key for c in comparison().changes]
    for row, change in zip(rows, comparison().changes, strict=True):
        assert (float(row["ratio"]) if row["ratio"] else None) == change.ratio


def test_hostile_names_are_text_everywhere() -> None:
    document = hostile()
    count = len(document.changes)
    xml = junitparser.JUnitXml.fromstring(written("junit", document).encode())
    (suite,) = xml
    cases = list(cast("Any", suite))
    assert len(cases) == count
    assert all(sum(isinstance(r, junitparser.Failure) for r in c.result) == 1 for c in cases)
    for line in written("github", document).splitlines():
        assert re.fullmatch(r"::(error|warning|notice) title=[^:,]*::.*", line)
        assert re.search(r"%(?!25|3A|2C)", line) is None
    assert len(json.loads(written("gitlab", document))) == count
    for line in written("lava", document).splitlines():
        words = shlex.split(line)
        assert re.fullmatch(r"[A-Za-z0-9._=+-]+", words[1]) and len(words) == 8
        assert line == " ".join(words)  # nothing in it needs a quote
    kcidb_io.schema.LATEST.validate(json.loads(written("kcidb", document)))
    rows = list(csv.reader(io.StringIO(written("csv", document))))
    assert len(rows) == count + 1 and not any(row[0].startswith("=") for row in rows)
    table = [line for line in written("markdown", document).splitlines() if line.startswith("|")]
    assert len(table) == count + 2
    for row in table[2:]:
        assert len(re.findall(r"(?<!\\)\|", row)) == 7
        assert "<img" not in row.replace("\\<", "")
    for name in COMPARISON_FORMATS:
        text = written(name, document)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800-\udfff]", text), name


def test_an_empty_comparison_is_written_too() -> None:
    nothing = comparison_data(compare_runs(demonstration_run(series=()), other_run(series=())))
    assert list(junitparser.JUnitXml.fromstring(written("junit", nothing).encode()))
    assert json.loads(written("gitlab", nothing)) == []
    assert json.loads(written("bmf", nothing)) == {}
    assert written("lava", nothing) == ""
    kcidb_io.schema.LATEST.validate(json.loads(written("kcidb", nothing)))
    assert "no regression" in written("markdown", nothing)


def test_a_threshold_decides_what_a_comment_calls_a_regression() -> None:
    text = written("markdown", comparison(), 20.0)
    assert f"{len(regressed(20.0))} regressions of more than 20 %" in text
    assert (
        written("markdown", comparison(), 1e6)
        .splitlines()[0]
        .endswith("no regression of more than 1e+06 %")
    )


def test_names_of_one_lava_case_are_told_apart() -> None:
    names = [replace(spec("a.b"), key=key, benchmark=key) for key in ("a:b c", "a:b  c")]
    sides = [demonstration_run(id=identity * 12, series=tuple(series(n, 5.0) for n in names))
             for identity in "01"]  # fmt: skip
    lines = written("lava", comparison_data(compare_runs(*sides))).splitlines()
    assert [line.split()[1] for line in lines] == ["a_b_c", "a_b_c_2"]
