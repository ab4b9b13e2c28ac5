"""The pipe ladder: what each way of filling and of emptying a pipe is worth.

Rungs are compared where both are stable. One that is not has no multiple, however far away it
lies: its smallest sample may itself be a disturbance, as may the largest of the simplest form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchvise.measure.insights.insight import Insight, SeriesPoint, differing, named, points, times
from benchvise.measure.model import RunRecord
from benchvise.measure.validity import quantity

# From the simplest that a program may do to what costs it least.
_WRITERS = {
    "line": "printf with a write(2) a line",
    "stdio": "buffered printf",
    "write": "write(2) of ready blocks",
    "vmsplice": "vmsplice",
}
_READERS = {"read": "read(2)", "splice": "splice(2)"}
_PLACES = {
    "same": "both ends on one CPU",
    "sibling": "the ends on SMT siblings",
    "core": "the ends on two cores of a cluster",
    "cluster": "the ends in two clusters",
}


@dataclass(frozen=True, slots=True)
class _Rung:
    """A writer with a reader; of the blocks and pipes it was measured with, the fastest."""

    writer: str
    reader: str
    best: SeriesPoint

    @property
    def name(self) -> str:
        return f"{_WRITERS[self.writer]} to {_READERS[self.reader]}"

    @property
    def copies(self) -> bool:
        """Whether bytes are copied on at least one side."""
        return (self.writer, self.reader) != ("vmsplice", "splice")

    @property
    def rate(self) -> str:
        """The rate, or from where to where it goes when no one number may stand for it."""
        if self.best.stable:
            return self.best.text
        unit = self.best.series.unit
        return f"{quantity(self.best.low, unit)} to {quantity(self.best.high, unit)} (unstable)"

    def multiple(self, base: _Rung) -> str:
        """``1700`` times the base; empty when one of both is unstable."""
        if not (self.best.stable and base.best.stable):
            return ""
        return times(self.best.median / base.best.median)


def pipe_ladders(run: RunRecord) -> list[Insight]:
    """One ladder for each placement in which two forms or more were measured."""
    measured = points(run, "pipe.throughput")
    ladders = [
        _ladder(place_words, [point for point in measured if point.params.get("place") == place])
        for place, place_words in _PLACES.items()
    ]
    return [ladder for ladder in ladders if ladder]


def _ladder(place_words: str, measured: Sequence[SeriesPoint]) -> Insight | None:
    rungs = [
        rung
        for writer in _WRITERS
        for reader in _READERS
        if (rung := _rung(writer, reader, measured))
    ]
    if len(rungs) < 2:
        return None
    names = [name for name in ("block", "pipe") if name in differing(measured)]
    return Insight(
        title=f"The pipe ladder, {place_words}",
        sentence=_sentence(place_words, rungs),
        columns=("writer to reader", "fastest with", "rate", "times the simplest"),
        rows=tuple(
            (rung.name, named(rung.best, names), rung.rate, rung.multiple(rungs[0]))
            for rung in rungs
        ),
    )


def _rung(writer: str, reader: str, measured: Sequence[SeriesPoint]) -> _Rung | None:
    members = [
        point
        for point in measured
        if (point.params.get("writer"), point.params.get("reader")) == (writer, reader)
    ]
    best = max(members, key=lambda point: (point.stable, point.median), default=None)
    return _Rung(writer, reader, best) if best else None


def _sentence(place_words: str, rungs: Sequence[_Rung]) -> str:
    """What the fastest form that copies is worth, and what passing pages is."""
    base = rungs[0]
    comparable = [rung for rung in rungs[1:] if rung.multiple(base)]
    copying = [rung for rung in comparable if rung.copies]
    sentences = [f"With {place_words}, the simplest form measured is {base.name}: {base.rate}."]
    if copying:
        fastest = max(copying, key=lambda rung: (rung.best.stable, rung.best.median))
        sentences.append(
            f"The fastest that copies bytes is {fastest.name}: {fastest.rate}, "
            f"{fastest.multiple(base)} times as much."
        )
    sentences += [
        f"Passing references to pages, of which no byte is copied ({rung.name}), gives "
        f"{rung.rate}, {rung.multiple(base)} times the simplest."
        for rung in comparable
        if not rung.copies
    ]
    if not comparable:
        unstable = "it is" if not base.best.stable else "they are"
        sentences.append(f"No other form can be compared with it, as {unstable} unstable.")
    return " ".join(sentences)
