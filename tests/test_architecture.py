"""The import rules of ARCHITECTURE.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "benchvise"

# The ground floor: what every package may import, and what imports nothing of ours but that.
GROUND = {
    "names",
    "bounded_log",
    "command",
    "confinement",
    "documents",
    "extensions",
    "file_locks",
    "host_system",
    "interruption",
    "kept_request",
    "local_users",
    "quantities",
    "table",
    "terminal_colors",
    "text",
    "user_directories",
}

# What each package may import of the others; top-level modules stand under their own name.
ALLOWED = {
    "__init__": set[str](),
    "bounded_log": set[str](),
    "command": set[str](),
    "confinement": set[str](),
    "file_locks": set[str](),
    "host_system": {"errors"},
    "interruption": set[str](),
    "kept_request": {"errors", "output_files"},
    "local_users": set[str](),
    "documents": set[str](),
    "names": set[str](),
    "quantities": set[str](),
    "table": set[str](),
    "terminal_colors": set[str](),
    "text": set[str](),
    "user_directories": set[str](),
    "extensions": set[str](),
    "errors": set[str](),
    "output_files": {"errors"},
    "configuration": {"errors"},
    "long_arrays": set[str](),
    "statistics": {"long_arrays"},
    "tails": set[str](),
    "board": {"errors"},
    "measure": {"board", "errors", "statistics", "tails"},
    "kernel_log": {"errors"},
    "state": {"board", "errors", "kernel_log"},
    "health": {"board", "errors", "kernel_log", "state", "statistics"},
    "rig": {"board", "errors", "output_files", "statistics"},
    "signal": {"board", "errors", "output_files", "statistics", "tails", "trace"},
    "trace": {"board", "errors", "output_files", "statistics", "tails"},
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
        "statistics",
        "store",
        "tails",
        "trace",
        "why",
    },
    "bisect": {"errors", "long_arrays", "statistics"},
    "why": {"board", "errors", "long_arrays", "measure", "rig", "state", "statistics", "trace"},
    "flows": {
        "bisect",
        "board",
        "configuration",
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
        "bisect",
        "board",
        "configuration",
        "errors",
        "flows",
        "health",
        "kernel_log",
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
    "api": {
        "board",
        "configuration",
        "errors",
        "flows",
        "measure",
        "report",
        "state",
        "store",
        "trace",
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


def test_imports_follow_the_architecture() -> None:
    names = {p.name.removesuffix(".py") for p in PACKAGE.iterdir()}
    wrong = []
    for path in modules():
        own = package_of(path)
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "labgrid" and own != LABGRID_ONLY_IN:
                wrong.append(f"{path.relative_to(PACKAGE)} imports labgrid")
            package = parts[1] if parts[0] == "benchvise" and len(parts) > 1 else own
            if package in names - {own} - ALLOWED[own] - GROUND:
                wrong.append(f"{path.relative_to(PACKAGE)}: {own} may not import {package}")
    assert not wrong, "\n".join(wrong)


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
        and parts[1] not in GROUND | {"errors", "flows", "output_files", "statistics"}
        and (PACKAGE / parts[1]).is_dir()
    }
    assert len(joined) > 1, f"{path.name} joins {joined or 'nothing'}"


_NAMED = re.compile(r"`((?:src|probe|crates|tests|docs|benchmarks|suites|web/src)/[\w./*-]+)`")
_MODULE = re.compile(
    r"\b((?:bisect|board|cli|documents|flows|health|kernel_log|measure|report|rig|signal|state|store|text"
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


# -- circles of files ------------------------------------------------------------------------------

CRATES = PACKAGE.parents[1] / "crates"


def circles(uses: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected parts of a graph that have more than one node (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    parts: set[frozenset[str]] = set()

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(uses[node]):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            at = stack.index(node)
            parts.add(frozenset(stack[at:]))
            del stack[at:]

    for node in sorted(uses):
        if node not in order:
            visit(node)
    return {part for part in parts if len(part) > 1}


def python_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def all_imports(node: ast.AST) -> Iterator[str]:
    """What is imported at load time, inside functions, and for types alone."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        # Of a package, what is imported is the module of that name if there is one.
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from all_imports(child)


def test_no_circle_of_python_files() -> None:
    names = {python_name(path) for path in modules()}
    uses: dict[str, set[str]] = {}
    for path in modules():
        imported = set(all_imports(ast.parse(path.read_text())))
        found = {name if name in names else name.rpartition(".")[0] for name in imported}
        uses[python_name(path)] = found & names - {python_name(path)}
    assert circles(uses) == set()


def rust_uses(crate: Path) -> dict[str, set[str]]:
    """Which files of a crate name which others, by their paths of modules."""
    source = crate / "src"
    files = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[-1] in ("lib", "main", "mod"):
            parts = parts[:-1]
        files[parts] = path
    uses: dict[str, set[str]] = {}
    for own, path in files.items():
        text = re.sub(r"(?m)^\s*//.*$", "", path.read_text()).partition("#[cfg(test)]")[0]
        uses["::".join(own)] = set()
        for path_text in rust_paths(text):
            head, *rest = path_text.split("::")
            if head == "super":
                above = 1
                while rest and rest[0] == "super":
                    above, rest = above + 1, rest[1:]
                rest = [*own[: max(0, len(own) - above)], *rest]
            elif head == "self":
                rest = [*own, *rest]
            elif head != "crate":
                continue
            target = tuple(rest)
            while target not in files:
                target = target[:-1]
            # What a module takes of those below it, or they of it, is one concept in its folder.
            if target not in (own, ()):
                uses["::".join(own)].add("::".join(target))
    return uses


def rust_paths(text: str) -> Iterator[str]:
    """All paths from ``crate``, ``self`` and ``super``; groups of ``use`` taken apart."""
    for match in re.finditer(r"\buse\s+((?:crate|super|self)\b[^;]*);", text):
        yield from expanded(re.sub(r"\s+", " ", match[1]))
    for match in re.finditer(r"\b(?:crate|super)(?:::\w+)+", text):
        yield match[0]


def expanded(path: str) -> Iterator[str]:
    """``a::{b, c::{d}}`` as its single paths."""
    head, brace, rest = path.partition("{")
    if not brace:
        yield head.partition(" as ")[0].strip()
        return
    depth, part = 0, ""
    for letter in rest.rpartition("}")[0]:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield from expanded(head + part.strip())
            part = ""
        else:
            part += letter
    if part.strip():
        yield from expanded(head + part.strip())


@pytest.mark.parametrize(
    "crate", sorted(path.parent for path in CRATES.glob("*/Cargo.toml")), ids=lambda path: path.name
)
def test_no_circle_of_rust_files(crate: Path) -> None:
    assert circles(rust_uses(crate)) == set()
