"""How the output of reference tools is read."""

from __future__ import annotations

import pytest

from benchmarks.pairs_timer import median

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
