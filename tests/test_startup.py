"""What commands import: help comes from a table, and a command takes what it needs and no more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
from families import every
from trace_data import trace

from benchvise.cli.commands import PROGRAM, Command, Group
from benchvise.cli.groups import CommandGroup
from benchvise.cli.main import program
from benchvise.trace.catalogue import ANALYSES
from benchvise.trace.opening import open_trace

HEAVY = {
    "alembic", "benchvise.rig.virtual.bench", "duckdb", "jinja2", "labgrid", "msgspec", "numpy",
    "pandas", "polars", "psycopg", "pyarrow", "pydantic", "scipy", "sqlalchemy",
    "sqlalchemy.dialects.postgresql", "sqlalchemy.orm", "starlette", "yaml",
}  # fmt: skip
"""What takes longer to import than most commands take to do."""

LIGHTEST = {
    ("next",): set[str](),
    ("--version",): set[str](),
    ("config",): set[str](),
    ("find", "--help"): set[str](),
    ("knobs", "--help"): set[str](),
    ("suites",): {"msgspec"},
    ("schema", "--help"): set[str](),
    ("completion", "--help"): set[str](),
    ("help", "run"): set[str](),
    ("doctor", "--help"): set[str](),
    ("bench", "list"): {"msgspec"},
    ("run", "--help"): set[str](),
    ("run", "--plan"): {"msgspec", "sqlalchemy"},
    ("versus", "--help"): set[str](),
    ("gate", "--help"): set[str](),
    ("export", "--help"): set[str](),
    ("import", "--help"): set[str](),
    ("restore",): set[str](),
    ("runs",): {"sqlalchemy"},
    ("show", "--help"): set[str](),
    ("compare", "--help"): set[str](),
    ("report", "--help"): set[str](),
    ("why", "--help"): set[str](),
    ("watch", "--help"): set[str](),
    ("snapshot", "--help"): set[str](),
    ("diff", "--help"): set[str](),
    ("health", "--help"): set[str](),
    ("serve", "--help"): set[str](),
    ("rig", "status", "--help"): set[str](),
    ("rig", "virtual", "status"): {"benchvise.rig.virtual.bench"},
    ("trace", "info", "--help"): set[str](),
    ("trace", "query", "--help"): set[str](),
    ("signal", "info", "--help"): set[str](),
}
"""What the lightest use of each command may have of them."""


def loaded(words: Sequence[str], place: Path) -> set[str]:
    """What a command has imported when it is done."""
    code = f"""if True:
        import gc, sys
        from benchvise.cli.main import run
        run({list(words)!r})
        sys.stderr.write(" ".join(["", *sys.modules]))
        gc.freeze()  # as the program ends: what is left is not looked through
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "XDG_DATA_HOME": str(place), "XDG_STATE_HOME": str(place)},
    )
    return set(done.stderr.split())


def groups(group: Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for entry in group.entries:
        if isinstance(entry, Group):
            yield from groups(entry, (*path, entry.name))


_WHERE_USERS_ADD = ("benchvise.cli.added_analyses", "benchvise.extensions", "benchvise.text")
"""What finds the commands that users add; those themselves are imported where there are some."""


@pytest.mark.parametrize(
    "path", list(groups(PROGRAM)), ids=lambda path: " ".join(path) or "benchvise"
)
def test_help_of_a_group_imports_no_command(path: tuple[str, ...], tmp_path: Path) -> None:
    modules = loaded([*path, "--help"], tmp_path)
    assert not modules & (HEAVY | {"rich.markdown"})
    assert {name for name in modules if name.startswith("benchvise.")} == {
        *("benchvise.cli", "benchvise.cli.color", "benchvise.cli.commands", "benchvise.cli.extras"),
        *("benchvise.cli.groups", "benchvise.cli.main", "benchvise.configuration"),
        *(
            "benchvise.errors",
            "benchvise.host_system",
            "benchvise.interruption",
            "benchvise.state",
            "benchvise.state.interrupts",
        ),
        *("benchvise.terminal_colors", "benchvise.user_directories"),
        *(_WHERE_USERS_ADD if path == ("trace",) else ()),
    }


@pytest.mark.parametrize("words", LIGHTEST, ids=" ".join)
def test_a_command_imports_what_it_needs(words: tuple[str, ...], tmp_path: Path) -> None:
    assert loaded(words, tmp_path) & HEAVY <= LIGHTEST[words]


def test_a_workbench_starts_without_what_only_its_readers_need(tmp_path: Path) -> None:
    modules = loaded(["serve", "--port", "0", "--traces", "/nowhere"], tmp_path)
    assert "benchvise.web.app" in modules
    assert not modules & {"duckdb", "labgrid", "psycopg", "pyarrow", "scipy"}
    assert "benchvise.why.loop" not in modules


def entries(group: Group, real: CommandGroup) -> Iterator[tuple[Command | Group, object]]:
    for entry in group.entries:
        command = real.commands[entry.name]
        yield entry, command
        if isinstance(entry, Group):
            yield from entries(entry, cast(CommandGroup, command))


@every("pair", entries(PROGRAM, program()), lambda pair: str(pair[0].name))
def test_the_table_says_what_the_command_says(pair: tuple[Command | Group, object]) -> None:
    entry, command = pair
    summary = " ".join(str(getattr(command, "help", "")).partition("\n\n")[0].split())
    assert summary == entry.summary
    assert getattr(command, "name", "") == entry.name


def test_every_analysis_has_a_command() -> None:
    names = {analysis.name for analysis in ANALYSES}
    assert names <= set(cast(CommandGroup, program().commands["trace"]).commands)


def test_a_trace_that_is_kept_is_shown_without_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    copied = tmp_path / "trace.dat"
    shutil.copy(trace("f100k"), copied)
    open_trace(copied)
    assert loaded(["trace", "info", str(copied)], tmp_path) & HEAVY == set()
    # Columns become arrays without libraries of tables, which take longer than most answers.
    assert loaded(["trace", "stats", str(copied)], tmp_path) & HEAVY == {"numpy"}
