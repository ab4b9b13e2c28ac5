"""What databases hold, which no file tells: schemas, statistics, settings of the server."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from benchvise.board.local import LocalBoard
from benchvise.why.cards import load_cards, named
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.database_suspects import (
    database_as_on_good,
    database_suspects,
    origins_of_database,
    put_above_their_files,
    remedy_of_file,
)
from benchvise.why.witness.databases import parse_databases
from benchvise.why.witness.model import CallsAbout, DatabaseSchema, Partner, SideWatch
from benchvise.why.witness.opened import NOT_THERE
from benchvise.why.witness.sqlite_files import as_other, schema_of, sqlite_databases

SHOP = """
create table orders (id integer primary key, customer integer);
create table notes (text);
create index by_customer on orders (customer);
"""


def _file(path: Path, *scripts: str) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        for script in scripts or (SHOP,):
            connection.executescript(script)
    return path.read_bytes()


def test_a_database_of_sqlite_tells_tables_indices_and_statistics(tmp_path: Path) -> None:
    rows = "insert into orders values (1, 7), (2, 7), (3, 8);"
    held = schema_of(_file(tmp_path / "a", f"{SHOP}{rows} analyze;"))
    assert held["index by_customer on orders"] == "CREATE INDEX by_customer on orders (customer)"
    assert held["statistics of orders"] == "there"
    assert held["statistics of notes"] == "none"
    assert held["journal"] == "rollback"


def test_what_is_in_the_log_of_writes_counts(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (a)")
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.execute("create index late on t (a)")
        data, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    assert "index late on t" in schema_of(data, log)
    assert "index late on t" not in schema_of(data)


def test_of_a_large_file_the_begin_is_enough(tmp_path: Path) -> None:
    rows = "insert into notes select hex(randomblob(1000)) from generate;"
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200) "
    script = f"{SHOP}{rows.replace('insert', f'{numbers}insert', 1).replace('generate', 'n')}"
    data = _file(tmp_path / "a", script)
    assert "index by_customer on orders" in schema_of(data[: len(data) // 4])


def test_a_damaged_file_tells_something_or_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    data = _file(tmp_path / "a")
    rng = random.Random(3)
    for _ in range(150):
        bad = bytearray(data)
        for _ in range(rng.choice((1, 8, 60))):
            bad[rng.randrange(len(bad) if rng.random() < 0.5 else 200)] = rng.randrange(256)
        assert isinstance(schema_of(bytes(bad[: rng.randrange(len(bad) + 1)])), dict)
    assert schema_of(b"") == {}


def test_databases_are_found_by_what_is_opened_and_by_their_logs(tmp_path: Path) -> None:
    own, other, text = tmp_path / "own.db", tmp_path / "kept.db", tmp_path / "text"
    _file(own)
    _file(other)
    text.write_text("SQLite format 4")
    calls = [CallsAbout("openat", str(path), 1, 0, 0.0, 0.0) for path in (own, text)]
    partner = Partner("keeper", opened=(f"{other}-wal",))
    databases = {d.name: d.partner for d in sqlite_databases(LocalBoard(), calls, [partner])}
    assert databases == {str(own): "", str(other): "keeper"}


def test_what_a_server_told_is_read_without_secrets_and_what_is_of_each_machine() -> None:
    text = (
        "database shop\ntool psql -d shop\nindex a on t\tCREATE INDEX a ON t USING btree (b)\n"
        "setting requirepass\tabc\nsetting port\t6379\nsetting save\t\n"
        "database empty\ntool psql -d empty\n"
    )
    (shop,) = parse_databases(text, "PostgreSQL", "postgres")
    assert (shop.name, shop.tool) == ("shop", "psql -d shop")
    assert set(shop.entries) == {"index a on t", "setting save"}
    assert all(shop.entries.values())


def _watches(
    good: Mapping[str, str], bad: Mapping[str, str], kind: str = "PostgreSQL"
) -> dict[Side, SideWatch]:
    tool = {"PostgreSQL": "psql -d shop", "SQLite": "sqlite3 /data/shop.db"}.get(kind, "client")
    name, partner = ("/data/shop.db", "") if kind == "SQLite" else ("shop", "postgres")
    return {
        side: SideWatch(
            partners=(Partner("postgres", ("/tmp/.s.PGSQL.5432",)),),  # noqa: S108
            databases=(DatabaseSchema(kind, name, partner, entries, tool),),
        )
        for side, entries in ((Side.GOOD, good), (Side.BAD, bad))
    }


INDEX = {"index by_post on shares": "CREATE INDEX by_post ON public.shares USING btree (post)"}


@pytest.mark.parametrize(
    ("kind", "good", "bad", "title", "command"),
    [
        (
            *("PostgreSQL", INDEX, {}, "index by_post on shares"),
            "psql -d shop -c 'CREATE INDEX by_post ON public.shares USING btree (post)'",
        ),
        (
            *("PostgreSQL", {}, {"trigger t on shares": "CREATE TRIGGER t"}, "trigger t on shares"),
            "psql -d shop -c 'drop trigger t on shares'",
        ),
        (
            *("SQLite", {"statistics of a": "there"}, {"statistics of a": "none"}),
            *("statistics of a", "sqlite3 /data/shop.db 'analyze a'"),
        ),
        (
            *("Redis", {"setting appendfsync": "everysec"}, {"setting appendfsync": "always"}),
            *("setting appendfsync", "client CONFIG SET appendfsync everysec"),
        ),
        (
            *("PostgreSQL", {"setting work_mem": "64MB"}, {"setting work_mem": "64kB"}),
            *(
                "setting work_mem",
                "psql -d shop -c 'alter database \"shop\" set work_mem = '\"'\"'64MB'\"'\"''",
            ),
        ),
        (
            *("PostgreSQL", {}, {"setting jit of role app everywhere": "on"}),
            *(
                "setting jit of role app everywhere",
                "psql -d shop -c 'alter role \"app\" reset jit'",
            ),
        ),
        (
            *("MariaDB", {"setting binlog_format": "ROW"}, {"setting binlog_format": "STATEMENT"}),
            *("setting binlog_format", "client -e 'set global binlog_format = '\"'\"'ROW'\"'\"''"),
        ),
        # a name from a board that is none
        ("PostgreSQL", {}, {"index a;drop table b on c": "x"}, "index a;drop table b on c", ""),
    ],
)
def test_what_differs_in_a_database_is_named_with_a_statement(
    kind: str, good: Mapping[str, str], bad: Mapping[str, str], title: str, command: str
) -> None:
    watches = _watches(good, bad, kind)
    (suspect,) = database_suspects(watches)
    assert suspect.title.startswith(f"{title} of the {kind} database")
    assert suspect.means is None
    assert database_as_on_good(suspect, watches) == command


def test_what_differs_by_itself_is_no_suspect_and_many_of_a_kind_are_one() -> None:
    sizes = {"size of a": "9000000"}, {"size of a": "12000000"}
    assert database_suspects(_watches(*sizes)) == ()
    many = {f"index i{n} on t": f"CREATE INDEX i{n} ON t (a)" for n in range(9)}
    (group,) = database_suspects(_watches(many, {}))
    assert "and 6 others" in group.title
    assert group.good.startswith("i0 on t=CREATE INDEX") and group.bad == NOT_THERE
    assert group.terms[0].reason.startswith("the command talks to postgres by /tmp/.s.PGSQL")


def test_an_index_comes_before_the_file_that_lacks_it() -> None:
    suspects = database_suspects(_watches(INDEX, {}, "SQLite"))
    path = "userland.file:/data/shop.db"
    terms = (Term("file", -4.0, "it is data"), Term("witness", 5.0, "it reads more of it"))
    file = Suspect(path, path, Layer.USERLAND, "userland.file", "1", "2", (path,), terms=terms)
    ranked = put_above_their_files((file, *suspects))
    assert [s.item for s in ranked] == ["userland.database", "userland.file"]
    other = replace(file, id="userland.file:/data/other")
    assert suspects[0] in put_above_their_files((other, *suspects))


def test_a_copy_has_the_indices_and_statistics_of_the_other_one(tmp_path: Path) -> None:
    good = _file(tmp_path / "good", SHOP, "insert into orders values (1, 7); analyze;")
    tables = "create table orders (id integer primary key, customer integer);"
    bad = _file(tmp_path / "bad", tables, "insert into orders values (1, 7), (2, 9);")
    keys = ("index by_customer on orders", "statistics of orders")
    changed = as_other(bad, good, keys)
    assert {key: schema_of(changed).get(key) for key in keys} == {
        key: schema_of(good)[key] for key in keys
    }
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(changed)
        assert connection.execute("select count(*) from orders").fetchone() == (2,)
    back = schema_of(as_other(good, bad, keys))
    assert keys[0] not in back and back[keys[1]] == "none"


def test_what_no_copy_can_have_is_refused(tmp_path: Path) -> None:
    good, bad = _file(tmp_path / "good"), _file(tmp_path / "bad", "create table other (a);")
    for keys in (["table orders"], ["index by_customer on orders"]):  # its table is not there
        with pytest.raises(ValueError):
            as_other(bad, good, keys)
    with pytest.raises(ValueError):
        as_other(b"no database", bad, [])


@pytest.mark.parametrize(
    ("kind", "opens", "tried"),
    [
        ("SQLite", CallsAbout("access", "/data/shop.db-journal", 9, 9, 0.0, 0.0), True),
        ("SQLite", CallsAbout("openat", "/data/shop.db-journal", 1, 0, 0.0, 0.0), False),
        ("SQLite", CallsAbout("pwrite64", "/data/shop.db", 1, 0, 0.0, 0.0), False),
        ("PostgreSQL", CallsAbout("access", "/data/shop.db-journal", 9, 9, 0.0, 0.0), False),
    ],
)
def test_only_a_file_that_the_command_does_not_write_is_tried(
    kind: str, opens: CallsAbout, *, tried: bool
) -> None:
    journal = {"journal": "rollback"}
    watches = _watches({**INDEX, **journal}, journal, kind)
    watches = {side: replace(watch, calls=(opens,)) for side, watch in watches.items()}
    (suspect,) = database_suspects(watches, can_swap=True)
    assert (suspect.means is not None) is tried
    (untried,) = database_suspects(watches)
    assert untried.means is None
    line = remedy_of_file(suspect)
    assert line.startswith("sqlite3 /data/shop.db 'CREATE INDEX" if kind == "SQLite" else "")


def test_the_mechanism_is_that_of_databases_and_the_place_the_file() -> None:
    (suspect,) = database_suspects(_watches(INDEX, {}, "SQLite"))
    points = {card.id: named(card, suspect) for card in load_cards()}
    assert max(points, key=lambda name: points[name]) == "database-that-a-command-reads"
    (origin,) = origins_of_database(Side.GOOD, suspect)
    assert (str(origin.file), origin.line) == ("/data/shop.db", 0)
    assert origins_of_database(Side.BAD, suspect) == ()
    (kept,) = database_suspects(_watches(INDEX, {}))
    assert origins_of_database(Side.GOOD, kept) == ()
