"""``benchvise bisect`` on several boards from the command line: SSH servers on loopback."""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from in_process import Ran, benchvise
from sshd import ssh_server
from waiting import wait_until

from benchvise.bisect.journal import FILE

BOARDS = ("fast", "slow", "other")
SLOW = 9
COUNT = 16
BROKEN = 12

# Each board has its own level, and one that it counts up scatters its values by the same rule.
COMMAND = (
    "n=$(cat {directory}/count-{board} 2>/dev/null || echo 0); "
    "echo $((n+1)) >{directory}/count-{board}; test ! -e {directory}/slowly || sleep 0.1; "
    "case {board} in rig:fast) k=1;; *) k=3;; esac; "
    'echo "took $((($(cat {directory}/app-{board}) * 10 + n * 7 % 10) * k)) tenths"'
)


@dataclass(frozen=True)
class Lab:
    """Two boards that answer, one that does not, and a repository with a slow commit."""

    directory: Path
    commits: list[str]

    def words(self, *boards: str) -> list[str]:
        command = COMMAND.replace("{directory}", str(self.directory))
        deploy = f"cp out {self.directory}/app-$BENCHVISE_BOARD"
        build = (
            f'test "$(cat number)" != {BROKEN} || {{ echo "no rule to make it"; exit 2; }}; '
            f"cp cost out; cat number >>{self.directory}/built"
        )
        return [
            "bisect", *(f"rig:{board}" for board in boards), "--rig", f"{self.directory}/rig.yaml",
            "--git", f"{self.directory}/source", "--good", self.commits[0], "--bad", "main",
            "--build", build, "--deploy", deploy, "--command", command,
            "--match", "took ([0-9]+) tenths", "--better", "lower", "--unit", "ds",
            "-o", f"{self.directory}/out", "--json",
        ]  # fmt: skip


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """The ports of two servers; the client's configuration knows both."""
    directory = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        running = [stack.enter_context(ssh_server(directory / name)) for name in BOARDS[:2]]
        keys = "".join(f" IdentityFile {server.directory}/client\n" for server in running)
        hosts = " ".join(str(server.known_hosts) for server in running)
        configuration = directory / "client_config"
        configuration.write_text(
            f"Host *\n{keys} IdentitiesOnly yes\n IdentityAgent none\n"
            f" UserKnownHostsFile {hosts}\n GlobalKnownHostsFile /dev/null\n"
        )
        patch.setenv("BENCHVISE_SSH_CONFIG", str(configuration))
        yield [server.port for server in running]


@pytest.fixture
def lab(tmp_path: Path, servers: list[int], monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("BENCHVISE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("BENCHVISE_LOCK_DIR", str(tmp_path / "locks"))
    source = tmp_path / "source"
    source.mkdir()

    def git(*words: str) -> str:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        command = ["git", "-C", str(source), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    for number in range(COUNT):
        (source / "cost").write_text(f"{1000 if number < SLOW else 1300}\n")
        (source / "number").write_text(f"{number}\n")
        git("add", ".")
        git("commit", "-q", "-m", f"commit {number}")
    target = (
        "  {name}:\n    resources: {{NetworkService: {{address: 127.0.0.1, port: {port}, "
        "username: {user}}}}}\n    drivers: [SSHDriver: {{}}]\n"
        "    options: {{benchvise: {{shares: []}}}}\n"
    )
    ports = [*servers, 1]  # nobody listens at the last
    targets = [
        target.format(name=name, port=port, user=getpass.getuser())
        for name, port in zip(BOARDS, ports, strict=True)
    ]
    (tmp_path / "rig.yaml").write_text("targets:\n" + "".join(targets))
    return Lab(tmp_path, git("rev-list", "--reverse", "main").split())


def test_boards_find_a_slow_commit_together_and_one_is_off(lab: Lab) -> None:
    ran: Ran = benchvise(*lab.words(*BOARDS))
    assert ran.code == 0, ran.err
    assert ran.data["verdict"] == "found"
    assert ran.data["first_bad"] == lab.commits[SLOW][:12]
    fast, slow, other = ran.data["boards"]
    assert (fast["seen"], slow["seen"]) == ("seen", "seen")
    assert fast["ratio"] == pytest.approx(1.3, rel=0.02)
    assert slow["before"] == pytest.approx(3 * fast["before"], rel=0.02)
    assert (other["samples"], bool(other["lost"])) == (0, True)
    # Each commit is built once, whichever board measures it, unless its tree was needed before the
    # other board came to it.
    built = (lab.directory / "built").read_text().split()
    measured = {row["number"] for row in ran.data["versions"] if row["samples"]}
    assert {int(number) for number in built} >= measured
    assert all(built.count(number) <= 2 for number in built)
    left_out = [row for row in ran.data["versions"] if row["left_out"]]
    assert all(row["number"] == BROKEN and "board" not in row for row in left_out)
    assert not list((lab.directory / "out").glob("tree*"))


def test_a_killed_bisection_goes_on_with_the_boards_that_are_left(lab: Lab) -> None:
    """As a process of its own: it is killed while boards are half-way."""
    journal, slowly = lab.directory / "out" / FILE, lab.directory / "slowly"
    slowly.touch()
    command = [sys.executable, "-m", "benchvise", *lab.words("fast", "slow")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )

    def has_three_samples() -> bool:
        assert process.poll() is None, process.communicate()
        return journal.exists() and journal.read_bytes().count(b"\n") >= 3

    wait_until(has_three_samples, "three samples")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    slowly.unlink()
    kept = journal.read_bytes()
    assert {json.loads(line)["board"] for line in kept.splitlines()} == {"rig:fast", "rig:slow"}
    again = benchvise("bisect", "--resume", lab.directory / "out", "--json")
    assert again.code == 0, again.err
    assert again.data["first_bad"] == lab.commits[SLOW][:12]
    assert journal.read_bytes().startswith(kept)
    assert again.data["samples"] >= len(kept.splitlines())


def test_what_is_of_one_board_is_refused_for_several(lab: Lab) -> None:
    ran = benchvise(*lab.words("fast", "slow"), "--good-run", "1234")
    assert (ran.code, "of one board" in ran.out) == (2, True)
    ran = benchvise(*lab.words("fast", "slow"), "--parallel", "some")
    assert (ran.code, "--parallel: " in ran.out) == (2, True)
    images = ("--images", f"{lab.directory}/rig.yaml,{lab.directory}/source/cost")
    ends = ("--good", f"{lab.directory}/rig.yaml", "--bad", f"{lab.directory}/source/cost")
    ran = benchvise("bisect", "local", "root@192.0.2.7", *images, *ends, "--bench", "cpu.clock")
    assert (ran.code, "local is no board of a rig" in ran.err) == (2, True)
