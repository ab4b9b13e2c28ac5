"""The shape of a diagnosis as a document: every field of ``Diagnosis.as_json`` and what it means.

One source: the reference page is made of it, a document from a store is held against it before it
is shown, and a test compares it with what ``as_json`` gives.

A path is written ``causes[].share``: ``[]`` stands for each item of a list, ``{}`` for each value
of a mapping whose keys are names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from benchvise.why.model import (
    FORMAT,
    Grade,
    Layer,
    Outcome,
    Purpose,
    Side,
    Stop,
    Support,
    Verdict,
)

Type = Literal["text", "number", "integer", "yes or no", "list", "mapping"]

_PYTHON: Mapping[Type, type | tuple[type, ...]] = MappingProxyType(
    {
        "text": str,
        "number": (int, float),
        "integer": int,
        "yes or no": bool,
        "list": list,
        "mapping": dict,
    }
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``nullable`` where it may be null, ``words`` the only texts where it has few."""

    path: str
    type: Type
    meaning: str
    nullable: bool = False
    words: tuple[str, ...] = ()


def _bounds(path: str, meaning: str, *, nullable: bool = False) -> tuple[Field, ...]:
    return (
        Field(path, "mapping", meaning, nullable),
        Field(f"{path}.value", "number", "the estimate"),
        Field(f"{path}.low", "number", "lower end of its 95 % interval"),
        Field(f"{path}.high", "number", "upper end of its 95 % interval"),
    )


def _suspect(path: str) -> tuple[Field, ...]:
    return (
        Field(path, "mapping", "a difference, or several that belong together"),
        Field(f"{path}.id", "text", "its name: that of the knob, item or layer"),
        Field(f"{path}.title", "text", "what it is, in words"),
        Field(f"{path}.layer", "text", "where it lies", words=tuple(Layer)),
        Field(f"{path}.item", "text", "the item of the catalogue of board state"),
        Field(f"{path}.good", "text", "its value on the good side"),
        Field(f"{path}.bad", "text", "its value on the bad side"),
        Field(f"{path}.members", "list", "the entries of the snapshots that belong to it"),
        Field(f"{path}.members[]", "text", "name of an entry"),
        Field(f"{path}.testable", "yes or no", "whether it could be flipped here"),
        Field(f"{path}.untestable", "text", "why not, where it could not"),
        Field(f"{path}.score", "number", "sum of its terms: a larger one was tested earlier"),
        Field(f"{path}.terms", "list", "what its score is made of"),
        Field(f"{path}.terms[]", "mapping", "one addend of the score"),
        Field(f"{path}.terms[].name", "text", "what it stands for"),
        Field(f"{path}.terms[].points", "number", "its size, a natural logarithm"),
        Field(f"{path}.terms[].reason", "text", "why it has that size"),
    )


def _experiment(path: str, meaning: str, *, nullable: bool = False) -> tuple[Field, ...]:
    return (
        Field(path, "mapping", meaning, nullable),
        Field(f"{path}.number", "integer", "counts the experiments"),
        Field(f"{path}.purpose", "text", "what it was made for", words=tuple(Purpose)),
        Field(f"{path}.question", "text", "the question that it answers"),
        Field(f"{path}.side", "text", "the side that was changed", words=tuple(Side)),
        Field(f"{path}.flipped", "list", "ids of what one of its two arms had flipped"),
        Field(f"{path}.flipped[]", "text", "id of a suspect"),
        Field(f"{path}.context", "list", "ids of what both arms had flipped"),
        Field(f"{path}.context[]", "text", "id of a suspect"),
        Field(f"{path}.outcome", "text", "what it showed", words=tuple(Outcome)),
        *_bounds(f"{path}.shift", "goodness gained on that side", nullable=True),
        *_bounds(f"{path}.share", "part of the gap that was closed, or opened", nullable=True),
        Field(f"{path}.p", "number", "of the paired sign-flip test", nullable=True),
        Field(f"{path}.blocks", "integer", "repetitions, each with all arms in random order"),
        Field(f"{path}.trials", "list", "its trials"),
        Field(f"{path}.trials[]", "integer", "number of a trial"),
        Field(f"{path}.seconds", "number", "what it took"),
        Field(f"{path}.reason", "text", "why it is unresolved, where it is"),
    )


def _origins(path: str) -> tuple[Field, ...]:
    return (
        Field(path, "list", "the places that set the value persistently"),
        Field(f"{path}[]", "mapping", "one of them"),
        Field(f"{path}[].side", "text", "on which side", words=tuple(Side)),
        Field(f"{path}[].kind", "text", "sysctl.d, udev, rc.local, command line, ..."),
        Field(f"{path}[].file", "text", "the file"),
        Field(f"{path}[].line", "integer", "its line, counted from 1; 0 where it has none"),
        Field(f"{path}[].text", "text", "what stands there"),
        Field(f"{path}[].certain", "yes or no", "whether it is sure that this place wins"),
        Field(f"{path}[].note", "text", "what else is to be known of it"),
    )


def _remedies(path: str) -> tuple[Field, ...]:
    return (
        Field(path, "list", "how to make the good value last"),
        Field(f"{path}[]", "mapping", "one way"),
        Field(f"{path}[].system", "text", "Yocto, Debian, Buildroot, command line, now"),
        Field(f"{path}[].text", "text", "what to write, ready to be pasted"),
        Field(f"{path}[].cost", "text", "what it costs elsewhere"),
    )


_METRIC = (
    Field("metric", "mapping", "what was measured"),
    Field("metric.name", "text", "what a person calls it"),
    Field("metric.benchmark", "text", "the benchmark"),
    Field("metric.params", "mapping", "its parameters"),
    Field("metric.params{}", "text", "value of a parameter"),
    Field("metric.unit", "text", "unit of its values"),
    Field("metric.better", "text", "which values are better", words=("higher", "lower")),
    Field("metric.counted", "text", "what the value counts"),
    Field("metric.command", "text", "the user's command line, where it is one"),
)

_GAP = (
    Field("gap", "mapping", "how far the two sides are apart; null where not measured", True),
    *_bounds("gap.goodness", "the gap: difference of the logarithms, above 0 when good is better"),
    Field("gap.ratio", "number", "median of the good side to that of the bad one"),
    Field("gap.floor", "number", "the noise floor, in the unit of goodness"),
    Field("gap.good", "number", "median of the good side, in the metric's unit"),
    Field("gap.bad", "number", "median of the bad side, in the metric's unit"),
    Field("gap.blocks", "integer", "repetitions"),
    Field("gap.p", "number", "of the sign-flip test"),
    Field("gap.trials", "list", "its trials"),
    Field("gap.trials[]", "integer", "number of a trial"),
)

_FINDINGS = (
    Field("findings", "list", "what must be known of the comparison itself"),
    Field("findings[]", "mapping", "one of them"),
    Field("findings[].rule", "text", "its word"),
    Field("findings[].grade", "text", "how much it weighs", words=tuple(Grade)),
    Field("findings[].sentence", "text", "what it is"),
    Field("findings[].evidence", "text", "what was seen"),
    Field("findings[].remedy", "text", "what to do about it"),
)

_MECHANISM = (
    Field("causes[].mechanism", "mapping", "why it has that effect, where a card knows", True),
    Field("causes[].mechanism.card", "text", "name of the card"),
    Field("causes[].mechanism.title", "text", "the mechanism in a few words"),
    Field("causes[].mechanism.explanation", "text", "how it works"),
    Field("causes[].mechanism.support", "text", "do the counters agree?", words=tuple(Support)),
    Field("causes[].mechanism.checks", "list", "what was counted"),
    Field("causes[].mechanism.checks[]", "mapping", "one counter"),
    Field("causes[].mechanism.checks[].counter", "text", "its name"),
    Field(
        "causes[].mechanism.checks[].predicted",
        "text",
        "its predicted change when the cause is repaired",
        words=("+", "-", "0"),
    ),
    Field("causes[].mechanism.checks[].change", "number", "the ratio with to without", True),
    Field("causes[].mechanism.checks[].agrees", "yes or no", "whether the two agree", True),
    Field("causes[].mechanism.checks[].reason", "text", "why it is not available"),
    Field("causes[].mechanism.prediction", "text", "what the card computed for this case"),
    Field("causes[].mechanism.predicted", "number", "that as a ratio", True),
    Field("causes[].mechanism.artefact", "text", "what the metric does not measure, where so"),
    *_remedies("causes[].mechanism.remedies"),
    Field("causes[].mechanism.literature", "list", "where to read on"),
    Field("causes[].mechanism.literature[]", "text", "a source"),
)

_CAUSES = (
    Field("causes", "list", "what accounts for the gap, each confirmed on fresh data"),
    Field("causes[]", "mapping", "one cause"),
    Field("causes[].name", "text", "the ids of its suspects, joined"),
    Field("causes[].interacts", "yes or no", "whether it takes all its suspects together"),
    Field("causes[].suspects", "list", "its suspects"),
    *_suspect("causes[].suspects[]"),
    *_bounds("causes[].share", "its share of the gap: 0.97 is 97 %"),
    *_experiment("causes[].repair", "the good value on the bad side"),
    *_experiment("causes[].breaking", "the bad value on the good side", nullable=True),
    *_experiment("causes[].again", "the bad side once all was put back", nullable=True),
    Field("causes[].not_broken", "text", "why the good side was not broken, where so"),
    *_MECHANISM,
    *_origins("causes[].origins"),
    *_remedies("causes[].remedies"),
)

_INTERACTION = (
    Field("interaction", "mapping", "the top two causes alone and together", True),
    Field("interaction.one", "text", "one cause"),
    Field("interaction.other", "text", "the other"),
    Field("interaction.alone", "list", "the share of each alone"),
    *_bounds("interaction.alone[]", "a share"),
    *_bounds("interaction.together", "the share of both together"),
    *_bounds("interaction.excess", "together minus the sum of both"),
    Field("interaction.shown", "yes or no", "whether that excludes zero"),
)

_TRIALS = (
    Field("trials", "list", "every measurement, in order of time"),
    Field("trials[]", "mapping", "one fresh process of the metric"),
    Field("trials[].number", "integer", "counts the trials"),
    Field("trials[].side", "text", "the side that was measured", words=tuple(Side)),
    Field("trials[].flipped", "list", "ids of what was flipped to the other side's value"),
    Field("trials[].flipped[]", "text", "id of a suspect"),
    Field("trials[].value", "number", "median of its batches, in the metric's unit"),
    Field("trials[].values", "list", "the batches"),
    Field("trials[].values[]", "number", "value of a batch"),
    Field("trials[].started", "number", "seconds since the diagnosis began"),
    Field("trials[].seconds", "number", "what it took, with setting and undoing"),
    Field("trials[].counters", "mapping", "what was counted"),
    Field("trials[].counters{}", "number", "a counter"),
    Field("trials[].covariates", "mapping", "temperature, clock, pressure of that moment"),
    Field("trials[].covariates{}", "number", "one of them"),
    Field("trials[].flags", "list", "what disturbed it"),
    Field("trials[].flags[]", "text", "a word"),
)

_WRITES = (
    Field("writes", "list", "the journal: everything that was set and put back"),
    Field("writes[]", "mapping", "one write"),
    Field("writes[].at", "number", "seconds since the diagnosis began"),
    Field("writes[].side", "text", "on which side", words=tuple(Side)),
    Field("writes[].knob", "text", "the knob"),
    Field("writes[].path", "text", "the file"),
    Field("writes[].old", "text", "what it held"),
    Field("writes[].new", "text", "what it was set to"),
    Field("writes[].undone", "yes or no", "whether this put an old value back"),
)

FIELDS: tuple[Field, ...] = (
    Field("format", "integer", f"{FORMAT}; raised when the meaning of a field changes"),
    *_METRIC,
    Field("good", "text", "name of the good side"),
    Field("bad", "text", "name of the bad side"),
    Field("verdict", "text", "how the diagnosis ended", words=tuple(Verdict)),
    Field("headline", "text", "the answer in one sentence"),
    *_GAP,
    *_bounds("unexplained", "share of the gap that no cause accounts for", nullable=True),
    *_FINDINGS,
    *_CAUSES,
    *_INTERACTION,
    Field("suspects", "list", "all suspects, in the order of their score"),
    *_suspect("suspects[]"),
    Field("excluded", "mapping", "differences that cannot matter, by name"),
    Field("excluded{}", "text", "why it cannot"),
    Field("experiments", "list", "every question that was put to a board, in order"),
    *_experiment("experiments[]", "one question"),
    *_TRIALS,
    *_WRITES,
    Field("needed", "list", "what would be needed to know more"),
    Field("needed[]", "text", "a sentence"),
    Field("stopped", "text", "what ended it early, if anything did", True, tuple(Stop)),
    Field("reached", "text", "how far it got, where it did not come to its end"),
    Field("restored", "yes or no", "whether everything that was set is as before"),
    Field("simulated", "yes or no", "whether a side is an emulated board"),
    Field("started", "text", "when it began, ISO 8601"),
    Field("seconds", "number", "how long it took"),
    Field("seed", "integer", "of all random orders"),
    Field("repeat", "text", "the command line that makes this diagnosis again"),
)

_BY_PATH = {field.path: field for field in FIELDS}
_CHILDREN: dict[str, list[str]] = {}
for _field in FIELDS:
    _parent, _dot, _name = _field.path.rpartition(".")
    if not _field.path.endswith(("[]", "{}")):
        _CHILDREN.setdefault(_parent, []).append(_name)


UNKNOWN = "unknown"


def faults(document: Any) -> Iterator[str]:
    """What of a document is not as ``FIELDS`` says: missing, of another type, or unknown.

    Each is one line, ``causes[0].share: missing``; it ends in ``UNKNOWN`` for a field that a later
    Benchvise may have added.
    """
    if not isinstance(document, dict):
        yield "the document: not a mapping"
        return
    yield from _in_mapping(document, "", "")


def _in_mapping(value: Mapping[str, Any], path: str, shown: str) -> Iterator[str]:
    if f"{path}{{}}" in _BY_PATH:
        for name, item in value.items():
            yield from _in_value(item, f"{path}{{}}", f"{shown}[{name!r}]")
        return
    names = _CHILDREN.get(path, [])
    before = f"{path}." if path else ""
    for name in names:
        here = f"{shown}.{name}" if shown else name
        if name not in value:
            yield f"{here}: missing"
        else:
            yield from _in_value(value[name], before + name, here)
    for name in value.keys() - set(names):
        yield f"{shown}.{name}: {UNKNOWN}" if shown else f"{name}: {UNKNOWN}"


def _in_value(value: Any, path: str, shown: str) -> Iterator[str]:
    field = _BY_PATH[path]
    if value is None and field.nullable:
        return
    wrong_bool = isinstance(value, bool) and field.type != "yes or no"
    if wrong_bool or not isinstance(value, _PYTHON[field.type]):
        yield f"{shown}: not a {field.type}"
    elif field.words and value not in field.words:
        yield f"{shown}: none of {', '.join(field.words)}"
    elif isinstance(value, dict):
        yield from _in_mapping(value, path, shown)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _in_value(item, f"{path}[]", f"{shown}[{index}]")
