"""Files that ship with the package: suites lie at the top of a checkout, inside a wheel else."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def suites_directory() -> Path:
    """Where the suites are."""
    installed = _PACKAGE / "suites"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "suites"
