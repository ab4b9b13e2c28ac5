"""A labgrid strategy for boards that boot from a card behind a mux.

    unknown ─→ off ─→ host ─→ written
                │
                └──→ booting ─→ bootloader
                         └────→ shell

It serves hardware and the virtual bench alike: only the environment file differs. It can be used
by labgrid's own clients and tests, as ``strategy.transition("shell")``; Benchvise calls the same
methods one by one, to see what happens in between.

Unlike labgrid's strategies it does not stay broken after a failure, as ``off`` has to work then.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attr
import pexpect
from labgrid.driver.exception import ExecutionError
from labgrid.exceptions import NoResourceFoundError
from labgrid.factory import target_factory
from labgrid.protocol import ConsoleProtocol, PowerProtocol
from labgrid.resource import NetworkService
from labgrid.strategy import Strategy, StrategyError

from benchvise.errors import UsageError
from benchvise.rig import locks
from benchvise.rig.boot.address import SshService
from benchvise.rig.boot.boot import BoardBoot
from benchvise.rig.boot.patterns import load_patterns
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.card.flash import FlashProgress, FlashResult, Medium, write_card
from benchvise.rig.card.image import Image, open_image
from benchvise.rig.card.mux import DRIVERS, Mux, MuxSide
from benchvise.rig.console.recorder import ConsoleRecorder, attach
from benchvise.rig.environment import RigOptions
from benchvise.rig.faults import Fault, FlashError, RigError
from benchvise.rig.power import Outlet, device_key, outlet_of

_WRITE_TRIES = 3
_WORTH_RETRYING = frozenset({Fault.CARD_MISSING, Fault.CARD_WRITE, Fault.CARD_VERIFY})
"""What a mux that is turned away and back may mend: fast cards lose contact now and then."""

_OWN_KEYS = frozenset({"ID_PATH", "ID_SERIAL", "ID_SERIAL_SHORT", "ID_USB_INTERFACE_NUM"})
"""What a device of udev's is told apart by; its class is found by other keys."""


class Status(enum.Enum):
    """Where a board is on its way."""

    unknown = "unknown"
    off = "off"
    host = "host"
    written = "written"
    booting = "booting"
    bootloader = "bootloader"
    shell = "shell"


@target_factory.reg_driver
@attr.s(eq=False)
class CardStrategy(Strategy):
    """Brings a board with a card behind a mux into a state.

    Args:
        image (str): key in the environment's ``images`` for ``transition("written")``
        watts (float): what the board takes at most, for the rig's power budget
        debugger (str): what tells where its cores stand: a GDB stub, QEMU's or OpenOCD's
            (HOST:PORT, or the path of a socket), or OpenOCD's command port (telnet://HOST:PORT)
    """

    bindings: ClassVar[dict[str, object]] = {
        "power": PowerProtocol,
        "console": {ConsoleProtocol, None},
        "mux": {*DRIVERS, None},
        "storage": {"USBStorageDriver", None},
        "shell": {"ShellDriver", None},
        "loader": {"UBootDriver", "SmallUBootDriver", "BareboxDriver", None},
    }

    image: Any = attr.ib(
        default=None, validator=attr.validators.optional(attr.validators.instance_of(str))
    )
    watts = attr.ib(default=0.0, converter=float)
    debugger: Any = attr.ib(
        default=None, validator=attr.validators.optional(attr.validators.instance_of(str))
    )
    status = attr.ib(default=Status.unknown, init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        config = self.target.env.config if self.target.env else None
        base = Path(config.base if config else ".")
        self.options = RigOptions.from_config(
            config.get_option("benchvise", {}) if config else {}, base
        )
        rig = str(Path(config.filename).resolve()) if config else "no file"
        self._ledger = (
            locks.directory() / f"ledger-{hashlib.sha256(rig.encode()).hexdigest()[:12]}.json"
        )

    # What Benchvise calls

    @property
    def outlet(self) -> Outlet:
        """The board's power, ready to be switched even when all else is broken."""
        self._ready(self.power, "power switch")
        return Outlet(
            self.target.name,
            self.power,
            device_key(outlet_of(self.power)),
            self.options,
            self._ledger,
            self.watts,
        )

    @property
    def card_mux(self) -> Mux | None:
        """The board's mux; None when it has none."""
        if self.mux is None:
            return None
        self._ready(self.mux, "SD mux")
        return Mux(self.target.name, self.mux)

    def off(self) -> None:
        """Power off, from any state."""
        self.status = Status.unknown
        for driver in (self.shell, self.loader):
            if driver is not None:
                with contextlib.suppress(Exception):
                    self.target.deactivate(driver)
        self.outlet.off()
        self.status = Status.off

    def card_to_host(self) -> None:
        """Power off, and the card on this side."""
        mux = self.card_mux
        if mux is None or self.storage is None:
            raise RigError(
                Fault.CARD_MISSING,
                f"{self.target.name} has no SD mux and storage in the rig file",
                "add its mux driver and a USBStorageDriver before CardStrategy, or write the card "
                "by hand",
            )
        self.off()
        mux.turn(MuxSide.HOST)
        self.status = Status.host

    def write(self, image: Image, progress: Callable[[FlashProgress], None]) -> FlashResult:
        """Writes the card while the board is off; leaves it on this side, settled.

        What a loose contact may have done is tried again, after the mux was turned away and back.
        """
        for last in (False,) * (_WRITE_TRIES - 1) + (True,):
            self.card_to_host()
            try:
                written = write_card(image, self._medium(), progress)
                break
            except FlashError as error:
                if last or error.fault not in _WORTH_RETRYING:
                    raise
            mux = self.card_mux
            assert mux is not None  # noqa: S101 - card_to_host has seen it
            mux.turn(MuxSide.DUT)
            time.sleep(self.options.settle_s)
        # The kernel scans what was just written for partitions; a mux that turns meanwhile
        # gives read errors (labgrid issue 1539).
        time.sleep(self.options.settle_s)
        self.status = Status.written
        return written

    def power_up(self) -> None:
        """Power on, with the card on the board's side; the board has been off before."""
        if self.status not in (Status.off, Status.host, Status.written):
            self.off()
        mux = self.card_mux
        if mux is not None:
            mux.turn(MuxSide.DUT)
        time.sleep(self.options.off_s)
        self.outlet.on()
        self.status = Status.booting

    def new_boot(
        self,
        directory: Path | None = None,
        *,
        check: Callable[[], None] = lambda: None,
        on_phase: Callable[[str, float], None] = lambda _name, _seconds: None,
    ) -> BoardBoot:
        """A boot to be given to ``boot``: recorded in a directory, judged as the rig file says."""
        options = self.options
        return BoardBoot(
            self.target.name,
            load_patterns(Path(options.boot_patterns) if options.boot_patterns else None),
            directory,
            silence_s=options.silence_s,
            limit_s=options.boot_limit_s,
            check=check,
            on_phase=on_phase,
        )

    def boot(self, boot: BoardBoot) -> BootReport:
        """From off to a shell. ``boot`` records and watches; BootError says how it failed."""
        if self.shell is None:
            raise _no_console(self.target.name)
        self.off()
        self.open_console(boot.recorder)
        boot.attach(self.console)
        boot.power_on(self.power_up)
        report = boot.watch()
        if report.ok:
            report = boot.login(lambda: self.target.activate(self.shell))
        if not report.ok:
            raise boot.failed(report)
        self.status = Status.shell
        return report

    def open_console(self, recorder: ConsoleRecorder) -> None:
        """Opens the console, with all that it says recorded."""
        if self.console is None:
            raise _no_console(self.target.name)
        self._ready(self.console, "console")
        attach(self.console, recorder)

    def stop_at_bootloader(self) -> None:
        """From off to the bootloader's prompt."""
        if self.loader is None:
            raise RigError(
                Fault.BOOTLOADER_HANG,
                f"{self.target.name} has no driver for its bootloader in the rig file",
                "add a UBootDriver or BareboxDriver",
            )
        self.off()
        self._ready(self.console, "console")
        self.power_up()
        self.target.activate(self.loader)
        self.status = Status.bootloader

    def service(self) -> SshService | None:
        """The NetworkService in the rig file; None without one."""
        for resource in self.target.resources:
            if isinstance(resource, NetworkService):
                port, user = int(resource.port or 22), str(resource.username or "root")
                return SshService(resource.address, port, user)
        return None

    # What labgrid's clients call

    def transition(self, status: Any, *, image: str | None = None) -> None:
        """Brings the board into a state by name; ``written`` needs an image."""
        wanted = status if isinstance(status, Status) else Status[status]
        if wanted is self.status and wanted is not Status.unknown:
            return
        match wanted:
            case Status.off:
                self.off()
            case Status.host:
                self.card_to_host()
            case Status.written:
                self.write(open_image(image or self.own_image()), lambda _: None)
            case Status.booting:
                self.power_up()
            case Status.bootloader:
                self.stop_at_bootloader()
            case Status.shell:
                self.boot(self.new_boot())
            case Status.unknown:
                raise StrategyError("a board cannot be brought into the state unknown")

    def force(self, status: Any) -> None:
        """Takes the board to be in a state, as labgrid's clients may say."""
        self.status = Status[status] if isinstance(status, str) else status

    def own_image(self) -> str:
        """The path of the image that the rig file names for this board."""
        if self.image is None:
            raise UsageError(
                f"{self.target.name}: the rig file names no image for it",
                "add `image: KEY` to its CardStrategy and the key to `images:`, or name a file",
            )
        return str(self.target.env.config.get_image_path(self.image))

    def _ready(self, driver: Any, what: str) -> None:
        """Activates a driver; what labgrid raises then becomes one sentence."""
        fault = {"console": Fault.CONSOLE_DEAD, "SD mux": Fault.MUX_STUCK}
        try:
            self.target.activate(driver)
        except NoResourceFoundError as error:
            raise RigError(
                fault.get(what, Fault.RIG_BROKEN),
                f"{self.target.name}: its {what} is not there: {_missing(error)}",
                "see whether it is plugged in there; `labgrid-suggest` shows what is found",
            ) from error
        except (OSError, ExecutionError, pexpect.ExceptionPexpect) as error:
            raise RigError(
                fault.get(what, Fault.RIG_BROKEN),
                f"{self.target.name}: its {what} cannot be used ({error})",
                "see whether another program has it open, and who may open it",
            ) from error

    def _medium(self) -> Medium:
        """Where the card is on this side, once the mux has brought it here."""
        self._ready(self.storage, "card reader")
        deadline = time.monotonic() + self.options.card_s
        while True:
            self.target.update_resources()
            resource = self.storage.storage
            path = resource.path
            if path and self.storage.get_size() > 0:
                return Medium(str(path), getattr(resource, "host", None))
            if time.monotonic() >= deadline:
                raise FlashError(
                    Fault.CARD_MISSING,
                    f"{self.target.name}: the mux has turned to this side, but no card came "
                    f"({path or 'no device'})",
                    "check that a card is in the mux and its contacts are clean",
                )
            time.sleep(0.2)


def _missing(error: NoResourceFoundError) -> str:
    """What labgrid has waited for, in the words of the rig file."""
    parts = []
    for resource in error.filter or ():
        match = getattr(resource, "match", {})
        # The rest is labgrid's own, the same for all devices of the class.
        own = {k: v for k, v in match.items() if k.lstrip("@") in _OWN_KEYS}
        where = " and ".join(f"{key} {value}" for key, value in own.items())
        parts.append(f"no {type(resource).__name__}{f' with {where}' if where else ''}")
    return "; ".join(sorted(parts)) or str(error)


def _no_console(name: str) -> RigError:
    return RigError(
        Fault.CONSOLE_DEAD,
        f"{name} has no console and ShellDriver in the rig file",
        "add its serial port with a SerialDriver and a ShellDriver",
    )
