"""What goes into a report, and the page as text; a browser looks at it in test_report_page."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_runs import (
    HOST,
    NOT_A_BANDWIDTH,
    Noise,
    demonstration_run,
    other_run,
    series,
    spec,
    unavailable,
)

from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.measure.model import (
    ProcessRecord,
    RunRecord,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesStatus,
)
from benchvise.measure.validity import summarise
from benchvise.report.data import caches, report_data, run_data, run_facts, to_json
from benchvise.report.figures import figures
from benchvise.report.html import (
    SPREAD_WIDTH,
    Assets,
    load_assets,
    render_page,
    spread_bar,
    title,
    write_report,
)
from benchvise.report.sinks import embedded
from benchvise.text import Untrusted

ASSETS = Assets(script="/* script */", style="/* style */")
HOSTILE = "<script>alert(1)</script>&\"'\u202e\x1b[2J" + "x" * 10_000


def page(*runs: RunRecord) -> str:
    return render_page(report_data(runs), ASSETS)


@cache
def page_of_two() -> str:
    return page(demonstration_run(), other_run())


def stable(name: str = "memory.fill", **params: str) -> SeriesRecord:
    return series(spec(name, **params), 2e10, unit="B/s", better="higher", counted="written")


# -- facts -----------------------------------------------------------------------------------------


def test_facts_say_what_was_measured_and_how() -> None:
    facts = {fact.name: fact.text for fact in run_facts(demonstration_run())}
    assert facts["Model"] == "Radxa ROCK 5B"
    assert facts["Caches"] == "L1d 32 KiB, L2 512 KiB, L3 2 MiB"
    assert facts["Transparent huge pages"] == "madvise"
    assert facts["Sampling"] == "3 processes of 21 batches"
    assert facts["Took"] == "6 min 12 s"


def test_what_the_board_could_not_read_has_its_reason() -> None:
    run = demonstration_run(host={"governor": {"na": "no cpufreq"}, "cpu_model": {"na": "?"}})
    facts = {fact.name: fact for fact in run_facts(run)}
    assert facts["CPU governor"].text == "not known: no cpufreq"
    assert not facts["CPU governor"].known
    assert "Model" not in facts


@pytest.mark.parametrize(
    "reported",
    [None, "L1", [1, 2], [{"level": 1}], [{"level": True, "size": -1}], [{"size": 1 << 60}]],
)
def test_nonsense_caches_are_no_caches(reported: object) -> None:
    assert caches({"caches": reported}) == ()


# -- data ------------------------------------------------------------------------------------------


def test_the_document_is_strict_json_with_every_sample() -> None:
    document = json.loads(to_json(report_data([demonstration_run(), other_run()])))
    assert [run["name"] for run in document["runs"]] == ["vendor-5.10", "yocto-6.6"]
    first = document["runs"][0]["series"][0]
    assert first["key"] == "cpu.clock"
    assert len(first["samples"]) == first["summary"]["n"] == 63
    assert document["comparisons"][0]["counts"]["slower"] > 20


def test_run_data_is_plain_json() -> None:
    assert json.loads(json.dumps(encode(run_data(demonstration_run()))))["id"] == "4f2a91c07be3"


def test_samples_stand_in_the_order_of_measuring() -> None:
    one = series(spec("cpu.clock"), 1e9, unit="Hz", better="higher")
    shuffled = replace(one, processes=tuple(reversed(one.processes)))
    data = report_data([demonstration_run(series=(shuffled,))])
    assert [s.process for s in data.runs[0].series[0].samples] == [0] * 21 + [1] * 21 + [2] * 21


def test_a_series_without_finite_samples_is_unmeasured() -> None:
    broken = ProcessRecord(0, {}, (Sample(0, float("nan")),), complete=True)
    bad = replace(series(spec("cpu.clock"), 1e9), processes=(broken,))
    planned = replace(bad, processes=(), status=SeriesStatus.PLANNED)
    data = report_data([demonstration_run(series=(bad, planned))])
    assert [s.summary for s in data.runs[0].series] == [None, None]
    assert data.runs[0].series[0].reason == "a sample is not a finite number"
    assert "ended before" in data.runs[0].series[1].reason
    to_json(data)


def test_runs_of_one_label_are_told_apart() -> None:
    same = demonstration_run(id="aaaa00000000", series=())
    unlabelled = demonstration_run(id="bbbb00000000", label="", series=())
    names = [run.name for run in report_data([demonstration_run(series=()), same, unlabelled]).runs]
    assert names == ["vendor-5.10 4f2a91c07be3", "vendor-5.10 aaaa00000000", "bbbb00000000"]


# -- figures ---------------------------------------------------------------------------------------


def test_curves_of_one_run() -> None:
    bandwidth, latency = figures(report_data([demonstration_run()])).curves
    assert bandwidth.title == "Memory bandwidth over buffer size"
    assert [line.name for line in bandwidth.lines] == ["copy", "fill", "read", "copy untouched"]
    assert [line.caveat for line in bandwidth.lines] == [False, False, False, True]
    assert bandwidth.caveats == {NOT_A_BANDWIDTH: ["copy untouched"]}
    assert latency.title == "memory.latency over buffer size"
    assert latency.y_scale == "log"
    assert [line.name for line in latency.lines] == ["4 KiB pages", "huge pages"]


def test_curves_of_two_runs_lie_over_each_other() -> None:
    curves = figures(report_data([demonstration_run(), other_run()])).curves
    assert [curve.title for curve in curves][:4] == [
        "memory.copy over buffer size",
        "memory.fill over buffer size",
        "memory.read over buffer size",
        "memory.copy source=untouched over buffer size",
    ]
    assert all([line.name for line in c.lines] == ["vendor-5.10", "yocto-6.6"] for c in curves)
    assert curves[0].caches


def test_many_lines_become_a_chart_for_each_benchmark() -> None:
    measured = tuple(
        stable(name, size=size, kernel=kernel)
        for name in ("memory.fill", "memory.copy")
        for kernel in ("neon", "words", "zva", "ldm")
        for size in ("4K", "64K", "1M")
    )
    curves = figures(report_data([demonstration_run(series=measured)])).curves
    assert [curve.title for curve in curves] == [
        "memory.fill over buffer size",
        "memory.copy over buffer size",
    ]


def test_two_points_are_no_curve() -> None:
    measured = (stable(size="4K"), stable(size="64K"))
    assert figures(report_data([demonstration_run(series=measured)])).curves == ()


def test_a_grid_is_drawn_over_its_count_with_a_line_for_each_size() -> None:
    """Context-switch time over the number of processes, as in lat_ctx's plots."""
    grid = "os.context_switch_grid"
    cells = tuple(
        series(spec(grid, processes=str(count), size=size), 1500 + count, processes=1)
        for count in (2, 4, 8, 16)
        for size in ("0", "4K", "16K")
    )
    (curve,) = figures(report_data([demonstration_run(series=cells)])).curves
    assert (curve.x_kind, curve.x_name, curve.caches) == ("count", "processes", ())
    assert [point.x for point in curve.lines[0].points] == [2, 4, 8, 16]
    assert [line.name for line in curve.lines] == ["0", "4K", "16K"]


def test_what_varies_is_the_axis_whatever_else_is_there() -> None:
    sizes = tuple(
        series(spec("memory.triad", threads="4", size=size), 1e9, unit="B/s", better="higher")
        for size in ("1M", "4M", "16M")
    )
    (curve,) = figures(report_data([demonstration_run(series=sizes)])).curves
    assert (curve.x_kind, curve.x_name) == ("size", "buffer size")


def test_a_very_long_series_is_thinned_out_and_says_so() -> None:
    long = series(spec("cpu.clock"), 1e9, unit="Hz", better="higher", processes=1, batches=2500)
    data = report_data([demonstration_run(series=(long,))])
    (drawn,) = figures(data).samples
    assert (drawn.every, len(drawn.samples)) == (3, 834)
    assert "one of 3 of the 2500 samples is drawn" in render_page(data, ASSETS)


def test_spread_bars_share_an_axis_and_say_what_lies_outside() -> None:
    some = summarise(series(spec("cpu.clock"), 1e9, unit="Hz", better="higher"))
    bar = spread_bar(replace(some, median=100, minimum=80, maximum=105, low=99, high=101))
    assert bar is not None
    assert (bar.minimum, bar.maximum) == (0, SPREAD_WIDTH * 0.75)
    assert (bar.cut_left, bar.cut_right) == (True, False)
    assert spread_bar(replace(some, median=0)) is None


# -- the page --------------------------------------------------------------------------------------


def test_the_page_says_what_matters_without_a_script() -> None:
    text = page(demonstration_run())
    for expected in (
        "vendor-5.10 on ssh://root@bench-07",
        "Radxa ROCK 5B, Cortex-A76, Linux 5.10.110-rockchip",
        "memory.copy",
        "counted: copied",
        NOT_A_BANDWIDTH,
        "this CPU has no sibling thread",
        "two modes",
    ):
        assert expected in text
    assert "badge simulated" not in text


def test_the_median_of_an_unstable_series_is_marked() -> None:
    wild = series(spec("pipe.latency", place="free"), 8400,
                  noise=Noise(0.02, second_mode=2.7, second_share=0.4))  # fmt: skip
    row = page(demonstration_run(series=(wild,))).split('class="num strong"')[1].split("</td>")[0]
    assert "unstable" in row
    assert re.search(r"~.*\d.* ⚠", row)


def test_simulated_numbers_say_so_wherever_they_stand() -> None:
    text = page(demonstration_run(simulated=True))
    badge = "badge simulated"
    figure_captions = re.findall(r"<figcaption>.*?</figcaption>", text, re.S)
    captions = re.findall(r'<caption><span class="family">(?!Not).*?</caption>', text, re.S)
    assert figure_captions and captions
    assert all(badge in caption for caption in [*figure_captions, *captions])
    both = page(demonstration_run(), other_run(simulated=True))
    assert badge in both.split('id="comparison1"')[1].split("</caption>")[0]


def test_an_interrupted_run_says_so() -> None:
    text = page(
        demonstration_run(status=RunStatus.INTERRUPTED, reason=Untrusted("Ctrl-C"), series=())
    )
    assert re.search(r"This run is\s+interrupted: Ctrl-C", text)


def test_two_runs_are_compared_first() -> None:
    text = page_of_two()
    assert "yocto-6.6 against vendor-5.10" in text
    order = [text.index(f'id="{name}"') for name in ("comparison1", "curves", "results-0")]
    assert order == sorted(order)


def test_only_what_differs_is_set_side_by_side() -> None:
    text = page_of_two()
    table = text.split('<table class="runs">')[1].split("</table>")[0]
    assert "6.6.32-yocto-standard" in table
    assert "Cortex-A76" not in table


class Tags(HTMLParser):
    """Collects the tags of a page, and the text of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(data)


def hostile_page() -> str:
    nasty = unavailable(spec("memory.copy", source=HOSTILE), HOSTILE)
    shown = series(spec(f"memory.{HOSTILE}", size="4K"), 1e9, caveats=(HOSTILE,), counted=HOSTILE)
    run = demonstration_run(
        label=HOSTILE, board=HOSTILE, suite=HOSTILE, reason=HOSTILE, series=(nasty, shown),
        status=RunStatus.FAILED, host={**HOST, "kernel": HOSTILE, "hostname": HOSTILE},
    )  # fmt: skip
    return page(run, replace(run, id=HOSTILE))


def test_hostile_text_stays_text() -> None:
    text = hostile_page()
    tags = Tags()
    tags.feed(text)
    assert [t for t, _ in tags.tags].count("script") == 2
    assert not any(name.startswith("on") for _, attrs in tags.tags for name in attrs)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]", text)
    assert "x" * 700 not in text
    json.loads(tags.scripts[0])


def test_the_page_asks_for_nothing() -> None:
    tags = Tags()
    tags.feed(page_of_two())
    for tag, attributes in tags.tags:
        assert "src" not in attributes, tag
        assert (attributes.get("href") or "#").startswith(("#", "data:")), tag
    (policy,) = [a["content"] for _, a in tags.tags if "http-equiv" in a]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    tags = Tags()
    tags.feed(page(demonstration_run(), other_run(), other_run(id="c", label="third")))
    ids = [attributes["id"] for _, attributes in tags.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["href"] for tag, a in tags.tags if tag == "a"}
    assert links <= {f"#{identity}" for identity in ids}


def test_embedded_json_cannot_end_its_element() -> None:
    document = {"a": "</script><!-- & \u2028"}
    safe = embedded(document)
    assert not set("<>&\u2028") & set(safe)
    assert json.loads(safe) == document


def test_the_title_falls_back_to_what_there_is() -> None:
    unlabelled = demonstration_run(label="", series=())
    assert title(report_data([unlabelled])) == "standard on ssh://root@bench-07"
    third = other_run(id="c", label="third", series=())
    runs = [demonstration_run(series=()), other_run(series=()), third]
    assert title(report_data(runs)) == "2 runs against vendor-5.10"


# -- writing ---------------------------------------------------------------------------------------


@pytest.fixture
def assets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchvise.report.html.load_assets", lambda: ASSETS)


@pytest.mark.usefixtures("assets")
def test_a_report_is_a_page_and_its_data(tmp_path: Path) -> None:
    written = write_report([demonstration_run()], tmp_path / "new" / "report")
    assert written == tmp_path / "new" / "report" / "index.html"
    assert sorted(p.name for p in written.parent.iterdir()) == ["data.json", "index.html"]
    assert json.loads((written.parent / "data.json").read_text())["format"] == 1
    assert stat.S_IMODE(written.stat().st_mode) & 0o400


@pytest.mark.usefixtures("assets")
def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    first = write_report([demonstration_run()], tmp_path / "a").read_bytes()
    assert write_report([demonstration_run()], tmp_path / "b").read_bytes() == first


@pytest.mark.usefixtures("assets")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    with pytest.raises(BenchviseError, match=r"taken: the report cannot be written.*-o"):
        write_report([demonstration_run(series=())], taken)


@pytest.mark.usefixtures("assets")
def test_a_page_that_fails_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_report([demonstration_run(series=())], tmp_path).read_text()

    def full(_source: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BenchviseError, match="No space left"):
        write_report([demonstration_run()], tmp_path)
    assert (tmp_path / "index.html").read_text() == old
    assert len(list(tmp_path.iterdir())) == 2


def test_missing_assets_are_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(BenchviseError, match=r"report\.js cannot be read.*make"):
        load_assets(tmp_path)


def test_a_script_cannot_end_its_element(tmp_path: Path) -> None:
    (tmp_path / "report.js").write_text('const end = "</script>";')
    (tmp_path / "report.css").write_text("")
    assert "</script" not in load_assets(tmp_path).script


def test_a_report_needs_a_run() -> None:
    with pytest.raises(ValueError, match="at least one"):
        report_data([])
