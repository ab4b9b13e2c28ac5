"""``benchvise signal response``: how fast a board answers, from an edge to an edge.

What the command adds to this, runs in the store and a page, is in ``flows.signal``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandArgument, CommandOption
from benchvise.quantities import format_number
from benchvise.signal.commands.options import (
    ReadingOptions,
    format_seconds,
    format_seconds_range,
)
from benchvise.table import ColumnSpec, TableSpec, ValueUnit

if TYPE_CHECKING:
    from benchvise.signal.configurations import Configuration, ResponseComparison
    from benchvise.signal.distribution import Distribution, FactorEffect, TimesDifferenceAt
    from benchvise.signal.response import Edge, Responses

_BARS = 48
_BINS = 24


@dataclass(frozen=True, kw_only=True)
class ResponseOptions(ReadingOptions):
    """Which files, and which edges of captures."""

    files: Annotated[
        tuple[str, ...],
        CommandArgument(
            "[NAME=]FILE...", "Captures, or lists of response times in seconds, one a line."
        ),
    ]
    stimulus: Annotated[
        str | None,
        CommandOption("--from", "The stimulus: LINE:rising|falling|any.", metavar="EDGE"),
    ] = None
    answer: Annotated[
        str | None,
        CommandOption("--to", "The answer: LINE:rising|falling|any.", metavar="EDGE"),
    ] = None
    window: Annotated[
        float | None,
        CommandOption(
            "--window", "Time after which an answer counts as missed.", metavar="S", minimum=0
        ),
    ] = None
    factors: Annotated[
        str,
        CommandOption(
            "--factors",
            "What the names are made of: with load,governor a file is busy/ondemand=FILE.",
            metavar="A,B",
        ),
    ] = ""
    histogram: Annotated[bool, CommandOption("--histogram", "Draw a histogram of each.")] = False

    @property
    def edges(self) -> tuple[Edge, Edge] | None:
        """Both edges; None where they are not both named. UsageError for what names none."""
        from benchvise.signal.response import parse_edges

        return parse_edges(self.stimulus, self.answer)


def compare(options: ResponseOptions) -> ResponseComparison:
    """Response times of each file. UsageError, CaptureError."""
    from benchvise.signal.configurations import compare_configurations

    return compare_configurations(
        [_named_file(text) for text in options.files],
        options.reading,
        options.edges,
        options.window,
        [factor.strip() for factor in options.factors.split(",") if factor.strip()],
    )


def _named_file(text: str) -> tuple[str, Path]:
    name, equals, file = text.rpartition("=")
    if equals and name and not Path(text).exists():
        return name, Path(file)
    return Path(text).stem, Path(text)


# -- tables ----------------------------------------------------------------------------------------


def _quantile(row: Configuration, share: float) -> float:
    return next(q.value for q in row.distribution.quantiles if q.share == share)


def _median_interval(row: Configuration) -> tuple[float, float] | None:
    interval = row.distribution.median.interval
    return None if interval is None else (interval.low, interval.high)


def _is_p99_bounded(row: Configuration) -> bool:
    return any(q.share == 0.99 and q.interval for q in row.distribution.quantiles)


def _ratio(row: Configuration) -> float | None:
    relative = row.relative
    return None if relative is None or relative.ratio is None else relative.ratio.value


def _shape(row: Configuration) -> str:
    from benchvise.signal.configurations import sparkline

    return sparkline(row.responses.seconds)


_RATIO: ColumnSpec[Configuration] = ColumnSpec(
    "x first",
    ValueUnit.COUNT,
    _ratio,
    lambda row: "strong" if row.relative and row.relative.significant else "muted",
    key="ratio_to_first",
    text=lambda row: (
        format_number(row.relative.ratio.value) if row.relative and row.relative.ratio else ""
    ),
)

COLUMNS: tuple[ColumnSpec[Configuration], ...] = (
    ColumnSpec("Configuration", ValueUnit.TEXT, lambda row: row.name, "strong"),
    ColumnSpec("n", ValueUnit.COUNT, lambda row: row.distribution.count),
    ColumnSpec(
        "Missed",
        ValueUnit.COUNT,
        lambda row: int(row.responses.missed_at.size),
        lambda row: "bad" if row.responses.missed_at.size else "muted",
    ),
    ColumnSpec(
        "Extra",
        ValueUnit.COUNT,
        lambda row: int(row.responses.extra_at.size),
        lambda row: "bad" if row.responses.extra_at.size else "muted",
    ),
    ColumnSpec("Median", ValueUnit.SECONDS, lambda row: _quantile(row, 0.5), "strong"),
    ColumnSpec("95 % interval", ValueUnit.SECONDS_RANGE, _median_interval, "muted", key="median_s"),
    ColumnSpec("Min", ValueUnit.SECONDS, lambda row: row.distribution.low),
    ColumnSpec("p95", ValueUnit.SECONDS, lambda row: _quantile(row, 0.95)),
    ColumnSpec(
        "p99",
        ValueUnit.SECONDS,
        lambda row: _quantile(row, 0.99),
        lambda row: "plain" if _is_p99_bounded(row) else "doubt",
    ),
    ColumnSpec("Max", ValueUnit.SECONDS, lambda row: row.distribution.high),
    _RATIO,
    ColumnSpec("Shape", ValueUnit.DRAWING, _shape, "muted"),
)


def tables(comparison: ResponseComparison, *, histograms: bool = False) -> list[TableSpec[Any]]:
    """A row for each configuration, the first as the reference of the others; what factors do."""
    specs: list[TableSpec[Any]] = [configuration_table(comparison.configurations)]
    if len(comparison.configurations) > 1:
        specs.append(tails_beside_first(comparison.configurations))
    if comparison.effects:
        specs.append(_effect_table(comparison.effects))
    if histograms:
        specs += [_histogram_table(item) for item in comparison.configurations]
    return specs


def configuration_table(rows: Sequence[Configuration]) -> TableSpec[Configuration]:
    """A row for each configuration."""
    remarks = _by_name(
        [(row.name, text) for row in rows for text in _remarks(row.responses, row.distribution)],
        len(rows),
    )
    if len(rows) > 1:
        remarks.append(
            "x first: ratio of the medians to the first row's; bold where it is shown "
            "(Mann-Whitney p < 0.01 and the 95 % interval excludes 1)"
        )
    columns = COLUMNS if len(rows) > 1 else tuple(c for c in COLUMNS if c is not _RATIO)
    return TableSpec("Response times", columns, rows, tuple(remarks))


def tails_beside_first(rows: Sequence[Configuration]) -> TableSpec[Any]:
    """The rare late responses of each configuration beside those of the first."""
    from benchvise.tails import tail_table

    pairs = [(row.name, tail) for row in rows for tail in row.tails]
    tests = pairs[0][1].tests if pairs else 0
    return tail_table("Configuration", pairs, rows[0].name, tests)


def _by_name(remarks: Sequence[tuple[str, str]], configurations: int) -> list[str]:
    """The remarks on each by its name; once where all have it."""
    counts = Counter(text for _, text in remarks)
    shared = {text for text, count in counts.items() if count == configurations > 1}
    return [f"all: {text}" for text in counts if text in shared] + [
        f"{name}: {text}" for name, text in remarks if text not in shared
    ]


def _remarks(times: Responses, shape: Distribution) -> list[str]:
    remarks = list(times.notes)
    if times.resolution_s is not None and times.resolution_s > 0.01 * shape.median.value:
        remarks.append(
            f"each time may be off by {format_seconds(times.resolution_s)}, "
            f"{100 * times.resolution_s / shape.median.value:.1f} % of the median"
        )
    if times.stray:
        remarks.append(f"{times.stray} edges of the answer came before the first stimulus")
    if shape.two_modes is not None:
        first, second = shape.two_modes
        remarks.append(
            f"two modes: {format_seconds(first.median)} ({100 * first.share:.0f} %) and "
            f"{format_seconds(second.median)} ({100 * second.share:.0f} %): the median is of "
            "neither"
        )
    if shape.drift is not None:
        remarks.append(f"it drifts by {100 * shape.drift.relative_change:+.1f} % from start to end")
    return remarks


@dataclass(frozen=True, slots=True)
class _Bin:
    low: float
    high: float
    count: int
    share: float
    """Of the fullest bin."""


_BIN_COLUMNS: tuple[ColumnSpec[_Bin], ...] = (
    ColumnSpec("Response", ValueUnit.TEXT, lambda row: format_seconds_range(row.low, row.high)),
    ColumnSpec("Count", ValueUnit.COUNT, lambda row: row.count),
    ColumnSpec(
        "", ValueUnit.TEXT, lambda row: "█" * round(_BARS * row.share) or ("▏" if row.count else "")
    ),
)


def _histogram_table(configuration: Configuration) -> TableSpec[_Bin]:
    from benchvise.signal.distribution import histogram

    edges, counts = histogram(configuration.responses.seconds, _BINS)
    top = max(1, int(counts.max()))
    bins = [
        _Bin(float(low), float(high), int(count), int(count) / top)
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    return TableSpec(f"{configuration.name}: histogram", _BIN_COLUMNS, bins)


_EFFECT_COLUMNS: tuple[ColumnSpec[tuple[FactorEffect, TimesDifferenceAt]], ...] = (
    ColumnSpec(
        "Factor",
        ValueUnit.TEXT,
        lambda row: f"{row[0].factor}: {row[0].level} / {row[0].reference}",
    ),
    ColumnSpec("With", ValueUnit.TEXT, lambda row: row[1].setting),
    ColumnSpec(
        "Ratio of medians",
        ValueUnit.COUNT,
        lambda row: row[1].ratio.value if row[1].ratio else None,
        lambda row: "strong" if row[1].significant else "muted",
        text=lambda row: format_number(row[1].ratio.value) if row[1].ratio else "",
    ),
    ColumnSpec("95 % interval", ValueUnit.NUMBER, lambda row: _number_range(row[1]), "muted"),
    ColumnSpec(
        "",
        ValueUnit.TEXT,
        lambda row: "shown" if row[1].significant else "not shown",
        lambda row: "plain" if row[1].significant else "muted",
    ),
)


def _number_range(difference: TimesDifferenceAt) -> str | None:
    if difference.ratio is None:
        return None
    interval = difference.ratio.interval
    return f"{format_number(interval.low)} to {format_number(interval.high)}"


def _effect_table(
    effects: Sequence[FactorEffect],
) -> TableSpec[tuple[FactorEffect, TimesDifferenceAt]]:
    """What each factor does, at each setting of the others."""
    rows = [(effect, difference) for effect in effects for difference in effect.where]
    return TableSpec("Effects of the factors", _EFFECT_COLUMNS, rows)
