"""What boards say of their addresses and keys, and which of them this machine can use."""

from __future__ import annotations

import base64
import ipaddress
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import skips
from hypothesis import given
from hypothesis import strategies as st
from rig_consoles import FakeTime

from benchvise.board.local import LocalBoard
from benchvise.board.protocol import Completed
from benchvise.errors import BoardUnreachable
from benchvise.rig.boot import address, boot
from benchvise.rig.boot.address import (
    BoardAddress,
    SshService,
    addresses,
    by_preference,
    can_connect,
    host_keys,
    known_hosts,
    parse_addresses,
    parse_keys,
    reachable_address,
)
from benchvise.rig.boot.patterns import own_patterns

IP_O = """\
1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever
1: lo    inet6 ::1/128 scope host \\       valid_lft forever preferred_lft forever
2: eth0    inet 192.168.7.23/24 brd 192.168.7.255 scope global dynamic eth0\\       valid_lft 86
2: eth0    inet6 fe80::5054:ff:fe12:3456/64 scope link \\       valid_lft forever
3: veth1@if7    inet 10.1.2.3/16 scope global veth1
4: tun0    inet 10.8.0.2 peer 10.8.0.1/32 scope global tun0
"""

IFCONFIG_OLD = """\
eth0      Link encap:Ethernet  HWaddr 52:54:00:12:34:56
          inet addr:10.0.2.15  Bcast:10.0.2.255  Mask:255.255.255.0
          inet6 addr: fec0::5054:ff:fe12:3456/64 Scope:Site
          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1

lo        Link encap:Local Loopback
          inet addr:127.0.0.1  Mask:255.0.0.0
"""

IFCONFIG_NEW = """\
eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        inet 10.0.2.15  netmask 255.255.255.0  broadcast 10.0.2.255
        inet6 fe80::5054:ff:fe12:3456  prefixlen 64  scopeid 0x20<link>
        ether 52:54:00:12:34:56  txqueuelen 1000  (Ethernet)

lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536
        inet 127.0.0.1  netmask 255.0.0.0
"""

FIB_TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.2.0/24 2 0 2
        +-- 10.0.2.0/28 2 0 2
           |-- 10.0.2.0
              /24 link UNICAST
           |-- 10.0.2.15
              /32 host LOCAL
        |-- 10.0.2.255
           /32 link BROADCAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.1
           /32 host LOCAL
"""


def ips(said: str) -> list[tuple[str, str, int | None]]:
    return [(a.interface, str(a.ip), a.prefix) for a in parse_addresses(said)]


class SayingBoard(LocalBoard):
    """A board that answers everything with the same."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.name = "rig:b"

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in Board
        timeout: float = 60.0,
    ) -> Completed:
        return Completed(0, self.said.encode(), b"")


class TestAddresses:
    def test_of_ip(self) -> None:
        assert ips(IP_O) == [
            ("eth0", "192.168.7.23", 24),
            ("eth0", "fe80::5054:ff:fe12:3456", 64),
            ("veth1", "10.1.2.3", 16),
            ("tun0", "10.8.0.2", None),
        ]

    def test_of_the_old_ifconfig(self) -> None:
        assert ips(IFCONFIG_OLD) == [
            ("eth0", "10.0.2.15", 24),
            ("eth0", "fec0::5054:ff:fe12:3456", 64),
        ]

    def test_of_the_new_ifconfig(self) -> None:
        assert ips(IFCONFIG_NEW) == [
            ("eth0", "10.0.2.15", 24),
            ("eth0", "fe80::5054:ff:fe12:3456", 64),
        ]

    def test_of_the_kernel_itself(self) -> None:
        assert ips(FIB_TRIE) == [("", "10.0.2.15", None)]

    @given(st.text(max_size=200) | st.sampled_from([IP_O, IFCONFIG_NEW, FIB_TRIE]))
    def test_of_anything_are_addresses(self, said: str) -> None:
        assert all(not a.ip.is_loopback for a in parse_addresses(said))

    def test_of_this_machine_are_told(self) -> None:
        assert all(isinstance(address, BoardAddress) for address in addresses(LocalBoard()))

    def test_are_tried_nearest_first(self) -> None:
        found = parse_addresses(
            IP_O + "5: eth1    inet 169.254.3.4/16\n6: eth2    inet6 2001:db8::2/64\n"
        )
        order = by_preference(found, [ipaddress.ip_address("10.1.0.1")])
        assert [str(a.ip) for a in order] == [
            *("10.1.2.3", "192.168.7.23", "10.8.0.2", "2001:db8::2", "169.254.3.4"),
        ]


class TestReachable:
    def test_is_the_first_that_answers(self) -> None:
        asked = []

        def connects(ip: object, port: int) -> bool:
            asked.append((str(ip), port))
            return str(ip) == "10.8.0.2"

        found = reachable_address(SayingBoard(IP_O), port=2222, connects=connects)
        assert str(found.ip) == "10.8.0.2"
        assert {port for _, port in asked} == {2222}

    def test_says_what_was_tried(self) -> None:
        with pytest.raises(BoardUnreachable, match=r"port 22 does not answer.*192\.168\.7\.23"):
            reachable_address(SayingBoard(IP_O), timeout=0, connects=lambda *_: False)
        with pytest.raises(BoardUnreachable, match=r"it has no address after 0 s: .*DHCP"):
            reachable_address(SayingBoard(""), timeout=0)

    @pytest.mark.parametrize("after_s", [0.0, 3.4, 28.0])
    def test_is_known_soon_after_dhcp(
        self, monkeypatch: pytest.MonkeyPatch, after_s: float
    ) -> None:
        clock = FakeTime()
        began = clock.now
        played = SimpleNamespace(monotonic=lambda: clock.now / 1e9, sleep=clock.sleep)
        monkeypatch.setattr(address, "time", played)
        reachable_address(SayingBoard(IP_O), connects=lambda *_: clock.now >= began + after_s * 1e9)
        assert after_s <= (clock.now - began) / 1e9 <= after_s + 2

    def test_means_a_connection(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            assert can_connect(ipaddress.ip_address("127.0.0.1"), port)
        assert not can_connect(ipaddress.ip_address("127.0.0.1"), port)


class TestServiceOfABoot:
    """Its clock moves only while it waits, so how busy this machine is changes nothing."""

    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> FakeTime:
        clock = FakeTime()
        played = SimpleNamespace(
            monotonic=lambda: clock.now / 1e9, monotonic_ns=clock, sleep=clock.sleep
        )
        monkeypatch.setattr(boot, "time", played)
        return clock

    @pytest.fixture
    def booted(self, clock: FakeTime, tmp_path: Path) -> Iterator[boot.BoardBoot]:
        console: Any = SimpleNamespace(read=lambda **_: b"")
        boards = boot.BoardBoot("pi", own_patterns(), tmp_path)
        boards.attach(console)
        boards.power_on(lambda: None)
        with boards.recorder:
            yield boards

    # What the board says on its console of addresses; of keys it says nothing.
    shell: Any = SimpleNamespace(username="root", run=lambda *_, **__: (IP_O.splitlines(), [], 0))

    @pytest.mark.parametrize("service", [SshService("192.168.7.23", 22, "root"), None])
    @pytest.mark.parametrize("up_after_s", [0.0, 0.7, 4.2, 28.5])
    def test_is_known_within_a_second_or_so(
        self,
        clock: FakeTime,
        booted: boot.BoardBoot,
        monkeypatch: pytest.MonkeyPatch,
        service: SshService | None,
        up_after_s: float,
    ) -> None:
        up_at = clock.now + up_after_s * 1e9
        monkeypatch.setattr(
            boot, "_answers", lambda at: at.address == "192.168.7.23" and clock.now >= up_at
        )
        found = booted.find_service(self.shell, service)
        assert found == SshService("192.168.7.23", 22, "root")
        assert booted.report is not None
        assert up_after_s <= booted.report.phases["network"] <= up_after_s + 1.1

    @pytest.mark.parametrize("service", [SshService("192.168.7.23", 22, "root"), None])
    def test_that_never_answers_is_given_up_and_may_be_left_meanwhile(
        self,
        clock: FakeTime,
        booted: boot.BoardBoot,
        monkeypatch: pytest.MonkeyPatch,
        service: SshService | None,
    ) -> None:
        began = clock.now
        monkeypatch.setattr(boot, "_answers", lambda _: False)
        looks: list[float] = []
        monkeypatch.setattr(booted, "_check", lambda: looks.append((clock.now - began) / 1e9))
        assert booted.find_service(self.shell, service) is None
        assert 30 <= (clock.now - began) / 1e9 <= 32
        # Whoever wants to stop the boot waits no longer than this.
        assert max(later - earlier for earlier, later in pairwise(looks)) <= 1.1


def key(kind: str = "ssh-ed25519", size: int = 32) -> str:
    parts = [kind.encode(), b"\x07" * size]
    data = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    return f"{kind} {base64.b64encode(data).decode()}"


class TestKeys:
    def test_are_found_among_what_else_is_said(self) -> None:
        said = (
            f"Public key portion is:\n{key()} root@board\nFingerprint: SHA256:abc\n"
            f"{key('ssh-rsa', 259)}\n{key()} again\n"
        )
        assert parse_keys(said) == [key(), key("ssh-rsa", 259)]

    def test_that_lost_a_byte_are_none(self) -> None:
        whole = key()
        for at in range(len("ssh-ed25519 "), len(whole)):
            assert whole not in parse_keys(whole[:at] + whole[at + 1 :])
            assert parse_keys(whole[:at] + whole[at + 1 :]) == []

    def test_become_lines_of_known_hosts(self) -> None:
        assert known_hosts([key()], "10.0.2.15") == f"10.0.2.15 {key()}\n"
        assert known_hosts([key()], "fe80::1", 2222) == f"[fe80::1]:2222 {key()}\n"
        with pytest.raises(ValueError, match="is no host"):
            known_hosts([key()], "a b")

    @skips.needs("ssh-keygen")
    @pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
    def test_of_openssh_are_known(self, tmp_path: Path, kind: str) -> None:
        file = tmp_path / "k"
        command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "root@b", "-f", str(file)]
        subprocess.run(command, check=True)
        public = file.with_suffix(".pub").read_text()
        assert parse_keys(public) == [" ".join(public.split()[:2])]

    def test_of_this_machine_are_asked_for_without_harm(self) -> None:
        assert all(line.startswith(("ssh-", "ecdsa-", "sk-")) for line in host_keys(LocalBoard()))
