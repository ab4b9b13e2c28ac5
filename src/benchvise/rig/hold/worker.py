"""The process that holds one board of a rig; labgrid runs in here, for this board only.

labgrid keeps one global stack of steps, so that two boards in one process break each other
(labgrid issue 1851); and a driver that hangs must not delay the others. So there is a process for
each board, which takes requests and answers them as ``messages`` says.

When the client is gone, however it went, the board is switched off and released.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import attr
from labgrid.driver import SigrokDriver
from serial import SerialException

from benchvise.documents import encode
from benchvise.errors import BenchviseError, UsageError
from benchvise.rig import locks
from benchvise.rig.boot.boot import read_console
from benchvise.rig.card.flash import FlashProgress
from benchvise.rig.card.image import open_image
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.console.recorder import ConsoleRecorder
from benchvise.rig.environment import STRATEGY, Rig, load_rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import messages
from benchvise.rig.hold.messages import (
    AnalyserCommand,
    BoardActivity,
    BoardAwaited,
    BoardHolder,
    BoardStatus,
    BootedBoard,
    CardSide,
    FlashedCard,
    NotReadable,
    PhaseReached,
    PowerChange,
    PowerState,
    Request,
    WorkerError,
    WorkerMessage,
    WorkerOrder,
    parse_request,
)
from benchvise.rig.hold.places import PlaceOwner, acquired, taker
from benchvise.rig.power import device_key, outlet_of

OWN_IMAGE = "own"
"""In the place of an image's path: the one that the rig file names for the board."""

_LONG: Mapping[type, str] = {messages.WriteCard: "flash", messages.BootBoard: "boot"}
"""What takes so long that others may want to know how far it is, and what they see of it."""

_DRAIN_SECONDS = 0.1
_PLACE_SECONDS = 2.0  # between two questions for a place that another user has

T = TypeVar("T")


class ClientGone(BaseException):
    """The client is gone: what is under way is given up.

    No Exception, so that no driver's handling of errors swallows it.
    """


class Worker:
    """Holds the board until it is released, or its client is gone."""

    def __init__(self, rig: Rig, order: WorkerOrder) -> None:
        self._rig = rig
        self._name = order.name
        self._purpose = order.purpose
        self._wait_s = order.wait_s
        self._number = order.number
        self._requests: queue.Queue[tuple[int, Request] | None] = queue.Queue()
        self._gone = threading.Event()
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # what a driver prints must not become part of the answers
        self._stack = ExitStack()
        self._strategy: Any = None
        self._place_owner: PlaceOwner | None = None
        self._console: Any = None
        self._request_id = 0
        self._off_at_end = False
        self._may_stop = True
        self._stop_requested = False
        self._key = ""
        self._activity: BoardActivity | None = None

    def serve(self) -> int:
        """The whole life of the process; returns its exit code."""
        signal.signal(signal.SIGUSR1, self._stop)
        # By `kill`, as the error of those who wait suggests: as if the client were gone.
        signal.signal(signal.SIGTERM, self._stop)
        threading.Thread(target=self._listen, daemon=True).start()
        with self._stack:
            try:
                self._open()
                self._send(WorkerMessage(0, ended=True))
                while (numbered := self._next()) is not None:
                    if not self._handle(*numbered):
                        return 0
                self._may_stop = False
            except ClientGone:
                pass
            except BenchviseError as error:
                self._send(WorkerMessage(0, ended=True, error=WorkerError.of(error)))
                return error.exit_code
            self._abandon()
        return 0

    def _open(self) -> None:
        """Takes the board: its place at a coordinator, its lock, its drivers."""
        observing = self._purpose == ""
        place = self._rig.places.get(self._name)
        if place is not None and not observing:
            self._take_place(place)
        elif place is not None:
            self._place_owner = taker(self._rig.path, place)
            if self._place_owner is None or not self._place_owner.ours:
                return  # labgrid shows nothing of a place to those who have not taken it
        self._strategy = open_target(self._rig.path, self._name)
        if not observing:
            self._key = self._lock_key()
            self._stack.enter_context(
                locks.held(
                    self._key,
                    self._purpose,
                    name=f"the board {self._name}",
                    wait_s=self._wait_s,
                    observe=lambda who: self._say_awaited(who.what, who.since),
                    number=self._number,
                )
            )

    def _take_place(self, place: str) -> None:
        """Wholly or not at all: a signal to stop that comes meanwhile is heeded afterwards.

        labgrid's session is an asyncio loop, which may swallow what a signal raises in it. A place
        that somebody else has is asked for again while it is waited for.
        """
        deadline = time.monotonic() + self._wait_s
        is_told = False
        while True:
            self._may_stop = False
            try:
                self._stack.enter_context(
                    acquired(self._rig.path, place, self._purpose, self._number)
                )
                return
            except RigError as error:
                if error.fault is not Fault.BUSY or time.monotonic() >= deadline:
                    raise
                if not is_told:
                    self._say_awaited(error.message, time.time())
                is_told = True
            finally:
                self._may_stop = True
                if self._stop_requested:
                    self._stop()
            time.sleep(_PLACE_SECONDS)

    def _say_awaited(self, what: str, since: float) -> None:
        self._send(WorkerMessage(0, awaited=BoardAwaited(what, since)))

    def _lock_key(self) -> str:
        """Names the outlet, so that two rig files that describe one board exclude each other."""
        outlet = outlet_of(self._strategy.power)
        return f"board at {device_key(outlet)} {getattr(outlet, 'index', '')}"

    # The requests

    def _handle(self, number: int, request: Request) -> bool:
        """Answers one request; False when it was the last."""
        self._request_id = number
        result, error = None, None
        try:
            if type(request) in _LONG:
                log = (
                    Path(request.directory).name if isinstance(request, messages.BootBoard) else ""
                )
                self._note(BoardActivity(_LONG[type(request)], time.time(), self._name, log))
            result = self._answer(request)
        except BenchviseError as failure:
            error = WorkerError.of(failure)
        except Exception as failure:  # noqa: BLE001 - labgrid's drivers raise what they like
            traceback.print_exc()
            error = WorkerError.of(_unforeseen(self._name, failure))
        self._send(WorkerMessage(number, ended=True, result=encode(result), error=error))
        if self._activity is not None:
            self._note(None)
        return self._may_stop

    def _answer(self, request: Request) -> object:
        match request:
            case messages.ReadStatus():
                return self._status()
            case messages.SwitchPower():
                return self._switch_power(request.to)
            case messages.TurnMux():
                return self._turn_mux(request.to)
            case messages.WriteCard():
                return self._write_card(request.image)
            case messages.BootBoard():
                return self._boot(Path(request.directory))
            case messages.OpenConsole():
                self._strategy.open_console(ConsoleRecorder(Path(request.path)))
            case messages.WriteConsole():
                self._strategy.console.write(base64.b64decode(request.data))
            case messages.ReadConsole():
                return base64.b64encode(self._read_console(request.timeout)).decode("ascii")
            case messages.FindAnalyser():
                return self._analyser()
            case messages.FindDebugger():
                return self._strategy.debugger or ""
            case messages.SwitchOffAtEnd():
                self._off_at_end = request.off
            case messages.Release():
                self._may_stop = False
                if request.off:
                    self._strategy.off()
        return None

    def _status(self) -> BoardStatus:
        """As far as it can be read."""
        if self._strategy is None:
            owner = self._place_owner
            holder = (
                BoardHolder(0, f"place of {owner.name}", owner.since) if owner is not None else None
            )
            unseen = NotReadable("seen by those who have its place")
            return BoardStatus(self._name, holder, unseen, unseen)
        lock = self._lock_key()
        process = locks.holder(lock)
        return BoardStatus(
            self._name,
            _holder_of(process) if process is not None else None,
            _readable(self._power_state),
            _readable(self._mux_side),
            lock,
            tuple(_holder_of(waiter) for waiter in locks.waiters(lock)),
        )

    def _switch_power(self, to: PowerChange) -> PowerState:
        if to in (PowerChange.OFF, PowerChange.CYCLE):
            self._strategy.off()
        if to is PowerChange.CYCLE:
            time.sleep(self._strategy.options.off_s)
        if to in (PowerChange.ON, PowerChange.CYCLE):
            self._strategy.outlet.on()
        return PowerState(self._power_state())

    def _turn_mux(self, to: MuxSide) -> CardSide:
        """Turns the card to a side; never while the board has power."""
        mux = self._strategy.card_mux
        if mux is None:
            raise RigError(Fault.CARD_MISSING, f"{self._name} has no SD mux in the rig file")
        if mux.side() is not to:
            if self._strategy.outlet.state() is True:
                raise RigError(
                    Fault.BUSY,
                    f"{self._name} has power: its card is neither taken away nor put in",
                    f"switch it off first: benchvise rig power {self._name} off",
                )
            mux.turn(to)
        return CardSide(self._mux_side())

    def _write_card(self, image: str) -> FlashedCard:
        """Writes the card, with the board off."""

        def report(progress: FlashProgress) -> None:
            self._check()
            self._report_progress(progress)

        opened = open_image(self._strategy.own_image() if image == OWN_IMAGE else image)
        written = self._strategy.write(opened, report)
        return FlashedCard(**asdict(written), image=opened.origin())

    def _boot(self, directory: Path) -> BootedBoard:
        """From off to a shell, with the console recorded in ``directory``."""
        boot = self._strategy.new_boot(directory, check=self._check, on_phase=self._report_phase)
        report = self._strategy.boot(boot)
        self._console = self._strategy.console
        service = boot.find_service(self._strategy.shell, self._strategy.service())
        return BootedBoard.of(boot.report or report, service)

    def _analyser(self) -> AnalyserCommand:
        """How the board's logic analyser is reached; nothing of the board is touched."""
        if self._strategy is None:
            raise RigError(
                Fault.BUSY,
                f"{self._name}: what is plugged in is seen by those who have its place",
                "acquire it first: labgrid-client acquire",
            )
        return analyser_of(self._strategy.target, self._name)

    # Inside

    def _abandon(self) -> None:
        """The client is gone: nothing is left on that it did not leave on on purpose."""
        if self._off_at_end:
            with contextlib.suppress(Exception):
                self._strategy.off()

    def _power_state(self) -> str:
        state = self._strategy.outlet.state()
        return "unknown" if state is None else "on" if state else "off"

    def _mux_side(self) -> str | None:
        mux = self._strategy.card_mux
        if mux is None:
            return None
        side = mux.side()
        return "unknown" if side is None else side.value

    def _next(self) -> tuple[int, Request] | None:
        """The next request; meanwhile the console is read, so that its record is whole."""
        while True:
            try:
                return self._requests.get(timeout=_DRAIN_SECONDS)
            except queue.Empty:
                if self._console is not None:
                    self._read_console(0.0)

    def _read_console(self, timeout: float) -> bytes:
        try:
            return read_console(self._strategy.console, timeout)
        except OSError as error:
            self._console = None
            raise RigError(
                Fault.CONSOLE_DEAD,
                f"{self._name}: the console is gone ({error})",
                "see whether its USB cable or server is still there",
            ) from error

    def _listen(self) -> None:
        for line in sys.stdin:
            with contextlib.suppress(ValueError):
                self._requests.put(parse_request(line))
        self._gone.set()
        if self._key:
            locks.note_leaving(self._key)
        self._requests.put(None)
        # A driver of labgrid's may wait for a minute, and others for the board.
        os.kill(os.getpid(), signal.SIGUSR1)

    def _stop(self, *_signal: object) -> None:
        """In the main thread, wherever it is: that is left, once."""
        self._stop_requested = True
        if self._may_stop:
            self._may_stop = False
            self._gone.set()
            raise ClientGone

    def _check(self) -> None:
        if self._gone.is_set():
            self._may_stop = False
            raise ClientGone

    def _report_progress(self, progress: FlashProgress) -> None:
        self._send(WorkerMessage(self._request_id, flash=progress))
        if self._activity is not None:
            self._note(replace(self._activity, flash=progress))

    def _report_phase(self, phase: str, seconds: float) -> None:
        self._send(WorkerMessage(self._request_id, phase=PhaseReached(phase, seconds)))
        if self._activity is not None:
            phases = {**self._activity.phases, phase: seconds}
            self._note(replace(self._activity, phases=phases))

    def _note(self, activity: BoardActivity | None) -> None:
        """Notes what is under way for others, who cannot ask this process."""
        self._activity = activity
        if self._key:
            locks.note_activity(self._key, {} if activity is None else encode(activity))

    def _send(self, message: WorkerMessage) -> None:
        try:
            self._lines.write(json.dumps(encode(message)) + "\n")
            self._lines.flush()
        except OSError:
            self._gone.set()


def _holder_of(process: locks.Holder) -> BoardHolder:
    return BoardHolder(process.pid, process.what, process.since)


def _readable(read: Callable[[], T]) -> T | NotReadable:
    """What can be read, or why not: one broken part must not hide the others."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - labgrid's drivers raise what they like
        return NotReadable(getattr(error, "message", str(error)))


def _unforeseen(name: str, error: Exception) -> RigError:
    """An exception of labgrid or a driver that nothing of ours has a better sentence for."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    text = getattr(cause, "msg", "") or str(cause) or type(cause).__name__
    if isinstance(cause, SerialException):
        return RigError(
            Fault.CONSOLE_DEAD,
            f"{name}: its console is lost ({text})",
            "see whether its USB cable or server is still there",
        )
    return RigError(
        Fault.RIG_BROKEN,
        f"{name}: {type(cause).__name__}: {text}",
        "see whether the rig file describes what is plugged in: benchvise rig status",
    )


def work(order: WorkerOrder) -> int:
    """The whole life of the process; returns its exit code."""
    return Worker(load_rig(Path(order.rig)), order).serve()


# -- from the rig file to labgrid's objects --------------------------------------------------------


def open_target(path: Path, name: str) -> Any:
    """The board's CardStrategy with everything that it binds; nothing is activated yet.

    UsageError when the rig file does not describe the board in a way that labgrid and the
    strategy accept; RigError when a program or a coordinator that it needs is not there.
    """
    from labgrid.binding import BindingError
    from labgrid.environment import Environment
    from labgrid.exceptions import (
        InvalidConfigError,
        NoDriverFoundError,
        NoSupplierFoundError,
        RegistrationError,
    )

    import benchvise.rig.drivers  # noqa: F401 - registers ours, also for files without `imports`

    try:
        environment = Environment(str(path))
        target = environment.get_target(name)
    except (NoDriverFoundError, NoSupplierFoundError) as error:
        raise UsageError(
            f"{path}: {name}: a driver lacks what it is for ({_message(error)})",
            "name it among the board's resources and drivers, before the driver that uses it",
        ) from error
    except (
        InvalidConfigError,
        BindingError,
        RegistrationError,
        ImportError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise UsageError(
            f"{path}: {name}: labgrid refuses it ({_message(error)})",
            "compare with `examples/rigs`; a driver stands below those that it uses",
        ) from error
    except Exception as error:
        # Drivers start programs when they are made, and a RemotePlace asks its coordinator.
        raise RigError(
            Fault.RIG_BROKEN,
            f"{name}: labgrid cannot set it up ({_message(error)})",
            "see whether the programs, the coordinator and the exporter that it needs are there",
        ) from error

    if target is None:
        raise UsageError(f"{path}: there is no board '{name}'")
    try:
        return target.get_driver(STRATEGY, activate=False)
    except NoDriverFoundError as error:
        raise UsageError(
            f"{path}: {name} has no {STRATEGY}", f"add `{STRATEGY}: {{}}` to its drivers"
        ) from error


def _message(error: BaseException) -> str:
    """The message of an exception of labgrid's, and of what caused it."""
    message = str(getattr(error, "msg", "") or error)
    return f"{message}: {error.__cause__}" if error.__cause__ is not None else message


@attr.s(eq=False)
class AnalyserDriver(SigrokDriver):
    """labgrid's driver, asked how its analyser is reached, here or at an exporter.

    Its own ``stop`` makes a Python dictionary of each sample, which takes more memory than there
    is for a second of an analyser's.
    """

    def command(self) -> AnalyserCommand:
        """How a program is run where it is plugged in, and sigrok-cli with the device."""
        prefix = tuple(self.sigrok.command_prefix)
        return AnalyserCommand(prefix, tuple(self._get_sigrok_prefix()[len(prefix) :]))


def analyser_of(target: Any, name: str) -> AnalyserCommand:
    """How the analyser of the board is reached.

    RigError when the rig file describes none, or more than one that could be meant.
    """
    from labgrid.exceptions import NoSupplierFoundError

    make: Any = AnalyserDriver  # attrs and mypy do not agree on what it takes
    try:
        driver = make(target, None)
    except NoSupplierFoundError as error:
        raise RigError(
            Fault.RIG_BROKEN,
            f"{name} has no logic analyser in the rig file",
            "add it to the resources: `SigrokUSBDevice: {driver: fx2lafw, channels: 'D0=IN'}`",
        ) from error
    target.activate(driver)
    command: AnalyserCommand = driver.command()
    return command
