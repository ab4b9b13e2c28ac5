"""Access control: who a request comes from, and what it has to prove that.

- **Token.** Programs send it as ``Authorization: Bearer``; a browser exchanges it once for a cookie
  (``?token=``, the form of ``/login``, or the code that ``--open`` makes, which is good once).
- **Cookie.** Browsers send cookies to every port of a machine, so one may end up with a server of
  another user. It is not the token but made of it for one user of this machine, or one address
  elsewhere: nobody else can use it.
- **User.** On loopback nobody but the user who started the server, and root, is answered at all,
  where the kernel tells who is connected.
- **CSRF token.** What changes anything needs more than a cookie, which browsers add by themselves:
  a value that only pages of ours have.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Literal, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from benchvise.errors import BenchviseError
from benchvise.host_system import open_flags, others_may, own_user, supports
from benchvise.local_users import is_trusted, tcp_user
from benchvise.user_directories import token_file

CODE_SECONDS = 120.0
"""After so long a code of ``--open`` is not taken any more: a browser takes its time to start."""

_TOKEN_BYTES = 24
_ENOUGH = 32
"""Characters of a token that was made here."""

Means: TypeAlias = Literal["token", "cookie", "none"]


@dataclass(frozen=True, slots=True)
class Sender:
    """The other end of a connection. ``user`` is its user id where it is on this machine;
    ``is_told`` that the kernel says so."""

    address: str
    user: int | None
    is_told: bool = True

    @property
    def identity(self) -> str:
        """What a cookie is made for."""
        return f"address {self.address}" if self.user is None else f"user {self.user}"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whose request may be answered, and what proved it. ``csrf_token`` is that of its pages,
    ``token_id`` the first digits of the SHA-256 of the access token."""

    sender: Sender
    by: Means
    csrf_token: str
    token_id: str


class Access:
    """Who may use one server. Without a token everybody who reaches it may.

    With ``own_user_only``, of the users of this machine only its own and root may.
    """

    def __init__(self, token: str | None, port: int, *, own_user_only: bool) -> None:
        self.cookie = f"benchvise-{port}"  # cookies do not know ports
        self._token_id = hashlib.sha256(token.encode()).hexdigest()[:8] if token else ""
        self._token = token
        self._own_user_only = own_user_only and token is not None
        self._secret = (token or secrets.token_urlsafe(_TOKEN_BYTES)).encode()
        self._codes: dict[str, float] = {}

    def admits(self, sender: Sender) -> bool:
        """Whether this user of this machine may try at all."""
        return not self._own_user_only or not sender.is_told or is_trusted(sender.user)

    def visitor(self, request: Request, sender: Sender) -> Visitor | None:
        """Who sent the request; None when it proves nothing."""
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        by: Means
        if self._token is None:
            by = "none"
        elif self.is_token(bearer):
            by = "token"
        elif _same(_cookie(request, self.cookie), self._made_for(sender, "cookie")):
            by = "cookie"
        else:
            return None
        return Visitor(sender, by, self._made_for(sender, "csrf"), self._token_id)

    def is_token(self, presented: str) -> bool:
        """Whether this is the token."""
        return self._token is not None and _same(presented, self._token)

    def is_own(self, visitor: Visitor, presented: str) -> bool:
        """Whether this is the CSRF token of the visitor's pages."""
        return _same(presented, visitor.csrf_token)

    def new_code(self) -> str:
        """A code that the browser of this user can log in with, once and soon.

        It may stand in an address: those a browser is started with are seen by all users.
        """
        code = secrets.token_urlsafe(_TOKEN_BYTES)
        self._codes = {code: time.monotonic() + CODE_SECONDS}
        return code

    def use_code(self, presented: str, sender: Sender) -> bool:
        """Whether this is the code, and from this user; it is not taken a second time."""
        # Where no kernel tells, nobody sees the address either: on macOS and Windows a browser
        # gets it in a message, not as an argument.
        if (sender.is_told or supports("linux")) and not is_trusted(sender.user):
            return False
        code = next((code for code in self._codes if _same(presented, code)), None)
        return code is not None and self._codes.pop(code) > time.monotonic()

    def let_in(self, answer: Response, sender: Sender) -> None:
        """Gives the browser the cookie that it needs from now on."""
        value = self._made_for(sender, "cookie")
        answer.set_cookie(self.cookie, value, httponly=True, samesite="lax", path="/")
        answer.headers["Cache-Control"] = "no-store"

    def _made_for(self, sender: Sender, purpose: Literal["cookie", "csrf"]) -> str:
        text = f"{purpose} {sender.identity}".encode()
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()


def sender_of(scope: Scope) -> Sender:
    """Who is at the other end of a request's connection."""
    address, port = scope.get("client") or ("", 0)
    try:
        return Sender(address, tcp_user((address, port), tuple(scope["server"])))
    except (OSError, ValueError, TypeError):
        return Sender(address, None, is_told=False)


def kept_token() -> str:
    """The user's own token, from the runtime directory; made when there is none.

    BenchviseError when it cannot be kept there.
    """
    try:
        path = token_file()
        if (kept := _read(path)) is None:
            _make(path)
            kept = _read(path)
    except OSError as error:
        raise BenchviseError(
            f"the access token cannot be kept ({error})",
            "set XDG_RUNTIME_DIR to a directory of your own, or give a token in BENCHVISE_TOKEN",
        ) from error
    if kept is None:
        raise BenchviseError(f"{path} is no access token", f"remove it: rm {path}")
    return kept


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | open_flags("O_NOFOLLOW", "O_CLOEXEC"))
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor) as file:
        state = os.fstat(descriptor)
        if own_user() not in (None, state.st_uid) or others_may(state, read=True):
            raise PermissionError(f"{path} can be read by others")
        token = file.read(1000).strip()
    return token if len(token) >= _ENOUGH and token.isascii() else None


def _make(path: Path) -> None:
    """A new token, whole or not at all: another server may begin at the same moment."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | open_flags("O_CLOEXEC")
    descriptor = os.open(unfinished, flags, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n")
        try:
            os.link(unfinished, path)
        except FileExistsError:
            return
    finally:
        unfinished.unlink()


def _same(presented: str, expected: str) -> bool:
    return hmac.compare_digest(presented.encode("utf-8", "surrogateescape"), expected.encode())


def _cookie(request: Request, name: str) -> str:
    try:
        cookie = SimpleCookie(request.headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""
