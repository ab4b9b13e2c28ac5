"""Boards without a network: names, quoting, text, architectures, the channel and its faults."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import skips
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import has_ended, wait_until

import benchvise.board
from benchvise.board import Board, open_board, probes, process
from benchvise.board.address import (
    SshAddress,
    full_name,
    is_loopback,
    is_ssh,
    numeric_address,
    parse_ssh,
)
from benchvise.board.local import LocalBoard
from benchvise.board.probes import load_probe, packaged_architectures, posix_cksum
from benchvise.board.ssh import after_mark, command_line, not_connected
from benchvise.errors import BenchviseError, BoardUnusable, UsageError

FAKE = str(Path(__file__).parents[1] / "fakeprobe.py")

SHELLS = [
    *(["sh"], ["dash"], ["bash"], ["busybox", "sh"], ["zsh"], ["ksh"], ["mksh"]),
    *(["fish"], ["csh"], ["tcsh"]),
]


class TestNames:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("ssh://pi", ("pi", None, None)),
            ("ssh://root@pi-4.local:2222", ("pi-4.local", "root", 2222)),
            ("ssh://me@corp@10.0.0.7", ("10.0.0.7", "me@corp", None)),
            ("ssh://[fe80::1%eth0]:22", ("fe80::1%eth0", None, 22)),
            ("ssh://root@[::1]", ("::1", "root", None)),
        ],
    )
    def test_of_ssh(self, name: str, expected: tuple[str, str | None, int | None]) -> None:
        assert parse_ssh(name) == SshAddress(name, *expected)

    @pytest.mark.parametrize(
        "name",
        [
            *("ssh://", "ssh://-oProxyCommand=x", "ssh://-l@host", "ssh://a b", "ssh://host:port"),
            *("ssh://host:0", "ssh://host:65536", "ssh://user:password@host", "ssh://host/path"),
            *("ssh://::1", "ssh://[host]", "ssh://h;reboot", "ssh://host\n", "ssh://$(id)@host"),
            *("", "pi", "LOCAL", "http://x", "/dev/ttyUSB0"),
        ],
    )
    def test_that_are_none_are_refused_with_the_accepted_forms(self, name: str) -> None:
        with pytest.raises(UsageError, match=r"local|ports are"):
            open_board(name)

    # As people write them: sshpass and scp of vendors' wikis, `ip addr`, nmap.
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("192.168.42.1", "ssh://192.168.42.1"),
            ("192.168.7.2:2222", "ssh://192.168.7.2:2222"),
            ("root@192.168.42.1", "ssh://root@192.168.42.1"),
            ("debian@beaglebone.local", "ssh://debian@beaglebone.local"),
            ("root@milkv-duo:22", "ssh://root@milkv-duo:22"),
            ("fe80::ba27:ebff:fe00:1%eth0", "ssh://[fe80::ba27:ebff:fe00:1%eth0]"),
            ("2001:db8::7", "ssh://[2001:db8::7]"),
            ("ssh://pi@raspberrypi", "ssh://pi@raspberrypi"),
        ],
    )
    def test_without_scheme_are_those_of_ssh(self, text: str, name: str) -> None:
        assert full_name(text) == name
        assert is_ssh(name)

    @pytest.mark.parametrize(
        "text",
        ["local", "pi", "rig:left", "rig:tag=a@b", "console:/dev/ttyUSB0", "-oProxyCommand=x@h",
         "root@", "@pi", "@", "a b@c", "1.2.3", "192.168.7.2:tcp", "root@pi:/tmp"],
    )  # fmt: skip
    def test_of_other_kinds_stay_as_they_are(self, text: str) -> None:
        assert full_name(text) == text

    def test_kinds_of_other_packages_are_opened_by_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(benchvise.board, "_openers", {})
        with pytest.raises(UsageError, match="or `rig:NAME`"):
            open_board("rig:left")
        asked: list[str] = []

        def open_in_rig(name: str) -> Board:
            asked.append(name)
            return LocalBoard()

        benchvise.board.register_kind("rig", open_in_rig)
        assert open_board("rig:left").name == "local"
        assert asked == ["rig:left"]

    def test_known_hosts_has_brackets_for_other_ports(self) -> None:
        assert SshAddress("", "h", port=22).known_as == "h"
        assert SshAddress("", "h", port=2222).known_as == "'[h]:2222'"


class TestCommandLine:
    WORDS = (
        *("plain", "", "two words", "it's", 'say "hi"', "$HOME `id` $(id)", "back\\slash\\"),
        *(
            "new\nline\n",
            "tab\t",
            "bang!bang",
            "*?[a]~",
            "%s%n",
            "-n",
            "Zürich",
            "\udcff",
            "#;&|<>",
        ),
    )

    @pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
    def test_reaches_the_program_unchanged_through_any_login_shell(self, shell: list[str]) -> None:
        skips.need(shell[0])
        script = "import os,sys; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))"
        line = command_line([sys.executable, "-c", script, *self.WORDS])
        result = subprocess.run([*shell, "-c", line], capture_output=True, check=True)
        assert result.stdout == b"|".join(map(os.fsencode, self.WORDS))

    @settings(max_examples=25)
    @given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), max_size=4))
    def test_carries_any_words(self, words: list[str]) -> None:
        line = command_line(["printf", "%s|", "x", *words])
        result = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
        assert result.stdout == "".join(f"{word}|" for word in ["x", *words]).encode()

    def test_holds_nothing_that_a_shell_would_act_on(self) -> None:
        inside = command_line(["a'b", "c\\", "d!", "\n\x1b"]).split("sh ", 2)[2]
        assert inside == "'a\\0047b' 'c\\0134' 'd\\0041' '\\0012\\0033'"

    def test_refuses_nul(self) -> None:
        with pytest.raises(ValueError, match="NUL"):
            command_line(["a\0b"])

    @pytest.mark.parametrize(
        ("script", "status"), [("exit 3", 3), ("exit 255", 254), ("kill -9 $$", 137)]
    )
    def test_tells_how_the_command_ended(self, script: str, status: int) -> None:
        line = command_line(["sh", "-c", script])
        assert subprocess.run(["sh", "-c", line], check=False).returncode == status

    def test_marks_where_the_output_begins(self) -> None:
        line = command_line(["sh", "-c", "echo out; echo err >&2"], "MARK")
        line = f"printf noise; printf noise >&2; {line}"
        result = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
        assert after_mark(result.stdout, "MARK") == b"out\n"
        assert after_mark(result.stderr, "MARK") == b"err\n"
        assert after_mark(b"noise", "MARK") is None


@pytest.mark.parametrize(
    ("said", "meaning", "remedy"),
    [
        ("connect to host h port 9: Connection refused", "connection refused", "on port 9?"),
        ("connect to host h port 9: Connection timed out", "no answer in time", "is the board on"),
        ("Connection timed out during banner exchange", "no answer in time", "is the board on"),
        ("Could not resolve hostname h: Name or service not known", "no host of that", "spelling"),
        ("connect to host h: No route to host", "no way to it", "network"),
        ("No ED25519 host key is known for h\nHost key verification failed.", "not known", "once"),
        (
            "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.",
            "has changed",
            "ssh-keygen -R '[h]:9'",
        ),
        ("u@h: Permission denied (publickey).", "login refused", "ssh-copy-id -p 9 u@h"),
        ("Too many authentication failures", "too many keys", "IdentityFile"),
        ("no matching host key type found. Their offer: ssh-rsa", "too old", "ssh-rsa"),
        ("kex_exchange_identification: Connection closed by remote host", "closed", "ssh -v"),
        ("f: line 1: Bad configuration option: x", "configuration cannot", "by hand"),
        ("\x1b[2Jsomething else", "could not connect (something else)", "ssh -v -p 9 u@h"),
        ("", "could not connect:", "ssh -v"),
    ],
)
def test_ssh_failures_have_a_meaning_and_a_remedy(said: str, meaning: str, remedy: str) -> None:
    error = not_connected(SshAddress("ssh://u@h:9", "h", "u", 9), f"ssh: {said}\n".encode())
    text = str(error)
    assert meaning in text or not said
    assert remedy in text
    assert text.startswith("ssh://u@h:9: ")
    assert "\x1b" not in text
    assert error.exit_code == 3


class TestArchitecture:
    PI1 = "processor\t: 0\nFeatures\t: half thumb fastmult vfp edsp java tls\n"
    PI2 = "Features\t: half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva vfpd32 lpae\n"
    TEGRA2 = "Features\t: swp half thumb fastmult vfp edsp vfpv3 vfpv3d16 tls\n"
    SOFT = "Features\t: swp half thumb fastmult edsp\n"

    @pytest.mark.parametrize(
        ("machine", "cpuinfo", "arch"),
        [
            ("x86_64", "", "x86_64"),
            ("aarch64", "", "aarch64"),
            ("riscv64", "", "riscv64"),
            ("armv7l", PI2, "armv7hf"),
            ("armv7l", TEGRA2, "armv7hf"),
            ("armv7l", "", "armv7hf"),
            ("armv7l", PI1, "armv6hf"),
            ("armv7l", SOFT, None),
            ("armv6l", PI1, "armv6hf"),
            ("armv6l", SOFT, None),
            ("armv8l", "Features : fp asimd evtstrm\n", "armv7hf"),
            ("armv5tel", SOFT, None),
            ("mips", "", None),
            ("i686", "", None),
        ],
    )
    def test_follows_from_uname_and_features(
        self, machine: str, cpuinfo: str, arch: str | None
    ) -> None:
        assert probes.choose(machine, cpuinfo) == arch

    def test_of_this_machine_is_what_its_probe_says(self) -> None:
        assert probes.identify(LocalBoard()).arch in packaged_architectures()

    def test_a_probe_that_was_not_built_names_the_command(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("benchvise.board.probes.PROBES", tmp_path)
        assert packaged_architectures() == ()
        with pytest.raises(BenchviseError, match=r"no probe for riscv64.*`make probes`"):
            load_probe("riscv64")


@given(st.binary(max_size=300))
@settings(max_examples=20)
def test_checksum_is_that_of_cksum(data: bytes) -> None:
    result = subprocess.run(["cksum"], input=data, capture_output=True, check=True)
    assert f"{posix_cksum(data)} {len(data)}\n".encode() == result.stdout


class TestNumericAddresses:
    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("192.0.2.7", "192.0.2.7"),
            ("2001:DB8:0::7", "2001:db8::7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("fe80::1%eth0;reboot", None),
            ("fe80::1%$(reboot)", None),
            ("board", None),
            ("192.0.2", None),
            ("192.0.2.7:22", None),
            ("\u0661.1.1.1", None),
            ("", None),
        ],
    )
    def test_are_addresses_and_nothing_else(self, text: str, address: str | None) -> None:
        assert numeric_address(text) == address

    def test_loopback(self) -> None:
        assert is_loopback("127.0.0.1") and is_loopback("::1")
        assert not is_loopback("192.0.2.7") and not is_loopback("fe80::1%lo")


class TestLocalBoard:
    def test_runs_a_command_with_input(self) -> None:
        data = os.urandom(1 << 20)
        result = LocalBoard().run(["sh", "-c", "cat; echo bad >&2; exit 3"], input=data)
        assert (result.returncode, result.stdout, result.stderr) == (3, data, b"bad\n")

    @pytest.mark.parametrize(
        ("argv", "status"),
        [
            (["/no/such/program"], 127),
            (["/"], 126),
            (["sh", "-c", "kill -9 $$"], 137),
            (["true"], 0),
        ],
    )
    def test_tells_how_it_ended_as_a_shell_does(self, argv: list[str], status: int) -> None:
        assert LocalBoard().run(argv, input=b"not wanted" * 100_000).returncode == status

    def test_ends_a_command_that_takes_too_long_with_all_it_started(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mark = tmp_path / "pid"
        begun = time.monotonic()
        readings = iter([begun])  # its time begins before, and is over when it has started all

        def monotonic() -> float:
            return next(readings, begun + 600 * mark.exists())

        monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=monotonic))
        script = f"sleep 600 & echo $! >{mark}.new; mv {mark}.new {mark}; echo; wait"
        with pytest.raises(BoardUnusable, match=r"'sh' did not finish within 60 s"):
            LocalBoard().run(["sh", "-c", script], timeout=60)
        started = int(mark.read_text())
        wait_until(lambda: has_ended(started), "what it started is ended")

    def test_gives_up_endless_output(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process, "OUTPUT_LIMIT", 1 << 20)
        with pytest.raises(BoardUnusable, match="wrote more than 1 MiB"):
            LocalBoard().run(["yes"])
