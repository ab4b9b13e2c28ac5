"""A session on one board of a rig: it is held for many boots, from one image or another."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Self

from benchvise.errors import BenchviseError
from benchvise.rig.card.image import Stamp, stamp_of
from benchvise.rig.environment import PREFIX, SIMULATED, Rig
from benchvise.rig.hold.board import RigBoard, boot_held
from benchvise.rig.hold.client import EventObserver, HeldBoard
from benchvise.rig.hold.messages import FlashedCard, PowerChange


class BootSession:
    """Holds one board until ``close``, which switches it off; nobody else gets it in between.

    The card is written when another image is asked for than it has; the writer reads it back and
    compares hashes. Raises as ``HeldBoard`` does.
    """

    def __init__(
        self, rig: Rig, name: str, purpose: str, observe: EventObserver | None = None
    ) -> None:
        self.name = f"{PREFIX}{name}"
        self.simulated = SIMULATED in rig.features.get(name, frozenset())
        self.boots = 0
        self.seconds: dict[bool, list[float]] = {False: [], True: []}
        """What boots took, by whether the card was written for them."""
        self._held = HeldBoard(rig, name, purpose, observe)
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
