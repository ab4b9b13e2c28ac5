"""Processes that hold boards, forked from one that has imported labgrid already.

Each board needs a process of its own (``worker`` says why), and labgrid takes most of a second of a
processor to be imported. So that is done once, by a server process without threads, which forks
for each board. It lives as long as the process that started it; whatever that has in its
environment when it orders a process, the process has.

``multiprocessing``'s forkserver was tried in its place, and does not hold all that is needed here:

- It keeps the environment in which it was first started, whatever is set later.
- It is in its client's process group: a signal to that group (``timeout``, a terminal that is
  closed) ends it, and how the process of a board ended is not known any more.
- Each forked process imports the client's main module again: with the command line's, 0.28 s
  where this takes 0.02 s.
- It passes over what cannot be imported, so that a broken installation shows as a traceback of
  each process on the terminal.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import IO, NoReturn

from benchvise.documents import decode, encode
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.messages import WorkerOrder
from benchvise.text import last_line

_ORDER_BYTES = 64 << 10
# Standard input, output and error, the environment, and the pipe on which its life is reported.
_ORDER_FILES = 5
# What is read once, when Python or labgrid starts: after a change of it nothing else will do but
# another server.
_READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "LG_", "MALLOC_", "TMPDIR", "TZ")


class Forked:
    """A process of the server's. ``returncode`` is known once it has ended.

    Its standard error goes to the file ``stderr``; ``stdin`` and ``stdout`` are lines of text.
    """

    def __init__(self, order: WorkerOrder, stderr: IO[bytes]) -> None:
        self.returncode: int | None = None
        reads, stdin = os.pipe()
        stdout, writes = os.pipe()
        self._life, reports = os.pipe()
        self.stdin = os.fdopen(stdin, "w", encoding="utf-8")
        self.stdout = os.fdopen(stdout, "r", encoding="utf-8", errors="replace")
        try:
            with _environment_file() as environment:
                files = [reads, writes, stderr.fileno(), environment.fileno(), reports]
                _server().send(order, files)
        except BaseException:
            self.stdin.close()
            self.stdout.close()
            os.close(self._life)
            raise
        finally:
            for descriptor in (reads, writes, reports):
                os.close(descriptor)
        self._received = b""
        self.pid = self._number(None) or 0

    def wait(self, timeout: float) -> int | None:
        """Until it has ended, for ``timeout`` seconds at most; None when it has not, or when
        nobody saw how.
        """
        if self.returncode is None and self._life >= 0:
            self.returncode = self._number(timeout)
        return self.returncode

    def kill(self) -> None:
        """Ends it by force."""
        if self.returncode is None and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Closes everything that leads to it."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        self.stdout.close()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1

    def _number(self, timeout: float | None) -> int | None:
        """The next number that the server reports of it; None when none comes in time, or ever."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._life, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if not selector.select(timeout):
                    return None
                data = os.read(self._life, 64)
                if not data:
                    return None
                self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return int(line)


class _Server:
    """The client's end of a server process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        self._started_with = _environment_at_start()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - as long as this process lives
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchvise.rig.hold.forks", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def usable(self) -> bool:
        """Whether it lives, and would start today as it did."""
        return self._process.poll() is None and self._started_with == _environment_at_start()

    def close(self) -> None:
        """It ends, without those that it has forked."""
        self._socket.close()
        self._process.wait()
        self._output.close()

    def send(self, order: WorkerOrder, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._socket, [json.dumps(encode(order)).encode()], descriptors)
        except OSError as error:
            self._process.wait()
            self._output.seek(0)
            reason = last_line(self._output.read()[-4096:]) or str(error)
            raise RigError(
                Fault.RIG_BROKEN,
                f"no process can be started for a board ({reason})",
                "is this installation whole? Try: python -c 'import labgrid'",
            ) from error


def _environment_at_start() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name.startswith(_READ_AT_START)}


def _environment_file() -> IO[bytes]:
    """The environment as it is now: of any size, which a message is not."""
    file = os.fdopen(os.memfd_create("environment"), "w+b")
    file.write(b"\0".join(b"%b=%b" % variable for variable in os.environb.items()))
    file.flush()
    return file


def _take_environment(file: int) -> None:
    os.environ.clear()
    for variable in filter(None, os.pread(file, os.fstat(file).st_size, 0).split(b"\0")):
        name, _, text = variable.partition(b"=")
        os.environb[name] = text


def start() -> None:
    """Start the server, which takes a while, where orders are to be expected."""
    _server()


_lock = threading.Lock()
_servers: list[_Server] = []


def _server() -> _Server:
    """The one that runs, or a new one."""
    with _lock:
        if _servers and not _servers[-1].usable:
            _servers.pop().close()
        if not _servers:
            _servers.append(_Server())
        return _servers[-1]


def _serve(orders: socket.socket) -> None:
    """Forks for each order, and reports the processes that end, until the client is gone."""
    from benchvise.rig.hold import keeper  # noqa: F401 - imported for the forked ones

    gc.freeze()  # what is there now is not written to by collections, and so stays shared
    selector = selectors.DefaultSelector()
    selector.register(orders, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.data is not None:
                selector.unregister(key.fd)
                _report_end(key.fd, *key.data)
                continue
            order, files, _, _ = socket.recv_fds(orders, _ORDER_BYTES, _ORDER_FILES)
            if not order:
                return
            wanted = decode(WorkerOrder, json.loads(order))
            if wanted.name and "benchvise.rig.hold.worker" not in sys.modules:
                # A keeper of places does without, and starts sooner for that.
                from benchvise.rig import drivers  # noqa: F401 - imported for the forked ones
                from benchvise.rig.hold import worker  # noqa: F401 - as above

                gc.freeze()
            process = os.fork()
            if process == 0:
                selector.close()
                _become(orders, files, wanted)
            for descriptor in files[:-1]:
                os.close(descriptor)
            os.write(files[-1], b"%d\n" % process)
            ended = os.pidfd_open(process)
            selector.register(ended, selectors.EVENT_READ, (process, files[-1]))


def _become(orders: socket.socket, files: list[int], order: WorkerOrder) -> NoReturn:
    """In the forked process: what its order says, to its end."""
    status = 1
    try:
        os.setsid()
        orders.close()
        for number, descriptor in enumerate(files[:3]):
            os.dup2(descriptor, number)
        _take_environment(files[3])
        _close_others()
        if order.name:
            from benchvise.rig.hold import worker

            status = worker.work(order)
        else:
            from benchvise.rig.hold.keeper import keep_places

            status = keep_places(Path(order.rig), order.purpose)
    except BaseException:  # noqa: BLE001 - it must not go on as the server
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(status)


def _close_others() -> None:
    """What the server had open is not this process's."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers, no paths
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _report_end(ended: int, process: int, report: int) -> None:
    _, status = os.waitpid(process, 0)
    with contextlib.suppress(OSError):
        os.write(report, b"%d\n" % os.waitstatus_to_exitcode(status))
    os.close(report)
    os.close(ended)


def main() -> None:
    """``python -m benchvise.rig.hold.forks SOCKET``, started by ``Forked``."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        _serve(orders)


if __name__ == "__main__":
    main()
