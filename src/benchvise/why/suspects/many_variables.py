"""Many variables of one name and a number or an ending, which one side alone has, as one suspect.

Modules, tool chains and job systems export hundreds: each program that is started gets a copy of
all of them (environ(7)). Tried one by one, none closes the gap.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from benchvise.why.model import ProcessMeans, Suspect
from benchvise.why.suspects.command_suspects import NOT_THERE

FEWEST = 20
"""So many variables are one suspect."""

OTHERS = " and others, all of the same beginning"
"""What comes after the first name in the id of such a suspect."""

_ITEM = "process.environment"
_BEGINNING = re.compile(r"[A-Za-z]+_?")


def grouped_variables(suspects: Sequence[Suspect]) -> list[Suspect]:
    """The suspects, those about at least ``FEWEST`` variables of one beginning that one side alone
    has as one, in the place of the first."""
    groups: defaultdict[tuple[str, bool], list[Suspect]] = defaultdict(list)
    for suspect in suspects:
        match = _BEGINNING.match(suspect.id.partition(":")[2])
        on_one_side = NOT_THERE in (suspect.good, suspect.bad)
        if suspect.item == _ITEM and match and on_one_side:
            groups[match[0], suspect.good == NOT_THERE].append(suspect)
    large = {key: group for key, group in groups.items() if len(group) >= FEWEST}
    members = {suspect.id for group in large.values() for suspect in group}
    first = {group[0].id: _group(name, group) for (name, _), group in large.items()}
    return [
        first.get(suspect.id, suspect)
        for suspect in suspects
        if suspect.id in first or suspect.id not in members
    ]


def _group(name: str, group: Sequence[Suspect]) -> Suspect:
    to_good: dict[str, str] = {}
    to_bad: dict[str, str] = {}
    is_told = True
    for suspect in group:
        means = suspect.means
        if isinstance(means, ProcessMeans):
            to_good |= means.to_good
            to_bad |= means.to_bad
            is_told &= bool(means.to_bad)
    count = f"{len(group)} variables"
    is_bad = group[0].good == NOT_THERE
    return replace(
        group[0],
        id=f"{group[0].id}{OTHERS}",
        title=f"{count} of the environment that begin with {name}",
        good=NOT_THERE if is_bad else count,
        bad=count if is_bad else NOT_THERE,
        means=ProcessMeans(to_good, to_bad if is_told else {}),
    )
