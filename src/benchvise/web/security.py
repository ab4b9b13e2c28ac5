"""Who may ask what: the first to see each request, and the last to touch each answer.

- **Host.** A page elsewhere can make its own name mean 127.0.0.1 (DNS rebinding), and its scripts
  would then be of our origin. So a request's ``Host`` is an address or a name that is this machine.
- **User and token.** See ``access``.
- **Origin and CSRF token.** What changes anything comes from a page of ours, or from no page at
  all; and a page has to say more than the cookie that any page's request would have.
- **Audit.** What changes anything is logged with what came of it, and so is what is refused.
- **Sizes.** A request is short; an answer runs no script and loads nothing that is not ours.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from benchvise.errors import BenchviseError
from benchvise.web.access import Access, Sender, Visitor, sender_of
from benchvise.web.answers import failure
from benchvise.web.audit import AuditLog, action_of, entry_of
from benchvise.web.context import Settings, is_loopback
from benchvise.web.http import Refused
from benchvise.web.pages import login

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

    def __init__(self, app: ASGIApp, settings: Settings, access: Access, audit: AuditLog) -> None:
        self._app = app
        self._settings = settings
        self._names = _own_names(settings)
        self._access = access
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on to what this stands around."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket: there are none here
            await send({"type": "websocket.close", "code": 1008})
            return
        request, sender = Request(scope), sender_of(scope)
        statuses: list[int] = []

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if scope["path"].startswith("/assets/") and message["status"] == 200:
                    headers["Cache-Control"] = "public, max-age=31536000, immutable"
            await send(message)

        refusal = self._refusal(request, sender)
        visitor = self._access.visitor(request, sender)
        if refusal is None and visitor is None and not _is_open(request):
            presented = request.query_params.get("token", "")
            if request.method in _SAFE and self._access.is_token(presented):
                await login.with_token(request, self._access)(scope, receive, guarded)
                return
            refusal = login.ask_for_token(request)
        scope.setdefault("state", {})["visitor"] = visitor
        if refusal is None and request.method not in _SAFE:
            body = await _whole_body(receive)
            if body is None:
                refusal = _too_large(request)
            else:
                receive = _replayed(body, receive)
                refusal = self._not_meant(request, visitor, body)
                if refusal is None:
                    refusal = await self._acting(
                        request, visitor, sender, receive, guarded, statuses
                    )
        elif refusal is None:
            await self._app(scope, receive, guarded)
        if refusal is not None:
            await _answer_whole(refusal, request, receive, guarded)
            self._log_refusal(request, visitor, sender, refusal)

    def _not_meant(self, request: Request, visitor: Visitor | None, body: bytes) -> Response | None:
        """The refusal of what another page may have made this browser send; None otherwise."""
        if visitor is None or self._is_meant(request, visitor, body):
            return None
        error = Refused(
            "the request does not say that a page of the workbench made it",
            "load the page again; programs send the token: Authorization: Bearer",
        )
        return failure(request, error, 403)

    async def _acting(
        self,
        request: Request,
        visitor: Visitor | None,
        sender: Sender,
        receive: Receive,
        send: Send,
        statuses: list[int],
    ) -> Response | None:
        """Answers a request that may change something, and logs it; or the refusal of it."""
        if _only_asks(request):
            await self._app(request.scope, receive, send)
            return None
        try:
            self._audit.check()
        except BenchviseError as error:
            return failure(request, error, 503)
        try:
            await self._app(request.scope, receive, send)
        finally:
            status = statuses[0] if statuses else None
            outcome = request.scope["state"].get("outcome", "")
            entry = entry_of(sender, visitor, action_of(request), status, outcome)
            self._audit.write("control", entry)
        return None

    def _is_meant(self, request: Request, visitor: Visitor, body: bytes) -> bool:
        """Whether more than what browsers add by themselves says that it may be done."""
        headers = request.headers
        is_program = "origin" not in headers and "sec-fetch-site" not in headers
        if visitor.by == "token" or (visitor.by == "none" and is_program):
            return True
        presented = headers.get("x-csrf-token", "")
        if not presented and _media_type(headers) == "application/x-www-form-urlencoded":
            fields = parse_qs(body.decode("utf-8", "replace"))
            presented = fields.get("csrf", [""])[0]
        return self._access.is_own(visitor, presented)

    def _log_refusal(
        self, request: Request, visitor: Visitor | None, sender: Sender, refusal: Response
    ) -> None:
        entry = entry_of(sender, visitor, action_of(request), refusal.status_code, "refused")
        with contextlib.suppress(BenchviseError):  # nothing was done
            self._audit.write("refused", entry)

    def _refusal(self, request: Request, sender: Sender) -> Response | None:
        """The answer to what may not be asked by anybody, or not by this user; None otherwise."""
        scope, headers = request.scope, request.headers
        if len(scope["raw_path"]) + len(scope["query_string"]) > URL_LIMIT:
            return failure(request, Refused("the address is too long", "ask for less"), 414)
        if not self._is_own(headers.get("host", "")):
            error = Refused(
                "this name does not stand for the workbench",
                "open it by its address, as `benchvise serve` printed it",
            )
            return failure(request, error, 421)
        if not self._access.admits(sender):
            error = Refused(
                "this workbench belongs to another user of this machine",
                "start one of your own: benchvise serve --port 0 --open",
            )
            return failure(request, error, 403)
        if not _same_origin(request.method, headers):
            error = Refused(
                "another site may not do this", "open the workbench in a tab of its own"
            )
            return failure(request, error, 403)
        return _too_large(request) if _says_too_large(headers) else None

    def _is_own(self, host: str) -> bool:
        name = _name_of(host)
        if name is None:
            return False
        if self._settings.is_local:
            return is_loopback(name)
        # An address is what it says. Only names can be made to mean another machine.
        return name in self._names or _is_address(name)


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
    return _media_type(headers) == "application/json"


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip()


def _is_open(request: Request) -> bool:
    """Whether it is no secret: what the page that asks for the token is, and looks like."""
    return request.url.path == login.PATH or request.url.path.startswith("/assets/")


def _only_asks(request: Request) -> bool:
    """Whether it is a question that is posted for its length, and changes nothing."""
    return request.url.path.startswith("/api/")


# -- bodies ----------------------------------------------------------------------------------------


def _says_too_large(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return not length.isascii() or not length.isdigit() or int(length) > BODY_LIMIT


def _too_large(request: Request) -> Response:
    error = Refused("the request is too large", f"send at most {BODY_LIMIT >> 10} KB")
    return failure(request, error, 413)


async def _whole_body(receive: Receive) -> bytes | None:
    """The body; None as soon as it is too large. What does not say its length is bounded so."""
    body = b""
    while len(body) <= BODY_LIMIT:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body if len(body) <= BODY_LIMIT else None
    return None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receive that begins with a body which was read already."""
    pieces: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pieces.pop() if pieces else await receive()

    return replayed


async def _answer_whole(answer: Response, request: Request, receive: Receive, send: Send) -> None:
    """Sends all of an answer at once, and ends it when all of the request has come.

    A connection that is closed before is reset, and its client never reads why. One that takes
    too long to send is hung up on all the same: see ``serving.Impatient``.
    """
    if request.method in _SAFE or "expect" in request.headers:  # which waits for leave to send
        await answer(request.scope, receive, send)
        return

    async def held(message: Message) -> None:
        if message["type"] != "http.response.body" or message.get("more_body", False):
            await send(message)
            return
        await send({**message, "more_body": True})
        while (await receive()).get("more_body", False):
            pass
        await send({"type": "http.response.body", "body": b""})

    answer.headers["Connection"] = "close"
    await answer(request.scope, receive, held)
