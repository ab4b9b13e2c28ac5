"""The published schemas, held against what the commands print."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import pytest
from families import every

from benchvise.cli.json_kinds import document_schema, json_kinds
from benchvise.cli.main import run
from benchvise.cli.rig import RecordedConsole
from benchvise.cli.rig_virtual import CardImagePath, InjectedFault, StoppedBench
from benchvise.cli.serve import ServedAddress
from benchvise.documents import encode
from benchvise.errors import BoardUnreachable
from benchvise.flows.health import WatchOutcome
from benchvise.health.judging import judge
from benchvise.health.model import (
    BoardCounter,
    Disk,
    HealthReading,
    LogMark,
    LogReading,
    Sensor,
    WatchedKind,
    WatchEvent,
)
from benchvise.health.watch.history import History, WatchedMetric, WatchSpan
from benchvise.health.watch.tracker import SensorRange, WatchedChange
from benchvise.kernel_log import LogEvents
from benchvise.report.health_tables import watch_history_data
from benchvise.rig.boot.verdict import BootError, BootReport
from benchvise.rig.card.image import ImageOrigin
from benchvise.rig.faults import Fault
from benchvise.rig.hold.actions import BoardOutcome, BoardResult, FailedBoard, outcome_document
from benchvise.rig.hold.messages import (
    BoardHolder,
    BoardStatus,
    BootedBoard,
    CardSide,
    FlashedCard,
    NotReadable,
    PowerState,
)
from benchvise.rig.soak.soak import RigFault, SoakBoot, SoakResult, soak_document
from benchvise.rig.virtual.standard_bench import RunningBench, bench_document
from benchvise.state.diff import diff_snapshots
from benchvise.state.model import Missing, Snapshot, StateEntry
from benchvise.state.restore import RestoredSession, RestoredSetting, RestoreVerdict
from benchvise.state.restore import RestoreOutcome as RestoreOutcome
from benchvise.text import Untrusted
from benchvise.trace.event_listing import EventListing, ListedEvent
from benchvise.trace.recording import Recorded
from benchvise.why.model import Finding, Grade, Layer, Side, Suspect
from benchvise.why.plan import DiagnosisPlan, Effort, PlannedFlip

T = TypeVar("T")
KINDS = json_kinds()
SOURCE = Path(__file__).parents[2] / "src" / "benchvise" / "cli"


@cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    """Of documents of that kind. That its schema is one is a test of its own."""
    return jsonschema.Draft202012Validator(document_schema(kind, KINDS[kind]))


def check(kind: str, data: object) -> None:
    document = {"benchvise": "1", "kind": kind, "data": encode(data)}
    validator(kind).validate(json.loads(json.dumps(document)))


def snapshot(value: object) -> Snapshot:
    return Snapshot(
        "ssh://a", "2024-01-01T00:00:00Z", "boot", "root",
        (
            StateEntry("cpu.governor", "policy0", value, "raw", path="/sys/x"),
            StateEntry(
                "memory.thp", "mode", missing=Missing.UNREADABLE, reason=Untrusted("EACCES")
            ),
            StateEntry("no.such", "key", None),
        ),
        (StateEntry("system.load", "processes", 3),),
        roles={"root_disk": "sda"},
    )  # fmt: skip


def test_every_kind_that_is_printed_is_described() -> None:
    printed = {
        kind
        for path in SOURCE.glob("*.py")
        if not path.name.startswith(("trace", "signal"))
        for kind in re.findall(r'print_json\(\s*"([a-z-]+)"', path.read_text())
    }
    assert printed <= set(KINDS)


@every("kind", KINDS)
def test_every_schema_is_one(kind: str) -> None:
    described = validator(kind)
    described.check_schema(described.schema)
    assert not described.is_valid({})


def test_states() -> None:
    a, b = snapshot("performance"), snapshot({"min": 5})
    check("snapshot", a)
    check("state-diff", diff_snapshots(a, b))
    with pytest.raises(jsonschema.ValidationError):
        check("snapshot", {**encode(a), "board": 5})


def test_health() -> None:
    events = LogEvents.of("[    1.0] ata1: SATA link down\n[    2.0] mmc0: error -110 whilst x\n")
    reading = HealthReading(
        "ssh://a", "2024-01-01T00:00:00Z", "boot", None, "root",
        LogReading(events.events, 2, "probe", mark=LogMark("boot", 2.0, 1)),
        (BoardCounter("net-crc", "network", "eth0", "", 3.0),),
        (Sensor("cpu", "temp1", "CPU", "temperature", 50.0, "°C", {"crit": 90.0}),),
        (Disk("sda", "model", passed=False, values={"x": 1.0}),),
        ("cooling device 0",), {"under-voltage": True}, {"disks": "no smartctl"},
    )  # fmt: skip
    check("health", judge(reading))


def test_watches_and_what_is_restored() -> None:
    outcome = WatchOutcome("ssh://a", polls=3, watched=2.0, cpu=0.1, error=BoardUnreachable("gone"))
    check("watch", [outcome, WatchOutcome("ssh://b")])
    assert list(encode(outcome)) == [
        *("board", "looks", "watched_s", "events", "alerts", "raised", "contact_lost", "cpu_s"),
        *("cost", "longest_look_s", "error"),
    ]
    setting = RestoredSetting("k", "/p", "1", None, None, next(iter(RestoreVerdict)), "")
    session = RestoredSession("b", "t", "/j", next(iter(RestoreOutcome)), "", "", (setting,))
    check("restore", [session])


def test_boards_of_a_rig() -> None:
    status = BoardStatus("a", BoardHolder(7, "benchvise run"), "on", NotReadable("no answer"))
    report = BootReport(None, "it reached 'shell'", Untrusted(""), {"power-on": 0.0}, "/log")
    origin = ImageOrigin("x.wic", "00", "none", None, None, {})
    check("rig-status", documents(BoardOutcome("a", status)))
    check("rig-power", documents(BoardOutcome("a", PowerState("on"))))
    check("rig-mux", documents(BoardOutcome("a", CardSide(None))))
    check(
        "rig-flash",
        documents(BoardOutcome("a", FlashedCard(1, 1, 1, "00", 1.0, 1.0, True, origin))),
    )
    failed = BootError(Fault.HANG, "it hangs", report=replace(report, fault=Fault.HANG))
    booted = documents(BoardOutcome("a", BootedBoard(report)), BoardOutcome("b", error=failed))
    check("rig-boot", booted)
    assert list(encode(booted[0]))[:2] == ["board", "report"]
    assert encode(booted[1])["error"]["fault"] == "hang"
    check("rig-console", RecordedConsole("a", Path("/log")))


def documents(*outcomes: BoardOutcome[T]) -> list[BoardResult[T] | FailedBoard]:
    return [outcome_document(outcome) for outcome in outcomes]


def test_soaks_and_simulated_boards() -> None:
    good, bad = SoakBoot(1, phases={"shell": 2.0}), SoakBoot(2, "hang", "it hangs")
    result = SoakResult(
        "a", 3, (good, bad), (RigFault(3, "power", "no relay"),), about={"seed": "1"}
    )
    check("soak", soak_document(result))
    check("soak", soak_document(SoakResult("a", 1, ())))
    for stopped in (
        StoppedBench(),
        bench_document(RunningBench(Path("/b"), Path("/b/rig.yaml"), ())),
    ):
        check("rig-virtual", stopped)
    check("rig-virtual-fault", InjectedFault("a", "relay-stuck", "1"))
    check("rig-virtual-image", CardImagePath("arm64-1", "a", Path("/x.wic")))


def test_recordings_and_the_workbench() -> None:
    event = ListedEvent(5, None, "sh", 7, "irq_handler_entry", "irq=9 name=eth0")
    check("trace-events", EventListing("t.dat", (), (event,), complete=True))
    check("recording", Recorded(Path("f.dat"), {"absent": ["napi"]}, {"events": 10, "lost": 2}))
    check("serve", ServedAddress("http://127.0.0.1:8765"))


def test_a_history() -> None:
    span = WatchSpan(0.0, 60.0, 2, 60.0, "boot", "stopped", 0.1)
    changes = (
        WatchedChange("crc", 0.0, 60.0, 3.0, None),
        WatchedChange("crc", 60.0, 90.0, 5.0, 2.0),
    )
    crc = WatchedMetric("crc", WatchedKind.COUNTER, "", changes)
    heat = WatchedMetric(
        "SoC", WatchedKind.SENSOR, "°C", ranges=(SensorRange(0, 60, 2, 40, 50, 90),)
    )
    event = WatchEvent("file system", "remounted", 10.0, 10.0, 1, "failing")
    history = History("a", False, 0.0, 1e9, (span,), (crc, heat), (event,), (("hot", "SoC", 5.0),))
    check("watch-history", [watch_history_data(history, by) for by in ("day", "week")])
    assert encode(watch_history_data(history, "day"))["events"][0]["first"].startswith(
        "1970-01-01T"
    )


def test_what_a_diagnosis_would_do() -> None:
    suspect = Suspect("memory.thp", "huge pages", Layer.RUN_TIME, "memory.thp", "always", "never")
    plan = DiagnosisPlan(
        "memory.copy", "a", "b", (Finding("load", Grade.WARNS, "busy"),), (suspect,),
        {"net.mac": "it cannot matter"},
        (PlannedFlip(Side.BAD, "memory.thp", "memory.thp", "/sys/x", "always"),),
        Effort(3, 18, 0, 40.25), (suspect,), Effort(5, 30, 4, 900.0),
    )  # fmt: skip
    check("why-plan", plan)
    assert list(encode(plan)) == [
        *("metric", "good", "bad", "findings", "suspects", "excluded", "flips"),
        *("experiments", "trials", "boots", "seconds", "layers", "effort_layers"),
    ]
    with pytest.raises(jsonschema.ValidationError):
        check("why-plan", {**encode(plan), "flips": [{"side": "neither"}]})


@pytest.fixture
def store(tmp_path: Path) -> str:
    script = Path(__file__).parents[1] / "data" / "store-of-six-migrations.sql"
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.executescript(script.read_text())
    return str(tmp_path / "store.db")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("run-list", ["runs"]),
        ("diagnosis-list", ["runs", "--diagnoses"]),
        ("run", ["show", "old"]),
        ("comparison", ["compare", "old", "old"]),
        ("run-said", ["tag", "old", "nightly"]),
        ("report", ["report", "old", "-o", "page"]),
        ("benchmarks", ["bench", "list"]),
        ("benchmark", ["bench", "show", "memory.copy"]),
        ("plan", ["run", "--bench", "memory.copy", "--plan"]),
        ("completion", ["completion", "bash"]),
        ("configuration", ["config"]),
        ("help", ["help", "bench", "show"]),
        ("knob", ["knobs", "show", "thp", "--board", "local"]),
        ("knobs", ["knobs", "list", "swappiness"]),
        ("names", ["find", "thp"]),
        ("next", ["next"]),
        ("schemas", ["schema"]),
        ("suite", ["suites", "show", "quick"]),
        ("suites", ["suites"]),
    ],
)
def test_commands(
    kind: str,
    words: list[str],
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHVISE_STORE", store)
    run([*words, "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["kind"] == kind
    validator(kind).validate(document)


def test_a_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "comparison"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(document_schema("comparison", KINDS["comparison"])))
    assert run(["schema"]) == 0
    assert capsys.readouterr().out.split() == sorted(KINDS)
    assert run(["schema", "comparisson"]) == 2
    assert "did you mean comparison" in capsys.readouterr().err
