"""Hostile text through every place where text leaves the package."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from families import every
from report_runs import demonstration_run, series, spec
from rich.table import Table as RichTable
from rich.text import Text
from starlette.datastructures import QueryParams

from benchvise.cli import output
from benchvise.cli.progress import ActivityProgress, FleetProgress, RigProgress, RunProgress
from benchvise.cli.why import WhyProgress
from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.flows.request import RunResult
from benchvise.health.watch.alarms import environment as alarm_environment
from benchvise.measure.model import RunRecord, SeriesSpec
from benchvise.measure.runner import ProcessBegun
from benchvise.measure.validity import summarise
from benchvise.report import sinks
from benchvise.report.data import report_data, to_json
from benchvise.report.html import Assets, environment, render_page
from benchvise.report.html import render_response_page as response_page
from benchvise.report.rendering import Cell, Column, Table, line, rendered, table_markdown
from benchvise.report.responses import ConfigurationTimes
from benchvise.report.tables import list_rows, run_rows, run_table
from benchvise.rig.hold.messages import PhaseReached
from benchvise.state.diff import NewLogLines
from benchvise.text import Untrusted
from benchvise.web.answers import failure
from benchvise.web.http import JsonAnswer
from benchvise.web.live import message
from benchvise.why.events import StageBegun, TrialFailed

HOSTILE = {
    "colours and cursor": "a\x1b[2J\x1b[31;7mb\x1b[9999D",
    "eight-bit introducers": "a\x9b2Jb\x9d0;owned\x9c",
    "title": "a\x1b]0;owned\x07b",
    "link that never ends": "a\x1b]8;;http://evil.example",
    "device control that never ends": "a\x1bP+q544e",
    "right to left": "a\u202eb\u2066c\u200fd",
    "zero width": "a\u200bb\u2060c\ufeffd\u00ad",
    "lone surrogate": "a\ud800b\udfffc",
    "nul": "a\0b\0",
    "bells and backspaces": "a\x07\x08\x08\x7fb",
    "megabytes": "x" * 2_000_000,
    "megabytes of escapes": "\x1b[m" * 700_000,
    "lines": "a\nb\r\nc\x0bd\x0ce\x85f\u2028g\u2029h",
    "markdown": "# [a](javascript:alert(1)) | **b** `c` ~~d~~ $e$ www.evil.example ![f](g)",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&lt;",
    "end of a script": "</script></style><!-- ]]>",
    "template": "{{ 7*1911191 }}{% for x in y %}{{ self }}",
    "console markup": "[red]x[/] [link=http://evil.example]y[/link] [/nonsense] :smile:",
    "formula": "=cmd|'/C calc'!A0",
    "other formulas": "@SUM(1+1)*cmd|' /C calc'!A0",
    "number and formula": "-2+3+cmd|' /C calc'!A0",
    "address": "javascript:alert(document.cookie)",
    "format": "%s%n {0.__class__} {task.fields}",
}

ASSETS = Assets(script="/* script */", style="/* style */")
# What no program of ours would send to a terminal itself.
ACTING = re.compile(
    "[\x00\x07\x08\x7f-\x9f\u200b\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


each_text = every(
    "text", HOSTILE.values(), {text: name for name, text in HOSTILE.items()}.__getitem__
)


def inert(text: str) -> bool:
    """Whether a text neither acts nor hides anything: what a person may be shown."""
    return text.translate(dict.fromkeys(map(ord, "\n\u200b\u00a0\u2009"))).isprintable()


# -- terminal --------------------------------------------------------------------------------------


def printed(*things: Any) -> str:
    console = sinks.Terminal(file=io.StringIO(), width=100, highlight=False)
    for thing in things:
        console.print(thing)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def table_of(text: Any) -> Table:
    return Table(
        f"{text}",
        (Column(text), Column("value", right=True)),
        ((Cell(text), Cell(text, "doubt")), (Cell("b"), Cell("c", "strong"))),
        (text, f"about: {text}"),
    )


@cache
def hostile_run(text: str) -> RunRecord:
    """A run in which everything that is no number says the same."""
    return demonstration_run(
        label=text,
        board=text,
        suite=text,
        reason=Untrusted(text),
        tags=(text,),
        note=Untrusted(text),
        host={"kernel": text, "cpu_model": {"na": text}, "hostname": text},
        plan={"settings": {text: text}},
        series=(
            series(spec("memory.copy", size="1M"), 2e10, unit=text, caveats=(text,)),
            replace(
                series(spec("memory.fill"), 2e10, unit="B/s"),
                spec=SeriesSpec(text, ((text, text),), text),
            ),
        ),
    )


@cache
def hostile_summaries(text: str) -> list[Any]:
    return [summarise(each) for each in hostile_run(text).series if each.values]


def foreign_table(text: str) -> RichTable:
    table = RichTable(text, title=text, caption=text)
    table.add_row(text)
    table.add_row(Text(text))
    return table


ON_TERMINAL: dict[str, Callable[[str], str]] = {
    "table": lambda text: printed(rendered(table_of(text))),
    "table of what is untrusted": lambda text: printed(rendered(table_of(Untrusted(text)))),
    "line": lambda text: printed(line(Cell(text))),
    "text": printed,
    "styled text": lambda text: printed(Text(text, style="bold")),
    "table of rich": lambda text: printed(foreign_table(text)),
    "run": lambda text: printed(run_table(hostile_run(text), hostile_summaries(text))),
}


@pytest.mark.parametrize("sink", ON_TERMINAL)
@each_text
def test_a_terminal_shows_text_and_nothing_else(sink: str, text: str) -> None:
    shown = ON_TERMINAL[sink](text)
    assert inert(shown)
    assert len(shown) < 300_000
    shown.encode()


@pytest.mark.parametrize("sink", ["table", "text", "line", "table of rich"])
def test_console_markup_is_text(sink: str) -> None:
    assert "[red]x[/] [link=" in ON_TERMINAL[sink](HOSTILE["console markup"])


def test_a_cell_is_one_line() -> None:
    assert "a b c" in printed(rendered(table_of("a\nb\r\nc")))


@each_text
def test_an_error_is_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error(BenchviseError(f"{text} failed", text), as_json=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("benchvise: ") and captured.err.count("\n") == 1
    assert inert(captured.err) and len(captured.err) < 5000


def live(watch: Callable[[sinks.Terminal], None]) -> str:
    file = io.StringIO()
    watch(sinks.Terminal(file=file, width=100, force_terminal=True, highlight=False))
    return file.getvalue()


def running(text: str) -> Callable[[sinks.Terminal], None]:
    def watch(console: sinks.Terminal) -> None:
        plan: Any = SimpleNamespace(series=[spec(text)], processes=3, time_s=None)
        with RunProgress(console) as progress:
            progress.observe(text, plan, ProcessBegun(0, 0, {}))

    return watch


def fleet(text: str) -> Callable[[sinks.Terminal], None]:
    def watch(console: sinks.Terminal) -> None:
        plan: Any = SimpleNamespace(series=[spec(text)], processes=3, time_s=None)
        with FleetProgress(console) as progress:
            progress.observe_rig(text, PhaseReached(text, 1.0))
            progress.observe(text, plan, ProcessBegun(0, 0, {}))
            progress.observe_end(RunResult("", text, (), BenchviseError(text)))

    return watch


def bisecting(text: str) -> Callable[[sinks.Terminal], None]:
    def watch(console: sinks.Terminal) -> None:
        with ActivityProgress(console) as progress:
            progress.observe(text, text)

    return watch


def booting(text: str) -> Callable[[sinks.Terminal], None]:
    def watch(console: sinks.Terminal) -> None:
        with RigProgress(console) as progress:
            progress.observe(text, PhaseReached(text, 1.0))

    return watch


def diagnosing(text: str) -> Callable[[sinks.Terminal], None]:
    def watch(console: sinks.Terminal) -> None:
        with WhyProgress(console) as progress:
            stage: Any = text
            side: Any = "good"
            progress.observe(StageBegun(stage))
            progress.observe(TrialFailed(side, (text,), text, False))

    return watch


@pytest.mark.parametrize("progress", [running, fleet, bisecting, booting, diagnosing])
@each_text
def test_progress_shows_one_line(progress: Any, text: str) -> None:
    shown = live(progress(text))
    assert ACTING.search(shown) is None
    for theirs in ("\x1b]", "\x1bP", "\x1b[2J", "\x1b[31;7m", "\x1b[9999D"):
        assert theirs not in shown
    assert len(shown) < 50_000


# -- Markdown --------------------------------------------------------------------------------------


ON_MARKDOWN: dict[str, Callable[[str], str]] = {
    "text": sinks.markdown,
    "run": lambda text: table_markdown(run_rows(hostile_run(text), hostile_summaries(text))),
    "runs": lambda _: table_markdown(list_rows([])),
}


@pytest.mark.parametrize("sink", ON_MARKDOWN)
@each_text
def test_markdown_is_no_markup_and_no_link(sink: str, text: str) -> None:
    shown = ON_MARKDOWN[sink](text)
    assert inert(shown) and len(shown) < 300_000
    assert re.search(r"(?<!\\)[<\[`!]", shown) is None
    assert "](" not in shown and "://evil" not in shown and "www.evil" not in shown


def test_a_table_in_markdown_keeps_its_rows() -> None:
    plain, hostile = (
        ON_MARKDOWN["run"](text).count("\n| ") for text in ("name", "a\n| b | c\n\n# d")
    )
    assert hostile == plain


# -- HTML ------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def rendered_failure(text: str) -> str:
    request: Any = SimpleNamespace(
        url=SimpleNamespace(path="/runs/none", query=""),
        scope={"raw_path": b"/runs/none"},
        headers={},
        state=SimpleNamespace(),
        query_params=QueryParams({"q": text.encode("utf-8", "replace").decode()}),
    )
    body = failure(request, BenchviseError(text, text), 404).body
    return bytes(body).decode()


def template(text: str) -> str:
    source = '<p title="{{ x }}">{{ x }} {{ x | breakable }} {{ 1.0 | quantity(x) }}</p>'
    return environment().from_string(source).render(x=text)


def report(text: str) -> str:
    run = hostile_run(text)
    return render_page(report_data([run, replace(run, id="other")]), ASSETS)


def responses(text: str) -> str:
    samples = [ConfigurationTimes(text, np.array([1e-6, 2e-6, 3e-6]))]
    return response_page(samples, [table_of(text)])


PAGES: dict[str, Callable[[str], str]] = {
    "template": template,
    "template of what is untrusted": lambda text: (
        environment().from_string('<p title="{{ x }}">{{ x }}</p>').render(x=Untrusted(text))
    ),
    "report": report,
    "responses": responses,
    "workbench": rendered_failure,
}


@cache
def harmless_tags(sink: str) -> list[tuple[str, dict[str, str | None]]]:
    return Page(PAGES[sink]("name")).tags


@pytest.mark.parametrize("sink", PAGES)
@each_text
def test_a_page_holds_text_and_no_more_elements(sink: str, text: str) -> None:
    shown = PAGES[sink](text)
    if sink in ("template", "template of what is untrusted", "workbench"):
        assert inert(shown.replace("\t", ""))
        assert len(shown) < 100_000
    tags, harmless = Page(shown).tags, harmless_tags(sink)
    assert {tag for tag, _ in tags} <= {tag for tag, _ in harmless} | {"wbr"}
    for name in ("script", "style", "img", "iframe"):
        assert [tag for tag, _ in tags].count(name) == [tag for tag, _ in harmless].count(name)
    for _, attributes in tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "src", "action"):
            assert not (attributes.get(name) or "").strip().lower().startswith("javascript:")


@pytest.mark.parametrize("sink", PAGES)
def test_a_template_in_a_text_is_not_run(sink: str) -> None:
    shown = PAGES[sink](HOSTILE["template"])
    assert "13378337" not in shown and "TemplateReference" not in shown


# -- JSON ------------------------------------------------------------------------------------------


def command_json(text: str) -> str:
    return sinks.json_text({"benchvise": "0", "kind": "run", "data": {text: [text]}})


def told_live(text: str) -> str:
    head, _, data = message("status", {text: [text]}).decode().rstrip("\n").partition("\n")
    assert head == "event: status"
    return data.removeprefix("data: ")


DOCUMENTS: dict[str, Callable[[str], str]] = {
    "--json": command_json,
    "untrusted": lambda text: sinks.json_text({"a": Untrusted(text)}),
    "twin": lambda text: bytes(JsonAnswer({text: [text]}).body).decode(),
    "live": told_live,
    "embedded": lambda text: sinks.embedded({text: [text]}),
    # which says it 25 times: what two megabytes do to a document, the others show
    "data of a report": lambda text: to_json(report_data([hostile_run(text[:200_000])])),
    "typed": lambda text: sinks.json_text(encode(NewLogLines(1, (text,)))),
}


@pytest.mark.parametrize("sink", DOCUMENTS)
@each_text
def test_json_is_one_document_that_does_nothing(sink: str, text: str) -> None:
    shown = DOCUMENTS[sink](text)
    assert shown.isascii() and inert(shown)
    if sink != "data of a report":
        assert "\n" not in shown
    assert inert(re.sub("[\t\n\r\u2028\u2029]", "", "".join(texts_in(json.loads(shown)))))
    if sink == "embedded":
        assert not set("<>&") & set(shown)


def texts_in(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [part for pair in value.items() for item in pair for part in texts_in(item)]
        case list():
            return [part for item in value for part in texts_in(item)]
    return []


@pytest.mark.parametrize(
    "text",
    ["Zürich 東京 \U0001f600", "a\tb\nc \\u001b \\\\", "می‌خواهم", "\u00a0", '"'],
)
def test_json_keeps_what_shows(text: str) -> None:
    assert json.loads(sinks.json_text([text])) == [text]
    assert json.loads(sinks.embedded([text])) == [text]


def test_what_json_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        sinks.json_text([float("nan")])
    with pytest.raises(TypeError, match="object"):
        sinks.json_text([object()])


# -- CSV -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [str, Untrusted])
@each_text
def test_csv_is_one_line_a_row_and_no_formula(wrap: Callable[[str], Any], text: str) -> None:
    shown = sinks.csv_text([wrap(text), "n"], [[wrap(text), -1.5], [None, 2]])
    assert inert(shown) and len(shown) < 100_000
    lines = shown.splitlines()
    assert len(lines) == 3
    for row in csv.reader(lines):
        assert not row[0].startswith(("=", "@", "+", "-")) or row[0] == "n"
    assert list(csv.reader(lines))[1][1] == "-1.5"


def test_csv_keeps_numbers_and_names() -> None:
    assert sinks.csv_text(["a"], [["-5"], ["bash"], [3], ["a,b"]]) == 'a\n-5\nbash\n3\n"a,b"\n'
    assert sinks.csv_text(["a"], [["-bash"]]) == "a\n'-bash\n"


# -- the user's command ----------------------------------------------------------------------------


@each_text
def test_an_alarm_is_told_in_harmless_lines(text: str) -> None:
    alert: Any = SimpleNamespace(
        rule=text, subject=text, unit=text, sentence=text, remedy=text, raised=True,
        at=0.0, level=1.0, worst=1.0, bound=1.0,
    )  # fmt: skip
    for value in alarm_environment(text, alert).values():
        assert inert(value) and "\n" not in value and len(value) <= 500
        value.encode()
