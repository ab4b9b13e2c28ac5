"""The search for the version that made it worse: on planted changes, without a board."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from benchmarks.bisect.whole import two_changes
from benchvise.bisect.choice import Costs, next_version
from benchvise.bisect.earlier import unmet_level, unmet_side
from benchvise.bisect.journal import FILE, JournalEntry, MeasurementJournal
from benchvise.bisect.loop import BisectionSearch
from benchvise.bisect.model import (
    Bisection,
    BisectionOptions,
    BisectionVerdict,
    VersionBench,
    VersionUnusable,
)
from benchvise.bisect.posterior import ChangePosterior
from benchvise.errors import UsageError

READY_S = 1.0
SAMPLE_S = 1.0


@dataclass
class PlantedBench:
    """Versions with known levels, whose samples scatter by ``noise`` of the value.

    Its clock goes on by what making ready and measuring cost, so that a search chooses the same
    versions on a machine that others use.
    """

    levels: list[float]
    noise: float = 0.02
    broken: frozenset[int] = frozenset()
    seed: int = 1
    better: Literal["higher", "lower"] = "lower"
    unit: str = "ms"
    made: list[int] = field(default_factory=list)
    measured: int = 0
    die_after: int = 10**9
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self._chance = np.random.default_rng(self.seed)

    def ready(self, version: int) -> None:
        self.made.append(version)
        self.now_s += READY_S
        if version in self.broken:
            raise VersionUnusable(f"v{version} does not build")

    def measure(self, version: int) -> float:
        self.measured += 1
        self.now_s += SAMPLE_S
        if self.measured > self.die_after:
            raise KeyboardInterrupt
        return self.levels[version] * math.exp(self.noise * self._chance.standard_normal())


def planted(count: int, place: int, ratio: float = 1.1) -> list[float]:
    return [100.0 * (ratio if version >= place else 1.0) for version in range(count)]


def search(
    bench: PlantedBench,
    directory: Path,
    budget_s: float | None = None,
    least: float = 0.01,
    earlier: Sequence[JournalEntry] = (),
    observe: Callable[[str], None] = lambda _line: None,
) -> Bisection:
    typed: VersionBench = bench
    names = [f"v{number}" for number in range(len(bench.levels))]
    journal = MeasurementJournal(directory)
    try:
        going = BisectionSearch(
            names,
            typed,
            journal,
            BisectionOptions(0.95, least, budget_s),
            observe,
            earlier,
            clock=lambda: bench.now_s,
        )
        verdict = going.run()
        return going.answer(verdict, str(directory), lambda good, bad: f"why {good} {bad}")
    finally:
        journal.close()


def test_finds_the_planted_version_of_a_hundred(tmp_path: Path) -> None:
    for number, place in enumerate((1, 37, 99)):
        bench = PlantedBench(planted(100, place), seed=place)
        answer = search(bench, tmp_path / str(number))
        assert answer.verdict is BisectionVerdict.FOUND
        assert answer.first_bad == f"v{place}"
        assert answer.last_good == f"v{place - 1}"
        assert answer.candidates == (f"v{place}",)
        assert answer.probability >= 0.95
        assert answer.ratio == pytest.approx(1.1, rel=0.03)
        assert answer.next_step == f"why v{place - 1} v{place}"
        assert answer.samples == bench.measured < 40


def test_of_a_value_that_is_better_when_higher(tmp_path: Path) -> None:
    bench = PlantedBench(planted(30, 12, ratio=0.9), better="higher", unit="MB/s")
    answer = search(bench, tmp_path)
    assert (answer.verdict, answer.first_bad) == (BisectionVerdict.FOUND, "v12")
    assert answer.before == pytest.approx(100.0, rel=0.03)
    assert answer.after == pytest.approx(90.0, rel=0.03)


def test_leaves_out_what_cannot_be_built_and_says_so(tmp_path: Path) -> None:
    answer = search(PlantedBench(planted(24, 13), broken=frozenset({11, 12})), tmp_path)
    assert answer.first_bad == "v13"
    assert answer.last_good == "v10"
    assert answer.candidates == ("v11", "v12", "v13")
    assert "v11, v12" in answer.headline
    left_out = {row.version: str(row.left_out) for row in answer.versions if row.left_out}
    assert left_out == {"v11": "v11 does not build", "v12": "v12 does not build"}


def test_the_bad_version_has_to_be_measurable(tmp_path: Path) -> None:
    with pytest.raises(VersionUnusable, match="v9 does not build"):
        search(PlantedBench(planted(10, 4), broken=frozenset({9})), tmp_path)


def test_says_that_nothing_changed(tmp_path: Path) -> None:
    answer = search(PlantedBench([100.0] * 40, noise=0.01), tmp_path, least=0.02)
    assert answer.verdict is BisectionVerdict.NO_CHANGE
    assert answer.first_bad is None
    assert answer.no_change >= 0.95


def test_says_that_there_are_two_changes(tmp_path: Path) -> None:
    levels = [100.0] * 8 + [110.0] * 10 + [121.0] * 8
    answer = search(PlantedBench(levels, noise=0.01), tmp_path)
    assert answer.verdict is BisectionVerdict.TWO_CHANGES
    assert (answer.first_bad, answer.second) == ("v8", "v18")
    assert answer.probability >= 0.95


def test_a_second_change_is_looked_for_before_one_is_said_to_be_found() -> None:
    """Each of these histories ended with one of the two, as ten of the first 24 did."""
    told = [two_changes(seed, 64, 4.0, 4.0)[0] for seed in (2, 3, 14, 15, 16, 20)]
    assert told.count("both found") >= 5, told


def test_two_changes_of_neighbours_are_told_from_one_version_that_lies_elsewhere(
    tmp_path: Path,
) -> None:
    """More samples of the one between tell nothing; that its neighbours do not scatter does."""
    levels = [100.0] * 23 + [115.0] + [130.0] * 40
    bench = PlantedBench(levels, noise=0.03)
    answer = search(bench, tmp_path)
    assert answer.verdict is BisectionVerdict.TWO_CHANGES
    assert (answer.first_bad, answer.second) == ("v23", "v24")
    assert bench.measured < 400


def test_outliers_are_no_proof(tmp_path: Path) -> None:
    class Disturbed(PlantedBench):
        def measure(self, version: int) -> float:
            value = super().measure(version)
            return value * 2.0 if self.measured % 9 == 5 else value

    answer = search(Disturbed(planted(64, 20), noise=0.01), tmp_path)
    assert (answer.verdict, answer.first_bad) == (BisectionVerdict.FOUND, "v20")
    assert answer.ratio == pytest.approx(1.1, rel=0.03)


def test_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        search(PlantedBench(planted(64, 30), die_after=6), tmp_path)
    journal = tmp_path / FILE
    journal.write_bytes(journal.read_bytes() + b'{"version": "v3", "rea')  # a line cut by the kill
    bench = PlantedBench(planted(64, 30), seed=2)
    answer = search(bench, tmp_path)
    assert answer.first_bad == "v30"
    assert answer.samples == bench.measured + 6
    assert len([json.loads(line) for line in journal.read_text().splitlines()]) == answer.samples


def test_a_spent_budget_is_undecided(tmp_path: Path) -> None:
    journal = MeasurementJournal(tmp_path)
    for version in ("v0", "v63", "v0", "v63"):
        journal.add(JournalEntry(version, 60.0, 1.0, 110.0 if version == "v63" else 100.0))
    journal.close()
    answer = search(PlantedBench(planted(64, 30)), tmp_path, budget_s=200.0)
    assert answer.verdict is BisectionVerdict.UNDECIDED
    assert answer.seconds == 244.0


def test_a_journal_has_one_writer_and_no_damage(tmp_path: Path) -> None:
    first = MeasurementJournal(tmp_path)
    with pytest.raises(UsageError, match="another bisection"):
        MeasurementJournal(tmp_path)
    first.close()
    (tmp_path / FILE).write_text('{"version": 5}\n')
    with pytest.raises(UsageError, match="line 1 is damaged"):
        MeasurementJournal(tmp_path)


# -- runs that measured the ends before ------------------------------------------------------------


def measured_before(
    levels: dict[int, float], noise: float = 0.02, processes: int = 20
) -> list[JournalEntry]:
    chance = np.random.default_rng(7)
    return [
        JournalEntry(f"v{version}", 0.0, 0.0, level * math.exp(noise * sample), run=f"run{version}")
        for version, level in levels.items()
        for sample in chance.standard_normal(processes)
    ]


ENDS = {0: 100.0, 63: 104.0}


def test_what_runs_measured_of_the_ends_saves_samples(tmp_path: Path) -> None:
    taken = {0: 0, 20: 0}
    for seed in range(8):
        for processes in taken:
            bench = PlantedBench(planted(64, 21 + seed, 1.04), seed=seed)
            earlier = measured_before(ENDS, processes=processes)
            answer = search(bench, tmp_path / f"{seed}-{processes}", earlier=earlier)
            assert answer.earlier == 2 * processes
            assert answer.samples == bench.measured
            taken[processes] += answer.samples
    assert taken[20] < 0.75 * taken[0]
    ends = [row for row in answer.versions if row.earlier]
    assert [(row.number, row.earlier) for row in ends] == [(0, 20), (63, 20)]


def test_a_bisection_with_runs_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    dies = PlantedBench(planted(64, 30, 1.04), die_after=5)
    with pytest.raises(KeyboardInterrupt):
        search(dies, tmp_path, earlier=measured_before(ENDS))
    bench = PlantedBench(planted(64, 30, 1.04), seed=2)
    answer = search(bench, tmp_path)
    assert (answer.first_bad, answer.earlier) == ("v30", 40)
    assert answer.samples == bench.measured + 5
    journal = MeasurementJournal(tmp_path)
    assert [entry.run for entry in journal.entries[:40]] == ["run0"] * 20 + ["run63"] * 20
    journal.close()


@pytest.mark.parametrize(
    ("earlier", "noise", "reason"),
    [
        ({0: 100.0, 63: 120.0}, 0.02, "v63 is not as its run in the store was"),
        ({0: 80.0, 63: 104.0}, 0.02, "v0 is not as its run in the store was"),
        ({0: 100.0}, 0.005, "scatter more than in the runs"),
    ],
)
def test_runs_of_another_state_of_things_are_not_used(
    tmp_path: Path, earlier: dict[int, float], noise: float, reason: str
) -> None:
    told: list[str] = []
    bench = PlantedBench(planted(64, 40, 1.04), seed=5)
    answer = search(bench, tmp_path, earlier=measured_before(earlier, noise), observe=told.append)
    assert sum("what runs measured is not used" in line for line in told) == 1
    assert any(reason in line for line in told), told
    assert (answer.verdict, answer.first_bad) == (BisectionVerdict.FOUND, "v40")
    assert answer.earlier == 0


def test_an_end_is_checked_where_no_version_shows_its_level() -> None:
    earlier = {0: [0.0, 0.1, -0.1], 9: [5.0, 5.1, 4.9]}
    near_both = {3: [0.1] * 4, 5: [5.2] * 4}
    assert unmet_level(earlier, near_both) is None
    assert unmet_level(earlier, {3: [0.1] * 4, 5: [2.5] * 4}) == 9
    assert unmet_level(earlier, {3: [0.1] * 4, 5: [2.5] * 3}) is None, "it is early"
    assert unmet_level(earlier, {3: [2.5] * 4, 5: [5.0] * 4}) == 0
    assert unmet_level({9: earlier[9]}, {3: [2.5] * 4, 9: [2.5] * 4}) is None, "it was measured"
    assert unmet_side(earlier, near_both, 4, 4) is None
    assert unmet_side(earlier, near_both, 6, 6) == 9
    assert unmet_side(earlier, near_both, 3, 3) == 0
    assert unmet_side(earlier, near_both, 1, 9) == 0, "no change: both ends"
    assert unmet_side({0: earlier[0]}, near_both, 6, 6) is None, "no run of the bad version"


def test_without_a_change_runs_alone_decide_nothing(tmp_path: Path) -> None:
    bench = PlantedBench([100.0] * 64, noise=0.004)
    same = measured_before({0: 100.0, 63: 100.0}, noise=0.004)
    answer = search(bench, tmp_path, least=0.02, earlier=same)
    assert answer.verdict is BisectionVerdict.NO_CHANGE
    assert {0, 63} <= {row.number for row in answer.versions if row.samples}


# -- the parts -------------------------------------------------------------------------------------


def filled(count: int, samples: dict[int, list[float]]) -> ChangePosterior:
    posterior = ChangePosterior(count)
    for version, values in samples.items():
        for value in values:
            posterior.add(version, value)
    return posterior


def test_versions_between_two_measured_ones_share_what_is_known() -> None:
    posterior = filled(9, {0: [0.0, 0.1, -0.1], 4: [0.05, -0.05], 8: [2.0, 2.1, 1.9]})
    places = posterior.places
    assert places[0] == 0.0
    assert places[5:] == pytest.approx([places[5]] * 4)
    assert places[5:].sum() > 0.95
    assert places.sum() == pytest.approx(1.0)


def test_the_posterior_is_that_of_a_direct_integration() -> None:
    """Against sums over each unknown on an even, much finer grid, without the module's own."""
    samples = {0: [0.1, -0.4, 0.3], 2: [0.9, -0.2], 3: [1.6], 5: [1.4, 2.2, 1.1]}
    ours = filled(6, samples).places
    levels = np.linspace(-6.0, 8.0, 181)
    expected = np.zeros(6)
    ordered = sorted(samples)
    for has_tails, ratio, share in ((False, 0.0, 0.80), (True, 0.0, 0.17), (False, 1.5, 0.03)):
        for scatter in np.exp(np.linspace(np.log(0.15), np.log(3.5), 41)):
            likelihood = {v: direct(samples[v], levels, scatter, ratio, has_tails) for v in ordered}
            apart = (levels[None, :] - levels[:, None]) / (2.0 * scatter)
            change = np.where(apart > 0, 1.94, 0.06) / (1.0 + apart**2) / scatter
            for low, high in itertools.pairwise(ordered):
                before = np.prod([likelihood[v] for v in ordered if v <= low], axis=0)
                after = np.prod([likelihood[v] for v in ordered if v >= high], axis=0)
                expected[low + 1 : high + 1] += share * float(before @ change @ after)
    assert ours == pytest.approx(expected / expected.sum(), abs=0.03)


def direct(
    values: list[float], levels: np.ndarray, scatter: float, ratio: float, has_tails: bool
) -> np.ndarray:
    def at(shift: float) -> np.ndarray:
        z = (np.array(values)[:, None] - levels - shift) / scatter
        tails, normal = 0.375 * (1.0 + z * z / 4.0) ** -2.5, 0.39894 * np.exp(-z * z / 2.0)
        return np.asarray(((tails if has_tails else normal) / scatter).prod(axis=0))

    if ratio == 0.0:
        return at(0.0)
    shifts = np.linspace(-4.0, 4.0, 81)
    weights = np.exp(-0.5 * shifts**2)
    total = [
        w * at(s * ratio * scatter) for s, w in zip(shifts, weights / weights.sum(), strict=True)
    ]
    return np.asarray(np.sum(total, axis=0))


def test_what_is_costly_to_make_ready_has_to_be_worth_it() -> None:
    ends = {0: [0.0, 0.3, 0.1, 0.0], 63: [1.0, 1.5, 1.1, 1.3]}
    assert next_version(filled(64, ends), Costs()) == 32
    doubtful = filled(64, {**ends, 10: [0.75]})
    assert next_version(doubtful, Costs(1.0, 1000.0, current=10)) == 10
    assert next_version(doubtful, Costs(1.0, 0.0, current=10)) != 10


def test_two_changes_are_each_where_they_are_said() -> None:
    posterior = ChangePosterior(12)
    for version in range(12):
        for sample in (-0.1, 0.0, 0.1):
            posterior.add(version, (version >= 4) + (version >= 9) + sample)
    two = posterior.two_changes()
    assert two.share > 0.99
    assert two.places == (4, 9)
    assert two.probability > 0.99
