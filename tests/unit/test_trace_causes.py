"""Critical paths, what kept threads from running, and counters, on tables made by hand."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from arrow_tables import arrow_table
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_tables import Builder

from benchvise.errors import UsageError
from benchvise.trace.analysis.counters import counter_names, counter_steps, counters
from benchvise.trace.analysis.critical_path import (
    PathOrigin,
    critical_path,
    select_activation,
)
from benchvise.trace.analysis.delays import delays
from benchvise.trace.analysis.model import Analysis, Flag, Loss, TraceSpan
from benchvise.trace.levels import shift_of
from benchvise.web.workspace.counters import lines_at

READER = 4


def network(*, flags: int = 0, **more: object) -> Analysis:
    """One CPU from 1000 to 2000: an interrupt raises a softirq, which wakes a thread.

    irq 1100-1120 in idle; softirq raised at 1110, runs 1130-1160 with another irq 1140-1150 in it;
    it wakes the reader at 1155. A thread that computes has the CPU from 1200 to 1400, the reader
    runs 1400-1700, preempted 1500-1600 by the same thread, with an interrupt 1620-1625 in it.
    ``flags`` are those of its first wait.
    """
    b = Builder()
    idle = b.actor("idle", "swapper/0", cpu=0)
    irq = b.actor("irq", "eth0", number=24)
    softirq = b.actor("softirq", "NET_RX", number=3)
    hog = b.actor("task", "stress-ng", tid=812)
    reader = b.actor("task", "reader", tid=71)
    assert reader == READER
    b.instance(idle, 1000, 1200, nested=50, flags=1)
    first = b.instance(irq, 1100, 1120)
    raised = b.instance(softirq, 1130, 1160, nested=10, ready=1110, cause=first)
    b.instance(irq, 1140, 1150)
    b.instance(hog, 1200, 1600, parts=[(1200, 1400), (1500, 1600)], ready=1180)
    b.instance(irq, 1620, 1625)
    b.instance(
        reader, 1400, 1700, parts=[(1400, 1500), (1600, 1700)], ready=1155, cause=raised, nested=5
    )
    b.instance(idle, 1700, 2000, flags=2, why=3)
    b.add("waits", actor=hog, begin=1180, end=1200, state=0, cpu=0)
    b.add("waits", actor=reader, begin=1155, end=1400, state=0, cpu=0, flags=flags)
    b.add("waits", actor=hog, begin=1400, end=1500, state=1, cpu=0)
    b.add("waits", actor=reader, begin=1500, end=1600, state=1, cpu=0)
    return b.analysis(1000, 2000, **more)  # type: ignore[arg-type]


def test_each_nanosecond_of_a_response_has_a_cause() -> None:
    analysis = network()
    instance = select_activation(analysis, [analysis.actors[READER]])
    path = critical_path(analysis, instance)
    assert [hop.actor for hop in path.hops] == ["irq:eth0/24", "softirq:NET_RX", "task:reader/71"]
    assert path.origin is PathOrigin.INTERRUPT
    assert [(s.begin, s.end, str(s.state), s.actor) for s in path.segments] == [
        (1100, 1110, "running", "irq:eth0/24"),
        (1110, 1120, "raised", "irq:eth0/24"),
        (1120, 1130, "leaving idle", "idle:0"),
        (1130, 1140, "running", "softirq:NET_RX"),
        (1140, 1150, "interrupted", "irq:eth0/24"),
        (1150, 1155, "running", "softirq:NET_RX"),
        (1155, 1160, "waiting for a CPU", "softirq:NET_RX"),
        (1160, 1200, "leaving idle", "idle:0"),
        (1200, 1400, "waiting for a CPU", "task:stress-ng/812"),
        (1400, 1500, "running", "task:reader/71"),
        (1500, 1600, "preempted", "task:stress-ng/812"),
        (1600, 1620, "running", "task:reader/71"),
        (1620, 1625, "interrupted", "irq:eth0/24"),
        (1625, 1700, "running", "task:reader/71"),
    ]
    assert sum(part.time for part in path.parts) == path.end - path.begin == 600
    most = path.parts[0]
    assert (str(most.state), most.actor, most.time) == (
        "waiting for a CPU", "task:stress-ng/812", 200,
    )  # fmt: skip
    assert path.incomplete == ()


def test_a_path_says_where_it_ends_and_what_makes_it_doubtful() -> None:
    analysis = network(losses=[Loss(0, 1300, 1310, 5)])
    [instance] = [select_activation(analysis, [analysis.actors[READER]], at=1300)]
    path = critical_path(analysis, instance, 1)
    assert path.origin is PathOrigin.HOPS
    assert path.begin == 1155
    assert path.incomplete == ("events were lost on a CPU of the path meanwhile",)
    with pytest.raises(UsageError, match="complete activations"):
        select_activation(analysis, [analysis.actors[READER]], rank=2)
    with pytest.raises(UsageError, match="none of these actors is active"):
        select_activation(analysis, [analysis.actors[READER]], at=1900)


def test_waits_are_given_to_whoever_had_the_cpu() -> None:
    analysis = network()
    answer = delays(analysis, analysis.actors)
    assert [(d.thread, d.by, d.time, d.after_preemption, d.waits) for d in answer.delays] == [
        ("task:reader/71", "task:stress-ng/812", 300, 100, 2),
        ("task:stress-ng/812", "task:reader/71", 100, 100, 1),
        ("task:reader/71", "idle:0", 40, 0, 1),
        ("task:stress-ng/812", "idle:0", 20, 0, 1),
        ("task:reader/71", "softirq:NET_RX", 5, 0, 1),
    ]
    longest = answer.delays[0]
    assert (longest.longest, longest.longest_at) == (200, 1155)
    assert longest.share == pytest.approx(300 / 345)
    assert answer.waited == sum(delay.time for delay in answer.delays) == 465
    assert [(p.thread, p.by, p.count, p.longest_at) for p in answer.preemptions] == [
        ("task:stress-ng/812", "task:reader/71", 1, 1400),
        ("task:reader/71", "task:stress-ng/812", 1, 1500),
    ]


def test_waits_beside_a_loss_are_left_out_and_counted() -> None:
    analysis = network(flags=Flag.LOSS)
    answer = delays(analysis, [analysis.actors[READER]])
    assert answer.incomplete == 1
    assert answer.waited == 100


FREQUENCIES = arrow_table(
    {
        # Whichever CPU records it: those of one after those of the other, as the decoder has them.
        "time": pa.array([1200, 1300, 1100, 1500], pa.int64()),
        "cpu": pa.array([0, 0, 1, 1], pa.uint16()),
        "state": pa.array([600, 1000, 400, 800], pa.uint32()),
        "cpu_id": pa.array([1, 0, 0, 0], pa.uint32()),
        "comm": pa.array(["a", "a", "a", "a"]),
    }
)


def test_a_value_holds_until_the_next_of_its_cpu() -> None:
    analysis = network(events={"cpu_frequency": FREQUENCIES})
    zero, one = counters(analysis, ["cpu_frequency.state"])
    assert (zero.cpu, zero.changes, zero.minimum, zero.minimum_at) == (0, 3, 400, 1100)
    assert (zero.maximum, zero.maximum_at) == (1000, 1300)
    assert zero.mean == pytest.approx((200 * 400 + 200 * 1000 + 500 * 800) / 900)
    assert zero.known == pytest.approx(900 / 1000)
    assert (one.cpu, one.mean, one.minimum_at) == (1, 600, 1200)
    part = analysis.asked_about(TraceSpan(1250, 1350))
    [part_zero, _] = counters(part, ["cpu_frequency.state"])
    assert (part_zero.changes, part_zero.mean, part_zero.known) == (1, 700, 1)
    assert (part_zero.minimum_at, part_zero.maximum_at) == (1250, 1300)


def test_a_value_is_not_known_from_lost_events_to_the_next() -> None:
    losses = [Loss(0, 1150, 1160, 1)]
    analysis = network(events={"cpu_frequency": FREQUENCIES}, losses=losses)
    zero, one = counters(analysis, ["cpu_frequency.state"])
    assert zero.mean == pytest.approx((50 * 400 + 200 * 1000 + 500 * 800) / 750)
    assert one.known == pytest.approx(800 / 1000)


def test_a_run_queue_counts_who_runs_and_who_waits() -> None:
    [queue] = counters(network())
    assert (queue.name, queue.cpu, queue.minimum, queue.maximum) == ("run-queue", 0, 0, 2)
    # Two from 1180, when the second is woken, to 1600, when it blocks; one from 1155 and to 1700.
    assert queue.maximum_at == 1180
    assert queue.mean * queue.known * 1000 == pytest.approx(25 + 2 * 420 + 100)


TEMPERATURES = arrow_table(
    {
        "time": pa.array([1100, 1200, 1300, 1400, 1500], pa.int64()),
        "cpu": pa.array([0, 1, 0, 1, 0], pa.uint16()),
        "celsius": pa.array([40.5, 0.25, float("nan"), float("inf"), -1.5], pa.float32()),
        "cpu_id": pa.array([0.0, 1.0, 2.0, 3.0, 4.0], pa.float64()),
    }
)


def test_a_fraction_is_a_value_and_what_is_no_number_is_not_known() -> None:
    analysis = network(events={"thermal": TEMPERATURES})
    [one] = counters(analysis, ["thermal.celsius"])
    # No CPU is a fraction: the field that is called so names none.
    assert (one.cpu, one.changes) == (None, 3)
    assert (one.minimum, one.minimum_at, one.maximum, one.maximum_at) == (-1.5, 1500, 40.5, 1100)
    assert one.mean == pytest.approx((100 * 40.5 + 100 * 0.25 - 500 * 1.5) / 700)
    assert one.known == pytest.approx(700 / 1000)
    assert {"thermal.celsius", "thermal.cpu_id"} <= set(counter_names(analysis))


def test_a_field_without_any_number_is_no_counter() -> None:
    nothing = TEMPERATURES.take(np.array([2, 3]))
    assert counters(network(events={"thermal": nothing}), ["thermal.celsius"]) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 999), st.floats(allow_nan=True, allow_infinity=True)),
        min_size=1,
        max_size=40,
        unique_by=lambda pair: pair[0],
    ),
    st.integers(1, 400),
)
def test_lines_of_fractions_hold_each_value_at_any_zoom(
    pairs: list[tuple[int, float]], width: int
) -> None:
    """Against each nanosecond by itself: a line has the least and the greatest of its time, and
    where no value is known there is none."""
    pairs.sort()
    table = arrow_table(
        {
            "time": pa.array([1000 + time for time, _ in pairs], pa.int64()),
            "cpu": pa.array([0] * len(pairs), pa.uint16()),
            "value": pa.array([value for _, value in pairs], pa.float64()),
        }
    )
    analysis = network(events={"made": table})
    slow: list[float | None] = [None] * 1001
    for (time, value), until in zip(pairs, [time for time, _ in pairs[1:]] + [1001], strict=True):
        slow[time:until] = [value if math.isfinite(value) else None] * (until - time)
    steps = counter_steps(analysis, "made.value")
    if not steps:
        assert not any(value is not None for value in slow)
        return
    begin, end, low, high = lines_at(steps[0], 1000, 2001, shift_of(1000, 2001, width), 1000)
    drawn = [False] * 1001
    for line in zip(begin, end, low, high, strict=True):
        known = [value for value in slow[line[0] : line[1]] if value is not None]
        assert (min(known), max(known)) == line[2:]
        drawn[line[0] : line[1]] = [True] * (line[1] - line[0])
    assert all(drawn[at] for at, value in enumerate(slow) if value is not None)


@pytest.mark.parametrize(
    ("name", "said", "remedy"),
    [
        ("no_such.field", "no event no_such", "EVENT.FIELD"),
        ("cpu_frequency.comm", "no field comm of numbers", "it has state, cpu_id"),
    ],
)
def test_an_unknown_counter_is_named_with_what_there_is(name: str, said: str, remedy: str) -> None:
    analysis = network(events={"cpu_frequency": FREQUENCIES})
    with pytest.raises(UsageError, match=said) as caught:
        counters(analysis, [name])
    assert remedy in (caught.value.remedy or "")
