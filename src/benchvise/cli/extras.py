"""Which packages an extra of the wheel brings, and what to say when one is missing."""

from __future__ import annotations

from collections.abc import Mapping

from benchvise.errors import BenchviseError

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "trace": ("duckdb", "pyarrow"),
    "rig": ("attr", "backports", "elftools", "grpc", "labgrid", "pexpect", "serial", "yaml"),
    "web": ("starlette", "uvicorn"),
    "postgres": ("psycopg",),
}
"""Modules by the extra that brings them."""


def missing_extra(error: ModuleNotFoundError) -> BenchviseError | None:
    """The error for a module of an extra that is not installed; None for any other module."""
    module = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return BenchviseError(
                f"this command needs {module}, which is not installed",
                f"pip install 'benchvise[{extra}]'",
            )
    return None
