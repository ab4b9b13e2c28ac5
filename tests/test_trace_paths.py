"""Critical paths and delays of real traces, against a count of what `trace-cmd report` prints."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
import skips
from trace_data import trace
from trace_report import Line, report

from benchvise.cli.main import run
from benchvise.trace.analysis.actors import response
from benchvise.trace.analysis.critical_path import critical_path
from benchvise.trace.analysis.delays import delays
from benchvise.trace.loaded import load_trace

skips.need_decoder()

ENTRIES = ("irq_handler_entry", "softirq_entry", "hrtimer_expire_entry")
EXITS = ("irq_handler_exit", "softirq_exit", "hrtimer_expire_exit")


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The answer of a command of `benchvise trace`, from its JSON."""
    assert run(["trace", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["data"]["answer"]


def preempted(lines: list[Line]) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """How often each thread was preempted by each, and how long it then waited in all; without the
    threads of which a switch is missing."""
    running: dict[int, int] = {}
    since: dict[int, tuple[int, int]] = {}
    counts: Counter[tuple[int, int]] = Counter()
    times: Counter[tuple[int, int]] = Counter()
    doubtful = {0}
    for line in lines:
        left, state, came = line.switch
        if running.get(line.cpu, left) != left:
            doubtful |= {running[line.cpu], left}
        running[line.cpu] = came
        if came in since:
            by, begin = since.pop(came)
            counts[came, by] += 1
            times[came, by] += line.time - begin
        if state.startswith("R"):
            since[left] = came, line.time
    for counter in (counts, times):
        for pair in [pair for pair in counter if pair[0] in doubtful]:
            del counter[pair]
    return counts, times


def test_who_preempted_whom_is_what_the_report_says(capsys: pytest.CaptureFixture[str]) -> None:
    path = trace("f1m")
    counts, times = preempted(report(path, "sched_switch"))
    ours_counts: Counter[tuple[int, int]] = Counter()
    ours_times: Counter[tuple[int, int]] = Counter()
    for one in ask(capsys, "delays", str(path))["preemptions"]:
        thread, by = (int(one[key].rpartition("/")[2]) for key in ("thread", "by"))
        ours_counts[thread, by] += one["count"]
        ours_times[thread, by] += one["wait"]["total"]
    wrong = {
        pair: (counts[pair], ours_counts[pair])
        for pair in counts
        if (counts[pair], times[pair]) != (ours_counts[pair], ours_times[pair])
    }
    assert sum(counts.values()) > 40_000
    assert not wrong


@pytest.mark.parametrize("name", ["f100k", "f1m", "vm-small", "many-threads"])
def test_paths_have_no_gap_and_begin_before_the_response(name: str) -> None:
    loaded = load_trace(trace(name))
    analysis = loaded.analysis
    rows = analysis.instances
    tasks = analysis.of_kind("task")[rows["actor"]]
    candidates = np.flatnonzero(tasks & analysis.complete)
    times = response(analysis)[candidates]
    longest = candidates[np.argsort(-times, kind="stable")[:10]]
    spread = candidates[:: max(1, candidates.size // 30)]
    for instance in [*longest.tolist(), *spread.tolist()]:
        path = critical_path(analysis, instance)
        at = path.begin
        for segment in path.segments:
            assert segment.begin == at
            assert segment.end > at
            at = segment.end
        assert at == path.end == int(rows["end"][instance])
        assert sum(part.time for part in path.parts) == path.end - path.begin
        own = sum(
            segment.length
            for segment in path.segments
            if segment.state == "running"
            and segment.through_id == rows["actor"][instance]
            and segment.begin >= path.hops[-1].begin
        )
        assert own == int(rows["execution"][instance])


@pytest.mark.parametrize("name", ["f100k", "vm-small", "many-threads"])
def test_delays_add_up_to_all_waiting(name: str) -> None:
    analysis = load_trace(trace(name)).analysis
    answer = delays(analysis, analysis.actors)
    assert sum(delay.time for delay in answer.delays) == answer.waited
    of_thread: defaultdict[str, float] = defaultdict(float)
    for delay in answer.delays:
        of_thread[" ".join(map(str, delay.thread_ids))] += delay.share
    assert all(share == pytest.approx(1) for share in of_thread.values())


def test_who_had_the_cpu_in_a_wait_is_what_the_report_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The longest path of a thread: the time of each thread and handler in it, line by line."""
    path = trace("f1m")
    answer = ask(capsys, "critical-path", str(path), "task:kworker/1:2/4294")
    last = answer["hops"][-1]
    lines = report(path, "sched_switch", *ENTRIES, *EXITS)
    cpu = last["cpu"]
    stack: list[str] = []
    at = 0
    spent: Counter[str] = Counter()
    for line in lines:
        if line.cpu != cpu:
            continue
        if stack:
            inside = min(line.time, last["end"]) - max(at, last["begin"])
            spent[stack[-1]] += max(0, inside)
        at = line.time
        if line.event == "sched_switch":
            stack = [str(line.switch[2])]
        elif line.event in ENTRIES:
            stack.append(line.event.partition("_")[0])
        elif len(stack) > 1:
            stack.pop()
    ours: Counter[str] = Counter()
    for segment in answer["segments"]:
        if segment["through_id"] == last["actor_id"]:
            kind, _, rest = segment["actor"].partition(":")
            key = rest.rpartition("/")[2] if kind == "task" else kind
            if kind == "irq" and rest == "hrtimer":
                key = "hrtimer"
            ours[key] += segment["end"] - segment["begin"]
    assert sum(ours.values()) == last["end"] - last["begin"] > 3_000_000
    assert ours == +spent


def test_a_field_over_time_is_what_the_report_says(capsys: pytest.CaptureFixture[str]) -> None:
    path = trace("f1m")
    lines = report(path, "sched_stat_runtime")
    values = [int(line.rest.partition("runtime=")[2].split()[0]) for line in lines]
    [ours] = ask(capsys, "counters", str(path), "sched_stat_runtime.runtime")
    assert (ours["minimum"], ours["maximum"]) == (min(values), max(values))
    assert ours["changes"] == len(values) > 100_000
    assert ours["maximum_at"] == lines[values.index(max(values))].time
    assert 0.99 < ours["known"] <= 1
    whole = load_trace(path).analysis.whole
    until = [line.time for line in lines[1:]] + [whole.end]
    held = [end - line.time for line, end in zip(lines, until, strict=True)]
    over_time = sum(map(math.prod, zip(values, held, strict=True))) / sum(held)
    assert ours["mean"] == pytest.approx(over_time, rel=1e-4)
