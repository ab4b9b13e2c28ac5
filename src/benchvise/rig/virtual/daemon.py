"""The daemon of the virtual bench: simulated boards behind the endpoints of real hardware.

    python -m benchvise.rig.virtual.daemon --directory DIR --boards NAME=KIND,... [--detach]

    GET /relay/I/1, /relay/I/0      power on, off (off is a power cut);  /relay/I -> 0 or 1
    GET /mux/I/host|dut|off|client  turns the SD mux;  /mux/I -> where it is
    GET /fault/I/NAME/VALUE         orders a fault; VALUE "off" takes it back; /fault/I/clear all
    GET /fault                      the faults that can be ordered
    GET /status                     everything, as JSON

I is a board's number or its name. Everything listens on loopback only; the ports are free ones,
those of the last time where possible, and are in DIR/bench.json, which is there when everything
is ready. DIR and what is in it is the user's alone, and so are the ports where the kernel tells who
connects: other users of the same machine are refused. DIR/lock is held, with a process id in it,
for as long as a daemon serves DIR. A daemon whose DIR was moved or removed ends. DIR/BOARD holds
card.img, host/sd while the mux is turned to the host, console.log, and the sockets console.sock and
monitor.sock (QMP).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.documents import decode, encode
from benchvise.errors import BenchviseError, UsageError
from benchvise.file_locks import try_lock_shortly
from benchvise.rig.virtual import endpoints
from benchvise.rig.virtual.boards import VirtualBoard
from benchvise.rig.virtual.cards import ignore_lease_breaks
from benchvise.rig.virtual.endpoints import RequestRefused
from benchvise.rig.virtual.injectable import INJECTABLE
from benchvise.rig.virtual.messages import FORMAT, BenchFile, BenchStatus

if TYPE_CHECKING:
    from benchvise.rig.virtual.kinds import BoardKind

KINDS_MODULE = "benchvise.rig.virtual.kinds"
BENCH_FILE = "bench.json"
LOCK_FILE = "lock"
LOG_FILE = "daemon.log"
READY = b"ready"

_LOG_BYTES = 1 << 20
_LOOK_SECONDS = 1.0  # whether the directory is still there
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


class BenchDaemon:
    """The boards of one directory, which is the current one."""

    def __init__(self, boards: Sequence[tuple[str, BoardKind]]) -> None:
        self._boards = [
            VirtualBoard(index, name, kind, Path(name)) for index, (name, kind) in enumerate(boards)
        ]
        self._server: asyncio.Server | None = None
        self._port = 0

    async def open(self) -> None:
        """Opens all ports and writes bench.json. OSError when a port cannot be opened."""
        before = _ports_before()
        for board in self._boards:
            await board.open(*before.get(board.name, (0, 0)))
        self._server, self._port = await endpoints.listen(self.answer, before.get("", (0, 0))[0])
        self._write_bench_file()

    async def close(self) -> None:
        """Cuts the power of all boards and closes everything."""
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*(board.close() for board in self._boards))

    async def answer(self, path: Sequence[str]) -> object:
        """The answer to a request. RequestRefused when it cannot be met."""
        match path:
            case ["status"]:
                return self._status()
            case ["relay", which]:
                return str(int(self._board(which).relay))
            case ["relay", which, ("0" | "1") as value]:
                await self._board(which).power(value == "1")
                return "ok"
            case ["mux", which]:
                return self._board(which).slot.mode
            case ["mux", which, mode]:
                await self._board(which).turn(mode)
                return "ok"
            case ["fault"]:
                return {fault.name: [fault.takes, fault.summary] for fault in INJECTABLE.values()}
            case ["fault", which]:
                return dict(self._board(which).faults)
            case ["fault", which, "clear"]:
                await self._board(which).clear_faults()
                return "ok"
            case ["fault", which, name, value]:
                await self._board(which).order(name, value)
                return "ok"
        raise RequestRefused(404, "there is no such address: see /status and /fault")

    def _board(self, which: str) -> VirtualBoard:
        for board in self._boards:
            if which in (board.name, str(board.index)):
                return board
        raise RequestRefused(404, f"the bench has no board '{which}'")

    def _status(self) -> BenchStatus:
        boards = tuple(board.status() for board in self._boards)
        return BenchStatus(True, os.getpid(), str(Path.cwd()), boards)

    def _write_bench_file(self) -> None:
        boards = tuple(board.ports() for board in self._boards)
        url = f"http://127.0.0.1:{self._port}"
        bench = BenchFile(FORMAT, os.getpid(), url, self._port, boards)
        new = Path(f"{BENCH_FILE}.new")
        new.write_text(json.dumps(encode(bench), indent=1) + "\n")
        new.replace(BENCH_FILE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the daemon; returns its exit status."""
    options = _options(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        boards = _boards(options.boards, importlib.import_module(options.kinds).KINDS)
        directory = private_directory(options.directory)
        os.chdir(directory)
    except BenchviseError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    ready = _Ready()
    if options.detach:
        pipe = _detach()
        if pipe is None:  # this is the process that was started; the other has become the daemon
            return 0
        ready = _Ready(pipe)
    lock = hold_lock(Path())
    if lock is None:
        ready.failed(f"a virtual bench runs already in {directory}")
        return 1
    try:
        return asyncio.run(_serve(boards, ready, directory / LOCK_FILE, lock))
    except OSError as error:
        ready.failed(f"the virtual bench in {directory} cannot be opened: {error}")
        return 1


async def _serve(
    boards: Sequence[tuple[str, BoardKind]], ready: _Ready, lock_file: Path, lock: int
) -> int:
    ignore_lease_breaks()
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)
    daemon = BenchDaemon(boards)
    try:
        await daemon.open()
        ready.ready()
        while not stop.is_set() and _is_at(lock_file, lock):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK_SECONDS)
    finally:
        await daemon.close()
    return 0


def _is_at(file: Path, descriptor: int) -> bool:
    """Whether that path still leads to the open file.

    It does not when the bench's directory was moved or removed. Then no command finds the bench,
    not even the one that ends it.
    """
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except OSError:
        return False


class _Ready:
    """Reports to the process that started the daemon: through a pipe, or on stderr."""

    def __init__(self, pipe: int | None = None) -> None:
        self._pipe = pipe

    def ready(self) -> None:
        """Everything is open."""
        if self._pipe is not None:
            self._send(READY)

    def failed(self, sentence: str) -> None:
        """It cannot be opened."""
        print(sentence, file=sys.stderr)
        if self._pipe is not None:
            self._send(sentence.encode())

    def _send(self, data: bytes) -> None:
        if self._pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipe, data)
            os.close(self._pipe)
            self._pipe = None


def _detach() -> int | None:
    """Goes on in a process of its own, which gets the pipe to report to.

    The process that was started gets None, after it has waited for that report and has ended with
    the sentence if it was not "ready".
    """
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        with open(reading, "rb") as pipe:  # noqa: PTH123 - a descriptor
            report = pipe.read()
        if report != READY:
            sys.exit(
                report.decode(errors="replace") or f"it ended while it started: see {LOG_FILE}"
            )
        return None
    os.close(reading)
    os.setsid()
    log = Path(LOG_FILE)
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(f"{LOG_FILE}.1")
    nothing = os.open(os.devnull, os.O_RDWR)
    log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    for number, target in enumerate((nothing, log_file, log_file)):
        os.dup2(target, number)
    os.close(nothing)
    os.close(log_file)
    return writing


def private_directory(path: Path) -> Path:
    """The directory, made if need be, that nobody else can read. UsageError when it cannot be."""
    path = Path(os.path.abspath(path))  # noqa: PTH100 - keeps links
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        if status.st_uid == os.geteuid():
            path.chmod(0o700)
    except OSError as error:
        raise UsageError(
            f"'{path}' cannot be the directory of a virtual bench ({error.strerror})",
            "name another directory",
        ) from error
    if status.st_uid != os.geteuid():
        raise UsageError(f"'{path}' belongs to another user", "name a directory of your own")
    return path


def hold_lock(directory: Path) -> int | None:
    """The descriptor that holds the directory for this process; None when another one does."""
    descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    if not try_lock_shortly(descriptor):
        os.close(descriptor)
        return None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _ports_before() -> dict[str, tuple[int, int]]:
    """The ports of the last time, so that an environment file stays true; "" is the server's."""
    try:
        bench = decode(BenchFile, json.loads(Path(BENCH_FILE).read_text()))
    except (OSError, ValueError):
        return {}
    ports = {board.name: (board.console_port, board.ssh_port) for board in bench.boards}
    return {"": (bench.port, 0), **ports}


def _boards(text: str, kinds: Mapping[str, BoardKind]) -> list[tuple[str, BoardKind]]:
    boards: dict[str, BoardKind] = {}
    for item in text.split(","):
        name, _, kind = item.partition("=")
        if not _NAME.fullmatch(name) or name in boards or name.isdigit():
            raise UsageError(f"'{name}' cannot be the name of a board", "write NAME=KIND,...")
        if kind not in kinds:
            raise UsageError(f"there is no kind of board '{kind}'", f"one of {', '.join(kinds)}")
        boards[name] = kinds[kind]
    return list(boards.items())


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchvise.rig.virtual.daemon")
    parser.add_argument("--directory", type=Path, required=True, help="where everything lies")
    parser.add_argument("--boards", required=True, metavar="NAME=KIND,...")
    parser.add_argument("--detach", action="store_true", help="return as soon as it is ready")
    parser.add_argument("--kinds", default=KINDS_MODULE, help="the module that has KINDS")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
