"""``python -m benchvise``."""

from benchvise.cli.main import entry

entry()
