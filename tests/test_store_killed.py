"""Stores whose upgrade or copy is killed: before any statement, while it is committed, after it,
at any time, with the database's own process, or by a power cut. What is left is the old store or
the new one, whole, and going on works.

What is compared is every column of every table that the database's catalogue lists; the rows are
made up from the catalogue too.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from postgres import PostgresServer
from sqlalchemy import Engine, event
from store_contents import Contents, contents, fill, shape
from store_places import Place, begin
from waiting import PATIENCE, wait_until

from benchvise.errors import StoreError, UsageError
from benchvise.store import Store
from benchvise.store.database import VERSION_TABLE, Database
from benchvise.store.location import locate

pytest_plugins = ["store_fixtures"]

OLDEST = "0006"
KILLS = 3
"""At moments that differ from run to run; a failure prints the seed."""


@dataclass(frozen=True)
class Moments:
    """Where a process can be killed: before a statement or commit, counted together; or at any time
    of so many seconds."""

    commits: tuple[int, ...]
    seconds: float


@pytest.fixture
def chance() -> Iterator[random.Random]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    yield random.Random(seed)


def undisturbed(act: Callable[[], object]) -> Moments:
    """A process that does it to its end, and what was counted."""
    return _child(act, None, _kill_itself)


def killed_before(act: Callable[[], object], step: int, kill: Callable[[Any], None]) -> None:
    """A process in which ``kill`` is called before that statement or commit."""
    _child(act, step, kill)


def killed_after(act: Callable[[], object], seconds: float) -> None:
    """A process that is killed at that time, whatever it does then."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=_work, args=(act, None, _kill_itself, theirs)
    )
    child.start()
    assert ours.poll(PATIENCE)  # it begins
    time.sleep(seconds)
    child.kill()
    child.join()


def _child(act: Callable[[], object], step: int | None, kill: Callable[[Any], None]) -> Moments:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=_work, args=(act, step, kill, theirs)
    )
    child.start()
    assert ours.poll(PATIENCE)
    ours.recv()
    begun = time.monotonic()
    child.join(PATIENCE)
    seconds = time.monotonic() - begun
    assert child.exitcode is not None
    assert (child.exitcode != 0) is (step is not None), f"step {step}: exit code {child.exitcode}"
    return Moments(ours.recv() if step is None else (), seconds)


def _work(
    act: Callable[[], object], step: int | None, kill: Callable[[Any], None], parent: Pipe
) -> None:
    count = 0
    commits = []

    def counted(connection: Any, *statement: object) -> None:
        nonlocal count
        count += 1
        if not statement:
            commits.append(count)
        if count == step:
            kill(connection)

    event.listen(Engine, "before_cursor_execute", counted)
    event.listen(Engine, "commit", counted)
    parent.send("begun")
    try:
        act()
    except StoreError:
        os._exit(1)  # its server died
    parent.send(tuple(commits))
    os._exit(0)  # as it is: no connection is closed, no log is carried over


def _kill_itself(_connection: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_server(connection: Any) -> None:
    """The process of the server behind a connection: the whole server then recovers by its log, as
    after a power cut."""
    os.kill(connection.connection.driver_connection.info.backend_pid, signal.SIGKILL)


def recovered(place: Place) -> None:
    """Waits until the server takes logins again."""

    def answers() -> bool:
        try:
            psycopg.connect(place.url).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(answers, "the server's recovery")


def steps_to(commit: int, chance: random.Random) -> list[int]:
    """Random ones, and the commit."""
    return [*(chance.randint(1, commit) for _ in range(KILLS)), commit]


def at(kind: str, name: str, request: pytest.FixtureRequest, directory: Path) -> Place:
    """A new place on the kind of database that ``place`` is on."""
    if kind == "sqlite":
        return Place(str(directory / f"{name}.db"))
    server: PostgresServer = request.getfixturevalue("server")
    return Place(server.url(server.new_database()))


# Upgrades


def old_store(place: Place) -> None:
    """As the first release made it, full."""
    database = Database(locate(place.url), timeout=10)
    config = Config()
    config.set_main_option("script_location", "benchvise.store:migrations")
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, OLDEST)
    database.close()
    fill(place)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_killed_upgrade_leaves_the_old_store_and_is_made_up_for(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, chance: random.Random
) -> None:
    place, twin = (at(kind, name, request, tmp_path) for name in ("store", "twin"))
    old_store(place)
    old_store(twin)
    before, old_shape = contents(place), shape(place)
    assert all(before.values())
    moments = undisturbed(lambda: Store.open(twin.url))
    after = contents(twin)
    assert len(after) > len(before)

    def is_whole() -> bool:
        """Whether it is the new store; fails where it is neither."""
        found = contents(place)
        assert found in (before, after)
        assert shape(place) == (old_shape if found == before else shape(twin))
        return found == after

    def upgrade() -> Store:
        return Store.open(place.url)

    for step in steps_to(moments.commits[-1], chance):
        killed_before(upgrade, step, _kill_itself)
        assert not is_whole(), f"killed before step {step}: {moments}"
    if kind == "postgresql":
        killed_before(upgrade, moments.commits[-1], _kill_server)
        recovered(place)
        assert not is_whole()
    for _ in range(2):
        killed_after(upgrade, chance.uniform(0, moments.seconds))
        is_whole()
    with upgrade() as store:
        assert is_whole()
        assert store.load(begin(store, "after it")).label == "after it"


def test_an_upgrade_whose_last_writes_a_power_cut_lost(
    tmp_path: Path, chance: random.Random
) -> None:
    """The log of a file is cut at any byte, or its last block is garbage: as long as the upgrade
    had not been reported, either is what a disk may be left with."""
    old, new = Place(str(tmp_path / "old.db")), Place(str(tmp_path / "new.db"))
    old_store(old)
    database = Database(locate(old.url), timeout=10)
    database.use_write_ahead_log()  # what an upgrade does first, by itself
    database.close()
    before = contents(old)
    shutil.copy(old.url, new.url)
    undisturbed(lambda: Store.open(new.url))  # leaves its log
    file, log = Path(new.url).read_bytes(), Path(f"{new.url}-wal").read_bytes()
    after = contents(new)
    assert before != after
    cuts = [chance.randrange(len(log)) for _ in range(6)]
    found: list[Contents] = []
    for number, cut in enumerate([*cuts, len(log) - 1, len(log)]):
        place = Place(str(tmp_path / f"cut-{number}.db"))
        torn = b"" if number % 2 else chance.randbytes(min(512, len(log) - cut))
        Path(place.url).write_bytes(file)
        Path(f"{place.url}-wal").write_bytes(log[:cut] + torn)
        found.append(contents(place))
    with Store.open(str(tmp_path / "cut-0.db")):
        assert contents(Place(str(tmp_path / "cut-0.db"))) == after
    assert all(left in (before, after) for left in found)
    assert found[-2:] == [before, after]


# Copies


@pytest.mark.parametrize("source_kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("target_kind", ["sqlite", "postgresql"])
def test_a_killed_copy_leaves_an_empty_store_and_is_made_up_for(
    source_kind: str,
    target_kind: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    chance: random.Random,
) -> None:
    source, target, twin = (
        at(kind, name, request, tmp_path)
        for kind, name in ((source_kind, "a"), (target_kind, "b"), (target_kind, "c"))
    )
    Store.open(source.url).close()
    fill(source)
    full, whole = contents(source), shape(source)
    assert all(full.values())

    def copy_to(place: Place) -> None:
        with Store.open(source.url) as opened, Store.open(place.url) as copy:
            opened.copy_to(copy)

    made = undisturbed(lambda: Store.open(twin.url))
    killed_before(lambda: Store.open(target.url), chance.randint(1, made.commits[-1]), _kill_itself)
    assert shape(target) == {}
    Store.open(target.url).close()
    moments = undisturbed(lambda: copy_to(twin))
    assert contents(twin) == full
    commit = moments.commits[-2]  # the last is the end of the reading

    def is_whole() -> bool:
        found = contents(target)
        rows = {name: rows for name, rows in found.items() if rows and name != VERSION_TABLE}
        assert rows in ({}, {name: rows for name, rows in full.items() if name != VERSION_TABLE})
        assert (contents(source), shape(source)) == (full, whole)
        return bool(rows)

    for step in steps_to(commit, chance):
        killed_before(lambda: copy_to(target), step, _kill_itself)
        assert not is_whole(), f"killed before step {step}: {moments}"
    if (source_kind, target_kind) == ("sqlite", "postgresql"):  # its recovery takes seconds
        killed_before(lambda: copy_to(target), commit, _kill_server)
        recovered(target)
        assert not is_whole()
    for _ in range(2):
        killed_after(lambda: copy_to(target), chance.uniform(0, moments.seconds))
        if is_whole():
            with pytest.raises(UsageError, match="is not empty"):
                copy_to(target)
            break
    else:
        copy_to(target)
    assert is_whole()
    with Store.open(target.url) as store:
        assert store.load(begin(store, "after it")).label == "after it"
