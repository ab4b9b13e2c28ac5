"""Who may ask what: the first to see each request, and the last to touch each answer.

- **Host.** A page elsewhere can make its own name mean 127.0.0.1 (DNS rebinding), and its scripts
  would then be of our origin. So a request's ``Host`` is an address or a name that is this machine.
- **Origin.** What changes anything comes from a page of ours, or from no page at all.
- **Token.** Where others can reach the server, they need one: ``?token=`` once, then a cookie.
- **Sizes.** A request is short; an answer runs no script and loads nothing that is not ours.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from benchvise.web.answers import failure
from benchvise.web.context import Settings, is_loopback
from benchvise.web.http import Refused

BODY_LIMIT = 256 << 10
URL_LIMIT = 8 << 10
"""Bytes of a request's body, and of its path and query."""

_SAFE = frozenset({"GET", "HEAD"})

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Guard:
    """The middleware around everything."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._names = _own_names(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on to what this stands around."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket: there are none here
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if scope["path"].startswith("/assets/") and message["status"] == 200:
                    headers["Cache-Control"] = "public, max-age=31536000, immutable"
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, guarded)
            return
        await self._app(scope, _bounded(receive), guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to what may not be asked; None for what may."""
        request = Request(scope)
        headers = request.headers
        if len(scope["raw_path"]) + len(scope["query_string"]) > URL_LIMIT:
            return failure(request, Refused("the address is too long", "ask for less"), 414)
        if not self._is_own(headers.get("host", "")):
            error = Refused(
                "this name does not stand for the workbench",
                "open it by its address, as `benchvise serve` printed it",
            )
            return failure(request, error, 421)
        if not _same_origin(request.method, headers):
            error = Refused(
                "another site may not do this", "open the workbench in a tab of its own"
            )
            return failure(request, error, 403)
        if _too_large(headers):
            return failure(request, Refused("the request is too large", "send less"), 413)
        return self._without_token(request)

    def _is_own(self, host: str) -> bool:
        name = _name_of(host)
        if name is None:
            return False
        if self._settings.is_local:
            return is_loopback(name)
        # An address is what it says. Only names can be made to mean another machine.
        return name in self._names or _is_address(name)

    def _without_token(self, request: Request) -> Response | None:
        token = self._settings.token
        if token is None or request.url.path.startswith("/assets/"):
            return None  # what is no secret, and what the page that asks for the token looks like
        cookie = f"benchvise-{self._settings.port}"  # cookies do not know ports
        presented = request.query_params.get("token")
        if presented is not None and _same(presented, token):
            answer = RedirectResponse(_without(request.url.path, request.url.query), 303)
            answer.set_cookie(cookie, token, httponly=True, samesite="lax", path="/")
            answer.headers["Cache-Control"] = "no-store"
            return answer
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if _same(_cookie(request, cookie), token) or _same(bearer, token):
            return None
        error = Refused("a token is needed here", "open the address that `benchvise serve` printed")
        return failure(request, error, 401)


def _own_names(settings: Settings) -> frozenset[str]:
    """What this machine is called, for a server that others reach by name."""
    names = {"localhost", settings.host.lower()}
    if not settings.is_local:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


def _name_of(host: str) -> str | None:
    """The name in a Host header, without the port; None when it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.username is not None or parts.path:
        return None
    return parts.hostname.rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same_origin(method: str, headers: Headers) -> bool:
    """Whether a request comes from a page of ours, from a person, or from no browser at all."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if method in _SAFE:
        # A link from elsewhere may lead here. A script there may not fetch, nor a page embed.
        return site in (None, "same-origin", "none") or headers.get("sec-fetch-mode") == "navigate"
    if origin is not None:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc == headers.get("host")
    if site is not None:
        return site == "same-origin"
    # No browser says neither. Of a very old one, this type would have asked us first.
    return headers.get("content-type", "").partition(";")[0].strip() == "application/json"


def _too_large(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return not length.isascii() or not length.isdigit() or int(length) > BODY_LIMIT


def _bounded(receive: Receive) -> Receive:
    """The same, for a body that does not say how long it is."""
    left = BODY_LIMIT

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise Refused("the request is too large", "send less")
        return message

    return bounded


def _same(presented: str, token: str) -> bool:
    return hmac.compare_digest(presented.encode("utf-8", "surrogateescape"), token.encode())


def _cookie(request: Request, name: str) -> str:
    try:
        cookie = SimpleCookie(request.headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def _without(path: str, query: str) -> str:
    """The same address without its token. Two slashes at its begin would name another host."""
    kept = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "token"]
    return f"/{path.lstrip('/')}" + (f"?{urlencode(kept)}" if kept else "")
