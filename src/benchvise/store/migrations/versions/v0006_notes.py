"""Tags and notes: what users say of their runs."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table of tags, and a place for each run's note."""
    op.create_table(
        "run_tag",
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("run_number", "name", name="pk_run_tag"),
        sa.ForeignKeyConstraint(
            ["run_number"], ["run.number"], name="fk_run_tag_run_number", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_run_tag_name", "run_tag", ["name"])
    op.add_column("run", sa.Column("note", sa.Text(), nullable=False, server_default=""))
