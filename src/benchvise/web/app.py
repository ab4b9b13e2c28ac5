"""The application: which address is answered by what."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from benchvise.errors import BenchviseError
from benchvise.user_directories import audit_directory
from benchvise.web.access import Access
from benchvise.web.answers import ASSETS, failure
from benchvise.web.audit import AuditLog
from benchvise.web.context import Context, Settings
from benchvise.web.export import routes as export_routes
from benchvise.web.file_index import capture_index, trace_index
from benchvise.web.http import Refused, no_such_page
from benchvise.web.live import Hub
from benchvise.web.pages import (
    boards,
    compare,
    diagnoses,
    doctor,
    files,
    health,
    history,
    home,
    lab,
    login,
    metrics,
    progress,
    runs,
    trace_evidence,
    trace_notes,
)
from benchvise.web.readers import forwarding
from benchvise.web.security import Guard


def create_app(settings: Settings, audit: AuditLog | None = None) -> Starlette:
    """The workbench for these settings; ``audit`` is the user's own log by default."""
    access = Access(settings.token, settings.port, own_user_only=settings.is_local)
    audit = audit or AuditLog(audit_directory())
    app = Starlette(
        routes=[
            *home.routes,
            *login.routes,
            *boards.routes,
            *lab.routes,
            *progress.routes,
            *diagnoses.routes,
            *doctor.routes,
            *metrics.routes,
            *health.routes,
            *runs.routes,
            *compare.routes,
            *history.routes,
            *export_routes,
            *forwarding.routes,
            *trace_evidence.routes,
            *trace_notes.routes,
            *files.routes,
            Mount("/assets", StaticFiles(directory=ASSETS, check_dir=False)),
        ],
        middleware=[Middleware(Guard, settings=settings, access=access, audit=audit)],
        exception_handlers={
            BenchviseError: _failed,
            HTTPException: _refused,
            Exception: _broken,
        },
        lifespan=_lifespan,
    )
    context = Context(
        settings,
        Hub(),
        trace_index(settings.traces, lambda: context.store),
        capture_index(settings.captures),
    )
    app.state.context = context
    app.state.access = access
    app.state.audit = audit
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    try:
        yield
    finally:
        app.state.context.close()


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, BenchviseError)  # noqa: S101 - what it is registered for
    request.state.outcome = error.message
    return failure(request, error)


def _refused(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        return failure(request, no_such_page(request))
    return failure(request, Refused(f"{request.method} is not for this address"), status)


def _broken(request: Request, _error: Exception) -> Response:
    """A fault of ours: what it was stands on the server's standard error, not in a browser."""
    error = BenchviseError(
        "this page broke", "the terminal of `benchvise serve` says why: please report it"
    )
    return failure(request, error, 500)
