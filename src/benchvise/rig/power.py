"""A board's power: switched by name, once, in turn with others, and read back where possible.

A relay that was switched twice by accident, or while somebody else held the board, has destroyed
hardware before. So nothing is switched that is already as wanted, each command is read back, the
commands of one relay box come one after another, and switching on waits for its turn and for the
power budget.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from benchvise.documents import decode, encode
from benchvise.rig import locks
from benchvise.rig.environment import RigOptions
from benchvise.rig.faults import Fault, RigError

_READ_BACK_SECONDS = 2.0
_DEVICE_WAIT_SECONDS = 30.0
_BUDGET_WAIT_SECONDS = 120.0


class PowerDriver(Protocol):
    """What every labgrid power driver has; many have ``get`` too."""

    def on(self) -> None:
        """Switches on."""

    def off(self) -> None:
        """Switches off."""


@dataclass(frozen=True, slots=True)
class PowerLedger:
    """The boards of a rig that are on, with their watts, and when one was last switched on (s of
    the machine's uptime).
    """

    last: float = -1e9
    on: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outlet:
    """The outlet of one board.

    ``device`` names the relay box or power switch that others hang on too; ``ledger`` is the
    file in which the boards that are on are noted with their watts.
    """

    board: str
    driver: PowerDriver
    device: str
    options: RigOptions
    ledger: Path
    watts: float = 0.0

    def state(self) -> bool | None:
        """Whether it is on; None where the relay cannot be asked."""
        get: Callable[[], Any] | None = getattr(self.driver, "get", None)
        if get is None:
            return None
        try:
            value = get()
        except NotImplementedError:
            return None
        return value if isinstance(value, bool) else None

    def off(self) -> None:
        """Switches off, unless it is known to be off. RigError (relay-stuck) if it stays on.

        It is tried even when the state cannot be read; then that error is raised afterwards.
        """
        with self._device():
            try:
                state = self.state()
            except Exception:  # noqa: BLE001 - labgrid's drivers raise what they like
                state = None
            if state is not False:
                self.driver.off()
                self._read_back(wanted=False)
            self._note(watts=None)

    def on(self) -> None:
        """Switches on, in its turn and within the budget, unless it is known to be on.

        RigError when the budget leaves no room in time, or the relay does not follow.
        """
        deadline = time.monotonic() + _BUDGET_WAIT_SECONDS
        while True:
            with self._device():
                if self.state() is True:
                    return
                wait, others = self._switch_on_in_turn()
                if wait <= 0:
                    self._read_back(wanted=True)
                    return
            if time.monotonic() >= deadline:
                raise RigError(
                    Fault.BUSY,
                    f"{self.board}: its {self.watts:g} W do not fit the budget of "
                    f"{self.options.budget_w:g} W beside {', '.join(others)}",
                    "switch some of them off, or raise budget_w in the rig file",
                )
            time.sleep(min(wait, 0.5))

    def _read_back(self, *, wanted: bool) -> None:
        deadline = time.monotonic() + _READ_BACK_SECONDS
        while (state := self.state()) is not None and state is not wanted:
            if time.monotonic() >= deadline:
                raise RigError(
                    Fault.RELAY_STUCK,
                    f"{self.board}: the relay was switched {'on' if wanted else 'off'} but "
                    f"reports {'on' if state else 'off'}",
                    "check the relay and its cable; cut the power by hand if the board must be off",
                )
            time.sleep(0.05)

    def _switch_on_in_turn(self) -> tuple[float, list[str]]:
        """Switches on where there is room and it is this board's turn, within the device's lock.

        Else for how long to wait, in seconds; and who else is on. The room is taken before another
        board can look for it. Where boards are switched one after another, the others wait until
        this one is, however late its process has the CPU.
        """
        with self._ledger_lock():
            ledger = self._read()
            others = {name: watts for name, watts in ledger.on.items() if name != self.board}
            budget = self.options.budget_w
            if budget is not None and others and sum(others.values()) + self.watts > budget:
                return 0.5, sorted(others)
            since = _uptime() - ledger.last
            wait = self.options.stagger_s - since if since >= 0 else 0.0
            if wait > 0:
                return wait, sorted(others)
            ledger = PowerLedger(_uptime(), others | {self.board: self.watts})
            self._write(ledger)
            if self.options.stagger_s > 0:
                try:
                    self.driver.on()
                finally:
                    self._write(replace(ledger, last=_uptime()))
                return 0.0, sorted(others)
        self.driver.on()
        return 0.0, sorted(others)

    def _note(self, *, watts: float | None) -> None:
        with self._ledger_lock():
            ledger = self._read()
            own = {} if watts is None else {self.board: watts}
            others = {name: other for name, other in ledger.on.items() if name != self.board}
            self._write(replace(ledger, on=others | own))

    def _device(self) -> AbstractContextManager[None]:
        return locks.held(
            f"power switch {self.device}", f"switching {self.board}", wait_s=_DEVICE_WAIT_SECONDS
        )

    def _ledger_lock(self) -> AbstractContextManager[None]:
        return locks.held(f"ledger {self.ledger}", self.board, wait_s=_DEVICE_WAIT_SECONDS)

    def _read(self) -> PowerLedger:
        """The ledger; an empty one when there is no file or a power cut has left half of one."""
        try:
            return decode(PowerLedger, json.loads(self.ledger.read_text()))
        except (OSError, ValueError):
            return PowerLedger()

    def _write(self, ledger: PowerLedger) -> None:
        part = self.ledger.with_name(f".{self.ledger.name}.{os.getpid()}")
        part.write_text(json.dumps(encode(ledger)))
        part.replace(self.ledger)


def _uptime() -> float:
    """Of the machine, in seconds, and not the date, which may be set while a board waits."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def outlet_of(driver: PowerDriver) -> Any:
    """labgrid's resource behind a power driver; the driver itself where it has none."""
    supplier: Any = driver
    while getattr(supplier, "suppliers", None):
        supplier = next(iter(supplier.suppliers))
    return supplier


def device_key(resource: Any) -> str:
    """What names the box that an outlet is one of: its network host, its USB path, or how it is
    looked for while it is not plugged in.

    Resources of labgrid have an ``index`` for the outlet; the rest of their arguments names the
    box. A driver without a resource, one that runs commands for instance, is a box of its board's.
    """
    match = getattr(resource, "match", None)
    address = " ".join(filter(None, (getattr(resource, key, None) for key in ("host", "path"))))
    matched = ",".join(f"{k}={v}" for k, v in sorted(match.items())) if match else None
    own = (getattr(resource, "name", None), getattr(resource, "cmd_on", None))
    target = getattr(getattr(resource, "target", None), "name", None)
    where = address or matched or " ".join(filter(None, (*own, target)))
    port = getattr(resource, "port", None)
    return f"{type(resource).__name__} {where}{f':{port}' if port else ''}"
