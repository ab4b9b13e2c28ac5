"""The search: measure the version that tells most, until the place of the change is known."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchvise.bisect.choice import Costs, next_version, next_version_of_two, no_change
from benchvise.bisect.earlier import unmet_level, unmet_side
from benchvise.bisect.journal import EntryJournal, JournalEntry
from benchvise.bisect.likelihood import first_scale
from benchvise.bisect.model import (
    Bisection,
    BisectionOptions,
    BisectionVerdict,
    MeasuredVersion,
    VersionBench,
    VersionUnusable,
)
from benchvise.bisect.posterior import ChangePosterior, TwoChanges
from benchvise.bisect.second import SecondChange
from benchvise.text import Untrusted

_LEAST_SAMPLES = 4
_MOST_APART = 5.0  # scatters of a sample between now and a run, or it was another state of things
_MOST_SCATTER = 3.0  # times that of the runs


class BisectionSearch:
    """A bisection that is going on. ``names`` are its versions, from the good one to the bad.

    ``earlier`` are samples of runs that measured the good or the bad version before. They are kept
    in the journal, too, and used as long as what is measured now fits them. ``clock`` tells in
    seconds what a version and a sample cost; the next one is chosen by that.
    """

    def __init__(
        self,
        names: Sequence[str],
        bench: VersionBench,
        journal: EntryJournal,
        options: BisectionOptions,
        observe: Callable[[str], None],
        earlier: Sequence[JournalEntry] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.names = list(names)
        self.posterior = ChangePosterior(len(self.names))
        self.reasons: dict[int, str] = {}
        self._bench = bench
        self._journal = journal
        self._options = options
        self._observe = observe
        self._clock = clock
        self._second = SecondChange(options.confidence)
        self._sign = 1.0 if bench.better == "lower" else -1.0
        self._ready: int | None = 0  # the bench was opened with it
        self._waits: list[float] = []
        self._times: list[float] = []
        self._fresh: dict[int, list[float]] = {}
        self._earlier: dict[int, list[float]] = {}
        self._to_check: int | None = None  # an end, since an answer rests on what runs measured
        self.seconds = 0.0
        for entry in earlier:
            journal.add(entry)
        numbers = {name: number for number, name in enumerate(self.names)}
        for entry in (*journal.entries, *earlier):
            if entry.version in numbers:
                self._take(numbers[entry.version], entry)

    def run(self) -> BisectionVerdict:
        """Measures until it is decided, or the time is up.

        Raises VersionUnusable for the good or the bad version, and what measuring raises.
        """
        while True:
            verdict = self._verdict()
            if verdict is not None:
                return verdict
            budget = self._options.budget_s
            if budget is not None and self.seconds >= budget:
                return BisectionVerdict.UNDECIDED
            if self.posterior.samples >= self._options.most_samples:
                return BisectionVerdict.UNDECIDED
            self._measure(self._next())

    # -- one step ----------------------------------------------------------------------------------

    def _next(self) -> int:
        if self._to_check is None and self._earlier:
            self._to_check = unmet_level(self._earlier, self._fresh)
        if self._to_check is not None:
            return self._to_check
        two = self._second.leading
        if two is not None:
            return next_version_of_two(self.posterior, two, self._costs())
        return next_version(self.posterior, self._costs(), self._options.least)

    def _costs(self) -> Costs:
        return Costs(
            statistics.median(self._times[-20:]) if self._times else 1.0,
            statistics.median(self._waits[-20:]) if self._waits else 0.0,
            current=self._ready,
        )

    def _measure(self, version: int) -> None:
        begun = self._clock()
        ready_s = 0.0
        try:
            if version != self._ready:
                self._ready = None
                self._observe(f"{self.names[version]}: making it ready")
                self._bench.ready(version)
                ready_s = self._clock() - begun
                self._ready = version
            value = self._bench.measure(version)
        except VersionUnusable as error:
            if version in (0, len(self.names) - 1):
                raise
            self._ready = None
            entry = JournalEntry(
                self.names[version], self._clock() - begun, 0.0, None, str(error.message)
            )
        else:
            seconds = self._clock() - begun - ready_s
            entry = JournalEntry(self.names[version], ready_s, seconds, value)
        self._journal.add(entry)
        self._take(version, entry)
        self._tell(version, entry)

    def _take(self, version: int, entry: JournalEntry) -> None:
        self.seconds += entry.ready_s + entry.seconds
        if entry.ready_s > 0.0:
            self._waits.append(entry.ready_s)
        if entry.value is None or entry.value <= 0.0:
            self.reasons[version] = entry.left_out or "no value"
            self.posterior.leave_out(version)
        else:
            value = self._sign * math.log(entry.value)
            taken = self._earlier if entry.run else self._fresh
            taken.setdefault(version, []).append(value)
            self.posterior.add(version, value)
            if not entry.run:
                self._times.append(entry.seconds)
            self._check_earlier(version)

    def _check_earlier(self, version: int) -> None:
        """Whether an end is as it was when a run measured it."""
        earlier, fresh = self._earlier.get(version), self._fresh.get(version)
        if not earlier or not fresh:
            return
        apart = abs(statistics.median(fresh) - statistics.median(earlier))
        if apart > _MOST_APART * first_scale(self._earlier):
            self._drop_earlier(
                f"{self.names[version]} is not as its run in the store was "
                f"({100 * math.expm1(apart):.2g} % apart)"
            )

    def _scatters_as_earlier(self, place: int) -> bool:
        """Whether what is measured scatters as the runs did, were the change at ``place``."""
        levels = self.posterior.levels
        residuals = [
            abs(value - (levels.after if version >= place else levels.before))
            for version, values in self._fresh.items()
            for value in values
        ]
        usual = first_scale(self._earlier)
        return 1.4826 * statistics.median(residuals) <= _MOST_SCATTER * usual

    def _drop_earlier(self, reason: str) -> None:
        """What was measured in another state of things is not used: of neither end."""
        self._observe(f"{reason}: what runs measured is not used")
        self._earlier = {}
        self._second = SecondChange(self._options.confidence)  # it rested on what is not used
        self.posterior = ChangePosterior(len(self.names))
        for version, values in self._fresh.items():
            for value in values:
                self.posterior.add(version, value)
        for version in self.reasons:
            self.posterior.leave_out(version)

    def _tell(self, version: int, entry: JournalEntry) -> None:
        name = self.names[version]
        if entry.value is None:
            self._observe(f"{name}: left out: {entry.left_out}")
            return
        line = f"{name}: {entry.value:.6g} {self._bench.unit}".rstrip()
        if self._has_both_ends():
            place, probability = self.posterior.best
            line += f"; likeliest {self.names[place]} ({100 * probability:.0f} %)"
        self._observe(line)

    def _has_both_ends(self) -> bool:
        return {0, len(self.names) - 1} <= set(self.posterior.values)

    def _verdict(self) -> BisectionVerdict | None:
        """What is decided by now; None: nothing."""
        posterior, confidence = self.posterior, self._options.confidence
        self._to_check = None
        if posterior.samples < _LEAST_SAMPLES or not self._has_both_ends():
            return None
        if no_change(posterior, self._options.least) >= confidence:
            return self._once_met(BisectionVerdict.NO_CHANGE, 1, len(self.names) - 1)
        place, probability = posterior.best
        placed = probability >= confidence
        if placed and self._earlier and not self._scatters_as_earlier(place):
            self._drop_earlier("values scatter more than in the runs of the store")
            return self._verdict()
        taken = sum(map(len, self._fresh.values()))
        match self._second.verdict(posterior, taken, placed=placed):
            case BisectionVerdict.TWO_CHANGES, first, last:
                return self._once_met(BisectionVerdict.TWO_CHANGES, first, last)
            case BisectionVerdict.FOUND, _, _:
                return self._once_met(BisectionVerdict.FOUND, place, place)
        return None

    def _once_met(
        self, verdict: BisectionVerdict, first: int, last: int
    ) -> BisectionVerdict | None:
        """The verdict, once both sides of the changes were measured now; else what is missing is
        next."""
        self._to_check = unmet_side(self._earlier, self._fresh, first, last)
        return verdict if self._to_check is None else None

    # -- the answer --------------------------------------------------------------------------------

    def answer(
        self,
        verdict: BisectionVerdict,
        directory: str,
        next_step: Callable[[str, str], str],
    ) -> Bisection:
        """What is known; ``next_step`` gives the command that explains the difference of two."""
        posterior, names = self.posterior, self.names
        is_known = self._has_both_ends() and posterior.samples >= _LEAST_SAMPLES
        place, probability = posterior.best if is_known else (0, 0.0)
        nothing = TwoChanges(0.0, (0, 0), 0.0, np.zeros(len(names)))
        two = posterior.two_changes() if is_known else nothing
        first, second = two.places
        if verdict is BisectionVerdict.TWO_CHANGES:
            place = first
        levels = posterior.levels if is_known else None
        placed = is_known and verdict is not BisectionVerdict.NO_CHANGE
        last_good = self._before(place) if placed else None
        before = math.exp(self._sign * levels.before) if levels else None
        after = math.exp(self._sign * levels.after) if levels else None
        return Bisection(
            verdict=verdict,
            headline=self._headline(verdict, place, second, probability),
            good=names[0],
            bad=names[-1],
            count=len(names),
            first_bad=names[place] if placed else None,
            last_good=None if last_good is None else names[last_good],
            candidates=self._candidates() if placed else (),
            probability=two.probability if verdict is BisectionVerdict.TWO_CHANGES else probability,
            no_change=no_change(posterior, self._options.least) if is_known else 0.0,
            two_changes=two.share,
            second=names[second] if verdict is BisectionVerdict.TWO_CHANGES else None,
            ratio=after / before if before and after else None,
            before=before,
            after=after,
            scatter=levels.scatter if levels else None,
            unit=self._bench.unit,
            better=self._bench.better,
            confidence=self._options.confidence,
            least=self._options.least,
            samples=sum(map(len, self._fresh.values())),
            earlier=sum(map(len, self._earlier.values())),
            seconds=self.seconds,
            versions=self._versions(known=is_known),
            next_step=next_step(names[last_good], names[place])
            if verdict is BisectionVerdict.FOUND and last_good is not None
            else "",
            directory=directory,
        )

    def _headline(
        self, verdict: BisectionVerdict, place: int, second: int, probability: float
    ) -> str:
        names = self.names
        match verdict:
            case BisectionVerdict.FOUND:
                left_out = [names[v] for v in range(self._before(place) + 1, place)]
                levels = self.posterior.levels
                ratio = math.exp(self._sign * (levels.after - levels.before))
                text = f"{names[place]} changed it by {100 * (ratio - 1.0):+.1f} % "
                text += f"({100 * probability:.0f} % certain)"
                if left_out:
                    text += f", or one of those left out just before it: {', '.join(left_out)}"
                return text
            case BisectionVerdict.NO_CHANGE:
                least = f"{100 * self._options.least:g} %"
                return f"{names[-1]} is not worse than {names[0]} by more than {least}"
            case BisectionVerdict.TWO_CHANGES:
                return f"there are two changes: at {names[place]} and at {names[second]}"
            case _:
                return (
                    f"undecided: the likeliest is {names[place]} ({100 * probability:.0f} %)"
                    if probability
                    else "undecided: too little was measured"
                )

    def _before(self, place: int) -> int:
        """The last version before a place that is not left out."""
        return max(v for v in range(max(place, 1)) if v not in self.posterior.left_out)

    def _candidates(self) -> tuple[str, ...]:
        places = self.posterior.places
        chosen: set[int] = set()
        share = 0.0
        for place in np.argsort(-places, kind="stable"):
            if share >= self._options.confidence or places[place] <= 0.0:
                break
            share += float(places[place])
            chosen |= set(range(self._before(int(place)) + 1, int(place) + 1))
        return tuple(self.names[version] for version in sorted(chosen))

    def _versions(self, *, known: bool) -> tuple[MeasuredVersion, ...]:
        places = self.posterior.places if known else np.zeros(len(self.names))
        rows = []
        for version in sorted({*self.posterior.values, *self.reasons}):
            logs = self._fresh.get(version, [])
            samples = tuple(math.exp(self._sign * value) for value in logs)
            rows.append(
                MeasuredVersion(
                    self.names[version],
                    version,
                    samples,
                    statistics.median(samples) if samples else None,
                    float(places[version]),
                    len(self._earlier.get(version, [])),
                    Untrusted(self.reasons.get(version, "")),
                )
            )
        return tuple(rows)
