"""Series are found by the hash of their key, and their runs are counted when they are measured."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_HASHES = sa.table("series_key", sa.column("key", sa.Text()), sa.column("hash", sa.BigInteger()))
_SERIES = sa.table("series", sa.column("key", sa.Text()), sa.column("key_hash", sa.BigInteger()))


def upgrade() -> None:
    """Hash the keys, count the runs, make the indexes."""
    op.add_column(
        "series", sa.Column("key_hash", sa.BigInteger(), server_default="0", nullable=False)
    )
    op.create_table(
        "series_count",
        sa.Column("key_hash", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("benchmark", sa.Text(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key_hash", "board", name="pk_series_count"),
    )
    _hash_keys()
    op.create_index("ix_series_key_hash_run_number", "series", ["key_hash", "run_number"])
    op.execute(
        "INSERT INTO series_count (key_hash, board, key, benchmark, runs)"
        " SELECT series.key_hash, run.board, min(series.key), min(series.benchmark),"
        " count(DISTINCT series.run_number)"
        " FROM series JOIN run ON run.number = series.run_number"
        " WHERE EXISTS (SELECT 1 FROM process JOIN sample ON sample.process_id = process.id"
        " WHERE process.series_id = series.id)"
        " GROUP BY series.key_hash, run.board"
    )
    op.create_index("ix_run_suite", "run", ["suite"])


def _hash_keys() -> None:
    """By a table of the different keys, as neither database has the hash as a function."""
    connection = op.get_bind()
    connection.exec_driver_sql("CREATE TEMPORARY TABLE series_key (key TEXT, hash BIGINT)")
    keys = connection.execute(sa.select(_SERIES.c.key).distinct()).scalars().all()
    if keys:
        rows = [{"key": key, "hash": _hash(key)} for key in keys]
        connection.execute(_HASHES.insert(), rows)
        connection.execute(
            _SERIES.update().values(key_hash=_HASHES.c.hash).where(_HASHES.c.key == _SERIES.c.key)
        )
    connection.exec_driver_sql("DROP TABLE series_key")


def _hash(key: str) -> int:
    digest = hashlib.sha256(str(key).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
