"""Runs that have a note are found without a look at the others."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_IS_NOTED = sa.text("note != ''")


def upgrade() -> None:
    """Make the index."""
    op.create_index(
        "ix_run_noted", "run", ["number"], sqlite_where=_IS_NOTED, postgresql_where=_IS_NOTED
    )
