"""The tables of runs and comparisons, and a run with its insights for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from benchvise.measure.model import RunRecord, RunStatus, SeriesRecord, SeriesStatus
from benchvise.quantities import (
    ABSENT,
    format_change,
    format_range,
    format_time,
    format_unstable,
    format_value,
)
from benchvise.report.rendering import SIMULATED, Cell, Column, Table, rendered, table_of
from benchvise.report.sinks import LINE_LIMIT, cell, sentence
from benchvise.table import Tone
from benchvise.text import counted, enumerated, printable

if TYPE_CHECKING:
    from benchvise.measure.compare import Comparison, RunComparison
    from benchvise.measure.equal_runs import EqualRuns
    from benchvise.measure.histogram import Histogram, Quantile
    from benchvise.measure.insights import Insight
    from benchvise.measure.metrics import CounterTable, PooledFigure
    from benchvise.measure.validity import Summary
    from benchvise.store.reading import RunInfo
    from benchvise.tails import TailDifference


_CAVEAT = "†"
_UNSTABLE_MARK = "⚠"

_NAMED = 3
"""Series that a caveat names before it counts the rest."""

_FEW_UNSTABLE = 5
"""Of more, the causes in full would fill the screen, and most are the same: the board is busy."""


# -- one run ---------------------------------------------------------------------------------------

_RUN_COLUMNS = (
    Column("Series"),
    Column("Median", right=True),
    Column("95 % interval", right=True),
    Column("Min", right=True, spare=True),
    Column("p95", right=True, detail=True),
    Column("Max", right=True, spare=True),
    Column("n", right=True),
)


def run_table(
    run: RunRecord, summaries: Sequence[Summary], *, notes: bool = True
) -> RenderableType:
    """A run; ``summaries`` are those of its series that have samples, in their order.

    What its series say together follows below.
    """
    from benchvise.measure.insights import insights

    table = rendered(run_rows(run, summaries, notes=notes))
    remarks = [part for insight in insights(run) for part in ("", _insight(insight))]
    return Group(table, *remarks) if remarks else table


def run_rows(run: RunRecord, summaries: Sequence[Summary], *, notes: bool = True) -> Table:
    """The series of a run. ``summaries`` are those of its series that have samples, in order.

    Without ``notes``, remarks are what a reader must know before using a number: why a series is
    unstable or missing, and its caveats; how many more there are is said in one line. What many
    series share, as on a busy board, is then said once.
    """
    from benchvise.measure.histogram import merged_histogram
    from benchvise.measure.metrics import pooled_figures
    from benchvise.report.data import settings

    measured = iter(summaries)
    many = not notes and sum(1 for summary in summaries if not summary.stable) > _FEW_UNSTABLE
    causes: dict[str, tuple[str, ...]] = {}
    rows: list[tuple[Cell, ...]] = []
    remarks: list[str] = []
    for series in run.series:
        summary = next(measured) if series.values else None
        rows.append(_series_row(series, summary))
        rows += [_figure_row(pooled) for pooled in pooled_figures(series)]
        rows += _far_percentiles(merged_histogram(series))
        if many and summary is not None:
            causes[series.spec.key] = summary.causes
        else:
            remarks += _series_remarks(series, summary, notes=notes)
    remarks += _shared_causes(causes, run.id)
    remarks += _steadying(summaries)
    remarks += _caveats(run)
    remarks += _run_remarks(run)
    remarks += _annotations(run)
    noted = sum(1 for summary in summaries if summary.stable and summary.notes)
    if noted and not notes:
        remarks.append(f"{noted} stable series with notes: benchvise show {run.id} --notes")
    if run.status is not RunStatus.COMPLETE:
        remarks.append(f"this run is {run.status}: {run.reason:{LINE_LIMIT}}")
    title = f"{(run.label or run.id)} on {run.board}, {format_time(run.started)}"
    changes = settings(run)
    if changes:
        title += ", with " + ", ".join(f"{knob}={value}" for knob, value in changes.items())
    return Table(title, _RUN_COLUMNS, tuple(rows), tuple(remarks), run.simulated)


def _series_row(series: SeriesRecord, summary: Summary | None) -> tuple[Cell, ...]:
    name = series.spec.key + (f" {_CAVEAT}" if series.caveats else "")
    if summary is None:
        empty = Cell(ABSENT, "muted")
        # Of a thinned run, whose reason says below the table what its samples showed.
        is_thinned = series.status is SeriesStatus.MEASURED
        why = "samples removed" if is_thinned else "not measured"
        return (Cell(name), Cell(why, "muted"), *[empty] * 5)
    unit = series.unit
    return (
        Cell(name),
        value_cell(summary, unit, "strong"),
        Cell(format_range(summary.low, summary.high, unit)),
        Cell(format_value(summary.minimum, unit)),
        Cell(format_value(summary.p95, unit)),
        Cell(format_value(summary.maximum, unit)),
        Cell(str(summary.n)),
    )


def value_cell(summary: Summary, unit: str, tone: Tone = "plain") -> Cell:
    """The median; marked where no single value describes the series."""
    if summary.stable:
        return Cell(format_value(summary.median, unit), tone)
    return Cell(format_unstable(summary.median, unit), "doubt")


def _figure_row(pooled: PooledFigure) -> tuple[Cell, ...]:
    """A further figure below its series: how its batches make one, and their range."""
    figure, unit = pooled.figure, pooled.figure.unit
    empty = Cell(ABSENT, "muted")
    value = format_value(pooled.value, unit)
    return (
        Cell(f"  {figure.key}", "muted"),
        Cell(value if figure.pool == "median" else f"{figure.pool} {value}"),
        empty,
        Cell(format_value(pooled.minimum, unit)),
        empty,
        Cell(format_value(pooled.maximum, unit)),
        Cell(str(pooled.n), "muted"),
    )


def _far_percentiles(histogram: Histogram | None) -> list[tuple[Cell, ...]]:
    """What only all batches together can tell, with its bounds; open above where they set none."""
    if histogram is None:
        return []
    return [_quantile_row(histogram.quantile(p), histogram.count) for p in (99.0, 99.9, 99.99)]


def _quantile_row(quantile: Quantile, count: int) -> tuple[Cell, ...]:
    empty = Cell(ABSENT, "muted")
    if quantile.value is None:
        value = Cell(f"over {format_value(quantile.low, 'ns')}", "muted")
    else:
        value = Cell(format_value(quantile.value, "ns"))
    if quantile.high is None:
        bounds = Cell(f"over {format_value(quantile.low, 'ns')}")
    else:
        bounds = Cell(format_range(quantile.low, quantile.high, "ns"))
    name = Cell(f"  p{quantile.percent:g} of all", "muted")
    return (name, value, bounds, empty, empty, empty, Cell(str(count), "muted"))


def _shared_causes(causes: Mapping[str, Sequence[str]], run_id: str) -> Iterator[str]:
    """Why many series are unstable; ``causes`` are those of each."""
    from benchvise.measure.steadying import shared_causes

    for cause, names in shared_causes(causes).items():
        yield f"{_UNSTABLE_MARK} {cause}: {len(names)} series: {enumerated(names, _NAMED)}"
    if causes:
        yield f"{_UNSTABLE_MARK} each in full: benchvise show {run_id} --notes"


def _steadying(summaries: Sequence[Summary]) -> Iterator[str]:
    """What to do about the unstable series, in one line; none where all are stable."""
    from benchvise.measure.steadying import remedies

    steps = remedies(cause for summary in summaries for cause in summary.causes)
    if steps:
        yield f"{_UNSTABLE_MARK} unstable, what to do: {'; '.join(steps)}"


def _run_remarks(run: RunRecord) -> Iterator[str]:
    """What happened to the board around the run, with what it touches."""
    for remark in run.remarks:
        families = ", ".join(family for family in remark.families) or "all results"
        yield f"{remark.rule} ({families}): {remark.sentence}"


def _annotations(run: RunRecord) -> Iterator[str]:
    """What users said of the run."""
    if run.tags:
        yield f"tags: {', '.join(run.tags)}"
    if run.note:
        yield f"note: {run.note:{LINE_LIMIT}}"


def _series_remarks(series: SeriesRecord, summary: Summary | None, *, notes: bool) -> Iterator[str]:
    name = series.spec.key
    if summary is None:
        from benchvise.report.data import summary_or_reason

        yield f"{name}: {summary_or_reason(series)[1]}"
    else:
        if summary.causes:
            yield f"{name}: unstable: {'; '.join(summary.causes)}"
        if summary.notes and notes:
            yield f"{name}: {'; '.join(summary.notes)}"


def _caveats(run: RunRecord) -> Iterator[str]:
    """Each caveat once, with the series that it is about."""
    by_caveat: defaultdict[str, list[str]] = defaultdict(list)
    for series in run.series:
        for caveat in series.caveats:
            by_caveat[caveat].append(series.spec.key)
    for caveat, names in by_caveat.items():
        yield f"{_CAVEAT} {enumerated(names, _NAMED)}: {caveat}"


def _insight(insight: Insight) -> Group:
    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(insight.columns):
        grid.add_column(Text(cell(column)), no_wrap=index > 0, overflow="fold")
    for row in insight.rows:
        grid.add_row(*(Text(cell(text)) for text in row))
    parts: list[RenderableType] = [
        Text(cell(insight.title), style="bold"),
        Text(sentence(insight.sentence)),
    ]
    return Group(*parts, grid) if insight.rows else Group(*parts)


# -- two runs --------------------------------------------------------------------------------------

_VERDICT_TONES: dict[str, Tone] = {
    "faster": "good",
    "slower": "bad",
    "unstable": "doubt",
    "no difference shown": "plain",
    "not comparable": "muted",
}


_FEW = 12
"""So many series fit a screen, and whoever compares them wants to see the values of all."""


def compare_rows(
    result: RunComparison,
    *,
    simulated: bool = False,
    everything: bool = True,
    around: Sequence[str] = (),
) -> Table:
    """The series of two runs, as ``compare_runs`` sorted them.

    Without ``everything``, series in which no difference was shown are counted only, unless noise
    may hide one, or the runs have few. ``around`` is what else has to be said of the two.
    """
    from benchvise.measure.compare import SeriesVerdict

    few = len(result.comparisons) <= _FEW
    base, other = printable(result.a, 40), printable(result.b, 40)
    columns = (
        Column("Series"),
        Column(base, right=True),
        Column(other, right=True),
        Column("Change", right=True),
        Column("Ratio, 95 %", right=True),
        Column("Verdict"),
    )
    counts = ", ".join(f"{count} {verdict}" for verdict, count in result.counts.items() if count)
    title = f"{other} against {base}: {counts or 'no series'}"
    rows = tuple(
        _change_row(c)
        for c in result.comparisons
        if everything or few or c.hidden_by_noise or c.verdict is not SeriesVerdict.NO_DIFFERENCE
    )
    remarks = [
        # What noise may hide is many series on a bad day: why each is noisy stands in `show`.
        f"{c.spec.key}: " + (c.reason.partition("; ")[0] if c.hidden_by_noise else c.reason)
        for c in result.comparisons
        if c.hidden_by_noise or c.verdict in (SeriesVerdict.UNSTABLE, SeriesVerdict.NOT_COMPARABLE)
    ]
    remarks += _steadying(
        [s for c in result.comparisons for s in (c.a, c.b) if s is not None and not s.stable]
    )
    if any(c.hidden_by_noise for c in result.comparisons):
        remarks.append("what noise may hide: more processes would show it, say --processes 12")
    if left_out := len(result.comparisons) - len(rows):
        remarks.append(f"not listed: {left_out} series in which no difference was shown")
    if result.tails and not everything and not any(tail.significant for _, tail in result.tails):
        remarks.append("tails: no difference of rare late times is shown; --all lists them")
    return Table(title, columns, rows, (*remarks, *around), simulated)


_PAIRS_THAT_TELL = 5
"""What happens by chance in half of all pairs is not seen in one of 32 sets of so many."""


def chance_remarks(equal_runs: Sequence[EqualRuns] | None) -> list[str]:
    """What runs of one state say of the changes of two runs; None: they were measured in turn."""
    if not equal_runs:
        return []
    remarks = [
        f"chance, {of.key}: two runs of one state in a row differed as much in {of.as_much} of "
        f"{of.pairs} pairs"
        for of in equal_runs
        if of.as_much
    ]
    never = [of.pairs for of in equal_runs if of.pairs and not of.as_much]
    if never:
        which = "the other changes" if remarks else "these changes"
        few = ": too few to tell" if max(never) < _PAIRS_THAT_TELL else ""
        remarks.append(
            f"chance: two runs of one state in a row never differed as much as {which} do "
            f"({counted(max(never), 'pair')}{few})"
        )
    if not any(of.pairs for of in equal_runs):
        remarks.append(
            "chance: the runs were measured one after the other, so that what else happened in "
            "between counts, too; measure one of them again, and this tells how far equal runs "
            "differ"
        )
    return remarks


def _change_row(comparison: Comparison) -> tuple[Cell, ...]:
    unit = comparison.unit
    return (
        Cell(comparison.spec.key),
        _headline(comparison.a, unit),
        _headline(comparison.b, unit),
        *change_cells(comparison),
    )


def change_cells(comparison: Comparison) -> tuple[Cell, Cell, Cell]:
    """The change of the value, the ratio with its interval, and the verdict."""
    interval = ABSENT
    if comparison.low is not None and comparison.high is not None:
        interval = f"{comparison.low:.3f} to {comparison.high:.3f}"
    return (
        Cell(format_change(comparison.ratio), "strong" if comparison.changed else "plain"),
        Cell(interval),
        Cell(str(comparison.verdict), _VERDICT_TONES[comparison.verdict]),
    )


def _headline(summary: Summary | None, unit: str) -> Cell:
    if summary is None:
        return Cell(ABSENT, "muted")
    return value_cell(summary, unit)


def tail_rows(
    tails: Sequence[tuple[str, TailDifference]], names: tuple[str, str], *, everything: bool = True
) -> Table | None:
    """The rare late times of a run beside those of its base, by the keys of the series that have
    them; None where there is nothing to list. ``names`` are the base's and the other's.

    Without ``everything``, only tails that are shown to differ.
    """
    from benchvise.tails import tail_table

    rows = [row for row in tails if everything or row[1].significant]
    if not rows:
        return None
    base, other = (printable(name, 40) for name in names)
    table = table_of(tail_table("Series", rows, base, rows[0][1].tests))
    remarks = table.remarks
    if left_out := len(tails) - len(rows):
        remarks += (f"not listed: {left_out} that are not shown to differ",)
    return replace(table, title=f"Tails of {other}, beside {base}", remarks=remarks)


# -- the counters of a series in two runs ----------------------------------------------------------


def counter_rows(key: str, names: tuple[str, str], table: CounterTable) -> Table:
    """What the same work costs on both sides, counter by counter, for one iteration."""
    columns = (
        Column(key),
        Column(printable(names[0], 40), right=True),
        Column(printable(names[1], 40), right=True),
        Column("Change", right=True),
    )
    rows = tuple(
        (
            Cell(change.name.replace("_", " ")),
            Cell(_count(change.a)),
            Cell(_count(change.b)),
            Cell(format_change(change.ratio)),
        )
        for change in table.changes
    )
    remarks = tuple(
        f"not counted: {', '.join(name for name in counters)} ({reason})"
        for reason, counters in table.missing.items()
    )
    return Table("Counters for one iteration", columns, rows, remarks)


def _count(value: float | None) -> str:
    return ABSENT if value is None else format_value(value, "")


# -- the list of runs ------------------------------------------------------------------------------

_LIST_COLUMNS = (
    Column("Run"),
    Column("Label"),
    Column("Board"),
    Column("Suite"),
    Column("Started"),
    Column("Series", right=True),
    Column("Samples", right=True, spare=True),
    Column("Status"),
)


def list_rows(infos: Sequence[RunInfo]) -> Table:
    """Runs as the store lists them."""
    rows = tuple(_info_row(info) for info in infos)
    columns: tuple[Column, ...] = _LIST_COLUMNS
    if any(info.tags for info in infos):
        columns += (Column("Tags"),)
        tags = (Cell(printable(", ".join(info.tags), 40)) for info in infos)
        rows = tuple((*row, cell) for row, cell in zip(rows, tags, strict=True))
    return Table(f"{len(rows)} {'run' if len(rows) == 1 else 'runs'}", columns, rows, ())


def _info_row(info: RunInfo) -> tuple[Cell, ...]:
    done = info.status is RunStatus.COMPLETE
    mark = f" [{SIMULATED}]" if info.simulated else ""
    return (
        Cell(info.id, "strong"),
        Cell(printable(info.label, 40)),
        Cell(printable(info.board, 40) + mark),
        Cell(printable(info.suite, 40)),
        Cell(format_time(info.started)),
        Cell(str(info.series)),
        Cell(str(info.samples)),
        Cell(str(info.status), "plain" if done else "doubt"),
    )


def side_by_side(runs: Sequence[tuple[RunRecord, Sequence[Summary]]]) -> Table:
    """The medians of the series that any of the runs has, and how each stands to the first run.

    A row for each series, a column for each run.
    ``runs`` are records with the summaries of their series that have samples, in order. A median
    is shown for stable series only; the ratio is left out where one of the two is not.
    """
    by_run = [_by_key(run, summaries) for run, summaries in runs]
    keys = dict.fromkeys(series.spec.key for run, _ in runs for series in run.series)
    units = {series.spec.key: series.unit for run, _ in runs for series in run.series}
    rows = []
    for key in keys:
        base = by_run[0].get(key)
        cells = [_median_cell(summaries.get(key), base, units[key]) for summaries in by_run]
        rows.append((Cell(key), *cells))
    columns = [Column(_run_name(run), right=True) for run, _ in runs]
    simulated = any(run.simulated for run, _ in runs)
    return Table("Side by side", (Column("Series"), *columns), tuple(rows), (), simulated)


def fleet_table(runs: Sequence[tuple[RunRecord, Sequence[Summary]]]) -> Table:
    """A row for each of many runs: how it ended, how much was measured, what was not, how long it
    took in seconds. ``runs`` as for ``side_by_side``.
    """
    rows = []
    for run, summaries in runs:
        unstable = sum(not summary.stable for summary in summaries)
        failed = sum(series.status == SeriesStatus.FAILED for series in run.series)
        missing = len(run.series) - len(summaries) - failed
        rows.append(
            (
                Cell(run.board),
                Cell(run.id),
                Cell(str(run.status)),
                Cell(str(len(summaries))),
                Cell(str(unstable) if unstable else ""),
                Cell(str(failed) if failed else ""),
                Cell(str(missing) if missing > 0 else ""),
                Cell(_duration(run)),
                Cell(str(run.reason)),
            )
        )
    columns = (
        *(Column("Board"), Column("Run"), Column("Status")),
        *(Column(name, right=True) for name in ("Series", "Unstable", "Failed", "Not available")),
        *(Column("Time (s)", right=True), Column("Reason")),
    )
    simulated = any(run.simulated for run, _ in runs)
    return Table(f"{len(runs)} runs", columns, tuple(rows), (), simulated)


def _duration(run: RunRecord) -> str:
    if run.finished is None:
        return ""
    taken = datetime.fromisoformat(run.finished) - datetime.fromisoformat(run.started)
    return f"{taken.total_seconds():.1f}"


def _by_key(run: RunRecord, summaries: Sequence[Summary]) -> Mapping[str, Summary]:
    measured = [series for series in run.series if series.values]
    return {series.spec.key: s for series, s in zip(measured, summaries, strict=True)}


def _run_name(run: RunRecord) -> str:
    return run.board.removeprefix("rig:")


def _median_cell(summary: Summary | None, base: Summary | None, unit: str) -> Cell:
    if summary is None:
        return Cell(ABSENT, "muted")
    if not summary.stable:
        return value_cell(summary, unit)
    text = format_value(summary.median, unit)
    if base is None or base is summary or not base.stable or not base.median:
        return Cell(text, "strong" if base is summary else "plain")
    return Cell(f"{text}  x{summary.median / base.median:.3g}")
