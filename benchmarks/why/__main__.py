"""``python -m benchmarks.why``: diagnoses of planted causes, scored.

Simulated boards by the hundred, each drawn from its class and seed and always the same; with
``--real`` causes planted on this machine, with ``--virtual`` those planted in images and on boards
that QEMU simulates. Ends with 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.why import classes, real, report, simulated
from benchmarks.why.diagnoser import diagnose
from benchmarks.why.plants import Plant
from benchmarks.why.score import Result
from benchvise.errors import BenchviseError, UsageError

_SEED = 1
_NUMBER = 300
_REAL_HITS = 0.95


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.why", description=__doc__)
    parser.add_argument("--simulated", type=int, default=None, metavar="N", help="scenarios (300)")
    parser.add_argument("--seed", type=int, default=_SEED, help="of the first scenario")
    parser.add_argument("--real", action="store_true", help="plant causes on this machine, too")
    parser.add_argument(
        "--virtual", action="store_true", help="plant causes on boards that QEMU simulates, too"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a class (two), a scenario (two/31) or a real plant; may be given again",
    )
    parser.add_argument("--evidence", type=Path, help="keep the logs of all diagnoses there")
    arguments = parser.parse_args(words)
    console = Console(width=150)
    held = True
    try:
        is_real = arguments.real or arguments.virtual
        if is_real:
            plants = real.named(arguments.only, here=arguments.real, virtual=arguments.virtual)
            held &= report.show(run_real(plants, arguments.evidence), console, hits=_REAL_HITS)
        if arguments.simulated is not None or not is_real:
            number = _NUMBER if arguments.simulated is None else arguments.simulated
            only = [] if is_real else arguments.only
            scenarios = chosen(number, arguments.seed, only)
            held &= report.show(run_simulated(scenarios, arguments.evidence), console)
    except BenchviseError as error:
        parser.error(str(error))
    return 0 if held else 1


def _kind(name: str) -> classes.Kind:
    try:
        return classes.kind_of(name)
    except KeyError:
        known = ", ".join(kind.name for kind in classes.KINDS)
        raise UsageError(f"there is no class {name}", f"there are {known}") from None


def chosen(number: int, seed: int, only: Sequence[str]) -> list[tuple[classes.Kind, int]]:
    """The scenarios that are asked for: single ones are run whatever the number."""
    single = [name.split("/") for name in only if "/" in name]
    if single:
        return [(_kind(kind), int(one)) for kind, one in single]
    kinds = [_kind(name) for name in only]
    if kinds:
        return [(kinds[index % len(kinds)], seed + index) for index in range(number)]
    return classes.scenarios(number, seed)


def run_real(plants: Sequence[Plant], evidence: Path | None) -> list[Result]:
    """The scores, each as soon as it is known on standard error."""
    results = []
    for index, plant in enumerate(plants, 1):
        result = real.run(plant, None if evidence is None else evidence / plant.name)
        results.append(result)
        _tell(index, len(plants), result)
    return results


def run_simulated(of: Sequence[tuple[classes.Kind, int]], evidence: Path | None) -> list[Result]:
    """The scores, each as soon as it is known on standard error."""
    results = []
    for index, (kind, seed) in enumerate(of, 1):
        keep = None if evidence is None else evidence / f"{kind.name}-{seed}".replace(" ", "-")
        result = simulated.run(classes.draw(kind, seed), diagnose, keep)
        results.append(result)
        _tell(index, len(of), result)
    return results


def _tell(index: int, of: int, result: Result) -> None:
    word = "; ".join(result.problems) or result.left_out or "right"
    print(f"{index}/{of} {result.name}: {word}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # What is planted is put back also when this process is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
