"""One boot of one board: the console recorded and watched from power on to a shell."""

from __future__ import annotations

import shlex
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pexpect
from labgrid.driver.exception import ExecutionError

from benchvise.board.protocol import Completed
from benchvise.rig.boot.address import (
    SshService,
    addresses,
    by_preference,
    host_keys,
    own_address_towards,
)
from benchvise.rig.boot.patterns import BootPatterns
from benchvise.rig.boot.timeline import (
    LIMIT_SECONDS,
    SILENCE_SECONDS,
    BootEnd,
    BootOutcome,
    Timeline,
    watch,
)
from benchvise.rig.boot.verdict import BootError, BootReport
from benchvise.rig.console.recorder import ConsoleRecorder
from benchvise.rig.faults import Fault
from benchvise.text import Untrusted

_NETWORK_SECONDS = 30.0  # or as long as the boot took, if that is longer
_TRY_SECONDS = 10.0
_AGAIN_SECONDS = 0.1
_ASK_SECONDS = 60.0
_SSH_PORT = 22
_PIECE_BYTES = 4096


class BoardBoot:
    """Records and watches one boot; the console's log goes to ``directory``, by default a new one.

    The boot has failed after ``silence_s`` seconds without a byte, or ``limit_s`` seconds after
    power on. ``check`` is called all the while, and may raise to end it.
    """

    def __init__(
        self,
        name: str,
        patterns: BootPatterns,
        directory: Path | None = None,
        *,
        silence_s: float = SILENCE_SECONDS,
        limit_s: float = LIMIT_SECONDS,
        check: Callable[[], None] = lambda: None,
        on_phase: Callable[[str, float], None] = lambda _name, _seconds: None,
    ) -> None:
        self.name = name
        self.report: BootReport | None = None
        self._patterns = patterns
        self._silence_s, self._limit_s = silence_s, limit_s
        self._check = check
        self._on_phase = on_phase
        self._reported_phases: set[str] = set()
        directory = directory or Path(tempfile.mkdtemp(prefix=f"benchvise-boot-{name}-"))
        self.recorder = ConsoleRecorder(directory / "console.log", listen=self._heard)
        self._timeline: Timeline | None = None
        self._console: Any = None

    def attach(self, console: Any) -> None:
        """The console driver to be read; it goes through the recorder already."""
        self._console = console

    def power_on(self, switch: Callable[[], None]) -> None:
        """What the board said before is not of this boot; the clock starts with the switching."""
        while read_console(self._console, 0.0):
            pass
        self.recorder.mark("power on")
        self._timeline = Timeline(time.monotonic_ns(), self._patterns)
        switch()

    def watch(self) -> BootReport:
        """Watches until a login is possible, or it is certain that none will be."""
        timeline = self._begun()

        def checked(timeout: float) -> bytes:
            self._check()
            return read_console(self._console, timeout)

        outcome = watch(
            checked,
            timeline,
            silence_s=self._silence_s,
            limit_s=self._limit_s,
            feeds=False,
        )
        return self._reported(outcome)

    def login(self, activate: Callable[[], None]) -> BootReport:
        """Logs in, which ``activate`` does."""
        timeline = self._begun()
        # labgrid's driver would wait for two silent seconds before it asks for the prompt again.
        self._console.write(b"\n")
        try:
            activate()
        except (pexpect.ExceptionPexpect, ExecutionError) as error:
            reason = Untrusted(str(getattr(error, "msg", error)))
            timeline.settle()
            return self._reported(
                BootOutcome(BootEnd.NOT_LOGGED_IN, self._now(), 0.0, reason=reason)
            )
        timeline.reached("shell", time.monotonic_ns())
        self._tell()
        return self._reported(BootOutcome(BootEnd.SHELL, self._now(), 0.0))

    def find_service(self, shell: Any, service: SshService | None) -> SshService | None:
        """The SSH server at which the board answers; None when it does not.

        ``service`` is what the rig file says; without it the board is asked over its console.
        BootError when the shell there does not answer.
        """
        try:
            return self._answering_service(shell, service)
        except (pexpect.ExceptionPexpect, ExecutionError) as error:
            self._begun().settle()
            silent = self._now() - (self._begun().last_byte_s or 0.0)
            reason = Untrusted(str(getattr(error, "msg", error)))
            outcome = BootOutcome(BootEnd.SHELL_LOST, self._now(), silent, reason=reason)
            raise self.failed(self._reported(outcome)) from error

    def failed(self, report: BootReport) -> BootError:
        """The error of a boot that failed."""
        remedy = f"{report.remedy}; its" if report.remedy else "its"
        return BootError(
            report.fault or Fault.HANG,
            f"{self.name}: {report.sentence}",
            f"{remedy} console is kept in {report.console}",
            report,
        )

    def _answering_service(self, shell: Any, service: SshService | None) -> SshService | None:
        timeline = self._begun()
        console: Any = _ConsoleCommands(self.name, shell)
        keys = tuple(host_keys(console))
        deadline = time.monotonic() + max(_NETWORK_SECONDS, self._now())
        while time.monotonic() < deadline:
            self._check()
            for candidate in [service] if service else _own_services(console, shell):
                if _answers(candidate):
                    timeline.reached("network", time.monotonic_ns())
                    self._tell()
                    self._reported(BootOutcome(BootEnd.SHELL, self._now(), 0.0))
                    return replace(candidate, host_keys=keys)
            time.sleep(_AGAIN_SECONDS if service else 1.0)
        return None

    def _heard(self, at_ns: int, data: bytes) -> None:
        if self._timeline is not None:
            self._timeline.feed(at_ns, data)
            self._tell()

    def _tell(self) -> None:
        for name, seconds in self._begun().phases.items():
            if name not in self._reported_phases:
                self._reported_phases.add(name)
                self._on_phase(name, seconds)

    def _reported(self, outcome: BootOutcome) -> BootReport:
        self.report = BootReport.of(self._begun(), outcome, self.recorder.path)
        return self.report

    def _begun(self) -> Timeline:
        if self._timeline is None:
            raise RuntimeError("the board has not been switched on")
        return self._timeline

    def _now(self) -> float:
        return (time.monotonic_ns() - self._begun().power_on_ns) / 1e9


@dataclass(frozen=True, slots=True)
class _ConsoleCommands:
    """As much of a Board as asking for addresses and keys takes: labgrid's shell on the console.

    Kernel messages may come between its lines; who reads them knows what to look for.
    """

    name: str
    shell: Any

    def run(self, argv: Sequence[str]) -> Completed:
        """Runs a command; what it says on standard error is among its output."""
        lines, _, status = self.shell.run(
            shlex.join(argv), timeout=_ASK_SECONDS, decodeerrors="replace"
        )
        return Completed(status, "\n".join(lines).encode(), b"")


def read_console(console: Any, timeout: float) -> bytes:
    """What came on a labgrid console driver, or nothing after ``timeout`` seconds.

    labgrid's driver of a console on the network knows only whether there is something, not how
    much, and would return it byte by byte.
    """
    for size, wait in ((_PIECE_BYTES, 0.0), (1, timeout)):
        try:
            return bytes(console.read(size=size, timeout=wait))
        except pexpect.TIMEOUT:
            continue
    return b""


def _own_services(console: Any, shell: Any) -> list[SshService]:
    """Where an SSH server of the board may answer, the likeliest first."""
    candidates = addresses(console)
    hosts = [ip for own in candidates if (ip := own_address_towards(own.ip)) is not None]
    return [
        SshService(str(own.ip), _SSH_PORT, str(shell.username))
        for own in by_preference(candidates, hosts)
    ]


def _answers(service: SshService) -> bool:
    """Whether an SSH server says its name there: a forwarded port is open before the board is."""
    try:
        with socket.create_connection((service.address, service.port), _TRY_SECONDS) as connection:
            connection.settimeout(_TRY_SECONDS)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
