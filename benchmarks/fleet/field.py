"""The lab: coordinator and exporters of labgrid, and boards behind sshd on loopback addresses.

Each board has an address of its own in 127.0.0.0/8, and the account of who runs this. They share
this machine, of course; the rig file says ``shares: []``, so that they are measured at once.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

EXPORTERS = 4
_START_SECONDS = 60.0
_HANGS = "exec sleep 3600"
_FULL = """#!/bin/sh
# A session in which whatever the user may write to is a disk without a free block.
exec unshare --mount --propagation private sh -c '
for place in /tmp /var/tmp /run /dev/shm "$HOME"; do
    mount -t tmpfs -o size=64k tmpfs "$place" && cat /dev/zero >"$place/full" 2>/dev/null
done
exec sh -c "$SSH_ORIGINAL_COMMAND"'
"""


@dataclass(frozen=True)
class Server:
    """An sshd that some boards are behind; ``login`` takes the place of their shell."""

    process: subprocess.Popen[bytes]
    port: int

    def kill(self) -> None:
        """The hard way, with its connections: as if the boards had lost their power."""
        sessions = descendants(self.process.pid)
        for pid in (self.process.pid, *sessions):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@dataclass
class Field:
    """What runs: ``healthy`` serves all boards but those that are to die, to hang, or are full."""

    directory: Path
    address: str
    healthy: Server
    dying: Server
    hanging: Server
    full: Server
    boards: list[str] = field(default_factory=list)
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)
    """The coordinator, then the exporters."""

    @property
    def rig_file(self) -> Path:
        """Names all boards."""
        return self.directory / "rig.yaml"

    @property
    def client_config(self) -> Path:
        """What ssh reads in place of the user's configuration."""
        return self.directory / "client_config"

    def environment(self) -> dict[str, str]:
        """For commands that work with it and nothing of the user's own."""
        return {
            **os.environ,
            "BENCHVISE_SSH_CONFIG": str(self.client_config),
            "BENCHVISE_LOCK_DIR": str(self.directory / "locks"),
            "BENCHVISE_STORE": str(self.directory / "results.db"),
            "BENCHVISE_RIG": str(self.rig_file),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "LG_HOSTNAME": "here",
            "LG_USERNAME": "fleet",
        }

    def start_daemons(self) -> None:
        """Start the coordinator and its exporters, and wait until all boards are exported."""
        self._start("coordinator", ["labgrid.remote.coordinator", "-l", self.address])
        port = int(self.address.rpartition(":")[2])
        _wait(lambda: _connects(port), "the coordinator")
        for number in range(EXPORTERS):
            name = f"shelf-{number}"
            words = ["labgrid.remote.exporter", "-c", self.address, "-n", name]
            self._start(name, [*words, f"exported-{number}.yaml"])
        _wait(lambda: _exported(self) == len(self.boards), "the exporters")

    def stop_daemons(self) -> None:
        """End them; the coordinator writes down its places at SIGTERM."""
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons.clear()

    def restart_daemons(self) -> None:
        """As systemd would: an exporter that lost its coordinator ends, and is started again."""
        self.stop_daemons()
        self.start_daemons()

    def _start(self, name: str, words: list[str]) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            self.daemons.append(
                subprocess.Popen(
                    [sys.executable, "-m", *words], cwd=self.directory, stdout=log, stderr=log
                )
            )

    def taken(self) -> list[str]:
        """The places that somebody has."""
        command = [sys.executable, "-m", "labgrid.remote.client", "-x", self.address, "who"]
        said = subprocess.run(
            command, capture_output=True, text=True, check=True, env=self.environment()
        ).stdout
        return [line for line in said.splitlines() if "board-" in line]


@dataclass(frozen=True)
class Faults:
    """How many boards are to have which fault."""

    dying: int = 0
    hanging: int = 0
    full: int = 0

    @property
    def all(self) -> int:
        """Boards with any."""
        return self.dying + self.hanging + self.full


@contextmanager
def lab(directory: Path, boards: int, faults: Faults = Faults()) -> Iterator[Field]:
    """A lab of so many boards, of which some are behind servers with a fault.

    Raises ``SystemExit`` when one of its programs does not start.
    """
    full = directory / "full-login"
    full.write_text(_FULL)
    full.chmod(0o755)
    logins = (("healthy", ""), ("dying", ""), ("hanging", _HANGS), ("full", str(full)))
    with ExitStack() as stack:
        healthy, dying, hanging, full_ones = (
            stack.enter_context(_sshd(directory, name, login)) for name, login in logins
        )
        address = f"127.0.0.1:{_free_port()}"
        made = Field(directory, address, healthy, dying, hanging, full_ones)
        made.boards = [f"board-{number:03}" for number in range(1, boards + 1)]
        # The bad ones are spread over the lab: the middle ones of equal parts.
        bad = [
            made.boards[(number * boards + boards // 2) // max(1, faults.all) % boards]
            for number in range(faults.all)
        ]
        kinds = (
            [made.dying] * faults.dying + [made.hanging] * faults.hanging
            + [made.full] * faults.full
        )  # fmt: skip
        _write_files(
            made, dict.fromkeys(made.boards, made.healthy) | dict(zip(bad, kinds, strict=True))
        )
        stack.callback(made.stop_daemons)
        made.start_daemons()
        yield made


def board_mark(directory: Path) -> str:
    """In the environment of all that runs on a board of the lab in this directory."""
    return f"FLEET_LAB={directory}"


def descendants(parent: int) -> list[int]:
    """All processes below one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            above = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(above, []).append(int(entry.parent.name))
    found, left = [], [parent]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def _write_files(made: Field, behind: Mapping[str, Server]) -> None:
    exported: list[dict[str, object]] = [{} for _ in range(EXPORTERS)]
    places: dict[str, object] = {}
    targets: dict[str, object] = {}
    for number, name in enumerate(made.boards):
        service = {
            "address": f"127.0.{1 + number // 200}.{1 + number % 200}",
            "port": behind[name].port,
            "username": getpass.getuser(),
        }
        shelf = number % EXPORTERS
        exported[shelf][name] = {"NetworkService": service}
        match = {"exporter": f"shelf-{shelf}", "group": name, "cls": "*"}
        places[name] = {
            "acquired": None,
            "acquired_resources": [],
            "aliases": [],
            "allowed": [],
            "changed": 1.0,
            "comment": "",
            "created": 1.0,
            "reservation": None,
            "tags": {},
            "matches": [{**match, "name": None, "rename": None}],
        }
        targets[name] = {
            "features": ["loopback"],
            "resources": {"RemotePlace": {"name": name}},
            "options": {"benchvise": {"shares": []}},
        }
    rig = {"targets": targets, "options": {"coordinator_address": made.address}}
    made.rig_file.write_text(yaml.safe_dump(rig, sort_keys=False))
    (made.directory / "places.yaml").write_text(yaml.safe_dump(places))
    for shelf, groups in enumerate(exported):
        (made.directory / f"exported-{shelf}.yaml").write_text(yaml.safe_dump(groups))


@contextmanager
def _sshd(directory: Path, name: str, login: str) -> Iterator[Server]:
    """On all loopback addresses, at one port; it knows one key that nobody else has."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") or "sshd"
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # made by the init system otherwise
    client = directory / "client"
    for key in (directory / f"host-{name}", client):
        if not key.exists():
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)]
            subprocess.run(words, check=True)
    (directory / "client_config").write_text(
        f"Host *\n IdentityFile {client}\n IdentitiesOnly yes\n IdentityAgent none\n"
        " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"
        " GlobalKnownHostsFile /dev/null\n"
    )
    port = _free_port()
    lines = [
        *(f"Port {port}", "ListenAddress 0.0.0.0", f"HostKey {directory}/host-{name}"),
        *(f"AuthorizedKeysFile {client}.pub", "PidFile none", "UsePAM no", "StrictModes no"),
        # Here one server stands for many, each of which would have its own limits.
        *("MaxStartups 2000", "PasswordAuthentication no"),
        f"SetEnv SHLVL=1 {board_mark(directory)}",
        *([f"ForceCommand {login}"] if login else []),
    ]
    configuration = directory / f"server-{name}"
    configuration.write_text("\n".join(lines) + "\n")
    words = [program, "-D", "-f", str(configuration), "-E", str(directory / f"log-{name}")]
    child = subprocess.Popen(words)
    try:
        _wait(lambda: _connects(port), f"sshd ({name})")
        yield Server(child, port)
    finally:
        Server(child, port).kill()
        child.wait()


def _exported(made: Field) -> int:
    command = [sys.executable, "-m", "labgrid.remote.client", "-x", made.address, "resources"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return sum("NetworkService" in line for line in said.splitlines())


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _wait(condition: object, what: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    assert callable(condition)
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not start")
        time.sleep(0.1)
