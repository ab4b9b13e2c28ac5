"""Asking an ASGI application in this program: no socket, no client library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from starlette.types import ASGIApp, Message


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names are in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def table(self) -> pa.Table:
        """The body as an Arrow stream."""
        return pa.ipc.open_stream(self.body).read_all()


def ask(
    app: ASGIApp,
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answer:
    """One request, as a program on this machine makes it."""
    path, _, query = url.partition("?")
    said = {"host": "127.0.0.1"} | dict(headers or {})
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in said.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def asked() -> None:
        await app(scope, receive, send)

    asyncio.run(asked())
    start = next(message for message in sent if message["type"] == "http.response.start")
    parts = [message.get("body", b"") for message in sent[1:]]
    names = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], names, b"".join(parts))
