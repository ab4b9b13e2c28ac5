"""ftrace's text as a source."""

from __future__ import annotations

from pathlib import Path

import pytest
import skips

from benchvise.trace.loaded import load_trace

skips.need_decoder()

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
    loaded = load_trace(path, cache=False)
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
