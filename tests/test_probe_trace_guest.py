"""Recording on a machine of its own, with a distribution's kernel and nothing mounted."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import skips
from guest_machine import missing, run_guest
from probe_programs import ROOT
from trace_boards import reported

from benchvise.trace.analysis.functions import function_calls
from benchvise.trace.loaded import load_trace

pytest_plugins = ["probe_fixtures"]
pytestmark = skips.unless_missing(missing())

PROBES = ROOT / "src" / "benchvise" / "board" / "probes" / "x86_64"
SCRIPT = """
mkdir -p /tmp
echo "$(ls /sys/kernel/tracing | wc -l) files before"
load='dd if=/dev/zero of=/tmp/x bs=1M count=20; sleep 1'
/bvprobe trace --output /tmp/t.dat --kallsyms off --progress_ms 0 -- sh -c "$load"
echo "exit $?"
echo "$(ls /sys/kernel/tracing | wc -l) files after"
chmod 755 /bvprobe /bvio
su somebody -c '/bvprobe trace --for_ms 10'
echo "exit $?"
echo "trace:"
base64 /tmp/t.dat
"""


FUNCTIONS = """
/bvprobe trace --functions 'vfs_read,vfs_wri*' --events sched/sched_switch --kallsyms off \
  --progress_ms 0 --output /tmp/flat.dat -- cat /proc/meminfo
echo "exit $?"
/bvprobe trace --functions vfs_read --graph on --depth 2 --events sched/sched_switch \
  --kallsyms off --progress_ms 0 --output /tmp/graph.dat -- cat /proc/meminfo
echo "exit $?"
/bvprobe trace --functions no_such_function_* --graph on --for_ms 10 --output /tmp/none.dat
echo "exit $?"
mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing
echo "left: $(cat current_tracer) $(cat max_graph_depth) $(cat tracing_on) $(ls instances)"
echo "left: $(grep -c '^#### all' set_graph_function) $(grep -c '^#### all' set_ftrace_filter)"
echo "tracer: $(echo function > current_tracer; cat current_tracer)"
/bvprobe trace --functions vfs_read --graph on --for_ms 10 --output /tmp/none.dat
echo "still: $(cat current_tracer)"
/bvprobe trace --tracer timerlat --for_ms 10 --output /tmp/none.dat
grep -E ' (vfs_read|vfs_write)$' /proc/kallsyms
echo "trace:"
base64 /tmp/flat.dat
echo "trace:"
base64 /tmp/graph.dat
"""


@pytest.fixture(scope="module")
def written(static: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What both scripts write, on one machine."""
    assert static.exists()
    files = {name: PROBES / name for name in ("bvprobe", "bvio")}
    script = f"{SCRIPT}\necho functions:\n{FUNCTIONS}"
    text = run_guest(tmp_path_factory.mktemp("guest"), script, files, timeout=400)
    first, _, second = text.partition("functions:\n")
    return first, second


def test_a_kernel_whose_trace_files_nobody_has_mounted(
    written: tuple[str, str], tmp_path: Path
) -> None:
    said, _, encoded = written[0].partition("trace:\n")
    lines = said.splitlines()
    assert "0 files before" in lines
    assert "0 files after" in lines
    found = {line["type"]: line for text in lines if text[:1] == "{" for line in [json.loads(text)]}
    assert found["recording"]["clock"] == "mono"
    assert found["recorded"]["ended"] == "command"
    assert found["recorded"]["command"] == 0
    assert found["recorded"]["lost"] == 0
    assert found["error"]["exit"] == 77
    assert "root" in found["error"]["message"]
    out = tmp_path / "t.dat"
    out.write_bytes(base64.b64decode(encoded))
    assert reported(out) == found["recorded"]["events"] > 0


def test_functions_are_recorded_and_the_tracer_is_restored(
    written: tuple[str, str], tmp_path: Path
) -> None:
    skips.need_decoder()
    said, *encoded = written[1].split("trace:\n")
    lines = said.splitlines()
    exits = [line for line in lines if line.startswith("exit ")]
    assert exits == ["exit 0", "exit 0", "exit 77"], said
    assert "left: nop 0 1 " in lines
    assert "left: 1 1" in lines
    # Who traces functions already is left alone.
    assert "still: function" in lines
    errors = [json.loads(line)["message"] for line in lines if '"type":"error"' in line]
    assert "no_such_function_" in errors[0]
    assert "the tracer function is at work" in errors[1]
    assert "this kernel has no tracer timerlat" in errors[2]
    addresses = {line.split()[2]: int(line.split()[0], 16) for line in lines if " vfs_" in line}
    flat, graph = tmp_path / "flat.dat", tmp_path / "graph.dat"
    for path, text in zip((flat, graph), encoded, strict=True):
        path.write_bytes(base64.b64decode(text))
    called = load_trace(flat, cache=False).trace.tables["function"]["ip"].to_pylist()
    near = {name for name, at in addresses.items() if any(0 <= ip - at < 64 for ip in called)}
    assert near == {"vfs_read", "vfs_write"}
    loaded = load_trace(graph, cache=False)
    assert loaded.trace.counts["sched_switch"] > 0
    calls = function_calls(loaded.analysis)
    assert calls is not None
    assert calls.complete.sum() > 5
    assert set(calls.depth.tolist()) == {0, 1}
    outer = [int(at) & (1 << 64) - 1 for at in calls.function[calls.depth == 0]]
    assert all(0 <= at - addresses["vfs_read"] < 64 for at in outer)
