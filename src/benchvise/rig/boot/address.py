"""Where a board can be reached, found out on the board itself; and its SSH host keys.

A board gets its address from DHCP, and nobody tells the host. But its console has a shell, and that
knows. The host keys come by the same way, so they can be trusted as far as the cable: no question
about an unknown host is ever answered blindly.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import ipaddress
import re
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnreachable

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

CONNECT_SECONDS = 3.0
DHCP_SECONDS = 30.0

_AGAIN_SECONDS = 1.0
_MOST = 32
_KEYS_MOST = 10

# The first that says anything; `ip` may lie where only root looks.
_ASK = """PATH=$PATH:/sbin:/usr/sbin:/bin:/usr/bin
ip -o addr show 2>/dev/null && exit
ifconfig -a 2>/dev/null && exit
cat /proc/net/fib_trie 2>/dev/null"""

_IP_LINE = re.compile(r"^\d+: +([\w.@-]+?)(?:@\S+)? +inet6? ([0-9a-f.:]+)(?:/(\d+))?", re.M)
_IFCONFIG_NAME = re.compile(r"^([\w.-]+)(?::\d+)?:? ")
_IFCONFIG_INET = re.compile(r"\binet6? (?:addr: ?)?([0-9a-fA-F.:]+)(?:/(\d+))?")
_IFCONFIG_MASK = re.compile(r"\b(?:netmask |Mask:)([0-9a-fx.]+)")
_TRIE_LEAF = re.compile(r"\|-- (\d+\.\d+\.\d+\.\d+)\s+/32 host LOCAL")

_KEYS = r"""PATH=$PATH:/sbin:/usr/sbin:/bin:/usr/bin
cat /etc/ssh/ssh_host_*_key.pub /etc/openssh/ssh_host_*_key.pub 2>/dev/null
for f in /etc/dropbear/dropbear_*_host_key /var/lib/dropbear/dropbear_*_host_key; do
  [ -s "$f" ] && dropbearkey -y -f "$f" 2>/dev/null
done
exit 0"""

_KEY_LINE = re.compile(r"^((?:ssh|ecdsa|sk)-[\w@.-]{1,60}) ([A-Za-z0-9+/]{40,4000}={0,2})(?: |$)")


@dataclass(frozen=True, slots=True)
class BoardAddress:
    """An address of the board: the interface (empty where not known), and its network if known."""

    interface: str
    ip: Ip
    prefix: int | None = None

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
        """The network that it lies in."""
        if self.prefix is None:
            return None
        with contextlib.suppress(ValueError):
            return ipaddress.ip_network((self.ip, self.prefix), strict=False)
        return None


@dataclass(frozen=True, slots=True)
class SshService:
    """An SSH server of the board, and its host keys (``TYPE BASE64``) as far as they are known."""

    address: str
    port: int
    user: str
    host_keys: tuple[str, ...] = ()


def addresses(board: Board) -> list[BoardAddress]:
    """The board's own addresses, those of its loopback left out.

    Raises what ``board.run`` raises.
    """
    output = board.run(["sh", "-c", _ASK]).stdout.decode("utf-8", "replace")
    return parse_addresses(output)


def parse_addresses(output: str) -> list[BoardAddress]:
    """From what ``ip -o addr``, either kind of ``ifconfig``, or /proc/net/fib_trie says."""
    by_ip: dict[Ip, BoardAddress] = {}
    for interface, text, prefix in (*_of_ip(output), *_of_ifconfig(output), *_of_trie(output)):
        with contextlib.suppress(ValueError):
            ip = ipaddress.ip_address(text)
            if not (ip.is_loopback or ip.is_unspecified or ip.is_multicast) and interface != "lo":
                by_ip.setdefault(ip, BoardAddress(interface, ip, prefix))
    return list(by_ip.values())[:_MOST]


def by_preference(candidates: Iterable[BoardAddress], host: Iterable[Ip]) -> list[BoardAddress]:
    """Those that this machine can most likely reach first.

    In one of its own networks before others, IPv4 before IPv6, addresses without DHCP
    (169.254.0.0/16) last. Link-local IPv6 is left out: it needs this machine's interface too.
    """
    own = list(host)

    def order(address: BoardAddress) -> tuple[bool, bool, bool]:
        network = address.network
        near = network is not None and any(ip in network for ip in own)
        return (address.ip.is_link_local, not near, address.ip.version == 6)

    usable = (a for a in candidates if not (a.ip.version == 6 and a.ip.is_link_local))
    return sorted(usable, key=order)


def reachable_address(
    board: Board,
    *,
    port: int = 22,
    timeout: float = DHCP_SECONDS,
    connects: Callable[[Ip, int], bool] | None = None,
) -> BoardAddress:
    """The board's address at which ``port`` answers this machine, waiting for DHCP if need be.

    Raises BoardUnreachable after ``timeout`` seconds, which names the addresses that were tried.
    """
    answers = connects or can_connect
    deadline = time.monotonic() + timeout
    while True:
        candidates = addresses(board)
        hosts = [
            ip for address in candidates if (ip := own_address_towards(address.ip)) is not None
        ]
        for address in by_preference(candidates, hosts):
            if answers(address.ip, port):
                return address
        if time.monotonic() >= deadline:
            break
        time.sleep(_AGAIN_SECONDS)
    tried = ", ".join(str(address.ip) for address in candidates)
    if not tried:
        raise BoardUnreachable(
            f"{board.name}: it has no address after {timeout:g} s",
            "check its Ethernet cable and that a DHCP server answers",
        )
    raise BoardUnreachable(
        f"{board.name}: port {port} does not answer at any of its addresses ({tried})",
        "check that an SSH server runs there, and that this machine is in the same network",
    )


def can_connect(ip: Ip, port: int) -> bool:
    """Whether a TCP connection can be made from this machine."""
    try:
        socket.create_connection((str(ip), port), timeout=CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def own_address_towards(ip: Ip) -> Ip | None:
    """The address that this machine would use to talk to ``ip``; nothing is sent."""
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(ip), 9))
            return ipaddress.ip_address(probe.getsockname()[0].partition("%")[0])
    except (OSError, ValueError):
        return None


def is_this_machine(address: str) -> bool:
    """Whether a numeric address is one of this machine's own."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return ip.is_loopback or own_address_towards(ip) == ip


def host_keys(board: Board) -> list[str]:
    """The public host keys of the board's SSH server, as ``TYPE BASE64``; OpenSSH and Dropbear.

    Raises what ``board.run`` raises; the list is empty where there is no server.
    """
    output = board.run(["sh", "-c", _KEYS]).stdout.decode("ascii", "replace")
    return parse_keys(output)


def parse_keys(output: str) -> list[str]:
    """The keys among lines. One whose parts do not add up, as when a byte was lost, is none."""
    keys = []
    for line in output.splitlines():
        match = _KEY_LINE.match(line.strip())
        if match and _is_key(match[1], match[2]):
            keys.append(f"{match[1]} {match[2]}")
    return list(dict.fromkeys(keys))[:_KEYS_MOST]


def known_hosts(keys: Iterable[str], host: str, port: int = 22) -> str:
    """Lines for a ``known_hosts`` file. ``host`` is a numeric address or a name."""
    if not re.fullmatch(r"[\w.:-]+", host, re.ASCII):
        raise ValueError(f"'{host}' is no host")
    name = host if port == 22 else f"[{host}]:{port}"
    return "".join(f"{name} {key}\n" for key in keys)


def _is_key(kind: str, text: str) -> bool:
    """Whether it is what RFC 4253 (6.6) has: strings with their lengths, the first the kind."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    parts = []
    while data:
        if len(data) < 4:
            return False
        (length,) = struct.unpack(">I", data[:4])
        if length > len(data) - 4:
            return False
        parts.append(data[4 : 4 + length])
        data = data[4 + length :]
    return len(parts) >= 2 and parts[0] == kind.encode()


def _of_ip(output: str) -> Iterator[tuple[str, str, int | None]]:
    for match in _IP_LINE.finditer(output):
        yield match[1], match[2], int(match[3]) if match[3] else None


def _of_ifconfig(output: str) -> Iterator[tuple[str, str, int | None]]:
    interface = ""
    for line in output.splitlines():
        if re.match(r"\d+: ", line):
            continue  # a line of `ip`
        name = _IFCONFIG_NAME.match(line)
        if name:
            interface = name[1]
        inet = _IFCONFIG_INET.search(line)
        if not inet:
            continue
        mask = _IFCONFIG_MASK.search(line)
        prefix = re.search(r"\bprefixlen (\d+)", line)
        length = inet[2] or (prefix[1] if prefix else None)
        yield interface, inet[1], int(length) if length else _prefix(mask[1] if mask else "")


def _of_trie(output: str) -> Iterator[tuple[str, str, int | None]]:
    for match in _TRIE_LEAF.finditer(output):
        yield "", match[1], None


def _prefix(mask: str) -> int | None:
    """The length of a mask, as 255.255.255.0 or 0xffffff00."""
    with contextlib.suppress(ValueError):
        number = int(mask, 16) if mask.startswith("0x") else int(ipaddress.IPv4Address(mask))
        return number.bit_count()
    return None
