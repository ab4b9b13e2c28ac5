"""Addresses that are the present one with something else asked for."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, urlencode

from starlette.requests import Request


def link(request: Request, **changes: object) -> str:
    """The address of the page with other parameters: None or an empty text takes one away, a list
    or tuple gives it several times."""
    kept = [pair for pair in request.query_params.multi_items() if pair[0] not in changes]
    for name, value in changes.items():
        values = value if isinstance(value, list | tuple) else [value]
        kept += [(name, str(one)) for one in values if one not in (None, "")]
    return address(request.url.path.removesuffix(".json"), kept)


def address(path: str, parameters: Iterable[tuple[str, str]] = ()) -> str:
    """A path of ours, whose parts are not quoted yet, with parameters."""
    query = urlencode(list(parameters))
    return quote(path) + (f"?{query}" if query else "")


def number(request: Request, name: str, default: int, most: int) -> int:
    """A parameter that is a number from 0 to ``most``; ``default`` for anything else."""
    text = request.query_params.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return default
    return min(int(text), most)


def chosen(request: Request, name: str, words: Iterable[str]) -> str:
    """A parameter that is one of ``words``, the first of them for anything else."""
    known = list(words)
    given = request.query_params.get(name, "")
    return given if given in known else known[0]
