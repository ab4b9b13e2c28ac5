"""The answers to the views beneath the timeline, each within a limit of time.

A question is a function of an opened trace and the query of the request. It runs in a thread of
a few, so that neither the server nor the machine is taken up by whoever asks the most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.context import context
from benchvise.web.http import Busy, JsonAnswer, posted_text, tagged_answer
from benchvise.web.workspace import activity, events, latency, sql
from benchvise.web.workspace.query import TraceQuery

SECONDS = 30.0
"""After so long a question is given up, and so is one that has not begun by then."""

_THREADS = ThreadPoolExecutor(4, thread_name_prefix="trace-view")

T = TypeVar("T")
Question: TypeAlias = Callable[[LoadedTrace, TraceQuery], object]


def view(name: str, question: Question) -> Route:
    """The route of one view's answer."""

    async def endpoint(request: Request) -> Response:
        return await in_time(lambda: _answered(request, question))

    return Route(f"/api/traces/{{key}}/{name}", endpoint)


def _answered(request: Request, question: Question) -> Response:
    """The answer, or that the browser's is still good."""
    trace = context(request).trace(request.path_params["key"])
    query = TraceQuery(request.query_params)
    return tagged_answer(request, trace.tag, lambda: question(trace.loaded, query))


async def in_time(work: Callable[[], T]) -> T:
    """Runs ``work`` in one of the threads.

    Raises:
        Busy: it was not done in time. It may go on, but nobody waits for it.
    """
    running = asyncio.get_running_loop().run_in_executor(_THREADS, work)
    try:
        return await asyncio.wait_for(running, SECONDS)
    except TimeoutError:
        raise Busy(
            f"this takes longer than {SECONDS:g} s", "choose a shorter range of time"
        ) from None


async def _query(request: Request) -> Response:
    """``POST {"sql": "SELECT ..."}``."""
    text = await posted_text(request, "sql")
    if not text.strip():
        raise UsageError("there is no query", 'send {"sql": "SELECT ..."}')
    query = TraceQuery(request.query_params)

    def ask() -> sql.TimedRows:
        trace = context(request).trace(request.path_params["key"])
        return sql.query_answer(trace.loaded, query, text)

    answer = await in_time(ask)
    return JsonAnswer(answer, headers={"Cache-Control": "no-store"})


routes = [
    view("actors", activity.statistics),
    view("instances", activity.instance_points),
    view("load", activity.load),
    view("switches", activity.switches),
    view("latency", latency.latency),
    view("log", events.log),
    view("search", events.search),
    view("names", events.names),
    view("tables", sql.tables),
    Route("/api/traces/{key}/query", _query, methods=["POST"]),
]
