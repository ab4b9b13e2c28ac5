"""Signal commands that join packages: records of ``capture``, ``analysers`` and ``response``.

``capture`` records with a logic analyser, also with that of a board in a rig, while something
happens; ``response`` keeps response times in the store and writes them as a page.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from benchvise import documents
from benchvise.command import (
    RIG_OPTION,
    STORE_OPTION,
    CommandArgument,
    CommandOption,
    CommandRecord,
    ObservedOptions,
)
from benchvise.errors import CaptureError, Interrupted, UsageError
from benchvise.output_files import OutputTarget, check_output_directory
from benchvise.signal.commands import info, response
from benchvise.signal.commands.response import ResponseOptions
from benchvise.signal.readers.options import parse_rate
from benchvise.signal.recording import Analyser, Length, Recorder, Recording, local_analyser
from benchvise.signal.recording import analysers as find_analysers
from benchvise.table import ColumnSpec, TableSpec, ValueUnit

if TYPE_CHECKING:
    from benchvise.signal.capture import CaptureSummary
    from benchvise.signal.configurations import Configuration, ResponseComparison
    from benchvise.store import Store


@dataclass(frozen=True, kw_only=True)
class RecordingOptions(ObservedOptions):
    """Which analyser, for how long, and what is recorded."""

    output: Annotated[
        Path,
        CommandOption("--output", "The sigrok session (.sr) written.", metavar="FILE", short="-o"),
    ]
    command: Annotated[
        tuple[str, ...],
        CommandArgument("[-- CMD...]", "Runs on this machine; the capture ends with it."),
    ] = ()
    driver: Annotated[
        str | None,
        CommandOption(
            "--driver",
            "The analyser by its sigrok driver: fx2lafw, or fx2lafw:conn=1.7 of several.",
            metavar="DRIVER",
        ),
    ] = None
    channels: Annotated[
        str | None,
        CommandOption("--channels", "The channels and their names: D0=IN,D1=OUT.", metavar="LIST"),
    ] = None
    board: Annotated[
        str | None,
        CommandOption(
            "--board",
            "The analyser of this board in the rig file, with its channels.",
            metavar="rig:NAME",
        ),
    ] = None
    rate: Annotated[
        Fraction | None,
        CommandOption(
            "--rate",
            "Samples a second: 24M.",
            metavar="HZ",
            default_text="the device's own",
            parse=parse_rate,
        ),
    ] = None
    seconds: Annotated[
        float | None,
        CommandOption(
            "--for", "Length of the recording.", metavar="S", minimum=0.001, maximum=86400
        ),
    ] = None
    samples: Annotated[
        int | None, CommandOption("--samples", "Samples to record.", metavar="N", minimum=1)
    ] = None
    triggers: Annotated[
        tuple[str, ...],
        CommandOption(
            "--trigger",
            "Begin there: r rising, f falling, e either edge, 0 or 1; repeatable.",
            metavar="LINE=r",
        ),
    ] = ()
    rig_file: Annotated[str | None, RIG_OPTION] = None


@dataclass(frozen=True, slots=True)
class FinishedRecording:
    """What was recorded, and how the command that ran meanwhile ended."""

    capture: CaptureSummary
    exit_code: int | None
    interrupted: bool


def record_capture(options: RecordingOptions) -> FinishedRecording:
    """Records with an analyser of this machine, or with that of a board of the rig.

    With a command of this machine until that ends. On Ctrl-C what was recorded is kept.
    CaptureError, OutputError, UsageError; RigError for a rig's.
    """
    from benchvise.signal.capture import summarise
    from benchvise.signal.reading import open_capture

    _check_recording(options)
    recording = Recording(Length(options.seconds, options.samples), options.rate, options.triggers)
    interrupted, code = False, None
    target = OutputTarget(options.output, "the capture")
    with target.draft() as draft:
        with (
            _reach_analyser(options) as analyser,
            Recorder(analyser, recording, draft) as recorder,
        ):
            try:
                recorder.started()
                options.observe("recording; Ctrl-C ends it")
                if options.command:
                    code = _run_command(options.command)
                    recorder.end()
                else:
                    recorder.wait()
            except (KeyboardInterrupt, Interrupted):
                interrupted = True
                recorder.end()
        # What goes to a device or a FIFO cannot be read there afterwards.
        passed_on = None if target.replaced else replace(open_capture(draft), path=options.output)
    capture = passed_on or open_capture(options.output)
    return FinishedRecording(summarise(capture), code, interrupted)


def _check_recording(options: RecordingOptions) -> None:
    if (options.driver is None) == (options.board is None):
        raise UsageError(
            "which analyser?",
            "name its --driver (`benchvise signal analysers`) or a --board of the rig",
        )
    if options.board is not None and options.channels is not None:
        raise UsageError("--channels is for --driver", "the rig file names those of a board")
    limits = (options.seconds is not None, options.samples is not None, bool(options.command))
    if sum(limits) != 1:
        raise UsageError("for how long?", "say --for S, --samples N, or -- CMD")


@contextmanager
def _reach_analyser(options: RecordingOptions) -> Iterator[Analyser]:
    if options.board is None:
        yield local_analyser(options.driver or "", options.channels)
        return
    # Late: labgrid takes its time to be imported.
    from benchvise.rig.environment import PREFIX, find_rig_file, load_rig
    from benchvise.rig.hold.client import HeldBoard

    rig = load_rig(find_rig_file(options.rig_file))
    # Only looked at: somebody else may boot it meanwhile, which is what one wants to record.
    with HeldBoard(rig, options.board.removeprefix(PREFIX), "") as held:
        command = held.find_analyser()
        yield Analyser(command.sigrok_cli, command.prefix)


def _run_command(command: Sequence[str]) -> int:
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        raise CaptureError(f"{command[0]}: {error.strerror}", "name a program") from error


def _recorded_document(recording: FinishedRecording) -> object:
    from benchvise.signal.capture import RecordedCapture

    capture = {
        item.name: getattr(recording.capture, item.name) for item in fields(recording.capture)
    }
    return RecordedCapture(**capture, exit_code=recording.exit_code)


def _recorded_messages(recording: FinishedRecording) -> list[str]:
    if not recording.exit_code or recording.interrupted:
        return []
    return [f"the command ended with exit code {recording.exit_code}"]


def _exit_code(recording: FinishedRecording) -> int:
    if recording.interrupted:
        return Interrupted.exit_code
    return 1 if recording.exit_code else 0


CAPTURE = CommandRecord(
    name="capture",
    kind="signal-capture",
    summary="Record lines with a logic analyser, for a time or while a command runs.",
    details="Ctrl-C ends it and keeps what there is.",
    example="benchvise signal capture -o boot.sr --driver fx2lafw --rate 24M --for 2",
    options=RecordingOptions,
    run=record_capture,
    document=_recorded_document,
    tables=lambda recording, _options: info.tables(recording.capture),
    columns=info.LINE_COLUMNS,
    rows=lambda recording: recording.capture.lines,
    messages=_recorded_messages,
    exit_code=_exit_code,
)


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """Nothing to choose."""


_ANALYSER_COLUMNS: tuple[ColumnSpec[str], ...] = (ColumnSpec("Analyser", ValueUnit.TEXT, str),)

ANALYSERS: CommandRecord[NoOptions, list[str]] = CommandRecord(
    name="analysers",
    kind="signal-analysers",
    summary="List the logic analysers that are plugged in here.",
    example="benchvise signal analysers",
    options=NoOptions,
    run=lambda _options: find_analysers(),
    document=lambda analysers: analysers,
    tables=lambda analysers, _options: [TableSpec("Logic analysers", _ANALYSER_COLUMNS, analysers)],
    columns=_ANALYSER_COLUMNS,
    rows=lambda analysers: analysers,
)


# -- response times --------------------------------------------------------------------------------

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
    store: Annotated[str | None, STORE_OPTION] = None


@dataclass(frozen=True, slots=True)
class KeptResponses:
    """Response times, the ids of their runs in the store, and their page."""

    comparison: ResponseComparison
    saved: tuple[str, ...]
    page: Path | None


def keep_responses(options: KeptResponseOptions) -> KeptResponses:
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
    from benchvise.report.html import write_response_page
    from benchvise.report.responses import ConfigurationTimes
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
    from benchvise.measure.kept_times import SIGNAL_RESPONSE
    from benchvise.measure.model import RunStatus, Sample, SeriesSpec, SeriesStatus

    times = configuration.responses
    edges = (("from", options.stimulus or ""), ("to", options.answer or ""))
    spec = SeriesSpec(SIGNAL_RESPONSE, edges, SIGNAL_RESPONSE)
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
    values = times.seconds[::step]
    caveats = list(times.notes)
    if step > 1:
        caveats.append(f"{values.size} of {times.seconds.size} response times are kept")
    begin = {"caveats": caveats, "missed": int(times.missed_at.size)}
    process = store.begin_process(run, 0, 0, begin)
    store.add_samples(process, [Sample(i, float(value) * 1e9) for i, value in enumerate(values)])
    store.end_process(process, complete=True)
    store.end_series(run, 0, SeriesStatus.MEASURED, "")
    store.end_run(run, RunStatus.COMPLETE)
    return run


def _responses_document(kept: KeptResponses) -> object:
    from benchvise.signal.configurations import comparison_document

    return comparison_document(kept.comparison, kept.saved)


def _responses_messages(kept: KeptResponses) -> list[str]:
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
    run=keep_responses,
    document=_responses_document,
    tables=lambda kept, options: response.tables(kept.comparison, histograms=options.histogram),
    columns=response.COLUMNS,
    rows=lambda kept: kept.comparison.configurations,
    messages=_responses_messages,
)
