"""The closing lines of `make demo`: what was measured, what it shows, how far to trust it.

    benchvise compare A B --json | python scripts/demo_summary.py A B [SERIES]

SERIES is the one that the two states are made for; without it, the clearest difference is shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchvise.quantities import format_value

Change = dict[str, Any]


def closing_lines(changes: Sequence[Change], first: str, second: str, key: str) -> Iterator[str]:
    """Three lines from the ``changes`` of a comparison."""
    compared = [change for change in changes if change.get("ratio") is not None]
    unstable = [c for c in compared if not (c["base"]["stable"] and c["other"]["stable"])]
    yield f"Measured: {len(compared)} series in each state; every sample is kept."
    shown = [change for change in compared if change["key"] == key] or sorted(
        compared, key=lambda change: change["p"]
    )
    if shown:
        yield f"Shown: {_difference(shown[0], first, second)}"
    if unstable:
        yield (
            f"How sure: {len(unstable)} of {len(compared)} series are unstable (~ ⚠); below each "
            "table stand what disturbed them and what to do."
        )
    else:
        yield "How sure: all series are stable; the same again gives values within these intervals."


def _difference(change: Change, first: str, second: str) -> str:
    base, other = (
        format_value(change[side]["median"], change["unit"]) for side in ("base", "other")
    )
    values = f"{change['key']} is {base} with {first} and {other} with {second}"
    if change["verdict"] in ("faster", "slower"):
        low, high = change["low"], change["high"]
        return f"{values}: {change['verdict']}, a ratio of {low:.2f} to {high:.2f}."
    noise = f"the noise floor is {change['noise_floor']:.0%} on this machine now"
    return f"{values}: no difference is claimed, as {noise}."


if __name__ == "__main__":
    document = json.load(sys.stdin)["data"]
    first, second, key = [*sys.argv[1:], ""][:3]
    lines = closing_lines(document["changes"], first, second, key)
    for number, line in enumerate(lines, 1):
        print(f"  {number}. {line}")
