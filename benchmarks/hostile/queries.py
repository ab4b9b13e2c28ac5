"""Queries that a grammar makes: about half are SQL that can be answered, many ask for too much,
some are nothing at all.

Each kind is hostile in a way of its own; what is nested, how far, how large and over which table is
drawn. ``wild`` knows no types: it joins whatever the grammar of SQL lets stand together.
"""

# ruff: noqa: S608, S311 - queries by chance are what this is for

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

_NUMBERS = {
    "sched_switch": ("time", "cpu", "next_pid", "prev_prio"),
    "sched_waking": ("time", "cpu", "pid"),
    "events": ("time", "cpu", "row"),
    "instances": ("actor", "begin", "execution"),
    "fragments": ("actor", "begin"),
    "waits": ("actor", "begin"),
    "tasks": ("tid",),
    "actors": ("actor", "tid"),
    "event_index": ("time", "event", "row"),
    "selection": ("begin",),
}
_TEXTS = (
    "'x'",
    "''",
    "'\u202e\x1b[31m<b>'",
    "'a' || repeat('a', 30)",
    "'(a+)+$'",
    "chr(233)",
    "'%s%n'",
    "md5('x')",
    "current_setting('threads')",
)
_LITERALS = (
    *("0", "1", "-1", "2147483648", "9223372036854775807", "-9223372036854775808", "1e308", "-0.0"),
    *("170141183460469231731687303715884105727", "1e999", "'nan'::FLOAT", "'inf'::DOUBLE", "NULL"),
    *("'\\x00'::BLOB", "DATE '9999-12-31'", "TIMESTAMP 'infinity'", "INTERVAL 2147483647 YEARS"),
    *("[]", "[[1], [2, NULL]]", "{'a': {'b': [1]}}", "MAP {1: 'x'}", "true", "uuid()", "random()"),
    *("0.1::DECIMAL(38,37)", "'2020-01-01 00:00:00+14'::TIMESTAMPTZ", "'1010'::BIT"),
)
_FUNCTIONS = (
    *("abs", "sum", "count", "min", "max", "avg", "median", "mode", "list", "string_agg", "hash"),
    *("histogram", "quantile_cont", "md5", "sha256", "repeat", "lpad", "range", "list_sort"),
    *("list_aggregate", "array_agg", "regexp_replace", "regexp_matches", "levenshtein", "printf"),
    *("format", "strptime", "to_timestamp", "epoch_ms", "bitstring", "factorial", "pow", "gamma"),
    *("sqrt", "chr", "unicode", "encode", "decode", "from_base64", "json_extract", "error"),
    *("struct_pack", "map", "cardinality", "row_number", "lag", "ntile", "approx_quantile"),
)
_TYPES = (
    *("TINYINT", "HUGEINT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "INTERVAL", "BIT", "INT[]"),
    *("UUID", "DECIMAL(38, 10)", "TIMESTAMP", "JSON", "STRUCT(a INT)", "MAP(INT, VARCHAR)"),
)
_OPERATORS = (
    *("+", "-", "*", "/", "//", "%", "**", "||", "=", "<", "IS DISTINCT FROM", "AND", "OR"),
    *("LIKE", "SIMILAR TO", "<<", ">>", "&", "^@", "->>"),
)
_OUTSIDE = (
    "SELECT * FROM read_csv('{path}')",
    "SELECT * FROM read_text('{path}')",
    "SELECT * FROM read_blob('{path}')",
    "SELECT * FROM read_json('{path}')",
    "SELECT * FROM read_parquet('{path}')",
    "SELECT * FROM '{path}'",
    "SELECT * FROM glob('{path}*')",
    "SELECT getenv('HOME')",
    "SELECT * FROM sniff_csv('{path}')",
    "SELECT * FROM sqlite_scan('{path}', 'x')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('tasks')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_version()",
    "SELECT * FROM arrow_scan({number}, {number}, {number})",
    "SELECT * FROM pandas_scan({number})",
    "SELECT * FROM seq_scan('tasks')",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT (SELECT content FROM read_text('{path}'))",
    "WITH x AS (FROM read_text('{path}')) FROM x",
    "SELECT * FROM range(3) WHERE EXISTS (FROM '{path}')",
    "SELECT current_setting('home_directory')",
    "SELECT write_log('x')",
    "SELECT parse_path('{path}'), current_database()",
)
_PATHS = (
    *("/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/dev/zero", "/dev/stdin", "/", "~/"),
    *("https://example.org/x.csv", "s3://bucket/x.parquet", "../../store.db", "/sys/kernel/*"),
    *("hf://datasets/x", "\\\\host\\share", "/var/[a-z]*", "/**/*"),
)
_STATEMENTS = (
    *("ATTACH '{path}'", "ATTACH '{path}' AS x (TYPE sqlite)", "COPY tasks TO '{path}'"),
    *(
        "COPY tasks FROM '{path}'",
        "CREATE TABLE t AS SELECT 1",
        "DROP TABLE tasks",
        "DETACH memory",
    ),
    *("SET memory_limit='100GB'", "SET threads={number}", "SET enable_external_access=true"),
    *("SET lock_configuration=false", "RESET memory_limit", "PRAGMA enable_profiling"),
    *("PRAGMA database_list", "INSTALL httpfs", "LOAD httpfs", "LOAD '{path}'", "CHECKPOINT"),
    *(
        "FORCE INSTALL spatial FROM community",
        "EXPORT DATABASE '{path}'",
        "IMPORT DATABASE '{path}'",
    ),
    *("CALL pragma_version()", "DELETE FROM tasks", "UPDATE tasks SET tid = 1", "BEGIN", "VACUUM"),
    *("EXPLAIN SELECT 1", "EXPLAIN ANALYZE FROM tasks", "PREPARE p AS SELECT ?", "EXECUTE p(1)"),
    *(
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE tasks",
        ";",
        "--",
        "/*",
        "SELECT 1 --",
        "SELECT ?",
    ),
    *("CREATE MACRO m(x) AS x", "CREATE SECRET s (TYPE s3)", "USE memory", "SELECT $1"),
    *("CREATE FUNCTION f() AS 1", "COMMENT ON TABLE tasks IS 'x'", "ALTER TABLE tasks ADD x INT"),
    *("SHOW TABLES", "SHOW ALL TABLES", "DESCRIBE sched_switch", "SUMMARIZE tasks", "FROM tables"),
    *("VALUES (1, NULL)", "PIVOT tasks ON tid USING count(*)", "TABLE tasks", "SELECT"),
    *(
        "UNPIVOT tasks ON COLUMNS(*) INTO NAME n VALUE v",
        "SELECT * FROM nothing",
        "DESCRIBE '{path}'",
    ),
)


def queries(seed: int) -> Iterator[tuple[str, str]]:
    """Kinds and queries without end; the same of the same seed."""
    chance = random.Random(seed)
    grammar = _Grammar(chance)
    kinds = list(grammar.kinds)
    shares = [grammar.kinds[kind][0] for kind in kinds]
    while True:
        (kind,) = chance.choices(kinds, shares)
        yield kind, grammar.kinds[kind][1]()


class _Grammar:
    """``kinds`` are shares and what makes a query."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.kinds: dict[str, tuple[int, Callable[[], str]]] = {
            "aggregate": (14, self._aggregate),
            "recursion": (6, self._recursion),
            "cross product": (6, self._cross_product),
            "blow-up": (12, self._blow_up),
            "window": (8, self._window),
            "regex": (7, self._regex),
            "nesting": (8, self._nesting),
            "literal": (9, self._literal),
            "outside": (8, self._outside),
            "statement": (6, self._statement),
            "wild": (8, lambda: self._select(chance.choice((1, 2, 2, 3, 4)))),
            "broken": (8, self._broken),
        }

    def _one(self, *of: str) -> str:
        return self._chance.choice(of)

    def _size(self, *of: int) -> int:
        """A number up to one of these, each as often."""
        return self._chance.randint(0, self._chance.choice(of))

    # -- what can be answered ----------------------------------------------------------------------

    def _table(self) -> tuple[str, str]:
        """A table, and a column of numbers of it."""
        table = self._chance.choice(list(_NUMBERS))
        return table, f'"{self._chance.choice(_NUMBERS[table])}"'

    def _number(self, column: str, depth: int) -> str:
        """An expression of numbers."""
        if depth <= 0 or self._chance.random() < 0.25:
            return self._one(column, column, "0", "1", "-1", "3.5", "NULL", "1e300", "random()")
        inner, other = self._number(column, depth - 1), self._number(column, depth - 1)
        return self._one(
            f"({inner} + {other})",
            f"({inner} - {other})",
            f"({inner}::DOUBLE * {other})",
            f"({inner} / nullif({other}, 0))",
            f"coalesce({inner}, {other})",
            f"abs({inner}::DOUBLE)",
            f"greatest({inner}, {other})",
            f"CASE WHEN {inner} > {other} THEN {inner} ELSE {other} END",
            f"TRY_CAST({inner} AS {self._one('TINYINT', 'DOUBLE', 'HUGEINT')})",
            f"len(({inner})::VARCHAR)",
            f"list_sum([{inner}, {other}])",
            f"hash({inner}) % 1000",
        )

    def _aggregate(self) -> str:
        table, column = self._table()
        inner = self._number(column, self._chance.randint(0, 4))
        made = self._one(
            *("count(*)", f"max({inner})", f"min({inner})", f"approx_count_distinct({inner})"),
            *(f"list({inner})", f"string_agg({inner}::VARCHAR, ',')", f"histogram({inner})"),
            *(f"quantile_cont(({inner})::DOUBLE, [0.1, 0.9])", f"sum(({inner})::DOUBLE)"),
            *(f"mode({inner})", f"count(DISTINCT {inner})", f"array_agg({inner} ORDER BY {inner})"),
        )
        where = f" WHERE {self._number(column, 2)} IS NOT NULL" if self._size(1) else ""
        group = self._one("", f" GROUP BY {column}", f" GROUP BY CUBE ({column})", " GROUP BY ALL")
        return f"SELECT {made} FROM {table}{where}{group}"

    def _recursion(self) -> str:
        most = self._size(10, 1000, 100_000)
        step = self._one("n + 1", "n + 1", "n * 2", "(n + 1) % 1000003", "n || n", "[n]")
        endless = self._chance.random() < 0.03
        until = "true" if endless else self._one(f"n < {most}", f"len(n::VARCHAR) < {most // 9}")
        union = self._one("UNION", "UNION ALL")
        sources = self._one("r", "r", "r", "r, r q", "r, tasks")
        step = step.replace("n", "r.n") if sources != "r" else step
        until = until.replace("n ", "r.n ") if sources != "r" else until
        end = self._one("count(*)", "max(n)", "*", "list(n)")
        body = f"SELECT 1 AS n {union} SELECT {step} FROM {sources} WHERE {until}"
        return f"WITH RECURSIVE r AS ({body}) SELECT {end} FROM r"

    def _cross_product(self) -> str:
        tables = [
            self._one(
                "tasks", "actors", "selection", "waits", f"range({self._size(10, 1000, 1000)})"
            )
            for _ in range(self._chance.randint(2, 3))
        ]
        joined = ", ".join(f"{table} AS t{number}" for number, table in enumerate(tables))
        kept = self._one("count(*)", "*", "*", "*", "count(DISTINCT t0)", "max(hash(t0, t1))")
        end = self._one("", " LIMIT 10", " LIMIT 10", " LIMIT 100000", " ORDER BY ALL LIMIT 5")
        return f"SELECT {kept} FROM {joined}{end}"

    def _blow_up(self) -> str:
        size = self._size(100, 10_000, 1_000_000, 100_000_000, 4_000_000_000)
        less = self._size(10, 1000, 100_000)
        return self._one(
            f"SELECT length(repeat('x', {size}))",
            f"SELECT repeat('\u00e9', {size})",
            f"SELECT len(range({size}))",
            f"SELECT list_sort(range({size}))",
            f"SELECT unnest(range({size}))",
            f"SELECT lpad('x', {min(size, 2**31 - 1)}, 'ab')",
            f"SELECT md5(repeat(repeat('x', {less}), {less}))",
            f"SELECT length(string_agg(range::VARCHAR, '')) FROM range({size})",
            f"SELECT json_group_array(range) FROM range({less})",
            f"SELECT to_json(range({less}))",
            f"SELECT json_extract(to_json(range({less})), '$[*]')",
            f"SELECT (repeat('[', {less}) || repeat(']', {less}))::JSON",
            f"SELECT map_from_entries([(x, repeat('y', 10)) FOR x IN range({less})])",
            f"SELECT list_transform(range({less}), x -> range(x))",
            f"SELECT array_to_string(list_transform(range({less}), x -> 'abc'), 'def')",
            f"SELECT list(tid) FROM tasks, range({less})",
            f"SELECT string_split(repeat('a,', {less}), ',')",
            f"SELECT bit_count(bitstring('1', {size % 2**31}))",
            f"SELECT printf('%{less}d', 1), format('{{:>{less}}}', 1)",
            f"SELECT [[range({less}) FOR x IN range({less})] FOR y IN range(3)]",
            f"SELECT flatten([range({less}), range({less})])",
            f"SELECT 2::HUGEINT ** {less}, factorial({less % 40})",
            f"FROM repeat('x', {size})",
            f"SELECT * FROM generate_series(0, {size}) ORDER BY 1 DESC",
        )

    def _window(self) -> str:
        table, column = self._table()
        function = self._one(
            *(
                "row_number()",
                f"lag({column}, {self._size(3, 1_000_000)})",
                f"sum({column}::DOUBLE)",
            ),
            *("ntile(3)", "cume_dist()", f"list({column})", f"median({column})", "dense_rank()"),
            *(f"first_value({column} IGNORE NULLS)", f"string_agg({column}::VARCHAR)"),
        )
        unit = self._one("ROWS", "ROWS", "RANGE", "GROUPS")
        reach = self._one("UNBOUNDED", str(self._size(5, 1000, 10**9)), f"{column} % 5")
        after = self._one("CURRENT ROW", "UNBOUNDED FOLLOWING", f"{self._size(9, 10**6)} FOLLOWING")
        frame = self._one("", f"{unit} BETWEEN {reach} PRECEDING AND {after}")
        without = self._one("", "", " EXCLUDE TIES") if frame else ""
        parts = self._one("", f"PARTITION BY {column} % 7 ")
        over = f"{parts}ORDER BY {column} {frame}{without}"
        return f"SELECT {function} OVER ({over}) FROM {table} LIMIT {self._size(5, 5000)}"

    def _regex(self) -> str:
        pattern = self._one(
            *(
                "(a+)+$",
                "(a|aa)+$",
                "(.*)*x",
                "([a-z]+)*\\d",
                "a{1000}",
                "(a{1,100}){1,100}",
                "\\p{L}*",
            ),
            *(
                "(?i)x",
                "^(([a-z])+.)+[A-Z]([a-z])+$",
                "(x+x+)+y",
                "[",
                "(",
                "\\",
                "a{2,1}",
                "(?<n>a)",
            ),
            *("(((((((((a?)*)*)*)*)*)*)*)*)*", "." * self._size(10, 500), "[^a]{0,999}"),
        ).replace("'", "''")
        text = self._one(f"repeat('a', {self._size(30, 1000, 1_000_000)})", "'x\ny'", "name")
        source = " FROM tasks" if text == "name" else ""
        made = self._one(
            f"regexp_matches({text}, '{pattern}')",
            f"regexp_replace({text}, '{pattern}', '\\0\\0', 'g')",
            f"regexp_extract_all({text}, '{pattern}')",
            f"regexp_split_to_array({text}, '{pattern}')",
            f"{text} SIMILAR TO '{pattern}'",
            f"{text} LIKE '%{'%_' * self._size(5, 200)}%'",
            f"{text} GLOB '*a*a*a*b'",
            f"levenshtein({text}, {text})",
            f"jaro_winkler_similarity({text}, {text})",
        )
        return f"SELECT {made}{source}"

    def _nesting(self) -> str:
        times = self._size(10, 100, 500, 2000)
        before, end, after = self._chance.choice(
            (
                ("(", "1", ")"),
                ("[", "1", "]"),
                ("- ", "1", ""),
                ("abs(", "1", ")"),
                ("CASE WHEN true THEN ", "1", " END"),
                ("NOT ", "true", ""),
                ("{'a': ", "1", "}"),
                ("(SELECT ", "1", ")"),
                ("coalesce(NULL, ", "1", ")"),
                ("1 + ", "1", ""),
                ("'x' || ", "'y'", ""),
                ("true AND (", "true", ")"),
                ("1 IN (", "1", ")"),
            )
        )
        ways = (
            f"SELECT {before * times}{end}{after * times}",
            f"SELECT {before * times}{end}{after * times}",
            f"SELECT * FROM {'(SELECT * FROM ' * times}tasks{')' * times}",
            " UNION ALL ".join(["SELECT 1"] * (times + 1)),
            f"SELECT {', '.join(['1'] * (times + 1))}",
            f"SELECT '{'[' * times}{']' * times}'::JSON",
            f"SELECT NULL::INT{'[]' * times}",
            f"SELECT * FROM {', '.join(f'tasks t{n}' for n in range(times + 1))} LIMIT 1",
            f"WITH {', '.join(f'c{n} AS (SELECT {n} x)' for n in range(times + 1))} FROM c0",
        )
        return self._one(*ways)[:19_999]

    def _literal(self) -> str:
        digits = self._one("9", "1", "0") * self._size(5, 40, 400, 15_000)
        one, other = self._one(*_LITERALS), self._one(*_LITERALS)
        return self._one(
            f"SELECT {digits or 0}",
            f"SELECT {digits or 0}e{self._size(5, 400)}",
            f"SELECT '{digits}'",
            f'SELECT 1 AS "{digits or 0}"',
            f"SELECT {one}, {other}",
            f"SELECT {one}, {other}, {one}",
            f"SELECT TRY_CAST({one} AS {self._one(*_TYPES)})",
            f"SELECT TRY_CAST({self._one(*_TEXTS)} AS {self._one(*_TYPES)})",
            f"SELECT {one}::VARCHAR",
            f"SELECT CAST({one} AS {self._one(*_TYPES)})",
            f"SELECT [{one}], typeof({other})",
            f"VALUES ({one}), ({other})",
            f"SELECT {one} {self._one(*_OPERATORS)} {other}",
            f"SELECT {self._one(*_TEXTS)}, upper({self._one(*_TEXTS)})",
        )

    # -- what cannot, mostly -----------------------------------------------------------------------

    def _outside(self) -> str:
        return self._filled(self._one(*_OUTSIDE))

    def _statement(self) -> str:
        return self._filled(self._one(*_STATEMENTS))

    def _filled(self, text: str) -> str:
        number = str(self._size(10, 2**31, 2**63))
        return text.replace("{path}", self._one(*_PATHS)).replace("{number}", number)

    def _broken(self) -> str:
        """A query with a part left out, doubled, or replaced by any characters."""
        made = (self._aggregate, self._window, self._literal, self._blow_up, self._regex)
        query = self._chance.choice(made)()
        begin, end = sorted(self._chance.choices(range(len(query) + 1), k=2))
        middle = self._one(
            *("", query[begin:end] * 2, "\x00", "\U0010ffff", "(", "'", "\n;", "\ud800", "\udfff"),
            *("\u2028", "/*", "$$", '"', "\ufeff", "\x1a"),
        )
        return query[:begin] + middle + query[end:]

    def _select(self, depth: int) -> str:
        parts = [f"SELECT {self._some(depth)}", f"FROM {self._source(depth)}"]
        if self._chance.random() < 0.4:
            parts.append(f"WHERE {self._expression(depth)}")
        if self._chance.random() < 0.25:
            parts.append(f"GROUP BY {self._one('ALL', '1', 'CUBE (1, 2)')}")
        if self._chance.random() < 0.25:
            parts.append(f"ORDER BY {self._one('ALL', '1 DESC', 'random()')}")
        if self._chance.random() < 0.5:
            limits = ("10", "100000", "9223372036854775807", "50%", "-1", "NULL")
            parts.append(f"LIMIT {self._one(*limits)}")
        return " ".join(parts)

    def _source(self, depth: int) -> str:
        kind = self._chance.random()
        if depth and kind < 0.2:
            return f"({self._select(depth - 1)})"
        if depth and kind < 0.5:
            join = self._one(", ", " CROSS JOIN ", " NATURAL JOIN ", " ASOF JOIN ", " FULL JOIN ")
            left, right = self._source(depth - 1), self._source(depth - 1)
            on = f" ON {self._expression(1)}" if "ASOF" in join or "FULL" in join else ""
            return f"{left} a{join}{right} b{on}"
        return self._one(*_NUMBERS, "range(10)", "unnest([1, 2, NULL])", "nothing")

    def _expression(self, depth: int) -> str:
        kind = self._chance.random()
        if depth <= 0 or kind < 0.3:
            return self._one("*", "time", "cpu", "tid", "COLUMNS(*)", "rowid", *_LITERALS)
        if kind < 0.6:
            over = " OVER ()" if self._chance.random() < 0.1 else ""
            return f"{self._one(*_FUNCTIONS)}({self._some(depth - 1)}){over}"
        left = self._expression(depth - 1)
        if kind < 0.8:
            return f"({left} {self._one(*_OPERATORS)} {self._expression(depth - 1)})"
        if kind < 0.9:
            return f"TRY_CAST({left} AS {self._one(*_TYPES)})"
        if kind < 0.95:
            return f"[x FOR x IN {left} IF x]"
        return f"({self._select(depth - 1)})"

    def _some(self, depth: int) -> str:
        return ", ".join(self._expression(depth) for _ in range(self._chance.randint(1, 3)))
