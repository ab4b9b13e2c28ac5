"""Commands that are described by a record: their options, tables, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import capture_data
import jsonschema
import pytest

from benchvise.cli.commands import PROGRAM, Command, Group
from benchvise.cli.json_kinds import document_schema, json_kinds
from benchvise.cli.main import run
from benchvise.command import CommandArgument, CommandOption, CommandRecord
from benchvise.quantities import ABSENT
from benchvise.report.rendering import csv_text, described_columns, table_of
from benchvise.signal.readers.sigrok import write_session
from benchvise.table import ColumnSpec, TableSpec, ValueUnit, named_values

SIGNAL = next(entry for entry in PROGRAM.entries if entry.name == "signal")
HOSTILE = "=1+2\x1b[31m\u202e\n,\"'"


@dataclass(frozen=True)
class Measured:
    name: str
    seconds: float | None
    bounds: tuple[float, float] | None = None


COLUMNS: tuple[ColumnSpec[Measured], ...] = (
    ColumnSpec("Name", ValueUnit.TEXT, lambda row: row.name),
    ColumnSpec("Time", ValueUnit.SECONDS, lambda row: row.seconds, "strong"),
    ColumnSpec("95 %", ValueUnit.SECONDS_RANGE, lambda row: row.bounds, key="time_s"),
    ColumnSpec("Bar", ValueUnit.DRAWING, lambda _row: "███"),
)
ROWS = (Measured("a", 1.25e-6, (1e-6, 2e-6)), Measured(HOSTILE, None))


def test_values_are_shown_in_their_units() -> None:
    shown = table_of(TableSpec("T", COLUMNS, ROWS))
    assert [cell.text for cell in shown.rows[0]] == ["a", "1.25 us", "1.00 to 2.00 us", "███"]
    assert [column.right for column in shown.columns] == [False, True, True, False]
    assert shown.rows[0][1].tone == "strong"
    assert [cell.text for cell in shown.rows[1][1:3]] == [ABSENT, ABSENT]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12000, ValueUnit.COUNT, "12 000"),
        (0.125, ValueUnit.COARSE_SHARE, "12.5 %"),
        (4.2e6, ValueUnit.HERTZ, "4.20 MHz"),
        ("8n1", ValueUnit.TEXT, "8n1"),
        (None, ValueUnit.SECONDS, ABSENT),
    ],
)
def test_units(value: Any, unit: ValueUnit, text: str) -> None:
    column: ColumnSpec[Any] = ColumnSpec("Value", unit, lambda row: row)
    assert table_of(TableSpec("T", (column,), (value,))).rows[0][0].text == text


def test_rows_beyond_the_limit_are_counted_and_stay_in_csv() -> None:
    spec = TableSpec("T", COLUMNS, ROWS * 5).first(3, "more (--limit N)")
    shown = table_of(spec)
    assert len(shown.rows) == 3
    assert shown.remarks == ("7 more (--limit N)",)
    assert len(csv_text(COLUMNS, spec.rows).splitlines()) == 11


def test_csv_has_values_in_the_units_of_its_header_and_nothing_that_acts() -> None:
    head, first, second = csv.reader(io.StringIO(csv_text(COLUMNS, ROWS)))
    assert head == ["name", "time_s", "time_s_low", "time_s_high"]
    assert first == ["a", "1.25e-06", "1e-06", "2e-06"]
    assert second[1:] == ["", "", ""]
    assert not second[0].startswith("=")
    assert second[0].isprintable()
    rate: ColumnSpec[float] = ColumnSpec("Speed", ValueUnit.BYTES_PER_SECOND, lambda row: row)
    assert next(described_columns([rate]))[2] == ["speed_bytes_per_s"]


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    last: Annotated[int, CommandOption("--last", "Shared.", minimum=1)] = 7


@dataclass(frozen=True, kw_only=True)
class OwnOptions(SharedOptions):
    several: Annotated[tuple[str, ...], CommandOption("--several", "Repeatable.")] = ("x",)
    file: Annotated[Path, CommandArgument("FILE", "Which.")]


def test_options_are_those_of_the_class(capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    from benchvise.cli.records import command_line

    seen: list[OwnOptions] = []

    def remember(options: OwnOptions) -> int:
        seen.append(options)
        return 3

    record: CommandRecord[OwnOptions, int] = CommandRecord(
        name="x",
        kind="x",
        summary="Do it.",
        example="x FILE",
        options=OwnOptions,
        run=remember,
        document=lambda result: {"result": result},
        tables=lambda result, _options: [named_values("T", (), (str(result),))],
        columns=(),
        rows=lambda _result: (),
        messages=lambda _result: ["done"],
        exit_code=lambda result: result,
    )
    app = typer.Typer()
    app.command()(command_line(record))
    for words, expected in (
        (["f"], OwnOptions(file=Path("f"))),
        (["f", "--several", "a", "--several", "b", "--last", "2"],
         OwnOptions(file=Path("f"), several=("a", "b"), last=2)),
    ):  # fmt: skip
        assert app(words, standalone_mode=False) == 3
        assert seen[-1] == expected
    app(["f", "--json"], standalone_mode=False)
    output = capsys.readouterr()
    assert json.loads(output.out.splitlines()[-1])["data"] == {"result": 3}
    assert "done" in output.err


def signal_records() -> list[CommandRecord[Any, Any]]:
    assert isinstance(SIGNAL, Group)
    paths = [entry.record.rpartition(".") for entry in SIGNAL.entries if isinstance(entry, Command)]
    return [getattr(import_module(f"benchvise.{module}"), name) for module, _, name in paths]


def test_names_kinds_and_columns_are_unique() -> None:
    records = signal_records()
    assert len({record.name for record in records}) == len(records) == 12
    assert {record.kind for record in records} <= set(json_kinds())
    for record in records:
        names = [name for _, _, names in described_columns(record.columns) for name in names]
        assert names
        assert len(set(names)) == len(names), record.name


@pytest.fixture
def session(tmp_path: Path) -> Path:
    levels = capture_data.sent_serially(b"The quick brown fox\r\n" * 4, 1_000_000, 9600)
    clock = [place // 50 % 2 for place in range(len(levels))]
    write_session(capture_data.sampled(1_000_000, TX=levels, CLK=clock), tmp_path / "x.sr")
    return tmp_path / "x.sr"


Words = Callable[[Path], list[str]]
COMMANDS: dict[str, Words] = {
    "signal-info": lambda path: ["info", str(path)],
    "signal-clock": lambda path: [
        "clock", str(path), "--line", "CLK", "--radio", "cc1101", "--registers", "0x8a,0x83",
    ],
    "signal-fsk": lambda path: ["fsk", str(path), "--line", "CLK", "--baud", "300"],
    "signal-psk": lambda _path: ["psk", "CQ", "--bits", "200"],
    "signal-synth": lambda _path: ["synth", "tone:1000", "--for", "0.05"],
    "signal-response": lambda path: ["response", str(path), "--from", "CLK", "--to", "TX:any"],
}  # fmt: skip


@pytest.mark.parametrize("kind", COMMANDS)
def test_json_follows_its_schema(
    kind: str, session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["signal", *COMMANDS[kind](session), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == kind
    jsonschema.validate(document, document_schema(kind, json_kinds()[kind]))


@pytest.mark.parametrize("kind", COMMANDS)
def test_rows_are_printed_as_csv_and_markdown(
    kind: str, session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["signal", *COMMANDS[kind](session)]
    assert run([*words, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) > 1
    assert len({len(row) for row in rows}) == 1
    assert run([*words, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("### ")
