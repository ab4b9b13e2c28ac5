"""Numbers of boards as OpenMetrics text, and as the older text format of Prometheus.

Families and their labels stand in one table, which the tests hold the Grafana dashboard against.
Values have no time of their own: whoever collects them says when; families that are times say when
a board was polled or measured. Values of other than a finite number are left out.

OpenMetrics: https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from benchvise.health.model import WatchedKind
from benchvise.measure.validity import Summary
from benchvise.report.sinks import cell
from benchvise.store.watches import LatestPoll

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

ExpositionFormat = Literal["openmetrics", "textfile"]
"""``textfile`` is for the collector of node_exporter, which reads the older format."""


@dataclass(frozen=True, slots=True)
class LatestMedian:
    """The newest value of a series on a board, in the unit of the series."""

    board: str
    key: str
    unit: str
    better: str
    run: str
    started: float
    """Seconds since 1970."""
    summary: Summary


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """What one name means."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str


_POLLED = MetricFamily(
    "benchvise_board_polled_timestamp_seconds", "gauge", "When a watched board was last polled."
)
_COUNTER = MetricFamily(
    "benchvise_board_counter", "counter", "What a board counts: errors, resets, throttling."
)
_LEVEL = MetricFamily(
    "benchvise_board_level", "gauge", "A state of a board that goes up and down: sectors that wait."
)
_SENSOR = MetricFamily("benchvise_board_sensor", "gauge", "A sensor of a board, in its own unit.")
_ALERTS = MetricFamily("benchvise_board_alerts", "gauge", "How many alerts of a board are raised.")
_RAISED = MetricFamily(
    "benchvise_board_alert_raised_timestamp_seconds", "gauge", "Since when an alert is raised."
)
_MEDIAN = MetricFamily(
    "benchvise_series_median", "gauge", "The median of a series in the newest run of a board."
)
_LOW = MetricFamily(
    "benchvise_series_interval_low", "gauge", "The lower end of the median's 95 % interval."
)
_HIGH = MetricFamily(
    "benchvise_series_interval_high", "gauge", "The upper end of the median's 95 % interval."
)
_STABLE = MetricFamily(
    "benchvise_series_stable", "gauge", "1 where one number describes the series, else 0."
)
_MEASURED = MetricFamily(
    "benchvise_series_measured_timestamp_seconds", "gauge", "When the run of a series began."
)

FAMILIES = (
    _POLLED, _COUNTER, _LEVEL, _SENSOR, _ALERTS, _RAISED, _MEDIAN, _LOW, _HIGH, _STABLE, _MEASURED,
)  # fmt: skip

_Add: TypeAlias = Callable[[MetricFamily, float, Mapping[str, str]], None]

_BY_KIND: Mapping[WatchedKind, tuple[MetricFamily, str]] = {
    WatchedKind.SENSOR: (_SENSOR, "sensor"),
    WatchedKind.COUNTER: (_COUNTER, "counter"),
    WatchedKind.LASTING: (_COUNTER, "counter"),
    WatchedKind.LEVEL: (_LEVEL, "level"),
}


def exposition(
    polls: Iterable[LatestPoll],
    medians: Iterable[LatestMedian],
    form: ExpositionFormat = "openmetrics",
) -> str:
    """All families that have a value, with the values of all boards, as text."""
    samples: dict[MetricFamily, dict[str, float]] = {family: {} for family in FAMILIES}

    def add(family: MetricFamily, value: float, labels: Mapping[str, str]) -> None:
        if math.isfinite(value) and not (family.kind == "counter" and value < 0):
            # Names that look alike once they are harmless are one: a name twice is no exposition.
            samples[family].setdefault(_labels(labels), value)

    for poll in polls:
        _add_poll(poll, add)
    for median in medians:
        _add_median(median, add)
    lines = [
        line
        for family, values in samples.items()
        if values
        for line in _family_lines(family, values, form)
    ]
    return "\n".join([*lines, "# EOF", ""])


def _add_poll(poll: LatestPoll, add: _Add) -> None:
    board = {"board": poll.board}
    add(_POLLED, poll.at, board)
    add(_ALERTS, len(poll.alerts), board)
    for alert in poll.alerts:
        add(_RAISED, alert.since, {**board, "rule": alert.rule, "subject": alert.subject})
    for value in poll.values:
        family, label = _BY_KIND[value.kind]
        unit = {"unit": value.unit} if value.unit else {}
        add(family, value.value, {**board, label: value.name, **unit})


def _add_median(median: LatestMedian, add: _Add) -> None:
    labels = {"board": median.board, "series": median.key, "unit": median.unit}
    add(_MEDIAN, median.summary.median, {**labels, "better": median.better})
    add(_LOW, median.summary.low, labels)
    add(_HIGH, median.summary.high, labels)
    add(_STABLE, float(median.summary.stable), labels)
    add(_MEASURED, median.started, {"board": median.board, "series": median.key})


def _family_lines(
    family: MetricFamily, values: Mapping[str, float], form: ExpositionFormat
) -> Sequence[str]:
    sample = f"{family.name}_total" if family.kind == "counter" else family.name
    described = family.name if form == "openmetrics" else sample
    return [
        f"# TYPE {described} {family.kind}",
        f"# HELP {described} {family.help}",
        *(f"{sample}{labels} {value!r}" for labels, value in values.items()),
    ]


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return cell(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
