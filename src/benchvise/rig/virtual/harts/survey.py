"""Every form of the harts program with every boot hart and a choice of RAM contents, in one table.

    python -m benchvise.rig.virtual.harts.survey [turns|parallel]

prints the table of docs/explanation/boot-hang.md, and where each hart stands in those cases that
hang.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchvise.rig.virtual.harts.machine import HartsBoot, HartsOutcome, Interleaving, PowerOn, boot
from benchvise.rig.virtual.harts.program import HartsForm, build
from benchvise.rig.virtual.harts.soak import parse_fill

HARTS = 4
FILLS = ("0", "1", "2", "3", "4", "0xffffffff", "random")


@dataclass(frozen=True, slots=True)
class HartsCase:
    """A form, what RAM held, who booted, and what came of it."""

    form: HartsForm
    fill: str
    boot_hart: int
    result: HartsBoot
    in_order: bool

    @property
    def word(self) -> str:
        """``up``, ``hang``, or which hart was lost."""
        late = "" if self.in_order else "?"
        if self.result.outcome is HartsOutcome.LOST:
            lost = ", ".join(str(hart) for hart in sorted(self.result.trapped))
            return f"lost {lost}{late}"
        return f"{self.result.outcome}{late}"

    @property
    def positions(self) -> str:
        """Where each hart stands, in their order."""
        return ", ".join(core.function for core in self.result.cores)


def survey(
    interleaving: Interleaving = Interleaving.TURNS,
    forms: Sequence[HartsForm] = tuple(HartsForm),
    fills: Sequence[str] = FILLS,
    seed: int = 1,
) -> Iterator[HartsCase]:
    """Boots every case once, in order."""
    for form in forms:
        program = build(form)
        for boot_hart in range(HARTS):
            for number, fill in enumerate(fills, 1):
                ram, _ = parse_fill(fill).contents(number, HARTS, seed)
                power_on = PowerOn(ram, boot_hart, HARTS, interleaving)
                result = boot(program, power_on)
                yield HartsCase(form, fill, boot_hart, result, result.in_order(power_on))


def outcomes_table(cases: Sequence[HartsCase]) -> str:
    """Markdown: a row for each form and boot hart, a column for each content of RAM."""
    fills = list(dict.fromkeys(case.fill for case in cases))
    lines = [f"| form | boot hart | {' | '.join(fills)} |", "|---" * (len(fills) + 2) + "|"]
    rows: dict[tuple[HartsForm, int], list[str]] = {}
    for case in cases:
        rows.setdefault((case.form, case.boot_hart), []).append(case.word)
    lines += [f"| {form} | {hart} | {' | '.join(row)} |" for (form, hart), row in rows.items()]
    return "\n".join(lines)


def positions_table(cases: Sequence[HartsCase]) -> str:
    """Markdown: where each hart stands in each case in which not all came up."""
    harts = " | ".join(f"hart {number}" for number in range(HARTS))
    lines = [f"| form | boot hart | RAM | {harts} |", "|---" * (HARTS + 3) + "|"]
    for case in cases:
        if case.result.cores:
            places = " | ".join(f"`{core.symbol}`" for core in case.result.cores)
            lines.append(f"| {case.form} | {case.boot_hart} | {case.fill} | {places} |")
    return "\n".join(lines)


def main() -> None:
    """Prints both tables; a case in which a hart came late is marked with a question mark."""
    interleaving = Interleaving(sys.argv[1]) if len(sys.argv) > 1 else Interleaving.TURNS
    begin = time.monotonic()
    cases = list(survey(interleaving))
    seconds = time.monotonic() - begin
    late = sum(not case.in_order for case in cases)
    print(outcomes_table(cases), positions_table(cases), sep="\n\n")
    print(f"\n{len(cases)} boots in {seconds:.1f} s, {late} in which a hart came late")


if __name__ == "__main__":
    main()
