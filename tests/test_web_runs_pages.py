"""The pages about runs in a real browser: what they draw, how they fit, and by keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import skips
from browser import SERIOUS, browse, missing
from report_runs import demonstration_run
from web_runs import KEY, Kept
from web_server import Serving, serving

pytestmark = skips.unless_missing(missing())

WIDE = ("light", "1280")


def paths(kept: Kept, *, narrow: bool) -> list[str]:
    """Every page about runs, with something on it; of the narrow ones, one of each kind."""
    both = [("run", kept.vendor), ("run", kept.own)]
    run = f"/runs/{kept.vendor}"
    changed = demonstration_run().series[3].spec.key
    few = [
        "/runs",
        f"{run}?view=charts",
        f"{run}?{urlencode({'series': KEY})}",
        f"/runs/{kept.hostile}",
        f"/compare?{urlencode([*both, ('view', 'grids')])}",
        f"/compare?{urlencode([*both, ('series', KEY)])}",
        f"/history?{urlencode({'series': changed})}",
    ]
    if narrow:
        return few
    return [
        *few,
        *(f"{run}?view={view}" for view in ("results", "samples", "state", "console")),
        *(
            f"/compare?{urlencode([*both, ('view', view)])}"
            for view in ("changes", "counters", "bars", "latencies", "state")
        ),
        "/history",
        "/history/changes?tag=nightly",
        f"/history?{urlencode({'series': changed, 'tag': 'nightly', 'by': 'time'})}",
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Kept]]:
    kept = Kept(tmp_path_factory.mktemp("runs"))
    kept.client.app.state.context.close()
    with serving(kept.store) as server:
        yield server, kept


@pytest.fixture(scope="module", params=[WIDE, ("dark", "390")])
def tour(request: pytest.FixtureRequest, served: tuple[Serving, Kept]) -> Any:
    """What `web/scripts/runs-tour.js` saw in a scheme, at a width."""
    server, kept = served
    words = [server.url(""), *request.param, *paths(kept, narrow=request.param != WIDE)]
    return browse("runs-tour.js", *words)


def test_all_charts_are_drawn_and_nothing_is_complained_of(tour: Any) -> None:
    assert tour["complaints"] == [] and tour["requests"] == []
    assert {one["path"]: one["empty"] for one in tour["seen"] if one["empty"]} == {}
    assert sum(one["slots"] for one in tour["seen"]) > 10


def test_pages_fit_their_window_and_hostile_names_are_text(tour: Any) -> None:
    assert {one["path"]: one["overflow"] for one in tour["seen"] if one["overflow"] > 0} == {}
    assert all(one["attacked"] == 0 for one in tour["seen"])


def test_no_page_has_a_serious_fault_of_accessibility(tour: Any) -> None:
    faults = [
        (one["path"], fault)
        for one in tour["seen"]
        for fault in one["violations"]
        if fault["impact"] in SERIOUS
    ]
    assert faults == []


def test_from_the_list_to_a_series_by_keys_and_back(tour: Any) -> None:
    keys = tour["keys"]
    assert (keys["runs"], keys["view"], keys["back"]) == (2, "/compare", True)
    assert keys["series"]
