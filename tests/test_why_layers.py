"""Two images that differ in kernel, command line and init settings, of which one thing matters:
found on a board that QEMU simulates, written and booted as needed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from rig_bench import TestBench, running
from waiting import BOOT_PATIENCE, PATIENCE, wait_until

from benchvise.errors import BenchviseError
from benchvise.rig.virtual import kinds
from benchvise.rig.virtual.kinds import KINDS

KIND = "arm64-direct"
BOARD = "rig:one"
OPTIONS = {
    "stagger_s": 0.1,
    "settle_s": 0.1,
    "off_s": 0.1,
    "silence_s": PATIENCE,
    "boot_limit_s": BOOT_PATIENCE,
}

pytestmark = pytest.mark.long
when_long = skips.needs_that(skips.LONG, "long", "boots a board up to 54 times, 1 to 10 minutes")


@pytest.fixture(scope="module")
def images() -> dict[str, Path]:
    lacking = kinds.missing(KINDS[KIND])
    if lacking:
        skips.skip_packages(*lacking)
    try:
        return {
            name: kinds.image(KINDS[KIND], variant=name) for name in ("lean", "traced", "shielded")
        }
    except BenchviseError as error:
        skips.skip("board image", error)


@pytest.fixture(scope="module")
def rig(images: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBench]:
    place = tmp_path_factory.mktemp("layers")
    with running(
        place,
        [("one", KIND), ("two", KIND)],
        kinds=kinds.__name__,
        options=OPTIONS,
        images={KIND: images["lean"]},
    ) as bench:
        yield bench


def diagnosed(rig: TestBench, images: dict[str, Path], bad: str, bench: str) -> dict[str, Any]:
    """What ``why`` says of the lean image and another one; the board is off and free then."""
    ran = rig.command(
        *("why", images["lean"], images[bad], "--board", BOARD, "--bench", bench),
        *("--seed", "1", "--json"),
    )
    assert ran.code == 0, ran.err or ran.out
    assert is_released(rig)
    found: dict[str, Any] = ran.data
    return found


def is_released(rig: TestBench) -> bool:
    told = rig.told()["one"]
    return not told["relay"] and not told["running"] and rig.status()["one"]["holder"] is None


@when_long
def test_a_line_of_a_start_script_is_found_by_flips_and_named_in_the_image(
    rig: TestBench, images: dict[str, Path]
) -> None:
    found = diagnosed(rig, images, "traced", "os.fork")
    assert found["verdict"] == "explained", found["headline"]
    assert found["simulated"] is True
    (cause,) = found["causes"]
    assert cause["name"] == "tracing.current_tracer"
    assert cause["repair"]["p"] < 0.01
    assert cause["breaking"]["p"] < 0.01
    bad = [origin for origin in cause["origins"] if origin["side"] == "bad"]
    assert [(origin["file"], origin["line"]) for origin in bad] == [("/etc/rc.local", 5)]
    assert "echo function" in bad[0]["text"]


# A kernel that traces each of its functions keeps an emulator busy for more than 200 s of CPU. Two
# boards that are alive at once are also in test_why_live.py, without emulators.
@when_long
def test_two_boards_with_different_images_are_alive_at_once(
    rig: TestBench, images: dict[str, Path]
) -> None:
    for board, name in (("one", "lean"), ("two", "traced")):
        assert rig.command("rig", "flash", board, images[name]).code == 0
    ran = rig.command("why", "rig:one", "rig:two", "--bench", "os.fork", "--seed", "1", "--json")
    assert ran.code == 0, ran.err or ran.out
    found = ran.data
    assert (found["good"], found["bad"], found["simulated"]) == ("rig:one", "rig:two", True)
    assert found["verdict"] == "explained", found["headline"]
    assert [cause["name"] for cause in found["causes"]] == ["tracing.current_tracer"]
    (line,) = [o for o in found["causes"][0]["origins"] if o["side"] == "bad"]
    assert (line["file"], line["line"]) == ("/etc/rc.local", 5)
    assert not any(told["running"] for told in rig.told().values())


def test_a_dry_run_has_the_layers_with_boots(rig: TestBench, images: dict[str, Path]) -> None:
    sides = (str(images["lean"]), str(images["shielded"]))
    words = ("why", *sides, "--board", BOARD, "--bench", "os.syscall")
    ran = rig.command(*words, "--dry-run", "--json")
    assert ran.code == 0, ran.err or ran.out
    layers = {layer["id"] for layer in ran.data["layers"]}
    assert {"kernel", "command-line:kpti"} <= layers, layers
    effort = ran.data["effort_layers"]
    assert effort["boots"] > 40
    assert effort["seconds"] > ran.data["seconds"]
    assert is_released(rig)


@when_long
def test_a_word_of_the_command_line_is_found_by_swapping_layers(
    rig: TestBench, images: dict[str, Path]
) -> None:
    found = diagnosed(rig, images, "shielded", "os.syscall")
    assert found["verdict"] == "explained", found["headline"]
    (cause,) = found["causes"]
    (suspect,) = cause["suspects"]
    assert (suspect["layer"], suspect["good"], suspect["bad"]) == (
        "command line",
        "kpti=0",
        "kpti=1",
    )
    assert cause["repair"]["p"] < 0.01
    assert cause["breaking"]["p"] < 0.01
    boots = {
        trial["covariates"]["boot"]
        for trial in found["trials"]
        if suspect["id"] in trial["flipped"]
    }
    assert len(boots) >= cause["repair"]["blocks"]  # each in a boot of its own
    files = {origin["side"]: origin["file"] for origin in cause["origins"]}
    assert files == {"good": "/extlinux/extlinux.conf", "bad": "/extlinux/extlinux.conf"}


# Each takes over 100 s of CPU, for four boots. That a board is off and free when its client was
# killed, at whatever moment, every change tries on stand-in boards: test_rig_faults.py.
@when_long
@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, id="Ctrl-C"), pytest.param(signal.SIGKILL, id="kill -9")],
)
def test_stopped_in_the_middle_the_board_is_off_and_free(
    rig: TestBench, images: dict[str, Path], tmp_path: Path, number: signal.Signals
) -> None:
    words = ["why", str(images["lean"]), str(images["traced"]), "--board", BOARD]
    words += ["--bench", "os.fork", "--rig", str(rig.rig_file), "-o", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchvise", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        evidence = tmp_path / "out" / "evidence.jsonl"
        wait_until(
            lambda: evidence.exists() and evidence.read_text().count('"trial"') >= 2,
            "two boots and a trial of each",
            4 * PATIENCE,
        )
        process.send_signal(number)
        said, _ = process.communicate(timeout=PATIENCE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    wait_until(lambda: is_released(rig), "the board is released")
    if number is signal.SIGINT:
        assert process.returncode == 4, said
        assert b"measuring the gap" in said or b"incomplete" in said.lower(), said
