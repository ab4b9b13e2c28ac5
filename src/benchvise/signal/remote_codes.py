"""What a button of a remote control says, whatever its protocol."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RemoteCode:
    """What a frame says.

    ``value`` has the received bits, as a number in the order of its protocol, ``bits`` how many
    they are. ``repeat`` is whether the key was still held. ``faults`` are what does not fit the
    protocol; with ``complete`` false there is neither address nor command. ``also_fits`` are other
    readings of the same pulses.
    """

    protocol: str
    bits: int
    value: int
    address: int | None = None
    command: int | None = None
    toggle: bool | None = None
    repeat: bool = False
    complete: bool = True
    faults: tuple[str, ...] = ()
    also_fits: tuple[str, ...] = ()
    detail: str = ""

    @property
    def text(self) -> str:
        """``NEC 0x40 0x10``, with ``held`` where it repeats; without a code, what is wrong."""
        if self.address is None or self.command is None:
            return f"{self.protocol} {'; '.join(self.faults)}".strip()
        held = " held" if self.repeat else ""
        return f"{self.protocol} 0x{self.address:02x} 0x{self.command:02x}{held}"
