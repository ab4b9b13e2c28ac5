"""Boards behind a real SSH server, as they are and as they should not be."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from board_servers import ARCH, DASH, login, needs_probe, opened, private
from sshd import (
    SshServer,
    busybox_directory,
    children,
    new_key,
    processes_with,
    ssh_server,
)
from waiting import wait_until

from benchvise.board import Board, open_board, ssh
from benchvise.board.channel import ProbeChannel, open_channel
from benchvise.board.deploy import deploy, remove
from benchvise.board.messages import Message, SampleMessage
from benchvise.board.probes import load_probe, packaged_architectures
from benchvise.errors import BoardUnreachable, BoardUnusable, ProbeError, UsageError

FAKE = str(Path(__file__).with_name("fakeprobe.py"))
MEASURE = ["run", "cpu.clock", "--warm_ms", "0", "--batch_ms", "1"]

pytest_plugins = ["board_fixtures"]
pytestmark = needs_probe


class TestHappyPath:
    @pytest.mark.parametrize("kind", ["plain", "busybox", "applets_only", "talkative"])
    def test_deploys_once_measures_and_leaves_nothing(
        self,
        kind: str,
        home: Path,
        request: pytest.FixtureRequest,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        server: SshServer = request.getfixturevalue(kind)
        with opened(server, monkeypatch) as board:
            first = deploy(board)
            assert first.sent == load_probe(ARCH).size
            assert (first.identity.machine, first.identity.arch) == (ARCH, ARCH)
            with open_channel(board) as channel:
                assert channel.ready.arch == ARCH
                assert channel.list_benchmarks().benchmarks
                samples = 0
                for message in channel.request([*MEASURE, "--batches", "3"], paced=True):
                    if isinstance(message, SampleMessage):
                        samples += 1
                        channel.acknowledge()
                assert samples == 3
        with opened(server, monkeypatch) as board:
            again = deploy(board)
            assert (again.path, again.sent) == (first.path, 0)
            assert private(home).stat().st_mode & 0o777 == 0o700
            assert remove(board) == (str(private(home)),)
            assert list(home.iterdir()) == []
            assert remove(board) == ()
        assert processes_with(str(home)) == {}

    def test_needs_no_name_but_the_ssh_configuration(
        self, plain: SshServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with opened(plain, monkeypatch, "ssh://bench-alias") as board:
            assert board.run(["echo", "it's"]).stdout == b"it's\n"

    def test_keeps_its_socket_to_itself_and_takes_it_away(
        self, plain: SshServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime = Path("/tmp") / f"bv-test-{os.getpid()}"  # noqa: S108 - a short path
        runtime.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        try:
            with opened(plain, monkeypatch) as board:
                (directory,) = runtime.iterdir()
                assert directory.stat().st_mode & 0o777 == 0o700
                board.close()
                assert list(runtime.iterdir()) == []
        finally:
            runtime.rmdir()


class TestRun:
    def test_tells_how_commands_ended(self, board: Board) -> None:
        result = board.run(["sh", "-c", "cat; echo bad >&2; exit 3"], input=b"in\0put")
        assert (result.returncode, result.stdout, result.stderr) == (3, b"in\0put", b"bad\n")
        assert board.run(["sh", "-c", "kill -9 $$"]).returncode == 137
        assert board.run(["sh", "-c", "exit 255"]).returncode == 254
        assert board.run(["/no/such"]).returncode == 127

    def test_hands_over_what_a_shell_would_act_on(self, board: Board) -> None:
        words = ["$(echo acted)", "`id`", "it's\nhere", ";", "\\", "!!", "*", "ä", ""]
        script = 'for word; do printf "%s|" "$word"; done'
        result = board.run(["sh", "-c", script, "sh", *words])
        assert result.stdout.decode() == "".join(f"{word}|" for word in words)

    def test_gives_up_a_command_that_takes_too_long(self, board: Board) -> None:
        with pytest.raises(BoardUnusable, match=r"'sleep' did not finish within 0.3 s"):
            board.run(["sleep", "3"], timeout=0.3)
        assert board.run(["true"]).returncode == 0

    def test_works_without_the_shared_connection(self, board: Board, plain: SshServer) -> None:
        plain.kill_sessions()
        assert board.run(["echo", "back"]).stdout == b"back\n"


class TestNoConnection:
    def refused(self, server: SshServer, monkeypatch: pytest.MonkeyPatch, name: str = "") -> str:
        monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(server.config))
        with pytest.raises(BoardUnreachable) as caught:
            open_board(name or server.name)
        assert caught.value.exit_code == 3
        assert caught.value.remedy
        assert processes_with(str(server.config)) == {}
        return str(caught.value)

    def test_port_refused(self, plain: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
        message = self.refused(plain, monkeypatch, "ssh://127.0.0.1:9")
        assert "connection refused" in message
        assert "on port 9?" in message

    def test_unknown_name(self, plain: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
        message = self.refused(plain, monkeypatch, "ssh://no-such-board.invalid")
        assert "there is no host of that name" in message

    def test_no_answer(self, plain: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
        options = [o for o in ssh._OPTIONS if not o.startswith("ConnectTimeout")]
        monkeypatch.setattr(ssh, "_OPTIONS", (*options, "ConnectTimeout=1"))
        with socket.socket() as mute:
            mute.bind(("127.0.0.1", 0))
            mute.listen()
            name = f"ssh://127.0.0.1:{mute.getsockname()[1]}"
            assert "no answer in time" in self.refused(plain, monkeypatch, name)

    def test_wrong_key(
        self, plain: SshServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        other = new_key(tmp_path / "other")
        config = tmp_path / "config"
        original = plain.config.read_text()
        config.write_text(original.replace(str(plain.directory / "client"), str(other)))
        monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(config))
        with pytest.raises(BoardUnreachable, match=r"login refused.*ssh-copy-id -p \d+ \w+@127"):
            open_board(plain.name)

    def test_unknown_host_key(self, plain: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
        known = plain.known_hosts.read_text()
        plain.known_hosts.write_text("")
        try:
            message = self.refused(plain, monkeypatch)
        finally:
            plain.known_hosts.write_text(known)
        assert "its host key is not known" in message
        assert "connect once by hand" in message

    def test_changed_host_key(
        self, plain: SshServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        known = plain.known_hosts.read_text()
        plain.know(new_key(tmp_path / "former"))
        try:
            message = self.refused(plain, monkeypatch)
        finally:
            plain.known_hosts.write_text(known)
        assert "its host key has changed" in message
        assert f"ssh-keygen -R '[127.0.0.1]:{plain.port}'" in message

    def test_configuration_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ssh.CONFIG_VARIABLE, "/no/such/file")
        with pytest.raises(UsageError, match="BENCHVISE_SSH_CONFIG: cannot read"):
            open_board("ssh://board")

    def test_no_client(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(BoardUnreachable, match="no ssh client: apt install openssh-client"):
            open_board("ssh://board")


class TestOddLogins:
    def odd(
        self, directory: Path, script: str, monkeypatch: pytest.MonkeyPatch
    ) -> pytest.ExceptionInfo[BoardUnusable]:
        with (
            ssh_server(directory, script) as server,
            opened(server, monkeypatch) as board,
            pytest.raises(BoardUnusable) as caught,
        ):
            deploy(board)
        return caught

    def test_account_without_shell(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        script = "echo This account is currently not available.; exit 1"
        caught = self.odd(tmp_path / "server", script, monkeypatch)
        assert "runs no commands (This account is currently not available.)" in str(caught.value)

    def test_no_sh(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = busybox_directory(tmp_path / "bin", {})
        (path / "sh").unlink()
        caught = self.odd(tmp_path / "server", login(path, str(DASH)), monkeypatch)
        assert "there is no POSIX shell 'sh'" in str(caught.value)
        assert "busybox" in caught.value.remedy

    def test_no_uname(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = busybox_directory(tmp_path / "bin", {}, DASH)
        (path / "uname").unlink()
        caught = self.odd(tmp_path / "server", login(path, str(DASH)), monkeypatch)
        assert "no 'uname'" in str(caught.value)

    def test_architecture_without_probe(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = busybox_directory(tmp_path / "bin", {"uname": "echo mips"}, DASH)
        caught = self.odd(tmp_path / "server", login(path, str(DASH)), monkeypatch)
        assert "no probe is built for 'mips'" in str(caught.value)
        assert "aarch64" in caught.value.remedy

    def test_uname_that_lies_is_found_out_before_anything_is_sent(
        self, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = busybox_directory(tmp_path / "bin", {"uname": "echo riscv64"}, DASH)
        caught = self.odd(tmp_path / "server", login(path, str(DASH)), monkeypatch)
        assert f"uname says 'riscv64', but the programs there are for {ARCH}" in str(caught.value)
        assert list(home.iterdir()) == []

    @pytest.mark.usefixtures("home")
    def test_uname_that_lies_is_found_out_by_running_the_probe(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if "riscv64" not in packaged_architectures():
            skips.skip("probe", "riscv64")
        if Path("/proc/sys/fs/binfmt_misc/qemu-riscv64").exists():
            skips.skip("foreign programs")
        path = busybox_directory(tmp_path / "bin", {"uname": "echo riscv64", "dd": ""}, DASH)
        caught = self.odd(tmp_path / "server", login(path, str(DASH)), monkeypatch)
        assert "the riscv64 probe does not run there" in str(caught.value)
        assert "Exec format error" in caught.value.message
        assert "uname says 'riscv64'" in caught.value.remedy


class TestTrouble:
    def long_run(self, channel: ProbeChannel) -> Iterator[Message]:
        """A run that would go on for minutes, after its first sample."""
        messages = channel.request([*MEASURE, "--batches", "100000"])
        for message in messages:
            if isinstance(message, SampleMessage):
                break
        return messages

    def probe_processes(self, home: Path, word: str) -> list[int]:
        return [pid for pid, line in processes_with(str(home)).items() if f" {word}" in line]

    def test_connection_killed(self, board: Board, plain: SshServer, home: Path) -> None:
        with open_channel(board) as channel:
            lines = self.long_run(channel)
            plain.kill_sessions()
            with pytest.raises(BoardUnreachable, match="the connection was lost") as caught:
                list(lines)
            assert caught.value.exit_code == 3
            assert not channel.is_open
        wait_until(lambda: processes_with(str(home)) == {}, "the probe goes on on the board")

    def test_probe_killed(self, board: Board, home: Path) -> None:
        with open_channel(board) as channel:
            lines = self.long_run(channel)
            for pid in children_of_shells(self.probe_processes(home, "serve")):
                os.kill(pid, signal.SIGKILL)
            with pytest.raises(ProbeError, match=r"the probe on ssh://.*signal 9 \(SIGKILL\)"):
                list(lines)
            assert not channel.is_open

    def test_benchmark_killed(self, board: Board, home: Path) -> None:
        with open_channel(board) as channel:
            lines = self.long_run(channel)
            (pid,) = self.probe_processes(home, "run")
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(ProbeError, match=r"benchmark's process .*signal 9 \(SIGKILL\)"):
                list(lines)
            assert channel.is_open
            assert channel.list_benchmarks()

    def test_closed_in_the_middle_of_a_run(
        self, board: Board, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ended at once: a probe that measures is not given time to end by itself."""
        waited: list[float] = []
        with open_channel(board) as channel:
            self.long_run(channel)
            monkeypatch.setattr(channel, "_exits_within", waited.append)
        assert waited == []
        wait_until(lambda: processes_with(str(home)) == {}, "the probe goes on on the board")

    def test_removed_probe(self, board: Board) -> None:
        path = deploy(board).path
        remove(board)
        with pytest.raises(ProbeError, match=r"ended by itself \(exit 127\)"):
            ProbeChannel(board, [path])

    def test_garbage_in_the_middle(self, board: Board) -> None:
        with (
            ProbeChannel(board, [sys.executable, FAKE, "garbage"]) as channel,
            pytest.raises(ProbeError, match=r"not its protocol: 'Segmentation fault"),
        ):
            list(channel.request(["run", "x"]))
        wait_until(lambda: not processes_with(f"{FAKE} garbage"), "the probe goes on")

    def test_probe_that_does_not_listen(self, board: Board) -> None:
        channel = ProbeChannel(board, [sys.executable, FAKE, "deaf"])
        assert processes_with(f"{FAKE} deaf serve")
        channel.close()
        wait_until(lambda: not processes_with(f"{FAKE} deaf"), "the probe goes on")


def children_of_shells(pids: list[int]) -> list[int]:
    """Of processes with the same words in their command lines, the ones that started no other."""
    return [pid for pid in pids if not set(children(pid)) & set(pids)]
