"""``python -m benchmarks.mutation``: ends with 1 where a fault survives. See the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.mutation.draw import ROOT, draw
from benchmarks.mutation.faults import Mutant, WorkTree, faults
from benchmarks.mutation.suite import adopt_orphans, end_children, first_failure


def main() -> int:
    """Runs the table, or draws new faults."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="fault to try (repeatable)")
    parser.add_argument("--tree", type=Path, default=ROOT / "build" / "mutation" / "tree",
                        help="work tree to use (build/mutation/tree)")  # fmt: skip
    commands = parser.add_subparsers(dest="command")
    drawing = commands.add_parser("draw", help="draw faults by a seed")
    drawing.add_argument("seed", type=int)
    drawing.add_argument("--areas", type=int, default=30, help="areas to draw from (all)")
    drawing.add_argument("--each", type=int, default=5, help="faults of an area (5)")
    arguments = parser.parse_args()
    if arguments.command == "draw":
        _show_drawn(arguments.seed, arguments.each, arguments.areas)
        return 0
    chosen = [fault for fault in faults() if not arguments.only or fault.name in arguments.only]
    if not chosen:
        parser.error("there is no such fault")
    tree = WorkTree(arguments.tree)
    tree.prepare()
    adopt_orphans()
    found = sum(_try(tree, fault) for fault in chosen)
    print(f"found: {found} of {len(chosen)}")
    return 0 if found == len(chosen) else 1


def _try(tree: WorkTree, fault: Mutant) -> bool:
    """Says which test finds the fault. One that fails without it finds nothing."""
    with tree.fault(fault):
        failed = next(filter(None, (first_failure(tree.path, test) for test in fault.tests)), None)
    end_children()
    verdict = f"found by {failed}" if failed else f"SURVIVED {', '.join(fault.tests)}"
    if failed and _fails_anyway(tree, fault, failed):
        verdict, failed = f"UNDECIDED: {failed} fails without it", None
    print(f"{fault.name} ({fault.kind}, {fault.file}): {verdict}", flush=True)
    return failed is not None


def _fails_anyway(tree: WorkTree, fault: Mutant, failed: str) -> bool:
    again = failed if failed.startswith("tests/") and "::" in failed else None
    tests = [again] if again else [test for test in fault.tests if failed.startswith(test)]
    return any(first_failure(tree.path, test) for test in tests or fault.tests)


def _show_drawn(seed: int, each: int, areas: int) -> None:
    for candidates in draw(seed, areas):
        first = candidates[0]
        print(f"{first.area}: {first.site.kind}")
        for one in candidates[:each]:
            print(f"  {one.path}:{one.site.line}")
            print(f"    - {one.site.old.strip()}\n    + {one.site.new.strip()}")


if __name__ == "__main__":
    sys.exit(main())
