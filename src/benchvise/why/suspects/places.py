"""The paths and addresses in the value of a variable, and which of them a command was seen to use.

A variable that only says who is logged in may lead to a socket, a bus or a directory all the same:
``SSH_AUTH_SOCK``, ``DBUS_SESSION_BUS_ADDRESS``, ``XDG_CACHE_HOME``. Addresses are compared as
system calls have them, so only those of numbers, or of the machine itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_PATHS = re.compile(r"(?:^|[=:,]|://)(/[^/:,;=][^:,;]*)")
_ADDRESS = re.compile(
    r"(?:^|//|[=,@])(localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\]):(\d{1,5})(?!\d)"
)
_ABSTRACT = re.compile(r"(?:^|:)abstract=([^,;]+)")
_DISPLAY = re.compile(r"(localhost)?:(\d{1,4})(?:\.\d+)?$")
_LOOPBACK = ("127.0.0.1", "[::1]")
_DEVICES = ("/dev", "/proc", "/sys")
_FIRST_PORT_OF_X = 6000
_SOCKETS_OF_X = "/tmp/.X11-unix/X"  # noqa: S108 - where the server of X has them


def places_in(name: str, value: object) -> tuple[str, ...]:
    """The paths, sockets and addresses that the value of a variable leads to, as they are targets
    of system calls."""
    return tuple(dict.fromkeys(_places(name, value))) if isinstance(value, str) else ()


def _places(name: str, value: str) -> Iterator[str]:
    if name == "DISPLAY":
        yield from _of_display(value)
        return
    yield from (f"@{socket}" for socket in _ABSTRACT.findall(value))
    value = _ABSTRACT.sub("", value)
    for path in _PATHS.findall(value):
        if path.count("/") > 1 and not f"{path}/".startswith(tuple(f"{d}/" for d in _DEVICES)):
            yield path.rstrip("/")
    for host, port in _ADDRESS.findall(value):
        yield from (
            f"{address}:{port}" for address in (_LOOPBACK if host == "localhost" else (host,))
        )


def _of_display(value: str) -> Iterator[str]:
    if match := _DISPLAY.match(value):
        number = int(match[2])
        if match[1]:
            yield from (f"{address}:{_FIRST_PORT_OF_X + number}" for address in _LOOPBACK)
        else:
            yield from (f"{mark}{_SOCKETS_OF_X}{number}" for mark in ("", "@"))


def used_place(name: str, value: object, targets: Collection[str]) -> str:
    """The first of these places that is one of the targets of system calls, or a directory around
    one; empty where there is none."""
    return next((p for p in places_in(name, value) if any(is_at(t, p) for t in targets)), "")


def is_at(target: str, place: str) -> bool:
    """Whether a target is this place, or below it."""
    return target == place or (place.startswith("/") and target.startswith(f"{place}/"))
