"""What happened in each row over a span, counted on fingers and by brute force."""

from __future__ import annotations

import random

import pytest
from trace_tables import Builder

from benchvise.trace.analysis.area import RowShare, area
from benchvise.trace.analysis.model import TraceSpan

STATES = ("runnable", "preempted", "sleeping", "uninterruptible", "sleeping")


def test_a_cut_piece_counts_as_far_as_it_lies_in_the_span_and_interrupts_are_their_own() -> None:
    b = Builder()
    idle, reader = b.actor("idle", "swapper/0", cpu=0), b.actor("task", "reader", tid=7)
    irq = b.actor("irq", "eth0", number=24)
    b.instance(idle, 0, 100)
    b.instance(reader, 100, 200, nested=20, ready=90)
    b.instance(irq, 150, 170)
    b.instance(idle, 200, 400)
    b.add("waits", actor=reader, begin=90, end=100, state=0, cpu=0)
    b.add("waits", actor=reader, begin=200, end=400, state=3, cpu=0)
    found = area(b.analysis(0, 400).asked_about(TraceSpan(95, 300)))
    [cpu] = found.cpus
    assert (cpu.ran, cpu.activations, cpu.others) == (100, 2, 0)
    assert cpu.foremost == (RowShare(reader, 80), RowShare(irq, 20))
    thread, handler = found.actors
    assert (thread.actor, thread.cpu, thread.ran, thread.activations) == (reader, None, 80, 1)
    assert (thread.runnable, thread.preempted, thread.uninterruptible) == (5, 0, 100)
    assert (thread.longest, thread.longest_at) == (80, 100)
    assert (handler.cpu, handler.ran, handler.sleeping) == (0, 20, None)
    empty = area(b.analysis(0, 400).asked_about(TraceSpan(250, 260)))
    assert [actor.ran for actor in empty.actors] == [0]  # it waits all the time


@pytest.mark.parametrize("seed", range(5))
def test_sums_are_those_of_each_nanosecond(seed: int) -> None:
    """Threads and their waits on two CPUs, against a loop over nanoseconds."""
    choose = random.Random(seed)
    b = Builder()
    tasks = [b.actor("task", f"t{tid}", tid=tid) for tid in range(1, 5)]
    ran: list[tuple[int, int, int, int]] = []
    waited: list[tuple[int, int, int, int]] = []
    for cpu in (0, 1):
        at = 0
        while at < 300:
            end = min(300, at + choose.randint(1, 40))
            task = choose.choice(tasks[cpu * 2 : cpu * 2 + 2])
            ran.append((task, cpu, at, end))
            at = end + choose.randint(0, 10)
    for task, cpu, at, end in sorted(ran, key=lambda piece: piece[3]):
        b.instance(task, at, end, cpu=cpu)
    for task in tasks:
        begin = choose.randint(0, 200)
        end, state = begin + choose.randint(1, 90), choose.randrange(5)
        b.add("waits", actor=task, begin=begin, end=end, state=state, cpu=0)
        waited.append((task, begin, end, state))
    first, last = sorted(choose.sample(range(300), 2))
    found = {
        one.actor: one
        for one in area(b.analysis(0, 300).asked_about(TraceSpan(first, last))).actors
    }
    for task in tasks:
        mine = [(at, end) for who, _, at, end in ran if who == task]
        expected = sum(any(at <= ns < end for at, end in mine) for ns in range(first, last))
        one = found.get(task)
        assert (one.ran if one else 0) == expected
        assert (one.activations if one else 0) == sum(first <= at < last for at, _ in mine)
        pieces = [min(end, last) - max(at, first) for at, end in mine]
        assert (one.longest if one else 0) == max([0, *pieces])
        for who, at, end, state in waited:
            if who == task and one is not None:
                inside = max(0, min(end, last) - max(at, first))
                assert getattr(one, STATES[state]) == inside
