"""Which packages an extra of the wheel brings, and what to say when one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from traceback import walk_tb

from benchvise.errors import BenchviseError

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "why": ("numpy",),
    "trace": ("duckdb", "numpy"),
    "rig": ("attr", "backports", "elftools", "grpc", "labgrid", "pexpect", "serial", "yaml"),
    "web": ("numpy", "starlette", "uvicorn"),
    "postgres": ("psycopg",),
}
"""Modules by the extra that brings them: of one that several bring, the least extra first."""


def missing_extra(error: ModuleNotFoundError) -> BenchviseError | None:
    """The error for a module of an extra that is not installed; None for any other module."""
    module = (error.name or "").partition(".")[0]
    extras = [extra for extra, modules in EXTRAS.items() if module in modules]
    if not extras:
        return None
    # The extra of the package that asked for it, which needs the rest of that extra too.
    asking = {frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)}
    packages = {".".join(name.split(".")[:2]) for name in asking}
    extra = next((extra for extra in extras if f"benchvise.{extra}" in packages), extras[0])
    return BenchviseError(
        f"this command needs {module}, which is not installed",
        f"pip install 'benchvise[{extra}]'",
    )
