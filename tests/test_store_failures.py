"""The store when things go wrong for real: kills, locks, full disks, refused logins."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import Thread

import psycopg
import pytest
import skips
from postgres import PostgresServer
from sqlalchemy import Connection, Engine, event
from store_places import SPEC, Place, begin, begin_process
from waiting import PATIENCE, wait_until

from benchvise.errors import StoreError, UsageError
from benchvise.measure.model import RunStatus, Sample
from benchvise.store import ProcessHandle, Store, database
from benchvise.store.store import ABANDONED

pytest_plugins = ["store_fixtures"]

WAIT = 0.3  # seconds for a lock, where a test is about one that is held

MEASURING = """
import sys
from store_places import begin_process
from benchvise.measure.model import RunStatus, Sample
from benchvise.store import Store

url, count = sys.argv[1], int(sys.argv[2])
with Store.open(url) as store:
    run, process = begin_process(store)
    print(run, flush=True)
    for index in range(count):
        store.add_sample(process, Sample(index, index / 3, {"elapsed_ns": index}))
        print(index, flush=True)
    store.end_run(run, RunStatus.COMPLETE)
"""


def measure_elsewhere(place: Place, count: int) -> subprocess.Popen[str]:
    """Another process that adds samples and says so after each; its first line is the run."""
    return subprocess.Popen(
        [sys.executable, "-c", MEASURING, place.url, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent,
    )


def fill(store: Store, process: ProcessHandle, size: int) -> tuple[int, StoreError]:
    """Add samples of ``size`` bytes until the store refuses; how many it took, and its error."""
    for index in range(10_000):
        try:
            store.add_sample(process, Sample(index, 1.0, {"noise": secrets.token_hex(size // 2)}))
        except StoreError as error:
            return index, error
    raise AssertionError("the store never got full")


@contextlib.contextmanager
def small_disk(directory: Path, size: str) -> Iterator[None]:
    """A file system of its own on the directory; skips where that is not allowed."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", str(directory)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        skips.skip("mount", done.stderr)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


# Other processes


def test_what_a_killed_process_had_added_is_there_and_the_run_is_interrupted(place: Place) -> None:
    with measure_elsewhere(place, 100_000) as child:
        assert child.stdout is not None
        run = child.stdout.readline().strip()
        for _ in range(50):
            child.stdout.readline()
        with Store.open(place.url) as store:
            assert store.load(run).status is RunStatus.RUNNING
        child.send_signal(signal.SIGKILL)
        reported = 50 + len(child.stdout.readlines())
    with Store.open(place.url) as store:
        [info] = store.runs()
        assert (info.status, info.reason.raw) == (RunStatus.INTERRUPTED, ABANDONED)
        loaded = store.load(run)
    assert (loaded.status, loaded.reason.raw) == (RunStatus.INTERRUPTED, ABANDONED)
    assert loaded.finished is None
    values = [sample.value for sample in loaded.series[0].processes[0].samples]
    assert len(values) in (reported, reported + 1)  # killed between its commit and its report
    assert values == [index / 3 for index in range(len(values))]
    assert place.query("SELECT status FROM run") == [("interrupted",)]


def test_two_processes_make_the_store_and_write_at_once(place: Place) -> None:
    children = [measure_elsewhere(place, 150) for _ in range(2)]
    for child in children:
        child.communicate()
        assert child.returncode == 0
    with Store.open(place.url) as store:
        assert [(run.status, run.samples) for run in store.runs()] == [("complete", 150)] * 2


WRITERS, TAKEN = 20, 15


def _write_at_once(url: str, number: int, start: Barrier) -> None:
    start.wait()
    with Store.open(url) as store:
        run = begin(store, f"writer {number}")
        process = store.begin_process(run, 0, 0, {})
        for index in range(TAKEN):
            store.add_sample(process, Sample(index, number + index / TAKEN, {}))
        store.end_process(process, True)
        store.end_run(run, RunStatus.COMPLETE, "")


def test_twenty_processes_open_a_new_store_at_once_and_lose_nothing(place: Place) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(WRITERS)
    writers = [
        context.Process(target=_write_at_once, args=(place.url, number, start))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    with Store.open(place.url) as store:
        runs = [store.load(info.id) for info in store.runs(limit=None)]
    samples = {run.label: [s.value for s in run.series[0].processes[0].samples] for run in runs}
    assert samples == {
        f"writer {number}": [number + index / TAKEN for index in range(TAKEN)]
        for number in range(WRITERS)
    }
    assert len(runs) == WRITERS


def test_a_new_database_is_waited_for_longer_than_other_locks(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty that open it at once wait one after another for all before them: more than one limit,
    where they wait for a CPU, too."""
    monkeypatch.setattr(database, "_MOST_WAITS", 1000)
    url = server.url(server.new_database())
    with psycopg.connect(url) as first:
        first.execute("SELECT pg_advisory_xact_lock(%s)", [database._LOCK])
        opening = Thread(target=lambda: Store.open(url, timeout=WAIT).close(), daemon=True)
        opening.start()
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        with psycopg.connect(url, autocommit=True) as other:
            wait_until(lambda: other.execute(locks).fetchone() == (1,), "one that waits")
            time.sleep(2 * WAIT)
            assert other.execute(locks).fetchone() == (1,)
        first.rollback()
        opening.join(PATIENCE)
        with Store.open(url) as store:
            assert store.runs() == []


def test_a_run_on_another_host_is_left_alone(place: Place) -> None:
    with Store.open(place.url) as store:
        begin(store)
        place.query("""UPDATE run SET owner = '{"hostname": "x", "boot_id": "y", "pid": 1}'""")
        assert store.load("@").status is RunStatus.RUNNING
        assert place.query("SELECT status FROM run") == [("running",)]


def test_a_store_that_others_lock_can_be_read_but_says_so_when_written(place: Place) -> None:
    lock = "BEGIN IMMEDIATE" if place.is_file else "BEGIN; LOCK TABLE run, sample IN SHARE MODE"
    with Store.open(place.url, timeout=WAIT) as store:
        run, process = begin_process(store)
        place.query(
            """UPDATE run SET owner = replace(CAST(owner AS text), '"started":', '"x":')
        """
            if place.is_file
            else """UPDATE run SET owner =
            replace(CAST(owner AS text), '"started":', '"x":')::json"""
        )
        with place.connect() as other:
            other.execute(lock)
            started = time.monotonic()
            with pytest.raises(StoreError, match="is locked by another process") as caught:
                store.add_sample(process, Sample(0, 1.0))
            assert WAIT * 0.8 < time.monotonic() - started < WAIT + 2
            assert caught.value.remedy
            assert store.load(run).status is RunStatus.INTERRUPTED  # though it cannot be marked
            assert place.query("SELECT status FROM run") == [("running",)]
            other.execute("ROLLBACK")
        store.add_sample(process, Sample(0, 1.0))
        assert store.runs()[0].samples == 1


def test_a_store_that_lost_a_table_says_so(place: Place) -> None:
    with Store.open(place.url) as store:
        _, process = begin_process(store)
        place.query("DROP TABLE sample")
        with pytest.raises(StoreError, match=r"lacks a part of its tables .*sample"):
            store.add_sample(process, Sample(0, 1.0))


# Files


def test_a_full_disk_keeps_what_was_stored(tmp_path: Path) -> None:
    with small_disk(tmp_path, "1M"), Store.open(str(tmp_path / "x.db")) as store:
        ballast = tmp_path / "ballast"
        ballast.write_bytes(bytes(200_000))
        _, process = begin_process(store)
        stored, error = fill(store, process, 4000)
        assert "no space left for the store" in error.message
        assert store.runs()[0].samples == stored > 10
        ballast.unlink()
        store.add_sample(process, Sample(stored, 1.0))
        assert store.runs()[0].samples == stored + 1


def test_a_disk_that_is_full_from_the_beginning(tmp_path: Path) -> None:
    with small_disk(tmp_path, "64k"), pytest.raises(StoreError, match="no space left"):
        Store.open(str(tmp_path / "x.db"))


def test_a_file_size_limit_keeps_what_was_stored(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        _, process = begin_process(store)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, old[1]))
        try:
            stored, error = fill(store, process, 4000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert "cannot be read or written" in error.message
        assert "ulimit -f" in error.remedy
        assert store.runs()[0].samples == stored > 10


@skips.needs_root
def test_a_store_on_read_only_media_can_be_read(tmp_path: Path) -> None:
    directory = tmp_path / "a disc #1?"
    directory.mkdir()
    file = directory / "x.db"
    with small_disk(directory, "4M"):
        with Store.open(str(file)) as store:
            run = begin(store)
        connection = sqlite3.connect(file)  # what is open keeps its log
        connection.execute("UPDATE run SET label = 'in the log'")
        connection.commit()
        log = shutil.copy(f"{file}-wal", tmp_path / "log")
        connection.close()
        subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
        with Store.open(str(file)) as store:
            assert (store.load("@").id, store.load("@").label) == (run, "in the log")
            assert [info.id for info in store.runs()] == [run]
            with pytest.raises(StoreError, match="on a read-only file system") as caught:
                begin(store)
        assert "copy it" in caught.value.remedy
        assert [path.name for path in directory.iterdir()] == ["x.db"]
        subprocess.run(["mount", "-o", "remount,rw", str(directory)], check=True)
        shutil.copy(log, f"{file}-wal")
        with sqlite3.connect(file) as older:
            older.execute("UPDATE benchvise_version SET version_num = '0006'")
        older.close()
        subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
        with pytest.raises(StoreError, match="of another version of Benchvise"):
            Store.open(str(file))
        subprocess.run(["mount", "-o", "remount,rw", str(directory)], check=True)
        shutil.copy(log, f"{file}-wal")
        subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
        with pytest.raises(StoreError, match="a part of it still in"):
            Store.open(str(file))


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Root may write anywhere, so be someone else for a while."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)


@pytest.mark.parametrize("name", ["new.db", "x.db"])
def test_a_directory_that_this_user_may_not_write(name: str) -> None:
    # Not under tmp_path, which another user may not enter.
    with tempfile.TemporaryDirectory() as directory:
        with Store.open(str(Path(directory, "x.db"))) as store:
            begin(store)
        Path(directory).chmod(0o555)
        with (
            ordinary_user(),
            pytest.raises(StoreError, match="its directory is read-only") as caught,
        ):
            Store.open(str(Path(directory, name)))
        Path(directory).chmod(0o755)
    assert f"make {directory} writable" in caught.value.remedy


def test_a_directory_that_nobody_can_make_is_not_asked_for() -> None:
    """In a home that is read-only the advice was to make the directory."""
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o555)
        with ordinary_user(), pytest.raises(StoreError, match=f"{home} is read-only") as caught:
            Store.open(str(Path(home, ".local", "share", "x.db")))
        Path(home).chmod(0o755)
    assert "mkdir" not in caught.value.remedy and "--store" in caught.value.remedy


def test_a_read_only_file_can_be_read() -> None:
    # Not under tmp_path, which another user may not enter.
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "x.db")
        with Store.open(str(file)) as store:
            run = begin(store)
        Path(name).chmod(0o777)
        file.chmod(0o444)
        with ordinary_user(), Store.open(str(file)) as store:
            assert store.load("@").id == run
            with pytest.raises(StoreError, match=r"x\.db is read-only"):
                begin(store)


def test_files_that_are_no_store(tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(secrets.token_bytes(8192))
    (tmp_path / "text").write_text("value,unit\n" * 1000)
    cases = {
        "garbage": "garbage is not a database",
        "text": "text is not a database",
        ".": "it is a directory",
        "missing/x.db": r"there is no directory .*missing that you may enter: make it \(`mkdir -p",
        "text/x.db": "there is no directory",
    }
    for name, message in cases.items():
        with pytest.raises(StoreError, match=message):
            Store.open(str(tmp_path / name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["garbage", "text"]


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    with Store.open(str(file)) as store:
        _, process = begin_process(store)
        for index in range(50):
            store.add_sample(process, Sample(index, 1.0, {"noise": secrets.token_hex(500)}))
    content = bytearray(file.read_bytes())
    content[-60_000:] = secrets.token_bytes(60_000)
    file.write_bytes(content)
    with Store.open(str(file)) as store, pytest.raises(StoreError, match="damaged") as caught:
        store.load("@")
    assert ".recover" in caught.value.remedy


READS: list[Callable[[Store], object]] = [
    Store.runs,
    Store.choices,
    Store.series,
    Store.boards,
    Store.diagnoses,
    lambda store: store.load("@"),
    lambda store: store.snapshot("@"),
    lambda store: store.attachments(store.runs(1)[0].id),
    lambda store: store.diagnosis("@"),
    lambda store: store.history("memory.copy", limit=5),
    lambda store: [store.watches.history(name, 0, 4e9) for name in store.watches.boards()],
]
GARBAGE = ("x'ff00ff'", "'garbage'", "1e300", "'[null]'", """'{"a":[1]}'""", "-1")


def test_whatever_stands_in_a_column_is_read_or_said(tmp_path: Path) -> None:
    """SQLite lets any program put anything into any column."""
    script = Path(__file__).parent / "data" / "store-of-six-migrations.sql"
    whole, file = tmp_path / "whole.db", tmp_path / "damaged.db"
    with contextlib.closing(sqlite3.connect(whole)) as made:
        made.executescript(script.read_text(encoding="utf-8"))
    with Store.open(str(whole)) as store:
        begin_process(store)
    refused = 0
    for number, (table, column) in enumerate(columns(whole)):
        for garbage in (GARBAGE[number % 3], GARBAGE[3 + number % 3]):
            shutil.copy(whole, file)
            with contextlib.closing(sqlite3.connect(file)) as damaged:
                try:
                    with damaged:
                        damaged.execute(f'UPDATE "{table}" SET "{column}" = {garbage}')  # noqa: S608
                except sqlite3.Error:
                    continue  # a key, or a number that is the row's own
            try:
                with Store.open(str(file), timeout=WAIT) as store:
                    for read in READS:
                        read(store)
            except (StoreError, UsageError):
                refused += 1
            except Exception as error:
                error.add_note(f"{table}.{column} = {garbage}")
                raise
    assert refused > 20


def columns(file: Path) -> list[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(file)) as opened:
        tables = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return [
            (table, column)
            for (table,) in tables
            for _, column, *_ in opened.execute(f'PRAGMA table_info("{table}")')
        ]


# Servers


def refused(url: str) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Store.open(url, timeout=2)
    return caught.value


def test_a_login_that_is_refused(server: PostgresServer) -> None:
    odd = "p%40ss%2Fw%3Ard"
    for password in ("wrong", odd, ""):
        error = refused(server.url(password=password))
        assert "refused the login" in error.message
        assert "~/.pgpass" in error.remedy
        assert not password or password not in str(error)
        assert "p@ss/w:rd" not in str(error)


def test_a_server_or_database_that_is_not_there(server: PostgresServer, tmp_path: Path) -> None:
    missing = refused(server.url("nowhere"))
    assert "/nowhere?" in missing.message
    assert "does not exist on its server" in missing.message
    for url in (
        f"postgresql://me:{server.password}@127.0.0.1:1/results",
        f"postgresql://me:{server.password}@no-such-host.invalid/results",
        f"postgresql://me:{server.password}@/results?host={tmp_path}",
    ):
        error = refused(url)
        assert "cannot reach the store" in error.message
        assert "pg_isready" in error.remedy
        assert server.password not in str(error)
        assert "\n" not in str(error)


def test_a_connection_that_was_cut_is_made_again(server: PostgresServer) -> None:
    database = server.new_database()
    with Store.open(server.url(database)) as store, server.connect() as other:
        _, process = begin_process(store)
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database]
        )
        store.add_sample(process, Sample(0, 1.0))
        assert store.runs()[0].samples == 1


@contextlib.contextmanager
def listening(cut: Callable[[Connection], None]) -> Iterator[None]:
    event.listen(Engine, "commit", cut)
    try:
        yield
    finally:
        event.remove(Engine, "commit", cut)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_write_whose_connection_is_cut_is_made_once(server: PostgresServer, moment: str) -> None:
    """Cut before the commit nothing is there, cut after it everything is: nobody is told which."""
    with Store.open(server.url(server.new_database())) as store:
        _, process = begin_process(store)
        cuts: list[str] = []

        def cut(connection: Connection) -> None:
            if cuts:
                return
            cuts.append(moment)
            raw = connection.connection.driver_connection
            assert isinstance(raw, psycopg.Connection)
            if moment == "after":
                raw.commit()
            with server.connect() as other:
                other.execute("SELECT pg_terminate_backend(%s)", [raw.info.backend_pid])

        with listening(cut):
            store.add_sample(process, Sample(0, 1.0))
        store.add_sample(process, Sample(1, 2.0))
        assert cuts == [moment]
        assert store.runs()[0].samples == 2
        assert [info.runs for info in store.series().series if info.key == SPEC.key] == [1]
        with pytest.raises(StoreError, match="refused an item"):
            store.add_sample(process, Sample(1, 2.0))
        cuts.clear()
        with listening(cut):
            store.end_process(process, True)
        process = store.begin_process(store.resolve("@"), 0, 1, {})
        cuts.clear()
        with listening(cut):
            store.add_samples(process, [Sample(0, 3.0), Sample(1, 4.0)])
        assert cuts == [moment]
        assert store.load("@").series[0].values == ((1.0, 2.0), (3.0, 4.0))


def test_a_server_that_may_only_be_read(server: PostgresServer) -> None:
    database = server.new_database()
    with server.connect() as other:
        setting = f"ALTER DATABASE {database} SET default_transaction_read_only = on"
        other.execute(setting)
    assert "is read-only" in refused(server.url(database)).message


def test_a_user_without_rights(server: PostgresServer) -> None:
    database = server.new_database()
    user = f"guest_{secrets.token_hex(4)}"
    with server.connect(database) as other:
        other.execute(f"CREATE ROLE {user} LOGIN PASSWORD 'guest'")
        other.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    error = refused(f"postgresql://{user}:guest@/{database}?host={server.socket_directory}")
    assert "may not do that" in error.message
    assert "GRANT CREATE" in error.remedy

    with Store.open(server.url(database)) as store:
        run = begin(store)
    with server.connect(database) as other:
        other.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}")
    reader = Store.open(f"postgresql://{user}:guest@/{database}?host={server.socket_directory}")
    with reader, pytest.raises(StoreError, match="may not do that") as caught:
        reader.tag(run, ["release"])
    assert "GRANT benchvise_runner" in caught.value.remedy


def test_a_server_with_a_full_disk_keeps_what_was_stored(server: PostgresServer) -> None:
    directory = server.socket_directory / "small"
    directory.mkdir()
    with small_disk(directory, "16M"):
        owner = server.socket_directory.stat()
        os.chown(directory, owner.st_uid, owner.st_gid)
        name = f"small_{secrets.token_hex(4)}"
        with server.connect() as other:
            other.execute(f"CREATE TABLESPACE {name} LOCATION '{directory}'")
            database = server.new_database(name)
            with Store.open(server.url(database)) as store:
                _, process = begin_process(store)
                stored, error = fill(store, process, 400_000)
                assert "no space left for the store" in error.message
                assert store.runs()[0].samples == stored > 10
            other.execute(f"DROP DATABASE {database}")
            other.execute(f"DROP TABLESPACE {name}")
    shutil.rmtree(directory)
