"""``http.requests``: how many requests a second a web server on the board answers.

The load comes from this machine (see ``wrk``); the board's own account of its CPU time is asked
for before and after each batch. Beyond the probe's flags a batch may have

``errors``
    a request failed: refused, broken off, too late, or answered with 400 or more
``generator``
    the load generator was busy for over 90 % of the time on each of its threads, so that the
    board may have been able to do more
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.board.messages import (
    BeginMessage,
    EndMessage,
    HostMessage,
    SampleMessage,
    SeriesMessage,
    first_of,
)
from benchvise.documents import JsonObject, whole_at
from benchvise.errors import MeasurementError, UsageError
from benchvise.measure.hostside.base import (
    NO_PROCESS,
    Load,
    Order,
    busy_ns,
    described,
    evidence,
    read_load,
)
from benchvise.measure.hostside.wrk import (
    ANSWER_SECONDS,
    Counts,
    Generator,
    Traffic,
    find_generator,
    run_generator,
    threads_for,
)
from benchvise.measure.model import Benchmark, Figure, Parameter
from benchvise.measure.network import LOOPBACK_CAVEAT, in_url, shares_machine
from benchvise.text import printable

ID = "http.requests"
BOARD = "{board}"
DEFAULT_URL = f"http://{BOARD}/"

_BUSY = 0.9  # of a thread's time: the load generator is the limit
_WARM_SECONDS = 1

DESCRIPTION = Benchmark(
    id=ID,
    summary="how many requests a second a web server on the board answers",
    unit="1/s",
    better="higher",
    counted="requests answered with a status below 400",
    method="wrk on this machine keeps a number of connections busy, each with one request at a "
    "time, for a batch; before the first batch one request is made to see that the answer is "
    "good, and one batch of a second is thrown away; CPU time is that of the whole board by its "
    "/proc/stat, in ticks of 10 ms, and of wrk by getrusage",
    pitfalls="a line that is full, a load generator that is, or a server's own limits of "
    "connections all look like a limit of the board: see bytes_per_s, the flag `generator` and "
    "the board's CPU time; on `local` the load generator takes CPU time away from the server; the "
    "same page is asked for over and over, so all caches are warm; a connection that the server "
    "closes without an answer is opened again and not counted",
    not_measured="the page as a browser loads it; other than GET; HTTP/2; certificates are not "
    "verified; the time to the first byte; uploads",
    peer="ab -k, with the same connections, where ab's one thread is not the limit: within 10 %",
    parameters=(
        Parameter(
            "url",
            "text",
            DEFAULT_URL,
            f"what to ask for, http or https; {BOARD} stands for the board's address, so that "
            "two boards can be compared",
            8,
            2000,
        ),
        Parameter(
            "concurrency", "integer", "8", "connections, each with one request at a time", 1, 1000
        ),
        Parameter(
            "keepalive",
            "choice",
            "yes",
            "yes: a connection is used again; no: a new one for each request",
            choices=("yes", "no"),
        ),
        Parameter("batch_s", "integer", "1", "seconds that a batch lasts", 1, 60),
    ),
    defaults={"batches": "5"},
    figures=(
        Figure("p50_ns", "ns", "lower", "median", "half of the answers came within that time"),
        Figure("p90_ns", "ns", "lower", "median", "nine in ten came within that time"),
        Figure("p99_ns", "ns", "lower", "median", "99 in a hundred came within that time"),
        Figure("bytes_per_s", "B/s", "higher", "median", "bytes received, headers included"),
        Figure("errors", "", "lower", "sum", "requests that failed"),
        Figure(
            "board_cpu_ns", "ns", "lower", "median", "CPU time of the whole board for a request"
        ),
        Figure("host_cpu_ns", "ns", "lower", "median", "wrk's CPU time on this machine for one"),
    ),
    driven_by="host",
)


class HttpRequests:
    """The benchmark, as a source of messages."""

    description = DESCRIPTION

    def check(self, params: Mapping[str, str]) -> None:
        """Refuses what is no address of a page."""
        split_url(params["url"])

    def messages(self, order: Order) -> Iterator[SeriesMessage]:
        """A batch of load each time the next message is asked for."""
        if order.attributes:
            raise NotAvailable(
                f"{' '.join(order.attributes)}: the server is not started here, so it cannot be "
                "given attributes"
            )
        generator = find_generator()
        url = resolved_url(order.params["url"], order.board)
        answer = first_answer(url, is_asked_for=order.params["url"] != DEFAULT_URL)
        host, ticks_per_second = _board_itself(order)
        connections = int(order.params["concurrency"])
        traffic = Traffic(
            url=url,
            connections=connections,
            threads=threads_for(connections),
            keepalive=order.params["keepalive"] == "yes",
            seconds=_WARM_SECONDS,
        )
        on_board = shares_machine(order.board)
        yield host
        yield _begin(order, generator, traffic, answer, on_board)
        _measured(generator, traffic)
        traffic = replace(traffic, seconds=int(order.params["batch_s"]))
        for index in range(order.batches):
            before = read_load(order.channel)
            begun = time.monotonic_ns()
            counts = _measured(generator, traffic)
            window_ns = time.monotonic_ns() - begun
            after = read_load(order.channel)
            used_ns = busy_ns(before, after, ticks_per_second)
            value = counts.answered / (counts.duration_us / 1e6)
            yield SampleMessage(
                index,
                value,
                {
                    "elapsed_ns": counts.duration_us * 1000,
                    "iterations": counts.requests,
                    **evidence(before, after, window_ns, ticks_per_second),
                    "flags": _flags(counts, traffic, before, after),
                    "detail": _detail(counts, used_ns, on_board=on_board),
                },
            )
        yield EndMessage(order.batches)


def _board_itself(order: Order) -> tuple[HostMessage, int]:
    """The probe's description of the board, and what a tick is there.

    Both are what any benchmark of the probe says; the shortest is asked for.
    """
    arguments = ["run", "cpu.clock", "--batches", "1", "--batch_ms", "1", "--warm_ms", "0"]
    messages = list(order.channel.request(arguments))
    host, sample = first_of(HostMessage, messages), first_of(SampleMessage, messages)
    ticks = whole_at(sample.evidence, "ticks_per_second") if sample is not None else None
    if host is None or ticks is None or ticks <= 0:
        raise MeasurementError(
            f"the probe on {order.board.name} does not describe its board", "please report it"
        )
    return host, ticks


def _begin(
    order: Order, generator: Generator, traffic: Traffic, answer: FirstAnswer, on_board: bool
) -> BeginMessage:
    caveats = [LOOPBACK_CAVEAT] if on_board else []
    begin = {
        **described(DESCRIPTION, order),
        "iterations": {"na": "as many as the board answers in the time of a batch"},
        "cpu": {"na": NO_PROCESS},
        "partner_cpu": {"na": NO_PROCESS},
        "clock_hz": {"na": "not looked at"},
        "counters_scope": {"na": NO_PROCESS},
        "url": traffic.url,
        "generator": generator.version,
        "threads": traffic.threads,
        "answer_bytes": answer.size,
        "server": answer.server or {"na": "it does not say what it is"},
        "caveats": caveats,
    }
    return BeginMessage(ID, begin)


def _measured(generator: Generator, traffic: Traffic) -> Counts:
    counts = run_generator(generator, traffic)
    if counts.answered <= 0 or counts.duration_us <= 0:
        raise MeasurementError(
            f"{ID}: not one request of a batch had a good answer ({_failures(counts)})",
            "see whether the server still runs, and how many connections it takes",
        )
    return counts


def _failures(counts: Counts) -> str:
    named = {
        "answered with 400 or more": counts.status,
        "not connected": counts.connect,
        "broken off": counts.read + counts.write,
        f"later than {ANSWER_SECONDS} s": counts.timeout,
    }
    return ", ".join(f"{n} {what}" for what, n in named.items() if n) or "none came back"


def _flags(counts: Counts, traffic: Traffic, before: Load, after: Load) -> list[str]:
    flags = []
    if counts.errors:
        flags.append("errors")
    if counts.cpu_s > _BUSY * traffic.threads * counts.duration_us / 1e6:
        flags.append("generator")
    if before.stolen is not None and after.stolen is not None and after.stolen > before.stolen:
        flags.append("stolen")
    return flags


def _detail(counts: Counts, board_ns: int | None, *, on_board: bool) -> JsonObject:
    host_ns = counts.cpu_s * 1e9
    board_cpu: float | dict[str, str]
    if board_ns is None:
        board_cpu = {"na": "no /proc/stat"}
    elif on_board and board_ns < host_ns:
        board_cpu = {"na": "less than the load generator used itself: too few ticks to tell"}
    else:
        board_cpu = (board_ns - (host_ns if on_board else 0)) / counts.requests
    return {
        "p50_ns": counts.p50_us * 1000,
        "p90_ns": counts.p90_us * 1000,
        "p99_ns": counts.p99_us * 1000,
        "bytes_per_s": counts.bytes / (counts.duration_us / 1e6),
        "errors": counts.errors,
        "board_cpu_ns": board_cpu,
        "host_cpu_ns": host_ns / counts.requests,
        "errors_connect": counts.connect,
        "errors_read": counts.read,
        "errors_write": counts.write,
        "errors_status": counts.status,
        "errors_timeout": counts.timeout,
    }


# -- URLs of web servers on boards: checked, completed, asked for once -----------------------------

_BODY_LIMIT = 64 << 20
_CHUNK = 64 << 10
_LETTERS = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """What the server said to a first request; ``size`` is that of the body in bytes."""

    status: int
    size: int
    server: str


def split_url(url: str) -> SplitResult:
    """The parts of a URL that can be asked for; UsageError names what is wrong with it."""
    quoted = printable(url)
    if not _LETTERS.fullmatch(url.replace(BOARD, "board", 1)):
        raise UsageError(
            f"{ID}: '{quoted}' has characters that a URL cannot have",
            f"write them as %xx; braces only as {BOARD}, in the place of the host",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{ID}: '{quoted}' is no URL ({error})", "such as http://host/") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(
            f"{ID}: '{quoted}' is not a URL of a web server", f"such as {DEFAULT_URL}index.html"
        )
    if parts.username is not None or parts.fragment or BOARD in url.replace(BOARD, "", 1):
        raise UsageError(
            f"{ID}: '{quoted}' has a user, a fragment or two boards, which cannot be asked for",
            "leave them out",
        )
    if BOARD in url and BOARD not in parts.netloc:
        raise UsageError(
            f"{ID}: '{quoted}': {BOARD} stands for an address", f"such as {DEFAULT_URL}index.html"
        )
    return parts


def resolved_url(url: str, board: Board) -> str:
    """The URL with the board's address in it; NotAvailable when nobody knows that."""
    if BOARD not in url:
        return url
    address = board.board_address()
    if address is None or "%" in address:
        raise NotAvailable(
            f"the address of {board.name} is not known", "name it in url=http://ADDRESS/"
        )
    return url.replace(BOARD, in_url(address))


def first_answer(url: str, *, is_asked_for: bool) -> FirstAnswer:
    """Asks once, to see that the server is there and what it sends.

    MeasurementError when the answer is not good; NotAvailable when there is none and nobody has
    said that there is a server.
    """
    parts = split_url(url)
    try:
        connection = _connection(parts)
        try:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", path)
            response = connection.getresponse()
            size = _body_size(response)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        kind = MeasurementError if is_asked_for else NotAvailable
        raise kind(
            f"{ID}: no web server answers on {url} ({_reason(error)})",
            "see whether it runs there and whether a firewall lets its port through"
            if is_asked_for
            else "name what to ask for: url=http://HOST/PAGE",
        ) from error
    if not 200 <= response.status < 300:
        where = printable(response.getheader("location", ""))
        raise MeasurementError(
            f"{ID}: {url} is answered with {response.status}"
            + (f" (it has moved to {where})" if where else ""),
            "name a page that is there: url=http://HOST/PAGE",
        )
    return FirstAnswer(response.status, size, printable(response.getheader("server", ""), 60))


def _body_size(response: http.client.HTTPResponse) -> int:
    """Reads the body; TimeoutError when it takes longer than any answer may."""
    deadline = time.monotonic() + ANSWER_SECONDS
    size = 0
    while size < _BODY_LIMIT and (part := response.read1(_CHUNK)):
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the answer takes longer than {ANSWER_SECONDS} s")
    return size


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=ANSWER_SECONDS)
    # As wrk does, which is told to measure a server and not to trust it.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, parts.port, timeout=ANSWER_SECONDS, context=context)


def _reason(error: Exception) -> str:
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return printable(message) or type(error).__name__
