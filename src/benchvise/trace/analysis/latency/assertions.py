"""Limits that a latency is held against: ``p99 < 80us``.

METRIC OP VALUE, where METRIC is ``median``, ``mean``, ``min``, ``max``, ``pNN`` (``p99.9``),
``count``, or ``matched`` (the share of starts that led to an end). ``METRIC[STAGE]`` is that of
one stage of the most frequent way, and ``share[STAGE]`` its part of the whole; STAGE is its number
from 1, or a pattern for its name (``share[*waits*] < 50%``: of all stages that it fits). Times
have a unit (ns, us, ms, s), shares are in percent.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from benchvise.errors import UsageError
from benchvise.trace.analysis.distributions import TimeDistribution, quantile
from benchvise.trace.analysis.latency.answer import CheckedAssertion, Latency, LatencyStage

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
