"""The workspace of one trace, or of two beside each other: a frame that scripts fill."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from benchvise.web.answers import Crumb, both, page
from benchvise.web.context import context
from benchvise.web.pages.traces import listed


def trace(request: Request) -> Response:
    """``with=KEY`` shows another trace beside it.

    What is chosen in the page stands in the address too, for the scripts alone: ``view=BEGIN,END``
    and ``range=BEGIN,END`` in nanoseconds since the first event, ``at=ROW:TIME``, ``actor=ID``,
    ``tab=VIEW``, ``rows=compact|normal|events``, ``time=down``, ``show=TEXT``, ``here=1``; of the
    second trace with a 2 behind the name, and ``clocks=separate``, ``shift=NS`` for both.
    """
    index = context(request).traces
    first = index.find(request.path_params["key"])
    beside = request.query_params.get("with") or None
    second = None if beside is None else index.find(beside)
    document = {
        "trace": listed(first),
        "with": None if second is None else listed(second),
        "keys": [file.key for file in (first, second) if file is not None],
    }
    for file in (first, second):
        if file is not None:
            context(request).served_traces.prepare(file.path)
    title = first.name if second is None else f"{first.name} and {second.name}"
    others = [listed(file) for file in index.files() if file.key != first.key]
    crumbs = [Crumb("Traces", "/traces")]
    return page(request, "trace", document, title=title, crumbs=crumbs, others=others)


routes = both("/traces/{key}", trace)
