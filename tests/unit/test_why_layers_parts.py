"""Pieces of texts, options of command lines and kernels, and when a board is booted anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.measure.model import SeriesSpec
from benchvise.measure.suite import SuiteEntry
from benchvise.report.why.plan import plan_text
from benchvise.report.why.sentences import BlockLine
from benchvise.rig.boot.verdict import BootError, BootReport
from benchvise.rig.compose.layers import LayerDifference
from benchvise.rig.compose.layers.init_settings import mixed, pieces
from benchvise.rig.compose.layers.kernel import with_options
from benchvise.rig.compose.layers.layer import LayerPart, LayerSummary
from benchvise.rig.faults import Fault
from benchvise.rig.images import ImageError
from benchvise.state.model import Snapshot
from benchvise.text import Untrusted
from benchvise.why.bench import ArmRefused, SideFacts
from benchvise.why.benches import images as images_module
from benchvise.why.benches import rig as rig_module
from benchvise.why.benches.images import kernel_options, tree_nodes
from benchvise.why.benches.rig import RigBench
from benchvise.why.case import DiagnosisOptions
from benchvise.why.model import Arm, LayerMeans, Metric, Side, Suspect, Trial
from benchvise.why.plan import plan
from benchvise.why.rules import DiagnosisRules
from benchvise.why.suspects.ranking import layer_terms, part_terms
from benchvise.why.suspects.reduction import reach_of
from benchvise.why.witness.model import SideWatch

# -- texts -----------------------------------------------------------------------------------------


def script(*lines: str) -> list[str]:
    return ["#!/bin/sh", *lines]


def taken(here: list[str], there: list[str], *chosen: int) -> list[str]:
    return mixed(here, there, set(chosen))


def test_lines_that_stand_alone_are_pieces_of_their_own() -> None:
    one = script("echo 10 > /proc/sys/vm/swappiness")
    other = script("echo 60 > /proc/sys/vm/swappiness", "# why", "echo 1 > /a", "sysctl -p")
    assert len(pieces(one, other)) == 3
    assert taken(one, other, 0) == script("echo 60 > /proc/sys/vm/swappiness")
    assert taken(one, other, 1) == script("echo 10 > /proc/sys/vm/swappiness", "echo 1 > /a")
    assert taken(other, one, 1) == script("echo 60 > /proc/sys/vm/swappiness", "# why", "sysctl -p")


def test_what_only_makes_sense_together_stays_together() -> None:
    one = script("start")
    loop = ["for f in a b; do", "  echo $f", "done", "if true; then", "  x", "fi"]
    assert len(pieces(one, script("start", *loop))) == 1
    # The head of one block and the end of another: then it is all or nothing.
    two = script("if a; then", "x", "fi")
    three = script("if b; then", "x", "else", "y", "fi")
    for number in range(len(pieces(two, three))):
        result = "\n".join(taken(two, three, number))
        assert result.count("if ") == 1 and result.count("\nfi") == 1


def test_words_of_the_shell_are_told_from_arguments() -> None:
    one, other = script(), script("echo function > /t", "echo done > /u")
    assert len(pieces(one, other)) == 2


def test_a_file_that_one_side_lacks_keeps_its_head_and_goes_with_its_last_line() -> None:
    there = script("# settings", "a=1", "b=2")
    assert taken([], there, 0) == script("a=1")
    assert taken(there, [], 0) == script("# settings", "b=2")
    assert taken(there, [], 0, 1) == []


def test_comments_are_no_difference() -> None:
    assert pieces(script("# one", "x"), script("", "x")) == []


TEXTS = st.lists(
    st.sampled_from(["a=1", "a=2", "b=1", "c", "if x; then", "fi", "# c", "", "echo 1 > /p"]),
    max_size=8,
)


@given(TEXTS, TEXTS)
def test_pieces_are_the_same_from_both_sides_and_all_of_them_are_the_other_text(
    one: list[str], other: list[str]
) -> None:
    found = pieces(one, other)
    assert [(p.second, p.first) for p in found] == [(p.first, p.second) for p in pieces(other, one)]
    assert mixed(one, other, set(range(len(found)))) == other or not found


# -- command lines ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"kpti"}, "console=ttyS0 root=/dev/vda2 kpti=1 audit=0 -- single"),
        ({"audit", "quiet"}, "console=ttyS0 root=/dev/vda2 kpti=0 quiet -- single"),
        ({"console"}, "console=tty0 console=ttyS1 root=/dev/vda2 kpti=0 audit=0 -- single"),
        ({"root"}, "console=ttyS0 root=/dev/vda2 kpti=0 audit=0 -- single"),
        ({"--"}, "console=ttyS0 root=/dev/vda2 kpti=0 audit=0"),
    ],
)
def test_single_options_are_taken(keys: set[str], expected: str) -> None:
    ours = "console=ttyS0 root=/dev/vda2 kpti=0 audit=0 -- single"
    theirs = "console=tty0 console=ttyS1 root=/dev/sda9 quiet kpti=1"
    assert with_options(ours, theirs, keys) == expected


# -- ranking ---------------------------------------------------------------------------------------


def score(layer: str, part: LayerPart) -> float:
    return sum(term.points for term in part_terms(layer, part, reach_of("os.syscall")))


def test_a_known_word_counts_more_than_one_that_hardly_matters() -> None:
    words = ["kpti", "audit", "frobnicate", "elevator"]
    scores = [score("command-line", LayerPart(word, "0", "1")) for word in words]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert scores[0] > scores[3]


def test_a_line_is_ranked_by_the_knob_that_it_sets() -> None:
    tracer = LayerPart("x#0", "", "echo function > /sys/kernel/tracing/current_tracer")
    network = LayerPart("x#1", "", "net.ipv4.tcp_ecn = 1")
    unknown = LayerPart("x#2", "", "start-daemon")
    assert score("init-settings", tracer) > score("init-settings", unknown)
    assert score("init-settings", network) < score("init-settings", unknown)
    assert all(layer_terms(name, reach_of("os.fork")) for name in images_module._TITLES)


# -- kernels and trees -----------------------------------------------------------------------------


def test_options_below_another_one_go_with_it() -> None:
    good = b"CONFIG_HZ=250\nCONFIG_NUMA=y\nCONFIG_NUMA_BALANCING=y\nCONFIG_X86=y\n"
    bad = b"CONFIG_HZ=100\nCONFIG_X86=y\nCONFIG_DEBUG_FOO=y\n"
    found = {suspect.id: suspect for suspect in kernel_options(good, bad, reach_of("timer.wakeup"))}
    assert set(found) == {"kernel:CONFIG_HZ", "kernel:CONFIG_NUMA", "kernel:CONFIG_DEBUG_FOO"}
    assert found["kernel:CONFIG_NUMA"].members == ("CONFIG_NUMA", "CONFIG_NUMA_BALANCING")
    assert found["kernel:CONFIG_HZ"].means is None and found["kernel:CONFIG_HZ"].untestable
    assert next(iter(found)) == "kernel:CONFIG_HZ"  # timers fire by it


def test_without_a_configuration_nothing_is_made_up() -> None:
    assert kernel_options(b"", b"CONFIG_HZ=100\n", reach_of("os.fork")) == []
    assert tree_nodes({"a.dtb": b"no tree"}, {"a.dtb": b"another"}) == []


# -- the bench of images ---------------------------------------------------------------------------

METRIC = Metric.of(SeriesSpec("os.fork", (), "os.fork"), "ns", "lower")
SNAPSHOT = Snapshot("x", "", "", "root", (), ())


class FakeSeat:
    """A board whose boots are noted, by the image."""

    name = "rig:fake"
    simulated = True

    def __init__(self) -> None:
        self.boots = 0
        self.booted: list[str] = []
        self.seconds: dict[bool, list[float]] = {False: [], True: [30.0]}
        self.bad: set[str] = set()
        self.closed = False

    def boot(self, image: Path) -> Any:
        self.booted.append(image.name)
        if image.name in self.bad:
            report = BootReport(Fault.KERNEL_PANIC, "it panics", Untrusted(""), {}, "log")
            raise BootError(Fault.KERNEL_PANIC, "rig:fake: it panics", "look", report)
        self.boots += 1
        return object()

    def close(self) -> None:
        self.closed = True


class FakeBoard:
    batches = 3

    def __init__(self, board: object, *_: Any, **__: Any) -> None:
        pass

    def watch(self, usual_s: float, trace: Path | None) -> SideWatch:
        return SideWatch(counts={"usual_s": usual_s}, trace=str(trace))

    def close(self) -> None:
        pass


class FakeLive:
    """A boot that can be measured: the value says nothing here."""

    def __init__(self, sides: Mapping[Side, object], **_: Any) -> None:
        self.metric = METRIC
        self.arms: list[Arm] = []

    def facts(self, _side: Side) -> SideFacts:
        return SideFacts()

    def snapshot(self, _side: Side) -> Snapshot:
        return SNAPSHOT

    def measure(self, arm: Arm) -> Trial:
        return Trial(1, arm.side, arm.ids, 5.0, (5.0,), 0.0, 1.0)

    def now(self) -> float:
        return 0.0

    def seconds(self, _arm: Arm, _after: Arm | None) -> float:
        return 6.0

    def findings(self, *, look: bool = True) -> tuple[()]:
        return ()

    def writes(self) -> tuple[()]:
        return ()

    def close(self) -> None:
        pass


PARTS = {"command-line": [LayerPart("kpti", "kpti=0", "kpti=1", "/x.conf", 6, 7)]}


@pytest.fixture
def seat(monkeypatch: pytest.MonkeyPatch) -> FakeSeat:
    monkeypatch.setattr(rig_module, "LiveBoard", FakeBoard)
    monkeypatch.setattr(rig_module, "LiveBench", FakeLive)
    told = [
        LayerDifference(name, LayerSummary("1", "a"), LayerSummary("2", "b"))
        for name in ("root", "libc", "command-line")
    ]
    monkeypatch.setattr(images_module, "differing", lambda *_: told)
    monkeypatch.setattr(images_module, "layer_parts", lambda layer, *_: PARTS.get(layer, []))
    return FakeSeat()


class FakeCache:
    """Names composed images by what is in them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.unfit: set[str] = set()

    def make(self, base: Any, layers: Any, parts: Any, _say: Any) -> Path:
        for name in {*layers, *(part for names in parts.values() for part in names)}:
            if name in self.unfit:
                raise ImageError(f"{name} does not fit", "take another")
        chosen = [
            f"{name}={image.path.stem}" + "".join(f":{part}" for part in parts.get(name, ()))
            for name, image in sorted(layers.items())
        ]
        path = self.directory / f"{base.path.stem}+{'+'.join(chosen)}.img"
        path.write_bytes(b"x")
        return path


@pytest.fixture
def bench(seat: FakeSeat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RigBench:
    monkeypatch.setattr(images_module, "ComposedImages", lambda: FakeCache(tmp_path))
    paths = {side: tmp_path / f"{side}.img" for side in Side}
    for path in paths.values():
        path.write_bytes(b"x")
    one: Any = seat
    return RigBench({Side.GOOD: one, Side.BAD: one}, paths, SuiteEntry("os.fork", {}))


def named(bench: RigBench, name: str) -> Suspect:
    return next(suspect for suspect in bench.layers() if suspect.id == name)


def setting(name: str) -> Suspect:
    return Suspect(name, name, named_layer, "x", "0", "1")


named_layer = images_module._KINDS["root"]


def test_settings_are_tried_within_a_boot(bench: RigBench, seat: FakeSeat) -> None:
    knob = setting("knob")
    for arm in (Arm(Side.BAD), Arm(Side.BAD, (knob,)), Arm(Side.BAD, (knob,)), Arm(Side.BAD)):
        bench.measure(arm)
    assert seat.booted == ["bad.img"]


def test_where_images_are_compared_boots_are_repeated(bench: RigBench, seat: FakeSeat) -> None:
    boots = [
        bench.measure(Arm(side)).covariates["boot"]
        for side in (Side.GOOD, Side.BAD, Side.BAD, Side.GOOD, Side.GOOD, Side.BAD)
    ]
    assert len(set(boots)) == len(boots)
    kpti = named(bench, "command-line:kpti")
    before = len(seat.booted)
    for flipped in ((), (kpti,), (kpti,), ()):
        bench.measure(Arm(Side.BAD, flipped))
    assert seat.booted[before:] == ["bad.img", *["bad+command-line=good:kpti.img"] * 2, "bad.img"]


def test_each_side_may_have_a_board_of_its_own(
    bench: RigBench, seat: FakeSeat, tmp_path: Path
) -> None:
    other: Any = FakeSeat()
    bad: Any = seat
    paths = {side: tmp_path / f"{side}.img" for side in Side}
    both = RigBench({Side.GOOD: other, Side.BAD: bad}, paths, SuiteEntry("os.fork", {}))
    before = len(seat.booted)
    for side in (Side.GOOD, Side.BAD, Side.BAD, Side.GOOD):
        both.measure(Arm(side))
    assert other.booted == ["good.img"] and len(seat.booted) == before
    assert not both.boots(Arm(Side.GOOD), Arm(Side.BAD)), "it is still as it was booted"
    assert both.boots(Arm(Side.BAD, (named(both, "libc"),)), Arm(Side.BAD))
    both.close()
    assert other.closed and seat.closed


def test_a_command_is_watched_with_the_image_of_its_side(
    bench: RigBench, seat: FakeSeat, tmp_path: Path
) -> None:
    seen = bench.watch(Side.GOOD, tmp_path / "trace.dat")
    assert seat.booted[-1] == "good.img"
    assert (seen.counts["usual_s"], seen.trace) == (2.0, str(tmp_path / "trace.dat"))


def test_a_root_is_taken_without_the_layers_that_are_part_of_it(
    bench: RigBench, seat: FakeSeat
) -> None:
    bench.measure(Arm(Side.BAD, (named(bench, "root"),)))
    assert seat.booted[-1] == "bad+libc=bad+root=good.img"
    bench.measure(Arm(Side.GOOD, (named(bench, "root"), named(bench, "libc"))))
    assert seat.booted[-1] == "good+root=bad+libc=bad.img"


def test_a_layer_that_does_not_boot_is_refused_by_name_and_not_tried_again(
    bench: RigBench, seat: FakeSeat
) -> None:
    kpti = named(bench, "command-line:kpti")
    seat.bad.add("bad+command-line=good:kpti.img")
    for _ in range(2):
        with pytest.raises(ArmRefused, match="kernel-panic") as caught:
            bench.measure(Arm(Side.BAD, (kpti,)))
        assert caught.value.suspects == (kpti.id,)
    assert seat.booted.count("bad+command-line=good:kpti.img") == 2  # once more, and then no more
    assert {finding.rule for finding in bench.findings()} == {"boot failed"}
    assert bench.measure(Arm(Side.BAD)).value == 5.0
    # Of several, nobody knows which one it is.
    libc = named(bench, "libc")
    seat.bad.add("bad+libc=good+command-line=good:kpti.img")
    seat.bad.add("bad+command-line=good:kpti+libc=good.img")
    with pytest.raises(ArmRefused) as caught:
        bench.measure(Arm(Side.BAD, (kpti, libc)))
    assert caught.value.suspects == ()


def test_layers_that_do_not_fit_are_named(bench: RigBench) -> None:
    cache: Any = bench._images._cache
    cache.unfit.add("libc")
    both = (named(bench, "command-line:kpti"), named(bench, "libc"))
    with pytest.raises(ArmRefused, match="libc does not fit") as caught:
        bench.measure(Arm(Side.BAD, both))
    assert caught.value.suspects == ("libc",)


def test_a_boot_is_part_of_the_cost(bench: RigBench) -> None:
    bench.measure(Arm(Side.BAD))
    here, away = Arm(Side.BAD), Arm(Side.GOOD)
    assert bench.seconds(here, here) < 5.0 < 30.0 <= bench.seconds(away, here)
    swapped = Arm(Side.BAD, (named(bench, "libc"),))
    assert bench.seconds(swapped, here) > bench.seconds(away, here)  # it is composed first
    assert not math.isnan(bench.seconds(swapped, swapped))


def test_a_dry_run_lists_the_layers_with_boots_and_time(bench: RigBench) -> None:
    planned = plan(bench, DiagnosisOptions(), DiagnosisRules())
    names = [layer.id for layer in planned.layers]
    assert names == ["command-line:kpti", "root", "libc"]
    assert planned.effort.boots == 12, "the gap: six times each image"
    assert planned.effort_layers is not None
    assert planned.effort_layers.boots == 12 + 6 + 2 * 6 + 32
    # boots of 30 s, and images in between that are composed once each
    assert 30 * 56 < planned.effort_layers.seconds < 45 * 62
    said = "\n".join(
        line.text for block in plan_text(planned).blocks for line in block.lines
        if isinstance(line, BlockLine)
    )  # fmt: skip
    assert "62 boots" in said and "one of the layers L1 to L3" in said
    assert "on bad: boot it as on good" in said


def test_parts_say_where_they_are_in_each_image(bench: RigBench) -> None:
    kpti = named(bench, "command-line:kpti")
    assert kpti.means == LayerMeans("command-line", "kpti")
    assert [(o.where, o.text.raw) for s in Side for o in bench.origins(s, kpti)] == [
        ("/x.conf:6", "kpti=0"),
        ("/x.conf:7", "kpti=1"),
    ]
    assert bench.parts(kpti) == ()


def test_closing_switches_off(bench: RigBench, seat: FakeSeat) -> None:
    bench.close()
    bench.close()
    assert seat.closed
