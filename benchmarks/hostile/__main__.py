"""``python -m benchmarks.hostile``: all of it; ends with 1 where something must not have been.

The workbench is ``benchvise serve`` as users start it. Its memory and that of all its processes is
looked at ten times a second.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from rich.console import Console

from benchmarks.hostile import commands, seeds
from benchmarks.hostile.damage import damaged
from benchmarks.hostile.outcomes import Answer, Outcome, Outcomes
from benchmarks.hostile.queries import queries
from benchmarks.hostile.workbench import Workbench
from benchvise.confinement import share_of_memory
from benchvise.web.file_index import FRESH_SECONDS, key_of

_AT_ONCE = 3
"""Requests: one less than queries may run, so that none is told to try again."""
_BATCH = 100
"""Files that lie there at once."""
_OF_TRACES = ("info", "rows", "overview?width=50", "actors", "log", "tables", "load", "flame")
_OF_CAPTURES = ("", "?decode=serial", "?decode=infrared", "?from=A:rising&to=B:falling")
_MOST_OF_ALL, _MOST_OF_ONE = 0.9, 0.4
"""Of the machine's memory: what all processes together may have, and one."""
_CUT_SHARE = 0.2
"""Of the files of the workbench, those that are cut while they are read."""


def main() -> int:
    """Runs what is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000, metavar="N")
    parser.add_argument("--files", type=int, default=2_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    arguments = parser.parse_args()
    outcomes = Outcomes()
    with tempfile.TemporaryDirectory(prefix="hostile-") as directory:
        place = Path(directory)
        by_commands = arguments.files // 3
        of_commands = read_all(place, by_commands, arguments.seed, outcomes)
        (place / "whole.dat").write_bytes(seeds.TRACE.read_bytes())
        workbench = Workbench(place)
        try:
            ask_all(workbench, arguments.queries, arguments.seed, outcomes)
            open_all(workbench, arguments.files - by_commands, arguments.seed, outcomes)
            alive = workbench.is_alive
        finally:
            workbench.close()
    memory = workbench.memory
    highest = max(memory.highest, of_commands)
    fits = (
        memory.highest_sum <= _most(_MOST_OF_ALL)
        and highest <= _most(_MOST_OF_ONE)
    )  # fmt: skip
    notes = {
        "server": "alive, the process that it was" if alive else "DEAD",
        "highest memory of one process": _megabytes(highest, _MOST_OF_ONE),
        "highest memory of all processes": _megabytes(memory.highest_sum, _MOST_OF_ALL),
    }
    Console(width=110).print(outcomes.table(f"Hostile, seed {arguments.seed}", notes))
    print(
        f"{outcomes.total()} tries, {outcomes.total(Outcome.BAD)} without a sentence; the server "
        f"is {'alive' if alive else 'DEAD'}; highest memory {highest >> 20} MB of one process, "
        f"{memory.highest_sum >> 20} MB of all"
    )
    return int(outcomes.total(Outcome.BAD) > 0 or not alive or not fits)


def _most(share: float) -> int:
    """That share of the memory, bytes."""
    most = share_of_memory(share)
    assert most is not None, "nothing is confined but on Linux"
    return most


def _megabytes(seen: int, share: float) -> str:
    most = _most(share)
    return f"{seen >> 20} MB of {most >> 20} MB{'' if seen <= most else ', TOO MUCH'}"


# -- what commands read ----------------------------------------------------------------------------


def read_all(place: Path, count: int, seed: int, outcomes: Outcomes) -> int:
    """Damaged files that only commands read; returns the highest memory of one, bytes.

    Before there are threads: each is read in a fork of this process.
    """
    chance = random.Random(seed)  # noqa: S311 - to be repeated
    whole = list(seeds.others().items())
    snapshot = place / "snapshot.json"
    snapshot.write_bytes(seeds.snapshot())
    highest = 0
    for number in range(count):
        name, content = whole[number % len(whole)]
        file = place / f"{number}-{name}"
        file.write_bytes(damaged(content, chance))
        answer, memory = commands.read_file(file, snapshot)
        highest = max(highest, memory)
        outcomes.add(name, answer, f"{file.name} of seed {seed}")
        for left in place.glob(f"{file.name}*"):
            left.unlink()
    return highest


# -- what the workbench reads ----------------------------------------------------------------------


def ask_all(workbench: Workbench, count: int, seed: int, outcomes: Outcomes) -> None:
    """Queries of the grammar."""
    path = f"/api/traces/{key_of((workbench.place / 'whole.dat').resolve())}/query"

    def ask(kind_and_sql: tuple[str, str]) -> None:
        kind, sql = kind_and_sql
        outcomes.add(f"query: {kind}", workbench.ask(path, sql), sql)
        if outcomes.total() % 1000 == 0:
            print(f"{time.strftime('%H:%M:%S')} {outcomes.total()} tries", flush=True)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(ask, islice(queries(seed), count)):
            pass


def open_all(workbench: Workbench, count: int, seed: int, outcomes: Outcomes) -> None:
    """Damaged traces and captures, each asked for; some are cut while they are."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated
    place = workbench.place / "damaged"
    place.mkdir()
    names = _names()
    for begin in range(0, count, _BATCH):
        files = [
            _written(place, number, next(names), chance)
            for number in range(begin, min(begin + _BATCH, count))
        ]
        time.sleep(FRESH_SECONDS + 0.1)  # until the workbench lists them
        for kind, file in files:
            answer = _opened(workbench, file, chance)
            outcomes.add(kind, answer, f"{file.name} of seed {seed}")
        for _, file in files:
            _remove(file)


def _names() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Kinds and the files that make one, round and round."""
    whole = {**seeds.traces(), **seeds.captures()}
    kinds = [(name, {name: content}) for name, content in whole.items()]
    kinds.append(("CTF", dict(seeds.ctf())))
    while True:
        yield from kinds


def _written(
    place: Path, number: int, kind: tuple[str, dict[str, bytes]], chance: random.Random
) -> tuple[str, Path]:
    """One file, or one directory of which one file is damaged."""
    name, files = kind
    path = place / f"{number}-{name}"
    worse = chance.choice(list(files))
    contents = {
        file: damaged(content, chance) if file == worse else content
        for file, content in files.items()
    }
    if len(files) == 1:
        path.write_bytes(contents[name])
    else:
        path.mkdir()
        for file, content in contents.items():
            (path / file).write_bytes(content)
    return name, path


def _opened(workbench: Workbench, file: Path, chance: random.Random) -> Answer:
    cutter = None
    if chance.random() < _CUT_SHARE:
        victim = chance.choice([*file.iterdir()]) if file.is_dir() else file
        cutter = threading.Timer(chance.random() * 0.1, _cut, [victim, chance.randrange(5000)])
        cutter.start()
    key = key_of(file.resolve())
    if file.is_dir() or file.name.endswith((".dat", ".data")):
        path = f"/api/traces/{key}/{chance.choice(_OF_TRACES)}"
    else:
        path = f"/captures/{quote(key)}.json{chance.choice(_OF_CAPTURES)}"
    answer = workbench.ask(path)
    if cutter is not None:
        cutter.join()
    return answer


def _cut(file: Path, size: int) -> None:
    if file.exists():
        os.truncate(file, min(size, file.stat().st_size))


def _remove(file: Path) -> None:
    if not file.is_dir():
        file.unlink()
        return
    for each in file.iterdir():
        each.unlink()
    file.rmdir()


if __name__ == "__main__":
    sys.exit(main())
