"""What is left when Ctrl-C ends a run of a whole lab: processes, places, and samples lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fleet.census import processes_marked, processes_naming
from benchmarks.fleet.field import Field, board_mark, lab
from benchvise.store import Store

_GIVEN_UP_SECONDS = 300.0

_HEAD = (
    "| boards | interrupted after (s) | until it ended (s) | exit code | complete | interrupted "
    "| not begun | samples before | kept | processes: before | left | on boards: before | left "
    "| places: before | left | load |"
)


def interruption_table(sizes: Sequence[int], words: Sequence[str], after_s: float) -> None:
    """Prints a row for each size of the lab, of ``run rig:all`` with ``words`` that gets SIGINT
    after so many seconds. Ends with 1 where anything is left or lost."""
    print(_HEAD)
    print("|" + "---:|" * 16)
    clean = True
    for boards in sizes:
        with (
            tempfile.TemporaryDirectory(prefix="benchvise-fleet-") as place,
            lab(Path(place), boards) as field,
        ):
            row, is_clean = _interrupted(field, words, after_s)
            print(row, flush=True)
            clean = clean and is_clean
    if not clean:
        raise SystemExit(1)


def _interrupted(field: Field, words: Sequence[str], after_s: float) -> tuple[str, bool]:
    command = [sys.executable, "-m", "benchvise", "run", "rig:all", *words]
    log = Path(f"build/fleet-interrupted-{len(field.boards)}.log")
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as said:
        # As a terminal does it: Ctrl-C goes to the whole group.
        child = subprocess.Popen(
            command, env=field.environment(), stdout=said, stderr=said, start_new_session=True
        )
        time.sleep(after_s)
        before, held_before = _samples(field), _held(field)
        begun = time.monotonic()
        os.killpg(child.pid, signal.SIGINT)
        try:
            code = child.wait(_GIVEN_UP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
    seconds = time.monotonic() - begun
    time.sleep(1)  # a session of sshd ends after its client
    held = _held(field)
    after = _samples(field)
    with Store.open(str(field.directory / "results.db")) as store:
        statuses = Counter(str(run.status) for run in store.runs(limit=None))
    lost = sum(max(0, count - after.get(run, 0)) for run, count in before.items())
    others = set(statuses) - {"complete", "interrupted"}
    cells = (
        *(len(field.boards), f"{after_s:g}", f"{seconds:.1f}", code),
        *(statuses["complete"], statuses["interrupted"]),
        len(field.boards) - sum(statuses.values()),
        *(sum(before.values()), sum(after.values())),
        *(number for pair in zip(held_before, held, strict=True) for number in pair),
        f"{os.getloadavg()[0]:.1f}",
    )
    is_clean = all(held_before) and not (any(held) or lost or others)
    return f"| {' | '.join(map(str, cells))} |", is_clean


def _held(field: Field) -> tuple[int, int, int]:
    """Processes of the run on this host and on its boards, and places that it has."""
    on_boards = processes_marked(board_mark(field.directory))
    return len(processes_naming(field.client_config)), len(on_boards), len(field.taken())


def _samples(field: Field) -> dict[str, int]:
    """How many samples the store has of each run."""
    with Store.open(str(field.directory / "results.db")) as store:
        return {run.id: run.samples for run in store.runs(limit=None)}
