"""A simulated board: relay, SD mux, card, console and machine, joined as on a real bench."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.errors import BenchviseError
from benchvise.rig.virtual import injectable as injected
from benchvise.rig.virtual.cards import MODES, CardSlot
from benchvise.rig.virtual.consoles import SimulatedConsole
from benchvise.rig.virtual.endpoints import RequestRefused
from benchvise.rig.virtual.injectable import INJECTABLE, FaultValue, KeyPress, LineNoise
from benchvise.rig.virtual.machine import Machine
from benchvise.rig.virtual.messages import BoardPorts, VirtualBoardStatus

if TYPE_CHECKING:
    from benchvise.rig.virtual.kinds import BoardKind

# Relative to the daemon's directory and to the machine's: a socket's path has at most 107 bytes.
CONSOLE_SOCKET = "console.sock"
MONITOR_SOCKET = "monitor.sock"
GDB_SOCKET = "gdb.sock"

_CARD_FAULTS = ("small-card", "bad-block", "write-error")


class VirtualBoard:
    """One board of the bench. ``directory`` is relative to the current directory.

    Whatever switches something holds the board's lock, so that power and mux commands that come
    at the same time happen one after the other.
    """

    def __init__(self, index: int, name: str, kind: BoardKind, directory: Path) -> None:
        self.index = index
        self.name = name
        self.kind = kind
        self.relay = False
        self.ssh_port = 0
        self.faults: dict[str, FaultValue] = {}
        directory.mkdir(mode=0o700, exist_ok=True)
        self._directory = directory
        self._noise = LineNoise()
        self._key = KeyPress()
        self.console = SimulatedConsole(directory / "console.log", self._noise, self._key)
        self.machine = Machine()
        self.slot = CardSlot(directory, kind.card_bytes)
        self._pulled = False
        self._on_since = 0.0
        self._lock = asyncio.Lock()
        self._reserved: socket.socket | None = None

    async def open(self, console_port: int, ssh_port: int) -> None:
        """Opens the console and reserves the port for SSH; each is the given one if it is free."""
        await self.console.open(str(self._directory / CONSOLE_SOCKET), console_port)
        self._reserved = _reserve(ssh_port)
        self.ssh_port = self._reserved.getsockname()[1]

    async def power(self, on: bool) -> None:
        """Switches the relay."""
        async with self._lock:
            if on == self.relay or "relay-stuck" in self.faults:
                return
            self.relay = on
            self._pulled = False
            if on:
                await self._start()
            else:
                await self._cut()

    async def turn(self, mode: str) -> None:
        """Turns the SD mux; a board that has the card and power does not survive that."""
        mode = "dut" if mode == "client" else mode
        if mode not in MODES:
            raise RequestRefused(
                400, f"the mux of {self.name} has no mode '{mode}', only {', '.join(MODES)}"
            )
        async with self._lock:
            if mode == self.slot.mode or "mux-stuck" in self.faults:
                return
            if self.machine.running and self.slot.mode == "dut":
                await self._cut()
                self._pulled = True
            try:
                await self.slot.turn(mode)
            except OSError as error:
                raise RequestRefused(409, f"the card of {self.name}: {error}") from error

    async def order(self, name: str, text: str) -> None:
        """Orders a fault, or takes it back."""
        try:
            value = injected.parse(name, text)
        except ValueError as error:
            raise RequestRefused(400, str(error)) from None
        async with self._lock:
            if name in _CARD_FAULTS:
                await self._change_card(name, value)
            if value is None:
                self.faults.pop(name, None)
            else:
                self.faults[name] = value
            self._noise.drop = float(self.faults.get("serial-drop", 0))
            self._noise.garble = float(self.faults.get("serial-garble", 0))
            self._key.armed = "hang-uboot" in self.faults
            self.console.set_dead("console-dead" in self.faults)
            self.machine.slow_down(float(self.faults.get("slow-boot", 0)))

    async def clear_faults(self) -> None:
        """Takes all faults back."""
        for name in INJECTABLE:
            if name in self.faults:
                await self.order(name, injected.OFF)

    async def close(self) -> None:
        """Cuts the power and closes everything."""
        async with self._lock:
            await self._cut()
            await self.slot.close()
            self.console.close()
            if self._reserved is not None:
                self._reserved.close()

    def ports(self) -> BoardPorts:
        """What of the board stays as it is, for bench.json."""
        return BoardPorts(
            index=self.index,
            name=self.name,
            kind=self.kind.name,
            arch=self.kind.arch,
            card_bytes=self.kind.card_bytes,
            console_port=self.console.port,
            ssh_port=self.ssh_port,
        )

    def status(self) -> VirtualBoardStatus:
        """The board as it is now, for /status."""
        return VirtualBoardStatus(
            index=self.index,
            name=self.name,
            kind=self.kind.name,
            arch=self.kind.arch,
            simulated=True,
            relay=int(self.relay),
            on_for_s=time.monotonic() - self._on_since if self.relay else None,
            running=self.machine.running,
            pid=self.machine.pid,
            ended="the card was pulled under power" if self._pulled else self.machine.ended,
            mux=self.slot.mode,
            card_bytes=self.slot.size,
            console_port=self.console.port,
            console_readers=self.console.readers,
            console_overrun_bytes=self.console.overrun,
            console_log_lost_bytes=self.console.log_lost,
            ssh_port=self.ssh_port,
            faults=dict(self.faults),
        )

    async def _start(self) -> None:
        self._on_since = time.monotonic()
        self._key.power_on()
        directory = self._directory.resolve()
        for name in (MONITOR_SOCKET, GDB_SOCKET):
            (directory / name).unlink(missing_ok=True)
        try:
            # May read the card to find the kernel: not in the loop that serves all boards.
            command = await asyncio.to_thread(
                self.kind.command,
                card=self.slot.for_board,
                console=Path(CONSOLE_SOCKET),
                monitor=Path(MONITOR_SOCKET),
                gdb=Path(GDB_SOCKET),
                ssh_port=self.ssh_port,
                workdir=directory,
            )
        except (BenchviseError, OSError, ValueError, subprocess.SubprocessError) as error:
            self.machine.fail(str(error))
            return
        await self.machine.start(command, directory)

    async def _cut(self) -> None:
        await self.machine.kill()
        await self.console.last_bytes()

    async def _change_card(self, name: str, value: FaultValue | None) -> None:
        if self.machine.running and self.slot.mode == "dut":
            raise RequestRefused(409, f"{self.name} is running from its card: switch it off first")
        size = self.kind.card_bytes if name != "small-card" or value is None else int(value)
        places = {key: self.faults.get(key) for key in ("bad-block", "write-error")}
        if name == "small-card":
            outside = [place for place in places.values() if place is not None and place >= size]
            if outside:
                raise RequestRefused(
                    409, f"a card of {size} bytes has no place {outside[0]} to be bad"
                )
            await self.slot.swap(size)
            return
        if value is not None and value >= self.slot.size:
            raise RequestRefused(400, f"the card of {self.name} ends at {self.slot.size}")
        places[name] = value
        try:
            await self.slot.damage(
                bad_block=_offset(places["bad-block"]), write_error=_offset(places["write-error"])
            )
        except OSError as error:
            raise RequestRefused(409, f"{name} on {self.name}: {error}") from error


def _offset(value: FaultValue | None) -> int | None:
    return None if value is None else int(value)


def _reserve(port: int) -> socket.socket:
    """A port that nobody else is given, while QEMU can still listen on it.

    Both have SO_REUSEADDR, and a socket that does not listen is in nobody's way: see socket(7).
    """
    for candidate in (port, 0):
        reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            reserved.bind(("127.0.0.1", candidate))
            return reserved
        reserved.close()
    raise OSError("no port of this machine is free")
