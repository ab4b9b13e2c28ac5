"""Notes on traces."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the table and its index."""
    op.create_table(
        "trace_note",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("trace", sa.String(64), nullable=False),
        sa.Column("begin", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("row", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("written", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_trace_note"),
        sa.UniqueConstraint("id", name="uq_trace_note_id"),
    )
    op.create_index("ix_trace_note_trace", "trace_note", ["trace"])
