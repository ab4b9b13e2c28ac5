"""Prints how often the planted version is found, and with how many samples."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.bisect.bounds import (
    capacity_of_outcome,
    capacity_of_value,
    least_samples,
)
from benchmarks.bisect.fleet import (
    HELD_OUT_FLEET_SEEDS,
    make_boards,
    search_on,
    two_changes_on,
)
from benchmarks.bisect.histories import HELD_OUT, HELD_OUT_SEEDS, NORMAL, STRAYS, make_history
from benchmarks.bisect.limits import (
    noise_known,
    noise_learned,
    oracle_of_outcomes,
    oracle_of_values,
)
from benchmarks.bisect.searches import (
    CONFIDENCE,
    Look,
    Outcome,
    has_reference,
    ours,
    reference,
)
from benchmarks.bisect.whole import two_changes

_HEAD = (
    "| noise | versions | effect | found | posterior | samples: mean | median | 90 % "
    "| reference: found | mean | median | ratio |"
)
_LIMITS = (
    ("oracle that knows levels and noise", oracle_of_values),
    ("the same, of outcomes at the best threshold", oracle_of_outcomes),
    ("knows the noise, learns the levels", noise_known),
    ("knows that noise is normal, learns the rest", noise_learned),
)


def main() -> None:
    """``python -m benchmarks.bisect [--histories N] [--shape NAME] [--count N] [--effect E]
    [--earlier SAMPLES]``.

    With ``--limits`` it prints what no search can beat, and what searches need that know more than
    any search can, with ``--calibration`` how often probabilities along the way are right, with
    ``--two`` how often two changes are both found, also on ``--boards N``. ``--boards N`` searches
    on several boards at once, of which ``--unseen K`` do not have the change, or the last takes
    ``--slow S`` times as long for a sample.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bisect")
    parser.add_argument("--first-seed", type=int)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--shape", choices=[NORMAL, *HELD_OUT, STRAYS], action="append")
    parser.add_argument("--count", type=int, action="append")
    parser.add_argument("--effect", type=float, action="append")
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("--calibration", action="store_true")
    parser.add_argument("--two", action="store_true")
    parser.add_argument(
        "--earlier", type=int, default=0, help="samples of either end that the store has already"
    )
    parser.add_argument("--boards", type=int, action="append")
    parser.add_argument("--unseen", type=int, default=0)
    parser.add_argument("--slow", type=float, default=1.0)
    options = parser.parse_args()
    if options.first_seed is None:
        options.first_seed = HELD_OUT_FLEET_SEEDS if options.boards else HELD_OUT_SEEDS
    if (
        not options.limits
        and not options.calibration
        and not options.two
        and not options.boards
        and not has_reference()
    ):
        print("reference: not available: git-bayesect is not installed\n")
    seeds = range(options.first_seed, options.first_seed + options.histories)
    begun = time.monotonic()
    counts, effects = options.count or [128, 1024], options.effect or [1.0, 2.0, 4.0]
    if options.calibration:
        _print_calibration(options.shape or [NORMAL], counts, effects, seeds)
    elif options.limits:
        _print_bounds(counts, effects)
        _print_limits(counts, effects, seeds)
    elif options.two:
        _print_two(options.boards or [0], counts, effects, seeds)
    elif options.boards:
        _print_fleet(options.boards, counts, effects, seeds, options.slow, options.unseen)
    else:
        print(_HEAD)
        print("|---|" + "---:|" * 11)
        for shape in options.shape or [NORMAL]:
            for count in counts:
                for effect in effects:
                    print(_row(shape, count, effect, seeds, options.earlier), flush=True)
    print(f"\n{options.histories} histories each, {time.monotonic() - begun:.0f} s")


def _print_fleet(
    fleets: Sequence[int],
    counts: Sequence[int],
    effects: Sequence[float],
    seeds: range,
    slow: float,
    unseen: int,
) -> None:
    print("| versions | effect | boards | found | samples: mean | rounds: mean | median ", end="")
    print("| until clear | intervals right | with the change: seen, not seen, unclear ", end="")
    print("| without: seen, not seen, unclear |")
    print("|---:|" + "---:|" * 8 + "---|---|")
    for count in counts:
        for effect in effects:
            for boards in fleets:
                outcomes = [
                    search_on(make_boards(seed, boards, effect, slow, unseen), seed, count)
                    for seed in seeds
                ]
                covered = [right for outcome in outcomes for right in outcome.covered]
                seconds = [outcome.seconds for outcome in outcomes]
                split = boards - unseen
                cells = [
                    *(str(count), f"{effect:g}", str(boards)),
                    f"{100 * np.mean([outcome.found for outcome in outcomes]):.1f} %",
                    f"{np.mean([outcome.samples for outcome in outcomes]):.1f}",
                    *(f"{np.mean(seconds):.1f}", f"{np.median(seconds):.0f}"),
                    f"{np.mean([outcome.all_seconds for outcome in outcomes]):.1f}",
                    f"{100 * np.mean(covered):.1f} %" if covered else "none",
                    _told([word for outcome in outcomes for word in outcome.told[:split]]),
                    _told([word for outcome in outcomes for word in outcome.told[split:]]),
                ]
                print(f"| {' | '.join(cells)} |", flush=True)


_STATED = (0.0, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)


def _print_calibration(
    shapes: Sequence[str], counts: Sequence[int], effects: Sequence[float], seeds: range
) -> None:
    """Of all looks at which the search said about so much, how often it was right."""
    print("| noise | versions | effect | said | mean | right | looks |")
    print("|---|" + "---:|" * 6)
    for shape, count, effect in itertools.product(shapes, counts, effects):
        looks: list[Look] = []
        for seed in seeds:
            ours(make_history(seed, count, effect, shape), looks=looks)
        said = np.array([probability for probability, _ in looks])
        right = np.array([is_right for _, is_right in looks])
        for low, high in itertools.pairwise(_STATED):
            within = (said >= low) & (said < high)
            if within.any():
                cells = [shape, str(count), f"{effect:g}", f"{low:g} to {high:g}"]
                cells += [f"{said[within].mean():.3f}", f"{right[within].mean():.3f}"]
                print(f"| {' | '.join([*cells, str(int(within.sum()))])} |", flush=True)


def _print_bounds(counts: Sequence[int], effects: Sequence[float]) -> None:
    print("| versions | effect | bits of a value | of an outcome | least samples of any search |")
    print("|---:|" + "---:|" * 4)
    for count, effect in itertools.product(counts, effects):
        cells = [str(count), f"{effect:g}", f"{capacity_of_value(effect):.3f}"]
        cells += [f"{capacity_of_outcome(effect):.3f}"]
        print(f"| {' | '.join([*cells, f'{least_samples(count - 1, effect, CONFIDENCE):.1f}'])} |")
    print()


def _told(words: Sequence[str]) -> str:
    return ", ".join(str(words.count(word)) for word in ("seen", "not seen", "unclear"))


def _print_limits(counts: Sequence[int], effects: Sequence[float], seeds: range) -> None:
    print("| search | versions | effect | found | posterior | samples: mean | median | 90 % |")
    print("|---|" + "---:|" * 7)
    for count in counts:
        for effect in effects:
            made = [make_history(seed, count, effect) for seed in seeds]
            for name, search in _LIMITS:
                cells = [name, str(count), f"{effect:g}", *_cells([search(one) for one in made])]
                print(f"| {' | '.join(cells)} |", flush=True)


def _print_two(
    fleets: Sequence[int], counts: Sequence[int], effects: Sequence[float], seeds: range
) -> None:
    """The whole search on one board (0), which shares no code with that on several of them."""
    print("| boards | versions | effect | second | both found | one found | wrong ", end="")
    print("| undecided | samples |")
    print("|---:|" + "---:|" * 8)
    for boards, count, effect in itertools.product(fleets, counts, effects):
        for part in (1.0, 0.5, 0.0):
            told = [
                two_changes_on(make_boards(seed, boards, effect), seed, count, part)
                if boards
                else two_changes(seed, count, effect, effect * part)
                for seed in seeds
            ]
            cells = [str(boards or 1), str(count), f"{effect:g}", f"{effect * part:g}"]
            for what in ("both found", "one found", "wrong", "undecided"):
                cells.append(str(sum(answer == what for answer, _ in told)))
            cells.append(f"{np.mean([samples for _, samples in told]):.1f}")
            print(f"| {' | '.join(cells)} |", flush=True)


def _row(shape: str, count: int, effect: float, seeds: range, earlier: int) -> str:
    made = [make_history(seed, count, effect, shape) for seed in seeds]
    own = [ours(history, earlier) for history in made]
    theirs = [reference(history) for history in made] if has_reference() else []
    cells = [shape, str(count), f"{effect:g}", *_cells(own)]
    if theirs:
        samples = [outcome.samples for outcome in own]
        others = [outcome.samples for outcome in theirs]
        cells += [_found(theirs), f"{np.mean(others):.1f}", f"{np.median(others):.0f}"]
        cells.append(f"{np.mean(samples) / np.mean(others):.2f}")
    else:
        cells += ["not available"] * 4
    return f"| {' | '.join(cells)} |"


def _cells(outcomes: Sequence[Outcome]) -> list[str]:
    samples = [outcome.samples for outcome in outcomes]
    return [
        _found(outcomes),
        f"{np.mean([outcome.posterior for outcome in outcomes]):.3f}",
        f"{np.mean(samples):.1f}",
        f"{np.median(samples):.0f}",
        f"{np.percentile(samples, 90):.0f}",
    ]


def _found(outcomes: Sequence[Outcome]) -> str:
    return f"{100 * np.mean([outcome.found for outcome in outcomes]):.1f} %"


if __name__ == "__main__":
    main()
