"""Live captures: sigrok's own demo analyser, by itself and as that of a board in a rig."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import skips
from waiting import PATIENCE

pytestmark = skips.needs("sigrok-cli")

RIG = """
targets:
  one:
    resources:
    - SigrokDevice: {driver: demo, channels: "D0=IN,D1=OUT"}
    - NetworkPowerPort: {model: simplerest, host: "http://127.0.0.1:1/{index}", index: 1}
    - RawSerialPort: {port: /dev/null}
    drivers:
    - NetworkPowerDriver: {}
    - SerialDriver: {}
    - CardStrategy: {}
  bare:
    resources:
    - NetworkPowerPort: {model: simplerest, host: "http://127.0.0.1:1/{index}", index: 2}
    - RawSerialPort: {port: /dev/null}
    drivers:
    - NetworkPowerDriver: {}
    - SerialDriver: {}
    - CardStrategy: {}
imports:
- benchvise.rig.drivers
"""
DEMO = ("--driver", "demo", "--channels", "D0=IN,D1=OUT", "--rate", "1M")


def words(*more: str) -> list[str]:
    return [sys.executable, "-m", "benchvise", "signal", *more]


def record(output: Path, *more: str, code: int = 0) -> Any:
    argv = words("capture", "-o", str(output), "--json", *more)
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)["data"]


def test_a_time_is_recorded(tmp_path: Path) -> None:
    found = record(tmp_path / "a.sr", *DEMO, "--for", "0.2")
    assert [line["name"] for line in found["lines"]] == ["IN", "OUT"]
    assert found["rate"] == 1e6
    assert found["seconds"] == pytest.approx(0.2)
    assert all(line["edges"] > 1000 for line in found["lines"])


def test_samples_are_counted(tmp_path: Path) -> None:
    assert record(tmp_path / "a.sr", *DEMO, "--samples", "50000")["seconds"] == pytest.approx(0.05)


def test_it_lasts_as_long_as_a_command(tmp_path: Path) -> None:
    found = record(tmp_path / "a.sr", *DEMO, "--", "sleep", "0.5")
    assert found["exit_code"] == 0
    # The demo device falls behind by some of its packets.
    assert found["seconds"] > 0.3


def test_a_command_that_fails_is_told_and_the_capture_kept(tmp_path: Path) -> None:
    assert record(tmp_path / "a.sr", *DEMO, "--", "false", code=1)["exit_code"] == 1
    assert (tmp_path / "a.sr").exists()


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    output = tmp_path / "a.sr"
    argv = words("capture", "-o", str(output), *DEMO, "--for", "600")
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while not list(tmp_path.glob(".a.sr.*.part")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 4
    finally:
        process.kill()
        process.wait()
    done = subprocess.run(words("info", str(output)), capture_output=True, check=False)
    assert done.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.sr"]


def test_the_analyser_of_a_board(tmp_path: Path) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(RIG)
    given = ("--rig", str(rig), "--rate", "1M", "--for", "0.1")
    found = record(tmp_path / "a.sr", "--board", "rig:one", *given)
    assert [line["name"] for line in found["lines"]] == ["IN", "OUT"]
    refused = record(tmp_path / "b.sr", "--board", "rig:bare", *given, code=3)
    assert "bare has no logic analyser" in refused["message"]


@pytest.mark.parametrize(
    ("more", "code", "named"),
    [
        (("--driver", "nosuch", "--for", "1"), 1, "nosuch"),
        (("--driver", "demo:x y", "--for", "1"), 2, "is no analyser"),
        (("--driver", "demo", "--channels", "D0;reboot", "--for", "1"), 2, "are no channels"),
        (("--driver", "demo", "--trigger", "D0", "--for", "1"), 2, "is no trigger"),
        (("--driver", "demo", "--channels", "D99", "--for", "1"), 1, "D99"),
        (("--driver", "demo"), 2, "for how long"),
        (("--for", "1"), 2, "which analyser"),
    ],
)
def test_what_cannot_be_recorded(
    tmp_path: Path, more: tuple[str, ...], code: int, named: str
) -> None:
    assert named in record(tmp_path / "a.sr", *more, code=code)["message"]
    assert list(tmp_path.iterdir()) == []
