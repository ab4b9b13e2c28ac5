"""In which order suspects are tested: a score that adds up from terms which can be read.

All points are natural logarithms of odds, and each has its reason. What nobody knows anything of
counts nothing, so the score is flat there. How likely a setting is to matter, and which value is
the slow one, is a table (``priors.toml``, of which a reference page is made). The rarity of a value
follows PeerPressure (Wang et al., OSDI 2004): a value that few other boards have is more likely to
be the odd one.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from importlib.resources import files
from typing import Any

from benchvise.quantities import parse_cpu_mask, parse_cpus
from benchvise.rig.compose.layers.layer import LayerPart
from benchvise.state.catalogue import knobs
from benchvise.state.knobs import present_value
from benchvise.state.model import Family, Knob, Snapshot
from benchvise.why.bench import CrossCheck
from benchvise.why.model import Gap, Layer, Metric, ProcessMeans, Side, Suspect, Term
from benchvise.why.suspects.bundles import text_of
from benchvise.why.suspects.command_suspects import is_told
from benchvise.why.suspects.find import value_text
from benchvise.why.suspects.reduction import Reach, families_of, reach_of

SPREAD = 2.5
"""Beyond this below the best, in score, points count a tenth: a cause that nobody thought of must
not take many tests more than one that everybody suspects.

On the planted-cause bench, where a fifth of the causes is drawn without regard to what is likely,
this much takes the fewest tests: 4.8 bits for 38 suspects, where 5.2 are without any order, 5.0
with 4.0, and 5.1 with 6.0.
"""

BUSY = "busy"
"""Of the term about the CPU that a program took while nothing was measured."""

_KEPT = 0.1
# Of a command that looks like a benchmark it is believed to this part that it is one.
_LIKE = 0.7
_LIMIT_RARITY = 1.5
_FEWEST_BOARDS = 3
_SAME = 1.1
_DIFFERENT = 1.5
_ALIKE = 0.5
# The value of a variable is not told unless it is known to change programs.
_UNKNOWN_VARIABLE = 0.2
_BUSY_CPUS = 0.05
_VERY_BUSY_CPUS = 0.3
_BUSY_POINTS = 4.0
_IDLE_POINTS = -0.5
_ABSENT_POINTS = -1.0
_NAMED_POINTS = 2.0
_SHORTEST = 3  # characters of a program's name that is looked for in that of a variable
# Where a command of a shell line begins, and the last part of its path.
_PROGRAM = re.compile(r"(?:^|[;&|(]\s*|\b(?:sudo|env|exec|time|nice)\s+)(?:[\w.+-]*/)*([\w.+-]+)")
_COMM = 15  # characters of a program's name that the kernel keeps
_COSTS = {
    Layer.PROCESS: 0.0,
    Layer.RUN_TIME: 0.0,
    Layer.USERLAND: -0.7,
    Layer.LIBC: -0.7,
    Layer.COMMAND_LINE: -1.0,
    Layer.KERNEL: -1.2,
    Layer.INIT_SETTINGS: -1.2,
    Layer.ROOT: -1.2,
    Layer.DEVICE_TREE: -1.2,
    Layer.BOOTLOADER: -2.0,
    Layer.HARDWARE: -2.0,
}
_COST_REASONS = {
    Layer.USERLAND: "it takes the other side's user land",
    Layer.LIBC: "it takes the other side's C library",
    Layer.BOOTLOADER: "it takes another image",
    Layer.HARDWARE: "it takes other hardware",
}
_PROGRAMS = (Layer.USERLAND, Layer.LIBC, Layer.ROOT)


def rank(
    suspects: Sequence[Suspect],
    metric: Metric,
    *,
    gap: Gap | None = None,
    checks: Sequence[CrossCheck] = (),
    counters: Mapping[Side, Mapping[str, float]] | None = None,
    busy: Mapping[Side, Mapping[str, float]] | None = None,
    corpus: Sequence[Snapshot] = (),
) -> tuple[Suspect, ...]:
    """The suspects, best first, each with its terms; layers of images bring terms of their own.

    ``counters`` are what was counted on the sides, per batch or process; ``busy`` the programs that
    were busy there while nothing was measured, with the CPUs that they took. ``corpus`` are
    snapshots of other boards and times.
    """
    population = _Population(corpus)
    scored = [
        suspect
        if suspect.terms
        else replace(
            suspect,
            terms=tuple(
                term
                for terms in (
                    _prior(suspect, metric),
                    _named_for_program(suspect, metric),
                    _direction(suspect, metric),
                    _size(suspect),
                    population.rarity(suspect),
                    _unless_idle(_symptom(suspect, counters or {}), suspect, busy or {}),
                    _busy(suspect, busy or {}),
                    _schedule(suspect),
                    _check(suspect, gap, checks),
                    _cost(suspect),
                )
                for term in terms
            ),
        )
        for suspect in suspects
    ]
    return tuple(sorted(_drawn_together(scored), key=lambda s: (s.means is None, -s.log_odds)))


# -- the terms -------------------------------------------------------------------------------------


def _prior(suspect: Suspect, metric: Metric) -> Iterator[Term]:
    benchmark, like = metric.benchmark, likeness(metric)
    odds, why = _chance(suspect, benchmark)
    if like:
        guessed, why = _chance(suspect, like)
        odds = _LIKE * guessed + (1 - _LIKE) * odds
        why = f"{why}; the command looks like {like}"
    if suspect.item == "process.environment" and not (
        is_told(suspect.good) and is_told(suspect.bad)
    ):
        odds *= _UNKNOWN_VARIABLE
        why = f"{why}; this variable is none that is known to change programs"
    yield Term("prior", math.log(odds), f"{odds:.1%} of such gaps: {why}")


def _named_for_program(suspect: Suspect, metric: Metric) -> Iterator[Term]:
    """A variable whose name has that of a program of the command is read by it: MAKEFLAGS by make,
    JDK_JAVA_OPTIONS by java."""
    if suspect.item != "process.environment":
        return
    variable = suspect.id.partition(":")[2].lower()
    programs = {word.rstrip("0123456789.-") for word in _PROGRAM.findall(metric.command.lower())}
    for program in sorted(programs):
        if len(program) >= _SHORTEST and (
            variable.startswith(program) or program in variable.split("_")
        ):
            reason = f"the command calls {program}, whose name is in that of the variable"
            yield Term("program", _NAMED_POINTS, reason)
            return


def _chance(suspect: Suspect, benchmark: str) -> tuple[float, str]:
    prior = prior_of(suspect.id)
    if prior is not None:
        return chance(prior, benchmark), prior.why
    families, reach = families_of(suspect.item), reach_of(benchmark)
    if len(families) > len(reach.all) and reach.all <= families:
        return unlisted()["everything"], "it can affect everything, and nothing more is known"
    if families & reach.near:
        return unlisted()["near"], "it can affect what is measured, and nothing more is known"
    return unlisted()["far"], "it can reach what is measured, and nothing more is known"


def _direction(suspect: Suspect, metric: Metric) -> Iterator[Term]:
    for benchmark in filter(None, (likeness(metric), metric.benchmark)):
        direction = direction_of(suspect.id, benchmark)
        if direction is None:
            continue
        values = _own_values(suspect)
        preferred = direction.prefers(*values)
        if preferred:
            likely = math.log(direction.sure / (1 - direction.sure)) / 2
            doublings = _doublings(suspect)
            if doublings is not None:  # what hardly differs is hardly slower
                likely *= min(1.0, doublings)
            expected = "good" if preferred > 0 else "bad"
            yield Term(
                "direction",
                round(likely * preferred, 3),
                f"{values[0]} against {values[1]}: the {expected} side has what should be better",
            )
        return


def _own_values(suspect: Suspect) -> tuple[str, str]:
    """Of a suspect of several knobs, those of the one that it is called by."""
    texts = []
    for text in (suspect.good, suspect.bad):
        named = [part for part in text.split(", ") if part.startswith(f"{suspect.id}=")]
        texts.append(named[0].partition("=")[2] if named else text)
    return texts[0], texts[1]


def _size(suspect: Suspect) -> Iterator[Term]:
    """A number that hardly differs hardly matters; each doubling says a little more."""
    doublings = _doublings(suspect)
    if doublings is None:
        return
    if math.isinf(doublings):
        yield Term("size", 0.2, "it is zero on one side only")
    else:
        steps = 0.2 * (doublings - 1) if doublings > 1 else 1.5 * (doublings - 1)
        yield Term("size", min(0.8, steps), f"it differs by a factor of {2**doublings:.3g}")


def _doublings(suspect: Suspect) -> float | None:
    """How often the smaller number is doubled up to the larger; None where there are none."""
    good, bad = (_magnitude(value) for value in _own_values(suspect))
    if good is None or bad is None or good == bad:
        return None
    return abs(math.log2(good / bad)) if good > 0 and bad > 0 else math.inf


def _magnitude(value: str) -> float | None:
    """The last of the numbers that a value consists of: of buffers it is the largest."""
    fields = value.split()
    return numbers_in(value, len(fields) - 1) if fields and numbers_in(value) is not None else None


class _Population:
    """What values other boards have. Of each board only its latest snapshot counts."""

    def __init__(self, corpus: Sequence[Snapshot]) -> None:
        latest: dict[str, Snapshot] = {}
        for snapshot in sorted(corpus, key=lambda s: s.taken):
            latest[snapshot.board] = snapshot
        self._boards = [
            {e.name: e for e in snapshot.settings if e.missing is None}
            for snapshot in latest.values()
        ]

    def rarity(self, suspect: Suspect) -> Iterator[Term]:
        """How much likelier a culprit has this value, drawn anywhere, than a board of the corpus.

        With N boards, c values in all and m boards that have the bad one, that is
        (N + c) / (c (m + 1)).
        """
        knob = knobs().get(suspect.id)
        values: list[str] = []
        for board in self._boards if len(suspect.members) else ():
            board_values = {
                present_value(knob[1], entry.path, text_of(entry))
                if knob is not None
                else value_text(entry.value)
                for name in suspect.members
                if (entry := board.get(name)) is not None
            }
            if len(board_values) == 1:
                values.append(board_values.pop())
        if len(values) < _FEWEST_BOARDS:
            return
        bad = _own_values(suspect)[1]
        cardinality = len({*values, *_own_values(suspect)})
        matching = values.count(bad)
        ratio = (len(values) + cardinality) / (cardinality * (matching + 1))
        points = max(-_LIMIT_RARITY, min(_LIMIT_RARITY, math.log(ratio)))
        yield Term("rarity", points, f"{matching} of {len(values)} boards have {bad}")


def _symptom(suspect: Suspect, counters: Mapping[Side, Mapping[str, float]]) -> Iterator[Term]:
    """The clearest of the counters that point at a suspect."""
    good, bad = counters.get(Side.GOOD, {}), counters.get(Side.BAD, {})
    best: Term | None = None
    for symptom in symptoms():
        if not any(fnmatchcase(suspect.id, name) for name in symptom.names):
            continue
        for counter in sorted(good.keys() & bad.keys()):
            if not any(fnmatchcase(counter, pattern) for pattern in symptom.counters):
                continue
            term = _difference(counter, symptom.why, good[counter], bad[counter])
            if term is not None and (best is None or term.points > best.points):
                best = term
    if best is not None:
        yield best


_RUNS = "system.services/program "


def _busy(suspect: Suspect, busy: Mapping[Side, Mapping[str, float]]) -> Iterator[Term]:
    """A service or program that one side alone runs: what was seen of it on the bad one."""
    names = [m.removeprefix(_RUNS) for m in suspect.members if m.startswith(_RUNS)]
    cpus = {name: busy.get(Side.BAD, {}).get(name[:_COMM], 0.0) for name in names}
    name = max(cpus, key=lambda name: cpus[name], default="")
    if name and cpus[name] >= _BUSY_CPUS and suspect.bad == "running":
        points = min(_BUSY_POINTS, _BUSY_POINTS + math.log(cpus[name] / _VERY_BUSY_CPUS))
        yield Term(BUSY, points, f"{name} took {cpus[name]:.1f} CPU there while nothing ran")
    elif name and not cpus[name] and Side.BAD in busy and suspect.bad == "running":
        yield Term(BUSY, _IDLE_POINTS, f"{name} took no CPU there while it was looked at")
    elif name and suspect.good == "running" and suspect.bad != "running":
        yield Term("direction", _ABSENT_POINTS, f"{name} is not there, so it takes nothing")


_OF_CRON = re.compile(r"boot\.init_settings:/(?:etc/cron|var/spool/cron)")
_STEPS = r"\*/(?:[1-9]|10)|\d+(?:,\d+){5,}|\d+-\d+(?:/\d+)?"
_EACH_MINUTES = re.compile(rf"(?:^|[\[\"'])\s*(?:\*|{_STEPS})\s+\*\s+\*\s")
_AT_A_TIME = re.compile(
    r"(?:^|[\[\"'])\s*(?:\d+\s+[\d,*/-]*\d[\d,*/-]*\s|@(?:dai|week|month|year))"
)


def _schedule(suspect: Suspect) -> Iterator[Term]:
    """A job of cron (crontab(5)) that starts every few minutes is at work while anything is
    measured; one that waits for its hour is not."""
    if not _OF_CRON.match(suspect.id):
        return
    if _EACH_MINUTES.search(suspect.bad):
        yield Term("schedule", 1.5, "it is started every few minutes on the bad side")
    elif _AT_A_TIME.search(suspect.bad):
        yield Term("schedule", -1.0, "it waits for its hour")


def _unless_idle(
    terms: Iterator[Term], suspect: Suspect, busy: Mapping[Side, Mapping[str, float]]
) -> Iterator[Term]:
    """Without what speaks for a program that takes no CPU on the bad side, or is not there."""
    names = [m.removeprefix(_RUNS) for m in suspect.members if m.startswith(_RUNS)]
    seen = busy.get(Side.BAD)
    takes = suspect.bad == "running" and any((seen or {}).get(name[:_COMM]) for name in names)
    yield from (t for t in terms if t.points < 0 or not names or seen is None or takes)


def _difference(counter: str, why: str, good: float, bad: float) -> Term | None:
    low, high = sorted((abs(good), abs(bad)))
    # a few more of what hardly happens says nothing
    ratio = (high + 1) / (low + 1)
    if ratio >= _DIFFERENT:
        points = min(1.5, math.log(ratio))
        return Term("symptom", points, f"{why}: {counter} is {good:.4g} against {bad:.4g}")
    if ratio < _SAME:
        return Term("symptom", -0.4, f"{why}: {counter} is the same on both")
    return None


def _check(suspect: Suspect, gap: Gap | None, checks: Sequence[CrossCheck]) -> Iterator[Term]:
    """A static probe with the same gap clears what only programs of the board use."""
    if gap is None or not checks:
        return
    whole = abs(gap.goodness.value)
    alike = [c for c in checks if c.shown and c.gap.value * gap.goodness.value > 0]
    alike = [c for c in alike if abs(c.gap.value) >= _ALIKE * whole]
    if suspect.layer in _PROGRAMS:
        if alike:
            reason = f"{alike[0].key}, the same static program on both, has a gap like it"
            yield Term("same probe", -1.5, reason)
        else:
            yield Term("same probe", 0.7, "the same static program shows no such gap")
        return
    families = families_of(suspect.item)
    touched = [c for c in checks if families & reach_of(_benchmark(c)).near]
    if any(c in alike for c in touched):
        check = next(c for c in touched if c in alike)
        yield Term("same probe", 0.5, f"{check.key} has a gap like it")
    elif touched and len(families) < len(reach_of("*").near):
        yield Term("same probe", -0.5, f"{touched[0].key} has no such gap")


def _benchmark(check: CrossCheck) -> str:
    return check.key.partition(":")[0]


def _cost(suspect: Suspect) -> Iterator[Term]:
    points = 0.0 if isinstance(suspect.means, ProcessMeans) else _COSTS[suspect.layer]
    if points:
        yield Term("cost", points, _COST_REASONS.get(suspect.layer, "it takes another boot"))


def _drawn_together(suspects: Sequence[Suspect]) -> list[Suspect]:
    """What lies far below the best is drawn nearer, in its order."""
    scores = [s.log_odds for s in suspects if s.means is not None] or [s.log_odds for s in suspects]
    lowest = max(scores, default=0.0) - SPREAD
    nearer = []
    for suspect in suspects:
        below = lowest - suspect.log_odds
        if below > 0:
            term = Term("doubt", (1 - _KEPT) * below, "what nobody thought of is tested too")
            suspect = replace(suspect, terms=(*suspect.terms, term))
        nearer.append(suspect)
    return nearer


# -- layers of images and their parts --------------------------------------------------------------


_NEAR_POINTS = 2.0
_FAR_POINTS = 0.5
_OUT = -1.0

_WILD = re.compile(r"\{[^}]*\}|\*|\[[^\]]*\]")


@dataclass(frozen=True, slots=True)
class OptionRule:
    """Options that ``option`` matches weigh on what is touched by these families."""

    option: re.Pattern[str]
    families: frozenset[Family]
    points: float
    reason: str


def layer_terms(layer: str, reach: Reach) -> tuple[Term, ...]:
    """The terms of a whole layer."""
    table = _data()["layers"][layer]
    terms = [Term("layer", float(table["points"]), str(table["reason"]))]
    near = sorted(reach.near & {Family(name) for name in table.get("families", ())})
    if near:
        terms.append(Term("family", _FAR_POINTS, f"it often matters to {', '.join(near)}"))
    return tuple(terms)


def part_terms(layer: str, part: LayerPart, reach: Reach) -> tuple[Term, ...]:
    """The terms of a part: a word that is known, or a line that sets a knob of the catalogue."""
    if layer == "command-line":
        terms = option_terms("words", part.name, reach)
    else:
        terms = tuple(_knob_terms(f"{part.first}\n{part.second}", reach))
    return terms or (Term("nothing known", 0.0, "it is in no list of what matters"),)


def option_terms(kind: str, name: str, reach: Reach) -> tuple[Term, ...]:
    """The terms of a word of the command line (``words``) or of a kernel option (``options``)."""
    matching = [rule for rule in _rules(kind) if rule.option.fullmatch(name)]
    for families, factor in ((reach.near, 1.0), (reach.far, 0.5)):
        holding = [rule for rule in matching if rule.families & families]
        if holding:
            best = max(holding, key=lambda rule: rule.points)
            return (Term("option", best.points * factor, best.reason),)
    if matching:
        return (
            Term("option", _OUT, f"{matching[0].reason}; that hardly touches what is measured"),
        )
    return ()


def _knob_terms(text: str, reach: Reach) -> Iterator[Term]:
    """Which knobs a text sets, and what they touch."""
    families_by_knob = {
        name: set(item.families) for name, (item, knob) in knobs().items() if _sets_knob(knob, text)
    }
    touched: set[Family] = set().union(*families_by_knob.values())
    names = ", ".join(list(families_by_knob)[:3])
    if touched & reach.near:
        yield Term("knob", _NEAR_POINTS, f"it sets {names}, of the family that is measured")
    elif touched & reach.far:
        yield Term("knob", _FAR_POINTS, f"it sets {names}, which can reach what is measured")
    elif families_by_knob:
        yield Term("knob", _OUT, f"it sets {names}, which hardly touches what is measured")


def _sets_knob(knob: Knob, text: str) -> bool:
    return any(pattern.search(text) for pattern in _spellings(knob.path))


@cache
def _spellings(path: str) -> tuple[re.Pattern[str], ...]:
    """A knob's file as scripts and as sysctl files spell it; roles and wildcards stand for any."""
    names = [path]
    if path.startswith("/proc/sys/"):
        key = path.removeprefix("/proc/sys/")
        names += [key, key.replace("/", ".")]
    return tuple(
        re.compile(
            r"(?<![\w./-])" + r"[^/\s]+".join(map(re.escape, _WILD.split(n))) + r"(?![\w/-])"
        )
        for n in names
    )


@cache
def _rules(kind: str) -> tuple[OptionRule, ...]:
    return tuple(
        OptionRule(
            re.compile(str(rule["option"])),
            frozenset(map(Family, rule["families"])),
            float(rule["points"]),
            str(rule["reason"]),
        )
        for rule in _data()[kind]
    )


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("layers.toml").read_text("utf-8"))


# -- the table of what is known beforehand ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PreferredValue:
    """Which value of a setting is the better one for some benchmarks.

    ``order`` lists values from best to worst, or ``more`` says whether a larger number is better.
    ``field`` takes one of several numbers, ``cpus`` counts the CPUs of a ``list`` or ``mask``,
    ``quota`` takes the share that a quota grants, ``zero_is_most`` is set where 0 stands for no
    limit.
    ``sure`` is how often it is so, from 0.5 to 1.
    """

    on: tuple[str, ...]
    names: tuple[str, ...]
    sure: float
    order: tuple[str, ...] = ()
    more: bool | None = None
    field: int = 0
    cpus: str = ""
    quota: bool = False
    zero_is_most: bool = False

    def prefers(self, first: str, other: str) -> int:
        """1 when ``first`` is the better value, -1 when ``other`` is, 0 when that is not known."""
        if self.order:
            worst = len(self.order)
            ranks = [self.order.index(v) if v in self.order else worst for v in (first, other)]
            is_listed = first in self.order or other in self.order
            return (ranks[1] > ranks[0]) - (ranks[1] < ranks[0]) if is_listed else 0
        numbers = [self._number(value) for value in (first, other)]
        if numbers[0] is None or numbers[1] is None:
            return 0
        larger = (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
        return larger if self.more is not False else -larger

    def _number(self, value: str) -> float | None:
        if self.quota:
            return _quota(value)
        if self.cpus:
            return _cpus(value, self.cpus)
        number = numbers_in(value, self.field)
        return float("inf") if number == 0 and self.zero_is_most else number


@dataclass(frozen=True, slots=True)
class Prior:
    """What the table says of some settings: see ``priors.toml``."""

    names: tuple[str, ...]
    matters: Mapping[str, float]
    better: tuple[PreferredValue, ...]
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class Symptom:
    """Counters whose difference between the sides points at some settings."""

    counters: tuple[str, ...]
    names: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class CommandLikeness:
    """Commands that match a pattern, and the benchmark that they are like."""

    match: re.Pattern[str]
    like: str


@cache
def _table() -> Mapping[str, Any]:
    text = (files(__package__) / "priors.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def priors() -> tuple[Prior, ...]:
    """All records, in the table's order."""
    return tuple(
        Prior(
            tuple(record["names"]),
            record["matters"],
            tuple(
                _preferred_value(direction, record["names"])
                for direction in record.get("better", ())
            ),
            record["why"],
            record["source"],
        )
        for record in _table()["setting"]
    )


def _preferred_value(record: Mapping[str, Any], names: list[str]) -> PreferredValue:
    return PreferredValue(
        on=tuple(record["on"]),
        names=tuple(record.get("names", names)),
        sure=record["sure"],
        order=tuple(record.get("order", ())),
        more=record.get("more"),
        field=record.get("field", 0),
        cpus=record.get("cpus", ""),
        quota=record.get("quota", False),
        zero_is_most=record.get("zero") == "most",
    )


@cache
def symptoms() -> tuple[Symptom, ...]:
    """All symptoms, in the table's order."""
    return tuple(
        Symptom(tuple(r["counters"]), tuple(r["names"]), r["why"]) for r in _table()["symptom"]
    )


@cache
def commands() -> tuple[CommandLikeness, ...]:
    """All kinds of commands, in the table's order."""
    return tuple(CommandLikeness(re.compile(r["match"]), r["like"]) for r in _table()["command"])


@cache
def unlisted() -> Mapping[str, float]:
    """The probability of what has no record: ``near``, ``far``, ``everything``."""
    return dict(_table()["unlisted"])


@cache
def prior_of(name: str) -> Prior | None:
    """The record of a suspect, by its id."""
    return next((p for p in priors() if any(fnmatchcase(name, n) for n in p.names)), None)


def chance(prior: Prior, benchmark: str) -> float:
    """The probability that a setting with this record matters for a benchmark."""
    return next(p for pattern, p in prior.matters.items() if fnmatchcase(benchmark, pattern))


def direction_of(name: str, benchmark: str) -> PreferredValue | None:
    """Which value of a suspect is the better one for a benchmark; None where nobody knows."""
    prior = prior_of(name)
    for direction in prior.better if prior is not None else ():
        if any(fnmatchcase(name, n) for n in direction.names) and any(
            fnmatchcase(benchmark, pattern) for pattern in direction.on
        ):
            return direction
    return None


def likeness(metric: Metric) -> str:
    """The benchmark that a user's command is like; empty for others and where nobody knows."""
    if not metric.command:
        return ""
    return next((kind.like for kind in commands() if kind.match.search(metric.command)), "")


def numbers_in(value: str, field: int = 0) -> float | None:
    """One of the numbers that a value consists of; None when it has no such one."""
    fields = value.split()
    try:
        return float(fields[field])
    except (IndexError, ValueError):
        return None


def _cpus(value: str, kind: str) -> float | None:
    try:
        return float(len(parse_cpu_mask(value) if kind == "mask" else parse_cpus(value)))
    except ValueError:
        return None


def _quota(value: str) -> float | None:
    """``max 100000``: the share of one CPU that is granted."""
    fields = value.split()
    if fields and fields[0] == "max":
        return float("inf")
    period = numbers_in(value, 1) or 100_000.0
    granted = numbers_in(value)
    return None if granted is None else granted / period
