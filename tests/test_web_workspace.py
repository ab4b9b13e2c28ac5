"""The workspace of a trace in a real browser: from a list to a slow handler, through all views."""

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
def tour(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `web/scripts/tour.js` saw."""
    root = tmp_path_factory.mktemp("story")
    story(root / "traces", 6)
    with serving(root / "store.db", "--traces", root / "traces") as server:
        return browse("tour.js", server.url(""))


def test_the_slow_handler_is_found_in_three_clicks(tour: Any) -> None:
    assert tour["top"].startswith("irq:sensor\truns longer")
    assert "14." in tour["top"] and "3.4" in tour["top"]
    # The fourth and fifth lead to both timelines, where the two instances stand in one place.
    both = tour["both"]
    assert tour["lines"] >= 2
    first, second = (int(both[name].partition(":")[2]) for name in ("at", "at2"))
    assert int(both["shift"]) == second - first


def test_every_view_leads_to_the_time_line(tour: Any) -> None:
    links = tour["links"]
    assert tour["slowest"] == tour["chosen"] == "irq:sensor/43"
    # `after` in tour.js has waited for what each changes; here they say the same thing.
    assert links["worst"]["actor"] == links["instance"]["actor"]
    names = ("worst", "instance", "point", "load", "switches", "latency", "log", "search", "sql")
    places = [links[name]["at"] for name in names]
    assert len(set(places)) == len(places)


def test_a_range_filters_every_view(tour: Any) -> None:
    asked = {"actors", "load", "switches", "latency", "log", "search", "query"}
    assert asked <= set(tour["filtered"])


def test_state_is_in_the_address(tour: Any) -> None:
    assert tour["turned"] == "statistics"
    assert tour["back"] == 1 and tour["same"]


def test_nothing_complains_and_everybody_can_read_it(tour: Any) -> None:
    assert tour["complaints"] == []
    assert tour["requests"] == []
    grave = {
        page: [fault for fault in found if fault["impact"] in ("serious", "critical")]
        for page, found in tour["violations"].items()
    }
    assert {page: found for page, found in grave.items() if found} == {}
    assert len(grave) == 12
