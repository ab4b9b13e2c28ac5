"""What ``benchvise serve`` was told."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import UsageError

PORT = 8765


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to listen, access control, and what there is to see.

    ``store`` and ``rig`` are what the options of the same names mean. ``traces`` and ``captures``
    are directories whose files are shown besides those of runs. With ``control``, pages may switch
    the power of boards, turn their cards and type on their consoles.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    store: str | None = None
    rig: str | None = None
    traces: tuple[Path, ...] = ()
    captures: tuple[Path, ...] = ()
    control: bool = False

    def checked(self) -> Settings:
        """The same; UsageError for directories that are none, or an open door."""
        for option, paths in (("--traces", self.traces), ("--captures", self.captures)):
            for path in paths:
                if not path.is_dir():
                    raise UsageError(f"{option} {path} is no directory", "name one that is there")
        if not self.is_local and not self.token:
            raise UsageError(
                f"--host {self.host} can be reached from elsewhere", "add --token, or leave --host"
            )
        if self.token is not None and len(self.token) < 16:
            raise UsageError("the token is too short", "give one of 16 characters or more")
        return self

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address (IPv6 with or without brackets) means this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
