"""Starts, queries and stops a virtual bench, and writes its labgrid environment file.

up                the daemon runs, everything is switched off, rig.yaml is written
status            what /status says; None when no bench runs there
down              False when none ran there
inject            orders a fault
write_rig_file    the environment file, and what it names
"""

from __future__ import annotations

import contextlib
import http.client
import importlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

from benchvise.documents import decode
from benchvise.errors import UsageError
from benchvise.file_locks import is_locked, lock
from benchvise.host_system import open_flags
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.virtual import daemon, usbsdmux
from benchvise.rig.virtual.boards import GDB_SOCKET
from benchvise.rig.virtual.messages import BenchFile, BenchStatus, BoardPorts
from benchvise.text import last_line
from benchvise.user_directories import user_directory

# What takes a second where nothing else runs; it may be one of thirty that compute.
_START_SECONDS = 120.0
_STOP_SECONDS = 60.0
_END_SECONDS = 5.0
"""So long a bench whose process was ended may still be there without answering."""
_REQUEST_SECONDS = 120.0
_POLL_SECONDS = 0.05
_ANSWER_BYTES = 4 << 20

RIG_FILE = "rig.yaml"

_IMPORTS = ["benchvise.rig.drivers"]
_SHELL = {"prompt": r"root@[\w-]+:[^ ]+# ", "login_prompt": " login: ", "username": "root"}
_HEAD = """\
# The environment of a virtual bench, made when it was started. Same syntax as for real boards;
# every value that is measured on these boards is simulated.
"""

_SEE_LOG = "see daemon.log there, or stop it: benchvise rig virtual down"


@dataclass(frozen=True, slots=True)
class VirtualBench:
    """A bench that runs. ``boards`` are those of bench.json.

    ``started`` is False when it ran already.
    """

    directory: Path
    rig_file: Path
    url: str
    pid: int
    boards: tuple[BoardPorts, ...]
    started: bool


def default_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """``benchvise/virtual`` under the XDG state directory."""
    return user_directory("state", environment) / "virtual"


def up(
    directory: Path | None = None,
    boards: Sequence[tuple[str, str]] | None = None,
    *,
    kinds: str = daemon.KINDS_MODULE,
    images: Mapping[str, Path] | None = None,
) -> VirtualBench:
    """Starts a bench of ``boards``, pairs of name and kind, and waits until it is ready.

    When the same boards run there already, nothing is changed, and ``started`` is False.
    ``kinds`` names the module that knows the kinds of boards, ``images`` are the card images to
    name in the rig file, by kind. UsageError when others run there, or
    a kind is unknown; RigError when this machine lacks something, or it cannot be started.
    """
    module = importlib.import_module(kinds)
    chosen = tuple(boards if boards is not None else module.BENCH)
    place = daemon.private_directory(directory or default_directory())
    with _one_at_a_time(place):
        running = _running(place)
        if running is not None:
            _refuse_others(place, running, chosen)
            bench = running
        else:
            _prepare(place, module, chosen)
            _start(place, chosen, kinds)
            started = _running(place)
            if started is None:
                raise RigError(
                    Fault.RIG_BROKEN, f"the virtual bench in {place} ended immediately", _SEE_LOG
                )
            bench = started
        rig_file = write_rig_file(place, bench.url, bench.boards, module.ssh_key(), images or {})
    return VirtualBench(place, rig_file, bench.url, bench.pid, bench.boards, running is None)


def status(directory: Path | None = None) -> BenchStatus | None:
    """The status of a bench; None when none runs there.

    RigError when it says nothing, or what this version of Benchvise does not understand.
    """
    place = directory or default_directory()
    deadline = time.monotonic() + _END_SECONDS
    while (bench := _running(place)) is not None:
        try:
            return decode(BenchStatus, json.loads(_get(place, bench, "/status")))
        except RigError:  # it may be at its end
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_SECONDS)
        except ValueError as error:
            raise RigError(
                Fault.RIG_BROKEN,
                f"the virtual bench in {place} is of another version ({error})",
                _SEE_LOG,
            ) from error
    return None


def runs(directory: Path | None = None) -> bool:
    """Whether a bench runs there; nothing is asked of it."""
    return _holder(directory or default_directory()) != 0


def inject(board: str, fault: str, value: str, directory: Path | None = None) -> None:
    """Orders a fault, see ``injected.INJECTABLE``; the value ``off`` takes it back.

    UsageError when the bench refuses it; RigError when no bench answers.
    """
    place = directory or default_directory()
    bench = _running(place)
    if bench is None:
        raise RigError(
            Fault.RIG_BROKEN,
            f"no virtual bench runs in {place}",
            "start one: benchvise rig virtual up",
        )
    _get(
        place,
        bench,
        "/" + "/".join(quote(part, safe="") for part in ("fault", board, fault, value)),
    )


def down(directory: Path | None = None) -> bool:
    """Stops the bench; its cards and logs stay. False when none ran. RigError when it goes on."""
    place = directory or default_directory()
    if not place.is_dir():
        return False
    with _one_at_a_time(place):
        process = _holder(place)
        if not process:
            return False
        for number, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, _STOP_SECONDS)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                if not _holder(place):
                    return True
                time.sleep(_POLL_SECONDS)
    raise RigError(
        Fault.RIG_BROKEN,
        f"the virtual bench in {place} does not stop",
        f"see what process {process} is waiting for: cat /proc/{process}/stack",
    )


def _prepare(place: Path, module: ModuleType, boards: Sequence[tuple[str, str]]) -> None:
    """Sees to it that each kind can run, so that no power switch has to wait for a download."""
    for name in sorted({kind for _, kind in boards if kind in module.KINDS}):
        kind = module.KINDS[name]
        lacking = module.missing(kind)
        if lacking:
            raise RigError(
                Fault.RIG_BROKEN,
                f"boards of the kind '{name}' cannot be simulated here: programs are missing",
                f"apt install {' '.join(lacking)}",
            )
        nothing = place / "nothing"
        kind.command(
            card=None, console=nothing, monitor=nothing, gdb=None, ssh_port=1, workdir=place
        )


def _start(place: Path, boards: Sequence[tuple[str, str]], kinds: str) -> None:
    command = [
        *(sys.executable, "-m", "benchvise.rig.virtual.daemon", "--detach"),
        *("--directory", str(place), "--kinds", kinds),
        *("--boards", ",".join(f"{name}={kind}" for name, kind in boards)),
    ]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_START_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RigError(
            Fault.RIG_BROKEN,
            f"the virtual bench in {place} was not ready within {_START_SECONDS:.0f} s",
            _SEE_LOG,
        ) from None
    if done.returncode == 2:
        raise UsageError(last_line(done.stderr, 400))
    if done.returncode != 0:
        raise RigError(
            Fault.RIG_BROKEN,
            f"the virtual bench in {place} cannot be started",
            last_line(done.stderr, 400) or _SEE_LOG,
        )


def _refuse_others(place: Path, bench: BenchFile, boards: Sequence[tuple[str, str]]) -> None:
    there = tuple((board.name, board.kind) for board in bench.boards)
    if there != tuple(boards):
        names = ", ".join(f"{name} ({kind})" for name, kind in there)
        raise UsageError(
            f"a virtual bench with other boards runs already in {place}: {names}",
            "stop it first: benchvise rig virtual down",
        )


@contextlib.contextmanager
def _one_at_a_time(place: Path) -> Iterator[None]:
    """Two that start or stop a bench in the same directory do so one after the other."""
    flags = os.O_RDWR | os.O_CREAT | open_flags("O_NOFOLLOW")
    descriptor = os.open(place / "up.lock", flags, 0o600)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _holder(place: Path) -> int:
    """The process that holds the directory; 0 when none does, whatever a stale file says."""
    try:
        descriptor = os.open(place / daemon.LOCK_FILE, os.O_RDONLY | open_flags("O_NOFOLLOW"))
    except OSError:
        return 0
    try:
        pid = os.pread(descriptor, 32, 0).strip() if is_locked(descriptor) else b""
        return int(pid) if pid.isdigit() else 0
    finally:
        os.close(descriptor)


def _running(place: Path) -> BenchFile | None:
    """bench.json, if it is of a daemon that is alive."""
    process = _holder(place)
    try:
        bench = decode(BenchFile, json.loads((place / daemon.BENCH_FILE).read_text()))
    except (OSError, ValueError):
        return None
    return bench if process and bench.pid == process else None


def _get(place: Path, bench: BenchFile, path: str) -> bytes:
    """The answer to a request. UsageError with the bench's sentence when it refuses."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", bench.port, timeout=_REQUEST_SECONDS)
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read(_ANSWER_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise RigError(
            Fault.RIG_BROKEN, f"the virtual bench in {place} does not answer ({error})", _SEE_LOG
        ) from error
    if response.status != 200:
        raise UsageError(body.decode(errors="replace"))
    return body


def write_rig_file(
    directory: Path,
    url: str,
    boards: Sequence[BoardPorts],
    ssh_identity: Path,
    images: Mapping[str, Path],
) -> Path:
    """Writes the file, and what it names, for boards as they are in bench.json.

    ``images`` are the card images that belong to the kinds of boards, where there are any.
    """
    import yaml  # late: nearly every command imports RIG_FILE

    launcher = directory / "usbsdmux"
    command = shlex.join([sys.executable, "-E", "-S", str(Path(usbsdmux.__file__).resolve())])
    _replace(launcher, f'#!/bin/sh\nexec {command} "$@"\n', 0o700)
    # Nothing has to settle where no USB device comes and goes, and no capacitor to run empty.
    times = {"stagger_s": 0.2, "settle_s": 0.1, "off_s": 0.1}
    options = {"ssh_identity": str(ssh_identity), **times}
    environment = {
        "targets": {board.name: _target(directory, url, board, images) for board in boards},
        "images": {kind: str(path) for kind, path in images.items()},
        "tools": {"usbsdmux": str(launcher)},
        "options": {"benchvise": options},
        "imports": _IMPORTS,
    }
    file = directory / RIG_FILE
    _replace(file, _HEAD + yaml.safe_dump(environment, sort_keys=False, width=200), 0o600)
    return file


def _replace(file: Path, text: str, mode: int) -> None:
    """Writes a file that others may be reading, or running, at the same time."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text)
    new.chmod(mode)
    new.replace(file)


def _target(
    directory: Path, url: str, board: BoardPorts, images: Mapping[str, Path]
) -> dict[str, object]:
    own = directory / board.name
    control = own / "mux"
    _replace(control, f"{url}/mux/{board.index}\n", 0o600)
    return {
        "features": [board.arch, board.kind, "simulated"],
        "resources": {
            "NetworkPowerPort": {
                "model": "simplerest",
                "host": f"{url}/relay/{{index}}/{{value}}",
                "index": str(board.index),
            },
            "NetworkSerialPort": {
                "host": "127.0.0.1",
                "port": board.console_port,
                "speed": 115200,
                "protocol": "raw",
            },
            "NetworkService": {
                "address": "127.0.0.1",
                "port": board.ssh_port,
                "username": "root",
            },
            "VirtualSDMux": {"control_path": str(control), "disk_path": str(own / "host" / "sd")},
        },
        "drivers": {
            "NetworkPowerDriver": {"delay": 0.2},
            "SerialDriver": {},
            "VirtualSDMuxDriver": {},
            "VirtualStorageDriver": {},
            "ShellDriver": dict(_SHELL),
            "CardStrategy": {
                "debugger": str(own / GDB_SOCKET),
                **({"image": board.kind} if board.kind in images else {}),
            },
        },
    }
