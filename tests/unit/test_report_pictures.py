"""Bars, grids and evidence as the charts get them."""

from __future__ import annotations

from dataclasses import replace

from report_runs import demonstration_run, other_run, series, spec

from benchvise.measure.model import RunRecord, Sample
from benchvise.report.curves import curve_figures, curved, grid_figures
from benchvise.report.data import RunData, report_data
from benchvise.report.figures import (
    MOST_SAMPLES,
    bar_figures,
    batches,
    evidence_figure,
    missing_evidence,
    sample_figure,
)

L1 = 32 << 10


def of(*runs: RunRecord) -> tuple[RunData, ...]:
    return report_data(runs).runs


def grid_run(order: str = "sequential") -> RunRecord:
    """A switch that costs more where all processes together exceed 32 KiB."""
    cells = [
        series(
            spec("os.context_switch_grid", processes=str(count), size=f"{kib}K", order=order),
            2000.0 * (4.0 if count * kib << 10 > L1 else 1.0),
        )
        for count in (2, 4, 8, 16, 32, 64, 96)
        for kib in (0, 1, 2, 4, 8)
    ]
    return demonstration_run(series=tuple(cells))


# -- bars ------------------------------------------------------------------------------------------


def test_bars_stand_side_by_side_in_the_order_of_the_runs() -> None:
    runs = of(demonstration_run(), other_run())
    figures = {figure.title: figure for figure in bar_figures(runs, curved(runs))}
    calls = figures["os.syscall"]
    assert [[bar.run for bar in row.bars] for row in calls.rows] == [
        ["vendor-5.10", "yocto-6.6"]
    ] * 5
    assert all(bar.best <= bar.low for row in calls.rows for bar in row.bars), "less is better"
    assert figures["cpu.clock"].rows[0].bars[0].best >= figures["cpu.clock"].rows[0].bars[0].high
    assert "memory.copy" not in figures, "it is a curve"


def test_of_one_run_only_benchmarks_with_several_series_are_bars() -> None:
    titles = {figure.title for figure in bar_figures(of(demonstration_run()), {"memory.copy"})}
    assert "os.syscall" in titles and not titles & {"cpu.clock", "memory.copy"}


def test_many_series_are_cut_and_counted_and_those_without_a_bar_left_out() -> None:
    many = [series(spec("os.syscall", call=f"c{n}"), 100.0 + n) for n in range(30)]
    many.append(series(spec("os.syscall", call="below"), -5.0))
    (figure,) = bar_figures(of(demonstration_run(series=tuple(many))))
    assert (len(figure.rows), figure.left_out) == (24, 6)


# -- the grid --------------------------------------------------------------------------------------


def test_a_grid_has_its_places_and_the_steps_of_its_cache() -> None:
    (grid,) = grid_figures(of(grid_run()))
    assert grid.processes == (2, 4, 8, 16, 32, 64, 96)
    assert grid.sizes == (0, 1024, 2048, 4096, 8192)
    assert len(grid.places) == 35
    assert grid.steps
    assert all(step.low * step.size <= L1 <= step.high * step.size for step in grid.steps)
    assert grid.title.endswith("in sequential order")


def test_grids_of_the_same_order_stand_next_to_each_other() -> None:
    both = replace(grid_run(), series=(*grid_run().series, *grid_run("random").series))
    grids = grid_figures(of(both, replace(both, label="other")))
    assert [(grid.title.split()[-2], grid.run) for grid in grids] == [
        ("sequential", "vendor-5.10"),
        ("sequential", "other"),
        ("random", "vendor-5.10"),
        ("random", "other"),
    ]


def test_too_few_places_are_no_grid_and_many_lines_are_two_charts() -> None:
    assert grid_figures(of(demonstration_run())) == ()
    both = replace(grid_run(), series=(*grid_run().series, *grid_run("random").series))
    curves = curve_figures(of(both))
    assert [len(curve.lines) for curve in curves] == [5, 5]
    assert "order=random" in curves[1].title


# -- evidence --------------------------------------------------------------------------------------


def test_batches_stand_in_the_order_of_measuring_with_what_was_read() -> None:
    one = demonstration_run().series[3]
    read = {
        "start_ns": 3_000_000_000,
        "clock_before_hz": 1.0e9,
        "clock_after_hz": 2.0e9,
        "temperature_mc": 51_500,
        "wait_ns": 25,
        "window_ns": 100,
        "flags": ["clock"],
    }
    first = one.processes[0]
    late = replace(first, samples=(Sample(0, 7.0, read),), index=5)
    found = batches(replace(one, processes=(late, first)), {"time_monotonic_ns": 1_000_000_000})
    (batch,) = (b for b in found if b.process == 5)
    assert (batch.at, batch.clock, batch.temperature, batch.waited) == (2.0, 1.5e9, 51.5, 0.25)
    assert [b.at for b in found] == sorted(b.at or 0.0 for b in found)


def test_what_was_never_read_is_named_with_the_reason_and_not_drawn() -> None:
    one = demonstration_run().series[3]
    samples = tuple(
        replace(s, evidence={**s.evidence, "temperature_mc": {"na": "no thermal zone"}})
        for s in one.processes[0].samples
    )
    one = replace(one, processes=(replace(one.processes[0], samples=samples),))
    assert missing_evidence(one)["temperature"] == "no thermal zone"
    shown = of(demonstration_run(series=(one,)))[0].series[0]
    assert evidence_figure(sample_figure(shown), batches(one, {})).strips == ()


def test_of_very_many_samples_some_are_drawn_and_strips_keep_step() -> None:
    one = series(spec("cpu.clock"), 1e9, processes=1, batches=3 * MOST_SAMPLES)
    samples = tuple(
        replace(s, evidence={**s.evidence, "temperature_mc": 50_000 + s.index})
        for s in one.processes[0].samples
    )
    one = replace(one, processes=(replace(one.processes[0], samples=samples),))
    shown = of(demonstration_run(series=(one,)))[0].series[0]
    figure = evidence_figure(sample_figure(shown), batches(one, {}))
    assert figure.samples.every == 3
    assert len(figure.samples.samples) == len(figure.strips[0].values) == MOST_SAMPLES
