"""Modes of response time: activations of one actor that take about equally long, and what those of
a mode have in common that others have not.

What is known of an activation beside its times: the CPU where it began, who woke or raised it and
the path of causes before that, who ran there before it (for handlers: whom they interrupted), who
preempted it, which handlers interrupted it, and whether it moved to another CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.tails import fisher_exact
from benchvise.trace.analysis.actors import instance_metrics, instances_of
from benchvise.trace.analysis.distributions import quantile
from benchvise.trace.analysis.mode_splits import LEAST, split_into_modes
from benchvise.trace.analysis.model import NONE, Actor, Analysis, Ended, Ints

METRICS = ("response", "execution", "latency", "period")

SIGNIFICANCE = 0.01
_TRAITS = 4
"""Of a mode, at most."""
_APART = 0.2
"""By how much the share of a trait in a mode differs at least from its share in the others."""
_CAUSES = 3
"""Activations of a path of causes."""


@dataclass(frozen=True, slots=True)
class ModeTrait:
    """What distinguishes a mode: ``share`` of its activations have it, ``elsewhere`` of all others.

    ``kind`` says what it is (``CPU``, ``woken by``, ...), ``what`` which. ``p`` is that of Fisher's
    exact test, two-sided, times the number of all traits tried (Bonferroni).
    """

    kind: str
    what: str
    share: float
    elsewhere: float
    p: float


@dataclass(frozen=True, slots=True)
class ActivationMode:
    """Activations of about one length; times in ns.

    ``low`` to ``high`` is where they lie, ``execution``, ``latency`` (from wake-up to the first
    moment on a CPU) and ``suspended`` (runnable or blocked between its parts, and interrupted) are
    medians of its parts. ``typical_at`` and ``longest_at`` are when the activation nearest to the
    median and the longest began to run: what ``trace critical-path --at`` takes.
    """

    count: int
    share: float
    median: float
    low: int
    high: int
    execution: float
    latency: float | None
    suspended: float
    typical_at: int
    longest_at: int
    traits: tuple[ModeTrait, ...]


@dataclass(frozen=True, slots=True)
class ActivationModes:
    """The modes of one actor, or of all actors of a name, the shortest first.

    ``count`` activations have a value, ``incomplete`` ones are left out.
    """

    actor: str
    ids: tuple[int, ...]
    metric: str
    count: int
    incomplete: int = field(metadata=in_json(name="unsure"))
    modes: tuple[ActivationMode, ...]


def activation_modes(
    analysis: Analysis,
    chosen: Sequence[Actor],
    *,
    metric: str = "response",
    incomplete: bool = False,
) -> ActivationModes:
    """The modes of the activations of the chosen actors, taken together, that begin in the span.

    Raises:
        UsageError: none of them has a value.
    """
    instances = instances_of(analysis, chosen)
    every = instance_metrics(analysis, incomplete=incomplete)[metric][instances]
    kept = instances[every != NONE]
    if kept.size == 0:
        raise UsageError(
            f"these actors have no complete activation with a {metric} in the span",
            "choose another actor, a longer span, or --incomplete",
        )
    values = every[every != NONE]
    order = np.argsort(values, kind="stable")
    begins = split_into_modes(values[order])
    mode = np.zeros(kept.size, dtype=np.int64)
    mode[order] = np.searchsorted(begins, np.arange(kept.size), side="right") - 1
    traits = _distinguishing(_Traits(analysis, kept), mode, len(begins))
    labels = {actor.label for actor in chosen}
    return ActivationModes(
        actor=next(iter(labels))
        if len(labels) == 1
        else " ".join(sorted({a.group for a in chosen})),
        ids=tuple(actor.id for actor in chosen),
        metric=metric,
        count=int(kept.size),
        incomplete=int((~analysis.complete[instances]).sum()),
        modes=tuple(
            _described(analysis, kept[mode == at], values[mode == at], kept.size, traits[at])
            for at in range(len(begins))
        ),
    )


def most_active(analysis: Analysis, actors: Sequence[Actor]) -> list[Actor]:
    """Of the actors that are no idle tasks, the one with the most activations in the span."""
    rows = analysis.instances
    inside = analysis.span.holds(rows["begin"])
    counts = np.bincount(rows["actor"][inside], minlength=len(analysis.actors))
    working = [actor for actor in actors if actor.kind != "idle"]
    return [max(working, key=lambda actor: int(counts[actor.id]))] if working else []


def _described(
    analysis: Analysis, instances: Ints, values: Ints, whole: int, traits: tuple[ModeTrait, ...]
) -> ActivationMode:
    rows = analysis.instances
    ordered = np.sort(values)
    median = quantile(ordered, 0.5)
    ready, begin, end = rows["ready"][instances], rows["begin"][instances], rows["end"][instances]
    woken = ready != NONE
    execution = rows["execution"][instances]
    waits = np.sort((begin - ready)[woken])
    return ActivationMode(
        count=int(instances.size),
        share=instances.size / whole,
        median=median,
        low=int(ordered[0]),
        high=int(ordered[-1]),
        execution=quantile(np.sort(execution), 0.5),
        latency=quantile(waits, 0.5) if waits.size else None,
        suspended=quantile(np.sort(end - begin - execution), 0.5),
        typical_at=int(begin[np.argmin(np.abs(values - median))]),
        longest_at=int(begin[np.argmax(values)]),
        traits=traits,
    )


# -- what distinguishes modes ----------------------------------------------------------------------

_Trait = tuple[str, str, Ints]
"""A trait's kind and name, and the positions of the activations that have it."""


def _distinguishing(traits: _Traits, mode: Ints, count: int) -> list[tuple[ModeTrait, ...]]:
    """The traits of each mode that its activations have far oftener or rarer than others."""
    every = list(traits.all()) if count > 1 else []
    sizes = np.bincount(mode, minlength=count)
    tests = max(1, len(every) * count)
    chosen: list[list[ModeTrait]] = [[] for _ in range(count)]
    for kind, what, having in every:
        inside = np.bincount(mode[having], minlength=count)
        for at in range(count):
            n, m = int(sizes[at]), int(mode.size - sizes[at])
            a, b = int(inside[at]), int(having.size - inside[at])
            share, elsewhere = a / n, b / m
            if abs(share - elsewhere) < _APART:
                continue
            p = min(1.0, fisher_exact(a, n, b, m) * tests)
            if p < SIGNIFICANCE:
                chosen[at].append(ModeTrait(kind, what, share, elsewhere, p))
    return [
        tuple(sorted(of, key=lambda trait: -abs(trait.share - trait.elsewhere))[:_TRAITS])
        for of in chosen
    ]


class _Traits:
    """What is known of activations beside their times."""

    def __init__(self, analysis: Analysis, instances: Ints) -> None:
        self.analysis = analysis
        self.instances = instances
        self._place = np.full(len(analysis.instances), -1, dtype=np.int64)
        self._place[instances] = np.arange(instances.size)
        names: dict[str, int] = {}
        self._group = np.array(
            [names.setdefault(actor.group, len(names)) for actor in analysis.actors],
            dtype=np.int64,
        )
        self._names = list(names)

    def all(self) -> Iterator[_Trait]:
        """Every trait that some of the activations have, and some have not."""
        for kind, what, having in self._candidates():
            if LEAST <= having.size < self.instances.size:
                yield kind, what, having

    def _candidates(self) -> Iterator[_Trait]:
        rows, mine = self.analysis.instances, self.instances
        cpus = rows["cpu"][mine]
        for cpu in np.unique(cpus).tolist():
            yield "on CPU", str(cpu), np.flatnonzero(cpus == cpu)
        yield "moved", "to another CPU", np.flatnonzero(rows["migrations"][mine] > 0)
        yield from self._causes()
        pairs: dict[str, list[tuple[Ints, Ints]]] = {}
        for cpu in self.analysis.cpus:
            for kind, positions, fragments in self._beside(cpu):
                group = self._group[self.analysis.fragments["actor"][fragments]]
                pairs.setdefault(kind, []).append((positions, group))
        for kind, parts in pairs.items():
            positions, group = (np.concatenate(side) for side in zip(*parts, strict=True))
            for number in np.unique(group).tolist():
                yield kind, self._names[number], np.unique(positions[group == number])

    def _causes(self) -> Iterator[_Trait]:
        """Who woke or raised them, and who that before."""
        rows = self.analysis.instances
        at, path = self.instances, np.zeros(self.instances.size, dtype=np.int64)
        size = len(self._names) + 1
        for depth in range(_CAUSES):
            cause = np.where(at == NONE, NONE, rows["cause"][np.maximum(at, 0)])
            group = np.where(cause == NONE, 0, self._group[rows["actor"][np.maximum(cause, 0)]] + 1)
            _, path = np.unique(path * size + group, return_inverse=True)
            at = cause
            for number in np.unique(path[cause != NONE]).tolist():
                having = np.flatnonzero(path == number)
                names = self._path_names(int(self.instances[having[0]]), depth + 1)
                yield "woken by" if depth == 0 else "path", " ← ".join(names), having

    def _path_names(self, instance: int, most: int) -> list[str]:
        rows, names = self.analysis.instances, list[str]()
        while len(names) < most and (instance := int(rows["cause"][instance])) != NONE:
            names.append(self._names[int(self._group[rows["actor"][instance]])])
        return names

    def _beside(self, cpu: int) -> Iterator[tuple[str, Ints, Ints]]:
        """What happened on a CPU beside the activations: kind, their positions, the fragment."""
        rows = self.analysis.fragments
        here = (rows["cpu"] == cpu) & (rows["end"] > rows["begin"])
        position = np.where(
            rows["instance"] == NONE, -1, self._place[np.maximum(rows["instance"], 0)]
        )
        mine = np.flatnonzero(here & (position >= 0))
        mine = mine[np.argsort(rows["begin"][mine], kind="stable")]
        of_handler = self.analysis.of_kind("irq", "softirq")[rows["actor"]]
        base = np.flatnonzero(here & ~of_handler)
        base = base[np.argsort(rows["begin"][base], kind="stable")]
        if mine.size == 0:
            return
        first = self.analysis.instances["begin"][rows["instance"][mine]]
        began = mine[rows["begin"][mine] == first]
        if base.size:
            # A thread has its own fragment here, and comes after that before; a handler is in one.
            at = np.searchsorted(rows["begin"][base], rows["begin"][began], side="right") - 1
            at -= np.where(of_handler[began], 0, 1)
            for kind, chosen in (("after", ~of_handler[began]), ("interrupts", of_handler[began])):
                kept = chosen & (at >= 0)
                yield kind, position[began[kept]], base[at[kept]]
            left = mine[~of_handler[mine] & (rows["why"][mine] == Ended.PREEMPTED)]
            after = np.searchsorted(rows["begin"][base], rows["end"][left], side="left")
            kept = after < base.size
            yield "preempted by", position[left[kept]], base[after[kept]]
        nested = np.flatnonzero(here & of_handler)
        holding = np.searchsorted(rows["begin"][mine], rows["begin"][nested], side="right") - 1
        holder = mine[np.maximum(holding, 0)]
        inside = (holding >= 0) & (rows["begin"][nested] < rows["end"][holder]) & (holder != nested)
        yield "interrupted by", position[holder[inside]], nested[inside]
