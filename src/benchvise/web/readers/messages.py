"""Requests and answers between the server and its readers: a head in JSON, then bytes.

    length of head (4 bytes) | length of body (8 bytes) | head | body

A reader may have been taken over by what it read, so the server takes of an answer only what its
type has, within bounds, and of its headers only those that it knows.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchvise.documents import decode, encode
from benchvise.trace.query_limits import QueryLimits
from benchvise.web.file_index import IndexedFile
from benchvise.web.readers.passing import exactly

_LENGTHS = struct.Struct(">IQ")
_HEAD_LIMIT = 64 << 20
_BODY_LIMIT = 1 << 30

HEADERS = frozenset({"content-type", "etag", "cache-control", "server-timing", "location"})
"""Of an answer those that the server passes on."""

PASSED_ON = ("accept", "if-none-match")
"""Headers of a request that a reader is told."""


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request of a page that a reader answers.

    ``traces`` and ``captures`` are the files that it may name: those that its address has, or all
    (``knows_all``).
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    traces: Sequence[IndexedFile] = ()
    captures: Sequence[IndexedFile] = ()
    knows_all: bool = False


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """SQL over one trace; ``query`` is the request's, with the part that is asked about."""

    path: Path
    sql: str
    query: Mapping[str, str]
    limits: QueryLimits


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """The answer to either; its body follows."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


T = TypeVar("T")


def packed(head: object, body: bytes = b"") -> bytes:
    """A message as it passes."""
    text = json.dumps(encode(head)).encode()
    return _LENGTHS.pack(len(text), len(body)) + text + body


async def read_message(reader: asyncio.StreamReader, kind: type[T]) -> tuple[T, bytes]:
    """The next message: its head as ``kind``, and its body.

    Raises ValueError for one that is none, IncompleteReadError where it ends early.
    """
    head, body = _lengths(await reader.readexactly(_LENGTHS.size))
    text = await reader.readexactly(head)
    return _head(kind, text), await reader.readexactly(body)


def receive_message(connection: socket.socket, kind: type[T]) -> tuple[T, bytes]:
    """The same of a socket that blocks. EOFError where it ends early."""
    head, body = _lengths(exactly(connection, _LENGTHS.size))
    text = exactly(connection, head)
    return _head(kind, text), exactly(connection, body)


def _lengths(data: bytes) -> tuple[int, int]:
    head, body = _LENGTHS.unpack(data)
    if head > _HEAD_LIMIT or body > _BODY_LIMIT:
        raise ValueError(f"a message of {head + body} bytes")
    return head, body


def _head(kind: type[T], text: bytes) -> T:
    return decode(kind, json.loads(text))
