"""What is written for other programs is read back by decoders that are not ours.

Perfetto's trace processor cannot be had from a package registry (its package downloads a binary),
so the protobuf is decoded by Google's own library from descriptors that are written here after the
public protocol definitions. Fields that those do not have would show as unknown.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import skips
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet
from trace_data import expected, trace
from trace_report import report

from benchvise.cli.main import run

skips.need_decoder()

INT32, INT64, UINT32, UINT64, TEXT, BOOL = 5, 3, 13, 4, 9, 8
"""Types of `FieldDescriptorProto`."""

MESSAGES: dict[str, dict[str, tuple[int, int | str]]] = {
    "Trace": {"packet": (1, "*TracePacket")},
    "TracePacket": {
        "ftrace_events": (1, "FtraceEventBundle"), "process_tree": (2, "ProcessTree"),
        "clock_snapshot": (6, "ClockSnapshot"), "trusted_packet_sequence_id": (10, UINT32),
        "system_info": (45, "SystemInfo"),
    },
    "FtraceEventBundle": {
        "cpu": (1, UINT32), "event": (2, "*FtraceEvent"), "lost_events": (3, BOOL),
    },
    "FtraceEvent": {
        "timestamp": (1, UINT64), "pid": (2, UINT32), "sched_switch": (4, "SchedSwitch"),
        "sched_waking": (20, "SchedWakeup"), "sched_wakeup": (17, "SchedWakeup"),
        "softirq_entry": (24, "Softirq"), "softirq_exit": (25, "Softirq"),
        "irq_handler_entry": (36, "IrqEntry"), "irq_handler_exit": (37, "IrqExit"),
        "block_rq_issue": (45, "BlockRqIssue"), "hrtimer_expire_entry": (553, "HrtimerExpire"),
        "sys_enter": (329, "SysEnter"), "sys_exit": (330, "SysExit"),
        "generic": (327, "Generic"),
    },
    "SchedSwitch": {
        "prev_comm": (1, TEXT), "prev_pid": (2, INT32), "prev_prio": (3, INT32),
        "prev_state": (4, INT64), "next_comm": (5, TEXT), "next_pid": (6, INT32),
        "next_prio": (7, INT32),
    },
    "SchedWakeup": {
        "comm": (1, TEXT), "pid": (2, INT32), "prio": (3, INT32), "success": (4, INT32),
        "target_cpu": (5, INT32),
    },
    "Softirq": {"vec": (1, UINT32)},
    "IrqEntry": {"irq": (1, INT32), "name": (2, TEXT), "handler": (3, UINT32)},
    "IrqExit": {"irq": (1, INT32), "ret": (2, INT32)},
    "BlockRqIssue": {
        "dev": (1, UINT64), "sector": (2, UINT64), "nr_sector": (3, UINT32), "bytes": (4, UINT32),
        "rwbs": (5, TEXT), "comm": (6, TEXT), "cmd": (7, TEXT),
    },
    "HrtimerExpire": {"hrtimer": (1, UINT64), "now": (2, INT64), "function": (3, UINT64)},
    "SysEnter": {"id": (1, INT64), "args": (2, -UINT64)},
    "SysExit": {"id": (1, INT64), "ret": (2, INT64)},
    "GenericField": {
        "name": (1, TEXT), "str_value": (3, TEXT), "int_value": (4, INT64),
        "uint_value": (5, UINT64),
    },
    "Generic": {"event_name": (1, TEXT), "field": (2, "*GenericField")},
    "Clock": {"clock_id": (1, UINT32), "timestamp": (2, UINT64)},
    "ClockSnapshot": {"clocks": (1, "*Clock"), "primary_trace_clock": (2, UINT32)},
    "Utsname": {
        "sysname": (1, TEXT), "version": (2, TEXT), "release": (3, TEXT), "machine": (4, TEXT),
    },
    "SystemInfo": {"utsname": (1, "Utsname")},
    "Process": {"pid": (1, INT32), "cmdline": (3, -TEXT), "cmdline_is_comm": (9, BOOL)},
    "Thread": {"tid": (1, INT32), "name": (2, TEXT), "tgid": (3, INT32)},
    "ProcessTree": {"processes": (1, "*Process"), "threads": (2, "*Thread")},
}  # fmt: skip
"""Fields by name: their number, and their type; `*` and negative ones are repeated."""


def trace_message() -> Any:
    """The class of `perfetto.protos.Trace`, as far as it is written above."""
    file = descriptor_pb2.FileDescriptorProto(name="perfetto.proto", syntax="proto2")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            one = message.field.add(name=field, number=number, label=1)
            repeated = kind.startswith("*") if isinstance(kind, str) else kind < 0
            one.label = 3 if repeated else 1
            if isinstance(kind, str):
                one.type, one.type_name = 11, "." + kind.lstrip("*")
            else:
                one.type = abs(kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Trace"))


def exported(path: Path, output: Path) -> Any:
    assert run(["trace", "export", str(path), "--to", "perfetto", "-o", str(output)]) == 0
    message = trace_message()()
    message.ParseFromString(output.read_bytes())
    assert message.IsInitialized()
    return message


@pytest.fixture(scope="module")
def perfetto(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return exported(trace("f100k"), tmp_path_factory.mktemp("export") / "f100k.perfetto-trace")


def test_every_event_is_there_on_its_cpu_in_order_of_time(perfetto: Any) -> None:
    times: defaultdict[int, list[int]] = defaultdict(list)
    for packet in perfetto.packet:
        assert packet.trusted_packet_sequence_id == 1
        assert not UnknownFieldSet(packet)
        if packet.HasField("ftrace_events"):
            bundle = packet.ftrace_events
            times[bundle.cpu] += [event.timestamp for event in bundle.event]
    assert sum(map(len, times.values())) == 63_578
    assert all(of == sorted(of) for of in times.values())


def test_switches_wakeups_and_interrupts_say_what_the_report_says(perfetto: Any) -> None:
    ours: Counter[tuple[Any, ...]] = Counter()
    for packet in perfetto.packet:
        cpu = packet.ftrace_events.cpu
        for event in packet.ftrace_events.event:
            if event.HasField("sched_switch"):
                switch = event.sched_switch
                ours[cpu, event.timestamp, event.pid, switch.prev_pid, switch.next_pid] += 1
                assert switch.next_comm
                assert not UnknownFieldSet(switch)
            elif event.HasField("sched_waking"):
                waking = event.sched_waking
                ours[cpu, event.timestamp, event.pid, waking.comm, waking.pid] += 1
            elif event.HasField("irq_handler_entry"):
                entry = event.irq_handler_entry
                ours[cpu, event.timestamp, event.pid, entry.irq, entry.name] += 1
            elif event.HasField("softirq_entry"):
                ours[cpu, event.timestamp, event.pid, event.softirq_entry.vec] += 1
    theirs: Counter[tuple[Any, ...]] = Counter()
    for line in report(
        trace("f100k"), "sched_switch", "sched_waking", "irq_handler_entry", "softirq_entry"
    ):
        head = line.cpu, line.time, line.pid
        if line.event == "sched_switch":
            previous, _, following = line.switch
            theirs[(*head, previous, following)] += 1
        elif line.event == "sched_waking":
            comm = line.rest.removeprefix("comm=").rpartition(" pid=")[0]
            theirs[(*head, comm, int(line.fields["pid"]))] += 1
        elif line.event == "irq_handler_entry":
            theirs[(*head, int(line.fields["irq"]), line.fields["name"])] += 1
        else:
            theirs[(*head, int(line.fields["vec"]))] += 1
    assert ours == theirs
    assert ours.total() > 6000


def test_events_that_perfetto_does_not_know_keep_their_names_and_fields(perfetto: Any) -> None:
    kept: defaultdict[str, set[str]] = defaultdict(set)
    for packet in perfetto.packet:
        for event in packet.ftrace_events.event:
            if event.HasField("generic"):
                kept[event.generic.event_name] |= {field.name for field in event.generic.field}
    assert kept["sched_stat_runtime"] == {"comm", "pid", "runtime"}


def test_system_calls_are_perfettos_own(tmp_path: Path) -> None:
    """Each by its number, whatever the name of its event; what they return is with their ends."""
    message = exported(trace("f1m"), tmp_path / "f1m.perfetto-trace")
    kinds: Counter[str] = Counter()
    failed = 0
    for packet in message.packet:
        for event in packet.ftrace_events.event:
            if event.HasField("sys_enter"):
                kinds["sys_enter"] += 1
            elif event.HasField("sys_exit"):
                kinds["sys_exit"] += 1
                failed += event.sys_exit.ret < 0
            elif event.HasField("generic"):
                assert not event.generic.event_name.startswith(("sys_enter", "sys_exit"))
    counts = expected("f1m")["counts"]
    for name in ("sys_enter", "sys_exit"):
        calls = sum(count for event, count in counts.items() if event.startswith(name))
        assert kinds[name] == calls > 1000, name
    assert 0 < failed < kinds["sys_exit"]


def test_an_lttng_trace_has_the_same_messages_under_its_own_names(tmp_path: Path) -> None:
    message = exported(trace("vm-small"), tmp_path / "lttng.perfetto-trace")
    kinds: Counter[str] = Counter()
    pids = set()
    for packet in message.packet:
        for event in packet.ftrace_events.event:
            for name in ("sched_switch", "sched_waking", "softirq_entry", "irq_handler_entry"):
                kinds[name] += event.HasField(name)
            if event.HasField("sched_switch"):
                assert event.pid == event.sched_switch.prev_pid
                pids.add(event.sched_switch.next_pid)
    counts = expected("vm-small")["counts"]
    assert kinds["sched_switch"] == counts["sched_switch"]
    assert kinds["sched_waking"] == counts["sched_waking"]
    assert kinds["irq_handler_entry"] == counts.get("irq_handler_entry", 0)
    softirqs = counts.get("softirq_entry", 0) + counts.get("irq_softirq_entry", 0)
    assert kinds["softirq_entry"] == softirqs
    assert len(pids) > 5


def test_chrome_json_holds_every_fragment_and_instance(tmp_path: Path) -> None:
    output = tmp_path / "trace.json"
    assert run(["trace", "export", str(trace("f100k")), "--to", "chrome", "-o", str(output)]) == 0
    events = json.loads(output.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) > 10_000
    assert all(span["dur"] >= 0 and span["ts"] >= 0 for span in spans)
    on_cpus = {span["name"] for span in spans if span["pid"] == 1}
    assert "softirq:BLOCK" in on_cpus
    processes = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert processes == {
        "CPUs", "task instances", "irq instances", "softirq instances", "idle instances",
    }  # fmt: skip


def test_parquet_has_a_file_for_each_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "tables"
    words = ["trace", "export", str(trace("f100k")), "--to", "parquet", "-o", str(output)]
    assert run(words) == 0
    switches = pq.read_table(output / "events" / "sched_switch.parquet")
    assert switches.num_rows == 2788
    assert (output / "analysis" / "instances.parquet").exists()
    assert run(words) == 2
    assert "is there already" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = ["trace", "export", str(trace("f100k")), "--to", "perfetto", "-o"]
    assert run([*words, str(tmp_path / "file" / "under")]) == 1
    assert run([*words, str(tmp_path)]) == 2
    assert not list(tmp_path.glob(".export-*"))
