"""The table of the cases, and whether the bars are held."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.why.open.result import EQUAL, CaseResult
from benchmarks.why.report import Bar

HEADINGS = (
    *("case", "class", "true ratio", "place", "named first", "share", "verdict"),
    *("experiments", "minutes", "file and line", "restored", "load"),
)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """What must hold, with what was seen."""
    counted = [r for r in results if r.counts and r.verdict and not r.killed]
    ended = [bool(r.restored) for r in results if r.is_killed and not r.problem]
    planted = [r for r in counted if r.kind != EQUAL]
    killed = [_share("restored after it was killed", "100 %", ended, lambda s: s == 1)]
    loaded = _share(
        "right, or honest that it is not known", "100 %", [r.is_honest for r in counted],
        lambda s: s == 1,
    )  # fmt: skip
    return [
        *(killed if ended else []),
        *([loaded] if any(r.busy for r in counted) else []),
        _share("named first", "≥ 85 %", [r.is_first for r in planted], lambda s: s >= 0.85),
        _share(
            "among the first three", "≥ 97 %", [r.is_near for r in planted], lambda s: s >= 0.97
        ),
        _share("cause excluded", "0 %", [r.excluded for r in planted], lambda s: s == 0),
        _share("false proven", "≤ 1 %", [bool(r.false) for r in counted], lambda s: s <= 0.01),
        _share(
            "no difference shown, rightly", "≥ 95 %",
            [r.is_right for r in counted if r.kind == EQUAL], lambda s: s >= 0.95,
        ),
        _share(
            "restored", "100 %",
            [r.restored for r in counted if r.restored is not None], lambda s: s == 1,
        ),
        _median("minutes, median", 6, [r.minutes for r in planted if r.minutes is not None]),
        _median("experiments, median", 7, [r.experiments for r in planted if r.experiments]),
    ]  # fmt: skip


def _share(name: str, wanted: str, of: Iterable[bool], holds: Callable[[float], bool]) -> Bar:
    given = list(of)
    if not given:
        return Bar(name, wanted, "", None)
    share = sum(given) / len(given)
    return Bar(name, wanted, f"{share:.1%} ({sum(given)} of {len(given)})", holds(share))


def _median(name: str, most: float, of: Sequence[float]) -> Bar:
    if not of:
        return Bar(name, f"≤ {most:g}", "", None)
    middle = statistics.median(of)
    return Bar(name, f"≤ {most:g}", f"{middle:.3g} of {len(of)}", middle <= most)


def row(result: CaseResult) -> tuple[str, ...]:
    """The cells of a case."""
    if not result.counts or result.problem:
        word = f"not counted: {result.left_out}" if result.left_out else f"broke: {result.problem}"
        return (result.name, result.kind, _number(result.ratio), "", word, *[""] * 7)
    if result.killed:
        restored = _RESTORED[result.restored]
        return (
            result.name,
            result.kind,
            "",
            "",
            f"killed: {result.killed}" if result.is_killed else result.killed,
            *[""] * 5,
            restored,
            "",
        )
    place = "—" if result.place is None else str(result.place)
    if result.place is not None and not result.proven:
        place += " untried"
    return (
        *(result.name, result.kind, _number(result.ratio), "" if result.kind == EQUAL else place),
        "; ".join((*_answer(result), *(f"FALSE {said.split(' | ')[0]}" for said in result.false))),
        "" if result.share is None else f"{result.share:.0%}",
        result.verdict,
        "" if result.experiments is None else str(result.experiments),
        _number(result.minutes),
        {None: "", True: "yes", False: "no"}[result.where],
        _RESTORED[result.restored],
        _number(result.load),
    )


_RESTORED = {None: "not seen", True: "yes", False: "NO"}


def _answer(result: CaseResult) -> tuple[str, ...]:
    return (result.answer, "CAUSE EXCLUDED") if result.excluded else (result.answer,)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def show(results: Sequence[CaseResult], console: Console) -> bool:
    """Prints all; whether every bar that was seen is held, and nothing broke."""
    table = Table(*HEADINGS, title="Open bench", title_justify="left")
    for result in results:
        table.add_row(*row(result))
    console.print(table)
    for result in results:
        for change in result.changes:
            console.print(f"{result.name}: not restored: {change}", markup=False, soft_wrap=True)
    judged = bars(results)
    verdicts = Table("bar", "wanted", "seen", "held", title="Bars", title_justify="left")
    for bar in judged:
        word = "—" if bar.held is None else "yes" if bar.held else "NO"
        verdicts.add_row(bar.name, bar.wanted, bar.seen or "not seen", word)
    console.print(verdicts)
    return all(bar.held is not False for bar in judged) and not any(r.problem for r in results)
