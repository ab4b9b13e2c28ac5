"""The workbench's own pages in a real browser: with nothing, with much, and with bad names."""

from __future__ import annotations

from pathlib import Path

import skips
from browser import missing
from browser_pages import assert_fine, look
from report_runs import demonstration_run
from story_traces import record, write
from web_server import serving
from web_store import keep_run

from benchvise.web.file_index import key_of

pytestmark = skips.unless_missing(missing())

PAGES = ("/", "/boards", "/lab", "/progress", "/traces", "/boards/local", "/doctor", "/nothing")
ATTACK = "<img src=x onerror=\"document.body.dataset.attacked='yes'\">" + "\u202eabc" + "w" * 3000


def test_empty_pages_say_what_would_be_there(tmp_path: Path) -> None:
    with serving(tmp_path / "store.db") as server:
        seen = look(server, *PAGES, options=("--axe",))
    for page in seen.values():
        assert_fine(page)
    assert "No run yet" in seen["/"]["text"] and "benchvise run" in seen["/"]["text"]
    assert "No trace yet" in seen["/traces"]["text"]
    assert "No board yet" in seen["/boards"]["text"]
    assert "There is no such page" in seen["/nothing"]["text"]


def test_full_pages_can_be_read_in_the_dark_and_on_a_small_screen(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    for number in range(12):
        (traces / f"{number}.dat").write_bytes(b"\x17\x08\x44tracing6\0" + b"\0" * 100)
    store = tmp_path / "store.db"
    run = keep_run(str(store), demonstration_run(series=()), board="local")
    keep_run(str(store), demonstration_run(series=()), board=ATTACK, label=ATTACK[:200])
    options = ("--axe", "--scheme", "dark", "--width", "420")
    with serving(store, "--traces", traces) as server:
        seen = look(server, *PAGES, options=options)
    for page in seen.values():
        assert_fine(page)
    assert f"/runs/{run}" in seen["/"]["links"] and f"/runs/{run}" in seen["/boards/local"]["links"]
    assert "<img" in seen["/"]["text"], "a name is shown as it is, and does nothing"
    assert "3.dat" in seen["/traces"]["text"]


def test_names_from_outside_do_nothing_on_any_page(tmp_path: Path) -> None:
    """A board, a run and a trace, all of whose names are attacks."""
    recorded = record(0.4, printing=True, seed=3)
    for cpu in recorded.cpus:
        cpu.events = [
            (time, event, tuple(ATTACK if one in ("iperf3", "eth0") else one for one in values))
            for time, event, values in cpu.events
        ]
    trace = write(recorded, tmp_path / "traces" / "<b>hostile<_b>")
    key = key_of(trace)
    store = tmp_path / "store.db"
    run = keep_run(str(store), demonstration_run(series=()), board=ATTACK, label=ATTACK[:200])
    tabs = ("statistics", "load", "log", "latency", "sql")
    pages = [
        *("/runs", f"/runs/{run}", "/history", "/diagnoses", "/captures", "/health", "/traces"),
        *(f"/traces/{key}?tab={tab}" for tab in tabs),
    ]
    with serving(store, "--traces", tmp_path / "traces") as server:
        seen = look(server, *pages, options=("--settle", "1500"))
    for page in seen.values():
        assert page["attacked"] == "" and page["complaints"] == [] and page["requests"] == []
        assert page["overflow"] <= 0, page["path"]
    assert "<img" in seen[f"/traces/{key}?tab=statistics"]["text"]
