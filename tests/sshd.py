"""A real SSH server on loopback for tests, with keys and a client configuration of its own.

It listens on a free port, knows one key that nobody else has, and reads nothing of the user's.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import skips
from waiting import PATIENCE

BUSYBOX = Path("/bin/busybox")

# Everything that the scripts of benchvise.board need on a board.
APPLETS = (
    *("cat", "chmod", "dd", "id", "ls", "mkdir", "mv", "rm", "rmdir", "sh", "tr", "uname", "wc"),
)


@dataclass(frozen=True)
class SshServer:
    """A running server, and the client configuration that leads to it."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def name(self) -> str:
        """The board's name."""
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}"

    @property
    def config(self) -> Path:
        """What BENCHVISE_SSH_CONFIG has to name; ``bench-alias`` is this server in it."""
        return self.directory / "client_config"

    @property
    def known_hosts(self) -> Path:
        """The client's file of known host keys."""
        return self.directory / "known_hosts"

    def know(self, key: Path) -> None:
        """Makes the client expect the host key of that file."""
        kind, text = key.with_suffix(".pub").read_text().split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {text}\n")

    def programs(self) -> list[int]:
        """What runs in its sessions. Connections that nobody uses are kept for a minute."""
        sessions = children(self.process.pid)
        below = [pid for session in sessions for pid in children(session)]
        below += [pid for session in below for pid in children(session)]
        names = {pid: name_of(pid) for pid in below}
        return [pid for pid, name in names.items() if name and not name.startswith("sshd")]

    def kill_sessions(self) -> None:
        """Ends every connection the hard way; the server itself goes on."""
        for session in children(self.process.pid):
            # For a plain user the connection is in the hands of a second process.
            for pid in (session, *children(session)):
                with contextlib.suppress(OSError):  # the first one's end may be the second's
                    if name_of(pid).startswith("sshd"):
                        os.kill(pid, signal.SIGKILL)


def new_key(path: Path) -> Path:
    """Makes a key pair without passphrase."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def children(parent: int) -> list[int]:
    """The process numbers of a process's children; none where it has ended."""
    found = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{parent}/task").iterdir():
            found += [int(pid) for pid in (thread / "children").read_text().split()]
    return found


def children_called(parent: int, name: str) -> list[int]:
    """Those whose programs are called so."""
    return [pid for pid in children(parent) if name_of(pid) == name]


def name_of(pid: int) -> str:
    """The name of a process's program, empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def processes_with(text: str) -> dict[int, str]:
    """The processes, except this one, whose command line has that text in it."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if text in line and int(entry.parent.name) != os.getpid():
                found[int(entry.parent.name)] = line
    return found


def busybox_directory(directory: Path, fakes: Mapping[str, str], shell: Path = BUSYBOX) -> Path:
    """A directory for PATH with nothing but what a small board has.

    ``fakes`` are scripts that take a program's place. ``shell`` is what ``sh`` is: busybox's own
    prefers its own programs to those in PATH.
    """
    if not BUSYBOX.exists():
        skips.skip_packages("busybox-static")
    directory.mkdir(parents=True)
    for applet in APPLETS:
        (directory / applet).symlink_to(shell if applet == "sh" else BUSYBOX)
    for name, script in fakes.items():
        (directory / name).unlink(missing_ok=True)
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)
    return directory


@contextlib.contextmanager
def ssh_server(directory: Path, login: str = "") -> Iterator[SshServer]:
    """Runs a server; skips, with the reason and the command, where there is none.

    ``login`` is a script that takes the login shell's place; it finds what the client asks for
    in SSH_ORIGINAL_COMMAND.
    """
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None or shutil.which("ssh") is None:
        skips.skip_packages("openssh-server", "openssh-client")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # made by the init system otherwise
    directory.mkdir(parents=True, exist_ok=True)
    host_key, client_key = new_key(directory / "host"), new_key(directory / "client")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {host_key}",
        f"AuthorizedKeysFile {client_key}.pub",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "SetEnv SHLVL=1",  # a bash as deep as that does not read the user's .bashrc
    ]
    if login:
        script = directory / "login"
        script.write_text(f"#!/bin/sh\n{login}\n")
        script.chmod(0o755)
        settings.append(f"ForceCommand {script}")
    configuration = directory / "server_config"
    configuration.write_text("\n".join(settings) + "\n")
    # Newer servers turn clients away for a while that failed to log in, as tests do on purpose.
    tolerant = ["-o", "PerSourcePenalties=no"]
    check = [program, "-t", "-f", str(configuration)]
    if subprocess.run([*check, *tolerant], capture_output=True, check=False).returncode != 0:
        tolerant = []
    log = directory / "log"
    server = subprocess.Popen([program, "-D", "-f", configuration, "-E", log, *tolerant])
    try:
        running = SshServer(directory, port, server)
        running.know(host_key)
        running.config.write_text(
            f"Host bench-alias\n HostName 127.0.0.1\n Port {port}\n"
            f"Host *\n IdentityFile {client_key}\n IdentitiesOnly yes\n IdentityAgent none\n"
            f" UserKnownHostsFile {running.known_hosts}\n GlobalKnownHostsFile /dev/null\n"
        )
        wait_until_listening(running, log)
        yield running
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE)


def wait_until_listening(server: SshServer, log: Path) -> None:
    """Until the server can be connected to; RuntimeError when it does not start."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE).close()
        except OSError as error:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"sshd did not start: {log.read_text()}") from error
            time.sleep(0.02)
        else:
            return
