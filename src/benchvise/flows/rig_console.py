"""``benchvise rig console``: a terminal on a board's serial console."""

from __future__ import annotations

import base64
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.environment import Rig
from benchvise.rig.hold.client import HeldBoard

LEAVE = b"\x1d"  # Ctrl-]
_READ_SECONDS = 0.03


def attend(rig: Rig, name: str, output: BinaryIO | None = None) -> Path:
    """Connects the terminal with the board's console until Ctrl-] or the end of the input.

    What the board says goes to ``output``, by default standard output. Returns where it is kept.
    Raises RigError when the console cannot be used.
    """
    kept = logs_directory(name) / "console.log"
    shown = output or sys.stdout.buffer
    with HeldBoard(rig, name, "rig console") as held:
        held.request("console", path=str(kept))
        print(f"console of {name}; Ctrl-] leaves", file=sys.stderr, flush=True)
        with _raw_terminal():
            descriptor = sys.stdin.fileno()
            listening = True
            while True:
                ready = select.select([descriptor], [], [], 0)[0] if listening else []
                if ready:
                    typed = os.read(descriptor, 1024)
                    if LEAVE in typed:
                        break
                    if typed:
                        data = base64.b64encode(typed).decode("ascii")
                        held.request("write", data=data)
                    elif sys.stdin.isatty():
                        break
                    else:  # a script's input has ended: what the board still says is shown
                        listening = False
                answer = held.request("read", timeout=_READ_SECONDS if listening else 1.0)
                said = base64.b64decode(answer["data"])
                shown.write(said)
                shown.flush()
                if not listening and not said:
                    break
    return kept


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Every key goes to the board, also Ctrl-C; as before afterwards."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
