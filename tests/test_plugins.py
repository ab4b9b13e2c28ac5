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


def answers(tmp_path: Path, *words: str, code: int = 0, module: bool = True) -> tuple[str, str]:
    """What a command prints; without ``module``, Python with these words."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment |= {"PYTHONPATH": str(tmp_path / "packages"), "BENCHVISE_STORE": "results.db"}
    ran = subprocess.run(
        [sys.executable, *(["-m", "benchvise"] if module else []), *words],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout, ran.stderr


def answer(tmp_path: Path, *words: str, code: int = 0, module: bool = True) -> str:
    return answers(tmp_path, *words, code=code, module=module)[0]


@pytest.fixture
def migrating(tmp_path: Path) -> Path:
    """A trace in ftrace's text: two threads are moved, one of them twice."""
    lines = [
        f"          <idle>-0     [000] d..2.   100.00{at}00: sched_migrate_task: "
        f"comm={comm} pid={pid} prio=120 orig_cpu={old} dest_cpu={new}"
        for at, comm, pid, old, new in
        ((1, "fast", 7, 0, 1), (2, "slow", 8, 1, 0), (3, "fast", 7, 1, 0), (4, "fast", 7, 0, 1))
    ]  # fmt: skip
    file = tmp_path / "moves.txt"
    file.write_text("# tracer: nop\n#\n" + "\n".join(lines) + "\n")
    return file


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
    package = {"origin": "benchvise-example 1.0", "problem": ""}
    assert listed == [
        {"kind": "kernel-log", "name": "mine.toml", "origin": str(own),
         "adds": ["my-fan-stalled"], "problem": ""},
        {"kind": "kernel-log", "name": "rack.toml", "adds": ["rack-fan-stalled"], **package},
        {"kind": "knobs", "name": "fan.toml", "adds": ["lab.fan_speed"], **package},
        {"kind": "boot-patterns", "name": "bl1.toml", "adds": ["acme-bl1", "acme-fuse"], **package},
        {"kind": "alerts", "name": "rack.toml", "adds": ["rack fan"], **package},
        {"kind": "benchmarks", "name": "entropy", "adds": ["lab.random"], **package},
        {"kind": "analyses", "name": "migrations", "adds": ["lab-migrations"], **package},
    ]  # fmt: skip
    ran = ("run", "--bench", "lab.random", "--processes", "1", "--batches", "2", "--no-snapshot")
    (series,) = json.loads(answer(tmp_path, *ran, "--json"))["data"][0]["series"]
    assert (series["key"], series["unit"], series["summary"]["n"]) == ("lab.random", "B/s", 2)
    assert series["summary"]["median"] > 1e6
    shown = json.loads(answer(tmp_path, "knobs", "show", "fan_speed", "--json"))["data"]
    assert (shown["name"], shown["values"]) == ("lab.fan_speed", "64 to 255")


def test_an_added_analysis_is_a_command_and_a_method(tmp_path: Path, migrating: Path) -> None:
    install(tmp_path / "packages")
    help_of_traces = answer(tmp_path, "trace", "--help")
    assert "lab-migrations" in help_of_traces and "Added" in help_of_traces
    printed = json.loads(answer(tmp_path, "trace", "lab-migrations", str(migrating), "--json"))
    assert printed["kind"] == "trace-lab-migrations"
    rows = printed["data"]["answer"]
    code = (
        "import json, sys, benchvise as bv;"
        "print(json.dumps(bv.open_trace(sys.argv[1]).lab_migrations().document['answer']))"
    )
    assert json.loads(answer(tmp_path, "-c", code, str(migrating), module=False)) == rows
    assert [(row["name"], row["count"], row["most_to"]) for row in rows] == [
        ("fast", 3, 1),
        ("slow", 1, 0),
    ]


def test_what_is_wrong_is_told(tmp_path: Path, own: Path) -> None:
    own.write_text(_RULES.replace("stalled'", "stopped'"))
    (listed,) = json.loads(answer(tmp_path, "plugins", "--json", code=1))["data"]
    assert listed["adds"] == [] and listed["origin"] == str(own)
    assert "does not match its line" in listed["problem"]


_BAD_BENCHMARK = """
from benchvise_example import Entropy

class Broken(Entropy):
    def messages(self, order):
        print("this is no JSON")
        yield from ()
        raise KeyError("what the author forgot")

BENCHMARKS = [Broken]
"""
_BAD_ANALYSIS = """
from dataclasses import replace
from benchvise_example.migrations import MIGRATIONS

ANALYSES = [replace(MIGRATIONS, name="lab-broken", analyse=lambda traces, request: 1 / 0)]
"""


def test_broken_ones_end_no_command(tmp_path: Path, own: Path, migrating: Path) -> None:
    """Neither those that cannot be loaded nor those that fail when they are used."""
    packages = tmp_path / "packages"
    install(packages)
    (packages / "benchvise_example-1.0.dist-info" / "entry_points.txt").unlink()
    own.write_text("no TOML")
    config = own.parents[1]
    for kind, name, text in (
        ("benchmarks", "broken.py", _BAD_BENCHMARK),
        ("benchmarks", "dies.py", "import sys; print('noise'); sys.exit('gone')"),
        ("analyses", "broken.py", _BAD_ANALYSIS),
        ("knobs", "act.toml", '[[item]]\nid = "a"\n'),
    ):
        (config / kind).mkdir(exist_ok=True)
        (config / kind / name).write_text(text)
    quick = ("--processes", "1", "--batches", "2", "--no-snapshot", "--json")
    out, err = answers(tmp_path, "run", "--bench", "os.syscall", *quick)
    (series,) = json.loads(out)["data"][0]["series"]
    assert series["summary"]["n"] == 2
    assert "dies.py: left out: SystemExit: gone" in err
    assert "noise" in err  # what it prints is no part of the answer
    _, err = answers(tmp_path, "knobs", "list", "swappiness")
    assert "act.toml: left out: item 'a'" in err and "Traceback" not in err
    out, _ = answers(tmp_path, "run", "--bench", "lab.random", *quick, code=1)
    (series,) = json.loads(out)["data"][0]["series"]
    assert "lab.random failed: KeyError: 'what the author forgot'" in series["reason"]
    _, err = answers(tmp_path, "trace", "lab-broken", str(migrating), code=1)
    assert "the analysis failed: ZeroDivisionError" in err and "Traceback" not in err
