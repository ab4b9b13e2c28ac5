"""The process that keeps places of a coordinator for boards that need nothing else of labgrid.

A board that is reached over its network alone needs no driver, and so no process of its own: one
process, with one connection to the coordinator, takes the places of all of them and gives them
back. Like a worker it outlives a client that is killed, and gives back what that one had.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import messages, places
from benchvise.rig.hold.messages import (
    PlaceList,
    Request,
    WorkerError,
    WorkerMessage,
    parse_request,
)
from benchvise.rig.hold.places import Reservations

_CHUNK = 64 << 10
_LOOK_SECONDS = 5.0
"""Between two questions whether the coordinator was started anew, which a sync message tells."""


def keep_places(rig: Path, purpose: str) -> int:
    """The whole life of the process; returns its exit code."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what labgrid prints must not become part of the answers

    def send(message: WorkerMessage) -> None:
        answers.write(json.dumps(encode(message)) + "\n")
        answers.flush()

    with ExitStack() as all_places, contextlib.suppress(OSError):
        taken: dict[str, ExitStack] = {}
        reservations = Reservations(rig)
        all_places.callback(_cancel, reservations)

        def answer(request: Request) -> object:
            match request:
                case messages.TakePlace(place, number):
                    with ExitStack() as own:
                        own.enter_context(places.acquired(rig, place, purpose, number))
                        service = places.service_at(rig, place)
                        taken[place] = all_places.enter_context(own.pop_all())
                    return service
                case messages.GivePlace(place):
                    taken.pop(place, ExitStack()).close()
                case messages.ListPlaces():
                    return PlaceList(tuple(places.states(rig, reservations.tokens)))
                case messages.ReservePlaces(wanted):
                    allocated = set(reservations.want(wanted))
                    listed = places.states(rig, reservations.tokens)
                    return PlaceList(tuple(s for s in listed if s.place in allocated))
            return None

        send(WorkerMessage(0, ended=True))
        for line in _requests():
            if line is None:
                with contextlib.suppress(BenchviseError):
                    places.take_again(rig)
                continue
            number, request = parse_request(line)
            result, error = None, None
            try:
                result = answer(request)
            except BenchviseError as failure:
                error = WorkerError.of(failure)
            except Exception as failure:  # noqa: BLE001 - labgrid raises what it likes
                traceback.print_exc()
                text = f"the coordinator cannot be asked ({type(failure).__name__}: {failure})"
                error = WorkerError.of(RigError(Fault.RIG_BROKEN, text, "see whether it runs"))
            send(WorkerMessage(number, ended=True, result=encode(result), error=error))
    return 0


def _cancel(reservations: Reservations) -> None:
    with contextlib.suppress(BenchviseError):
        reservations.want(())


def _requests() -> Iterator[str | None]:
    """The lines of standard input until it ends, or SIGTERM comes; None now and then between them.

    The signal is let through between requests alone: labgrid's session is an asyncio loop, which
    may swallow what a signal raises in it.
    """
    received = b""
    is_stopped = False

    def stop(*_signal: object) -> None:
        nonlocal is_stopped
        is_stopped = True
        os.write(wake, b"!")

    woken, wake = os.pipe()
    signal.signal(signal.SIGTERM, stop)
    while not is_stopped:
        while b"\n" in received:
            line, _, received = received.partition(b"\n")
            yield line.decode("utf-8", "replace")
        ready, _, _ = select.select([sys.stdin.fileno(), woken], [], [], _LOOK_SECONDS)
        if not ready:
            yield None
            continue
        if woken in ready:
            return
        data = os.read(sys.stdin.fileno(), _CHUNK)
        if not data:
            return
        received += data
