"""Writes the reference pages from what the program itself knows.

Commands come from the command table, analyses of traces from their records, benchmarks from the
probe, suites from their files, items of state and knobs from the catalogue, rules of the kernel log
and counters of health from their records, what ``why`` knows beforehand, mechanisms and the fields
of a diagnosis from their tables, the JSON of commands from its types.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchvise.cli.bench import DRIVEN_BY
from benchvise.cli.commands import PROGRAM, Command, Group
from benchvise.cli.json_kinds import document_schema, json_kinds
from benchvise.cli.main import program
from benchvise.command import CommandRecord
from benchvise.documents import schema
from benchvise.extensions import KINDS, ExtensionKind
from benchvise.health.counters import CounterKind, counter_kinds
from benchvise.health.watch.alerts import default_rules, spell
from benchvise.host_system import RUNS_ON, Needs
from benchvise.kernel_log import LogClass, LogRule, shipped_log_classes
from benchvise.measure.model import Benchmark, Parameter
from benchvise.measure.registry import Registry
from benchvise.measure.runner import local_registry
from benchvise.measure.suite import load_suite, suite_names
from benchvise.report.rendering import described_columns
from benchvise.state.catalogue import shipped_catalogue
from benchvise.state.model import Family, Flip, Item, Knob, Read
from benchvise.state.roles import ROLES
from benchvise.trace.catalogue import ANALYSES
from benchvise.why.cards import Card, CounterSign, load_cards
from benchvise.why.explain.counters import COUNTERS
from benchvise.why.model import Diagnosis
from benchvise.why.suspects.admissibility import Artefact, artefacts
from benchvise.why.suspects.ranking import (
    PreferredValue,
    Prior,
    commands,
    priors,
    symptoms,
    unlisted,
)
from benchvise.why.witness.touching import Touch, touches

OUTPUT = Path(__file__).parent / "reference" / "generated"
GLOSSARY = Path(__file__).parent / "glossary.toml"
EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"


def commands_page() -> str:
    """Every command with its options, as ``--help`` says it."""
    return "\n".join(["# Commands", "", *_command(program(), "benchvise")])


def _command(command: object, path: str) -> Iterator[str]:
    subcommands = getattr(command, "commands", None)
    if subcommands:
        for name, subcommand in subcommands.items():
            yield from _command(subcommand, f"{path} {name}")
        return
    params = getattr(command, "params", ())
    arguments = [p for p in params if p.param_type_name == "argument"]
    options = [p for p in params if p.param_type_name == "option" and "--help" not in p.opts]
    words = " ".join(a.metavar or str(a.name) for a in arguments)
    summary, _, rest = str(getattr(command, "help", "")).partition("\n\n")
    yield f"## `{path}`"
    yield ""
    yield summary
    yield ""
    yield f"```\n{path} {words} [OPTIONS]\n```"
    yield ""
    for paragraph in filter(None, rest.split("\n\n")):
        example = paragraph.strip().removeprefix("Example: ")
        yield f"Example:\n\n```\n{example}\n```" if example != paragraph.strip() else paragraph
        yield ""
    yield from _table(
        ("argument or option", "meaning"),
        [
            *((f"`{a.metavar or a.name}`", _unmarked(a.help)) for a in arguments),
            *((f"`{', '.join([*o.opts, *o.secondary_opts])}`", _unmarked(o.help)) for o in options),
        ],
    )
    yield from _csv_columns(path)


def _csv_columns(path: str) -> Iterator[str]:
    """What ``--csv`` prints, of commands that are described by a ``CommandRecord``."""
    record = command_records().get(path)
    if record is not None:
        yield "Columns of `--csv`:"
        yield ""
        yield from _table(
            ("column", "what the table calls it"),
            [
                (f"`{name}`", heading)
                for heading, _, names in described_columns(record.columns)
                for name in names
            ],
        )


def command_records() -> dict[str, CommandRecord[Any, Any]]:
    """The records that commands are made of, by the command's whole name."""
    records = {}
    for path, entry in _entries(PROGRAM, "benchvise"):
        if entry.source == "records.command_line":
            module, _, name = entry.record.rpartition(".")
            records[path] = getattr(import_module(f"benchvise.{module}"), name)
    return records


def _entries(group: Group, path: str) -> Iterator[tuple[str, Command]]:
    for entry in group.entries:
        if isinstance(entry, Group):
            yield from _entries(entry, f"{path} {entry.name}")
        else:
            yield f"{path} {entry.name}", entry


def systems_page() -> str:
    """Which commands run on which system."""
    lines = [
        "# Systems that commands run on",
        "",
        "Boards are Linux always. The machine that Benchvise runs on is Linux for all commands; "
        "these say in one line, elsewhere, what they need:",
        "",
        "| command | runs on |",
        "|---|---|",
        *(f"| `{path}` | {RUNS_ON[needs]} |" for path, needs in _needing(PROGRAM, "benchvise")),
        "",
        "All others run on Linux, macOS and Windows: traces, captures, reports, the store, "
        "`benchvise serve`. What they do with a board (`health BOARD`) needs Linux or macOS, and "
        "measuring the machine itself needs Linux, since the probe is a program for Linux.",
        "",
        "What is weaker there: nothing confines the processes that read traces and captures "
        "(`benchvise doctor` says so), so open files of strangers on Linux; the kernel does not "
        "tell the workbench whose connection one is, so the access token alone protects it; each "
        "query of the workbench opens the trace again, in a process of its own; `--memory` "
        "bounds nothing and is refused.",
        "",
        "How it was tried: on Linux, with what the other system lacks taken away from Python "
        "(`fcntl`, `pwd`, `os.fork`, UNIX sockets, `/proc`, …). There, each kind of command prints "
        "the same as with it, and the workbench serves pages, traces, captures and queries. The "
        "decoder's crates compile for `x86_64-pc-windows-gnu` and `aarch64-apple-darwin`. It was "
        "not tried on a Mac or on Windows, and there is no wheel for them.",
        "",
    ]
    return "\n".join(lines)


def _needing(group: Group, path: str) -> Iterator[tuple[str, Needs]]:
    """What of a group does not run everywhere."""
    for entry in group.entries:
        if entry.needs != "any":
            yield f"{path} {entry.name}", entry.needs
        elif isinstance(entry, Group):
            yield from _needing(entry, f"{path} {entry.name}")


def analyses_page() -> str:
    """Every analysis of a trace with the tables of its answer."""
    lines = [
        "# Trace analyses",
        "",
        "What `benchvise trace` answers. Each analysis prints tables, `--markdown` the same as "
        "Markdown, `--csv` all rows of a table (`--table` chooses which) with values as they are, "
        "and `--json` the whole answer.",
        "",
    ]
    for analysis in ANALYSES:
        lines += [f"## `trace {analysis.name}`", "", analysis.summary, ""]
        lines += [analysis.description, ""] if analysis.description else []
        for shape in analysis.shapes:
            lines += [f"### `{shape.name}`", "", f"{shape.summary}.", ""]
            lines += _table(
                ("column", "unit", "in CSV"),
                [
                    (heading, unit.description, ", ".join(f"`{name}`" for name in names))
                    for heading, unit, names in described_columns(shape.columns)
                ],
            )
    return "\n".join(lines)


def _unmarked(text: str | None) -> str:
    """Help without what keeps Rich from taking a bracket for markup."""
    return (text or "").replace(r"\[", "[")


def benchmarks_page(registry: Registry) -> str:
    """Every benchmark, in the probe's own words."""
    lines = ["# Benchmarks", "", "Parameters of every benchmark that the probe drives:", ""]
    lines += _parameters(registry.common)
    for benchmark in registry.benchmarks:
        lines += _benchmark(benchmark)
    return "\n".join(lines)


def _benchmark(benchmark: Benchmark) -> Iterator[str]:
    yield f"## `{benchmark.id}`"
    yield ""
    yield benchmark.summary[:1].upper() + benchmark.summary[1:] + "."
    yield ""
    for name, text in (
        ("Unit", f"{benchmark.unit or 'as told'}, {benchmark.better} is better"),
        ("Driven by", DRIVEN_BY[benchmark.driven_by]),
        ("Counts", benchmark.counted),
        ("Method", benchmark.method),
        ("Pitfalls", benchmark.pitfalls),
        ("Does not measure", benchmark.not_measured),
        ("Compare with", benchmark.peer),
    ):
        yield f"{name}\n: {text}"
        yield ""
    yield from _parameters(benchmark.parameters)


def _parameters(parameters: Iterable[Parameter]) -> Iterator[str]:
    rows = [
        (
            f"`{p.name}`",
            f"`{p.default}`",
            " ".join(f"`{c}`" for c in p.choices) or f"{p.minimum} to {p.maximum}",
            p.summary,
        )
        for p in parameters
    ]
    if rows:
        yield from _table(("parameter", "default", "values", "meaning"), rows)


def suites_page() -> str:
    """Every shipped suite with its series."""
    lines = ["# Suites", ""]
    for name in suite_names():
        suite = load_suite(name)
        lines += [f"## `{name}`", "", suite.summary[:1].upper() + suite.summary[1:] + ".", ""]
        rows = [
            (
                f"`{entry.benchmark}`",
                ", ".join(f"{param} = {' '.join(values)}" for param, values in entry.params.items())
                or "defaults",
            )
            for entry in suite.entries
        ]
        lines += _table(("benchmark", "parameters"), rows)
    return "\n".join(lines)


_FLIPS = {
    Flip.PROCESS: "per process",
    Flip.RUN_TIME: "at run time",
    Flip.RISKY: "at run time, with risk",
    Flip.REBOOT: "by a reboot",
    Flip.REFLASH: "by another image",
    Flip.OBSERVE: "not at all",
}
_SOURCES = {
    "file": "`{}`",
    "link": "`{}` (where it leads)",
    "fact": "the probe's fact `{}`",
    "command": "`{}` (a command)",
}


def state_page() -> str:
    """Every item of the catalogue."""
    lines = [
        "# State of a board",
        "",
        "What a snapshot holds. An item can affect memory (MEM), computing "
        "(CPU), latency (LAT), network (NET), storage (STO), system calls (SYS), serial lines "
        "(SER), graphics (GFX), power (PWR), boot (BOOT).",
        "",
        "## Roles",
        "",
        "Devices stand by what they do on a board, so that boards with other names compare. In "
        "paths, `{role}` stands for the device that has it.",
        "",
    ]
    lines += _table(("role", "device"), [(f"`{role}`", text) for role, text in ROLES.items()])
    for item in shipped_catalogue():
        lines += _item(item)
    return "\n".join(lines)


def _item(item: Item) -> Iterator[str]:
    yield f"## `{item.id}`"
    yield ""
    yield f"{item.title[:1].upper()}{item.title[1:]}: {item.summary}."
    yield ""
    everything = len(item.families) == len(Family)
    told = (
        ("Number", str(item.number) if item.number else "none"),
        ("Can affect", "everything" if everything else ", ".join(item.families)),
        ("Can be changed", ", ".join(_FLIPS[flip] for flip in item.flips)),
        ("Settings that may be made", ", ".join(f"`{knob.name}`" for knob in item.knobs)),
        ("Undone", item.restore),
        ("Is set in", "; ".join(item.places)),
        ("Kind", "an observation: compared over time, not between boards" if item.volatile else ""),
    )
    for name, text in told:
        if text:
            yield f"{name}\n: {text}"
            yield ""
    yield from _table(
        ("read from", "called", "normaliser"), [_read(read, item.volatile) for read in item.reads]
    )


def _read(read: Read, volatile: bool) -> tuple[str, str, str]:
    kept = f" (only {', '.join(f'`{name}`' for name in read.only)})" if read.only else ""
    note = ", an observation" if read.volatile and not volatile else ""
    return (_SOURCES[read.source].format(read.path) + kept, f"`{read.key}`{note}", read.normaliser)


def knobs_page() -> str:
    """Every setting that may be made, by the item of state that it belongs to."""
    lines = ["# Settings that may be made", "", "For `benchvise run --set NAME=VALUE`.", ""]
    lines += ["*Risky* ones can disturb the whole board: nothing but naming them sets them.", ""]
    for item in shipped_catalogue():
        if item.knobs:
            lines += [f"## {item.title[:1].upper()}{item.title[1:]}", ""]
            lines += [f"{item.summary[:1].upper()}{item.summary[1:]}.", ""]
            rows = [
                (f"`{k.name}`", _values(k), "*Risky*: " * k.risky + k.summary, f"`{k.path}`")
                for k in item.knobs
            ]
            lines += _table(("name", "values", "meaning", "file"), rows)
    return "\n".join(lines)


def _values(knob: Knob) -> str:
    if knob.kind == "integer":
        open_end = knob.maximum == (1 << 63) - 1
        return f"from {knob.minimum}" if open_end else f"{knob.minimum} to {knob.maximum}"
    if knob.kind == "text":
        return f"what matches `{knob.pattern}`"
    return " ".join(f"`{choice}`" for choice in knob.choices) or "what the board offers"


def diagnosis_page() -> str:
    """Every field of a diagnosis as a document."""
    lines = [
        "# A diagnosis as JSON",
        "",
        "What `benchvise why --json` prints under `data` (beside it `id`, that in the store, and "
        "`evidence`, the directory), what `benchvise show --json` prints of a stored diagnosis, "
        "and what lies beside the evidence page as `diagnosis.json`. `[]` stands for "
        "each item of a list, `{}` for each value of a mapping whose keys are names. Goodness is "
        "the logarithm of a value where higher is better, and minus that where lower is better.",
        "",
    ]
    rows = _document_rows(schema(Diagnosis))
    return "\n".join([*lines, *_table(("field", "type", "meaning"), rows)])


_TYPES = {
    "string": "text",
    "boolean": "yes or no",
    "array": "list",
    "object": "mapping",
}


def _document_rows(described: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Path, type and meaning of every field of a JSON Schema, in its order."""
    definitions = described["$defs"]

    def resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
        name = node.get("$ref", "").rpartition("/")[2]
        return {**definitions[name], **node} if name else node

    def rows(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
        either = [other for other in node.get("anyOf", ()) if other.get("type") != "null"]
        whole = resolved({**node, **either[0]} if either else node)
        is_described = "description" in whole or "enum" in whole
        if path and is_described:  # what a list of texts holds, its own row has said
            meaning = whole.get("description", "").split("\n\n")[0].replace("\n", " ")
            words = ", ".join(f"`{word}`" for word in whole.get("enum", ()))
            kind = whole.get("type", "string")
            yield (
                f"`{path}`",
                _TYPES.get(kind, kind) + (" or null" if either else ""),
                f"{meaning.rstrip('.')}: {words}" if words and meaning else meaning or words,
            )
        before = f"{path}." if path else ""
        for name, child in whole.get("properties", {}).items():
            yield from rows(child, before + name)
        for items in [whole.get("items"), *whole.get("prefixItems", ())][:2]:
            if items:
                yield from rows(items, f"{path}[]")
        if isinstance(whole.get("additionalProperties"), dict):
            yield from rows(whole["additionalProperties"], f"{path}{{}}")

    return list(rows({"$ref": described["$ref"]}, ""))


_HOLDS = {
    "stops": "nothing is compared",
    "warns": "a warning",
    "notes": "a note",
}


def artefacts_page() -> str:
    """Every case in which a benchmark does not measure what its name says."""
    lines = [
        "# Known artefacts",
        "",
        "What `benchvise why` looks for before it measures: benchmarks that do not measure what "
        "their names say, and values that must not be compared.",
        "",
    ]
    for artefact in artefacts():
        lines += _artefact(artefact)
    return "\n".join(lines)


def _artefact(artefact: Artefact) -> Iterator[str]:
    yield f"## `{artefact.rule}`"
    yield ""
    yield artefact.sentence[:1].upper() + artefact.sentence[1:] + "."
    yield ""
    params = " ".join(f"`{name}={value}`" for name, value in (artefact.params or {}).items())
    versions = " ".join(
        (
            *((f"from {artefact.since}",) if artefact.since else ()),
            *((f"before {artefact.before}",) if artefact.before else ()),
            *(
                (f"but for {', '.join(artefact.fixed)} and later ones of these",)
                * bool(artefact.fixed)
            ),
        )
    )
    told = (
        ("Command", f"`{artefact.command.pattern}`" if artefact.command else ""),
        ("But not", f"`{artefact.unless.pattern}`" if artefact.unless else ""),
        ("Benchmark", f"`{artefact.benchmark}` {params}".strip() if artefact.benchmark else ""),
        ("Program", f"`{artefact.program}` {versions}".strip() if artefact.program else ""),
        ("When", artefact.when),
        ("On both sides", _HOLDS[artefact.grade] if artefact.grade else "nothing is said"),
        ("On one side only", _HOLDS[artefact.apart] if artefact.apart else ""),
        ("Instead", artefact.remedy),
        ("Source", artefact.source),
    )
    for name, text in told:
        if text:
            yield f"{name}\n: {text}"
            yield ""


def priors_page() -> str:
    """All that the order of tests is decided by beforehand."""
    chances = unlisted()
    lines = [
        "# What is suspected first",
        "",
        "`benchvise why` tests the likeliest suspects first. A suspect's score adds up from "
        "terms, in natural logarithms, that are printed with their reasons; the first is the "
        "logarithm of the chance below that such a setting explains a large gap of such a "
        "benchmark. The chances are judgements from the sources named, not frequencies. They "
        "decide in which order things are tested, never what the answer is.",
        "",
        f"A setting that is not named here counts {chances['near']:.1%} where it can affect what "
        f"is measured, {chances['far']:.1%} where it can reach it otherwise, and "
        f"{chances['everything']:.1%} where it can affect everything.",
        "",
        "## Settings",
        "",
    ]
    for prior in priors():
        lines += _prior(prior)
    lines += ["## Commands", "", "What a command looks like decides which chances count most.", ""]
    lines += _table(
        ("a command that matches", "is like"),
        [(f"`{kind.match.pattern}`", f"`{kind.like}`") for kind in commands()],
    )
    lines += [
        "## Symptoms",
        "",
        "Counters that differ between the sides by half or more point at",
        "",
    ]
    lines += _table(
        ("counters", "settings", "what they tell of"),
        [(_words(s.counters), _words(s.names), s.why) for s in symptoms()],
    )
    lines += [
        "## What a command does differently",
        "",
        "Where a command was watched on both sides, what it does differently points at",
        "",
    ]
    lines += _table(
        ("difference", "settings", "what they decide"),
        [(_touched(touch), _words(touch.names), touch.why) for touch in touches()],
    )
    return "\n".join(lines)


def _touched(touch: Touch) -> str:
    parts = [", ".join(touch.activities)] if touch.activities else []
    parts += [f"in {_words(touch.calls)}"] if touch.calls else []
    parts += [f"files that only one side opens: {_words(touch.files)}"] if touch.files else []
    return " ".join(parts)


def _prior(prior: Prior) -> Iterator[str]:
    yield f"### {_words(prior.names)}"
    yield ""
    yield prior.why[:1].upper() + prior.why[1:] + "."
    yield ""
    chances = ", ".join(f"`{name}` {chance:.1%}" for name, chance in prior.matters.items())
    yield f"Explains a gap of\n: {chances}"
    yield ""
    for direction in prior.better:
        names = "" if direction.names == prior.names else f"{_words(direction.names)}: "
        yield (
            f"Better on {_words(direction.on)}\n: {names}{_better(direction)} "
            f"({direction.sure:.0%} sure)"
        )
        yield ""
    yield f"Source\n: {prior.source}"
    yield ""


def _better(direction: PreferredValue) -> str:
    if direction.order:
        return " before ".join(f"`{value}`" for value in direction.order)
    if direction.quota:
        return "the larger share"
    what = "CPUs" if direction.cpus else "a higher number"
    fewer = "fewer CPUs" if direction.cpus else "a lower number"
    text = fewer if direction.more is False else f"more {what}" if direction.cpus else what
    if direction.field:
        text += f", of the numbers the one at place {direction.field + 1}"
    return text + (", 0 being the most" if direction.zero_is_most else "")


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def mechanisms_page() -> str:
    """Every mechanism card, and the counters that they speak of."""
    lines = [
        "# Mechanisms",
        "",
        "What `benchvise why` knows of why a setting changes a figure. The cause itself is proven "
        "by setting it; a card then says how it works, and what is counted on both sides agrees or "
        "does not. *Here* is the bad side. Signs are those of the repair: `+` more, `-` less, `0` "
        "as before, for the same work.",
        "",
    ]
    for card in load_cards():
        lines += _mechanism(card)
    lines += ["## Counters", ""]
    rows = [
        (f"`{c.name}`", c.summary, f"{c.margin:.0%}", f"{c.least:g}" if c.least else "")
        for c in COUNTERS.values()
    ]
    lines += _table(("name", "counts", "noise", "says nothing below"), rows)
    return "\n".join(lines)


def _mechanism(card: Card) -> Iterator[str]:
    filled = card.explanation.replace("{metric}", "the metric")
    filled = filled.replace("{bad}", "*the bad value*").replace("{good}", "*the good value*")
    yield f"## `{card.id}`"
    yield ""
    yield f"{card.title[:1].upper()}{card.title[1:]}. {filled}"
    yield ""
    told = (
        (
            "Can affect",
            "everything" if len(card.families) == len(Family) else ", ".join(card.families),
        ),
        ("Settings", _names(card.knobs)),
        ("Items of state", _names(card.items)),
        ("Options", _names(card.options)),
        ("Layers", ", ".join(card.layers)),
        ("Benchmarks", _names(card.metrics)),
        ("Only where there is", f"`{card.needs}`" if card.needs else ""),
        ("Counters when repaired", ", ".join(map(_sign, card.counters))),
        ("Computes", "what it predicts for the case" if card.predict else ""),
        ("The figure itself", _shown(card.artefact)),
        ("Cost of the better value", card.cost),
        ("Literature", "; ".join(card.literature)),
    )
    for name, text in told:
        if text:
            yield f"{name}\n: {text}"
            yield ""
    rows = [(_names(one.metrics) or "all", one.value, one.reason) for one in card.better]
    yield from _table(("benchmarks", "better", "because"), rows)
    if card.remedies:
        rows = [
            (one.system, " ".join(f"`{line}`" for line in one.text.split("\n") if line), one.cost)
            for one in card.remedies
        ]
        yield from _table(("remedy", "what to do", "cost"), rows)


def kernel_log_page() -> str:
    """Every kind of line of the kernel log that a rule knows."""
    lines = [
        "# Lines of the kernel log",
        "",
        "What `benchvise health` and the notes of a run say of the kernel log. A line belongs to "
        "the first rule that it matches, in this order. *Failing*: data is lost, or something is "
        "broken or about to be. *Warning*: it works, but slower or less surely. *Note*: good to "
        "know, ordinary on many boards.",
        "",
    ]
    for one in shipped_log_classes():
        lines += _log_class(one)
    return "\n".join(lines)


def _log_class(log_class: LogClass) -> Iterator[str]:
    yield f"## {log_class.name}"
    yield ""
    yield log_class.summary[:1].upper() + log_class.summary[1:] + "."
    yield ""
    for rule in log_class.rules:
        yield from _rule(rule)


def _rule(rule: LogRule) -> Iterator[str]:
    yield f"### `{rule.id}`: {rule.title}"
    yield ""
    yield f"{rule.severity.value.capitalize()}. {rule.explanation}"
    yield ""
    yield f"What to do\n: {rule.remedy}"
    yield ""
    yield "```"
    yield from rule.lines
    yield "```"
    yield ""


def alerts_page() -> str:
    """Every rule by which ``benchvise watch`` raises alerts."""
    lines = [
        "# Alerts",
        "",
        "When `benchvise watch` raises an alert, unless a file given by `--rules` says otherwise.",
        "",
    ]
    for rule in default_rules():
        patterns = ", ".join(f"`{pattern}`" for pattern in rule.match)
        of = f"{rule.of} {patterns}" + (f", text `{rule.text}`" if rule.text else "")
        lines += [f"## `{rule.name}`", "", f"{rule.why[:1].upper()}{rule.why[1:]}.", ""]
        rows = [
            ("of", of),
            ("raised at", f"{rule.raise_at:g} {rule.unit}".strip()),
            ("rearmed at", f"{rule.rearm:g} {rule.unit}".strip()),
        ]
        if rule.hold:
            rows.append(("held for", spell(rule.hold)))
        if rule.within:
            rows.append(("within", spell(rule.within)))
        if rule.limit is not None:
            rows.append(("or below its own limit by", f"{rule.limit:g} {rule.unit}".strip()))
        rows.append(("what to do", rule.remedy))
        lines += [*_table(("", ""), rows), ""]
    return "\n".join(lines)


def extensions_page() -> str:
    """Every kind of extension, with the one of the example package."""
    lines = [
        "# Kinds of extensions",
        "",
        "What users add by files of their own or by packages. `benchvise plugins` lists it. Below "
        "each kind stands what `examples/plugin` has of it: the same text is a file of yours, or "
        "of a package.",
        "",
    ]
    for kind in KINDS:
        lines += _extension(kind)
    return "\n".join(lines)


def _extension(kind: ExtensionKind) -> Iterator[str]:
    value = next(iter(_example_points()[kind.group].values()))
    of_package = "whose value is a package with such files"
    if kind.objects:
        of_package = "whose value is an object, a class of one, or a tuple"
    yield f"## `{kind.name}`"
    yield ""
    yield f"{kind.adds[:1].upper()}{kind.adds[1:]}."
    yield ""
    listed = f", which lists its objects: `{kind.objects} = (…,)`" if kind.objects else ""
    for name, text in (
        ("Files of yours", f"`~/.config/benchvise/{kind.name}/NAME{kind.files}`{listed}"),
        ("A package", f"entry points of the group `{kind.group}`, {of_package}"),
        ("Used by", kind.used_by),
    ):
        yield f"{name}\n: {text}"
        yield ""
    yield "```toml" if kind.files == ".toml" else "```python"
    yield _example_text(value.partition(":")[0], kind)
    yield "```"
    yield ""


def _example_points() -> Mapping[str, Mapping[str, str]]:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    points: Mapping[str, Mapping[str, str]] = project["entry-points"]
    return points


def _example_text(module: str, kind: ExtensionKind) -> str:
    place = EXAMPLE.joinpath("src", *module.split("."))
    if kind.files == ".toml":
        return "\n".join(path.read_text().rstrip() for path in sorted(place.glob("*.toml")))
    file = place.with_suffix(".py")
    return (file if file.is_file() else place / "__init__.py").read_text().rstrip()


def health_page() -> str:
    """Every kind of counter that ``benchvise health`` reads."""
    lines = [
        "# Counters of a board's health",
        "",
        "What `benchvise health` reads of `/sys` and `/proc` beside the kernel log, sensors and "
        "SMART, and from which count on it says something by itself. Others say something when "
        "they grow.",
        "",
    ]
    for kind in counter_kinds():
        lines += _counter(kind)
    return "\n".join(lines)


def _counter(kind: CounterKind) -> Iterator[str]:
    yield f"## `{kind.id}`"
    yield ""
    yield f"{kind.title[:1].upper()}{kind.title[1:]}. {kind.explanation}"
    yield ""
    limits = [
        f"{kind.bad.value} {word} {value:g}"
        for word, value in (("from", kind.first), ("below", kind.below))
        if kind.bad is not None and value is not None
    ]
    if kind.doubt is not None:
        limits.append(f"warning from {kind.doubt:g}")
    for name, text in (
        ("Section", kind.section),
        ("Read from", ", ".join(f"`{glob}`" for glob in kind.globs)),
        ("By itself", ", ".join(limits) or "says nothing"),
        ("What to do", kind.remedy),
    ):
        yield f"{name}\n: {text}"
        yield ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sign(predicted: CounterSign) -> str:
    towards = f" towards {' or '.join(predicted.to)}" if predicted.to else ""
    return f"`{predicted.name}` {predicted.sign}{towards}{', decides' * predicted.decides}"


def _shown(template: str) -> str:
    return template.replace("{metric}", "the metric").replace("{zero_page_bytes}", "so much")


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"
    yield ""


def json_page() -> str:
    """The JSON Schema of every kind of ``--json`` document."""
    lines = [
        "# JSON documents",
        "",
        "With `--json`, a command prints one document. Below is the JSON Schema (draft 2020-12) of "
        "each kind. Keys may be added in later versions; those here stay.",
    ]
    for kind, data in sorted(json_kinds().items()):
        schema = json.dumps(document_schema(kind, data), indent=1, ensure_ascii=False)
        lines += ["", f"## `{kind}`", "", "```json", schema, "```"]
    return "\n".join(lines)


def glossary_page() -> str:
    """The words of the field that Benchvise uses, and those that it does not."""
    lines = [
        "# Glossary",
        "",
        "One word for a concept, one concept for a word: in commands, pages, JSON and code.",
        "",
    ]
    terms = tomllib.loads(GLOSSARY.read_text())["term"]
    rows = [(t["use"], t["meaning"], ", ".join(t["instead_of"])) for t in terms]
    return "\n".join([*lines, *_table(("term", "meaning", "not"), rows)])


def main() -> None:
    """Writes all pages."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    (OUTPUT / "commands.md").write_text(commands_page())
    (OUTPUT / "systems.md").write_text(systems_page())
    (OUTPUT / "trace-analyses.md").write_text(analyses_page())
    (OUTPUT / "benchmarks.md").write_text(benchmarks_page(local_registry()))
    (OUTPUT / "suites.md").write_text(suites_page())
    (OUTPUT / "state.md").write_text(state_page())
    (OUTPUT / "knobs.md").write_text(knobs_page())
    (OUTPUT / "mechanisms.md").write_text(mechanisms_page())
    (OUTPUT / "diagnosis.md").write_text(diagnosis_page())
    (OUTPUT / "artefacts.md").write_text(artefacts_page())
    (OUTPUT / "priors.md").write_text(priors_page())
    (OUTPUT / "kernel-log.md").write_text(kernel_log_page())
    (OUTPUT / "health.md").write_text(health_page())
    (OUTPUT / "alerts.md").write_text(alerts_page())
    (OUTPUT / "extensions.md").write_text(extensions_page())
    (OUTPUT / "json.md").write_text(json_page())
    (OUTPUT / "glossary.md").write_text(glossary_page())


if __name__ == "__main__":
    main()
