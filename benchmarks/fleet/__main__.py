"""Prints a row for each size of the lab: time beside the boards' CPU time, memory, losses."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.fleet.census import Census, cpu_seconds
from benchmarks.fleet.field import Faults, Field, lab
from benchmarks.fleet.interruption import interruption_table
from benchmarks.fleet.status import status_table
from benchvise.store import Store

SERIES = ("os.syscall", "memory.latency:size=32K", "os.context_switch")
PROCESSES, BATCHES = 3, 10

_HEAD = (
    "| boards | die | status (s) | measured | time (s) | CPU of the boards / cores (s) "
    "| times that | CPU of the runner (s) | processes | RSS (MiB) | PSS (MiB) | samples lost "
    "| places left |"
)


def main() -> None:
    """``python -m benchmarks.fleet [N …] [--status] [--dying N] [--hanging N] [--full N] …``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet")
    parser.add_argument("boards", type=int, nargs="*")
    parser.add_argument("--dying", type=int, default=0, help="boards whose sshd is killed")
    parser.add_argument("--hanging", type=int, default=0, help="boards whose shell hangs")
    parser.add_argument("--full", type=int, default=0, help="boards whose disk is full")
    parser.add_argument("--after", type=float, default=5.0, help="seconds until they die")
    parser.add_argument(
        "--restart", type=float, help="restart the coordinator and its exporters after so many s"
    )
    parser.add_argument(
        "--interrupt", type=float, help="Ctrl-C after so many seconds; prints what is left then"
    )
    parser.add_argument("--parallel", default="auto")
    parser.add_argument("--status", action="store_true", help="`rig status` alone, five times")
    options = parser.parse_args()
    if options.status:
        status_table(options.boards or [1, 10, 50, 200])
        return
    if options.interrupt:
        words = [*_words(), "--parallel", options.parallel]
        interruption_table(options.boards or [200], words, options.interrupt)
        return
    print(_HEAD)
    print("|" + "---:|" * 13)
    faults = Faults(options.dying, options.hanging, options.full)
    for boards in options.boards or [1, 10, 50, 200]:
        with (
            tempfile.TemporaryDirectory(prefix="benchvise-fleet-") as place,
            lab(Path(place), boards, faults) as field,
        ):
            print(_row(field, options), flush=True)


def _row(field: Field, options: argparse.Namespace) -> str:
    command = [
        *(sys.executable, "-m", "benchvise", "run", "rig:all", *_words()),
        *("--parallel", options.parallel),
    ]
    begun = time.monotonic()
    status = [sys.executable, "-m", "benchvise", "rig", "status", "--json"]
    subprocess.run(status, env=field.environment(), check=True, stdout=subprocess.DEVNULL)
    status_s = time.monotonic() - begun
    servers = (field.healthy, field.hanging)
    before = sum(cpu_seconds(server.process.pid) for server in servers)
    begun = time.monotonic()
    log = Path(f"build/fleet-{len(field.boards)}.log")
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as said:
        child = subprocess.Popen(command, env=field.environment(), stdout=said, stderr=said)
        with Census(child.pid, field.client_config) as census:
            if options.dying:
                time.sleep(options.after)
                field.dying.kill()
            if options.restart:
                time.sleep(options.restart)
                field.restart_daemons()
            _, _, usage = os.wait4(child.pid, 0)
    taken = time.monotonic() - begun
    # The servers know the time of the sessions that they have seen end.
    time.sleep(1)
    work = sum(cpu_seconds(server.process.pid) for server in servers) - before
    ideal = work / (os.cpu_count() or 1)
    measured, lost = _samples(field)
    most = census.most
    cells = (
        *(
            len(field.boards),
            options.dying + options.hanging + options.full,
            f"{status_s:.1f}",
            measured,
        ),
        *(f"{taken:.1f}", f"{ideal:.1f}", f"{taken / ideal:.2f}"),
        *(f"{usage.ru_utime + usage.ru_stime:.1f}", most.processes),
        *(f"{most.rss:.0f}", f"{most.pss:.0f}", lost, len(field.taken())),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _words() -> list[str]:
    """What is measured of each board."""
    series = [word for name in SERIES for word in ("--bench", name)]
    return [*series, "--processes", str(PROCESSES), "--batches", str(BATCHES)]


def _samples(field: Field) -> tuple[int, int]:
    """Runs that are complete, and the samples that they should have and have not."""
    complete = lost = 0
    with Store.open(str(field.directory / "results.db")) as store:
        for run in store.runs(limit=None):
            if run.status != "complete":
                continue
            complete += 1
            lost += len(SERIES) * PROCESSES * BATCHES - run.samples
    return complete, lost


if __name__ == "__main__":
    main()
