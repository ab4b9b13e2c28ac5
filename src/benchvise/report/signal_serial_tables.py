"""A serial line under test: each pattern, and the causes of what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchvise.quantities import format_value
from benchvise.report.tables import Cell, Column, Table
from benchvise.signal.serial.classify import Finding, Tally, Tested, reordered, tally


def exchange_rows(tested: Sequence[Tested]) -> Table:
    """A row for each pattern under each setting, both ways together."""
    columns = (
        Column("Flow"),
        Column("Baud", right=True),
        Column("Chunk", right=True),
        Column("Pattern"),
        Column("Sent", right=True),
        Column("Lost", right=True),
        Column("Doubled", right=True),
        Column("Added", right=True),
        Column("Altered", right=True),
        Column("Halts", right=True),
        Column("Speed", right=True),
    )
    rows = []
    for one in tested:
        for exchange in one.exchanges:
            counts = tally(exchange.ways)
            seconds = max(way.seconds for way in exchange.ways)
            rows.append(
                (
                    Cell(str(one.flow)),
                    Cell(str(one.baud)),
                    Cell(str(one.chunk)),
                    Cell(exchange.pattern.name, "bad" if counts.wrong else "plain"),
                    Cell(str(counts.sent)),
                    *(_wrong(n) for n in _kinds(counts)),
                    Cell(format_value(counts.sent / max(seconds, 1e-9), "B/s"), "muted"),
                )
            )
    return Table("Serial line", columns, tuple(rows), ())


def _kinds(counts: Tally) -> tuple[int, ...]:
    return counts.lost, counts.duplicated, counts.added, counts.altered, counts.stalls


def _wrong(number: int) -> Cell:
    return Cell(str(number), "bad" if number else "muted")


def cause_rows(causes: Sequence[Finding]) -> Table:
    """What is wrong, what speaks for it, and what to do."""
    if not causes:
        clean = ((Cell("nothing went wrong: every byte came as it was sent", "good"),),)
        return Table("What is wrong", (Column(""),), clean, ())
    rows: list[tuple[Cell, ...]] = []
    for cause in causes:
        rows.append((Cell(cause.word.upper(), "bad"), Cell(cause.sentence, "strong")))
        rows += [(Cell("seen", "muted"), Cell(seen)) for seen in cause.evidence]
        rows.append((Cell("remedy", "muted"), Cell(cause.remedy)))
    return Table("What is wrong", (Column(""), Column("")), tuple(rows), ())


def document(tested: Sequence[Tested], causes: Sequence[Finding]) -> dict[str, Any]:
    """All of it as a document."""
    return {
        "causes": [asdict(cause) for cause in causes],
        "exchanges": [
            {
                "flow": str(one.flow),
                "baud": one.baud,
                "chunk": one.chunk,
                "pattern": exchange.pattern.name,
                "asks": exchange.pattern.asks,
                "counted": exchange.counted,
                "ways": [
                    {
                        "way": way.name,
                        **asdict(tally([way])),
                        "reordered": reordered(way.discrepancies),
                        "received": way.received,
                        "stalled": way.stalled,
                        "resumed": way.resumed,
                        "seconds": way.seconds,
                        "first": [
                            {
                                "change": str(found.change),
                                "sent_at": found.sent_at,
                                "received_at": found.received_at,
                                "sent": found.sent[:64].hex(),
                                "received": found.received[:64].hex(),
                            }
                            for found in way.discrepancies[:50]
                        ],
                    }
                    for way in exchange.ways
                ],
            }
            for one in tested
            for exchange in one.exchanges
        ],
    }
