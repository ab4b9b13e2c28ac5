"""A diagnosis in words: headline and blocks of sentences, for terminal and Markdown alike.

The most wanted comes first. A block has a name of one or two words, so that a page of them can be
scanned; each verdict has the blocks that it needs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from benchvise.quantities import format_number, format_value
from benchvise.report.why.document import (
    arms_text,
    duration,
    gap_text,
    named,
    outcome,
    p_text,
    remedies,
    repeat_command,
    share_text,
    still_open,
    tested_at_once,
    times,
    unexplained_part,
    unresolved,
    untested,
)
from benchvise.table import Tone
from benchvise.text import SENTENCE_LIMIT, counted, printable
from benchvise.why.model import (
    NOT_FOUND,
    NOT_SEARCHED,
    Bounds,
    Cause,
    CounterCheck,
    Diagnosis,
    DiagnosisVerdict,
    Experiment,
    ExperimentOutcome,
    Finding,
    Gap,
    Grade,
    Mechanism,
    Metric,
    Purpose,
    Remedy,
    Side,
    Support,
    SuspectRecord,
    Write,
)
from benchvise.why.witness.model import Witness, WitnessCount
from benchvise.why.wording import LEAST_COMMAND_GAP, apart, percent, scatters

_MOST_LISTED = 6
"""Differences that a list names before it counts the rest."""

_VALUE = 40
"""Characters of a value in a list."""

_FEW = 3
"""Differences flipped at once that are named rather than counted."""


@dataclass(frozen=True, slots=True)
class BlockLine:
    """A sentence, or text that is to be copied as it is (``code``)."""

    text: str
    tone: Tone = "plain"
    code: bool = False


@dataclass(frozen=True, slots=True)
class BlockBar:
    """A part of the gap; ``value`` and the ends of its interval are shares of one."""

    name: str
    text: str
    value: float
    low: float
    high: float
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Block:
    """A section under one name: bars first, then sentences. ``apart``: with a line before it."""

    name: str
    lines: tuple[BlockLine, ...]
    bars: tuple[BlockBar, ...] = ()
    apart: bool = False


@dataclass(frozen=True, slots=True)
class DiagnosisText:
    """A whole diagnosis: how it ended, the answer in a sentence, and the rest."""

    verdict: str
    tone: Tone
    headline: str
    blocks: tuple[Block, ...]


TONES: Mapping[str, Tone] = {
    DiagnosisVerdict.EXPLAINED: "good",
    DiagnosisVerdict.PARTLY: "doubt",
    DiagnosisVerdict.UNEXPLAINED: "doubt",
    DiagnosisVerdict.NO_DIFFERENCE: "strong",
    DiagnosisVerdict.REVERSED: "bad",
    DiagnosisVerdict.NOT_ADMISSIBLE: "bad",
    DiagnosisVerdict.INCOMPLETE: "doubt",
}


def diagnosis_text(diagnosis: Diagnosis) -> DiagnosisText:
    """The diagnosis of a diagnosis that is ``readable``."""
    verdict = diagnosis.verdict
    parts = (_opening(diagnosis), _causes(diagnosis), _rest(diagnosis))
    filled = ([block for block in part if block.lines or block.bars] for part in parts)
    blocks = [
        replace(block, apart=block.apart or not index)
        for part in filled
        for index, block in enumerate(part)
    ]
    return DiagnosisText(verdict, TONES[verdict], diagnosis.headline, tuple(blocks))


# -- the first look --------------------------------------------------------------------------------


def _opening(diagnosis: Diagnosis) -> Iterator[Block]:
    yield from _alarms(diagnosis)
    stops = [f for f in diagnosis.findings if f.grade == Grade.STOPS]
    if stops:
        yield Block("Reason", tuple(line for f in stops for line in _finding(f, "bad")))
    if diagnosis.reached:
        yield Block("Reached", (BlockLine(_sentence(diagnosis.reached)),))
    yield _gap(diagnosis)
    yield _shares(diagnosis)
    yield Block("Command", tuple(_witness(diagnosis.witness)))
    yield Block("Likeliest", tuple(_likeliest(diagnosis)))


def _likeliest(diagnosis: Diagnosis) -> Iterator[BlockLine]:
    """The likeliest untested differences: what differs, why it is open, where it is set and how to
    try it."""
    if diagnosis.untested:
        yield BlockLine("The likeliest differences that are not decided, the likeliest first:")
    for rank, difference in enumerate(diagnosis.untested, start=1):
        good, bad = (printable(text, _VALUE) for text in (difference.good, difference.bad))
        values = f"{good or 'nothing'} on good, {bad or 'nothing'} on bad"
        yield BlockLine(f"{rank}. {difference.suspect}: {values}", "strong")
        yield BlockLine(_sentence(_upper_first(difference.reason)), "muted")
        for origin in difference.origins:
            if origin.kind != NOT_FOUND and origin.side is Side.BAD:
                doubt = "" if origin.certain else ", perhaps"
                yield BlockLine(f"Set by {origin.where} ({origin.kind}{doubt})")
        if difference.command:
            yield BlockLine(difference.command, code=True)


def _alarms(diagnosis: Diagnosis) -> Iterator[Block]:
    if not diagnosis.restored:
        yield Block(
            "STILL SET",
            (
                BlockLine("Some settings have not been restored.", "bad"),
                BlockLine("benchvise restore", code=True),
                *(BlockLine(f"{w.knob} on {_side(diagnosis, w)}: {w.old} → {w.new}")
                  for w in left_set(diagnosis)),
            ),
        )  # fmt: skip
    if diagnosis.simulated:
        text = "These values come from an emulated board, and say nothing of real hardware."
        yield Block("SIMULATED", (BlockLine(text, "doubt"),))


def left_set(diagnosis: Diagnosis) -> list[Write]:
    """The writes of the journal that nothing has undone, as far as it tells."""
    last: dict[tuple[str, str], Write] = {}
    for write in diagnosis.writes:
        last[write.side, write.path] = write
    return [write for write in last.values() if not write.undone][:_MOST_LISTED]


def _gap(diagnosis: Diagnosis) -> Block:
    gap, metric = diagnosis.gap, diagnosis.metric
    if gap is None:
        return Block("Gap", ())
    largest = max(gap.good, gap.bad) or 1.0
    bars = tuple(
        BlockBar(
            f"{side:<4}  {diagnosis.name(side)}",
            format_value(gap.of(side), metric.unit),
            *(gap.of(side) / largest,) * 3,
            tone,
        )
        for side, tone in _sides(diagnosis)
    )
    sense = f"{metric.better} is better"
    counts = f"{counted(gap.blocks, 'pair')}, {p_text(gap.p)}"
    lines = [BlockLine(f"{gap_text(gap)}; {sense}; {counts}.", "muted")]
    if diagnosis.verdict == DiagnosisVerdict.NO_DIFFERENCE:
        lines.append(BlockLine(_not_seen(gap, metric)))
    return Block(metric.name, tuple(lines), bars)


def _not_seen(gap: Gap, metric: Metric) -> str:
    """What noise may hide: the smallest gap that so many pairs would have shown."""
    bounds = gap.goodness
    if scatters(bounds.value, bounds.low, bounds.high, gap.floor):
        return "The values scatter too much to tell: repeat while the boards are idle."
    least = LEAST_COMMAND_GAP if metric.command else gap.floor
    smallest = max(least, gap.floor, (bounds.high - bounds.low) / 2)
    return f"A gap smaller than {apart(smallest)} would not have been detected."


def _sides(diagnosis: Diagnosis) -> tuple[tuple[Side, Tone], ...]:
    # Where nothing was shown, or good is the worse one, no side is painted as good.
    if diagnosis.verdict in (DiagnosisVerdict.NO_DIFFERENCE, DiagnosisVerdict.REVERSED):
        return (Side.GOOD, "plain"), (Side.BAD, "plain")
    return (Side.GOOD, "good"), (Side.BAD, "bad")


def _shares(diagnosis: Diagnosis) -> Block:
    rest = unexplained_part(diagnosis)
    if not diagnosis.causes or rest is None:
        return Block("Shares", ())
    bars = [
        BlockBar(c.name, share_text(c.share), *_ends(c.share), "good") for c in diagnosis.causes
    ]
    bars.append(BlockBar("unexplained", share_text(rest), *_ends(rest), "muted"))
    return Block("Share of the gap", (), tuple(bars))


def _witness(witness: Witness | None) -> Iterator[BlockLine]:
    """What the command does differently on the bad side, and what it could not be asked."""
    if witness is None:
        return
    yield BlockLine(_sentence(_upper_first(witness.sentence)), "strong")
    for call in witness.calls[:_FEW]:
        about = f" {printable(call.target, _VALUE)}" if call.target else ""
        yield BlockLine(
            f"{call.name}{about}: {call.good} times in {format_value(call.good_s, 's')} on good, "
            f"{call.bad} in {format_value(call.bad_s, 's')} on bad",
            "muted",
        )
    for count in witness.counts[:_FEW]:
        what, numbers = _count_in_words(count)
        yield BlockLine(f"{what}: {numbers[0]} on good, {numbers[1]} on bad", "muted")
    for text in witness.remarks:
        yield BlockLine(_sentence(_upper_first(text)), "muted")
    for gap in witness.missing:
        text = f"Not available on the {gap.side} side: {gap.means}: {gap.reason}"
        yield BlockLine(_sentence(text), "muted")
    if witness.good_trace and witness.bad_trace:
        yield BlockLine("Recordings, beside the evidence:", "muted")
        traces = (witness.good_trace, witness.bad_trace)
        yield BlockLine(shlex.join(["benchvise", "trace", "compare", *traces]), code=True)


_UNITS = {"ns": (1e-9, "s"), "us": (1e-6, "s"), "ms": (1e-3, "s"), "bytes": (1.0, "B")}


def _count_in_words(count: WitnessCount) -> tuple[str, tuple[str, str]]:
    """What was counted, and its two numbers, in the unit that the summary ends with."""
    what, separator, unit = count.summary.rpartition(", in ")
    if not separator or unit not in _UNITS:
        return count.summary, (format_number(count.good), format_number(count.bad))
    scale, symbol = _UNITS[unit]
    good, bad = (format_value(value * scale, symbol) for value in (count.good, count.bad))
    return what, (good, bad)


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ends(bounds: Bounds) -> tuple[float, float, float]:
    return bounds.value, bounds.low, bounds.high


# -- the causes ------------------------------------------------------------------------------------


def _causes(diagnosis: Diagnosis) -> Iterator[Block]:
    several = len(diagnosis.causes) > 1
    for number, cause in enumerate(diagnosis.causes, start=1):
        if several:
            head = BlockLine(f"{cause.name}: {share_text(cause.share)}", "strong")
            yield Block(f"Cause {number}", (head,), apart=True)
        yield from _cause(diagnosis, cause)
    yield _interaction(diagnosis)


def _cause(diagnosis: Diagnosis, cause: Cause) -> Iterator[Block]:
    yield Block("What", tuple(BlockLine(_difference(s)) for s in cause.suspects))
    yield Block("Confirmed", tuple(BlockLine(text) for text in confirmations(diagnosis, cause)))
    mechanism = cause.mechanism
    if mechanism and mechanism.artefact:
        yield Block("Caution", (BlockLine(_sentence(mechanism.artefact), "doubt"),))
    yield Block("Set by", tuple(_origins(diagnosis, cause)))
    if mechanism:
        yield Block("Mechanism", tuple(_mechanism(mechanism)))
    yield Block("Remedies", tuple(_remedies(cause)))


def _difference(suspect: SuspectRecord) -> str:
    title = f", {suspect.title}" if suspect.title not in ("", suspect.id) else ""
    values = f"{suspect.good or 'nothing'} on good, {suspect.bad or 'nothing'} on bad"
    return f"{suspect.id}{title}: {values}"


def confirmations(diagnosis: Diagnosis, cause: Cause) -> Iterator[str]:
    """Both directions and the way back, each a sentence with its values."""
    repair, breaking, again = cause.repair, cause.breaking, cause.again
    yield (
        f"Repaired: the good value on {diagnosis.bad}: {_figures(diagnosis, repair)}"
        f"{_share_of(repair, 'closes')}."
    )
    if breaking:
        yield (
            f"Broken: {_broken_where(diagnosis, breaking)}: {_figures(diagnosis, breaking)}"
            f"{_share_of(breaking, 'opens')}."
        )
    elif cause.not_broken:
        yield f"Not broken: {_sentence(cause.not_broken)}"
    if again:
        figure = arms_text(diagnosis, again)
        state = f"{diagnosis.bad} is {outcome(again)}{f': {figure}' if figure else ''}"
        yield f"Restored: {'; '.join(filter(None, (state, again.reason)))}."


def _broken_where(diagnosis: Diagnosis, breaking: Experiment) -> str:
    """Where the bad value was set: on the good side, or on the bad one that stood in for it."""
    if breaking.side == Side.GOOD:
        return f"the bad value on {diagnosis.good}"
    if not breaking.context:
        return f"the bad value on {diagnosis.bad}, with the good one before"
    return (
        f"the bad value on {diagnosis.bad}, with the other good values set there, in place of "
        f"{diagnosis.good}"
    )


def _figures(diagnosis: Diagnosis, experiment: Experiment) -> str:
    return arms_text(diagnosis, experiment) or "measured"


def _share_of(experiment: Experiment, verb: str) -> str:
    share = experiment.share
    text = f", {verb} {percent(share.value)} %" if share else ""
    tests = [counted(experiment.blocks, "pair"), p_text(experiment.p)]
    return f"{text} ({', '.join(filter(None, tests))})"


_SUPPORT = {
    Support.SUPPORTED: "The counters agree",
    Support.CONTRADICTED: "The counters contradict it; that cause is proven, but not this reason",
    Support.NOT_CHECKED: "The counters could not be checked",
}
_ABSENT = "not available"
_PREDICTED = {"+": "more", "-": "fewer", "0": "as many", "?": "not predicted"}


def _mechanism(mechanism: Mechanism) -> Iterator[BlockLine]:
    title = mechanism.title
    yield BlockLine(f"{title[:1].upper()}{title[1:]}: {_sentence(mechanism.explanation)}")
    if mechanism.prediction:
        yield BlockLine(f"Predicted: {_sentence(mechanism.prediction)}")
    seen = "; ".join(map(counter_text, mechanism.checks))
    tone: Tone = "doubt" if mechanism.support == Support.CONTRADICTED else "plain"
    support = _support_text(mechanism)
    yield BlockLine(f"{support}{f': {seen}' if seen else ''}.", tone)


def _support_text(mechanism: Mechanism) -> str:
    """Whether the counters agree; how many of them, where the others say nothing."""
    agreeing, whole = sum(check.agrees is True for check in mechanism.checks), len(mechanism.checks)
    if mechanism.support == Support.SUPPORTED and agreeing < whole:
        return f"{agreeing} of {whole} counters {'agrees' if agreeing == 1 else 'agree'}"
    return _SUPPORT[Support(mechanism.support)]


def counter_text(check: CounterCheck) -> str:
    """``dtlb_misses 10.3x, as predicted (more)``."""
    if check.change is None:
        return f"{check.counter} {absent_text(check)}"
    verdict = {True: "as predicted", False: "against the prediction", None: "unclear"}
    reason = f"; {check.reason}" if check.reason else ""
    return (
        f"{check.counter} {times(check.change)}, {verdict[check.agrees]} "
        f"({_PREDICTED[check.predicted]}{reason})"
    )


def absent_text(check: CounterCheck) -> str:
    """``not available (the kernel does not count it)``."""
    reason = check.reason.removeprefix(_ABSENT).lstrip(": ")
    return f"{_ABSENT} ({reason})" if reason else _ABSENT


def _origins(diagnosis: Diagnosis, cause: Cause) -> Iterator[BlockLine]:
    for origin in cause.origins:
        side = diagnosis.name(origin.side)
        if origin.kind == NOT_FOUND:
            # Where it was looked for is in the evidence page.
            yield BlockLine(f"{side}: by none of the files searched; perhaps a default.")
            continue
        if origin.kind == NOT_SEARCHED:
            yield BlockLine(_sentence(f"{side}: not searched ({origin.note:{SENTENCE_LIMIT}})"))
            continue
        doubt = "" if origin.certain else ", perhaps"
        yield BlockLine(f"{origin.where}  ({origin.kind} on {side}{doubt})", "strong")
        if origin.text:
            yield BlockLine(f"{origin.text:{SENTENCE_LIMIT}}", code=True)
        if origin.note:
            yield BlockLine(_sentence(f"{origin.note:{SENTENCE_LIMIT}}"), "muted")
    if not cause.origins:
        yield BlockLine("It is not known whether a file sets it.")


def _remedies(cause: Cause) -> Iterator[BlockLine]:
    """The first way of each system; a person at a terminal uses one of them."""
    costs = {"", "none"}
    every = remedies(cause)
    by_system: dict[str, Remedy] = {}
    for remedy in every:
        by_system.setdefault(remedy.system, remedy)
    for remedy in by_system.values():
        cost = remedy.cost
        yield BlockLine(f"{remedy.system}{'' if cost in costs else f'  ({cost})'}", "muted")
        costs.add(cost)
        yield from (BlockLine(line, code=True) for line in remedy.text.split("\n"))
    if len(by_system) < len(every):
        others = len(every) - len(by_system)
        verb = "is" if others == 1 else "are"
        yield BlockLine(f"{counted(others, 'other way')} {verb} on the evidence page", "muted")


def _interaction(diagnosis: Diagnosis) -> Block:
    interaction = diagnosis.interaction
    if not interaction:
        return Block("Together", ())
    first, other = (share_text(bounds) for bounds in interaction.alone)
    excess = f"{share_text(interaction.excess)} more than the sum of both"
    conclusion = "they need each other" if interaction.shown else "no interaction shown"
    text = (
        f"{interaction.one} alone {first}, {interaction.other} alone {other}, both "
        f"{share_text(interaction.together)}: {excess}: {conclusion}."
    )
    return Block("Together", (BlockLine(text),))


# -- the rest --------------------------------------------------------------------------------------


def _rest(diagnosis: Diagnosis) -> Iterator[Block]:
    if diagnosis.verdict not in (DiagnosisVerdict.EXPLAINED, DiagnosisVerdict.NO_DIFFERENCE):
        yield Block("Tested", tuple(_tested(diagnosis)))
    yield Block("Untested", tuple(_untested(diagnosis)))
    milder = [f for f in diagnosis.findings if f.grade != Grade.STOPS]
    yield Block("Note", tuple(line for f in milder for line in _finding(f, "plain")))
    yield Block("Next", tuple(BlockLine(_sentence(text), "strong") for text in diagnosis.needed))
    yield Block("Effort", tuple(_done(diagnosis)))
    yield Block("Repeat", (BlockLine(repeat_command(diagnosis), code=True),))


def _finding(finding: Finding, tone: Tone) -> Iterator[BlockLine]:
    yield BlockLine(_sentence(finding.sentence), tone)
    details = (("Seen", finding.evidence), ("Remedy", finding.remedy))
    more = " ".join(f"{name}: {_sentence(text)}" for name, text in details if text)
    if more:
        yield BlockLine(more, "muted" if tone == "plain" else "plain")


def _tested(diagnosis: Diagnosis) -> Iterator[BlockLine]:
    for experiment, share in tested_at_once(diagnosis):
        flipped = experiment.flipped
        is_part = experiment.outcome == ExperimentOutcome.PARTLY
        rest = ": the rest lies elsewhere" if is_part else ""
        few = len(flipped) <= _FEW
        what = named(flipped) if few else f"all {len(flipped)} differences at once"
        how = "" if experiment.purpose == Purpose.ALL_IN else f" ({experiment.purpose})"
        verb = "closes" if len(flipped) == 1 else "close"
        yield BlockLine(_upper(f"{what}{how} {verb} {share_text(share)} of the gap{rest}."))


def _untested(diagnosis: Diagnosis) -> Iterator[BlockLine]:
    # The very file that sets the cause differs too, of course.
    files = [o.file.raw for cause in diagnosis.causes for o in cause.origins if o.line]
    listed = {difference.suspect for difference in diagnosis.untested}
    cannot = [
        suspect
        for suspect in untested(diagnosis)
        if suspect.id not in listed and not any(file in suspect.id for file in files)
    ]
    for suspect in cannot[:_MOST_LISTED]:
        values = f"{printable(suspect.good, _VALUE)} / {printable(suspect.bad, _VALUE)}"
        yield BlockLine(f"{suspect.id} ({values}): {suspect.untestable}")
    if len(cannot) > _MOST_LISTED:
        yield BlockLine(f"and {len(cannot) - _MOST_LISTED} more, on the evidence page", "muted")
    for experiment in unresolved(diagnosis)[:_MOST_LISTED]:
        what = named(experiment.flipped)
        reason = experiment.reason
        yield BlockLine(reason if reason.startswith(what) else f"{what}: {reason}")
    if diagnosis.verdict == DiagnosisVerdict.INCOMPLETE:
        left = [suspect.id for suspect in still_open(diagnosis)]
        if left:
            yield BlockLine(f"not reached: {named(left, _MOST_LISTED)}")


def _done(diagnosis: Diagnosis) -> Iterator[BlockLine]:
    yield BlockLine(f"{effort(diagnosis)}.")
    suspects, excluded = len(diagnosis.suspects), len(diagnosis.excluded)
    if suspects or excluded:
        yield BlockLine(f"{counted(suspects, 'difference')} could matter, {excluded} could not.")
    if diagnosis.restored:
        written = sum(not write.undone for write in diagnosis.writes)
        yield BlockLine(
            f"{counted(written, 'setting')} written, all restored."
            if written
            else "Nothing was set."
        )


def effort(diagnosis: Diagnosis) -> str:
    """``7 experiments, 58 trials in 3 min 12 s``."""
    kinds = ((len(diagnosis.experiments), "experiment"), (len(diagnosis.trials), "trial"))
    counts = [counted(number, name) for number, name in kinds if number]
    return f"{', '.join(counts) or 'nothing measured'} in {duration(diagnosis.seconds)}"


def _upper(text: str) -> str:
    """A sentence begins with a capital, but a name stays as it is."""
    return f"A{text[1:]}" if text.startswith("all ") else text


def _side(diagnosis: Diagnosis, write: Write) -> str:
    return diagnosis.name(write.side)


def _sentence(text: str) -> str:
    """With a full stop, if it has no end of its own."""
    stripped = text.rstrip()
    return stripped if stripped.endswith((".", "!", "?", "…", ":")) else f"{stripped}."
