"""What requests ask for and send, read with bounds; addresses; answers in JSON; what can go wrong
with a request, and its status."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse

from benchvise.documents import encode
from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    CaptureError,
    StoreError,
    TraceError,
    UsageError,
)
from benchvise.report.sinks import LINE_LIMIT, json_text
from benchvise.text import printable

TEXT_LIMIT = 2000
"""Characters of one parameter."""

_LARGEST = 1e15
_LATEST = 2.0**62
_QUOTED = 40
"""Characters of a parameter that an error repeats."""


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of one request."""

    parameters: Mapping[str, str]

    def text(self, name: str, default: str = "", *, limit: int = TEXT_LIMIT) -> str:
        """A text; ``default`` when it is not there.

        Raises:
            UsageError: it has more than ``limit`` characters.
        """
        value = self.parameters.get(name, default)
        if len(value) > limit:
            raise UsageError(f"{name} has {len(value)} characters", f"say at most {limit}")
        return value.strip()

    def items(self, name: str) -> list[str]:
        """A list of texts with commas between, without empty ones."""
        return [item.strip() for item in self.text(name).split(",") if item.strip()]

    def lines(self, name: str) -> list[str]:
        """A list of texts, a line each, without empty ones: for texts that may hold commas."""
        return [line.strip() for line in self.text(name).splitlines() if line.strip()]

    def whole(self, name: str, default: int | None, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``; without a default it has to be there.

        Raises:
            UsageError: it is none, or beyond them.
        """
        text = self.text(name)
        if not text and default is not None:
            return default
        try:
            value = int(text)
        except ValueError:
            raise UsageError(
                f"{name}={text[:_QUOTED]} is no whole number", f"say {low} to {high}"
            ) from None
        if not low <= value <= high:
            raise UsageError(f"{name}={value} is out of range", f"say {low} to {high}")
        return value

    def number(self, name: str, *, positive: bool = False) -> float | None:
        """A number, above zero where it is ``positive``; None when nothing is said.

        Raises:
            UsageError: it is none, or none that fits.
        """
        value = self._float(name, _LARGEST, "is no number that fits", "write 1.65 or 1e6")
        if positive and value is not None and value <= 0:
            raise UsageError(f"{name}={value:g} is no number that fits", "write 1.65 or 1e6")
        return value

    def time(self, name: str) -> float | None:
        """Nanoseconds since the beginning; None when nothing is said.

        Raises:
            UsageError: it is no number.
        """
        return self._float(name, _LATEST, "is no time", "say nanoseconds since the beginning")

    def _float(self, name: str, below: float, fault: str, remedy: str) -> float | None:
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not abs(value) < below:
            raise UsageError(f"{name}={text[:_QUOTED]} {fault}", remedy)
        return value

    def flag(self, name: str) -> bool:
        """Whether something is asked for: ``1`` or ``true``."""
        return self.text(name) in ("1", "true", "yes", "on")

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of the choices; the first of them when nothing is said.

        Raises:
            UsageError: it is none of them.
        """
        text = self.text(name) or choices[0]
        if text not in choices:
            raise UsageError(f"{name}={text[:_QUOTED]} is unknown", f"say {', '.join(choices)}")
        return text


def number(request: Request, name: str, default: int, most: int) -> int:
    """A parameter of a page's address from 0 to ``most``; ``default`` for anything else."""
    text = request.query_params.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return default
    return min(int(text), most)


def choice(request: Request, name: str, choices: Iterable[str]) -> str:
    """A parameter of a page's address that is one of the choices; the first for anything else."""
    names = list(choices)
    text = request.query_params.get(name, "")
    return text if text in names else names[0]


# -- addresses -------------------------------------------------------------------------------------


def link(request: Request, **changes: object) -> str:
    """The address of the page with other parameters: None or an empty text takes one away, a list
    or tuple gives it several times."""
    kept = [pair for pair in request.query_params.multi_items() if pair[0] not in changes]
    for name, value in changes.items():
        values = value if isinstance(value, list | tuple) else [value]
        kept += [(name, str(item)) for item in values if item not in (None, "")]
    return address(request.url.path.removesuffix(".json"), kept)


def address(path: str, parameters: Iterable[tuple[str, str]] = ()) -> str:
    """A path of ours, whose parts are not quoted yet, with parameters."""
    query = urlencode(list(parameters))
    return quote(path) + (f"?{query}" if query else "")


# -- what is posted --------------------------------------------------------------------------------


async def posted_text(request: Request, name: str) -> str:
    """The text of that name in the JSON object that was posted; empty when there is none.

    Raises UsageError for half of a surrogate pair, which no text has.
    """
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError):
        return ""
    text = content.get(name) if isinstance(content, dict) else None
    if not isinstance(text, str):
        return ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{name} is no text: {error.reason}", "send UTF-8") from None
    return text


async def posted_form(request: Request) -> dict[str, str]:
    """The fields of a posted form, the first of each name."""
    body = (await request.body()).decode("utf-8", "replace")
    fields = parse_qs(body, keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}


# -- answers ---------------------------------------------------------------------------------------


class JsonAnswer(JSONResponse):
    """A typed result or a document as JSON, with its texts as ``sinks.json_text`` has them."""

    def render(self, content: Any) -> bytes:
        """As bytes, which are ASCII."""
        return json_text(encode(content), tight=True).encode()


# -- errors ----------------------------------------------------------------------------------------


class NotFound(UsageError):  # noqa: N818
    """There is nothing at this address."""


def no_such_page(request: Request) -> NotFound:
    """For an address that is none."""
    if f"{request.url.path}/".startswith("/rig/"):
        remedy = "boards of a rig are in the list of boards: `benchvise serve --rig FILE`"
    else:
        remedy = "the first page leads to all others"
    return NotFound("there is no such page", remedy)


class Refused(BenchviseError):  # noqa: N818
    """The request may not be made, by this page or by anybody."""


class Busy(BenchviseError):  # noqa: N818
    """The server has too much to do already."""


_STATUS: tuple[tuple[type[BenchviseError], int], ...] = (
    (NotFound, 404),
    (Refused, 403),
    (Busy, 503),
    (UsageError, 400),
    (TraceError, 422),
    (CaptureError, 422),
    (StoreError, 503),
    (BoardUnreachable, 502),
)


def error_document(error: BenchviseError) -> dict[str, dict[str, str]]:
    """``{"error": {"message", "remedy"}}``."""
    return {
        "error": {
            "message": printable(error.message, LINE_LIMIT),
            "remedy": printable(error.remedy, LINE_LIMIT),
        }
    }


def status_of(error: BenchviseError) -> int:
    """The HTTP status that says what kind of error it is."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
