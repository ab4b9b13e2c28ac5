"""When the process of a run was heard of last, and the boards that boot now."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the column, and make the table."""
    op.add_column("run", sa.Column("heard", sa.DateTime(timezone=True)))
    op.create_table(
        "boot",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("owner", sa.JSON(), nullable=False),
        sa.Column("began", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heard", sa.DateTime(timezone=True), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("phase_s", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_boot"),
    )
