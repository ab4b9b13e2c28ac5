"""A series over all runs that measured it, with the changes; or which series there are."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.flows.history import HistoryRequest
from benchvise.report.figures import FORMAT, Figures
from benchvise.report.history import MOST_BOARDS, By, HistoryData, history_data, history_figure
from benchvise.report.history_events import HistoryEvents, event_rows
from benchvise.store import LISTED_RUNS, MOST_COUNTED, RunFilter
from benchvise.web.answers import Crumb, both, chart_context, page
from benchvise.web.context import Context, context
from benchvise.web.http import NotFound, address, choice, link, number
from benchvise.web.pages.runs import MOST_COMPARED

SERIES = 400
"""Series that are offered in one page."""
RUNS = 100
CHANGES_BOARDS = 4
"""Boards in a page of changes, where none is chosen: the values of each take half a second."""
SHOWN_SERIES = 12
"""Series of an event that are listed."""
MOST_RUNS = 400
"""Runs in a picture, and how many may be asked for."""


def history(request: Request) -> Response:
    """The history of the series that the parameter of that name is the key of."""
    shared = context(request)
    board = request.query_params.get("board") or None
    tag = request.query_params.get("tag") or None
    matching = RunFilter(board=board, tag=tag)
    key = request.query_params.get("series")
    if not key:
        return _choose(request, shared, matching)
    limit = max(2, number(request, "limit", RUNS, MOST_RUNS))
    past, total = shared.store.history(key, matching, limit=limit)
    if not past:
        where = f" on {board}" if board else ""
        with_tag = f" with the tag {tag}" if tag else ""
        raise NotFound(f"no run{where}{with_tag} has a series {key!r}", "choose one at /history")
    data = history_data(key, past, shared.summary_cache)
    by = cast(By, choice(request, "by", ("order", "time")))
    urls = {entry.run.id: address(f"/runs/{entry.run.id}", [("series", key)]) for entry in past}
    figure = history_figure(data, by, urls)
    figures = Figures(FORMAT, (), (), (), ())
    most = min(total, MOST_RUNS)
    document = {
        "filter": {"board": board, "tag": tag},
        "by": by,
        "total": total,
        "limit": limit,
        "boards": list(shared.store.boards_of(key)),
        "history": encode(data),
    }
    return page(
        request,
        "history",
        document,
        title=key,
        crumbs=[Crumb("History", "/history")],
        data=data,
        simulated=any(board.simulated for board in data.boards),
        most_boards=MOST_BOARDS,
        most_compared=MOST_COMPARED,
        newest_first=_newest_first(data),
        most_counted=MOST_COUNTED,
        tags=list(shared.store.tags()),
        link=partial(link, request),
        more_runs=link(request, limit=most) if limit < most else "",
        **chart_context(figures, histories=[encode(figure)]),
    )


def _newest_first(data: HistoryData) -> list[Any]:
    entries = [entry for board in data.boards for entry in board.entries]
    return sorted(entries, key=lambda entry: entry.started, reverse=True)


def _choose(request: Request, shared: Context, matching: RunFilter) -> Response:
    """The series that there are, those first that most runs have."""
    text = request.query_params.get("text", "").strip()
    selection = shared.store.series(matching)
    listed = [series for series in selection.series if text.lower() in series.key.lower()]
    document = {
        "filter": {"board": matching.board, "tag": matching.tag, "text": text},
        "total": len(listed),
        "only_newest_runs": LISTED_RUNS if selection.older_left_out else None,
        "series": encode(listed[:SERIES]),
        "choices": encode(shared.store.choices()),
    }

    def url(key: str) -> str:
        kept = [("board", matching.board), ("tag", matching.tag)]
        return address("/history", [("series", key), *((n, v) for n, v in kept if v)])

    return page(request, "history_choose", document, title="History", series_url=url)


def changes(request: Request) -> Response:
    """When series changed, on all boards or one, and what changed in the state beside them."""
    shared = context(request)
    board = request.query_params.get("board") or None
    tag = request.query_params.get("tag") or None
    text = request.query_params.get("text", "").strip()
    asked = HistoryRequest(
        boards=(board,) if board else (),
        words=tuple(text.split()),
        tag=tag,
        runs=RUNS,
        most_boards=CHANGES_BOARDS,
    )
    try:
        events = shared.event_cache(asked)
    except UsageError:
        events = HistoryEvents(RUNS, (), (), 0, ())
    document = {
        "filter": {"board": board, "tag": tag, "text": text},
        "choices": encode(shared.store.choices()),
        "history": encode(events),
    }
    return page(
        request,
        "history_changes",
        document,
        title="Changes",
        crumbs=[Crumb("History", "/history")],
        events=[(event, event_rows(event, SHOWN_SERIES)) for event in events.events],
        found=events,
    )


routes = [*both("/history", history), *both("/history/changes", changes)]
