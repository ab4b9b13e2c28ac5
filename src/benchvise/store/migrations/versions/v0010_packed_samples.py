"""Samples of a process are packed into it; see ``store.packed_samples``, which does the same."""

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_Sample: TypeAlias = tuple[Any, ...]
_AT_ONCE = 500
"""Processes whose samples are in memory at once."""
_MOST_EVIDENCE = 16 << 20

_PROCESS = sa.table(
    "process",
    sa.column("id", sa.Integer()),
    sa.column("packed_samples", sa.Integer()),
    sa.column("packed_values", sa.LargeBinary()),
)
_EVIDENCE = sa.table(
    "evidence",
    sa.column("process_id", sa.Integer()),
    sa.column("packed", sa.LargeBinary()),
)


def upgrade() -> None:
    """Pack all samples but those that cannot be: they stay rows, and are read as such."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        # In the order in which a sample is added, so that nobody who measures is lost meanwhile.
        op.execute("LOCK TABLE sample, process IN ACCESS EXCLUSIVE MODE")
    op.add_column(
        "process", sa.Column("packed_samples", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column("process", sa.Column("packed_values", sa.LargeBinary(), nullable=True))
    op.create_table(
        "evidence",
        sa.Column("process_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["process_id"],
            ["process.id"],
            name="fk_evidence_process_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("process_id", name="pk_evidence"),
    )
    change = (
        _PROCESS.update()
        .where(_PROCESS.c.id == sa.bindparam("of_process"))
        .values(packed_samples=sa.bindparam("count"), packed_values=sa.bindparam("numbers"))
    )
    are_all_packed = True
    for rows in _processes(connection):
        packed = [_pack(process, samples) for process, samples in rows]
        done = [values for values in packed if values is not None]
        are_all_packed &= len(done) == len(packed)
        evidence = [
            {"process_id": values["of_process"], "packed": values.pop("evidence")}
            for values in done
        ]
        if done:
            connection.execute(change, done)
            connection.execute(_EVIDENCE.insert(), evidence)
    if not are_all_packed:
        op.execute(
            "DELETE FROM sample WHERE EXISTS (SELECT 1 FROM process"
            " WHERE process.id = sample.process_id AND process.packed_samples > 0)"
        )
    elif connection.dialect.name == "postgresql":
        op.execute("TRUNCATE sample")  # which gives the disk its space back
    else:
        op.execute("DELETE FROM sample")


def _processes(connection: sa.Connection) -> Iterator[list[tuple[int, list[_Sample]]]]:
    """The samples of some processes after others."""
    is_server = connection.dialect.name == "postgresql"
    # As bytes: in SQLite any program may have left bytes that are no text.
    evidence = "convert_to(evidence::text, 'UTF8')" if is_server else "CAST(evidence AS BLOB)"
    statement = sa.text(
        f'SELECT process_id, "index", value, {evidence} FROM sample'  # noqa: S608 - no value in it
        ' WHERE process_id BETWEEN :first AND :last ORDER BY process_id, "index"'
    )
    newest = None
    while True:
        numbers = sa.select(_PROCESS.c.id).order_by(_PROCESS.c.id).limit(_AT_ONCE)
        if newest is not None:
            numbers = numbers.where(_PROCESS.c.id > newest)
        some = connection.execute(numbers).scalars().all()
        if not some:
            return
        newest = some[-1]
        rows = connection.execute(statement, {"first": some[0], "last": newest})
        yield [
            (process, [tuple(sample)[1:] for sample in samples])
            for process, samples in groupby(rows, key=itemgetter(0))
        ]


def _pack(process: int, samples: Sequence[_Sample]) -> dict[str, Any] | None:
    """A process' new columns and its evidence; None for what another program has written."""
    indexes, values, texts = zip(*samples, strict=True)
    if not all(isinstance(index, int) and 0 <= index < 2**31 for index in indexes):
        return None
    if not all(value is None or isinstance(value, int | float) for value in values):
        return None
    if not all(isinstance(text, bytes) for text in texts):
        return None
    evidence = b"[" + b",".join(texts) + b"]"
    if len(evidence) > _MOST_EVIDENCE:
        return None
    numbers = [math.nan if value is None else value for value in values]
    packed = struct.pack(f"<{len(numbers)}d", *numbers)
    if list(indexes) != list(range(len(indexes))):
        packed += struct.pack(f"<{len(indexes)}i", *indexes)
    return {
        "of_process": process,
        "count": len(numbers),
        "numbers": packed,
        "evidence": zlib.compress(evidence),
    }
