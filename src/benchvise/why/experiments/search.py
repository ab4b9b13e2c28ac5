"""Which of the ranked suspects make the difference: a weighted search for steps.

P(i) are the first i suspects, e(P(i)) what flipping them all gains on the bad side. e(P(0)) is 0,
e(P(n)) the all-in experiment. Where e rises between two prefixes that were tested, there is a cause
between them: the largest step is cut in three by the weights of the suspects in it, until it lies
at one, or until the heaviest in it is likely enough. That one is then tried alone on fresh data,
which is the proof of its repair at once. What a proven cause gains is taken off, and
the next step is looked for, until nothing that counts is left of the gap. What several gain is
measured together, for it need not be the sum: of two causes that each add a time, either gains more
in logarithms once the other is repaired.

A suspect that is nothing alone and still makes a step needs others beside it: a proven cause, which
hid it, or partners without which it is none (``partners``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from benchvise.why.experiments import partners, resolution, vanished
from benchvise.why.experiments.confirm import FEWEST, Confirmation, confirm
from benchvise.why.experiments.gap import Scale
from benchvise.why.experiments.laboratory import Laboratory, Unmakeable
from benchvise.why.experiments.question import (
    Effect,
    ExperimentReading,
    Question,
    Unresolved,
    ask,
    culprits,
    weighted,
)
from benchvise.why.model import Arm, Purpose, Side, Suspect

# A step counts from so many standard errors on.
_SURE = 2.0
_WITHIN_ERROR = 1.0
LIKELY = 0.4
"""Rather try the heaviest suspect alone, when it has this part of the weight of all in the step."""
# What is left of the weight of a suspect that was nothing alone.
_DISCOUNT = 0.05
# So often all at once is measured again.
_AGAIN = 2
# Blocks at least in a second look, and at most: of all at once, and in a first look at others.
_CAREFUL = 6
_MOST_AT_ONCE = 10
_MOST = 8


@dataclass(slots=True)
class SearchStep:
    """A rise of e between two tested prefixes, over the suspects from ``low`` to ``high`` - 1."""

    low: int
    high: int
    size: float
    error: float


@dataclass(slots=True)
class Search:
    """The state of the search over one list of suspects on the bad side.

    ``context`` is flipped in all arms, ``gap_left`` is what is to be explained, in goodness, and
    ``purposes`` are those of the first and of the other experiments.
    """

    lab: Laboratory
    scale: Scale
    suspects: list[Suspect]
    gap_left: float
    context: tuple[Suspect, ...] = ()
    purposes: tuple[Purpose, Purpose] = (Purpose.ALL_IN, Purpose.HALVING)
    proven: list[Confirmation] = field(default_factory=list)
    refuted: list[Confirmation] = field(default_factory=list)
    left_error: float = 0.0
    """The standard error of ``gap_left``."""
    narrowed: tuple[Suspect, ...] = ()
    """Among which suspects the step lies that is being looked at."""
    all_in: Effect | None = None
    futile: str = ""
    """Why the search ended before its end: no proof could be had in this noise, or any more."""
    vanished: bool = False
    """Whether the gap went when ``narrowed`` were set for the first time."""
    _points: dict[int, Effect] = field(default_factory=dict)
    _alone: dict[str, Effect] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)
    _inferred: set[int] = field(default_factory=set)
    """The prefixes that were not tested: what is known of them adds up what was tried alone."""
    _joint: dict[frozenset[str], Effect] = field(default_factory=dict)
    """What several causes gain together, by their names."""
    _least: int = 3

    # -- the flow ----------------------------------------------------------------------------------

    def run(self, first: ExperimentReading | None = None) -> None:
        """Searches; ``proven`` has the causes then. ``first`` is the all-in one if it was made.

        BudgetSpent when the next experiment would not leave the time to confirm what it finds.
        """
        if not self._begin(first):
            return
        while (step := self._next_step() or self._second_look()) is not None:
            self.futile = resolution.why_futile(self._left(), self.scale, self.lab.latest_noise())
            if self.futile:
                break
            self.narrowed = tuple(self.suspects[step.low : step.high])
            single = step.high - step.low == 1
            if single and self.narrowed[0].id in self._alone:
                self._look_for_partners(step)
            elif single or self._worth_trying(step):
                self._try_alone(step)
            else:
                self._narrow(step)
        self.narrowed = ()

    @property
    def is_open(self) -> bool:
        """Whether nothing is proven, and all at once may close most of the gap all the same."""
        if self.proven or self.vanished or self.all_in is None:
            return False
        direction = math.copysign(1.0, self.gap_left)
        may_be = direction * self.all_in.value + _SURE * self.all_in.error
        return may_be >= abs(self.gap_left) / 2.0

    @property
    def excess(self) -> float:
        """By how much more the causes gain together than their effects add up to, as far as that
        was measured."""
        together = self._joint.get(_key(self.proven))
        return 0.0 if together is None else together.value - _sum(self.proven).value

    def _begin(self, first: ExperimentReading | None) -> bool:
        """All at once; where that does nothing the likelier half, for two effects may cancel."""
        if not self.suspects:
            return False
        count = len(self.suspects)
        try:
            first = first or self._ask_all(count)
        except Unresolved:
            return False
        if self.has_vanished(first):
            return False
        self.all_in = first.effect
        self.suspects = [s for s in self.suspects if s in first.flipped]
        count = len(self.suspects)
        self._points = {0: Effect(0.0, 0.0), count: first.effect}
        if not self._counts(first.effect.value, first.effect.error) and count > 1:
            half = self._nearest(SearchStep(0, count, 0.0, 0.0), 0.5)
            self._measure(half, "do two opposite effects cancel each other?")
        return True

    def has_vanished(self, first: ExperimentReading) -> bool:
        """Whether the gap is gone since these were set for the first time: then nothing that is
        measured on this side tells anything any more."""
        try:
            self.vanished = vanished.has_vanished(self.lab, self.scale, first.blocks)
        except Unmakeable:
            return False
        if self.vanished:
            self.futile = vanished.reason_why(self.lab, first.flipped)
            vanished.mark(self.lab, first.flipped, "the gap went meanwhile")
            self.narrowed = first.flipped
        return self.vanished

    def _ask_all(self, count: int) -> ExperimentReading:
        """What all of them gain together. Where that may be nothing and most of the gap alike, as
        in a burst of noise, it is measured again rather than guessed."""
        text = f"all {count} at once: does the gap close?"
        reading = self._ask(count, text)
        effects = [reading.effect]
        for _ in range(_AGAIN):
            cost = self._cost(self._question(text, reading.flipped))
            is_clear = resolution.is_clear(reading.effect, self.gap_left, self.scale)
            if is_clear or not self.lab.affords(cost):
                break
            try:
                again = self._ask(count, f"{text} (measured again)")
            except Unresolved:
                break
            if again.flipped != reading.flipped:
                return again
            effects.append(again.effect)
            reading = replace(reading, effect=weighted(effects))
        return reading

    def _next_step(self, sure: float = _SURE) -> SearchStep | None:
        """The largest step towards what is left of the gap; None when nothing counts any more.

        A step counts when it is larger than the least that does and than its error by ``sure``.
        """
        left = self._left()
        if abs(left) < self.scale.least:
            return None
        steps = []
        for low, high in pairwise(sorted(self._points)):
            if high - low == 1 and self.suspects[low].id in self._closed:
                continue
            begin, end = self._points[low], self._points[high]
            size, errors = end.value - begin.value, [begin.error, end.error]
            before, within = self._proven_before(low), self._proven_before(high)
            if len(within) > len(before):
                gains = self._gained(within), self._gained(before)
                size -= gains[0].value - gains[1].value
                errors += [effect.error for effect in gains]
            if size * left > 0.0 and abs(size) > max(self.scale.least, sure * math.hypot(*errors)):
                steps.append(SearchStep(low, high, size, math.hypot(*errors)))
        return max(steps, key=lambda step: abs(step.size), default=None)

    def _second_look(self) -> SearchStep | None:
        """The step as a whole, once, where it is there and was lost among parts that do not count:
        everything inside it is tested again, with more care. After that the largest part will do
        if the whole is sure, for it must be somewhere."""
        if abs(self._left()) < self.scale.least:
            return None
        begin, end = self._points[0], self._points[len(self.suspects)]
        if self._least < _CAREFUL and len(self._points) > 2:
            self._least = _CAREFUL
            self._points = {0: begin, len(self.suspects): end}
            self._inferred.clear()
            return self._next_step()
        gained = self._gained(self.proven)
        size, error = end.value - gained.value, math.hypot(end.error, gained.error)
        return self._next_step(_WITHIN_ERROR) if self._counts(size, error) else None

    # -- what is explained -------------------------------------------------------------------------

    def _left(self) -> float:
        """What of the gap is not explained yet, in goodness. Measured only where by the sum of the
        effects something is left at all.

        Nothing where the causes gain more than the whole gap, but not surely more: that is what the
        verdict calls explained, so nothing is looked for that would do the opposite.
        """
        gained = _sum(self.proven)
        if abs(self.gap_left - gained.value) >= self.scale.least:
            gained = self._gained(self.proven)
        left = self.gap_left - gained.value
        is_more = left * self.gap_left < 0.0
        if is_more and abs(left) <= _SURE * math.hypot(gained.error, self.left_error):
            return 0.0
        if is_more and len(self.proven) == 1 and self.proven[0].is_whole:
            return 0.0
        return left

    def _proven_before(self, place: int) -> list[Confirmation]:
        """The causes among the first suspects. Each shows where its first one is: that by which the
        step was found; one that cannot be flipped any more shows nowhere."""
        prefix = self.suspects[:place]
        return [cause for cause in self.proven if cause.suspects[0] in prefix]

    def _gained(self, causes: Sequence[Confirmation]) -> Effect:
        """What causes gain together beside the context."""
        beside = tuple(suspect.id for suspect in self.context)
        if not causes or (len(causes) == 1 and causes[0].repair.context == beside):
            return _sum(causes)
        key = _key(causes)
        if key not in self._joint:
            self._joint[key] = self._measure_together(causes) or _sum(causes)
        return self._joint[key]

    def _measure_together(self, causes: Sequence[Confirmation]) -> Effect | None:
        """None where there is no time for it or they cannot be set together."""
        flipped = tuple(dict.fromkeys(s for cause in causes for s in cause.suspects))
        names = " and ".join(cause.name for cause in causes)
        question = Question(
            Purpose.TOGETHER,
            f"what do {names} gain {'together' if len(causes) > 1 else 'beside what is proven'}?",
            Side.BAD,
            flipped,
            self.context,
            self._least,
            _MOST,
        )
        if not self.lab.affords(self._cost(question)):
            return None

        def decided(effect: Effect, _: Effect) -> bool:
            left = abs(self.gap_left - effect.value)
            return abs(left - self.scale.least) > 2.5 * effect.error

        try:
            reading = ask(self.lab, self.scale, question, decided)
        except Unresolved:
            return None
        return reading.effect if reading.flipped == flipped else None

    # -- the experiments ---------------------------------------------------------------------------

    def _narrow(self, step: SearchStep) -> None:
        """Tests two prefixes inside a step in the same blocks: before, among or after which it is.

        Two with a common baseline take fewer trials for what they tell than one after the other.
        """
        first, second = self._thirds(step)
        if first == second:
            text = f"is a cause among the first {first} of {len(self.suspects)} suspects?"
            self._measure(first, text, step)
            return
        middle = tuple(self.suspects[first:second])
        text = f"is a cause before, among or after suspects {first + 1} to {second}?"
        question = self._question(text, middle, tuple(self.suspects[:first]), over=True)
        begin, end = self._points[step.low], self._points[step.high]

        def decided(effect: Effect, before: Effect) -> bool:
            parts = [
                before.value - begin.value,
                effect.value,
                end.value - before.value - effect.value,
            ]
            least, second_largest, largest = sorted(map(abs, parts))
            if min(second_largest, largest) > max(self.scale.least, 3.0 * effect.error):
                return least < largest / 4.0
            return largest - second_largest > 3.0 * effect.error

        self.lab.require(self._cost(question), f"the experiment '{text}'")
        try:
            reading = ask(self.lab, self.scale, question, decided)
        except Unresolved as problem:
            self._drop_unmakeable(second, problem.experiment.reason)
            return
        gone = [suspect for suspect in middle if suspect not in reading.flipped]
        for suspect in gone:
            self._remove(suspect)
        sum_of_both = Effect(
            reading.before.value + reading.effect.value,
            max(reading.before.error, reading.effect.error),
        )
        self._points[first] = reading.before
        self._points[second - len(gone)] = sum_of_both

    def _measure(self, prefix: int, text: str, step: SearchStep | None = None) -> None:
        """Tests one prefix; those of it that cannot be flipped go, and the others move up."""
        ends = (self._points[step.low], self._points[step.high]) if step else None
        try:
            reading = self._ask(prefix, text, ends=ends)
        except Unresolved as problem:
            self._drop_unmakeable(prefix, problem.experiment.reason)
            return
        gone = [s for s in self.suspects[:prefix] if s not in reading.flipped]
        for suspect in gone:
            self._remove(suspect)
        self._points[prefix - len(gone)] = reading.effect

    def _drop_unmakeable(self, prefix: int, reason: str) -> None:
        """Leaves out those of a prefix that cannot be flipped any more, or all of it."""
        group = tuple(self.suspects[:prefix])
        arm = Arm(Side.BAD, self.context + group)
        lost = culprits(self.lab, Side.BAD, self.context, group, Unmakeable(arm, reason)) or group
        self.lab.leave_out(Side.BAD, lost, reason)
        for suspect in lost:
            self._remove(suspect)

    def _ask(
        self, prefix: int, text: str, ends: tuple[Effect, Effect] | None = None
    ) -> ExperimentReading:
        question = self._question(text, tuple(self.suspects[:prefix]))
        self.lab.require(self._cost(question), f"the experiment '{text}'")

        def decided(effect: Effect, _: Effect) -> bool:
            if ends is None:
                return abs(abs(effect.value) - self.scale.least) > 2.5 * effect.error
            first, second = effect.value - ends[0].value, ends[1].value - effect.value
            both = min(abs(first), abs(second)) > max(self.scale.least, 3.0 * effect.error)
            return both or abs(abs(first) - abs(second)) > 5.0 * effect.error

        return ask(self.lab, self.scale, question, decided)

    def _question(
        self,
        text: str,
        flipped: tuple[Suspect, ...],
        before: tuple[Suspect, ...] = (),
        *,
        over: bool = False,
    ) -> Question:
        whole = len(flipped) == len(self.suspects)
        return Question(
            self.purposes[0] if whole else self.purposes[1],
            text,
            Side.BAD,
            flipped,
            self.context + before,
            self._least,
            _MOST_AT_ONCE if whole else _MOST if self._least < _CAREFUL else 2 * _MOST,
            self.context if over else None,
        )

    def _try_alone(self, step: SearchStep) -> None:
        suspect = self.suspects[step.low]
        try:
            proof = self._confirm((suspect,), step.size)
        except Unresolved:
            self._remove(suspect)
            return
        effect = proof.effect
        if proof.proven:
            self.proven.append(proof)
        else:
            self.refuted.append(proof)
            if proof.breaking is not None:
                self._closed.add(suspect.id)  # it does something, and still is not proven
                self._look_for_substitute(proof)
            elif abs(effect.value) < max(self.scale.least, _SURE * effect.error):
                effect = Effect(0.0, effect.error)
        self._alone[suspect.id] = effect
        begin = self._points[step.low]
        end = Effect(begin.value + effect.value, math.hypot(begin.error, effect.error))
        if step.low + 1 not in self._points:
            self._points[step.low + 1] = end
            self._inferred.add(step.low + 1)

    def _confirm(self, suspects: tuple[Suspect, ...], expected: float) -> Confirmation:
        """Alone; where that shows nothing and others are flipped already, on top of these."""
        proof = confirm(
            self.lab, self.scale, suspects, expected=expected, others=tuple(self.suspects)
        )
        if proof.proven or not self.context or proof.breaking is not None:
            return proof
        return confirm(
            self.lab,
            self.scale,
            suspects,
            expected=expected,
            others=tuple(self.suspects),
            context=self.context,
        )

    def _look_for_partners(self, step: SearchStep) -> None:
        suspect = self.suspects[step.low]
        if step.low in self._inferred:
            # That those tried alone do nothing here either was only a guess.
            for place in self._inferred:
                del self._points[place]
            self._inferred.clear()
            self._measure(
                step.low, f"do the first {step.low} suspects have an effect without {suspect.id}?"
            )
            return
        self._closed.add(suspect.id)
        alone = self._alone[suspect.id]
        before = tuple(self.suspects[: step.low])
        is_proven = self._is_proven(suspect)
        causes = tuple(s for cause in self._proven_before(step.low) for s in cause.suspects)
        together = alone.value + step.size if is_proven else step.size
        try:
            if not is_proven and causes and self._prove_beside((suspect,), causes, step.size):
                return
            partner_group = partners.find(
                self.lab, self.scale, suspect, before, alone, together, self.context
            )
            if partner_group is None:
                self._start_over(suspect)
                return
            others = tuple(s for s in partner_group.suspects if s is not suspect)
            if is_proven and not others:
                return
            if is_proven and self._prove_beside(others, (suspect,), step.size):
                return
            if not is_proven and self._prove_alone(partner_group.alone):
                self._closed.discard(suspect.id)  # a proven cause may be what it needs
                return
            proof = self._confirm(partner_group.suspects, together)
        except Unresolved:
            return
        if proof.proven:
            group = set(partner_group.suspects)
            self.proven = [c for c in self.proven if not set(c.suspects) < group]
            self.proven.append(proof)
        else:
            self.refuted.append(proof)

    def _prove_beside(
        self, suspects: tuple[Suspect, ...], causes: tuple[Suspect, ...], expected: float
    ) -> bool:
        """Whether they are a cause once others are repaired, behind which they were hidden."""
        proof = confirm(
            self.lab,
            self.scale,
            suspects,
            expected=expected,
            others=tuple(self.suspects),
            context=self.context + causes,
        )
        if proof.proven:
            self.proven.append(proof)
        return proof.proven

    def _prove_alone(self, effects: Mapping[Suspect, Effect]) -> bool:
        """Whether one of those that seem to do something alone is a cause by itself."""
        for suspect, effect in effects.items():
            if suspect.id not in self._alone and self._counts(effect.value, effect.error):
                proof = self._confirm((suspect,), effect.value)
                self._alone[suspect.id] = proof.effect
                (self.proven if proof.proven else self.refuted).append(proof)
                if proof.proven:
                    return True
        return False

    def _look_for_substitute(self, proof: Confirmation) -> None:
        """A repair works and breaking it opens nothing: another one may do in its place."""
        suspect = proof.suspects[0]
        others = tuple(s for s in self.suspects if s is not suspect)
        try:
            group = partners.find_substitute(
                self.lab, self.scale, suspect, others, proof.effect, self.context
            )
            if group is None:
                return
            both = self._confirm(group, proof.effect.value)
        except Unresolved:
            return
        (self.proven if both.proven else self.refuted).append(both)

    def _start_over(self, suspect: Suspect) -> None:
        """The step was noise: everything is tested again, once.

        A single suspect has no parts to test. Either all at once or its own repair was measured
        wrongly: the first is repeated, and where it still shows an effect, the second too.
        """
        if self._least >= _CAREFUL:
            return
        self._closed.discard(suspect.id)
        if len(self._points) > 2:
            self._second_look()
            return
        self._least = _CAREFUL
        del self._alone[suspect.id]
        self._measure(len(self.suspects), f"does {suspect.id} close the gap, measured again?")

    # -- arithmetic --------------------------------------------------------------------------------

    def _counts(self, size: float, error: float) -> bool:
        return abs(size) > max(self.scale.least, _SURE * error)

    def _is_proven(self, suspect: Suspect) -> bool:
        return any(suspect in proof.suspects for proof in self.proven)

    def _weight(self, suspect: Suspect) -> float:
        return suspect.weight * (_DISCOUNT if suspect.id in self._alone else 1.0)

    def _worth_trying(self, step: SearchStep) -> bool:
        """Whether the first suspect of a step is likely enough, or there is no time for more."""
        if self.narrowed[0].id in self._alone:
            return False
        weights = [self._weight(suspect) for suspect in self.narrowed]
        if weights[0] >= LIKELY * sum(weights):
            return True
        half = tuple(self.suspects[: self._nearest(step, 0.5)])
        return not self.lab.affords(self._cost(self._question("", half)))

    def _thirds(self, step: SearchStep) -> tuple[int, int]:
        """Two prefixes inside a step, about a third of its weight apart; the same where there is
        but one."""
        first = self._nearest(step, 1.0 / 3.0)
        second = self._nearest(step, 2.0 / 3.0)
        if first == second and step.high - step.low > 2:
            if second + 1 < step.high:
                second += 1
            else:
                first -= 1
        return first, second

    def _nearest(self, step: SearchStep, part: float) -> int:
        """The prefix inside a step that comes nearest to that part of its weight."""
        inside = self.suspects[step.low : step.high]
        wanted = part * sum(map(self._weight, inside))
        best, nearest, weight = step.low + 1, math.inf, 0.0
        for place, suspect in enumerate(inside[:-1], step.low + 1):
            weight += self._weight(suspect)
            if abs(weight - wanted) < nearest:
                best, nearest = place, abs(weight - wanted)
        return best

    def _cost(self, question: Question) -> float:
        """Seconds of the fewest blocks, and those that confirming what they find would take."""
        arms = [
            Arm(Side.BAD, question.context),
            Arm(Side.BAD, question.context + question.flipped),
        ]
        if question.over is not None:
            arms.append(Arm(Side.BAD, question.over))
        reserve = [Arm(Side.BAD), Arm(Side.BAD, question.flipped)]
        if self.lab.bench.is_live(Side.GOOD):
            reserve += [Arm(Side.GOOD), Arm(Side.GOOD, question.flipped)]
        return self.lab.seconds(arms, question.least) + self.lab.seconds(reserve, FEWEST)

    def _remove(self, suspect: Suspect) -> None:
        """Takes a suspect out that cannot be flipped any more, and what it gained as a proven cause
        out of the prefixes that were tested with it."""
        place = self.suspects.index(suspect)
        gained = _sum([cause for cause in self.proven if cause.suspects[0] is suspect])
        self.suspects.remove(suspect)
        points = {}
        for prefix, effect in sorted(self._points.items()):
            if prefix > place:
                effect = Effect(effect.value - gained.value, math.hypot(effect.error, gained.error))
            points[prefix - (prefix > place)] = effect
        self._points = points
        self._inferred = {prefix - (prefix > place) for prefix in self._inferred} - {0}


def _sum(causes: Sequence[Confirmation]) -> Effect:
    """The effects of causes, as if each was what it is alone."""
    return Effect(
        sum(cause.effect.value for cause in causes),
        math.hypot(*(cause.effect.error for cause in causes)),
    )


def _key(causes: Sequence[Confirmation]) -> frozenset[str]:
    return frozenset(cause.name for cause in causes)


def testable(suspects: Sequence[Suspect]) -> list[Suspect]:
    """Those that can be flipped, in the order of their rank."""
    return [suspect for suspect in suspects if suspect.means is not None]
