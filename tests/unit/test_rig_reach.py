"""Which boards answer to SSH: servers that do, and all ways of not doing it, asked at once."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from types import SimpleNamespace

import pytest
from waiting import PATIENCE

from benchvise.rig.environment import NetworkService
from benchvise.rig.hold import reach
from benchvise.rig.hold.reach import ANSWERS, SILENT, ssh_answers

GREETINGS = {
    "openssh": (b"SSH-2.0-OpenSSH_9.2p1\r\n", ANSWERS),
    "dropbear": (b"SSH-2.0-dropbear_2022.83\r\n", ANSWERS),
    "in parts": (b"SS|H-2.0-x\r\n", ANSWERS),
    "web server": (b"HTTP/1.1 400 Bad Request\r\n", "no SSH server at its port"),
    "noise": (b"\x00\xff\x1b[2J\x07", "no SSH server at its port"),
    "closing": (None, "closes connections"),
    "silent": (b"", SILENT),
}


@contextmanager
def server(greeting: bytes | None) -> Iterator[NetworkService]:
    """Says its greeting, in the parts that ``|`` marks; None closes at once."""

    def serve(listening: socket.socket) -> None:
        with suppress(OSError), listening.accept()[0] as connection:
            for part in () if greeting is None else greeting.split(b"|"):
                connection.sendall(part)
            if greeting is not None:
                connection.recv(1)  # until the client goes

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield NetworkService("127.0.0.1", listening.getsockname()[1])


def test_each_board_is_told_for_itself_whatever_the_others_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reach, "WAIT_SECONDS", 2.0)  # the servers' threads need their turn
    with socket.create_server(("127.0.0.1", 0)) as closed:
        refusing = NetworkService("127.0.0.1", closed.getsockname()[1])
    expected = {name: answer for name, (_, answer) in GREETINGS.items()}
    expected |= {"refusing": "connection refused"}
    with ExitStack() as stack:
        services = {
            name: stack.enter_context(server(greeting)) for name, (greeting, _) in GREETINGS.items()
        }
        # The silent one comes first, and those after it are not kept waiting by it.
        services = {"silent": services["silent"]} | services | {"refusing": refusing}
        answers = ssh_answers(services)
    assert answers == expected


def test_a_name_that_is_looked_up_for_ever_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where the name server is dead. However late the other thread is, its name is found."""
    found, looked_up, asked = threading.Event(), socket.getaddrinfo, count()

    def look_up(host: str, port: int, *, type: int, flags: int) -> object:  # noqa: A002
        if host == "lost.example" and not flags:
            found.wait(PATIENCE)
        return looked_up(host, port, type=type, flags=flags)

    # The time for looking up begins, is enough for the first, and is over for the second.
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + PATIENCE * (next(asked) >= 2))
    monkeypatch.setattr(reach, "time", clock)
    monkeypatch.setattr(reach, "WAIT_SECONDS", PATIENCE)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with server(b"SSH-2.0-x\r\n") as healthy:
        named = NetworkService("localhost", healthy.port)  # of its addresses one is served
        services = {"healthy": named, "lost": NetworkService("lost.example")}
        answers = ssh_answers(services)
    found.set()
    assert answers == {"lost": "the name server does not answer", "healthy": ANSWERS}


def test_a_lab_without_boards_to_ask() -> None:
    assert ssh_answers({}) == {}
