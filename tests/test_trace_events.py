"""``benchvise trace events`` on real traces, against what trace-cmd prints."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import skips
from trace_data import trace

from benchvise.cli.main import run
from benchvise.errors import UsageError
from benchvise.trace.event_listing import EventFilter, EventLog, ListedEvent

skips.need_decoder()

REPORTED = re.compile(
    r"\s*(?P<task>.*)-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}): "
    r"(?P<event>\S+):\s*(?P<text>.*?)\s*$"
)


@pytest.fixture(scope="module")
def every() -> list[ListedEvent]:
    return list(EventLog(trace("f100k")).events(EventFilter()))


def test_it_is_what_trace_cmd_prints_event_by_event(every: list[ListedEvent]) -> None:
    skips.needs("trace-cmd")
    report = subprocess.run(
        ["trace-cmd", "report", "-N", "-t", str(trace("f100k"))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    reported = [match for line in report.stdout.splitlines() if (match := REPORTED.match(line))]
    assert len(every) == len(reported) == 63_578
    for event, line in zip(every, reported, strict=True):
        time = int(line["s"]) * 1_000_000_000 + int(line["ns"])
        head = (line["task"], int(line["tid"]), int(line["cpu"]), time, line["event"])
        assert (event.task, event.tid, event.cpu, event.time, event.event) == head
        ours, theirs = event.text.strip(), line["text"]
        if event.event == "timer_start":
            # trace-cmd 3.1.6 prints flags there that its value does not have.
            ours, theirs = (text.partition(" flags=")[0] for text in (ours, theirs))
        assert ours == theirs, event


def test_filters_leave_the_rest_in_order(every: list[ListedEvent]) -> None:
    tid = next(event.tid for event in every if event.task == "python3")
    wanted = EventFilter(("sched_sw*", "irq_*"), ("python3",), (1,))
    some = list(EventLog(trace("f100k")).events(wanted))
    assert some == [
        event
        for event in every
        if event.event.startswith(("sched_sw", "irq_"))
        and event.task == "python3"
        and event.cpu == 1
    ]
    assert 10 < len(some) < len(every) / 10
    by_number = EventFilter(wanted.events, (str(tid),), wanted.cpus)
    assert {event.tid for event in EventLog(trace("f100k")).events(by_number)} == {tid}
    lines = b"".join(EventLog(trace("f100k")).lines(wanted)).decode().splitlines()
    assert len(lines) == len(some)
    assert re.match(r" +python3-\d+ \[001\] \d+\.\d{9}: \w+: ", lines[0])
    matching = EventFilter(text="comm=python3")
    assert list(EventLog(trace("f100k")).events(matching)) == [
        event for event in every if "comm=python3" in event.text
    ]


def test_slices_of_time_join_to_the_whole(every: list[ListedEvent]) -> None:
    """Windows leave out pages by their stamps, and few events begin with small slices."""
    first, last = every[0].time, every[-1].time
    middle = (first + last) // 2
    since, until = (f"+{(middle - first + more) / 1e9:.9f}" for more in (0, 30_000_000))
    window = list(EventLog(trace("f100k"), since, until).events(EventFilter()))
    assert window == [event for event in every if middle <= event.time < middle + 30_000_000]
    assert len(window) > 100
    assert list(EventLog(trace("f100k")).events(EventFilter(), 5000)) == every[:5000]
    for name in ("f100k-v6", "f100k-zstd"):
        assert list(EventLog(trace(name), since, until).events(EventFilter(), 70)) == window[:70]


def test_without_a_print_format_fields_have_their_names() -> None:
    wanted = EventFilter(("sched_switch",), ("lttng*",))
    first = next(EventLog(trace("vm-small")).events(wanted, 1))
    assert first.task is not None and first.task.startswith("lttng")
    assert re.match(r'prev_comm=".+", prev_tid=\d+, prev_prio=\d+, prev_state=\d', first.text)


def test_what_the_trace_does_not_have_is_named() -> None:
    log = EventLog(trace("f100k"))
    with pytest.raises(UsageError, match="no event nothing"):
        next(log.events(EventFilter(("nothing",))))
    with pytest.raises(UsageError, match="no thread nobody"):
        next(log.events(EventFilter(processes=("nobody",))))


def test_the_command_prints_lines_or_a_document(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = str(trace("f100k"))
    command = ["trace", "events", file, "--since", "+0.1", "--limit", "5"]
    assert run(command) == 0
    assert len(capfdbinary.readouterr().out.splitlines()) == 5
    assert run([*command, "--json"]) == 0
    document = json.loads(capfdbinary.readouterr().out)
    assert document["kind"] == "trace-events"
    assert len(document["data"]["events"]) == 5 and not document["data"]["complete"]
