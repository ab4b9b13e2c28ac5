"""Whose connection it is: as the kernel says, whatever the other end does."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import skips

from benchvise.local_users import is_own_connection, is_trusted, tcp_user, unix_user
from benchvise.rig.virtual import endpoints
from benchvise.rig.virtual.consoles import SimulatedConsole

OTHER_USER = 65534
# Says what it was sent within a second; the port, and what to send first.
ASK = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.settimeout(5)
    connection.sendall(sys.argv[2].encode())
    try:
        while data := connection.recv(1000):
            print(data.decode(), end="", flush=True)
            if "heard" in data.decode(): break
    except OSError:
        pass
"""


def test_a_unix_socket_knows_who_connected() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert unix_user(ours) == os.geteuid()
        assert is_own_connection(ours)


LISTENING = [(socket.AF_INET, "127.0.0.1", "127.0.0.1")]
if Path("/proc/net/if_inet6").exists():
    LISTENING += [(socket.AF_INET6, "::1", "::1"), (socket.AF_INET6, "::", "127.0.0.1")]


@pytest.mark.parametrize(("family", "listening", "address"), LISTENING)
def test_a_tcp_connection_has_an_owner_as_long_as_it_is_open(
    family: socket.AddressFamily, listening: str, address: str
) -> None:
    dual = listening == "::"
    server = socket.create_server((listening, 0), family=family, dualstack_ipv6=dual)
    with server:
        port = server.getsockname()[1]
        other = socket.create_connection((address, port))
        accepted, _ = server.accept()
        with accepted:
            ends = accepted.getpeername()[:2], accepted.getsockname()[:2]
            assert tcp_user(*ends) == os.geteuid()
            assert is_own_connection(accepted)
            # Of a socket that nobody has any more, the kernel says that it is root's.
            other.close()
            assert tcp_user(*ends) is None


def test_who_is_elsewhere_has_no_user() -> None:
    assert tcp_user(("192.0.2.1", 40000), ("127.0.0.1", 8765)) is None


def test_a_socket_that_only_listens_is_nobodys_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert tcp_user(("127.0.0.1", port), ("127.0.0.1", 1)) is None


def test_only_the_own_user_and_root_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchvise.local_users.os.geteuid", lambda: 1000)
    assert [is_trusted(user) for user in (1000, 0, 1001, None)] == [True, True, False, False]


def test_d7_another_user_gets_nothing_of_a_virtual_bench(tmp_path: Path) -> None:
    skips.need_root()
    skips.need("setpriv")
    other = ("setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups")
    switched: list[list[str]] = []

    async def ask(prefix: tuple[str, ...], port: int, text: str) -> str:
        command = [*prefix, "/usr/bin/env", "python3", "-c", ASK, str(port), text]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd="/")
        return (await process.communicate())[0].decode()

    async def answer(path: Sequence[str]) -> str:
        switched.append(list(path))
        return "heard"

    typed: list[bytes] = []

    class Board(SimulatedConsole):
        def type(self, data: bytes) -> None:
            typed.append(data)

    async def scene() -> dict[str, str]:
        console = Board(tmp_path / "console.log")
        await console.open(str(tmp_path / "console.sock"), 0)
        server, port = await endpoints.listen(answer, 0)
        request = "GET /relay/0/0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        said = {
            "console": await ask(other, console.port, "reboot"),
            "relay": await ask(other, port, request),
        }
        assert typed == [] and switched == []
        said["own"] = await ask((), port, request)
        server.close()
        console.close()
        return said

    said = asyncio.run(scene())
    assert said["console"] == ""
    assert " 403 " in said["relay"] and "another user" in said["relay"]
    assert said["own"].endswith("heard") and switched == [["relay", "0", "0"]]
