"""Listening, from when the address is known until Ctrl-C."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from benchvise.errors import BenchviseError
from benchvise.web.access import Access, kept_token
from benchvise.web.app import create_app
from benchvise.web.context import Context, Settings

CONNECTIONS = 512
"""More at once are turned away with 503."""
END_SECONDS = 3
REQUEST_SECONDS = 10.0
"""A request that has not come whole by then is hung up on."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server is: ``address`` with the token, where there is one, for people; and for the
    browser of this user, ``login``, with a code that is good once."""

    address: str
    login: str


def serve(settings: Settings, listening: Callable[[Listening], None]) -> None:
    """Serves until Ctrl-C or SIGTERM; ``listening`` is told the address once it can be opened.

    Raises UsageError for settings that do not fit, BenchviseError when the port is taken, and
    what opening the store raises.
    """
    if settings.token is None and not settings.no_token:
        # One that others type is good for this time only.
        token = kept_token() if settings.is_local else secrets.token_urlsafe(24)
        settings = replace(settings, token=token)
    with _listen(settings.checked()) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        app = create_app(settings)
        _ = app.state.context.store  # what is wrong with it is said here, and not in a page
        if app.state.context.has_files():  # else they would be imported for nothing
            app.state.context.readers.start()
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=END_SECONDS,
            http=Impatient,
            ws="none",
        )
        shared: Context = app.state.context
        access: Access = app.state.access

        def begun() -> None:
            code = "" if settings.token is None else f"login?code={access.new_code()}"
            listening(Listening(address(settings), f"{_home(settings)}{code}"))

        server = _Server(config, begun, shared.close)
        server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ctrl-C is how it is meant to end, and it ends the live streams first, which would last."""

    def __init__(
        self, config: uvicorn.Config, begun: Callable[[], None], close: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._begun = begun
        self._close = close

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """See uvicorn, which would raise the signal once more at the end."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn. Only from now on Ctrl-C comes here."""
        await super().startup(sockets)
        self._begun()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends what still runs for the pages, then the connections."""
        self._close()
        await super().shutdown(sockets)


class Impatient(H11Protocol):
    """A connection that ends when its request takes too long to come: uvicorn waits for ever, and
    whoever sends halves would keep all others out."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The request has to come from now on."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Takes a piece of a request; the time runs while more is to come."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        request = self.cycle
        if request is not None and not request.response_complete and not request.more_body:
            self._unwatch()
        elif self._late is None:
            self._late = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def address(settings: Settings) -> str:
    """What a person opens: with the token, where there is one."""
    token = f"?token={settings.token}" if settings.token else ""
    return f"{_home(settings)}{token}"


def _home(settings: Settings) -> str:
    host = settings.host
    if host in ("0.0.0.0", "::"):  # noqa: S104 - not to listen on, but to name
        host = socket.gethostname()
    if ":" in host:
        host = f"[{host}]"
    return f"http://{host}:{settings.port}/"


def _listen(settings: Settings) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, where = addresses[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise BenchviseError(
            f"{settings.host} is no address of this machine ({error.strerror})",
            "give one with --host",
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(256)
    except OSError as error:
        listener.close()
        raise BenchviseError(
            f"{settings.host}:{settings.port} cannot be listened on ({error.strerror})",
            "is another workbench running? Give another --port, or 0 for any that is free",
        ) from error
    return listener
