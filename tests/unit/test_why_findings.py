"""What an audit of ``why`` found, on causes that nobody had prepared it for: a test each."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeGuard
from unittest.mock import patch

import numpy as np
import pytest
from rig_elf import program as elf_program
from root_trees import build
from why_bench import METRIC, MemoryBench, diagnose, losses, suspect
from why_boards import BOTH, NEITHER, metric, side, with_value

from benchmarks.why.board import SimBoard, SimFiles
from benchvise.board import Completed
from benchvise.board.local import LocalBoard
from benchvise.board.messages import FileError, FileValue, FileWritten
from benchvise.errors import BoardUnreachable, Interrupted, MeasurementError
from benchvise.measure.model import MetricKind, SeriesSpec
from benchvise.report.why.sentences import confirmations, counter_text, diagnosis_text
from benchvise.state import journal
from benchvise.state.commands import run_commands
from benchvise.state.conditions import conditions
from benchvise.state.globs import ByPath
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.intervention import Intervention, intervening
from benchvise.state.knobs import Setting, find_knob
from benchvise.state.model import Snapshot, StateEntry
from benchvise.state.places import may_be_written
from benchvise.text import Untrusted
from benchvise.why.bench import ArmRefused, SideFacts
from benchvise.why.benches.live import LiveBench, _first_of
from benchvise.why.benches.live_board import Process
from benchvise.why.benches.userland import Closure, File, Program
from benchvise.why.benches.userland_swap import UserlandSwap
from benchvise.why.cards import CounterSign
from benchvise.why.experiments import partners
from benchvise.why.experiments.gap import PairedGap, Scale
from benchvise.why.experiments.laboratory import BudgetSpent
from benchvise.why.experiments.question import Effect
from benchvise.why.experiments.search import _CAREFUL, Search
from benchvise.why.explain.cause import ConfirmedCause
from benchvise.why.explain.mechanism import _check, cards_for
from benchvise.why.explain.remedies import remedies
from benchvise.why.model import (
    NOT_SEARCHED,
    Arm,
    Bounds,
    Diagnosis,
    DiagnosisVerdict,
    ExperimentOutcome,
    Finding,
    Grade,
    Layer,
    LayerMeans,
    Origin,
    ProcessMeans,
    Purpose,
    SettingMeans,
    Side,
    Stop,
    Suspect,
    Trial,
)
from benchvise.why.provenance import DirectoryFiles, find_origins
from benchvise.why.suspects.admissibility import examine
from benchvise.why.suspects.find import find

TWENTY = tuple(f"knob{n:02}" for n in range(20))


def shown(diagnosis: Diagnosis) -> str:
    """All that is said of a diagnosis."""
    lines = (line.text for block in diagnosis_text(diagnosis).blocks for line in block.lines)
    return "\n".join(lines)


def test_why_finding_2_what_stands_first_has_no_partners_before_it() -> None:
    class Silent:
        """No question may be put to it."""

    scale = Scale(0.6, 0.01, PairedGap(np.full(8, 0.6)))
    found = partners.find(
        Silent(),  # type: ignore[arg-type]
        scale,
        suspect("knob00"),
        (),
        Effect(0.0, 0.01),
        0.6,
        (),
    )
    assert found is None


@pytest.mark.parametrize(("error", "goes_on"), [(0.04, False), (0.004, True)])
def test_why_finding_2_what_gains_more_than_the_gap_by_noise_is_not_searched_beyond(
    error: float, goes_on: bool
) -> None:
    suspects = [suspect(name) for name in TWENTY]
    repair = SimpleNamespace(context=())
    cause = SimpleNamespace(
        name="knob07",
        suspects=(suspects[7],),
        effect=Effect(0.69, error),
        repair=repair,
        is_whole=False,
    )
    search = Search(
        SimpleNamespace(),  # type: ignore[arg-type]
        Scale(0.6, 0.01, PairedGap(np.full(8, 0.6))),
        suspects,
        0.6,
        proven=[cause],  # type: ignore[list-item]
        left_error=error,
    )
    # What all do at once is less than the cause alone: something seems to do the opposite.
    search._points = {0: Effect(0.0, 0.0), 20: Effect(0.55, 0.004)}
    search._least = _CAREFUL
    assert (search._next_step() is not None) is goes_on


def ended(error: BaseException, rest: float = 0.0) -> Diagnosis:
    """A diagnosis that ends so once knob07 is proven; ``rest`` is a loss that no setting has."""
    bench = MemoryBench(TWENTY, losses(knob07=0.5), rest=rest)
    with patch("benchvise.why.stages.measure_together", side_effect=error):
        return diagnose(bench)


def test_why_finding_2_a_spent_budget_takes_nothing_from_a_gap_that_is_explained() -> None:
    found = ended(BudgetSpent("another experiment"))
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    assert found.stopped is Stop.BUDGET
    assert found.headline.startswith("knob07, set by /etc/sysctl.d/9.conf:1, accounts for")
    assert ended(BudgetSpent("more"), rest=0.4).verdict is DiagnosisVerdict.INCOMPLETE
    assert ended(KeyboardInterrupt()).verdict is DiagnosisVerdict.INCOMPLETE


def test_why_finding_3_what_is_incomplete_keeps_provenance_mechanism_and_remedies() -> None:
    for error in (BudgetSpent("more"), MeasurementError("the command fails")):
        found = ended(error, rest=0.4)
        assert found.verdict is DiagnosisVerdict.INCOMPLETE
        (cause,) = found.causes
        assert {origin.where for origin in cause.origins} == {"/etc/sysctl.d/9.conf:1"}
        assert [remedy.text for remedy in cause.remedies] == ["knob07=on"]


def test_why_finding_3_files_that_were_not_searched_are_not_said_to_set_nothing() -> None:
    for error in (KeyboardInterrupt(), Interrupted("stopped"), BoardUnreachable("no answer")):
        found = ended(error, rest=0.4)
        (cause,) = found.causes
        assert {origin.kind for origin in cause.origins} == {NOT_SEARCHED}
        assert [remedy.text for remedy in cause.remedies] == ["knob07=on"]
        text = shown(found)
        assert "not searched (the diagnosis ended before that" in text
        assert "none of the files" not in text


# -- what is read of a board -----------------------------------------------------------------------


def test_why_finding_5_commands_tell_of_the_board_and_not_of_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = run_commands(LocalBoard(), ["env"], seconds=20)["env"].text
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=1")
    monkeypatch.setenv("LC_ALL", "tlh_QON")
    found = run_commands(LocalBoard(), ["env"], seconds=20)["env"].text
    assert found == plain
    assert {line.partition("=")[0] for line in found.splitlines()} <= {"PATH", "LC_ALL", "PWD"}


def crowded(load: float, *busy: tuple[str, int]) -> Snapshot:
    """Two CPUs, that load, and processes that ran for so many ticks of 20."""
    processes = [{"name": name, "pid": 7, "ticks": ticks} for name, ticks in busy]
    table = {"window_ns": 200_000_000, "ticks_per_second": 100, "processes": processes}
    observed = (
        StateEntry("system.load", "loadavg", value={"1 min": load}),
        StateEntry("system.processes", "busy", value=table),
    )
    settings = (StateEntry("cpu.present", "online", value=[0, 1]),)
    return Snapshot("board", "2026-01-01T00:00:00Z", "boot", "root", settings, observed)


def test_why_finding_13_a_load_of_many_on_few_cpus_is_told_as_that() -> None:
    busy = crowded(95.3, ("chromium", 8))
    (condition,) = conditions(busy, busy)
    assert condition.sentence == (
        "about 95 processes wanted to run on 2 CPUs (load of the last minute); "
        "busiest of those seen: chromium (0.4 CPU)"
    )
    (finding,) = examine(METRIC, {s: SideFacts() for s in Side}, dict.fromkeys(Side, busy))[:1]
    assert "about 95 processes wanted to run on 2 CPUs" in finding.sentence
    quiet = crowded(0.4, ("chromium", 8))
    (condition,) = conditions(quiet, quiet)
    assert condition.sentence == "other processes were busy: chromium (0.4 CPU)"


# -- what a page says of it -----------------------------------------------------------------------


def test_why_finding_6_what_closes_the_gap_rules_nothing_out() -> None:
    found = diagnose(MemoryBench(TWENTY, losses(knob07=0.5), rest=0.4))
    (all_in,) = (e for e in found.experiments if e.purpose is Purpose.ALL_IN)
    assert all_in.outcome is ExperimentOutcome.PARTLY
    assert "of the gap: the rest lies elsewhere." in shown(found)
    closing = replace(all_in, outcome=ExperimentOutcome.CLOSES, share=Bounds(1.02, 0.98, 1.06))
    text = shown(replace(found, experiments=(closing,)))
    assert "102 % (98 to 106) of the gap." in text
    assert "elsewhere" not in text


def test_why_finding_7_rounds_that_differ_contradict_nothing() -> None:
    """Retransmissions in one round of two, none in the other, and none once it is repaired."""
    sign = CounterSign("tcp.retransmits", "-", decides=True)
    case = ConfirmedCause(METRIC, (), {})
    bad = [{"tcp.retransmits": 1000.0}, {"tcp.retransmits": 0.0}]
    good = [{"tcp.retransmits": 0.0}, {"tcp.retransmits": 0.0}]
    check = _check(sign, case, bad, good, "")
    assert check.change is not None and check.change < 0.1
    assert check.agrees is None
    text = counter_text(check)
    assert "against" not in text
    assert text.endswith("unclear (fewer; its rounds differ more than 10-fold)")
    steady = [{"tcp.retransmits": 1000.0}] * 2
    assert _check(sign, case, steady, steady, "").agrees is False
    assert _check(sign, case, steady, good, "").agrees is True


def test_why_finding_8_nothing_is_said_to_be_set_on_a_record() -> None:
    found = diagnose(MemoryBench(TWENTY, losses(knob07=0.5), good_recorded=8))
    (cause,) = found.causes
    assert cause.breaking is not None and cause.breaking.side is Side.BAD
    (text,) = (line for line in confirmations(found, cause) if line.startswith("Broken"))
    assert text.startswith("Broken: the bad value on the bad one, with the other good values set")
    live = diagnose(MemoryBench(TWENTY, losses(knob07=0.5)))
    assert "Broken: the bad value on the good one:" in shown(live)


def overcommit(good: str, bad: str) -> Suspect:
    name = "vm.nr_overcommit_hugepages"
    knob = find_knob(name)
    means = SettingMeans((Setting(knob, good),), (Setting(knob, bad),))
    return Suspect(name, knob.summary, Layer.RUN_TIME, "memory.hugetlb", good, bad, means=means)


def test_why_finding_9_a_line_that_says_what_is_the_default_is_changed_and_not_removed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "90-huge.conf"
    lines = ["# 0 pages", "vm.swappiness = 0", "vm.nr_overcommit_hugepages = 0"]
    file.write_text("\n".join(lines) + "\n")
    origin = Origin(Side.BAD, "sysctl.d", Untrusted(str(file)), 3, Untrusted(lines[2]))
    cause = overcommit("200", "0")
    (first, *_) = remedies(cause, origins=[origin], side_values={Side.GOOD: "200", Side.BAD: "0"})
    words, edit = first.text.splitlines()
    assert words == f"put 200 for 0 in line 3 of {file}: {lines[2]}"
    subprocess.run(["sh", "-ec", edit], check=True)
    assert file.read_text().splitlines() == [*lines[:2], "vm.nr_overcommit_hugepages = 200"]


def test_why_finding_9_a_pool_of_huge_pages_is_not_told_of_transparent_ones() -> None:
    for name in ("vm.nr_hugepages", "vm.nr_overcommit_hugepages"):
        cause = replace(overcommit("200", "0"), id=name)
        card, *_ = cards_for(METRIC, [cause])
        assert card.id == "huge-page-pool"
        every = remedies(cause, origins=(), side_values={Side.GOOD: "200", Side.BAD: "0"})
        told = [card.cost, *(r.text + r.cost for r in every)]
        told += [r.text + r.cost for r in card.remedies]
        assert not any("madvise" in text for text in told)


# -- what is swapped -------------------------------------------------------------------------------

SHIM = "/usr/lib/shim.so"


class Loaders:
    """A board whose loader preloads a library, whatever copy of it is run where it is not kept
    from that; ``keeps`` is a loader whose copies do so all the same."""

    name = "bad"

    def __init__(self, shim: bool, *, keeps: bool = False) -> None:
        self._shim = shim
        self._keeps = keeps
        self.written: dict[str, bytes] = {}

    def files(self, path: str) -> bytes:
        if path == "/etc/ld.so.preload":
            return b"# tuned\n/usr/lib/shim.so\n" if self._shim else b""
        if path == "/lib/ld.so":
            return elf_program(soname="ld.so", text=b"\0/etc/ld.so.preload\0")
        if path == "/usr/bin/count":
            return elf_program(interpreter="/lib/ld.so")
        return elf_program(soname="shim.so")

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 0.0) -> Completed:  # noqa: A002
        text = b""
        match list(argv):
            case ["sh", "-c", script, _, word] if "command -v" in script:
                text = {"count": b"/usr/bin/count", "/lib/ld.so": b"/lib/ld.so"}.get(word, b"")
            case ["sh", "-c", script] if "mktemp" in script:
                text = b"/tmp/copies\n"
            case ["sh", "-c", _, _, target]:
                self.written[target] = input
            case ["sh", "-c", _, _, path, target]:
                self.written[target] = self.files(path)
            case ["cat", "--", path]:
                text = self.files(path)
            case ["env", *_, "--list", program]:
                text = self.listing(list(argv), program)
        return Completed(0, text, b"")

    def listing(self, argv: list[str], program: str) -> bytes:
        loader = argv[argv.index("--library-path") - 1] if "--library-path" in argv else argv[-3]
        data = self.written.get(loader, self.files(loader))
        lines = []
        if self._shim and (self._keeps or b"/etc/ld.so.preload\0" in data):
            lines.append(f"\t{SHIM} (0x1)")
        if "--preload" in argv:
            lines += [f"\t{p} (0x2)" for p in argv[argv.index("--preload") + 1].split(":")]
        return "\n".join([*lines, f"\t{loader} (0x3)"]).encode()


def preloading(*, shim: bool, keeps: bool = False) -> tuple[UserlandSwap, Loaders]:
    """A swap where the good side preloads nothing, and the bad one does."""
    boards = {Side.GOOD: Loaders(False), Side.BAD: Loaders(shim, keeps=keeps)}
    opened = {side: SimpleNamespace(board=b, name=b.name, boots=0) for side, b in boards.items()}
    return UserlandSwap(opened, "count 7"), boards[Side.BAD]  # type: ignore[arg-type]


SPEC = SeriesSpec("command.time", (("run", "count 7"),), "command.time")


def test_why_finding_1_a_swap_does_not_keep_what_the_board_preloads() -> None:
    swap, board = preloading(shim=True)
    (part,) = swap.layers()
    assert (part.id, part.good) == ("userland:preload", "none")
    assert part.bad.startswith(f"{SHIM} ")
    command = dict(swap.spec(Arm(Side.BAD, (part,)), SPEC).params)["run"]
    loader, *_ = command.split()
    assert b"/etc/ld.so.preload" not in board.written[loader]
    assert "shim" not in command and command.endswith("count 7")
    assert swap.spec(Arm(Side.BAD), SPEC) is SPEC
    # The good side gets the other's: its loader preloads nothing by itself.
    command = dict(swap.spec(Arm(Side.GOOD, (part,)), SPEC).params)["run"]
    assert "--preload" in command and "preload/shim.so" in command
    lines = {(o.where, o.text.raw) for o in swap.origins(Side.BAD, part)}
    assert ("/etc/ld.so.preload:2", SHIM) in lines
    assert preloading(shim=False)[0].layers() == []


def test_why_finding_1_a_swap_that_is_not_what_was_meant_excludes_nothing() -> None:
    swap, _ = preloading(shim=True, keeps=True)
    (part,) = swap.layers()
    with pytest.raises(ArmRefused, match=r"shim\.so is loaded from /usr/lib/shim.so all the same"):
        swap.spec(Arm(Side.BAD, (part,)), SPEC)


def test_why_finding_1_a_layer_that_could_not_be_swapped_excludes_nothing() -> None:
    def needed(refused: frozenset[str]) -> str:
        names = ("userland",)
        bench = MemoryBench(TWENTY, losses(), rest=0.5, layer_names=names, refused=refused)
        return " / ".join(diagnose(bench).needed)

    assert "the cause is in none of the swapped layers" in needed(frozenset())
    said = needed(frozenset({"userland"}))
    assert "userland could not be swapped: left out userland: userland is read-only" in said
    assert "none of the swapped layers" not in said


def test_why_finding_11_one_file_that_differs_is_not_searched_for() -> None:
    def closure(digest: str, program: str = "0") -> Closure:
        files = {
            "count": File("/usr/bin/count", program, "program count", b"x"),
            "libz.so.1": File("/usr/lib/libz.so.1", digest, "libz.so.1", b"x"),
        }
        return Closure((Program("count", "count", "ld.so"),), files, ("x86_64", 64, False))

    def layers(good: Closure, bad: Closure) -> list[str]:
        swap = UserlandSwap({}, "count")
        swap._closures = {Side.GOOD: good, Side.BAD: bad}
        return [layer.id for layer in swap.layers()]

    assert layers(closure("1"), closure("2")) == ["userland:libz.so.1"]
    assert layers(closure("1"), closure("2", "3")) == ["userland"]
    assert layers(closure("1"), closure("1")) == []
    bench = SimpleNamespace(_userland=UserlandSwap({}, "count"))
    part = suspect("userland:libz.so.1", layer="userland")
    part = replace(part, means=LayerMeans("userland", "libz.so.1"))
    assert LiveBench.parts(bench, part) == ()  # type: ignore[arg-type]


# -- commands that fail now and then ---------------------------------------------------------------


class Flaky(MemoryBench):
    """The command fails in every so many trials of a side."""

    every: Mapping[Side, int]
    counted: dict[Side, int]

    def measure(self, arm: Arm) -> Trial:
        self.counted[arm.side] = self.counted.get(arm.side, 0) + 1
        if self.every.get(arm.side) and self.counted[arm.side] % self.every[arm.side] < 2:
            raise MeasurementError("the command failed (exit 3)")
        return super().measure(arm)


def flaky(**every: int) -> Diagnosis:
    bench = Flaky(TWENTY, losses(knob07=0.5))
    bench.every = {Side(side): count for side, count in every.items()}
    bench.counted = {}
    return diagnose(bench)


def test_why_finding_12_a_command_that_fails_now_and_then_is_retried_and_its_rate_told() -> None:
    found = flaky(bad=24)
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    (finding,) = (f for f in found.findings if f.rule == "metric failing")
    assert "memory.copy fails now and then: 0 of" in finding.sentence
    assert re.search(r"[1-9]\d* of \d+ times on the bad one", finding.sentence)
    assert "exit 3" in finding.evidence
    # Two in four fail on the one side and none on the other.
    apart = flaky(bad=4)
    assert apart.verdict is DiagnosisVerdict.EXPLAINED
    (finding,) = (f for f in apart.findings if f.rule == "metric failing")
    assert finding.grade is Grade.WARNS
    assert "a difference of its own" in finding.sentence
    assert not any(f.rule == "metric failing" for f in flaky().findings)


def test_why_finding_12_what_always_fails_still_ends() -> None:
    found = flaky(good=1)
    assert found.stopped is Stop.FAILED


def test_why_finding_12_the_first_run_may_fail_too() -> None:
    process = Process({}, {}, (), {}), MetricKind("ns", "lower", "a run")
    answers = iter([MeasurementError("exit 3"), MeasurementError("exit 3"), process])

    class Board:
        def first(self) -> object:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

    assert _first_of(Board()) == process  # type: ignore[arg-type]


# -- the end ---------------------------------------------------------------------------------------


def test_why_finding_14_an_interrupt_does_not_wait_for_another_look_at_the_boards() -> None:
    looks: list[bool] = []

    class Slow(MemoryBench):
        def findings(self, *, look: bool = True) -> Sequence[Finding]:
            looks.append(look)
            return ()

    at = {30: KeyboardInterrupt()}
    assert diagnose(Slow(TWENTY, losses(knob07=0.5), at=at)).stopped is Stop.INTERRUPTED
    assert looks == [False]
    assert diagnose(Slow(TWENTY, losses(knob07=0.5))).stopped is None
    assert looks == [False, True]


def test_why_finding_14_a_signal_that_came_before_is_answered_before_anything_is_set() -> None:
    class Board:
        name = "bad"

        def intervention(self) -> None:
            raise AssertionError("it would be set")

    bench = LiveBench.__new__(LiveBench)
    bench._live = {Side.BAD: Board()}  # type: ignore[dict-item]
    bench._interventions = {}
    bench._file_swap = None
    knob = find_knob("vm.swappiness")
    means = SettingMeans((Setting(knob, "10"),), (Setting(knob, "60"),))
    arm = Arm(Side.BAD, (replace(suspect("vm.swappiness"), means=means),))

    def measured() -> None:
        with deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            bench._on_arm(arm, lambda *_: pytest.fail("it would be measured"))

    with pytest.raises(KeyboardInterrupt):
        measured()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_why_finding_14_a_signal_in_the_middle_of_any_write_leaves_everything_as_it_was(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path))
    names = ("vm.swappiness", "vm.dirty_ratio", "vm.nr_hugepages")
    texts = {f"/proc/sys/vm/{n.partition('.')[2]}": f"{v}\n" for v, n in enumerate(names, 40)}
    settings = [Setting(find_knob(name), "7") for name in names]
    for step in itertools.count():
        board = SimBoard("bad", texts)
        steps = itertools.count()

        def at_step(steps: Iterator[int] = steps, step: int = step) -> None:
            if next(steps) == step:
                os.kill(os.getpid(), number)

        files = SimFiles(board, at_step)
        try:
            with deferred(), intervening("bad", files, files.again, {}) as intervention:
                intervention.apply(settings)
                with let_through():
                    pass
        except KeyboardInterrupt:
            pass
        else:
            break
        assert board.files == texts, step
        assert not any(session.is_due for session in journal.sessions())
    assert step > 6


# -- what is tried ---------------------------------------------------------------------------------

COMMAND = metric("command.time", "sort -f words")


def environments(good: Mapping[str, str], bad: Mapping[str, str]) -> tuple[Snapshot, Snapshot]:
    name = "process.environment/variables"
    return with_value(side(), name, dict(good)), with_value(side(), name, dict(bad))


def test_why_finding_4_variables_of_the_environment_are_tried() -> None:
    good, bad = environments(
        {"LANG": "C", "OMP_NUM_THREADS": "4", "PATH": "/usr/bin:/bin"},
        {"LANG": "C", "LC_ALL": "C.UTF-8", "PATH": "/opt/a,b=c/bin:/bin", "USER": "me"},
    )
    suspects = find(good, bad, COMMAND, may_set=NEITHER).suspects
    assert {s.id: (s.means.to_good, s.means.to_bad) for s in suspects if is_process(s)} == {
        "process.environment:LC_ALL": ({"env.LC_ALL": "%"}, {"env.LC_ALL": "C.UTF-8"}),
        "process.environment:OMP_NUM_THREADS": (
            {"env.OMP_NUM_THREADS": "4"},
            {"env.OMP_NUM_THREADS": "%"},
        ),
        "process.environment:PATH": (
            {"env.PATH": "/usr/bin:/bin"},
            {"env.PATH": "/opt/a%2Cb%3Dc/bin:/bin"},
        ),
    }
    # The probe's own programs do not look at them, and a very long one fits into no request.
    assert not any(map(is_process, find(good, bad, metric("cpu.clock"), may_set=BOTH).suspects))
    good, bad = environments({"PATH": "/bin"}, {"PATH": "/bin:" * 2000})
    assert not any(map(is_process, find(good, bad, COMMAND, may_set=BOTH).suspects))


def is_process(suspect: Suspect) -> TypeGuard[Any]:
    return isinstance(suspect.means, ProcessMeans)


def limits(**kinds: int | str) -> Snapshot:
    process = {"uid": 0, "policy": 0, "priority": 0, "nice": 0, "limits": kinds}
    return with_value(side(), "process.inherited/process", process)


def test_why_finding_4_limits_are_tried() -> None:
    good, bad = limits(nofile=1024, stack=8388608), limits(nofile=20000, stack="unlimited")
    for of in (COMMAND, metric("os.fork")):
        suspects = find(good, bad, of, may_set=NEITHER).suspects
        assert {s.id: (s.means.to_good, s.means.to_bad) for s in suspects if is_process(s)} == {
            "process.inherited:limit.nofile": (
                {"limit.nofile": "1024"},
                {"limit.nofile": "20000"},
            ),
            "process.inherited:limit.stack": (
                {"limit.stack": "8388608"},
                {"limit.stack": "unlimited"},
            ),
        }


def only_suspect(good: Snapshot, bad: Snapshot, name: str) -> Suspect:
    (found,) = (s for s in find(good, bad, COMMAND, may_set=BOTH).suspects if s.id == name)
    return found


def where_set(files: Mapping[str, str], cause: Suspect, place: Path) -> list[str]:
    source = DirectoryFiles(build(files, place), "tree")
    return [origin.where for origin in find_origins(source, cause, Side.BAD)]


def remedies_of(cause: Suspect, *origins: Origin) -> dict[str, str]:
    values = {Side.GOOD: cause.good, Side.BAD: cause.bad}
    every = remedies(cause, origins=origins, side_values=values)
    return {remedy.system: remedy.text for remedy in reversed(every)}


def test_why_finding_4_lines_and_remedies_of_variables_and_limits(tmp_path: Path) -> None:
    variable = only_suspect(
        *environments({"LANG": "C"}, {"LANG": "C", "LC_ALL": "C.UTF-8"}),
        "process.environment:LC_ALL",
    )
    files = {"/etc/environment": "# locale\nLANG=C\nLC_ALL=C.UTF-8\n"}
    assert where_set(files, variable, tmp_path / "one") == ["/etc/environment:3"]
    line = Origin(Side.BAD, "environment", Untrusted("/e"), 3, Untrusted("LC_ALL=C.UTF-8"))
    told = remedies_of(variable, line)
    assert told["the line that sets it"].startswith("remove line 3 of /e: LC_ALL=C.UTF-8\nsed -i ")
    assert told["now"] == "unset LC_ALL" and "UnsetEnvironment=LC_ALL" in told["Debian"]
    given = only_suspect(*environments({"TZ": "a b"}, {}), "process.environment:TZ")
    assert remedies_of(given)["now"] == "export TZ='a b'"
    assert 'Environment="TZ=a b"' in remedies_of(given)["Debian"]

    limit = only_suspect(
        limits(nofile=1024, stack=1),
        limits(nofile=20000, stack=1),
        "process.inherited:limit.nofile",
    )
    files = {"/etc/security/limits.conf": "* soft stack 99\n* soft nofile 20000\n"}
    assert where_set(files, limit, tmp_path / "two") == ["/etc/security/limits.conf:2"]
    told = remedies_of(limit)
    assert told["now"] == "prlimit --nofile=1024: --pid $$"
    assert "LimitNOFILE=1024" in told["Debian"] and "* soft nofile 1024" in told["Debian"]
    stack = only_suspect(limits(stack=8388608), limits(stack=1), "process.inherited:limit.stack")
    assert "* soft stack 8192" in remedies_of(stack)["Debian"]
    assert "LimitSTACK=8388608" in remedies_of(stack)["Debian"]


def test_why_finding_4_a_list_of_preloaded_libraries_is_kept_from_a_command() -> None:
    entry = {"/etc/ld.so.preload": "/usr/lib/shim.so\n"}
    cause = only_suspect(side(), side(entry), "libc.preload")
    assert cause.means == ProcessMeans({"preload": "none"}, {}) and cause.not_on_good
    (other,) = find(side(entry), side(), COMMAND, may_set=BOTH).suspects
    assert other.means is None, "a library that is not there cannot be given"


MOUNTED = "36 35 98:0 / /data rw,relatime - ext4 /dev/sda1 rw{}\n"
DATA_SYNC = "/proc/self/mountinfo/!data/sync"


def mounted(sync: str, more: str = "") -> Snapshot:
    options = ("," + sync if sync == "sync" else "") + more
    return side({DATA_SYNC: sync, "/proc/self/mountinfo": MOUNTED.format(options)})


def test_why_finding_10_options_of_mounts_are_tried() -> None:
    (cause,) = find(mounted("async"), mounted("sync"), COMMAND, may_set=BOTH).suspects
    assert (cause.id, cause.good, cause.bad) == ("mount.sync", "async", "sync")
    assert isinstance(cause.means, SettingMeans)
    assert [str(setting) for setting in cause.means.to_good] == ["mount.sync=async"]
    # What no knob covers is still told.
    good, bad = mounted("async", ",data=ordered"), mounted("sync", ",data=journal")
    names = [suspect.id for suspect in find(good, bad, COMMAND, may_set=BOTH).suspects]
    assert names == ["mount.sync", "storage.mounts:/data"]


def test_each_file_system_is_a_difference_of_its_own() -> None:
    """Was: all in one, of which only the first three were shown."""

    def made(size: int) -> tuple[StateEntry, ...]:
        points = ("/data", "/run", "/srv", "/var/log")
        return tuple(
            StateEntry("storage.file_systems", p, value={"block_size": size}) for p in points
        )

    good, bad = (replace(side(), settings=made(size)) for size in (1024, 4096))
    found = find(good, bad, COMMAND, may_set=BOTH).suspects
    assert {suspect.id: suspect.bad for suspect in found}["storage.file_systems:/srv"] == "4096"
    assert len(found) == 4


def test_a_feature_that_a_file_system_lacks_is_told_by_its_name() -> None:
    """lavv17/lftp#257: without extents a file is preallocated by writing it."""
    both = {"block_size": 4096, "feature has_journal": "on", "inode_size": 256}
    good, bad = (
        replace(side(), settings=(StateEntry("storage.file_systems", "/data", value=value),))
        for value in ({**both, "feature extent": "on"}, both)
    )
    (suspect,) = find(good, bad, COMMAND, may_set=BOTH).suspects
    assert suspect.id == "storage.file_systems:/data"
    assert (suspect.good, suspect.bad) == ("feature extent=on", "feature extent=not there")
    assert suspect.title.endswith(": extent")
    assert suspect.untestable.startswith("it is decided when the file system is made")


def test_why_finding_10_a_mount_of_one_side_only_is_told_once() -> None:
    """So is what a snapshot does not have that was taken before options of mounts were read."""
    bare = side({"/proc/self/mountinfo": MOUNTED.format(",sync")})
    result = find(bare, mounted("sync"), COMMAND, may_set=BOTH)
    assert result.suspects == ()
    assert list(result.excluded) == ["storage.mounts//data sync"]
    result = find(side(), mounted("sync"), COMMAND, may_set=BOTH)
    assert {member for s in result.suspects for member in s.members} >= {"storage.mounts/mounts"}
    assert all(suspect.means is None for suspect in result.suspects)


def test_why_finding_10_lines_and_remedies_of_mounts(tmp_path: Path) -> None:
    (cause,) = find(mounted("async"), mounted("sync"), COMMAND, may_set=BOTH).suspects
    fstab = "/dev/sda2 / ext4 defaults 0 1\n\n/dev/sda1 /data ext4 defaults,sync 0 2\n"
    assert where_set({"/etc/fstab": fstab}, cause, tmp_path / "tree") == ["/etc/fstab:3"]
    text = "/dev/sda1 /data ext4 defaults,sync 0 2"
    file = tmp_path / "fstab"
    file.write_text(fstab)
    told = remedies_of(cause, Origin(Side.BAD, "fstab", Untrusted(str(file)), 3, Untrusted(text)))
    assert told["now"] == "mount -o remount,async /data"
    assert "in the line of /data, the fourth field: async instead of sync" in told["Debian"]
    words, edit = told["the line that sets it"].splitlines()
    assert words.startswith("put async for sync in line 3 of ")
    subprocess.run(["sh", "-ec", edit], check=True)
    assert file.read_text() == fstab.replace("sync", "async")


@dataclass
class Mounts:
    """A board's options of mounts, as the probe shows them."""

    values: dict[str, str]
    is_open: bool = True
    place: tuple[int, str] | None = None

    def read(self, globs: Iterable[str]) -> dict[str, FileValue | FileError]:
        table = ByPath({path: FileValue(value) for path, value in self.values.items()})
        return {path: content for glob in globs for path, _, content in table.matching(glob)}

    def write(self, path: str, value: str) -> FileWritten:
        assert path in self.values
        self.values[path] = value
        return FileWritten(value, "")

    def end_other(self, pid: int, program: str) -> None:
        raise AssertionError("nothing was left")

    def close(self) -> None:
        pass


def test_why_finding_10_a_mount_is_set_and_put_back_like_any_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path))
    before = {DATA_SYNC: "sync", "/proc/self/mountinfo/!/sync": "sync"}
    files = Mounts(dict(before))
    setting = Setting(find_knob("mount.sync"), "async", (DATA_SYNC,))
    with intervening("bad", files, lambda: files, {}) as intervention:
        intervention.apply([setting])
        assert files.values == {**before, DATA_SYNC: "async"}
        intervention.check_held()
    assert files.values == before
    # A process that is killed leaves it set: `restore` puts it back.
    killed = Intervention("bad", files, lambda: files, {})
    killed.apply([setting])
    assert files.values != before
    (session,) = journal.sessions()
    assert [(c.path, c.old) for c in session.pending if c.new is not None] == [(DATA_SYNC, "sync")]
    killed.undo()
    assert files.values == before
    assert not may_be_written(setting.knob.path, "/proc/self/mountinfo/!data/../../mem/sync")
    assert not may_be_written(setting.knob.path, "/proc/self/mountinfo")
