"""Turns the SD mux of a virtual bench; takes the words of the `usbsdmux` command.

    usbsdmux CONTROL get|host|dut|client|off

CONTROL is a file that holds the mux's address. Stand-alone: it is run by its path, without
benchvise, so that it starts fast and whatever the environment is.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

_SECONDS = 30.0
_ANSWER_BYTES = 4096
_MODES = ("get", "host", "dut", "client", "off")


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    if len(arguments) != 2 or arguments[1] not in _MODES:
        print(f"usage: usbsdmux CONTROL {'|'.join(_MODES)}", file=sys.stderr)
        return 2
    control, mode = arguments
    try:
        with open(control) as file:  # noqa: PTH123 - pathlib takes as long to load as all the rest
            address = urlsplit(file.read(4096).strip())
        path = address.path if mode == "get" else f"{address.path}/{mode}"
        answer, status = _request(address, path)
    except (OSError, ValueError) as error:
        print(f"usbsdmux: {control}: {error}", file=sys.stderr)
        return 1
    if status != 200:
        print(f"usbsdmux: {answer}", file=sys.stderr)
        return 1
    if mode == "get":
        print(answer)
    return 0


def _request(address: SplitResult, path: str) -> tuple[str, int]:
    """The answer to a request, and its status. Loading http.client takes longer than all this."""
    where = (address.hostname or "", address.port or 80)
    with socket.create_connection(where, timeout=_SECONDS) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {address.netloc}\r\n\r\n".encode())
        data = b""
        while len(data) < _ANSWER_BYTES and (more := connection.recv(_ANSWER_BYTES)):
            data += more
    head, _, body = data.partition(b"\r\n\r\n")
    fields = head.split(b" ", 2)
    if not fields[0].startswith(b"HTTP/") or len(fields) < 2:
        raise ValueError("the server at this address is not a virtual bench")
    return body.decode("utf-8", "replace"), int(fields[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
