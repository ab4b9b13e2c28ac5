"""The notebooks of the guide: executed, and what they show is drawings and tables, whatever names.

The boards of the diagnosis are simulated (``benchmarks.why``): all that ``bv.why`` does with them
is real, from the log to the page. A diagnosis of real ones is ``tests/test_why_live.py``.
"""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from board_servers import needs_probe, opened
from notebooks import DIRECTORY, ShownCell, run_notebook
from report_runs import demonstration_run, other_run
from sshd import SshServer
from story_traces import story

import benchvise as bv
from benchmarks.why import classes
from benchmarks.why.bench import SimBench, open_boards
from benchvise.flows import why as flow
from benchvise.flows.why_sides import Sides
from benchvise.report.interval_chart import IntervalMark, interval_chart
from benchvise.state import journal
from benchvise.store import Store
from benchvise.store.results_file import TravellingRun

pytest_plugins = ["board_fixtures"]
NAMES = sorted(path.stem for path in DIRECTORY.glob("*.ipynb"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, and a directory of states, of the test's own."""
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def charts(cells: list[ShownCell]) -> list[ET.Element]:
    """The drawings that the cells show, as XML that a parser takes."""
    found = [svg for cell in cells for svg in re.findall(r"<svg.*?</svg>", cell.html, re.DOTALL)]
    return [ET.fromstring(svg) for svg in found]  # noqa: S314 - made by us


def texts(chart: ET.Element) -> str:
    return " ".join(chart.itertext())


def test_there_are_four_without_what_was_shown() -> None:
    assert NAMES == ["board", "comparison", "diagnosis", "trace"]
    for name in NAMES:
        document = json.loads((DIRECTORY / f"{name}.ipynb").read_text())
        assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
        cells = document["cells"]
        assert len({cell["id"] for cell in cells}) == len(cells)
        assert "".join(cells[0]["source"]).startswith("# ")
        for cell in cells:
            if cell["cell_type"] == "code":
                assert cell["outputs"] == [] and cell["execution_count"] is None


def test_a_trace(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, slow = story(place, 1.0)
    monkeypatch.setenv("TRACE", str(slow))
    cells = run_notebook("trace")
    shown = " ".join(cell.html for cell in cells)
    assert shown.count("<table>") >= 4 and "iperf3" in shown
    assert "█" in shown  # the load over time
    assert any("wake-ups, median" in cell.printed for cell in cells)
    rows = cells[-2].value.to_pylist()  # type: ignore[attr-defined]
    assert sum(row["switches"] for row in rows) == len(bv.open_trace(slow).events("sched_switch"))


def test_a_comparison(place: Path) -> None:
    hostile = "<script>alert(1)</script>"
    with Store.open(str(place / "results.db")) as store:
        base = demonstration_run(id="d" * 12, label="before")
        series = replace(base.series[0], spec=replace(base.series[0].spec, key=hostile))
        base = replace(base, series=(series, *base.series[1:]))
        store.take_in([TravellingRun(base), TravellingRun(other_run(id="e" * 12, label="after"))])
    cells = run_notebook("comparison")
    run_chart, change_chart = charts(cells)
    assert "before" in texts(run_chart) and hostile in texts(run_chart)
    assert all(hostile not in cell.html for cell in cells)
    compared = bv.compare("before", "after")
    for change in compared.changes[:3]:
        assert change.key[:30] in texts(change_chart)
    assert any("series are slower" in cell.printed for cell in cells)


@needs_probe
def test_a_board(place: Path, plain: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over SSH; a setting that no board has leads to the answer why not, and nothing is set."""
    monkeypatch.setenv("SETTING", "vm.zone_reclaim_mode=9")
    with opened(plain, monkeypatch) as reached:
        monkeypatch.setenv("BOARD", reached.name)
        cells = run_notebook("board")
    run_chart, change_chart = charts(cells)
    assert "os.syscall" in texts(run_chart) and "os.futex" in texts(change_chart)
    assert "settings, as" in cells[0].printed
    assert any("vm.zone_reclaim_mode" in cell.printed for cell in cells)


def test_a_diagnosis(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = classes.draw(classes.kind_of("one"), 2)

    def simulated(_sides: Sides, _stack: ExitStack, _store: object, _rig: object) -> SimBench:
        return SimBench(scenario, open_boards(scenario))

    monkeypatch.setattr(flow, "open_bench", simulated)
    cells = run_notebook("diagnosis")
    (chart,) = charts(cells)
    assert "Share of the gap" in texts(chart) and "%" in texts(chart)
    assert "explained" in cells[0].html and "of the gap" in cells[1].printed
    with Store.open(str(place / "results.db")) as store:
        assert store.diagnoses(None)


def test_a_chart() -> None:
    assert interval_chart("none", [], middle=0.0) == ""
    nowhere = IntervalMark("x", float("nan"), 0.0, 1.0, "")
    assert interval_chart("none", [nowhere], middle=0.0) == ""
    marks = [
        IntervalMark("equal", 0.0, -0.01, 0.01, "+0 %"),
        IntervalMark("<b>&" + "x" * 99, 5.0, 4.0, 6.0, "+500 %", "bad"),
    ]
    chart = ET.fromstring(interval_chart("two & two", marks, middle=0.0))  # noqa: S314
    circles = [one for one in chart.iter() if one.tag.endswith("circle")]
    middle = next(float(one.attrib["x1"]) for one in chart.iter() if one.tag.endswith("line"))
    assert [float(one.attrib["cx"]) for one in circles] == [middle, middle + 150 * 5 / 6]
    edge = ET.fromstring(interval_chart("t", marks, middle=0.0, reach=0.1))  # noqa: S314
    (_, beyond) = (float(o.attrib["cx"]) for o in edge.iter() if o.tag.endswith("circle"))
    assert beyond == middle + 150
