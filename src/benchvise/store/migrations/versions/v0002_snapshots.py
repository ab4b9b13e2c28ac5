"""Snapshots of boards' states, taken around runs, and what must be said of a run."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables for states and snapshots, and give runs their remarks."""
    op.create_table(
        "state",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("settings", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_state"),
    )
    op.create_table(
        "snapshot",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("moment", sa.String(6), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("observations", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_snapshot"),
        sa.ForeignKeyConstraint(
            ["run_number"], ["run.number"], name="fk_snapshot_run_number", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["digest"], ["state.digest"], name="fk_snapshot_digest"),
        sa.UniqueConstraint("run_number", "moment", name="uq_snapshot_run_number_moment"),
    )
    op.create_index("ix_snapshot_digest", "snapshot", ["digest"])
    op.add_column("run", sa.Column("remarks", sa.JSON(), nullable=False, server_default="{}"))
