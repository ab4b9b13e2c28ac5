"""Where real plants are made: files of the kernel set for a while, disks, namespaces with SSH.

Everything that a context makes or sets is gone or as before when it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_MIB = 1 << 20
_STARTUP_SECONDS = 10.0


class NotHere(Exception):  # noqa: N818
    """This machine cannot have that; the message says why."""


@contextmanager
def files_set(values: Mapping[str, str]) -> Iterator[None]:
    """These files of /proc/sys and /sys have these values. NotHere where one does not take its."""
    with ExitStack() as undo:
        for name, value in values.items():
            file = Path(name)
            try:
                old = chosen(file.read_text())
                if old == value:
                    continue
                file.write_text(f"{value}\n")
                undo.callback(file.write_text, f"{old}\n")
            except OSError as error:
                raise NotHere(f"{name} does not take {value} ({error.strerror})") from error
            if chosen(file.read_text()) != value:
                raise NotHere(f"{name} made {chosen(file.read_text())} of {value}")
        yield


@contextmanager
def kept(*names: str) -> Iterator[None]:
    """What others set along with theirs is as before in the end: written back where it is not."""
    old = {Path(name): chosen(Path(name).read_text()) for name in names}
    try:
        yield
    finally:
        for file, value in old.items():
            if chosen(file.read_text()) != value:
                file.write_text(f"{value}\n")


@contextmanager
def dirty_bytes(value: int) -> Iterator[None]:
    """``vm.dirty_bytes`` for a while. Setting it sets the ratio to 0, and it cannot be set to 0
    itself: it is given up by setting the ratio."""
    number, ratio = Path("/proc/sys/vm/dirty_bytes"), Path("/proc/sys/vm/dirty_ratio")
    old = ratio.read_text()
    if number.read_text().strip() != "0":
        raise NotHere("vm.dirty_bytes is set already")
    number.write_text(f"{value}\n")
    try:
        yield
    finally:
        ratio.write_text(old)


def chosen(text: str) -> str:
    """What a file is set to: of a list the marked word, of columns these with one space between."""
    marked = text.partition("[")[2].partition("]")[0]
    return marked or " ".join(text.split())


@contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """An empty directory on the disk of the repository."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix=f"{prefix}-") as name:
        yield Path(name)


def random_file(path: Path, mebibytes: int) -> None:
    """A file of random bytes, on the disk."""
    with path.open("wb") as file:
        for _ in range(mebibytes):
            file.write(os.urandom(_MIB))
        os.fsync(file.fileno())


@contextmanager
def neighbour(cpu: int) -> Iterator[None]:
    """Another process that wants a CPU all the time."""
    busy = subprocess.Popen(
        [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"]
    )
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


@contextmanager
def cpu_quota(percent: int) -> Iterator[Path]:
    """A control group that gets this part of one CPU, in periods of 10 ms: its directory."""
    period, quota = 10_000, 100 * percent
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = Path("/sys/fs/cgroup" if unified else "/sys/fs/cgroup/cpu") / f"benchvise-{os.getpid()}"
    settings = (
        {"cpu.max": f"{quota} {period}"}
        if unified
        else {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": str(quota)}
    )
    try:
        group.mkdir()
    except OSError as error:
        raise NotHere(f"no control group can be made at {group} ({error.strerror})") from error
    try:
        for name, value in settings.items():
            (group / name).write_text(value)
        yield group
    except OSError as error:
        raise NotHere(f"no quota can be set in {group} ({error.strerror})") from error
    finally:
        group.rmdir()


# -- two boards over SSH ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Boards:
    """Two boards in namespaces, each behind a pair of interfaces to this machine.

    ``names`` are what ``benchvise`` reaches them by with ``config`` in BENCHVISE_SSH_CONFIG;
    ``good`` and ``bad`` are the words that run a command in them.
    """

    config: Path
    names: tuple[str, str]
    good: tuple[str, ...]
    bad: tuple[str, ...]


@contextmanager
def ssh_boards() -> Iterator[Boards]:
    """Starts them; NotHere without root, iproute2 or OpenSSH."""
    if os.geteuid() != 0:
        raise NotHere("namespaces take root")
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if sshd is None or shutil.which("ip") is None or shutil.which("ssh-keygen") is None:
        raise NotHere("it takes iproute2 and OpenSSH: apt install iproute2 openssh-server")
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with ExitStack() as parts:
        # sshd insists on a directory that nobody else may write to
        place = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="benchvise-ssh-")))
        host, client = _key(place / "host"), _key(place / "client")
        config = place / "config"
        lines = [
            "Host *",
            f" IdentityFile {client}",
            " IdentitiesOnly yes",
            " IdentityAgent none",
            f" UserKnownHostsFile {place / 'known'}",
            " GlobalKnownHostsFile /dev/null",
        ]
        config.write_text("\n".join(lines) + "\n")
        public = " ".join(host.with_suffix(".pub").read_text().split()[:2])
        known: list[str] = []
        for index in range(2):
            name = f"bvw{os.getpid()}-{index}"
            subnet = f"198.18.{100 + index}"
            _namespace(parts, name, subnet)
            _server(parts, sshd, place, name, f"{subnet}.2", host, client)
            known.append(f"{subnet}.2 {public}")
        (place / "known").write_text("\n".join(known) + "\n")
        inside = [("ip", "netns", "exec", f"bvw{os.getpid()}-{index}") for index in range(2)]
        names = ("ssh://root@198.18.100.2", "ssh://root@198.18.101.2")
        yield Boards(config, names, inside[0], inside[1])


def _key(path: Path) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def _namespace(parts: ExitStack, name: str, subnet: str) -> None:
    """A namespace with eth0 as its way out, and its other end here."""
    outside = f"{name[-10:]}o"
    commands = [
        ["ip", "netns", "add", name],
        ["ip", "link", "add", outside, "type", "veth", "peer", "eth0", "netns", name],
        ["ip", "addr", "add", f"{subnet}.1/24", "dev", outside],
        ["ip", "link", "set", outside, "up"],
        ["ip", "-n", name, "addr", "add", f"{subnet}.2/24", "dev", "eth0"],
        ["ip", "-n", name, "link", "set", "eth0", "up"],
        ["ip", "-n", name, "link", "set", "lo", "up"],
        ["ip", "-n", name, "route", "add", "default", "via", f"{subnet}.1"],
    ]
    for index, command in enumerate(commands):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotHere(f"{' '.join(command)}: {done.stderr.strip()}")
        if index == 0:
            parts.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
        if index == 1:
            # It goes with its end in there, too, but some time later: another of its name may come.
            parts.callback(subprocess.run, ["ip", "link", "del", outside], check=False)


def _server(
    parts: ExitStack, sshd: str, place: Path, name: str, address: str, host: Path, client: Path
) -> None:
    settings = [
        "Port 22",
        f"ListenAddress {address}",
        f"HostKey {host}",
        f"AuthorizedKeysFile {client}.pub",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PermitRootLogin yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "MaxStartups 100",
    ]
    configuration = place / f"{name}.conf"
    configuration.write_text("\n".join(settings) + "\n")
    log = place / f"{name}.log"
    command = ["ip", "netns", "exec", name, sshd, "-D", "-f", str(configuration), "-E", str(log)]
    server = subprocess.Popen(command)
    parts.callback(_ended, server)
    deadline = time.monotonic() + _STARTUP_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection((address, 22), timeout=1):
            return
        if server.poll() is not None or time.monotonic() > deadline:
            said = log.read_text() if log.exists() else ""
            raise NotHere(f"sshd does not start in a namespace: {said.strip()[-200:]}")
        time.sleep(0.05)


def _ended(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait()
