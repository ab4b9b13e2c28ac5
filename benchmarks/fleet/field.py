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
    """What runs: ``healthy`` serves all boards but those that are to die or hang."""

    directory: Path
    address: str
    healthy: Server
    dying: Server
    hanging: Server
    boards: list[str] = field(default_factory=list)

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

    def taken(self) -> list[str]:
        """The places that somebody has."""
        command = [sys.executable, "-m", "labgrid.remote.client", "-x", self.address, "who"]
        said = subprocess.run(
            command, capture_output=True, text=True, check=True, env=self.environment()
        ).stdout
        return [line for line in said.splitlines() if "board-" in line]


@contextmanager
def lab(directory: Path, boards: int, dying: int = 0, hanging: int = 0) -> Iterator[Field]:
    """A lab of so many boards, of which some are behind servers that die or hang."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(_sshd(directory, name, login))
            for name, login in (("healthy", ""), ("dying", ""), ("hanging", _HANGS))
        ]
        port = _free_port()
        healthy, dies, hangs = servers
        made = Field(directory, f"127.0.0.1:{port}", healthy, dies, hangs)
        made.boards = [f"board-{number:03}" for number in range(1, boards + 1)]
        # The bad ones are spread over the lab: the middle ones of equal parts.
        bad = [(number * boards + boards // 2) // max(1, dying + hanging) % boards
               for number in range(dying + hanging)]  # fmt: skip
        behind = dict.fromkeys(made.boards, made.healthy)
        behind.update((made.boards[n], made.dying) for n in bad[:dying])
        behind.update((made.boards[n], made.hanging) for n in bad[dying:])
        _write_files(made, behind)
        words = ["labgrid.remote.coordinator", "-l", made.address]
        stack.enter_context(_running(words, directory, "coordinator"))
        _wait(lambda: _connects(port), "the coordinator")
        for number in range(EXPORTERS):
            words = ["labgrid.remote.exporter", "-c", made.address, "-n", f"shelf-{number}"]
            file = f"exported-{number}.yaml"
            stack.enter_context(_running([*words, file], directory, f"exporter-{number}"))
        _wait(lambda: _exported(made) == boards, "the exporters")
        yield made


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
        *("MaxStartups 2000", "PasswordAuthentication no", "SetEnv SHLVL=1"),
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


@contextmanager
def _running(words: list[str], directory: Path, name: str) -> Iterator[None]:
    with (directory / f"{name}.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=directory, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            child.kill()
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
