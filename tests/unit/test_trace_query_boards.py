"""SQL over the recordings of several boards: one table each, with the board of each row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import skips

from benchvise.errors import UsageError
from benchvise.trace.clock_alignment import ClockAlignment
from benchvise.trace.confined_query import ask_confined
from benchvise.trace.query_limits import QueryLimits
from benchvise.trace.recording_set import RecordingSet, SetMember

skips.need_decoder()

HOSTILE = 'it\'s "b"; DROP VIEW events'
CLOCK = ClockAlignment(0, 0, 4000, 0.0, 5.0, 4, 90_000)
SWITCH = "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid="


def ask(directory: Path, sql: str) -> tuple[list[list[Any]], tuple[str, ...]]:
    answer = ask_confined(directory, sql, QueryLimits())
    return answer.rows, answer.remarks


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """One board switched twice, the other once and had an interrupt."""
    lines = {
        "a.txt": [
            f"a-1 [000] d... 1.000001: {SWITCH}2 next_prio=120",
            f"a-1 [000] d... 2.000001: {SWITCH}2 next_prio=120",
        ],
        "b.txt": [
            f"a-1 [001] d... 1.500000: {SWITCH}7 next_prio=120",
            "b-7 [001] d.h. 1.600000: irq_handler_entry: irq=24 name=eth0",
        ],
    }
    for name, text in lines.items():
        content = "".join(f"          {line}\n" for line in text)
        (tmp_path / name).write_text(f"# tracer: nop\n{content}")
    members = (
        SetMember("a", "a.txt", 2, 0, "time", clock=CLOCK),
        SetMember(HOSTILE, "b.txt", 2, 0, "time", clock=CLOCK),
    )
    RecordingSet("0x1", 0, members).write(tmp_path)
    return tmp_path


def test_each_row_has_its_board(recordings: Path) -> None:
    rows, remarks = ask(recordings, "SELECT board, time, next_pid FROM sched_switch ORDER BY time")
    assert rows == [
        *(["a", 1_000_001_000, 2], [HOSTILE, 1_500_000_000, 7], ["a", 2_000_001_000, 2]),
    ]
    assert remarks == ("times of two boards may be wrong against each other by 8 us",)
    rows, _ = ask(recordings, "SELECT board, event FROM events ORDER BY time")
    assert [row[1] for row in rows] == [
        *("sched_switch", "sched_switch", "irq_handler_entry", "sched_switch"),
    ]
    rows, _ = ask(recordings, "SELECT DISTINCT board FROM actors ORDER BY board")
    assert rows == [["a"], [HOSTILE]]


def test_tables_that_a_board_lacks_have_the_rows_of_the_others(recordings: Path) -> None:
    rows, _ = ask(recordings, "SELECT board, name FROM irq_handler_entry")
    assert rows == [[HOSTILE, "eth0"]]
    rows, _ = ask(recordings, "SELECT rows, columns FROM tables WHERE name = 'sched_switch'")
    [[count, columns]] = rows
    assert count == 3
    assert str(columns).startswith("board, time, cpu, ")
    with pytest.raises(UsageError, match="no table nosuch"):
        ask(recordings, "FROM nosuch")
