"""What a suspect needs beside it: found where it is nothing alone and something after others.

h(j) is what the suspect gains when the first j suspects are flipped too. h(0) is what it gains
alone; where h rises is its partner. With the partner fixed, the search goes on while the set lacks
something. What is returned is 1-minimal: none of it can be left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from benchvise.why.experiments.gap import Scale
from benchvise.why.experiments.laboratory import Laboratory
from benchvise.why.experiments.question import Effect, Question, ask
from benchvise.why.model import Arm, Purpose, Side, Suspect

_MOST_TOGETHER = 4
# To say that a step was real after all takes more blocks than to find it.
_RECHECK = 5
_LEAST = 3
# An answer about as uncertain as half of the step sends the search astray: it is asked for so long.
_MOST = 12
# Of an effect: who adds no more than that is no partner.
_NEGLIGIBLE = 0.25
# Standard errors: by less, what a suspect gains alone is measured again before it is taken for less
# than it gains with others. One look at a single suspect has chance that a search picks out.
_CLEARLY = 4.0


@dataclass(frozen=True, slots=True)
class PartnerGroup:
    """Suspects that have an effect together; ``alone`` is what was measured of single ones."""

    suspects: tuple[Suspect, ...]
    alone: Mapping[Suspect, Effect]


def find(
    lab: Laboratory,
    scale: Scale,
    suspect: Suspect,
    before: tuple[Suspect, ...],
    alone: Effect,
    expected: float,
    context: tuple[Suspect, ...],
) -> PartnerGroup | None:
    """The smallest set with the suspect that has the expected effect; None if there is no step.

    ``before`` are the suspects after which the step was seen: without any there is no partner to be
    found, and nothing is asked. Unresolved as ``question.ask``.
    """
    if not before:
        return None
    group: tuple[Suspect, ...] = (suspect,)
    by_itself = alone
    text = f"does {suspect.id} have an effect {_after_words(len(before))}?"
    after_all = _ask(lab, scale, text, group, context + before, expected / 2.0, care=True)
    if not _rises(scale, after_all, alone, expected):
        return None
    while before and len(group) < _MOST_TOGETHER:
        place = _where(lab, scale, group, before, alone, after_all, context)
        enough = _together(lab, scale, (*group, before[place]), context, expected)
        if abs(enough.value - alone.value) < abs(expected) / 2.0:
            # It adds nothing: more than one is missing still, or an answer on the way was wrong.
            again = _elsewhere(lab, scale, group, before, place, alone, after_all, context)
            if again != place:
                place = again
                enough = _together(lab, scale, (*group, before[place]), context, expected)
        group, alone = (*group, before[place]), enough
        if abs(expected) - abs(alone.value) < _slack(scale, expected, alone):
            break
        before = before[:place]
    effects: dict[Suspect, Effect] = {}
    # Where noise may have hidden what it gains alone, that is measured again.
    errors = math.hypot(alone.error, by_itself.error)
    is_too_few = abs(alone.value - by_itself.value) > _CLEARLY * errors
    too_few = (suspect,) if is_too_few else ()
    group = _minimal(lab, scale, group, alone, context, effects, too_few)
    return PartnerGroup(group, effects)


def _together(
    lab: Laboratory,
    scale: Scale,
    group: tuple[Suspect, ...],
    context: tuple[Suspect, ...],
    expected: float,
) -> Effect:
    return _ask(lab, scale, f"are {_names(group)} enough together?", group, context, expected / 2.0)


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
    text = f"does {suspect.id} still have an effect with all others at the good side's values?"
    expected = alone.value
    after_all = _ask(lab, scale, text, group, context + others, expected / 2.0)
    if not others or abs(after_all.value) > abs(expected) / 2.0:
        return None
    return (suspect, others[_where(lab, scale, group, others, alone, after_all, context)])


def _where(
    lab: Laboratory,
    scale: Scale,
    group: tuple[Suspect, ...],
    before: tuple[Suspect, ...],
    bottom: Effect,
    top: Effect,
    context: tuple[Suspect, ...],
    *,
    low: int = 0,
    care: bool = False,
) -> int:
    """The place among those before, from ``low`` on, at which what the group gains changes most.

    It gains ``bottom`` after the first ``low`` of them, and ``top`` after all.
    """
    high = len(before)
    while high - low > 1:
        middle = _middle(before, low, high)
        value = _after(lab, scale, group, before[:middle], bottom, top, context, care=care)
        if _is_nearer(value, bottom, top):
            low, bottom = middle, value
        else:
            high, top = middle, value
    return low


def _elsewhere(
    lab: Laboratory,
    scale: Scale,
    group: tuple[Suspect, ...],
    before: tuple[Suspect, ...],
    place: int,
    bottom: Effect,
    top: Effect,
    context: tuple[Suspect, ...],
) -> int:
    """The place again, with more care: it stays if the change is there, else the other part is
    searched: what comes after it where nothing changes up to there, or what comes before it."""
    if place + 1 < len(before):
        up_to = before[: place + 1]
        value = _after(lab, scale, group, up_to, bottom, top, context, care=True)
        if _is_nearer(value, bottom, top):
            low = place + 1
            return _where(lab, scale, group, before, value, top, context, low=low, care=True)
        top = value
    if place > 0:
        value = _after(lab, scale, group, before[:place], bottom, top, context, care=True)
        if not _is_nearer(value, bottom, top):
            return _where(lab, scale, group, before[:place], bottom, value, context, care=True)
    return place


def _after(
    lab: Laboratory,
    scale: Scale,
    group: tuple[Suspect, ...],
    first: tuple[Suspect, ...],
    bottom: Effect,
    top: Effect,
    context: tuple[Suspect, ...],
    *,
    care: bool,
) -> Effect:
    """What the group gains after the first of those before it."""
    text = f"what is the effect of {_names(group)} {_after_words(len(first))}?"
    middle = (bottom.value + top.value) / 2.0
    return _ask(lab, scale, text, group, context + first, middle, care=care)


def _after_words(count: int) -> str:
    """After how many suspects of those before it, one at least."""
    return (
        f"once the {count} suspects before it are flipped"
        if count > 1
        else ("once the suspect before it is flipped")
    )


def _is_nearer(value: Effect, bottom: Effect, top: Effect) -> bool:
    """Whether it is nearer to the first of the two."""
    return abs(value.value - bottom.value) < abs(top.value - value.value)


def _minimal(
    lab: Laboratory,
    scale: Scale,
    group: tuple[Suspect, ...],
    whole: Effect,
    context: tuple[Suspect, ...],
    effects: dict[Suspect, Effect],
    too_few: tuple[Suspect, ...],
) -> tuple[Suspect, ...]:
    """The group without what it does not need; ``too_few`` surely is not enough. The effects of
    those that are tried alone are noted."""
    for member in group:
        rest = tuple(suspect for suspect in group if suspect != member)
        if not rest or rest == too_few:
            continue
        text = f"is {member.id} needed beside {_names(rest)}?"
        without = _ask(lab, scale, text, rest, context, whole.value / 2.0)
        if len(rest) == 1:
            effects[rest[0]] = without
        if abs(whole.value - without.value) < _slack(scale, whole.value, without):
            return _minimal(lab, scale, rest, without, context, effects, too_few)
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
    text: str,
    flipped: tuple[Suspect, ...],
    context: tuple[Suspect, ...],
    middle: float,
    *,
    care: bool = False,
) -> Effect:
    """What is flipped gains, asked for until it is clear on which side of ``middle`` that is."""
    question = Question(
        Purpose.CONTEXT,
        text,
        Side.BAD,
        flipped,
        context,
        _RECHECK if care else _LEAST,
        _MOST,
    )
    arms = [Arm(Side.BAD, context), Arm(Side.BAD, context + flipped)]
    lab.require(lab.seconds(arms, question.least), f"the experiment '{text}'")
    reading = ask(
        lab, scale, question, lambda effect, _: abs(effect.value - middle) > 2.5 * effect.error
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
