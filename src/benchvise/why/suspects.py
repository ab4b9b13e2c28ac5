"""From two snapshots to suspects: what differs, what of it can be the cause, and how each is
flipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from benchvise.state.diff import Difference, diff_snapshots
from benchvise.state.model import Snapshot
from benchvise.why.bundles import knob_changes, suspects_of
from benchvise.why.fixed import fixed_suspects
from benchvise.why.model import Layer, Metric, SettingMeans, Side, Suspect
from benchvise.why.per_process import instead_of_setting, process_suspects
from benchvise.why.reduction import reduce
from benchvise.why.views import View


@dataclass(frozen=True, slots=True)
class Found:
    """The suspects, those that can be tested first, and why other differences are none.

    ``excluded`` leads from an entry's name to the reason.
    """

    suspects: tuple[Suspect, ...]
    excluded: Mapping[str, str]


def find(
    good: Snapshot,
    bad: Snapshot,
    metric: Metric,
    *,
    may_set: Mapping[Side, bool],
    with_risk: bool = False,
) -> Found:
    """The suspects of two snapshots for a metric.

    ``may_set`` says where settings can be made: not without root, and not on a recorded side.
    Settings that can disturb the whole board are suspects without means unless ``with_risk``.
    """
    differences = diff_snapshots(good, bad).differences
    views = View.of(good), View.of(bad)
    changes = knob_changes(*views, (d.entry.name for d in differences))
    kept = reduce(differences, metric, (change.knob.name for change in changes))
    left = {difference.entry.name for difference in kept.differences}
    changes = tuple(change for change in changes if left.intersection(change.members))
    flipped = [_bounded(s, may_set, with_risk, good, bad) for s in suspects_of(changes)]
    covered = {member for suspect in flipped for member in suspect.members}
    rest = [d for d in kept.differences if d.entry.name not in covered]
    taken = {suspect.id for suspect in flipped}
    found = [*flipped, *(_renamed(suspect, taken) for suspect in _without_means(rest))]
    return Found(
        tuple(sorted(found, key=lambda s: s.means is None)),
        {name: why for name, why in kept.excluded.items() if name not in covered},
    )


def _bounded(
    suspect: Suspect,
    may_set: Mapping[Side, bool],
    with_risk: bool,
    good: Snapshot,
    bad: Snapshot,
) -> Suspect:
    """With the means that may be used: none without the right or the consent to set."""
    if not isinstance(suspect.means, SettingMeans):
        return suspect
    risky = [s.knob.name for s in suspect.means.to_good if s.knob.risky]
    if risky and not with_risk:
        return replace(suspect, means=None, untestable=NEEDS_CONSENT)
    if not may_set.get(Side.BAD, False):
        instead = instead_of_setting(suspect, bad.roles.get("kernel", ""))
        if isinstance(instead, str):
            why = f"the bad side may not be set, and {instead}"
            return replace(suspect, means=None, untestable=why, not_on_good=why)
        return replace(suspect, means=instead, layer=Layer.PROCESS, not_on_good=_ONE_WAY)
    if not may_set.get(Side.GOOD, False):
        return replace(suspect, not_on_good=suspect.not_on_good or f"{good.board} may not be set")
    return suspect


NEEDS_CONSENT = "it can disturb the whole board: it is only tested with --risky"
_ONE_WAY = "a process cannot be given what the good side has switched off"


def _renamed(suspect: Suspect, taken: Set[str]) -> Suspect:
    """What is left of an item may be called as one of its knobs is."""
    return replace(suspect, id=f"{suspect.id}:rest") if suspect.id in taken else suspect


def _without_means(differences: Sequence[Difference]) -> Iterator[Suspect]:
    """What a process can be given has means all the same."""
    rest = []
    for difference in differences:
        made, left = process_suspects(difference)
        yield from made
        if left:
            rest.append(replace(difference, parts=left))
    yield from fixed_suspects(rest)
