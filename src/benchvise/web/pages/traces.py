"""The list of traces."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from benchvise.web.answers import both, page
from benchvise.web.context import context
from benchvise.web.files import Shelved


def traces(request: Request) -> Response:
    """All traces that may be looked at, the newest first."""
    shelf = context(request).traces
    document = {"traces": [listed(file) for file in shelf.files()], "cut": shelf.cut}
    return page(request, "traces", document, title="Traces")


def listed(file: Shelved) -> dict[str, Any]:
    """A file in a list: what may be known of it outside."""
    return {
        "key": file.key,
        "name": file.name,
        "place": file.place,
        "size": file.size,
        "changed": file.changed,
        "run": file.run,
    }


routes = both("/traces", traces)
