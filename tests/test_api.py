"""``import benchvise as bv``: its answers are those of the commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import benchvise
from report_runs import demonstration_run, other_run
from trace_data import trace
from why_documents import explained

import benchvise as bv
from benchvise.api.records import Records
from benchvise.api.traces import _of_one_trace
from benchvise.documents import decode
from benchvise.errors import BenchviseError, UsageError
from benchvise.flows import why as flow
from benchvise.store import Store
from benchvise.store.results_file import TravellingRun
from benchvise.why.model import Diagnosis


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with two runs."""
    place = str(tmp_path / "results.db")
    monkeypatch.setenv("BENCHVISE_STORE", place)
    with Store.open(place) as store:
        store.take_in([TravellingRun(demonstration_run()), TravellingRun(other_run())])
    return place


def printed(*words: str | Path) -> object:
    ran = benchvise(*words, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["data"]


def as_json(value: object) -> object:
    return json.loads(json.dumps(value))


def as_json_object(value: object) -> dict[str, object]:
    answer = as_json(value)
    assert isinstance(answer, dict)
    return answer


def test_stored_runs(url: str) -> None:
    store = bv.open_store(url)
    assert as_json(store.runs().rows()) == printed("runs")
    assert [run.label for run in store.runs(board="ssh://root@bench-07", limit=1)] == ["yocto-6.6"]
    run = store.run("vendor-5.10")
    assert as_json(run.document) == printed("show", "vendor-5.10")
    assert len(run.samples) == sum(len(series.samples) for series in run.data.series)
    assert {row["key"] for row in run.series.rows()} == {s.key for s in run.data.series}
    assert run.snapshot() is None
    with pytest.raises(UsageError, match="no run"):
        store.run("nothing")


def test_comparisons(url: str) -> None:
    wanted = printed("compare", "vendor-5.10", "yocto-6.6")
    compared = bv.compare("vendor-5.10", "yocto-6.6", store=url)
    assert as_json(compared.document) == wanted
    with bv.open_store(url) as store:
        again = bv.compare(store.run("vendor-5.10"), store.run("yocto-6.6"))
    assert as_json(again.document["changes"]) == as_json(compared.document["changes"])
    text = benchvise("compare", "vendor-5.10", "yocto-6.6", "--format", "junit").out
    assert compared.to("junit") == text
    with pytest.raises(UsageError, match="no format"):
        compared.to("pdf")


def test_rows_become_tables(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = bv.open_store(url).run("vendor-5.10").samples
    table = samples.to_arrow()
    assert table.num_rows == len(samples) and table.column("value")[0].as_py() == samples[0].value
    assert samples[:2].rows() == samples.rows()[:2]
    assert samples.to_polars().to_arrow().to_pylist() == table.to_pylist()
    frame = samples.to_pandas()
    assert frame["value"].tolist() == table.column("value").to_pylist()
    assert set(frame.groupby("series").groups) == {sample.series for sample in samples}
    for name, convert in (("pandas", samples.to_pandas), ("polars", samples.to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(UsageError, match=f"{name} is not installed"):
            convert()


def test_notebooks_show_text_as_text(url: str) -> None:
    with Store.open(url) as store:
        hostile = demonstration_run(
            id="c" * 12, label="<script>alert(1)</script>\x1b[2J", series=()
        )
        store.take_in([TravellingRun(hostile)])
    html = bv.open_store(url).runs()._repr_html_()
    assert "&lt;script&gt;" in html and "<script" not in html and "\x1b" not in html
    shown = bv.open_store(url).run("yocto-6.6")._repr_html_()
    assert shown.startswith("<svg ") and "<table>" in shown
    hostile_run = bv.open_store(url).run("c" * 12)._repr_html_()
    assert "&lt;script&gt;" in hostile_run and "<script" not in hostile_run
    assert "nothing" in Records[int](())._repr_html_()


@pytest.fixture(scope="module")
def recording() -> Path:
    return trace("f100k")


def test_events_and_sql(recording: Path) -> None:
    opened = bv.open_trace(recording)
    switches = opened.events("sched_switch")
    assert switches.num_rows == opened.event_counts["sched_switch"] > 0
    query = "SELECT cpu, count(*) AS n FROM sched_switch GROUP BY cpu ORDER BY cpu"
    answer = opened.sql(query)
    wanted = printed("trace", "query", recording, query)
    assert isinstance(wanted, dict)
    assert [list(row.values()) for row in answer.to_pylist()] == wanted["rows"]
    assert answer.column_names == [column["name"] for column in wanted["columns"]]
    with pytest.raises(UsageError, match="did you mean"):
        opened.events("sched_swich")
    with pytest.raises(BenchviseError):
        opened.sql("SELECT * FROM nowhere")


def test_analyses_answer_as_their_commands(recording: Path) -> None:
    opened = bv.open_trace(recording)
    for name in ("wakeups", "sched", "stats", "info"):
        wanted = printed("trace", name, recording)
        assert as_json(getattr(opened, name)().document) == wanted, name
    wakeups = opened.wakeups(by_name=True)
    assert as_json(wakeups.document) == printed("trace", "wakeups", recording, "--by-name")
    assert wakeups.to_csv() == benchvise("trace", "wakeups", recording, "--by-name", "--csv").out
    assert wakeups.to_markdown().startswith("### ")
    assert len(wakeups.rows) > 0
    assert "critical_path" in dir(opened) and "compare" not in _of_one_trace()
    with pytest.raises(UsageError, match="no option"):
        opened.wakeups(colour="red")
    with pytest.raises(UsageError, match="no analysis"):
        opened.analyse("nothing")
    with pytest.raises(AttributeError):
        _ = opened.nothing


def test_a_trace_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no trace"):
        bv.open_trace("/nowhere/t.dat")


def test_a_board(url: str) -> None:
    board = bv.Board("local", store=url)
    run = board.run(bench="os.syscall", processes=1, batches=3, snapshots=False, label="mine")
    assert run.record.label == "mine" and run.series[0].n == 3
    assert as_json(run.document) == printed("show", "mine")
    assert board.snapshot().board == "local"
    with pytest.raises(UsageError):
        board.run(bench="no.such")


def test_names_are_imported_when_they_are_used() -> None:
    code = """if True:
        import sys
        import benchvise as bv
        assert not [name for name in sys.modules if name.startswith("benchvise.")
                    and name != "benchvise._version"]
        assert {"Board", "compare", "open_store", "open_trace"} < set(dir(bv))
        bv.open_store
        assert "pyarrow" not in sys.modules and "duckdb" not in sys.modules
        try:
            bv.nothing
        except AttributeError:
            pass
        else:
            raise SystemExit("it has every name")
        sys.modules["numpy"] = None
        try:
            bv.open_trace
        except ImportError as error:
            assert "benchvise[trace]" in str(error), error
        else:
            raise SystemExit("it needs no NumPy")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_of_the_guide_runs(
    url: str, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it but what needs a board of one's own."""
    page = Path(__file__).parents[1] / "docs" / "how-to" / "python.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    with Store.open(url) as store:
        store.take_in(
            [
                TravellingRun(demonstration_run(id="d" * 12, label="before")),
                TravellingRun(other_run(id="e" * 12, label="after")),
            ]
        )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.dat").symlink_to(recording)
    names: dict[str, object] = {}
    ran = [block for block in blocks if "ssh://" not in block]
    assert len(ran) >= 3
    for block in ran:
        exec(compile(block, str(page), "exec"), names)  # noqa: S102


def test_a_diagnosis(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked as the command asks, and what is answered is what the command prints."""
    asked: list[tuple[flow.WhyRequest, str | None, Path | None, bool]] = []

    def diagnosed(
        request: flow.WhyRequest,
        store: str | None,
        observe: object,
        *,
        directory: Path | None = None,
        resume: bool = False,
    ) -> flow.DiagnosisAnswer:
        asked.append((request, store, directory, resume))
        diagnosis = decode(Diagnosis, explained())
        return flow.DiagnosisAnswer(diagnosis, directory or tmp_path, "d" * 12)

    monkeypatch.setattr(flow, "why", diagnosed)
    answer = bv.why("ssh://good", "root@bad.lab", command="true", budget=3, seed=7, allow="all")
    request, store, directory, resume = asked[0]
    assert request.command_line() == (
        "benchvise why ssh://good ssh://root@bad.lab --command true --budget 3 --allow all --seed 7"
    )
    assert (store, directory, resume) == (url, None, False)
    assert as_json(answer.document) == {
        **as_json_object(explained()), "id": "d" * 12, "evidence": str(tmp_path)
    }  # fmt: skip
    assert (answer.verdict, answer.exit_code, answer.restored) == ("explained", 0, True)
    assert answer.causes.rows() == answer.document["causes"]
    assert answer.to_markdown().startswith("### memory.thp, set by") and "<html" in answer.to_html()
    assert "<th style='text-align:left'>cause</th>" in answer._repr_html_() and "explained" in repr(
        answer
    )
    bv.why(bv.open_store(url).run("yocto-6.6"), "local", bench="memory.copy", directory=tmp_path)
    assert asked[1][0].sides.good == bv.open_store(url).run("yocto-6.6").id
    for wrong in (
        {"good": "a", "bench": "memory.copy"},
        {"good": "a", "bad": "b"},
        {"good": "a", "bad": "b", "bench": "memory.copy", "unit": "ms"},
        {"good": "a", "bad": "b", "bench": "memory.copy", "allow": "no.such"},
        {"good": "a", "resume": tmp_path},
        {"resume": tmp_path},
    ):
        with pytest.raises(UsageError):
            bv.why(**wrong)
    assert len(asked) == 2


def test_the_function_is_there_whoever_imports_the_package_first() -> None:
    code = "import benchvise.why.model as m, benchvise as bv; assert callable(bv.why) and m.Cause"
    subprocess.run([sys.executable, "-c", code], check=True)
