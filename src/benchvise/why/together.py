"""All causes at once on fresh data: what they leave unexplained, and whether two interact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchvise.why import estimate
from benchvise.why.confirm import FEWEST, Confirmation
from benchvise.why.estimate import Floats
from benchvise.why.events import ExperimentBegun
from benchvise.why.laboratory import Blocks, Laboratory, Unmakeable
from benchvise.why.model import Arm, Bounds, Experiment, Interaction, Purpose, Side
from benchvise.why.question import effect_of
from benchvise.why.scale import Scale

_NONE, _ALL, _GOOD = "none", "all", "good"


@dataclass(frozen=True, slots=True)
class Together:
    """The share of the gap that no cause accounts for, and the 2x2 of the top two."""

    unexplained: Bounds
    interaction: Interaction | None = None


def measure_together(
    lab: Laboratory, scale: Scale, causes: Sequence[Confirmation]
) -> Together | None:
    """Measures it in blocks of its own; None where the causes cannot be set together."""
    by_share = sorted(causes, key=lambda cause: -abs(cause.share.value))
    one, other = by_share[:2]
    flipped = tuple(dict.fromkeys(s for cause in by_share for s in cause.suspects))
    arms = {
        _NONE: Arm(Side.BAD),
        one.name: Arm(Side.BAD, one.suspects),
        other.name: Arm(Side.BAD, other.suspects),
        _ALL: Arm(Side.BAD, flipped),
    }
    both = tuple(dict.fromkeys(one.suspects + other.suspects))
    pair = _ALL
    if len(by_share) > 2:
        pair = f"{one.name} and {other.name}"
        arms[pair] = Arm(Side.BAD, both)
    if lab.switches_cheaply():
        arms[_GOOD] = Arm(Side.GOOD)
    words = f"what do {' and '.join(cause.name for cause in by_share)} leave together?"
    lab.require(lab.seconds(list(arms.values()), FEWEST), "measuring the causes together")
    lab.observe(ExperimentBegun(Purpose.TOGETHER, words, Side.BAD, FEWEST, FEWEST))
    blocks = lab.blocks(arms)
    try:
        blocks.more(FEWEST)
    except Unmakeable:
        return None
    whole = _experiment(lab, scale, words, flipped_ids=tuple(s.id for s in flipped), blocks=blocks)
    excess = blocks.gained(pair, one.name) - blocks.gained(other.name, _NONE)
    excess_share = _share(scale, blocks, excess)
    interaction = Interaction(
        one=one.name,
        other=other.name,
        alone=(
            _share(scale, blocks, blocks.gained(one.name, _NONE)),
            _share(scale, blocks, blocks.gained(other.name, _NONE)),
        ),
        together=_share(scale, blocks, blocks.gained(pair, _NONE)),
        excess=excess_share,
        shown=not excess_share.contains(0.0),
    )
    share = whole.share or Bounds(0.0, 0.0, 0.0)
    return Together(estimate.complement(share), interaction)


def by_sum(causes: Sequence[Confirmation]) -> Bounds:
    """What the causes leave when their shares are added, as if each was sure by itself.

    Source of the interval: Zou & Donner, Statistics in Medicine 27 (2008) 1693.
    """
    value = sum(cause.share.value for cause in causes)
    down = math.hypot(*(cause.share.value - cause.share.low for cause in causes))
    up = math.hypot(*(cause.share.high - cause.share.value for cause in causes))
    return estimate.complement(Bounds(value, value - down, value + up))


def _share(scale: Scale, blocks: Blocks, effects: Floats) -> Bounds:
    if _GOOD in blocks.arms:
        return estimate.share(effects, blocks.gained(_GOOD, _NONE))
    return scale.yardstick.share(effects, blocks.goodness(_NONE))


def _experiment(
    lab: Laboratory, scale: Scale, words: str, flipped_ids: tuple[str, ...], blocks: Blocks
) -> Experiment:
    effects = blocks.gained(_ALL, _NONE)
    lab.differences.append(effects)
    effect = effect_of(lab, effects)
    return lab.experiment(
        Experiment(
            number=0,
            purpose=Purpose.TOGETHER,
            question=words,
            side=Side.BAD,
            flipped=flipped_ids,
            context=(),
            outcome=scale.outcome(effect.value, effect.error),
            shift=estimate.shift(effects),
            share=_share(scale, blocks, effects),
            p=estimate.p_value(effects),
            blocks=blocks.count,
            trials=blocks.numbers,
            seconds=blocks.seconds,
        )
    )
