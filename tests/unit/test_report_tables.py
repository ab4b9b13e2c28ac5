"""Tables in the terminal and in Markdown."""

from __future__ import annotations

import io
import re

import pytest
from report_runs import Noise, demonstration_run, other_run, series, spec
from rich.console import Console, RenderableType

from benchvise.measure.compare import compare_runs
from benchvise.measure.model import RunRecord, RunStatus
from benchvise.measure.steadying import remedies
from benchvise.measure.validity import Summary, summarise
from benchvise.report import sinks
from benchvise.report.rendering import Cell, Column, Table, rendered, table_markdown
from benchvise.report.tables import compare_rows, list_rows, run_rows, run_table
from benchvise.store.reading import RunInfo
from benchvise.text import Untrusted

HOSTILE = "[red]x[/] | <b>`*_\x1b]0;owned\x07\u202e" + "y" * 5000


def summaries(run: RunRecord) -> list[Summary]:
    return [summarise(one) for one in run.series if one.values]


def shown(table: RenderableType, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert all(len(line) <= width for line in text.splitlines())
    return text


def info(**changes: object) -> RunInfo:
    fields: dict[str, object] = {
        "id": "4f2a91c07be3", "label": "vendor-5.10", "board": "ssh://root@bench-07",
        "suite": "standard", "status": RunStatus.COMPLETE, "reason": "", "series": 67,
        "started": "2026-03-14T09:26:53+00:00", "finished": None, "simulated": False,
        "samples": 4095,
    }  # fmt: skip
    return RunInfo(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_table_that_is_too_wide_has_a_block_for_each_row() -> None:
    comparison = compare_runs(demonstration_run(), other_run())
    table = compare_rows(comparison)
    wide, narrow = shown(rendered(table), 200), shown(rendered(table), 40)
    together = "".join(narrow.split())  # lines are broken at 40 columns, words too
    kept = [index for index, column in enumerate(table.columns) if not column.detail]
    for row in table.rows:
        cells = ["Series", *(sinks.cell(row[index].text) for index in kept)]
        assert "".join("".join(cells[:2]).split()) in together
        assert all("".join(cell.split()) in together for cell in cells)
    assert {sinks.cell(row[kept[-1]].text) for row in table.rows} >= {"slower", "unstable"}
    assert "─" not in narrow and "─" in wide


def test_a_table_without_rows_says_so_instead_of_showing_headings() -> None:
    table = Table("Actors", (Column("Actor"), Column("Busy", right=True)), (), ("busy: on a CPU",))
    assert [line.rstrip() for line in shown(rendered(table)).splitlines()] == [
        "Actors: none",
        "",
        "busy  on a CPU",
    ]


def test_a_table_leaves_out_what_is_spare_before_it_breaks_the_names_of_its_rows() -> None:
    run = demonstration_run()
    table = run_rows(run, summaries(run))
    names = [sinks.cell(row[0].text) for row in table.rows]
    whole = shown(rendered(table), 200)
    assert all(name in whole for name in names) and "Max" in whole.splitlines()[1]
    needed = max(len(line.rstrip()) for line in whole.partition("\n\n")[0].splitlines())
    for width, is_whole in ((needed, True), (needed - 1, False)):
        text = shown(rendered(table), width)
        assert all(name in text for name in names)
        assert ("Max" in text.splitlines()[1]) == is_whole
        assert (f"Min and Max: where there is room for {needed} columns" in text) != is_whole


def test_numbers_in_the_first_column_take_no_more_room_than_they_need() -> None:
    """A table that just fits has all its values whole, whatever stands first."""
    columns = (Column("Mode", right=True), *(Column(f"Time {n}", right=True) for n in range(4)))
    table = Table("Modes", columns, (tuple(map(Cell, ("1", *["1391.167784987"] * 4))),), ())
    for width in (len("Mode") + 4 * (2 + 14), 200):
        text = shown(rendered(table), width)
        assert "…" not in text and text.count("1391.167784987") == 4
        assert len(text.splitlines()) == 4


def test_a_run_fits_a_terminal() -> None:
    run = demonstration_run()
    text = shown(run_table(run, summaries(run)))
    for expected in (
        "vendor-5.10 on ssh://root@bench-07, 2026-03-14 09:26 UTC",
        "2.26 GHz",
        "148.4 ns",
        "† memory.copy:size=1M,source=",
        "and 3",
        "this is not a copy bandwidth",
        "pipe.latency:place=sibling   ",
        "this CPU has no sibling thread",
    ):
        assert expected in text


def test_an_unstable_series_shows_its_median_marked_its_interval_and_the_cause() -> None:
    run = demonstration_run()
    row, remark = [
        line
        for line in shown(run_table(run, summaries(run)), 120).splitlines()
        if line.startswith("pipe.latency:place=free")
    ]
    assert "unstable: " in remark
    assert re.match(r"~[\d.]+ us ⚠", row.split(maxsplit=1)[1])
    assert "8.08 us" in row and "23.8 us" in row


def test_a_comparison_fits_a_terminal() -> None:
    text = shown(rendered(compare_rows(compare_runs(demonstration_run(), other_run()))))
    assert "yocto-6.6 against vendor-5.10: 29 slower, 35 no difference shown" in text
    assert "slower" in text
    assert "not available in vendor-5.10: this CPU has no sibling thread" in text


def test_a_comparison_can_leave_out_what_did_not_change() -> None:
    text = shown(
        rendered(compare_rows(compare_runs(demonstration_run(), other_run()), everything=False))
    )
    assert "cpu.clock" not in text
    assert "memory.copy:size=64M" in text
    assert "not listed" in text and "35 series in which no difference was shown" in text


def test_runs_fit_a_terminal() -> None:
    text = shown(
        rendered(list_rows([info(), info(id="b", status=RunStatus.FAILED, simulated=True)]))
    )
    assert "2 runs" in text
    assert "4f2a91c07be3" in text
    assert "failed" in text
    assert "SIMULATED" in text


def test_simulated_runs_say_so() -> None:
    run = demonstration_run(simulated=True, series=())
    assert "[SIMULATED]" in shown(run_table(run, []))
    result = compare_runs(run, run)
    assert "[SIMULATED]" in shown(rendered(compare_rows(result, simulated=True)))


def test_an_interrupted_run_says_so() -> None:
    run = demonstration_run(series=(), status=RunStatus.INTERRUPTED, reason=Untrusted("Ctrl-C"))
    (line,) = [x for x in shown(run_table(run, [])).splitlines() if "this run is" in x]
    assert line.split() == ["this", "run", "is", "interrupted", "Ctrl-C"]


def test_without_notes_only_what_decides_on_a_number_is_said() -> None:
    run = demonstration_run()
    short, full = (shown(run_table(run, summaries(run), notes=notes)) for notes in (False, True))
    assert "other work took the CPU in 4 of 63" in full
    assert "other work took the CPU in 4 of 63" not in short
    assert f"benchvise show {run.id} --notes" in short and "--notes" not in full
    assert "this is not a copy bandwidth" in short
    causes = [cause for summary in summaries(run) for cause in summary.causes]
    flat = " ".join(short.split())
    assert causes and "…" not in flat
    for step in remedies(causes):
        assert step in flat


def test_what_makes_many_series_unstable_is_said_once_and_with_its_figures_on_request() -> None:
    noise = Noise(relative=0.3, polluted=0.5)
    names = [f"memory.read:size={size}M" for size in range(1, 9)]
    run = demonstration_run(
        series=tuple(
            series(spec("memory.read", size=f"{size}M"), 80.0, noise=noise, seed=size)
            for size in range(1, 9)
        )
    )
    assert sum(not summary.stable for summary in summaries(run)) == len(names)
    short, full = (
        " ".join(shown(run_table(run, summaries(run), notes=notes)).split())
        for notes in (False, True)
    )
    assert (
        f"other work took the CPU {len(names)} series: {', '.join(names[:3])} and 5 more" in short
    )
    assert "took the CPU in" not in short
    assert all(f"{name} unstable: " in full for name in names)
    assert f"benchvise show {run.id} --notes" in short


@pytest.fixture
def hostile() -> RunRecord:
    return demonstration_run(
        label=HOSTILE,
        board=HOSTILE,
        series=(series(spec("cpu.clock", place=HOSTILE), 1e9, caveats=(HOSTILE,), unit="Hz"),),
    )


def test_hostile_text_does_nothing_in_a_terminal(hostile: RunRecord) -> None:
    text = shown(run_table(hostile, summaries(hostile)))
    text += shown(rendered(compare_rows(compare_runs(hostile, hostile))))
    text += shown(rendered(list_rows([info(label=HOSTILE, board=HOSTILE, suite=HOSTILE)])))
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
    assert "[red]x[/]" in text
    assert "y" * 601 not in text.replace("\n", "")


def test_hostile_text_does_nothing_in_markdown(hostile: RunRecord) -> None:
    text = table_markdown(run_rows(hostile, summaries(hostile)))
    assert r"\[red\]x\[/\] \| \<b\>\`\*\_" in text
    assert "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in rows} == {8}


def test_markdown_says_what_the_terminal_says() -> None:
    run = demonstration_run()
    text = table_markdown(run_rows(run, summaries(run)))
    assert text.startswith("### vendor-5.10 on ssh:\u200b//root\\@bench-07")
    assert "| --- | ---: |" in text
    assert r"| cpu.clock | **2.26 GHz** |" in text
    assert re.search(r"\*\\?~[\d.]+ us ⚠\*", text)
    compared = table_markdown(compare_rows(compare_runs(run, other_run())))
    assert "**slower**" in compared
    assert "| **4f2a91c07be3** |" in table_markdown(list_rows([info()]))
