"""Boards in namespaces of this machine, and the network that they are in.

Each has mount, PID, network, host name, IPC and control group namespaces of its own, a root on
tmpfs, and an SSH server. ``board/start`` makes them from inside. Nothing of this machine is
changed: it lends its kernel, its ``/usr`` to read, a loop device for a board with a disk, and a
control group below that of this process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.why.places import NotHere

_FILES = Path(__file__).parent / "board"
_NAMESPACES = ("--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup")
_PROGRAMS = ("unshare", "nsenter", "ip", "sshd", "ssh", "ssh-keygen", "sysctl", "bash")
_CONTROLLERS = ("cpu", "cpuset", "memory", "blkio")
_STARTUP_SECONDS = 60.0
_NOT_REACHED = 255
"""How ssh ends when it has no connection."""
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Board:
    """A board that runs: how ``benchvise`` and ``ssh`` name it."""

    name: str
    url: str
    ssh: tuple[str, ...]

    def run(self, line: str, *, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Runs a command line on it as a session of root."""
        return subprocess.run(
            [*self.ssh, line], capture_output=True, text=True, check=False, timeout=timeout
        )

    def said(self, line: str, *, timeout: float = 120) -> str:
        """What it prints. NotHere when it fails, ConnectionError when the board is not reached: it
        was there, so that is no reason to leave a case out."""
        done = self.run(line, timeout=timeout)
        if done.returncode == _NOT_REACHED:
            raise ConnectionError(f"{self.name} is not reached: {_last(done.stderr)}")
        if done.returncode:
            raise NotHere(f"{self.name}: {line[:80]}: {_last(done.stderr)}")
        return done.stdout


class Laboratory:
    """A network with its services; ``start_board`` puts boards into it. ``inside`` are the words
    that run a command of this machine in that network."""

    def __init__(self, parts: ExitStack) -> None:
        _check()
        self._parts = parts
        self._place = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="bvopen-")))
        self._place.chmod(0o755)
        self._boards: dict[str, subprocess.Popen[bytes]] = {}
        holder = self._popen(["unshare", "--net", "--kill-child", "--fork", "sleep", "infinity"])
        self._wait_for(lambda: _has_own_network(holder.pid), "a network namespace")
        self.inside = ("nsenter", f"--net=/proc/{holder.pid}/ns/net")
        self._network()
        self._keys()
        service = self._popen([*self.inside, "/usr/bin/python3", str(_FILES / "lab")], piped=True)
        assert service.stdout is not None
        if service.stdout.readline().strip() != b"ready":
            raise NotHere(f"the services of the laboratory do not start: {self._log()}")

    @property
    def environment(self) -> dict[str, str]:
        """Where ``benchvise`` finds the boards."""
        return {"BENCHVISE_SSH_CONFIG": str(self._place / "config")}

    def start_board(
        self, name: str, number: int, scripts: Sequence[str], *, disk_mb: int = 0
    ) -> Board:
        """A board with this name, made by these scripts of ``sh``, once it answers."""
        address = f"10.77.0.{number}"
        place = self._place / name
        shutil.copytree(_FILES, place, symlinks=True)
        for key in ("host_key", "authorized_keys"):
            shutil.copy(self._place / key, place / "etc" / "ssh" / key)
        (place / "setup").mkdir()
        for index, script in enumerate(scripts):
            (place / "setup" / f"{index:02}").write_text(script)
        if disk_mb:
            with (place / "disk").open("wb") as disk:
                disk.truncate(disk_mb * _MIB)
            self._parts.callback(_free_loop, place / "loop")
        group = self._groups(name)
        start = [*group, "unshare", *_NAMESPACES, "--fork", "--kill-child", "bash"]
        board = self._popen([*start, str(place / "start"), str(place), name, address], name)
        self._wait_for(lambda: _has_own_network(board.pid), "a network namespace", board)
        self._plug(number, board.pid)
        ssh = (*self.inside, "ssh", "-F", str(self._place / "config"), f"root@{address}")
        made = Board(name, f"ssh://root@{address}", ssh)
        self._wait_for(lambda: _answers(made), f"{name} to answer", board, name)
        return made

    def stop_board(self, name: str) -> None:
        """Ends all that runs on it."""
        self._ended(self._boards.pop(name))

    # -- parts -------------------------------------------------------------------------------------

    def _popen(
        self, words: Sequence[str], name: str = "lab", *, piped: bool = False
    ) -> subprocess.Popen[bytes]:
        log = (self._place / f"{name}.log").open("ab")
        with log:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else log,
                stderr=log,
                start_new_session=True,
            )
        if name != "lab":
            self._boards[name] = process
        self._parts.callback(self._ended, process)
        return process

    @staticmethod
    def _ended(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _log(self, name: str = "lab") -> str:
        return _last((self._place / f"{name}.log").read_text(errors="replace"))

    def _wait_for(
        self,
        is_there: Callable[[], bool],
        what: str,
        process: subprocess.Popen[bytes] | None = None,
        name: str = "lab",
    ) -> None:
        deadline = time.monotonic() + _STARTUP_SECONDS
        while not is_there():
            if time.monotonic() > deadline or (process is not None and process.poll() is not None):
                raise NotHere(f"waited for {what}: {self._log(name)}")
            time.sleep(0.05)

    def _network(self) -> None:
        addresses = [f"10.77.0.{host}/24" for host in (1, 3, 4, 5)]
        self._ip("link", "set", "lo", "up")
        # Else it has the least address of its ports: when a board with that is switched off, all
        # others go on sending to an address that nobody has.
        self._ip("link", "add", "br0", "address", "02:00:00:00:00:01", "type", "bridge")
        for address in addresses:
            self._ip("addr", "add", address, "dev", "br0")
        for address in ("fd77::1/64", "fd77::99/64"):
            self._ip("-6", "addr", "add", address, "dev", "br0", "nodad")
        self._ip("link", "set", "br0", "up")

    def _plug(self, number: int, pid: int) -> None:
        port = f"port{number}"
        self._ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        self._ip("link", "set", port, "master", "br0", "up")

    def _ip(self, *words: str) -> None:
        done = subprocess.run(
            [*self.inside, "ip", *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise NotHere(f"ip {' '.join(words)}: {_last(done.stderr)}")

    def _keys(self) -> None:
        for key in ("host_key", "client_key"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", ""]
            subprocess.run([*words, "-f", str(self._place / key)], check=True)
        public = " ".join((self._place / "host_key.pub").read_text().split()[:2])
        known = [f"10.77.0.{number} {public}" for number in range(11, 20)]
        (self._place / "known").write_text("\n".join(known) + "\n")
        shutil.copy(self._place / "client_key.pub", self._place / "authorized_keys")
        lines = [
            "Host *",
            f" IdentityFile {self._place / 'client_key'}",
            " IdentitiesOnly yes",
            " IdentityAgent none",
            " BatchMode yes",
            " ConnectTimeout 60",  # on a busy machine the server needs long to greet
            " StrictHostKeyChecking yes",
            f" UserKnownHostsFile {self._place / 'known'}",
            " GlobalKnownHostsFile /dev/null",
        ]
        (self._place / "config").write_text("\n".join(lines) + "\n")

    def _groups(self, name: str) -> list[str]:
        """The words that start a command in control groups of its own, below those of this
        process."""
        groups = []
        for place in _own_groups():
            group = place / f"bvopen-{os.getpid()}-{name}"
            group.mkdir()
            self._parts.callback(_remove_group, group)
            for file in ("cpuset.cpus", "cpuset.mems"):
                if (place / file).exists() and (group / file).exists():
                    (group / file).write_text((place / file).read_text())
            groups.append(str(group / "cgroup.procs"))
        script = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; exec "$@"'
        return ["sh", "-c", script, "sh", *groups, "--"]


@contextmanager
def laboratory() -> Iterator[Laboratory]:
    """A network without boards; all that was started in it ends with it."""
    with ExitStack() as parts:
        yield Laboratory(parts)


def _check() -> None:
    if os.geteuid() != 0:
        raise NotHere("namespaces take root")
    path = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
    missing = [name for name in _PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        raise NotHere(f"it takes {', '.join(missing)}")


def _own_groups() -> Iterator[Path]:
    """The directories of this process's control groups, of those that boards have."""
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if unified and not controllers:
            yield Path("/sys/fs/cgroup") / path.lstrip("/")
        for controller in _CONTROLLERS:
            if controller in controllers.split(","):
                yield Path("/sys/fs/cgroup") / controller / path.lstrip("/")


def _remove_group(group: Path) -> None:
    """Groups that the board made in it first; a process that is ending may be in it still."""
    deadline = time.monotonic() + 5
    while True:
        for child in sorted(group.rglob("*/"), reverse=True):
            with contextlib.suppress(OSError):
                child.rmdir()
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.1)
        else:
            return


def _free_loop(note: Path) -> None:
    if note.exists():
        subprocess.run(["losetup", "--detach", note.read_text().strip()], check=False)


def _has_own_network(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
    except OSError:
        return False


def _answers(board: Board) -> bool:
    try:
        return board.run("true", timeout=15).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:300]
