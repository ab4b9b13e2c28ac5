"""The first tables: run, series, process, sample."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables and their indexes."""
    op.create_table(
        "run",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("suite", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("host", sa.JSON(), nullable=False),
        sa.Column("tool_version", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("owner", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_run"),
        sa.UniqueConstraint("id", name="uq_run_id"),
    )
    op.create_index("ix_run_label", "run", ["label"])
    op.create_index("ix_run_board", "run", ["board"])
    op.create_index("ix_run_status", "run", ["status"])
    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("benchmark", sa.Text(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("better", sa.Text(), nullable=False),
        sa.Column("counted", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.ForeignKeyConstraint(
            ["run_number"], ["run.number"], name="fk_series_run_number", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("run_number", "position", name="uq_series_run_number_position"),
    )
    op.create_index("ix_series_benchmark", "series", ["benchmark"])
    op.create_table(
        "process",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("begin", sa.JSON(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_process"),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name="fk_process_series_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("series_id", "index", name="uq_process_series_id_index"),
    )
    op.create_table(
        "sample",
        sa.Column("process_id", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("process_id", "index", name="pk_sample"),
        sa.ForeignKeyConstraint(
            ["process_id"], ["process.id"], name="fk_sample_process_id", ondelete="CASCADE"
        ),
    )
