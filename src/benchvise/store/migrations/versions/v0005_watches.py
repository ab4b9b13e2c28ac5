"""Watches: what happened to boards over days and weeks."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables of watches."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "watched",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("machine", sa.String(64), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("memory", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_watched"),
        sa.UniqueConstraint("board", "machine", name="uq_watched_board_machine"),
    )
    op.create_table(
        "watch_span",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("watched_number", sa.Integer(), nullable=False),
        sa.Column("began", moment, nullable=False),
        sa.Column("until", moment, nullable=False),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("interval", sa.Double(), nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("ending", sa.Text(), nullable=False),
        sa.Column("cpu", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_watch_span"),
        _of_board("watch_span"),
    )
    op.create_index("ix_watch_span_watched_number_began", "watch_span", ["watched_number", "began"])
    op.create_table(
        "watch_metric",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("watched_number", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_watch_metric"),
        _of_board("watch_metric"),
        sa.UniqueConstraint("watched_number", "name", name="uq_watch_metric_watched_number_name"),
    )
    op.create_table(
        "watch_change",
        sa.Column("metric_id", sa.Integer(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("since", moment, nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("delta", sa.Double(), nullable=True),
        sa.Column("anew", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("metric_id", "at", name="pk_watch_change"),
        _of_metric("watch_change"),
    )
    op.create_table(
        "watch_range",
        sa.Column("metric_id", sa.Integer(), nullable=False),
        sa.Column("began", moment, nullable=False),
        sa.Column("until", moment, nullable=False),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("low", sa.Double(), nullable=False),
        sa.Column("high", sa.Double(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("metric_id", "began", name="pk_watch_range"),
        _of_metric("watch_range"),
    )
    op.create_table(
        "watch_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("watched_number", sa.Integer(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("last", moment, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_watch_event"),
        _of_board("watch_event"),
    )
    op.create_index("ix_watch_event_watched_number_last", "watch_event", ["watched_number", "last"])


def _of_board(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_watched_number"
    return sa.ForeignKeyConstraint(
        ["watched_number"], ["watched.number"], name=name, ondelete="CASCADE"
    )


def _of_metric(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_metric_id"
    return sa.ForeignKeyConstraint(
        ["metric_id"], ["watch_metric.id"], name=name, ondelete="CASCADE"
    )
