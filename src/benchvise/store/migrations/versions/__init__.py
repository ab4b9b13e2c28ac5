"""One module a revision; Alembic finds them by their files."""
