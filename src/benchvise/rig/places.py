"""Places of a labgrid coordinator: taken before a board is used, given back afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchvise.board.sanitise import last_line
from benchvise.rig.faults import Fault, RigError

_SECONDS = 30.0


@contextmanager
def acquired(rig: Path, place: str) -> Iterator[None]:
    """The place is ours within this context; one that this user had before stays his.

    RigError (board-busy) when another user has it, rig-broken when the coordinator or the place
    is not there.
    """
    status, said = _client(rig, "-p", place, "acquire")
    if status != 0 and "acquired" not in said:
        raise RigError(
            Fault.RIG_BROKEN,
            f"the place {place} cannot be acquired ({last_line(said.encode())})",
            "see `labgrid-client places` and whether its exporter runs",
        )
    if status != 0 and not _is_mine(rig, place):
        raise RigError(
            Fault.BUSY,
            f"the place {place} is in use ({last_line(said.encode())})",
            "wait, or ask its user: labgrid-client who",
        )
    try:
        yield
    finally:
        if status == 0:
            _client(rig, "-p", place, "release")


def _is_mine(rig: Path, place: str) -> bool:
    """Whether this user on this host is the one who has acquired it."""
    import socket

    from labgrid.util.helper import get_user

    me = f"{os.environ.get('LG_HOSTNAME', socket.gethostname())}/"
    me += os.environ.get("LG_USERNAME", get_user())
    _, said = _client(rig, "-p", place, "show")
    return any(
        line.strip().startswith("acquired:") and line.split(":", 1)[1].strip() == me
        for line in said.splitlines()
    )


def _client(rig: Path, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "labgrid.remote.client", "-c", str(rig), *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return 1, "labgrid-client does not come to its end"
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")
