"""The scores of many scenarios: tables by class, and whether the bars are held."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.why.score import Result

HITS = 0.97
"""The share of simulated causes that have to be found."""
REAL_HITS = 0.95
"""The same of causes planted on a real system."""
_FORTY = range(35, 46)
"""So many suspects are about 40."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that must hold: what was seen, and whether it does; None where nothing was seen."""

    name: str
    wanted: str
    seen: str
    held: bool | None


def bars(results: Sequence[Result], hits: float = HITS) -> list[Bar]:
    """The bars of the planted-cause bench; ``hits`` is another one for real plants."""
    results = [result for result in results if not result.left_out]
    found = [r.hit for r in results if r.hit is not None]
    forty = [r.experiments for r in results if r.suspects in _FORTY and r.hit]
    none = [r.is_right for r in results if r.kind == "no difference"]
    shown = [
        _share("top-1 hits beyond three floors", f"≥ {hits:.0%}", found, lambda s: s >= hits),
        _share("false attributions", "≤ 1 %", [r.false > 0 for r in results], lambda s: s <= 0.01),
        _share("state restored", "100 %", [r.is_restored for r in results], lambda s: s == 1),
        _share("no difference shown, rightly", "≥ 95 %", none, lambda s: s >= 0.95),
        Bar(
            "experiments for about 40 suspects, median",
            "≤ 7",
            f"{statistics.median(forty):g} of {len(forty)}" if forty else "",
            statistics.median(forty) <= 7 if forty else None,
        ),
    ]
    return shown + [_coverage(results, what) for what in ("gap", "share")]


def _share(name: str, wanted: str, of: Iterable[bool], holds: Callable[[float], bool]) -> Bar:
    given = list(of)
    if not given:
        return Bar(name, wanted, "", None)
    share = sum(given) / len(given)
    return Bar(name, wanted, f"{share:.1%} ({sum(given)} of {len(given)})", holds(share))


def _coverage(results: Sequence[Result], what: str) -> Bar:
    """Missed only where it is outside by more than so few can be by chance (Wilson, 95 %)."""
    name, wanted = f"95 % intervals of the {what} cover", "93 to 97 %"
    given = [i.side == "in" for r in results for i in r.intervals if i.what == what]
    if not given:
        return Bar(name, wanted, "", None)
    low, high = wilson(sum(given), len(given))
    seen = f"{sum(given) / len(given):.1%} of {len(given)}, within {low:.1%} to {high:.1%}"
    return Bar(name, wanted, seen, low <= 0.97 and high >= 0.93)


def wilson(hits: int, number: int, z: float = 1.96) -> tuple[float, float]:
    """The interval of a share (Wilson, 1927), 95 % with the default."""
    p = hits / number
    middle = (p + z * z / (2 * number)) / (1 + z * z / number)
    half = (
        z / (1 + z * z / number) * math.sqrt(p * (1 - p) / number + z * z / (4 * number * number))
    )
    return middle - half, middle + half


def show(results: Sequence[Result], console: Console, hits: float = HITS) -> bool:
    """Prints everything; whether all bars are held. A score of nothing holds none of them."""
    console.print(_by_class(results))
    console.print(_coverage_table(results))
    for result in results:
        if result.left_out:
            console.print(f"{result.name}: not counted: {result.left_out}", markup=False)
        for problem in result.problems:
            console.print(f"{result.name}: {problem}", markup=False, soft_wrap=True)
    judged = bars(results, hits)
    table = Table("bar", "wanted", "seen", "held", title="Bars", title_justify="left")
    for bar in judged:
        word = "—" if bar.held is None else "yes" if bar.held else "NO"
        table.add_row(bar.name, bar.wanted, bar.seen or "not seen", word)
    console.print(table)
    counted = [result for result in results if not result.left_out]
    if not counted:
        console.print("Nothing was scored: no bar is held.")
    return bool(counted) and all(bar.held is not False for bar in judged)


def _by_class(results: Sequence[Result]) -> Table:
    table = Table(title="Diagnoses by class", title_justify="left")
    table.add_column("class")
    for heading in (
        *("scenarios", "right", "hits", "false", "restored", "suspects"),
        *("experiments", "p90", "trials", "minutes", "s a diagnosis"),
    ):
        table.add_column(heading, justify="right")
    counted = [result for result in results if not result.left_out]
    for kind in dict.fromkeys(result.kind for result in counted):
        table.add_row(kind, *_row([r for r in counted if r.kind == kind]))
    table.add_section()
    if counted:
        table.add_row("all", *_row(counted))
    return table


def _row(results: Sequence[Result]) -> list[str]:
    found = [r.hit for r in results if r.hit is not None]
    ended = [r for r in results if r.ended]
    experiments = [r.experiments for r in ended]
    return [
        str(len(results)),
        str(sum(r.is_right for r in results)),
        f"{sum(found)}/{len(found)}" if found else "—",
        str(sum(r.false > 0 for r in results)),
        str(sum(r.is_restored for r in results)),
        _median([r.suspects for r in ended]),
        _median(experiments),
        f"{_percentile(experiments, 0.9):g}" if experiments else "—",
        _median([r.trials for r in ended]),
        _median([r.minutes for r in ended]),
        f"{statistics.mean(r.seconds for r in results):.2f}",
    ]


def _median(given: Sequence[float]) -> str:
    return f"{statistics.median(given):.4g}" if given else "—"


def _percentile(given: Sequence[float], share: float) -> float:
    """Of the sorted values the one that this share of them does not exceed."""
    return sorted(given)[max(0, math.ceil(share * len(given)) - 1)]


def _coverage_table(results: Sequence[Result]) -> Table:
    table = Table(title="Stated 95 % intervals against the truth", title_justify="left")
    table.add_column("of")
    for heading in ("number", "cover", "truth below", "truth above", "median width"):
        table.add_column(heading, justify="right")
    for what in ("gap", "share", "rest"):
        given = [i for r in results for i in r.intervals if i.what == what]
        if not given:
            continue
        sides = [i.side for i in given]
        table.add_row(
            what,
            str(len(given)),
            f"{sides.count('in') / len(given):.1%}",
            str(sides.count("below")),
            str(sides.count("above")),
            f"{statistics.median(i.stated.high - i.stated.low for i in given):.3f}",
        )
    return table
