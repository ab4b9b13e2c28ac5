"""A terminal on a board's serial console."""

from __future__ import annotations

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

QUIT = b"\x1d"  # Ctrl-]
_READ_SECONDS = 0.03


def open_terminal(rig: Rig, name: str, output: BinaryIO | None = None) -> Path:
    """Connects the terminal with the board's console until Ctrl-] or the end of the input.

    The board's bytes go to ``output``, by default standard output. Returns the log's path. Raises
    RigError when the console cannot be used.
    """
    log = logs_directory(name) / "console.log"
    screen = output or sys.stdout.buffer
    with HeldBoard(rig, name, "rig console") as held:
        held.open_console(log)
        print(f"console of {name}; Ctrl-] quits", file=sys.stderr, flush=True)
        with _raw_terminal():
            descriptor = sys.stdin.fileno()
            listening = True
            while True:
                ready = select.select([descriptor], [], [], 0)[0] if listening else []
                if ready:
                    typed = os.read(descriptor, 1024)
                    if QUIT in typed:
                        break
                    if typed:
                        held.write_console(typed)
                    elif sys.stdin.isatty():
                        break
                    else:  # a script's input has ended: the board's last words are still shown
                        listening = False
                data = held.read_console(_READ_SECONDS if listening else 1.0)
                screen.write(data)
                screen.flush()
                if not listening and not data:
                    break
    return log


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
