"""Prints the tables: ``python -m benchmarks.changes --otava PYTHON [--examples DIR]``.

``PYTHON`` is one that has Otava, which brings so much else that it is no dependency here::

    python3 -m venv build/otava && build/otava/bin/pip install apache-otava==0.8.0

``DIR`` is a checkout of https://github.com/apache/otava, for its example. Everything is drawn from
``--seed``. A change that is found counts as right when it is within two runs of a planted one that
no other one was nearer to. Otava runs as it is set by default, and once more with the least change
that Benchvise reports.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.changes.planted import KINDS, Planted, planted
from benchmarks.sheets import Sheet
from benchvise.measure.changepoints import change_points
from benchvise.measure.model import RunStatus, Sample, SeriesSpec
from benchvise.store import Store

NEAR = 2
EFFECTS = (0.0, 1.0, 2.0, 4.0)
"""Sizes of shifts, in standard deviations of the noise of one run."""


@dataclass(frozen=True)
class Score:
    """Shifts that were planted, changes that were found, and those of them that are right."""

    planted: int
    found: int
    right: int

    def __add__(self, other: Score) -> Score:
        return Score(
            self.planted + other.planted, self.found + other.found, self.right + other.right
        )


def score(shifts: Sequence[int], found: Sequence[int]) -> Score:
    """Each planted shift has at most one change, the nearest one."""
    pairs = sorted((abs(a - b), a, b) for a in shifts for b in found if abs(a - b) <= NEAR)
    used: set[tuple[str, int]] = set()
    for _, shift, at in pairs:
        if ("shift", shift) not in used and ("at", at) not in used:
            used |= {("shift", shift), ("at", at)}
    return Score(len(shifts), len(found), len(used) // 2)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--otava", type=Path, required=True)
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--series", type=int, default=40, help="of each kind and size")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    series = [
        planted(options.seed * 1_000_000 + number, kind, effect)
        for effect in EFFECTS
        for kind in KINDS
        for number in range(options.series)
    ]
    values = [one.values for one in series]
    found = {
        "Benchvise": [[point.at for point in change_points(each)] for each in values],
        "Otava": _otava(options.otava, {"series": values}),
        "Otava, from 1 %": _otava(options.otava, {"series": values, "least": 0.01}),
    }
    for by in ("effect", "kind"):
        sheet = Sheet(
            f"Planted shifts, {len(series)} series, by {by}; within {NEAR} runs",
            (by, "tool", "planted", "found", "right", "precision", "recall"),
        )
        sheet.rows += _rows(series, found, by)
        print(f"{sheet.markdown()}\n")
    _round_trip(options.otava)
    if options.examples is not None:
        _example(options.otava, options.examples)


def _rows(
    series: Sequence[Planted], found: Mapping[str, Sequence[Sequence[int]]], by: str
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for group in dict.fromkeys(getattr(one, by) for one in series):
        for tool, changes in found.items():
            total = sum(
                (
                    score(one.shifts, at)
                    for one, at in zip(series, changes, strict=True)
                    if getattr(one, by) == group
                ),
                Score(0, 0, 0),
            )
            rows.append(
                (
                    *(f"{group:g}" if by == "effect" else str(group), tool, str(total.planted)),
                    *(str(total.found), str(total.right)),
                    *(_share(total.right, total.found), _share(total.right, total.planted)),
                )
            )
    return rows


def _share(part: int, whole: int) -> str:
    """With its interval of 95 % (Wilson 1927)."""
    if not whole:
        return "none"
    z, share = 1.96, part / whole
    middle = (share + z * z / 2 / whole) / (1 + z * z / whole)
    half = z / (1 + z * z / whole) * (share * (1 - share) / whole + z * z / 4 / whole**2) ** 0.5
    return f"{share:.3f} ({max(0.0, middle - half):.3f} to {min(1.0, middle + half):.3f})"


def _otava(python: Path, request: Mapping[str, object]) -> Any:
    script = Path(__file__).with_name("otava_side.py")
    ran = subprocess.run(
        [str(python), str(script)], input=json.dumps(request), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if ran.returncode:
        raise SystemExit(f"Otava failed: {ran.stderr[-1000:]}")
    return json.loads(ran.stdout)


def _round_trip(python: Path) -> None:
    """What ``history --format otava`` writes of a store, read by Otava itself."""
    names = ["memory.copy:size=1M,a=b", 'quote".and,comma', "grün; rm"]
    chance = random.Random(7)  # noqa: S311
    with tempfile.TemporaryDirectory() as directory:
        file = str(Path(directory) / "store.db")
        kept: dict[str, list[float]] = {name: [] for name in names}
        with Store.open(file) as store:
            for night in range(40):
                planned = [(SeriesSpec("x", (), name), "ns", "lower", "") for name in names]
                run = store.begin_run(f"a\nb,{night}", "pi", "quick", 1, {}, {}, False, planned)  # type: ignore[arg-type]
                for position, name in enumerate(names):
                    value = chance.gauss(100, 1) * (1.2 if night >= 20 else 1)
                    process = store.begin_process(run, position, 0, {})
                    store.add_samples(process, [Sample(0, value)])
                    kept[name].append(value)
                store.end_run(run, RunStatus.COMPLETE)
        exported = Path(directory) / "otava.csv"
        asked = ("history", "--board", "pi", "--format", "otava", "--store", file)
        command = [sys.executable, "-m", "benchvise", *asked]
        exported.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
        answer = _otava(python, {"csv": str(exported), "metrics": names})
    if answer["values"] != kept:
        raise SystemExit("Otava reads other values than were stored")
    print(
        f"Export: Otava reads {len(names)} series of {len(answer['time'])} runs bit for bit; the "
        f"shift planted at 20 it finds at {answer['changes']}."
    )


def _example(python: Path, directory: Path) -> None:
    """Otava's own data: nobody planted anything there, so that positions stand side by side."""
    sheet = Sheet("Otava's example and test data", ("series", "runs", "Benchvise", "Otava"))
    for name, values in _example_series(directory):
        ours = [point.at for point in change_points(values)]
        (theirs,) = _otava(python, {"series": [values]})
        sheet.rows.append((name, str(len(values)), _positions(ours), _positions(theirs)))
    print(f"{sheet.markdown()}\n")


def _example_series(directory: Path) -> Iterator[tuple[str, list[float]]]:
    """The two files of its example and tests, and the history of TigerBeetle in its tests."""
    for name in ("examples/csv/data/local_sample.csv", "tests/resources/sample.csv"):
        file = directory / name
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        for metric in ("metric1", "metric2"):
            yield f"{file.name} {metric}", [float(row[metric]) for row in rows]
    file = directory / "tests" / "tigerbeetle_test.py"
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.List):
            yield "TigerBeetle", [float(value) for value in ast.literal_eval(node.value)]


def _positions(found: Sequence[int]) -> str:
    return ", ".join(map(str, found)) or "none"


if __name__ == "__main__":
    main()
