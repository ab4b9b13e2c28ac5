"""Every analysis on tables made by hand, so that each answer can be counted on fingers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from arrow_tables import arrow_table
from trace_tables import Builder

from benchvise.errors import UsageError
from benchvise.trace.analysis.actors import actor_metrics, describe, instances_of
from benchvise.trace.analysis.block import requests
from benchvise.trace.analysis.compare import compare
from benchvise.trace.analysis.idle import idle_states
from benchvise.trace.analysis.model import Analysis, Loss, TraceSpan
from benchvise.trace.analysis.names import find, find_all
from benchvise.trace.analysis.scheduling import scheduling, wakeups
from benchvise.trace.analysis.stats import load, stats, switches
from benchvise.trace.analysis.syscalls import syscalls
from benchvise.trace.analysis.timers import timers


def network(**more: object) -> Analysis:
    """One CPU from 1000 to 2000: idle, an interrupt in it that raises a softirq, then a thread.

    idle 1000-1400, irq 1100-1120, softirq 1120-1160 with another irq 1130-1140 in it, the thread
    (woken at 1150) 1400-1700, preempted by another 1500-1600, idle 1700-2000.
    """
    b = Builder()
    idle = b.actor("idle", "swapper/0", cpu=0)
    irq = b.actor("irq", "eth0", number=24)
    softirq = b.actor("softirq", "NET_RX", number=3)
    reader = b.actor("task", "reader", tid=71)
    other = b.actor("task", "other", tid=72)
    b.instance(idle, 1000, 1400, nested=60, flags=1)
    first = b.instance(irq, 1100, 1120)
    raised = b.instance(softirq, 1120, 1160, nested=10, ready=1110, cause=first)
    b.instance(irq, 1130, 1140)
    b.instance(reader, 1400, 1700, parts=[(1400, 1500), (1600, 1700)], ready=1150, cause=raised)
    b.instance(other, 1500, 1600, ready=1500)
    b.instance(idle, 1700, 2000, flags=2, why=3)
    b.add("waits", actor=reader, begin=1150, end=1400, state=0, cpu=0)
    b.add("waits", actor=reader, begin=1500, end=1600, state=1, cpu=0)
    return b.analysis(1000, 2000, **more)  # type: ignore[arg-type]


# -- names -----------------------------------------------------------------------------------------


def test_actors_are_found_by_kind_name_number_and_pattern() -> None:
    b = Builder()
    b.actor("task", "kworker/0:1", tid=9)
    b.actor("task", "irq/43-mmc0", tid=100)
    b.actor("task", "iperf3", tid=412)
    b.actor("task", "iperf3", tid=413)
    b.actor("irq", "eth0", number=24)
    b.actor("irq", "mmc0", number=43)
    b.actor("idle", "swapper/1", cpu=1)
    actors = b.analysis(0, 1).actors
    found = {
        text: [actor.id for actor in find(actors, text)]
        for text in (
            "task:iperf3", "task:iperf3/413", "task:412", "irq:43", "irq:eth0", "irq:eth0/24",
            "kworker/0:1", "task:irq/43-*", "task:iperf*", "idle:1", "task:kworker/0:1/9",
        )
    }  # fmt: skip
    assert found == {
        "task:iperf3": [2, 3], "task:iperf3/413": [3], "task:412": [2], "irq:43": [5],
        "irq:eth0": [4], "irq:eth0/24": [4], "kworker/0:1": [0], "task:irq/43-*": [1],
        "task:iperf*": [2, 3], "idle:1": [6], "task:kworker/0:1/9": [0],
    }  # fmt: skip
    assert [actor.label for actor in actors] == [
        "task:kworker/0:1/9", "task:irq/43-mmc0/100", "task:iperf3/412", "task:iperf3/413",
        "irq:eth0/24", "irq:mmc0/43", "idle:1",
    ]  # fmt: skip
    assert [actor.id for actor in find_all(actors, ["irq:*", "irq:eth0"])] == [4, 5]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("task:iperf", "similar: task:iperf3"),
        ("irq:eth1", "similar: irq:eth0"),
        ("softirq:NET_RX", "it has no softirq at all, only irq, task"),
        ("task:zzz", "there are task:iperf3, task:eth0-poll"),
    ],
)
def test_an_unknown_actor_is_named_with_candidates(text: str, remedy: str) -> None:
    b = Builder()
    b.actor("task", "iperf3", tid=1)
    b.actor("task", "eth0-poll", tid=2)
    b.actor("irq", "eth0", number=24)
    with pytest.raises(UsageError) as caught:
        find(b.analysis(0, 1).actors, text)
    assert caught.value.remedy == remedy


def test_a_name_of_several_kinds_asks_which() -> None:
    b = Builder()
    b.actor("task", "eth0", tid=1)
    b.actor("irq", "eth0", number=24)
    with pytest.raises(UsageError, match="several actors: say which: irq:eth0, task:eth0"):
        find(b.analysis(0, 1).actors, "eth0")


# -- actors and their instances --------------------------------------------------------------------


def test_the_figures_of_instances() -> None:
    analysis = network()
    figures = {f.actor: f for f in actor_metrics(analysis, analysis.actors)}
    reader = figures["task:reader/71"]
    assert (reader.instances, reader.preemptions, reader.busy) == (1, 1, 200)
    assert reader.execution and reader.execution.median == 200
    assert reader.response and reader.response.median == 550  # woken at 1150, over at 1700
    assert reader.latency and reader.latency.median == 250
    assert reader.period is None
    assert reader.fragments and reader.fragments.maximum == 2
    irq = figures["irq:eth0/24"]
    assert irq.period and irq.period.median == 30
    assert irq.latency is None
    assert irq.execution and irq.execution.total == 30
    assert irq.execution.interval is None  # two values have no 95 % interval
    assert next(iter(figures)) == "idle:0"
    assert figures["idle:0"].incomplete == 2
    assert figures["idle:0"].execution is None
    kept = actor_metrics(analysis, find(analysis.actors, "idle:0"), incomplete=True)
    assert kept[0].execution and kept[0].execution.total == 640


def test_an_instance_in_full() -> None:
    analysis = network()
    found = describe(analysis, instances_of(analysis, find(analysis.actors, "task:reader")))
    assert len(found) == 1
    one = found[0]
    assert (one.begin, one.end, one.ready, one.latency, one.response) == (
        1400,
        1700,
        1150,
        250,
        550,
    )
    assert (one.execution, one.fragments, one.cause, one.incomplete) == (
        200,
        2,
        "softirq:NET_RX",
        (),
    )
    idle = describe(analysis, instances_of(analysis, find(analysis.actors, "idle:0")))
    assert idle[0].incomplete == ("began before the trace",)
    assert idle[1].incomplete == ("cut by the end of the trace",)


def test_a_span_of_time_holds_the_instances_that_begin_in_it() -> None:
    analysis = network(within=TraceSpan(1120, 1400))
    figures = {f.actor: f.instances for f in actor_metrics(analysis, analysis.actors)}
    assert figures == {"softirq:NET_RX": 1, "irq:eth0/24": 1}


def test_percentiles_and_intervals_of_many_instances() -> None:
    b = Builder()
    irq = b.actor("irq", "gpio", number=5)
    for at in range(200):
        b.instance(irq, at * 1000, at * 1000 + at + 1)
    figures = actor_metrics(b.analysis(0, 200_000), b.analysis(0, 1).actors)[0]
    assert figures.execution
    assert figures.execution.median == 100.5
    assert figures.execution.p95 == pytest.approx(190.05)
    assert figures.execution.p99 == pytest.approx(198.01)
    assert figures.execution.interval
    assert (figures.execution.interval.low, figures.execution.interval.high) == (86, 115)
    assert figures.execution.p99_interval is None  # the upper end would lie beyond the maximum
    assert figures.period and (figures.period.minimum, figures.period.maximum) == (1000, 1000)
    assert [one.begin for one in figures.worst] == [199_000, 198_000, 197_000]


# -- what took the CPUs ----------------------------------------------------------------------------


def test_every_nanosecond_of_a_cpu_is_counted_once() -> None:
    analysis = network()
    found = stats(analysis, analysis.actors)
    cpu = found.cpus[0]
    assert (cpu.idle, cpu.irq, cpu.softirq, cpu.task, cpu.unknown) == (640, 30, 30, 300, 0)
    assert (cpu.switches, cpu.wakeups, cpu.interrupts) == (4, 2, 2)
    assert {one.actor: one.busy for one in found.actors} == {
        "idle:0": 640, "task:reader/71": 200, "task:other/72": 100, "irq:eth0/24": 30,
        "softirq:NET_RX": 30,
    }  # fmt: skip
    assert {one.actor: one.switches for one in found.actors}["task:reader/71"] == 2


def test_a_span_cuts_what_reaches_over_its_ends() -> None:
    # From within the softirq, after the interrupt nested in it, until the thread's first stretch.
    analysis = network(within=TraceSpan(1150, 1450))
    cpu = stats(analysis, analysis.actors).cpus[0]
    assert (cpu.softirq, cpu.idle, cpu.task, cpu.irq, cpu.unknown) == (10, 240, 50, 0, 0)
    # And from before that interrupt.
    cpu = stats(network(within=TraceSpan(1125, 1450)), analysis.actors).cpus[0]
    assert (cpu.softirq, cpu.idle, cpu.task, cpu.irq) == (25, 240, 50, 10)


def test_losses_are_told_of_the_cpu_and_the_span_that_they_meet() -> None:
    losses = (Loss(0, 1200, 1300, 5), Loss(1, 1200, 1300, 5), Loss(0, 1900, None, None))
    analysis = network(losses=losses)
    cpu = stats(analysis, ()).cpus[0]
    assert (cpu.losses, cpu.lost_events) == (2, None)
    cpu = stats(network(losses=losses, within=TraceSpan(1000, 1500)), ()).cpus[0]
    assert (cpu.losses, cpu.lost_events) == (1, 5)


def test_load_over_time() -> None:
    analysis = network()
    found = load(analysis, analysis.actors, 10)
    assert (found.begin, found.width) == (1000, 100)
    assert found.everything.values == (0, 0.6, 0, 0, 1, 1, 1, 0, 0, 0)
    assert found.everything.whole == pytest.approx(0.36)
    actors = {one.name: one.values for one in found.actors}
    assert actors["idle:0"] == (1, 0.4, 1, 1, 0, 0, 0, 1, 1, 1)
    assert actors["task:reader/71"] == (0, 0, 0, 0, 1, 0, 1, 0, 0, 0)
    assert actors["irq:eth0/24"][1] == pytest.approx(0.3)
    assert actors["softirq:NET_RX"][1] == pytest.approx(0.3)
    assert found.everything.peak_at == 1400


def test_bins_that_do_not_divide_the_span_end_with_it() -> None:
    analysis = network()
    found = load(analysis, find(analysis.actors, "task:*"), 3, by_name=True)
    assert found.width == 334
    assert found.actors[0].values == pytest.approx((0, 168 / 334, 32 / 332), abs=1e-6)
    assert found.actors[0].whole == pytest.approx(0.2)


def test_switches_over_time() -> None:
    found = switches(network(), network().actors, 10)
    assert found.cpus[0].values == (0, 0, 0, 0, 1e7, 1e7, 1e7, 1e7, 0, 0)
    assert found.everything.whole == pytest.approx(4e6)
    assert [one.name for one in found.actors] == ["task:reader/71", "idle:0", "task:other/72"]


# -- scheduling, wake-ups --------------------------------------------------------------------------


def test_scheduling() -> None:
    found = scheduling(network(), network().actors)
    assert [one.actor for one in found] == ["task:reader/71", "task:other/72"]
    reader = found[0]
    assert reader.run_queue and (reader.run_queue.count, reader.run_queue.total) == (2, 350)
    assert reader.after_wakeup and reader.after_wakeup.median == 250
    assert reader.after_preemption and reader.after_preemption.median == 100
    assert reader.time_slice and reader.time_slice.total == 200
    assert (reader.switches, reader.preemptions, reader.migrations) == (2, 1, 0)
    assert reader.longest_wait_at == 1150


def test_a_task_that_goes_on_elsewhere_has_migrated() -> None:
    b = Builder()
    task = b.actor("task", "t", tid=1)
    b.instance(task, 10, 20, cpu=0)
    b.instance(task, 30, 40, cpu=1)
    b.instance(task, 50, 60, cpu=1)
    analysis = b.analysis(0, 100)
    assert scheduling(analysis, analysis.actors)[0].migrations == 1


def test_wakeups_by_task_and_by_pair() -> None:
    found = wakeups(network(), network().actors)
    assert [(one.woken, one.by, one.count) for one in found.pairs] == [
        ("task:reader/71", "softirq:NET_RX", 1),
        ("task:other/72", "not known", 1),
    ]
    assert found.tasks[0].latency and found.tasks[0].latency.maximum == 250
    assert found.tasks[0].worst[0].begin == 1400
    assert found.pairs[0].other_cpu == 0


def test_the_end_of_the_trace_takes_no_latency_from_who_runs_there() -> None:
    b = Builder()
    reader = b.actor("task", "reader", tid=71)
    b.instance(reader, 1000, 1100, ready=990, flags=5)  # before which events are missing
    b.instance(reader, 1200, 1300, ready=1133)
    b.instance(reader, 1704, 2000, ready=1400, flags=2, why=3)
    analysis = b.analysis(1000, 2000)
    (woken,) = wakeups(analysis, analysis.actors).tasks
    assert woken.latency and (woken.latency.count, woken.latency.maximum) == (2, 304)
    assert (woken.count, woken.incomplete) == (3, 1)
    (of,) = actor_metrics(analysis, analysis.actors)
    assert of.latency and of.execution and (of.latency.maximum, of.execution.count) == (304, 1)
    assert of.incomplete == 2


# -- system calls, block requests, timers ----------------------------------------------------------


def test_system_calls() -> None:
    b = Builder()
    one, two = b.actor("task", "one", tid=1), b.actor("task", "two", tid=2)
    b.add("syscalls", actor=one, cpu=0, name="read", begin=100, end=150, result=7)
    b.add("syscalls", actor=one, cpu=0, name="read", begin=200, end=400, result=-11)
    b.add("syscalls", actor=two, cpu=0, name="read", begin=300, end=None, result=None)
    b.add("syscalls", actor=two, cpu=0, name="mmap", begin=310, end=311, result=-4096)
    found = syscalls(b.analysis(0, 1000), b.analysis(0, 1).actors)
    read = found.calls[0]
    assert (read.name, read.count, read.unfinished, read.errors) == ("read", 3, 1, 1)
    assert (read.worst_at, read.worst_actor) == (200, "task:one/1")
    assert read.latency and read.latency.median == 125
    assert found.calls[1].errors == 0  # an address is no error
    assert [(c.name, c.actor, c.count) for c in found.by_actor] == [
        ("read", "task:one/1", 2), ("mmap", "task:two/2", 1), ("read", "task:two/2", 1),
    ]  # fmt: skip
    only = syscalls(b.analysis(0, 1000), find(b.analysis(0, 1).actors, "task:two"))
    assert [(c.name, c.count) for c in only.calls] == [("mmap", 1), ("read", 1)]


def test_block_requests() -> None:
    b = Builder()
    disk = 254 << 20
    b.add("block", device=disk, sector=8, bytes=4096, kind="R", queued=10, issued=30, completed=90)
    b.add(
        "block", device=disk, sector=9, bytes=4096, kind="R", queued=None, issued=40, completed=60
    )
    b.add(
        "block", device=disk, sector=7, bytes=512, kind="WS", queued=50, issued=60, completed=None
    )
    found = requests(b.analysis(0, 1_000_000_000))
    assert [(r.device, r.kind, r.count, r.unfinished) for r in found] == [
        ("254:0", "R", 2, 0),
        ("254:0", "WS", 1, 1),
    ]
    read, write = found
    assert read.queue and read.queue.median == 20
    assert read.service and (read.service.minimum, read.service.maximum) == (20, 60)
    assert read.total and (read.total.maximum, read.worst_at, read.worst_sector) == (80, 10, 8)
    assert (read.bytes, read.rate) == (8192, 8192)
    assert (write.bytes, write.total, write.worst_at) == (0, None, None)


def test_idle_states_of_the_kernel_and_of_lttng() -> None:
    left = 0xFFFF_FFFF
    columns = ("time", "cpu_id", "state")
    rows = [
        (50, 0, left),  # entered before the trace: not known
        *((100, 0, 1), (300, 0, left), (400, 0, 3), (450, 1, 1), (500, 0, left)),
        *((600, 0, 1), (650, 1, left), (700, 0, left), (900, 0, 1)),  # the end of the trace
    ]
    types = (pa.int64(), pa.uint32(), pa.uint32())
    events = arrow_table(
        {
            name: pa.array([row[at] for row in rows], type=types[at])
            for at, name in enumerate(columns)
        }
    )
    for name in ("cpu_idle", "power_cpu_idle"):
        losses = [Loss(1, 640, 660, 3)]
        states = idle_states(Builder().analysis(0, 1000, events={name: events}, losses=losses))
        light, deep, other = states
        assert (light.cpu, light.state, light.count, light.incomplete) == (0, 1, 3, 1)
        assert light.share == 0.4 and light.longest_at == 100
        assert light.length and (light.length.count, light.length.maximum) == (2, 200)
        assert (deep.state, deep.count, deep.longest_at) == (3, 1, 400)
        assert (other.cpu, other.count, other.incomplete, other.length) == (1, 1, 1, None)
    assert idle_states(Builder().analysis(0, 1000)) == []


def test_timers_and_tickless_periods() -> None:
    b = Builder()
    high = 0xFFFF_FFFF_8100_0000
    for at, late in ((100, 5), (200, -3), (310, 9)):
        b.add(
            "timers", kind="hrtimer", address=high + 1, function=high, name=None, cpu=1,
            ran=at, ended=at + 2, lateness=late,
        )  # fmt: skip
    b.add("timers", kind="timer", address=7, function=9, name="tcp_write", cpu=0, ran=50)
    b.add("ticks", cpu=0, begin=100, end=300)
    b.add("ticks", cpu=0, begin=800, end=None)
    found = timers(b.analysis(0, 1000))
    first, second = found.timers
    assert (first.function, first.count, first.timers) == ("0xffffffff81000000", 3, 1)
    assert first.lateness and (first.lateness.minimum, first.lateness.maximum) == (-3, 9)
    assert (first.latest_at, first.latest_cpu) == (310, 1)
    assert first.period and (first.period.minimum, first.period.maximum) == (100, 110)
    assert first.execution and first.execution.median == 2
    assert (second.function, second.lateness, second.latest_at) == ("tcp_write", None, None)
    cpu = found.tickless[0]
    assert (cpu.count, cpu.share, cpu.longest_at) == (2, 0.4, 100)
    assert cpu.length and cpu.length.maximum == 200


# -- two traces ------------------------------------------------------------------------------------


def handler(lengths: list[int], name: str = "eth0") -> Analysis:
    b = Builder()
    irq = b.actor("irq", name, number=3)
    for at, length in enumerate(lengths):
        b.instance(irq, at * 1000, at * 1000 + length)
    return b.analysis(0, 1000 * len(lengths))


def test_a_slower_handler_is_found_and_an_unchanged_period_is_not() -> None:
    a, b = handler([50, 52, 54, 56, 58, 60, 62] * 3), handler([90, 92, 94, 96, 98, 100, 102] * 3)
    found = compare(a, b, (a.actors, b.actors), incomplete=False)
    first = found.changes[0]
    assert (first.actor, first.metric, first.changed, first.delta) == (
        "irq:eth0", "execution", True, 1.0,
    )  # fmt: skip
    assert first.ratio == pytest.approx(96 / 56)
    assert first.interval and 1.5 < first.interval.low < 96 / 56 < first.interval.high < 2
    period = next(change for change in found.changes if change.metric == "period")
    assert not period.changed and period.ratio == 1.0
    assert found.worst_growth() == pytest.approx(100 * (96 / 56 - 1))
    assert found.rates[0].load == pytest.approx((0.056, 0.096))
    assert compare(a, a, (a.actors, a.actors), incomplete=False).worst_growth() == 0


def test_a_worst_case_that_grew_is_told_though_the_median_did_not() -> None:
    usual = [50, 52, 54, 56, 58, 60, 62] * 30
    a, b = handler(usual), handler([*usual[:-1], 1000])
    found = compare(a, b, (a.actors, b.actors), incomplete=False)
    change = next(change for change in found.changes if change.metric == "execution")
    assert not change.changed and change.tail is not None
    assert (change.tail.side, change.tail.beyond, change.tail.count) == ("b", 1, 210)
    assert change.tail.notable and not change.tail.shown  # one may be chance, and is told as one
    assert change.tail.ratio == pytest.approx(1000 / 62)
    at_once = handler([*usual[:-20], *range(900, 1000, 5)])
    change = compare(a, at_once, (a.actors, at_once.actors), incomplete=False).changes[0]
    assert change.tail is not None and change.tail.beyond == 20 and not change.tail.shown
    late = dict(zip(range(0, 210, 10), range(900, 1005, 5), strict=True))
    often = handler([late.get(at, length) for at, length in enumerate(usual)])
    change = compare(a, often, (a.actors, often.actors), incomplete=False).changes[0]
    assert change.tail is not None and change.tail.shown and change.tail.p < 0.001
    assert change.longest_at == (6000, 200_000)
    same = compare(a, a, (a.actors, a.actors), incomplete=False).changes
    assert not any(each.tail is not None and each.tail.notable for each in same)


def test_too_few_instances_are_no_change_and_actors_of_one_trace_are_named() -> None:
    a, b = handler([50, 52]), handler([500, 520])
    found = compare(a, b, (a.actors, b.actors), incomplete=False)
    assert not any(change.changed for change in found.changes)
    assert "fewer than 6" in found.changes[0].reason
    other = handler([1, 2], "mmc0")
    found = compare(a, other, (a.actors, other.actors), incomplete=False)
    assert (found.only_in_a, found.only_in_b, found.changes) == (("irq:eth0",), ("irq:mmc0",), ())


# -- nothing at all --------------------------------------------------------------------------------


def test_a_trace_without_any_of_it_has_empty_answers() -> None:
    empty = Builder().analysis(0, 100)
    assert actor_metrics(empty, ()) == []
    assert stats(empty, ()).cpus == ()
    assert scheduling(empty, ()) == []
    assert wakeups(empty, ()).tasks == ()
    assert syscalls(empty, ()).calls == ()
    assert requests(empty) == []
    assert timers(empty).timers == ()
    assert load(empty, (), 10).actors == ()
    assert switches(empty, (), 10).actors == ()
    assert compare(empty, empty, ((), ()), incomplete=False).changes == ()
