"""The published schemas, held against what the commands print."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchvise.cli.json_kinds import document_schema, json_kinds
from benchvise.cli.main import run
from benchvise.documents import encode
from benchvise.errors import BoardUnreachable
from benchvise.flows.health import WatchOutcome
from benchvise.health.judging import judge
from benchvise.health.model import BoardCounter, Disk, HealthReading, LogMark, LogReading, Sensor
from benchvise.kernel_log import LogEvents
from benchvise.state.diff import diff_snapshots
from benchvise.state.model import Missing, Snapshot, StateEntry
from benchvise.state.restore import RestoredSession, RestoredSetting, RestoreVerdict
from benchvise.state.restore import RestoreOutcome as RestoreOutcome
from benchvise.text import Untrusted

KINDS = json_kinds()
SOURCE = Path(__file__).parents[2] / "src" / "benchvise" / "cli"

# Kinds whose documents are not typed as a whole yet.
UNTYPED = {
    *("why-plan", "why"),
    *("recording", "serve", "watch-history", "soak", "rig-status", "rig-boot", "rig-console"),
    *("rig-image", "rig-compose", "rig-virtual", "rig-virtual-fault", "rig-virtual-image"),
}


def check(kind: str, data: object) -> None:
    document = {"benchvise": "1", "kind": kind, "data": encode(data)}
    jsonschema.validate(json.loads(json.dumps(document)), document_schema(kind, KINDS[kind]))


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


def test_every_kind_is_described_or_known_not_to_be() -> None:
    printed = {
        kind
        for path in SOURCE.glob("*.py")
        if not path.name.startswith(("trace", "signal"))
        for kind in re.findall(r'print_json\(\s*"([a-z-]+)"', path.read_text())
    }
    assert printed <= set(KINDS) | UNTYPED
    assert not set(KINDS) & UNTYPED


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_one(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(document_schema(kind, KINDS[kind]))


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
    jsonschema.validate(document, document_schema(kind, KINDS[kind]))
