"""Whether boards answer to SSH, asked of all at once: no process, and no board waits for another.

What is asked is the first line that an SSH server says by itself: a kernel that still accepts
connections for a board whose programs hang does not say it. ssh's own configuration (jump hosts,
names that only it knows) does not apply.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, TypeAlias

from benchvise.rig.environment import NetworkService

ANSWERS = "answers"
SILENT = "accepts connections"
"""And has not said a word within the time that all boards have: it hangs, or is very busy."""
WAIT_SECONDS = 0.5
_GREETING = b"SSH-"

_Address: TypeAlias = tuple[socket.AddressFamily, Any]


def ssh_answers(services: Mapping[str, NetworkService]) -> dict[str, str]:
    """For each board, by name: ``answers``, ``accepts connections``, or why there is no answer.

    Takes ``WAIT_SECONDS`` at most where boards are given by address, twice as long where some are
    given by names; only as long as the answers take where all boards answer.
    """
    answers = dict.fromkeys(services, f"no answer within {WAIT_SECONDS:g} s")
    waits = selectors.DefaultSelector()
    with ExitStack() as opened:
        opened.callback(waits.close)
        for board, addresses in _addresses(services, answers).items():
            for family, address in addresses:
                connection = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
                connection.setblocking(False)
                connection.connect_ex(address)
                waits.register(connection, selectors.EVENT_WRITE, (board, connection, b""))
        deadline = time.monotonic() + WAIT_SECONDS
        # What has come by then is read, however late this process has its turn.
        while waits.get_map():
            left = deadline - time.monotonic()
            ready = waits.select(max(0.0, left))
            if not ready and left <= 0:
                break
            for key, _ in ready:
                _hear(waits, key, answers)
    return answers


def _hear(
    waits: selectors.DefaultSelector, key: selectors.SelectorKey, answers: dict[str, str]
) -> None:
    """Goes one step on with a connection: made, or the next bytes of its greeting."""
    board, connection, received = key.data
    heard = ""
    if key.events == selectors.EVENT_WRITE:
        error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            heard = os.strerror(error).lower()
        else:
            waits.modify(connection, selectors.EVENT_READ, (board, connection, b""))
            if answers[board] != ANSWERS:
                answers[board] = SILENT
    else:
        try:
            more = connection.recv(len(_GREETING) - len(received))
        except OSError as failure:
            heard = (failure.strerror or str(failure)).lower()
        else:
            received += more
            if not more:
                heard = "closes connections"
            elif len(received) == len(_GREETING):
                heard = ANSWERS if received == _GREETING else "no SSH server at its port"
            else:
                waits.modify(connection, selectors.EVENT_READ, (board, connection, received))
    if heard:
        waits.unregister(connection)
        if answers[board] != ANSWERS:  # of a name with several addresses, one that answers will do
            answers[board] = heard


def _addresses(
    services: Mapping[str, NetworkService], answers: dict[str, str]
) -> dict[str, list[_Address]]:
    """The addresses of each board; of names that are not known, ``answers`` says it.

    A name is looked up by a thread of its own, which is left behind where that takes too long.
    """
    addresses: dict[str, list[_Address]] = {}
    threads = []
    for board, service in services.items():
        try:
            addresses[board] = _looked_up(service, socket.AI_NUMERICHOST)
        except OSError:
            answers[board] = "the name server does not answer"
            threads.append(
                threading.Thread(
                    target=_look_up, args=(board, service, addresses, answers), daemon=True
                )
            )
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + WAIT_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    in_time = dict(addresses)
    for board in in_time:
        answers[board] = f"no answer within {WAIT_SECONDS:g} s"
    return in_time


def _look_up(
    board: str,
    service: NetworkService,
    addresses: dict[str, list[_Address]],
    answers: dict[str, str],
) -> None:
    try:
        addresses[board] = _looked_up(service, 0)
    except (OSError, UnicodeError) as error:
        answers[board] = f"its name {service.address} is not known ({error})"


def _looked_up(service: NetworkService, flags: int) -> list[_Address]:
    listed = socket.getaddrinfo(service.address, service.port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, address) for family, _, _, _, address in listed]
