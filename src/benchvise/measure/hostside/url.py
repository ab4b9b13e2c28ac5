"""URLs of web servers on boards: checked, completed, and asked for once."""

from __future__ import annotations

import http.client
import re
import ssl
import time
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.errors import MeasurementError, UsageError
from benchvise.measure.hostside.wrk import ANSWER_SECONDS
from benchvise.measure.network import in_url
from benchvise.text import printable

ID = "http.requests"
BOARD = "{board}"
DEFAULT_URL = f"http://{BOARD}/"

_BODY_LIMIT = 64 << 20
_CHUNK = 64 << 10
_LETTERS = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """What the server said to a first request; ``size`` is that of the body in bytes."""

    status: int
    size: int
    server: str


def split_url(url: str) -> SplitResult:
    """The parts of a URL that can be asked for; UsageError names what is wrong with it."""
    shown = printable(url)
    if not _LETTERS.fullmatch(url.replace(BOARD, "board", 1)):
        raise UsageError(
            f"{ID}: '{shown}' has characters that a URL cannot have",
            f"write them as %xx; braces only as {BOARD}, in the place of the host",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{ID}: '{shown}' is no URL ({error})", "such as http://host/") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(
            f"{ID}: '{shown}' is not a URL of a web server", f"such as {DEFAULT_URL}index.html"
        )
    if parts.username is not None or parts.fragment or BOARD in url.replace(BOARD, "", 1):
        raise UsageError(
            f"{ID}: '{shown}' has a user, a fragment or two boards, which cannot be asked for",
            "leave them out",
        )
    if BOARD in url and BOARD not in parts.netloc:
        raise UsageError(
            f"{ID}: '{shown}': {BOARD} stands for an address", f"such as {DEFAULT_URL}index.html"
        )
    return parts


def resolved_url(url: str, board: Board) -> str:
    """The URL with the board's address in it; NotAvailable when nobody knows that."""
    if BOARD not in url:
        return url
    address = board.board_address()
    if address is None or "%" in address:
        raise NotAvailable(
            f"the address of {board.name} is not known", "name it in url=http://ADDRESS/"
        )
    return url.replace(BOARD, in_url(address))


def first_answer(url: str, *, is_asked_for: bool) -> FirstAnswer:
    """Asks once, to see that the server is there and what it sends.

    MeasurementError when the answer is not good; NotAvailable when there is none and nobody has
    said that there is a server.
    """
    parts = split_url(url)
    try:
        connection = _connection(parts)
        try:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", path)
            response = connection.getresponse()
            size = _body_size(response)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        kind = MeasurementError if is_asked_for else NotAvailable
        raise kind(
            f"{ID}: no web server answers on {url} ({_reason(error)})",
            "see whether it runs there and whether a firewall lets its port through"
            if is_asked_for
            else "name what to ask for: url=http://HOST/PAGE",
        ) from error
    if not 200 <= response.status < 300:
        where = printable(response.getheader("location", ""))
        raise MeasurementError(
            f"{ID}: {url} is answered with {response.status}"
            + (f" (it has moved to {where})" if where else ""),
            "name a page that is there: url=http://HOST/PAGE",
        )
    return FirstAnswer(response.status, size, printable(response.getheader("server", ""), 60))


def _body_size(response: http.client.HTTPResponse) -> int:
    """Reads the body; TimeoutError when it takes longer than any answer may."""
    deadline = time.monotonic() + ANSWER_SECONDS
    size = 0
    while size < _BODY_LIMIT and (part := response.read1(_CHUNK)):
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the answer takes longer than {ANSWER_SECONDS} s")
    return size


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=ANSWER_SECONDS)
    # As wrk does, which is told to measure a server and not to trust it.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, parts.port, timeout=ANSWER_SECONDS, context=context)


def _reason(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return printable(said) or type(error).__name__
