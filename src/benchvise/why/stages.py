"""The stages of a diagnosis that are not experiments of their own: looking, searching, explaining.

Each takes the case as it is and leaves more in it; ``loop`` calls them in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    Interrupted,
    MeasurementError,
    SettingError,
)
from benchvise.state.conditions import busy_programs
from benchvise.statistics.ranks import mann_whitney
from benchvise.text import NO_TEXT, Untrusted
from benchvise.why.bench import CrossCheck
from benchvise.why.case import DiagnosisOptions, DiagnosisState, also
from benchvise.why.events import CauseConfirmed, CommandWatched, FindingMade, SuspectsRanked
from benchvise.why.experiments import confirm, gap
from benchvise.why.experiments.confirm import Confirmation
from benchvise.why.experiments.laboratory import BudgetSpent, Laboratory
from benchvise.why.experiments.question import (
    WITH,
    WITHOUT,
    ExperimentReading,
    Question,
    Unresolved,
    ask,
)
from benchvise.why.experiments.search import LIKELY, Search, testable
from benchvise.why.model import (
    NOT_SEARCHED,
    Arm,
    Cause,
    Mechanism,
    Origin,
    Purpose,
    Remedy,
    Side,
    Suspect,
)
from benchvise.why.rules import DiagnosisRules
from benchvise.why.spending import is_wall_time
from benchvise.why.witness.amounts import amount_suspects
from benchvise.why.witness.compare import BY_TIME, MeasuredTimes, call_targets, compare
from benchvise.why.witness.confinement import confinement_suspects, without_session
from benchvise.why.witness.database_suspects import (
    GIVEN_FILES,
    database_suspects,
    put_above_their_files,
)
from benchvise.why.witness.naming import NamedPlace, named_places, naming_keys, places_of
from benchvise.why.witness.neighbours import put_active_first
from benchvise.why.witness.opened import (
    OPENED_FILE,
    compared_paths,
    file_suspects,
    without_swapped,
)
from benchvise.why.witness.own_words import put_named_first
from benchvise.why.witness.partner_suspects import (
    SERVICE_FILE,
    ServiceRestarts,
    partner_files,
    partner_suspects,
    put_partners_first,
)
from benchvise.why.witness.profiles import profile_suspects
from benchvise.why.witness.services import service_files, service_suspects
from benchvise.why.witness.touching import put_first
from benchvise.why.witness.untouched import put_last, touched_paths

_WATCHING_S = 15.0
"""What reading both recordings takes, besides two runs of the command on each side."""

_WATCHES = 2
"""A command that did not show the gap while it was watched is watched once more."""

_ALIKE = 1.1
"""Counters that differ by less are the same."""

_PART_OF_BUDGET = 4.0
"""The command is watched where so many times that is left, for the search."""


def look(case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules) -> None:
    """Facts and snapshots of both sides, and whether they may be compared."""
    case.reached = "reading the state of both sides"
    sides = (Side.GOOD, Side.BAD)
    case.facts = {side: lab.bench.facts(side) for side in sides}
    case.snapshots = {side: lab.snapshot(side) for side in sides}
    for finding in rules.examine(lab.bench.metric, case.facts, case.snapshots):
        case.findings.append(finding)
        lab.observe(FindingMade(finding))


def measure_gap(case: DiagnosisState, lab: Laboratory) -> None:
    """The gap, where both sides have trials."""
    case.reached = "measuring the gap"
    case.measured = gap.measure_gap(lab)


def watch_command(case: DiagnosisState, lab: Laboratory) -> None:
    """What the command does differently on the bad side: what touches that is tried first.

    Only where both sides can run it, and where that takes little of the budget.
    """
    metric = lab.bench.metric
    if not metric.command or case.measured is None or not all(map(lab.bench.is_live, Side)):
        return
    seconds = 2.0 * lab.seconds([Arm(side) for side in Side], 1) + _WATCHING_S
    if not lab.affords(_PART_OF_BUDGET * seconds):
        return
    case.reached = "watching the command"
    is_wall = is_wall_time(metric)
    gap = case.measured.gap
    times = MeasuredTimes(
        gap.good / 1e9 if is_wall else None,
        gap.bad / 1e9 if is_wall else None,
        _counted(lab, Side.GOOD),
        _counted(lab, Side.BAD),
        _told_apart(lab),
    )
    for _ in range(_WATCHES):
        case.watches = {side: lab.watch(side) for side in (Side.GOOD, Side.BAD)}
        case.witness = compare(case.watches[Side.GOOD], case.watches[Side.BAD], times)
        if not case.witness.is_doubtful:
            break
    assert case.witness is not None  # noqa: S101 - it is watched at least once
    lab.observe(CommandWatched(case.witness))


def rank_suspects(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, options: DiagnosisOptions
) -> None:
    """What differs, in the order in which it will be tested."""
    case.reached = "ranking the differences"
    good, bad = case.snapshots[Side.GOOD], case.snapshots[Side.BAD]
    selection = rules.find(
        good,
        bad,
        lab.bench.metric,
        may_set=options.may_set,
        targets=call_targets(case.watches.values()),
    )
    restarts = _restarts(case, lab, rules, options)
    may_set = [side for side in Side if options.may_set.get(side, False)]
    seen = _seen_suspects(case, lab, selection.suspects, restarts, may_set)
    confined = tuple(confinement_suspects(case.watches))
    suspects = (*without_session(selection.suspects, confined), *seen, *confined)
    named = _named_places(case, lab, suspects)
    case.suspects = _ranked(case, lab, rules, options, suspects, named=named)
    if not _is_clear(case.suspects):
        checks = lab.cross_check(options.cross_checks)
        case.suspects = _ranked(case, lab, rules, options, suspects, checks, named)
    case.excluded = selection.excluded
    lab.decided("suspects", [suspect.id for suspect in case.suspects])
    lab.observe(SuspectsRanked(case.suspects, case.excluded))


_SERVICE = "system.services/service "


def _restarts(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, options: DiagnosisOptions
) -> ServiceRestarts:
    """The services of both sides, and whether they may be started anew with other files."""
    refused = rules.not_allowed(SERVICE_FILE)
    if not options.may_set.get(Side.BAD, False):
        refused = "the bad side may not be set"
    elif not lab.bench.can_swap_files():
        refused = "no board has the other side's files"
    running = {
        side: frozenset(
            entry.name.removeprefix(_SERVICE)
            for entry in snapshot.entries()
            if entry.name.startswith(_SERVICE) and entry.value == "running"
        )
        for side, snapshot in case.snapshots.items()
    }
    return ServiceRestarts(running, refused)


def _seen_suspects(
    case: DiagnosisState,
    lab: Laboratory,
    others: Sequence[Suspect],
    restarts: ServiceRestarts,
    may_set: Collection[Side],
) -> tuple[Suspect, ...]:
    """The files that the command opens and that are not the same on both sides, what differs in the
    programs that it talks to and in databases, and of what there is far more; none where it was not
    watched, and of files none where they cannot be read."""
    amounts = (
        *amount_suspects(case.watches, case.snapshots),
        *profile_suspects(case.watches, case.snapshots),
        *database_suspects(case.watches, can_swap=lab.bench.can_swap_files()),
    )
    of_partners = partner_files(case.watches)
    of_services = service_files(case.snapshots) if case.watches else ()
    paths = tuple(dict.fromkeys((*compared_paths(case.watches), *of_partners, *of_services)))
    if not paths:
        return amounts
    digests = {side: lab.digests(side, paths) for side in (Side.GOOD, Side.BAD)}
    readable = {side: of for side, of in digests.items() if of is not None}
    if len(readable) < len(digests):
        return amounts
    can_swap = lab.bench.can_swap_files()
    files = file_suspects(case.watches, readable, others, can_swap=can_swap)
    of_programs = partner_suspects(case.watches, readable, files, restarts, may_set)
    seen = (*files, *of_programs)
    taken = {suspect.id for suspect in seen}
    # the same file by another name: boot.init_settings:/etc/init.d/S50qos
    taken |= {f"{OPENED_FILE}{suspect.id.partition(':')[2]}" for suspect in others}
    return (*seen, *service_suspects(of_services, readable, taken), *amounts)


def _named_places(
    case: DiagnosisState, lab: Laboratory, suspects: Sequence[Suspect]
) -> Mapping[str, NamedPlace]:
    """What the command waits for or opens on the bad side alone, and files that differ name, by the
    ids of these suspects."""
    places = places_of(case.witness)
    keys = naming_keys(suspects, places)
    digests = {side: lab.digests(side, keys) or {} for side in (Side.GOOD, Side.BAD) if keys}
    return named_places(suspects, places, digests)


def _is_clear(suspects: Sequence[Suspect]) -> bool:
    """Whether the first suspect is tried alone before others in any case, so that benchmarks which
    would tell more of the order are not worth their time."""
    weights = [suspect.weight for suspect in testable(suspects)]
    return bool(weights) and weights[0] >= LIKELY * sum(weights)


def _ranked(
    case: DiagnosisState,
    lab: Laboratory,
    rules: DiagnosisRules,
    options: DiagnosisOptions,
    suspects: Sequence[Suspect],
    checks: Sequence[CrossCheck] = (),
    named: Mapping[str, NamedPlace] | None = None,
) -> tuple[Suspect, ...]:
    ranked = rules.rank(
        suspects,
        lab.bench.metric,
        gap=None if case.measured is None else case.measured.gap,
        checks=checks,
        counters=_symptoms(case, lab),
        busy={side: busy_programs(snapshot) for side, snapshot in case.snapshots.items()},
        corpus=options.corpus,
    )
    touched = touched_paths(tuple(case.watches.values())) if case.watches else None
    ranked = put_last(ranked, case.snapshots, touched)
    if case.watches:
        ranked = put_named_first(ranked, case.watches[Side.BAD].names)
    ranked = put_active_first(ranked, case.watches, case.witness)
    ranked = put_first(ranked, case.witness, named)
    ranked = put_partners_first(ranked, case.witness, case.watches)
    return put_above_their_files(ranked)


def _counted(lab: Laboratory, side: Side) -> dict[str, float]:
    """The medians of what was counted in the plain trials of a side."""
    return {name: sorted(of)[len(of) // 2] for name, of in _counts(lab, side).items()}


def _symptoms(case: DiagnosisState, lab: Laboratory) -> dict[Side, dict[str, float]]:
    """What was counted on each side, without what only chance or the longer time tells apart."""
    values = {side: _counted(lab, side) for side in (Side.GOOD, Side.BAD)}
    longer = 1.0
    if case.measured is not None and is_wall_time(lab.bench.metric):
        longer = case.measured.gap.bad / case.measured.gap.good
    told_apart = _told_apart(lab)
    for name in values[Side.GOOD].keys() & values[Side.BAD].keys():
        good, bad = values[Side.GOOD][name], values[Side.BAD][name]
        if name in BY_TIME:
            values[Side.BAD][name] = bad = bad / longer
        low, high = sorted((good, bad))
        if high > _ALIKE * low and name not in told_apart:
            del values[Side.GOOD][name], values[Side.BAD][name]
    return values


def _told_apart(lab: Laboratory) -> frozenset[str]:
    """The counters whose plain trials tell the sides apart, by the Mann-Whitney test."""
    good, bad = (_counts(lab, side) for side in (Side.GOOD, Side.BAD))
    return frozenset(
        name
        for name in good.keys() & bad.keys()
        if mann_whitney(np.array(good[name]), np.array(bad[name])) < gap.CLAIM
    )


def _counts(lab: Laboratory, side: Side) -> dict[str, list[float]]:
    """What was counted in the plain trials of a side, each of them."""
    values: dict[str, list[float]] = {}
    for trial in lab.trials:
        if trial.side is side and not trial.flipped:
            for name, value in trial.counters.items():
                values.setdefault(name, []).append(value)
    return values


# -- searching -------------------------------------------------------------------------------------


def search_settings(case: DiagnosisState, lab: Laboratory) -> None:
    """The causes among what can be flipped without a boot."""
    case.reached = "searching the settings"
    suspects = [s for s in testable(case.suspects) if not s.id.startswith(GIVEN_FILES)]
    first = None
    if case.measured is None:
        first = _gap_by_all_in(case, lab, suspects)
        if case.measured is None or not case.measured.shown:
            return
    _search(case, lab, suspects, (), (Purpose.ALL_IN, Purpose.HALVING), first)


_AFTER_BURSTS = 2
"""So often a search that a burst of noise left without a cause is begun again."""


def _search(
    case: DiagnosisState,
    lab: Laboratory,
    suspects: list[Suspect],
    context: tuple[Suspect, ...],
    purposes: tuple[Purpose, Purpose],
    first: ExperimentReading | None = None,
) -> Search:
    """Searches a list, and what is left of it once more with what was proven flipped; again from
    the start where nothing was found and a burst of noise was met."""
    stage = case.reached
    left_after_bursts = _AFTER_BURSTS
    while True:
        begun, is_spent = len(lab.differences), False
        search = Search(
            lab, case.scale, suspects, case.left, context, purposes, left_error=case.left_error
        )
        try:
            search.run(first)
        except BudgetSpent:
            if left_after_bursts == _AFTER_BURSTS:
                raise
            is_spent = True  # what follows may still have its time
        finally:
            # Also of a search that was stopped, what it has proven stands.
            case.proven.extend(search.proven)
            known = {proof.name for proof in (*search.refuted, *search.proven)}
            before = [proof for proof in case.refuted if proof.name not in known]
            case.refuted = [*before, *search.refuted]
            case.excess += search.excess
            case.reached = also(stage, search.narrowed)
            case.narrowed = search.narrowed
            case.vanished |= search.vanished
        if left_after_bursts and not is_spent and search.is_open and lab.met_burst(begun):
            left_after_bursts -= 1
            first = None
            continue
        if search.futile:
            case.next_steps.append(search.futile)
        rest = [s for s in search.suspects if s not in case.flipped]
        is_done = search.futile or is_spent or not search.proven or not rest
        if is_done or not case.unfinished:
            return search
        context, suspects, first = case.flipped, rest, None
        purposes = (purposes[1], purposes[1])


def _gap_by_all_in(
    case: DiagnosisState, lab: Laboratory, suspects: list[Suspect]
) -> ExperimentReading | None:
    """All as recorded, as the gap itself."""
    if not suspects:
        return None
    text = f"what changes with all {len(suspects)} settings as recorded?"
    question = Question(Purpose.ALL_IN, text, Side.BAD, tuple(suspects), (), gap.RANKED, gap.MOST)
    arms = [Arm(Side.BAD), Arm(Side.BAD, question.flipped)]
    lab.require(lab.seconds(arms, question.least), "measuring the gap")
    try:
        reading = ask(lab, None, question, lambda effect, _: abs(effect.value) > 5.0 * effect.error)
    except Unresolved:
        return None
    case.measured = gap.gap_by_all_in(lab, reading.blocks, WITH, WITHOUT)
    case.by_all_in = True
    return reading


def search_layers(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, options: DiagnosisOptions
) -> None:
    """The causes among the layers and the files that can be swapped, and then inside of what was
    found."""
    case.layers = tuple(lab.bench.layers())
    layers = list(_ranked(case, lab, rules, options, case.layers))
    if any(suspect.id.startswith(GIVEN_FILES) for suspect in case.suspects):
        swapped = [part for layer in testable(layers) for part in (layer, *lab.bench.parts(layer))]
        case.suspects = without_swapped(case.suspects, swapped)
        files = [s for s in testable(case.suspects) if s.id.startswith(GIVEN_FILES)]
        layers = sorted((*layers, *files), key=lambda s: (s.means is None, -s.log_odds))
    if not layers:
        return
    case.reached = "searching the layers"
    lab.decided("layers", [layer.id for layer in layers])
    before = len(case.proven)
    purposes = (Purpose.LAYER, Purpose.LAYER)
    _search(case, lab, testable(layers), case.flipped, purposes)
    for proof in case.proven[before:]:
        if len(proof.suspects) == 1:
            _look_inside(case, lab, rules, options, proof)


def _look_inside(
    case: DiagnosisState,
    lab: Laboratory,
    rules: DiagnosisRules,
    options: DiagnosisOptions,
    proof: Confirmation,
) -> None:
    """The part of a layer that makes its effect, which then is the cause instead of the layer."""
    layer = proof.suspects[0]
    parts = _ranked(case, lab, rules, options, lab.bench.parts(layer))
    lab.decided("parts", [part.id for part in parts])
    if not parts:
        return  # what is proven is a part itself, or has none
    case.reached = f"searching inside {layer.id}"
    case.suspects += tuple(part for part in parts if part not in case.suspects)
    place = case.proven.index(proof)
    del case.proven[place]
    context = case.flipped
    try:
        _search(case, lab, testable(parts), context, (Purpose.LAYER, Purpose.LAYER))
    finally:
        inside = case.proven[place:]
        if abs(proof.effect.value - sum(f.effect.value for f in inside)) >= case.scale.least:
            # The parts do not make up the layer: the layer is what is proven.
            del case.proven[place:]
            case.proven.append(proof)
            others = [part for part in parts if part.means is None]
            if others:
                case.next_steps.append(
                    f"which part of {layer.id} it is takes building it anew: "
                    + "; ".join(f"{p.title}: {p.untestable}" for p in others[:5])
                )


def measure_together(case: DiagnosisState, lab: Laboratory) -> None:
    """What the causes leave unexplained; with more than one, on fresh data of all together."""
    if not case.proven:
        return
    case.unexplained = confirm.by_sum(case.proven)
    if len(case.proven) > 1:
        case.reached = "measuring the causes together"
        result = confirm.measure_together(lab, case.scale, case.proven)
        if result is not None:
            case.unexplained, case.interaction = result.unexplained, result.interaction


# -- explaining ------------------------------------------------------------------------------------


def explain(case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules) -> None:
    """Mechanism, origins and remedies of each cause, in their order, as far as not done yet."""
    explained = {cause.name for cause in case.causes}
    for proof in sorted(case.proven, key=in_order):
        if proof.name in explained:
            continue
        case.reached = f"explaining {proof.name}"
        _keep(case, lab, _explained(case, lab, rules, proof, lab.during))


def explain_unfinished(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, reason: str, *, ask_boards: bool
) -> None:
    """The same for what was proven before a diagnosis was stopped, without measuring anything more:
    mechanisms are not checked, for the reason. Files are searched only where boards may be asked.
    """

    def uncounted(_arm: Arm) -> Mapping[str, float]:
        raise MeasurementError(reason)

    explained = {cause.name for cause in case.causes}
    for proof in sorted(case.proven, key=in_order):
        if proof.name not in explained:
            not_searched = "" if ask_boards else reason
            _keep(case, lab, _explained(case, lab, rules, proof, uncounted, not_searched))


def _keep(case: DiagnosisState, lab: Laboratory, cause: Cause) -> None:
    case.causes = (*case.causes, cause)
    lab.observe(CauseConfirmed(cause))


def in_order(cause: Confirmation | Cause) -> tuple[bool, float]:
    """Sorts causes: the largest first, but what was shown with others repaired after these, as its
    share is nothing that repairing it alone would close."""
    return bool(cause.repair.context), -abs(cause.share.value)


def as_cause(proof: Confirmation) -> Cause:
    """The cause as far as experiments go."""
    return Cause(
        suspects=proof.suspects,
        share=proof.share,
        repair=proof.repair,
        breaking=proof.breaking,
        again=proof.again,
        not_broken=proof.not_broken,
    )


def _explained(
    case: DiagnosisState,
    lab: Laboratory,
    rules: DiagnosisRules,
    proof: Confirmation,
    during: Callable[[Arm], Mapping[str, float]],
    not_searched: str = "",
) -> Cause:
    """The cause with what is known of it; a part that fails is left out, the proof stands.

    ``during`` counts for the mechanism; ``not_searched`` says why no file is looked at.
    """
    cause = as_cause(proof)
    mechanism: Mechanism | None = None
    origins: list[Origin] = []
    remedies: list[Remedy] = []
    assert cause.repair.shift is not None, "a proven repair has its shift"  # noqa: S101
    try:
        mechanism = rules.explain(
            lab.bench.metric,
            proof.suspects,
            snapshots=case.snapshots,
            facts=case.facts,
            effect=cause.repair.shift,
            during=during,
            side=Side.BAD,
        )
    except (BoardUnreachable, SettingError, Interrupted):
        raise
    except BenchviseError as error:
        case.next_steps.append(f"the mechanism of {cause.name} could not be checked: {error}")
    for suspect in proof.suspects:
        places: list[Origin] = []
        for side in (Side.BAD, Side.GOOD):
            if not_searched:
                note = Untrusted(not_searched)
                places.append(Origin(side, NOT_SEARCHED, NO_TEXT, 0, NO_TEXT, False, note))
                continue
            try:
                places.extend(lab.bench.origins(side, suspect))
            except BenchviseError as error:
                case.next_steps.append(
                    f"what sets {suspect.id} on {lab.bench.name(side)} is not available: {error}"
                )
        origins.extend(places)
        values = {Side.GOOD: suspect.good, Side.BAD: suspect.bad}
        remedies.extend(
            rules.remedies(
                suspect,
                origins=places,
                side_values=values,
                roles=case.snapshots[Side.BAD].roles,
            )
        )
    return replace(cause, mechanism=mechanism, origins=tuple(origins), remedies=tuple(remedies))
