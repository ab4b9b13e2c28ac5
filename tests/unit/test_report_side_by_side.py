"""Several runs in one table."""

from __future__ import annotations

import dataclasses

from report_runs import demonstration_run, other_run

from benchvise.flows.results import summaries
from benchvise.report.tables import side_by_side


def test_each_run_has_a_column_and_stands_to_the_first() -> None:
    runs = [
        dataclasses.replace(demonstration_run(), board="rig:arm64-1", simulated=True),
        dataclasses.replace(other_run(), board="ssh://pi"),
    ]
    table = side_by_side([(run, summaries(run)) for run in runs])
    assert [column.name for column in table.columns] == ["Series", "arm64-1", "ssh://pi"]
    assert table.simulated and "SIMULATED" in table.heading
    keys = {series.spec.key for run in runs for series in run.series}
    assert {row[0].text for row in table.rows} == keys
    by_key = {row[0].text: row[1:] for row in table.rows}
    found = [
        dict(zip((one.spec.key for one in run.series if one.values), summaries(run), strict=True))
        for run in runs
    ]
    compared = 0
    for key, first in found[0].items():
        assert ("⚠" in str(by_key[key][0].text)) is not first.stable
        second = found[1].get(key)
        if second is not None and first.stable and second.stable:
            ratio = second.median / first.median
            assert str(by_key[key][1].text).endswith(f"x{ratio:.3g}")
            compared += 1
    assert compared


def test_what_only_one_has_is_left_open_in_the_other() -> None:
    run = demonstration_run()
    fewer = dataclasses.replace(run, series=run.series[1:])
    table = side_by_side([(run, summaries(run)), (fewer, summaries(fewer))])
    row = next(r for r in table.rows if r[0].text == run.series[0].spec.key)
    assert row[2].tone == "muted"
