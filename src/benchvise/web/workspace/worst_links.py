"""Addresses of the timeline of a trace, at an instance: where the worst of two traces is seen."""

from __future__ import annotations

from collections import defaultdict
from urllib.parse import urlencode

from benchvise.trace.analysis.model import NONE
from benchvise.web.workspace.served import ServedTrace

_MARGIN = 0.5
"""How much is seen on either side of an instance, as a share of its length."""
_LEAST_SEEN = 10_000
"""In nanoseconds, around the shortest."""


class WorstLinks:
    """The addresses of one trace; ``page`` is that of its workspace."""

    def __init__(self, page: str, side: ServedTrace) -> None:
        self._page = page
        self._analysis = side.loaded.analysis
        self._rows: dict[int, list[tuple[int | None, int]]] = defaultdict(list)
        for row in side.rows:
            if row.actor is not None:
                self._rows[row.actor].append((row.cpu, row.id))

    def of_instance(self, instance: int) -> str:
        """From the wake-up of an instance to its end."""
        rows = self._analysis.instances
        ready, begin = int(rows["ready"][instance]), int(rows["begin"][instance])
        since = begin if ready == NONE else ready
        return self._at(instance, since, int(rows["end"][instance]))

    def of_gap(self, instance: int | None) -> str | None:
        """From the instance before to this one, which ended the longest period; None for none."""
        if instance is None:
            return None
        rows = self._analysis.instances
        begin = int(rows["begin"][instance])
        return self._at(instance, begin - int(rows["period"][instance]), begin)

    def _at(self, instance: int, since: int, until: int) -> str:
        rows, origin = self._analysis.instances, self._analysis.whole.begin
        actor, cpu = int(rows["actor"][instance]), int(rows["cpu"][instance])
        margin = max(_LEAST_SEEN, int((until - since) * _MARGIN))
        begin, end = since - margin - origin, until + margin - origin
        parameters = {"view": f"{begin},{end}", "actor": str(actor)}
        shown = self._rows.get(actor, [])
        own = [row for on, row in shown if on in (None, cpu)] or [row for _, row in shown]
        if own:
            parameters["at"] = f"{own[0]}:{int(rows['begin'][instance]) - origin}"
        return f"{self._page}?{urlencode(parameters)}"
