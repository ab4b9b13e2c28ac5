"""Where the probe is put on a board, and where not."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from board_servers import ARCH, needs_probe, needs_root, opened, private
from sshd import SshServer

from benchvise.board import Board, open_board
from benchvise.board.channel import open_channel
from benchvise.board.deploy import (
    _STORE,
    DIRECTORY_VARIABLE,
    candidates,
    deploy,
    find_place,
    remove,
)
from benchvise.board.probes import PROBE, PROBES, load_probe
from benchvise.errors import BoardUnusable, UsageError

pytest_plugins = ["board_fixtures"]
pytestmark = needs_probe


class TestDamage:
    @pytest.mark.parametrize("size", [10, None])
    def test_of_an_upload_is_noticed_and_repaired(self, board: Board, size: int | None) -> None:
        path = Path(deploy(board).path)
        good = path.read_bytes()
        path.write_bytes(good[:size] if size else b"#" + good[1:])
        assert deploy(board).sent > 0
        assert path.read_bytes() == good
        assert deploy(board).sent == 0

    def test_of_an_upload_leaves_nothing(self, board: Board, home: Path) -> None:
        probe = load_probe(ARCH)
        (candidate,) = find_place(board, probe, candidates())
        script = ["sh", "-c", _STORE, "sh", candidate.directory, probe.digest, PROBE, "10"]
        result = board.run(script, input=b"short")
        assert result.returncode == 1
        assert list(home.iterdir()) == []

    def test_of_what_is_not_ours_is_not_done(self, board: Board, home: Path) -> None:
        deploy(board)
        (private(home) / "notes").write_text("mine")
        with pytest.raises(BoardUnusable, match=r"was not removed \(.*not empty.*\)"):
            remove(board)
        assert [p.name for p in private(home).iterdir()] == ["notes"]


@contextlib.contextmanager
def mounted(directory: Path, options: str) -> Iterator[None]:
    command = ["mount", "-t", "tmpfs", "-o", options, "benchvise-test", str(directory)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        skips.skip("mount")
    try:
        yield
    finally:
        subprocess.run(["umount", str(directory)], check=True)


class TestNoPlace:
    def refused(self, board: Board) -> BoardUnusable:
        with pytest.raises(BoardUnusable) as caught:
            deploy(board)
        assert caught.value.exit_code == 1
        assert "\n" not in str(caught.value)
        return caught.value

    @needs_root
    @pytest.mark.parametrize(
        ("options", "reason", "remedy"),
        [
            ("ro", "read-only file system", "another directory"),
            ("noexec", "nothing may be executed there (mounted noexec)", "another directory"),
            ("size=64k", "no space left", "free "),
        ],
    )
    @pytest.mark.parametrize("kind", ["plain", "busybox", "applets_only"])
    def test_on_a_file_system(
        self,
        kind: str,
        options: str,
        reason: str,
        remedy: str,
        home: Path,
        request: pytest.FixtureRequest,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        server: SshServer = request.getfixturevalue(kind)
        with opened(server, monkeypatch) as board, mounted(home, options):
            error = self.refused(board)
            assert reason in error.message
            assert str(home) in error.message
            assert " kB)" in error.message
            assert remedy in error.remedy
            assert list(home.iterdir()) == []

    @needs_root
    @pytest.mark.parametrize("kind", ["plain", "busybox"])
    def test_on_a_disk_that_takes_names_and_no_bytes(
        self,
        kind: str,
        home: Path,
        request: pytest.FixtureRequest,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Some shells say "I/O error" there, whatever it was."""
        server: SshServer = request.getfixturevalue(kind)
        with opened(server, monkeypatch) as board, mounted(home, "size=64k"):
            with contextlib.suppress(OSError), (home / "full").open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            error = self.refused(board)
            assert "no space left" in error.message
            assert "free " in error.remedy

    @needs_root
    def test_on_the_first_is_made_up_for_by_the_next(
        self, board: Board, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = ["ro", "noexec", "full", "good"]
        for name in names:
            (home / name).mkdir()
        where = ("/no/such", "$NOWHERE", *(str(home / name) for name in names))
        monkeypatch.setattr("benchvise.board.deploy.candidates", lambda: where)
        with (
            mounted(home / "ro", "ro"),
            mounted(home / "noexec", "noexec"),
            mounted(home / "full", "size=64k"),
        ):
            deployed = deploy(board)
            assert deployed.directory == str(private(home / "good"))
            assert deploy(board).sent == 0
            shutil.rmtree(home / "good")
            error = self.refused(board)
            assert "ro: read-only" in error.message
            assert "noexec: nothing may be executed" in error.message
            assert "full: no space left" in error.message
            assert "set BENCHVISE_BOARD_DIR" in error.remedy

    @needs_root
    def test_that_another_user_owns(self, board: Board, home: Path) -> None:
        private(home).mkdir(mode=0o700)
        os.chown(private(home), 12345, 12345)
        error = self.refused(board)
        assert f"{private(home)}: belongs to another user, uid 12345" in error.message
        assert "look at it and remove it" in error.remedy
        assert remove(board) == ()

    def test_behind_a_symbolic_link(self, board: Board, home: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        private(home).symlink_to(tmp_path / "elsewhere")
        assert "is a symbolic link" in self.refused(board).message
        assert remove(board) == ()
        assert private(home).is_symlink()

    def test_open_to_others(self, board: Board, home: Path) -> None:
        private(home).mkdir()
        private(home).chmod(0o770)
        assert "is open to other users (drwxrwx---" in self.refused(board).message

    def test_that_is_a_file(self, board: Board, home: Path) -> None:
        private(home).write_text("")
        assert "is no directory" in self.refused(board).message

    def test_that_anyone_can_replace(self, board: Board, home: Path) -> None:
        home.chmod(0o777)
        assert "anyone can replace what is in it" in self.refused(board).message
        home.chmod(0o1777)
        assert deploy(board).sent > 0

    def test_that_does_not_exist(self, board: Board, home: Path) -> None:
        home.rmdir()
        assert "there is no such directory" in self.refused(board).message

    def test_that_is_not_absolute(self, board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(DIRECTORY_VARIABLE, "here")
        with pytest.raises(UsageError, match="not an absolute path"):
            deploy(board)

    def test_in_the_package_makes_one_here(
        self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "probes"
        shutil.copytree(PROBES / ARCH, package / ARCH)
        (package / ARCH / PROBE).chmod(0o644)
        monkeypatch.setattr("benchvise.board.probes.PROBES", package)
        with open_board("local") as board:
            deployed = deploy(board)
            assert deployed.directory == str(private(home))
            with open_channel(board) as channel:
                assert channel.ready.arch == ARCH
            assert remove(board) == (str(private(home)),)
