"""What servers start for a command, and what modules that a configuration names run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import skips

from benchvise.board.local import LocalBoard
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.documents import decode, encode
from benchvise.why.model import Side
from benchvise.why.witness.model import (
    Activity,
    CallsAbout,
    Partner,
    SideWatch,
    Witness,
    WitnessPart,
)
from benchvise.why.witness.opened import OPENED_FILE
from benchvise.why.witness.partner_suspects import partner_suspects, put_partners_first
from benchvise.why.witness.partners import find_partners
from benchvise.why.witness.program_files import FILES_OF_A_PROGRAM
from benchvise.why.witness.started import leading_files, parse_trees

SERVER = """import socket, subprocess, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('on', flush=True)
while True:
    caller, _ = s.accept()
    subprocess.run(["/bin/sh", sys.argv[2]]); caller.send(b"done"); caller.close()
"""
CLIENT = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(9)"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A program that has a script do the work of each question."""
    program, handler = tmp_path / "front", tmp_path / "handler"
    program.write_text(SERVER)
    handler.write_text("#!/bin/sh\nsleep 0.4\n")
    address = str(tmp_path / "socket")
    words = [sys.executable, str(program), address, str(handler)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield address, handler
        finally:
            process.kill()


def test_the_script_that_a_server_runs_meanwhile_is_known_with_its_time(
    server: tuple[str, Path],
) -> None:
    address, handler = server
    command = f'{sys.executable} -c "{CLIENT}" {address}; {sys.executable} -c "pass" {address}.own'
    calls = [CallsAbout("connect", address, 1, 0, 0.4, 0.4)]
    (partner,) = find_partners(LocalBoard(), calls, command, 0.5)
    assert partner.started[str(handler)] > 0.2
    assert str(handler) in partner.files
    # what the command does by itself is none of it
    assert not any(path.endswith(".own") for path in partner.started)
    assert decode(Partner, encode(partner)) == partner


TEXT = (
    "\nsample\n70 (sshd) S 5 70 0 -1 4\nsshd: root [priv]sshd\n"  # it wrote over its words
    "71 (sh) S 70 70 0 -1 4\nsh\0-c\0run-parts /etc/update-motd.d\nexit\0sh\n"
    "72 (50-news) S 71 70 0 -1 4\n/bin/sh\0/etc/update-motd.d/50-news\00050-news\n"
    "80 (sh) S 79 80 0 -1 4\nsh\0-c\0ssh localhost true\0sh\n"
    "\nsample\n70 (sshd) S 5 70 0 -1 4\n"
)


def test_helpers_are_known_by_their_descent() -> None:
    first, second = parse_trees(TEXT)
    assert first.parents == {70: 5, 71: 70, 72: 71, 80: 79}
    assert first.starter(72) == 5
    assert first.starter(80) == 79
    assert first.paths[71] == ("/etc/update-motd.d",)
    assert first.paths[72] == ("/bin/sh", "/etc/update-motd.d/50-news")
    assert second.parents == {70: 5}
    assert parse_trees("nothing") == ()


def test_the_configuration_that_leads_to_what_is_started_comes_before_the_rest() -> None:
    """The scripts are the same on both sides, and only the bad one's PAM has them run."""
    both = watches(0.0, 0.9)
    bad = both[Side.BAD].partners[0]
    both[Side.BAD] = SideWatch(partners=(replace(bad, leading=(PAM,)),))
    files = {KEYS: "aaaa 570", PAM: "cccc 2133", "/etc/environment": "eeee 60"}
    others = {KEYS: "bbbb 572", PAM: "dddd 2140", "/etc/environment": "ffff 61"}
    both = {
        side: SideWatch(partners=(replace(w.partners[0], files=("/etc/environment", KEYS, PAM)),))
        for side, w in both.items()
    }
    found = partner_suspects(both, {Side.GOOD: files, Side.BAD: others}, ())
    first, second, _ = put_partners_first(found, WITNESS, both)
    assert (first.id, second.id) == (f"{OPENED_FILE}{PAM}", f"{OPENED_FILE}/etc/environment")
    assert first.terms[-1].reason == "what sshd runs longer by it is 72 % of the gap"


def test_files_lead_to_what_is_started_by_a_module(tmp_path: Path) -> None:
    module, configuration = tmp_path / "pam_news.so", tmp_path / "logind"
    module.write_bytes(b"\x7fELF\0run-parts /etc/news.d\0")
    configuration.write_text("session optional pam_news.so noupdate\n")
    other, alike = tmp_path / "environment", tmp_path / "alike"
    other.write_text("LANG=C\n")
    alike.write_text("session optional xpam_news.so\n# /etc/newsxd\n")
    files = [str(path) for path in (module, configuration, other, alike)]
    started = ["/etc/news.d/50-news", "/bin/sh", "/usr/bin/env"]
    assert leading_files(LocalBoard(), started, files) == (str(configuration), str(module))
    assert leading_files(LocalBoard(), ["/bin/sh"], files) == ()


def small_tools(directory: Path) -> str:
    """A path with the programs of a small board alone."""
    directory.mkdir()
    subprocess.run(["busybox", "--install", "-s", str(directory)], check=True)
    return str(directory)


class SmallBoard(LocalBoard):
    """This machine with the programs of a small board alone."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        command = [f"{self._path}/env", f"PATH={self._path}", *argv]
        return super().run(command, input=input, timeout=timeout)


@skips.needs("busybox")
def test_a_small_board_tells_what_is_started_too(server: tuple[str, Path], tmp_path: Path) -> None:
    address, handler = server
    board = SmallBoard(small_tools(tmp_path / "bin"))
    calls = [CallsAbout("connect", address, 1, 0, 0.4, 0.4)]
    (partner,) = find_partners(board, calls, f'{sys.executable} -c "{CLIENT}" {address}', 0.5)
    assert partner.started[str(handler)] > 0.2


NEWS, KEYS, PAM = "/etc/update-motd.d/50-news", "/etc/ssh/authorized_keys", "/etc/pam.d/sshd"
SSHD = Partner("sshd", ("127.0.0.1:22",), files=(KEYS, PAM, NEWS))


def watches(good_s: float, bad_s: float) -> dict[Side, SideWatch]:
    return {
        Side.GOOD: SideWatch(partners=(replace(SSHD, started={NEWS: good_s} if good_s else {}),)),
        Side.BAD: SideWatch(partners=(replace(SSHD, started={NEWS: bad_s}),)),
    }


DIGESTS = {
    Side.GOOD: {KEYS: "aaaa 570", PAM: "cccc 2133", NEWS: "eeee 40"},
    Side.BAD: {KEYS: "bbbb 572", PAM: "dddd 2140", NEWS: "ffff 90"},
}
WITNESS = Witness(
    "",
    0.5,
    1.5,
    (WitnessPart(Activity.NETWORK, "ppoll", "127.0.0.1:22", "ssh", 0.3, 1.3, 0.9, "waiting"),),
)


def test_a_script_that_runs_for_the_gap_comes_before_other_files_of_the_server() -> None:
    """scylladb/scylla-machine-image#945: the greeting is made anew at each login."""
    both = watches(0.1, 0.9)
    found = partner_suspects(both, DIGESTS, ())
    first, *_, last = put_partners_first(found, WITNESS, both)
    assert first.id == f"{OPENED_FILE}{NEWS}"
    assert first.terms[-1].reason == "what sshd runs longer by it is 80 % of the gap"
    assert last.id == f"{OPENED_FILE}{KEYS}"  # each machine has keys of its own
    alike = watches(0.9, 0.9)
    assert all(
        "runs longer" not in term.reason
        for suspect in put_partners_first(found, WITNESS, alike)
        for term in suspect.terms
    )


@pytest.mark.parametrize("tools", ["", pytest.param("busybox", marks=skips.needs("busybox"))])
def test_modules_are_followed_to_the_scripts_that_they_run(tmp_path: Path, tools: str) -> None:
    skips.need_root()
    path = small_tools(tmp_path / "bin") if tools else os.environ["PATH"]
    files = {
        "pam.d/logind-test": "@include common-test\nauth required pam_deny.so\n",
        "pam.d/common-test": "session optional pam_greet_test.so noupdate\n",
        "pam.d/other-test": "session optional pam_never_test.so\n",
        "update-greeting.d/50-news": "#!/bin/sh\n. /etc/default/news-test\n",
        "default/news-test": "SERVER=192.0.2.1\n",
    }
    etc, lib = tmp_path / "etc", tmp_path / "lib"
    for name, text in files.items():
        file = etc / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    lib.mkdir()
    (lib / "pam_greet_test.so").write_bytes(b"\x7fELF\0\0run-parts\0/etc/update-greeting.d\0\1")
    (lib / "pam_never_test.so").write_bytes(b"\x7fELF\0\0/etc/never-test.conf\0")
    script = (
        "mount -t tmpfs none /usr/local && mkdir -p /usr/local/lib/security /usr/local/own && "
        'cp "$1"/* /usr/local/lib/security/ && cp -a "$0" /usr/local/own/etc && '
        "mount --bind /usr/local/own/etc /etc && "
        'PATH=$3 exec sh -c "$2" sh logind-test "" /usr/sbin/logind-test'
    )
    words = ["unshare", "-m", "sh", "-c", script, str(etc), str(lib), FILES_OF_A_PROGRAM, path]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = set(done.stdout.splitlines())
    assert {
        "/etc/pam.d/logind-test",
        "/etc/pam.d/common-test",
        "/usr/local/lib/security/pam_greet_test.so",
        "/etc/update-greeting.d/50-news",
        "/etc/default/news-test",
    } <= found
    assert not any("other-test" in path or "never" in path for path in found)
