"""A real browser, driven by the scripts in ``web/scripts``."""

from __future__ import annotations

import atexit
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


class _SharedBrowser:
    """The browser of this process, started when the first page is looked at."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    def address(self) -> str:
        """Where scripts reach it."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                ["node", SCRIPTS / "shared-browser.js"],
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert self._process.stdout is not None
            self._address = self._process.stdout.readline().strip()
            assert self._address, "the browser did not start"
            atexit.register(self._process.communicate)
        return self._address


_SHARED = _SharedBrowser()


def browse(script: str, *words: str | Path, timeout_s: float = 300, shared: bool = False) -> Any:
    """What one of the scripts saw; words are those that it takes.

    ``shared``: in a browser that goes on from test to test, each with a profile of its own.
    """
    more = {"BENCHVISE_BROWSER": _SHARED.address()} if shared else {}
    done = subprocess.run(
        ["node", SCRIPTS / script, *words],
        env=environment() | more,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
