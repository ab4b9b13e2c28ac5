"""Looks at a running workbench with a real browser; see ``web/scripts/browse-pages.js``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from web_server import Serving

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
MANIFEST = ROOT / "src" / "benchvise" / "web" / "assets" / "manifest.json"
CHROMIUM = Path(os.environ.get("BENCHVISE_CHROMIUM", "/usr/bin/chromium"))
SERIOUS = ("serious", "critical")


@cache
def missing() -> str:
    """Why pages cannot be looked at here; empty when they can."""
    if not CHROMIUM.exists():
        return f"no browser at {CHROMIUM} (apt install chromium)"
    if not shutil.which("node") or not (WEB / "node_modules" / "playwright-core").exists():
        return "no node with web/node_modules (npm --prefix web ci)"
    if not MANIFEST.exists():
        return "the scripts of the workbench are not built (make)"
    return ""


def look(server: Serving, *paths: str, options: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """What was seen on each page, by its path."""
    seen = subprocess.run(
        ["node", WEB / "scripts" / "browse-pages.js", server.url(""), *paths, *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert seen.returncode == 0, seen.stderr
    return {page["path"]: page for page in json.loads(seen.stdout)}


def assert_fine(page: dict[str, Any]) -> None:
    """Nothing complained, nothing was asked of others, everybody can read it."""
    where = page["path"]
    # A browser itself complains of the status of a page that says that there is none.
    assert page["complaints"] == [] or page["status"] == 404, (where, page["complaints"])
    assert page["requests"] == [], where
    assert page["failures"] == [], where
    assert page["overflow"] <= 0, where
    assert page["attacked"] == "", where
    serious = [fault for fault in page["violations"] if fault["impact"] in SERIOUS]
    assert serious == [], where
