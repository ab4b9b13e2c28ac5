"""Recording on a machine of its own, with a distribution's kernel and nothing mounted."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import skips
from guest_machine import missing, run_guest
from probe_programs import ROOT
from trace_boards import reported

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


def test_a_kernel_whose_trace_files_nobody_has_mounted(static: Path, tmp_path: Path) -> None:
    files = {name: PROBES / name for name in ("bvprobe", "bvio")}
    assert static.exists()
    said, _, encoded = run_guest(tmp_path, SCRIPT, files, timeout=300).partition("trace:\n")
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
