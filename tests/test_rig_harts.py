"""Story 12 on a real emulator: which RAM contents make a multi-hart boot hang, and where."""

from __future__ import annotations

import json
import struct
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import skips
from elftools.elf.elffile import ELFFile

from benchvise.documents import encode
from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.soak.soak import soak_document
from benchvise.rig.virtual.harts import program as harts_program
from benchvise.rig.virtual.harts.machine import (
    RAM_BYTES,
    Durations,
    HartsBoot,
    HartsOutcome,
    Interleaving,
    PowerOn,
    boot,
    missing,
)
from benchvise.rig.virtual.harts.program import RAM_BASE, HartsForm, HartsProgram, build
from benchvise.rig.virtual.harts.soak import RamFill, parse_fill, soak_harts

pytestmark = skips.unless_missing(missing())

HARTS = 4
FILLS = ("0", "1", "2", "3", "4", "0xffffffff", "random")


def filled(text: str) -> bytes:
    return parse_fill(text).contents(1, HARTS, seed=7)[0]


@pytest.fixture(scope="module")
def programs() -> dict[HartsForm, HartsProgram]:
    return {form: build(form) for form in HartsForm}


def predicted(form: HartsForm, fill: str, boot_hart: int) -> HartsOutcome:
    """What the story says of each case, and of the fix that its author doubted."""
    others = set(range(HARTS)) - {boot_hart}
    word = None if fill == "random" else int(fill, 0)
    match form:
        case HartsForm.FAULTY if word in others - {0}:
            return HartsOutcome.HANG  # its hart has gone, and will never answer with a 0
        case HartsForm.FAULTY if 0 in others:
            return HartsOutcome.LOST  # clearing .bss calls hart 0, before there is a stack for it
        case HartsForm.DOUBTED if 0 in others:
            return HartsOutcome.HANG  # the same, but now its answer is waited for
        case HartsForm.COPIED if word in others:
            return HartsOutcome.HANG
    return HartsOutcome.UP


@pytest.mark.parametrize("boot_hart", range(HARTS))
@pytest.mark.parametrize("form", HartsForm)
def test_it_hangs_exactly_for_the_contents_of_ram_that_the_story_predicts(
    form: HartsForm, boot_hart: int, programs: dict[HartsForm, HartsProgram]
) -> None:
    for fill in FILLS:
        power_on = PowerOn(filled(fill), boot_hart)
        result = boot(programs[form], power_on)
        case = f"{form}, boot hart {boot_hart}, RAM {fill}"
        assert result.outcome is predicted(form, fill, boot_hart), case
        assert result.in_order(power_on), case
        if result.outcome is HartsOutcome.UP:
            assert result.up == set(range(HARTS)) and not result.left_early, case
        else:
            assert len(result.cores) == HARTS, case
            for hart, core in enumerate(result.cores):
                if hart in result.trapped:
                    assert core.function == "trapped", case
                elif hart == boot_hart:
                    hung = result.outcome is HartsOutcome.HANG
                    assert core.function in (("start_hart",) if hung else ("print", "idle")), case
                else:
                    assert core.function in ("wait_for_wake", "idle"), case


def test_where_each_hart_stands_when_the_flag_held_the_number_of_hart_2(
    programs: dict[HartsForm, HartsProgram],
) -> None:
    result = boot(programs[HartsForm.FAULTY], PowerOn(filled("2")))
    assert [(core.name, core.function) for core in result.cores] == [
        ("hart 0", "start_hart"),
        ("hart 1", "idle"),  # was called, came up
        ("hart 2", "trapped"),  # started by itself, on a stack that nobody has given it
        ("hart 3", "wait_for_wake"),  # its turn never came
    ]
    assert result.cores[0].caller.startswith("boot_main")
    cause, address = result.trapped[2]
    assert cause == 7  # store access fault
    assert 0 < struct.unpack("<Q", struct.pack("<II", 2, 2))[0] - address <= 64
    assert result.console.endswith(b"harts: starting hart 2\n")


def test_the_same_power_on_is_the_same_boot(programs: dict[HartsForm, HartsProgram]) -> None:
    def what(result: HartsBoot) -> object:
        # A hart that says its last line may still be doing so when the harts are looked at; one
        # that hangs stands still.
        hangs = result.outcome is HartsOutcome.HANG
        stand = [core.function for core in result.cores] if hangs else []
        return result.outcome, result.console, result.trapped, stand

    for fill in ("2", "3", "random"):
        power_on = PowerOn(filled(fill), boot_hart=1)
        first, second = (boot(programs[HartsForm.FAULTY], power_on) for _ in range(2))
        assert what(first) == what(second)


def test_the_order_of_things_decides_and_nothing_else(
    programs: dict[HartsForm, HartsProgram],
) -> None:
    """Harts that first look when .bss has been cleared never see what RAM held."""
    late = {1: 1.5, 2: 1.5, 3: 1.5}
    power_on = PowerOn(filled("2"), held=late)
    result = boot(programs[HartsForm.FAULTY], power_on)
    assert result.outcome is HartsOutcome.UP
    assert not result.in_order(power_on) and result.looked_before == set()


def test_late_harts_and_every_number_of_harts_do_not_hang_the_repaired_form(
    programs: dict[HartsForm, HartsProgram],
) -> None:
    for held in ({3: 5.0}, {1: 3.0, 2: 2.5, 3: 2.0}, {0: 3.0}):
        assert (
            boot(programs[HartsForm.REPAIRED], PowerOn(filled("1"), held=held)).outcome
            is HartsOutcome.UP
        )
    for harts in (2, 3, 8):
        for boot_hart in {0, harts - 1}:
            power_on = PowerOn(filled("1"), boot_hart, harts)
            assert boot(programs[HartsForm.REPAIRED], power_on).up == set(range(harts))


def test_a_late_hart_misses_a_call_that_is_not_repeated(
    programs: dict[HartsForm, HartsProgram],
) -> None:
    power_on = PowerOn(filled("4"), held={3: 3.0})
    result = boot(programs[HartsForm.DOUBTED], power_on)
    assert result.outcome is HartsOutcome.HANG and result.cores[3].function == "wait_for_wake"
    assert boot(programs[HartsForm.REPAIRED], power_on).outcome is HartsOutcome.UP


def test_with_harts_that_really_run_at_the_same_time_it_is_the_same(
    programs: dict[HartsForm, HartsProgram],
) -> None:
    for form, fill, boot_hart in (
        (HartsForm.FAULTY, "2", 0),
        (HartsForm.FAULTY, "0", 0),
        (HartsForm.DOUBTED, "2", 0),
        (HartsForm.REPAIRED, "2", 1),
    ):
        power_on = PowerOn(filled(fill), boot_hart, interleaving=Interleaving.PARALLEL)
        result = boot(programs[form], power_on)
        if result.in_order(power_on):  # this machine may be too busy to run them side by side
            assert result.outcome is predicted(form, fill, boot_hart), (form, fill, boot_hart)


@pytest.mark.parametrize(
    ("form", "section"),
    [
        (HartsForm.FAULTY, ".bss"),
        (HartsForm.DOUBTED, ".bss"),
        (HartsForm.REPAIRED, ".noinit"),
        (HartsForm.INITIALISED, ".data"),
        (HartsForm.COPIED, ".copied"),
    ],
)
def test_the_wake_flag_lies_where_the_form_says(
    form: HartsForm, section: str, programs: dict[HartsForm, HartsProgram]
) -> None:
    program = programs[form]
    address = program.symbols.address("wake_flag")
    with program.path.open("rb") as stream:
        sections = [
            (str(part.name), int(part["sh_addr"]), int(part["sh_size"]))
            for part in ELFFile(stream).iter_sections()
        ]
    assert [n for n, begin, size in sections if begin <= address < begin + size] == [section]
    begin, end = (program.symbols.address(name) for name in ("bss_begin", "bss_end"))
    assert (begin <= address < end) is (section == ".bss")
    # Only what lies in .data comes with the image.
    offset = address - RAM_BASE
    comes = program.image[offset : offset + 4] == b"\xff" * 4
    assert comes is (section == ".data")


def test_a_soak_counts_the_hangs_and_keeps_their_consoles(tmp_path: Path) -> None:
    result = soak_harts("faulty", 12, "hart-ids", seed=3, directory=tmp_path / "soak")
    words = [boot.conditions for boot in result.boots]
    assert {word[:15] for word in words} <= {f"RAM 0x0000000{n}" for n in range(HARTS)}
    failed = [boot.number for boot in result.boots if not boot.conditions.endswith("0x00000000")]
    assert [boot.number for boot in result.failed] == failed and failed
    assert result.failure_rate is not None and result.failure_rate.count == len(failed)
    for boot_ in result.failed:
        assert Path(boot_.console).read_bytes().startswith(b"harts: power on\n")
        assert boot_.cores and boot_.fault == "hang"
    assert result.simulated and result.about["harts came late"] == "in 0 of 12"
    assert {group.where.split(", ")[0] for group in result.groups} == {"hart 0 in start_hart"}
    data = json.loads(json.dumps(encode(soak_document(result))))
    assert data["board"] == "harts:faulty" and data["failed"] == len(failed)


def test_a_hang_outlives_a_power_cycle_that_ram_outlives() -> None:
    hung = soak_harts("faulty", 3, "kept:2")
    assert len(hung.failed) == 3
    # The stack of the boot before serves hart 2 now: it works, and is waited for all the same.
    assert [core.function for core in hung.boots[1].cores] == [
        "start_hart",
        "idle",
        "idle",
        "wait_for_wake",
    ]
    assert hung.about["harts came late"] == "in 0 of 3"
    assert [boot.conditions for boot in hung.boots][1:] == ["RAM as it was left"] * 2
    assert not soak_harts("faulty", 3, "kept:0").failed


def test_the_repaired_form_comes_up_every_time_whatever_ram_holds() -> None:
    result = soak_harts("repaired", 10, "random", boot_hart=2)
    assert not result.failed
    assert result.failure_rate is not None and result.failure_rate.low == 0.0
    assert [phase.name for phase in result.phases][-1] == "up"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("broken", 1), "no form 'broken'"),
        (("faulty", 0), "0 boots"),
        (("faulty", 1, "0x100000000"), "cannot be filled with"),
        (("faulty", 1, "zero"), "cannot be filled with"),
        (("faulty", 1, "0", 4), "no hart 4 of 4"),
    ],
)
def test_what_does_not_exist_is_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        soak_harts(*arguments)  # type: ignore[arg-type]


def test_a_fill_is_all_over_ram_and_the_same_for_the_same_seed() -> None:
    word, name = RamFill("word", 2).contents(1, HARTS, 1)
    assert word == b"\x02\0\0\0" * (RAM_BYTES // 4) and name == "RAM 0x00000002"
    chance = parse_fill("random")
    assert chance.contents(5, HARTS, 1) == chance.contents(5, HARTS, 1)
    assert chance.contents(5, HARTS, 1) != chance.contents(6, HARTS, 1)


def test_without_compiler_or_emulator_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[HartsForm, HartsProgram]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(harts_program, "_FLAGS", ("-fno-such-flag",))
    with pytest.raises(BenchviseError, match=r"does not compile: .*fno-such-flag"):
        build(HartsForm.FAULTY)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", absent)
    with pytest.raises(BenchviseError, match="pip install ziglang"):
        build(HartsForm.FAULTY)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BenchviseError, match="apt install qemu-system-misc"):
        boot(programs[HartsForm.FAULTY], PowerOn(filled("0")))


def test_nothing_is_left_running_or_lying_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[HartsForm, HartsProgram]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    quick = Durations(early=1.0, init=1.0, patience=4.0, limit=20.0)
    boot(programs[HartsForm.FAULTY], PowerOn(filled("1"), durations=quick))
    assert not list(tmp_path.iterdir())
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert str(tmp_path).encode() not in process.read_bytes()
        except OSError:
            continue
