"""What a timeline asks: rows, what is drawn of them, marks, losses, the overview, one item.

Traces and captures answer the same questions below ``/api/traces/KEY/`` and
``/api/captures/KEY/VIEW/``; each is a ``TimelineSource``. Times are nanoseconds since its begin.
``rows`` are numbers (``1,2,5-60``); ``begin``, ``end`` and ``width`` (pixels) say what part is
drawn, and how finely. An answer holds for the source's content: its ``ETag`` does, and with ``v=``
the ``tag`` that ``info`` gave it need not be asked for again. One that is being made ends when the
browser has left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.web.http import Query
from benchvise.web.readers.desertion import ended_with
from benchvise.web.tagged_answers import tagged_answer

if TYPE_CHECKING:
    from benchvise.trace.native import Table

_THREADS = ThreadPoolExecutor(8, thread_name_prefix="timeline")
_WIDEST = 1 << 14
_MOST_ROWS = 4096
_ROWS_LIMIT = 50_000
"""Characters of the list of rows: each may be named by itself."""
_MOST_CELLS = 1 << 20
"""Rows times pixels: so many items an answer has at most."""
_OVERVIEW_WIDTH = 1024


@dataclass(frozen=True, slots=True)
class TimelinePart:
    """The rows, the time in nanoseconds and the pixels that an answer is for."""

    rows: list[int]
    begin: float
    end: float
    width: int

    @property
    def nanoseconds(self) -> tuple[int, int]:
        """Begin and end as whole numbers, at least one apart."""
        begin = math.floor(self.begin)
        return begin, max(begin + 1, math.floor(self.end))


class TimelineSource(Protocol):
    """Something with rows over time."""

    @property
    def tag(self) -> str:
        """Changes whenever an answer may."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""

    @property
    def info_headers(self) -> Mapping[str, str]:
        """Further headers of the answer to ``info``."""

    def info(self) -> object:
        """What it is, and what must be known of it."""

    def rows(self) -> Sequence[object]:
        """The rows in the order in which they are shown."""

    def losses(self) -> Sequence[object]:
        """Where something is missing."""

    def levels(self, part: TimelinePart) -> Table:
        """What is drawn of rows: ``row, begin, end, actor, state, count, ran``."""

    def events(self, part: TimelinePart) -> Table:
        """Marks on rows: ``row, time, event, count, index``."""

    def overview(self, width: int) -> Table:
        """The mini-map: how much happens in each of ``width`` parts."""

    def item(self, row: int, time: float) -> object:
        """Everything about what a row shows at a time."""


SourceT = TypeVar("SourceT", bound=TimelineSource)


def timeline_routes(
    prefix: str,
    find: Callable[[Request], SourceT],
    more: Mapping[str, Callable[[SourceT, Query], object]] | None = None,
) -> list[Route]:
    """The routes of all questions, and of those that only this kind of source answers."""
    answers: dict[str, Callable[[SourceT, Query], object]] = {
        "info": lambda source, _query: source.info(),
        "rows": lambda source, _query: source.rows(),
        "losses": lambda source, _query: source.losses(),
        "levels": lambda source, query: source.levels(parse_part(source, query)),
        "events": lambda source, query: source.events(parse_part(source, query)),
        "overview": lambda source, query: source.overview(
            query.whole("width", _OVERVIEW_WIDTH, 1, _WIDEST)
        ),
        "item": lambda source, query: source.item(
            query.whole("row", None, 0, source.row_count - 1), parse_time(query, "t")
        ),
        **(more or {}),
    }
    return [_route(f"{prefix}/{name}", name, find, answer) for name, answer in answers.items()]


def _route(
    path: str,
    name: str,
    find: Callable[[Request], SourceT],
    answer: Callable[[SourceT, Query], object],
) -> Route:
    async def respond(request: Request) -> Response:
        # Opening goes on without who asked for it: others will.
        source = await run_in_threadpool(find, request)
        return await ended_with(
            request,
            _THREADS,
            lambda: tagged_answer(
                request,
                source.tag,
                lambda: answer(source, Query(request.query_params)),
                lasting=True,
                headers=(lambda: source.info_headers) if name == "info" else None,
            ),
            source.tag,
        )

    return Route(path, respond)


def parse_time(query: Query, name: str) -> float:
    """Nanoseconds since the beginning. UsageError where they are missing or no number."""
    time = query.time(name)
    if time is None:
        raise UsageError(f"{name}= is no time", "say nanoseconds since the beginning")
    return time


def parse_span(query: Query) -> tuple[float, float]:
    """``begin`` and ``end`` in nanoseconds; UsageError where nothing lies between them."""
    begin, end = parse_time(query, "begin"), parse_time(query, "end")
    if not begin < end:
        raise UsageError(f"nothing lies between {begin:g} and {end:g}", "let end be after begin")
    return begin, end


def parse_part(source: TimelineSource, query: Query) -> TimelinePart:
    """The part that is asked for. UsageError for more than an answer may have."""
    begin, end = parse_span(query)
    width = query.whole("width", None, 1, _WIDEST)
    rows: list[int] = []
    for text in query.text("rows", limit=_ROWS_LIMIT).split(","):
        first, dash, last = text.partition("-")
        if not _is_row(first) or (dash and not _is_row(last)):
            raise UsageError(f"rows={text[:40]}", "say numbers of rows: 1,2,5-60")
        end_row = min(int(last) if dash else int(first), source.row_count - 1)
        rows += range(int(first), end_row + 1)
        if len(rows) > _MOST_ROWS or len(rows) * width > _MOST_CELLS:
            raise UsageError("too many rows are asked for at once", "ask for fewer, or for a part")
    return TimelinePart(rows, begin, end, width)


def _is_row(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
