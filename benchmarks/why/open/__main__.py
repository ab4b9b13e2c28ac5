"""``python -m benchmarks.why.open``: causes as integrators meet them, asked about and scored.

Without options all development cases, one after another. ``--effects`` measures what plants do and
asks nothing. ``--results`` keeps each result in a file as soon as it is known; cases that are in it
are not run again. ``--publish`` keeps the results and writes the page of the documentation; results
of earlier runs stay for cases that are not run again.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks.why import publish
from benchmarks.why.open import case as cases
from benchmarks.why.open import published, results_file, table
from benchmarks.why.open.case import Case
from benchmarks.why.open.result import CaseResult
from benchmarks.why.open.run import Options, equal, run
from benchvise.errors import UsageError


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.why.open", description=__doc__)
    parser.add_argument("--cases", nargs="+", default=[], metavar="NAME", help="cases or classes")
    parser.add_argument(
        "--each", type=int, default=0, metavar="N", help="N of each class, drawn, on ssh boards"
    )
    parser.add_argument("--held-out", action="store_true", help="those held out instead")
    parser.add_argument("--equal", type=int, default=0, metavar="N", help="N equal sides instead")
    parser.add_argument("--seconds", type=float, default=None, help="begin none after that time")
    parser.add_argument("--minutes", type=float, default=12, help="of each diagnosis (12)")
    parser.add_argument("--effects", action="store_true", help="only measure what plants do")
    parser.add_argument(
        "--kill", type=int, metavar="SEED", help="end each at a random moment of SEED"
    )
    parser.add_argument(
        "--load", type=int, default=0, metavar="N", help="N busy processes while `why` is asked"
    )
    parser.add_argument("--allow", default="", metavar="NAMES", help="of `why`; not published")
    parser.add_argument("--seed", type=int, default=1, help="of order and draw (1)")
    parser.add_argument("--evidence", type=Path, help="keep answers and evidence there")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep results, go on from it")
    parser.add_argument("--list", action="store_true", help="only print the cases")
    parser.add_argument("--publish", action="store_true", help="keep the results, write the page")
    arguments = parser.parse_args(words)
    console = Console(width=200)
    if arguments.results and arguments.effects:
        parser.error("--results is for answers, and --effects asks nothing")
    if arguments.publish and arguments.allow:
        parser.error("what is published is asked without consent")
    if arguments.held_out and (arguments.equal or arguments.load or arguments.kill is not None):
        parser.error("what is held out is asked about once, under ordinary conditions")
    try:
        chosen = _chosen(arguments)
        known = [] if arguments.results is None else results_file.read(arguments.results)
    except UsageError as error:
        parser.error(str(error))
    if arguments.list:
        for one in chosen:
            console.print(f"{one.kind}: {one.name}: {one.report}", markup=False, soft_wrap=True)
        return 0
    options = Options(
        *(arguments.minutes, arguments.evidence, arguments.effects, arguments.kill),
        allow=arguments.allow,
        busy=arguments.load,
    )
    names = {one.name for one in chosen}
    results = [result for result in known if result.name in names]
    done = {result.name for result in results}

    def keep(result: CaseResult) -> None:
        results.append(result)
        if arguments.results is not None:
            known.append(replace(result, commit=publish.commit()))
            results_file.write(arguments.results, known)

    _run([one for one in chosen if one.name not in done], options, arguments.seconds, keep)
    held = table.show(results, console)
    if arguments.publish:
        published.save(_group(arguments), results, _draw(arguments))
    return 0 if held or arguments.publish else 1  # what is published says itself what is not held


def _chosen(arguments: argparse.Namespace) -> list[Case]:
    known = cases.held_out() if arguments.held_out else cases.development()
    if not known:
        raise UsageError("there is no held-out set at present", "run the development cases")
    chosen = cases.named(known, arguments.cases)
    random.Random(arguments.seed).shuffle(chosen)  # noqa: S311 - an order that can be repeated
    if arguments.each:
        chosen = _drawn(chosen, arguments.each)
    if arguments.equal:
        chosen = [equal(one) for one in chosen if one.machine == "ssh"][: arguments.equal]
    return chosen


def _drawn(shuffled: Sequence[Case], number: int) -> list[Case]:
    """The first ones of each class that need nothing but boards in namespaces."""
    left = Counter({one.kind: number for one in shuffled})
    drawn = []
    for one in shuffled:
        if one.machine == "ssh" and left[one.kind]:
            left[one.kind] -= 1
            drawn.append(one)
    return drawn


def _group(arguments: argparse.Namespace) -> str:
    """The group of the published score that the results belong to."""
    if arguments.held_out:
        return publish.UNSEEN
    if arguments.kill is not None:
        return "open-killed"
    if arguments.load:
        return "open-under-load"
    return "open-equal" if arguments.equal else "open"


def _draw(arguments: argparse.Namespace) -> str:
    """What was drawn at random, and by which seed."""
    if arguments.kill is not None:
        return f"moments of seed {arguments.kill}"
    return f"drawn by seed {arguments.seed}" if arguments.each or arguments.equal else "no seeds"


def _run(
    chosen: Sequence[Case],
    options: Options,
    seconds: float | None,
    keep: Callable[[CaseResult], None],
) -> None:
    """Runs the cases; each result is kept as soon as it is known, and told on standard error."""
    begin = time.monotonic()
    for number, one in enumerate(chosen, 1):
        if seconds is not None and time.monotonic() - begin > seconds:
            print(f"the time is over: {len(chosen) - number + 1} cases not run", file=sys.stderr)
            break
        try:
            result = run(one, options)
        except KeyboardInterrupt:  # what is known is kept
            break
        keep(result)
        told = " · ".join(word for word in table.row(result)[1:] if word)
        print(f"{number}/{len(chosen)} {result.name}: {told}", file=sys.stderr, flush=True)
        for change in result.changes:
            print(f"  not as before: {change}", file=sys.stderr, flush=True)


def _end_by_signals() -> None:
    # A shell that starts this in the background has it ignore Ctrl-C, and `why` would inherit that:
    # --kill would end nothing.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What runs in namespaces ends with this process also when it is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


if __name__ == "__main__":
    _end_by_signals()
    sys.exit(main())
