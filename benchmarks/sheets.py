"""What ``make bench`` prints: sheets of rows, as tables in a terminal or as Markdown, and the
summary of what was claimed."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

VERDICTS = {True: "yes", False: "NO", None: "undecided"}
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def quantity(value: float, unit: str) -> str:
    """Four digits with a prefix: ``13.93 GB/s``, ``178.7 ns``, ``9.1 M events/s``, ``21.5 k/s``."""
    name = unit.removeprefix("1")
    space = " " if len(name.partition("/")[0]) > 2 else ""
    prefixed = tuple((by, f"{p}{space if p else ''}{name}") for by, p in _PREFIXES)
    scales = _TIMES if unit == "ns" else prefixed
    by, name = next((s for s in scales if abs(value) >= s[0]), scales[-1])
    return f"{value / by:.4g} {name}".rstrip()


@dataclass
class Sheet:
    """A table: the first column is text, and of a row with a goal the last one says whether it is
    reached. ``verdicts`` are those of the claims and goals in it, by name; ``name`` goes before
    these in the summary."""

    title: str
    headings: tuple[str, ...] = ("what", "median", "goal", "holds")
    rows: list[tuple[str, ...]] = field(default_factory=list)
    verdicts: dict[str, bool | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    name: str = ""

    def add_goal(self, what: str, seen: str, goal: str, holds: bool | None) -> None:
        """A row of the usual headings; without a goal, nothing is claimed of it."""
        self.rows.append((what, seen, goal, VERDICTS[holds] if goal else ""))
        if goal:
            self.verdicts[what] = holds

    def table(self) -> Table:
        """For a terminal."""
        shown = Table(title=self.title, title_justify="left")
        for number, heading in enumerate(self.headings):
            shown.add_column(heading, justify="right" if number else "left")
        for row in self.rows:
            shown.add_row(*row)
        return shown

    def markdown(self) -> str:
        """For a page."""

        def line(cells: tuple[str, ...]) -> str:
            return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

        ruler = line(("---", *("---:" for _ in self.headings[1:])))
        lines = ["", f"### {self.title}", "", line(self.headings), ruler, *map(line, self.rows)]
        return "\n".join([*lines, "", *self.notes])


@dataclass
class Report:
    """Prints sheets one by one, and sums up what they claim."""

    markdown: bool = False
    console: Console = field(default_factory=lambda: Console(width=170))
    verdicts: dict[str, bool | None] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def show(self, sheet: Sheet) -> None:
        """Prints a sheet that has rows."""
        if not sheet.rows:
            return
        prefix = f"{sheet.name}: " if sheet.name else ""
        self.verdicts |= {f"{prefix}{name}": v for name, v in sheet.verdicts.items()}
        if self.markdown:
            print(sheet.markdown(), flush=True)
        else:
            self.console.print(sheet.table())
            for note in sheet.notes:
                self.console.print(note)

    def leave_out(self, reason: str) -> None:
        """Something that cannot be measured here: what, and why."""
        self.missing.append(reason)

    def end(self) -> int:
        """Prints the summary. Returns the exit status: 0 where all claims and goals hold, 1 where
        one does not, 3 where nothing fails but something is undecided, or nothing was measured."""
        counts = {v: [n for n, seen in self.verdicts.items() if seen is v] for v in VERDICTS}
        mark = "- " if self.markdown else "  "
        print("\n### Summary\n" if self.markdown else "\nSummary")
        for reason in self.missing:
            print(f"{mark}not available: {reason}")
        for verdict, word in ((None, "undecided"), (False, "does not hold")):
            for name in counts[verdict]:
                print(f"{mark}{word}: {name}")
        print(
            f"{mark}{len(counts[True])} of {len(self.verdicts)} claims and goals hold, "
            f"{len(counts[False])} do not, {len(counts[None])} are undecided, "
            f"{len(self.missing)} are not available here"
        )
        if counts[False]:
            return 1
        return 3 if counts[None] or not self.verdicts else 0
