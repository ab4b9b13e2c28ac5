"""`run --set` and `restore` on this machine and over SSH, for real: afterwards all is as before.

Settings of the whole machine are changed for fractions of a second. Whatever happens, the fixture
puts them back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import skips
from sshd import SshServer, children, children_called, ssh_server, wait_until_listening
from waiting import PATIENCE, wait_until

from benchvise.board import ssh
from benchvise.cli import main
from benchvise.rig import locks
from benchvise.state import journal
from benchvise.state.restore import RestoreOutcome, restore_sessions

pytest_plugins = ["board_fixtures"]
pytestmark = [
    pytest.mark.settings,
    skips.needs_root,
]

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
VM = Path("/proc/sys/vm")
FILES = (
    THP,
    *(VM / name for name in ("min_free_kbytes", "dirty_ratio", "dirty_bytes")),
    *(VM / name for name in ("dirty_background_ratio", "dirty_background_bytes")),
    *(VM / name for name in ("overcommit_ratio", "overcommit_kbytes")),
)
SET = ["--set", "memory.thp=never", "--set", "vm.dirty_bytes=200000000"]
SET += ["--set", "vm.overcommit_ratio=41"]
BRIEF = ["--bench", "os.syscall", "--processes", "1", "--batches", "2"]
# What is read before and after would be most of their lives, with nothing set.
SHORT = [*BRIEF, "--no-snapshot"]
LONG = [*SHORT, "--batches", "100000"]

BENCHVISE = [sys.executable, "-m", "benchvise"]


class Output(NamedTuple):
    """What a command has said."""

    stdout: str
    stderr: str


Cli = Callable[..., Output]


def values() -> dict[Path, str]:
    return {path: path.read_text() for path in FILES}


def changed(before: dict[Path, str]) -> dict[Path, tuple[str, str]]:
    """What is not as before, to be shown when a test fails."""
    now = values()
    return {path: (was, now[path]) for path, was in before.items() if now[path] != was}


def chosen(text: str) -> str:
    return text.partition("[")[2].partition("]")[0] if "[" in text else text.strip()


@pytest.fixture(autouse=True)
def before() -> Iterator[dict[Path, str]]:
    """The machine's state; it is put back by this and not by what is tested."""
    if not THP.exists():
        skips.skip("huge pages")
    state = values()
    try:
        yield state
    finally:
        for _ in range(2):  # one of a pair resets the other
            for path, text in state.items():
                if path.read_text() != text and chosen(text) != "0":
                    path.write_text(chosen(text))


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "160")
    return dict(os.environ)


@pytest.fixture
def cli(environment: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Cli:
    """Commands in this process: what is killed or interrupted has one of its own (``start``)."""

    def run(*words: str, expect: int | None = 0) -> Output:
        capsys.readouterr()
        code = main.run(list(words))
        output = Output(*capsys.readouterr())
        assert expect in (None, code), output
        return output

    return run


def start(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENCHVISE, *words],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def data(result: Output) -> Any:
    return json.loads(result.stdout)["data"]


def journal_text() -> str:
    texts = []
    for file in journal.state_directory().glob("*.jsonl"):
        try:
            texts.append(file.read_text())
        except FileNotFoundError:
            continue
    return "".join(texts)


def wait_for(text: str, child: subprocess.Popen[str]) -> None:
    """Until the journal says so."""
    deadline = time.monotonic() + PATIENCE
    while text not in journal_text():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait_until_set_or_over(child: subprocess.Popen[str]) -> None:
    """Until a short run has its journal; or, where this process had no CPU meanwhile, its end."""
    wait_until(lambda: "session" in journal_text() or child.poll() is not None, "a run's journal")


def is_due() -> bool:
    return any(session.is_due for session in journal.sessions())


def no_journals() -> bool:
    return list(journal.state_directory().glob("*.jsonl")) == []


class TestRun:
    def test_measures_with_it_and_puts_it_back(self, cli: Cli, before: dict[Path, str]) -> None:
        (run,) = data(cli("run", *SET, *BRIEF, "--json"))
        assert not changed(before) and no_journals()
        assert run["settings"] == {
            "memory.thp": "never",
            "vm.dirty_bytes": "200000000",
            "vm.overcommit_ratio": "41",
        }
        facts = {fact["name"]: fact["text"] for fact in run["facts"]}
        assert facts["Transparent huge pages"] == "never"  # as the probe found it
        assert "memory.thp=never" in cli("show", "@").stdout

    def test_several_values_are_runs_of_their_own(self, cli: Cli, before: dict[Path, str]) -> None:
        several = ["--set", "memory.thp=each", "--set", "vm.overcommit_ratio=41+42"]
        fixed = ["--set", "vm.dirty_ratio=30"]
        words = ["run", *several, *fixed, "--label", "sweep", *SHORT, "--json"]
        plans = data(cli(*words, "--plan"))
        runs = data(cli(*words))
        assert not changed(before) and no_journals()
        expected = [
            {"memory.thp": thp, "vm.overcommit_ratio": ratio, "vm.dirty_ratio": "30"}
            for thp in ("always", "madvise", "never")
            for ratio in ("41", "42")
        ]
        assert [run["settings"] for run in runs] == [p["settings"] for p in plans] == expected
        assert runs[0]["label"] == "sweep memory.thp=always vm.overcommit_ratio=41"
        assert len({run["label"] for run in runs}) == 6
        found = [{f["name"]: f["text"] for f in run["facts"]} for run in runs]
        assert [f["Transparent huge pages"] for f in found] == [
            settings["memory.thp"] for settings in expected
        ]

    @pytest.mark.parametrize(
        ("text", "code", "message"),
        [
            ("memory.thb=never", 2, "did you mean memory.thp"),
            ("memory.thp", 2, "not KNOB=VALUE"),
            ("memory.thp=perhaps", 2, "choose one of always, madvise, never"),
            ("vm.dirty_ratio=101", 2, "a number from 0 to 100"),
            ("vm.dirty_ratio=each", 2, "name them"),
            ("vm.dirty_bytes=1", 1, "refused by the kernel (EINVAL"),
        ],
    )
    def test_what_cannot_be_set_is_one_line(
        self, cli: Cli, before: dict[Path, str], text: str, code: int, message: str
    ) -> None:
        result = cli("run", "--set", text, *SHORT, expect=code)
        (line,) = result.stderr.strip().splitlines()
        assert line.startswith("benchvise: ") and message in line
        assert not changed(before) and no_journals()

    def test_an_error_in_between_puts_it_back(
        self, environment: dict[str, str], before: dict[Path, str]
    ) -> None:
        """The probe is killed, and with it the connection that settings were made over."""
        child = start(environment, "run", *SET, *LONG)
        wait_for("applied", child)
        # Beside it, a shell may still be leaving the note of who has set the board.
        (probe,) = children_called(child.pid, "bvprobe")
        os.kill(probe, signal.SIGKILL)
        _, errors = child.communicate(timeout=PATIENCE)
        assert child.returncode == 1 and "SIGKILL" in errors
        assert not changed(before) and no_journals()

    @pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    @pytest.mark.parametrize("moment", ['"change"', '"applied"'])
    def test_interrupted_it_is_put_back(
        self,
        environment: dict[str, str],
        before: dict[Path, str],
        signum: signal.Signals,
        moment: str,
    ) -> None:
        child = start(environment, "run", *SET, *LONG)
        wait_for(moment, child)
        child.send_signal(signum)
        if signum is signal.SIGINT:  # and again and again by an impatient user
            deadline = time.monotonic() + PATIENCE
            while is_due() or not no_journals():
                child.send_signal(signum)
                assert time.monotonic() < deadline
                time.sleep(0.005)
        _, errors = child.communicate(timeout=PATIENCE)
        assert child.returncode == 4, errors
        assert "the settings are as they were before" in errors.replace("\n", " ")
        assert not changed(before) and no_journals()

    def test_a_change_from_outside_fails_the_run(
        self, cli: Cli, environment: dict[str, str], before: dict[Path, str]
    ) -> None:
        words = [*SHORT[:2], "--processes", "1", "--batches", "200", "--label", "disturbed"]
        child = start(environment, "run", "--set", "vm.overcommit_ratio=41", *words)
        wait_for("applied", child)
        (VM / "overcommit_ratio").write_text("42")
        _, errors = child.communicate(timeout=PATIENCE)
        assert child.returncode == 1
        assert "did not stay 41 while it was measured" in errors.replace("\n", " ")
        assert not changed(before) and no_journals()
        assert data(cli("show", "disturbed", "--json"))["status"] == "failed"


@pytest.mark.long
class TestKilled:
    def test_at_random_moments(
        self, cli: Cli, environment: dict[str, str], before: dict[Path, str]
    ) -> None:
        """As many of a run's whole life as of the part in which something is set."""
        moments = 20 if skips.LONG else 6
        words = ["run", "local", *SET, *SHORT]
        begin = time.monotonic()
        child = start(environment, *words)
        wait_until_set_or_over(child)
        begin_setting = time.monotonic()
        child.communicate(timeout=PATIENCE)
        end = time.monotonic()
        assert child.returncode == 0
        chance = random.Random(4)
        for number in range(2 * moments):
            child = start(environment, *words)
            if number % 2:
                wait_until_set_or_over(child)
            life = end - (begin_setting if number % 2 else begin)
            time.sleep(life * (number // 2 + chance.random()) / moments)
            child.kill()
            child.communicate()
            for result in restore_sessions(None, force=False, keep=False):
                assert result.outcome is RestoreOutcome.DONE, result
            assert not changed(before), f"killed at moment {number}"
            assert no_journals()
        assert data(cli("restore", "--json")) == []

    def test_at_every_record_of_the_journal(
        self, environment: dict[str, str], before: dict[Path, str]
    ) -> None:
        """The process is killed as it is about to put its n-th record on the disk: every third
        one where time is short, as every one is killed at in test_intervention.
        """
        skips.need("strace")
        strace = str(shutil.which("strace"))
        step = 1 if skips.LONG else 3
        due, number = 0, 1 - step
        while True:
            number += step
            inject = ["-e", "trace=fsync", "-e", f"inject=fsync:signal=KILL:when={number}"]
            child = subprocess.run(
                [strace, "-qq", "-o", os.devnull, *inject, *BENCHVISE, "run", *SET, *SHORT],
                capture_output=True,
                check=False,
                env={**os.environ, **environment},
            )
            if child.returncode == 0:
                break
            assert child.returncode == -signal.SIGKILL, child.stderr
            due += is_due()
            for result in restore_sessions(None, force=False, keep=False):
                assert result.outcome is RestoreOutcome.DONE, result
            assert not changed(before), f"killed at record {number}"
            assert no_journals()
        assert due >= 2

    def test_it_is_said_and_comes_first(
        self, cli: Cli, environment: dict[str, str], before: dict[Path, str]
    ) -> None:
        child = start(environment, "run", *SET, *LONG)
        wait_for("applied", child)
        assert "going on" in cli("restore").stdout  # and leaves it alone
        assert values()[THP] == "always madvise [never]\n"
        child.kill()
        child.communicate()
        assert values() != before
        findings = {f["name"]: f for f in data(cli("doctor", "--json", expect=None))}
        assert findings["settings"]["state"] == "limited"
        assert "memory.thp" in findings["settings"]["detail"]
        assert findings["settings"]["remedy"] == "benchvise restore"
        assert "benchvise restore local" in cli("run", *SET, *SHORT, expect=1).stderr
        assert "not put back" in cli("run", *SHORT).stderr
        (result,) = data(cli("restore", "local", "--json"))
        assert not changed(before) and no_journals()
        back = {one["path"]: one for one in result["settings"] if one["verdict"] == "restored"}
        assert back[str(THP)]["before"] == chosen(before[THP])
        assert back[str(THP)]["found"] == "never"
        assert "No setting waits" in cli("restore").stdout

    def test_what_someone_else_has_set_since_is_left_alone(
        self, cli: Cli, environment: dict[str, str], before: dict[Path, str]
    ) -> None:
        child = start(environment, "run", "--set", "vm.overcommit_ratio=41", *LONG)
        wait_for("applied", child)
        child.kill()
        child.communicate()
        (VM / "overcommit_ratio").write_text("43")
        said = cli("restore", expect=1).stdout
        assert "changed by someone else since" in said and "--force" in said
        assert (VM / "overcommit_ratio").read_text() == "43\n"
        cli("restore", "--force", "--keep", expect=2)
        cli("restore", "--force")
        assert not changed(before) and no_journals()


@pytest.fixture
def server(
    plain: SshServer, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> SshServer:
    monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(plain.config))
    return plain


class TestOverSsh:
    def test_measures_with_it_and_puts_it_back(
        self, server: SshServer, cli: Cli, before: dict[Path, str]
    ) -> None:
        (run,) = data(cli("run", server.name, *SET, *BRIEF, "--remove-probe", "--json"))
        assert run["settings"]["memory.thp"] == "never"
        assert not changed(before) and no_journals()

    def test_the_same_board_twice_is_refused(
        self, server: SshServer, cli: Cli, before: dict[Path, str]
    ) -> None:
        result = cli("run", "local", server.name, *SET, *SHORT, expect=1)
        assert "has changed settings of this board" in result.stderr.replace("\n", " ")
        assert not changed(before) and no_journals()

    def test_a_user_who_may_not_changes_nothing(
        self,
        tmp_path: Path,
        environment: dict[str, str],
        cli: Cli,
        before: dict[Path, str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        skips.need("setpriv")
        drop = "setpriv --reuid 65534 --regid 65534 --clear-groups"
        with ssh_server(tmp_path / "sshd", f'exec {drop} sh -c "$SSH_ORIGINAL_COMMAND"') as board:
            monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(board.config))
            result = cli("run", board.name, *SET, *SHORT, "--remove-probe", expect=1)
        (line,) = result.stderr.strip().splitlines()
        assert "EACCES" in line and "needs root" in line
        assert not changed(before) and no_journals()

    def test_over_a_new_connection_when_the_first_is_lost(
        self, server: SshServer, environment: dict[str, str], before: dict[Path, str]
    ) -> None:
        child = start(environment, "run", server.name, *SET, *LONG)
        wait_for("applied", child)
        server.kill_sessions()
        _, errors = child.communicate(timeout=PATIENCE)
        assert child.returncode == 3 and "connection was lost" in errors.replace("\n", " ")
        assert not changed(before) and no_journals()

    def test_a_board_that_is_gone_is_restored_when_it_is_back(
        self,
        tmp_path: Path,
        environment: dict[str, str],
        cli: Cli,
        before: dict[Path, str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with ssh_server(tmp_path / "sshd") as board:
            monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(board.config))
            child = start(environment, "run", board.name, *SET, *LONG)
            wait_for("applied", child)
            switch_off(board)
            _, errors = child.communicate(timeout=PATIENCE)
            assert child.returncode == 3
            said = errors.replace("\n", " ")
            assert "not put back: " in said and f"benchvise restore {board.name}" in said
            assert values() != before and is_due()
            (result,) = data(cli("restore", "--json", expect=3))
            assert result["outcome"] == "the board cannot be reached" and is_due()
            again = subprocess.Popen(board.process.args)
            back = dataclasses.replace(board, process=again)
            try:
                wait_until_listening(back, board.directory / "log")
                cli("restore")
            finally:
                again.terminate()
                again.wait()
        assert not changed(before) and no_journals()


def switch_off(board: SshServer) -> None:
    """Nobody answers any more, and whoever was connected is not."""
    sessions = children(board.process.pid)
    sessions += [pid for session in sessions for pid in children(session)]
    names = {pid: Path(f"/proc/{pid}/comm").read_text() for pid in sessions}
    board.process.terminate()
    board.process.wait()
    for pid in (pid for pid, name in names.items() if name.startswith("sshd")):
        with contextlib.suppress(ProcessLookupError):  # it went with another
            os.kill(pid, signal.SIGKILL)


class TestTwoUsers:
    """Two hosts and one account on the board: neither sees journals or locks of the other."""

    def test_one_after_the_other_and_after_kill_9(
        self,
        cli: Cli,
        before: dict[Path, str],
        applets_only: SshServer,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        server = applets_only  # which has just a dozen programs, and no `ln`
        monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(server.config))
        environment = dict(os.environ)
        other = {
            journal.DIRECTORY_VARIABLE: str(tmp_path / "other"),
            locks.DIRECTORY_VARIABLE: str(tmp_path / "locks"),
        }
        setting = ["--set", "vm.overcommit_ratio=41", *LONG]
        child = start(environment, "run", server.name, *setting)
        wait_for("applied", child)
        command = [*BENCHVISE, "run", server.name, "--set", "vm.overcommit_ratio=42", *SHORT]

        def refused() -> str:
            second = subprocess.run(
                command, env={**environment, **other}, capture_output=True, text=True, check=False
            )
            assert second.returncode == 1, second
            assert changed(before) == {VM / "overcommit_ratio": (was, "41\n")}
            return second.stderr

        was = before[VM / "overcommit_ratio"]
        assert f"vm.overcommit_ratio (was {was.strip()}) since" in refused()
        os.kill(child.pid, signal.SIGKILL)
        child.communicate(timeout=PATIENCE)
        wait_until(lambda: not server.programs(), "its probe goes on")
        assert f"benchvise restore {server.name} --take-over" in refused()
        taken = subprocess.run(
            [*BENCHVISE, "restore", server.name, "--take-over"],
            env={**environment, **other},
            capture_output=True,
            text=True,
            check=False,
        )
        assert taken.returncode == 0 and not changed(before), taken
        assert "already as before" in cli("restore").stdout and no_journals()
