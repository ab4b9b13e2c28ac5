"""A board of a rig, brought to a shell and reached over its network or its console.

``open_all`` and ``open_board`` do so for one command. A ``BootSession`` holds a board for many
boots, from one image or another.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from benchvise.board.address import SshAddress
from benchvise.board.protocol import RUN_SECONDS, Board, Completed
from benchvise.board.ssh import SshBoard
from benchvise.errors import BenchviseError, BoardUnreachable
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.card.image import Stamp, stamp_of
from benchvise.rig.console.board import ConsoleBoard
from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.environment import PREFIX, SIMULATED, Rig, find_rig_file, load_rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.client import HeldBoard
from benchvise.rig.hold.connection import EventObserver
from benchvise.rig.hold.messages import BootedBoard, FlashedCard, PowerChange
from benchvise.rig.hold.network import NetworkHold
from benchvise.rig.hold.together import all_at_once


@dataclass(frozen=True, slots=True)
class BoardStart:
    """How a board was brought to its shell: how it booted, and its card if it was written."""

    report: BootReport
    card: FlashedCard | None = None


@dataclass
class RigBoard:
    """A board of a rig that can be measured. Leaving its context releases it, by default switched
    off. ``start`` is None for one that was there, and is not switched at all.
    """

    held: HeldBoard | NetworkHold
    reached: Board
    start: BoardStart | None
    off_at_end: bool = True
    kind: str = "rig"
    _closed: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """``rig:`` and the name in the rig file."""
        return f"{PREFIX}{self.held.name}"

    @property
    def simulated(self) -> bool:
        """Whether the rig file marks it as simulated: its results are not those of hardware."""
        return SIMULATED in self.held.features

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        """Runs a command on the board, as ``Board.run``."""
        return self.reached.run(argv, input=input, timeout=timeout)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a command on the board with pipes, as ``Board.spawn``."""
        return self.reached.spawn(argv)

    def contact_lost(self, returncode: int, stderr: bytes) -> BoardUnreachable | None:
        """The error to raise where a command ended because the board was lost."""
        return self.reached.contact_lost(returncode, stderr)

    def host_address(self) -> str | None:
        """The address of this machine as the board sees it; None over a console."""
        return self.reached.host_address()

    def board_address(self) -> str | None:
        """The board's address as this machine sees it; None over a console."""
        return self.reached.board_address()

    def close(self) -> None:
        """Ends the connection, then switches off and releases the board."""
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
    holds: Mapping[str, HeldBoard | NetworkHold] | None = None,
) -> list[tuple[str, RigBoard | None, BenchviseError | None]]:
    """Brings boards to their shells, all at once: off, card written if asked for, booted. Those
    without a strategy are reached over their network as they are.

    ``holds`` are boards that are held already. Each name with its board, or with the error that is
    its own: one that fails is switched off
    and released, and neither delays nor fails the others.
    """

    def bring(name: str) -> RigBoard:
        held = (holds or {}).get(name)
        if not rig.targets[name].is_switched:
            return _reach_network(rig, name, purpose, image, observe, held)
        if not isinstance(held, HeldBoard):
            held = HeldBoard(rig, name, purpose, observe)
        try:
            held.switch_off_at_end(True)
            card = held.write_card(image) if image else None
            return boot_held(held, card, off_at_end=not keep_on)
        except BenchviseError:
            with contextlib.suppress(BenchviseError):
                held.close(off=True)
            held.abort()
            raise
        except BaseException:  # Ctrl-C in the middle: its process switches it off as it ends
            held.abort()
            raise

    return all_at_once(names, bring)


def _reach_network(
    rig: Rig,
    name: str,
    purpose: str,
    image: str | None,
    observe: EventObserver | None,
    held: HeldBoard | NetworkHold | None,
) -> RigBoard:
    """A board that is there, and has nothing to be booted by."""
    if image is not None:
        raise RigError(
            Fault.CARD_MISSING,
            f"{name} is reached over its network alone: the rig file gives it no card",
            "leave --image out, or give it a mux, a card reader and a CardStrategy",
        )
    if not isinstance(held, NetworkHold):
        held = NetworkHold(rig, name, purpose, observe)
    try:
        service = held.service
        where = SshAddress(f"{PREFIX}{name}", service.address, service.user, service.port)
        return RigBoard(held, SshBoard(where, _identity(rig)), None)
    except BaseException:
        held.close(off=False)
        raise


def _identity(rig: Rig) -> list[str]:
    """ssh's options for the key that the rig file names, if it names one."""
    identity = rig.options.ssh_identity
    return ["IdentitiesOnly=yes", f"IdentityFile={identity}"] if identity else []


def boot_held(held: HeldBoard, card: FlashedCard | None, *, off_at_end: bool) -> RigBoard:
    """Boots a board that is held; ``card`` is what was written to it just now, if anything was."""
    directory = logs_directory(held.name)
    booted = held.boot(directory)
    held.switch_off_at_end(off_at_end)
    reached = _reach(held, booted, directory)
    return RigBoard(held, reached, BoardStart(booted.report, card), off_at_end)


def _reach(held: HeldBoard, booted: BootedBoard, directory: Path) -> Board:
    """Over SSH where the board has an address, otherwise over its console."""
    if not booted.address:
        return ConsoleBoard(ConsoleShell(held), f"{PREFIX}{held.name}")
    options = _identity(held.rig)
    # A card just written brings new host keys. They were read over the console, which no other
    # machine can answer on; without them the first answer is believed.
    keys, port = booted.host_keys or (), booted.port or 22
    where = booted.address if port == 22 else f"[{booted.address}]:{port}"
    known_hosts = directory / "known_hosts"
    known_hosts.write_text("".join(f"{where} {key}\n" for key in keys))
    strict = "yes" if keys else "accept-new"
    options += [f"UserKnownHostsFile={known_hosts}", f"StrictHostKeyChecking={strict}"]
    ssh = SshAddress(f"{PREFIX}{held.name}", booted.address, booted.user or "root", port)
    return SshBoard(ssh, options)


@dataclass(frozen=True, slots=True)
class ConsoleShell:
    """The shell on a held board's console, for ConsoleBoard."""

    held: HeldBoard

    def write(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self.held.write_console(data)

    def read(self, timeout: float) -> bytes:
        """What the board says, at the latest after ``timeout`` seconds."""
        return self.held.read_console(timeout)


def open_board(name: str, rig_file: str | None = None) -> RigBoard:
    """A single board for one command: booted afresh, and off again afterwards."""
    rig = load_rig(find_rig_file(rig_file))
    (chosen,) = rig.select([name.removeprefix(PREFIX)])[:1]
    ((_, board, error),) = open_all(rig, [chosen], purpose=f"benchvise with {name}")
    if error is not None:
        raise error
    assert board is not None  # noqa: S101 - the one or the other
    return board


# -- a session of many boots -----------------------------------------------------------------------


class BootSession:
    """Holds one board until ``close``, which switches it off; nobody else gets it in between.

    The card is written when another image is asked for than it has; the writer reads it back and
    compares hashes. ``held`` is the board where it is held already. Raises as ``HeldBoard`` does.
    """

    def __init__(
        self,
        rig: Rig,
        name: str,
        purpose: str,
        observe: EventObserver | None = None,
        held: HeldBoard | None = None,
    ) -> None:
        self.name = f"{PREFIX}{name}"
        self.simulated = SIMULATED in rig.features.get(name, frozenset())
        self.boots = 0
        self.seconds: dict[bool, list[float]] = {False: [], True: []}
        """What boots took, by whether the card was written for them."""
        self._held = held or HeldBoard(rig, name, purpose, observe)
        self._on_card: tuple[Path, Stamp] | None = None
        self._board: RigBoard | None = None
        self._closed = False

    def has(self, image: Path) -> bool:
        """Whether the card has that image, so that it need not be written."""
        return self._on_card == (image, stamp_of(image))

    def boot(self, image: Path) -> RigBoard:
        """From off to a shell, from that image; the board that it was until now is gone.

        Raises BootError with the verdict, FlashError and RigError; the board is off then. What
        the card holds of an earlier boot from the same image is still there.
        """
        begun = time.monotonic()
        self._leave()
        card: FlashedCard | None = None
        try:
            self._held.switch_off_at_end(True)
            if not self.has(image):
                self._on_card, wanted = None, (image, stamp_of(image))
                card = self._held.write_card(image)
                self._on_card = wanted
            booted = boot_held(self._held, card, off_at_end=True)
        except BenchviseError:
            with contextlib.suppress(BenchviseError):
                self._held.switch_power(PowerChange.OFF)
            raise
        except BaseException:  # Ctrl-C in the middle: its process switches it off as it ends
            self._closed = True
            self._held.abort()
            raise
        self.boots += 1
        self.seconds[card is not None].append(time.monotonic() - begun)
        self._board = booted
        return _SessionBoard(booted.held, booted.reached, booted.start)

    def close(self) -> None:
        """Switches the board off and releases it. May be called more than once."""
        if not self._closed:
            self._closed = True
            self._leave()
            self._held.close(off=True)

    def _leave(self) -> None:
        """Ends the connection to the board as it is booted now."""
        if self._board is not None:
            with contextlib.suppress(BenchviseError):
                self._board.reached.close()
            self._board = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class _SessionBoard(RigBoard):
    """One boot of a session's board: closing it ends the connection only."""

    def close(self) -> None:
        """Ends the connection; the session still holds the board."""
        with contextlib.suppress(BenchviseError):
            self.reached.close()
