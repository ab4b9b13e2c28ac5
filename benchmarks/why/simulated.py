"""Running a scenario: a diagnosis on the simulated bench, and what is left of it afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.why.bench import SimBench, open_boards
from benchmarks.why.board import SimBoard, SimFiles
from benchmarks.why.scenario import Scenario
from benchmarks.why.score import Result, score
from benchvise.documents import encode
from benchvise.state import journal
from benchvise.state.restore import RestoreContact, restore
from benchvise.why.bench import Bench
from benchvise.why.model import Diagnosis, Side

Diagnose = Callable[[Bench, Path, int, bool], Diagnosis]
"""Makes a diagnosis, with its log in that directory, by that seed; anew or going on."""

_MEMORY = Path("/dev/shm")  # noqa: S108 - journals are synced to the disk, and these need none


@contextmanager
def _workplace() -> Iterator[Path]:
    """A directory for journals and logs, in memory where that is possible."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    before = os.environ.get(journal.DIRECTORY_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="benchvise-why-", dir=place) as name:
        os.environ[journal.DIRECTORY_VARIABLE] = str(Path(name) / "state")
        try:
            yield Path(name)
        finally:
            if before is None:
                del os.environ[journal.DIRECTORY_VARIABLE]
            else:
                os.environ[journal.DIRECTORY_VARIABLE] = before


def run(scenario: Scenario, diagnose: Diagnose, keep: Path | None = None) -> Result:
    """One scenario's score. With ``keep`` its evidence is left in that directory."""
    begin = time.monotonic()
    with _workplace() as place:
        log = keep or place / "log"
        log.mkdir(parents=True, exist_ok=True)
        lives = _lives_in_child if scenario.is_killed else _lives_here
        diagnosis, error, boards = lives(scenario, diagnose, place, log)
        if keep is not None and diagnosis is not None:
            (keep / "diagnosis.json").write_text(json.dumps(encode(diagnosis), indent=1))
        still_set = bool(_left(boards))
        _restore(boards)
        return score(
            scenario,
            diagnosis,
            error=error,
            left=_left(boards),
            still_set=still_set,
            seconds=time.monotonic() - begin,
        )


Lived = tuple[Diagnosis | None, str, Mapping[Side, SimBoard]]


def _lives_here(scenario: Scenario, diagnose: Diagnose, _place: Path, log: Path) -> Lived:
    boards = open_boards(scenario)
    diagnosis, error = _diagnosed(SimBench(scenario, boards), diagnose, log, scenario.seed, False)
    return diagnosis, error, boards


def _lives_in_child(scenario: Scenario, diagnose: Diagnose, place: Path, log: Path) -> Lived:
    """A process that may be ended at any moment, and where it was killed another one that first
    puts everything back and then goes on."""
    answer = place / "answer"
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            signal.signal(signal.SIGINT, signal.default_int_handler)
            boards = open_boards(scenario, place)
            bench = SimBench(scenario, boards)
            found = _diagnosed(bench, diagnose, log, scenario.seed, False)
            answer.write_bytes(pickle.dumps(found))
            code = 0
        os._exit(code)
    _, status = os.waitpid(child, 0)
    boards = open_boards(scenario, place)
    if os.WIFEXITED(status) and answer.exists():
        diagnosis, error = pickle.loads(answer.read_bytes())  # noqa: S301 - our own child's
        return diagnosis, error, boards
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
        return None, f"the process ended with status {status}", boards
    _restore(boards)
    left = _left(boards)
    if left:
        return None, f"not restored after a kill: {left}", boards
    bench = SimBench(scenario, boards, life=1)
    diagnosis, error = _diagnosed(bench, diagnose, log, scenario.seed, True)
    return diagnosis, error, boards


def _diagnosed(
    bench: SimBench, diagnose: Diagnose, log: Path, seed: int, resumed: bool
) -> tuple[Diagnosis | None, str]:
    try:
        return diagnose(bench, log, seed, resumed), ""
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - each is a miss to be shown
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = Path(where.filename).name
        return None, f"{type(error).__name__}: {error} ({name}:{where.lineno})"
    finally:
        bench.close()


def _left(boards: Mapping[Side, SimBoard]) -> dict[str, str]:
    """The files that are not as they were at the start, and what is in them."""
    return {
        f"{side}:{path}": board.files.get(path, "")
        for side, board in boards.items()
        for path in board.files.keys() | board.at_boot.keys()
        if board.files.get(path) != board.at_boot.get(path)
    }


def _restore(boards: Mapping[Side, SimBoard]) -> None:
    """What a user is told to do: ``benchvise restore``."""
    by_name = {board.name: board for board in boards.values()}

    @contextmanager
    def reach(name: str) -> Iterator[RestoreContact]:
        yield RestoreContact(SimFiles(by_name[name]))

    for _ in restore(None, reach=reach):
        pass
