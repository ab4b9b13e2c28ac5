"""Latencies in reports: the data, the figures, the page as text and the terminal table."""

from __future__ import annotations

import re

import pytest
from latency_runs import wakeups
from report_runs import demonstration_run, series, spec

from benchvise.measure.model import RunRecord, SeriesRecord
from benchvise.measure.validity import summarise
from benchvise.report.data import report_data
from benchvise.report.figures import figures
from benchvise.report.histograms import LatencyFigure
from benchvise.report.html import Assets, render_page
from benchvise.report.tables import run_rows

ASSETS = Assets(script="/* script */", style="/* style */")


def run(*measured: SeriesRecord, label: str = "one") -> RunRecord:
    return demonstration_run(id=label * 3, label=label, series=measured)


def drawn(*runs: RunRecord) -> tuple[LatencyFigure, ...]:
    return figures(report_data(runs)).latencies


def test_a_series_without_histogram_has_no_latencies() -> None:
    data = report_data([run(series(spec("os.syscall"), 100))])
    assert data.runs[0].series[0].latencies is None
    assert figures(data).latencies == ()
    assert 'id="latencies"' not in render_page(data, ASSETS)


def test_all_latencies_of_all_batches_are_shown() -> None:
    (one,) = report_data([run(wakeups())]).runs[0].series
    assert one.latencies
    assert one.latencies.count == 3 * 21 * 200
    assert sum(step.share for step in one.latencies.steps) == pytest.approx(1)
    assert [quantile.percent for quantile in one.latencies.quantiles] == [50, 90, 99, 99.9, 99.99]
    assert one.latencies.quantiles[0].value == pytest.approx(20e3, rel=0.05)


def test_series_of_a_run_share_a_chart_and_are_named_by_what_differs() -> None:
    (figure,) = drawn(
        run(
            wakeups(policy="other", load="none"),
            wakeups(policy="other", load="cpu"),
            wakeups(policy="other", load="cpu", dma_latency="zero"),
        )
    )
    assert figure.title == "timer.wakeup policy=other"
    assert [line.name for line in figure.lines] == [
        "load=none dma_latency=leave",
        "load=cpu dma_latency=leave",
        "load=cpu dma_latency=zero",
    ]
    assert [line.style for line in figure.lines] == [0, 1, 2]


def test_many_series_are_split_by_the_first_parameter_that_differs() -> None:
    figures_ = drawn(
        run(
            *(
                wakeups(policy=policy, load=load, dma_latency=dma, each=20)
                for policy in ("other", "fifo")
                for load in ("none", "cpu")
                for dma in ("leave", "zero")
            )
        )
    )
    assert [figure.title for figure in figures_] == [
        "timer.wakeup policy=other",
        "timer.wakeup policy=fifo",
    ]
    assert [len(figure.lines) for figure in figures_] == [4, 4]


def test_no_chart_has_more_lines_than_can_be_told_apart() -> None:
    many = [wakeups(each=5, interval_us=str(100 + n)) for n in range(8)]
    assert [len(figure.lines) for figure in drawn(run(*many))] == [6, 2]
    same = [wakeups(each=5)] * 8
    assert [len(figure.lines) for figure in drawn(run(*same))] == [6, 2]


def test_runs_are_laid_over_each_other_series_by_series() -> None:
    base = run(wakeups(policy="fifo"), wakeups(load="cpu"), label="base")
    other = run(wakeups(policy="fifo", middle=30e3, seed=2), label="other")
    (figure,) = drawn(base, other)
    assert figure.title == "timer.wakeup:policy=fifo"
    assert [(line.name, line.style) for line in figure.lines] == [("base", 0), ("other", 1)]


def test_the_page_holds_the_percentiles_and_their_bounds() -> None:
    page = render_page(report_data([run(wakeups(each=20))]), ASSETS)
    section = page[page.index('<section id="latencies"') :]
    section = section[: section.index("</section>")]
    text = " ".join(re.sub(r"<[^>]*>", " ", section).split())
    assert "p99.99" in text
    # 1260 latencies do not tell one in ten thousand
    assert 'title="p99.99 needs 10 000 latencies or more, not 1 260"' in section
    assert re.search(r"over [\d.]+ ms", text)
    embedded = figures(report_data([run(wakeups(each=20))])).document
    assert embedded["latencies"][0]["lines"][0]["latencies"]["count"] == 1260


def test_the_terminal_shows_the_far_percentiles() -> None:
    measured = wakeups(each=20)
    rows = run_rows(run(measured), [summarise(measured)]).rows
    texts = [[str(cell.text) for cell in row] for row in rows]
    assert [row[0].strip() for row in texts[1:]] == ["p99 of all", "p99.9 of all", "p99.99 of all"]
    assert texts[1][1].endswith("ms")
    assert " to " in texts[1][2]
    assert texts[3][1].startswith("over ")  # too few
    assert texts[3][6] == "1260"
