"""The labgrid environment file of a virtual bench."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchvise.rig.virtual import usbsdmux
from benchvise.rig.virtual.boards import GDB_SOCKET
from benchvise.rig.virtual.messages import BoardPorts

RIG_FILE = "rig.yaml"

_IMPORTS = ["benchvise.rig.drivers"]
_SHELL = {"prompt": r"root@[\w-]+:[^ ]+# ", "login_prompt": " login: ", "username": "root"}
_HEAD = """\
# The environment of a virtual bench, made when it was started. Same syntax as for real boards;
# every value that is measured on these boards is simulated.
"""


def write(
    directory: Path,
    url: str,
    boards: Sequence[BoardPorts],
    ssh_identity: Path,
    images: Mapping[str, Path],
) -> Path:
    """Writes the file, and what it names, for boards as they are in bench.json.

    ``images`` are the card images that belong to the kinds of boards, where there are any.
    """
    launcher = directory / "usbsdmux"
    command = shlex.join([sys.executable, "-E", "-S", str(Path(usbsdmux.__file__).resolve())])
    _replace(launcher, f'#!/bin/sh\nexec {command} "$@"\n', 0o700)
    # Nothing has to settle where no USB device comes and goes, and no capacitor to run empty.
    times = {"stagger_s": 0.2, "settle_s": 0.1, "off_s": 0.1}
    import yaml  # late: nearly every command imports RIG_FILE

    options = {"ssh_identity": str(ssh_identity), **times}
    environment = {
        "targets": {board.name: _target(directory, url, board, images) for board in boards},
        "images": {kind: str(path) for kind, path in images.items()},
        "tools": {"usbsdmux": str(launcher)},
        "options": {"benchvise": options},
        "imports": _IMPORTS,
    }
    file = directory / RIG_FILE
    _replace(file, _HEAD + yaml.safe_dump(environment, sort_keys=False, width=200), 0o600)
    return file


def _replace(file: Path, text: str, mode: int) -> None:
    """Writes a file that others may be reading, or running, at the same time."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text)
    new.chmod(mode)
    new.replace(file)


def _target(
    directory: Path, url: str, board: BoardPorts, images: Mapping[str, Path]
) -> dict[str, object]:
    own = directory / board.name
    control = own / "mux"
    _replace(control, f"{url}/mux/{board.index}\n", 0o600)
    return {
        "features": [board.arch, board.kind, "simulated"],
        "resources": {
            "NetworkPowerPort": {
                "model": "simplerest",
                "host": f"{url}/relay/{{index}}/{{value}}",
                "index": str(board.index),
            },
            "NetworkSerialPort": {
                "host": "127.0.0.1",
                "port": board.console_port,
                "speed": 115200,
                "protocol": "raw",
            },
            "NetworkService": {
                "address": "127.0.0.1",
                "port": board.ssh_port,
                "username": "root",
            },
            "VirtualSDMux": {"control_path": str(control), "disk_path": str(own / "host" / "sd")},
        },
        "drivers": {
            "NetworkPowerDriver": {"delay": 0.2},
            "SerialDriver": {},
            "VirtualSDMuxDriver": {},
            "VirtualStorageDriver": {},
            "ShellDriver": dict(_SHELL),
            "CardStrategy": {
                "debugger": str(own / GDB_SOCKET),
                **({"image": board.kind} if board.kind in images else {}),
            },
        },
    }
