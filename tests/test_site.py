"""A static site of many boards: sound ranks, nothing private, hostile names, a real browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import skips
from browser import REPORT, SERIOUS, browse, missing
from in_process import benchvise
from report_runs import HOST, Noise, demonstration_run, other_run, series, spec, unavailable

from benchvise.measure.compare import SeriesVerdict, compare_runs
from benchvise.measure.model import Better, RunRecord, RunStatus
from benchvise.report.data import one_run
from benchvise.report.site import Site, SiteBuilder, SiteValue, page_name
from benchvise.store import Store
from benchvise.store.results_file import TravellingRun, write_results

ATTACK = '"><img src=x onerror="document.body.dataset.attacked=\'yes\'"></script><!--'


def board(name: str, value: float, better: Better = "lower", **changes: Any) -> RunRecord:
    measured = series(spec("os.syscall", call="read"), value, better=better, noise=Noise(0.002, 0),
                      seed=int(value))  # fmt: skip
    return demonstration_run(**{"board": name, "label": name, "series": (measured,)} | changes)


def site(*runs: RunRecord) -> Site:
    builder = SiteBuilder()
    for run in runs:
        builder.add(run.board, [one_run(run)])
    return builder.site("Boards", "2026-03-14T10:00:00+00:00", "0.1")


def only_values(made: Site) -> dict[str, SiteValue]:
    return {board.name: board.values[0] for board in made.boards}


def test_ranks_claim_no_more_than_intervals_show() -> None:
    for better, order in (("lower", (100, 100.05, 150, 300)), ("higher", (300, 299.9, 200, 100))):
        first, same, third, last = order
        noisy = series(spec("os.syscall", call="read"), 120, better=better,  # type: ignore[arg-type]
                       noise=Noise(0.2, 0.2))  # fmt: skip
        runs = [
            board("third", third, better),  # type: ignore[arg-type]
            board("first", first, better),  # type: ignore[arg-type]
            board("last", last, better),  # type: ignore[arg-type]
            board("same", same, better),  # type: ignore[arg-type]
            board("fast-simulated", 1 if better == "lower" else 9e9, better, simulated=True),  # type: ignore[arg-type]
            board("unstable", 120, series=(noisy,)),
            board("gap", 1, series=(unavailable(spec("os.syscall", call="read"), "no such call"),)),
        ]
        made = site(*runs)
        assert [metric.boards for metric in made.metrics] == [6]
        gap = next(b for b in made.boards if b.name == "gap")
        assert (gap.values, gap.gaps[0].na) == ((), "no such call")
        values = only_values(replace(made, boards=tuple(b for b in made.boards if b.values)))
        ranks = {name: value.rank for name, value in values.items()}
        assert ranks == {"first": 1, "same": 1, "third": 3, "last": 4, "fast-simulated": None,
                         "unstable": None}  # fmt: skip
        assert values["unstable"].unranked == "unstable"
        assert values["fast-simulated"].unranked == "from an emulated board"
        assert values["first"].tint == 5 and values["last"].tint == 1


def test_what_differs_is_no_common_metric() -> None:
    one = board("a", 100)
    made = [replace(one.series[0], unit="B/s"), replace(one.series[0], counted="two calls")]
    twin = spec("os.syscall", call="read")
    made.append(replace(one.series[0], spec=replace(twin, params=(*twin.params, ("turns", "2")))))
    found = site(one, *(replace(one, board=f"b{n}", series=(s,)) for n, s in enumerate(made)))
    assert len(found.metrics) == 4 and {metric.boards for metric in found.metrics} == {1}
    keys = ("size=4K", "size=64K", "size=1M", "size=4M", "size=1G")
    sized = [series(spec("memory.copy", size=key[5:]), 10) for key in reversed(keys)]
    metrics = site(replace(one, series=tuple(sized))).metrics
    assert [metric.key.partition(":")[2] for metric in metrics] == list(keys)


def test_pages_have_names_of_their_own() -> None:
    names = ["ssh://root@a", "ssh://root@A", "SSH-root-a", "../../x", "", "ä" * 300, "a/b", "a b"]
    pages = [page_name(name) for name in names]
    assert len(set(pages)) == len(names) and all(len(page) < 60 for page in pages)
    assert not any("/" in page or "." in page for page in pages)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A store with two boards, one measured twice, one run broken off."""
    desk = {**HOST, "hostname": "desk-9"}
    demo = {"series": tuple(s for s in demonstration_run().series if "4K" in s.spec.key)}
    runs = [
        board("ssh://alice@bench-07", 100, id="0" * 12, started="2026-03-14T01:00:00+00:00"),
        board("ssh://alice@bench-07", 200, id="1" * 12, started="2026-03-14T02:00:00+00:00"),
        board("ssh://alice@bench-07", 300, id="2" * 12, started="2026-03-14T03:00:00+00:00",
              status=RunStatus.INTERRUPTED),
        board("local", 400, id="3" * 12, host=desk, tags=("keep",)),
        demonstration_run(id="4" * 12, board="local", suite="memory", host=desk, **demo),
    ]  # fmt: skip
    with Store.open(str(tmp_path / "lab.db")) as store:
        store.take_in([TravellingRun(run) for run in runs])
    return tmp_path / "lab.db"


def written(directory: Path, *words: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the command says, and what ``site.json`` holds."""
    asked = [str(word) for word in words]
    said = benchvise("site", *asked, "-o", str(directory), "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)["data"], json.loads((directory / "site.json").read_text())


def test_of_each_board_and_suite_the_newest_complete_run(lab: Path, tmp_path: Path) -> None:
    said, content = written(tmp_path / "site", lab)
    assert (said["boards"], said["runs"]) == (2, 3)
    by_name = {each["name"]: each for each in content["boards"]}
    assert set(by_name) == {"local", "ssh://user-1@host-2"}
    assert [run["id"] for run in by_name["ssh://user-1@host-2"]["runs"]] == ["1" * 12]
    assert {run["suite"] for run in by_name["local"]["runs"]} == {"standard", "memory"}
    for each in content["boards"]:
        assert (tmp_path / "site" / "boards" / f"{each['id']}.html").is_file()
    # Nothing private in any file; with --private it is there, which shows that this test can fail.
    for words, private in ((), False), (("--private",), True):
        written(tmp_path / "site2", lab, *words)
        texts = [f.read_text() for f in (tmp_path / "site2").rglob("*.*") if f.suffix != ".js"]
        for secret in ("bench-07", "alice", "desk-9"):
            assert any(secret in text for text in texts) is private, secret
    said, content = written(tmp_path / "site3", lab, "--tag", "keep", "--title", "Kept")
    assert (said["runs"], content["title"]) == (1, "Kept")


def test_files_beside_stores(lab: Path, tmp_path: Path) -> None:
    file = tmp_path / "theirs.bvz"
    with file.open("wb") as stream:
        write_results(stream, [TravellingRun(board("local", 150, id="5" * 12))])
    _, content = written(tmp_path / "site", lab, file)
    names = [each["name"] for each in content["boards"]]
    # Their host-1, as the file was redacted, is not ours, and gets a name of its own.
    assert names == ["local (lab)", "local (theirs)", "ssh://user-1@host-3"]
    for words, line in (
        (("nowhere.db",), "nowhere.db is not there"),
        ((str(lab), "--tag", "no"), "no finished run to show with the tag no"),
    ):
        refused = benchvise("site", *words, "-o", str(tmp_path / "x"))
        assert refused.code == 2 and line in refused.err
        assert not (tmp_path / "nowhere.db").exists()


def made_site(directory: Path, runs: Sequence[RunRecord]) -> Path:
    from benchvise.report import site_pages

    builder = SiteBuilder()
    for run in runs:
        shown = one_run(run)
        site_pages.write_board(directory, builder.add(run.board, [shown]), [shown])
    made = builder.site(f"Lab {ATTACK}", "2026-03-14T10:00:00+00:00", "0.1")
    return site_pages.write_site(directory, made)


@skips.unless_missing(missing(REPORT))
def test_in_a_browser(tmp_path: Path) -> None:
    one, other = demonstration_run(board="a"), other_run(board="b")
    wanted = ("os.syscall", "memory.copy:size=4K", "memory.copy:size=1G", "pipe", "cpu.clock")
    few = [replace(r, series=tuple(s for s in r.series if s.spec.key.startswith(wanted)))
           for r in (one, other)]  # fmt: skip
    odd = spec("memory.copy", size="4K", source=ATTACK)
    hostile = demonstration_run(
        board=f"z {ATTACK}", label=ATTACK, simulated=True,
        host={**HOST, "board_model": ATTACK, "kernel": ATTACK},
        series=(series(odd, 5, counted=ATTACK), unavailable(spec("cpu.clock"), ATTACK)),
    )  # fmt: skip
    made_site(tmp_path, [*few, hostile])
    seen = browse("site.js", tmp_path, "--scheme", "dark", "--width", "390",
                  "--boards", "yocto", "--metrics", "syscall")  # fmt: skip
    assert seen["complaints"] == [] and seen["requests"] == []
    assert [v for v in seen["violations"] if v["impact"] in SERIOUS] == []
    assert max(seen["overflow"]) <= 0
    assert seen["attacked"] == "" and seen["board"] == "a" and seen["back"]
    assert len(seen["rows"]) == 3 and ATTACK in seen["rows"][2][0]
    assert [row[0][:1] for row in seen["filtered"]] == ["b"]
    assert len(seen["filtered"][0]) == 1 + 5
    assert seen["chosen"] == ["a", "b"]
    verdicts = {row[0].removesuffix(" ↓"): row[-1].partition(":")[0] for row in seen["changes"]}
    agreed = claimed = 0
    for known in compare_runs(few[0], few[1]).comparisons:
        told = verdicts.get(known.spec.key, "not measured by any")
        clear = {SeriesVerdict.FASTER, SeriesVerdict.SLOWER}
        if told in clear:  # never more than `benchvise compare` would claim
            assert told == known.verdict, known.spec.key
        claimed += known.verdict in clear
        agreed += known.verdict in clear and told == known.verdict
    assert agreed == claimed >= 4
