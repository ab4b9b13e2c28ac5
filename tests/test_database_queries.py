"""The queries by which ``why`` asks PostgreSQL what a database holds, on a real server."""

from __future__ import annotations

from importlib.resources import files

from postgres import PostgresServer

pytest_plugins = ["store_fixtures"]


TABLES = (
    "create table posts (id int primary key, title text not null)",
    "create unlogged table shares (post int references posts) with (autovacuum_enabled = false)",
    "insert into posts values (1, 'a')",
    "analyze posts",
    "create index by_post on shares (post)",
    "create collation folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    "create table names (name text collate folded)",
    "create view first as select * from posts where id = 1",
    "create function one() returns int language sql immutable as 'select 1'",
    "create function two() returns trigger language plpgsql as 'begin return new; end'",
    "create trigger before_post before insert on posts for each row execute function two()",
    "alter table posts enable row level security",
    "create policy few on posts using (id > 0)",
)


def test_postgresql_tells_what_a_database_holds_and_nothing_of_its_own(
    server: PostgresServer,
) -> None:
    held: dict[str, str] = {}
    with server.connect(name := server.new_database()) as connection:
        for statement in TABLES:
            connection.execute(statement)
        connection.execute(f"alter database {name} set work_mem = '64kB'".encode())
        text = (files("benchvise.why.witness") / "postgresql.sql").read_text()
        for query in filter(str.strip, text.split(";\n")):
            held |= {str(key): str(value) for key, value in connection.execute(query.encode())}
    expected = {
        "index by_post on shares": "CREATE INDEX by_post ON public.shares USING btree (post)",
        "constraint shares_post_fkey on shares": "FOREIGN KEY (post) REFERENCES posts(id)",
        "table shares": "unlogged, autovacuum_enabled=false",
        "table posts": "logged, row security",
        "statistics of posts": "there",
        "column posts.title": "text, not null",
        "column names.name": "text, collation folded of ICU und-u-ks-level2 not deterministic",
        "policy few on posts": "(id > 0)",
        "setting work_mem": "64kB",
    }
    assert {key: held.get(key) for key in expected} == expected
    assert {"view first", "function one()", "trigger before_post on posts"} <= held.keys()
    assert not [key for key in held if "pg_catalog" in key or "information_schema" in key]
