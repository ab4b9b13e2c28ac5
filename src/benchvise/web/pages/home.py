"""The first page: what is new."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from benchvise.web.answers import both, page
from benchvise.web.context import context
from benchvise.web.pages.traces import listed

_NEWEST = 8


def home(request: Request) -> Response:
    """The newest runs, diagnoses and traces."""
    shared = context(request)
    document = {
        "store": shared.store.name,
        "runs": [asdict(run) for run in shared.store.runs(_NEWEST)],
        "diagnoses": [asdict(one) for one in shared.store.diagnoses(_NEWEST)],
        "traces": [listed(file) for file in shared.traces.files()[:_NEWEST]],
    }
    return page(request, "home", document, title="Workbench")


routes = both("/", home, twin="/index.json")
