"""What is here, what is missing, and how to get it: `benchvise doctor` as a page."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from benchvise.documents import encode
from benchvise.flows.doctor import CheckState, examine
from benchvise.web.answers import both, page
from benchvise.web.context import context


def doctor(request: Request) -> Response:
    """Everything that measuring needs on the machine that serves, examined now."""
    findings = examine(context(request).settings.store)
    lacking = [finding for finding in findings if finding.state is not CheckState.OK]
    document = {"findings": encode(findings), "lacking": len(lacking)}
    return page(request, "doctor", document, title="Doctor")


routes = both("/doctor", doctor)
