"""The arithmetic and bookkeeping of a soak, with boots that are made up."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import scipy  # loads its parts when they are first used, not in each worker that collects this
from rich.console import Console

from benchvise.documents import encode
from benchvise.errors import Interrupted, UsageError
from benchvise.report.boot_tables import boot_line, soak_table
from benchvise.report.sinks import Terminal
from benchvise.rig.boot.verdict import BootError, BootReport, BootVerdict
from benchvise.rig.environment import Rig
from benchvise.rig.faults import Fault, FlashError, RigError
from benchvise.rig.hold import board_soak
from benchvise.rig.hold.messages import PowerChange
from benchvise.rig.soak.cores import Core
from benchvise.rig.soak.soak import (
    RigFault,
    SoakBoot,
    SoakResult,
    durations,
    exact_rate,
    outliers,
    soak,
    soak_document,
    summarise,
)
from benchvise.text import Untrusted

GOOD = BootVerdict(None, "it came up")


def report(
    verdict: BootVerdict = GOOD,
    phases: dict[str, float] | None = None,
    console: str = "console.log",
    restarts: int = 0,
) -> BootReport:
    reached = phases or {"kernel": 1.0, "login": 2.5}
    return BootReport(verdict.fault, verdict.sentence, verdict.evidence, reached, console, restarts)


def panic(line: str = "[    1.25] Kernel panic - not syncing: VFS") -> BootReport:
    verdict = BootVerdict(Fault.KERNEL_PANIC, "the kernel panicked", Untrusted(line))
    return report(verdict, {"kernel": 1.0}, "bad.log")


def soaked(outcomes: Sequence[BootReport | BaseException], **more: object) -> SoakResult:
    def boot_once(number: int) -> BootReport:
        outcome = outcomes[number - 1]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    call = cast("Callable[..., SoakResult]", soak)
    return call(boot_once, len(outcomes), board="b1", **more)


# -- the failure rate ------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("total", [1, 2, 7, 100, 5000])
def test_the_interval_is_that_of_clopper_and_pearson(total: int, confidence: float) -> None:
    for count in {0, 1, 2, total // 3, total - 1, total}:
        if count > total:
            continue
        rate = exact_rate(count, total, confidence)
        reference = scipy.stats.binomtest(count, total).proportion_ci(confidence, method="exact")
        assert rate.low == pytest.approx(reference.low, rel=1e-9, abs=1e-12)
        assert rate.high == pytest.approx(reference.high, rel=1e-9, abs=1e-12)


def test_the_interval_covers_as_often_as_it_says() -> None:
    chance = random.Random(4)
    true, boots, soaks = 0.03, 40, 500
    held = 0
    for _ in range(soaks):
        rate = exact_rate(sum(chance.random() < true for _ in range(boots)), boots)
        held += rate.low <= true <= rate.high
    assert held / soaks >= 0.95


@pytest.mark.parametrize(("count", "total", "confidence"), [(1, 0, 0.9), (3, 2, 0.9), (1, 2, 1.0)])
def test_impossible_counts_are_refused(count: int, total: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        exact_rate(count, total, confidence)


# -- phases ----------------------------------------------------------------------------------------


def test_phases_last_from_the_one_before_however_they_are_ordered() -> None:
    assert durations({"login": 5.0, "power-on": 0.0, "kernel": 2.0, "init": 3.5}) == {
        "kernel": 2.0,
        "init": 1.5,
        "login": 1.5,
    }


def test_the_spread_of_phases_counts_only_boots_that_reached_them() -> None:
    boots = [{"kernel": 1.0, "login": 3.0}, {"kernel": 2.0, "login": 3.0}, {"kernel": 9.0}]
    kernel, login = summarise(boots)
    assert (kernel.name, kernel.at.n, kernel.at.median, kernel.at.maximum) == ("kernel", 3, 2.0, 9)
    assert (login.name, login.took.n, login.took.median, login.at.median) == ("login", 2, 1.5, 3)


def test_phases_stand_in_the_order_of_the_boot_that_came_furthest() -> None:
    fast = {"kernel": 1.0, "init": 1.1, "login": 1.2}
    slow = {"kernel": 5.0, "init": 6.0, "other": 6.5}
    names = [phase.name for phase in summarise([slow, slow, fast])]
    assert names in (["kernel", "init", "other", "login"], ["kernel", "init", "login", "other"])
    names = [phase.name for phase in summarise([{"kernel": 9.0, "init": 9.5}] * 3 + [fast])]
    assert names == ["kernel", "init", "login"]


def test_a_slow_phase_stands_out_and_what_follows_it_does_not() -> None:
    chance = random.Random(1)
    boots = {}
    for number in range(1, 41):
        kernel = 2.0 + chance.gauss(0, 0.02)
        boots[number] = {"kernel": kernel, "init": kernel + 1.0, "login": kernel + 2.0}
    boots[17]["init"] += 4.0
    boots[17]["login"] += 4.0
    (outlier,) = outliers(boots)
    assert (outlier.boot, outlier.phase) == (17, "init")
    assert outlier.took == pytest.approx(5.0) and outlier.median == pytest.approx(1.0)


def test_equal_boots_and_few_boots_have_no_outliers() -> None:
    assert outliers({n: {"login": 2.0 if n != 3 else 2.05} for n in range(1, 30)}) == ()
    assert outliers({n: {"login": 2.0 if n != 3 else 20.0} for n in range(1, 8)}) == ()
    assert len(outliers({n: {"login": 2.0 if n != 3 else 20.0} for n in range(1, 9)})) == 1


# -- the soak --------------------------------------------------------------------------------------


def test_failures_are_counted_and_grouped_by_fault_and_place() -> None:
    def hangs(line: str, seconds: float) -> BootReport:
        return report(BootVerdict(Fault.HANG, "it hangs", Untrusted(line)), {"init": seconds})

    hang, other = hangs("eth0: link at 0xffff8000", 3), hangs("eth0: link at 0xdead1234", 4)
    result = soaked([report(), hang, panic(), report(), other, panic("[    9.9] Kernel panic - B")])
    assert [boot.number for boot in result.failed] == [2, 3, 5, 6]
    first, *rest = result.groups
    assert (first.fault, first.boots) == ("hang", (2, 5))
    assert first.where == "after init: ethN: link at ADDRESS"
    assert [group.where for group in rest] == [
        "after kernel: Kernel panic - not syncing: VFS",
        "after kernel: Kernel panic - B",
    ]
    assert result.failure_rate == exact_rate(4, 6)
    assert json.loads(json.dumps(encode(soak_document(result))))["failure_rate"]["count"] == 4


def test_a_boot_error_is_a_failed_boot_with_or_without_its_report() -> None:
    result = soaked(
        [
            BootError(Fault.KERNEL_PANIC, "b1 does not boot", report=panic()),
            BootError(Fault.NO_OUTPUT, "b1 says nothing"),
        ]
    )
    with_report, without = result.boots
    assert (with_report.fault, with_report.console) == ("kernel-panic", "bad.log")
    assert (without.fault, without.sentence) == ("no-output", "b1 says nothing")


def test_what_the_rig_does_wrong_does_not_count_against_the_board() -> None:
    result = soaked(
        [
            RigError(Fault.RELAY_STUCK, "the relay of b1 sticks"),
            report(),
            FlashError(Fault.CARD_WRITE, "the card of b1 cannot be written"),
            panic(),
        ]
    )
    assert [fault.fault for fault in result.rig_faults] == ["relay-stuck", "card-write-error"]
    assert result.failure_rate == exact_rate(1, 2) and result.ended == ""


def test_three_faults_of_the_rig_in_a_row_end_the_soak() -> None:
    stuck = RigError(Fault.MUX_STUCK, "the mux of b1 sticks")
    result = soaked([stuck, stuck, report(), stuck, stuck, stuck, report()])
    assert [boot.number for boot in result.boots] == [3]
    assert result.ended == "3 faults of the rig in a row" and result.wanted == 7


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), Interrupted("interrupted")])
def test_an_interrupted_soak_keeps_what_was_seen(stop: BaseException) -> None:
    result = soaked([report(), panic(), stop, report()])
    assert result.ended == "interrupted" and result.failure_rate == exact_rate(1, 2)


def test_a_soak_without_a_boot_that_counts_has_no_rate() -> None:
    result = soaked([RigError(Fault.BUSY, "b1 is taken")])
    assert result.failure_rate is None
    assert encode(soak_document(result))["failure_rate"] == {"na": "no boot counts"}


def test_a_soak_of_no_boots_is_refused() -> None:
    with pytest.raises(UsageError, match="0 boots"):
        soaked([])


class HeldOnPaper:
    """A held board that notes what it is asked, and fails where it is told to."""

    features: frozenset[str] = frozenset()

    def __init__(self, fails: str = "") -> None:
        self.asked: list[str] = []
        self._fails = fails

    def __enter__(self) -> HeldOnPaper:
        return self

    def __exit__(self, *_: object) -> None:
        self.asked.append("released")

    def _note(self, what: str) -> None:
        self.asked.append(what)
        if what == self._fails:
            raise RigError(Fault.BUSY, f"{what} fails")

    def find_debugger(self) -> str:
        return ""

    def switch_off_at_end(self, off: bool) -> None:
        self._note("off whoever ends it" if off else "on at the end")

    def boot(self, _directory: Path) -> SimpleNamespace:
        self._note("boot")
        return SimpleNamespace(report=report())

    def switch_power(self, to: PowerChange) -> None:
        self._note(f"power {to}")


@pytest.mark.parametrize("fails", ["", "boot", "power off"])
def test_a_board_is_off_after_its_soak_even_if_that_is_killed(
    fails: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its worker switches it off where nobody else can any more, so it has to know beforehand."""
    held = HeldOnPaper(fails)
    monkeypatch.setattr(board_soak, "HeldBoard", lambda *_: held)
    monkeypatch.setattr(board_soak, "logs_directory", lambda _: tmp_path)
    rig = cast("Rig", None)
    result = board_soak.soak_board(rig, "b1", 2, lambda _: None)
    assert len(result.boots) == (0 if fails == "boot" else 2)
    assert held.asked == ["off whoever ends it", "boot", "boot", "power off", "released"]


def test_cores_are_looked_at_after_failures_only_and_decide_where_it_hung() -> None:
    asked = []

    def cores(number: int) -> list[Core]:
        asked.append(number)
        if number == 4:
            raise RigError(Fault.RIG_BROKEN, "OpenOCD has not answered")
        return [Core("cpu0", 0x80000014, f"idle+0x{number:x}"), Core("cpu1", None)]

    result = soaked([report(), panic("a"), panic("b"), panic("c")], cores=cores)
    assert asked == [2, 3, 4]
    assert result.groups[0].where == "cpu0 in idle, cpu1 in unknown"
    assert result.groups[0].boots == (2, 3)
    assert "OpenOCD has not answered" in result.boot(4).sentence


def test_board_output_in_a_report_does_nothing_to_a_terminal() -> None:
    result = soaked([panic("\x1b[2Jgone\x07")])
    console = Terminal(width=160, file=io.StringIO(), force_terminal=False)
    with console.capture() as captured:
        console.print(soak_table(result), boot_line(result.boots[0]))
    assert "gone" in captured.get()
    assert not {"\x1b", "\x07"} & set(captured.get())


def test_a_boot_that_began_again_says_so() -> None:
    result = soaked([report(restarts=2)])
    assert result.boots[0].ok and result.boots[0].conditions == "began 3 times"


def test_progress_hears_of_every_boot() -> None:
    heard: list[SoakBoot | RigFault] = []
    soaked([report(), RigError(Fault.BUSY, "b1 is taken"), panic()], on_boot=heard.append)
    assert [boot_line(entry) for entry in heard] == [
        "boot 1: up after 2.50 s",
        "boot 2: the rig: board-busy: b1 is taken",
        "boot 3: kernel-panic: the kernel panicked",
    ]


def test_the_table_says_it_all() -> None:
    slow = report(phases={"kernel": 1.0, "login": 30.0}, console="slow.log")
    stop = KeyboardInterrupt()
    result = soaked([*[report()] * 20, slow, panic(), stop], simulated=True)
    console = Console(width=160, record=True, file=None)
    with console.capture() as captured:
        console.print(soak_table(result))
    text = captured.get()
    for words in (
        "simulated",
        "1 of 22 failed: 4.55 %, between 0.12 % and 22.84 % with 95 % confidence",
        "kernel-panic",
        "bad.log",
        "slow.log",
        "29.000 s",
        "interrupted",
    ):
        assert words in text, text
