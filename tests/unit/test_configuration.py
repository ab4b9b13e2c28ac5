"""Defaults from benchvise.toml: whose file holds, for which command, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchvise.cli.main import run
from benchvise.configuration import (
    OPTIONS,
    command_defaults,
    configuration_files,
    configured_suite,
    configured_values,
)
from benchvise.errors import UsageError

PROJECT = """
store = "results.db"
[run]
suite = "memory"
processes = 5
[compare]
threshold = 2.5
"""
OWN = """
store = "postgresql://bench@db.example/results"
rig = "~/lab.yaml"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a project's file above it, and the user's own file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("BENCHVISE_STORE", "BENCHVISE_RIG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "config" / "benchvise").mkdir(parents=True)
    (tmp_path / "config" / "benchvise" / "benchvise.toml").write_text(OWN)
    inside = tmp_path / "project" / "inside"
    inside.mkdir(parents=True)
    (inside.parent / "benchvise.toml").write_text(PROJECT)
    monkeypatch.chdir(inside)
    return inside.parent


def test_the_project_comes_before_the_user_and_both_before_what_is_built_in(project: Path) -> None:
    by_key = {v.option.key: (v.value, v.origin) for v in configured_values({})}
    assert by_key["store"] == (str(project / "results.db"), str(project / "benchvise.toml"))
    assert by_key["rig"][0] == str(project.parent / "home" / "lab.yaml")
    assert by_key["serve.port"] == ("8765", "built in")
    environment = {"BENCHVISE_STORE": "other.db"}
    by_key = {v.option.key: (v.value, v.origin) for v in configured_values(environment)}
    assert by_key["store"] == ("other.db", "$BENCHVISE_STORE")


def test_commands_get_the_defaults_of_their_own_options(project: Path) -> None:
    names = [option.parameter for option in OPTIONS]
    assert command_defaults("benchvise compare", names)["threshold"] == 2.5
    defaults = command_defaults("benchvise run", names)
    assert defaults["processes"] == 5
    assert not {"threshold", "suite"} & set(defaults)
    assert configured_suite() == "memory"


@pytest.mark.parametrize(
    ("words", "benchmark", "processes"),
    [
        ([], "memory.latency", 5),
        (["--bench", "os.syscall"], "os.syscall", 5),
        (["--suite", "timers", "--processes", "2"], "timer.wakeup", 2),
    ],
)
def test_a_plan_follows_the_file_and_the_command_line_comes_first(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    benchmark: str,
    processes: int,
) -> None:
    assert run(["run", "--plan", "--json", *words]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["data"]
    benchmarks = {key.partition(":")[0] for key in plan["series"]}
    assert plan["processes"] == processes
    assert benchmark in benchmarks
    assert ("memory.copy" in benchmarks) == (words == [])


def test_config_shows_every_key_with_its_origin(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["data"]
    assert {entry["key"] for entry in document["entries"]} == {option.key for option in OPTIONS}
    assert len(document["files"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stor = 'x.db'", "did you mean store"),
        ("[run]\nprocesses = 0", "1 or more"),
        ("[run]\nprocesses = true", "1 or more"),
        ("[serve]\nport = 70000", "0 to 65535"),
        ("[serve]\ntraces = 'one'", "list of directories"),
        ("store = ", "cannot be read"),
        ("store = '\udce9'", "cannot be read"),
    ],
)
def test_a_mistake_is_named_with_its_file(project: Path, text: str, message: str) -> None:
    (project / "benchvise.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=message) as refused:
        configuration_files()
    assert "benchvise.toml" in str(refused.value)


def test_a_file_that_others_can_write_is_not_read(project: Path) -> None:
    (project / "benchvise.toml").chmod(0o666)
    files = configuration_files()
    assert files[0].ignored == "other users can write it"
    assert configured_suite() is None


def test_a_checkout_ends_the_search(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "inside" / ".git").mkdir()
    assert configured_suite() is None


def test_a_directory_that_may_not_be_read_has_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.stat", refuse)
    assert configuration_files() == []
