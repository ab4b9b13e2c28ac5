"""A static site of the boards of stores and results files: chosen, redacted, shown, written.

One board after the other, so that only one board's samples are in memory.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import benchvise
from benchvise.documents import JsonObject, encode
from benchvise.errors import UsageError
from benchvise.measure.model import RunRecord, RunStatus, SeriesRecord
from benchvise.output_files import check_output_directory
from benchvise.store import RunFilter, RunInfo, Store
from benchvise.store.redaction import Redacted, Redactor
from benchvise.text import Untrusted


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """What ``site --json`` prints."""

    page: str
    """The first page."""
    boards: int
    metrics: int
    runs: int
    redacted: tuple[Redacted, ...]
    """What was replaced by names that mean nothing; empty with ``--private``."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A run that may be shown, before its samples are read."""

    source: str
    board: str
    suite: str
    status: RunStatus
    started: str
    host: Callable[[], JsonObject]
    load: Callable[[], RunRecord]


def write_site(
    sources: Sequence[str],
    store_url: str | None,
    directory: Path,
    *,
    title: str = "Boards",
    tag: str | None = None,
    private: bool = False,
    each: Callable[[int, int, str], None] = lambda *_: None,
) -> WrittenSite:
    """Writes a site of all boards of ``sources``: stores and files of ``benchvise export``.

    Without sources, of the user's own store. Of each board and suite the newest complete run is
    taken, else the newest; with ``tag``, of the runs that have it. ``each`` is told of every board:
    its number, how many there are, its name.

    Raises UsageError for what is no source or has no run, OutputError where the directory cannot be
    written.
    """
    # Late: what makes pages would make every other command start later.
    from benchvise.report import site_pages
    from benchvise.report.data import one_run
    from benchvise.report.site import SiteBuilder

    check_output_directory(directory, "the site")
    redactor = None if private else Redactor()
    builder = SiteBuilder()
    series_count = 0
    with ExitStack() as opened:
        boards = _by_board(_candidates(sources or [store_url], tag, opened))
        if not boards:
            raise UsageError(
                "there is no finished run to show" + (f" with the tag {tag}" if tag else ""),
                "measure boards first: benchvise run BOARD",
            )
        if redactor is not None:
            for runs in boards.values():
                _learn(redactor, runs)
        for number, (name, runs) in enumerate(boards.items(), 1):
            each(number, len(boards), name)
            records = [run.load() for run in runs]
            if redactor is not None:
                records = [_without_private(record, redactor) for record in records]
                name = redactor.text(name)
            measured = [one_run(record) for record in records]
            site_pages.write_board(directory, builder.add(name, measured), measured)
            series_count += len(measured)
    written = datetime.now(UTC).isoformat(timespec="seconds")
    site = builder.site(title, written, benchvise.__version__)
    page = site_pages.write_site(directory, site)
    redacted = () if redactor is None else tuple(redactor.summary())
    return WrittenSite(str(page), len(site.boards), len(site.metrics), series_count, redacted)


# -- which runs ------------------------------------------------------------------------------------


def _candidates(
    sources: Sequence[str | None], tag: str | None, opened: ExitStack
) -> Iterator[_Candidate]:
    for source in sources:
        if source is not None and zipfile.is_zipfile(source):
            yield from _of_file(source, tag)
            continue
        if source is not None and "://" not in source and not Path(source).exists():
            raise UsageError(
                f"{source} is not there", "name a store or a file of `benchvise export`"
            )
        yield from _of_store(opened.enter_context(Store.open(source)), tag)


def _of_store(store: Store, tag: str | None) -> Iterator[_Candidate]:
    def candidate(info: RunInfo) -> _Candidate:
        return _Candidate(
            store.name,
            info.board,
            info.suite,
            info.status,
            info.started,
            lambda: store.host_of(info.id),
            lambda: store.load(info.id),
        )

    for info in store.runs(None, RunFilter(tag=tag)):
        if info.samples and info.status is not RunStatus.RUNNING:
            yield candidate(info)


def _of_file(source: str, tag: str | None) -> Iterator[_Candidate]:
    from benchvise.store.results_file import read_results

    def candidate(run: RunRecord) -> _Candidate:
        return _Candidate(
            source, run.board, run.suite, run.status, run.started, lambda: run.host, lambda: run
        )

    with Path(source).open("rb") as file:
        content = read_results(file, source)
    for travelling in content.runs:
        run = travelling.run
        if (tag is None or tag in run.tags) and any(series.values for series in run.series):
            yield candidate(run)


def _by_board(candidates: Iterator[_Candidate]) -> Mapping[str, list[_Candidate]]:
    """The runs of each board that are shown, the newest first, by the board's name.

    Boards of one name in several sources are different boards, as `local` is.
    """
    newest: dict[tuple[str, str], dict[str, _Candidate]] = {}
    for run in sorted(candidates, key=lambda run: run.started, reverse=True):
        suites = newest.setdefault((run.source, run.board), {})
        present = suites.get(run.suite)
        better = run.status is RunStatus.COMPLETE
        if present is None or (better and present.status is not RunStatus.COMPLETE):
            suites[run.suite] = run
    sources = Counter(board for _, board in newest)
    return {
        board if sources[board] == 1 else f"{board} ({Path(source).stem})": sorted(
            suites.values(), key=lambda run: run.started, reverse=True
        )
        for (source, board), suites in sorted(newest.items(), key=lambda item: item[0][::-1])
    }


# -- what is private -------------------------------------------------------------------------------


def _learn(redactor: Redactor, runs: Sequence[_Candidate]) -> None:
    for run in runs:
        redactor.know_address(run.board)
        name = run.host().get("hostname")
        if isinstance(name, str):
            redactor.know_host(name)


def _without_private(run: RunRecord, redactor: Redactor) -> RunRecord:
    """A run whose texts that a page shows name nobody; its samples stay as they are."""
    return replace(
        run,
        label=redactor.text(run.label),
        board=redactor.text(run.board),
        reason=Untrusted(redactor.text(run.reason.raw)),
        note=Untrusted(redactor.text(run.note.raw)),
        tags=tuple(map(redactor.text, run.tags)),
        host=redactor.document(encode(run.host)),
        plan=redactor.document(encode(run.plan)),
        remarks=tuple(
            replace(remark, sentence=redactor.text(remark.sentence)) for remark in run.remarks
        ),
        series=tuple(_series_without_private(series, redactor) for series in run.series),
    )


def _series_without_private(series: SeriesRecord, redactor: Redactor) -> SeriesRecord:
    spec = replace(
        series.spec,
        params=tuple((name, redactor.text(text)) for name, text in series.spec.params),
        key=redactor.text(series.spec.key),
    )
    processes = tuple(
        replace(process, begin=redactor.document(encode(process.begin)))
        for process in series.processes
    )
    return replace(series, spec=spec, reason=redactor.text(series.reason), processes=processes)
