"""The wheel, installed into an empty environment, measures by itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import skips

from benchvise.cli.reference.share import write_share

ROOT = Path(__file__).parents[1]
SHORT = ("--suite", "quick", "--processes", "1", "--batches", "3")
UV = ROOT / "build" / "tools" / "bin" / "uv"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    write_share(ROOT / "build" / "share")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = directory.glob("*.whl")
    return built


def test_the_wheel_holds_probes_suites_migrations_and_assets(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for arch in ("x86_64", "aarch64", "armv7hf", "armv6hf", "riscv64"):
        assert f"benchvise/board/probes/{arch}/bvprobe" in names
        assert f"benchvise/board/probes/{arch}/bvlibc" in names
    assert "benchvise/suites/quick.toml" in names
    assert "benchvise/report/assets/report.js" in names
    assert "benchvise/trace/native.abi3.so" in names
    # Its interface is that of CPython 3.11 and later, its machine code this platform's.
    assert "-cp311-abi3-linux_" in wheel.name
    assert any(name.startswith("benchvise/store/migrations/") for name in names)
    records = ROOT.glob("src/benchvise/state/catalogue/*.toml")
    assert {f"benchvise/state/catalogue/{path.name}" for path in records} <= set(names)
    for name in ("man/man1/benchvise-run.1", "bash-completion/completions/benchvise"):
        assert [path for path in names if path.endswith(f".data/data/share/{name}")]
    assert not [name for name in names if name.startswith(("tests/", "probe/", "web/"))]


def test_d10_the_wheel_has_the_licences_of_what_is_linked_into_it(wheel: Path) -> None:
    """The decoder itself names the sources of what can panic in it."""
    archive = zipfile.ZipFile(wheel)
    text = archive.read("benchvise/THIRD-PARTY.txt").decode()
    (name,) = (
        name for name in archive.namelist() if name.endswith(".dist-info/sboms/benchvise.cdx.json")
    )
    document = json.loads(archive.read(name))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    listed = {f"{part['name']}-{part['version']}" for part in document["components"]}
    decoder = archive.read("benchvise/trace/native.abi3.so")
    sources = rb"registry/src/[^/]+/([\w-]+-\d+\.\d+\.\d+[^/]*)/"
    linked = {source.decode() for source in re.findall(sources, decoder)}
    assert len(linked) > 10 and linked <= listed
    assert len(listed) == len(document["components"]) > len(linked)
    for part in document["components"]:
        assert f"{part['name']} {part['version']}" in text
        assert part["licenses"][0]["expression"]
    for terms in ("Permission is hereby granted", "Apache License", "musl as a whole"):
        assert terms in text


def test_the_wheel_alone_runs_the_quick_suite(wheel: Path, tmp_path: Path) -> None:
    if not UV.exists():
        skips.skip("uv")
    environment = {
        **{k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")},
        "VIRTUAL_ENV": str(tmp_path / "empty"),
        "BENCHVISE_STORE": str(tmp_path / "results.db"),
    }
    for words in (
        ["venv", "--python", sys.executable, str(tmp_path / "empty")],
        ["pip", "install", "--require-hashes", "-r", str(ROOT / "requirements.lock")],
        ["pip", "install", "--no-deps", str(wheel)],
    ):
        subprocess.run([UV, *words], check=True, capture_output=True, env=environment)
    benchvise = tmp_path / "empty" / "bin" / "benchvise"

    def run(*words: str) -> str:
        result = subprocess.run(
            [benchvise, *words],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=tmp_path,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    (measured,) = json.loads(run("run", "local", *SHORT, "--json"))["data"]
    statuses = {series["key"]: series["status"] for series in measured["series"]}
    assert statuses.pop("pipe.latency:place=core") in ("measured", "na")  # one CPU has no other
    assert set(statuses.values()) == {"measured"}
    findings = {one["name"]: one["state"] for one in json.loads(run("doctor", "--json"))["data"]}
    assert findings["traces"] == "ok"
    page = Path(run("report", "@", "-o", "page").strip())
    assert "memory.copy" in (tmp_path / page).read_text()
