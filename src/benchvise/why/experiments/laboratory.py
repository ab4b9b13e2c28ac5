"""Where trials are taken: blocks of arms in random order, each answer in the evidence log.

Everything that a diagnosis learns from its boards while it runs comes through here, so that it can
be replayed (see ``evidence``). Trials are numbered in the order in which they were taken.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchvise.board.channel import NotAvailable
from benchvise.documents import decode, encode
from benchvise.errors import BoardUnreachable, MeasurementError
from benchvise.state.model import Snapshot, snapshot_of
from benchvise.why.bench import ArmRefused, Bench, CrossCheck
from benchvise.why.events import Event, ExperimentDecided, LeftOut, TrialFailed, TrialTaken
from benchvise.why.experiments import estimate
from benchvise.why.experiments.estimate import Floats
from benchvise.why.experiments.evidence import TRY, EvidenceLog
from benchvise.why.model import Arm, Experiment, Side, Suspect, Trial
from benchvise.why.witness.model import SideWatch

# So often a metric that fails is tried, more often where it is known to fail now and then: so that
# a diagnosis ends of bad luck once in so many trials.
_TRIES = 4
_MOST_TRIES = 12
_BAD_LUCK = 1e-4
# Seconds for other work on a board to end: at first, doubled each time, and of all together.
_WAIT_S = 4.0
_MOST_WAITING_S = 120.0
# Waiting may take one part in so many of the time that is left.
_WAITING_PART = 4.0
DISTURBANCES = frozenset({"preempted", "waited", "stolen", "neighbour"})
"""Flags of the probe's samples for what others do: ``probe/core/evidence.c``."""

# A good side that takes so many times longer to switch to than to measure has blocks of its own.
_DEAR = 3.0

_FAILS = "the metric fails"
BURST = 3.0
"""From so many times the usual noise on, the differences of an experiment lie in a burst."""
# Differences of an experiment that tell its own scatter, and how many of the last are looked at.
_TELLS = 3
_LATEST = 3


class Unmakeable(Exception):  # noqa: N818
    """An arm has no value: refused, or the metric fails in it again and again.

    ``suspects`` are the ids of those it failed for, empty where nobody knows.
    """

    def __init__(self, arm: Arm, reason: str, suspects: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.arm = arm
        self.reason = reason
        self.suspects = tuple(suspects)


class Laboratory:
    """A bench with its log, budget and observer, and all that was measured on it so far."""

    def __init__(
        self,
        bench: Bench,
        log: EvidenceLog,
        observe: Callable[[Event], None],
        budget: Budget,
        seed: int,
    ) -> None:
        self.bench = bench
        self.observe = observe
        self.trials: list[Trial] = []
        self.experiments: list[Experiment] = []
        self.left_out: dict[tuple[Side, str], str] = {}
        """Why a suspect, by its id, cannot be flipped on a side."""
        self.differences: list[Floats] = []
        """Of each experiment the differences of its blocks, for what noise there is."""
        self.failures = {side: FailureCount() for side in Side}
        """How often the metric failed where nothing was flipped."""
        self.lost: Arm | None = None
        """The arm that was being measured when contact was lost."""
        self._log = log
        self._budget = budget
        self._seed = seed
        self._series = 0
        self._offset: float | None = None
        self._waits = 0
        self._waited_s = 0.0

    @property
    def directory(self) -> Path | None:
        """Where the evidence is kept; None where it is not."""
        return self._log.directory

    # -- time --------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the diagnosis began, those before it was resumed included."""
        if self._log.replaying:
            return self._log.at
        if self._offset is None:
            self._offset = self._log.at - self.bench.now()
        return self._offset + self.bench.now()

    @property
    def at(self) -> float:
        """When the last answer came: the same on replay."""
        return self._log.at

    def affords(self, seconds: float) -> bool:
        """Whether the budget allows something that takes so long; the answer is logged."""
        if not self._budget.limited:
            return True
        answer = self._log.recall("budget", ())
        if answer is None:
            now = self.now()
            answer = {"affords": self._budget.allows(now, seconds), "seconds": seconds}
            self._log.record("budget", (), answer, now)
        return bool(answer["affords"])

    def require(self, seconds: float, step: str) -> None:
        """BudgetSpent when the budget does not allow it."""
        if not self.affords(seconds):
            raise BudgetSpent(step)

    def seconds(self, arms: Sequence[Arm], blocks: int) -> float:
        """What so many blocks of these arms will take, as an estimate."""
        around = list(zip(arms, [arms[-1], *arms[:-1]], strict=True))
        return blocks * sum(self.bench.seconds(arm, before) for arm, before in around)

    def switches_cheaply(self) -> bool:
        """Whether the good side can be measured in turn with the bad one: live, and reached in
        little more than the time that measuring takes. Logged, for estimates change."""
        answer = self._log.recall("switching", ())
        if answer is None:
            bad, good = Arm(Side.BAD), Arm(Side.GOOD)
            cheap = self.bench.is_live(Side.GOOD) and (
                self.bench.seconds(good, bad) <= _DEAR * self.bench.seconds(good, good)
            )
            answer = {"cheap": cheap}
            self._log.record("switching", (), answer, self.now())
        return bool(answer["cheap"])

    # -- what is asked of the boards ---------------------------------------------------------------

    def snapshot(self, side: Side) -> Snapshot:
        """The state of a side."""
        key = (str(side),)
        answer = self._log.recall("snapshot", key)
        if answer is None:
            answer = encode(self.bench.snapshot(side))
            self._log.record("snapshot", key, answer, self.now())
        return snapshot_of(answer)

    def cross_check(self, keys: Sequence[str]) -> tuple[CrossCheck, ...]:
        """These benchmarks of the probe on both sides; none where it cannot measure them."""
        if not keys:
            return ()
        answer = self._log.recall("cross-check", keys)
        if answer is None:
            try:
                checks = self.bench.cross_check(keys)
            except (MeasurementError, NotAvailable):
                checks = ()
            answer = {"checks": encode(checks)}
            self._log.record("cross-check", keys, answer, self.now())
        return decode(tuple[CrossCheck, ...], answer["checks"])

    def during(self, arm: Arm) -> Mapping[str, float]:
        """What is counted while an arm is measured; nothing where it cannot be made any more."""
        key = _key(arm)
        answer = self._log.recall("during", key)
        if answer is None:
            try:
                answer = {"counters": dict(self.bench.during(arm))}
            except (ArmRefused, MeasurementError, NotAvailable) as error:
                answer = {"counters": {}, "reason": str(error)}
            except BoardUnreachable:
                self.lost = arm
                raise
            self._log.record("during", key, answer, self.now())
        return {str(name): float(value) for name, value in answer["counters"].items()}

    def watch(self, side: Side) -> SideWatch:
        """What the command does on a side; where that cannot be watched, why."""
        key = (str(side),)
        answer = self._log.recall("watch", key)
        if answer is None:
            directory = self._log.directory
            trace = None if directory is None else directory.absolute() / f"command-{side}.dat"
            try:
                watched = self.bench.watch(side, trace)
            except (MeasurementError, NotAvailable) as error:
                watched = SideWatch(missing={"the command": error.message})
            except BoardUnreachable:
                self.lost = Arm(side)
                raise
            self._log.record("watch", key, encode(watched), self.now())
            return watched
        watched = decode(SideWatch, answer)
        self.bench.remember(side, watched)
        return watched

    def digests(self, side: Side, paths: Sequence[str]) -> Mapping[str, str] | None:
        """The checksums of those of these files that a side has; None where they cannot be read."""
        key = (str(side), *paths)
        answer = self._log.recall("digests", key)
        if answer is None:
            try:
                answer = {"digests": dict(self.bench.digests(side, paths))}
            except (MeasurementError, NotAvailable) as error:
                answer = {"digests": None, "reason": str(error)}
            except BoardUnreachable:
                self.lost = Arm(side)
                raise
            self._log.record("digests", key, answer, self.now())
        digests = answer["digests"]
        return None if digests is None else {str(k): str(v) for k, v in digests.items()}

    def decided(self, what: str, names: Sequence[str]) -> None:
        """Logs a decision; on replay it must be the same again."""
        if self._log.recall(what, names) is None:
            self._log.record(what, names, {}, self.now())

    def divert_at_end(self) -> None:
        """Has the recorded answers end in Diverted, and not in another question to the boards."""
        self._log.diverts_at_end = True

    def next_try(self, names: Sequence[str]) -> str:
        """The suspect that is tried now: that of the evidence, and the first of ``names`` where
        that has no more. Empty where there is none."""
        self._log.diverts_at_end = False
        return self._log.next_try() or next(iter(names), "")

    def begin_try(self, name: str) -> None:
        """Notes in the evidence that a suspect is tried from here on, whatever the budget."""
        self.decided(TRY, [name])
        self._budget = Budget()

    def measure(self, arm: Arm) -> Trial:
        """One trial of an arm; Unmakeable when there is none, also at further tries.

        MeasurementError or NotAvailable when nothing is flipped and the metric fails each time.
        """
        failures = self.failures[arm.side]
        tries = 0
        while True:
            tries += 1
            try:
                trial = self._measure(arm)
            except ArmRefused as refused:
                raise Unmakeable(arm, str(refused), refused.suspects) from None
            except (MeasurementError, NotAvailable) as error:
                if not arm.flipped:
                    failures.failed += 1
                    failures.reason = error.message
                # What is not there does not come by trying.
                most = 2 if isinstance(error, NotAvailable) else failures.tries
                if tries < most:
                    continue
                if not arm.flipped:
                    raise self._with_last(arm.side, error) from error
                what = "the command fails with it" if self.bench.metric.command else _FAILS
                raise Unmakeable(arm, f"{what}: {error}") from None
            failures.worked += not arm.flipped
            return trial

    def _with_last(
        self, side: Side, error: MeasurementError | NotAvailable
    ) -> MeasurementError | NotAvailable:
        """The failure of a side as it is, with the experiment after which it began to fail: that
        may have left something behind. As it is where it did not work before."""
        last = next((trial for trial in reversed(self.trials) if trial.side is side), None)
        if last is None or not last.flipped:
            return error
        message = f"{error.message}; the trial before that had set {', '.join(last.flipped)}"
        return type(error)(message, error.remedy)

    def _measure(self, arm: Arm) -> Trial:
        replayed = self._log.replaying
        answer = self._log.recall("trial", _key(arm))
        if answer is None:
            before = self.now()  # fixes the offset of the clock
            answer = self._try(arm, before)
            self._log.record("trial", _key(arm), answer, self.now())
        if "trial" not in answer:
            reason = " ".join(str(part) for part in (answer["message"], answer["remedy"]) if part)
            self.observe(TrialFailed(arm.side, arm.ids, reason, replayed))
            raise _failure(answer)
        trial = replace(decode(Trial, answer["trial"]), number=len(self.trials) + 1)
        self.trials.append(trial)
        self.observe(TrialTaken(trial, replayed))
        return trial

    def _try(self, arm: Arm, begun: float) -> dict[str, object]:
        try:
            trial = self.bench.measure(arm)
        except ArmRefused as error:
            return {"refused": list(error.suspects)} | _error_record(error)
        except NotAvailable as error:
            return {"not_available": True} | _error_record(error)
        except MeasurementError as error:
            return {"failed": True} | _error_record(error)
        except BoardUnreachable:
            self.lost = arm
            raise
        if not trial.value > 0.0:
            return {"failed": True, "message": f"it gave {trial.value:g}", "remedy": ""}
        return {"trial": encode(replace(trial, started=begun))}

    def wait_for_quiet(self, count: int) -> None:
        """Waits a while where the last ``count`` trials were disturbed by other programs, and the
        trials before them mostly were not: that load may go as it came.

        Not where the bench says that load does not matter, and not beyond a part of the budget.
        """
        disturbed = [bool(DISTURBANCES & set(trial.flags)) for trial in self.trials]
        before, last = disturbed[:-count], disturbed[-count:]
        if not before or sum(last) * 2 <= count or sum(before) * 2 > len(before):
            return
        seconds = min(_WAIT_S * 2.0**self._waits, _MOST_WAITING_S - self._waited_s)
        if seconds <= 0.0 or not self.affords(_WAITING_PART * (self._waited_s + seconds)):
            return
        if self._log.recall("wait", ()) is None:
            waited = self.bench.wait(seconds)
            self._log.record("wait", (), {"seconds": waited}, self.now())
        self._waits += 1
        self._waited_s += seconds

    # -- what was found on the way -----------------------------------------------------------------

    def leave_out(self, side: Side, suspects: Sequence[Suspect], reason: str) -> None:
        """Notes that these cannot be flipped on a side."""
        for suspect in suspects:
            if (side, suspect.id) not in self.left_out:
                self.left_out[side, suspect.id] = reason
                self.observe(LeftOut(suspect, side, reason))

    def recorded(self, side: Side) -> Floats:
        """The goodness of a recorded side's trials, which are numbered like the others."""
        taken = [
            replace(trial, number=len(self.trials) + place)
            for place, trial in enumerate(self.bench.recorded(side), 1)
        ]
        self.trials.extend(taken)
        return np.array([self.bench.metric.goodness(trial.value) for trial in taken])

    def experiment(self, experiment: Experiment) -> Experiment:
        """Gives an experiment its number and keeps it."""
        experiment = replace(experiment, number=len(self.experiments) + 1)
        self.experiments.append(experiment)
        self.observe(ExperimentDecided(experiment))
        return experiment

    def noise(self) -> float:
        """The standard deviation of a difference of two trials in a block, in goodness: that of
        the usual experiment, so that one in a burst of noise says nothing of those after it."""
        return estimate.usual_spread(self.differences)

    def latest_noise(self) -> float:
        """The same as the quietest of the last experiments has it: noise that comes and goes is not
        what the next one will meet."""
        spreads = [estimate.spread([each]) for each in self.differences if each.size >= _TELLS]
        return min(spreads[-_LATEST:], default=0.0)

    def met_burst(self, begin: int) -> bool:
        """Whether the differences of an experiment from that number on scatter far more than those
        of the usual one."""
        usual = self.noise()
        own = [estimate.spread([each]) for each in self.differences[begin:]]
        return usual > 0.0 and any(spread > BURST * usual for spread in own)

    def is_gap_in_burst(self) -> bool:
        """Whether the first experiment, which is the gap, scatters far more than the usual one."""
        if len(self.differences) < _TELLS:
            return False
        return estimate.spread(self.differences[:1]) > BURST * self.noise()

    def blocks(self, arms: Mapping[str, Arm]) -> Blocks:
        """Repetitions of these arms, none taken yet."""
        self._series += 1
        return Blocks(self, arms, random.Random(f"{self._seed}/{self._series}"))  # noqa: S311


@dataclass(slots=True)
class FailureCount:
    """How often the metric failed and worked on a side as it is; ``reason`` is the last one's."""

    failed: int = 0
    worked: int = 0
    reason: str = ""

    @property
    def tries(self) -> int:
        """How often to try before a failure is taken for one that stays."""
        if not self.worked or not self.failed:
            return _TRIES
        rate = self.failed / (self.failed + self.worked)
        return min(_MOST_TRIES, max(_TRIES, math.ceil(math.log(_BAD_LUCK) / math.log(rate))))


class Blocks:
    """Repetitions of the same arms, by name, each time in another random order."""

    def __init__(self, lab: Laboratory, arms: Mapping[str, Arm], order: random.Random) -> None:
        self.arms = dict(arms)
        self.taken: list[tuple[str, Trial]] = []
        """All trials with the names of their arms, in the order of time."""
        self.count = 0
        self.began = lab.at
        self._lab = lab
        self._order = order

    def more(self, count: int) -> None:
        """Takes so many further blocks. Unmakeable as ``Laboratory.measure``, in any of them."""
        for _ in range(count):
            names = list(self.arms)
            self._order.shuffle(names)
            for name in names:
                self.taken.append((name, self._lab.measure(self.arms[name])))
            self.count += 1

    def whole(self) -> None:
        """Forgets what was taken in a block that could not be finished."""
        seen: dict[str, int] = {}
        kept = []
        for name, trial in self.taken:
            seen[name] = seen.get(name, 0) + 1
            if seen[name] <= self.count:
                kept.append((name, trial))
        self.taken = kept

    def goodness(self, name: str) -> Floats:
        """The goodness of an arm's trials, one a block."""
        metric = self._lab.bench.metric
        return np.array([metric.goodness(t.value) for taken, t in self.taken if taken == name])

    def gained(self, name: str, over: str) -> Floats:
        """By how much an arm is better than another, block by block."""
        return self.goodness(name) - self.goodness(over)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all trials."""
        return tuple(trial.number for _, trial in self.taken)

    @property
    def seconds(self) -> float:
        """What it took so far."""
        return self._lab.at - self.began


def _key(arm: Arm) -> tuple[str, ...]:
    return (str(arm.side), *arm.ids)


def _error_record(error: ArmRefused | MeasurementError | NotAvailable) -> dict[str, object]:
    return {"message": error.message, "remedy": error.remedy}


def _failure(answer: Mapping[str, Any]) -> ArmRefused | MeasurementError | NotAvailable:
    message, remedy = str(answer["message"]), str(answer["remedy"])
    if "refused" in answer:
        return ArmRefused(message, remedy, [str(name) for name in answer["refused"]])
    kind = NotAvailable if "not_available" in answer else MeasurementError
    return kind(message, remedy)


# -- the budget ------------------------------------------------------------------------------------


class BudgetSpent(Exception):  # noqa: N818
    """The next step would not end in time. ``step`` says which one."""

    def __init__(self, step: str) -> None:
        super().__init__(step)
        self.step = step


@dataclass(frozen=True, slots=True)
class Budget:
    """A time limit in seconds since the diagnosis began; infinite when there is none."""

    seconds: float = math.inf

    @classmethod
    def of(cls, minutes: float | None) -> Budget:
        """The budget of ``--budget``."""
        return cls(math.inf if minutes is None else 60.0 * minutes)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.seconds)

    def allows(self, now: float, seconds: float) -> bool:
        """Whether something that takes so long would end in time."""
        return now + seconds <= self.seconds
