"""How long commands take to start, in units of ``python -c pass``: medians of ten, in turn.

    python benchmarks/startup.py [ROUNDS]

prints a line for each command: its median, its ratio, and the ratio that it is held to. Each round
runs every command once, so that what else the machine does falls on all of them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "build" / "traces" / "f100k.dat"
BASELINE = "python -c pass"

BENCHVISE = (sys.executable, "-m", "benchvise")


def commands(store: Path) -> dict[str, tuple[tuple[str, ...], int | None]]:
    """What is run, and how often ``python -c pass`` it may take."""
    found: dict[str, tuple[tuple[str, ...], int | None]] = {
        BASELINE: ((sys.executable, "-c", "pass"), None),
        "import typer, rich": ((sys.executable, "-c", "import typer, rich"), None),
        "benchvise --help": ((*BENCHVISE, "--help"), 15),
        "benchvise runs": ((*BENCHVISE, "runs", "--store", str(store)), 40),
    }
    if TRACE.exists():
        keep = (*BENCHVISE, "trace", "stats", str(TRACE))  # decodes it, and keeps that
        subprocess.run(keep, check=True, capture_output=True)
        found["benchvise trace info"] = ((*BENCHVISE, "trace", "info", str(TRACE)), 25)
    return found


def make_store(path: Path) -> None:
    """A store with three runs."""
    sys.path.insert(0, str(ROOT / "tests"))
    from report_runs import demonstration_run
    from web_store import keep_run

    for number in range(3):
        keep_run(str(path), demonstration_run(), label=f"run {number}")


def main(rounds: int) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as directory:
        store = Path(directory) / "results.db"
        make_store(store)
        timed = commands(store)
        seconds: dict[str, list[float]] = {name: [] for name in timed}
        for number in range(rounds + 1):
            for name, (argv, _) in timed.items():
                begin = time.perf_counter()
                subprocess.run(argv, check=True, capture_output=True, env=os.environ)
                if number:  # the first round fills caches
                    seconds[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, (_, limit) in timed.items():
        ratio = medians[name] / medians[BASELINE]
        held = "" if limit is None else f"  at most {limit}: {'ok' if ratio <= limit else 'MISSED'}"
        print(f"{name:24} {medians[name] * 1e3:7.0f} ms {ratio:6.1f}{held}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
