"""`/metrics`: the newest numbers of boards as OpenMetrics, for Prometheus and what reads the same.

Whoever asks needs the access token as for any page: ``authorization: {credentials_file: …}`` in the
scrape configuration.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.report.openmetrics import CONTENT_TYPE
from benchvise.web.context import context


def metrics(request: Request) -> Response:
    """All boards of the store."""
    shared = context(request)
    return Response(shared.metrics.text(shared.store), media_type=CONTENT_TYPE)


routes = [Route("/metrics", metrics)]
