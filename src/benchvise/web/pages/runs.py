"""The list of runs: found by what they are, and chosen to be compared."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from benchvise.store import RunFilter
from benchvise.web.answers import both, page
from benchvise.web.context import context
from benchvise.web.http import link, number

PER_PAGE = 50

_FILTERS = ("board", "suite", "status", "tag")


def runs(request: Request) -> Response:
    """The runs that match, newest first."""
    store = context(request).store
    filters = {name: request.query_params.get(name) or None for name in (*_FILTERS, "text")}
    matching = RunFilter(**filters)
    skip = number(request, "skip", 0, 10**9)
    total = store.count(matching)
    listed = store.runs(PER_PAGE, matching, skip=skip)
    document = {
        "filter": filters,
        "total": total,
        "skip": skip,
        "runs": [asdict(info) for info in listed],
        "choices": asdict(store.choices()),
    }
    return page(
        request,
        "runs",
        document,
        title="Runs",
        filters=_FILTERS,
        filtered=matching != RunFilter(),
        link=partial(link, request),
        newer=link(request, skip=max(0, skip - PER_PAGE)) if skip else "",
        older=link(request, skip=skip + PER_PAGE) if skip + len(listed) < total else "",
    )


routes = both("/runs", runs)
