"""Looks at a running workbench with a real browser; see ``web/scripts/browse-pages.js``."""

from __future__ import annotations

from typing import Any

from browser import SERIOUS, browse
from web_server import Serving


def look(server: Serving, *paths: str, options: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """What was seen on each page, by its path."""
    seen = browse("browse-pages.js", server.url(""), *paths, *options)
    return {page["path"]: page for page in seen}


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
