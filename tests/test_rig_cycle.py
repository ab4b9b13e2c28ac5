"""A whole day of a rig on boards that QEMU simulates: cards written, booted, measured, compared,
switched off; and boards that do not boot. Few boots, as each costs both processors for a while.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from in_process import Ran, benchvise
from rig_bench import TestBench, running
from waiting import BOOT_PATIENCE, PATIENCE

from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.rig.boot.timeline import replay
from benchvise.rig.hold import actions
from benchvise.rig.virtual import kinds
from benchvise.store import Store

BOARDS = (("arm64-1", "arm64-uboot"), ("arm64-2", "arm64-uboot"), ("riscv64-1", "riscv64-uboot"))
OPTIONS = {
    "stagger_s": 0.2,
    "settle_s": 0.1,
    "off_s": 0.1,
    "silence_s": PATIENCE,
    "boot_limit_s": BOOT_PATIENCE,
}


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBench]:
    lacking = sorted({lack for _, kind in BOARDS for lack in kinds.missing(kinds.KINDS[kind])})
    if lacking:
        skips.skip_packages(*lacking)
    try:
        images = {kind: kinds.image(kinds.KINDS[kind]) for _, kind in BOARDS}
    except BenchviseError as error:
        skips.skip("board image", error)
    place = tmp_path_factory.mktemp("cycle")
    with running(place, BOARDS, kinds=kinds.__name__, options=OPTIONS, images=images) as bench:
        yield bench


@pytest.fixture(scope="module")
def measured(rig: TestBench) -> Ran:
    return rig.command(
        *("run", "rig:all", "--image", "own", "--bench", "os.syscall", "--label", "day"),
        *("--processes", "1", "--batches", "3", "--no-snapshot", "--json"),
    )


def test_all_boards_are_written_booted_measured_and_switched_off(
    rig: TestBench, measured: Ran
) -> None:
    assert measured.code == 0, measured.err
    runs = {run["board"]: run for run in measured.data}
    assert list(runs) == [f"rig:{name}" for name, _ in BOARDS]
    for run in runs.values():
        assert run["simulated"] is True
        assert run["status"] == "complete"
        assert run["series"][0]["summary"]["n"] == 3
    for name, told in rig.told().items():
        assert (told["relay"], told["running"], told["mux"]) == (0, False, "dut"), name
    assert all(found["holder"] is None for found in rig.status().values())


def test_a_run_keeps_which_image_it_was_and_what_the_console_said(
    rig: TestBench, measured: Ran, tmp_path: Path
) -> None:
    architectures = set()
    with Store.open(None) as store:
        for run in measured.data:
            record = store.load(run["id"])
            about: Any = record.plan["prepared"]
            image = about["image"]
            assert len(image["sha256"]) == 64
            assert about["written"]["written"] < image["size"]  # what the block map has
            assert about["boot"]["phases"]["network"] > about["boot"]["phases"]["kernel"]
            architectures.add(image["name"])
    assert len(architectures) == 2
    said = rig.console(measured.data[0]["id"])
    assert "Linux version" in said
    assert "login: " in said  # the kernel may speak between this and the answer


def test_boards_are_compared(rig: TestBench, measured: Ran) -> None:
    one, other = (run["id"] for run in measured.data[:2])
    ran = benchvise("compare", one, other, "--json")
    assert ran.code in (0, 1), ran.err
    assert "os.syscall" in ran.out


@pytest.fixture(scope="module")
def failed(rig: TestBench, measured: Ran) -> dict[str, actions.BoardOutcome[Any]]:
    """One board with a kernel that panics, one whose bootloader somebody stops, and then one so
    slow that it does not come to its end.
    """
    panics = kinds.image(kinds.KINDS["arm64-uboot"], variant="panic")
    assert rig.command("rig", "flash", "arm64-1", panics).code == 0
    rig.inject("arm64-2", "hang-uboot")
    rig.inject("riscv64-1", "slow-boot", "20")
    found = actions.boot(actions.load(str(rig.rig_file)), ["arm64-1", "arm64-2"])
    # The limit that ends the slow board must not end the others, however busy this machine is.
    short = rig.with_options(boot_limit_s=30.0)
    found += actions.boot(actions.load(str(short.rig_file)), ["riscv64-1"])
    return {outcome.board: outcome for outcome in found}


@pytest.mark.parametrize(
    ("board", "fault", "words"),
    [
        ("arm64-1", "kernel-panic", "Kernel panic - not syncing"),
        ("arm64-2", "bootloader-prompt", "Hit any key to stop autoboot"),
        ("riscv64-1", "too-slow", "OpenSBI"),
    ],
)
def test_a_board_that_fails_is_named_for_how_and_switched_off(
    rig: TestBench, failed: dict[str, actions.BoardOutcome[Any]], board: str, fault: str, words: str
) -> None:
    document: dict[str, Any] = encode(actions.outcome_document(failed[board]))
    assert document["error"]["fault"] == fault, document
    log = Path(document["report"]["console"])
    assert words.encode() in log.read_bytes()
    assert replay(log).last_byte_s is not None
    told = rig.told()[board]
    assert (told["relay"], told["running"]) == (0, False)


def test_off_cuts_the_power_of_all(
    rig: TestBench, failed: dict[str, actions.BoardOutcome[Any]]
) -> None:
    assert rig.command("rig", "power", "all", "on").code == 0
    machines = [told["pid"] for told in rig.told().values()]
    assert all(machines)
    assert rig.command("rig", "power", "all", "off").code == 0
    assert not any(Path(f"/proc/{machine}").exists() for machine in machines)
    assert os.listdir(rig.place / "arm64-1" / "host") == []  # noqa: PTH208 - names
