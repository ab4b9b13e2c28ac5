"""``python -m benchmarks.why``: diagnoses of planted causes, scored.

Simulated boards by the hundred, each drawn from its class and seed and always the same; with
``--real`` causes planted on this machine. Ends with 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.why import classes, report, simulated
from benchmarks.why.diagnoser import diagnose
from benchmarks.why.score import Result

_SEED = 1


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.why", description=__doc__)
    parser.add_argument("--simulated", type=int, default=None, metavar="N", help="scenarios (300)")
    parser.add_argument("--seed", type=int, default=_SEED, help="of the first scenario")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a class (two), a scenario (two/31) or a real plant; may be given again",
    )
    parser.add_argument("--evidence", type=Path, help="keep the logs of all diagnoses there")
    arguments = parser.parse_args(words)
    number = 300 if arguments.simulated is None else arguments.simulated
    console = Console(width=150)
    results = run_simulated(chosen(number, arguments.seed, arguments.only), arguments.evidence)
    return 0 if report.show(results, console) else 1


def chosen(number: int, seed: int, only: Sequence[str]) -> list[tuple[classes.Kind, int]]:
    """The scenarios that are asked for: single ones are run whatever the number."""
    single = [name.split("/") for name in only if "/" in name]
    if single:
        return [(classes.kind_of(kind), int(one)) for kind, one in single]
    kinds = [classes.kind_of(name) for name in only]
    if kinds:
        return [(kinds[index % len(kinds)], seed + index) for index in range(number)]
    return classes.scenarios(number, seed)


def run_simulated(of: Sequence[tuple[classes.Kind, int]], evidence: Path | None) -> list[Result]:
    """The scores, each as soon as it is known on standard error."""
    results = []
    for index, (kind, seed) in enumerate(of, 1):
        keep = None if evidence is None else evidence / f"{kind.name}-{seed}".replace(" ", "-")
        result = simulated.run(classes.draw(kind, seed), diagnose, keep)
        results.append(result)
        word = "; ".join(result.problems) or "right"
        print(f"{index}/{len(of)} {result.name}: {word}", file=sys.stderr, flush=True)
    return results


if __name__ == "__main__":
    sys.exit(main())
