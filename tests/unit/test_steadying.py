"""Remedies for unstable series: each cause that a series can name has one."""

from __future__ import annotations

import re

import pytest

from benchvise.measure.steadying import remedies, shared_causes

# As runs on a shared virtual machine, a phone board and a server printed them.
CAUSES = [
    "two modes: 84.2 ns (61 % of the batches) and 159.7 ns (39 %), each process staying in one",
    "processes differ by 11.3 %: their medians lie from 17.2 GB/s to 19.2 GB/s",
    "other work took the CPU in 19 of 63 batches, for 14.2 % of their time",
    "other CPUs were busy: 1.4 CPU on average",
    "the hypervisor stole 0.11 CPU on average",
    "the CPU clock ranged from 600 MHz to 1.8 GHz",
    "values drift by -3.1 % while a process runs",
    "moved to another CPU in 5 of 63 batches",
    "page faults disturbed 4 of 63 batches",
    "the board was hot: up to 84 degrees C",
    "the temperature ranged from 51 to 67 degrees C",
    "the load generator was at its own limit in 12 of 63 batches",
    "too few batches (3) for an interval of the median",
    "placement is free, so the scheduler decides: 40 of 63 batches ran on one CPU, 23 on two",
    "3 requests failed, in 2 of 63 batches",
]


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_a_remedy(cause: str) -> None:
    (remedy,) = remedies([cause])
    assert re.search(r"--\w|stop|cool|warm|free|see|faster", remedy)


def test_several_series_share_one_remedy() -> None:
    assert remedies(CAUSES[:2]) == ("measure more processes (--processes 12)",)
    assert remedies(["no cause found in the evidence"]) == remedies(CAUSES[:1])
    assert remedies([]) == ()


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_few_words_without_figures(cause: str) -> None:
    (words,) = shared_causes({"os.fork": [cause]})
    assert words != cause and not re.search(r"\d", words)


def test_what_series_share_is_listed_by_how_many_have_it() -> None:
    found = shared_causes({
        "memory.read": ["other CPUs were busy: 1.4 CPU on average"],
        "os.fork": ["processes differ by 11.3 %: …", "other CPUs were busy: 0.8 CPU on average"],
        "pipe.latency": ["no cause found in the evidence"],
        "cpu.clock": [],
    })  # fmt: skip
    assert next(iter(found.items())) == ("other CPUs were busy", ("memory.read", "os.fork"))
    assert found["processes differ"] == ("os.fork",)
    assert found["no cause found in the evidence"] == ("pipe.latency",)
    assert len(found) == 3
