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
from benchvise.why import stages
from benchvise.why.bench import Bench
from benchvise.why.case import DiagnosisOptions, DiagnosisState
from benchvise.why.events import DiagnosisStage, Event, StageBegun
from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.experiments.laboratory import Budget, BudgetSpent, Laboratory
from benchvise.why.model import Diagnosis, Side, Stop
from benchvise.why.rules import DiagnosisRules
from benchvise.why.verdict import conclude


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
    case = DiagnosisState()
    stopped: Stop | None = None
    reason = ""
    try:
        _investigate(case, lab, options, rules)
    except (KeyboardInterrupt, Interrupted):
        stopped = Stop.INTERRUPTED
    except BudgetSpent as spent:
        stopped, reason = Stop.BUDGET, f"the time budget does not allow {spent.step}"
    except BoardUnreachable as error:
        stopped, reason = Stop.UNREACHABLE, str(error)
    except (MeasurementError, NotAvailable) as error:
        stopped, reason = Stop.FAILED, str(error)
    except SettingError as error:
        stopped, reason = Stop.NOT_PUT_BACK, str(error)
    if stopped is not None and case.proven:
        _explain_unfinished(case, lab, rules, stopped)
    return conclude(case, lab, options, stopped, reason)


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
    if options.layers and case.unfinished:
        _begin(lab, DiagnosisStage.LAYERS)
        stages.search_layers(case, lab, rules, options)
    _begin(lab, DiagnosisStage.TOGETHER)
    stages.measure_together(case, lab)
    _begin(lab, DiagnosisStage.EXPLANATION)
    stages.explain(case, lab, rules)


def _explain_unfinished(
    case: DiagnosisState, lab: Laboratory, rules: DiagnosisRules, stopped: Stop
) -> None:
    """What is known of the proven causes without another measurement, also where that fails.

    Boards are not asked any more where somebody waits for the end, or where they do not answer.
    """
    ask_boards = stopped in (Stop.BUDGET, Stop.FAILED)
    with suppress(KeyboardInterrupt, Interrupted, BenchviseError):
        stages.explain_unfinished(
            case, lab, rules, f"the diagnosis ended before that: {stopped}", ask_boards=ask_boards
        )


def _begin(lab: Laboratory, stage: DiagnosisStage) -> None:
    lab.observe(StageBegun(stage))
