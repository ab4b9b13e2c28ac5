"""What ssh says when it fails, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from benchvise.board.address import SshAddress
from benchvise.errors import BoardUnreachable
from benchvise.text import last_line


@dataclass(frozen=True, slots=True)
class _Case:
    """A pattern in ssh's messages, what it means, and the remedy for an address."""

    pattern: str
    meaning: str
    remedy: Callable[[SshAddress], str]


# In this order: a changed host key says "verification failed" too, and a proxy's refusal is
# followed by the connection being closed.
_CASES = (
    _Case(
        "REMOTE HOST IDENTIFICATION HAS CHANGED|differs from the key for the IP address",
        "its host key has changed",
        lambda a: (
            f"if the board was reflashed, forget the old key: ssh-keygen -R {a.known_as}; "
            "if not, another machine may be answering"
        ),
    ),
    _Case(
        "Host key verification failed|host key is known for",
        "its host key is not known",
        lambda a: f"connect once by hand and check it: ssh {a.login}",
    ),
    _Case(
        "Too many authentication failures",
        "login refused, too many keys were tried",
        lambda a: (
            f"name the right one (IdentityFile, IdentitiesOnly yes) for {a.host} in ~/.ssh/config"
        ),
    ),
    _Case(
        "Permission denied",
        "login refused",
        lambda a: f"check the user name, and put your key on the board: ssh-copy-id {a.login}",
    ),
    _Case(
        "Could not resolve hostname",
        "there is no host of that name",
        lambda a: f"check the spelling of '{a.host}', or add it to ~/.ssh/config",
    ),
    _Case(
        "Connection refused",
        "connection refused",
        lambda a: f"is an SSH server running on the board, on port {a.port or 22}?",
    ),
    _Case(
        "timed out|[Tt]imeout",
        "no answer in time",
        lambda _: "is the board on, and on this network?",
    ),
    _Case(
        "No route to host|is unreachable|Host is down",
        "there is no way to it",
        lambda _: "is the board on, and on this network?",
    ),
    _Case(
        "no matching (host key type|key exchange method|cipher|MAC)",
        "its SSH server is too old for this client",
        lambda a: f"allow what it offers for {a.host} in ~/.ssh/config (see the last words)",
    ),
    _Case(
        "[Bb]ad configuration option|[Bb]ad owner or permissions|Can't open user config",
        "the ssh configuration cannot be used",
        lambda a: f"try it by hand: ssh {a.login}",
    ),
    _Case(
        "Connection (closed|reset)|kex_exchange_identification|Broken pipe",
        "it closed the connection",
        lambda a: f"look at the board's log of its SSH server, or try by hand: ssh -v {a.login}",
    ),
)


def not_connected(address: SshAddress, stderr: bytes) -> BoardUnreachable:
    """The error for an ssh that did not get as far as a session."""
    said = stderr.decode("utf-8", "replace")
    last = last_line(stderr).removeprefix("ssh: ")
    quoted = f" ({last})" if last else ""
    for case in _CASES:
        if re.search(case.pattern, said):
            return BoardUnreachable(f"{address.name}: {case.meaning}{quoted}", case.remedy(address))
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
