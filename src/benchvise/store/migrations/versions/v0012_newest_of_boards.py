"""The newest run of each board, and how many it has, are found in an index alone."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the index of boards one of boards and numbers."""
    op.drop_index("ix_run_board", "run")
    op.create_index("ix_run_board", "run", ["board", "number"])
