"""The timelines of the workspace in a real browser: mouse, keys, the address, two traces."""

from __future__ import annotations

from typing import Any

import pytest
import skips
from browser import browse, missing
from story_traces import story
from web_server import serving

pytestmark = skips.unless_missing(missing())
skips.need_decoder()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `web/scripts/lines.js` saw."""
    root = tmp_path_factory.mktemp("lines")
    story(root / "traces", 6)
    with serving(root / "store.db", "--traces", root / "traces") as server:
        return browse("lines.js", server.url(""))


def test_mouse_zooms_pans_chooses_and_marks_and_the_back_button_takes_back(used: Any) -> None:
    assert "after" in used["overall"] and "Events" in used["overall"]
    assert used["moved"]
    assert used["panned"] == pytest.approx(used["zoomed"], rel=1e-6)
    assert 0 < used["range"] < used["panned"]
    # Once back: without the range, with the item. Twice: without both.
    assert used["back"] == [None, used["at"], None]


def test_keys_alone_lead_to_an_instance_and_filter_to_it(used: Any) -> None:
    assert used["steps"] < 40
    assert "sensor" in used["byKeys"] and "Execution" in used["byKeys"]
    assert "sensor" in used["said"]
    # The item in full width, with a margin; then all views show it alone.
    assert used["close"] == pytest.approx(used["marked"] * 1.3, rel=0.01)
    assert used["same"]


def test_on_paper_it_is_light(used: Any) -> None:
    assert len(used["paper"]) == 2, "from either scheme"
    assert min(used["paper"]) > 200
    assert max(used["paperInk"]) < 128


def test_two_traces_move_as_one_or_apart(used: Any) -> None:
    assert used["together"]
    assert used["apart"]


def test_nobody_is_shut_out_and_nothing_complains(used: Any) -> None:
    assert used["complaints"] == []
    assert used["requests"] == []
    assert list(used["violations"].values()) == [[]] * len(used["violations"])
