"""The virtual bench with a real machine: QEMU, U-Boot and Linux from a card, driven by labgrid."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import labgrid
import pytest
import skips
import yaml
from waiting import BOOT_PATIENCE, PATIENCE

from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.rig.virtual import kinds
from benchvise.rig.virtual.bench import VirtualBench, down, inject, status, up

KIND = "arm64-uboot"


@pytest.fixture(scope="module")
def image() -> Path:
    kind = kinds.kind(KIND)
    if lacking := kinds.missing(kind):
        skips.skip_packages(*lacking)
    try:
        return kinds.image(kind)
    except BenchviseError as error:
        skips.skip("board image", error)


@pytest.fixture(scope="module")
def bench(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualBench]:
    place = tmp_path_factory.mktemp("qemu") / "bench"
    try:
        yield up(place, (("arm", KIND),))
    finally:
        down(place)


@pytest.fixture(scope="module")
def target(bench: VirtualBench) -> Iterator[Any]:
    """The rig file as it is, but for the strategy, which is not the virtual bench's."""
    environment = yaml.safe_load(bench.rig_file.read_text())
    environment["imports"] = ["benchvise.rig.virtual.drivers"]
    del environment["targets"]["arm"]["drivers"]["CardStrategy"]
    file = bench.directory / "drivers.yaml"
    file.write_text(yaml.safe_dump(environment))
    target = labgrid.Environment(str(file)).get_target("arm")
    yield target
    target.cleanup()


def board(bench: VirtualBench) -> dict[str, Any]:
    now = status(bench.directory)
    assert now is not None
    board: dict[str, Any] = encode(now.boards[0])
    return board


def ssh(bench: VirtualBench, command: str) -> str:
    environment = yaml.safe_load(bench.rig_file.read_text())
    options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes")
    words = ["ssh", "-F", "none", "-i", environment["options"]["benchvise"]["ssh_identity"]]
    for option in options:
        words += ["-o", option]
    words += ["-p", str(board(bench)["ssh_port"]), "root@127.0.0.1", command]
    return subprocess.run(
        words, capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout


def test_a_board_is_written_booted_logged_in_to_and_cut_off(
    bench: VirtualBench, target: Any, image: Path
) -> None:
    power = target.get_driver("NetworkPowerDriver")
    mux = target.get_driver("VirtualSDMuxDriver")
    mux.set_mode("host")
    card = target.get_driver("VirtualStorageDriver").storage.path
    # The card is blank, so that zeros need not be written.
    copy = ["dd", f"if={image}", f"of={card}", "bs=1M", "conv=notrunc,sparse", "status=none"]
    subprocess.run(copy, check=True, timeout=PATIENCE)
    mux.set_mode("dut")
    target.get_driver("SerialDriver")
    power.on()
    shell = target.get_driver("ShellDriver", activate=False)
    shell.login_timeout = int(BOOT_PATIENCE)
    target.activate(shell)
    assert shell.run_check("uname -m") == ["aarch64"]
    assert f"KIND={KIND}" in ssh(bench, "cat /etc/image-release")
    target.deactivate(shell)
    process = board(bench)["pid"]
    power.off()
    assert not Path(f"/proc/{process}").exists()


def test_a_machine_that_dies_is_noticed(bench: VirtualBench, target: Any) -> None:
    power = target.get_driver("NetworkPowerDriver")
    power.on()
    os.kill(board(bench)["pid"], signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while not board(bench)["ended"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "signal 9" in board(bench)["ended"]
    power.off()


def test_u_boot_is_held_at_its_prompt(bench: VirtualBench, target: Any) -> None:
    inject("arm", "hang-uboot", "on", bench.directory)
    console = target.get_driver("SerialDriver")
    power = target.get_driver("NetworkPowerDriver")
    power.on()
    console.expect("\r\n=> ", timeout=BOOT_PATIENCE)
    console.write(b"echo still $board here\r")
    console.expect("still qemu-arm here", timeout=BOOT_PATIENCE)
    power.off()
    inject("arm", "hang-uboot", "off", bench.directory)
