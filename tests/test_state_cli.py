"""`benchvise snapshot` and `benchvise diff` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from board_servers import needs_probe
from state_boards import PC, PC_LINKS, PI, PI_LINKS, answers, snapshot

from benchvise.cli.main import run
from benchvise.documents import encode
from benchvise.flows import state as flow
from benchvise.state.model import snapshot_of

pytest_plugins = ["board_fixtures"]


@dataclass(frozen=True)
class Said:
    """What a command printed."""

    stdout: str
    stderr: str


Cli = Callable[..., Said]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The program without a process of its own: starting one costs more than most of these do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))

    def call(*words: str, expect: int = 0) -> Said:
        capsys.readouterr()
        code = run(list(words))
        said = Said(*capsys.readouterr())
        assert code == expect, said
        return said

    return call


@pytest.fixture
def boards(tmp_path: Path) -> None:
    """The snapshots of two boards as files."""
    flow.write(snapshot(answers(PI, PI_LINKS)), tmp_path / "pi.json")
    flow.write(snapshot(answers(PC, PC_LINKS)), tmp_path / "pc.json")


def data(result: Said, kind: str) -> Any:
    document = json.loads(result.stdout)
    assert document["kind"] == kind and document["benchvise"]
    return document["data"]


@needs_probe
def test_a_snapshot_is_shown_kept_and_compared(cli: Cli, tmp_path: Path) -> None:
    shown = cli("snapshot", "local", "-o", "mine.json").stdout
    assert "in all" in shown and "digest" in shown and "Kept in mine.json" in shown
    kept = flow.read(tmp_path / "mine.json")
    assert kept.board == "local" and len(kept.settings) > 200
    assert [path.name for path in tmp_path.glob("*mine*")] == ["mine.json"]
    result = data(cli("diff", "mine.json", "local", "--json"), "state-diff")
    assert result["same"] > 200 and result["a"]["digest"] == kept.digest
    assert "settings are the same" in cli("diff", "mine.json", "mine.json", "--all").stdout


@needs_probe
def test_json_is_the_snapshot_itself(cli: Cli, tmp_path: Path) -> None:
    result = cli("snapshot", "local", "--json")
    taken = snapshot_of(data(result, "snapshot"))
    (tmp_path / "printed.json").write_text(result.stdout)
    assert flow.read(tmp_path / "printed.json") == taken
    (tmp_path / "bare.json").write_text(json.dumps(encode(taken)))
    assert flow.read(tmp_path / "bare.json") == taken


@pytest.mark.usefixtures("boards")
def test_a_difference_is_readable(cli: Cli) -> None:
    lines = cli("diff", "pi.json", "pc.json").stdout.splitlines()
    assert lines[0].startswith("pc.json (B) against pi.json (A): ")
    assert any(line.split()[:4] == ["memory.thp", "mode", "madvise", "always"] for line in lines)
    assert any(
        line.split() == ["root_disk", "mmcblk0", "in", "A,", "sda", "in", "B"] for line in lines
    )
    result = data(cli("diff", "pi.json", "pc.json", "--json"), "state-diff")
    thp = next(d for d in result["differences"] if d["item"] == "memory.thp")
    assert (thp["kind"], thp["families"], thp["flips"]) == (
        "changed",
        ["MEM", "CPU", "SYS"],
        ["P", "R"],
    )
    assert thp["parts"] == [{"key": "", "a": "madvise", "b": "always"}]


@pytest.mark.usefixtures("boards")
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["diff", "pi.json", "nowhere"], 2, "'nowhere' is no file, no board and no run"),
        (["diff", "pi.json", "broken.json"], 2, "broken.json: no snapshot"),
        (["diff", "pi.json", "list.json"], 2, "list.json: no snapshot"),
        (["diff", "pi.json", "run.json"], 2, "run.json: no snapshot (no 'format')"),
        (["diff", "pi.json", "future.json"], 2, "format 2 instead of 1"),
        (["diff", "pi.json", "binary.json"], 2, "binary.json: no snapshot"),
        (["diff", "pi.json", "ssh://127.0.0.1:9"], 3, "connection refused"),
        (["diff", "pi.json"], 2, "B"),
        (["snapshot"], 2, "BOARD"),
        (["snapshot", "usb:3"], 2, "is not the name of a board"),
    ],
)
def test_errors_are_one_line(
    cli: Cli, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    (tmp_path / "broken.json").write_text('{"format": 1,')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "run.json").write_text('{"benchvise": "0.1.0", "kind": "run", "data": {}}')
    (tmp_path / "future.json").write_text('{"format": 2}')
    (tmp_path / "binary.json").write_bytes(b"\x89PNG\r\n\xff\xfe")
    result = cli(*words, expect=code)
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("benchvise: ") and message in line
    error = data(cli(*words, "--json", expect=code), "error")
    assert error["exit"] == code and (error["remedy"] or code == 2)


@needs_probe
def test_a_file_that_cannot_be_written_is_named(cli: Cli) -> None:
    result = cli("snapshot", "local", "-o", "no/such/directory/x.json", expect=2)
    (line,) = result.stderr.strip().splitlines()
    assert "no/such/directory/x.json: the snapshot cannot be written" in line


def test_what_a_hostile_snapshot_holds_does_nothing_to_the_terminal(
    cli: Cli, tmp_path: Path
) -> None:
    for name, value in (("a", "\x1b]0;owned\x07\x1b[31mred\u202e"), ("b", "[bold]x[/bold]")):
        taken = snapshot(answers({"/proc/version": value}))
        flow.write(taken, tmp_path / f"{name}.json")
    shown = cli("diff", "a.json", "b.json").stdout
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert "[bold]x[/bold]" in shown
