"""The virtual bench as a daemon, with boards that only behave like machines on their console."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import labgrid
import pytest
import skips
import yaml
from waiting import PATIENCE, has_ended, wait_until

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.rig.virtual import bench as bench_control
from benchvise.rig.virtual.bench import VirtualBench, down, inject, up

HERE = Path(__file__).parent


class Reader:
    """One who is connected to a console."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.text = b""

    def expect(self, text: bytes) -> bytes:
        """Reads until ``text``; returns everything up to it and forgets it."""
        while text not in self.text:
            data = self.socket.recv(65536)
            assert data, f"closed before {text!r}, after {self.text!r}"
            self.text += data
        before, _, self.text = self.text.partition(text)
        return before + text

    def silent(self, seconds: float = 0.3) -> bool:
        self.socket.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            self.text += self.socket.recv(65536)
        self.socket.settimeout(PATIENCE)
        return not self.text

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.socket.close()


@dataclass
class Driven:
    """A bench, and the ways to it that the tests take."""

    bench: VirtualBench

    @property
    def place(self) -> Path:
        return self.bench.directory

    def request(self, path: str, **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(
            "127.0.0.1", int(self.bench.url.rpartition(":")[2]), timeout=PATIENCE
        )
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def get(self, path: str) -> str:
        status, text = self.request(path)
        assert status == 200, text
        return text

    def status(self, board: str = "one") -> dict[str, Any]:
        now = bench_control.status(self.place)
        assert now is not None
        status: dict[str, Any] = next(encode(one) for one in now.boards if one.name == board)
        return status

    def console(self, board: str = "one") -> Reader:
        before = self.status(board)["console_readers"]
        reader = Reader(self.status(board)["console_port"])
        wait_until(lambda: self.status(board)["console_readers"] > before, "the connection")
        return reader

    def mux(self, mode: str, board: str = "one") -> subprocess.CompletedProcess[str]:
        command: list[Path | str] = [self.place / "usbsdmux", self.place / board / "mux", mode]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def write_card(self, content: bytes, board: str = "one") -> None:
        """Leaves the board off, with that on its card."""
        self.get(f"/relay/{board}/0")
        assert self.mux("host", board).returncode == 0
        with (self.place / board / "host" / "sd").open("r+b") as card:
            card.write(content)
            card.flush()
            os.fsync(card.fileno())
        assert self.mux("dut", board).returncode == 0

    def card(self, board: str = "one") -> Path:
        return self.place / board / "card.img"


def start(place: Path) -> VirtualBench:
    return up(
        place, (("one", "fake"), ("two", "fake"), ("broken", "missing")), kinds="virtual_kinds"
    )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        place = tmp_path_factory.mktemp("bench") / "b"
        try:
            yield Driven(start(place))
        finally:
            down(place)


@pytest.fixture
def driven(running: Driven) -> Iterator[Driven]:
    """The bench with everything off and whole."""
    if not bench_control.status(running.place):
        running.bench = start(running.place)
    for board in ("one", "two", "broken"):
        running.get(f"/fault/{board}/clear")
        running.get(f"/relay/{board}/0")
        running.get(f"/mux/{board}/dut")
    yield running


def test_a_bench_is_private_and_says_where_it_is(driven: Driven) -> None:
    assert driven.place.stat().st_mode & 0o777 == 0o700
    environment = yaml.safe_load(driven.bench.rig_file.read_text())
    assert list(environment["targets"]) == ["one", "two", "broken"]
    assert driven.status()["simulated"] is True


def test_a_second_start_finds_the_bench_and_refuses_another_one(driven: Driven) -> None:
    again = start(driven.place)
    assert not again.started
    assert again.pid == driven.bench.pid
    with pytest.raises(UsageError, match="runs already"):
        up(driven.place, (("other", "fake"),), kinds="virtual_kinds")


def test_unknown_kinds_and_bad_names_are_refused(tmp_path: Path, driven: Driven) -> None:
    with pytest.raises(UsageError, match="no kind of board 'tardis'"):
        up(tmp_path / "b", (("one", "tardis"),), kinds="virtual_kinds")
    with pytest.raises(UsageError, match="cannot be the name"):
        up(tmp_path / "b", (("../one", "fake"),), kinds="virtual_kinds")


def test_a_directory_may_lie_deeper_than_a_socket_path_is_long(
    tmp_path: Path, driven: Driven
) -> None:
    deep = Driven(up(tmp_path / ("x" * 120), (("one", "fake"),), kinds="virtual_kinds"))
    try:
        deep.write_card(b"boot deep\n")
        with deep.console() as reader:
            deep.get("/relay/one/1")
            reader.expect(b"booted deep")
    finally:
        assert down(deep.place)


def test_a_board_boots_from_its_card_each_time_and_the_console_stays_open(driven: Driven) -> None:
    with driven.console() as reader:
        for name in (b"first", b"second"):
            driven.write_card(b"boot " + name + b"\n")
            assert driven.get("/relay/0") == "0"
            driven.get("/relay/0/1")
            assert driven.get("/relay/0") == "1"
            reader.expect(b"booted " + name)
            reader.expect(b"login: ")
            reader.socket.sendall(b"hello\n")
            reader.expect(b"<hello\n>")
            pid = driven.status()["pid"]
            driven.get("/relay/0/0")
            assert not Path(f"/proc/{pid}").exists()
            assert driven.status()["ended"] == ""


def test_switching_on_what_is_on_changes_nothing(driven: Driven) -> None:
    driven.get("/relay/one/1")
    pid = driven.status()["pid"]
    driven.get("/relay/one/1")
    assert driven.status()["pid"] == pid


def test_everyone_at_the_console_hears_everything_and_so_does_the_log(driven: Driven) -> None:
    driven.write_card(b"boot everyone\n")
    with driven.console() as one, driven.console() as other:
        driven.get("/relay/one/1")
        assert one.expect(b"login: ") == other.expect(b"login: ")
    driven.get("/relay/one/0")
    driven.get("/relay/one/1")
    log = driven.place / "one" / "console.log"
    wait_until(lambda: log.read_bytes().count(b"booted everyone") == 2, "the unread boot")


def test_one_who_does_not_read_holds_up_nobody(driven: Driven) -> None:
    driven.write_card(b"flood\n")
    driven.write_card(b"boot calm\n", "two")
    with driven.console(), driven.console() as reading, driven.console("two") as other:
        driven.get("/relay/one/1")
        driven.get("/relay/two/1")
        other.expect(b"booted calm")
        wait_until(
            lambda: reading.expect(b"flood") and driven.status()["console_overrun_bytes"],
            "an overrun",
        )
    driven.get("/relay/one/0")
    logs = [driven.place / "one" / name for name in ("console.log", "console.log.1")]
    assert sum(log.stat().st_size for log in logs if log.exists()) <= 8 << 20


def test_the_mux_shows_the_card_to_one_side_only(driven: Driven) -> None:
    there = driven.place / "one" / "host" / "sd"
    assert (driven.mux("get").stdout, there.exists()) == ("dut\n", False)
    assert driven.mux("host").returncode == 0
    assert (driven.mux("get").stdout, there.stat().st_size) == ("host\n", 1 << 20)
    with driven.console() as reader:
        driven.get("/relay/one/1")
        reader.expect(b"no bootable medium")
    assert driven.mux("off").returncode == 0
    assert (driven.mux("get").stdout, there.exists()) == ("off\n", False)
    assert driven.mux("client").returncode == 0
    assert driven.mux("get").stdout == "dut\n"
    refused = driven.mux("sideways")
    assert refused.returncode == 2
    assert "usage" in refused.stderr


def test_pulling_the_card_under_power_ends_the_board(driven: Driven) -> None:
    driven.write_card(b"boot soon gone\n")
    with driven.console() as reader:
        driven.get("/relay/one/1")
        reader.expect(b"login: ")
        driven.mux("host")
        now = driven.status()
        assert (now["relay"], now["running"]) == (1, False)
        assert "pulled" in now["ended"]


def test_a_card_keeps_its_size_whatever_a_tool_does_to_the_file(driven: Driven) -> None:
    driven.mux("host")
    (driven.place / "one" / "host" / "sd").write_bytes(b"boot short\n")
    driven.mux("dut")
    assert driven.card().stat().st_size == 1 << 20
    assert driven.card().read_bytes().startswith(b"boot short\n\0")


def test_a_writer_that_is_left_over_cannot_reach_the_card_of_the_board(driven: Driven) -> None:
    driven.write_card(b"boot whole\n")
    driven.mux("host")
    with (driven.place / "one" / "host" / "sd").open("r+b", buffering=0) as left_over:
        left_over.write(b"boot half!\n")
        driven.mux("dut")
        left_over.seek(0)
        left_over.write(b"boot wrong\n")
    assert driven.card().read_bytes().startswith(b"boot half!\n")


def test_a_machine_that_ends_by_itself_is_shown_with_its_last_words(driven: Driven) -> None:
    driven.write_card(b"die\n")
    driven.get("/relay/one/1")
    wait_until(lambda: not driven.status()["running"], "the end")
    wait_until(lambda: "the chip is burnt" in driven.status()["ended"], "the reason")
    assert "status 3" in driven.status()["ended"]
    assert driven.get("/relay/one") == "1"


def test_a_machine_that_cannot_be_started_is_shown_and_harms_no_other(driven: Driven) -> None:
    driven.get("/relay/broken/1")
    assert "/no/such/emulator" in driven.status("broken")["ended"]
    driven.get("/relay/broken/0")
    assert driven.status("broken")["ended"] == ""


def test_a_stuck_relay_takes_commands_and_does_not_move(driven: Driven) -> None:
    inject("one", "relay-stuck", "on", driven.place)
    driven.get("/relay/one/1")
    assert driven.get("/relay/one") == "0"
    inject("one", "relay-stuck", "off", driven.place)
    driven.get("/relay/one/1")
    inject("one", "relay-stuck", "on", driven.place)
    driven.get("/relay/one/0")
    assert driven.status()["running"]


def test_a_stuck_mux_takes_commands_and_does_not_turn(driven: Driven) -> None:
    inject("one", "mux-stuck", "on", driven.place)
    assert driven.mux("host").returncode == 0
    assert driven.mux("get").stdout == "dut\n"


def test_a_bad_line_loses_and_changes_bytes(driven: Driven) -> None:
    driven.write_card(b"boot clearly\n")
    with driven.console() as reader:
        inject("one", "serial-drop", "1", driven.place)
        driven.get("/relay/one/1")
        assert reader.silent(1.0)
        inject("one", "serial-drop", "off", driven.place)
        inject("one", "serial-garble", "1", driven.place)
        reader.socket.sendall(b"hello")
        assert not set(b"<hello>\r\n") <= set(reader.socket.recv(100))
        inject("one", "serial-garble", "off", driven.place)
        reader.text = b""
        reader.socket.sendall(b"again")
        reader.expect(b"<again>")


def test_a_dead_console_lets_nobody_stay(driven: Driven) -> None:
    with driven.console() as reader:
        inject("one", "console-dead", "on", driven.place)
        with contextlib.suppress(ConnectionResetError):
            assert reader.socket.recv(100) == b""
    with Reader(driven.status()["console_port"]) as late, contextlib.suppress(ConnectionResetError):
        assert late.socket.recv(100) == b""
    assert driven.status()["console_readers"] == 0


def test_a_smaller_card_is_another_card(driven: Driven) -> None:
    driven.write_card(b"boot large\n")
    inject("one", "small-card", "65536", driven.place)
    driven.mux("host")
    assert (driven.place / "one" / "host" / "sd").read_bytes() == bytes(65536)
    driven.mux("dut")
    inject("one", "small-card", "off", driven.place)
    assert driven.card().stat().st_size == 1 << 20


def test_a_bad_block_does_not_keep_what_is_written(driven: Driven) -> None:
    inject("one", "bad-block", "70000", driven.place)
    driven.mux("host")
    card = driven.place / "one" / "host" / "sd"
    content = bytes([7]) * (1 << 20)
    with card.open("r+b") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    wait_until(lambda: card.read_bytes() != content, "the damage")
    bad = 70000 // 512 * 512
    read = card.read_bytes()
    assert read[:bad] == content[:bad]
    assert read[bad + 512 :] == content[bad + 512 :]
    assert read[bad] != content[bad]
    driven.mux("dut")
    assert driven.card().read_bytes() == read
    inject("one", "bad-block", "off", driven.place)
    driven.write_card(content)
    assert driven.card().read_bytes() == content


def test_a_place_that_refuses_fails_the_writer(driven: Driven) -> None:
    try:
        inject("one", "write-error", "70000", driven.place)
    except UsageError as refused:
        skips.skip("board", refused)
    driven.mux("host")
    card = driven.place / "one" / "host" / "sd"
    with card.open("r+b", buffering=0) as file:
        file.write(b"boot")
        file.seek(69632)
        with pytest.raises(OSError, match="Input/output error"):
            file.write(bytes(4096))
    driven.mux("dut")
    assert not card.exists()
    assert driven.card().read_bytes()[:4] == b"boot"
    inject("one", "write-error", "off", driven.place)


def test_damage_is_not_done_under_a_running_board(driven: Driven) -> None:
    driven.get("/relay/one/1")
    for name, value in (("bad-block", "0"), ("small-card", "512")):
        with pytest.raises(UsageError, match="switch it off first"):
            inject("one", name, value, driven.place)


def test_u_boot_is_held_at_its_prompt(driven: Driven) -> None:
    driven.write_card(b"boot never\n")
    inject("one", "hang-uboot", "on", driven.place)
    with driven.console() as reader:
        driven.get("/relay/one/1")
        assert b"booted" not in reader.expect(b"=> ")


def test_a_slowed_machine_is_halted_again_and_again(driven: Driven) -> None:
    inject("one", "slow-boot", "5", driven.place)
    driven.get("/relay/one/1")
    process = Path(f"/proc/{driven.status()['pid']}/stat")
    for state in ("T", "S", "T"):
        wait_until(lambda s=state: process.read_text().split()[2] == s, f"state {state}")  # type: ignore[misc]
    inject("one", "slow-boot", "off", driven.place)
    wait_until(lambda: process.read_text().split()[2] != "T", "going on")
    driven.get("/relay/one/0")
    assert not process.exists()


def test_what_cannot_be_met_is_refused_with_a_sentence(driven: Driven) -> None:
    assert driven.request("/relay/9/1")[0] == 404
    assert driven.request("/nothing")[0] == 404
    assert driven.request("/mux/one/sideways")[0] == 400
    assert driven.request("/fault/one/gremlin/on")[0] == 400
    assert driven.request("/fault/one/bad-block/99999999999")[0] == 400
    assert driven.request("/relay/one/1", Host="evil.example")[0] == 403
    assert driven.request("/relay/one/1", Origin="http://evil.example")[0] == 403
    assert driven.get("/relay/one") == "0"


def test_labgrid_drives_the_boards_with_stock_power_and_console(
    driven: Driven, tmp_path: Path
) -> None:
    environment = yaml.safe_load(driven.bench.rig_file.read_text())
    environment["imports"] = ["benchvise.rig.virtual.drivers"]
    for target in environment["targets"].values():
        del target["drivers"]["CardStrategy"]
    file = tmp_path / "rig.yaml"
    file.write_text(yaml.safe_dump(environment))
    image = tmp_path / "image"
    image.write_bytes(b"boot by labgrid\n")
    target = labgrid.Environment(str(file)).get_target("one")
    power = target.get_driver("NetworkPowerDriver")
    mux = target.get_driver("VirtualSDMuxDriver")
    storage = target.get_driver("VirtualStorageDriver")
    console = target.get_driver("SerialDriver")
    try:
        power.off()
        mux.set_mode("host")
        assert mux.get_mode() == "host"
        assert storage.get_size() == 1 << 20
        storage.write_image(str(image))
        mux.set_mode("dut")
        assert storage.get_size() == 0
        power.on()
        assert power.get() is True
        console.expect("booted by labgrid", timeout=PATIENCE)
        power.off()
    finally:
        target.cleanup()


def test_a_killed_daemon_takes_its_machines_along_and_the_next_start_is_clean(
    driven: Driven,
) -> None:
    with contextlib.suppress(UsageError):  # where FUSE can be used, its mount has to go too
        inject("two", "write-error", "0", driven.place)
    driven.mux("host", "two")
    driven.get("/relay/one/1")
    before = driven.status()
    os.kill(driven.bench.pid, signal.SIGKILL)
    wait_until(lambda: has_ended(before["pid"]), "the machine's end")
    assert bench_control.status(driven.place) is None
    driven.bench = start(driven.place)
    assert driven.bench.started
    now = driven.status()
    assert (now["relay"], now["running"]) == (0, False)
    assert (now["console_port"], now["ssh_port"]) == (before["console_port"], before["ssh_port"])
    assert now["faults"] == driven.status("two")["faults"] == {}
    assert not (driven.place / "two" / "host" / "sd").exists()
    driven.write_card(b"boot again\n")
    with driven.console() as reader:
        driven.get("/relay/one/1")
        reader.expect(b"booted again")


def test_a_bench_whose_directory_is_moved_ends_and_leaves_no_mount(tmp_path: Path) -> None:
    """As when somebody clears up behind a program that was killed before it ended its bench."""
    before = tmp_path / "before"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
        driven = Driven(start(before / "b"))
    try:
        inject("one", "write-error", "70000", driven.place)
        driven.mux("host")
        assert mounts_below(tmp_path)
    except UsageError:
        pass  # no FUSE here, so there is nothing to leave
    driven.get("/relay/two/1")
    machine = driven.status("two")["pid"]
    try:
        before.rename(tmp_path / "after")
        for pid in (driven.bench.pid, machine):
            wait_until(partial(has_ended, pid), f"the end of {pid}")
        assert mounts_below(tmp_path) == []
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(driven.bench.pid, signal.SIGTERM)


def mounts_below(directory: Path) -> list[str]:
    points = (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [point for point in points if point.startswith(f"{directory}/")]


def test_a_port_that_was_taken_meanwhile_is_replaced(driven: Driven) -> None:
    before = driven.status()
    assert down(driven.place)
    assert not down(driven.place)
    with socket.create_server(("127.0.0.1", before["console_port"])):
        driven.bench = start(driven.place)
        assert driven.status()["console_port"] != before["console_port"]
