"""Files that belong to a run, such as the console of its boot."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table for attachments."""
    op.create_table(
        "attachment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_attachment"),
        sa.ForeignKeyConstraint(
            ["run_number"], ["run.number"], name="fk_attachment_run_number", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("run_number", "name", name="uq_attachment_run_number_name"),
    )
