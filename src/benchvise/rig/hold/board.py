"""A board of a rig, brought to a shell and reached over its network or its console."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from benchvise.board.address import SshAddress
from benchvise.board.protocol import RUN_SECONDS, Board, Completed
from benchvise.board.ssh import SshBoard
from benchvise.errors import BenchviseError, BoardUnreachable
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.console.board import ConsoleBoard
from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.environment import PREFIX, SIMULATED, Rig
from benchvise.rig.hold.client import EventObserver, HeldBoard, all_at_once


@dataclass(frozen=True, slots=True)
class BoardStart:
    """How a board was brought to its shell: what was written to its card, and how it booted."""

    report: BootReport
    written: Mapping[str, Any] | None = None


@dataclass
class RigBoard:
    """A booted board of a rig. Leaving its context lets it go, switched off unless told else."""

    held: HeldBoard
    reached: Board
    fresh: BoardStart
    off_at_end: bool = True
    kind: str = "rig"
    _closed: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """``rig:`` and the name in the rig file."""
        return f"{PREFIX}{self.held.name}"

    @property
    def simulated(self) -> bool:
        """Whether the rig file marks it as one whose figures are not those of hardware."""
        return SIMULATED in self.held.features

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        """See Board.run."""
        return self.reached.run(argv, input=input, timeout=timeout)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """See Board.spawn."""
        return self.reached.spawn(argv)

    def contact_lost(self, returncode: int, stderr: bytes) -> BoardUnreachable | None:
        """See Board.contact_lost."""
        return self.reached.contact_lost(returncode, stderr)

    def host_address(self) -> str | None:
        """See Board.host_address."""
        return self.reached.host_address()

    def board_address(self) -> str | None:
        """See Board.board_address."""
        return self.reached.board_address()

    def close(self) -> None:
        """See Board.close: the connection first, then the power."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(BenchviseError):
                self.reached.close()
            self.held.close(off=self.off_at_end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def open_all(
    rig: Rig,
    names: Sequence[str],
    *,
    purpose: str,
    image: str | None = None,
    keep_on: bool = False,
    observe: EventObserver | None = None,
) -> list[tuple[str, RigBoard | None, BenchviseError | None]]:
    """Brings boards to their shells, all at once: off, card written if asked for, booted.

    Each name with its board, or with the error that is its own: one that fails is switched off
    and let go, and neither delays nor fails the others.
    """

    def bring(name: str) -> RigBoard:
        held = HeldBoard(rig, name, purpose, observe)
        try:
            held.request("off_at_end", off=True)
            written = held.request("flash", image=image) if image else None
            return boot_held(held, written, off_at_end=not keep_on)
        except BaseException:
            with contextlib.suppress(BenchviseError):
                held.close(off=True)
            held.abort()
            raise

    return all_at_once(names, bring)


def boot_held(held: HeldBoard, written: Mapping[str, Any] | None, *, off_at_end: bool) -> RigBoard:
    """Boots a board that is held; ``written`` is what was said of its card, if it was written."""
    directory = logs_directory(held.name)
    found = held.request("boot", directory=str(directory))
    report = BootReport.from_json(found["report"])
    held.request("off_at_end", off=off_at_end)
    reached = _reach(held, found, directory)
    return RigBoard(held, reached, BoardStart(report, written), off_at_end)


def _reach(held: HeldBoard, found: Mapping[str, Any], directory: Path) -> Board:
    """Over SSH where the board has an address, otherwise over its console."""
    address = found.get("address")
    if not address:
        return ConsoleBoard(ConsoleShell(held), f"{PREFIX}{held.name}")
    options = ["IdentitiesOnly=yes"] if held.rig.options.ssh_identity else []
    if held.rig.options.ssh_identity:
        options.append(f"IdentityFile={held.rig.options.ssh_identity}")
    # A card just written brings new host keys. They were read over the console, which no other
    # machine can answer on; without them the first answer is believed.
    known = directory / "known_hosts"
    keys = [str(key) for key in found.get("host_keys", ())]
    port = int(found.get("port", 22))
    where = str(address) if port == 22 else f"[{address}]:{port}"
    known.write_text("".join(f"{where} {key}\n" for key in keys))
    strict = "yes" if keys else "accept-new"
    options += [f"UserKnownHostsFile={known}", f"StrictHostKeyChecking={strict}"]
    ssh = SshAddress(f"{PREFIX}{held.name}", str(address), str(found.get("user", "root")), port)
    return SshBoard(ssh, options)


@dataclass(frozen=True, slots=True)
class ConsoleShell:
    """The shell on a held board's console, for ConsoleBoard."""

    held: HeldBoard

    def write(self, data: bytes) -> None:
        """Sends bytes as they are."""
        import base64

        self.held.request("write", data=base64.b64encode(data).decode("ascii"))

    def read(self, timeout: float) -> bytes:
        """What the board says, at the latest after ``timeout`` seconds."""
        import base64

        return base64.b64decode(self.held.request("read", timeout=timeout)["data"])


def open_board(name: str, rig_file: str | None = None) -> RigBoard:
    """A single board for commands that look at it; booted afresh, and off again afterwards."""
    from benchvise.rig.environment import find_rig_file, load_rig

    rig = load_rig(find_rig_file(rig_file))
    (chosen,) = rig.select([name.removeprefix(PREFIX)])[:1]
    ((_, board, error),) = open_all(rig, [chosen], purpose=f"benchvise with {name}")
    if error is not None:
        raise error
    assert board is not None  # noqa: S101 - the one or the other
    return board
