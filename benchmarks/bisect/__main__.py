"""Prints how often the planted version is found, and with how many samples."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.bisect.histories import HELD_OUT, HELD_OUT_SEEDS, NORMAL, make_history
from benchmarks.bisect.searches import Outcome, has_reference, ours, reference

_HEAD = (
    "| noise | versions | effect | found | posterior | samples: mean | median | 90 % "
    "| reference: found | mean | median | ratio |"
)


def main() -> None:
    """``python -m benchmarks.bisect [--histories N] [--shape NAME] [--count N] [--effect E]``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bisect")
    parser.add_argument("--first-seed", type=int, default=HELD_OUT_SEEDS)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--shape", choices=[NORMAL, *HELD_OUT], action="append")
    parser.add_argument("--count", type=int, action="append")
    parser.add_argument("--effect", type=float, action="append")
    options = parser.parse_args()
    if not has_reference():
        print("reference: not available: git-bayesect is not installed\n")
    seeds = range(options.first_seed, options.first_seed + options.histories)
    begun = time.monotonic()
    print(_HEAD)
    print("|---|" + "---:|" * 11)
    for shape in options.shape or [NORMAL]:
        for count in options.count or [128, 1024]:
            for effect in options.effect or [1.0, 2.0, 4.0]:
                print(_row(shape, count, effect, seeds), flush=True)
    print(f"\n{options.histories} histories each, {time.monotonic() - begun:.0f} s")


def _row(shape: str, count: int, effect: float, seeds: range) -> str:
    made = [make_history(seed, count, effect, shape) for seed in seeds]
    own = [ours(history) for history in made]
    theirs = [reference(history) for history in made] if has_reference() else []
    samples = [outcome.samples for outcome in own]
    cells = [shape, str(count), f"{effect:g}", _found(own)]
    cells.append(f"{np.mean([outcome.posterior for outcome in own]):.3f}")
    cells += [f"{np.mean(samples):.1f}", f"{np.median(samples):.0f}"]
    cells.append(f"{np.percentile(samples, 90):.0f}")
    if theirs:
        others = [outcome.samples for outcome in theirs]
        cells += [_found(theirs), f"{np.mean(others):.1f}", f"{np.median(others):.0f}"]
        cells.append(f"{np.mean(samples) / np.mean(others):.2f}")
    else:
        cells += ["not available"] * 4
    return f"| {' | '.join(cells)} |"


def _found(outcomes: Sequence[Outcome]) -> str:
    return f"{100 * np.mean([outcome.found for outcome in outcomes]):.1f} %"


if __name__ == "__main__":
    main()
