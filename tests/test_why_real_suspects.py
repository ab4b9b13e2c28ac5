"""Suspects of real systems: what is planted on this machine is found, and its means undo it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from board_servers import needs_probe, needs_root
from plants import file_set
from why_boards import BOTH, NEITHER, metric

from benchvise.board import Board, open_board
from benchvise.board.channel import ProbeChannel, open_channel
from benchvise.board.messages import HostMessage
from benchvise.flows.state import read
from benchvise.state.intervention import applied
from benchvise.state.model import Snapshot
from benchvise.state.snapshot import take_snapshot
from benchvise.why.bench import SideFacts
from benchvise.why.model import Grade, ProcessMeans, SettingMeans, Side, Suspect
from benchvise.why.suspects.admissibility import examine
from benchvise.why.suspects.find import find
from benchvise.why.suspects.ranking import rank

pytestmark = needs_probe

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
DIRTY = Path("/proc/sys/vm/dirty_background_bytes")
TCP_RMEM = Path("/proc/sys/net/ipv4/tcp_rmem")

# A network and a view of it of their own, with small buffers: what another board could have.
ELSEWHERE = """mount -t sysfs none /sys && ip link set lo up &&
echo 4096 4096 8192 > /proc/sys/net/ipv4/tcp_rmem && exec "$@" """


@pytest.fixture
def local() -> Iterator[tuple[Board, ProbeChannel]]:
    with open_board("local") as board, open_channel(board) as channel:
        yield board, channel


def suspects(good: Snapshot, bad: Snapshot, benchmark: str) -> dict[str, Suspect]:
    given = metric(benchmark)
    found = find(good, bad, given, may_set=BOTH)
    return {suspect.id: suspect for suspect in rank(found.suspects, given)}


def other_mode() -> str:
    return "never" if "[always]" in THP.read_text() else "always"


@needs_root
@pytest.mark.settings
def test_a_planted_setting_is_found_and_its_means_undo_it(
    local: tuple[Board, ProbeChannel],
) -> None:
    board, channel = local
    good = take_snapshot(board, channel)
    was, roles = THP.read_text(), dict(good.roles)
    with file_set(THP, other_mode()):
        bad = take_snapshot(board, channel)
        found = suspects(good, bad, "memory.latency")
        assert next(iter(found)) == "memory.thp"
        means = found["memory.thp"].means
        assert isinstance(means, SettingMeans)
        with applied(board, channel, means.to_good, roles):
            assert THP.read_text() == was
    with applied(board, channel, means.to_bad, roles):
        assert f"[{other_mode()}]" in was or THP.read_text() != was
    assert THP.read_text() == was


@needs_root
@pytest.mark.settings
def test_a_ratio_that_bytes_took_the_place_of_is_put_back_as_one(
    local: tuple[Board, ProbeChannel],
) -> None:
    board, channel = local
    if DIRTY.read_text().strip() != "0":
        skips.skip("byte limits")
    good = take_snapshot(board, channel, items=["storage.dirty_limits"])
    ratio = Path("/proc/sys/vm/dirty_background_ratio")
    was = ratio.read_text()
    try:
        DIRTY.write_text("4194304")
        bad = take_snapshot(board, channel, items=["storage.dirty_limits"])
        means = suspects(good, bad, "storage.write")["vm.dirty_background_bytes"].means
        assert isinstance(means, SettingMeans)
        with applied(board, channel, means.to_good, dict(good.roles)):
            assert (ratio.read_text(), DIRTY.read_text()) == (was, "0\n")
        assert DIRTY.read_text() == "4194304\n"
    finally:
        ratio.write_text(was)


@needs_root
def test_a_system_with_a_network_of_its_own_differs_by_its_buffers(
    local: tuple[Board, ProbeChannel], tmp_path: Path
) -> None:
    here = take_snapshot(*local)
    file = tmp_path / "elsewhere.json"
    words = [sys.executable, "-m", "benchvise", "snapshot", "local", "-o", str(file)]
    made = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", ELSEWHERE, "sh", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        skips.skip("namespaces", made.stderr)
    there = read(file)
    found = suspects(here, there, "net.tcp")
    means = found["net.tcp_rmem"].means
    assert isinstance(means, SettingMeans)
    (setting,) = means.to_good
    assert setting.value == " ".join(TCP_RMEM.read_text().split())
    # what only an interface has is not there, and that is said once an item
    assert found["net.link"].means is None
    assert [name for name in found if name.startswith("net.link")] == ["net.link"]
    assert "net.tcp_rmem" not in suspects(here, there, "memory.copy")


def test_what_a_shell_hands_down_is_flipped_for_the_process(
    local: tuple[Board, ProbeChannel], tmp_path: Path
) -> None:
    good = take_snapshot(*local, items=["process.inherited"])
    file = tmp_path / "nicer.json"
    words = [sys.executable, "-m", "benchvise", "snapshot", "local", "-o", str(file)]
    subprocess.run(["nice", "-n", "3", *words], check=True, capture_output=True)
    given = metric()
    found = find(good, read(file), given, may_set=NEITHER)
    means = {suspect.id: suspect.means for suspect in found.suspects}
    nice = os.nice(0)
    assert means["process.inherited:nice"] == ProcessMeans(
        {"nice": str(nice)}, {"nice": str(min(nice + 3, 19))}
    )


def test_this_machine_can_be_compared_with_itself(local: tuple[Board, ProbeChannel]) -> None:
    board, channel = local
    message, *_ = list(channel.request(["run", "cpu.clock", "--batches", "1"]))
    assert isinstance(message, HostMessage)
    taken = take_snapshot(board, channel)
    both = {side: SideFacts(message.host) for side in Side}
    given = metric("memory.copy", size="64M", source="random")
    found = examine(given, both, dict.fromkeys(Side, taken))
    assert all(finding.grade is Grade.NOTES for finding in found)
