"""A serial line under every setting asked for, pattern by pattern."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import count, product
from typing import TypeAlias

from benchvise.board import Board, messages, process
from benchvise.board.deploy import deploy
from benchvise.board.messages import EchoingMessage, ErrorMessage, Message, read_message
from benchvise.errors import BoardUnusable, UsageError
from benchvise.signal.serial.classify import MeasuredSetting
from benchvise.signal.serial.exchange import BACK_ALONE, Exchange, exchange, patterns
from benchvise.signal.serial.flow import Flow
from benchvise.signal.serial.port import Port
from benchvise.signal.serial.requests import Reply, ask
from benchvise.text import AnyText, last_line, printable

# -- the other end: a plug, a port of this machine, the probe on a board ---------------------------

READY_SECONDS = 10.0

FarEnd: TypeAlias = Callable[[int, Flow], AbstractContextManager[Port | None]]
"""Makes the other end ready for a rate and a flow control; the port to be read, or None where what
is sent comes back to where it was sent from."""


@contextmanager
def plug(_baud: int, _flow: Flow) -> Iterator[None]:
    """A loop-back plug: there is nothing to do."""
    yield None


def port_of_this_machine(path: str) -> FarEnd:
    """A second port of this machine."""

    def opened(baud: int, flow: Flow) -> Port:
        return Port(path, baud, flow)

    return opened


def port_of_board(board: Board, path: str) -> FarEnd:
    """A port of a board, where the probe sends back what comes.

    Raises BoardUnreachable, or BoardUnusable with what the probe says of the port.
    """

    @contextmanager
    def echoing(baud: int, flow: Flow) -> Iterator[None]:
        argv = ["echo", "--port", path, "--baud", str(baud), "--flow", str(flow)]
        child = board.spawn([deploy(board).path, *argv])
        try:
            _await(board, process.Pipes(child))
            yield None
        finally:
            if child.stdin is not None:
                with contextlib.suppress(OSError):
                    child.stdin.close()  # it puts the port's settings back, and ends
            with contextlib.suppress(Exception):
                child.wait(2)
            process.end(child)

    return echoing


def _await(board: Board, pipes: process.Pipes) -> None:
    """Waits until the port is ready; BoardUnusable with its output when it is not."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        *lines, rest = bytes(pipes.stdout).split(b"\n")
        for raw in lines:
            message: Message | None = None
            with contextlib.suppress(ValueError):  # a talkative login shell
                message = read_message(raw)
            if isinstance(message, EchoingMessage):
                return
            if isinstance(message, ErrorMessage):
                raise _refused(board, message.message)
        if len(rest) > messages.LINE_LIMIT or pipes.at_end:
            raise _refused(board, last_line(bytes(pipes.stderr)) or printable(rest))
        if not pipes.pump(deadline - time.monotonic()):
            raise _refused(board, f"it said nothing for {READY_SECONDS:g} s")


def _refused(board: Board, reason: AnyText) -> BoardUnusable:
    return BoardUnusable(
        f"{board.name}: its end of the line cannot be used ({reason})",
        "name a serial port of the board that nothing else has open, its console least of all",
    )


# -- every setting, pattern by pattern -------------------------------------------------------------

Observer: TypeAlias = Callable[[Flow, int, int, Exchange], None]
"""Is told of flow control, rate, chunk, and the pattern that was just exchanged."""


def soak(
    near: str,
    far: FarEnd = plug,
    *,
    flows: Sequence[Flow],
    bauds: Sequence[int],
    chunks: Sequence[int],
    size: int,
    seed: int,
    seconds: float = 0.0,
    observe: Observer = lambda _flow, _baud, _chunk, _exchange: None,
) -> list[MeasuredSetting]:
    """Tests the line between a port of this machine and another end.

    ``size`` is about how many bytes each pattern has. All settings are tested once, and again with
    other random bytes while ``seconds`` are not over. Raises UsageError for a port that cannot be
    opened, BoardUnusable for one that goes meanwhile, and what ``far`` raises.
    """
    if not 64 <= size <= 64 << 20:
        raise UsageError(f"patterns of {size} bytes", "64 bytes to 64 MiB each")
    deadline = time.monotonic() + seconds
    tested: dict[tuple[Flow, int, int], list[Exchange]] = {}
    for round_seed in count(seed):
        for flow, baud, chunk in product(flows, bauds, chunks):
            done = tested.setdefault((flow, baud, chunk), [])
            if any(way.dead for exchanged in done for way in exchanged.ways):
                continue  # nothing comes through any more: nothing more to be learnt
            if done and time.monotonic() >= deadline:
                continue
            with ExitStack() as stack:
                near_port = stack.enter_context(Port(near, baud, flow))
                far_port = stack.enter_context(far(baud, flow))
                for result in _exchanges(near_port, far_port, flow, baud, chunk, size, round_seed):
                    done.append(result)
                    observe(flow, baud, chunk, result)
        if time.monotonic() >= deadline or all(
            any(way.dead for exchanged in done for way in exchanged.ways)
            for done in tested.values()
        ):
            break
    return [MeasuredSetting(*setting, tuple(done)) for setting, done in tested.items()]


def _exchanges(
    near: Port, far: Port | None, flow: Flow, baud: int, chunk: int, size: int, seed: int
) -> Iterator[Exchange]:
    """All patterns of a setting, until nothing comes through any more."""
    for pattern in patterns(flow, size, seed):
        result = exchange(near, far, pattern, chunk, baud)
        yield result
        if any(way.dead for way in result.ways):
            if far is not None and not pattern.both_ways and not result.ways[0].received:
                # Is it the one wire, or all of the line?
                back = exchange(
                    far, near, replace(BACK_ALONE, data=pattern.data[:256]), chunk, baud
                )
                ways = tuple(replace(way, name="back") for way in back.ways)
                yield replace(back, ways=ways)
            return


def ask_again_and_again(
    near: str,
    request: bytes,
    reply: bytes,
    *,
    flow: Flow,
    baud: int,
    timeout_s: float,
    size: int,
    seconds: float = 0.0,
) -> list[Reply]:
    """Asks a module until about ``size`` bytes were exchanged and ``seconds`` are over; gives up
    after twenty requests to which nothing came."""
    if not request or not reply:
        raise UsageError("an empty request or reply", "--request 'AT\\r' --reply 'OK\\r\\n'")
    deadline = time.monotonic() + seconds
    wanted = max(20, size // (len(request) + len(reply)))
    replies: list[Reply] = []
    with Port(near, baud, flow) as port:
        while len(replies) < wanted or time.monotonic() < deadline:
            replies.append(ask(port, request, reply, timeout_s))
            if len(replies) == 20 and not any(answer.received for answer in replies):
                break
    return replies
