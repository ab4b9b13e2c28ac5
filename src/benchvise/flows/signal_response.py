"""``benchvise signal response``: response times, kept in the store and written as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from benchvise import documents
from benchvise.command import CommandOption, CommandRecord
from benchvise.output_files import check_output_directory
from benchvise.signal.commands import response
from benchvise.signal.commands.response import ResponseOptions

if TYPE_CHECKING:
    from benchvise.signal.configurations import Configuration, ResponseComparison
    from benchvise.store import Store

MOST_SAVED = 100_000
"""Responses of one configuration that go into the store; of more, evenly chosen ones."""


@dataclass(frozen=True, kw_only=True)
class KeptResponseOptions(ResponseOptions):
    """Where else the response times go."""

    save: Annotated[
        str | None,
        CommandOption("--save", "Keep each in the store, as a run.", metavar="LABEL"),
    ] = None
    output: Annotated[
        Path | None,
        CommandOption("-o", "Write a page with the histograms side by side.", metavar="DIR"),
    ] = None
    store: Annotated[
        str | None,
        CommandOption(
            "--store",
            "Where results are kept: a file for SQLite, or a postgresql:// URL.",
            default_text="SQLite under the XDG data directory",
            environment="BENCHVISE_STORE",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class KeptResponses:
    """Response times, the ids of their runs in the store, and their page."""

    comparison: ResponseComparison
    saved: tuple[str, ...]
    page: Path | None


def run(options: KeptResponseOptions) -> KeptResponses:
    """Response times of each file; kept and written as the options say.

    UsageError, CaptureError, StoreError; OutputError where the page cannot be written.
    """
    if options.output is not None:
        check_output_directory(options.output, "the page")
    comparison = response.compare(options)
    saved: tuple[str, ...] = ()
    if options.save is not None:
        from benchvise.store import Store  # late: most answers are not kept

        with Store.open(options.store) as store:
            saved = tuple(
                _save(store, configuration, options) for configuration in comparison.configurations
            )
    page = None
    if options.output is not None:
        page = _write_page(comparison, saved, options.output)
    return KeptResponses(comparison, saved, page)


def _write_page(comparison: ResponseComparison, saved: tuple[str, ...], output: Path) -> Path:
    from benchvise.report import rendering
    from benchvise.report.histograms import ConfigurationTimes
    from benchvise.report.html import write_response_page
    from benchvise.signal.configurations import comparison_document

    return write_response_page(
        [
            ConfigurationTimes(
                item.name, item.responses.seconds, int(item.responses.missed_at.size)
            )
            for item in comparison.configurations
        ],
        [rendering.table_of(spec) for spec in response.tables(comparison)],
        documents.encode(comparison_document(comparison, saved)),
        output,
    )


def _save(store: Store, configuration: Configuration, options: KeptResponseOptions) -> str:
    """Keeps a configuration as a run, so that ``compare`` and the reports work on it."""
    from benchvise.measure.model import RunStatus, Sample, SeriesSpec, SeriesStatus

    times = configuration.responses
    edges = (("from", options.stimulus or ""), ("to", options.answer or ""))
    spec = SeriesSpec("signal.response", edges, "signal.response")
    run = store.begin_run(
        label=f"{options.save} {configuration.name}".strip(),
        board=f"capture {times.source.name}",
        suite="",
        seed=0,
        plan={"capture": times.source.name, "group": ""},
        host={},
        simulated=False,
        series=[(spec, "ns", "lower", "from an edge of the stimulus to the edge of the answer")],
    )
    step = -(-times.seconds.size // MOST_SAVED)
    process = store.begin_process(run, 0, 0, {"caveats": list(times.notes)})
    values = times.seconds[::step]
    store.add_samples(process, [Sample(i, float(value) * 1e9) for i, value in enumerate(values)])
    store.end_process(process, complete=True)
    store.end_series(run, 0, SeriesStatus.MEASURED, "")
    store.end_run(run, RunStatus.COMPLETE)
    return run


def _document(kept: KeptResponses) -> object:
    from benchvise.signal.configurations import comparison_document

    return comparison_document(kept.comparison, kept.saved)


def _messages(kept: KeptResponses) -> list[str]:
    messages = [] if kept.page is None else [f"page written: {kept.page}"]
    if kept.saved:
        messages.append(f"kept as runs {' '.join(kept.saved)}: benchvise compare … …")
    return messages


RESPONSE = CommandRecord(
    name="response",
    kind="signal-response",
    summary="Measure response times: from an edge on one line to the next on another.",
    details="Several files are compared with the first.",
    example="benchvise signal response idle.sr busy.sr --from IN:rising --to OUT:rising",
    options=KeptResponseOptions,
    run=run,
    document=_document,
    tables=lambda kept, options: response.tables(kept.comparison, histograms=options.histogram),
    columns=response.COLUMNS,
    rows=lambda kept: kept.comparison.configurations,
    messages=_messages,
)
