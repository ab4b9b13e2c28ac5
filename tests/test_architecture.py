"""The import rules of ARCHITECTURE.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "benchvise"

# The ground floor: what every package may import, and what imports nothing of ours but that.
GROUND = {"command", "documents", "quantities", "text"}

# What each package may import of the others; top-level modules stand under their own name.
ALLOWED = {
    "__init__": set[str](),
    "command": set[str](),
    "documents": set[str](),
    "quantities": set[str](),
    "text": set[str](),
    "errors": set[str](),
    "output_files": {"errors"},
    "resources": set[str](),
    "statistics": set[str](),
    "board": {"errors"},
    "measure": {"board", "errors", "resources", "statistics"},
    "kernel_log": set[str](),
    "state": {"board", "errors", "kernel_log", "resources"},
    "health": {"board", "errors", "kernel_log", "state", "statistics"},
    "rig": {"board", "errors", "output_files"},
    "signal": {"board", "errors", "output_files", "statistics"},
    "trace": {"board", "errors", "output_files", "statistics"},
    "store": {"errors", "health", "measure", "state"},
    "report": {
        "errors",
        "health",
        "kernel_log",
        "measure",
        "output_files",
        "rig",
        "signal",
        "state",
        "store",
        "trace",
        "why",
    },
    "why": {"board", "errors", "measure", "resources", "rig", "state", "statistics", "trace"},
    "flows": {
        "board",
        "errors",
        "health",
        "measure",
        "output_files",
        "report",
        "rig",
        "signal",
        "state",
        "store",
        "trace",
        "why",
    },
    "__main__": {"cli"},
    "cli": {
        "board",
        "errors",
        "flows",
        "health",
        "measure",
        "output_files",
        "report",
        "rig",
        "signal",
        "state",
        "store",
        "trace",
        "web",
        "why",
    },
    "web": {
        "board",
        "errors",
        "flows",
        "health",
        "kernel_log",
        "measure",
        "report",
        "rig",
        "signal",
        "state",
        "statistics",
        "store",
        "trace",
        "why",
    },
}

# The store is written by flows: nothing that measures may know of it, and only the
# runner, its sources and the flows speak to a probe.
LABGRID_ONLY_IN = "rig"


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_follow_the_architecture(path: Path) -> None:
    own = package_of(path)
    names = {p.name.removesuffix(".py") for p in PACKAGE.iterdir()}
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "labgrid":
            assert own == LABGRID_ONLY_IN, f"{path} imports labgrid"
        if parts[0] == "benchvise" and len(parts) > 1 and parts[1] in names and parts[1] != own:
            assert parts[1] in ALLOWED[own] | GROUND, f"{own} may not import {parts[1]} ({path})"


def test_every_package_has_its_rule() -> None:
    assert {package_of(path) for path in modules()} == set(ALLOWED)


def test_the_probe_knows_nothing_of_the_host() -> None:
    probe = PACKAGE.parents[1] / "probe"
    for path in [*probe.rglob("*.c"), *probe.rglob("*.h")]:
        assert "benchvise/" not in path.read_text(), path


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "flows").glob("[!_]*.py")), ids=lambda path: path.stem
)
def test_a_flow_joins_packages(path: Path) -> None:
    """What needs one package only is called by its command: no flow passes a call through."""
    joined = {
        parts[1]
        for name in imports(path)
        if (parts := name.split("."))[0] == "benchvise"
        and len(parts) > 1
        and parts[1] not in GROUND | {"errors", "flows", "output_files", "resources", "statistics"}
        and (PACKAGE / parts[1]).is_dir()
    }
    assert len(joined) > 1, f"{path.name} joins {joined or 'nothing'}"


_NAMED = re.compile(r"`((?:src|probe|crates|tests|docs|benchmarks|suites|web/src)/[\w./*-]+)`")
_MODULE = re.compile(
    r"\b((?:board|cli|documents|flows|health|kernel_log|measure|report|rig|signal|state|store|text"
    r"|trace|web|why)\.[a-z_]+)\b(?!/)"
)


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_what_the_maps_name_exists(page: str) -> None:
    root = PACKAGE.parents[1]
    text = (root / page).read_text()
    missing = [
        name
        for name in _NAMED.findall(text)
        if not list(root.glob(name.rstrip("/").replace("NAME", "why")))
    ]
    for name in _MODULE.findall(text):
        package, module = name.split(".")
        place = PACKAGE / package / module
        named = place.is_dir() or place.with_suffix(".py").is_file()
        if (
            not named
            and module != "md"
            and module not in (PACKAGE / package / "__init__.py").read_text()
        ):
            missing.append(name)
    assert not missing, missing
