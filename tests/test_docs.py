"""Nothing that a user can name is undocumented, and what the documents name exists."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from families import every
from guide_commands import guide_pages

from benchvise.cli.json_kinds import json_kinds
from benchvise.cli.main import program
from benchvise.documents import schema
from benchvise.errors import BenchviseError
from benchvise.extensions import KINDS
from benchvise.health.counters import counter_kinds
from benchvise.health.watch.alerts import default_rules
from benchvise.kernel_log import log_rules
from benchvise.measure.registry import Registry
from benchvise.measure.runner import local_registry
from benchvise.measure.suite import load_suite, parse_bench, suite_names
from benchvise.state.catalogue import knobs, load_catalogue
from benchvise.state.knobs import parse_setting_request
from benchvise.state.roles import ROLES
from benchvise.trace.catalogue import ANALYSES
from benchvise.why.cards import load_cards
from benchvise.why.explain.counters import COUNTERS
from benchvise.why.model import Diagnosis
from benchvise.why.suspects.admissibility import artefacts
from benchvise.why.suspects.ranking import priors, symptoms

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaf_commands(command: object, path: str) -> Iterator[tuple[str, object]]:
    subcommands = getattr(command, "commands", None)
    if not subcommands:
        yield path, command
    for name, subcommand in (subcommands or {}).items():
        yield from leaf_commands(subcommand, f"{path} {name}")


COMMANDS = dict(leaf_commands(program(), "benchvise"))


@pytest.fixture(scope="module")
def commands_page(generate: ModuleType) -> str:
    page = generate.commands_page()
    assert isinstance(page, str)
    return page


@every("path", COMMANDS)
def test_every_command_has_help_an_example_and_json(path: str, commands_page: str) -> None:
    command = COMMANDS[path]
    text = getattr(command, "help", "")
    assert f"Example: {path}" in text, f"{path} --help shows no example"
    options = {o for p in getattr(command, "params", ()) for o in p.opts}
    assert "--json" in options
    for parameter in getattr(command, "params", ()):
        assert parameter.help, f"{path}: {parameter.name} has no help"
    assert f"`{path}`" in commands_page


def test_every_benchmark_and_parameter_is_documented(generate: ModuleType) -> None:
    registry = local_registry()
    page = generate.benchmarks_page(registry)
    for benchmark in registry.benchmarks:
        section = page.split(f"## `{benchmark.id}`")[1].split("\n## ")[0]
        for text in (benchmark.method, benchmark.pitfalls, benchmark.not_measured, benchmark.peer):
            assert text and text in section
        for parameter in benchmark.parameters:
            assert f"| `{parameter.name}` |" in section and parameter.summary


def test_every_analysis_of_a_trace_is_documented(generate: ModuleType) -> None:
    page = generate.analyses_page()
    for analysis in ANALYSES:
        section = page.split(f"## `trace {analysis.name}`\n")[1].split("\n## ")[0]
        assert analysis.summary in section
        for shape in analysis.shapes:
            assert f"### `{shape.name}`" in section and shape.summary in section


def test_every_kind_of_extension_is_documented_with_one_of_the_example(
    generate: ModuleType,
) -> None:
    page = generate.extensions_page()
    guide = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    for kind in KINDS:
        section = page.split(f"## `{kind.name}`\n")[1].split("\n## ")[0]
        assert kind.used_by in section and f"`{kind.group}`" in section
        example = section.partition("```")[2]
        assert ("TraceAnalysis(" if kind.objects else "[[") in example or "class Entropy" in example
        assert f"`~/.config/benchvise/{kind.name}/NAME{kind.files}` | `{kind.group}`" in guide


def test_every_suite_is_documented_and_valid(generate: ModuleType) -> None:
    registry = local_registry()
    page = generate.suites_page()
    for name in suite_names():
        suite = load_suite(name)
        assert f"## `{name}`" in page and suite.summary
        assert suite.specs(registry)


def test_every_item_of_state_is_documented(generate: ModuleType) -> None:
    page = generate.state_page()
    for item in load_catalogue():
        section = page.split(f"## `{item.id}`\n")[1].split("\n## ")[0]
        assert item.summary in section and item.restore in section
        for place in item.places:
            assert place in section
        for read in item.reads:
            assert f"`{read.path}`" in section
        for knob in item.knobs:
            assert f"`{knob.name}`" in section
    for role in ROLES:
        assert f"| `{role}` |" in page


def test_every_knob_is_documented_and_those_in_the_guide_exist(generate: ModuleType) -> None:
    page = generate.knobs_page()
    for name, (_, knob) in knobs().items():
        assert f"| `{name}` |" in page and knob.path in page
    for path in guide_pages():
        for text in re.findall(r"--set ([^\s`]+=[^\s`]+)", path.read_text()):
            parse_setting_request(text)


def test_every_field_of_a_diagnosis_is_documented(generate: ModuleType) -> None:
    page = generate.diagnosis_page()
    definitions = schema(Diagnosis)["$defs"]
    for path, name in (("", "Diagnosis"), ("causes[].", "Cause"), ("trials[].", "Trial")):
        for field in definitions[name]["properties"]:
            assert f"| `{path}{field}` |" in page
    for name, definition in definitions.items():
        for field, described in definition["properties"].items():
            assert described["description"].rstrip(".") in page, (name, field)


def test_every_artefact_is_documented(generate: ModuleType) -> None:
    page = generate.artefacts_page()
    for artefact in artefacts():
        section = page.split(f"## `{artefact.rule}`\n")[1].split("\n## ")[0]
        for text in (artefact.sentence[1:], artefact.remedy, artefact.source, artefact.when):
            assert text in section, artefact.rule
        for pattern in filter(None, (artefact.command, artefact.unless)):
            assert f"`{pattern.pattern}`" in section


def test_every_rule_of_the_kernel_log_is_documented(generate: ModuleType) -> None:
    page = generate.kernel_log_page()
    for rule in log_rules():
        section = page.split(f"### `{rule.id}`: ")[1].split("\n### ")[0]
        for text in (rule.title, rule.explanation, rule.remedy, *rule.lines):
            assert text in section, rule.id


def test_every_counter_of_health_is_documented(generate: ModuleType) -> None:
    page = generate.health_page()
    for kind in counter_kinds():
        section = page.split(f"## `{kind.id}`\n")[1].split("\n## ")[0]
        for text in (kind.title[1:], kind.explanation, kind.remedy, *kind.globs):
            assert text in section, kind.id


def test_every_prior_is_documented(generate: ModuleType) -> None:
    page = generate.priors_page()
    for prior in priors():
        head = ", ".join(f"`{name}`" for name in prior.names)
        section = page.split(f"### {head}\n")[1].split("\n### ")[0]
        assert prior.why[1:] in section and prior.source in section
        for name, chance in prior.matters.items():
            assert f"`{name}` {chance:.1%}" in section
        for direction in prior.better:
            assert f"({direction.sure:.0%} sure)" in section
    for symptom in symptoms():
        assert symptom.why in page


def test_every_rule_for_alerts_is_documented(generate: ModuleType) -> None:
    page = generate.alerts_page()
    for rule in default_rules():
        section = page.split(f"## `{rule.name}`\n")[1].split("\n## ")[0]
        assert rule.why[1:] in section and rule.remedy in section


def test_every_mechanism_and_counter_is_documented(generate: ModuleType) -> None:
    page = generate.mechanisms_page()
    for card in load_cards():
        section = page.split(f"## `{card.id}`\n")[1].split("\n## ")[0]
        for text in (card.title[1:], card.cost, *card.literature):
            assert text in section
        for counter in card.counters:
            assert f"`{counter.name}` {counter.sign}" in section
        for remedy in card.remedies:
            assert f"| {remedy.system} |" in section
    for name in COUNTERS:
        assert f"| `{name}` |" in page


def test_every_kind_of_json_has_its_schema(generate: ModuleType) -> None:
    page = generate.json_page()
    for kind in json_kinds():
        assert f"## `{kind}`" in page
    assert "Why one side has no value." in page


def test_every_setting_is_documented_and_nothing_else() -> None:
    used = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r'"(BENCHVISE_[A-Z_]+)"', path.read_text())
    }
    page = (DOCS / "reference" / "settings.md").read_text()
    assert used == set(re.findall(r"`(BENCHVISE_[A-Z_]+)`", page))


def test_every_exit_code_is_documented() -> None:
    page = (DOCS / "reference" / "exit-codes.md").read_text()
    errors: list[type[BenchviseError]] = [BenchviseError, *BenchviseError.__subclasses__()]
    codes = {error.exit_code for error in errors}
    assert codes | {0} == {int(n) for n in re.findall(r"^\| (\d) \|", page, re.MULTILINE)}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return local_registry()


@every("path", [*guide_pages(), ROOT / "CONTRIBUTING.md"], lambda path: str(path.name))
def test_commands_in_the_guide_exist(path: Path, registry: Registry) -> None:
    """Every `benchvise …` line of the guide has a known command, options and benchmarks."""
    for line in re.findall(r"(?:^|`)(benchvise (?!:)[^`#\n]+)", path.read_text(), re.MULTILINE):
        words = shlex.split(line.partition("   ")[0])  # what follows many blanks is a remark
        if "--" in words:  # what follows is a command of the board's
            words = words[: words.index("--")]
        names = (" ".join(words[:count]) for count in (4, 3, 2))
        name = next((name for name in names if name in COMMANDS), "")
        assert name, f"{path.name}: {line}"
        options = {o for p in getattr(COMMANDS[name], "params", ()) for o in p.opts}
        for index, word in enumerate(words):
            if word.startswith("-"):
                assert word in options, f"{path.name}: {line}"
            if word == "--bench" and "ID" not in words[index + 1]:
                entry = parse_bench(words[index + 1])
                if entry.benchmark in {b.id for b in registry.benchmarks}:
                    entry.specs(registry)
                else:
                    assert path.name in ("CONTRIBUTING.md", "extend.md")  # of examples there


def test_documents_name_no_machine_of_ours() -> None:
    for path in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md"]:
        # The score names files of the boards that it is about.
        text = re.sub(r"userland\.file:/root/[\w./-]+", "", path.read_text())
        assert "/root/" not in text and "/home/" not in text, path


def test_make_docs_builds_without_warning(tmp_path: Path, generate: ModuleType) -> None:
    generate.main()
    result = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert result.returncode == 0, result.stderr
    assert "memory.copy" in (tmp_path / "reference/generated/benchmarks.html").read_text()


def test_the_glossary_has_every_term(generate: ModuleType) -> None:
    page = generate.glossary_page()
    for term in tomllib.loads((DOCS / "glossary.toml").read_text())["term"]:
        assert term["meaning"] in page
        for word in term["instead_of"]:
            assert word in page
