"""The likeliest differences that no experiment has decided, each with what to do about it.

A difference is undecided where it cannot be flipped here, where a board refused it, where the
search ended before it, or where the values scattered too much. The likeliest come with the line of
the file that sets them and with one command that tries them: a remedy for the running system, or
``benchvise why --try``, which goes on from the evidence that is there.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from benchvise.errors import BenchviseError
from benchvise.state.model import Snapshot
from benchvise.why.case import DiagnosisState
from benchvise.why.experiments import estimate
from benchvise.why.experiments.laboratory import Laboratory
from benchvise.why.explain.boot_lines import boot_line_as_on_good
from benchvise.why.explain.boot_words import boot_word_at_run_time
from benchvise.why.explain.remedies import ORIGIN
from benchvise.why.explain.remedy_lines import NOW, now_command
from benchvise.why.model import (
    NOT_KNOWN,
    Bounds,
    Experiment,
    ExperimentOutcome,
    Layer,
    Metric,
    Origin,
    Purpose,
    Remedy,
    Side,
    Suspect,
    UntestedDifference,
)
from benchvise.why.rules import DiagnosisRules
from benchvise.why.suspects.command_suspects import MOUNT_POINT
from benchvise.why.suspects.find import NO_SETTING, consent_in
from benchvise.why.suspects.routes import ROUTES
from benchvise.why.suspects.rule_sets import OF_SSH, rules_of_good
from benchvise.why.witness.amounts import DESCRIPTORS, MEMORY
from benchvise.why.witness.confinement import started_free
from benchvise.why.witness.database_suspects import database_as_on_good
from benchvise.why.witness.grouped import is_group
from benchvise.why.witness.layout import written_anew
from benchvise.why.witness.opened import (
    HIDDEN,
    NOT_THERE,
    OF_FILE,
    OPENED_FILE,
    differs_further,
    is_data,
    link_as_on_good,
)
from benchvise.why.witness.outdated import OUTDATED, started_anew
from benchvise.why.witness.partner_suspects import state_as_on_good
from benchvise.why.witness.profiles import complaining
from benchvise.why.witness.times import time_as_on_good
from benchvise.why.wording import percent

MOST = 5
"""So many are listed."""

# Standard errors.
_SURE = 2.0
_MOST_OF_IT = 0.5
# Points: an experiment with all of them found little, and did not find nothing.
_DOUBT = 2.0

_OF_RUNNING = (OUTDATED, DESCRIPTORS, MEMORY)

_IN_IMAGES = (
    Layer.KERNEL,
    Layer.COMMAND_LINE,
    Layer.ROOT,
    Layer.DEVICE_TREE,
    Layer.INIT_SETTINGS,
    Layer.BOOTLOADER,
)


def find_untested(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, *, ask_boards: bool
) -> tuple[UntestedDifference, ...]:
    """At most ``MOST``, the likeliest first; none where no gap is to be explained.

    Files are searched only where the boards may be asked (``ask_boards``). What a board does not
    answer is left out.
    """
    if case.measured is None or not case.measured.shown or case.scale.gap <= 0.0:
        return ()
    first = set(case.narrowed) | {s for s in case.suspects if s.id in _scattered_alone(lab)}
    with_all = {suspect.id for suspect in case.suspects} & _flipped_with_all(case, lab)

    def score(suspect: Suspect) -> float:
        return suspect.log_odds - (_DOUBT if suspect.id in with_all else 0.0)

    undecided = sorted(
        _undecided(case, lab),
        key=lambda pair: (pair[0] not in first or pair[0].id in with_all, -score(pair[0])),
    )
    return tuple(
        _described(case, lab, rules, suspect, reason, ask_boards=ask_boards)
        for suspect, reason in undecided[:MOST]
    )


def _flipped_with_all(case: DiagnosisState, lab: Laboratory) -> set[str]:
    """The ids of what was flipped with all settings at once, where that closed less than half of
    the gap: it does not exclude them where it scattered, but what was not among them is likelier.
    """
    experiments = _repeated(lab, Purpose.ALL_IN)
    if not experiments:
        return set()
    shift = estimate.mean_of([e.shift for e in experiments if e.shift is not None])
    is_little = shift.value < _MOST_OF_IT * case.scale.gap
    return set(experiments[-1].flipped) if is_little else set()


def _undecided(case: DiagnosisState, lab: Laboratory) -> Iterator[tuple[Suspect, str]]:
    """The suspects that are open, each with the reason."""
    proven = {suspect.id for suspect in case.flipped}
    flipped = {
        name
        for experiment in lab.experiments
        if experiment.outcome is not ExperimentOutcome.UNRESOLVED
        for name in experiment.flipped
    }
    alone = _tested_alone(lab)
    scattered_alone = _scattered_alone(lab)
    scattered = undecided_share(lab, case, Purpose.ALL_IN) is not None
    hidden = None if case.proven else hidden_share(case, lab)
    narrowed = set(case.narrowed)
    for suspect in dict.fromkeys((*case.suspects, *case.layers)):
        if suspect.good == suspect.bad == NOT_KNOWN:
            continue  # nobody knows whether it differs
        refused = lab.left_out.get((Side.BAD, suspect.id), "")
        if suspect.id in proven:
            continue
        if case.vanished and suspect in narrowed:
            yield suspect, "the gap went when it was first set, and stayed away"
            continue
        if suspect.means is None:
            yield suspect, suspect.untestable
        elif refused:
            yield suspect, f"it could not be set: {refused}"
        elif suspect.id not in flipped:
            yield suspect, "the search ended before it"
        elif suspect.id in alone:
            continue
        elif suspect.id in scattered_alone:
            yield suspect, scattered_alone[suspect.id]
        elif suspect in narrowed:
            yield suspect, _of_narrowed(len(narrowed))
        elif narrowed or suspect.layer not in (Layer.PROCESS, Layer.RUN_TIME):
            continue
        elif hidden is not None:
            yield suspect, f"all settings at once close {percent(hidden)} % of the gap"
        elif scattered:
            yield suspect, "the values scattered too much to tell"


def _of_narrowed(count: int) -> str:
    if count == 1:
        return "the search led to it, and ended before it was tried by itself"
    return f"the search led to {count} differences, and ended before they were separated"


_NO_ANSWER = (ExperimentOutcome.UNRESOLVED, ExperimentOutcome.UNDECIDED)


def _tested_alone(lab: Laboratory) -> set[str]:
    """The ids of suspects whose own repair was measured, and told something."""
    return {e.flipped[0] for e in _repairs_alone(lab) if e.outcome not in _NO_ANSWER}


def _scattered_alone(lab: Laboratory) -> dict[str, str]:
    """The ids of suspects whose own repair told nothing, with the reason."""
    tested = _tested_alone(lab)
    return {
        e.flipped[0]: e.reason or "its own repair cannot be told from noise"
        for e in _repairs_alone(lab)
        if e.flipped[0] not in tested and (Side.BAD, e.flipped[0]) not in lab.left_out
    }


def _repairs_alone(lab: Laboratory) -> list[Experiment]:
    return [e for e in lab.experiments if e.purpose is Purpose.REPAIR and len(e.flipped) == 1]


# -- what experiments with many suspects leave open ------------------------------------------------


def hidden_share(case: DiagnosisState, lab: Laboratory) -> float | None:
    """The share of the gap that all settings at once close beyond what is proven, where it
    counts."""
    experiments = _repeated(lab, Purpose.ALL_IN)
    if not experiments:
        return None
    shift = estimate.mean_of([e.shift for e in experiments if e.shift is not None])
    hidden = shift.value - case.gained
    errors = [estimate.error_of_median(lab.noise(), sum(e.blocks for e in experiments))]
    errors += [proof.effect.error for proof in case.proven]
    is_larger = hidden > max(case.scale.least, _SURE * math.hypot(*errors))
    return shift.value / case.scale.gap if is_larger else None


def undecided_share(lab: Laboratory, case: DiagnosisState, purpose: Purpose) -> Bounds | None:
    """The share of the gap that all settings at once, or the layers that were swapped last, close
    where that may be most of what no cause explains; None where it surely is not."""
    experiments = _repeated(lab, purpose)
    if not experiments:
        return None
    shift = estimate.mean_of([e.shift for e in experiments if e.shift is not None])
    share = case.scale.share(shift)
    is_most = shift.high - case.gained > _MOST_OF_IT * abs(case.left)
    return share if is_most or lab.is_gap_in_burst() else None


def _repeated(lab: Laboratory, purpose: Purpose) -> list[Experiment]:
    """The experiments that flipped the same as the last one of a purpose: repeats of one question,
    as far as they gave a value."""
    measured = [e for e in lab.experiments if e.purpose is purpose and e.shift is not None]
    return [e for e in measured if e.flipped == measured[-1].flipped]


# -- one of them -----------------------------------------------------------------------------------


def _described(
    case: DiagnosisState,
    lab: Laboratory,
    rules: DiagnosisRules,
    suspect: Suspect,
    reason: str,
    *,
    ask_boards: bool,
) -> UntestedDifference:
    origins: list[Origin] = []
    if ask_boards:
        with suppress(BenchviseError):
            origins += lab.bench.origins(Side.BAD, suspect)
    remedies: Sequence[Remedy] = ()
    with suppress(BenchviseError):
        remedies = rules.remedies(
            suspect,
            origins=origins,
            side_values={Side.GOOD: suspect.good, Side.BAD: suspect.bad},
            roles=case.snapshots[Side.BAD].roles,
        )
    can_try = suspect.means is not None and (Side.BAD, suspect.id) not in lab.left_out
    names = {side: lab.bench.name(side) for side in Side}
    partners = case.watches[Side.BAD].partners if case.watches else ()
    return UntestedDifference(
        suspect=suspect.id,
        title=suspect.title,
        good=suspect.good,
        bad=suspect.bad,
        score=suspect.log_odds,
        reason=reason,
        origins=tuple(origins),
        command=try_command(suspect.id, lab.directory)
        if can_try
        else _without_file(suspect)
        or link_as_on_good(suspect)
        or written_anew(suspect)
        or time_as_on_good(suspect)
        or database_as_on_good(suspect, case.watches)
        or started_anew(suspect, _OF_RUNNING, partners)
        or complaining(suspect)
        or started_free(suspect, lab.bench.metric.command)
        or line_as_on_good(suspect, _on_good(lab, suspect, ask_boards=ask_boards), origins)
        or route_as_on_good(suspect)
        or rules_as_on_good(suspect, case.snapshots)
        or rules_of_good(suspect, names, case.snapshots)
        or boot_word_at_run_time(suspect, lab.bench.metric.command)
        or boot_line_as_on_good(suspect, case.snapshots, origins)
        or state_as_on_good(suspect, partners)
        or file_of_good(suspect, names)
        or _by_hand(suspect, remedies)
        or _of_file(suspect, case.snapshots)
        or _with_layers(suspect, lab.bench.metric, names),
    )


def with_consent(
    differences: Sequence[UntestedDifference], repeat: str
) -> tuple[UntestedDifference, ...]:
    """Those that are only tested with consent, with the command that gives it: ``repeat``, which
    makes the diagnosis again, and what is to be allowed."""
    return tuple(
        replace(difference, command=f"{repeat} --allow {','.join(allowed)}")
        if (allowed := consent_in(difference.reason)) and not difference.command
        else difference
        for difference in differences
    )


def try_command(suspect: str, directory: Path | None) -> str:
    """The command that goes on with the evidence in a directory and tries one suspect."""
    where = "DIRECTORY" if directory is None else str(directory)
    return shlex.join(["benchvise", "why", "--resume", where, "--try", suspect])


def _on_good(lab: Laboratory, suspect: Suspect, *, ask_boards: bool) -> Sequence[Origin]:
    """Where the good side sets a file's line; nothing for what is no file."""
    if ask_boards and suspect.id.startswith(OPENED_FILE):
        with suppress(BenchviseError):
            return lab.bench.origins(Side.GOOD, suspect)
    return ()


def _without_file(suspect: Suspect) -> str:
    """The line of shell that takes a file away which only the bad side has; empty for others."""
    if not suspect.id.startswith(OPENED_FILE) or suspect.good != NOT_THERE or is_group(suspect):
        return ""
    path = suspect.id.removeprefix(OPENED_FILE)
    return shlex.join(["mv", "--", path, f"{path}.away"])


def line_as_on_good(suspect: Suspect, good: Sequence[Origin], bad: Sequence[Origin]) -> str:
    """The line of shell that makes the line of a file as the good side has it, where it is the same
    line in both, or takes away one that only the bad side has; empty for others, and where more
    lines differ."""
    if not suspect.id.startswith(OPENED_FILE) or not _has_line(bad) or differs_further(bad[0]):
        return ""
    if bad[0].kind != OF_FILE:  # the line of a mount: the file has none there
        return ""
    path, line = str(bad[0].file), bad[0].line
    if not _has_line(good):
        return shlex.join(["sed", "-i", f"{line}d", path])
    wanted = good[0].text.raw
    if wanted == HIDDEN or good[0].line != line or not _ONE_LINE.fullmatch(wanted):
        return ""
    text = re.sub(r"([\\&|])", r"\\\1", wanted)
    return shlex.join(["sed", "-i", f"{line}s|.*|{text}|", path])


def file_of_good(suspect: Suspect, names: Mapping[Side, str]) -> str:
    """The line of shell, for this machine, that keeps a file of the bad side and puts that of the
    good one there; empty where a side has none, for data, and where a board is not reached by SSH.
    """
    path = suspect.id.removeprefix(OPENED_FILE)
    if not suspect.id.startswith(OPENED_FILE) or is_group(suspect) or is_data(path):
        return ""
    if NOT_THERE in (suspect.good, suspect.bad) or not _DIGEST.fullmatch(suspect.good):
        return ""
    if not all(OF_SSH.fullmatch(name) for name in names.values()) or not _PLAIN_PATH.fullmatch(
        path
    ):
        return ""
    good, bad = names[Side.GOOD], names[Side.BAD]
    return (
        f"ssh {bad} cp -p {path} {path}.before && ssh {good} cat {path} | ssh {bad} 'cat > {path}'"
    )


_DIGEST = re.compile(r"[0-9a-f]{12}")


def route_as_on_good(suspect: Suspect) -> str:
    """The line of shell that takes away the ways to a destination which only the bad side has, and
    adds those that only the good one has; empty where a gateway would have to be known, or for
    others."""
    destination, _, table = suspect.id.removeprefix(f"{ROUTES}:").partition(" in table ")
    if suspect.members != (f"{ROUTES}/routes",) and suspect.members != (_OF_IPV6,):
        return ""
    if not _DESTINATION.fullmatch(destination):
        return ""
    good, bad = (
        [] if value == NOT_THERE else value.split(", then ")
        for value in (suspect.good, suspect.bad)
    )
    added = [way for way in good if way not in bad]
    changes = [("del", way) for way in bad if way not in good] + [("add", way) for way in added]
    if any("via" in way.split() and not _BY_GATEWAY.search(way) for way in added):
        return ""
    tool = ["ip", "-6"] if suspect.members == (_OF_IPV6,) else ["ip"]
    of_table = ["table", table] if table else []
    lines = []
    for action, way in changes:
        by_gateway = _BY_GATEWAY.search(way) is not None
        attributes = [
            word for word in way.split() if word != "on" and (by_gateway or word != "via")
        ]
        kind = [attributes.pop(0)] if attributes and attributes[0] in _KINDS_OF_ROUTE else []
        arguments = [action, *kind, destination, *attributes, *of_table]
        lines.append(shlex.join([*tool, "route", *arguments]))
    return " && ".join(lines)


def rules_as_on_good(suspect: Suspect, snapshots: Mapping[Side, Snapshot]) -> str:
    """The line of shell that takes away the rules of routing (ip-rule(8)) which only the bad side
    has, and adds those that only the good one has; empty for others."""
    if suspect.members != (_RULES,) or len(snapshots) < len(Side):
        return ""
    good, bad = (_value_of(snapshots[side], _RULES) for side in (Side.GOOD, Side.BAD))
    if not isinstance(good, list) or not isinstance(bad, list):
        return ""
    changes = [f"ip rule del {rule}" for rule in bad if rule not in good]
    changes += [f"ip rule add {rule}" for rule in good if rule not in bad]
    return " && ".join(changes) if all(_A_RULE.fullmatch(line) for line in changes) else ""


def _value_of(snapshot: Snapshot, name: str) -> object:
    return next((entry.value for entry in snapshot.entries() if entry.name == name), None)


_RULES = f"{ROUTES}/rules"
_A_RULE = re.compile(r"ip rule (?:add|del) [a-z0-9_./: -]{4,200}", re.ASCII)
_OF_IPV6 = f"{ROUTES}/routes of IPv6"
_DESTINATION = re.compile(r"default|[0-9a-fA-F.:]{2,45}(?:/\d{1,3})?")
_BY_GATEWAY = re.compile(r"\bvia [0-9a-fA-F.:]*[.:][0-9a-fA-F.:]+( |$)")
_KINDS_OF_ROUTE = ("unreachable", "blackhole", "prohibit", "throw")


def _has_line(origins: Sequence[Origin]) -> bool:
    return bool(origins) and origins[0].line > 0


_ONE_LINE = re.compile(r"[ -~]{1,200}")


def _by_hand(suspect: Suspect, remedies: Sequence[Remedy]) -> str:
    """The line of shell that gives the bad side the good value at once; empty where there is none.

    The line for the running system comes before an edit of the file that sets the value. What is
    none of the settings may be called by the name of one: the remedies for that do not hold.
    """
    is_setting = suspect.untestable != NO_SETTING or suspect.id.startswith(MOUNT_POINT)
    for system in (NOW, ORIGIN) if is_setting else (ORIGIN,):
        for remedy in remedies:
            lines = [line for line in remedy.text.splitlines() if not line.startswith("#")]
            if remedy.system == ORIGIN:
                lines = [line for line in lines[1:] if line.startswith("sed ")]
            if remedy.system == system and lines:
                return lines[0]
    return ""


def _of_file(suspect: Suspect, snapshots: Mapping[Side, Snapshot]) -> str:
    """The line of shell that writes the good side's value to the only file of the kernel that a
    difference is read from; empty where there are several, or the value is no plain text."""
    if len(suspect.members) != 1 or not snapshots:
        return ""
    entries = {
        side: next((e for e in snapshot.entries() if e.name == suspect.members[0]), None)
        for side, snapshot in snapshots.items()
    }
    good, bad = entries[Side.GOOD], entries[Side.BAD]
    if good is None or bad is None or not bad.path.startswith(_KERNEL_FILES):
        return ""
    value = good.value if good.raw is None else good.raw
    is_plain = isinstance(value, int | str) and _PLAIN_VALUE.fullmatch(str(value).strip())
    is_one_file = _PLAIN_PATH.fullmatch(bad.path) is not None
    return now_command(bad.path, str(value).strip()) if is_plain and is_one_file else ""


_KERNEL_FILES = ("/proc/sys/", "/sys/")
_PLAIN_VALUE = re.compile(r"[\w.:+-]{1,80}", re.ASCII)
_PLAIN_PATH = re.compile(r"[\w./:@-]{1,200}", re.ASCII)


def _with_layers(suspect: Suspect, metric: Metric, names: Mapping[Side, str]) -> str:
    """The command that swaps the layer a difference belongs to; capitals are to be filled in."""
    what = ["--command", metric.command] if metric.command else ["--bench", metric.benchmark]
    if suspect.layer in (Layer.USERLAND, Layer.LIBC) and metric.command:
        command = ["benchvise", "why", names[Side.BAD], "--good-root", "GOOD_ROOT", *what]
        return shlex.join(command)
    if suspect.layer in (*_IN_IMAGES, Layer.USERLAND, Layer.LIBC):
        command = ["benchvise", "why", "GOOD_IMAGE", "BAD_IMAGE", "--board", "rig:BOARD", *what]
        return shlex.join(command)
    return ""
