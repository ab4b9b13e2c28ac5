"""The decoder as a wheel of its own: without anything else, it reads a trace."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "tests" / "data" / "traces" / "small.dat"

PROGRAM = """if True:
    import sys
    sys.path.insert(0, sys.argv[1])
    for absent in ("benchvise", "duckdb", "msgspec", "numpy", "pyarrow"):
        sys.modules[absent] = None
    import tracefile
    trace = tracefile.open(sys.argv[2])
    table = trace.decode({"sched_switch": None}).table("sched_switch")
    assert hasattr(table, "__arrow_c_stream__")
    print(table.num_rows, trace.count().counts["sched_switch"])
    try:
        tracefile.open(__import__("os").devnull)
    except tracefile.TraceError as error:
        print(type(error).__name__)
"""


def test_it_needs_nothing(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT / "crates/tracefile-py", check=True, capture_output=True)
    (wheel,) = tmp_path.glob("benchvise_tracefile-*-cp311-abi3-*.whl")
    with zipfile.ZipFile(wheel) as content:
        (metadata,) = (name for name in content.namelist() if name.endswith("/METADATA"))
        requirements = [
            line.partition(":")[2].strip()
            for line in content.read(metadata).decode().splitlines()
            if line.startswith("Requires-Dist")
        ]
        content.extractall(tmp_path / "unpacked")
        types = content.read("tracefile/native.pyi").decode()
        assert "tracefile/py.typed" in content.namelist()
    assert requirements == []
    assert "class Decoded" in types
    assert not re.search(r"^(from|import) benchvise", types, re.M)

    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "unpacked"), str(SMALL)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout.split() == ["494", "494", "NotATrace"], done.stderr
