"""How the output of reference tools is read, and what decides whether a claim holds."""

from __future__ import annotations

import math
import os
import platform
import re
import shutil
from pathlib import Path

import pytest

from benchmarks import pairs as pairs_perf
from benchmarks import (
    pairs_cpu,
    pairs_flash,
    pairs_host,
    pairs_lmbench,
    pairs_memory,
    pairs_net,
    pairs_os,
    pairs_pipe,
    pairs_storage,
    pairs_timer,
)
from benchmarks.pairs import Pair
from benchmarks.pairs_lmbench import first_step
from benchmarks.pairs_timer import median
from benchmarks.rounds import Measured, Reading, value_sheet, work_sheet
from benchmarks.sheets import Report, Sheet, quantity
from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.measure.runner import board_registry
from benchvise.statistics.sample import Interval

SAID = """# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000
014000 000001
014999 000002
{}
# Total: 000000004
# Min Latencies: 14000
# Histogram Overflows: {}
# Thread 0: 00001
"""


def test_the_median_of_cyclictest() -> None:
    assert median(SAID.format("020000 000001", "00000")) == 14999
    assert median(SAID.format("020000 000003", "00000")) == 14999
    assert median(SAID.format("020000 000004", "00000")) == 20000


def test_what_lies_beyond_the_histogram_counts_too() -> None:
    assert median(SAID.format("020000 000002", "00003")) == 20000
    with pytest.raises(RuntimeError, match="later than its histogram reaches"):
        median(SAID.format("020000 000002", "00006"))


@pytest.mark.parametrize(
    ("low", "high", "coverage", "holds"),
    [
        (0.97, 1.04, 0.97, True),
        (0.93, 1.02, 0.97, None),
        (0.80, 0.94, 0.97, False),
        (1.06, 1.30, 0.97, False),
        (0.97, 1.04, 0.75, None),  # three rounds decide nothing
    ],
)
def test_the_interval_decides_whether_a_claim_holds(
    low: float, high: float, coverage: float, holds: bool | None
) -> None:
    pair = Pair("ours : theirs", (), (), agreement=0.05)
    assert pair.holds(Interval(low, high, coverage)) is holds


def test_a_goal_is_missed_below_it_alone() -> None:
    pair = Pair("ours : theirs", (), (), bounds=(4.0, math.inf), work=1.0)
    assert pair.holds(Interval(4.2, 90.0, 0.95)) is True
    assert pair.holds(Interval(3.9, 4.2, 0.95)) is None
    assert pair.holds(Interval(3.1, 3.9, 0.95)) is False


@pytest.fixture
def every_pair(monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """The pairs of values as they are on a machine that has every tool; none is run."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(Path, "exists", lambda _: True)
    for module in (pairs_cpu, pairs_lmbench):
        monkeypatch.setattr(module, "reference_tool", lambda name: f"/tools/{name}")
    for module in (pairs_perf, pairs_memory):
        monkeypatch.setattr(module, "build_stream", lambda: Path("/built/stream"))
    monkeypatch.setattr(pairs_pipe, "build_reference", lambda name: Path("/built", name))
    monkeypatch.setattr(pairs_os, "build_loops", lambda _, name: (Path("/built", name), ""))
    for module in (pairs_storage, pairs_flash):
        monkeypatch.setattr(module, "why_no_loop", lambda: "")
    monkeypatch.setattr(pairs_storage, "_gives_memory_back", lambda: False)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    sources = (
        pairs_perf.pairs,
        pairs_cpu.pairs,
        pairs_lmbench.pairs,
        pairs_memory.pairs,
        pairs_pipe.pairs,
        pairs_host.pairs,
        pairs_net.pairs,
        pairs_timer.pairs,
        pairs_os.pairs,
        pairs_storage.pairs,
        pairs_flash.pairs,
    )
    return [pair for source in sources for pair in source()[0]]


FIO = '{"jobs": [{"read": {"io_bytes": 9, "bw_bytes": 5e8, "iops": 1e5}, "write": {}}]}'
PRINTED = {
    # A part of a pair's name, what its reference tool printed, and that in our unit.
    "cpu.clock : mhz": ("3661.2\n3660.8\n", 3661.0e6),
    "libc copy : perf memcpy": ("\n      38.752480 GB/sec\n", 38.752480 * 2**30),
    "syscall : perf": ("       0.179512 usecs/op\n        5570660 ops/sec\n", 179.512),
    "copy : STREAM copy, halved": ("28000000000.5\n", 14000000000.25),
    "multichase -s 4160 -H": ("27.17\n", 27.17),
    "lat_syscall open": ("Simple open/close: 2.2108 microseconds\n", 2210.8),
    "lat_sig install": ("Signal handler installation: 0.2237 microseconds\n", 223.7),
    "lat_pipe": ("Pipe latency: 5.0122 microseconds\n", 5012.2),
    "lat_unix": ("AF_UNIX sock stream latency: 9.4961 microseconds\n", 9496.1),
    "lat_tcp": ("TCP latency using localhost: 13.8227 microseconds\n", 13822.7),
    "lat_udp": ("UDP latency using localhost: 10.8703 microseconds\n", 10870.3),
    "lat_ctx -s 16k 8": ('\n"size=16k ovr=0.64\n8 3.83\n', 3830),
    "bw_tcp": ("0.065536 3179.76 MB/sec\n", 3179.76e6),
    "bw_unix": ("AF_UNIX sock stream bandwidth: 6128.03 MB/sec\n", 6128.03e6),
    "bw_pipe": ("Pipe bandwidth: 4354.84 MB/sec\n", 4354.84e6),
    "bw_mem fwr": ("268.44 27070.94\n", 27070.94e6),
    "memory.line : line": ("64\n", 64),
    "lat_mem_rd": ('"stride=64\n0.00049 4.685\n64.00000 189.347\n\n', 189.347),
    "h2load": ("finished in 1.00s, 37770.00 req/s, 80.1MB/s\n", 37770),
    "keep-alive no : ab": ("Requests per second:    9634.11 [#/sec] (mean)\n", 9634.11),
    "hyperfine": ('{"results": [{"median": 0.2, "user": 0.19, "system": 0.01}]}', 0.2e9),
    "tcp send : iperf3": ('{"end": {"sum_received": {"bits_per_second": 8e9}}}', 1e9),
    "udp send at 100 Mbit/s": (
        '{"end": {"sum": {"bits_per_second": 1e8, "lost_percent": 50}}}',
        6.25e6,
    ),
    "tcp round trip : sockperf": ("sockperf: Summary: Latency is 7.500 usec\n", 15000),
    "qperf tcp_lat": ("tcp_lat:\n    latency  =  8.25 us\n", 16500),
    "14 bytes : sockperf": ("sockperf: ---> percentile 50.000 =   17.250\n", 17250),
    "fio randread": (FIO, 1e5),
    "hdparm -t": (" Timing buffered disk reads: 256 MB in  1.0 seconds = 256.00 MB/sec\n", 2**28),
    "direct : dd": ("268435456 bytes (268 MB, 256 MiB) copied, 0.25 s, 1.1 GB/s\n", 2**30),
    "flash file sparse : bmaptool": ("bmaptool: info: copying speed 200.0 MiB/sec\n", 200 * 2**20),
    "GNU yes to dd": ("0 1000000000\n", 2**30),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_tool_prints_is_read_in_our_unit(name: str, every_pair: list[Pair]) -> None:
    printed, value = PRINTED[name]
    pair = next(pair for pair in every_pair if name in pair.name)
    assert pair.value_of(printed) == pytest.approx(value)


@pytest.mark.parametrize("printed", ["", "Usage: tool [-v]", "{}", "nan", "0", "inf MB/sec"])
def test_output_that_is_not_understood_is_an_error_that_names_tool_and_output(
    printed: str, every_pair: list[Pair]
) -> None:
    """No parser answers with nothing, whatever it is given."""
    for pair in every_pair:
        with pytest.raises(RuntimeError, match="is not understood") as caught:
            pair.value_of(printed)
        assert repr(printed) in str(caught.value)
        assert pair.reference[-1] in str(caught.value)


_TOOLS = re.compile(
    r"\b(mhz|multichase|lat_\w+|bw_\w+|perf bench|STREAM|fio|dd|hdparm|iperf3|sockperf|qperf|"
    r"hyperfine|cyclictest|ab|h2load|a loop|coherency_line_size|GNU yes|GNU time|stress-ng|"
    r"pg_test_fsync|tinymembench|sbc-bench|wrk)\b|\blmbench's (line)\b"
)
_CLAIM = re.compile(r"within \d|\bequal\b|the same step|the order\b")


def _claims(text: str) -> list[str]:
    """The tools that a benchmark's text claims agreement with, clause by clause.

    A claim before a colon is one for all clauses after it.
    """
    tools: list[str] = []
    for_all = bool(re.match(r"[^;]*within \d+ %[^;:]*:", text))
    for clause in text.split(";"):
        if for_all or _CLAIM.search(clause):
            tools += [next(filter(None, match.groups())) for match in _TOOLS.finditer(clause)]
    return tools


def test_each_claim_of_agreement_has_a_pair(every_pair: list[Pair]) -> None:
    """A text that says "within 5 %" is backed by a pair of that benchmark and that tool."""
    with open_board("local") as board, open_channel(board) as channel:
        descriptions = board_registry(channel).benchmarks
    claims = [(b.id, tool) for b in descriptions for tool in _claims(b.peer)]
    assert len(claims) > 45
    words = {"a loop": "loop", "perf bench": "perf"}
    without = [
        (benchmark, tool)
        for benchmark, tool in claims
        if not any(
            pair.benchmark == benchmark
            and re.search(rf"\b{words.get(tool, tool)}\b", pair.name.partition(" : ")[2])
            for pair in every_pair
        )
    ]
    assert without == []


def test_the_step_of_a_line_is_the_first_that_is_much_dearer() -> None:
    assert first_step([(8, 32.9), (16, 32.9), (32, 32.9), (64, 183.0), (128, 178.0)]) == 64
    assert first_step([(8, 30.0), (16, 31.0), (32, 45.0), (64, 190.0)]) == 32
    with pytest.raises(RuntimeError, match="no step"):
        first_step([(8, 30.0), (16, 31.0)])


def _measured(pair: Pair, ratio: float, rounds: int = 6) -> Measured:
    ours = [Reading(ratio * 100.0, 1.0, 1.0)] * rounds
    return Measured(pair, ours, [Reading(100.0, 1.0, 3.0)] * rounds)


def test_a_round_begins_with_either_side_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def reading(side: str, value: float) -> float:
        order.append(side)
        return value

    monkeypatch.setattr("benchmarks.rounds.read_reference", lambda _: reading("theirs", 4.0))
    one = Measured(Pair("ours : theirs", lambda: reading("ours", 2.0), ()))
    one.take_round(0)
    one.take_round(1)
    assert order == ["ours", "theirs", "theirs", "ours"]
    assert [r.value for r in one.ours] == [2.0, 2.0]
    assert [r.value for r in one.reference] == [4.0, 4.0]


def test_a_failed_reference_tool_is_an_error_that_names_it() -> None:
    pair = Pair("ours : theirs", lambda: 1.0, ("sh", "-c", "echo no such thing >&2; exit 4"))
    with pytest.raises(RuntimeError, match=r"(?s)ours : theirs: .* ended with 4: .*no such thing"):
        Measured(pair).take_round(0)


@pytest.mark.parametrize(("failing", "verdict"), [(1, True), (2, None)])
def test_a_round_that_fails_costs_that_round_alone(
    monkeypatch: pytest.MonkeyPatch, failing: int, verdict: bool | None
) -> None:
    answers = iter([*[1.0] * (7 - failing), *[None] * failing])

    def ours() -> float:
        answer = next(answers)
        if answer is None:
            raise RuntimeError("memory.line shows no step")
        return answer

    monkeypatch.setattr("benchmarks.rounds.read_reference", lambda _: 1.0)
    one = Measured(Pair("ours : theirs", ours, (), agreement=0.05, unit="B"))
    two = Measured(Pair("others : theirs", lambda: 1.0, (), agreement=0.05, unit="B"))
    for number in range(7):
        one.try_round(number)
        two.try_round(number)
    sheet = value_sheet([one, two], {})
    assert sheet.verdicts == {"ours : theirs": verdict, "others : theirs": True}
    assert "ours : theirs, round 7: memory.line shows no step" in sheet.notes
    assert len(sheet.rows[0]) == len(sheet.headings)
    assert len(one.ours) == len(one.reference) == 7 - len(one.failures)


def test_sheets_of_values_and_of_whole_commands() -> None:
    value = Pair("memory.copy : tool", ("memory.copy",), (), agreement=0.05)
    work = Pair("all : tool", ("x",), (), bounds=(4, math.inf), work=5.0, unit="events/s")
    measured = [_measured(value, 1.2), _measured(work, 5.0)]
    values, works = value_sheet(measured, {"memory.copy": "B/s"}), work_sheet(measured)
    assert values.rows[0][:7] == (
        "memory.copy : tool",
        "120 B/s",
        "100 B/s",
        "1.200",
        "1.200 … 1.200",
        "±5%",
        "NO",
    )
    assert works.rows[0][6:8] == ("yes", "3.00")
    assert "| memory.copy : tool | 120 B/s | 100 B/s |" in values.markdown()


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [([True, True], 0), ([True, None], 3), ([True, None, False], 1), ([], 3)],
)
def test_the_exit_status_says_whether_all_claims_hold(
    verdicts: list[bool | None], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(markdown=True)
    report.leave_out("fio: not installed")
    sheet = Sheet("A sheet", name="some")
    for number, verdict in enumerate(verdicts):
        sheet.add_goal(f"goal {number}", "1 s", "≤ 2 s", verdict)
    report.show(sheet)
    assert report.end() == status
    printed = capsys.readouterr().out
    assert "not available: fio: not installed" in printed
    assert f"{verdicts.count(True)} of {len(verdicts)} claims and goals hold" in printed
    assert ("does not hold: some: goal 2" in printed) is (False in verdicts)


def test_quantities_are_read_at_a_glance() -> None:
    assert quantity(13.931e9, "B/s") == "13.93 GB/s"
    assert quantity(178.67, "ns") == "178.7 ns"
    assert quantity(13407.0, "ns") == "13.41 µs"
    assert quantity(64.0, "B") == "64 B"
    assert quantity(21530.0, "1/s") == "21.53 k/s"
    assert quantity(9.1e6, "events/s") == "9.1 M events/s"
