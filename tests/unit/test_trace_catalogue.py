"""The records of trace analyses: what is made of them, without a trace."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchvise.cli.main import run
from benchvise.report.rendering import csv_text, described_columns, table_of
from benchvise.table import ColumnSpec, ValueUnit
from benchvise.trace.analysis.distributions import QuantileBounds, TimeDistribution
from benchvise.trace.catalogue import ANALYSES
from benchvise.trace.catalogue.info import _troubles
from benchvise.trace.catalogue.record import (
    TableShape,
    TraceAnalysis,
    durations,
    told_apart,
    with_cautions,
)


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_a_record_says_all_that_a_command_needs(analysis: TraceAnalysis[Any, Any]) -> None:
    assert analysis.summary.endswith(".") and analysis.summary[0].isupper()
    assert analysis.example.startswith(f"{analysis.name} ")
    assert {"cache"} <= {option.name for option in fields(analysis.request)}
    names = [shape.name for shape in analysis.shapes]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "shape",
    [shape for analysis in ANALYSES for shape in analysis.shapes],
    ids=lambda shape: shape.name,
)
def test_columns_have_names_of_their_own_in_csv(shape: TableShape[Any]) -> None:
    names = [name for _, _, csv_names in described_columns(shape.columns) for name in csv_names]
    assert names and len(set(names)) == len(names)
    assert all(name and name == name.lower() and " " not in name for name in names)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (8, []),
        (9, ["and 1 more loss: --json lists all", "and 1 more place of damage: --json lists all"]),
        (19, ["and 11 more losses: --json lists all",
              "and 11 more places of damage: --json lists all"]),
    ],
)  # fmt: skip
def test_losses_that_are_not_listed_are_counted(number: int, said: list[str]) -> None:
    losses = [
        {"stream": 0, "begin": at, "end": at + 5, "count": at or None, "kind": "events"}
        for at in range(number)
    ]
    damage = [{"file": "a/b.dat", "offset": at, "what": "cut"} for at in range(number)]
    summary: Any = SimpleNamespace(streams=[], losses=losses, damage=damage, notes=["last"])
    lines = list(_troubles(summary))
    assert [line for line in lines if line.startswith("and ")] == said
    assert sum(line.startswith("lost in") for line in lines) == 8
    assert sum(line.startswith("damage in b.dat at byte") for line in lines) == 8
    assert "an unknown number of events" in lines[0]
    assert lines[-1] == "note: last"


def test_the_catalogue_is_cheap_to_import() -> None:
    code = "import sys, benchvise.trace.catalogue; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    heavy = {"duckdb", "numpy", "pyarrow", "rich", "typer", "msgspec"}
    assert not heavy & set(loaded.decode().split())


SPREAD = TimeDistribution(
    count=3, mean=2.0, minimum=1.0, median=2.0, interval=QuantileBounds(1.0, 3.0), p95=2.9,
    p99=2.98, p99_interval=None, p999=2.998, maximum=3e6, total=6.0,
)  # fmt: skip
SHAPE: TableShape[tuple[str, TimeDistribution | None]] = TableShape(
    "waits",
    "Waits",
    "more tasks",
    (
        ColumnSpec("Task", ValueUnit.ACTOR, lambda row: row[0]),
        *durations("Wait", lambda row: row[1], "median", "interval", "maximum", strong=True),
        ColumnSpec("Pre-\nempted", ValueUnit.COUNT, lambda row: 0),
        ColumnSpec(
            "Late",
            ValueUnit.NS,
            lambda row: None,
            otherwise=ColumnSpec("Late", ValueUnit.JIFFIES, lambda row: 4),
        ),
        ColumnSpec("Only CSV", ValueUnit.MOMENT, lambda row: 1_500_000_000, detail=True),
    ),
)


def test_people_see_the_first_rows_in_handy_units_and_how_many_there_are_besides() -> None:
    filled = SHAPE.filled("Title", [("a", SPREAD), ("b", None), ("c", None)], "why", top=1)
    (cautioned,) = with_cautions([filled], ["LOST: 3 events"])
    shown = table_of(cautioned)
    assert [column.name for column in shown.columns][:3] == [
        "Task",
        "Wait\nmedian",
        "\n95 % interval",
    ]
    assert [cell.text for cell in shown.rows[0]] == [
        "a", "2.00 ns", "1.00 to 3.00 ns", "3.00 ms", "0", "4 jiffies", "1.500000000",
    ]  # fmt: skip
    assert [cell.tone for cell in shown.rows[0]][1:5] == ["strong", "plain", "plain", "muted"]
    assert shown.remarks == ("LOST: 3 events", "not listed: 2 more tasks (--top 3)", "why")
    flat = table_of(filled, stacked=False)
    assert [column.name for column in flat.columns][1:5] == [
        "Wait median", "Wait 95 % interval", "Wait max", "Preempted",
    ]  # fmt: skip


def test_csv_has_all_rows_as_they_are() -> None:
    text = csv_text(SHAPE.columns, [("=a", SPREAD), ("b", None)])
    first, second = csv.DictReader(io.StringIO(text))
    assert first == {
        "task": "'=a",
        "wait_median_ns": "2.0",
        "wait_95_interval_low_ns": "1.0",
        "wait_95_interval_high_ns": "3.0",
        "wait_max_ns": "3000000.0",
        "preempted": "0",
        "late_ns": "",
        "late_jiffies": "4",
        "only_csv_ns": "1500000000",
    }
    assert second["wait_median_ns"] == "" and second["task"] == "b"
    assert csv_text(SHAPE.columns, []).startswith("task,wait_median_ns,")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--csv", "--json"], "--csv, --markdown, --json and --format exclude each other"),
        (["--table", "pears"], "trace stats has no table pears: say cpus, actors"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_trace_is_read(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trace", "stats", "/nowhere/trace.dat", *words]) == 2
    captured = capsys.readouterr()
    assert says in captured.err + captured.out


def test_two_traces_of_one_name_are_told_apart() -> None:
    assert told_apart([Path("/a/before.dat"), Path("/a/after.dat")]) == ["before.dat", "after.dat"]
    sessions = [Path(f"/lttng/{name}/kernel") for name in ("before", "after")]
    assert told_apart(sessions) == ["before/kernel", "after/kernel"]
    assert told_apart([sessions[0], sessions[0]]) == ["kernel", "kernel"]
