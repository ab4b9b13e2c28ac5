"""The process that holds one board of a rig; labgrid runs in here, for this board only.

labgrid keeps one global stack of steps, so that two boards in one process break each other
(labgrid issue 1851); and a driver that hangs must not delay the others. So there is a process for
each board. It is told what to do by lines of JSON and answers in such, events first:

    → {"id": 1, "op": "flash", "image": "build/image.wic.bz2"}
    ← {"id": 1, "event": "flash", "phase": "write", "done": 4194304, …}
    ← {"id": 1, "result": {…}}   or   {"id": 1, "error": {"fault": "card-missing", …}}

When the one that asked is gone, however it went, the board is switched off and let go.
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
from pathlib import Path
from typing import Any

from serial import SerialException

from benchvise.board.sanitise import printable
from benchvise.errors import BenchviseError, UsageError
from benchvise.rig import locks
from benchvise.rig.boot.boot import read_console
from benchvise.rig.boot.verdict import BootError
from benchvise.rig.card.flash import FlashProgress
from benchvise.rig.card.image import open_image
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.console.recorder import ConsoleRecorder
from benchvise.rig.environment import Rig, load_rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.places import PlaceOwner, acquired, taker
from benchvise.rig.hold.target import analyser_of, open_target
from benchvise.rig.power import device_key

OWN_IMAGE = "own"
"""In the place of an image's path: the one that the rig file names for the board."""

_LONG = frozenset({"flash", "boot", "bootloader"})
"""What takes so long that others may want to know how far it is."""

_PROGRESS_SECONDS = 0.2
_DRAIN_SECONDS = 0.1


class ClientGone(BaseException):
    """Nobody listens any more: give up what is under way. No Exception, so that no driver's
    handling of errors swallows it.
    """


class Worker:
    """Holds the board until it is told to close, or its client is gone."""

    def __init__(self, rig: Rig, name: str, purpose: str) -> None:
        self._rig = rig
        self._name = name
        self._purpose = purpose
        self._requests: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._gone = threading.Event()
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # what a driver prints must not become part of the answers
        self._stack = ExitStack()
        self._strategy: Any = None
        self._place_taker: PlaceOwner | None = None
        self._console: Any = None
        self._request_id = 0
        self._off_at_end = False
        self._may_stop = True
        self._told_to_stop = False
        self._key = ""
        self._doing: Mapping[str, Any] = {}

    def serve(self) -> int:
        """The whole life of the process; returns its exit code."""
        signal.signal(signal.SIGUSR1, self._stop)
        # By `kill`, as those who wait for the board are told: as if the client were gone.
        signal.signal(signal.SIGTERM, self._stop)
        threading.Thread(target=self._listen, daemon=True).start()
        with self._stack:
            try:
                self._open()
                self._say({"ready": True, "pid": os.getpid()})
                while (request := self._next()) is not None:
                    if not self._handle(request):
                        return 0
                self._may_stop = False
            except ClientGone:
                pass
            except BenchviseError as error:
                self._say({"error": _error(error)})
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
            self._place_taker = taker(self._rig.path, place)
            if self._place_taker is None or not self._place_taker.ours:
                return  # labgrid shows nothing of a place to those who have not taken it
        self._strategy = open_target(self._rig.path, self._name)
        if not observing:
            self._key = self._lock_key()
            self._stack.enter_context(
                locks.held(self._key, self._purpose, name=f"the board {self._name}")
            )

    def _take_place(self, place: str) -> None:
        """Wholly or not at all: whoever tells us meanwhile to stop is heard afterwards.

        labgrid's session is an asyncio loop, which may swallow what a signal raises in it.
        """
        self._may_stop = False
        try:
            self._stack.enter_context(acquired(self._rig.path, place, self._purpose))
        finally:
            self._may_stop = True
        if self._told_to_stop:
            self._stop()

    def _lock_key(self) -> str:
        """Names the outlet, so that two rig files that describe one board exclude each other."""
        supplier: Any = self._strategy.power
        while getattr(supplier, "suppliers", None):
            supplier = next(iter(supplier.suppliers))
        return f"board at {device_key(supplier)} {getattr(supplier, 'index', '')}"

    # The requests

    def _handle(self, request: Mapping[str, Any]) -> bool:
        """Answers one request; False when it was the last."""
        self._request_id = int(request.get("id", 0))
        operation: Callable[..., Any] | None = getattr(self, f"op_{request.get('op')}", None)
        try:
            if operation is None:
                raise UsageError(f"a board cannot '{printable(str(request.get('op')))}'")
            arguments = {k: v for k, v in request.items() if k not in ("id", "op")}
            if request["op"] in _LONG:
                self._note({"op": request["op"], "since": time.time()})
            result = operation(**arguments)
            self._say({"id": self._request_id, "result": result})
        except BenchviseError as error:
            self._say({"id": self._request_id, "error": _error(error)})
        except Exception as error:  # noqa: BLE001 - labgrid's drivers raise what they like
            traceback.print_exc()
            self._say({"id": self._request_id, "error": _error(_unforeseen(self._name, error))})
        if self._doing:
            self._note({})
        return self._may_stop

    def op_status(self) -> dict[str, Any]:
        """Power, card and holder, as far as they can be asked; changes nothing."""
        found: dict[str, Any] = {"board": self._name}
        if self._strategy is None:
            who = self._place_taker
            found["holder"] = None if who is None else {"pid": 0, "what": f"place of {who.name}"}
            unknown = {"na": "seen by those who have its place"}
            return {**found, "power": unknown, "mux": unknown}
        found["lock"] = self._lock_key()
        holder = locks.holder(found["lock"])
        found["holder"] = None if holder is None else {"pid": holder.pid, "what": holder.what}
        for what, ask in (("power", self._power_state), ("mux", self._mux_side)):
            try:
                found[what] = ask()
            except Exception as error:  # noqa: BLE001 - one broken part must not hide the others
                found[what] = {"na": printable(getattr(error, "message", str(error)), 200)}
        return found

    def op_power(self, *, to: str) -> dict[str, Any]:
        """Switches on or off, or off and on again."""
        if to in ("off", "cycle"):
            self._strategy.off()
        if to == "cycle":
            time.sleep(self._strategy.options.off_s)
        if to in ("on", "cycle"):
            self._strategy.outlet.on()
        return {"power": self._power_state()}

    def op_mux(self, *, to: str) -> dict[str, Any]:
        """Turns the card to a side; never while the board has power."""
        mux = self._strategy.card_mux
        if mux is None:
            raise RigError(Fault.CARD_MISSING, f"{self._name} has no SD mux in the rig file")
        if mux.side() is not MuxSide(to):
            if self._strategy.outlet.state() is True:
                raise RigError(
                    Fault.BUSY,
                    f"{self._name} has power: its card is neither taken away nor put in",
                    f"switch it off first: benchvise rig power {self._name} off",
                )
            mux.turn(MuxSide(to))
        return {"mux": self._mux_side()}

    def op_flash(self, *, image: str) -> dict[str, Any]:
        """Writes the card, with the board off."""
        last = 0.0

        def report(progress: FlashProgress) -> None:
            nonlocal last
            self._check()
            now = time.monotonic()
            if now - last >= _PROGRESS_SECONDS:
                last = now
                self._event("flash", **_fields(progress))

        opened = open_image(self._strategy.own_image() if image == OWN_IMAGE else image)
        written = self._strategy.write(opened, report)
        return {**_fields(written), "image": opened.provenance()}

    def op_boot(self, *, directory: str) -> dict[str, Any]:
        """From off to a shell, with the console recorded in ``directory``."""
        boot = self._strategy.new_boot(
            Path(directory),
            check=self._check,
            on_phase=lambda name, seconds: self._event("phase", phase=name, seconds=seconds),
        )
        report = self._strategy.boot(boot)
        self._console = self._strategy.console
        address = boot.find_address(self._strategy.shell, self._strategy.service())
        return {"report": boot.report.as_json() if boot.report else report.as_json(), **address}

    def op_bootloader(self) -> dict[str, Any]:
        """From off to the bootloader's prompt."""
        self._strategy.stop_at_bootloader()
        self._console = self._strategy.console
        return {}

    def op_console(self, *, path: str) -> dict[str, Any]:
        """Opens the console as it is, recorded in the file ``path``."""
        self._strategy.open_console(ConsoleRecorder(Path(path)))
        return {}

    def op_shell(self, *, command: str, timeout: float = 60.0) -> dict[str, Any]:
        """Runs a command in the shell on the console."""
        lines, _, status = self._strategy.shell.run(
            command, timeout=timeout, decodeerrors="replace"
        )
        return {"lines": lines, "status": status}

    def op_write(self, *, data: str) -> dict[str, Any]:
        """Sends bytes (base64) to the console as they are."""
        self._strategy.console.write(base64.b64decode(data))
        return {}

    def op_read(self, *, timeout: float) -> dict[str, Any]:
        """Bytes from the console (base64), as soon as there are any; none after ``timeout`` s."""
        return {"data": base64.b64encode(self._read_console(timeout)).decode("ascii")}

    def op_analyser(self) -> dict[str, Any]:
        """How the board's logic analyser is reached; nothing of the board is touched."""
        if self._strategy is None:
            raise RigError(
                Fault.BUSY,
                f"{self._name}: what is plugged in is seen by those who have its place",
                "acquire it first: labgrid-client acquire",
            )
        return analyser_of(self._strategy.target, self._name)

    def op_off_at_end(self, *, off: bool) -> dict[str, Any]:
        """Whether the board is switched off when the client goes."""
        self._off_at_end = off
        return {}

    def op_close(self, *, off: bool) -> dict[str, Any]:
        """Lets the board go, switched off or as it is."""
        self._may_stop = False
        if off:
            self._strategy.off()
        return {}

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

    def _next(self) -> dict[str, Any] | None:
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
                f"{self._name}: the console is gone ({printable(str(error), 200)})",
                "see whether its USB cable or server is still there",
            ) from error

    def _listen(self) -> None:
        for line in sys.stdin:
            try:
                request = json.loads(line)
            except ValueError:
                continue
            if isinstance(request, dict):
                self._requests.put(request)
        self._gone.set()
        if self._key:
            locks.leaving(self._key)
        self._requests.put(None)
        # A driver of labgrid's may wait for a minute, and others for the board.
        os.kill(os.getpid(), signal.SIGUSR1)

    def _stop(self, *_signal: object) -> None:
        """In the main thread, wherever it is: that is left, once."""
        self._told_to_stop = True
        if self._may_stop:
            self._may_stop = False
            self._gone.set()
            raise ClientGone

    def _check(self) -> None:
        if self._gone.is_set():
            self._may_stop = False
            raise ClientGone

    def _event(self, name: str, **fields: object) -> None:
        self._say({"id": self._request_id, "event": name, **fields})
        if name == "phase":
            phases = {**self._doing.get("phases", {}), str(fields["phase"]): fields["seconds"]}
            self._note({**self._doing, "phases": phases})
        else:
            self._note({**self._doing, name: fields})

    def _note(self, doing: Mapping[str, Any]) -> None:
        """Says what is under way to others who look at the board, and cannot ask this process."""
        self._doing = doing
        if self._key:
            locks.doing(self._key, doing)

    def _say(self, message: Mapping[str, object]) -> None:
        try:
            self._lines.write(json.dumps(message) + "\n")
            self._lines.flush()
        except OSError:
            self._gone.set()


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _error(error: BenchviseError) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": type(error).__name__,
        "message": error.message,
        "remedy": error.remedy,
        "fault": str(getattr(error, "fault", "")),
    }
    if isinstance(error, BootError) and error.report is not None:
        found["report"] = error.report.as_json()
    return found


def _unforeseen(name: str, error: Exception) -> RigError:
    """An exception of labgrid or a driver that nothing of ours has a better sentence for."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    text = getattr(cause, "msg", "") or str(cause) or type(cause).__name__
    if isinstance(cause, SerialException):
        return RigError(
            Fault.CONSOLE_DEAD,
            f"{name}: its console is lost ({printable(str(text), 200)})",
            "see whether its USB cable or server is still there",
        )
    return RigError(
        Fault.RIG_BROKEN,
        f"{name}: {type(cause).__name__}: {printable(str(text), 300)}",
        "see whether the rig file describes what is plugged in: benchvise rig status",
    )


def work(rig: Path, name: str, purpose: str) -> int:
    """The whole life of the process; returns its exit code. Without a ``purpose`` it only looks at
    the board, and takes no lock.
    """
    return Worker(load_rig(rig), name, purpose).serve()
