"""The SD mux of a board: which side has the card, turned and read back.

labgrid has no protocol for muxes, but its drivers (USBSDMux, SDWire, SDWire3 and others) have the
same two methods.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from benchvise.rig import locks
from benchvise.rig.faults import Fault, RigError

DRIVERS = ("USBSDMuxDriver", "USBSDWireDriver", "USBSDWire3Driver", "LXAUSBMuxDriver")

_READ_BACK_SECONDS = 3.0
_TURN_WAIT_SECONDS = 60.0


class MuxSide(StrEnum):
    """Who has the card, by the words of labgrid's drivers."""

    HOST = "host"
    DUT = "dut"
    OFF = "off"


_SIDES = {
    "host": MuxSide.HOST,
    "ts": MuxSide.HOST,  # sd-mux-ctrl and sdwire call this side the test server
    "dut": MuxSide.DUT,
    "client": MuxSide.DUT,
    "off": MuxSide.OFF,
}


class MuxDriver(Protocol):
    """What labgrid's mux drivers have; ``get_mode`` is not among it everywhere."""

    def set_mode(self, mode: str) -> None:
        """Turns to ``host`` or ``dut``."""


@dataclass(frozen=True, slots=True)
class Mux:
    """The mux of one board."""

    board: str
    driver: MuxDriver

    def side(self) -> MuxSide | None:
        """Who has the card; None where the mux cannot be asked."""
        get: Callable[[], Any] | None = getattr(self.driver, "get_mode", None)
        if get is None:
            return None
        try:
            word = str(get()).strip().lower()
        except NotImplementedError:
            return None
        return _SIDES.get(word)

    def turn(self, side: MuxSide) -> None:
        """Turns to a side. RigError (mux-stuck) when it does not go there.

        One mux turns at a time: the USB devices that come and go then are hard to tell apart.
        """
        with locks.held("SD muxes", f"turning {self.board}'s", wait_s=_TURN_WAIT_SECONDS):
            if self.side() is side:
                return
            try:
                self.driver.set_mode(side.value)
            except Exception as error:
                raise RigError(
                    Fault.MUX_STUCK,
                    f"{self.board}: the mux cannot be turned to {side} ({error})",
                    "see whether its tool is installed and its USB cable in place",
                ) from error
            deadline = time.monotonic() + _READ_BACK_SECONDS
            while (now := self.side()) not in (None, side):
                if time.monotonic() >= deadline:
                    raise RigError(
                        Fault.MUX_STUCK,
                        f"{self.board}: the mux was turned to {side} but reports {now}",
                        "unplug its USB cable and plug it in again; check that the card sits well",
                    )
                time.sleep(0.05)
