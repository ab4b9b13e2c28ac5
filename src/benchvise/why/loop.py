"""The diagnosis loop: from two sides that differ to a cause, proven and explained.

Stages in order, each in its module; whatever ends the loop early, what is known by then is the
answer. Nothing is set on a board outside of ``Bench.measure``, so there is nothing to undo here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from benchvise.board.channel import NotAvailable
from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    Interrupted,
    MeasurementError,
    SettingError,
    UsageError,
)
from benchvise.why import stages, trying
from benchvise.why.bench import Bench
from benchvise.why.case import DiagnosisOptions, DiagnosisState
from benchvise.why.events import DiagnosisStage, Event, StageBegun
from benchvise.why.experiments.evidence import Diverted, EvidenceLog
from benchvise.why.experiments.laboratory import Budget, BudgetSpent, Laboratory
from benchvise.why.experiments.reopened import reopen
from benchvise.why.model import Diagnosis, Side, Stop
from benchvise.why.rules import DiagnosisRules
from benchvise.why.untested import find_untested
from benchvise.why.verdict import conclude, is_missing


def diagnose(
    bench: Bench,
    options: DiagnosisOptions,
    log: EvidenceLog,
    observe: Callable[[Event], None],
    rules: DiagnosisRules,
) -> Diagnosis:
    """Finds out why the bad side is worse.

    A lost board, a spent budget, a failing metric and an interrupt end it with a partial answer,
    whose ``stopped`` says which; the caller's exit code is up to that. UsageError when the bad side
    is only a record or the evidence belongs to something else, StoreError when it cannot be kept.
    """
    if not bench.is_live(Side.BAD):
        raise UsageError(
            f"{bench.name(Side.BAD)} is a record, and experiments need a board",
            "give the board that is bad now, and the record of the good one",
        )
    lab = Laboratory(bench, log, observe, Budget.of(options.budget), options.seed)
    lab.decided("diagnosis", [bench.metric.canonical, str(options.seed)])
    if options.to_try:
        lab.divert_at_end()
    case = DiagnosisState()
    stopped, reason = _until_end(lambda: _investigate(case, lab, options, rules))
    if stopped in _LETS_TRY:
        stopped_trying, why_stopped = _until_end(lambda: _try_named(case, lab, options, rules))
        if stopped_trying is not None:
            stopped, reason = stopped_trying, why_stopped
    if stopped is not None and case.proven:
        _explain_unfinished(case, lab, rules, stopped)
    if case.proven and is_missing(case):
        reopen(lab, case.still_unexplained)
    if stopped is not None or not case.proven or is_missing(case):
        _list_untested(case, lab, rules, stopped)
    return conclude(case, lab, options, stopped, reason)


_LETS_TRY = (None, Stop.BUDGET, Stop.FAILED, Stop.TRIED)
"""How the search may have ended where suspects are tried after it."""


def _until_end(act: Callable[[], None]) -> tuple[Stop | None, str]:
    """Runs a part of a diagnosis; what ended it early, if anything did, and the reason in words."""
    try:
        act()
    except (KeyboardInterrupt, Interrupted):
        return Stop.INTERRUPTED, ""
    except BudgetSpent as spent:
        return Stop.BUDGET, f"the time budget does not allow {spent.step}"
    except Diverted:
        return Stop.TRIED, ""
    except BoardUnreachable as error:
        return Stop.UNREACHABLE, str(error)
    except (MeasurementError, NotAvailable) as error:
        return Stop.FAILED, str(error)
    except SettingError as error:
        return Stop.NOT_PUT_BACK, str(error)
    return None, ""


def _investigate(
    case: DiagnosisState, lab: Laboratory, options: DiagnosisOptions, rules: DiagnosisRules
) -> None:
    _begin(lab, DiagnosisStage.READING)
    stages.look(case, lab, rules)
    if not case.admissible:
        return
    _begin(lab, DiagnosisStage.GAP)
    stages.measure_gap(case, lab)
    if case.measured is not None and not (case.measured.shown and case.scale.gap > 0.0):
        return
    if lab.bench.metric.command:
        _begin(lab, DiagnosisStage.WATCHING)
        stages.watch_command(case, lab)
    _begin(lab, DiagnosisStage.SUSPECTS)
    stages.rank_suspects(case, lab, rules, options)
    _begin(lab, DiagnosisStage.SEARCH)
    stages.search_settings(case, lab)
    if case.measured is None or not case.measured.shown:
        return
    if options.layers and case.unfinished and not case.vanished:
        _begin(lab, DiagnosisStage.LAYERS)
        stages.search_layers(case, lab, rules, options)
    _begin(lab, DiagnosisStage.TOGETHER)
    stages.measure_together(case, lab)
    _begin(lab, DiagnosisStage.EXPLANATION)
    stages.explain(case, lab, rules)


def _try_named(
    case: DiagnosisState, lab: Laboratory, options: DiagnosisOptions, rules: DiagnosisRules
) -> None:
    """Tries the suspects that the evidence or the options name, each by itself."""
    names = list(options.to_try)
    while name := lab.next_try(names):
        if name in names:
            names.remove(name)
        trying.try_suspect(case, lab, name)
        if case.proven:
            stages.explain(case, lab, rules)


def _list_untested(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, stopped: Stop | None
) -> None:
    """Lists the likeliest differences that are open, without their lines where the boards must not
    be asked."""
    ask_boards = stopped in _LETS_TRY
    with suppress(KeyboardInterrupt, Interrupted, BenchviseError):
        case.untested = find_untested(case, lab, rules, ask_boards=ask_boards)


def _explain_unfinished(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, stopped: Stop
) -> None:
    """What is known of the proven causes without another measurement, also where that fails.

    Boards are not asked any more where somebody waits for the end, or where they do not answer.
    """
    ask_boards = stopped in _LETS_TRY
    with suppress(KeyboardInterrupt, Interrupted, BenchviseError):
        stages.explain_unfinished(
            case, lab, rules, f"the diagnosis ended before that: {stopped}", ask_boards=ask_boards
        )


def _begin(lab: Laboratory, stage: DiagnosisStage) -> None:
    lab.observe(StageBegun(stage))
