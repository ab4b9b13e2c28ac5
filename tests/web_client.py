"""Asks the workbench in this process, without a network: an ASGI client of a few lines."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from starlette.applications import Starlette

from benchvise.web.app import create_app
from benchvise.web.audit import AuditLog
from benchvise.web.context import Settings

HOST = "127.0.0.1:8765"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def table(self) -> pa.Table:
        """The body as an Arrow stream."""
        return pa.ipc.open_stream(self.body).read_all()

    @property
    def data(self) -> Any:
        """The document of a twin."""
        return self.json["data"]


@dataclass(frozen=True)
class Client:
    app: Starlette

    @classmethod
    def of(cls, **settings: Any) -> Client:
        """With the audit log beside the store."""
        audit = AuditLog(Path(settings["store"]).parent / "audit")
        return cls(create_app(Settings(**settings), audit))

    @property
    def csrf_token(self) -> str:
        """What pages of this visitor post besides, whoever that is where no token is asked for."""
        shown = self.get("/login").text
        found = re.search(r'name="csrf-token" content="(\w+)"', shown)
        return found[1] if found else ""

    def get(self, target: str, **headers: str) -> Answer:
        return self.ask("GET", target, headers)

    def post(self, target: str, body: bytes = b"", /, **headers: str) -> Answer:
        return self.ask("POST", target, headers, body)

    def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Answer:
        """One request; `_` in the names of headers stands for `-`. ``host`` is ours by default."""
        named = {"host": HOST, **{name.replace("_", "-"): text for name, text in headers.items()}}
        if method == "POST":
            named.setdefault("x-csrf-token", self.csrf_token)
        if body:
            named.setdefault("content-length", str(len(body)))
        return asyncio.run(self._ask(method, target, named, body))

    async def _ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8765),
        }
        sent: list[Any] = []
        pieces = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return pieces.pop(0) if pieces else await asyncio.Future()  # it waits for the answer

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = sent[0]
        return Answer(
            start["status"],
            {name.decode().lower(): text.decode() for name, text in start["headers"]},
            b"".join(message.get("body", b"") for message in sent[1:]),
        )
