"""SQL over a trace: what it gives, and what it may not reach."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from trace_data import expected, trace

from benchvise.cli.main import run
from benchvise.errors import UsageError
from benchvise.trace.opening import OpenTrace, open_trace
from benchvise.trace.query import ask
from benchvise.trace.query_limits import QueryLimits


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def opened() -> OpenTrace:
    return open_trace(trace("f100k"), use_cache=False)


def test_sums_are_those_of_an_independent_decoder(opened: OpenTrace) -> None:
    said = expected("f100k")
    answer = ask(opened, "SELECT count(*), sum(next_pid)::BIGINT FROM sched_switch")
    assert answer.rows == [(said["counts"]["sched_switch"], said["sum_sched_switch_next_pid"])]
    answer = ask(opened, "SELECT event, count(*) FROM events GROUP BY event")
    assert dict(answer.rows) == said["counts"]


def test_events_are_in_order_of_time_and_lead_to_their_rows(opened: OpenTrace) -> None:
    answer = ask(
        opened,
        """
        WITH rows AS (SELECT time, row_number() OVER () - 1 AS row FROM sched_switch)
        SELECT count(*), count(*) FILTER (events.time = rows.time)
        FROM events JOIN rows USING (row) WHERE event = 'sched_switch'
        """,
    )
    assert answer.rows[0][0] == answer.rows[0][1] == expected("f100k")["counts"]["sched_switch"]


def test_every_table_that_is_listed_can_be_asked(opened: OpenTrace) -> None:
    listed = ask(opened, "SELECT name, rows, columns FROM tables", QueryLimits(rows=10_000)).rows
    assert len(listed) > 1000
    for name, rows, columns in [line for line in listed if line[1]]:
        answer = ask(opened, f'SELECT * FROM "{name}"', QueryLimits(rows=1))  # noqa: S608
        assert ", ".join(answer.columns) == columns, name
        assert answer.more == (rows > 1)


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_text('/etc/hostname')",
        "FROM read_csv('/etc/passwd')",
        "FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "FROM arrow_scan(1, 2, 3)",
        "FROM query('SELECT 1')",
        "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
        "SELECT (SELECT max(content) FROM read_text('/etc/hostname'))",
        "COPY sched_switch TO 'out.csv'",
        "ATTACH 'out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '100GB'",
        "PRAGMA enable_profiling",
        "CREATE TABLE x AS SELECT 1",
        "DROP VIEW sched_switch",
        "DELETE FROM sched_switch",
        "SELECT 1; SELECT 2",
        "EXPLAIN ANALYZE COPY sched_switch TO 'out.csv'",
        "FROM opened",
        "selec 1",
        "",
    ],
)
def test_a_query_reads_the_trace_and_nothing_else(
    opened: OpenTrace, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        ask(opened, sql)
    assert not list(tmp_path.iterdir())


def test_a_query_is_bounded(opened: OpenTrace) -> None:
    large = "SELECT count(*) FROM block_dirty_buffer a, block_dirty_buffer b, block_dirty_buffer c"
    with pytest.raises(UsageError, match=r"takes longer than 0\.2 s"):
        ask(opened, large, QueryLimits(seconds=0.2))
    hungry = "SELECT list(a.time ORDER BY b.time) FROM sched_switch a, sched_waking b"
    with pytest.raises(UsageError, match="needs more than 64 MB"):
        ask(opened, hungry, QueryLimits(memory_mb=64))
    answer = ask(opened, "FROM sched_switch", QueryLimits(rows=7))
    assert len(answer.rows) == 7 and answer.more


def test_a_time_with_a_zone_is_refused_with_what_to_write_instead(opened: OpenTrace) -> None:
    """Python's needs a package; the error of its import is no answer."""
    moment = "'2020-01-01 00:00:00+14'::TIMESTAMPTZ"
    try:
        ask(opened, f"SELECT {moment}")
    except UsageError as error:
        assert str(error).splitlines() == [str(error)] and "Traceback" not in str(error)
        assert error.message == "times with a zone cannot be shown"
    assert ask(opened, f"SELECT {moment}::VARCHAR").rows[0][0].startswith("20")


def test_a_process_that_has_a_fresh_database_may_fork() -> None:
    """It has no thread more than before: a fork has but one, and DuckDB would wait for the rest."""
    program = """
import os
from benchvise.trace.query import fresh_database
fresh_database().close()
before = len(os.listdir("/proc/self/task"))
database = fresh_database()
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"0\n"


def test_a_name_that_is_not_there_is_answered_with_the_closest(opened: OpenTrace) -> None:
    with pytest.raises(UsageError) as raised:
        ask(opened, "FROM sched_swich")
    assert "no table sched_swich" in raised.value.message
    assert "did you mean sched_switch?" in raised.value.remedy
    with pytest.raises(UsageError, match="next_pid"):
        ask(opened, "SELECT nextpid FROM sched_switch")


def test_formats_of_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(trace("f100k"))
    sql = "SELECT cpu, count(*) AS n, NULL AS nothing, 'a,b' AS t FROM sched_switch GROUP BY 1"
    sql += " ORDER BY 1"
    assert run(["trace", "query", path, sql, "--no-cache", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "trace-query"
    rows = document["data"]["rows"]
    assert [row[0] for row in rows] == [0, 1]
    assert sum(row[1] for row in rows) == expected("f100k")["counts"]["sched_switch"]
    assert rows[0][2:] == [None, "a,b"]
    assert run(["trace", "query", path, sql, "--no-cache", "--format", "csv"]) == 0
    names, *lines = csv.reader(io.StringIO(capsys.readouterr().out))
    assert names == ["cpu", "n", "nothing", "t"]
    assert lines == [[str(row[0]), str(row[1]), "", "a,b"] for row in rows]
    assert run(["trace", "query", path, sql, "--no-cache", "--limit", "1"]) == 0
    assert "there are more rows" in capsys.readouterr().out


def test_info_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(trace("f100k"))
    assert run(["trace", "info", path, "--no-cache"]) == 0
    text = capsys.readouterr().out
    for word in ("trace.dat 7", "63 578", "block_dirty_buffer", "55.3 %", "rarer types (--all)"):
        assert word in text
    assert run(["trace", "info", path, "--no-cache", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert data["events"] == expected("f100k")["events"]
    assert data["types"][0]["name"] == "block_dirty_buffer"
    assert run(["trace", "info", "/nowhere.dat", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["data"]["exit"] == 2
