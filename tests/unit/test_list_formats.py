"""``--format`` of lists: every file format holds what ``--json`` has, whatever strangers wrote."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from families import every
from in_process import benchvise
from markdown_it import MarkdownIt
from report_runs import demonstration_run

from benchvise.cli.commands import PROGRAM, Command, Group
from benchvise.cli.groups import CommandGroup
from benchvise.cli.main import program
from benchvise.errors import UsageError
from benchvise.report.list_formats import write_list
from benchvise.store import Store
from benchvise.store.results_file import TravellingRun

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=HYPERLINK(1)",
    "@SUM(1)",
    "a|b\n| c",
    "**bold** [x](javascript:alert(1)) `code`",
    "tab\there, comma",
    "\u202etxt.exe",
    "\x1b[2J\x00",
)


class Cells(HTMLParser):
    """The texts of a page's table by row, and the elements of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.elements: set[str] = set()
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        allowed = {"class", "lang", "charset", "name", "content"}
        assert {name for name, value in attrs if value != "text-align:right"} <= allowed
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data


def rows_of(name: str, text: str) -> list[list[str]]:
    """The table of a file as its own parser reads it, below its names."""
    if name in ("csv", "tsv"):
        return list(csv.reader(io.StringIO(text), delimiter="," if name == "csv" else "\t"))
    cells = Cells()
    if name == "markdown":
        cells.feed(MarkdownIt("commonmark").enable("table").render(text))
        cells.elements -= {"h3"}
    else:
        cells.feed(text)
        cells.elements -= {"html", "head", "meta", "title", "style", "body", "h1", "section"}
    assert cells.elements <= {"table", "caption", "thead", "tbody", "tr", "td", "th", "ul", "li"}
    return cells.rows


def shown(text: str) -> str:
    """What is left of a text in one line."""
    kept = text.replace("\x1b[2J", "").replace("\n", " ").replace("\t", " ")
    return " ".join(kept.replace("\u202e", "\ufffd").replace("\x00", "\ufffd").split())


@pytest.mark.parametrize("name", ["csv", "tsv", "markdown", "html"])
def test_hostile_texts(name: str) -> None:
    document = [{"text": text, "deep": {"number": at}} for at, text in enumerate(HOSTILE)]
    head, *rows = rows_of(name, write_list("names", document, ".", name))  # type: ignore[arg-type]
    assert head == ["text", "deep.number"]
    assert [int(row[1]) for row in rows] == list(range(len(HOSTILE)))
    for text, (cell, _) in zip(HOSTILE, rows, strict=True):
        plain = " ".join(cell.replace(":\u200b//", "://").split())
        if name in ("csv", "tsv") and text[0] in "=@":
            assert plain == f"'{text}"
        else:
            assert plain == shown(text)


def test_values() -> None:
    document = {
        "a": [{"n": None, "yes": True, "tags": ["x", "y"], "deep": [{"k": 1}], "v": 1.5e-9}],
        "b": 3,
    }
    assert rows_of("csv", write_list("k", document, "a", "csv")) == [
        ["n", "yes", "tags", "deep", "v"],
        ["", "true", "x; y", '[{"k": 1}]', "1.5e-09"],
    ]
    assert rows_of("html", write_list("k", document, "a", "html"))[1][3] == "1 entry"
    missing = [{"v": {"na": "ENOENT"}}, {"w": 1}]
    assert rows_of("tsv", write_list("k", missing, ".", "tsv")) == [
        ["v", "w"],
        ["not available: ENOENT", ""],
        ["", "1"],
    ]
    for key in ("b", "c", "."):
        with pytest.raises(UsageError, match="is no list that csv"):
            write_list("k", document, key, "csv")


def leaves(group: Group, real: CommandGroup) -> Iterator[tuple[str, Command, object]]:
    for entry in group.entries:
        if isinstance(entry, Group):
            yield from leaves(entry, real.commands[entry.name])  # type: ignore[arg-type]
        else:
            yield f"{group.name} {entry.name}", entry, real.commands[entry.name]


@every("leaf", leaves(PROGRAM, program()), lambda leaf: leaf[0])
def test_a_command_with_rows_has_every_format(leaf: tuple[str, Command, object]) -> None:
    _, entry, command = leaf
    options = {p.opts[0]: p for p in getattr(command, "params", ()) if p.opts[0].startswith("--")}
    is_record = entry.source.startswith("records.")
    own = entry.name in ("compare", "history", "query") and "--format" in options
    if entry.rows or is_record or own:
        choices = set(options["--format"].type.choices)
        assert {"table", "json", "csv", "tsv", "markdown", "html"} <= choices


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with a run that somebody called names."""
    place = str(tmp_path / "results.db")
    monkeypatch.setenv("BENCHVISE_STORE", place)
    run = replace(demonstration_run(), label=HOSTILE[0])
    with Store.open(place) as opened:
        opened.take_in([TravellingRun(run)])


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "words",
    [("runs",), ("show", "@"), ("suites", "list"), ("knobs", "list", "thp"), ("next",)],
    ids=" ".join,
)
def test_lists_of_commands(words: tuple[str, ...]) -> None:
    document = benchvise(*words, "--json").data
    rows = document if isinstance(document, list) else document["series"]
    for name in ("csv", "tsv", "markdown", "html"):
        ran = benchvise(*words, "--format", name)
        assert ran.code == 0, ran.err
        head, *lines = rows_of(name, ran.out)
        assert len(lines) == len(rows) > 0
        first = next(iter(rows[0]))
        assert head[0] == first
        assert [line[0] for line in lines] == [str(row[first]) for row in rows]
    assert json.loads(benchvise(*words, "--format", "json").out)["data"] == document
    both = benchvise(*words, "--format", "csv", "--json")
    assert both.code == 2 and "exclude each other" in both.err + both.out


def test_a_record_in_every_format(tmp_path: Path) -> None:
    file = tmp_path / "moves.txt"
    file.write_text(
        "# tracer: nop\n#\n"
        "  <script>-7     [000] d..2.   100.00100: sched_switch: prev_comm=<script> prev_pid=7 "
        "prev_prio=120 prev_state=S ==> next_comm=b|d next_pid=8 next_prio=120\n"
        "      b|d-8     [000] d..2.   100.00200: sched_switch: prev_comm=b|d prev_pid=8 "
        "prev_prio=120 prev_state=S ==> next_comm=<script> next_pid=7 next_prio=120\n"
    )
    asked = ("trace", "stats", file, "--table", "actors")
    told = benchvise("trace", "stats", file, "--json")
    assert told.code == 0, told.err
    for name in ("csv", "tsv", "html", "markdown"):
        ran = benchvise(*asked, "--format", name)
        assert ran.code == 0, ran.err
        assert any("<script>" in cell for row in rows_of(name, ran.out) for cell in row)
    assert benchvise(*asked, "--format", "csv").out == benchvise(*asked, "--csv").out
    assert benchvise(*asked, "--csv", "--format", "tsv").code == 2
