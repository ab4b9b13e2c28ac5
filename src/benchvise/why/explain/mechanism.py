"""Why a confirmed cause has its effect: the card that explains it, held against what is counted.

    candidates ─→ counted in both arms ─→ the card that applies ─→ signs, prediction, artefact

The cause is proven by intervention before anything here is asked. So a mechanism that the counters
contradict takes nothing from the cause: then how it works is another question, and that is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType

import numpy as np

from benchvise.errors import MeasurementError
from benchvise.quantities import format_size
from benchvise.state.catalogue import knobs
from benchvise.state.model import Snapshot
from benchvise.text import printable
from benchvise.why.bench import ArmRefused, SideFacts
from benchvise.why.cards import MORE, Card, CounterSign, Sign, knobs_of, load_cards, named
from benchvise.why.explain.cause import ConfirmedCause, Prediction, number
from benchvise.why.explain.counters import COUNTERS, OF_THE_SYSTEM, MechanismCounter
from benchvise.why.explain.predictions import PREDICTIONS
from benchvise.why.model import (
    Arm,
    Bounds,
    CounterCheck,
    Finding,
    Grade,
    Mechanism,
    Metric,
    Remedy,
    SettingMeans,
    Side,
    Support,
    Suspect,
)

ROUNDS = 2
"""How often each arm is counted: what differs between rounds is noise."""

NEGLIGIBLE = 0.01
LEAST_BYTES = 1 << 20
"""Share of a program's memory, and bytes, up to which the page of zeros is not worth a word: every
program has some pages that it has only looked at."""

_COMMANDS = "command."
_BENCHMARK_IS_KNOWN, _COUNTED, _NOT_COUNTED = 1.0, 2.0, -1.0

_NONE = 1000.0
"""No count at all stands as that part of the largest, so that it compares with some."""

_STEADY = 3.0

During = Callable[[Arm], Mapping[str, float]]


def explain(
    metric: Metric,
    suspects: Sequence[Suspect],
    *,
    snapshots: Mapping[Side, Snapshot],
    facts: Mapping[Side, SideFacts],
    effect: Bounds,
    during: During,
    side: Side,
) -> Mechanism | None:
    """The mechanism of a confirmed cause; None where no card is about it.

    ``effect`` is the goodness gained by the repair, ``side`` where it was made and is counted.
    Nothing is raised where counting fails: then the mechanism is not checked, for the reason.
    Raises what ``Bench.during`` raises for a lost board, and for what cannot be put back.
    """
    candidates = [card for card in load_cards() if _relevance(card, metric, suspects)]
    if not candidates:
        return None
    bad, good, reason = _count(during, tuple(suspects), side)
    if not reason and side in facts and facts[side].simulated:
        reason = "not available: the board is simulated"
    without, repaired = _medians(bad), _medians(good)
    case = ConfirmedCause(metric, tuple(suspects), snapshots, side, without, repaired)
    card = max(candidates, key=lambda card: _score(card, case))
    if _score(card, case) <= 0:
        return None
    checks = tuple(_check(sign, case, bad, good, reason) for sign in card.counters)
    prediction = PREDICTIONS[card.predict](case) if card.predict else Prediction("")
    return Mechanism(
        card=card.id,
        title=card.title,
        explanation=_filled(card.explanation, case),
        support=_support(checks, card.counters),
        checks=checks,
        prediction=_beside_the_effect(prediction, effect),
        predicted=prediction.ratio,
        artefact=_artefact(card, case),
        remedies=tuple(
            Remedy(remedy.system, _named(remedy.text, suspects), remedy.cost)
            for remedy in card.remedies
        ),
        literature=card.literature,
    )


def artefacts(mechanism: Mechanism) -> tuple[Finding, ...]:
    """What a mechanism says about the metric itself, as a finding of admissibility."""
    if not mechanism.artefact:
        return ()
    remedy = next((advice.text for advice in mechanism.remedies), "")
    return (Finding(mechanism.card, Grade.WARNS, mechanism.artefact, mechanism.prediction, remedy),)


def cards_for(metric: Metric, suspects: Sequence[Suspect]) -> tuple[Card, ...]:
    """The cards that may be about these suspects, the nearest first, before anything is counted."""
    ranked = [(_relevance(card, metric, suspects), card) for card in load_cards()]
    return tuple(card for points, card in sorted(ranked, key=lambda f: -f[0]) if points)


# -- which card ------------------------------------------------------------------------------------


def _relevance(card: Card, metric: Metric, suspects: Sequence[Suspect]) -> float:
    """How closely a card is about them; 0 when it is not."""
    benchmark = metric.benchmark
    spoken_of = any(fnmatchcase(benchmark, pattern) for pattern in card.metrics)
    if card.metrics and not spoken_of and not benchmark.startswith(_COMMANDS):
        return 0.0
    points = max((named(card, suspect) for suspect in suspects), default=0.0)
    return points and points + _BENCHMARK_IS_KNOWN * spoken_of


def _score(card: Card, case: ConfirmedCause) -> float:
    """Relevance, and whether what the card needs was counted: a card whose need is known not to be
    there does not apply."""
    points = _relevance(card, case.metric, case.suspects)
    if not card.needs:
        return points
    amount = _amount_needed(card, case)
    if amount is None:
        return points + _NOT_COUNTED
    own = max(arm.get("rss_bytes", 0.0) for arm in (case.without, case.repaired))
    enough = amount >= LEAST_BYTES and amount > NEGLIGIBLE * (own + amount)
    return points + _COUNTED if enough else -math.inf


def _amount_needed(card: Card, case: ConfirmedCause) -> float | None:
    """How much there is of what a card needs: as counted, or as the benchmark was told; None where
    nobody knows."""
    seen = [arm[card.needs] for arm in (case.without, case.repaired) if card.needs in arm]
    if seen:
        return max(seen)
    source = case.param("source")
    if source is None:
        return None
    return float(case.size("size") or 0) if source == "untouched" else 0.0


# -- what is counted -------------------------------------------------------------------------------

Counts = Sequence[Mapping[str, float]]


def _count(during: During, suspects: tuple[Suspect, ...], side: Side) -> tuple[Counts, Counts, str]:
    """The counters with the bad and with the good values, in rounds, the order turned in each; and
    why they are incomplete."""
    arms = {False: Arm(side), True: Arm(side, suspects)}
    rounds: dict[bool, list[Mapping[str, float]]] = {False: [], True: []}
    reason = ""
    try:
        for turn in range(ROUNDS):
            for flipped in (False, True) if turn % 2 == 0 else (True, False):
                rounds[flipped].append(dict(during(arms[flipped])))
    except (MeasurementError, ArmRefused) as error:
        reason = str(error)
    flipped_is_good = side is Side.BAD
    return rounds[not flipped_is_good], rounds[flipped_is_good], reason


def _medians(rounds: Counts) -> dict[str, float]:
    names = {name for counts in rounds for name in counts}
    return {
        name: float(np.median([counts[name] for counts in rounds if name in counts]))
        for name in sorted(names)
    }


def _check(
    predicted: CounterSign, case: ConfirmedCause, bad: Counts, good: Counts, reason: str
) -> CounterCheck:
    """One counter against its sign."""
    counter = COUNTERS[predicted.name]
    sign = _sign(predicted, case)
    if sign is None:
        return CounterCheck(counter.name, "?", None, None, "no sign is predicted for these values")
    before, after = _seen(counter, bad), _seen(counter, good)
    if not before or not after:
        why = reason or "not available: it cannot be counted here"
        return CounterCheck(counter.name, sign, None, None, why)
    least = max(*before, *after) / _NONE or 1.0
    logs = [np.log(np.maximum(values, least)) for values in (before, after)]
    shift = float(np.median(logs[1]) - np.median(logs[0]))
    noise = max(math.log1p(counter.margin), *(float(np.ptp(values)) for values in logs))
    # what should stay as it was may move a little by the work that the other counters are about
    moved = 0 if abs(shift) <= noise * (_STEADY if sign == "0" else 1) else 1 if shift > 0 else -1
    agrees, why = _judged(predicted, sign, moved, noise, math.log1p(counter.margin))
    return CounterCheck(counter.name, sign, math.exp(shift), agrees, why)


def _seen(counter: MechanismCounter, rounds: Counts) -> list[float]:
    return [counts[counter.name] for counts in rounds if counter.name in counts]


def _judged(
    predicted: CounterSign, sign: Sign, moved: int, noise: float, margin: float
) -> tuple[bool | None, str]:
    """Whether it agrees, and what there is to say.

    Where the card does not decide by it, a counter that stayed where it was is no judgement, nor
    is one of the whole system that moved the other way: others move those too. Rounds that differ
    by more than the counter's own margin hide a move, so they contradict nothing either.
    """
    if moved == {"+": 1, "-": -1, "0": 0}[sign]:
        return True, ""
    still = _noise_text(noise) if moved == 0 else ""
    if moved == 0 and noise > margin:
        return None, still
    if predicted.decides:
        return False, still
    if moved == 0:
        return None, still
    if predicted.name in OF_THE_SYSTEM:
        return None, "moved the other way, but it is the whole system's"
    return False, ""


_MANY = 10.0


def _noise_text(noise: float) -> str:
    """By how much rounds of the same state differ: ``within its noise of 30%``."""
    ratio = math.exp(noise)
    if ratio > _MANY:  # none in one of them, and some in another
        return f"its rounds differ more than {_MANY:.0f}-fold"
    return f"within its noise of {ratio - 1:.0%}"


def _sign(predicted: CounterSign, case: ConfirmedCause) -> Sign | None:
    """The sign for this repair: as it is, turned about, or None where the values do not say."""
    if not predicted.to or predicted.sign == "0":
        return predicted.sign
    towards = [_is_towards(predicted.to, suspect, case) for suspect in case.suspects]
    if True in towards:
        return predicted.sign
    opposite: dict[Sign, Sign] = {"+": "-", "-": "+", "0": "0"}
    return opposite[predicted.sign] if False in towards else None


def _is_towards(to: tuple[str, ...], suspect: Suspect, case: ConfirmedCause) -> bool | None:
    """Whether a repair goes towards these values: True, False for away from them, None for
    neither."""
    good, bad = (_values(suspect, side, case) for side in (Side.GOOD, Side.BAD))
    if good & set(to):
        return True
    if bad & set(to):
        return False
    numbers = number(suspect.good), number(suspect.bad)
    if MORE not in to or numbers[0] is None or numbers[1] is None or numbers[0] == numbers[1]:
        return None
    return numbers[0] > numbers[1]


def _values(suspect: Suspect, side: Side, case: ConfirmedCause) -> set[str]:
    """What a suspect stands for on a side: as shown, as it is set, and, where it is a line of a
    file, as the snapshot has the setting that the line is about."""
    means = suspect.means
    value_text = suspect.good if side is Side.GOOD else suspect.bad
    if isinstance(means, SettingMeans):
        return {value_text, *(setting.value for setting in means.towards(side))}
    read = (case.at(side, knobs()[name][1].path) for name in knobs_of(suspect) if name in knobs())
    return {value_text, *(str(value) for value in read if value is not None)}


def _support(checks: Sequence[CounterCheck], signs: Sequence[CounterSign]) -> Support:
    """Contradicted by any, supported by at least one that may move: what only stays where it was
    speaks for nothing."""
    if any(check.agrees is False for check in checks):
        return Support.CONTRADICTED
    moving = (check for check, sign in zip(checks, signs, strict=True) if sign.sign != "0")
    return Support.SUPPORTED if any(check.agrees for check in moving) else Support.NOT_CHECKED


# -- words -----------------------------------------------------------------------------------------


def _named(text: str, suspects: Sequence[Suspect]) -> str:
    """A card's remedy with the variable that the cause is, where it is one of the environment."""
    names = (s.id.partition(":")[2] for s in suspects if s.item == "process.environment")
    name = next((name for name in names if re.fullmatch(r"\w+", name, re.ASCII)), "VARIABLE")
    return text.replace("VARIABLE", name)


def _filled(
    template: str, case: ConfirmedCause, counts: Mapping[str, float] = MappingProxyType({})
) -> str:
    """A card's sentence with the values of the case. Values are a board's text: made printable."""
    values = {
        "metric": printable(case.metric.name, 80),
        "good": printable(case.good, 60),
        "bad": printable(case.bad, 60),
    }
    for name in COUNTERS:
        seen = counts.get(name, max(case.without.get(name, 0.0), case.repaired.get(name, 0.0)))
        values[name] = format_size(seen) if name.endswith("_bytes") else f"{seen:.3g}"
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), template)


def _artefact(card: Card, case: ConfirmedCause) -> str:
    """The sentence, where what it needs was seen; where that could not be looked at it says so."""
    if not card.artefact:
        return ""
    amount = _amount_needed(card, case) if card.needs else None
    if card.needs and amount is None:
        return (
            f"whether '{printable(case.metric.name, 80)}' reads memory that it never wrote could "
            "not be looked at here; if it does, the value is not a copy bandwidth"
        )
    return _filled(card.artefact, case, {} if amount is None else {card.needs: amount})


def _beside_the_effect(prediction: Prediction, effect: Bounds) -> str:
    """The words, and the factor beside the one that was measured."""
    if prediction.ratio is None:
        return prediction.sentence
    low, value, high = (math.exp(goodness) for goodness in (effect.low, effect.value, effect.high))
    bound = f"{prediction.bound} " if prediction.bound else ""
    return (
        f"{prediction.sentence}. Predicted: better by a factor of {bound}{prediction.ratio:.3g}; "
        f"measured: {value:.3g} ({low:.3g} to {high:.3g})"
    )
