"""Insights where they are shown: terminal, Markdown, JSON and page."""

from __future__ import annotations

import io
import json
from typing import Any

from report_runs import demonstration_run, other_run, series, spec
from rich.console import Console

from benchvise.documents import encode
from benchvise.flows.results import summaries
from benchvise.measure.model import RunRecord
from benchvise.report.data import report_data, run_data, to_json
from benchvise.report.html import Assets, render_page
from benchvise.report.tables import run_table

ATTACK = "<img src=x>\x1b[2J\u202e|`[a](b)"


def shown(run: RunRecord, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(run_table(run, summaries(run)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def page(*runs: RunRecord) -> str:
    return render_page(report_data(runs), Assets(script="", style=""))


def hostile_run() -> RunRecord:
    measured = [
        series(spec("memory.copy", size="64M", kernel=kernel, source=source), rate, unit="B/s",
               better="higher")
        for kernel in ("auto", ATTACK)
        for source, rate in (("random", 1e10), ("untouched", 2e10))
    ]  # fmt: skip
    return demonstration_run(series=tuple(measured))


def test_the_terminal_shows_them_below_the_table() -> None:
    text = shown(demonstration_run())
    assert text.index("memory.copy:size=4K") < text.index("What base pages cost a load")
    assert text.index("An unwritten source overstates memory.copy") > text.index("95 % interval")
    assert "base pages" in shown(demonstration_run(), width=60)


def test_a_run_without_insights_ends_with_its_table() -> None:
    run = demonstration_run(series=(series(spec("os.syscall", call="read"), 300),))
    assert "What" not in shown(run)
    assert "insights" not in page(run)


def test_json_and_page_hold_the_same() -> None:
    run = demonstration_run()
    data: dict[str, Any] = encode(run_data(run))
    titles = [insight["title"] for insight in data["insights"]]
    assert "What base pages cost a load" in titles
    assert json.loads(to_json(report_data([run])))["runs"][0]["insights"][0]["rows"]
    text = page(run)
    assert text.count('class="insight"') == len(titles)
    assert '<a href="#insights-0">Insights</a>' in text


def test_each_run_of_a_comparison_has_its_own() -> None:
    text = page(demonstration_run(), other_run())
    assert "Insights of vendor-5.10" in text
    assert 'id="insights-1"' in text


def test_hostile_texts_are_shown_and_do_nothing() -> None:
    run = hostile_run()
    for text in (shown(run, 200), page(run)):
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
        assert "kernel=" in text
    assert "<img" not in page(run)
