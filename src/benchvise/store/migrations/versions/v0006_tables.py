"""All tables of the first stores.

Its number is that of the last of six that came before, so that stores which those made are brought
up to date, too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables and their indexes."""
    _make_runs()
    _make_snapshots()
    _make_diagnoses()
    _make_watches()


def _make_runs() -> None:
    op.create_table(
        "run",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("board", sa.Text(), nullable=False),
        sa.Column("suite", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("started", _MOMENT, nullable=False),
        sa.Column("finished", _MOMENT, nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("host", sa.JSON(), nullable=False),
        sa.Column("tool_version", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("owner", sa.JSON(), nullable=False),
        sa.Column("remarks", sa.JSON(), nullable=False, server_default="{}"),
        sa.Column("note", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("number", name="pk_run"),
        sa.UniqueConstraint("id", name="uq_run_id"),
    )
    op.create_index("ix_run_label", "run", ["label"])
    op.create_index("ix_run_board", "run", ["board"])
    op.create_index("ix_run_status", "run", ["status"])
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


def _make_snapshots() -> None:
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


def _make_diagnoses() -> None:
    op.create_table(
        "diagnosis",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("kept", _MOMENT, nullable=False),
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


def _make_watches() -> None:
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
        sa.Column("began", _MOMENT, nullable=False),
        sa.Column("until", _MOMENT, nullable=False),
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
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("since", _MOMENT, nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("delta", sa.Double(), nullable=True),
        sa.Column("anew", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("metric_id", "at", name="pk_watch_change"),
        _of_metric("watch_change"),
    )
    op.create_table(
        "watch_range",
        sa.Column("metric_id", sa.Integer(), nullable=False),
        sa.Column("began", _MOMENT, nullable=False),
        sa.Column("until", _MOMENT, nullable=False),
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
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("last", _MOMENT, nullable=False),
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
