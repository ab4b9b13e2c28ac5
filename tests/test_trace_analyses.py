"""The analyses of a real trace, against an independent count of what `trace-cmd report` prints."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import skips
from trace_data import recorded, trace
from trace_report import Line, report

from benchvise.cli.main import run
from benchvise.report.rendering import described_columns
from benchvise.trace.analysis.stats import stats, usage_of
from benchvise.trace.catalogue import ANALYSES
from benchvise.trace.catalogue.record import TraceAnalysis
from benchvise.trace.loaded import load_trace

skips.need_decoder()


@pytest.fixture(scope="module")
def recording() -> Path:
    return trace("f100k")


@pytest.fixture(scope="module")
def lines(recording: Path) -> list[Line]:
    return report(recording)


@pytest.fixture(scope="module")
def busy() -> Path:
    """A trace in which (but for a few moments) no switch is missing, as many are in the other."""
    return trace("f1m")


@pytest.fixture(scope="module")
def scheduling(busy: Path) -> list[Line]:
    return report(busy, "sched_switch", "sched_waking", "softirq_entry", "softirq_exit")


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The answer of a command of `benchvise trace`, from its JSON."""
    assert run(["trace", *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    return told["data"]["answer"]


# -- stats, switches, load -------------------------------------------------------------------------


def test_switches_and_interrupts_of_each_cpu(
    recording: Path, lines: list[Line], capsys: pytest.CaptureFixture[str]
) -> None:
    found = ask(capsys, "stats", str(recording))
    switches = Counter(line.cpu for line in lines if line.event == "sched_switch")
    assert {cpu["cpu"]: cpu["switches"] for cpu in found["cpus"]} == switches
    handlers = Counter(line.cpu for line in lines if line.event == "irq_handler_entry")
    handlers.update(line.cpu for line in lines if line.event == "hrtimer_expire_entry")
    assert sum(cpu["interrupts"] for cpu in found["cpus"]) <= sum(handlers.values())
    whole = lines[-1].time - lines[0].time + 1
    for cpu in found["cpus"]:
        parts = sum(cpu[kind] for kind in ("task", "idle", "irq", "softirq", "unknown"))
        assert parts == whole
    over = ask(capsys, "switches", str(recording), "--bins", "20")
    assert over["everything"]["whole"] == pytest.approx(1e9 * switches.total() / whole)
    load = ask(capsys, "load", str(recording), "--bins", "20")
    busy = sum(cpu["task"] + cpu["irq"] + cpu["softirq"] for cpu in found["cpus"])
    assert load["everything"]["whole"] == pytest.approx(busy / whole / len(found["cpus"]))
    actors = sum(one["whole"] for one in load["actors"])
    assert actors == pytest.approx(busy / whole)


@pytest.mark.parametrize("name", ["f100k", "vm-small", "lttng-tracefile-rotation"])
def test_what_the_decoder_adds_up_is_what_the_tables_add_up_to(name: str) -> None:
    loaded = load_trace(trace(name), cache=False)
    usage = usage_of(loaded.analysis)
    assert loaded.analysis.usage() is not None
    chosen = loaded.choose((), idle=True)
    cautions = loaded.cautions
    by_tables = replace(loaded, analysis=replace(loaded.analysis, usage=lambda: None))
    for by_name in (False, True):
        added_up = stats(loaded.analysis, chosen, usage, by_name=by_name)
        assert added_up.actors and added_up == stats(by_tables.analysis, chosen, by_name=by_name)
    assert by_tables.cautions == cautions


@pytest.mark.parametrize(
    "name", ["f100k", "vm-small", "many-threads", "lttng-tracefile-rotation", "ros2"]
)
def test_what_sums_do_not_need_is_counted_all_the_same(name: str) -> None:
    every, fewer = (load_trace(trace(name), cache=False, summed=summed) for summed in (False, True))
    for part in ("counts", "events", "span", "losses", "damage", "notes"):
        assert getattr(every.trace, part) == getattr(fewer.trace, part), part
    usages = [usage_of(loaded.analysis) for loaded in (every, fewer)]
    answers = [
        stats(loaded.analysis, loaded.choose((), idle=True), usage)
        for loaded, usage in zip((every, fewer), usages, strict=True)
    ]
    assert answers[0] == answers[1] and every.cautions == fewer.cautions
    # Tables that are asked for all the same are those of every event.
    tables = [loaded.analysis.tables["fragments"] for loaded in (every, fewer)]
    assert tables[0].to_pylist() == tables[1].to_pylist()
    # A part of the trace has no sums.
    begun = load_trace(trace(name), "+0", "+0.05", cache=False, summed=True)
    assert begun.analysis.usage() is not None and not begun.analysis.is_whole


# -- actors ----------------------------------------------------------------------------------------


def test_interrupt_handlers_from_entry_to_exit(
    recording: Path, lines: list[Line], capsys: pytest.CaptureFixture[str]
) -> None:
    began: dict[int, int] = {}
    lasted: defaultdict[int, list[int]] = defaultdict(list)
    for line in lines:
        if line.event == "irq_handler_entry":
            began[line.cpu] = line.time
        elif line.event == "irq_handler_exit" and line.cpu in began:
            lasted[int(line.fields["irq"])].append(line.time - began.pop(line.cpu))
    found = {one["actor"]: one for one in ask(capsys, "actors", str(recording), "irq:*")}
    for number, times in lasted.items():
        one = next(one for name, one in found.items() if name.endswith(f"/{number}"))
        assert one["execution"]["count"] == len(times)
        assert one["execution"]["median"] == median(times)
        assert (one["execution"]["minimum"], one["execution"]["maximum"]) == (
            min(times),
            max(times),
        )
        assert one["worst"][0]["response"] == max(times)
    assert len(lasted) >= 1


def test_time_slices_of_each_task(
    busy: Path, scheduling: list[Line], capsys: pytest.CaptureFixture[str]
) -> None:
    since: dict[int, tuple[int, int]] = {}
    slices: defaultdict[int, list[int]] = defaultdict(list)
    doubtful = {0}
    for line in (line for line in scheduling if line.event == "sched_switch"):
        previous, _, following = line.switch
        running, begin = since.get(line.cpu, (previous, None))
        if running != previous:  # a switch is missing
            doubtful |= {running, previous}
        elif begin is not None:
            slices[previous].append(line.time - begin)
        since[line.cpu] = following, line.time
    found: defaultdict[int, list[Any]] = defaultdict(list)
    for one in ask(capsys, "sched", str(busy)):
        found[int(one["actor"].rpartition("/")[2])].append(one)
    checked = 0
    for pid, times in slices.items():
        if pid in doubtful or len(found[pid]) != 1:
            continue
        ours = found[pid][0]["time_slice"]
        assert (ours["count"], ours["total"], ours["maximum"]) == (
            len(times), sum(times), max(times),
        )  # fmt: skip
        assert ours["median"] == median(times)
        checked += 1
    assert checked > 40


# -- latency ---------------------------------------------------------------------------------------


def woken_by_softirq(lines: list[Line], vector: str, pid: int) -> list[tuple[int, int]]:
    """(entry of the softirq, first run of the thread), whenever the softirq wakes the thread."""
    inside: dict[int, int | None] = {}
    entry = None
    found = []
    for line in lines:
        if line.event == "softirq_entry":
            inside[line.cpu] = line.time if f"action={vector}]" in line.rest else None
        elif line.event == "softirq_exit":
            inside[line.cpu] = None
        elif line.event == "sched_waking" and line.fields["pid"] == str(pid):
            entry = inside.get(line.cpu)
        elif line.event == "sched_switch" and line.switch[2] == pid:
            if entry is not None:
                found.append((entry, line.time))
            entry = None
    return found


def test_from_a_softirq_to_a_thread_that_it_wakes(
    busy: Path, scheduling: list[Line], capsys: pytest.CaptureFixture[str]
) -> None:
    by_hand = woken_by_softirq(scheduling, "NET_RX", 21330)
    assert len(by_hand) > 600
    words = ("--from", "softirq:NET_RX", "--to", "task:21330", "--hops", "1", "--match", "cause")
    found = ask(capsys, "latency", str(busy), *words, "--worst", "10000", "--incomplete")
    assert sorted((one["begin"], one["end"]) for one in found["worst"]) == by_hand
    times = [end - begin for begin, end in by_hand]
    assert found["total"]["median"] == median(times)
    assert found["total"]["maximum"] == max(times)
    for one in found["worst"]:
        assert sum(time for _, time in one["stages"]) == one["latency"]


def test_from_an_interrupt_by_its_softirq_to_a_thread(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--from", "irq:virtio*", "--to", "task:*", "--match", "cause")
    found = ask(capsys, "latency", str(recording), *words)
    stages = [stage["name"] for stage in found["ways"][0]["stages"]]
    assert [name.split(" ")[0].partition(":")[0] for name in stages][:3] == [
        "irq", "softirq", "softirq",
    ]  # fmt: skip
    assert sum(stage["share"] for stage in found["ways"][0]["stages"]) == pytest.approx(1)


def test_a_limit_that_is_not_kept_exits_1_and_says_so(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["trace", "latency", str(recording), "--from", "softirq:BLOCK", "--to", "task:*"]
    assert run([*words, "--assert", "p99 < 10s", "--assert", "count > 5"]) == 0
    assert "holds: p99 < 10s (it is " in capsys.readouterr().out
    assert run([*words, "--assert", "p99 < 1ns"]) == 1
    assert "FAILED: p99 < 1ns (it is " in capsys.readouterr().out
    assert run([*words, "--assert", "p99"]) == 2
    assert run([*words[:-1], "task:nobody"]) == 2


# -- block -----------------------------------------------------------------------------------------


def test_block_requests_from_issue_to_completion(
    recording: Path, lines: list[Line], capsys: pytest.CaptureFixture[str]
) -> None:
    issued: dict[str, int] = {}
    times = []
    for line in lines:
        if line.event == "block_rq_issue":
            words = line.rest.split()
            issued.setdefault(words[words.index("+") - 1], line.time)  # it may be issued again
        elif line.event == "block_rq_complete":
            words = line.rest.split()
            sector = words[words.index("+") - 1]
            if sector in issued and words[words.index("+") + 1] != "0":
                times.append(line.time - issued.pop(sector))
    found = ask(capsys, "block", str(recording))
    ours = sum(one["service"]["count"] for one in found if one["service"] and one["bytes"])
    assert ours == len(times)
    assert max(one["service"]["maximum"] for one in found if one["bytes"]) == max(times)


# -- comparison, people's tables -------------------------------------------------------------------


def test_a_trace_does_not_differ_from_itself(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trace", "compare", str(recording), str(recording), "--threshold", "0"]) == 0
    assert ": 0 changed" in capsys.readouterr().out


def test_idle_states(
    recording: Path, lines: list[Line], capsys: pytest.CaptureFixture[str]
) -> None:
    periods: dict[tuple[int, int], list[int]] = defaultdict(list)
    entered: dict[int, tuple[int, int]] = {}
    for line in lines:
        if line.event == "cpu_idle":
            cpu, state = int(line.fields["cpu_id"]), int(line.fields["state"])
            if cpu in entered:
                number, begin = entered.pop(cpu)
                periods[cpu, number].append(line.time - begin)
            if state != 0xFFFF_FFFF:
                entered[cpu] = (state, line.time)
    states = ask(capsys, "idle", str(recording))
    assert {(row["cpu"], row["state"]) for row in states} == set(periods)
    for row in states:
        lengths = periods[row["cpu"], row["state"]]
        assert row["count"] - row["incomplete"] == row["length"]["count"] == len(lengths)
        assert row["length"]["total"] == sum(lengths)
        assert row["length"]["maximum"] == max(lengths)
        assert row["length"]["median"] == median(lengths)


def test_two_different_loads_differ(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "compare", str(recording), str(trace("f1m")), "softirq:*", "irq:*")
    changed = [change["changed"] for change in found["changes"]]
    assert changed == sorted(changed, reverse=True)
    assert {rate["actor"] for rate in found["rates"]} >= {"softirq:BLOCK", "softirq:RCU"}


@pytest.mark.parametrize(
    "words",
    [
        ["stats", "--by-name"],
        ["actors", "--top", "3"],
        ["actors", "softirq:*"],
        ["actors", "softirq:RCU"],
        ["actors", "--instances", "softirq:BLOCK"],
        ["switches"],
        ["load", "--since", "+0.1", "--until", "+0.2"],
        ["critical-path"],
        ["critical-path", "task:*", "--rank", "3", "--hops", "2"],
        ["delays"],
        ["sched"],
        ["wakeups"],
        ["syscalls"],
        ["block"],
        ["timers"],
        ["idle"],
        ["counters"],
        ["counters", "sched_stat_runtime.runtime", "run-queue"],
        ["latency", "--from", "event:block_rq_issue", "--to", "event:block_rq_complete"],
    ],
    ids=" ".join,
)
def test_every_command_prints_tables(
    recording: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(["trace", words[0], str(recording), *words[1:]]) == 0
    said = capsys.readouterr().out
    assert said.strip()
    assert max(len(line) for line in said.splitlines()) <= 120


@pytest.mark.parametrize("layout", ["--csv", "--markdown"])
@pytest.mark.parametrize(
    "analysis", [analysis for analysis in ANALYSES if analysis.name != "compare"]
)
def test_every_analysis_has_csv_and_markdown(
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    analysis: TraceAnalysis[Any, Any],
    layout: str,
) -> None:
    ends = ["--from", "softirq:RCU", "--to", "task:*"] if analysis.name == "latency" else []
    if analysis.name == "flame":  # it refuses a trace without stacks
        recording = recorded("guest-graph.dat", tmp_path)
    for shape in analysis.shapes:
        if (analysis.name, shape.name) in {("actors", "metrics"), ("actors", "instances")}:
            continue  # of actors that are named
        if (analysis.name, shape.name) == ("info", "recordings"):
            continue  # of several boards
        words = ["--table", shape.name] if len(analysis.shapes) > 1 else []
        if (analysis.name, shape.name) == ("flame", "changes"):
            words.insert(0, str(recording))  # of two traces
        assert run(["trace", analysis.name, str(recording), *ends, *words, layout]) == 0
        lines = capsys.readouterr().out.splitlines()
        if layout == "--csv":
            names = [
                name for _, _, csv_names in described_columns(shape.columns) for name in csv_names
            ]
            header = lines[0].split(",")
            assert [name for name in names if name != "from_…_ns"] == header[
                : len(names) - ("from_…_ns" in names)
            ]
            assert len({len(row) for row in csv.reader(lines)}) == 1
        else:
            assert lines[0].startswith("### ") and lines[2].startswith("| ")


@pytest.mark.parametrize("span", [["--since", "soon"], ["--until", "1"], ["--since", "+1000"]])
def test_a_span_without_anything_is_refused(recording: Path, span: list[str]) -> None:
    assert run(["trace", "stats", str(recording), *span]) == 2


def test_an_lttng_trace_answers_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "actors", str(trace("vm-small")), "softirq:*")
    assert found
    assert found[0]["execution"]["count"] > 0
