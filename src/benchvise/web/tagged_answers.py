"""Answers that browsers may keep, by a tag that changes with what they say: JSON, or Arrow for a
table. Apart from ``http``, as only readers give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from benchvise.web.http import JsonAnswer

ARROW = "application/vnd.apache.arrow.stream"


def tagged_answer(
    request: Request,
    tag: str,
    make: Callable[[], Any],
    *,
    lasting: bool = False,
    headers: Callable[[], Mapping[str, str]] | None = None,
) -> Response:
    """JSON, or Arrow for a table, which the browser keeps under ``tag``; 304 where it has it.

    ``lasting``: an address with ``v=TAG`` need not be asked for again.
    ``headers`` are further ones, made when the answer is.
    """
    fresh = lasting and request.query_params.get("v") == tag
    kept = {
        "ETag": f'"{tag}"',
        "Cache-Control": f"private, {'max-age=31536000, immutable' if fresh else 'no-cache'}",
    }
    if request.headers.get("if-none-match") == kept["ETag"]:
        return Response(status_code=304, headers=kept)
    content = make()
    everything = {**kept, **(headers() if headers else {})}
    if hasattr(content, "__arrow_c_stream__"):
        return Response(content.stream(), headers=everything, media_type=ARROW)
    return JsonAnswer(content, headers=everything)
