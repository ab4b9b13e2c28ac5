"""Latency between two points of a trace, on chains made by hand."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from arrow_tables import arrow_table
from trace_tables import Builder

from benchvise.errors import UsageError
from benchvise.trace import native
from benchvise.trace.analysis.latency import (
    Latency,
    Method,
    latency,
    parse_assertion,
    parse_end,
    parse_pair,
)
from benchvise.trace.analysis.latency.ends import (
    ActorEnd,
    EventEnd,
    FieldCondition,
    InstanceEdge,
    running,
)
from benchvise.trace.analysis.model import Analysis, Loss, TraceSpan


def chains(count: int = 4, *, flags: int = 0, **more: object) -> Analysis:
    """Every 1000 ns eth0 interrupts for 20, raises NET_RX at 10, that runs from 20 to 60 and wakes
    the thread at 50, which runs from 100 + 10 i on CPU 1 for 30.
    """
    b = Builder()
    irq = b.actor("irq", "eth0", number=24)
    softirq = b.actor("softirq", "NET_RX", number=3)
    task = b.actor("task", "iperf3", tid=412)
    b.actor("task", "idler", tid=9)
    for i in range(count):
        t = 1000 * (i + 1)
        first = b.instance(irq, t, t + 20)
        raised = b.instance(softirq, t + 20, t + 60, ready=t + 10, cause=first)
        run = t + 100 + 10 * i
        b.instance(
            task, run, run + 30, cpu=1, ready=t + 50, cause=raised, flags=flags if i == 1 else 0
        )
    return b.analysis(0, 1000 * (count + 2), **more)  # type: ignore[arg-type]


def ask(analysis: Analysis, *ends: str, **more: object) -> Latency:
    return latency(analysis, [parse_end(end) for end in ends], **more)  # type: ignore[arg-type]


# -- ends ------------------------------------------------------------------------------------------


def test_ends_are_parsed() -> None:
    assert parse_end("irq:eth0") == ActorEnd("irq:eth0", "irq:eth0", InstanceEdge.BEGIN)
    assert parse_end("task:a.b.end") == ActorEnd("task:a.b.end", "task:a.b", InstanceEdge.END)
    assert parse_end("irq:24.start").edge is InstanceEdge.BEGIN  # type: ignore[union-attr]
    assert parse_end("event:spi") == EventEnd("event:spi", "spi", ())
    text = 'event:i2c_write[addr==0x20, len>=2 && buf~"a*",name = "x,y"]'
    assert parse_end(text).conditions == (  # type: ignore[union-attr]
        FieldCondition("addr", "==", "0x20"),
        FieldCondition("len", ">=", "2"),
        FieldCondition("buf", "~", "a*"),
        FieldCondition("name", "==", "x,y"),
    )


@pytest.mark.parametrize("text", ["", "event:", "event:a[b", "event:a[b]", "event:a[==3]"])
def test_what_is_no_end_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_end(text)


# -- by cause --------------------------------------------------------------------------------------


def test_from_an_interrupt_to_its_thread_stage_by_stage() -> None:
    found = ask(chains(), "irq:eth0", "task:iperf3")
    assert found.total is not None
    assert (found.occurrences, found.incomplete) == (4, 0)
    assert (found.total.minimum, found.total.median, found.total.maximum) == (100, 115, 130)
    hop = found.hops[0]
    assert (hop.method, hop.starts, hop.starts_matched, hop.ends, hop.ends_matched) == (
        Method.CAUSE, 4, 4, 4, 4,
    )  # fmt: skip
    assert len(found.ways) == 1
    assert [(s.name, s.time.median) for s in found.ways[0].stages] == [
        ("irq:eth0 runs until it raises softirq:NET_RX", 10),
        ("softirq:NET_RX waits to run", 10),
        ("softirq:NET_RX runs until it wakes task:iperf3", 30),
        ("task:iperf3 waits to run", 65),
    ]
    assert sum(stage.share for stage in found.ways[0].stages) == pytest.approx(1.0)
    worst = found.worst[0]
    assert (worst.begin, worst.end, worst.latency) == (4000, 4130, 130)
    assert (worst.begin_cpu, worst.end_cpu, worst.end_actor) == (0, 1, "task:iperf3/412")
    assert [time for _, time in worst.stages] == [10, 10, 30, 80]


@pytest.mark.parametrize(
    ("start", "end", "stages"),
    [
        ("irq:eth0.end", "task:iperf3", [("softirq:NET_RX waits, from the end of irq:eth0", 0),
            ("softirq:NET_RX runs until it wakes task:iperf3", 30),
            ("task:iperf3 waits to run", 50)]),
        ("irq:eth0", "task:iperf3.ready", [("irq:eth0 runs until it raises softirq:NET_RX", 10),
            ("softirq:NET_RX waits to run", 10),
            ("softirq:NET_RX runs until it wakes task:iperf3", 30)]),
        ("softirq:NET_RX.end", "task:iperf3", [
            ("task:iperf3 waits, from the end of softirq:NET_RX", 40)]),
        ("softirq:NET_RX.ready", "task:iperf3.end", [("softirq:NET_RX waits to run", 10),
            ("softirq:NET_RX runs until it wakes task:iperf3", 30),
            ("task:iperf3 waits to run", 50), ("task:iperf3 runs to its end", 30)]),
        ("task:iperf3", "task:iperf3.end", [
            ("task:iperf3: from task:iperf3 to task:iperf3.end", 30)]),
        ("softirq:NET_RX.end", "task:iperf3.ready", [
            ("task:iperf3 is woken, from the end of softirq:NET_RX", -10)]),
    ],
)  # fmt: skip
def test_either_end_may_be_any_moment_of_an_instance(
    start: str, end: str, stages: list[tuple[str, int]]
) -> None:
    found = ask(chains(1), start, end)
    assert found.total is not None
    assert [(s.name, s.time.median) for s in found.ways[0].stages] == stages
    assert found.total.median == sum(time for _, time in stages)


def test_the_climb_is_bounded_and_then_the_next_end_is_taken_loudly() -> None:
    found = ask(chains(), "irq:eth0", "task:iperf3", depth=1)
    assert found.hops[0].method is Method.NEXT
    assert [s.name for s in found.ways[0].stages] == ["from irq:eth0 to the next task:iperf3"]
    assert found.total and found.total.median == 115
    held = ask(chains(), "irq:eth0", "task:iperf3", depth=1, method=Method.CAUSE)
    assert (held.total, held.occurrences, held.hops[0].starts_matched) == (None, 0, 0)


def test_what_hardly_any_pair_has_is_not_taken_for_the_cause_of_all() -> None:
    b = Builder()
    irq, task = b.actor("irq", "gpio", number=7), b.actor("task", "poll", tid=1)
    for at in range(0, 3000, 100):
        first = b.instance(irq, at, at + 10)
        if at == 0:
            b.instance(task, at + 20, at + 30, ready=at + 5, cause=first)
        else:
            b.instance(task, at + 20, at + 30)
    found = ask(b.analysis(0, 3000), "irq:gpio", "task:poll")
    hop = found.hops[0]
    assert (hop.method, hop.few_by_cause, found.occurrences) == (Method.NEXT, 1, 30)
    held = ask(b.analysis(0, 3000), "irq:gpio", "task:poll", method=Method.CAUSE)
    assert (held.hops[0].method, held.occurrences) == (Method.CAUSE, 1)


def test_several_threads_of_one_interrupt_and_an_interrupt_without_any() -> None:
    b = Builder()
    irq = b.actor("irq", "gpio", number=7)
    tasks = [b.actor("task", "worker", tid=1), b.actor("task", "logger", tid=2)]
    first = b.instance(irq, 100, 110)
    b.instance(irq, 500, 510)
    for at, task in enumerate(tasks):
        b.instance(task, 150 + 10 * at, 200, ready=105, cause=first)
    found = ask(b.analysis(0, 1000), "irq:gpio", "task:*")
    hop = found.hops[0]
    assert (hop.starts, hop.starts_matched, hop.ends_matched) == (2, 1, 2)
    assert [(way.count, way.total.median) for way in found.ways] == [(1, 50), (1, 60)]


def test_incomplete_occurrences_are_counted_and_left_out_unless_asked_for() -> None:
    analysis = chains(flags=4)
    found = ask(analysis, "irq:eth0", "task:iperf3")
    assert (found.occurrences, found.incomplete) == (3, 1)
    kept = ask(analysis, "irq:eth0", "task:iperf3", incomplete=True)
    assert (kept.occurrences, kept.incomplete, kept.incomplete_kept) == (4, 1, True)


def test_what_began_before_the_trace_has_no_start() -> None:
    found = ask(chains(flags=1), "irq:eth0", "task:iperf3")
    assert (found.hops[0].ends, found.hops[0].left_out, found.occurrences) == (3, 1, 3)
    assert ask(chains(flags=2), "irq:eth0", "task:iperf3").occurrences == 4
    assert ask(chains(flags=2), "irq:eth0", "task:iperf3.end").occurrences == 3


def test_a_span_holds_the_starts_in_it() -> None:
    found = ask(chains(within=TraceSpan(2000, 4000)), "irq:eth0", "task:iperf3")
    assert (found.occurrences, found.hops[0].starts, found.hops[0].starts_matched) == (2, 2, 2)


# -- in order of time ------------------------------------------------------------------------------


def test_the_next_end_after_each_start() -> None:
    b = Builder()
    irq, task = b.actor("irq", "gpio", number=7), b.actor("task", "poll", tid=1)
    for t in (100, 200, 900):
        b.instance(irq, t, t + 10)
    for t in (50, 300, 350):
        b.instance(task, t, t + 10)
    losses = (Loss(1, 120, 130, None),)
    found = ask(b.analysis(0, 1000), "irq:gpio", "task:poll")
    assert found.hops[0].method is Method.NEXT
    assert (found.hops[0].starts, found.hops[0].starts_matched, found.hops[0].ends_matched) == (
        3,
        2,
        1,
    )
    assert found.total and (found.total.minimum, found.total.maximum) == (100, 200)
    incomplete = ask(b.analysis(0, 1000, losses=losses), "irq:gpio", "task:poll")
    assert (incomplete.occurrences, incomplete.incomplete) == (1, 1)
    itself = ask(b.analysis(0, 1000), "irq:gpio", "irq:gpio")
    assert [one.latency for one in itself.worst] == [700, 100]


# -- events, and chains of several hops ------------------------------------------------------------


def driver(count: int = 3) -> Analysis:
    """A GPIO interrupt wakes its thread, which writes over I2C and then over SPI."""
    b = Builder()
    irq, thread = b.actor("irq", "gpio", number=43), b.actor("task", "irq/43-sensor", tid=88)
    other = b.actor("task", "other", tid=89)
    times: dict[str, list[int]] = {"time": [], "addr": []}
    spi: list[int] = []
    for i in range(count):
        t = 80_000 * (i + 1)
        first = b.instance(irq, t, t + 14)
        b.instance(thread, t + 50, t + 900, ready=t + 12, cause=first)
        times["time"] += [t + 100, t + 120 + i]
        times["addr"] += [0x21, 0x20]
        spi.append(t + 500)
    b.instance(other, 1000, 1100)
    times["time"].append(1050)  # another's write to the same address
    times["addr"].append(0x20)
    events = {
        "i2c_write": arrow_table(
            {
                "time": pa.array(times["time"], pa.int64()),
                "cpu": pa.array([0] * len(times["time"]), pa.uint16()),
                "addr": pa.array(times["addr"], pa.uint16()),
                "name": pa.array([f"dev{a:x}" for a in times["addr"]]),
            }
        ),
        "spi_transfer_start": arrow_table(
            {"time": pa.array(spi, pa.int64()), "cpu": pa.array([0] * len(spi), pa.uint16())}
        ),
    }
    return b.analysis(0, 80_000 * (count + 1), events=events)


def test_from_the_interrupt_by_the_command_to_the_stream_in_one_call() -> None:
    found = ask(
        driver(), "irq:gpio", "task:irq/43-*", "event:i2c_write[addr==0x20]",
        "event:spi_transfer_start",
    )  # fmt: skip
    assert [hop.method for hop in found.hops] == [Method.CAUSE] * 3
    assert found.hops[1].ends == 4  # the other's write has no interrupt before it
    assert found.total and (found.total.count, found.total.median) == (3, 500)
    assert [(s.name, s.time.median) for s in found.ways[0].stages] == [
        ("irq:gpio runs until it wakes task:irq/43-sensor", 12),
        ("task:irq/43-sensor waits to run", 38),
        ("task:irq/43-sensor: from task:irq/43-* to event:i2c_write[addr==0x20]", 71),
        ("task:irq/43-sensor: from event:i2c_write[addr==0x20] to event:spi_transfer_start", 379),
    ]


def test_an_event_may_be_the_end_of_a_chain_or_its_start() -> None:
    found = ask(driver(1), "irq:gpio", 'event:i2c_write[name~"dev2?",addr!=0x20]')
    assert [(s.name, s.time.median) for s in found.ways[0].stages][-1] == (
        'task:irq/43-sensor runs until event:i2c_write[name~"dev2?",addr!=0x20]', 50,
    )  # fmt: skip
    assert found.total and found.total.median == 100
    found = ask(driver(1), "event:i2c_write[addr==0x21]", "task:irq/43-sensor.end")
    assert found.total and (found.occurrences, found.total.median) == (1, 800)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("event:i2c_writ", "no event i2c_writ: similar: i2c_write"),
        ("event:i2c_write[adr==1]", "has no field adr: it has time, cpu, addr, name"),
        ("event:i2c_write[addr==x]", "x is no number"),
        ("event:i2c_write[addr~3]", "use =="),
        ("event:i2c_write[name<3]", "use ~"),
        ("task:gpi", "no actor of the trace is task:gpi"),
    ],
)
def test_unknown_ends_name_what_there_is(text: str, error: str) -> None:
    with pytest.raises(UsageError, match=error.replace("[", r"\[")):
        ask(driver(1), "irq:gpio", text)


def test_a_value_beyond_the_type_of_its_field_is_no_overflow() -> None:
    found = ask(driver(1), "irq:gpio", "event:i2c_write[addr<0x10020]")
    assert found.hops[0].ends == 3
    assert ask(driver(1), "irq:gpio", "event:i2c_write[addr==0x10020]").hops[0].ends == 0


# -- assertions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "holds", "value"),
    [
        ("p99 < 80us", True, 129.7),
        ("p99<0.1us", False, 129.7),
        ("max <= 130 ns", True, 130),
        ("median == 115ns", True, 115),
        ("p75 > 122ns", True, 122.5),
        ("count >= 5", False, 4),
        ("matched >= 100%", True, 1),
        ("max[4] < 81ns", True, 80),
        ("median[*waits to run] < 1us", False, None),
        ("share[*waits to run] > 50%", True, 300 / 460),
        ("share[1] < 10%", True, 40 / 460),
        ("share[9] < 10%", False, None),
    ],
)
def test_assertions(text: str, holds: bool, value: float | None) -> None:
    checked = parse_assertion(text).check(ask(chains(), "irq:eth0", "task:iperf3"))
    assert checked.holds is holds
    assert checked.value == (value if value is None else pytest.approx(value))


def test_an_assertion_about_nothing_fails() -> None:
    nothing = ask(chains(), "irq:eth0", "task:idler")
    checked = parse_assertion("p99 < 1s").check(nothing)
    assert (checked.holds, checked.reason) == (False, "there is no occurrence")
    assert parse_assertion("count == 0").check(nothing).holds


@pytest.mark.parametrize(
    "text",
    ["p99", "p99 < 80", "p101 < 1s", "count > 3us", "share < 3%", "matched > 3", "frob < 1us",
     "count[1] > 2", "p75[1] < 1us"],
)  # fmt: skip
def test_what_is_no_assertion_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_assertion(text)


# -- pairs by fields -------------------------------------------------------------------------------


def events_of(rows: list[tuple[int, int, str | None]], sector: str = "sector") -> native.Table:
    """(time, sector, device) each."""
    times, sectors, devices = zip(*rows, strict=True)
    return arrow_table(
        {
            "time": pa.array(times, pa.int64()),
            "cpu": pa.array([time % 2 for time in times], pa.uint16()),
            sector: pa.array(sectors, pa.uint64()),
            "device": pa.array(devices, pa.string()),
        }
    )


def latencies_by_hand(
    starts: list[tuple[int, int, str | None]], ends: list[tuple[int, int, str | None]]
) -> list[int]:
    """One event after the other: an end takes the last start that is open under its key."""
    latest: dict[tuple[int, str], int] = {}
    taken = []
    both = [(start, 0) for start in starts] + [(end, 1) for end in ends]
    for (time, sector, device), is_end in sorted(both, key=lambda event: (event[0][0], event[1])):
        if device is None:
            continue
        if not is_end:
            latest[sector, device] = time
        elif (sector, device) in latest:
            taken.append(time - latest.pop((sector, device)))
    return sorted(taken)


@pytest.mark.parametrize("seed", range(20))
def test_events_are_paired_by_fields_whatever_happens_in_between(seed: int) -> None:
    chance = random.Random(seed)
    largest = (1 << 64) - 1

    def some(count: int) -> list[tuple[int, int, str | None]]:
        rows = [
            (
                chance.randrange(400),
                chance.choice([0, 7, 1 << 40, largest]),
                chance.choice(["sda", "mmcblk0", None]),
            )
            for _ in range(count)
        ]
        # At one moment two events with one key are in no order.
        return list(dict.fromkeys(rows))

    starts, ends = some(chance.randrange(1, 120)), some(chance.randrange(1, 120))
    tables = {"issue": events_of(starts), "complete": events_of(ends, "where")}
    analysis = Builder().analysis(0, 500, events=tables)
    fields = [parse_pair("sector=where"), parse_pair("device")]
    answer = ask(analysis, "event:issue", "event:complete", fields=fields)
    assert answer.values.tolist() == latencies_by_hand(starts, ends)
    assert answer.hops[0].method is Method.FIELDS
    assert answer.hops[0].ends == len(ends)


def test_pairs_beside_lost_events_are_incomplete_and_nothing_is_its_own_end() -> None:
    rows: list[tuple[int, int, str | None]] = [(10, 1, "a"), (30, 1, "a"), (100, 2, "a")]
    tables = {"issue": events_of(rows), "done": events_of([(20, 1, "a"), (150, 2, "a")])}
    lossy = Builder().analysis(0, 500, events=tables, losses=[Loss(None, 120, 130, 5)])
    answer = ask(lossy, "event:issue", "event:done", fields=[parse_pair("sector")])
    assert (answer.values.tolist(), answer.incomplete) == ([10], 1)
    itself = ask(lossy, "event:issue", "event:issue", fields=[parse_pair("sector")])
    assert itself.values.tolist() == [20]


@pytest.mark.parametrize(
    ("field", "ends", "fault"),
    [
        ("none", ("event:issue", "event:issue"), "has no field none"),
        ("sector", ("irq:eth0", "event:issue"), "is no event"),
        ("half", ("event:issue", "event:issue"), "neither a number nor a text"),
    ],
)
def test_what_cannot_be_paired_is_refused(field: str, ends: tuple[str, str], fault: str) -> None:
    table = arrow_table(pa.table(events_of([(10, 1, "a")])).append_column("half", pa.array([0.5])))
    builder = Builder()
    builder.instance(builder.actor("irq", "eth0", number=24), 0, 20)
    with pytest.raises(UsageError, match=fault):
        ask(builder.analysis(0, 500, events={"issue": table}), *ends, fields=[parse_pair(field)])
    for text in ("", "=", "a=", "=b"):
        with pytest.raises(UsageError, match="names no field"):
            parse_pair(text)


def test_an_event_whose_cpu_is_not_known_happened_in_no_instance() -> None:
    """perf.data without the CPU of samples; its events are paired all the same."""
    analysis = driver()
    known = running(analysis, np.array([0, 0]), np.array([0, 1 << 40]))
    mixed = running(analysis, np.array([-1, 0, 0, -1]), np.array([0, 0, 1 << 40, 5]))
    assert mixed.tolist() == [-1, *known.tolist(), -1]
    issued: list[tuple[int, int, str | None]] = [(10, 1, "a"), (30, 2, "a")]
    done: list[tuple[int, int, str | None]] = [(20, 1, "a"), (35, 2, "a")]
    unknown = pa.nulls(2, pa.uint16())
    tables = {
        name: arrow_table(pa.table(events_of(rows)).set_column(1, "cpu", unknown))
        for name, rows in (("issue", issued), ("done", done))
    }
    answer = ask(
        Builder().analysis(0, 500, events=tables),
        "event:issue",
        "event:done",
        fields=[parse_pair("sector")],
    )
    assert answer.values.tolist() == [5, 10]
    assert {(one.begin_cpu, one.end_cpu) for one in answer.worst} == {(None, None)}
