"""Draws faults from the whole product by a seed, so that nobody chooses those that are found.

The product is cut into thirty areas (``AREAS``), and one fault is drawn from each: the kinds are
dealt out in an order that the seed decides, and within an area every line that could hold a fault
of its kind (``operators``) is equally likely, so a function is drawn by its size. An area without
such a line takes the next kind. Whoever makes a table of faults of it takes the first of an area's
list, and turns one down for three reasons only, which he writes down: it does not compile, nothing
that a user could see or rely on changes, or no machine of ours has what would show it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.operators import KINDS, Site, sites

ROOT = Path(__file__).resolve().parents[2]

_SRC = "src/benchvise"
AREAS: dict[str, tuple[str, ...]] = {
    "statistics": (
        f"{_SRC}/statistics/*.py",
        f"{_SRC}/measure/validity.py",
        f"{_SRC}/measure/knees.py",
        f"{_SRC}/measure/histogram.py",
    ),
    "comparison": (f"{_SRC}/measure/compare.py", f"{_SRC}/measure/insights/*.py"),
    "measuring": (f"{_SRC}/measure/*.py", f"{_SRC}/measure/hostside/*.py", f"{_SRC}/flows/*.py"),
    "suspects": (f"{_SRC}/why/suspects/*.py",),
    "experiments": (f"{_SRC}/why/experiments/*.py", f"{_SRC}/why/benches/*.py"),
    "verdicts of why": (f"{_SRC}/why/*.py", f"{_SRC}/why/explain/*.py"),
    "provenance": (f"{_SRC}/why/provenance/**/*.py",),
    "store": (f"{_SRC}/store/*.py",),
    "holding boards": (
        f"{_SRC}/rig/hold/*.py",
        f"{_SRC}/rig/console/*.py",
        f"{_SRC}/rig/*.py",
        f"{_SRC}/rig/soak/*.py",
    ),
    "phases of a boot": (f"{_SRC}/rig/boot/*.py",),
    "images and cards": (
        f"{_SRC}/rig/images/**/*.py",
        f"{_SRC}/rig/card/*.py",
        f"{_SRC}/rig/compose/**/*.py",
        f"{_SRC}/rig/virtual/**/*.py",
    ),
    "trace analyses": (f"{_SRC}/trace/**/*.py",),
    "signal decoders": (f"{_SRC}/signal/**/*.py",),
    "reports and exports": (f"{_SRC}/report/*.py",),
    "health": (f"{_SRC}/health/**/*.py", f"{_SRC}/kernel_log/*.py"),
    "web": (f"{_SRC}/web/**/*.py",),
    "units and texts": (f"{_SRC}/*.py", f"{_SRC}/state/normalise/*.py", f"{_SRC}/cli/*.py"),
    "state": (f"{_SRC}/state/*.py",),
    "probe: core": ("probe/core/*.c",),
    "probe: benchmarks": ("probe/bench/*.c",),
    "probe: network": ("probe/net/*.c", "probe/serial/*.c"),
    "probe: traces": ("probe/trace/*.c",),
    "probe: state": ("probe/state/*.c", "probe/main.c"),
    "crate: CTF": ("crates/tracefile/src/ctf/**/*.rs",),
    "crate: trace.dat": ("crates/tracefile/src/dat/*.rs", "crates/tracefile/src/perf/*.rs"),
    "crate: columns": ("crates/tracefile/src/*.rs", "crates/tracefile-py/src/*.rs"),
    "crate: analysis": ("crates/traceanalysis/src/*.rs",),
    "crate: export": ("crates/traceexport/src/*.rs", "crates/tracelevels/src/*.rs"),
    "script: charts": ("web/src/charts/*.ts", "web/src/base/*.ts"),
    "script: pages": (
        "web/src/pages/*.ts",
        "web/src/timeline/*.ts",
        "web/src/workspace/**/*.ts",
        "web/src/capture/*.ts",
    ),
}


FEWEST = 5
"""Lines of a kind that an area must have, or the one that it has would be drawn for sure."""


@dataclass(frozen=True)
class DrawnFault:
    """A fault that was drawn: where (relative to the repository) and what."""

    area: str
    path: str
    site: Site


def draw(seed: int, areas: int = len(AREAS)) -> Iterator[list[DrawnFault]]:
    """For each of ``areas`` areas, in order: its faults, the first to be taken.

    They are of one kind, but where all of those are turned down the next kind follows.
    """
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    chosen = set(chance.sample(list(AREAS), areas))
    deck = [*KINDS] * (len(AREAS) // len(KINDS) + 1)
    chance.shuffle(deck)
    for area in AREAS:
        if area not in chosen:
            continue
        of_kind: defaultdict[str, list[DrawnFault]] = defaultdict(list)
        for candidate in _candidates(area):
            of_kind[candidate.site.kind].append(candidate)
        kinds = [kind for kind in dict.fromkeys(deck) if len(of_kind[kind]) >= FEWEST]
        deck.remove(kinds[0])
        chance.shuffle(of_kind[kinds[0]])
        for kind in kinds[1:]:
            random.Random(seed).shuffle(of_kind[kind])  # noqa: S311
        yield [candidate for kind in kinds for candidate in of_kind[kind]]


def _candidates(area: str) -> list[DrawnFault]:
    paths = {path for pattern in AREAS[area] for path in ROOT.glob(pattern)}
    return [
        DrawnFault(area, str(path.relative_to(ROOT)), site)
        for path in sorted(paths)
        if not path.name.endswith((".test.ts", "fixtures.ts"))
        for site in sites(path.read_text(), path.suffix[1:])
    ]
