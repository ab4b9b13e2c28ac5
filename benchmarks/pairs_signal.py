"""Opening a large capture beside sigrok-cli: samples a second of the whole process, in turn.

The capture has half a thousand million samples of two lines, a stimulus and an answer every
millisecond, as a session that libsigrok could have written. sigrok-cli reads it and writes the
samples to nowhere; ours gives the edges of each line. What sigrok-cli has not, its response times
and what a timeline asks while it is panned and zoomed, stands in a table of its own.
"""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.pairs import BUILD, Pair
from benchmarks.sheets import Sheet

SAMPLES = 500_000_000
_NAME = "half-a-thousand-million.sr"
_RATE = 24_000_000
_BLOCK = 4_000_000
_GOALS = (3.0, 2.0, 0.008)
_WIDTH = 2000
_QUESTIONS = 400

_METADATA = (
    "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes=8\n"
    f"samplerate={_RATE // 1_000_000} MHz\nprobe1=IN\nprobe2=OUT\nunitsize=1\n"
)
_PROGRAM = """
import sys, time
from pathlib import Path
from benchvise.signal.reading import open_capture
from benchvise.signal.response import Edge, responses
begin = time.monotonic()
capture = open_capture(Path(sys.argv[1]))
opened = time.monotonic()
found = responses(capture, Edge("IN"), Edge("OUT"))
print(opened - begin, time.monotonic() - opened)
"""
# The capture's own lines, and one that changes as often as a capture may: 100 million times.
_ZOOMED = f"""
import numpy as np
from benchvise.signal.capture import SignalLine
from benchvise.signal.levels import items
random = np.random.default_rng(1)
dense = SignalLine("dense", False, np.arange(1, 100_000_001, dtype=np.int64) * 5)
for lines in (capture.lines[:2], (dense,)):
    took = []
    for _ in range({_QUESTIONS}):
        length = 10.0 ** random.uniform(1.0, np.log10(capture.ticks))
        at = random.uniform(0.0, capture.ticks - length)
        begin = time.perf_counter()
        found = [items(line, capture.ticks, at, at + length, {_WIDTH}) for line in lines]
        took.append(time.perf_counter() - begin)
        assert all(one.begin.size <= {_WIDTH} + 1 for one in found)
    print(np.percentile(took, 99))
"""


def capture() -> Path:
    """The capture, made once."""
    path = BUILD / _NAME
    if path.exists():
        return path
    BUILD.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    made = path.with_suffix(".part")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("version", "2")
        archive.writestr("metadata", _METADATA)
        for number in range(SAMPLES // _BLOCK):
            block = np.zeros(_BLOCK, dtype=np.uint8)
            for begin in range(0, _BLOCK, _RATE // 1000):
                block[begin : begin + _RATE // 2000] |= 1
                answer = begin + int(random.integers(200, 400))
                block[answer : answer + 5000] |= 2
            archive.writestr(f"logic-1-{number + 1}", block.tobytes())
    made.rename(path)
    return path


def _times(program: str) -> tuple[float, ...]:
    words = [sys.executable, "-c", program, str(capture())]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return tuple(map(float, said))


def pairs() -> tuple[list[Pair], list[str]]:
    """One pair, where sigrok-cli is; and what is left out."""
    if shutil.which("sigrok-cli") is None:
        return [], ["sigrok-cli: not installed"]
    path = str(BUILD / _NAME)
    one = Pair(
        "signal open 500 M samples : sigrok-cli",
        (sys.executable, "-c", _PROGRAM, path),
        ("sigrok-cli", "-i", path, "-O", "binary", "-o", "/dev/null"),
        bounds=(0.5, math.inf),
        work=SAMPLES,
        warm=lambda: SAMPLES / _times(_PROGRAM)[0],
        unit="samples/s",
        rounds=6,
        scene=_captured,
    )
    return [one], []


@contextmanager
def _captured() -> Iterator[None]:
    capture()
    yield


def table(rounds: int = 3) -> Sheet:
    """Seconds for opening, for all response times, and for what one screen of a timeline asks (99
    of 100 questions take less), beside the goals."""
    runs = [_times(_PROGRAM + _ZOOMED) for _ in range(rounds)]
    sheet = Sheet(f"A capture of 500 million samples, {rounds} rounds, medians", name="capture")
    goals = (*_GOALS, _GOALS[-1])
    whats = ("open", "response times", "a screen of its lines, p99", "of 100 M edges, p99")
    for place, (what, most) in enumerate(zip(whats, goals, strict=True)):
        seconds = statistics.median(times[place] for times in runs)
        sheet.add_goal(what, f"{seconds:.4f} s", f"≤ {most:g} s", seconds <= most)
    return sheet
