"""`benchvise why` on this machine and over SSH, for real: the planted cause is named, and whatever
ends it, afterwards all is as it was.

Settings of the whole machine are changed for fractions of a second; the fixture puts them back.
Most metrics here are values that follow from a setting, so that no neighbour changes them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import skips
from sshd import SshServer, children, ssh_server, wait_until_listening
from waiting import PATIENCE

from benchvise.board import open_board, ssh
from benchvise.cli import main
from benchvise.measure.suite import parse_bench
from benchvise.state import journal
from benchvise.state.intervention import Intervention, NotHeld
from benchvise.state.knobs import Setting, find_knob
from benchvise.store import Store
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.live import LiveBench
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.experiments.evidence import FILE
from benchvise.why.model import Arm, Layer, ProcessMeans, SettingMeans, Side, Suspect

pytestmark = [
    pytest.mark.settings,
    skips.needs_root,
]

VM = Path("/proc/sys/vm")
RATIO = VM / "overcommit_ratio"
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
FILES = (RATIO, VM / "oom_dump_tasks", VM / "max_map_count", THP)
# A figure that follows from one of the planted settings.
FIGURE = ["--command", f"expr 1000 + 10 '*' $(cat {RATIO})", "--match", r"(\d+)"]
FIGURE += ["--better", "higher"]
GOOD = {RATIO: "50", VM / "oom_dump_tasks": "1", VM / "max_map_count": "65530"}
PLANTED = {RATIO: "10", VM / "oom_dump_tasks": "0", VM / "max_map_count": "65000"}

BENCHVISE = [sys.executable, "-m", "benchvise"]


class Output(NamedTuple):
    """What a command has said."""

    stdout: str
    stderr: str


Cli = Callable[..., Output]


def values() -> dict[Path, str]:
    return {path: path.read_text() for path in FILES}


def chosen(text: str) -> str:
    return text.partition("[")[2].partition("]")[0] if "[" in text else text.strip()


def plant(settings: dict[Path, str]) -> dict[Path, str]:
    """Makes this machine the bad one; returns what has to be there whenever a diagnosis ends."""
    for path, value in settings.items():
        path.write_text(value)
    return values()


@pytest.fixture(autouse=True)
def before() -> Iterator[dict[Path, str]]:
    """The machine's state; it is put back by this and not by what is tested."""
    state = values()
    try:
        yield state
    finally:
        for path, text in state.items():
            path.write_text(chosen(text))


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("BENCHVISE_BOARD_DIR", str(tmp_path / "board"))
    (tmp_path / "board").mkdir()
    monkeypatch.setenv("COLUMNS", "160")
    return dict(os.environ)


@pytest.fixture
def cli(environment: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Cli:
    def run(*words: str, expect: int | None = 0) -> Output:
        capsys.readouterr()
        code = main.run(list(words))
        output = Output(*capsys.readouterr())
        assert expect in (None, code), output
        return output

    return run


@pytest.fixture
def good(cli: Cli) -> str:
    """A run of the machine before anything is planted, which is the good side."""
    plant(GOOD)
    words = [*FIGURE, "--processes", "6", "--batches", "1", "--label", "good"]
    cli("run", *words)
    return "good"


@pytest.fixture
def server(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[SshServer]:
    with ssh_server(tmp_path / "sshd") as board:
        monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(board.config))
        yield board


@pytest.fixture
def origin() -> Iterator[Path]:
    """The file that sets what is planted; one that the next boot forgets."""
    file = Path("/run/sysctl.d/99-benchvise-test.conf")
    made = not file.parent.exists()
    file.parent.mkdir(exist_ok=True)
    try:
        file.write_text("# planted\nvm.overcommit_ratio = 10\n")
        yield file
    finally:
        file.unlink(missing_ok=True)
        if made:
            file.parent.rmdir()


def data(result: Output) -> Any:
    return json.loads(result.stdout)["data"]


def start(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENCHVISE, "why", *words],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], bool], child: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)


def is_set() -> bool:
    """Whether a diagnosis has set something just now."""
    for file in journal.state_directory().glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError):
            if '"applied"' in file.read_text():
                return True
    return False


def trials(directory: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return (directory / FILE).read_text().count('"kind":"trial"')
    return 0


def no_journals() -> bool:
    return list(journal.state_directory().glob("*.jsonl")) == []


class TestRecordedGoodSide:
    def test_the_planted_setting_is_named_and_all_is_put_back(
        self, cli: Cli, good: str, tmp_path: Path, origin: Path
    ) -> None:
        planted = plant(PLANTED)
        where = tmp_path / "evidence"
        words = ["why", "local", "--good", good, *FIGURE]
        plan = data(cli(*words, "--dry-run", "--json"))
        assert values() == planted and not where.exists()
        (flip,) = [f for f in plan["flips"] if f["suspect"] == "vm.overcommit_ratio"]
        assert (flip["path"], flip["side"]) == (str(RATIO), "bad")
        found = data(cli(*words, "--seed", "7", "-o", str(where), "--json"))
        assert values() == planted and no_journals()
        assert found["verdict"] == "explained" and found["restored"]
        (cause,) = found["causes"]
        assert cause["name"] == "vm.overcommit_ratio"
        assert 0.9 < cause["share"]["value"] < 1.1
        assert (cause["origins"][0]["file"], cause["origins"][0]["line"]) == (str(origin), 2)
        assert cause["again"]["outcome"] != "unresolved" and cause["repair"]["p"] < 0.01
        made = [w for w in found["writes"] if w["path"] == str(RATIO)]
        assert len(made) == 2 * len([w for w in made if w["undone"]]) > 0
        kept = json.loads((where / "diagnosis.json").read_text())
        assert kept["causes"] == found["causes"] and kept["repeat"].startswith(
            "benchvise why local"
        )
        assert "vm.overcommit_ratio" in (where / "index.html").read_text()
        with Store.open(os.environ["BENCHVISE_STORE"]) as store:
            assert [info.id for info in store.diagnoses()] == [found["id"]]

    def test_stopped_and_killed_it_goes_on(
        self, cli: Cli, good: str, environment: dict[str, str], tmp_path: Path
    ) -> None:
        planted = plant(PLANTED)
        where = tmp_path / "evidence"
        child = start(environment, "local", "--good", good, *FIGURE, "-o", str(where), "--json")
        wait_for(is_set, child)
        child.send_signal(signal.SIGINT)
        said, errors = child.communicate(timeout=PATIENCE)
        assert child.returncode == 4, (said, errors)
        partial = json.loads(said)["data"]
        assert partial["verdict"] == "incomplete" and partial["stopped"] == "interrupted"
        assert partial["reached"] and partial["gap"]["ratio"] > 1.3
        assert values() == planted and no_journals()
        kept = trials(where)
        chance = random.Random(time.monotonic())
        for _ in range(2):
            child = start(environment, "--resume", str(where))
            had = trials(where)
            wait_for(lambda had=had: trials(where) > had, child)  # type: ignore[misc]
            time.sleep(chance.random())
            child.kill()
            child.communicate()
            assert trials(where) >= kept
            cli("restore")
            assert values() == planted and no_journals()
        found = data(cli("why", "--resume", str(where), "--json"))
        assert [cause["name"] for cause in found["causes"]] == ["vm.overcommit_ratio"]
        assert found["verdict"] == "explained" and len(found["trials"]) > kept
        assert values() == planted and no_journals()

    def test_without_a_difference_there_is_none(self, cli: Cli, good: str) -> None:
        found = data(cli("why", "local", "--good", good, *FIGURE, "--json"))
        assert found["verdict"] == "no difference shown" and found["writes"] == []

    def test_a_full_disk_keeps_what_was_measured(self, cli: Cli, good: str, tmp_path: Path) -> None:
        planted = plant(PLANTED)
        small = tmp_path / "small"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(small)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            skips.skip("mount")
        try:
            where = small / "evidence"
            filler = small / "filler"
            filler.write_bytes(b"x" * (1 << 20))
            with filler.open("ab") as file, contextlib.suppress(OSError):
                while os.statvfs(small).f_bavail > 100:
                    file.write(b"x" * 4096)
                    file.flush()
            words = ["why", "local", "--good", good, *FIGURE, "-o", str(where)]
            said = cli(*words, expect=1).stderr.replace("\n", " ")
            assert "No space left on device" in said and f"--resume {where}" in said
            assert values() == planted and no_journals()
            filler.unlink()
            found = data(cli("why", "--resume", str(where), "--json"))
            assert [cause["name"] for cause in found["causes"]] == ["vm.overcommit_ratio"]
        finally:
            subprocess.run(["umount", str(small)], check=True)

    @pytest.mark.alone  # its metric is a speed
    def test_huge_pages_and_a_source_that_is_never_written(self, cli: Cli) -> None:
        """Story 2 on this machine: the faster setting is the good side, whichever that is here."""
        metric = ["--bench", "memory.read:source=untouched"]
        speeds = {}
        for mode in ("always", "never"):
            plant({THP: mode})
            words = [*metric, "--processes", "8", "--batches", "5", "--label", mode, "--json"]
            (run,) = data(cli("run", *words))
            speeds[mode] = run["series"][0]["summary"]["median"]
        best, worst = sorted(speeds, key=speeds.__getitem__, reverse=True)
        planted = plant({THP: worst})
        found = data(cli("why", "local", "--good", best, *metric, "--json", expect=None))
        assert values() == planted and no_journals()
        assert any("never written" in finding["sentence"] for finding in found["findings"])
        if found["verdict"] != "no difference shown":  # a machine may not mind
            assert "memory.thp" in [s["id"] for s in found["suspects"] if s["testable"]]
            assert [cause["name"] for cause in found["causes"]] == ["memory.thp"], found["headline"]


class TestTwoBoards:
    def test_what_a_process_inherits_is_flipped_on_both(
        self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A board whose sessions are all nice, and a figure that follows from that."""
        with ssh_server(tmp_path / "sshd", 'exec nice -n 7 sh -c "$SSH_ORIGINAL_COMMAND"') as board:
            monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(board.config))
            metric = ["--command", "expr 100 - 5 '*' $(nice)", "--match", r"(\d+)"]
            words = ["why", "local", board.name, *metric, "--better", "higher", "--json"]
            found = data(cli(*words))
        assert found["verdict"] == "explained"
        (cause,) = found["causes"]
        assert cause["name"] == "process.inherited:nice" and found["writes"] == []
        assert cause["breaking"]["p"] < 0.01 and 0.9 < cause["share"]["value"] < 1.1
        assert (found["good"], found["bad"]) == ("local", board.name)

    def test_a_user_who_may_not_set_is_told_what_was_not_tested(
        self, cli: Cli, good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        skips.need("setpriv")
        planted = plant(PLANTED)
        drop = "setpriv --reuid 65534 --regid 65534 --clear-groups"
        (tmp_path / "board").chmod(0o777)
        tmp_path.chmod(0o755)
        monkeypatch.delenv("BENCHVISE_BOARD_DIR")
        with ssh_server(tmp_path / "sshd", f'exec {drop} sh -c "$SSH_ORIGINAL_COMMAND"') as board:
            monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(board.config))
            words = ["why", board.name, "--good", good, *FIGURE, "--json"]
            found = data(cli(*words, expect=1))
        assert found["verdict"] == "unexplained" and found["writes"] == []
        (ratio,) = [s for s in found["suspects"] if s["id"] == "vm.overcommit_ratio"]
        assert not ratio["testable"] and "may not be set" in ratio["untestable"]
        assert any("vm.overcommit_ratio" in sentence for sentence in found["needed"])
        assert values() == planted and no_journals()


class TestLostConnection:
    def test_it_goes_on_over_a_new_one_and_ends_when_there_is_none(
        self, cli: Cli, good: str, server: SshServer, environment: dict[str, str], tmp_path: Path
    ) -> None:
        planted = plant(PLANTED)
        where = tmp_path / "evidence"
        words = [server.name, "--good", good, *FIGURE, "--patience", "3", "-o", str(where)]
        child = start(environment, *words, "--json")
        for _ in range(2):
            wait_for(is_set, child)
            server.kill_sessions()
            had = trials(where)
            wait_for(lambda had=had: trials(where) > had, child)  # type: ignore[misc]
        wait_for(is_set, child)
        switch_off(server)
        said, errors = child.communicate(timeout=PATIENCE)
        assert child.returncode == 3, (said, errors)
        partial = json.loads(said)["data"]
        assert partial["stopped"] == "contact lost" and not partial["restored"]
        assert "vm.overcommit_ratio" in partial["reached"]
        assert values() != planted
        again = subprocess.Popen(server.process.args)
        try:
            wait_until_listening(dataclasses.replace(server, process=again), tmp_path / "log")
            cli("restore", server.name)
            assert values() == planted and no_journals()
            found = data(cli("why", "--resume", str(where), "--json"))
        finally:
            again.terminate()
            again.wait()
        assert [cause["name"] for cause in found["causes"]] == ["vm.overcommit_ratio"]
        assert values() == planted and no_journals()


def switch_off(board: SshServer) -> None:
    """Nobody answers any more, and whoever was connected is not."""
    sessions = children(board.process.pid)
    sessions += [pid for session in sessions for pid in children(session)]
    names = {pid: Path(f"/proc/{pid}/comm").read_text() for pid in sessions}
    board.process.terminate()
    board.process.wait()
    for pid in (pid for pid, name in names.items() if name.startswith("sshd")):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.usefixtures("environment")
class TestBench:
    """The bench by itself, on this machine."""

    @pytest.fixture
    def bench(self, environment: dict[str, str]) -> Iterator[LiveBench]:
        def local() -> LiveBoard:
            entry = parse_bench("os.syscall")
            return LiveBoard(open_board("local"), lambda: open_board("local"), entry)

        bench = LiveBench({Side.GOOD: local(), Side.BAD: local()})
        yield bench
        bench.close()

    def test_a_refused_write_names_its_suspect(self, bench: LiveBench) -> None:
        state = values()
        fine = suspect("vm.overcommit_ratio", "41")
        wrong = suspect("vm.dirty_bytes", "1")
        with pytest.raises(ArmRefused, match="EINVAL") as refused:
            bench.measure(Arm(Side.BAD, (fine, wrong)))
        assert refused.value.suspects == ("vm.dirty_bytes",)
        assert values() == state and no_journals()
        assert bench.measure(Arm(Side.BAD, (fine,))).flipped == ("vm.overcommit_ratio",)
        assert [w.undone for w in bench.writes()[-2:]] == [False, True]
        assert values() == state and no_journals()

    def test_what_somebody_else_sets_meanwhile_is_no_refusal(
        self, bench: LiveBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        state = values()
        seen: list[list[str]] = [["kernel.panic (/proc/sys/kernel/panic: 0 → 1)"], []]
        monkeypatch.setattr(
            Intervention, "_look_for_side_effects", lambda *_: seen.pop(0) if seen else []
        )
        held: list[NotHeld] = []

        def check(_made: Intervention) -> None:
            if held:
                raise held.pop()

        monkeypatch.setattr(Intervention, "check_held", check)
        arm = Arm(Side.BAD, (suspect("vm.overcommit_ratio", "41"),))
        assert bench.measure(arm).value > 0 and not seen
        held.append(NotHeld("local: it did not stay"))
        assert bench.measure(arm).value > 0 and not held
        with pytest.raises(ArmRefused, match="something else changed too") as refused:
            seen += [["kernel.panic"], ["kernel.panic"]]
            bench.measure(arm)
        assert refused.value.suspects == ("vm.overcommit_ratio",)
        assert values() == state and no_journals()

    def test_a_refused_attribute_names_its_suspect(self, bench: LiveBench) -> None:
        away = Suspect(
            "away", "", Layer.PROCESS, "", "", "", means=ProcessMeans({"cpus": "1023"}, {})
        )
        with pytest.raises(ArmRefused, match="no such CPU") as refused:
            bench.measure(Arm(Side.BAD, (away, suspect("vm.overcommit_ratio", "41"))))
        assert refused.value.suspects == ("away",) and no_journals()

    def test_a_probe_that_dies_is_started_again(self, bench: LiveBench) -> None:
        first = bench.measure(Arm(Side.BAD))
        kill_probes()
        for arm in (Arm(Side.BAD, (suspect("vm.overcommit_ratio", "41"),)), Arm(Side.GOOD)):
            again = bench.measure(arm)
            assert again.value > 0 and again.number > first.number
        assert [f.rule for f in bench.findings()].count("booted again") == 0
        assert no_journals()

    def test_what_contact_does_not_survive_names_its_suspect(
        self, bench: LiveBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        state = values()
        process = LiveBoard.process

        def cut(board: LiveBoard, *words: Any, **more: Any) -> Any:
            if Path("/proc/sys/vm/overcommit_ratio").read_text() == "41\n":
                kill_probes()
            return process(board, *words, **more)

        monkeypatch.setattr(LiveBoard, "process", cut)
        with pytest.raises(ArmRefused, match="contact is lost while it is set") as refused:
            bench.measure(Arm(Side.BAD, (suspect("vm.overcommit_ratio", "41"),)))
        assert refused.value.suspects == ("vm.overcommit_ratio",)
        assert values() == state and no_journals()
        assert bench.measure(Arm(Side.BAD)).value > 0

    def test_all_that_is_counted_has_a_name(self, bench: LiveBench) -> None:
        during = bench.during(Arm(Side.BAD))
        assert {"stat.ctxt", "task_clock_ns"} <= set(during)
        (check,) = bench.cross_check(["os.syscall", "none.such"])
        assert check.key == "os.syscall" and check.gap.low <= check.gap.value <= check.gap.high
        assert bench.facts(Side.BAD).host["uid"] == 0
        assert bench.seconds(Arm(Side.BAD, (suspect("vm.dirty_bytes", "1"),)), None) > 0


def kill_probes() -> None:
    for pid in children(os.getpid()):
        if b"bvprobe" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


def suspect(knob: str, value: str) -> Suspect:
    means = SettingMeans((Setting(find_knob(knob), value),), ())
    return Suspect(knob, knob, Layer.RUN_TIME, knob, value, "", means=means)
