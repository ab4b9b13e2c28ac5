"""Latency over all occurrences: percentiles, stages, worst cases, what was not matched, and limits.

A limit, ``p99 < 80us``, is METRIC OP VALUE, where METRIC is ``median``, ``mean``, ``min``, ``max``,
``pNN`` (``p99.9``), ``count``, or ``matched`` (the share of starts that led to an end).
``METRIC[STAGE]`` is that of one stage of the most frequent way, and ``share[STAGE]`` its part of
the whole; STAGE is its number from 1, or a pattern for its name (``share[*waits*] < 50%``: of all
stages that it fits). Times have a unit (ns, us, ms, s), shares are in percent.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import pairwise

import numpy as np

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.trace.analysis.distributions import (
    TimeDistribution,
    distinct,
    distribution,
    quantile,
)
from benchvise.trace.analysis.latency.boards import (
    AlignedTrace,
    BoardEnd,
    board_hop,
    board_points,
    uncertainty_between,
)
from benchvise.trace.analysis.latency.ends import End, Points, points
from benchvise.trace.analysis.latency.links import (
    Hops,
    Links,
    Method,
    by_cause,
    by_order,
    hop,
    join,
)
from benchvise.trace.analysis.latency.pairs import PairedField, by_fields
from benchvise.trace.analysis.model import Analysis, Bools, Ints, TraceSpan


@dataclass(frozen=True, slots=True)
class LatencyHop:
    """One hop of the chain: how its points were matched, and how many were.

    ``starts`` and ``ends`` are all points in the trace; ``starts_matched`` those that led to an
    end, ``ends_matched`` those that a start led to. ``few_by_cause`` are the pairs by cause where
    these were too few to measure them alone.
    """

    start: str
    end: str
    method: Method
    starts: int
    starts_matched: int
    ends: int
    ends_matched: int
    left_out: int
    few_by_cause: int = 0


@dataclass(frozen=True, slots=True)
class LatencyStage:
    """One stage of a way. ``share`` is its part of the sum of all latencies of the way."""

    name: str
    time: TimeDistribution
    share: float


@dataclass(frozen=True, slots=True)
class LatencyWay:
    """The occurrences that took the same way, and its stages."""

    count: int
    total: TimeDistribution
    stages: tuple[LatencyStage, ...]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence: when it began and ended, on which CPUs (None where that is not known), and
    its stages (name, ns)."""

    begin: int
    end: int
    latency: int
    begin_cpu: int | None
    end_cpu: int | None
    end_actor: str
    stages: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class CheckedAssertion:
    """An assertion, the value it was held against (ns, share or count; None: no such metric)."""

    text: str
    holds: bool
    value: float | None
    unit: str
    reason: str


@dataclass(frozen=True, slots=True)
class Latency:
    """The whole answer. Times in ns.

    ``incomplete`` occurrences are those on whose way events were lost; ``incomplete_kept`` says
    whether the metrics hold them. ``total`` is None when nothing was matched.

    From one board to another, each latency may be wrong by ``uncertainty``. ``undecided``
    occurrences are no longer than that, so that it is not known which of their ends came first:
    the metrics hold them where they hold incomplete ones.
    """

    hops: tuple[LatencyHop, ...]
    occurrences: int
    incomplete: int = field(metadata=in_json(name="unsure"))
    incomplete_kept: bool = field(metadata=in_json(name="unsure_kept"))
    total: TimeDistribution | None
    ways: tuple[LatencyWay, ...]
    worst: tuple[Occurrence, ...]
    values: Ints = field(metadata=in_json(hidden=True))
    """The latencies in ascending order."""
    assertions: tuple[CheckedAssertion, ...] = ()
    undecided: int = 0
    uncertainty: int | None = None
    """None of a single board."""
    cautions: tuple[str, ...] = ()
    """What makes the traces of the boards doubtful."""


def latency(
    analysis: Analysis,
    ends: Sequence[End],
    *,
    method: Method | None = None,
    fields: Sequence[PairedField] = (),
    depth: int = 4,
    incomplete: bool = False,
    worst: int = 5,
) -> Latency:
    """The latency from the first of ``ends`` by those between to the last, for starts in the span.

    With ``fields``, each hop goes to the event that has their values. Without ``method``, it goes
    by cause when that matches a twentieth of the starts or ends, else to the next end.
    ``depth`` is how many wake-ups and raises a hop by cause may climb.

    Raises:
        UsageError: the trace has no such actor, event or field.
    """
    points_of = [points(analysis, end) for end in ends]
    in_span = analysis.span.holds(points_of[0].time)
    chain = _Chain(points_of, in_span)
    for start, end in pairwise(points_of):
        links, few = (
            (by_fields(analysis, start, end, fields), 0)
            if fields
            else _links(analysis, start, end, method, depth)
        )
        chain.add(start, end, links, hop(analysis, start, end, links), few)
    return chain.answer(analysis, incomplete=incomplete, worst=worst)


def latency_of_boards(
    boards: Mapping[str, AlignedTrace],
    ends: Sequence[BoardEnd],
    span: TraceSpan,
    *,
    method: Method | None = None,
    fields: Sequence[PairedField] = (),
    depth: int = 4,
    incomplete: bool = False,
    worst: int = 5,
) -> Latency:
    """The same from board to board, for starts in the span. Between points of one board it goes as
    there, else by ``fields``, or to the next end.

    Raises:
        UsageError: a board's trace has no such actor, event or field; or a hop from one board to
            another was to go by cause.
    """
    points_of = [board_points(boards, each) for each in ends]
    chain = _Chain(points_of, span.holds(points_of[0].time))
    for (start, a), (end, b) in pairwise(zip(points_of, ends, strict=True)):
        analysis = boards[a.board].analysis
        if a.board != b.board:
            links, piece = board_hop(boards, (a, b), (start, end), method=method, fields=fields)
            chain.add(start, end, links, piece, 0)
            continue
        links, few = (
            (by_fields(analysis, start, end, fields), 0)
            if fields
            else _links(analysis, start, end, method, depth)
        )
        chain.add(start, end, links, hop(analysis, start, end, links), few)
    found = chain.answer(boards[ends[-1].board].analysis, incomplete=incomplete, worst=worst)
    doubt = uncertainty_between(boards, ends[0].board, ends[-1].board)
    return replace(found, uncertainty=doubt or None)


class _Chain:
    """Occurrences from the first end on, hop by hop."""

    def __init__(self, points_of: Sequence[Points], in_span: Bools) -> None:
        self._first, self._last = points_of[0], points_of[-1]
        self._in_span = in_span
        self._hops: list[LatencyHop] = []
        self._chain: Hops | None = None

    def add(self, start: Points, end: Points, links: Links, piece: Hops, few: int) -> None:
        """The next hop; ``few`` are the pairs by cause that were too few."""
        described = _described(start, end, links, self._in_span if self._chain is None else None)
        self._hops.append(replace(described, few_by_cause=few))
        self._chain = piece if self._chain is None else join(self._chain, piece)

    def answer(self, analysis: Analysis, *, incomplete: bool, worst: int) -> Latency:
        """All of it; ``analysis`` is that of the last end."""
        first, last, chain = self._first, self._last, self._chain
        assert chain is not None  # noqa: S101 (there are two ends at least)
        chosen = self._in_span[chain.start]
        doubtful = int((chain.incomplete & chosen).sum())
        undecided = int((chain.undecided & ~chain.incomplete & chosen).sum())
        if not incomplete:
            chosen &= ~chain.incomplete & ~chain.undecided
        rows = np.flatnonzero(chosen)
        total = last.time[chain.end[rows]] - first.time[chain.start[rows]]
        values = np.sort(total)
        return Latency(
            hops=tuple(self._hops),
            occurrences=int(rows.size),
            incomplete=doubtful,
            incomplete_kept=incomplete,
            total=distribution(values),
            ways=tuple(_ways(chain, rows, total)),
            worst=tuple(_worst(analysis, first, last, chain, rows, total, worst)),
            values=values,
            undecided=undecided,
        )


_FEW = 0.05
"""Of the starts and of the ends: where causes connect fewer, the trace lacks what shows them."""


def _links(
    analysis: Analysis, start: Points, end: Points, method: Method | None, depth: int
) -> tuple[Links, int]:
    """The pairs; and how many there are by cause, where it does not go by these few."""
    if method is Method.NEXT:
        return by_order(analysis, start, end), 0
    links = by_cause(analysis, start, end, depth)
    starts, ends = distinct(links.start), distinct(links.end)
    is_much = len(links) and (starts >= _FEW * len(start) or ends >= _FEW * len(end))
    if method is Method.CAUSE or is_much:
        return links, 0
    return by_order(analysis, start, end), len(links)


def _described(start: Points, end: Points, links: Links, in_span: Bools | None) -> LatencyHop:
    """How a hop was matched; of the first only what begins in the span."""
    linked = np.ones(len(links), np.bool_) if in_span is None else in_span[links.start]
    return LatencyHop(
        start=start.text,
        end=end.text,
        method=links.method,
        starts=len(start) if in_span is None else int(in_span.sum()),
        starts_matched=distinct(links.start[linked]),
        ends=len(end),
        ends_matched=distinct(links.end[linked]),
        left_out=start.left_out + end.left_out,
    )


def _ways(chain: Hops, rows: Ints, total: Ints) -> list[LatencyWay]:
    ways = []
    for number, names in enumerate(chain.ways):
        mine = chain.way[rows] == number
        times = chain.times[rows[mine]]
        whole = distribution(np.sort(total[mine]))
        if whole is None:
            continue
        stages = []
        for at, name in enumerate(names):
            of_stage = distribution(np.sort(times[:, at]))
            if of_stage is not None:
                share = of_stage.total / whole.total if whole.total else 0.0
                stages.append(LatencyStage(name, of_stage, share))
        ways.append(LatencyWay(int(mine.sum()), whole, tuple(stages)))
    return sorted(ways, key=lambda way: -way.count)


def _worst(
    analysis: Analysis,
    start: Points,
    end: Points,
    chain: Hops,
    rows: Ints,
    total: Ints,
    count: int,
) -> list[Occurrence]:
    longest = []
    for at in np.argsort(-total, kind="stable")[:count]:
        row = rows[at]
        names = chain.ways[chain.way[row]]
        first, last = chain.start[row], chain.end[row]
        instance = int(end.instance[last])
        actor = int(analysis.instances["actor"][instance]) if instance >= 0 else -1
        longest.append(
            Occurrence(
                begin=int(start.time[first]),
                end=int(end.time[last]),
                latency=int(total[at]),
                begin_cpu=_known_cpu(start.cpu[first]),
                end_cpu=_known_cpu(end.cpu[last]),
                end_actor=analysis.actors[actor].label if actor >= 0 else end.text,
                stages=tuple(
                    (name, int(time)) for name, time in zip(names, chain.times[row], strict=False)
                ),
            )
        )
    return longest


def _known_cpu(number: np.int64) -> int | None:
    return int(number) if number >= 0 else None


# -- limits that a latency is held against ---------------------------------------------------------

_SCALES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9}
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_FORM = re.compile(
    r"""\s*(?P<metric>median|mean|min|max|count|matched|share|p(?P<percent>\d+(?:\.\d+)?))
    \s*(?:\[(?P<stage>[^\]]+)\])?\s*(?P<operator><=|>=|==|!=|<|>)
    \s*(?P<value>\d+(?:\.\d+)?(?:e\d+)?)\s*(?P<unit>ns|us|µs|μs|ms|s|%)?\s*""",
    re.VERBOSE,
)
_EXAMPLE = "write one like 'p99 < 80us', 'max[2] <= 1.5ms', 'matched > 95%' or 'count >= 100'"


@dataclass(frozen=True, slots=True)
class Assertion:
    """A limit; ``value`` in ns, as a share of one, or a count, by ``unit``: ns, share, count."""

    text: str
    metric: str
    stage: str
    operator: str
    value: float
    unit: str

    def check(self, answer: Latency) -> CheckedAssertion:
        """Whether it holds; an assertion on a metric that does not exist does not."""
        value, reason = self._value(answer)
        holds = value is not None and _OPERATORS[self.operator](value, self.value)
        return CheckedAssertion(self.text, holds, value, self.unit, reason)

    def _value(self, answer: Latency) -> tuple[float | None, str]:
        if self.metric == "count":
            return float(answer.occurrences), ""
        if self.metric == "matched":
            first = answer.hops[0]
            if first.starts == 0:
                return None, f"there is no {first.start}"
            return first.starts_matched / first.starts, ""
        if answer.total is None:
            return None, "there is no occurrence"
        if not self.stage:
            return self._metric_of(answer.total, answer), ""
        stages = self._stages(answer)
        if not stages:
            names = "; ".join(f"{at}: {s.name}" for at, s in enumerate(answer.ways[0].stages, 1))
            return None, f"there is no such stage, only {names}"
        if self.metric == "share":
            return sum(stage.share for stage in stages), ""
        if len(stages) > 1:
            return None, f"{len(stages)} stages are {self.stage}"
        return self._metric_of(stages[0].time, None), ""

    def _stages(self, answer: Latency) -> list[LatencyStage]:
        stages = answer.ways[0].stages
        if self.stage.isdecimal():
            return list(stages[int(self.stage) - 1 : int(self.stage)]) if int(self.stage) else []
        return [stage for stage in stages if fnmatchcase(stage.name, self.stage)]

    def _metric_of(self, times: TimeDistribution, answer: Latency | None) -> float | None:
        named = {
            "median": times.median,
            "mean": times.mean,
            "min": times.minimum,
            "max": times.maximum,
            "p50": times.median,
            "p95": times.p95,
            "p99": times.p99,
        }
        if self.metric in named:
            return named[self.metric]
        if answer is None:
            return None
        return quantile(answer.values, float(self.metric[1:]) / 100)


def parse_assertion(text: str) -> Assertion:
    """The limit that a text means.

    Raises:
        UsageError: the text is none.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text}' is no assertion", _EXAMPLE)
    metric, unit = match["metric"], match["unit"] or ""
    if match["percent"] is not None and float(match["percent"]) > 100:
        raise UsageError(f"'{text}' asks for a percentile above 100", _EXAMPLE)
    if match["stage"] and metric in ("count", "matched"):
        raise UsageError(f"'{text}': {metric} is of the whole, not of a stage", _EXAMPLE)
    if metric == "share" and not match["stage"]:
        raise UsageError(f"'{text}': the share of which stage?", "write share[2] < 50%")
    if match["stage"] and match["percent"] not in (None, "50", "95", "99"):
        raise UsageError(f"'{text}': stages have median, p95 and p99", _EXAMPLE)
    kind = {"count": "count", "matched": "share", "share": "share"}.get(metric, "ns")
    value = float(match["value"])
    if (kind == "ns") != (unit in _SCALES) or (kind == "share") != (unit == "%"):
        raise UsageError(f"'{text}' needs another unit", _EXAMPLE)
    scale = _SCALES.get(unit, 0.01 if unit == "%" else 1.0)
    return Assertion(text, metric, match["stage"] or "", match["operator"], value * scale, kind)
