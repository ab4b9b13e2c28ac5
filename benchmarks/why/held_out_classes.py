"""Classes of causes that no change of the diagnosis was tried on: for the run of held-out seeds.

They were written when the diagnosis was finished, after public reports of boards that were slow,
and were run once (see ``held_out``). What all have in common is that the loss is not the same at
each moment, as no other class has it.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

from benchmarks.why.classes import LAYERS, Kind, draw_layer
from benchmarks.why.draft import Draft
from benchmarks.why.metrics import METRICS
from benchmarks.why.response import LayerOf, Value
from benchmarks.why.scenario import Scenario, SimLayer
from benchvise.state.model import Family
from benchvise.why.model import DiagnosisVerdict, Layer, Side

_FOUND = (DiagnosisVerdict.EXPLAINED, DiagnosisVerdict.PARTLY)


def supply_limit(draft: Draft) -> Scenario:
    """After some time of work the firmware limits the clock, because the supply is too weak, and no
    file tells (raspberrypi/linux issue 2512, bamarni/pi64 issue 77)."""
    begins, loss = draft.rng.uniform(10, 240), draft.size(least=6)
    draft.fill(draft.rng.randint(25, 44))
    # Before it begins there is nothing to be seen.
    scenario = draft.finish(DiagnosisVerdict.UNEXPLAINED, DiagnosisVerdict.NO_DIFFERENCE)

    def lost(side: Side, _v: Value, _l: LayerOf, seconds: float, _r: random.Random) -> float:
        return loss if side is Side.BAD and seconds > begins else 0.0

    return replace(scenario, momentary=lost)


def interrupts_on_the_cpu(draft: Draft) -> Scenario:
    """Packets are taken care of on the CPU that measures: most processes meet some of them, others
    none (armbian/build issue 351)."""
    draft.metric = draft.rng.choice([m for m in METRICS if Family.NETWORK not in m.families])
    name = "net.rps_cpus"
    good, bad = "0", draft.rng.choice(("f", "e"))
    draft.give(name, good, bad)
    loss = draft.size(least=10)
    condition = draft.condition(name, good, bad)
    files = draft.plant_given(name, condition, loss)
    draft.fill(draft.rng.randint(25, 44))
    scenario = draft.finish(*_FOUND, causes=[(files,)])

    def lost(_s: Side, value: Value, _l: LayerOf, _t: float, rng: random.Random) -> float:
        is_met = rng.random() < 0.7
        return condition.holds(value) * loss * (0.4 if is_met else -0.4 * 0.7 / 0.3)

    return replace(scenario, momentary=lost)


def another_memcpy(draft: Draft) -> Scenario:
    """A C library whose copy is slow for one alignment in two, and the alignment is another one in
    each process (Mytkowicz and others, ASPLOS 2009)."""
    draft.metric = draft.rng.choice([m for m in METRICS if Family.MEMORY in m.families])
    loss = draft.size(least=10)
    layers = _layers(draft, "libc")
    draft.layer_losses["libc", ""] = loss
    draft.fill(draft.rng.randint(8, 30))
    scenario = draft.finish(*_FOUND, layer_cause=("libc", ""), layers=layers, one_board=True)

    def lost(_s: Side, _v: Value, layer_of: LayerOf, _t: float, rng: random.Random) -> float:
        return (layer_of("libc", "") is Side.BAD) * loss * rng.choice((-0.8, 0.8))

    return replace(scenario, momentary=lost)


def mitigations(draft: Draft) -> Scenario:
    """Each call into the kernel takes longer by a word of the command line, and a setting adds to
    that what it costs itself (Documentation/admin-guide/hw-vuln of the kernel)."""
    calls = ("os.syscall", "pipe.latency", "timer.wakeup", "net.latency")
    draft.metric = draft.rng.choice([m for m in METRICS if m.metric.benchmark in calls])
    own = draft.metric.operation_ns
    cost = own * math.expm1(draft.size(least=12))
    setting = draft.plant_cost(draft.culprit(), 0.5 * cost)
    draft.layer_losses["command-line", "mitigations"] = math.log1p(cost / own)
    words = ("mitigations", "isolcpus", "nohz_full")
    chosen = SimLayer(
        *("command-line", Layer.COMMAND_LINE, "command line", "good words", "bad words"),
        words,
        frozenset(words),
    )
    layers = (*_layers(draft, "kernel"), chosen)
    draft.fill(draft.rng.randint(8, 30))
    return draft.finish(
        *_FOUND,
        causes=[(setting,)],
        layer_cause=("command-line", "mitigations"),
        layers=layers,
    )


def leak_scanner(draft: Draft) -> Scenario:
    """A kernel that was built to look for leaks: it scans all memory now and then, and every
    allocation takes longer (openRuyi pull request 569, qualcomm-linux/kernel-topics 376)."""
    loss = draft.size(least=10)
    layers = _layers(draft, "kernel")
    (kernel,) = [layer for layer in layers if layer.name == "kernel"]
    part = kernel.parts[0]
    draft.layer_losses["kernel", part] = loss
    draft.fill(draft.rng.randint(8, 30))
    scenario = draft.finish(*_FOUND, layer_cause=("kernel", part), layers=layers, one_board=True)
    period = draft.rng.uniform(300, 900)

    def lost(_s: Side, _v: Value, layer_of: LayerOf, seconds: float, _r: random.Random) -> float:
        scans = seconds % period < 0.2 * period
        return (layer_of("kernel", part) is Side.BAD) * loss * (1.2 if scans else -0.3)

    return replace(scenario, momentary=lost)


def _layers(draft: Draft, guilty: str) -> tuple[SimLayer, ...]:
    """Some layers that differ, the guilty one among them."""
    others = [name for name in LAYERS if name not in (guilty, "command-line")]
    names = [guilty, *draft.rng.sample(others, 2)]
    return tuple(draw_layer(draft, name) for name in draft.rng.sample(names, len(names)))


KINDS: tuple[Kind, ...] = (
    Kind("supply limit", 1, supply_limit, "the clock is limited after some time"),
    Kind("interrupts on the CPU", 1, interrupts_on_the_cpu, "most processes meet some"),
    Kind("another memcpy", 1, another_memcpy, "a C library that is slow for some alignments"),
    Kind("mitigations", 1, mitigations, "a word of the command line, and a setting"),
    Kind("leak scanner", 1, leak_scanner, "a debugging kernel that scans now and then"),
)
