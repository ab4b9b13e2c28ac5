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
from benchvise.trace.event_listing import EventFilter, listed_events, listed_lines
from benchvise.trace.loaded import LoadedTrace, load_trace

skips.need_decoder()

REPORTED = re.compile(
    r"\s*(?P<task>.*)-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}): "
    r"(?P<event>\S+):\s*(?P<text>.*?)\s*$"
)
WITH_SYMBOLS = re.compile(r"(hr)?timer_(start|expire_entry)|workqueue_.*|ipi_send_cpu")
"""Their functions are addresses here, names there."""


@pytest.fixture(scope="module")
def loaded() -> LoadedTrace:
    return load_trace(trace("f100k"), use_cache=False)


def test_it_is_what_trace_cmd_prints_event_by_event(loaded: LoadedTrace) -> None:
    skips.needs("trace-cmd")
    report = subprocess.run(
        ["trace-cmd", "report", "-N", "-t", str(loaded.path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    reported = [match for line in report.stdout.splitlines() if (match := REPORTED.match(line))]
    listed = list(listed_events(loaded, EventFilter()))
    assert len(listed) == len(reported) == loaded.trace.events
    compared = 0
    for event, line in zip(listed, reported, strict=True):
        time = int(line["s"]) * 1_000_000_000 + int(line["ns"])
        head = (line["task"], int(line["tid"]), int(line["cpu"]), time, line["event"])
        assert (event.task, event.tid, event.cpu, event.time, event.event) == head
        if not WITH_SYMBOLS.fullmatch(event.event):
            assert event.text.strip() == line["text"], event
            compared += 1
    assert compared > 60_000


def test_filters_leave_the_rest_in_order(loaded: LoadedTrace) -> None:
    every = list(listed_events(loaded, EventFilter()))
    tid = next(event.tid for event in every if event.task == "python3")
    wanted = EventFilter(("sched_sw*", "irq_*"), ("python3",), (1,))
    some = list(listed_events(loaded, wanted))
    assert some == [
        event
        for event in every
        if event.event.startswith(("sched_sw", "irq_"))
        and event.task == "python3"
        and event.cpu == 1
    ]
    assert 10 < len(some) < len(every) / 10
    by_number = EventFilter(wanted.events, (str(tid),), wanted.cpus)
    assert {event.tid for event in listed_events(loaded, by_number)} == {tid}
    lines = [line for chunk in listed_lines(loaded, wanted) for line in chunk]
    assert len(lines) == len(some)
    assert re.match(r" +python3-\d+ \[001\] \d+\.\d{9}: \w+: ", lines[0])


def test_without_a_print_format_fields_have_their_names() -> None:
    kernel = load_trace(trace("vm-small"), use_cache=False)
    wanted = EventFilter(("sched_switch",), ("lttng*",))
    first = next(listed_events(kernel, wanted))
    assert first.task is not None and first.task.startswith("lttng")
    assert re.match(r'prev_comm=".+", prev_tid=\d+, prev_prio=\d+, prev_state=\d', first.text)


def test_what_the_trace_does_not_have_is_named(loaded: LoadedTrace) -> None:
    with pytest.raises(UsageError, match="no event nothing"):
        next(listed_events(loaded, EventFilter(("nothing",))))
    with pytest.raises(UsageError, match="no thread nobody"):
        next(listed_events(loaded, EventFilter(processes=("nobody",))))


def test_the_command_prints_lines_or_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(trace("f100k"))
    command = ["trace", "events", file, "--no-cache", "--since", "+0.1", "--limit", "5"]
    assert run(command) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert run([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "trace-events"
    assert len(document["data"]["events"]) == 5 and not document["data"]["complete"]
