"""Which files are traces, by how they begin: without opening them, as there may be thousands.

LTTng's session is one trace where it has several: that of the kernel, those of user space, those of
each rotation.
"""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from uuid import UUID

_PERF = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
"""As both orders of bytes write it, and before Linux 3.6."""
_HEADS = {b"\x17\x08\x44tracing": "trace.dat", **dict.fromkeys(_PERF, "perf.data")}

_TEXT_SUFFIXES = frozenset({"", ".txt", ".html", ".trace", ".systrace", ".ftrace", ".report"})
_JSON_SUFFIXES = frozenset({".json", ".trace"})

_LOOK = 1 << 14
"""Bytes of a file that are looked at, where its name says that it may be one of these."""

_GZIP = b"\x1f\x8b\x08"
_PACKET = 0x0A
"""How each packet of a Perfetto trace begins."""

_EVENT = re.compile(
    rb"^\s*[^\n]{1,40}-\d+\s+(\([\s\d-]+\)\s+)?\[\d+\]\s[^\n]*?\d+\.\d+:\s+#?[\w:.-]+", re.MULTILINE
)
_CHROME = re.compile(rb'"traceEvents"\s*:\s*\[|\A\s*\[\s*(?:\{\s*\}\s*,\s*)*\{[^{}]*"ph"\s*:')


def is_trace(path: Path) -> bool:
    """Whether it begins as a trace of some format, or has the metadata of CTF."""
    return bool(trace_kind(path))


def trace_kind(path: Path) -> str:
    """The format, as ``trace.dat``, ``CTF`` or ``Perfetto``; empty for what is no trace.

    Texts, JSON and gzip files count as one only where the begin of the file shows it.
    """
    try:
        if path.is_dir():
            return "CTF" if _has_metadata(path) or session_traces(path) else ""
        if not path.is_file():
            return ""  # a pipe would have us wait for its other end
        with path.open("rb") as file:
            head = file.read(10)
            for begin, kind in _HEADS.items():
                if head.startswith(begin):
                    return kind
            suffix = path.suffix.lower()
            packed = head.startswith(_GZIP) and suffix == ".gz"
            if packed:
                suffix = Path(path.stem).suffix.lower()
            elif head[:1] != bytes([_PACKET]) and suffix not in _TEXT_SUFFIXES | _JSON_SUFFIXES:
                return ""
            head += file.read(_LOOK)
    except OSError:
        return ""
    return _kind_of(_unpacked(head) if packed else head, suffix)


def _kind_of(head: bytes, suffix: str) -> str:
    if _is_perfetto(head):
        return "Perfetto"
    if suffix in _JSON_SUFFIXES and _CHROME.search(head):
        return "Chrome JSON"
    # Systrace has a page of scripts before its events.
    text = suffix in _TEXT_SUFFIXES and b"\0" not in head
    return "ftrace text" if text and (_EVENT.search(head) or b"# tracer:" in head) else ""


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(head, _LOOK)
    except zlib.error:
        return b""


def _is_perfetto(head: bytes) -> bool:
    """Whether packets follow each other, each with its length."""
    at = packets = 0
    while at < len(head) and packets < 3:
        if head[at] != _PACKET:
            return False
        length = shift = 0
        at += 1
        while at < len(head) and shift < 35:
            byte = head[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        at += length
        packets += 1
    # A file of one packet ends where that does.
    return packets > 0 and (at <= len(head) or packets > 1)


# -- sessions of LTTng -----------------------------------------------------------------------------

_DOMAINS = ("kernel", "ust")
_ROTATED = "archives"
_MOST_TRACES = 500
_PACKET_HEAD = "I16sIIIBBBBB"
_METADATA_MAGIC = 0x75D11D57
_CLOCK = re.compile(rb'\bclock\s*\{[^}]*?\buuid\s*=\s*"([0-9A-Fa-f-]{36})"')
_DOMAIN = re.compile(rb'\bdomain\s*=\s*"(\w+)"')
_SESSION = re.compile(rb'\btrace_name\s*=\s*"([^"]+)"')
_RECORD = b"\x1e"
"""Begins each fragment of CTF 2's metadata, which are a sequence of JSON texts (RFC 7464)."""


def session_traces(path: Path) -> tuple[Path, ...]:
    """The traces of which a session of LTTng consists, which open as one.

    They lie as LTTng puts them; or, copied, in directories beside each other of which one is the
    kernel's, and all of one session. None where it is no session, has a single trace, or where
    they do not all name the same clock.
    """
    traces = tuple(_traces_of(path))
    as_written = len(traces) > 1
    if not as_written:
        traces = tuple(place for place in _directories(path) if _has_metadata(place))
    if not 1 < len(traces) <= _MOST_TRACES:
        return ()
    traced = [_identity_of(trace / "metadata") for trace in traces]
    if len({each.clock for each in traced}) > 1 or traced[0].clock is None:
        return ()
    domains = sorted(each.domain for each in traced)
    named = {each.session for each in traced} - {""}
    of_one_session = domains == ["kernel"] + ["ust"] * (len(traced) - 1) and len(named) < 2
    return traces if as_written or of_one_session else ()


def _traces_of(session: Path) -> Iterator[Path]:
    """Its traces, and those of what was rotated: in ``archives``, a directory each."""
    yield from _domains(session)
    for chunk in _directories(session / _ROTATED):
        yield from _domains(chunk)


def _domains(directory: Path) -> Iterator[Path]:
    """``kernel``, ``ust/pid/PROGRAM-PID-DATE``, ``ust/uid/USER/64-bit``."""
    kernel, user = (directory / domain for domain in _DOMAINS)
    sizes = (size for owner in _directories(user / "uid") for size in _directories(owner))
    for place in chain([kernel], _directories(user / "pid"), sizes):
        if _has_metadata(place):
            yield place


def _directories(path: Path) -> list[Path]:
    """What lies in a directory, without links."""
    try:
        with os.scandir(path) as entries:
            return sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _has_metadata(path: Path) -> bool:
    try:
        directory, metadata = path.lstat(), (path / "metadata").lstat()
    except OSError:
        return False
    return stat.S_ISDIR(directory.st_mode) and stat.S_ISREG(metadata.st_mode)


@dataclass(frozen=True, slots=True)
class _TraceIdentity:
    """What a trace's metadata say near their begin: the identity of its clock, whose events it
    has, and the name of its session. Empty, or None, where they do not."""

    clock: bytes | None = None
    domain: str = ""
    session: str = ""


def _identity_of(metadata: Path) -> _TraceIdentity:
    try:
        about = metadata.stat()
        return _read_metadata(metadata, about.st_size, about.st_mtime_ns)
    except OSError:
        return _TraceIdentity()


@lru_cache(maxsize=4096)
def _read_metadata(metadata: Path, _size: int, _changed: int) -> _TraceIdentity:
    with metadata.open("rb") as file:
        text = _without_packets(file.read(4 * _LOOK))
    if text.startswith(_RECORD):
        return _identity_of_fragments(text)
    clock, domain, session = (pattern.search(text) for pattern in (_CLOCK, _DOMAIN, _SESSION))
    return _TraceIdentity(
        clock.group(1).lower() if clock else None,
        domain.group(1).decode() if domain else "",
        session.group(1).decode(errors="replace") if session else "",
    )


def _identity_of_fragments(text: bytes) -> _TraceIdentity:
    """The same of the metadata of CTF 2, as far as whole fragments of it are here."""
    identity = _TraceIdentity()
    for record in text.split(_RECORD)[1:]:
        try:
            fragment = json.loads(record)
        except (ValueError, RecursionError):
            break  # cut, or no JSON
        if not isinstance(fragment, dict):
            break
        if fragment.get("type") == "clock-class" and identity.clock is None:
            identity = replace(identity, clock=_clock_identity(fragment))
        elif fragment.get("type") == "trace-class":
            stated = fragment.get("environment")
            environment = stated if isinstance(stated, dict) else {}
            domain, session = (str(environment.get(key, "")) for key in ("domain", "trace_name"))
            identity = replace(identity, domain=domain, session=session)
    return identity


def _clock_identity(fragment: Mapping[str, object]) -> bytes | None:
    """The unique name of a clock; before the final dialect, the 16 bytes of a UUID."""
    match fragment:
        case {"uid": str() as name}:
            return name.lower().encode()
        case {"uuid": [*numbers]} if len(numbers) == 16:
            with suppress(ValueError):
                octets = [number for number in numbers if isinstance(number, int)]
                return str(UUID(bytes=bytes(octets))).encode()
    return None


def _without_packets(data: bytes) -> bytes:
    """The text of metadata that was written in packets, as LTTng's tracers do."""
    for order in "<>":
        if data[:4] == struct.pack(f"{order}I", _METADATA_MAGIC):
            head = struct.Struct(order + _PACKET_HEAD)
            break
    else:
        return data
    parts, at = [], 0
    while at + head.size <= len(data):
        _, _, _, content, packet, *_ = head.unpack_from(data, at)
        if packet // 8 < head.size:
            break
        parts.append(data[at + head.size : at + content // 8])
        at += packet // 8
    return b"".join(parts)
