"""Where ssh is to go: the names `ssh://[user@]host[:port]`; and numeric IP addresses."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from benchvise.errors import UsageError

ACCEPTED = (
    "a board is `local`, USER@HOST, an IP address, `ssh://[user@]host[:port]` (an IPv6 address in "
    "brackets), or `rig:NAME`"
)

# Neither user nor host may begin with a dash: ssh would take it for an option.
_SSH = re.compile(
    r"""
    ssh://
    (?: (?P<user> \w [\w.@+-]* ) @ )?
    (?: \[ (?P<ipv6> [0-9a-f:.]+ (?: % [\w.-]+ )? ) \] | (?P<host> \w [\w.-]* ) )
    (?: : (?P<port> \d{1,5} ) )?
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)

_ZONE = re.compile(r"^[^%]*(%[\w.-]+)?$", re.ASCII)  # "%" and the name of an interface


@dataclass(frozen=True, slots=True)
class SshAddress:
    """Where ssh is to go; what is None is left to the user's ssh configuration."""

    name: str
    host: str
    user: str | None = None
    port: int | None = None

    @property
    def login(self) -> str:
        """What a person would type after ``ssh`` to get there."""
        port = f"-p {self.port} " if self.port else ""
        user = f"{self.user}@" if self.user else ""
        return f"{port}{user}{self.host}"

    @property
    def known_as(self) -> str:
        """How ``known_hosts`` calls it."""
        return self.host if self.port in (None, 22) else f"'[{self.host}]:{self.port}'"


def full_name(text: str) -> str:
    """A board's name as it is kept: ``ssh://`` before ``user@host`` and before an IP address.

    A bare host name is none: it could be a label of a run, or `local` misspelled. IPv6 addresses
    get their brackets. Any other text is returned as it is.
    """
    if text.count(":") > 1 and numeric_address(text) is not None:
        return f"ssh://[{text}]"
    host, colon, port = text.partition(":")
    is_port = port.isdecimal() if colon else True
    if is_port and (numeric_address(host) is not None or "@" in host) and is_ssh(f"ssh://{text}"):
        return f"ssh://{text}"
    return text


def is_ssh(name: str) -> bool:
    """Whether the name is one of ssh's."""
    return _SSH.fullmatch(name) is not None


def parse_ssh(name: str) -> SshAddress:
    """The address behind an ``ssh://`` name; UsageError when it is none."""
    match = _SSH.fullmatch(name)
    if match is None:
        raise UsageError(f"'{name}' is not the name of a board", ACCEPTED)
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 1 <= port <= 65535:
        raise UsageError(f"'{name}': there is no port {port}", "ports are 1 to 65535")
    return SshAddress(name, match["ipv6"] or match["host"], match["user"], port)


def numeric_address(text: str) -> str | None:
    """The IP address in its usual spelling, an IPv6 one with its zone; None when it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if _ZONE.search(text) is None:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)  # a server that listens on both calls IPv4 so
    return str(address)


def is_loopback(address: str) -> bool:
    """Whether a numeric address is that of the machine itself, 127.0.0.1 or ::1."""
    return ipaddress.ip_address(address).is_loopback
