"""``python -m benchvise.web.readers PROGRAM SETUP``: a reader, which confines itself first.

Before anything else is imported: libraries start threads of their own, which would stay free.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

from benchvise.confinement import Confinement, confine
from benchvise.user_directories import user_directory

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc", "/proc", "/sys", "/opt")
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/shm")  # noqa: S108 - to be opened, not to be put there
_SHARE = 0.75
"""Of the machine's memory: what one program may take."""


def main() -> None:
    """Standard input is the server's socket; the arguments are the program and its places."""
    program, places = sys.argv[1], [Path(place) for place in sys.argv[2:]]
    control = socket.socket(fileno=os.dup(0))
    (user_directory("cache") / "traces").mkdir(parents=True, exist_ok=True)
    user_directory("state").mkdir(parents=True, exist_ok=True)
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    confine(
        Confinement(
            readable=[*map(Path, _SYSTEM), *_of_python()],
            writable=[
                *places,
                *map(Path, _DEVICES),
                user_directory("cache") / "traces",
                user_directory("state"),
                Path(os.environ["TMPDIR"]),
            ],
            programs=True,
            memory=int(machine * _SHARE),
        )
    )
    importlib.import_module(f"benchvise.web.readers.{program}").serve(control)


def _of_python() -> Iterable[Path]:
    """Where this interpreter and its libraries lie."""
    yield from (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2])
    yield from (Path(entry) for entry in sys.path if entry)


if __name__ == "__main__":
    main()
