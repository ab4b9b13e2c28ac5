"""The probe as distributions build and test it: make, the Yocto recipe, the Buildroot package."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from probe_fixtures import static  # noqa: F401 - a fixture

import benchvise

ROOT = Path(__file__).parents[1]
PROBE = ROOT / "probe"
PACKAGING = ROOT / "examples" / "packaging"
RECIPE = PACKAGING / "meta-benchvise" / "recipes-benchmark" / "benchvise-probe"
BUILDROOT = PACKAGING / "buildroot" / "package" / "benchvise-probe"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """``probe/build.py``, which makes what Benchvise brings."""
    spec = importlib.util.spec_from_file_location("probe_build", PROBE / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["probe_build"] = module
    spec.loader.exec_module(module)
    return module


def test_make_compiles_what_the_shipped_probes_are_made_of(build: ModuleType) -> None:
    ran = subprocess.run(
        ["make", "-s", "-C", PROBE, "sources"], capture_output=True, text=True, check=True
    )
    lists = {words[0]: set(words[1:]) for words in map(str.split, ran.stdout.splitlines())}
    assert lists["probe"] == build.sources_of(build.PROBE_SOURCES) - build.sources_of(build.IO)
    assert lists["io"] == build.sources_of(build.IO_SOURCES)


def made(tmp_path: Path, *words: str) -> tuple[Path, str]:
    """What ``make`` and ``make install`` leave with a compiler that only writes what it is told."""
    compiler = tmp_path / "cross-gcc"
    compiler.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n'
        'while [ "$1" != -o ]; do shift; done; echo "$3" > "$2"\n'
    )
    compiler.chmod(0o755)
    root = tmp_path / "root"
    call = ["make", "-s", "-C", str(PROBE), f"CC={compiler}", f"OUTPUT={tmp_path}/build", *words]
    subprocess.run(call, check=True, capture_output=True)
    subprocess.run([*call, f"DESTDIR={root}", "PREFIX=/usr", "install"], check=True)
    return root, (tmp_path / "calls").read_text()


def test_a_build_system_has_its_compiler_its_flags_and_its_places(tmp_path: Path) -> None:
    root, calls = made(tmp_path, "CFLAGS=-O2 -mcpu=cortex-a72", "LDFLAGS=-Wl,-z,relro")
    lines = calls.splitlines()
    assert len(lines) > 80 and all("-mcpu=cortex-a72" in line for line in lines)
    linked = [line for line in lines if " -c " not in line]
    assert len(linked) == 2 and all("-Wl,-z,relro" in line for line in linked)
    programs = root / "usr" / "libexec" / "benchvise"
    assert {path.name for path in programs.iterdir()} == {"bvprobe", "bvio"}
    link = root / "usr" / "bin" / "bvprobe"
    assert str(link.readlink()) == "/usr/libexec/benchvise/bvprobe"
    assert not (PROBE / "build").exists()


def test_the_recipe_and_the_package_call_it_so() -> None:
    source = (ROOT / "src" / "benchvise" / "__init__.py").read_text()
    (version,) = re.findall(r'__version__ = "(.*)"', source)
    (recipe,) = RECIPE.glob("*.bb")
    assert recipe.name == f"benchvise-probe_{version}.bb" and benchvise.__version__
    text = recipe.read_text()
    licence = hashlib.md5((ROOT / "LICENSE").read_bytes(), usedforsecurity=False).hexdigest()
    assert f"md5={licence}" in text and 'SRC_URI = "file://run-ptest"' in text
    package = (BUILDROOT / "benchvise-probe.mk").read_text()
    assert f"BENCHVISE_PROBE_VERSION = {version}\n" in package
    variables = set(re.findall(r"^(\w+) \?=", (PROBE / "Makefile").read_text(), re.MULTILINE))
    used = set(re.findall(r"\b([A-Z]+)=", text.partition("EXTRA_OEMAKE")[2])) | {"DESTDIR"}
    assert used - {"DESTDIR"} <= variables | {"LDFLAGS"}
    for place, depth in ((PACKAGING / "buildroot", 3), (PACKAGING / "meta-benchvise", 3)):
        assert place.parents[depth - 1] == ROOT  # both find the checkout by that many ``..``


def ptest(probe: Path) -> tuple[int, list[str], str]:
    ran = subprocess.run(
        ["sh", RECIPE / "files" / "run-ptest"],
        env={"PATH": "/usr/bin:/bin", "BVPROBE": str(probe)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stdout.splitlines(), ran.stderr


def test_ptest_passes_on_a_board(static: Path) -> None:  # noqa: F811 - the fixture
    code, lines, said = ptest(static)
    assert code == 0, said
    assert len(lines) >= 10 and all(re.fullmatch(r"(PASS|SKIP): [\w.]+", line) for line in lines)
    assert "PASS: os.syscall" in lines


@pytest.mark.parametrize(
    ("says", "result", "code"),
    [
        ('{"type":"error","exit":77,"message":"no counter"}', "SKIP", 0),
        ('{"type":"error","exit":1,"message":"broken"}', "FAIL", 1),
        ("Segmentation fault", "FAIL", 1),
        ("", "FAIL", 1),
    ],
)
def test_ptest_tells_what_fails(tmp_path: Path, says: str, result: str, code: int) -> None:
    probe = tmp_path / "probe"
    probe.write_text(f"#!/bin/sh\n[ $1 = facts ] && exit 0\necho '{says}'\nexit 1\n")
    probe.chmod(0o755)
    ended, lines, said = ptest(probe)
    assert ended == code
    assert lines[0] == "PASS: facts"
    assert {line.partition(":")[0] for line in lines[1:]} == {result}
    assert says in said or result == "SKIP"


def test_a_builder_of_the_container_is_sent_what_is_copied_and_no_more() -> None:
    """Without the list, Docker sends the builder the compiled crates and what npm installed."""
    (copied,) = re.findall(r"^COPY (.*) /tmp/", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = [line for line in lines if not line.startswith("#")]
    assert sent == ["*", *(f"!{path}" for path in copied.split())]
