"""Metrics for Prometheus: read back by its own parser, behind the access rules, after each poll."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from prometheus_client import Metric, parser
from prometheus_client.openmetrics import parser as openmetrics_parser
from report_runs import demonstration_run, series, spec
from watch_boards import DAY, HOUR, PlayedBoard, PlayedClock, play
from web_client import Client

from benchvise.flows.metrics import LatestMetrics
from benchvise.health.model import WatchedKind
from benchvise.measure.model import RunStatus
from benchvise.measure.validity import summarise
from benchvise.report.openmetrics import FAMILIES, exposition
from benchvise.store import Store
from benchvise.store.results_file import TravellingRun
from benchvise.store.watches import LatestPoll, LatestValue, RaisedAlert

ATTACK = 'a"} 1\nevil_total{x="\\\u202e\x1b[2J'
BEGAN = 1_700_000_000.0
DASHBOARD = Path(__file__).parents[1] / "examples" / "grafana" / "benchvise-boards.json"


def openmetrics(text: str) -> list[Metric]:
    return list(openmetrics_parser.text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def text_format(text: str) -> list[Metric]:
    return list(parser.text_string_to_metric_families(text))


def by_name(families: list[Metric]) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {
        sample.name: [(s.labels, s.value) for f in families for s in f.samples
                      if s.name == sample.name]
        for family in families
        for sample in family.samples
    }  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A watched board with a sensor, a counter and an alert, and a measured one."""
    place = str(tmp_path / "store.db")
    board = PlayedBoard(
        PlayedClock(BEGAN), sensors={"SoC": lambda _: 71.5},
        lasting={"sda CRC errors": lambda now: (now - BEGAN) // HOUR}, boots=(BEGAN - DAY,),
    )  # fmt: skip
    measured = (series(spec("os.syscall", call="read"), 300),)
    with Store.open(place) as opened:
        play(board, opened, BEGAN + DAY, textfile=tmp_path / "watch.prom")
        for number, status in enumerate((RunStatus.COMPLETE, RunStatus.INTERRUPTED)):
            run = demonstration_run(
                id=f"{number:012d}", board="lab-1", series=measured, status=status
            )
            opened.take_in([TravellingRun(run)])
    return place


def test_the_parser_of_prometheus_reads_what_the_store_has(store: str, tmp_path: Path) -> None:
    with Store.open(store) as opened:
        latest = LatestMetrics()
        text = latest.text(opened)
        assert latest.text(opened) == text
        latest.write(opened, tmp_path / "benchvise.prom")
        run = opened.load("0" * 11 + "1")
    read = by_name(openmetrics(text))
    played = {"board": "ssh://played"}
    assert read["benchvise_board_sensor"] == [({**played, "sensor": "SoC", "unit": "°C"}, 71.5)]
    assert read["benchvise_board_counter_total"] == [({**played, "counter": "sda CRC errors"}, 24)]
    [(labels, at)] = read["benchvise_board_polled_timestamp_seconds"]
    assert labels == played and BEGAN < at <= BEGAN + DAY
    [(_, raised)] = read["benchvise_board_alerts"]
    assert raised == len(read.get("benchvise_board_alert_raised_timestamp_seconds", []))
    summary = summarise(run.series[0])
    labels = {"board": "lab-1", "series": "os.syscall:call=read", "unit": "ns"}
    assert read["benchvise_series_median"] == [({**labels, "better": "lower"}, summary.median)]
    assert read["benchvise_series_interval_low"] == [(labels, summary.low)]
    assert read["benchvise_series_interval_high"] == [(labels, summary.high)]
    # Each poll has written those of the boards that are watched.
    watched = by_name(text_format((tmp_path / "watch.prom").read_text()))
    assert watched == {name: of for name, of in read.items() if "series" not in name}
    # The collector of node_exporter reads the older format: the same samples, counters as such.
    older = text_format((tmp_path / "benchvise.prom").read_text())
    assert by_name(older) == read
    kinds = {family.name: family.type for family in older}
    assert kinds["benchvise_board_counter"] == "counter" and "unknown" not in kinds.values()


def test_hostile_names_stay_in_their_labels() -> None:
    names = (ATTACK, ATTACK + "\x00", "plain")
    values = tuple(LatestValue(name, kind, name, 1.0) for name in names for kind in WatchedKind)
    odd = tuple(
        LatestValue(f"x{n}", WatchedKind.COUNTER, "", n) for n in (-1.0, math.nan, math.inf)
    )
    poll = LatestPoll(ATTACK, BEGAN, values + odd, (RaisedAlert(ATTACK, ATTACK, BEGAN),))
    read = by_name(openmetrics(exposition([poll, poll], [])))
    assert not any(name.startswith("evil") for name in read)
    assert len(read["benchvise_board_sensor"]) == 3
    assert len(read["benchvise_board_counter_total"]) == 3, "those that no counter can be are not"
    assert (openmetrics(exposition([], []))) == []


def test_the_workbench_gives_them_to_those_who_may(store: str) -> None:
    answer = Client.of(store=store).get("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert "benchvise_series_median" in by_name(openmetrics(answer.text))
    # Of no loopback server: there, only requests of this user's programs would be looked at.
    guarded = Client.of(store=store, token="x" * 32, host="192.0.2.1")
    refused = guarded.get("/metrics")
    assert refused.status == 401 and "benchvise_series" not in refused.text
    assert guarded.get("/metrics", authorization=f"Bearer {'x' * 32}").text == answer.text


def test_the_dashboard_names_only_metrics_that_exist() -> None:
    known = {f.name + ("_total" if f.kind == "counter" else "") for f in FAMILIES}
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [v["definition"] for v in dashboard["templating"]["list"] if v["type"] == "query"]
    used = {name for query in queries for name in re.findall(r"benchvise_\w+", query)}
    assert used == known, "and shows each"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
