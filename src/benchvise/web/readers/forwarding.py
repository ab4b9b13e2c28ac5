"""The addresses that readers answer, and what files a request to them may name."""

from __future__ import annotations

from dataclasses import replace

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.trace.query_limits import QueryLimits
from benchvise.web.context import context
from benchvise.web.http import Query, posted_text
from benchvise.web.readers.desertion import while_awaited

LIMITS = QueryLimits(
    rows=1000,
    seconds=10,
    memory_mb=512,
    to_have_longer="let it look at a shorter part",
    to_have_more="let it group and filter more",
)
"""Of a query."""

MOST_ROWS = 100_000
"""Rows of a query whose answer is saved: ``rows=`` asks for more than a page shows."""


def _about_a_file(path: str, kind: str) -> Route:
    """Questions about the file that the address names, which is ``kind`` of those listed, and about
    the one of ``with=`` beside it."""

    async def endpoint(request: Request) -> Response:
        shared = context(request)
        index = shared.traces if kind == "traces" else shared.captures
        keys = [request.path_params["key"], *request.query_params.getlist("with")[:1]]
        files = [await run_in_threadpool(index.find, key) for key in keys]
        traces, captures = (files, []) if kind == "traces" else ([], files)
        answer = shared.readers.forward(request, traces=traces, captures=captures)
        return await while_awaited(request, answer)

    return Route(path, endpoint)


def _about_all_files(path: str) -> list[Route]:
    """A page, and its twin, that may name any of the files."""

    async def endpoint(request: Request) -> Response:
        shared = context(request)
        answer = shared.readers.forward(
            request,
            traces=await run_in_threadpool(shared.traces.files),
            captures=await run_in_threadpool(shared.captures.files),
            knows_all=True,
        )
        return await while_awaited(request, answer)

    return [Route(f"{path}.json", endpoint), Route(path, endpoint)]


async def _query(request: Request) -> Response:
    """``POST {"sql": "SELECT ..."}``; ended when nobody waits for it any more.

    ``rows`` is how many are answered at most, ``LIMITS`` says how many usually.
    """
    text = await posted_text(request, "sql")
    if not text.strip():
        raise UsageError("there is no query", 'send {"sql": "SELECT ..."}')
    shared = context(request)
    file = await run_in_threadpool(shared.traces.find, request.path_params["key"])
    rows = Query(request.query_params).whole("rows", LIMITS.rows, 1, MOST_ROWS)
    limits = replace(LIMITS, rows=rows)
    answer = shared.readers.query(file, text, dict(request.query_params), limits)
    return await while_awaited(request, answer)


routes = [
    Route("/api/traces/{key}/query", _query, methods=["POST"]),
    _about_a_file("/api/traces/{key}/{question}", "traces"),
    _about_a_file("/api/captures/{key}/{view}/{question}", "captures"),
    *_about_all_files("/traces/compare"),
    *_about_all_files("/captures/responses"),
    *_about_all_files("/captures/{key}"),
]
