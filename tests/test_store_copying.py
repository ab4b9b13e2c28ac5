"""A store copied from one database to another, and the roles of one in PostgreSQL."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psycopg
import pytest
from in_process import benchvise
from postgres import PostgresServer
from store_places import BEFORE_PACKING, Place, begin, begin_process

from benchvise.errors import StoreError, UsageError
from benchvise.measure.model import RunStatus, Sample
from benchvise.store import RunFilter, Store
from benchvise.store.roles import KEEPER, READER, RUNNER, roles_sql
from benchvise.store.tables import METADATA

pytest_plugins = ["store_fixtures"]

HOSTILE = "drop'; \" \x1b[2J %s {}"


def filled(store: Store) -> str:
    run, process = begin_process(store)
    samples = [
        Sample(0, 1.25, {"flags": ["preempted"], "elapsed_ns": 2**60}),
        Sample(1, float("nan"), {}),
    ]
    store.add_samples(process, samples)
    store.end_process(process, True)
    killed = store.begin_process(run, 0, 1, {})
    store.add_sample(killed, Sample(0, 2.5, {"flags": []}))
    store.attach(run, "console.log", bytes(range(256)) * 10)
    store.tag(run, ["kept"])
    store.annotate(run, HOSTILE)
    store.end_run(run, RunStatus.COMPLETE)
    return run


def keys_of(place: Place) -> dict[str, list[tuple[object, ...]]]:
    """The keys of all rows of all tables; what else they have is compared as records."""
    keys = {}
    for table in METADATA.sorted_tables:
        names = ", ".join(f'CAST("{column.name}" AS text)' for column in table.primary_key.columns)
        rows = place.query(f'SELECT {names} FROM "{table.name}"')  # noqa: S608 - our own names
        keys[table.name] = sorted(rows, key=str)
    return keys


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(str(tmp_path / "copy.db"))
    running: PostgresServer = request.getfixturevalue("server")
    return Place(running.url(running.new_database()))


def test_a_copy_has_all_of_it_and_is_gone_on_with(place: Place, target: Place) -> None:
    with Store.open(place.url) as source, Store.open(target.url) as copy:
        run = filled(source)
        begin(source, "is still measured")
        tables = {table.name: table.rows for table in source.copy_to(copy)}
        assert (tables["run"], tables["sample"], tables["evidence"]) == (2, 1, 1)
        assert keys_of(place) == keys_of(target)
        before, after = source.load(run), copy.load(run)
        assert repr(before) == repr(after)  # NaN is not equal to itself
        assert copy.attachment(run, "console.log") == bytes(range(256)) * 10
        assert copy.series() == source.series()
        newer = filled(copy)  # numbers go on after those that were copied
        assert copy.runs()[0].id == newer
        assert copy.count(RunFilter(tag="kept")) == 2


def test_a_store_with_rows_is_no_target(place: Place, target: Place) -> None:
    with Store.open(place.url) as source, Store.open(target.url) as copy:
        filled(source)
        run = filled(copy)
        with pytest.raises(UsageError, match="is not empty"):
            source.copy_to(copy)
        assert [info.id for info in copy.runs()] == [run]
        with pytest.raises(UsageError, match="is the source itself"):
            source.copy_to(source)


def test_a_copy_that_fails_leaves_nothing(place: Place, target: Place) -> None:
    with Store.open(place.url) as source, Store.open(target.url) as copy:
        filled(source)
        # The tables before it are copied by then.
        place.query("DROP TABLE sample")
        with pytest.raises(StoreError):
            source.copy_to(copy)
        assert copy.count() == 0
        assert set(target.query("SELECT count(*) FROM state")) == {(0,)}


class TestRoles:
    @pytest.fixture
    def url(self, server: PostgresServer) -> str:
        """A store whose roles are made, and made again as after an upgrade."""
        database = server.new_database()
        with Store.open(server.url(database)) as store:
            filled(store)
        with server.connect(database) as connection:
            connection.execute(roles_sql().encode())
            connection.execute(roles_sql().encode())
        return server.url(database)

    def as_role(self, url: str, role: str) -> str:
        return f"{url}{'&' if '?' in url else '?'}options=-c%20role%3D{role}"

    def test_a_reader_reads_and_changes_nothing(self, url: str) -> None:
        with Store.open(self.as_role(url, READER)) as store:
            [info] = store.runs()
            assert store.load(info.id).note.raw == HOSTILE
            for change in (
                lambda: begin(store),
                lambda: store.tag(info.id, ["x"]),
                lambda: store.end_run(info.id, RunStatus.FAILED),
            ):
                with pytest.raises(StoreError, match="permission"):
                    change()
            assert store.runs() == [info]

    def test_a_reader_sees_that_a_run_was_abandoned(self, url: str) -> None:
        """Though it cannot write that down."""
        with Store.open(url) as store:
            run = begin(store)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "UPDATE run SET owner = replace(owner::text, '\"started\":', '\"x\":')::json"
            )
        with Store.open(self.as_role(url, READER)) as store:
            assert store.load(run).status is RunStatus.INTERRUPTED
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT status FROM run WHERE id = %s", [run]).fetchone() == (
                "running",
            )

    def test_a_runner_measures_and_deletes_no_run(self, url: str) -> None:
        with Store.open(self.as_role(url, RUNNER)) as store:
            run = filled(store)
            store.attach(run, "console.log", b"anew")
            store.untag(run, ["kept"])
            assert store.load(run).status is RunStatus.COMPLETE
        with (
            psycopg.connect(self.as_role(url, RUNNER)) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("DELETE FROM run")

    def test_a_keeper_upgrades(self, url: str) -> None:
        with psycopg.connect(self.as_role(url, KEEPER)) as connection:
            connection.execute("ALTER TABLE run ADD COLUMN one_more TEXT")
            connection.execute("DELETE FROM run")
            connection.rollback()

    @pytest.mark.parametrize("keeper", ["role", "member", "owner"])
    def test_an_upgrade_grants_what_is_new(self, url: str, keeper: str) -> None:
        """Whether a keeper upgrades under the role's name or its own, or whoever owns the store:
        the reader's page, the runner's boots and samples, and roles of other names."""
        with psycopg.connect(url, autocommit=True) as connection:
            for role in ("anna", "grafana", "station"):
                with contextlib.suppress(psycopg.errors.DuplicateObject):  # of another case
                    connection.execute(f"CREATE ROLE {role}".encode())
            for statement in (
                f"GRANT {KEEPER} TO anna",
                "GRANT USAGE ON SCHEMA public TO grafana, station",
                "GRANT SELECT ON ALL TABLES IN SCHEMA public TO grafana, station",
                "GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO station",
                "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO station",
                "GRANT DELETE ON attachment, run_tag, sample, trace_note, watch_change TO station",
                "DELETE FROM process",  # whose samples are packed
                *BEFORE_PACKING,
                f"REVOKE DELETE ON sample FROM {RUNNER}",
                "UPDATE benchvise_version SET version_num = '0009'",
            ):
                connection.execute(statement.encode())
        upgrading = {"role": self.as_role(url, KEEPER), "member": self.as_role(url, "anna")}
        with Store.open(upgrading.get(keeper, url)):
            pass
        with Store.open(self.as_role(url, RUNNER)) as store:
            filled(store)
            number = store.begin_boot("rig:a", "benchvise run", "ci")
        for reader in (READER, "grafana"):
            with Store.open(self.as_role(url, reader)) as store:
                [boot] = store.boots()
                assert boot.board.raw == "rig:a"
                assert len(store.runs()) == 2
                with pytest.raises(StoreError, match="permission"):
                    store.end_boot(number)
        with Store.open(self.as_role(url, "station")) as store:
            store.end_boot(store.begin_boot("rig:b", "benchvise run", "ci"))
        with psycopg.connect(self.as_role(url, KEEPER)) as connection:
            connection.execute("ALTER TABLE boot ADD COLUMN one_more TEXT")
            connection.rollback()

    def test_a_right_on_a_table_that_roles_do_not_know_has_its_remedy(self, url: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("REVOKE SELECT ON boot FROM benchvise_reader")
        with Store.open(self.as_role(url, READER)) as store, pytest.raises(StoreError) as caught:
            store.boots()
        assert "permission denied for table boot" in caught.value.message
        assert "`benchvise store roles`" in caught.value.remedy
        assert "run again where they are older than a table" in caught.value.remedy

    def test_nobody_else_reads(self, url: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP ROLE IF EXISTS stranger")
            connection.execute("CREATE ROLE stranger")
        with (
            psycopg.connect(self.as_role(url, "stranger")) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("SELECT * FROM public.run")


def test_the_command_backs_up_and_restores(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "lab.db")) as store:
        run = filled(store)
    for source, target in (("lab.db", "backup.db"), ("backup.db", "restored.db")):
        ran = benchvise("store", "copy", target, "--store", source, cwd=tmp_path)
        assert (ran.code, "1 run (" in ran.out) == (0, True)
    with Store.open(str(tmp_path / "restored.db")) as store:
        assert store.load(run).note.raw == HOSTILE
    refused = benchvise("store", "copy", "backup.db", "--store", "lab.db", cwd=tmp_path)
    assert refused.code == 2
    assert "is not empty" in refused.err
    roles = benchvise("store", "roles", "--schema", 'a"b', cwd=tmp_path)
    assert 'GRANT USAGE ON SCHEMA "a""b" TO benchvise_reader;' in roles.out
