"""The pictures of the documentation still show what the pages look like."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import skips
from browser import missing
from guide_commands import DOCS, guide_pages

pytestmark = skips.unless_missing(missing())
skips.need_decoder()

LIMIT_BYTES = 200_000


def test_no_page_has_changed_since_its_picture_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    import pictures

    seen = pictures.look(tmp_path / "pages", pictures.made_report(tmp_path))
    kept = json.loads(pictures.OUTLINES.read_text())
    assert seen.keys() == kept.keys()
    for name, outline in seen.items():
        assert outline == kept[name], f"docs/images/{name}.png is out of date: make pictures"


def test_every_picture_that_is_shown_is_there_and_small() -> None:
    shown = {
        (page.parent / path).resolve()
        for page in guide_pages()
        for path in re.findall(r"(?:\]\(|src(?:set)?=\")([^)\"]+\.png)", page.read_text())
    }
    assert shown == {path.resolve() for path in (DOCS / "images").glob("*.png")}
    for path in shown:
        assert path.stat().st_size < LIMIT_BYTES, path
