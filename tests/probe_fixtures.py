"""The probe, as built for boards and with sanitizers, as fixtures.

A plugin, so that modules share what is built: name it in ``pytest_plugins``.
"""

from __future__ import annotations

import os
import platform
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import ROOT, RUNNER, Line, Running, build, run

SANITIZED = ROOT / "build" / "probe-asan"
STATIC = ROOT / "src" / "benchvise" / "board" / "probes" / platform.machine()


@pytest.fixture(scope="session")
def static() -> Path:
    build(ROOT / "probe" / "build.py", "--arch", "native")
    return STATIC / "bvprobe"


@pytest.fixture(scope="session")
def sanitized() -> Path:
    skips.need("gcc")
    build(RUNNER, "--build")
    return SANITIZED / "bvprobe"


@pytest.fixture(params=["static", "sanitized"])
def probe(request: pytest.FixtureRequest) -> Path:
    path = request.getfixturevalue(request.param)
    assert isinstance(path, Path)
    return path


@pytest.fixture(scope="session")
def registry(static: Path) -> dict[str, Line]:
    """The descriptions of the benchmarks, by id."""
    return {item["id"]: item for item in run([static, "list"]).one("list")["benchmarks"]}


@pytest.fixture
def unprivileged(static: Path) -> Iterator[dict[str, Any]]:
    """How to run as a plain user, and ``probe``: where that user can reach one."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        for file in ("bvprobe", "bvio", "bvlibc"):
            shutil.copy(static.with_name(file), directory)
        options: dict[str, Any] = {"cwd": "/"}
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            options |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        yield {"probe": directory / "bvprobe", "options": options, "directory": directory}


@pytest.fixture
def served(probe: Path) -> Iterator[Running]:
    with Running(probe, "serve") as running:
        ready = running.line()
        assert ready
        assert set(ready) == {"type", "protocol", "probe", "arch"}
        assert ready["type"] == "ready"
        yield running
