"""ftrace's text as a source, against the binary recording of the same events."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import skips
from trace_data import recorded, trace

from benchvise.trace.loaded import LoadedTrace, load_trace

skips.need_decoder()

SCHEDULING = ("instances", "fragments", "waits")


def _compared(binary: LoadedTrace, text: LoadedTrace, *, unit: int = 1) -> None:
    """Events, fields and analyses are the same; times are cut or rounded to ``unit`` ns."""
    assert text.trace.counts == binary.trace.counts
    compared = 0
    for name in binary.trace.counts:
        ours, theirs = text.trace.tables[name], binary.trace.tables[name]
        assert all(
            abs(a - b) < unit
            for a, b in zip(ours["time"].to_pylist(), theirs["time"].to_pylist(), strict=True)
        ), name
        for column in set(ours.column_names) & set(theirs.column_names) - {"time"}:
            if ours[column].type == "string" and theirs[column].type != "string":
                continue  # a function's name, or a flag's
            if column in UNWRITTEN.get(name, ()):
                continue
            assert [_same(v) for v in ours[column].to_pylist()] == [
                _same(v) for v in theirs[column].to_pylist()
            ], (name, column)
            compared += len(ours)
    assert compared > 5 * binary.trace.events
    names = [
        sorted((actor.kind, actor.label) for actor in loaded.analysis.actors)
        for loaded in (binary, text)
    ]
    assert names[0] == names[1]
    for table in SCHEDULING if unit == 1 else ():
        ours, theirs = text.trace.analysis[table], binary.trace.analysis[table]
        for column in ("begin", "end", "execution", "cause", "flags", "state", "why", "ready"):
            if column in ours.column_names:
                assert ours[column].to_pylist() == theirs[column].to_pylist(), (table, column)


UNWRITTEN = {"print": ("buf",)}
"""Without the line break that ends it."""


def _same(value: object) -> object:
    """As 64 bits without a sign: a text does not tell how wide a number was."""
    if isinstance(value, int):
        return value & (1 << 64) - 1 if value >= 0 or value < -(1 << 31) else value & (1 << 32) - 1
    return value


def test_what_the_kernel_writes_is_what_it_recorded(tmp_path: Path) -> None:
    binary = load_trace(recorded("guest-events.dat", tmp_path), use_cache=False)
    text = load_trace(recorded("guest-events.txt", tmp_path), use_cache=False)
    assert text.trace.outline["format"] == "ftrace text"
    _compared(binary, text, unit=1000)


@pytest.mark.parametrize("options", [["-N"], []], ids=["kernel's formats", "plugins"])
def test_what_trace_cmd_reports_gives_the_same_analysis(options: list[str], tmp_path: Path) -> None:
    skips.needs("trace-cmd")
    path = trace("f100k")
    report = tmp_path / "report.txt"
    with report.open("wb") as file:
        subprocess.run(["trace-cmd", "report", "-t", *options, path], stdout=file, check=True)
    binary, text = (load_trace(file, use_cache=False) for file in (path, report))
    assert text.trace.counts == binary.trace.counts
    switches = [loaded.trace.tables["sched_switch"] for loaded in (binary, text)]
    for column in ("time", "cpu", "prev_comm", "prev_pid", "next_comm", "next_pid", "next_prio"):
        assert switches[0][column].to_pylist() == switches[1][column].to_pylist(), column
    # Who ran when: without the context of events that only the binary has, timers stay in threads.
    assert _threads_ran(binary) == _threads_ran(text)


def _threads_ran(loaded: LoadedTrace) -> set[tuple[int | None, int, int]]:
    """Thread, begin and end of each span on a CPU."""
    fragments = loaded.analysis.fragments
    tids = [actor.tid if actor.kind == "task" else None for actor in loaded.analysis.actors]
    rows = zip(fragments["actor"], fragments["begin"], fragments["end"], strict=True)
    return {
        (tids[actor], int(begin), int(end)) for actor, begin, end in rows if tids[actor] is not None
    }


SYSTRACE = """<!DOCTYPE HTML>
<html><body><script class="trace-data" type="application/text">
# tracer: nop
#
# entries-in-buffer/entries-written: 4/9   #P:2
          <idle>-0     (-----) [001] d..2   58.000001: sched_switch: prev_comm=swapper/1 \
prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=Binder [x] next_pid=914 next_prio=98
      Binder [x]-914   (  777) [001] ...1   58.000003: tracing_mark_write: B|777|draw: a=b
CPU:1 [LOST 12 EVENTS]
      Binder [x]-914   (  777) [001] ...1   58.000009: tracing_mark_write: E
      Binder [x]-914   (  777) [001] d..2   58.000010: sched_switch: prev_comm=Binder [x] \
prev_pid=914 prev_prio=98 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
  </script></body></html>
"""


@pytest.mark.parametrize("legacy", [False, True])
def test_androids_systrace_opens(legacy: bool, tmp_path: Path) -> None:
    path = tmp_path / "trace.html"
    body = SYSTRACE.replace("\n", "\\n\\\n") if legacy else SYSTRACE
    path.write_text(body)
    loaded = load_trace(path, use_cache=False)
    assert loaded.trace.counts == {"sched_switch": 2, "print": 2}
    assert loaded.trace.tables["print"]["buf"].to_pylist() == ["B|777|draw: a=b", "E"]
    [loss] = loaded.trace.losses
    assert (loss["count"], loss["begin"], loss["end"]) == (12, 58_000_003_000, 58_000_009_000)
    assert any("5 events were overwritten" in note for note in loaded.trace.notes)
    [binder] = [actor for actor in loaded.analysis.actors if actor.tid == 914]
    assert (binder.name, binder.priority) == ("Binder [x]", 98)


def test_a_text_of_something_else_is_no_trace(tmp_path: Path) -> None:
    from benchvise.errors import UsageError

    path = tmp_path / "x.txt"
    path.write_text("a-1 [000] no stamp: here\n" * 1000)
    with pytest.raises(UsageError, match="ftrace's text"):
        load_trace(path)
