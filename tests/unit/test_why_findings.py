"""What an audit of ``why`` found, on causes that nobody had prepared it for: a test each."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from why_bench import MemoryBench, diagnose, losses, suspect

from benchvise.errors import BoardUnreachable, Interrupted, MeasurementError
from benchvise.report.why_words import diagnosis_text
from benchvise.why.experiments import partners
from benchvise.why.experiments.gap import PairedGap, Scale
from benchvise.why.experiments.laboratory import BudgetSpent
from benchvise.why.experiments.question import Effect
from benchvise.why.experiments.search import _CAREFUL, Search
from benchvise.why.model import NOT_SEARCHED, Diagnosis, DiagnosisVerdict, Stop

TWENTY = tuple(f"knob{n:02}" for n in range(20))


def test_why_finding_2_what_stands_first_has_no_partners_before_it() -> None:
    class Silent:
        """No question may be put to it."""

    scale = Scale(0.6, 0.01, PairedGap(np.full(8, 0.6)))
    found = partners.find(
        Silent(),  # type: ignore[arg-type]
        scale,
        suspect("knob00"),
        (),
        Effect(0.0, 0.01),
        0.6,
        (),
    )
    assert found is None


@pytest.mark.parametrize(("error", "goes_on"), [(0.04, False), (0.004, True)])
def test_why_finding_2_what_gains_more_than_the_gap_by_noise_is_not_searched_beyond(
    error: float, goes_on: bool
) -> None:
    suspects = [suspect(name) for name in TWENTY]
    repair = SimpleNamespace(context=())
    cause = SimpleNamespace(
        name="knob07", suspects=(suspects[7],), effect=Effect(0.69, error), repair=repair
    )
    search = Search(
        SimpleNamespace(),  # type: ignore[arg-type]
        Scale(0.6, 0.01, PairedGap(np.full(8, 0.6))),
        suspects,
        0.6,
        proven=[cause],  # type: ignore[list-item]
        left_error=error,
    )
    # What all do at once is less than the cause alone: something seems to do the opposite.
    search._points = {0: Effect(0.0, 0.0), 20: Effect(0.55, 0.004)}
    search._least = _CAREFUL
    assert (search._next_step() is not None) is goes_on


def ended(error: BaseException, rest: float = 0.0) -> Diagnosis:
    """A diagnosis that ends so once knob07 is proven; ``rest`` is a loss that no setting has."""
    bench = MemoryBench(TWENTY, losses(knob07=0.5), rest=rest)
    with patch("benchvise.why.stages.measure_together", side_effect=error):
        return diagnose(bench)


def test_why_finding_2_a_spent_budget_takes_nothing_from_a_gap_that_is_explained() -> None:
    found = ended(BudgetSpent("another experiment"))
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    assert found.stopped is Stop.BUDGET
    assert found.headline.startswith("knob07, set by /etc/sysctl.d/9.conf:1, accounts for")
    assert ended(BudgetSpent("more"), rest=0.4).verdict is DiagnosisVerdict.INCOMPLETE
    assert ended(KeyboardInterrupt()).verdict is DiagnosisVerdict.INCOMPLETE


def test_why_finding_3_what_is_incomplete_keeps_provenance_mechanism_and_remedies() -> None:
    for error in (BudgetSpent("more"), MeasurementError("the command fails")):
        found = ended(error, rest=0.4)
        assert found.verdict is DiagnosisVerdict.INCOMPLETE
        (cause,) = found.causes
        assert {origin.where for origin in cause.origins} == {"/etc/sysctl.d/9.conf:1"}
        assert [remedy.text for remedy in cause.remedies] == ["knob07=on"]


def test_why_finding_3_files_that_were_not_searched_are_not_said_to_set_nothing() -> None:
    for error in (KeyboardInterrupt(), Interrupted("stopped"), BoardUnreachable("no answer")):
        found = ended(error, rest=0.4)
        (cause,) = found.causes
        assert {origin.kind for origin in cause.origins} == {NOT_SEARCHED}
        assert [remedy.text for remedy in cause.remedies] == ["knob07=on"]
        text = "\n".join(
            line.text for block in diagnosis_text(found).blocks for line in block.lines
        )
        assert "not searched (the diagnosis ended before that" in text
        assert "none of the files" not in text
