"""A board behind the system's OpenSSH client, so that a user's ~/.ssh/config holds.

One connection carries everything (ControlMaster); its socket lies in a private directory of this
process. On the board nothing but an SSH server and a POSIX sh is needed: no sftp, no scp.

ssh hands the board one string, and what reads it may be sh, bash, zsh, fish, csh or busybox. So
the string is kept to what all of them read alike: ``exec sh -c '…' sh '…' '…'``, where nothing
between the single quotes is special to any. The arguments are decoded by that POSIX sh and are
never parsed by a shell.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchvise import interruption
from benchvise.board import process
from benchvise.board.address import SshAddress, numeric_address
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.errors import BenchviseError, BoardUnreachable, BoardUnusable, UsageError
from benchvise.text import last_line, printable

CONFIG_VARIABLE = "BENCHVISE_SSH_CONFIG"

CONNECT_SECONDS = 10
_OPEN_SECONDS = 60.0  # several addresses or jump hosts may take CONNECT_SECONDS each
_CLOSE_SECONDS = 5.0

# A socket's path is at most 108 bytes, and ssh appends 17 characters while it makes it.
_SOCKET_DIRECTORY_LIMIT = 80

_ASKS = "Permission denied|Host key verification failed|host key is known"
"""What ssh says that asks nobody, where it would have asked."""

_asking = threading.Lock()

_OPTIONS = (
    "LogLevel=ERROR",  # messages only: no banner, no "permanently added"
    f"ConnectTimeout={CONNECT_SECONDS}",
    # Seldom enough not to disturb what is measured; a dead board is noticed within 30 s.
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    # What a user has configured for sessions of their own must not act in ours.
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
)


class SshBoard:
    """A board at an ssh address; the connection is made at once.

    ``options`` are further ``-o`` options of ssh, such as where its host keys are known from.
    Raises BoardUnreachable when there is none, and UsageError when BENCHVISE_SSH_CONFIG names a
    file that cannot be read.
    """

    kind = "ssh"

    def __init__(self, address: SshAddress, options: Sequence[str] = ()) -> None:
        self.name = address.name
        self._address = address
        self._options = (*_OPTIONS, *options)
        self._config = _configuration()
        self._addresses: tuple[str | None, str | None] | None = None
        self._directory = Path(_private_directory())
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        """Runs a command to its end; what the login shell says is not part of its output."""
        mark = f"benchvise-{secrets.token_hex(8)}"
        child = self._session(command_line(argv, mark))
        try:
            status, stdout, stderr = process.finish(child, input, timeout)
        except TimeoutError:
            raise BoardUnusable(
                f"{self.name}: '{argv[0]}' did not finish within {timeout:g} s",
                "the board may be overloaded: look at its load and kernel log",
            ) from None
        except process.OutputTooLong:
            raise BoardUnusable(
                f"{self.name}: '{argv[0]}' wrote more than {process.OUTPUT_LIMIT >> 20} MiB",
                "see whether the login shell there says something without end",
            ) from None
        lost = self.contact_lost(status, stderr)
        if lost is not None:
            raise lost
        own_output = after_mark(stdout, mark)
        if own_output is None:
            raise self._no_shell(status, stdout, stderr)
        return Completed(status, own_output, after_mark(stderr, mark) or b"")

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a command over a connection of its own."""
        return self._session(command_line(argv))

    def contact_lost(self, returncode: int, stderr: bytes) -> BoardUnreachable | None:
        """The error of a lost connection: 255 is ssh's own; a signal ended ssh, not the command."""
        if returncode == 255 or returncode < 0:
            return connection_lost(self._address, stderr)
        return None

    def host_address(self) -> str | None:
        """The address of this machine; behind a jump host or NAT, it is that one's."""
        return self._ends()[0]

    def board_address(self) -> str | None:
        """The board's own address, as its side of the connection has it."""
        return self._ends()[1]

    def close(self) -> None:
        """Ends the connection that all commands share."""
        if self._directory.exists():
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    self._command("-O", "exit"),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=_CLOSE_SECONDS,
                    check=False,
                )
            shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _ends(self) -> tuple[str | None, str | None]:
        """The connection's two addresses, which the SSH server tells its sessions."""
        if self._addresses is None:
            output = self.run(["sh", "-c", 'echo "$SSH_CONNECTION"']).stdout
            match output.decode("ascii", "replace").split():
                case [host, _, board, _]:
                    self._addresses = numeric_address(host), numeric_address(board)
                case _:
                    self._addresses = None, None
        return self._addresses

    def _connect(self) -> None:
        """Starts the connection that all commands share, in the background once logged in.

        Its client stays in this terminal's session until then, so that it can ask for a password
        or about a host key. If this process is killed it ends by itself (ControlPersist). Boards
        that are connected at once ask one after another, and only those that have to.
        """
        interactive = sys.stdin is not None and sys.stdin.isatty()
        if interactive and interruption.in_thread():
            status, messages = self._login("-o", "BatchMode=yes", timeout=_OPEN_SECONDS)
            if status == 255 and re.search(_ASKS, messages.decode("utf-8", "replace")):
                with _asking:
                    status, messages = self._login(timeout=None)
        else:
            status, messages = self._login(timeout=None if interactive else _OPEN_SECONDS)
        if status != 0:
            raise not_connected(self._address, messages)

    def _login(self, *options: str, timeout: float | None) -> tuple[int, bytes]:
        """ssh's exit status, and what it said."""
        shared = ("-f", "-N", "-o", "ControlMaster=yes", "-o", "ControlPersist=60")
        with tempfile.TemporaryFile() as messages:  # no pipe: the background process would hold it
            try:
                status = subprocess.run(
                    self._command(*options, *shared),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=messages,
                    timeout=timeout,
                    check=False,
                ).returncode
            except FileNotFoundError:
                raise BoardUnreachable(
                    f"{self.name}: this machine has no ssh client", "apt install openssh-client"
                ) from None
            except subprocess.TimeoutExpired:
                status = 255
                messages.write(b"timed out while logging in\n")
            messages.seek(0)
            return status, messages.read(64 << 10)

    def _session(self, remote: str) -> subprocess.Popen[bytes]:
        """One command over the shared connection, or over its own if that is gone."""
        try:
            return process.spawn([*self._command("-o", "ControlMaster=no"), remote])
        except OSError as error:
            raise BoardUnreachable(
                f"{self.name}: cannot start ssh ({error.strerror})",
                "see whether this machine is out of processes or memory",
            ) from error

    def _command(self, *options: str) -> list[str]:
        command = ["ssh"]
        if self._config:
            command += ["-F", self._config]
        for option in self._options:
            command += ["-o", option]
        if sys.stdin is None or not sys.stdin.isatty():
            command += ["-o", "BatchMode=yes"]
        # ssh expands % in the path.
        command += ["-S", str(self._directory / "s").replace("%", "%%"), *options]
        if self._address.user:
            command += ["-l", self._address.user]
        if self._address.port:
            command += ["-p", str(self._address.port)]
        return [*command, "--", self._address.host]

    def _no_shell(self, status: int, stdout: bytes, stderr: bytes) -> BoardUnusable:
        message = last_line(stderr) or printable(stdout)
        quoted = f" ({message})" if message else ""
        if status == 127:
            return BoardUnusable(
                f"{self.name}: there is no POSIX shell 'sh'{quoted}",
                "put a shell on the board, busybox's will do, and its directory into PATH",
            )
        return BoardUnusable(
            f"{self.name}: logged in, but it runs no commands{quoted}",
            f"see what it does by hand: ssh {self._address.login} uname -m",
        )


def configured_host(address: SshAddress) -> str:
    """The host that ssh goes to by its configuration; the one in the name where ssh says none."""
    config = _configuration()
    command = ["ssh", *(("-F", config) if config else ()), "-G", "--", address.host]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        output = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_CLOSE_SECONDS,
            check=False,
        ).stdout.decode("utf-8", "replace")  # fmt: skip
        for line in output.splitlines():
            if line.startswith("hostname "):
                return line.removeprefix("hostname ").strip()
    return address.host


def _configuration() -> str:
    """The file that BENCHVISE_SSH_CONFIG names, or nothing."""
    name = os.environ.get(CONFIG_VARIABLE, "")
    if name and not os.access(name, os.R_OK):
        raise UsageError(
            f"{CONFIG_VARIABLE}: cannot read '{name}'",
            "name an ssh configuration file, or unset the variable to use ~/.ssh/config",
        )
    return name


def _private_directory() -> str:
    """A new directory of mode 0700 whose path is short enough for a socket."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108
        if parent and len(os.fsencode(parent)) <= _SOCKET_DIRECTORY_LIMIT:
            with contextlib.suppress(OSError):
                return tempfile.mkdtemp(prefix="bv-", dir=parent)
    raise BenchviseError(
        "no temporary directory can be made on this machine for the connection's socket",
        "free space in /tmp or set TMPDIR to a directory that can be written",
    )


# -- command lines for a login shell of any kind ---------------------------------------------------

# Single quotes end a quotation everywhere, csh looks for "!" and line ends within them, fish for
# backslashes; bytes that are no ASCII depend on locales.
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\!")

# The "x" keeps line ends at an argument's end, which $(…) would take away. The exit status 255
# is kept for ssh itself: without that, a command's 255 would look like a lost connection.
_DECODE_AND_RUN = (
    'for a do a=$(printf "%bx" "$a"); set -- "$@" "${a%x}"; shift; done; '
    '"$@"; s=$?; case $s in 255) s=254;; esac; exit $s'
)

# What precedes the mark was said by the login shell.
_MARK = 'echo; echo "$1"; { echo; echo "$1"; } >&2; shift; '


def _quoted(word: str) -> str:
    """An argument in single quotes, in the escapes of ``printf %b`` where it is not plain."""
    data = os.fsencode(word)
    if b"\0" in data:
        raise ValueError("an argument cannot hold a NUL character")
    return "'" + "".join(chr(b) if b in _PLAIN else f"\\0{b:03o}" for b in data) + "'"


def command_line(argv: Sequence[str], mark: str = "") -> str:
    """What to give to ssh so that the board runs ``argv``, whatever its login shell.

    With a ``mark``, a line with just that precedes the command's output on both streams. A
    command that a signal ended gives 128 + its number; 255 of a command becomes 254.
    """
    script = (_MARK if mark else "") + _DECODE_AND_RUN
    command = [mark, *argv] if mark else argv
    return f"exec sh -c '{script}' sh " + " ".join(map(_quoted, command))


def after_mark(output: bytes, mark: str) -> bytes | None:
    """The output without what the login shell said; None when the mark is not there."""
    _, is_there, rest = output.partition(f"\n{mark}\n".encode())
    return rest if is_there else None


# -- what ssh says when it fails, and what to do about it ------------------------------------------


@dataclass(frozen=True, slots=True)
class _SshFailure:
    """A pattern in ssh's messages, what it means, and the remedy for an address."""

    pattern: str
    meaning: str
    remedy: Callable[[SshAddress], str]


# In this order: a changed host key says "verification failed" too, and a proxy's refusal is
# followed by the connection being closed.
_SSH_FAILURES = (
    _SshFailure(
        "REMOTE HOST IDENTIFICATION HAS CHANGED|differs from the key for the IP address",
        "its host key has changed",
        lambda a: (
            f"if the board was reflashed, forget the old key: ssh-keygen -R {a.known_as}; "
            "if not, another machine may be answering"
        ),
    ),
    _SshFailure(
        "Host key verification failed|host key is known for",
        "its host key is not known",
        lambda a: f"connect once by hand and check it: ssh {a.login}",
    ),
    _SshFailure(
        "Too many authentication failures",
        "login refused, too many keys were tried",
        lambda a: (
            f"name the right one (IdentityFile, IdentitiesOnly yes) for {a.host} in ~/.ssh/config"
        ),
    ),
    _SshFailure(
        "Permission denied",
        "login refused",
        lambda a: f"check the user name, and put your key on the board: ssh-copy-id {a.login}",
    ),
    _SshFailure(
        "Could not resolve hostname",
        "there is no host of that name",
        lambda a: f"check the spelling of '{a.host}', or add it to ~/.ssh/config",
    ),
    _SshFailure(
        "Connection refused",
        "connection refused",
        lambda a: f"is an SSH server running on the board, on port {a.port or 22}?",
    ),
    _SshFailure(
        "timed out|[Tt]imeout",
        "no answer in time",
        lambda _: "is the board on, and on this network?",
    ),
    _SshFailure(
        "No route to host|is unreachable|Host is down",
        "there is no way to it",
        lambda _: "is the board on, and on this network?",
    ),
    _SshFailure(
        "no matching (host key type|key exchange method|cipher|MAC)",
        "its SSH server is too old for this client",
        lambda a: f"allow what it offers for {a.host} in ~/.ssh/config (see the last words)",
    ),
    _SshFailure(
        "[Bb]ad configuration option|[Bb]ad owner or permissions|Can't open user config",
        "the ssh configuration cannot be used",
        lambda a: f"try it by hand: ssh {a.login}",
    ),
    _SshFailure(
        "Connection (closed|reset)|kex_exchange_identification|Broken pipe",
        "it closed the connection",
        lambda a: f"look at the board's log of its SSH server, or try by hand: ssh -v {a.login}",
    ),
)


def not_connected(address: SshAddress, stderr: bytes) -> BoardUnreachable:
    """The error for an ssh that did not get as far as a session."""
    text = stderr.decode("utf-8", "replace")
    last = last_line(stderr).removeprefix("ssh: ")
    quoted = f" ({last})" if last else ""
    for failure in _SSH_FAILURES:
        if re.search(failure.pattern, text):
            return BoardUnreachable(
                f"{address.name}: {failure.meaning}{quoted}", failure.remedy(address)
            )
    return BoardUnreachable(
        f"{address.name}: ssh could not connect{quoted}",
        f"try it by hand: ssh -v {address.login}",
    )


def connection_lost(address: SshAddress, stderr: bytes) -> BoardUnreachable:
    """The error for a session that broke."""
    last = last_line(stderr)
    return BoardUnreachable(
        f"{address.name}: the connection was lost" + (f" ({last})" if last else ""),
        "see whether the board still answers; it may have rebooted or lost its network",
    )
