"""Latency from a board to another, whose clocks are known to some uncertainty."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from arrow_tables import arrow_table
from trace_tables import Builder

from benchvise.errors import UsageError
from benchvise.trace import native
from benchvise.trace.analysis.latency import (
    AlignedTrace,
    BoardEnd,
    Latency,
    Method,
    latency_of_boards,
    parse_end,
    parse_pair,
)
from benchvise.trace.analysis.model import Analysis, Loss, TraceSpan
from benchvise.trace.recording_set import RecordingSet, SetMember, board_of_text

END = 10_000_000


def events(rows: list[tuple[int, int]]) -> native.Table:
    return arrow_table(
        {
            "time": pa.array([time for time, _ in rows], pa.int64()),
            "cpu": pa.array([0] * len(rows), pa.uint16()),
            "number": pa.array([number for _, number in rows], pa.int32()),
        }
    )


def board(losses: tuple[Loss, ...] = (), **tables: list[tuple[int, int]]) -> Analysis:
    known = {name: events(rows) for name, rows in tables.items()}
    return Builder().analysis(0, END, events=known, losses=losses)


def ask(boards: dict[str, AlignedTrace], *ends: str, **more: object) -> Latency:
    named = [
        BoardEnd(name, parse_end(rest), text)
        for text in ends
        for name, _, rest in [text.partition(":")]
    ]
    span = TraceSpan(0, END)
    return latency_of_boards(boards, named, span, **more)  # type: ignore[arg-type]


def exchange(seed: int, off: int) -> tuple[dict[str, AlignedTrace], list[int]]:
    """Numbers from a to b, whose clock is wrong by ``off`` ns of 3000; and the true latencies."""
    draw = random.Random(seed)
    sent = [(40_000 * n + draw.randrange(5000), n) for n in range(1, 100)]
    took = [draw.choice([500, 2500, 8000, 14_000]) + draw.randrange(300) for _ in sent]
    had = [(time + took[n - 1] + off, n) for time, n in sent]
    return {
        "a": AlignedTrace(board(send=sent), 1000),
        "b": AlignedTrace(board(receive=had), 2000),
    }, took


@pytest.mark.parametrize("off", [-3000, -1200, 0, 2900])
@pytest.mark.parametrize("by", ["number", ""])
def test_pairs_within_the_uncertainty_are_not_claimed(off: int, by: str) -> None:
    boards, took = exchange(7, off)
    more = {"fields": [parse_pair(by)]} if by else {"method": Method.NEXT}
    found = ask(boards, "a:event:send", "b:event:receive", **more)
    assert found.uncertainty == 3000
    claimed = sorted(time + off for time in took if time + off > 3000)
    assert found.values.tolist() == claimed
    assert found.undecided == len(took) - len(claimed)
    assert [hop.ends_matched for hop in found.hops] == [len(took)]
    # Whatever is claimed is true: it holds the true latency within the uncertainty.
    assert min(claimed) - found.uncertainty > 0
    kept = ask(boards, "a:event:send", "b:event:receive", incomplete=True, **more)
    assert kept.values.tolist() == sorted(time + off for time in took)
    assert kept.undecided == found.undecided


def test_hops_go_on_from_board_to_board_and_within_one() -> None:
    boards = {
        "a": AlignedTrace(board(send=[(1000, 1), (5000, 2)], back=[(3500, 1), (5600, 2)]), 100),
        "b": AlignedTrace(board(receive=[(2000, 1), (5100, 2)], reply=[(3000, 1), (5300, 2)]), 100),
    }
    ends = ("a:event:send", "b:event:receive", "b:event:reply", "a:event:back")
    fields = [parse_pair("number")]
    found = ask(boards, *ends, fields=fields)
    assert found.uncertainty is None  # both ends are of one board
    assert (found.values.tolist(), found.undecided) == ([2500], 1)
    assert [stage.time.median for stage in found.ways[0].stages] == [1000, 1000, 500]
    assert ask(boards, *ends, fields=fields, incomplete=True).values.tolist() == [600, 2500]


def test_a_loss_on_either_board_makes_a_pair_incomplete() -> None:
    for losing in "ab":
        boards, _ = exchange(3, 0)
        loss = Loss(cpu=0, begin=100_000, end=140_000, count=1)
        trace = boards[losing]
        analysis = replace(trace.analysis, losses=(loss,))
        boards[losing] = replace(trace, analysis=analysis)
        found = ask(boards, "a:event:send", "b:event:receive", fields=[parse_pair("number")])
        assert 1 <= found.incomplete <= 4


def test_no_cause_leads_to_another_board_and_boards_are_named_in_errors() -> None:
    boards, _ = exchange(3, 0)
    with pytest.raises(UsageError, match="no cause leads"):
        ask(boards, "a:event:send", "b:event:receive", method=Method.CAUSE)
    with pytest.raises(UsageError, match="b: the trace has no event send"):
        ask(boards, "a:event:send", "b:event:send")


def test_a_mark_may_end_with_its_line() -> None:
    """As a shell's echo writes them into trace_marker."""
    marks = arrow_table(
        {
            "time": pa.array([10, 20], pa.int64()),
            "cpu": pa.array([0, 0], pa.uint16()),
            "buf": pa.array(["sends 1\n", "has 1\n"], pa.string()),
        }
    )
    trace = AlignedTrace(Builder().analysis(0, 100, events={"print": marks}), 0)
    found = ask({"a": trace}, 'a:event:print[buf~"sends*"]', 'a:event:print[buf~"has*"]')
    assert found.values.tolist() == [10]


def test_boards_are_called_by_their_names_or_files() -> None:
    def member(name: str, file: str) -> SetMember:
        return SetMember(name, file, 1, 0, "time")

    first, second = member("ssh://root@10.0.0.7", "10.0.0.7.dat"), member("local", "local.dat")
    recordings = RecordingSet("0x1", 0, (first, second))
    for text in ("ssh://root@10.0.0.7:irq:eth0", "10.0.0.7:irq:eth0", "10.0.0.7.dat:irq:eth0"):
        assert board_of_text(recordings, text) == (first, "irq:eth0")
    assert board_of_text(recordings, "local:event:x[a==1]") == (second, "event:x[a==1]")
    with pytest.raises(UsageError, match="names no board") as raised:
        board_of_text(recordings, "irq:eth0")
    assert "the boards are 10.0.0.7, local" in raised.value.remedy
    assert Path(first.file).stem == "10.0.0.7"
