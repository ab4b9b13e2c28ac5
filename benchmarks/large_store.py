"""What the workbench and commands take to answer from a store of 100,000 runs of 200 boards, 60
series each: ``python -m benchmarks.large_store [--store FILE|URL]``.

The store is filled by statements that share no code with ``benchvise.store``: runs as they come
night after night, of which the newest thousand have all of their samples (three processes of ten
batches) and the others one process of three. It is kept where ``--store`` names it and filled only
where it is empty; a PostgreSQL URL names an empty database. Requests are whole: from the connection
to the last byte, each page once before it is timed. Commands are whole processes, in turn with the
same commands on a store of two nights: what the difference is, the large store costs; the rest is
the start of a program. In PostgreSQL that small store is a schema beside the large one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import Connection, create_engine, text

from benchmarks.served import Served, milliseconds
from benchmarks.sheets import VERDICTS, Sheet
from benchvise.statistics.quantiles import median_interval
from benchvise.statistics.sample import Interval
from benchvise.store import Store
from benchvise.store.location import locate
from benchvise.store.tables import RUN, RUN_TAG, hash_of

GOAL_SECONDS = 0.3
SMALL_RUNS = 400
BOARDS, SERIES, WHOLE_RUNS = 200, 60, 1000
BENCHMARKS = (
    *("memory.latency", "memory.copy", "memory.read", "os.context_switch", "os.syscall"),
    *("pipe.roundtrip", "cpu.clock", "storage.read", "storage.write", "net.roundtrip"),
)
KEYS = [
    f"{BENCHMARKS[n % len(BENCHMARKS)]}:size={1 << n // len(BENCHMARKS)}K" for n in range(SERIES)
]
_AT_ONCE = 5000
_BEGAN = datetime(2024, 1, 1, tzinfo=UTC)

_FILL = (
    "INSERT INTO series (run_number, position, benchmark, params, key, unit, better, counted,"
    " status, reason, key_hash) SELECT run.number, kind.position, kind.benchmark, kind.params,"
    " kind.key, 'ns', 'lower', 'operations', 'measured', '', kind.hash FROM run, kind"
    " ORDER BY run.number, kind.position",
    'INSERT INTO process (series_id, "index", begin, complete, packed_samples, packed_values)'
    " SELECT series.id, batch.number,"
    """ '{"caveats":[],"iterations":1000,"counted":"operations"}', 1 = 1,"""
    " kept.samples, kept.packed FROM series JOIN kept ON kept.samples = CASE WHEN series.run_number"
    " > {sparse} THEN 10 ELSE 3 END AND kept.number = series.id % 97, batch WHERE"
    " batch.number < CASE WHEN kept.samples > 3 THEN 3 ELSE 1 END ORDER BY series.id, batch.number",
    "INSERT INTO evidence (process_id, packed) SELECT process.id, kept.evidence FROM process"
    " JOIN kept ON kept.samples = process.packed_samples AND kept.number = process.id % 97"
    " ORDER BY process.id",
    "INSERT INTO series_count (key_hash, board, key, benchmark, runs) SELECT kind.hash, run.board,"
    " kind.key, kind.benchmark, count(*) FROM run, kind"
    " GROUP BY kind.hash, run.board, kind.key, kind.benchmark",
)


def fill(connection: Connection, runs: int) -> None:
    """Put so many runs into an empty store: the last is the newest."""
    for first in range(1, runs + 1, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, runs + 1))
        connection.execute(RUN.insert(), [_run(number) for number in numbers])
        tags = [{"run_number": number, "name": "nightly"} for number in numbers if number % 2]
        connection.execute(RUN_TAG.insert(), tags)
    connection.execute(
        text(
            "CREATE TEMPORARY TABLE kind (position INT, benchmark TEXT, params JSON, key TEXT,"
            " hash BIGINT)"
        )
    )
    kinds = [
        {"position": n, "benchmark": key.partition(":")[0], "key": key, "hash": hash_of(key)}
        for n, key in enumerate(KEYS)
    ]
    connection.execute(
        text('INSERT INTO kind VALUES (:position, :benchmark, \'{"size":"1K"}\', :key, :hash)'),
        kinds,
    )
    connection.execute(text("CREATE TEMPORARY TABLE batch (number INT)"))
    connection.execute(
        text("INSERT INTO batch VALUES (:number)"), [{"number": number} for number in range(10)]
    )
    blob = "BYTEA" if _is_server(connection) else "BLOB"
    connection.execute(
        text(
            f"CREATE TEMPORARY TABLE kept (number INT, samples INT, packed {blob}, evidence {blob})"
        )
    )
    connection.execute(
        text("INSERT INTO kept VALUES (:number, :samples, :packed, :evidence)"),
        [_packed(number, samples) for number in range(97) for samples in (3, 10)],
    )
    for statement in _FILL:
        filled = statement.replace("{sparse}", str(max(0, runs - WHOLE_RUNS)))
        connection.exec_driver_sql(filled.replace("%", "%%") if _is_server(connection) else filled)
    for table in ("kind", "batch", "kept"):
        connection.execute(text(f"DROP TABLE {table}"))


def _packed(number: int, samples: int) -> dict[str, object]:
    """The samples of a process and their evidence, as ``store.packed_samples`` describes them."""
    noise = [(number * 7919 + batch * 104729) % 97 for batch in range(samples)]
    evidence = [
        {
            "elapsed_ns": 1_000_000 + 311 * value,
            "cpu": 0,
            "clock_khz": 1_500_000,
            "flags": [],
            "temperature_mc": 51_234 + value,
        }
        for value in noise
    ]
    return {
        "number": number,
        "samples": samples,
        "packed": struct.pack(f"<{samples}d", *(1000.0 + value for value in noise)),
        "evidence": zlib.compress(json.dumps(evidence).encode()),
    }


def _is_server(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _run(number: int) -> dict[str, object]:
    began = _BEGAN + timedelta(minutes=7 * number)
    return {
        "id": f"{number:012x}",
        "label": f"night-{number // BOARDS}",
        "board": f"rig:board-{number % BOARDS:03}",
        "suite": "full" if number % 3 else "quick",
        "status": "complete",
        "reason": "",
        "started": began,
        "finished": began + timedelta(minutes=5),
        "seed": number,
        "plan": {"order": list(range(SERIES)), "settings": {}},
        "host": {
            "kernel": f"6.12.{number // 20_000}",
            "machine": "aarch64",
            "model": "Raspberry Pi 5 Model B Rev 1.0",
            "cpus": [{"number": cpu, "part": "0xd0b", "max_khz": 2_400_000} for cpu in range(4)],
        },
        "tool_version": "0.2.0",
        "simulated": False,
        "owner": {},
        "remarks": {},
        "note": "",
    }


def pages(runs: int) -> dict[str, str]:
    """The pages that are asked for, by what they show."""
    series, board = KEYS[7], f"rig:board-{(runs - 3) % BOARDS:03}"
    newest, before = f"{runs:012x}", f"{runs - BOARDS:012x}"
    return {
        "first page": "/",
        "runs": "/runs",
        "runs of a board": f"/runs?{urlencode({'board': board})}",
        "runs with a tag": "/runs?tag=nightly",
        "runs by text": f"/runs?{urlencode({'text': board[-4:]})}",
        "runs by a text of none": "/runs?text=nowhere",
        "runs, a late page": f"/runs?skip={runs // 2}",
        "a run": f"/runs/{newest}",
        "two runs compared": f"/compare?run={before}&run={newest}",
        "boards": "/boards",
        "lab": "/lab",
        "series": "/history",
        "series of a board": f"/history?{urlencode({'board': board})}",
        "series of runs with a tag": "/history?tag=nightly",
        "history, all boards": f"/history?{urlencode({'series': series})}",
        "history, a board": f"/history?{urlencode({'series': series, 'board': board})}",
        "history, a tag": f"/history?{urlencode({'series': series, 'tag': 'nightly'})}",
    }


def commands(runs: int) -> dict[str, list[str]]:
    """The commands that are run, by what they show."""
    series, board = KEYS[7], f"rig:board-{(runs - 3) % BOARDS:03}"
    newest, before = f"{runs:012x}", f"{runs - BOARDS:012x}"
    return {
        "runs": ["runs"],
        "runs of a board": ["runs", "--board", board],
        "show": ["show", newest],
        "compare": ["compare", before, newest],
        "history of a series and board": ["history", series, "--board", board],
    }


def main() -> None:
    """Prints the sheets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="a file or a PostgreSQL URL that is kept")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        store = arguments.store or str(place / "large.db")
        _fill_once(store, arguments.runs)
        with database_cpu_seconds(store) as database:
            print(_pages(place, store, arguments.runs, arguments.rounds, database).markdown())
            small = _small_store(place, store)
            print(_commands(place, store, small, arguments.runs, arguments.rounds).markdown())


def _pages(place: Path, store: str, runs: int, rounds: int, database: Callable[[], float]) -> Sheet:
    sheet = Sheet(
        f"A store of {runs:,} runs, {SERIES} series each: whole answers of the server, median of "
        f"{rounds} with its interval; CPU time of an answer",
        ("page", "median", "95 % of them", "workbench", "database", "goal", "holds"),
    )
    with closing(Served(Path.cwd(), place, store)) as served:
        for name, path in pages(runs).items():
            served.seconds(path)
            begun = (served.cpu_seconds(), database())
            took = [served.seconds(path) for _ in range(rounds)]
            ended = (served.cpu_seconds(), database())
            cpu = [
                f"{(after - before) / rounds * 1e3:.0f} ms"
                for before, after in zip(begun, ended, strict=True)
            ]
            middle, interval = statistics.median(took), median_interval(took)
            most = statistics.quantiles(took, n=20, method="inclusive")[-1]
            sheet.rows.append(
                (
                    *(name, milliseconds(middle, interval), f"{most * 1e3:.0f} ms", *cpu),
                    *(f"< {GOAL_SECONDS * 1e3:g} ms", VERDICTS[_holds(interval)]),
                )
            )
    return sheet


def _commands(place: Path, store: str, small: str, runs: int, rounds: int) -> Sheet:
    sheet = Sheet(
        f"Commands as whole processes, median of {rounds} pairs in turn: on {runs:,} runs, on "
        f"{SMALL_RUNS}, and what the large store adds; CPU time of the command",
        ("command", "large store", "small store", "the large one adds", "CPU", "CPU, small store"),
    )
    both = zip(commands(runs).items(), commands(SMALL_RUNS).values(), strict=True)
    for (name, words), small_words in both:
        runs_of_both = [
            (_run_command(place, store, words), _run_command(place, small, small_words))
            for _ in range(rounds + 1)
        ]
        seconds = [(large[0], less[0]) for large, less in runs_of_both[1:]]  # not the first, cold
        cpu = [(large[1], less[1]) for large, less in runs_of_both[1:]]
        added = [large - less for large, less in seconds]
        medians = [
            f"{statistics.median(values) * 1e3:.0f} ms"
            for values in (*zip(*seconds, strict=True), *zip(*cpu, strict=True))
        ]
        sheet.rows.append(
            (
                *(
                    name,
                    *medians[:2],
                    milliseconds(statistics.median(added), median_interval(added)),
                ),
                *medians[2:],
            )
        )
    return sheet


def _run_command(place: Path, store: str, words: list[str]) -> tuple[float, float]:
    """Seconds by the clock and of CPU time that a command takes. RuntimeError where it fails."""
    own = {f"XDG_{kind}_HOME": str(place) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    begun = time.perf_counter()
    process = subprocess.Popen(
        [str(Path.cwd() / ".venv/bin/benchvise"), *words, "--store", store],
        stdout=subprocess.DEVNULL,
        env={**os.environ, **own},
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"benchvise {' '.join(words)}: exit {process.returncode}")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime


def _small_store(place: Path, store: str) -> str:
    """A store of two nights of the same kind, beside the large one."""
    small = str(place / "small.db")
    if (url := locate(store).url).get_backend_name() == "postgresql":
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("CREATE SCHEMA IF NOT EXISTS small"))
        engine.dispose()
        small = f"{store}{'&' if '?' in store else '?'}options=-csearch_path%3Dsmall"
    _fill_once(small, SMALL_RUNS)
    return small


@contextmanager
def database_cpu_seconds(store: str) -> Iterator[Callable[[], float]]:
    """What tells the CPU time that a PostgreSQL server of this machine has taken with all of its
    processes, those that ended too; 0 for SQLite, which the workbench computes itself."""
    engine = create_engine(locate(store).url)
    if engine.dialect.name != "postgresql":
        yield lambda: 0.0
        return
    with engine.connect() as connection:
        backend = connection.scalar(text("SELECT pg_backend_pid()"))
        server = int(_status(f"/proc/{backend}/stat")[1])

        def taken() -> float:
            children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
            ticks = sum(map(int, _status(f"/proc/{server}/stat")[11:15]))
            for child in children:
                ticks += sum(map(int, _status(f"/proc/{child}/stat")[11:13]))
            return ticks / os.sysconf("SC_CLK_TCK")

        yield taken
    engine.dispose()


def _status(path: str) -> list[str]:
    """The fields of a process after its name."""
    return Path(path).read_text().rpartition(")")[2].split()


def _holds(interval: Interval) -> bool | None:
    if interval.high < GOAL_SECONDS:
        return True
    return False if interval.low >= GOAL_SECONDS else None


def _fill_once(store: str, runs: int) -> None:
    with Store.open(store) as opened:
        if opened.count():
            return
    engine = create_engine(locate(store).url)
    with engine.begin() as connection:
        fill(connection, runs)
    if engine.dialect.name == "postgresql":  # what autovacuum would have done by the morning
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
    engine.dispose()


if __name__ == "__main__":
    main()
