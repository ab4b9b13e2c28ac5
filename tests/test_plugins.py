"""What users and packages add: found, used, listed, and told of where it is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

_EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"
_RULES = (_EXAMPLE / "src" / "benchvise_example" / "rules" / "rack.toml").read_text()


def install(place: Path) -> None:
    """What an installer makes of the example: its files, and a directory that describes them."""
    project = tomllib.loads((_EXAMPLE / "pyproject.toml").read_text())["project"]
    info = place / f"benchvise_example-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n{name} = {value}" for group, e in groups for name, value in e.items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (place / "benchvise_example").symlink_to(_EXAMPLE / "src" / "benchvise_example")


def answer(tmp_path: Path, *words: str, code: int = 0) -> str:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment |= {"PYTHONPATH": str(tmp_path / "packages"), "BENCHVISE_STORE": "results.db"}
    ran = subprocess.run(
        [sys.executable, "-m", "benchvise", *words],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file of the user's own."""
    file = tmp_path / "config" / "benchvise" / "kernel-log" / "mine.toml"
    file.parent.mkdir(parents=True)
    file.write_text(_RULES.replace("rack-fan", "my-fan").replace('name = "rack"', 'name = "mine"'))
    return file


def test_a_package_and_a_file(tmp_path: Path, own: Path) -> None:
    install(tmp_path / "packages")
    listed = json.loads(answer(tmp_path, "plugins", "--json"))["data"]
    assert listed == [
        {"kind": "kernel-log", "name": "mine.toml", "origin": str(own),
         "adds": ["my-fan-stalled"], "problem": ""},
        {"kind": "kernel-log", "name": "rack.toml", "origin": "benchvise-example 1.0",
         "adds": ["rack-fan-stalled"], "problem": ""},
        {"kind": "benchmarks", "name": "entropy", "origin": "benchvise-example 1.0",
         "adds": ["lab.random"], "problem": ""},
    ]  # fmt: skip
    ran = ("run", "--bench", "lab.random", "--processes", "1", "--batches", "2", "--no-snapshot")
    (series,) = json.loads(answer(tmp_path, *ran, "--json"))["data"][0]["series"]
    assert (series["key"], series["unit"], series["summary"]["n"]) == ("lab.random", "B/s", 2)
    assert series["summary"]["median"] > 1e6


def test_added_rules_are_tried_first(tmp_path: Path, own: Path) -> None:
    code = (
        "from benchvise.kernel_log import classify, log_classes;"
        "m = classify('rackfan 3-0020: fan 2 stalled');"
        "print(m.rule.id, m.device, log_classes()[0].name)"
    )
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert ran.stdout.split() == ["my-fan-stalled", "3-0020", "mine"]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("[[class]]\nname = 1\n", "its fields are"),
        (_RULES.replace("stalled'", "stopped'"), "does not match its line"),
        (_RULES.replace("fan 2 started", "fan 2 stalled"), "what is only near"),
        (_RULES.replace("'rackfan", "'(rackfan"), "rule rack-fan-stalled"),
        ("no TOML", "no file of kernel-log rules"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, own: Path, wrong: str, reason: str) -> None:
    own.write_text(wrong)
    (listed,) = json.loads(answer(tmp_path, "plugins", "--json", code=1))["data"]
    assert listed["adds"] == [] and reason in listed["problem"] and str(own) in listed["problem"]
