"""Diagnoses: why two sides differ."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table for diagnoses."""
    op.create_table(
        "diagnosis",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("kept", sa.DateTime(timezone=True), nullable=False),
        sa.Column("good", sa.Text(), nullable=False),
        sa.Column("bad", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("headline", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("tool_version", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_diagnosis"),
        sa.UniqueConstraint("id", name="uq_diagnosis_id"),
    )
