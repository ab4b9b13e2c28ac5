"""Logging in: a token or a code becomes a cookie, and stands in no address afterwards."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from benchvise.web.access import Access, sender_of
from benchvise.web.answers import failure, page
from benchvise.web.http import Refused, posted_form

PATH = "/login"


def ask_for_token(request: Request) -> Response:
    """The answer to a request that proves nothing: a form for the token."""
    error = Refused("a token is needed here", "open the address that `benchvise serve` printed")
    return failure(request, error, 401)


def with_token(request: Request, access: Access) -> Response:
    """The answer to an address that has the token: the same address without it."""
    path = request.scope["raw_path"].decode("ascii", "replace")
    answer = RedirectResponse(_here(path, request.url.query), 303)
    access.let_in(answer, sender_of(request.scope))
    return answer


async def show(request: Request) -> Response:
    """The form; an address with a good code leads on."""
    access: Access = request.app.state.access
    code = request.query_params.get("code", "")
    sender = sender_of(request.scope)
    if code and access.use_code(code, sender):
        answer = RedirectResponse("/", 303)
        access.let_in(answer, sender)
        return answer
    if code:
        refused = Refused("this code was used, or is too old", "type the access token instead")
        return failure(request, refused, 401)
    return page(request, "login", {}, title="Log in")


async def take(request: Request) -> Response:
    """A token from the form."""
    access: Access = request.app.state.access
    form = await posted_form(request)
    if not access.is_token(form.get("token", "").strip()):
        return failure(request, Refused("this is not the token", "try once more"), 401)
    parts = urlsplit(form.get("next", "/"))
    answer = RedirectResponse(_here(parts.path, parts.query), 303)
    access.let_in(answer, sender_of(request.scope))
    return answer


def _here(path: str, query: str) -> str:
    """An address of this server, without a token. Two slashes at its begin would name another."""
    kept = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "token"]
    home = path.lstrip("/") if not path.startswith(PATH) else ""
    return f"/{home}" + (f"?{urlencode(kept)}" if kept else "")


routes = [Route(PATH, show), Route(PATH, take, methods=["POST"])]
