"""A real browser, driven by the scripts in ``web/scripts``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import skips

_ROOT = Path(__file__).parents[1]
_ASSETS = _ROOT / "src" / "benchvise"
SCRIPTS = _ROOT / "web" / "scripts"
# The shell is the same engine without the windows around it: a page takes a third of the CPU time.
CHROMIUM = Path(
    os.environ.get("BENCHVISE_CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or "/usr/bin/chromium"
)
REPORT = _ASSETS / "report" / "assets" / "report.js"
WORKBENCH = _ASSETS / "web" / "assets" / "manifest.json"
SERIOUS = ("serious", "critical")
"""Faults of accessibility that nobody may be shut out by."""


@cache
def missing(assets: Path = WORKBENCH) -> str:
    """Why the pages with these assets cannot be looked at here; empty when they can."""
    if not CHROMIUM.exists():
        return skips.packages("chromium-headless-shell")
    if not shutil.which("node") or not (SCRIPTS.parent / "node_modules/playwright-core").exists():
        return str(skips.reason("web pages", "no node, or no web/node_modules"))
    if not assets.exists():
        return str(skips.reason("web pages"))
    return ""


def environment() -> dict[str, str]:
    """For the scripts: the browser that they are to start."""
    return {**os.environ, "BENCHVISE_CHROMIUM": str(CHROMIUM)}


def browse(script: str, *words: str | Path, timeout_s: float = 300) -> Any:
    """What one of the scripts saw; words are those that it takes."""
    done = subprocess.run(
        ["node", SCRIPTS / script, *words],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
