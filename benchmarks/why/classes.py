"""The classes of scenarios: each draws boards from a seed and knows what a right diagnosis says."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from benchmarks.why import held_out, values
from benchmarks.why.board import Quirk
from benchmarks.why.draft import Draft
from benchmarks.why.metrics import METRICS, PERF_COPY, SYSBENCH, SimMetric
from benchmarks.why.response import Effect
from benchmarks.why.scenario import Fault, Scenario, SimLayer
from benchvise.state import knobs as spelling
from benchvise.state.model import Family
from benchvise.why.bench import SideFacts
from benchvise.why.model import DiagnosisVerdict, Layer, Side

_FOUND = (DiagnosisVerdict.EXPLAINED, DiagnosisVerdict.PARTLY)
_SMALL = (DiagnosisVerdict.NO_DIFFERENCE, DiagnosisVerdict.UNEXPLAINED)
_REFUSALS = ("EACCES", "EINVAL", "clamped", "resets", "does not hold")
# What a write with a side effect changes along: the first that is of another item.
_UNRELATED = ("net.tcp_fastopen", "fs.aio_max_nr")


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of scenarios: its share of all, in parts, and what draws one."""

    name: str
    parts: int
    draw: Callable[[Draft], Scenario]
    summary: str


# -- causes that are found -------------------------------------------------------------------------


def one(draft: Draft) -> Scenario:
    files = draft.plant(draft.culprit(), draft.size())
    draft.fill(draft.rng.randint(39, 47))
    return draft.finish(*_FOUND, causes=[(files,)])


def two(draft: Draft) -> Scenario:
    gap = draft.size(least=14, most=1.5)
    first = draft.plant(draft.culprit(), 0.6 * gap)
    second = draft.plant(draft.culprit(), 0.3 * gap)
    draft.rest[Side.BAD] = 0.1 * gap
    draft.fill(draft.rng.randint(30, 44))
    return draft.finish(*_FOUND, causes=[(first,), (second,)])


def interaction(draft: Draft) -> Scenario:
    both, conditions = [], []
    for _ in range(2):
        name = draft.culprit()
        good, bad = draft.differ(name)
        conditions.append(draft.condition(name, good, bad))
        both.append(frozenset(values.paths_of(name)))
    # Each alone does nothing: on the bad side both are as they cost, so either repairs it; on the
    # good side it takes both to break it.
    draft.effects.append(Effect(tuple(conditions), draft.size(least=6)))
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(both[0],), (both[1],), (both[0], both[1])])


def needs_both(draft: Draft) -> Scenario:
    both, conditions = [], []
    for _ in range(2):
        name = draft.culprit()
        good, bad = draft.differ(name)
        conditions.append(draft.condition(name, good, bad))
        both.append(frozenset(values.paths_of(name)))
    # Either of them alone costs it all: the bad side is repaired only by both together.
    draft.effects.append(Effect(tuple(conditions), draft.size(least=6), any_of=True))
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(both[0], both[1])])


def masked(draft: Draft) -> Scenario:
    loss = draft.size(least=10)
    first = draft.plant(draft.culprit(), loss)
    second = draft.plant(draft.culprit(), draft.rng.uniform(0.2, 0.5) * loss, worse=Side.GOOD)
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(first,), (second,)])


def with_rest(draft: Draft) -> Scenario:
    gap = draft.size(least=10, most=1.5)
    share = draft.rng.uniform(0.5, 0.85)
    files = draft.plant(draft.culprit(), share * gap)
    draft.rest[Side.BAD] = (1 - share) * gap
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(DiagnosisVerdict.PARTLY, causes=[(files,)])


def small(draft: Draft) -> Scenario:
    files = draft.plant(draft.culprit(), draft.noise.floor * draft.rng.uniform(0.3, 3))
    draft.fill(draft.rng.randint(25, 44))
    # So small a gap may be found, missed or left open; it is never the other way round, and there
    # is nothing in it that could keep a diagnosis from its end.
    return draft.finish(*_FOUND, *_SMALL, causes=[(files,)], demanding=False)


def recorded(draft: Draft) -> Scenario:
    files = draft.plant(draft.culprit(), draft.size(least=6))
    draft.fill(draft.rng.randint(25, 44))
    trials = draft.rng.choice((0, 8, 12, 20))
    return draft.finish(*_FOUND, causes=[(files,)], recorded=trials)


def refused_others(draft: Draft) -> Scenario:
    files = draft.plant(draft.culprit(), draft.size(least=6))
    draft.fill(draft.rng.randint(30, 44), without=_UNRELATED)
    for name in draft.bystanders(draft.rng.randint(2, 6)):
        _refuse(draft, name, draft.rng.choice(_REFUSALS))
    return draft.finish(*_FOUND, causes=[(files,)])


# -- what cannot be found --------------------------------------------------------------------------


def no_difference(draft: Draft) -> Scenario:
    draft.fill(draft.rng.randint(20, 44))
    return draft.finish(DiagnosisVerdict.NO_DIFFERENCE)


def reversed_gap(draft: Draft) -> Scenario:
    draft.plant(draft.culprit(), draft.size(least=8), worse=Side.GOOD)
    draft.fill(draft.rng.randint(20, 44))
    return draft.finish(DiagnosisVerdict.REVERSED)


def unexplained(draft: Draft) -> Scenario:
    draft.rest[Side.BAD] = draft.size(least=6)
    if draft.rng.random() < 0.5:  # there is a difference that matters, and nothing can set it
        path, text = draft.rng.choice(_FIXED)
        draft.bad[path] = text
    draft.fill(draft.rng.randint(20, 44))
    return draft.finish(DiagnosisVerdict.UNEXPLAINED)


def refused(draft: Draft) -> Scenario:
    how = draft.rng.choice((*_REFUSALS, "risky"))
    has_risky = bool(draft.metric.families & {Family.MEMORY, Family.STORAGE})
    name = draft.culprit(risky=how == "risky" and has_risky)
    files = draft.plant(name, draft.size(least=6))
    draft.fill(draft.rng.randint(20, 44), without=_UNRELATED)
    if not values.knob_of(name).risky:
        _refuse(draft, name, how)
    return draft.finish(
        DiagnosisVerdict.UNEXPLAINED,
        DiagnosisVerdict.PARTLY,
        DiagnosisVerdict.INCOMPLETE,
        causes=[(files,)],
        refused=files,
        demanding=False,
    )


def layer(draft: Draft) -> Scenario:
    layers = tuple(draw_layer(draft, name) for name in draft.rng.sample(list(LAYERS), 3))
    guilty = layers[0]
    part = draft.rng.choice(guilty.parts or ("",))
    layers = tuple(draft.rng.sample(layers, len(layers)))
    draft.layer_losses[guilty.name, part] = draft.size(least=6)
    draft.fill(draft.rng.randint(8, 30))
    return draft.finish(*_FOUND, layer_cause=(guilty.name, part), layers=layers)


def unprivileged(draft: Draft) -> Scenario:
    """Nothing can be set, but what is done to the measured process alone may do the same."""
    can = draft.rng.random() < 0.6
    if can:
        name, good, bad = draft.rng.choice(_PER_PROCESS)
        draft.metric = draft.rng.choice([m for m in METRICS if Family.MEMORY in m.families])
        draft.give(name, good, bad)
        loss = draft.size(least=6)
        draft.effects.append(Effect((draft.condition(name, good, bad),), loss))
        files = frozenset(values.paths_of(name))
    else:
        name = draft.culprit()
        while name in {known for known, _, _ in _PER_PROCESS}:
            name = draft.culprit()
        files = draft.plant(name, draft.size(least=6))
    draft.fill(draft.rng.randint(20, 44))
    if can:
        return draft.finish(*_FOUND, causes=[(files,)], is_root=False)
    return draft.finish(
        DiagnosisVerdict.UNEXPLAINED,
        causes=[(files,)],
        refused=files,
        demanding=False,
        is_root=False,
    )


def artefact(draft: Draft) -> Scenario:
    """The values of the two sides must not be compared, however different the boards are."""
    how = draft.rng.choice(("old perf", "old sysbench", "no program", "emulated"))
    perf, sysbench = (
        ("perf version 6.1.55", "perf version 5.4.30"),
        ("sysbench 1.0.20", "sysbench 0.4.12"),
    )
    draft.metric = SYSBENCH if how == "old sysbench" else PERF_COPY
    texts = sysbench if how == "old sysbench" else perf
    good, bad = (_facts(draft.metric, text) for text in texts)
    rules = {"perf-unwritten-source"}
    if how == "old sysbench":
        rules = {"sysbench-versions"}
    if how == "no program":
        bad, rules = SideFacts(programs={"/bin/sh": digest("sh")}), {"program-missing"}
    if how == "emulated":
        good, bad, rules = (
            _facts(draft.metric, perf[0]),
            _facts(draft.metric, perf[0]),
            {"emulated"},
        )
        bad = replace(bad, simulated=True)
    draft.plant(draft.culprit(), draft.size(least=6))
    draft.fill(draft.rng.randint(20, 44))
    facts = {Side.GOOD: good, Side.BAD: bad}
    return draft.finish(DiagnosisVerdict.NOT_ADMISSIBLE, rules=rules, facts=facts)


def known_artefact(draft: Draft) -> Scenario:
    """The same program on both sides, with an artefact: the cause is found, and that is said."""
    draft.metric = PERF_COPY
    facts = dict.fromkeys(Side, _facts(draft.metric, "perf version 5.4.30"))
    files = draft.plant(draft.culprit(), draft.size(least=6))
    draft.fill(draft.rng.randint(20, 44))
    return draft.finish(*_FOUND, causes=[(files,)], rules={"perf-unwritten-source"}, facts=facts)


def lost(draft: Draft) -> Scenario:
    kind = draft.rng.choice(("lost", "reboot", "gone"))
    files = draft.plant(draft.culprit(), draft.size(least=6))
    draft.fill(draft.rng.randint(25, 44))
    fault = _fault(draft, kind, 60)
    verdicts = (DiagnosisVerdict.INCOMPLETE, *_FOUND) if kind == "gone" else _FOUND
    return draft.finish(
        *verdicts, causes=[(files,)], faults=(fault,), demanding=False if kind == "gone" else None
    )


def killed(draft: Draft) -> Scenario:
    files = draft.plant(draft.culprit(), draft.size(least=6))
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(files,)], faults=(_fault(draft, "kill", 60),))


def interrupted(draft: Draft) -> Scenario:
    files = draft.plant(draft.culprit(), draft.size(least=6))
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(
        DiagnosisVerdict.INCOMPLETE,
        *_FOUND,
        causes=[(files,)],
        faults=(_fault(draft, "interrupt", 40),),
        demanding=False,
    )


# -- what a boot decides by chance -----------------------------------------------------------------


def boot_luck(draft: Draft) -> Scenario:
    """Two boards, each in a boot of its own, and in some cases one boots again in between."""
    _give_luck(draft)
    files = draft.plant(draft.culprit(), draft.size_beyond_floors())
    draft.fill(draft.rng.randint(25, 44))
    faults = (_fault(draft, "reboot", 60),) if draft.rng.random() < 0.3 else ()
    return draft.finish(*_FOUND, causes=[(files,)], faults=faults)


def boot_luck_alone(draft: Draft) -> Scenario:
    _give_luck(draft)
    draft.fill(draft.rng.randint(20, 44))
    return draft.finish(DiagnosisVerdict.NO_DIFFERENCE)


def boot_luck_recorded(draft: Draft) -> Scenario:
    """The record was made in another boot than any that is seen."""
    _give_luck(draft)
    files = draft.plant(draft.culprit(), draft.size_beyond_floors())
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(files,)], recorded=draft.rng.choice((8, 12, 20)))


def boot_luck_layer(draft: Draft) -> Scenario:
    """Each swap is a boot, on one board for both images or on one for each."""
    one_board = _give_luck(draft, rig=True)
    layers = tuple(draw_layer(draft, name) for name in draft.rng.sample(list(LAYERS), 3))
    guilty = layers[0]
    part = draft.rng.choice(guilty.parts or ("",))
    layers = tuple(draft.rng.sample(layers, len(layers)))
    draft.layer_losses[guilty.name, part] = draft.size_beyond_floors()
    draft.fill(draft.rng.randint(8, 30))
    cause = (guilty.name, part)
    return draft.finish(*_FOUND, layer_cause=cause, layers=layers, one_board=one_board)


def boot_luck_no_layer(draft: Draft) -> Scenario:
    """Layers differ, and swapping them changes no more than another boot does."""
    one_board = _give_luck(draft, rig=True)
    draft.rest[Side.BAD] = draft.size_beyond_floors()
    layers = tuple(draw_layer(draft, name) for name in draft.rng.sample(list(LAYERS), 3))
    draft.fill(draft.rng.randint(8, 30))
    return draft.finish(DiagnosisVerdict.UNEXPLAINED, layers=layers, one_board=one_board)


# -- costs that add up in time ---------------------------------------------------------------------


def fixed_cost(draft: Draft) -> Scenario:
    cost = draft.cost()
    files = draft.plant_cost(draft.culprit(), cost)
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(files,)])


def two_costs(draft: Draft) -> Scenario:
    """60 and 30 % of the time that is lost, and 10 % that nothing explains."""
    cost = draft.cost(least=14)
    first = draft.plant_cost(draft.culprit(), 0.6 * cost)
    second = draft.plant_cost(draft.culprit(), 0.3 * cost)
    draft.rest_ns[Side.BAD] = 0.1 * cost
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(first,), (second,)])


def cost_and_factor(draft: Draft) -> Scenario:
    """One cause makes the operation slower, the other adds a time that this does not touch."""
    cost = draft.cost(least=8)
    share = cost / draft.metric.operation_ns
    first = draft.plant_cost(draft.culprit(), cost)
    # Of about the same size, larger or smaller.
    loss = math.log1p(share) * 2.0 ** draft.rng.uniform(-1, 1)
    second = draft.plant(draft.culprit(), loss)
    draft.fill(draft.rng.randint(25, 44))
    return draft.finish(*_FOUND, causes=[(first,), (second,)])


# -- parts of scenarios ----------------------------------------------------------------------------

_FIXED = (
    (
        "/proc/cmdline",
        "console=ttyS0,115200 root=/dev/mmcblk0p2 rootwait quiet mitigations=auto,nosmt\n",
    ),
    ("/proc/cmdline", "console=ttyS0,115200 root=/dev/mmcblk0p2 rootwait quiet mem=1G\n"),
    ("/proc/sys/kernel/osrelease", "5.15.90\n"),
    ("/proc/version", "Linux version 6.6.20 (build@host) (gcc 13.1.0) #7 SMP PREEMPT\n"),
)

# Knobs, and values of which the good one can be had for one process.
_PER_PROCESS = (
    ("memory.thp", "never", "always"),
    ("memory.thp", "madvise", "always"),
    ("kernel.randomize_va_space", "0", "2"),
)

LAYERS: Mapping[str, tuple[Layer, str, tuple[str, ...]]] = {
    "kernel": (Layer.KERNEL, "kernel", ("HZ", "DEBUG_PAGEALLOC", "KASAN", "SLUB_DEBUG_ON")),
    "command-line": (Layer.COMMAND_LINE, "command line", ("isolcpus", "mem", "nohz_full")),
    "device-tree": (Layer.DEVICE_TREE, "device tree", ("opp-table", "cache-size", "max-frequency")),
    "init-settings": (Layer.INIT_SETTINGS, "init settings", ("rc.local:3", "S40tune:7", "fstab:2")),
    "libc": (Layer.LIBC, "C library", ()),
    "bootloader": (Layer.BOOTLOADER, "bootloader", ()),
}
_WHOLE = frozenset({"kernel", "device-tree"})  # their parts take a new build


def _give_luck(draft: Draft, *, rig: bool = False) -> bool:
    """Boots that differ by chance, by a standard deviation of 0.5 to 3 %; of a rig whether one
    board boots the images of both sides, so that each process is measured in its own boot."""
    one_board = rig and draft.rng.random() < 0.5
    boot = 0.005 * 6.0 ** draft.rng.random()
    draft.noise = replace(draft.noise, boot=boot, boots_repeated=one_board)
    return one_board


def draw_layer(draft: Draft, name: str) -> SimLayer:
    """A layer that differs, with its parts in any order."""
    kind, title, parts = LAYERS[name]
    chosen = tuple(draft.rng.sample(parts, len(parts)))
    buildable = frozenset(chosen) if name not in _WHOLE else frozenset[str]()
    return SimLayer(name, kind, title, f"good {title}", f"bad {title}", chosen, buildable)


def digest(text: str) -> str:
    """A SHA-256 for a program that there is not."""
    return hashlib.sha256(text.encode()).hexdigest()


def _facts(metric: SimMetric, version: str) -> SideFacts:
    """A board with that program, which says that of itself."""
    path = f"/usr/bin/{metric.metric.command.split()[0]}"
    return SideFacts(programs={path: digest(version)}, versions={path: version})


def _fault(draft: Draft, kind: str, trials: int) -> Fault:
    phase = draft.rng.choice(("apply", "measure", "undo"))
    return Fault(kind, draft.rng.randint(2, trials), phase, draft.rng.randint(1, 25))


def _refuse(draft: Draft, name: str, how: str) -> None:
    """Makes a knob refuse the good side's value on the bad side, in one of the ways there are."""
    knob = values.knob_of(name)
    for path in values.paths_of(name):
        if path not in draft.bad or path not in draft.good:
            continue
        old, wanted = (board_value(path, files[path]) for files in (draft.bad, draft.good))
        quirk = Quirk(error="EACCES")
        if how == "clamped" and old.isdigit() and wanted.isdigit() and int(wanted) > int(old):
            quirk = Quirk(highest=(int(old) + int(wanted)) // 2)
        elif how == "resets":
            tied = {name, *(other.name for other in spelling.companions(knob))}
            (other,) = values.paths_of(next(one for one in _UNRELATED if one not in tied))
            quirk = Quirk(resets={other: f"{draft.rng.randint(2000, 3000)}\n"})
        elif how in ("does not hold", "clamped"):
            quirk = Quirk(does_not_hold=True)
        elif how == "EINVAL":
            quirk = Quirk(error="EINVAL")
        draft.quirks[Side.BAD][path] = quirk


def board_value(path: str, text: str) -> str:
    """A file's value by its text."""
    knob = values.owner(path)
    return text.strip() if knob is None else spelling.present_value(knob, path, text)


KINDS: tuple[Kind, ...] = (
    Kind("one", 36, one, "one cause among some 40 differences"),
    Kind("two", 10, two, "two causes, 60 and 30 %"),
    Kind("interaction", 6, interaction, "only together they cost"),
    Kind("needs both", 4, needs_both, "either alone costs it all"),
    Kind("masked", 4, masked, "a second difference hides a part of the first"),
    Kind("with rest", 6, with_rest, "one cause, and a part that nothing explains"),
    Kind("small", 6, small, "effects about the noise floor"),
    Kind("recorded", 6, recorded, "the good side is a record"),
    Kind("refused others", 4, refused_others, "some settings are refused, not the culprit"),
    Kind("no difference", 14, no_difference, "the boards differ, the metric does not"),
    Kind("reversed", 3, reversed_gap, "the good side is the worse one"),
    Kind("unexplained", 6, unexplained, "the cause cannot be seen or set"),
    Kind("refused", 5, refused, "the culprit cannot be set"),
    Kind("unprivileged", 3, unprivileged, "nobody is root"),
    Kind("layer", 5, layer, "the cause is in a layer"),
    Kind("artefact", 4, artefact, "the figures must not be compared"),
    Kind("known artefact", 2, known_artefact, "the cause is found in a figure that is another"),
    Kind("lost", 6, lost, "contact is lost, or the board boots again"),
    Kind("killed", 4, killed, "the process is killed, and begun again"),
    Kind("interrupted", 3, interrupted, "Ctrl-C"),
    Kind("boot luck", 8, boot_luck, "two boards, each at the level of its boot"),
    Kind("boot luck alone", 6, boot_luck_alone, "only the boots differ"),
    Kind("boot luck, record", 4, boot_luck_recorded, "the good side is a record of another boot"),
    Kind("boot luck, layer", 6, boot_luck_layer, "the cause is in a layer, each swap is a boot"),
    Kind("boot luck, no layer", 5, boot_luck_no_layer, "layers differ that do nothing"),
    Kind("fixed cost", 6, fixed_cost, "one cause adds a fixed time"),
    Kind("two costs", 6, two_costs, "two causes add times, 60 and 30 % of what is lost"),
    Kind("cost and factor", 5, cost_and_factor, "one adds a time, one slows down"),
)


def kind_of(name: str) -> Kind:
    """The class of that name; KeyError where there is none."""
    return {kind.name: kind for kind in KINDS}[name]


def scenarios(number: int, seed: int) -> list[tuple[Kind, int]]:
    """Which classes and seeds ``number`` scenarios are of: each class has its share."""
    total = sum(kind.parts for kind in KINDS)
    chosen: list[tuple[Kind, int]] = []
    done = 0
    for kind in KINDS:
        done += kind.parts
        upto = round(number * done / total)
        chosen += [(kind, seed + index) for index in range(len(chosen), upto)]
    return chosen


def draw(kind: Kind, seed: int) -> Scenario:
    """The scenario of a class and a seed: always the same. UsageError for one that is held out."""
    held_out.check(seed)
    return kind.draw(Draft.begin(seed, kind.name))
