"""Tables of this program's own, against pyarrow's of the same content, and with those who read
them: pandas, polars, pyarrow, DuckDB."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from arrow_tables import arrow_table
from hypothesis import given
from hypothesis import strategies as st

from benchvise.trace import native
from benchvise.trace.tables import arrow_source, table_of, wholes

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    **{
        str(kind): (kind, st.integers(least, most))
        for kind, least, most in (
            (pa.int8(), -128, 127),
            (pa.uint16(), 0, 65535),
            (pa.int32(), -(2**31), 2**31 - 1),
            (pa.int64(), -(2**63) + 1, 2**63 - 1),
            (pa.uint64(), 0, 2**64 - 1),
        )
    },
    "fraction": (pa.float64(), st.floats(allow_nan=False)),
    "boolean": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(max_size=3)),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=3)),
    "record": (pa.struct([("a", pa.int32())]), st.fixed_dictionaries({"a": st.integers(0, 9)})),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Of each type a column, with nulls or without, in some pieces."""
    pieces = draw(st.lists(st.integers(0, 6), max_size=3))
    columns = {}
    for name, (kind, values) in TYPES.items():
        of_column = draw(st.sampled_from((values, st.none() | values)))
        columns[name] = pa.chunked_array(
            [
                pa.array(draw(st.lists(of_column, min_size=rows, max_size=rows)), kind)
                for rows in pieces
            ],
            kind,
        )
    return pa.table(columns)


def whole_numbers(column: pa.ChunkedArray) -> list[int]:
    """What ``integers`` says that it gives."""
    none = 0 if column.type == pa.uint64() else np.iinfo(np.int64).min
    values = [none if value is None else int(value) for value in column.to_pylist()]
    return [value - 2**64 if value >= 2**63 else value for value in values]


@given(tables(), st.data())
def test_a_table_has_what_pyarrows_has(theirs: pa.Table, data: st.DataObject) -> None:
    ours = arrow_table(theirs)
    assert pa.table(ours).equals(theirs)
    assert (len(ours), ours.column_names) == (len(theirs), theirs.column_names)
    assert ours.to_pylist() == theirs.to_pylist()
    for name, (kind, _) in TYPES.items():
        column, wanted = ours[name], theirs[name]
        assert column.to_pylist() == wanted.to_pylist()
        assert [column[row] for row in range(len(column))] == wanted.to_pylist()
        assert column.null_count == wanted.null_count
        assert column.is_valid().tolist() == pc.is_valid(wanted).to_pylist()
        if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            assert column.integers().tolist() == whole_numbers(wanted)
        elif len(ours):
            with pytest.raises(TypeError, match=r"whole numbers"):
                column.integers()
    fractions = [np.nan if value is None else value for value in theirs["fraction"].to_pylist()]
    np.testing.assert_array_equal(ours["fraction"].values(), np.array(fractions, np.float64))
    small = ours["uint16"].values()
    assert small.dtype == np.uint16
    assert small.tolist() == [value or 0 for value in theirs["uint16"].to_pylist()]
    codes, texts = ours["text"].texts()
    assert [texts[code] for code in codes] == [text or "" for text in theirs["text"].to_pylist()]
    assert len(set(texts)) == len(texts)
    sizes, values = ours["list"].lists()
    lists = [each or [] for each in theirs["list"].to_pylist()]
    assert sizes.tolist() == [len(each) for each in lists]
    assert values.tolist() == [value for each in lists for value in each]
    counted = {row["values"]: row["counts"] for row in theirs["int32"].value_counts().to_pylist()}
    assert ours["int32"].counts() == counted

    kept = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(ours), max_size=len(ours))), bool
    )
    rows = np.flatnonzero(kept)[::-1].copy()
    assert ours.filter(kept).to_pylist() == theirs.filter(pa.array(kept, pa.bool_())).to_pylist()
    assert ours.take(rows).to_pylist() == theirs.take(pa.array(rows, pa.int64())).to_pylist()
    assert pa.table(ours.select(["text", "int8"])).equals(theirs.select(["text", "int8"]))
    told = native.Table.from_stream(ours.with_metadata({"left_out": "3"}).stream())
    assert told.metadata == {"left_out": "3"}
    assert told.to_pylist() == theirs.to_pylist()


@pytest.mark.parametrize("in_one_piece", [True, False])
def test_a_kept_table_is_mapped_and_nothing_else_is(tmp_path: Path, in_one_piece: bool) -> None:
    theirs = pa.table(
        {
            "time": pa.chunked_array([[1, 2], [3]], pa.int64()),
            "name": pa.chunked_array([["a", None], ["c"]]),
        }
    )
    file = tmp_path / "table.arrow"
    arrow_table(theirs).write(file, in_one_piece)
    assert pa.ipc.open_file(file).read_all().equals(theirs)
    size, changed = file.stat().st_size, file.stat().st_mtime_ns
    kept = native.KeptTable(file, size, changed)
    for other in ((size + 1, changed), (size, changed + 1)):
        with pytest.raises(ValueError, match="is not as it was written"):
            native.KeptTable(file, *other)
    with pytest.raises(FileNotFoundError):
        native.KeptTable(tmp_path / "none", size, changed)
    file.unlink()  # what is mapped stays
    assert pa.table(kept.table()).equals(theirs)


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"\xff" * 40, b"ARROW1\0\0" + b"\0" * 64])
def test_a_file_that_holds_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "table.arrow"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        native.KeptTable(file, len(content), file.stat().st_mtime_ns).table()


def test_bytes_that_are_cut_are_refused() -> None:
    whole = table_of({"text": ["a", "b"]}).stream()
    for length in (0, 3, 8, 100, len(whole) - 20):
        with pytest.raises(ValueError, match=r"."):
            native.Table.from_stream(whole[:length])


def test_columns_are_made_of_arrays_and_texts() -> None:
    made = table_of(
        {"n": np.array([1, 2], np.uint16), "text": ["a", None], "whole": wholes([None, -5])},
        {"what": "a test"},
    )
    theirs = pa.table(made)
    assert [str(kind) for kind in theirs.schema.types] == ["uint16", "string", "int64"]
    assert theirs.to_pylist() == [
        {"n": 1, "text": "a", "whole": None},
        {"n": 2, "text": None, "whole": -5},
    ]
    again = table_of({"first": made["whole"], "second": np.array([0.5, 1.5])})
    assert again.to_pylist() == [
        {"first": None, "second": 0.5},
        {"first": -5, "second": 1.5},
    ]
    with pytest.raises(ValueError, match="length"):
        table_of({"one": np.array([1]), "two": ["a", "b"]})
    with pytest.raises(TypeError):
        table_of({"one": [1, 2]})
    with pytest.raises(KeyError):
        made.column("nothing")
    with pytest.raises(IndexError):
        made.take(np.array([2]))
    with pytest.raises(IndexError):
        made.take(np.array([-1]))
    with pytest.raises(TypeError, match="rows"):
        made.filter(np.array([True]))


def test_nobody_writes_to_a_column() -> None:
    """The memory is the table's, and that of a mapped file."""
    values = arrow_table({"time": pa.array([1, 2, 3], pa.int64())})["time"].values()
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 5
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        values.flags.writeable = True


@pytest.mark.parametrize("reader", ["pandas", "polars", "duckdb"])
def test_others_read_the_same_rows(reader: str) -> None:
    table = table_of({"cpu": np.array([0, 1, 1], np.uint16), "name": ["a", None, "ü"]})
    rows = table.to_pylist()
    if reader == "duckdb":
        with duckdb.connect(":memory:") as database:
            read = database.from_arrow(table).fetchall()
        assert read == [tuple(row.values()) for row in rows]
    elif reader == "polars":
        assert import_module("polars").DataFrame(table).to_dicts() == rows
    else:
        frame = import_module("pandas").DataFrame.from_arrow(table)
        assert frame["cpu"].tolist() == [0, 1, 1]
        assert frame["name"].fillna("").tolist() == ["a", "", "ü"]


def test_a_database_knows_how_many_rows_there_are() -> None:
    """So that it joins the few rows to the many, whichever the query names first."""
    few = table_of({"id": np.arange(3), "few": np.arange(3)})
    many = table_of({"id": np.arange(50_000) % 3, "many": np.arange(50_000)})
    with duckdb.connect(":memory:") as database:
        database.register("few", arrow_source(few))
        database.register("many", arrow_source(many))
        for tables_of_query in ("few JOIN many USING (id)", "many JOIN few USING (id)"):
            query = f"SELECT sum(many) FROM {tables_of_query}"  # noqa: S608
            (plan,) = database.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
            assert database.execute(query).fetchall() == [(sum(range(50_000)),)]
            sides = _sides(plan[1])
            assert sides == ["many", "few"], tables_of_query  # the second is made a hash table of


def _sides(plan: str) -> list[str]:
    """What the join of a plan reads, each by the name of its column that is no other's."""
    waiting = json.loads(plan)
    while waiting:
        node = waiting.pop()
        if node["name"] == "HASH_JOIN":
            texts = [json.dumps(child) for child in node["children"]]
            return ["many" if '50000"' in text else "few" for text in texts]
        waiting += node["children"]
    raise AssertionError("no join")
