"""Drawing two boards: which knobs differ, what the culprits do, how the values scatter."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks.why import values
from benchmarks.why.board import Quirk
from benchmarks.why.metrics import METRICS, SimMetric
from benchmarks.why.noise import Noise
from benchmarks.why.response import Condition, Effect, Graded, Response
from benchmarks.why.scenario import Fault, Flips, Planted, Scenario, SimLayer, Truth
from benchvise.state.model import Family
from benchvise.why.bench import SideFacts
from benchvise.why.model import DiagnosisVerdict, Side

_IMPLAUSIBLE = 0.2
"""How often the culprit is just any knob of the metric's families."""

# To set one of these sets the others anew: with both different, nobody could say which it was.
_TIED = (
    {"memory.thp", "vm.min_free_kbytes"},
    {"memory.thp_shmem", "vm.min_free_kbytes"},
    {"memory.mthp", "vm.min_free_kbytes"},
    {"cpu.governor", "cpu.schedutil_rate_limit_us"},
    {"block.scheduler", "block.nr_requests"},
    {"block.scheduler", "block.wbt_lat_usec"},
    {"kernel.watchdog", "kernel.soft_watchdog"},
)
_NEVER = frozenset({"cpu.secondary_online"})  # another number of CPUs is an artefact
_LARGEST = 1.2  # a factor of 3.3
_CHEAPEST_NS, _DEAREST_NS = 20.0, 1e9  # a load from memory, a time-out
_MOST_COST = 8.0  # of what the operation takes itself


@dataclass
class Draft:
    """A scenario in the making. ``differ`` and ``plant`` add to it, ``finish`` makes it."""

    rng: random.Random
    seed: int
    kind: str
    metric: SimMetric
    noise: Noise
    good: dict[str, str] = field(default_factory=values.default_files)
    bad: dict[str, str] = field(default_factory=values.default_files)
    effects: list[Effect | Graded] = field(default_factory=list)
    costs: list[Effect | Graded] = field(default_factory=list)
    rest: dict[Side, float] = field(default_factory=dict)
    rest_ns: dict[Side, float] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    quirks: dict[Side, dict[str, Quirk]] = field(default_factory=lambda: {s: {} for s in Side})
    layer_losses: dict[tuple[str, str], float] = field(default_factory=dict)

    @classmethod
    def begin(cls, seed: int, kind: str) -> Draft:
        """A metric and a noise by the seed."""
        rng = random.Random(f"{kind}/{seed}")  # noqa: S311
        return cls(rng, seed, kind, rng.choice(METRICS), draw_noise(rng))

    # -- differences -------------------------------------------------------------------------------

    def differ(self, name: str) -> tuple[str, str]:
        """Gives a knob two values; returns the good and the bad one."""
        known = values.VALUES[name]
        one = known[0] if self.rng.random() < 0.7 else self.rng.choice(known)
        other = self.rng.choice([value for value in known if value != one])
        good, bad = (one, other) if self.rng.random() < 0.5 else (other, one)
        self.give(name, good, bad)
        return good, bad

    def give(self, name: str, good: str, bad: str) -> None:
        """Sets a knob on both boards."""
        knob = values.knob_of(name)
        for path in values.paths_of(name):
            self.good[path] = values.as_text(knob, good)
            self.bad[path] = values.as_text(knob, bad)
        self.names.add(name)

    def fill(self, number: int, *, without: Iterable[str] = ()) -> None:
        """Other knobs that may touch the metric differ too, until there are that many."""
        reach = self.metric.families | self.metric.reach
        left = [name for name in self._free(reach) if name not in set(without)]
        near = set(self._free(self.metric.families))
        while len(self.names) < number and left:
            weights = [3 if name in near else 1 for name in left]
            name = self.rng.choices(left, weights)[0]
            self.differ(name)
            left = [other for other in left if other != name and not self._is_tied(other)]
        self._settle()

    def culprit(self, *, risky: bool = False) -> str:
        """A knob that does not differ yet: a likely one, or any of the metric's families.

        Those that are only tested when the user agrees to the risk are ``risky``.
        """
        likely = {n: w for n, w in self.metric.likely.items() if n in self._free(frozenset(Family))}
        if likely and not risky and self.rng.random() >= _IMPLAUSIBLE:
            return self.rng.choices(list(likely), list(likely.values()))[0]
        reach = self.metric.families | (self.metric.reach if risky else frozenset())
        return self.rng.choice(
            [name for name in self._free(reach) if values.knob_of(name).risky == risky]
        )

    def bystanders(self, number: int) -> list[str]:
        """Knobs that differ and are no culprits."""
        effects = (*self.effects, *self.costs)
        planted = {path for effect in effects for path in paths_of_effect(effect)}
        names = [
            name for name in sorted(self.names) if not planted.intersection(values.paths_of(name))
        ]
        return self.rng.sample(names, min(number, len(names)))

    def _free(self, families: frozenset[Family]) -> list[str]:
        return [
            name
            for name, known in values.VALUES.items()
            if len(known) > 1
            and name not in self.names | _NEVER
            and families & values.families_of(name)
            and not self._is_tied(name)
        ]

    def _is_tied(self, name: str) -> bool:
        return any(name in tie and tie & self.names - {name} for tie in _TIED)

    def _settle(self) -> None:
        """A governor other than schedutil has no tunables of that one."""
        for files in (self.good, self.bad):
            (governor,) = values.paths_of("cpu.governor")
            if files[governor].strip() != "schedutil":
                for path in values.paths_of("cpu.schedutil_rate_limit_us"):
                    files.pop(path, None)

    # -- effects -----------------------------------------------------------------------------------

    def plant(self, name: str, loss: float, *, worse: Side = Side.BAD) -> frozenset[str]:
        """Makes a knob differ and lose that much on one side: at once, from a threshold on, or by
        degrees. Returns its files."""
        self.effects.append(self._effect(name, loss, worse))
        return frozenset(values.paths_of(name))

    def plant_given(self, name: str, condition: Condition, loss: float) -> frozenset[str]:
        """Makes a knob that differs already lose that much where a condition holds."""
        self.effects.append(Effect((condition,), loss))
        return frozenset(values.paths_of(name))

    def plant_cost(self, name: str, nanoseconds: float) -> frozenset[str]:
        """Makes a knob differ and cost so much time an operation on the bad side."""
        self.costs.append(self._effect(name, nanoseconds, Side.BAD))
        return frozenset(values.paths_of(name))

    def _effect(self, name: str, loss: float, worse: Side) -> Effect | Graded:
        good, bad = self.differ(name)
        full, none = (bad, good) if worse is Side.BAD else (good, bad)
        path = values.paths_of(name)[0]
        numbers = [int(v) for v in (none, full) if v.lstrip("-").isdigit()]
        if len(numbers) == 2 and min(numbers) >= 0 and self.rng.random() < 0.3:
            return Graded(path, numbers[0], numbers[1], loss)
        return Effect((self.condition(name, none, full),), loss)

    def condition(self, name: str, none: str, full: str) -> Condition:
        """What holds with the value ``full`` and not with ``none``."""
        path = values.paths_of(name)[0]
        if none.lstrip("-").isdigit() and full.lstrip("-").isdigit() and self.rng.random() < 0.5:
            middle = (int(none) + int(full) + 1) // 2
            if int(full) < int(none):
                return Condition(path, "below", str(middle))
            return Condition(path, "above", str(middle - 1))
        return Condition(path, "is", values.shown(name, full))

    def size(self, least: float = 4.0, most: float = _LARGEST) -> float:
        """A loss that can be seen: from that many standard deviations up, in even ratios."""
        low = max(least * self.noise.deviation, 0.02)
        high = max(most, 1.5 * low)
        return float(low * (high / low) ** self.rng.random())

    def size_beyond_floors(self) -> float:
        """A loss that has to be found whatever the boots do: from three floors up."""
        low = max(3.05 * self.noise.floor, 0.02)
        return float(low * (max(_LARGEST, 1.5 * low) / low) ** self.rng.random())

    def cost(self, least: float = 6.0) -> float:
        """Nanoseconds an operation, drawn without regard to a metric, and then one that shows it:
        by at least so many standard deviations. The same cost is nothing beside a long operation.
        """
        low = max(math.expm1(least * self.noise.deviation), 0.02)
        while True:
            nanoseconds = _CHEAPEST_NS * (_DEAREST_NS / _CHEAPEST_NS) ** self.rng.random()
            shown = [m for m in METRICS if low <= nanoseconds / m.operation_ns <= _MOST_COST]
            if shown:
                self.metric = self.rng.choice(shown)
                return float(nanoseconds)

    # -- the whole ---------------------------------------------------------------------------------

    def finish(
        self,
        *verdicts: DiagnosisVerdict,
        causes: Iterable[tuple[frozenset[str], ...]] = (),
        refused: frozenset[str] = frozenset(),
        demanding: bool | None = None,
        rules: Iterable[str] = (),
        layer_cause: tuple[str, str] | None = None,
        faults: tuple[Fault, ...] = (),
        layers: tuple[SimLayer, ...] = (),
        facts: Mapping[Side, SideFacts] | None = None,
        is_root: bool = True,
        recorded: int | None = None,
        one_board: bool = False,
    ) -> Scenario:
        """The scenario, with the truth computed from the effects."""
        self._settle()
        response = Response(
            base=self.metric.metric.goodness(self.metric.value),
            effects=tuple(self.effects),
            rest=dict(self.rest),
            layers=dict(self.layer_losses),
            costs=tuple(self.costs),
            rest_ns=dict(self.rest_ns),
            operation_ns=self.metric.operation_ns,
        )
        scenario = Scenario(
            seed=self.seed,
            kind=self.kind,
            metric=self.metric,
            files={Side.GOOD: self.good, Side.BAD: self.bad},
            response=response,
            noise=self.noise,
            truth=Truth(frozenset()),
            quirks=self.quirks,
            faults=faults,
            layers=layers,
            facts=facts or {},
            is_root=is_root,
            recorded=recorded,
            one_board=one_board,
        )
        gap = scenario.goodness(Side.GOOD) - scenario.goodness(Side.BAD)
        planted = [_planted(scenario, gap, files) for files in causes]
        if layer_cause is not None:
            share = scenario.share(Flips(layers=frozenset({layer_cause})))
            planted.append(Planted((), share, share, *layer_cause))
        planted.sort(key=lambda one: -one.share)
        largest = max((abs(one.share * gap) for one in planted), default=0.0)
        floor = self.noise.floor
        truth = Truth(
            verdicts=frozenset(verdicts),
            causes=tuple(planted),
            gap=gap,
            floor=floor,
            refused=refused,
            demanding=largest > 3 * floor if demanding is None else demanding,
            rules=frozenset(rules),
        )
        return Scenario(
            **{name: getattr(scenario, name) for name in Scenario.__dataclass_fields__}
            | {"truth": truth}
        )


def paths_of_effect(effect: Effect | Graded) -> tuple[str, ...]:
    """The files that an effect looks at."""
    if isinstance(effect, Graded):
        return (effect.path,)
    return tuple(condition.path for condition in effect.conditions)


def draw_noise(rng: random.Random) -> Noise:
    """Noise of 0.3 to 5 %, and sometimes what makes it worse than that."""
    cv = 0.003 * (0.05 / 0.003) ** rng.random()
    outliers = rng.choice((0.0, 0.0, 0.02, 0.05))
    modes = rng.choice((0.0, 0.0, 0.0, 0.2, 0.5))
    return Noise(
        cv=cv,
        outliers=outliers,
        outlier_size=cv * rng.uniform(5, 20),
        modes=modes,
        mode_size=cv * rng.uniform(2, 4) if modes else 0.0,
        trend=cv * rng.choice((0.0, 0.0, 1.0, -1.0, 3.0)),
        wave=cv * rng.choice((0.0, 0.0, 0.5, 1.0)),
        period=rng.uniform(300, 3000),
    )


def _planted(scenario: Scenario, gap: float, suspects: tuple[frozenset[str], ...]) -> Planted:
    """What flipping these files does on either side, as shares of the gap."""
    flips = Flips(frozenset().union(*suspects))
    broken = scenario.goodness(Side.GOOD) - scenario.goodness(Side.GOOD, flips)
    return Planted(suspects, scenario.share(flips), broken / gap)
