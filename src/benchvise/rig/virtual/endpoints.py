"""A small HTTP server on loopback: GET only, one request a connection, nothing but the standard.

Relays and muxes are switched by GET, because that is what the stock labgrid driver sends. A web
page could do that too, so what comes from a browser is refused: requests for another host name
(DNS rebinding), and those that carry the marks of a page (Origin, Referer, Sec-Fetch-Site). So is
what comes from another user of this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from urllib.parse import unquote, urlsplit

from benchvise.documents import encode
from benchvise.local_users import is_own_connection

_REQUEST_BYTES = 8 << 10
_REQUEST_SECONDS = 60.0
_HOSTS = ("127.0.0.1", "localhost")

_NOT_THEIRS = (403, "the bench belongs to another user of this machine")

_log = logging.getLogger(__name__)


class RequestRefused(Exception):  # noqa: N818
    """A request that cannot be met, with its HTTP status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


async def listen(
    answer: Callable[[Sequence[str]], Awaitable[object]], port: int
) -> tuple[asyncio.Server, int]:
    """Serves ``answer``, which gets the path's parts, on ``port``, or any if that is not free.

    A text is sent as it is, everything else as JSON.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            own = is_own_connection(writer.get_extra_info("socket"))
            writer.write(_response(*(await _reply(reader, answer) if own else _NOT_THEIRS)))
            await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(handle, "127.0.0.1", port, limit=_REQUEST_BYTES)
    except OSError:
        if not port:
            raise
        server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=_REQUEST_BYTES)
    return server, server.sockets[0].getsockname()[1]


async def _reply(
    reader: asyncio.StreamReader, answer: Callable[[Sequence[str]], Awaitable[object]]
) -> tuple[int, object]:
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _REQUEST_SECONDS)
        return 200, await answer(_path(head))
    except RequestRefused as refused:
        return refused.status, refused.sentence
    except asyncio.LimitOverrunError:
        return 431, "the request is too long"
    except TimeoutError:
        return 408, "the request did not come to its end"
    except Exception:  # noqa: BLE001 - one bad request must not end the bench
        _log.exception("a request failed")
        return 500, "the virtual bench failed here: see daemon.log in its directory"


def _path(head: bytes) -> list[str]:
    """The parts of the path of a request that may be answered."""
    request, *lines = head.decode("latin-1").split("\r\n")
    fields = request.split(" ")
    if len(fields) != 3 or not fields[2].startswith("HTTP/1."):
        raise RequestRefused(400, "this is not an HTTP request")
    if fields[0] != "GET":
        raise RequestRefused(405, "only GET is supported")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in _HOSTS and host not in _HOSTS:
        raise RequestRefused(403, "requests for this host name are refused: use 127.0.0.1")
    if headers.keys() & {"origin", "referer"} or headers.get("sec-fetch-site", "none") != "none":
        raise RequestRefused(403, "requests from web pages are refused")
    return [unquote(part) for part in urlsplit(fields[1]).path.split("/") if part]


def _response(status: int, answer: object) -> bytes:
    if isinstance(answer, str):
        kind, body = "text/plain; charset=utf-8", answer.encode()
    else:
        kind, body = "application/json", json.dumps(encode(answer)).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"Content-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
