"""The answers to the views beneath the timeline.

A question is a function of an opened trace and the query of the request. It runs in a thread of
a few, so that the machine is not taken up by whoever asks the most, and ends when the browser has
left. How long it may take is the
server's to say, which ends this process then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.readers.desertion import ended_with
from benchvise.web.readers.open_files import open_files
from benchvise.web.tagged_answers import tagged_answer
from benchvise.web.workspace import (
    activity,
    area,
    calls,
    causes,
    counters,
    events,
    flame,
    latency,
    modes,
    noise,
    sql,
    waiting,
)
from benchvise.web.workspace.flame_difference import TraceWithStacks, flame_difference
from benchvise.web.workspace.query import TraceQuery
from benchvise.web.workspace.served import ServedTrace

_THREADS = ThreadPoolExecutor(4, thread_name_prefix="trace-view")

Question: TypeAlias = Callable[[ServedTrace, TraceQuery], object]
PairQuestion: TypeAlias = Callable[[ServedTrace, ServedTrace, TraceQuery], object]


def view(name: str, question: Callable[[LoadedTrace, TraceQuery], object]) -> Route:
    """The route of one view's answer, which is of the trace alone."""
    return _served(name, lambda trace, query: question(trace.loaded, query))


def _served(name: str, question: Question) -> Route:
    """The route of an answer that is made with what is kept between requests."""

    async def endpoint(request: Request) -> Response:
        # Opening goes on without who asked for it: others will.
        loop = asyncio.get_running_loop()
        trace = await loop.run_in_executor(_THREADS, _opened, request)
        return await ended_with(
            request, _THREADS, lambda: _answered(request, trace, question), trace.tag
        )

    return Route(f"/api/traces/{{key}}/{name}", endpoint)


def _difference(name: str, question: PairQuestion) -> Route:
    """The route of an answer about two traces: the address's, and that of ``with=``."""

    async def endpoint(request: Request) -> Response:
        loop = asyncio.get_running_loop()
        a, b = await loop.run_in_executor(_THREADS, _opened_both, request)
        query = TraceQuery(request.query_params)

        tag = f"{a.tag}-{b.tag}"

        def answer() -> Response:
            return tagged_answer(request, tag, lambda: question(a, b, query), lasting=True)

        return await ended_with(request, _THREADS, answer, tag)

    return Route(f"/api/traces/{{key}}/{name}", endpoint)


def _opened(request: Request) -> ServedTrace:
    return open_files(request).trace(request.path_params["key"])


def _opened_both(request: Request) -> tuple[ServedTrace, ServedTrace]:
    other = request.query_params.get("with")
    if not other:
        raise UsageError("a difference is of two traces", "say with= and the key of the other")
    return _opened(request), open_files(request).trace(other)


def _answered(request: Request, trace: ServedTrace, question: Question) -> Response:
    """The answer, or that the browser's is still good."""
    query = TraceQuery(request.query_params)
    return tagged_answer(request, trace.tag, lambda: question(trace, query), lasting=True)


def _flame_difference(a: ServedTrace, b: ServedTrace, query: TraceQuery) -> object:
    sides = [TraceWithStacks(side.loaded, side.stacks) for side in (a, b)]
    return flame_difference(sides[0], sides[1], query)


routes = [
    view("actors", activity.statistics),
    view("instances", activity.instance_points),
    view("area", area.area_sums),
    view("counters", counters.counter_table),
    _served("track", lambda trace, query: counters.counter_track(trace.loaded, query, trace.steps)),
    _served(
        "calling", lambda trace, query: calls.calling_threads(trace.loaded, query, trace.calls)
    ),
    _served("calls", lambda trace, query: calls.shown_calls(trace.loaded, query, trace.calls)),
    _served("call", lambda trace, query: calls.call_details(trace.loaded, query, trace.calls)),
    view("delays", waiting.shown_delays),
    view("load", activity.load),
    view("switches", activity.switches),
    view("latency", latency.latency),
    view("modes", modes.shown_modes),
    view("functions", modes.function_table),
    view("noise", noise.noise),
    _served("flame", lambda trace, query: flame.flame_graph(trace.loaded, query, trace.stacks)),
    _difference("flame-difference", _flame_difference),
    view("critical-path", causes.response_path),
    view("log", events.log),
    view("search", events.search),
    view("found", events.matches),
    view("names", events.names),
    view("tables", sql.tables),
]
