"""Differences that were planted on purpose are found.

Each plant is measured once without and once with it, in full runs of the command line, and is so
large that every batch feels it, also on a busy machine: the best batch with it has to be worse than
the best without, and the comparison has to say so. It may only fail to where the run without it
says itself that something else disturbed it.

Unrelated series are a control of the experiment and no more: one may seem to have changed, but not
by nearly as much. How often an unchanged series is called changed is a claim of the calibration,
over simulated boards (``unit/test_compare.py``: at most 3 in 100).
"""

from __future__ import annotations

import plants
import pytest
from planted_experiments import (
    CALLS,
    COPY,
    CPU,
    NEIGHBOUR,
    PIPE,
    WAKEUP,
    Experiment,
    investigate,
    judge,
)

pytestmark = pytest.mark.alone

MOST_CHANGED = 2
"""Of six series that nothing was done to: three at once are no chance."""
EXPERIMENTS = [
    Experiment("seccomp-filter", plants.seccomp_filter, (CALLS,), (COPY, "cpu.clock")),
    Experiment(
        NEIGHBOUR,
        lambda: plants.neighbour(CPU),
        (f"{CALLS}:cpu={CPU}", f"{COPY},cpu={CPU}"),
        (),
        # batches that had the CPU to themselves, and others: two modes, no number for both; where a
        # whole process had it, processes differ by as much, and only the cause is told, as it must
        seen_as=("slower", "unstable", "no difference shown"),
        always=False,
    ),
    Experiment(
        "timer-slack",
        lambda: plants.timer_slack(2_000_000),
        (WAKEUP,),
        (CALLS, COPY),
    ),
]
CONTROLS = (CALLS, COPY, PIPE, "memory.latency:size=16K", "cpu.clock", "os.context_switch")


def test_where_nothing_is_planted_the_controls_come_out_alike() -> None:
    found = investigate(Experiment("control", plants.nothing, (), CONTROLS), [])
    changed = {k: c for k, c in found.items() if c["verdict"] in ("faster", "slower")}
    assert len(changed) <= MOST_CHANGED, changed


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_a_planted_difference_is_found_and_not_everywhere(experiment: Experiment) -> None:
    judge(experiment, investigate(experiment, []))
