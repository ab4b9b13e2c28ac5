"""What a suspect needs beside it: found where it is nothing alone and something after others.

h(j) is what the suspect gains when the first j suspects are flipped too. h(0) is what it gains
alone; where h rises is its partner. With the partner fixed, the search goes on while the set lacks
something. What is returned is 1-minimal: none of it can be left out.
"""

from __future__ import annotations

from benchvise.why.laboratory import Laboratory
from benchvise.why.model import Arm, Purpose, Side, Suspect
from benchvise.why.question import Effect, Question, ask
from benchvise.why.scale import Scale

_MOST_TOGETHER = 4
# To say that a step was real after all takes more blocks than to find it.
_RECHECK = 5
_RECHECK_MOST = 12
# Of an effect: who adds no more than that is no partner.
_NEGLIGIBLE = 0.25


def find(
    lab: Laboratory,
    scale: Scale,
    suspect: Suspect,
    before: tuple[Suspect, ...],
    alone: Effect,
    expected: float,
    context: tuple[Suspect, ...],
) -> tuple[Suspect, ...] | None:
    """The smallest set with the suspect that has the expected effect; None if there is no step.

    ``before`` are the suspects after which the step was seen. Unresolved as ``question.ask``.
    """
    group: tuple[Suspect, ...] = (suspect,)
    words = f"does {suspect.id} matter after the {len(before)} before it?"
    after_all = _ask(lab, scale, words, group, context + before, expected, recheck=True)
    if not _rises(scale, after_all, alone, expected):
        return None
    while before and len(group) < _MOST_TOGETHER:
        place = _where(lab, scale, group, before, alone, after_all, context)
        group = (*group, before[place])
        words = f"are {_names(group)} enough together?"
        alone = _ask(lab, scale, words, group, context, expected)
        if abs(expected) - abs(alone.value) < _slack(scale, expected, alone):
            break
        before = before[:place]
    return _minimal(lab, scale, group, alone, context, known=(suspect,))


def find_substitute(
    lab: Laboratory,
    scale: Scale,
    suspect: Suspect,
    others: tuple[Suspect, ...],
    alone: Effect,
    context: tuple[Suspect, ...],
) -> tuple[Suspect, ...] | None:
    """The suspect with the one that would do as well in its place: either repairs the bad side, so
    that breaking one alone opens nothing. None if with all others set it still does something.

    ``alone`` is what it gains by itself.
    """
    group = (suspect,)
    words = f"does {suspect.id} still matter when all others are as on the good side?"
    expected = alone.value
    after_all = _ask(lab, scale, words, group, context + others, expected)
    if not others or abs(after_all.value) > abs(expected) / 2.0:
        return None
    return (suspect, others[_where(lab, scale, group, others, alone, after_all, context)])


def _where(
    lab: Laboratory,
    scale: Scale,
    group: tuple[Suspect, ...],
    before: tuple[Suspect, ...],
    alone: Effect,
    after_all: Effect,
    context: tuple[Suspect, ...],
) -> int:
    """The place among those before at which what the group gains changes most."""
    low, high = 0, len(before)
    bottom, top = alone, after_all
    while high - low > 1:
        middle = _middle(before, low, high)
        words = f"does {_names(group)} matter after the first {middle}?"
        expected = top.value - bottom.value
        value = _ask(lab, scale, words, group, context + before[:middle], expected)
        if abs(value.value - bottom.value) < abs(top.value - value.value):
            low, bottom = middle, value
        else:
            high, top = middle, value
    return low


def _minimal(
    lab: Laboratory,
    scale: Scale,
    group: tuple[Suspect, ...],
    whole: Effect,
    context: tuple[Suspect, ...],
    known: tuple[Suspect, ...],
) -> tuple[Suspect, ...]:
    """The group without what it does not need; ``known`` is known to be too little."""
    for member in group:
        rest = tuple(suspect for suspect in group if suspect != member)
        if not rest or rest == known:
            continue
        words = f"does it take {member.id} beside {_names(rest)}?"
        without = _ask(lab, scale, words, rest, context, whole.value)
        if abs(whole.value - without.value) < _slack(scale, whole.value, without):
            return _minimal(lab, scale, rest, without, context, known)
    return group


def _slack(scale: Scale, whole: float, part: Effect) -> float:
    """By how much a part may be short of the whole and still be as good."""
    return max(scale.least, _NEGLIGIBLE * abs(whole), 2.0 * part.error)


def _rises(scale: Scale, after_all: Effect, alone: Effect, expected: float) -> bool:
    rise = after_all.value - alone.value
    return rise * expected > 0.0 and abs(rise) > max(scale.least, 2.0 * after_all.error)


def _ask(
    lab: Laboratory,
    scale: Scale,
    words: str,
    flipped: tuple[Suspect, ...],
    context: tuple[Suspect, ...],
    expected: float,
    *,
    recheck: bool = False,
) -> Effect:
    question = Question(
        Purpose.CONTEXT,
        words,
        Side.BAD,
        flipped,
        context,
        _RECHECK if recheck else 3,
        _RECHECK_MOST if recheck else 8,
    )
    arms = [Arm(Side.BAD, context), Arm(Side.BAD, context + flipped)]
    lab.require(lab.seconds(arms, question.least), words)
    half = abs(expected) / 2.0
    reading = ask(
        lab, scale, question, lambda effect, _: abs(abs(effect.value) - half) > 2.5 * effect.error
    )
    return reading.effect


def _middle(suspects: tuple[Suspect, ...], low: int, high: int) -> int:
    """The prefix between two that comes nearest to half of the weight between them."""
    weights = [suspect.weight for suspect in suspects[low:high]]
    half = sum(weights) / 2.0
    prefixes = range(1, high - low)
    return low + min(prefixes, key=lambda count: abs(sum(weights[:count]) - half))


def _names(suspects: tuple[Suspect, ...]) -> str:
    return " and ".join(suspect.id for suspect in suspects)
