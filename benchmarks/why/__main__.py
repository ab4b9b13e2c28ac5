"""``python -m benchmarks.why``: diagnoses of planted causes, scored.

Simulated boards by the hundred, each drawn from its class and seed and always the same; with
``--real`` causes planted on this machine, with ``--virtual`` those planted in images and on boards
that QEMU simulates. Ends with 1 where a bar is missed. With ``--publish`` the results are kept and
the page of the documentation is made of them (``make score``).
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console

from benchmarks.why import (
    classes,
    held_out,
    held_out_classes,
    publish,
    real,
    report,
    simulated,
)
from benchmarks.why.diagnoser import diagnose
from benchmarks.why.plants import Plant
from benchmarks.why.score import Result
from benchvise.errors import BenchviseError, UsageError

_SEED = 1
_NUMBER = 300
_HELD_OUT = 60
"""Scenarios of the usual classes in a block of held-out seeds."""
_HELD_OUT_EACH = 8
"""Scenarios of each held-out class."""


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
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at the same time (1)")
    parser.add_argument("--publish", action="store_true", help="keep the results, write the page")
    parser.add_argument(
        "--held-out", action="store_true", help="run the next held-out block, and publish it"
    )
    parser.add_argument(
        "--not-run",
        nargs=2,
        action="append",
        default=[],
        metavar=("GROUP", "REASON"),
        help="publish why there are no results",
    )
    arguments = parser.parse_args(words)
    console = Console(width=150)
    held = True
    try:
        if arguments.only and (arguments.publish or arguments.held_out):
            raise UsageError("a part of the bench is not published", "leave --only out")
        for group, reason in arguments.not_run:
            publish.save(group, publish.not_run(reason))
        commit = publish.commit()
        for group, found, seeds in _runs(arguments):
            held &= report.show(found, console, hits=report.HITS if seeds else report.REAL_HITS)
            if arguments.publish or arguments.held_out:
                publish.save(group, publish.summarised(found, seeds, commit=commit))
    except BenchviseError as error:
        parser.error(str(error))
    return 0 if held or arguments.publish else 1  # what is published says itself what is not held


def _runs(arguments: argparse.Namespace) -> Iterator[tuple[str, list[Result], range | None]]:
    """What is asked for: the group, its results, and the seeds of simulated boards."""
    if arguments.held_out:
        block = held_out.next_block()
        with held_out.opening(block):
            scenarios = classes.scenarios(_HELD_OUT, block.start)
            scenarios += [
                (kind, block.start + len(scenarios) + index)
                for index, kind in enumerate(held_out_classes.KINDS * _HELD_OUT_EACH)
            ]
            found = run_simulated(scenarios, arguments.evidence, arguments.jobs)
            yield "held-out", found, block[: len(scenarios)]
        return
    for group, here, virtual in (("real", True, False), ("virtual", False, True)):
        if getattr(arguments, group):
            plants = real.named(arguments.only, here=here, virtual=virtual)
            yield group, run_real(plants, arguments.evidence), None
    is_real = arguments.real or arguments.virtual
    if arguments.simulated is not None or not (is_real or arguments.not_run):
        number = _NUMBER if arguments.simulated is None else arguments.simulated
        scenarios = chosen(number, arguments.seed, [] if is_real else arguments.only)
        seeds = range(arguments.seed, arguments.seed + len(scenarios))
        yield "simulated", run_simulated(scenarios, arguments.evidence, arguments.jobs), seeds


def _kind(name: str) -> classes.Kind:
    held_out_kinds = {kind.name: kind for kind in held_out_classes.KINDS}
    try:
        return held_out_kinds.get(name) or classes.kind_of(name)
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


def run_simulated(
    of: Sequence[tuple[classes.Kind, int]], evidence: Path | None, jobs: int = 1
) -> list[Result]:
    """The scores, each as soon as it is known on standard error. Simulated time does not care how
    many run at once."""
    results = []
    # Forked, so that a block of held-out seeds that is open here is open there.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        done = [pool.submit(_scored, kind.name, seed, evidence) for kind, seed in of]
        for index, future in enumerate(done, 1):
            results.append(future.result())
            _tell(index, len(of), results[-1])
    return results


def _scored(name: str, seed: int, evidence: Path | None) -> Result:
    keep = None if evidence is None else evidence / f"{name}-{seed}".replace(" ", "-")
    return simulated.run(classes.draw(_kind(name), seed), diagnose, keep)


def _tell(index: int, of: int, result: Result) -> None:
    word = "; ".join(result.problems) or result.left_out or "right"
    print(f"{index}/{of} {result.name}: {word}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # What is planted is put back also when this process is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
