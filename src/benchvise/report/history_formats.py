"""Histories for other programs: changes as CSV, and the values of a board as Apache Otava reads
them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchvise.errors import UsageError
from benchvise.report.history import difference_to_newest, median_of
from benchvise.report.history_events import HistoryEvents, event_rows
from benchvise.report.rendering import table_markdown
from benchvise.report.sinks import csv_text
from benchvise.report.table_pages import page
from benchvise.store import Past
from benchvise.text import counted

_EVENT_COLUMNS = (
    *("event", "started", "board", "series", "verdict", "ratio", "ratio_low", "ratio_high", "p"),
    *("before", "after", "state"),
)
_OTAVA_COLUMNS = ("time", "run", "label", "suite", "kernel")


def events_csv(events: HistoryEvents, delimiter: str = ",") -> str:
    """A line a change of a series; ``event`` counts events, the newest is 1."""
    return csv_text(_EVENT_COLUMNS, _event_lines(events), delimiter)


def _events_markdown(events: HistoryEvents) -> str:
    return "\n".join(table_markdown(event_rows(event, None)) for event in events.events)


def _events_page(events: HistoryEvents) -> str:
    title = counted(len(events.events), "event")
    return page(title, [event_rows(event, None) for event in events.events])


EVENT_FORMATS: Mapping[str, Callable[[HistoryEvents], str]] = {
    "csv": events_csv,
    "tsv": lambda found: events_csv(found, "\t"),
    "markdown": _events_markdown,
    "html": _events_page,
}
"""Formats for files, by name."""


def _event_lines(events: HistoryEvents) -> Iterator[tuple[object, ...]]:
    for number, event in enumerate(events.events, 1):
        for board in event.boards:
            state = "; ".join(f"{s.what}: {s.before} -> {s.after}" for s in board.state or ())
            for change in board.series:
                yield (
                    *(number, board.first_after, board.board, change.key, change.verdict),
                    *(change.ratio, change.low, change.high, change.p),
                    *(change.before, change.after, state),
                )


def otava_csv(past: Sequence[Past]) -> str:
    """The medians of a board's runs for Otava's CSV importer: a line a run, a column a series.

    Otava takes no line with an empty cell, and nothing is made up here: the series are those of the
    newest run, and a run is there if it has all of them, measured in the same way. UsageError where
    no run is.
    """
    runs = {entry.run.number: entry.run for entry in past}
    by_run: defaultdict[int, dict[str, Past]] = defaultdict(dict)
    for entry in past:
        by_run[entry.run.number].setdefault(entry.series.spec.key, entry)
    measured = {
        number
        for number, of_run in by_run.items()
        if any(median_of(e.series) is not None for e in of_run.values())
    }
    if not measured:
        raise UsageError("no run of this board has such a series", "see benchvise runs --board")
    newest = {key: e for key, e in by_run[max(measured)].items() if median_of(e.series) is not None}
    lines = []
    for number in sorted(measured):
        values = [_comparable(by_run[number].get(key), of) for key, of in newest.items()]
        if None not in values:
            run = runs[number]
            lines.append((run.started, run.id, run.label, run.suite, run.kernel, *values))
    return csv_text((*_OTAVA_COLUMNS, *newest), lines)


def _comparable(entry: Past | None, newest: Past) -> float | None:
    if entry is None or difference_to_newest(entry.series, newest.series):
        return None
    return median_of(entry.series)
