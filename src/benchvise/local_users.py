"""Which user of this machine is at the other end of a connection: told by the kernel, not by them.

A UNIX socket says it itself (``SO_PEERCRED``). Of a TCP connection within this machine the kernel
knows who made the other end's socket (``NETLINK_SOCK_DIAG``, as ``ss -e`` shows it).
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct

from benchvise.host_system import own_user

_SOCK_DIAG = 4  # NETLINK_SOCK_DIAG, which the socket module has no name for
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_ERROR = 2  # NLMSG_ERROR
_REQUEST = 1  # NLM_F_REQUEST
_ENOENT = -2
_TIMEOUT_S = 1.0

_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBBI")
_PORTS = struct.Struct("!HH")
_ANY_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # of any interface
_IDENTITY_BYTES = 48
_ANSWER = struct.Struct("=BBBB")
_OWNER = struct.Struct("=IIIII")

_ESTABLISHED = 1

Address = tuple[str, int]


def unix_user(connection: socket.socket) -> int:
    """The user id of the process that connected, or that listens where this end connected."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("=iII", credentials)[1])


def tcp_user(remote: Address, own: Address) -> int | None:
    """The user id whose socket is the other end of a TCP connection between these addresses.

    None when it is not on this machine, or nobody has it open any more: of a closed socket the
    kernel would say that it is root's. OSError where the kernel does not tell at all.
    """
    family, (source, destination) = _packed(remote[0], own[0])
    identity = (
        _PORTS.pack(remote[1], own[1])
        + source.ljust(16, b"\0")
        + destination.ljust(16, b"\0")
        + _ANY_COOKIE
    )
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + identity
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError("only Linux tells whose connection one is")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
        kernel.settimeout(_TIMEOUT_S)
        kernel.send(
            _HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 1, 0) + question
        )
        answer = kernel.recv(4096)
    if _HEADER.unpack_from(answer)[1] == _ERROR:
        (error,) = struct.unpack_from("=i", answer, _HEADER.size)
        if error == _ENOENT:
            return None
        raise OSError(-error, os.strerror(-error))
    state = _ANSWER.unpack_from(answer, _HEADER.size)[1]
    at = _HEADER.size + _ANSWER.size + _IDENTITY_BYTES
    *_, user, inode = _OWNER.unpack_from(answer, at)
    return user if state == _ESTABLISHED and inode else None


def is_own_connection(connection: socket.socket) -> bool:
    """Whether this process's own user or root is at the other end; also where nobody can tell."""
    if connection.family == socket.AF_UNIX:
        return is_trusted(unix_user(connection))
    try:
        return is_trusted(tcp_user(connection.getpeername()[:2], connection.getsockname()[:2]))
    except OSError:
        return True


def is_trusted(user: int | None) -> bool:
    """Whether that is this process's own user, or root, who can do all of this anyway."""
    return user is not None and user in (0, own_user())


def user_name(user: int) -> str:
    """The name of a user id; the number for one that has none."""
    try:
        import pwd
    except ModuleNotFoundError:
        return str(user)
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _packed(remote: str, own: str) -> tuple[int, tuple[bytes, bytes]]:
    """The address family of a connection, and both its addresses as bytes."""
    ends = [ipaddress.ip_address(address.partition("%")[0]) for address in (remote, own)]
    mapped = [getattr(end, "ipv4_mapped", None) or end for end in ends]
    family = socket.AF_INET if mapped[0].version == 4 else socket.AF_INET6
    return family, (mapped[0].packed, mapped[1].packed)
