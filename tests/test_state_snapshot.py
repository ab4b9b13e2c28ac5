"""Snapshots of real systems: this machine, as root and as nobody, behind SSH, with busybox only."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import skips
from board_servers import ARCH, needs_probe, needs_root, opened
from sshd import SshServer
from waiting import PATIENCE

from benchvise.board import Board, open_board
from benchvise.board.channel import ProbeChannel, open_channel
from benchvise.board.local import LocalBoard
from benchvise.board.probes import load_probe
from benchvise.state.commands import run_commands
from benchvise.state.diff import DifferenceKind, delta, diff_snapshots
from benchvise.state.model import Family, Missing, Snapshot
from benchvise.state.snapshot import take_snapshot

pytest_plugins = ["board_fixtures"]
pytestmark = needs_probe

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SWAPPINESS = Path("/proc/sys/vm/swappiness")


@pytest.fixture
def local() -> Iterator[tuple[Board, ProbeChannel]]:
    with open_board("local") as board, open_channel(board) as channel:
        yield board, channel


def values(snapshot: Snapshot) -> dict[str, object]:
    return {entry.name: entry.value for entry in snapshot.entries() if entry.missing is None}


def differences(a: Snapshot, b: Snapshot) -> dict[str, tuple[object, object]]:
    return {
        d.entry.name: (d.a.value if d.a else None, d.b.value if d.b else None)
        for d in diff_snapshots(a, b).differences
    }


def counted(thing: object, method: str) -> list[object]:
    """A list that gets a member whenever that method of this object is called."""
    calls: list[object] = []
    original = getattr(thing, method)

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return original(*arguments, **options)

    setattr(thing, method, call)
    return calls


class TestThisMachine:
    def test_it_is_what_the_machine_says(self, local: tuple[Board, ProbeChannel]) -> None:
        taken = take_snapshot(*local)
        found = values(taken)
        assert found["memory.page_size/bytes"] == os.sysconf("SC_PAGESIZE")
        assert found["kernel.version/osrelease"] == os.uname().release
        assert found["memory.swap/swappiness"] == int(SWAPPINESS.read_text())
        assert found["kernel.word_size/machine"] == {"machine": ARCH}
        assert taken.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert taken.privilege == ("root" if os.geteuid() == 0 else "user")
        assert taken.board == "local" and taken.roles["kernel"] == os.uname().release
        assert {entry.item for entry in taken.observations} >= {
            *("cpu.measured_clock", "irq.rates", "system.load", "log.classes", "net.errors"),
        }
        for entry in taken.entries():
            assert (entry.missing is None) != bool(entry.reason), entry
            assert "not understood" not in entry.reason.raw, entry

    @pytest.mark.settings
    def test_two_snapshots_are_equal(self, local: tuple[Board, ProbeChannel]) -> None:
        first, second = take_snapshot(*local), take_snapshot(*local)
        assert differences(first, second) == {}
        assert first.digest == second.digest

    def test_the_time_in_between_runs_alike_on_board_and_host(
        self, local: tuple[Board, ProbeChannel]
    ) -> None:
        before = take_snapshot(*local, items=["timer.clocksource", "irq.rates"])
        time.sleep(0.5)
        after = take_snapshot(*local, items=["timer.clocksource", "irq.rates"])
        found = delta(before, after)
        assert not found.rebooted
        assert found.board_seconds is not None and found.board_seconds > 0.5
        # The board's clock was read while each was taken: by so much the host may be mistaken.
        assert found.clock_error is not None and found.host_seconds
        assert abs(found.clock_error) < (before.seconds + after.seconds) / found.host_seconds
        totals = found.change("irq.rates", "totals")
        assert totals["ctxt"] > 0

    def test_parts_of_it(self, local: tuple[Board, ProbeChannel]) -> None:
        serial = take_snapshot(*local, families=[Family.SERIAL])
        assert {"serial.settings", "serial.errors", "kernel.printk"} <= {
            entry.item for entry in serial.entries()
        }
        assert not any(entry.item == "memory.thp" for entry in serial.entries())
        thp = take_snapshot(*local, items=["memory.thp"])
        assert {entry.item for entry in thp.entries()} == {"memory.thp"}

    def test_it_costs_a_second_of_cpu_at_most(self, local: tuple[Board, ProbeChannel]) -> None:
        """The promise is 3 s, with what the probe waits for: see ``test_facts_end_soon``."""
        before = time.process_time()
        take_snapshot(*local)
        assert time.process_time() - before < 1


@needs_root
@pytest.mark.settings
class TestPlantedChanges:
    """One thing is set, and the difference is that one thing."""

    @contextlib.contextmanager
    def set(self, path: Path, value: str) -> Iterator[None]:
        old = path.read_text()
        found = re.search(r"\[(.+)\]", old)
        try:
            path.write_text(value)
        except OSError as error:
            skips.skip("settings", f"{path}: {error}")
        try:
            yield
        finally:
            path.write_text(found[1] if found else old)

    def seen(
        self, local: tuple[Board, ProbeChannel], path: Path, value: str
    ) -> dict[str, tuple[object, object]]:
        """What differs while it is set, but for what did not go back with it: others set that."""
        before = take_snapshot(*local)
        with self.set(path, value):
            during = take_snapshot(*local)
        others = differences(before, take_snapshot(*local))
        found = differences(before, during)
        return {name: values for name, values in found.items() if name not in others}

    def test_transparent_huge_pages(self, local: tuple[Board, ProbeChannel]) -> None:
        if not THP.exists():
            skips.skip("huge pages")
        now = re.search(r"\[(.+)\]", THP.read_text())
        assert now is not None
        other = "always" if now[1] != "always" else "madvise"
        reserve = Path("/proc/sys/vm/min_free_kbytes")
        kept = reserve.read_text()
        try:
            found = self.seen(local, THP, other)
        finally:
            reserve.write_text(kept)  # the kernel raises it when huge pages are switched on
        found.pop("memory.watermarks/min_free_kbytes", None)
        assert found == {"memory.thp/mode": (now[1], other)}

    def test_a_sysctl(self, local: tuple[Board, ProbeChannel]) -> None:
        now = int(SWAPPINESS.read_text())
        other = now - 1 if now else 1
        found = self.seen(local, SWAPPINESS, str(other))
        assert found == {"memory.swap/swappiness": (now, other)}

    def test_read_ahead_of_the_root_disk(self, local: tuple[Board, ProbeChannel]) -> None:
        disk = take_snapshot(*local, items=["memory.thp"]).roles.get("root_disk")
        if disk is None:
            skips.skip("disk")
        path = Path(f"/sys/block/{disk}/queue/read_ahead_kb")
        now = int(path.read_text())
        found = self.seen(local, path, str(now + 64))
        assert found == {"storage.queue/root_disk read_ahead_kb": (now, now + 64)}


class AsNobody(LocalBoard):
    """This machine for a plain user."""

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        ids = ["--reuid=65534", "--regid=65534", "--clear-groups"]
        return super().spawn(["setpriv", *ids, *argv])


@pytest.fixture
def nobody() -> Iterator[tuple[Board, ProbeChannel]]:
    """A plain user's way to this machine, with the probe where that user can reach it."""
    skips.need_root()
    skips.need("setpriv")
    with tempfile.TemporaryDirectory() as directory, AsNobody() as board:
        Path(directory).chmod(0o755)
        for file in load_probe(ARCH).files:
            (Path(directory) / file.name).write_bytes(file.data)
            (Path(directory) / file.name).chmod(0o755)
        with ProbeChannel(board, [f"{directory}/bvprobe"]) as channel:
            yield board, channel


class TestPlainUser:
    def test_it_sees_most_and_says_what_it_does_not(
        self, nobody: tuple[Board, ProbeChannel]
    ) -> None:
        taken = take_snapshot(*nobody)
        assert taken.privilege == "user"
        assert len(values(taken)) > 200
        for entry in taken.entries():
            assert "not understood" not in entry.reason.raw, entry

    def test_what_root_sees_more_is_no_difference(
        self, nobody: tuple[Board, ProbeChannel], local: tuple[Board, ProbeChannel]
    ) -> None:
        result = diff_snapshots(take_snapshot(*nobody), take_snapshot(*local))
        ours = {"process.inherited", "process.environment", "memory.thp", "storage.dirty_limits"}
        for difference in result.differences:
            assert difference.entry.item in ours or difference.kind is DifferenceKind.CHANGED, (
                difference
            )
        for difference in result.unseen:
            assert difference.kind is DifferenceKind.UNREADABLE_A, difference


class TestSsh:
    @pytest.mark.usefixtures("home")
    @pytest.mark.parametrize("kind", ["plain", "busybox", "applets_only", "talkative"])
    def test_it_works_whatever_is_there(
        self, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server: SshServer = request.getfixturevalue(kind)
        with opened(server, monkeypatch) as board, open_channel(board) as channel:
            requests, commands = counted(channel, "request"), counted(board, "spawn")
            taken = take_snapshot(board, channel)
        # Far away, what costs time are round trips.
        assert 0 < len(requests) <= 12
        assert len(commands) <= 1
        assert taken.board == server.name
        found = values(taken)
        assert found["kernel.version/osrelease"] == os.uname().release
        assert found["cpu.measured_clock/cpu0"]
        if kind == "applets_only":
            answers = [e for e in taken.entries() if e.path.startswith("vcgencmd ")]
            assert answers and all(e.missing is Missing.ABSENT for e in answers)

    def test_it_is_the_same_as_without_ssh(
        self, board: Board, local: tuple[Board, ProbeChannel]
    ) -> None:
        """But for what a login shell hands down."""
        with open_channel(board) as channel:
            result = diff_snapshots(take_snapshot(board, channel), take_snapshot(*local))
        handed_down = {"process.environment", "process.inherited", "system.cgroup"}
        # Other tests change these, mount, and start and end programs that are known to disturb.
        disturbed = {"memory.thp", "storage.dirty_limits", "memory.overcommit", "memory.swap"}
        disturbed |= {"system.processes", "storage.mounts", "storage.file_systems"}
        assert {d.entry.item for d in result.differences} <= handed_down | disturbed


class TestCommands:
    def run(self, *lines: str, seconds: float = PATIENCE) -> list[tuple[str, Missing | None]]:
        found = run_commands(LocalBoard(), lines, seconds=seconds)
        return [(found[line].text, found[line].missing) for line in lines]

    def test_they_answer_in_their_order(self) -> None:
        assert self.run("echo one two", "no-such-program", "printf x", "false", "echo end") == [
            ("one two", None),
            ("", Missing.ABSENT),
            ("x", None),
            ("", Missing.ABSENT),
            ("end", None),
        ]

    def test_nothing_is_expanded_or_executed(self) -> None:
        assert self.run("echo * $(id) ;x `id`") == [("* $(id) ;x `id`", None)]

    def test_one_that_does_not_end_costs_only_itself(self) -> None:
        skips.need("timeout")
        found = self.run("echo first", "sleep 100", "echo last")
        assert found == [("first", None), ("", Missing.UNREADABLE), ("last", None)]

    def test_what_came_in_time_counts(self) -> None:
        sleeps = [f"sleep 2.{number}" for number in range(5, 9)]
        found = self.run("echo first", *sleeps, "echo last", seconds=6)
        assert found[0] == ("first", None)
        assert found[-1] == ("", Missing.UNREADABLE)

    def test_a_flood_is_cut(self) -> None:
        found = run_commands(LocalBoard(), ["yes", "echo after"], seconds=3)
        assert len(found["yes"].text) <= 256 << 10
        assert found["echo after"].missing is Missing.UNREADABLE

    def test_none_are_not_even_started(self) -> None:
        assert run_commands(LocalBoard(), []) == {}


def test_a_snapshot_does_nothing_but_read(tmp_path: Path) -> None:
    """Every file that the probe opens is opened for reading, and it writes to its output only."""
    skips.need("strace")
    log = tmp_path / "calls"
    calls = "%file,write,pwrite64,writev,sendfile,ioctl,mount,umount2,ptrace,kill"
    with open_board("local") as board, open_channel(board) as channel:
        program = channel._program
    traced = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={calls}", program]
    with open_board("local") as board, ProbeChannel(board, traced) as channel:
        taken = take_snapshot(board, channel)
    assert len(values(taken)) > 200
    lines = log.read_text().splitlines()
    assert len(lines) > 500
    forbidden = (
        r"(creat|mkdir|rmdir|unlink|rename|link|symlink|f?chmod|l?f?chown|f?truncate|mknod|mount|"
        r"umount2|l?f?setxattr|utime|utimes|futimes|utimensat)(at2?)?\("
    )
    for line in lines:
        call = line.split(maxsplit=1)[1]
        assert not re.match(forbidden, call), line
        if re.match(r"open(at2?)?\(", call):
            assert "O_RDONLY" in call and "O_CREAT" not in call and "O_TRUNC" not in call, line
            assert not re.search(r'"/dev/(watchdog|mem|rtc)', call), line
        if re.match(r"(p?write(64)?|writev)\(", call):
            assert call.startswith("write(1,"), line
        assert not re.match(r"(ptrace|kill|sendfile)\(", call), line
