"""Turns the SD mux of a virtual bench; takes the words of the `usbsdmux` command.

    usbsdmux CONTROL get|host|dut|client|off

CONTROL is a file that holds the mux's address. Stand-alone: it is run by its path, without
benchvise, so that it starts fast and whatever the environment is.
"""

from __future__ import annotations

import http.client
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

_SECONDS = 30.0
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
        connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=_SECONDS
        )
        connection.request("GET", address.path if mode == "get" else f"{address.path}/{mode}")
        response = connection.getresponse()
        said = response.read(4096).decode("utf-8", "replace")
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"usbsdmux: {control}: {error}", file=sys.stderr)
        return 1
    if response.status != 200:
        print(f"usbsdmux: {said}", file=sys.stderr)
        return 1
    if mode == "get":
        print(said)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
