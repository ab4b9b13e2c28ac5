"""What several series say together, and that an unstable one lends no number to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from report_runs import HOST, Noise, demonstration_run, series, spec

from benchvise.measure.insights import Insight, insights
from benchvise.measure.model import ProcessRecord, RunRecord, Sample, SeriesRecord

NOISY = Noise(relative=0.2, by_process=0.3)


def run_of(*measured: SeriesRecord, **changes: Any) -> RunRecord:
    return demonstration_run(series=measured, **changes)


def only(run: RunRecord) -> Insight:
    (insight,) = insights(run)
    assert all(len(row) == len(insight.columns) for row in insight.rows)
    return insight


def begun(measured: SeriesRecord, **begin: Any) -> SeriesRecord:
    """The series, of which the probe said that when it began."""
    processes = tuple(replace(p, begin={**p.begin, **begin}) for p in measured.processes)
    return replace(measured, processes=processes)


# --- pipes ----------------------------------------------------------------------------------------


def pipe(rate: float, noise: Noise | None = None, **params: str) -> SeriesRecord:
    params = {"writer": "write", "reader": "read", "place": "same", **params}
    return series(spec("pipe.throughput", **params), rate, unit="B/s", better="higher", noise=noise)


def test_a_ladder_relates_each_form_to_the_simplest() -> None:
    insight = only(
        run_of(
            pipe(40e9, writer="vmsplice", reader="splice", block="1M"),
            pipe(20e9, writer="vmsplice", reader="splice", block="64K"),
            pipe(4e9, block="16K"),
            pipe(2e6, writer="line", block="4K"),
        )
    )
    assert insight.title == "The pipe ladder, both ends on one CPU"
    assert [row[0] for row in insight.rows] == [
        "printf with a write(2) a line to read(2)",
        "write(2) of ready blocks to read(2)",
        "vmsplice to splice(2)",
    ]
    assert insight.rows[0][-1] == "1"
    assert insight.rows[2][1] == "block=1M"  # the faster of the two
    assert float(insight.rows[1][-1]) == pytest.approx(2000, rel=0.02)
    assert "no byte is copied" in insight.sentence
    assert "unstable" not in insight.sentence


def test_signals_health_15_no_multiple_comes_from_an_unstable_rung() -> None:
    """Under load the ladder said "at least 179000 times the simplest"."""
    far = run_of(pipe(2e6, writer="line"), pipe(4e9), pipe(40e9, NOISY, writer="vmsplice"))
    line, write, vmsplice = only(far).rows
    assert (line[-1], vmsplice[-1]) == ("1", "")
    assert float(write[-1]) == pytest.approx(2000, rel=0.02)
    assert "unstable" in vmsplice[2]
    assert "vmsplice" not in only(far).sentence
    unstable_base = only(
        run_of(pipe(2e6, NOISY, writer="line"), pipe(4e9), pipe(5e9, reader="splice"))
    )
    assert [row[-1] for row in unstable_base.rows] == ["", "", ""]
    assert "No other form can be compared with it, as it is unstable." in unstable_base.sentence
    others = only(run_of(pipe(2e6, writer="line"), pipe(4e9, NOISY)))
    assert "as they are unstable." in others.sentence
    for insight in (only(far), unstable_base, others):
        assert "at least" not in insight.sentence


def test_each_placement_has_its_own_ladder_and_a_free_one_has_none() -> None:
    found = insights(
        run_of(
            *(
                pipe(rate, writer=writer, place=place)
                for place in ("same", "core", "free")
                for writer, rate in (("line", 2e6), ("write", 4e9))
            )
        )
    )
    assert [insight.title.partition(", ")[2] for insight in found] == [
        "both ends on one CPU",
        "the ends on two cores of a cluster",
    ]


def test_one_form_is_no_ladder() -> None:
    assert insights(run_of(pipe(4e9, block="16K"), pipe(5e9, block="64K"))) == ()


# --- memory ---------------------------------------------------------------------------------------


def copy(rate: float, noise: Noise | None = None, **params: str) -> SeriesRecord:
    return series(spec("memory.copy", **params), rate, unit="B/s", better="higher", noise=noise)


def test_an_unwritten_source_is_held_against_a_written_one_of_its_size() -> None:
    insight = only(
        run_of(
            copy(20e9, size="64M"),
            copy(60e9, size="1M"),
            copy(32e9, size="64M", source="untouched"),
            copy(60e9, size="1M", source="untouched"),
            copy(90e9, size="4K", source="untouched"),  # has no counterpart
        )
    )
    assert [row[0] for row in insight.rows] == ["size=64M", "size=1M"]
    assert "1.6 times as fast" in insight.sentence
    assert "neither value is a bandwidth" in insight.sentence


def test_a_written_source_of_zeros_will_do() -> None:
    run = run_of(copy(20e9, source="zero"), copy(20.2e9, source="untouched"))
    assert "hardly faster" in only(run).sentence


def test_an_unstable_pair_says_nothing_of_zero_pages() -> None:
    assert insights(run_of(copy(20e9, NOISY), copy(40e9, source="untouched"))) == ()


def latency(ns: float, size: str, pages: str, **more: Any) -> SeriesRecord:
    return series(spec("memory.latency", size=size, pages=pages), ns, **more)


def test_huge_pages_by_size() -> None:
    sizes = {"16K": (1.0, 1.0), "1M": (10.0, 9.9), "16M": (60.0, 50.0), "256M": (190.0, 150.0)}
    measured = [
        latency(ns, size, pages)
        for size, pair in reversed(sizes.items())
        for pages, ns in zip(("4k", "huge"), pair, strict=True)
    ]
    insight = only(run_of(*measured))
    assert [row[0] for row in insight.rows] == [f"size={size}" for size in sizes]
    assert "size=256M" in insight.sentence
    assert "It first shows at size=16M" in insight.sentence


def test_huge_pages_that_were_not_granted_are_not_compared() -> None:
    asked = latency(180, "64M", "huge", caveats=("huge pages were asked for but not granted",))
    assert insights(run_of(latency(190, "64M", "4k"), asked)) == ()


def test_huge_pages_that_change_nothing() -> None:
    run = run_of(latency(5, "64K", "4k"), latency(5, "64K", "huge"))
    assert "nothing that shows" in only(run).sentence


LADDER = {
    **dict.fromkeys(("4K", "8K", "16K", "32K"), 1.0),
    **dict.fromkeys(("64K", "128K", "256K", "512K", "1M"), 5.0),
    **dict.fromkeys(("2M", "4M", "8M", "16M"), 40.0),
}
"""A curve over size that steps at 32K and at 1M, in nanoseconds."""


def ladder(noisy: tuple[str, ...] = ()) -> list[SeriesRecord]:
    return [
        latency(ns, size, "huge", noise=NOISY if size in noisy else None)
        for size, ns in LADDER.items()
    ]


def caches_of(**sizes: int) -> dict[str, Any]:
    described = [
        {"level": int(name[1:]), "type": "Unified", "size": size, "line": 64}
        for name, size in sizes.items()
    ]
    return {**HOST, "caches": described}


def test_signals_health_18_a_step_that_sysfs_does_not_know_is_no_certain_cache() -> None:
    """Steps at 1 to 4 MiB had "certainty 100 %" where sysfs said nothing."""
    insight = only(run_of(*ladder(), host=caches_of(L1=32 << 10, L2=16 << 20)))
    first, second = insight.rows
    assert (first[4], second[4]) == ("L1 32K", "nothing")
    assert (first[5], second[5]) == ("> 99 %", "step > 99 %")
    assert "sysfs knows no cache that ends at 1M to 2M: page tables" in insight.sentence
    assert "no step shows L2 16M" in insight.sentence
    known = only(run_of(*ladder(), host=caches_of(L1=32 << 10, L2=1 << 20)))
    assert [row[5] for row in known.rows] == ["> 99 %", "> 99 %"]
    assert "knows no cache" not in known.sentence
    silent = only(run_of(*ladder(), host={**HOST, "caches": []}))
    assert [row[5] for row in silent.rows] == ["step > 99 %", "step > 99 %"]
    assert "does not say which caches it has" in silent.sentence
    assert "100 %" not in str((insight, known, silent))


def test_signals_health_15_a_step_between_unstable_series_has_no_certainty() -> None:
    run = run_of(*ladder(noisy=("32K",)), host=caches_of(L1=32 << 10, L2=1 << 20))
    insight = only(run)
    assert [row[5] for row in insight.rows] == ["unstable", "> 99 %"]
    assert "The series at 32K to 64K are unstable: measure again in quiet." in insight.sentence


def visits(costs: dict[str, float], noise: Noise | None = None) -> list[SeriesRecord]:
    return [
        series(spec("memory.line", offset=offset), ns, noise=noise)
        for offset, ns in reversed(costs.items())
    ]


BY_64 = {"8": 140.0, "16": 141.0, "32": 143.0, "64": 200.0, "128": 205.0, "256": 206.0}


def test_a_line_ends_where_a_visit_gets_dearer() -> None:
    insight = only(run_of(*visits(BY_64)))
    assert "a line has 64 bytes, as sysfs says" in insight.sentence
    assert [row[0] for row in insight.rows][:2] == ["8 bytes away", "16 bytes away"]


def test_a_second_step_is_named() -> None:
    assert "From 512 bytes on" in only(run_of(*visits({**BY_64, "512": 300.0}))).sentence


def test_a_line_that_sysfs_knows_otherwise() -> None:
    costs = {"8": 140.0, "16": 141.0, "32": 140.0, "64": 142.0, "128": 250.0}
    sentence = only(run_of(*visits(costs))).sentence
    assert "a line has 128 bytes, while sysfs says 64" in sentence
    assert "in pairs" in sentence
    assert "sysfs" not in only(run_of(*visits(costs), host={**HOST, "caches": []})).sentence


def test_offsets_too_far_apart_bound_the_line() -> None:
    costs = {"8": 140.0, "16": 141.0, "256": 250.0, "512": 251.0}
    assert "between 16 and 256 bytes, as sysfs says" in only(run_of(*visits(costs))).sentence


def test_no_step_and_too_few_stable_offsets() -> None:
    flat = dict.fromkeys(("8", "16", "32", "64", "128"), 140.0)
    assert "no line's end was met" in only(run_of(*visits(flat))).sentence
    assert insights(run_of(*visits(BY_64, NOISY))) == ()


# --- clocks ---------------------------------------------------------------------------------------


def clock(hz: float, cpu: int = 7, **begin: Any) -> SeriesRecord:
    measured = series(spec("cpu.clock", cpu=str(cpu)), hz, unit="Hz", better="higher")
    return begun(measured, cpu=cpu, **begin)


def test_a_clock_below_what_is_advertised() -> None:
    run = run_of(
        clock(1.5e9, 3, advertised_hz=1_500_000_000, limit_hz=1_500_000_000),
        clock(1.2e9, 7, advertised_hz=1_500_000_000, limit_hz=1_500_000_000),
    )
    insight = only(run)
    assert insight.sentence.startswith("CPU 7 runs at 1.2")
    assert "-20 % against the 1.5 GHz that cpufreq advertises" in insight.sentence
    assert [row[0] for row in insight.rows] == ["3", "7"]


def test_a_clock_that_is_limited_is_held_against_its_limit() -> None:
    run = run_of(clock(1.0e9, advertised_hz=1_500_000_000, limit_hz=1_000_000_000))
    assert "cpufreq limits it to (1 GHz), within 3 %" in only(run).sentence


def test_a_model_name_with_a_clock() -> None:
    host = {**HOST, "cpu_model": "Intel(R) Pentium(R) CPU J4205 @ 1.50GHz"}
    none = {"na": "no cpufreq for this CPU"}
    run = run_of(clock(2.6e9, advertised_hz=none, limit_hz=none), host=host)
    assert "1.5 GHz that its name states" in only(run).sentence
    assert insights(replace(run, host=HOST)) == ()


def sustained(*clocks: float, **detail: Any) -> SeriesRecord:
    samples = tuple(
        Sample(
            index,
            hz,
            {
                "start_ns": index * 10**9,
                "elapsed_ns": 10**9,
                "flags": [],
                "detail": {"lowest_hz": hz * 0.9, **{k: v[index] for k, v in detail.items()}},
            },
        )
        for index, hz in enumerate(clocks)
    )
    record = series(spec("cpu.sustained"), 1e9, unit="Hz", better="higher")
    process = ProcessRecord(0, {"threads": 4}, samples, complete=True)
    return replace(record, processes=(process,))


def test_a_clock_that_falls_under_load() -> None:
    clocks = [1.5e9] * 4 + [1.3e9] * 2 + [1.2e9] * 4
    run = run_of(
        sustained(*clocks, temperature=list(range(50, 80, 3)), throttle_events=[0] * 8 + [2, 3])
    )
    insight = only(run)
    assert "4 CPUs under load the clock falls from 1.5 GHz to 1.2 GHz (-20 %) in 10 s" in (
        insight.sentence
    )
    assert "from 50 to 77 degrees C" in insight.sentence
    assert "5 times" in insight.sentence
    assert insight.rows[0][-1] == "1.08 GHz"


def test_signals_health_15_a_clock_that_scatters_has_no_change() -> None:
    """A ratio of two ends takes ends that hold still."""
    insight = only(run_of(sustained(1.5e9, 1.1e9, 1.4e9, *[1.3e9] * 4, 1.2e9, 1.0e9, 1.4e9)))
    assert "varies between 1 GHz and 1.5 GHz" in insight.sentence
    assert "%" not in insight.sentence
    assert insight.rows[0][3] == "unstable"


def test_a_clock_that_holds() -> None:
    run = run_of(sustained(*[1.5e9] * 10, temperature=[{"na": "no thermal zone"}] * 10))
    sentence = only(run).sentence
    assert "stays at 1.5 GHz for the 10 s" in sentence
    assert "degrees" not in sentence


def test_a_short_run_or_a_broken_one_says_nothing() -> None:
    assert insights(run_of(sustained(1.5e9, 1.2e9))) == ()
    assert insights(run_of(sustained(*[0.0] * 10))) == ()


def test_nothing_measured_says_nothing() -> None:
    assert insights(run_of()) == ()


def test_a_board_that_lies_about_itself_does_no_harm() -> None:
    host = {"caches": [{"type": "Data", "line": "64"}, 7], "cpu_model": {"na": "?"}}
    lies: dict[str, Any] = {"advertised_hz": "fast", "limit_hz": True}
    run = run_of(*visits(BY_64), clock(1e9, **lies), host=host)
    assert "sysfs" not in only(run).sentence
    assert only(replace(run, host={"caches": "L1"})).sentence
