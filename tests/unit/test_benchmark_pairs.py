"""How the output of reference tools is read, and what decides whether a claim holds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import benchmarks
from benchmarks.pairs import Pair
from benchmarks.pairs_cpu import _megahertz, _microseconds, _tcp_bandwidth
from benchmarks.pairs_timer import median
from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.measure.runner import board_registry
from benchvise.statistics import Interval

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
    ("low", "high", "holds"),
    [(0.97, 1.04, True), (0.93, 1.02, None), (0.80, 0.94, False), (1.06, 1.30, False)],
)
def test_the_interval_decides_whether_a_claim_holds(
    low: float, high: float, holds: bool | None
) -> None:
    pair = Pair("ours : theirs", (), (), agreement=0.05)
    assert pair.holds(Interval(low, high, 0.95)) is holds


def test_a_goal_is_missed_below_it_alone() -> None:
    pair = Pair("ours : theirs", (), (), bounds=(4.0, math.inf), work=1.0)
    assert pair.holds(Interval(4.2, 90.0, 0.95)) is True
    assert pair.holds(Interval(3.9, 4.2, 0.95)) is None
    assert pair.holds(Interval(3.1, 3.9, 0.95)) is False


def test_what_the_tools_print_is_read_in_our_units() -> None:
    assert _megahertz("3661.2\n3660.8\n") == pytest.approx(3661.0e6)
    assert _microseconds("Simple syscall: 0.1727 microseconds\n") == pytest.approx(172.7)
    assert _tcp_bandwidth("0.065536 2941.31 MB/sec\n") == pytest.approx(2941.31e6)


def test_each_benchmark_that_claims_agreement_has_a_pair() -> None:
    """A text that says "within 5 %" is backed by a pair that measures it."""
    sources = "".join(path.read_text() for path in Path(benchmarks.__path__[0]).glob("pairs*.py"))
    with open_board("local") as board, open_channel(board) as channel:
        descriptions = board_registry(channel).benchmarks
    claiming = [b.id for b in descriptions if "within" in b.peer]
    assert len(claiming) > 25
    without = [name for name in claiming if name not in sources]
    assert without == []
